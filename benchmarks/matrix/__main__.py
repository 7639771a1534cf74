"""`python -m benchmarks.matrix [--only add,clip] [--layouts flat] [--dtypes float32]`

Measures the cells that are asked for and prints the page: the geometric mean, and every cell that
is behind the best peer by more than 1.1x. `--write` puts it beside this file, with all numbers.
"""

import argparse
import fnmatch
import json
import math
import os
import sys

import ckernels as K

from . import measure
from .layouts import LAYOUTS
from .operations import ALL, OPERATIONS

BEHIND = 1.1


def chosen(names, wanted):
    patterns = wanted.split(",") if wanted else ["*"]
    return [n for n in names if any(fnmatch.fnmatch(n, p) for p in patterns)]


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def ratio(best):
    """How many times faster than the best peer; None without one."""
    peers = [t for name, t in best.items() if name != "ckernels"]
    return min(peers) / best["ckernels"] if peers else None


def page(found, threads):
    """The text of the page: means by layout, then what is behind, worst first."""
    told = {cell: ratio(best) for cell, best in found.items() if ratio(best) is not None}
    late = sorted((r, cell) for cell, r in told.items() if r * BEHIND < 1)
    lines = [
        f"{len(told)} cells, {threads} thread{'s' * (threads > 1)}: {mean(told.values()):.2f}x the "
        f"best peer in the geometric mean; {len(late)} behind by more than {BEHIND}x",
        "",
        *(
            f"| {layout} | {mean([r for c, r in told.items() if c[1] == layout]):.2f}x |"
            for layout in dict.fromkeys(cell[1] for cell in told)
        ),
        "",
    ]
    for r, cell in late:
        times = ", ".join(f"{name} {1e6 * t:.1f}" for name, t in found[cell].items())
        lines.append(f"| {' | '.join(cell)} | {r:.2f}x | {times} us |")
    return "\n".join(lines)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.matrix")
    for name in ("only", "layouts", "dtypes"):
        parser.add_argument(f"--{name}", help="names or patterns, with commas between")
    parser.add_argument("--peers", default="numpy")
    parser.add_argument("--threads", type=int, default=1, help="2: wall time instead of CPU time")
    parser.add_argument("--write", action="store_true", help="the page and its numbers as files")
    parser.add_argument("--again", action="store_true", help="only cells the written page has late")
    args = parser.parse_args(argv)
    K.set_num_threads(args.threads)
    place = os.path.join(os.path.dirname(__file__), f"results-{args.threads}.json")
    found = {}
    operations = [OPERATIONS[n] for n in chosen(OPERATIONS, args.only)]
    every = measure.cells(operations, chosen(LAYOUTS, args.layouts), chosen(ALL, args.dtypes))
    late = late_of(place) if args.again else None
    for op, layout, dtype in every:
        cell = (op.name, layout, dtype)
        if late is None or cell in late:
            found[cell] = measure.measured(op, layout, dtype, args.peers.split(","), args.threads)
            print(f"\r{len(found)} cells", end="", file=sys.stderr)
    print(file=sys.stderr)
    text = page(found, args.threads)
    print(text)
    if args.write:
        with open(place, "w") as f:
            json.dump([[*cell, best] for cell, best in found.items()], f)
        with open(place.replace(".json", ".md"), "w") as f:
            f.write(text + "\n")
    return 0


def late_of(place):
    with open(place) as f:
        return {tuple(cell) for *cell, best in json.load(f) if (ratio(best) or 1) * BEHIND < 1}


if __name__ == "__main__":
    raise SystemExit(main())
