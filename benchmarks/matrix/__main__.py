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
from benchmarks.load import Watch

from . import measure
from .layouts import LAYOUTS
from .operations import ALL, OPERATIONS
from .reasons import reason

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
        "| layout | beside the best |",
        "| --- | --- |",
        *(
            f"| {layout} | {mean([r for c, r in told.items() if c[1] == layout]):.2f}x |"
            for layout in dict.fromkeys(cell[1] for cell in told)
        ),
        "",
    ]
    why = [reason(cell) for _, cell in late]
    causes = sorted(dict.fromkeys(why), key=lambda text: -why.count(text))
    lines += [f"{k}. {text} {why.count(text)} cells." for k, text in enumerate(causes, 1)]
    if late:
        lines += ["", "| operation | layout | dtype | beside the best | times | reason |"]
        lines += ["| --- | --- | --- | --- | --- | --- |"]
    for (r, cell), text in zip(late, why):
        times = ", ".join(f"{name} {1e6 * t:.1f}" for name, t in found[cell].items())
        number = causes.index(text) + 1
        lines.append(f"| {' | '.join(cell)} | {r:.2f}x | {times} us | {number} |")
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
    found, watch = {}, Watch(os.getpid())
    operations = [OPERATIONS[n] for n in chosen(OPERATIONS, args.only)]
    every = measure.cells(operations, chosen(LAYOUTS, args.layouts), chosen(ALL, args.dtypes))
    late = late_of(place) if args.again else None
    for op, layout, dtype in every:
        cell = (op.name, layout, dtype)
        if late is None or cell in late:
            found[cell] = measure.measured(op, layout, dtype, args.peers.split(","), args.threads)
            print(f"\r{len(found)} cells", end="", file=sys.stderr)
    print(file=sys.stderr)
    print(page(found, args.threads))
    if args.write:
        written(place, found, args.threads, note_on(watch.others()))
    return 0


def note_on(others):
    """What the page says of the cores that other processes used meanwhile."""
    care = "; times of short cells are to be read with care" if others > 0.15 else ""
    return f"Other processes used {others:.1f} cores meanwhile{care}."


def written(place, found, threads, note):
    """The numbers, to three digits, and the page as files."""
    found = {c: {n: float(f"{t:.3g}") for n, t in best.items()} for c, best in found.items()}
    with open(place, "w") as f:
        rows = (json.dumps([*cell, best]) for cell, best in found.items())
        f.write("[\n" + ",\n".join(rows) + "\n]\n")
    head = ["# The matrix", "", "Written by `python -m benchmarks.matrix --write`.", note]
    with open(place.replace(".json", ".md"), "w") as f:
        f.write("\n".join([*head, "", page(found, threads), ""]))


def late_of(place):
    with open(place) as f:
        return {tuple(cell) for *cell, best in json.load(f) if (ratio(best) or 1) * BEHIND < 1}


if __name__ == "__main__":
    raise SystemExit(main())
