"""The matrix: every public operation by layout by dtype, one cell each, beside NumPy.

`python -m benchmarks.matrix` measures it and writes the page; README of the numbers is at its head.
Workloads of real programs are in `benchmarks/workloads`, not here: a cell is one operation alone.
"""
