"""Keras 3 programs on ckernels beside Keras's other backends: first batches, batches, predictions.

`python -m benchmarks.keras3 [--only NAME ...] [--backends ckernels jax torch]`, run by the Python
of an environment that has Keras 3 and the others' packages, prints a table. The programs are in
programs.py; __main__.py starts one process for each program and backend, in turns.
"""
