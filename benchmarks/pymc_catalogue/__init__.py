"""What a sweep over a folder of PyMC models found: rows of a file, and the page made of them."""

import json
import math
from pathlib import Path

HERE = Path(__file__).parent
FILE, PAGE = HERE / "rows.jsonl", HERE / "RESULTS.md"
CLOSE = 1e-8

HEAD = """# PyMC's example models

Models of the public `pymc-model-catalogue`: PyMC's example notebooks and Statistical Rethinking.
Log-density and gradient at three points, against PyTensor's Python ops and against numba: the
largest difference of an entry, relative to it where it is above 1. Seconds are CPU seconds of
building the function and its first call, compilers included, in a process with nothing cached and
in the next one; a call is in processor time of one thread, in turns with numba's. Empty where numba
was not run. `make catalogue FOLDER=...` adds rows to `rows.jsonl` and makes this page of them.
"""
TITLES = ("model", "apart from Python", "from numba", "a call: us", "numba: us", "ratio",
          "cold, warm: s", "numba: s", "in Python")  # fmt: skip


def read(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def merged(rows):
    """One row a model: what later ones say takes the place of what earlier ones did."""
    found = {}
    for row in rows:
        old = found.get(row["model"], {})
        beside = {"beside": [*old.get("beside", ()), *row.get("beside", ())]}
        if "NUMBA" in old.get("us", ()) and "NUMBA" not in row.get("us", ()):
            row = {**row, **{k: old[k] for k in ("us", "warm", "ckernels s")}}
        found[row["model"]] = {**old, **row, **beside}
    return [found[name] for name in sorted(found, key=str.lower)]


def mean(ratios):
    """The geometric one."""
    ratios = list(ratios)
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def summary(rows):
    """Lines: how many agree, geometric means of the ratios to numba, and what is slower."""
    run = [r for r in rows if "ckernels s" in r]
    checked = [r for r in run if "apart python" in r or "apart NUMBA" in r]
    nearest = {r["model"]: min(r.get("apart python", math.inf), r.get("apart NUMBA", math.inf))
               for r in checked}  # fmt: skip
    both = [r for r in run if "NUMBA s" in r and len(r["us"]) == 2]
    calls = {r["model"]: r["us"]["NUMBA"] / r["us"]["ckernels"] for r in both}
    yield f"{len(rows)} models, of which {len(run)} run and {len(checked)} have been compared"
    apart = [f"{name} {a:.1e}" for name, a in nearest.items() if not a <= CLOSE]
    yield f"agree with Python's ops or numba to {CLOSE:.0e}: {len(checked) - len(apart)}"
    yield "do not: " + (", ".join(apart) or "none")
    failed = [r["model"] for r in rows if r not in run]
    yield "do not run: " + (", ".join(failed) or "none")
    yield f"beside numba, {len(both)} models: calls {mean(calls.values()):.2f} times as fast"
    yield f"nothing cached {mean(r['NUMBA s'] / r['ckernels s'] for r in both):.1f} times"
    warm = (r["warm"]["NUMBA s"] / max(r["warm"]["ckernels s"], 0.01) for r in both)
    yield f"in a new process {mean(warm):.1f} times"
    slower = sorted((ratio, name) for name, ratio in calls.items() if ratio < 1)
    yield "slower than numba: " + (", ".join(f"{n} {r:.2f}" for r, n in slower) or "none")


def page(rows):
    """RESULTS.md of these rows."""
    rows = merged(rows)
    lines = [HEAD, *(f"- {line}" for line in summary(rows)), ""]
    lines += ["| " + " | ".join(TITLES) + " |", "|---" * len(TITLES) + "|"]
    lines += ["| " + " | ".join(cells(r)) + " |" for r in rows if "ckernels s" in r]
    return "\n".join(lines) + "\n"


def cells(row):
    us, warm = row["us"], row["warm"]
    ratio = us["NUMBA"] / us["ckernels"] if len(us) == 2 else None

    def seconds(peer):
        return ", ".join(f"{of[key]:.2f}" for of, key in ((row, peer), (warm, peer)) if key in of)

    return [
        row["model"],
        shown("{:.0e}", row.get("apart python")),
        shown("{:.0e}", row.get("apart NUMBA")),
        shown("{:.1f}", us.get("ckernels")),
        shown("{:.1f}", us.get("NUMBA")),
        shown("{:.2f}", ratio),
        seconds("ckernels s"),
        seconds("NUMBA s"),
        ", ".join(name.split("{")[0] for name in row.get("in python", row.get("python", []))),
    ]


def shown(form, number):
    return "" if number is None else form.format(number)
