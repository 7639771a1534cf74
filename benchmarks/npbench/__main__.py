"""The table of all programs: `python -m benchmarks.npbench FOLDER --preset S --peers numba,jax`.

FOLDER has both suites, unpacked. Each program runs in a process of its own on one thread; a row
says whether it was right, how it ran, its first call and how often it was as fast as NumPy. With
`--write` the rows join results.json, from which RESULTS.md is written anew.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

from . import report
from .programs import names


def child(args, name, who):
    """The row of one program, as its process printed it."""
    with tempfile.TemporaryDirectory() as empty:
        environment = {**os.environ, "OMP_NUM_THREADS": str(args.threads),
                       "OPENBLAS_NUM_THREADS": str(args.threads)}  # fmt: skip
        if args.cold:
            environment["CKERNELS_FLAGS"] = f"base_compiledir={empty}"
        command = [sys.executable, "-m", "benchmarks.npbench.child", args.folder, name,
                   args.preset, who, str(args.budget)]  # fmt: skip
        lost = {"name": name, "preset": args.preset, "who": who, "time": None, "notes": []}
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True,
                                  timeout=args.limit)  # fmt: skip
        except subprocess.TimeoutExpired:
            return {**lost, "wrong": f"not done in {args.limit} s"}
    if done.returncode:
        return {**lost, "wrong": (done.stderr.strip().splitlines() or ["died"])[-1][:150]}
    return json.loads(done.stdout.splitlines()[-1])


def shown(row):
    """A row as a line of the table."""
    right = row.get("wrong") or ("NumPy: " + row["notes"][0] if row["notes"] else "right")
    if row["time"] is None:
        return f"| {row['name']} | {row['who']} | - | - | - | {right} |"
    ratio = row["numpy"] / row["time"]
    return (f"| {row['name']} | {row['who']} | {row['numpy'] * 1e3:.3g} | {ratio:.2f} | "
            f"{row['first']:.2f} | {right} |")  # fmt: skip


def keep(rows):
    """Put `rows` in the place of earlier ones of the same programs, and write the page anew."""
    place = report.HERE / "results.json"
    old = json.loads(place.read_text()) if place.exists() else []
    told = {(r["preset"], r["name"], r["who"]): r for r in [*old, *rows]}
    presets = list(dict.fromkeys(preset for preset, _, _ in told))
    kept = sorted(told.values(), key=lambda r: (presets.index(r["preset"]), r["name"]))
    place.write_text(json.dumps(kept, indent=1) + "\n")
    report.write()


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.npbench", description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--preset", default="S")
    parser.add_argument("--only", help="names of programs, with commas between")
    parser.add_argument("--peers", default="", help="numba,jax")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--budget", type=float, default=1.0, help="seconds of CPU for turns")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one program")
    parser.add_argument("--cold", action="store_true", help="with no kernels from earlier runs")
    parser.add_argument("--json", help="a file for the rows")
    parser.add_argument("--write", action="store_true", help="merge the rows into the page")
    args = parser.parse_args()
    chosen = args.only.split(",") if args.only else names(args.folder)
    people = ["ckernels", *[p for p in args.peers.split(",") if p]]
    print("| program | | NumPy, ms | times NumPy | first call, s | |\n|---|---|---|---|---|---|")
    rows = []
    for name in chosen:
        for who in people:
            rows.append(child(args, name, who))
            print(shown(rows[-1]), flush=True)
            if args.json:
                with open(args.json, "w") as file:
                    json.dump(rows, file, indent=1)
    print(report.summary(report.by_program(rows, args.preset)))
    if args.write:
        keep(rows)


if __name__ == "__main__":
    main()
