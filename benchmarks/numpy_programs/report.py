"""The page: each program at its sizes, beside NumPy and the best of its peers."""

from ..breadth.report import best, mean, ratio

HEAD = """# Programs of plain NumPy under `ck.jit`

`python -m benchmarks.numpy_programs --python PATH` wrote this page; PATH is a Python that has the
peers. Each program is plain NumPy and ours is `ck.jit` of it as it is, one function for all sizes;
results and arguments are compared with NumPy's, dtypes and kinds included. numba gets the same
source, JAX the same over `jax.numpy`, numexpr a version by hand where a program has expressions for
it; where they refuse a program or are wrong they have no time. Processor times of one thread, the
least of turns in which all alternate; arguments are copied before the clock runs; the first call is
that of ours, of a new size or dtype also, and counts the compiler's time (kernels of earlier runs
are at hand).
"""


def cells(row):
    """name, size, ms of NumPy, times NumPy, best peer, times it, first call, what is to be said."""
    wrong = row["wrong"].get("ckernels")
    if wrong or ratio(row, "numpy") is None:
        return [row["name"], str(row["size"]), "", "", "", "", "", f"wrong: {wrong}"]
    peer = best(row)
    alone = peer == "numpy" and len(row["seconds"]) == 2
    return [
        row["name"],
        str(row["size"]),
        f"{1e3 * row['seconds']['numpy']:.3g}",
        f"{ratio(row, 'numpy'):.2f}",
        "" if alone else peer,
        "" if alone else f"{ratio(row):.2f}",
        f"{row['first']['ckernels']:.2f}",
        "NumPy" if row["numpy"] else "",
    ]


def line(row):
    return f"| {' | '.join(cells(row))} |"


def summary(rows):
    told = [r for r in rows if ratio(r) is not None and "ckernels" not in r["wrong"]]
    return (
        f"{len({r['name'] for r in rows})} programs, {len(rows)} sizes, {len(told)} right: "
        f"{mean(ratio(r, 'numpy') for r in told):.2f}x NumPy and {mean(map(ratio, told)):.2f}x the "
        f"best of NumPy and the peers in the geometric mean; ahead of the best in "
        f"{sum(ratio(r) >= 1 for r in told)} of {len(told)}, behind NumPy in "
        f"{sum(ratio(r, 'numpy') < 1 for r in told)}, by more than a tenth in "
        f"{sum(ratio(r, 'numpy') < 0.9 for r in told)}"
    )


def page(rows):
    """The text of the page."""
    parts = [HEAD, summary(rows) + ".\n"]
    for field in dict.fromkeys(r["field"] for r in rows):
        parts += [
            f"## {field}\n",
            "| program | size | NumPy, ms | times NumPy | best | times it | first call, s | |",
            "|---|---|---|---|---|---|---|---|",
            *[line(r) for r in rows if r["field"] == field],
            "",
        ]
    for who in ("numba", "jax", "numexpr"):
        pairs = [r for r in rows if who in r["seconds"] and "ckernels" not in r["wrong"]]
        if pairs:
            count, times = len({r["name"] for r in pairs}), mean(ratio(r, who) for r in pairs)
            parts.append(f"Beside {who}, which has {count} of them: {times:.2f}x in the mean.\n")
    return "\n".join(parts)
