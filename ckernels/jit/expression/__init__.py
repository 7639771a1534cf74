"""Array expressions as text: `evaluate("2 * a + b")` with the caller's arrays.

Text becomes tokens, tokens a program in the order of evaluation, a program nodes or, where no
kernel computes them, NumPy's arrays. Text never becomes Python code.
"""
