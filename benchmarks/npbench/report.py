"""The page: each program at its presets beside NumPy, numba and JAX; what is behind, with reasons.

It only reads what was measured (results.json). Reasons are in reasons.ini, a line for a program.
"""

import configparser
import json
import statistics
from pathlib import Path

from ..breadth.report import mean

HERE = Path(__file__).parent
PEERS = ("numba", "jax")
LATE = 0.9

HEAD = """# NPBench and pyhpc-benchmarks

The NumPy versions of both suites, unchanged, under `ck.jit`; numba's and JAX's columns are the
suites' own versions for them, rewritten by hand, numba's the fastest of its modes. How many times
as fast as NumPy each was, in a process of its own in which it and NumPy alternate: processor times
of one thread, the least of several turns. Results and all arguments are compared with NumPy's.
`python -m benchmarks.npbench` measures; the README beside this page says how.
"""


def numpys(people):
    """NumPy's seconds: the median over the processes in which it alternated with somebody."""
    return statistics.median([row["numpy"] for row in people.values() if row.get("numpy")] or [0.0])


def ratio(people, who):
    """How many times as fast as NumPy it was; None where it is wrong or has no time."""
    row = people.get(who, {})
    return numpys(people) / row["time"] if row.get("time") and not row.get("wrong") else None


def by_program(rows, preset):
    """{program: {who: row}} of a preset, in the order of the rows."""
    found = {}
    for row in rows:
        if row["preset"] == preset:
            found.setdefault(row["name"], {})[row["who"]] = row
    return found


def cell(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def line(name, people):
    """A program as a line: NumPy's time, times NumPy of each, first calls, what is to be said."""
    mine = people["ckernels"]
    told = f"wrong: {mine['wrong']}" if mine.get("wrong") else "NumPy" if mine["notes"] else ""
    first = [cell(people.get(who, {}).get("first")) for who in ("ckernels", "numba")]
    milliseconds = f"{1e3 * numpys(people):.3g}"
    ratios = [cell(ratio(people, who)) for who in ("ckernels", *PEERS)]
    return f"| {' | '.join([name, milliseconds, *ratios, *first, told])} |"


def summary(table):
    """A preset in sentences: how many are right, compiled and ahead, and the geometric means."""
    mine = {n: r for n, p in table.items() if (r := ratio(p, "ckernels"))}
    compiled = sum(not table[n]["ckernels"]["notes"] for n in mine)
    parts = [
        f"{len(table)} programs, {len(mine)} right, {compiled} of them compiled: "
        f"{mean(mine.values()):.2f}x NumPy in the geometric mean, behind it by more than a tenth "
        f"in {sum(r < LATE for r in mine.values())}."
    ]
    for who in PEERS:
        theirs = {n: r for n in mine if (r := ratio(table[n], who))}
        if theirs:
            ahead = sum(mine[n] >= r for n, r in theirs.items())
            parts.append(
                f"{who} has {len(theirs)} of them: {mean(theirs.values()):.2f}x NumPy, "
                f"{mean(mine[n] for n in theirs):.2f}x ours, which is ahead in {ahead}."
            )
    best = {n: max(ratio(table[n], w) or 0 for w in PEERS) for n in mine}
    parts.append(
        f"Ahead of the best of all in {sum(mine[n] >= max(1, b) for n, b in best.items())}."
    )
    parts.append(
        "First calls: "
        + ", ".join(
            f"{who} {statistics.median(found):.2f} s, at most {max(found):.1f}"
            for who in ("ckernels", *PEERS)
            if (found := [p[who]["first"] for p in table.values() if "first" in p.get(who, {})])
        )
        + " (medians; kernels of earlier runs are at hand)."
    )
    return " ".join(parts)


def behind(table, reasons):
    """The programs that are slower than NumPy or than the best peer by more than a tenth."""
    for name, people in table.items():
        mine = ratio(people, "ckernels")
        best = max([1.0, *(r for w in PEERS if (r := ratio(people, w)))])
        if mine and mine < LATE * best:
            yield f"| {name} | {mine / best:.2f} | {reasons.get(name, '')} |"


def page(rows, reasons):
    """The text of the page."""
    parts = [HEAD]
    for preset in dict.fromkeys(row["preset"] for row in rows):
        table = by_program(rows, preset)
        parts += [
            f"## Preset {preset}\n",
            summary(table) + "\n",
            "| program | NumPy, ms | ckernels | numba | JAX | first call, s | numba's | |",
            "|---|---|---|---|---|---|---|---|",
            *[line(name, people) for name, people in table.items()],
            "",
            f"Behind NumPy or the best peer by more than a tenth at {preset}:\n",
            "| program | times the best | |",
            "|---|---|---|",
            *behind(table, reasons),
            "",
        ]
    return "\n".join(parts)


def write():
    """Write RESULTS.md from results.json and reasons.ini."""
    parser = configparser.ConfigParser()
    parser.read(HERE / "reasons.ini")
    rows = json.loads((HERE / "results.json").read_text())
    (HERE / "RESULTS.md").write_text(page(rows, dict(parser["reasons"])))
