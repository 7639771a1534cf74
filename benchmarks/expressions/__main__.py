"""The page of twenty expressions: `python -m benchmarks.expressions --python PATH`, where PATH is a
Python with the peers; a few expressions at a time have a process of their own."""

import argparse
import json
import os
import subprocess
import sys

from . import measure, registry, report

ROOT = report.HERE.parent.parent
FEW = 5  # expressions of one process: it takes seconds to import the peers


def child(names, people, sizes):
    chosen = {e.name: e for e in registry.ALL}
    from ..breadth.child import start

    start(people)
    found = [row for name in names for row in measure.rows(chosen[name], people, sizes)]
    print(json.dumps(found))


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.expressions", description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="a Python that has the peers")
    parser.add_argument("--people", default=",".join(measure.MAKERS))
    parser.add_argument("--only", help="names of expressions, with commas between")
    parser.add_argument("--sizes", default=",".join(map(str, registry.SIZES)))
    parser.add_argument("--write", action="store_true", help="merge the rows into the page")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    names = args.only.split(",") if args.only else [e.name for e in registry.ALL]
    sizes = [int(size) for size in args.sizes.split(",")]
    if args.child:
        child(names, args.people.split(","), sizes)
        return
    rows = []
    for k in range(0, len(names), FEW):
        few = ",".join(names[k : k + FEW])
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS",
                             "NUMEXPR_NUM_THREADS"), "1")  # fmt: skip
        environment = {**os.environ, **one, "PYTHONPATH": str(ROOT)}
        command = [args.python, "-m", "benchmarks.expressions", "--child", "--only", few,
                   "--people", args.people, "--sizes", args.sizes]  # fmt: skip
        done = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"{few} ended with {done.returncode}")
        rows += json.loads(done.stdout.splitlines()[-1])
    for who in report.OURS:
        if any(who in row["seconds"] for row in rows):
            print(report.told(rows, who))
    for row in rows:
        ratio = report.lead(row)
        if ratio is not None and ratio < 1:
            print(f"behind: {row['name']} of {row['size']}: {ratio:.2f} of {report.best(row)[0]}")
    if args.write:
        place = report.HERE / "results.json"
        old = json.loads(place.read_text()) if place.exists() else []
        told = {(r["name"], r["size"]): r for r in [*old, *rows]}
        order = [e.name for e in registry.ALL]
        kept = sorted(told.values(), key=lambda r: (order.index(r["name"]), r["size"]))
        place.write_text(json.dumps(kept, indent=1) + "\n")
        report.write()


if __name__ == "__main__":
    main()
