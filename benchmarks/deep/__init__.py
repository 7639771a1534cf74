"""Deep nets, long chains and changing sizes: what a program costs around its steps.

`python -m benchmarks deep [--only residual-40 ...] [--peers ckernels torch ...]` measures for each
program the first result with empty and with warm caches, the first call with another size, the
step, the time planning takes for each node, and the memory of a step. The programs are in nets.py
and chains.py, what one process measures is in child.py, and measure.py starts the processes.
"""


def programs():
    """{name: Program} in the order of the table."""
    from . import chains, nets

    return {program.name: program for room in (nets, chains) for program in room.PROGRAMS}
