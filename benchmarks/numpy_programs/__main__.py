"""`python -m benchmarks.numpy_programs [--only NAMES] [--peers numba,jax] [--python PATH]`

Measures every program at its sizes, in processes of their own, and writes results.json and
RESULTS.md beside this file where all were run or `--write` asks for it. With `--right` nothing is
timed: results and arguments are compared with NumPy's at each size and for each dtype of floats.
"""

import argparse
import fnmatch
import json
import subprocess
import sys
from pathlib import Path

from ..breadth.__main__ import environment
from . import measure, registry, report

HERE = Path(__file__).parent


def rows(names, options):
    """The rows of `names`, as they come; one with an error for what ended its process."""
    names = list(names)
    while names:
        child = subprocess.Popen(
            [options.python, "-m", "benchmarks.numpy_programs.child", f"ckernels,{options.peers}",
             str(options.limit), *names],
            stdout=subprocess.PIPE, env=environment(), text=True,
        )  # fmt: skip
        for line in child.stdout:
            names.pop(0)
            yield from json.loads(line)
        if child.wait() and names:
            program = registry.PROGRAMS[names.pop(0)]
            yield {"name": program.name, "field": program.field, "size": program.sizes[0],
                   "wrong": {"ckernels": f"ended with status {child.returncode}"},
                   "seconds": {}, "first": {}, "numpy": ""}  # fmt: skip


def right(programs, names):
    """How many programs differ from NumPy's at any size or dtype, each told."""
    lost = 0
    for name in names:
        jitted, program = measure.ours(programs[name]), programs[name]
        found = {f"{d} {n}": measure.compared(program, jitted, n, d)
                 for d in measure.DTYPES for n in (*program.sizes, program.sizes[0])}  # fmt: skip
        wrong = {k: v for k, v in found.items() if v}
        lost += bool(wrong)
        told = next(iter(jitted.report()["numpy"]), "compiled")
        print(f"{name:28}", wrong or "right", "|", told, flush=True)
    return lost


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.numpy_programs", description=__doc__
    )
    parser.add_argument("--only", default="*", help="names, patterns or fields, commas between")
    parser.add_argument("--peers", default="numba,jax,numexpr", help="with commas between")
    parser.add_argument("--python", default=sys.executable, help="one that has the peers")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one program")
    parser.add_argument("--write", action="store_true", help="merge the rows into the page")
    parser.add_argument("--right", action="store_true", help="compare only, over dtypes and sizes")
    options = parser.parse_args(arguments)
    programs, patterns = registry.load(), options.only.split(",")
    names = [
        n
        for n, p in programs.items()
        if any(fnmatch.fnmatch(n, q) or q == p.field for q in patterns)
    ]
    if options.right:
        return 1 if right(programs, names) else 0
    found = []
    for row in rows(names, options):
        found.append(row)
        print(report.line(row), flush=True)
    print(report.summary(found))
    if options.write or len(names) == len(programs):
        place = HERE / "results.json"
        old = json.loads(place.read_text()) if place.exists() else []
        kept = [r for r in old if r["name"] in programs and r["name"] not in names] + found
        kept.sort(key=lambda r: (list(programs).index(r["name"]), r["size"]))
        place.write_text(json.dumps(kept, indent=1) + "\n")
        (HERE / "RESULTS.md").write_text(report.page(kept))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
