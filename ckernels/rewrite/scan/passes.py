"""The passes on scans, in their order.

They run on graphs with known shapes, after the first rewrites: scans over the same steps are
merged, results nobody reads dropped, bodies rewritten; then products leave the steps (hoist.py).
"""

from ...graph.node import line_of
from ...graph.walk import toposort
from . import hoist, prune
from .join import join_columns, join_terms, join_weights
from .merge import merge, one_of_equal
from .opened import Opened, substitute, with_bodies

ROUNDS = 4  # how often the passes run at most, each after the other


def improve(roots, optimise, key):
    """`roots` with better scans. optimise(list of nodes) rewrites the step of one."""
    tried = set()  # (what was done in vain, uid of a scan, which of its results are read)
    for _ in range(ROUNDS):
        before = roots
        roots = join_columns(prune.only_last(merge(prune.cut(prune.drop_unused(roots, tried)))))
        roots = with_bodies(roots, optimise, key)
        done = set()
        while True:
            scan = next(
                (n for n in toposort(roots) if n.op.name == "scan" and n.uid not in done), None
            )
            if scan is None:
                break
            done.add(scan.uid)
            known = scan.inputs[0].value is not None  # else rows have no shape
            passes = (one_of_equal, *(hoist.PASSES if known else (join_weights, join_terms)))
            roots = _passed(roots, scan, passes, tried)
        if roots == before:
            break
    return prune.drop_unused(prune.in_two(prune.drop_unused(roots, tried)), tried)


def _passed(roots, scan, passes, tried):
    read = {
        n.attrs["index"] for n in toposort(roots) if n.op.name == "item" and n.inputs[0] is scan
    }
    key = passes, scan.uid, frozenset(read)
    if key in tried:
        return roots
    with line_of(scan):
        opened = Opened(scan)
        opened.results = [p if k in read else None for k, p in enumerate(opened.results)]
        if not any([run(opened) for run in passes]):
            tried.add(key)
            return roots
        return substitute(roots, scan, opened.close())
