"""Programs one after the other in a process, a line of JSON for each size."""

import faulthandler
import json
import os
import sys

from ..breadth.child import start


def main():
    people, limit, names = sys.argv[1].split(","), float(sys.argv[2]), sys.argv[3:]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    start(people)
    from . import measure, registry

    programs = registry.load()
    for name in names:
        faulthandler.dump_traceback_later(limit, exit=True)
        functions = measure.makers(programs[name], people)
        rows = [measure.row(programs[name], size, functions) for size in programs[name].sizes]
        out.write(json.dumps(rows) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
