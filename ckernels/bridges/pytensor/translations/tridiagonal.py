"""Systems of three diagonals, row by row as scans: the factors and pivots of LAPACK's gttrf, and
what gttrs makes of them. A matrix of which only its diagonals are read is `Solve`'s.
"""

import numpy as np

from .... import ops
from ....graph.node import item, placeholder
from ....ops.scan import Carry, ScanSignature, scan_node
from ..registry import Untranslated, translates
from .scan import rows_of


def _floats(node, inputs):
    """The inputs in the dtype of the first result."""
    dtype = node.outputs[0].type.dtype
    if dtype.startswith("complex"):
        raise Untranslated("complex matrices")
    return [ops.cast(x, dtype) for x in inputs]


def _part(x, first, end):
    return ops.slice_(x, [(first, end, 1)])


def _padded(x, before, behind):
    """`x` with zeros before and behind it along its first axis."""
    return ops.pad(x, [(before, behind), *[(0, 0)] * (x.ndim - 1)])


def _scanned(rows, carries, step):
    """(outputs of a scan over `rows`, its last states); carries: [(first rows, taps)]."""
    steps = rows_of(rows[0])
    cells = [placeholder(x.dtype, x.shape[1:]) for x in rows]
    held = [[placeholder(x.dtype, x.shape[1:]) for _ in taps] for x, taps in carries]
    states, outs = step(*cells, *[x for group in held for x in group])
    made = scan_node(
        steps,
        [(0, [x], cell) for x, cell in zip(rows, cells)],
        [Carry(x, taps, own, new) for (x, taps), own, new in zip(carries, held, states)],
        outs,
    )
    at = ScanSignature.of(made)
    finals = [item(made, at.final(i)) for i in range(len(carries))]
    return [item(made, at.out(k)) for k in range(len(outs))], finals


def factors(dl, d, du):
    """(dl, d, du, du2, whether a row was exchanged with the next) as gttrf leaves them, with a
    last 0 in du2."""

    def step(below, d_next, du_next, d, du):
        swap = ops.logical_not(ops.ge(ops.abs(d), ops.abs(below)))
        pivot, other = ops.where(swap, below, d), ops.where(swap, d, below)
        singular = ops.eq(pivot, 0)
        ratio = ops.where(singular, other, ops.true_div(other, ops.where(singular, 1, pivot)))
        upper, lower = ops.where(swap, d_next, du), ops.where(swap, du, d_next)
        less = ops.where(singular, lower, ops.sub(lower, ops.mul(ratio, upper)))
        second = ops.where(swap, du_next, 0)
        last = ops.where(swap, ops.neg(ops.mul(ratio, du_next)), du_next)
        return [less, last], [ratio, pivot, upper, ops.cast(second, d.dtype), swap]

    du = _padded(du, 0, 1)
    rows = [dl, *[_part(x, 1, None) for x in (d, du)]]
    first = [(_part(x, 0, 1), (-1,)) for x in (d, du)]
    (ratios, pivots, upper, second, swaps), (last, _) = _scanned(rows, first, step)
    pivots = ops.concatenate([pivots, ops.expand(last, (0,))], 0)
    return ratios, pivots, upper, second, swaps


def _along(b, x):
    """A diagonal beside the rows of the right side `b`."""
    return x if b.ndim == 1 else ops.expand(x, (1,))


def _divided(d, near, far, b):
    """x[i] = (b[i] - near[i] x[i-1] - far[i] x[i-2]) / d[i], with zeros in front."""

    def step(d, near, far, b, two, one):
        x = ops.true_div(ops.sub(ops.sub(b, ops.mul(near, one)), ops.mul(far, two)), d)
        return [x], [x]

    first = ops.zeros_like(ops.concatenate([_part(b, 0, 1)] * 2, 0))
    rows = [*[_along(b, x) for x in (d, near, far)], b]
    return _scanned(rows, [(first, (-2, -1))], step)[0][0]


def _exchanged(ratios, swaps, b):
    """b with each row taken from the next, after the two were exchanged where they were."""

    def step(ratio, swap, below, here):
        here, below = ops.where(swap, below, here), ops.where(swap, here, below)
        return [ops.sub(below, ops.mul(ratio, here))], [here]

    rows = [_along(b, ratios), _along(b, swaps), _part(b, 1, None)]
    (done,), (last,) = _scanned(rows, [(_part(b, 0, 1), (-1,))], step)
    return ops.concatenate([done, ops.expand(last, (0,))], 0)


def _exchanged_back(ratios, swaps, b):
    """The transpose of that, from the last row up."""

    def step(ratio, swap, here, below):
        less = ops.sub(here, ops.mul(ratio, below))
        return [ops.where(swap, below, less)], [ops.where(swap, less, below)]

    last = ops.flip(b, (0,))
    rows = [*[ops.flip(_along(b, x), (0,)) for x in (ratios, swaps)], _part(last, 1, None)]
    (done,), (first,) = _scanned(rows, [(_part(last, 0, 1), (-1,))], step)
    return ops.flip(ops.concatenate([done, ops.expand(first, (0,))], 0), (0,))


def solved(found, b, transposed=False):
    """The solution for `b`, of the system or of its transpose, with what `factors` found."""
    ratios, d, upper, second, swaps = found
    if transposed:
        far = _part(_padded(second, 2, 0), 0, -1)
        b = _divided(d, _padded(upper, 1, 0), far, b)
        return _exchanged_back(ratios, swaps, b)
    b = _exchanged(ratios, swaps, b)
    near, far = _padded(upper, 0, 1), _padded(second, 0, 1)
    turned = [ops.flip(x, (0,)) for x in (d, near, far, b)]
    return ops.flip(_divided(*turned), (0,))


def solution(a, b):
    """The solution of one system, of whose matrix three diagonals are read; NaN without one."""
    found = factors(*[ops.diagonal(a, k, 0, 1) for k in (-1, 0, 1)])
    regular = ops.all(ops.ne(found[1], 0))
    return ops.where(regular, solved(found, b), np.nan)


@translates("LUFactorTridiagonal")
def lu_factor(context, op, node, inputs):
    ratios, d, upper, second, swaps = factors(*_floats(node, inputs))
    row = ops.cumsum(ops.ones_like(ops.cast(d, "int64")), 0)
    pivots = ops.add(row, _padded(ops.cast(swaps, "int64"), 0, 1))
    return [ratios, d, upper, _part(second, 0, -1), pivots]


@translates("SolveLUFactorTridiagonal")
def lu_solve(context, op, node, inputs):
    *inputs, pivots, b = inputs
    ratios, d, upper, second, b = _floats(node, [*inputs, b])
    row = ops.cumsum(ops.ones_like(pivots), 0)
    swaps = _part(ops.ne(pivots, row), 0, -1)
    second = ops.dynamic_slice(_padded(second, 0, 1), [(0, rows_of(ratios), 1)])
    return solved((ratios, d, upper, second, swaps), b, op.transposed)
