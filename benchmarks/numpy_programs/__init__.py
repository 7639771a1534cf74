"""Plain NumPy programs of many fields under `ck.jit`: `python -m benchmarks.numpy_programs`."""
