"""Dask runs compiled functions: over blocks of arrays, and as equal copies that train one model.

Dask distributes, schedules and restarts tasks. This folder adds what Dask lacks: pickles of
functions (their graphs), kernels that are compiled once in a cluster (cluster.py), blocks
(blocks.py), and synchronous steps whose gradients go from worker to worker (member.py, trainer.py).
"""

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as problem:
    raise ModuleNotFoundError(
        f"ckernels.dask needs Dask: pip install ckernels[dask] ({problem})"
    ) from problem
