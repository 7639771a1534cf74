"""ckernels beside its peers: the same work, the same threads, the same minutes, checked results.

`python benchmarks/run.py --help`. Each peer runs in a process of its own and all take turns, so
that a busy machine is busy for everybody; workloads/ holds one file per kind of work, RESULTS.md
the last full run.
"""
