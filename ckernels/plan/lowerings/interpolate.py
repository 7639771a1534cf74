"""Launches of interpolation along an axis and of its transpose: rows as sums of weighted rows.

A unit of the range is one row of the result: all that lies behind the axis, at one place along it.
"""

from ...base import dtypes
from ...base.machine import NS_INTERPOLATED, NS_WEIGHTED
from ...codegen.layout import collapse
from ...codegen.lower import Launch
from ...codegen.raw import RawKernel
from ...graph.shapes import product
from ...ops.interpolate import shares
from ...schedule.cost import work


def interpolate(plan, node):
    """The launch; False where the element type has no arithmetic of its own."""
    x, axis = node.inputs[0], node.attrs["axis"]
    if node.dtype not in ("float32", "float64"):
        return False
    source = plan.layout(x)
    rows = as_rows(source, axis)
    if rows is None:
        source = plan.copy(source)
        rows = as_rows(source, axis)
    target = plan.place(node)
    if 0 in node.shape or 0 in x.shape:
        if 0 not in node.shape:
            return False
        return True
    apart, images, width = rows
    weights_of = plan.constant(shares(node.attrs).astype(node.dtype))
    pointers = [lay.pointer for lay in (source, target, weights_of)]
    units = product(node.shape) // width
    start, step, unit = (node.attrs[k] for k in ("start", "step", "unit"))
    weights = 2 if node.op.name == "interpolate" else max(1, 2 * unit / step)
    took = work(NS_INTERPOLATED, units) + work(NS_WEIGHTED * weights, units, width)
    kernel = RawKernel(
        node.op.name,
        (("type", dtypes.C_NAMES[node.dtype]),),
        (("in", node.dtype), ("out", node.dtype)),
    )
    plan.launch(
        Launch(
            kernel,
            pointers,
            [node.shape[axis], width, apart, images, x.shape[axis], start, step, unit],
            units,
            1,
            took,
            [source.buffer],
            [target.buffer],
        ),
        [node],
    )
    return True


def as_rows(layout, axis):
    """(stride along the axis, stride of what lies before it, size of what lies behind it), where
    the one is a single axis and the other contiguous; else None.
    """
    behind = [
        (n, s) for n, s in zip(layout.shape[axis + 1 :], layout.strides[axis + 1 :]) if n != 1
    ]
    before = [(n, s) for n, s in zip(layout.shape[:axis], layout.strides[:axis]) if n != 1]
    for part, strides in ((behind, (1,)), (before, None)):
        if part:
            sizes, (merged,) = collapse([n for n, _ in part], [[s for _, s in part]])
            if len(sizes) > 1 or (strides and merged != strides):
                return None
    images = before[-1][1] if before else 0
    width = product(layout.shape[axis + 1 :])
    return layout.strides[axis], images, width
