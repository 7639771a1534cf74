"""NPBench and pyhpc-benchmarks under `ck.jit`: `python -m benchmarks.npbench FOLDER`."""
