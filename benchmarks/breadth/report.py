"""The page: ratios to NumPy and the best peer, geometric means, rows that are behind with reasons.

It only reads what was measured. Reasons are in reasons.ini, a line for each program.
"""

import configparser
import math

GOAL, LATE = 1.7, 1.2


def ratio(row, whom=None):
    """How many times as fast as a peer (the best, if none is named) ours is; None without one."""
    mine = row["seconds"].get("ckernels")
    others = {w: t for w, t in row["seconds"].items() if w != "ckernels" and (whom in (None, w))}
    return min(others.values()) / mine if mine and others else None


def best(row):
    return min((t, who) for who, t in row["seconds"].items() if who != "ckernels")[1]


def mean(ratios):
    ratios = list(ratios)
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def cells(row):
    """name, ms of NumPy, times NumPy, best peer, times it, first call."""
    if ratio(row) is None:
        return [row["name"], "", "", "", "", "", row["wrong"].get("ckernels", "")]
    note = "; ".join(f"{who} wrong: {words}" for who, words in row["wrong"].items())
    return [
        row["name"],
        f"{1e3 * row['seconds']['numpy']:.3g}",
        f"{ratio(row, 'numpy'):.2f}",
        best(row),
        f"{ratio(row):.2f}",
        f"{row['first']:.2f}",
        note or ("NumPy" if row["numpy"] else ""),
    ]


def line(row):
    return f"| {' | '.join(cells(row))} |"


def summary(rows):
    told = [r for r in rows if ratio(r) is not None]
    ahead = sum(ratio(r) >= 1 for r in told)
    late = sum(ratio(r) * LATE < 1 for r in told)
    return (
        f"{len(told)} programs: {mean(ratio(r, 'numpy') for r in told):.2f}x NumPy and "
        f"{mean(map(ratio, told)):.2f}x the best peer in the geometric mean; ahead of the best "
        f"peer in {ahead}, behind it by more than {LATE}x in {late}"
    )


def reasons(path):
    parser = configparser.ConfigParser()
    parser.read(path)
    return dict(parser["reasons"]) if parser.has_section("reasons") else {}


HEAD = """# A hundred programs beside NumPy, torch and JAX

`python -m benchmarks.breadth --python PATH` wrote this page; PATH is a Python that has the peers.
Each program is what users of its field write in NumPy, ours is `ck.jit` of it as it is, or a graph
where its field writes graphs. Results are compared with NumPy's. Processor times of one thread, the
least of turns in which all alternate; the first call counts the compiler's time. Rows are of more
than one run, where programs that changed were measured again, on machines with other work.
"""


def page(rows, why):
    """The text of the page."""
    parts = [HEAD, summary(rows) + ".\n"]
    for field in dict.fromkeys(r["field"] for r in rows):
        part = [r for r in rows if r["field"] == field]
        parts += [
            f"## {field}\n",
            "| program | NumPy, ms | times NumPy | best peer | times it | first call, s | |",
            "|---|---|---|---|---|---|---|",
            *map(line, part),
            "",
        ]
    late = sorted((ratio(r) or 0, r["name"], r) for r in rows if (ratio(r) or 0) < 1)
    parts += ["## Behind\n", "| program | times the best peer | why |", "|---|---|---|"]
    parts += [f"| {n} | {x:.2f} | {why.get(n) or r['numpy'] or 'not known'} |" for x, n, r in late]
    return "\n".join(parts) + "\n"
