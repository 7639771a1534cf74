"""Unshared convolutions, another filter at each place: Theano's unshared=True.

Filters are (outputs, *result sizes, channels / groups, *sizes). All windows of the images meet
their filters in one batch of matrix products, a product per place and group.
"""

from ... import ops
from ...api.conv import from_last, to_last
from ...api.operands import integer, node_of
from ...api.tensor import Tensor
from ...base.errors import ShapeError
from ...graph.shapes import show


def _matrices(filters, flip, groups):
    """(kernel sizes, places, filters as (places, groups, sizes * channels, outputs / groups))."""
    w = node_of(filters, "filters")
    n = (w.ndim - 2) // 2
    if w.ndim not in (4, 6) or None in w.shape:
        raise ShapeError(
            f"unshared filters are (outputs, *result sizes, channels, *sizes) of "
            f"known sizes, got shape {show(w.shape)}"
        )
    outputs, channels = w.shape[0], w.shape[n + 1]
    groups = integer(groups, "num_groups")
    if groups < 1 or outputs % groups:
        raise ShapeError(
            f"{groups} groups do not divide the {outputs} outputs of filters {show(w.shape)}"
        )
    sizes, places = w.shape[n + 2 :], w.shape[1 : n + 1]
    if flip:
        w = ops.flip(w, tuple(range(n + 2, 2 * n + 2)))
    w = ops.reshape(w, (groups, outputs // groups, *w.shape[1:]))
    order = (*range(2, n + 2), 0, *range(n + 3, 2 * n + 3), n + 2, 1)
    w = ops.transpose(w, order)  # (*places, groups, *sizes, channels, outputs / groups)
    return (
        sizes,
        places,
        ops.reshape(w, (_product(places), groups, _product(sizes) * channels, outputs // groups)),
    )


def _product(sizes):
    total = 1
    for s in sizes:
        total *= s
    return total


def _rows(x, what, sizes, places, groups, options):
    """Windows of the images `x` as (places, groups, batch, sizes * channels)."""
    x = node_of(x, what)
    n = len(sizes)
    if x.ndim != n + 2:
        raise ShapeError(f"{what} must have {n + 2} dimensions, got shape {show(x.shape)}")
    p = ops.patches(to_last(x, "channels_first"), sizes, **options)
    if places is not None and any(d not in (None, r) for d, r in zip(p.shape[1 : n + 1], places)):
        raise ShapeError(
            f"unshared filters for results of sizes {show(places)}, but images "
            f"{show(x.shape)} give {show(p.shape[1 : n + 1])}"
        )
    return _grouped(p, n, groups, what)


def _grouped(p, n, groups, what):
    """(N, *places, *sizes, channels) as (places, groups, N, sizes * channels / groups)."""
    channels = p.shape[-1]
    if channels is None or channels % groups or None in p.shape[1:]:
        raise ShapeError(
            f"{what}: {groups} groups do not divide {channels} channels, or sizes are not known"
        )
    sizes = p.shape[n + 1 : -1]
    batch = ops.size_of(p, 0)
    p = ops.reshape(
        p, [batch, _product(p.shape[1 : n + 1]), _product(sizes), groups, channels // groups]
    )
    p = ops.transpose(p, (1, 3, 0, 2, 4))
    return ops.reshape(p, [p.shape[0], groups, batch, _product(sizes) * (channels // groups)])


def conv(input, filters, flip, groups, options):
    """The convolution: (batch, outputs, *result sizes)."""
    sizes, places, w = _matrices(filters, flip, groups)
    rows = _rows(input, "input", sizes, places, groups, options)
    if rows.shape[-1] != w.shape[-2]:
        raise ShapeError(
            f"unshared filters {show(node_of(filters).shape)} do not fit the channels "
            f"of images {show(node_of(input).shape)} in {groups} groups"
        )
    y = ops.transpose(ops.matmul(rows, w), (2, 0, 1, 3))  # (batch, places, groups, outputs)
    outputs = groups * w.shape[-1]
    return from_last(ops.reshape(y, [ops.size_of(y, 0), *places, outputs]), "channels_first")


def _results(g, places, groups):
    """The node `g` (batch, outputs, *places) as (places, groups, batch, outputs / groups)."""
    g = to_last(node_of(g, "output_grad"), "channels_first")
    if g.ndim != len(places) + 2 or any(d not in (None, r) for d, r in zip(g.shape[1:-1], places)):
        raise ShapeError(
            f"output_grad must have sizes {show(places)}, got (channels last) {show(g.shape)}"
        )
    outputs = g.shape[-1]
    g = ops.reshape(g, [ops.size_of(g, 0), _product(places), groups, outputs // groups])
    return ops.transpose(g, (1, 2, 0, 3))


def input_grad(output_grad, filters, image, flip, groups, options):
    """The gradient with respect to the images, of the spatial sizes `image`."""
    sizes, places, w = _matrices(filters, flip, groups)
    channels = node_of(filters).shape[len(sizes) + 1]
    rows = ops.matmul(_results(output_grad, places, groups), ops.swapaxes(w, -1, -2))
    batch = ops.size_of(rows, 2)
    p = ops.reshape(rows, [rows.shape[0], groups, batch, _product(sizes), channels])
    p = ops.reshape(ops.transpose(p, (2, 0, 3, 1, 4)), [batch, *places, *sizes, groups * channels])
    return from_last(ops.patches_grad(p, image, sizes, **options), "channels_first")


def weight_grad(input, output_grad, sizes, flip, groups, options):
    """The gradient with respect to filters of the spatial sizes `sizes`."""
    g = node_of(output_grad, "output_grad")
    x = node_of(input, "input")
    places, n = g.shape[2:], len(sizes)
    if None in (*places, g.shape[1], x.shape[1]):
        raise ShapeError(
            f"the gradient of unshared filters needs known sizes, got output_grad "
            f"{show(g.shape)} and input {show(x.shape)}"
        )
    rows = _rows(x, "input", tuple(sizes), places, groups, options)
    w = ops.matmul(ops.swapaxes(rows, -1, -2), _results(g, places, groups))
    w = ops.reshape(w, [*places, groups, *sizes, x.shape[1] // groups, g.shape[1] // groups])
    order = (n, 2 * n + 2, *range(n), 2 * n + 1, *range(n + 1, 2 * n + 1))
    w = ops.reshape(ops.transpose(w, order), [g.shape[1], *places, x.shape[1] // groups, *sizes])
    return Tensor(ops.flip(w, tuple(range(n + 2, 2 * n + 2))) if flip else w)
