"""What one process measures of one program with one library; prints lines of JSON as it goes.

`python -m benchmarks.deep.child PEER THREADS CLOCK PROGRAM MEASURE...`. The first result counts
from NumPy alone: the library is imported after the clock has started. CLOCK is "wall", or "cpu" for
the processor time of this process and of the compilers it has waited for: the one to compare by
where other programs are busy. Calls that may take minutes are not repeated beyond BUDGET seconds.
"""

import json
import os
import resource
import sys
import time
from statistics import median

import numpy as np

BUDGET = 20.0  # seconds after which no further size is tried
PEERS = ("ckernels", "torch", "torch-compile", "jax")


def cpu():
    """Processor seconds of this process and of the children it has waited for."""
    found = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(r.ru_utime + r.ru_stime for r in found)


CLOCKS = {"wall": time.perf_counter, "cpu": cpu}
clock = CLOCKS["wall"]  # main sets it


def memory(what):
    """Megabytes that the process has ("VmRSS") or had at most ("VmHWM"); None where unknown."""
    try:
        with open("/proc/self/status") as file:
            lines = [line for line in file if line.startswith(what)]
        return int(lines[0].split()[1]) / 1e3
    except (OSError, IndexError):
        return None


def forget_peak():
    """Lets "VmHWM" start again from what the process has now."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def started(name, threads):
    """The library, ready to build programs: (its module, torch's compiler or None)."""
    if name == "ckernels":
        import ckernels

        ckernels.set_num_threads(threads)
        return ckernels, None
    if name == "jax":
        import jax

        return jax, None
    import torch

    torch.set_num_threads(threads)
    dynamic = lambda function: torch.compile(function, dynamic=True)
    return torch, dynamic if name == "torch-compile" else None


def build(name, library, compile, program, parameters):
    """step(*arrays) of this program in this library."""
    if name.startswith("torch"):
        return program.torch(library, compile, parameters)
    return getattr(program, name)(library, parameters)


def timed(step, arrays):
    """(seconds, results) of one call."""
    start = clock()
    results = step(*arrays)
    return clock() - start, results


def steady(step, arrays, calls=5, budget=1.0):
    """The median time of a call: of at least `calls`, for `budget` seconds."""
    taken = []
    while len(taken) < calls or sum(taken) < budget and len(taken) < 1000:
        taken.append(timed(step, arrays)[0])
    return median(taken)


def new_size(step, batches):
    """(median of the first calls with batches of sizes that are new, median of what they take
    beyond a second call)."""
    first, above, start = [], [], clock()
    for arrays in batches:
        first.append(timed(step, arrays)[0])
        again = median(timed(step, arrays)[0] for _ in range(3))
        above.append(first[-1] - again)
        if clock() - start > BUDGET:
            break
    return median(first), median(above)


def planning(K, step, arrays):
    """(CPU seconds that a plan takes without the compiler, its nodes).

    A copy of the function finds its kernels in this process and, with the compiledir off, no plan.
    """
    step(*arrays)
    with K.config.change(cache="off"):
        start = time.process_time()
        copy = step.copy()
        copy(*arrays)
        first = time.process_time() - start
    start = time.process_time()
    copy(*arrays)
    return first - (time.process_time() - start), copy.stats()["nodes"]


def peak(step, arrays, before):
    """Megabytes that three steps need at most, beyond what the process had `before`."""
    step(*arrays)
    forget_peak()
    for _ in range(3):
        step(*arrays)
    return memory("VmHWM") - before


def measure(name, threads, program, wanted):
    """Yields {measure: value}, first with the first "results": the first ten numbers of each."""
    rng = np.random.default_rng(0)
    parameters, arrays = program.parameters(rng), program.inputs(rng, program.size)
    start = clock()
    library, compile = started(name, threads)
    before = memory("VmRSS")
    step = build(name, library, compile, program, parameters)
    results = step(*arrays)
    yield {"first": clock() - start, "results": [checked(r) for r in results]}
    if "step" in wanted:
        yield {"step": steady(step, arrays)}
    if "memory" in wanted and before is not None:
        yield {"memory": peak(step, arrays, before)}
    if "plan" in wanted and name == "ckernels":
        seconds, nodes = planning(library, step, arrays)
        yield {"plan": seconds, "nodes": nodes}
    if "one" in wanted and not program.passes:
        yield {"one": timed(step, program.inputs(rng, 1))[0]}
    batches = (program.inputs(rng, size) for size in program.others)
    if program.passes and "new" in wanted:
        batches = list(batches)
        for which in ("pass 1", "pass 2"):
            yield {which: sum(timed(step, b)[0] for b in batches)}
    elif "new" in wanted:
        first, above = new_size(step, batches)
        yield {"new": first, "above": above}


def checked(result):
    """What libraries are compared by: the shape and the first numbers of a result."""
    result = np.asarray(result, float)
    return [list(result.shape), result.ravel()[:10].tolist()]


def main():
    global clock
    name, threads, which, wanted_program, *wanted = sys.argv[1:]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from benchmarks.deep import programs

    clock = CLOCKS[which]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(threads)])
    for found in measure(name, int(threads), programs()[wanted_program], wanted):
        print(json.dumps(found), file=out, flush=True)


if __name__ == "__main__":
    main()
