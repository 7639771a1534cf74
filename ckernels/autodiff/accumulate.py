"""Reverse accumulation: cotangents walk a graph backwards from the cost, op by op.

The heart of reverse.py, by itself because the gradients of scans, of checkpoints and of spectra
run it on graphs of their own.
"""

import numpy as np

from .. import ops
from ..base import dtypes
from ..base.errors import DisconnectedError, with_line
from ..graph.node import make, making_for, new_uid
from ..graph.op import Op, having
from ..graph.walk import toposort

COMPLEX_RULES = having("knows_complex")


def carries(node):
    """Whether `node` can have a cotangent: a float, or several outputs with one among them."""
    if node.outs is not None:
        return any(dtypes.is_inexact(d) for d, _ in node.outs)
    return dtypes.is_inexact(node.dtype)


def _reaching(order, targets, fixed):
    """uids of the nodes through which something can flow back to a target."""
    wanted = {t.uid for t in targets}
    reach = set()
    for node in order:
        if not carries(node):
            continue
        flows = node.uid not in fixed and any(i.uid in reach for i in node.inputs)
        if flows or node.uid in wanted:
            reach.add(node.uid)
    return reach


def accumulate(starts, targets, known=(), fixed=()):
    """Cotangents of `targets` (None where none arrives) for cotangents `starts` ({node: node})."""
    order = toposort(list(starts))
    reach = _reaching(order, targets, fixed)
    given = {n.uid for n in known}
    arrived = {n.uid: [g] for n, g in starts.items()}
    total = {}
    with making_for() as line:
        for node in reversed(order):
            parts = arrived.pop(node.uid, None)
            if parts is None or node.uid not in reach:
                continue
            line(node)
            total[node.uid] = g = _sum(node, parts)
            if node.uid in fixed or not any(i.uid in reach for i in node.inputs):
                continue
            for i, part in zip(node.inputs, _backward(node, g)):
                if part is not None and i.uid in reach and i.uid not in given:
                    arrived.setdefault(i.uid, []).append(part)
    return [total.get(t.uid) for t in targets]


def _sum(node, parts):
    """All contributions to `node` added up, pairwise so that long sums stay shallow."""
    if node.outs is not None:
        columns = [[p[k] for p in parts if p[k] is not None] for k in range(len(node.outs))]
        return [_pairwise(c) if c else None for c in columns]
    return _pairwise([p if p.dtype == node.dtype else ops.cast(p, node.dtype) for p in parts])


def _pairwise(parts):
    while len(parts) > 1:
        pairs = [ops.add(a, b) for a, b in zip(parts[::2], parts[1::2])]
        parts = pairs + ([parts[-1]] if len(parts) % 2 else [])
    return parts[0]


def _backward(node, g):
    if node.op.grad is None:
        raise with_line(
            DisconnectedError(
                f"{node.op.name} has no gradient, but the cost depends on what "
                "was asked for through it"
            ),
            node,
        )
    if node.outs is None and dtypes.is_complex(node.dtype) and node.op.name not in COMPLEX_RULES:
        parts = node.op.grad(node, ops.conj(g))  # of an analytic function: g times conj(f')
        return parts and [None if p is None else ops.conj(p) for p in parts]
    return node.op.grad(node, g)


# --- along a direction ------------------------------------------------------------------------


# A cotangent of zeros that equals no other node. What is linear in it has a derivative without it.
Op(
    "seed",
    "elementwise",
    lambda attrs, x: (x.dtype, x.shape),
    lambda attrs, x: np.zeros_like(x),
    lambda node, g: (None,),
    "0",
    ulp=0,
    doc="Zeros like x, different from every other node.",
)


def along(nodes, targets, points):
    """The derivatives of `nodes` as `targets` move along `points`, zeros where they do not depend.

    What accumulates from a cotangent u is linear in u; that from it, with the points, is J v and
    does not depend on u.
    """
    results = []
    for node in nodes:
        seed = make("seed", (node,), {"uid": new_uid()})
        rows = accumulate({node: seed}, targets)
        starts = {}
        for row, point in zip(rows, points):
            if row is not None:
                starts[row] = ops.add(starts[row], point) if row in starts else point
        out = accumulate(starts, [seed])[0] if starts else None
        results.append(ops.zeros_like(node) if out is None else out)
    return results
