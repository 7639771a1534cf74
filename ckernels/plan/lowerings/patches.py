"""Launches of patches and their transpose: windows of an image are a view with strides of its own.

Reading them is one copy of that view. Adding them up is one copy where windows do not overlap,
else one addition per place in the window. Padding is written around a copy of the image first.
"""

from dataclasses import replace

from ...base import dtypes
from ...ops.windows import all_pads, extent, taps
from .movement import around, combine, copy, part, real, zero


def windows(layout, attrs, results):
    """The view (N, *results, *size, C) of a padded image that shows its windows."""
    near = layout.strides[1:-1]
    step = tuple(s * t for s, t in zip(near, attrs["strides"]))
    inside = tuple(s * t for s, t in zip(near, attrs["dilation"]))
    return replace(
        layout,
        shape=(layout.shape[0], *results, *attrs["size"], layout.shape[-1]),
        strides=(layout.strides[0], *step, *inside, layout.strides[-1]),
    )


def inside(pads, shape):
    """The slices of a padded image where the image of `shape` is."""
    spatial = zip(pads, shape[1:-1])
    return ((0, shape[0], 1), *((low, low + n, 1) for (low, _), n in spatial), (0, shape[-1], 1))


def padded_shape(pads, shape):
    return (shape[0], *(low + n + high for (low, high), n in zip(pads, shape[1:-1])), shape[-1])


def patches(plan, node):
    """A copy of the windows, of the image or of a copy of it with zeros around."""
    x, attrs = node.inputs[0], node.attrs
    if not real(x):
        return False
    pads = all_pads(attrs, x.shape[1:-1], attrs["size"])
    source = plan.layout(x)
    target = plan.place(node)
    if 0 in node.shape:
        return True
    if any(p for pair in pads for p in pair):
        wide = plan.temp(padded_shape(pads, x.shape), x.dtype)
        for box in around(wide.shape, inside(pads, x.shape)):
            zero(plan, node, part(wide, box))
        copy(plan, node, source, part(wide, inside(pads, x.shape)))
        source = wide
    copy(plan, node, windows(source, attrs, node.shape[1 : len(attrs["size"]) + 1]), target)
    return True


def patches_grad(plan, node):
    """Windows copied or added to their places in zeros."""
    g, attrs = node.inputs[0], node.attrs
    size, n = attrs["size"], len(attrs["size"])
    apart = all(extent(k, d) <= s for k, s, d in zip(size, attrs["strides"], attrs["dilation"]))
    if not real(g) or (g.dtype in dtypes.COMPUTED and not apart):
        return False
    pads = all_pads(attrs, node.shape[1:-1], size)
    source, target = plan.layout(g), plan.place(node)
    if 0 in node.shape:
        return True
    pad = any(p for pair in pads for p in pair)
    wide = plan.temp(padded_shape(pads, node.shape), node.dtype) if pad else target
    results = g.shape[1 : n + 1]
    covered = apart and wide.shape[1:-1] == tuple(k * r for k, r in zip(size, results))
    if not covered:
        zero(plan, node, wide)
    if 0 not in g.shape and apart:
        copy(plan, node, source, windows(wide, attrs, results))
    elif 0 not in g.shape:
        add_up(plan, node, source, wide, results)
    if pad:
        copy(plan, node, part(wide, inside(pads, node.shape)), target)
    return True


def add_up(plan, node, source, wide, results):
    """Add what each place in the window holds to the elements it lies over."""
    attrs, n = node.attrs, len(results)
    whole = tuple((0, m, 1) for m in source.shape)
    for offset, there in taps(attrs["size"], results, attrs["strides"], attrs["dilation"]):
        slices = [(s.start, s.stop, s.step) for s in there[1:]]
        here = part(wide, [(0, wide.shape[0], 1), *slices, (0, wide.shape[-1], 1)])
        picked = part(source, (*whole[: n + 1], *((o, o + 1, 1) for o in offset), whole[-1]))
        keep = [k for k in range(2 * n + 2) if not n < k <= 2 * n]
        picked = replace(
            picked,
            shape=tuple(picked.shape[k] for k in keep),
            strides=tuple(picked.strides[k] for k in keep),
        )
        combine(plan, node, "add", [here, picked], here)
