"""The page: all cells of the twenty expressions, and how often ours is ahead of the best."""

import configparser
import json
from pathlib import Path

from ..breadth.report import mean
from .registry import ALL

HERE = Path(__file__).parent
PEERS = ("numpy", "numexpr", "numba", "jax", "torch")
OURS = ("jit", "evaluate")

HEAD = """# Twenty expressions at five sizes

`python -m benchmarks.expressions --python PATH` wrote this page; PATH is a Python that has numexpr,
numba, JAX and PyTorch. The expressions and dtypes are those of numexpr's guide, of pandas' queries
and of formulas from physics, finance and images; they were chosen before any was timed. `jit` is
`ck.jit` of the function in NumPy's names, `evaluate` is `ck.evaluate` of the text and a dict;
numexpr gets the same text and dict, numba (`parallel=True`) the same function, JAX and
torch.compile the same over their names. Every call takes NumPy arrays and gives one. Processor
times of one thread in microseconds, the least of turns in which all alternate, results compared
with NumPy's. Times the best: the time of the fastest of NumPy and the peers over that of `jit`.
"""


def best(row):
    """(the fastest of NumPy and the peers, its seconds)."""
    found = {who: row["seconds"][who] for who in PEERS if who in row["seconds"]}
    who = min(found, key=found.get)
    return who, found[who]


def lead(row, who="jit"):
    """How many times as fast as the best one of ours was, or None."""
    mine = row["seconds"].get(who)
    return best(row)[1] / mine if mine else None


def told(rows, who):
    """How often one of ours is ahead, and by how much, as a sentence."""
    found = [x for row in rows if (x := lead(row, who))]
    ahead = sum(x >= 1 for x in found)
    return (
        f"`{who}` is ahead of the best of all in {ahead} of {len(found)} cells, "
        f"{mean(found):.2f} times as fast in the geometric mean."
    )


def cell(value):
    return "" if value is None else f"{value * 1e6:.3g}"


def line(row):
    who, _ = best(row)
    cells = [cell(row["seconds"].get(w)) for w in (*OURS, *PEERS)]
    ratio = lead(row)
    last = "" if ratio is None else f"{ratio:.2f}"
    return f"| {row['size']:,} | {' | '.join(cells)} | {who} | {last} |"


def page(rows, reasons):
    """The text of the page."""
    sizes = list(dict.fromkeys(row["size"] for row in rows))
    parts = [HEAD, *[told(rows, who) + "\n" for who in OURS]]
    for size in sizes:
        of_size = [row for row in rows if row["size"] == size]
        parts.append(f"- {size:,} numbers: {told(of_size, 'jit')}")
    parts.append("")
    for expression in ALL:
        own = [row for row in rows if row["name"] == expression.name]
        kinds = ", ".join(f"{n}: {k}" for n, k in expression.kinds.items())
        parts += [
            f"## {expression.name}\n", f"`{expression.text}`, {kinds}\n",
            f"| numbers | {' | '.join((*OURS, *PEERS))} | best | times it |",
            "|---" * (len(OURS) + len(PEERS) + 3) + "|",
            *map(line, own), "",
        ]  # fmt: skip
        refused = {f"{w}: {t}" for row in own for w, t in row["wrong"].items()}
        parts += [f"{', '.join(sorted(refused))}\n"] if refused else []
        parts += [reasons[expression.name] + "\n"] if expression.name in reasons else []
    return "\n".join(parts)


def write():
    """Write RESULTS.md from results.json and reasons.ini."""
    parser = configparser.ConfigParser()
    parser.optionxform = str
    parser.read(HERE / "reasons.ini")
    reasons = dict(parser["reasons"]) if parser.has_section("reasons") else {}
    rows = json.loads((HERE / "results.json").read_text())
    (HERE / "RESULTS.md").write_text(page(rows, reasons))
