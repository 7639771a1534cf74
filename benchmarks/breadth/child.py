"""Programs one after the other in a process, a line of JSON each. The next one follows a crash.

A program that hangs ends the process: so a crash, or a loop without end, costs one row.
"""

import faulthandler
import json
import os
import sys


def start(people):
    """One thread for everybody: JAX counts cores when it starts."""
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    if cores and "jax" in people:
        os.sched_setaffinity(0, sorted(cores)[:1])
        import jax

        jax.devices()
        os.sched_setaffinity(0, cores)
    import ckernels as K

    K.set_num_threads(1)


def main():
    people, limit, names = sys.argv[1].split(","), float(sys.argv[2]), sys.argv[3:]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    start(people)
    from . import measure, registry

    programs = registry.load()
    for name in names:
        faulthandler.dump_traceback_later(limit, exit=True)
        out.write(json.dumps(measure.row(programs[name], people)) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
