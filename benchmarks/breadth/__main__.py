"""`python -m benchmarks.breadth [--only NAMES] [--peers numpy,torch,jax] [--python PATH]`

Runs the programs in a process of their own, writes results.json and RESULTS.md beside this file
where all were run or `--write` asks for it, and prints every row.
"""

import argparse
import fnmatch
import json
import os
import subprocess
import sys
from pathlib import Path

from . import registry, report

HERE = Path(__file__).parent
ONE = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "CKERNELS")


def environment():
    env = dict(os.environ, JAX_PLATFORMS="cpu", PYTHONPATH=str(HERE.parents[1]))
    env.update({f"{name}_NUM_THREADS": "1" for name in ONE})
    for tuned in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        env.pop(tuned, None)  # every OpenBLAS picks its kernels for this processor
    return env


def rows(names, options):
    """The rows of `names`, as they come; a row with an error for what ended its process."""
    names = list(names)
    while names:
        command = [options.python, "-m", "benchmarks.breadth.child", options.peers]
        child = subprocess.Popen(
            [*command, str(options.limit), *names],
            stdout=subprocess.PIPE,
            env=environment(),
            text=True,
        )
        for line in child.stdout:
            names.pop(0)
            yield json.loads(line)
        if child.wait() and names:
            name = names.pop(0)
            field = registry.PROGRAMS[name].field
            wrong = {"ckernels": f"ended with status {child.returncode}"}
            yield {"name": name, "field": field, "wrong": wrong, "seconds": {}, "numpy": ""}


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.breadth", description=__doc__)
    parser.add_argument("--only", default="*", help="names or patterns, with commas between")
    parser.add_argument("--peers", default="ckernels,numpy,torch,jax", help="with commas between")
    parser.add_argument("--python", default=sys.executable, help="one that has the peers")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one program")
    parser.add_argument("--write", action="store_true", help="merge the rows into the page")
    options = parser.parse_args(arguments)
    programs, patterns = registry.load(), options.only.split(",")
    names = [
        n
        for n, p in programs.items()
        if any(fnmatch.fnmatch(n, q) or q == p.field for q in patterns)
    ]
    found = []
    for row in rows(names, options):
        found.append(row)
        print(report.line(row), flush=True)
    print(report.summary(found))
    if options.write or len(names) == len(programs):
        place = HERE / "results.json"
        old = json.loads(place.read_text()) if place.exists() else []
        by_name = {r["name"]: r for r in old + found}
        kept = [by_name[n] for n in programs if n in by_name]
        place.write_text(json.dumps(kept, indent=1) + "\n")
        (HERE / "RESULTS.md").write_text(report.page(kept, report.reasons(HERE / "reasons.ini")))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
