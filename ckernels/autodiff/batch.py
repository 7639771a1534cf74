"""Graphs run for many values at once: `batched` gives what depends on some nodes a new first axis.

One rule per op says how the op looks with that axis (mostly: its axes move up by one). Jacobians
use it to run all their rows as one graph. An op without a rule raises NoBatchRule with its name;
the caller decides what then.
"""

from .. import ops
from ..graph.node import make
from ..graph.op import register_rules
from ..graph.walk import toposort_cut
from ..ops.shape import sized, times
from . import scan_batch  # noqa: F401  (the rules of scans)
from .batch_walk import Batch, NoBatchRule

__all__ = ["batched", "NoBatchRule"]

WHOLE = (None, None, 1)


def batched(outputs, wide, fixed=()):
    """`outputs` with all of `wide` {node: values} replaced at once. fixed: uids of nodes below
    which nothing depends on these.
    """
    walk = Batch(wide)
    for n in toposort_cut(outputs, {n.uid for n in wide} | set(fixed)):
        walk.visit(n)
    return walk.settled([walk.full(n) for n in outputs])


# --- rules ------------------------------------------------------------------------------------


def still(rule, first=1, what="indices"):
    """`rule`, for operands that from `first` on are the same for all of the batch."""

    def checked(b, node):
        if any(b.has(i) for i in node.inputs[first:]):
            raise NoBatchRule(f"{node.op.name} with {what} that vary")
        return rule(b, node)

    return checked


def _elementwise(b, node):
    return make(node.op, [b.ranked(i, node.ndim) for i in node.inputs], node.attrs)


def _reduce(b, node):
    axes = node.attrs["axes"]
    if len(axes) > 1 and node.op.name in ("argmax", "argmin"):
        raise NoBatchRule(node.op.name)
    return make(
        node.op, (b.get(node.inputs[0]),), {**node.attrs, "axes": tuple(a + 1 for a in axes)}
    )


def _axis(b, node):
    """Ops of one operand with attrs["axis"]."""
    return make(
        node.op, [b.full(i) for i in node.inputs], {**node.attrs, "axis": node.attrs["axis"] + 1}
    )


def _selected(b, node):
    x, places = node.inputs
    return make(node.op, (b.full(x), places), node.attrs)


def _leading(b, node):
    """Ops that treat leading axes as a batch already; all operands of one rank."""
    return make(node.op, [b.full(i) for i in node.inputs], node.attrs)


def _shifted(name):
    def rule(b, node):
        axes = tuple(a + 1 for a in node.attrs[name])
        return make(node.op, (b.get(node.inputs[0]),), {**node.attrs, name: axes})

    return rule


def _transpose(b, node):
    return ops.transpose(b.get(node.inputs[0]), (0, *(p + 1 for p in node.attrs["perm"])))


def _reshape(b, node):
    return make("reshape", (b.get(node.inputs[0]), b.before(node.inputs[1])))


def _broadcast_to(b, node):
    return make("broadcast_to", (b.ranked(node.inputs[0], node.ndim), b.before(node.inputs[1])))


def _broadcast_like(b, node):
    x, like = node.inputs
    if not b.has(x):
        return None
    return ops.broadcast_to(b.ranked(x, node.ndim), b.sizes(like))


def _unbroadcast(b, node):
    g, like = node.inputs
    if not b.has(g):
        return None
    lead = g.ndim - like.ndim
    moved = ops.moveaxis(b.get(g), 0, lead)
    return make("unbroadcast", (moved, ops.broadcast_to(ops.expand(like, (0,)), b.sizes(like))))


def _shape_only(b, node):
    return None


def _with_slices(name):
    def rule(b, node):
        attrs = {**node.attrs, name: (WHOLE,) + node.attrs[name]}
        if "exact" in attrs:
            attrs["exact"] = tuple(a + 1 for a in attrs["exact"])
        xs = list(node.inputs)
        writes = node.op.name in ("set_slice", "inc_slice", "dynamic_write")
        rest = [b.ranked(xs[1], xs[0].ndim)] if writes else []
        first = b.full(xs[0]) if writes else b.get(xs[0])
        return make(node.op, [first] + rest + xs[1 + len(rest) :], attrs)

    return rule


def _matmul(b, node):
    x, w = node.inputs
    if b.has(x) and not b.has(w) and w.ndim == 2:  # one product of all rows
        return ops.matmul(b.get(x), w)
    if b.has(w) and not b.has(x) and x.ndim == 2 and w.shape[1:] == (1,):  # of columns, as rows
        return ops.expand(ops.matmul(ops.squeeze(b.get(w), -1), ops.transpose(x)), (2,))
    return make("matmul", [b.ranked(i, node.ndim) for i in node.inputs])


def _matmul_of_bytes(b, node):
    x, w = node.inputs
    if b.has(w):
        wide = [ops.cast(b.ranked(i, 2), "int32") for i in node.inputs]
        return make("matmul", wide)
    return ops.matmul_of_bytes(b.get(x), w)


def _take(b, node):
    x, indices = node.inputs
    axis = node.attrs["axis"]
    if not b.has(indices):
        return make("take", (b.get(x), indices), {"axis": axis + 1})
    if not b.has(x):
        return ops.moveaxis(make("take", (x, b.get(indices)), node.attrs), axis, 0)
    x, indices = ops.moveaxis(b.get(x), axis + 1, 1), b.get(indices)
    which = ops.expand(ops.arange(b.count), tuple(range(1, indices.ndim)))
    y = ops.advanced_take(x, (which, indices), ("a", "a") + (":",) * (x.ndim - 2))
    n = indices.ndim
    return ops.transpose(y, (0, *range(n, n + axis), *range(1, n), *range(n + axis, y.ndim)))


def _scatter(b, node):
    like, indices, g = node.inputs
    if b.has(indices):
        raise NoBatchRule("scatter_add with indices that vary")
    if not b.has(g):
        return None
    return make("scatter_add", (b.full(like), indices, b.get(g)), {"axis": node.attrs["axis"] + 1})


def _alike(b, node):
    """Ops along attrs["axis"] of operands of one rank that are broadcast against each other."""
    return make(
        node.op,
        [b.get(i) if b.has(i) else ops.expand(i, (0,)) for i in node.inputs],
        {**node.attrs, "axis": node.attrs["axis"] + 1},
    )


def _put_along(b, node):
    like, indices, g = node.inputs
    if not b.has(g) and not b.has(indices):
        return None
    indices = b.get(indices) if b.has(indices) else ops.expand(indices, (0,))
    return make(
        "put_along_axis_add",
        (b.full(like), indices, b.full(g)),
        {"axis": node.attrs["axis"] + 1},
    )


def _front(node, indices):
    """How many axes NumPy puts before the batch axis: those of indices that stand apart."""
    at = [i for i, t in enumerate(node.attrs["template"]) if t == "a"]
    apart = bool(at) and at[-1] - at[0] + 1 != len(at)
    return max(i.ndim for i in indices) if apart else 0


def _advanced_read(b, node):
    x, indices = node.inputs[0], node.inputs[1:]
    y = make(node.op, (b.get(x),) + indices, {"template": (":",) + node.attrs["template"]})
    return ops.moveaxis(y, _front(node, indices), 0)


def _advanced_write(b, node):
    x, y, indices = node.inputs[0], node.inputs[1], node.inputs[2:]
    part = ops.advanced_take(x, indices, node.attrs["template"])
    wide = b.ranked(y, part.ndim)
    if b.has(y):
        wide = ops.moveaxis(wide, 0, _front(node, indices))
    elif _front(node, indices) and y.ndim > part.ndim - _front(node, indices):
        wide = ops.expand(y, (y.ndim - (part.ndim - _front(node, indices)),))
    attrs = {**node.attrs, "template": (":",) + node.attrs["template"]}
    return make(node.op, (b.full(x), wide) + indices, attrs)


def _pad(b, node):
    x, value = node.inputs
    if b.has(value):
        raise NoBatchRule("pad with a value that varies")
    return make("pad", (b.get(x), value), {"widths": ((0, 0),) + node.attrs["widths"]})


def _diagonal_place(b, node):
    like, g = node.inputs
    if not b.has(g):
        return None
    axes = tuple(a + 1 for a in node.attrs["axes"])
    return make("diagonal_place", (b.full(like), b.get(g)), {**node.attrs, "axes": axes})


def _diag_matrix(b, node):
    zeros = b.full(ops.zeros_like(node))
    return make(
        "diagonal_place",
        (zeros, b.get(node.inputs[0])),
        {"offset": node.attrs["offset"], "axes": (1, 2)},
    )


def _fill_diagonal(b, node):
    x, value = node.inputs
    if x.ndim != 2:
        raise NoBatchRule("fill_diagonal of more than a matrix")
    rows, columns = sized(x)
    there = ops.eye(rows, columns, node.attrs["offset"], "bool")
    return ops.where(there, b.ranked(value, 2), b.full(x))


def _solve(b, node):
    a, right = node.inputs
    if not node.attrs["vector"]:
        return make(node.op, [b.ranked(i, node.ndim) for i in node.inputs], node.attrs)
    column = ops.expand(b.full(right), (right.ndim + 1,))
    wide = make(node.op, (b.ranked(a, max(a.ndim, 2)), column), {**node.attrs, "vector": False})
    return ops.squeeze(wide, -1)


def _of_one_rank(b, node):
    return make(node.op, [b.ranked(i, node.ndim) for i in node.inputs])


def _irfft(b, node):
    _no_wide_sizes(b, node)
    return make("irfft", (b.get(node.inputs[0]), node.inputs[1]))


def _convolve(b, node):
    _no_wide_sizes(b, node)
    return make(node.op, [*map(b.full, node.inputs[:2]), node.inputs[2]])


def _choose(b, node):
    if b.has(node.inputs[0]):
        raise NoBatchRule("ifelse by a condition that varies")
    return make("choose", (node.inputs[0], *(b.full(i) for i in node.inputs[1:])))


def _again(b, node):
    """A value that waits for one row of cotangents waits for the whole batch."""
    return make("again", (b.full(node.inputs[0]), b.get(node.inputs[1])))


def _marked(b, node):
    """The mark has done its work."""
    return b.get(node.inputs[0]) if b.has(node.inputs[0]) else None


def _first_operand(b, node):
    return make(node.op, (b.get(node.inputs[0]),) + node.inputs[1:], node.attrs)


# --- images -----------------------------------------------------------------------------------


def _to_images(x):
    """(B, N, ...) as (B * N, ...)."""
    return ops.reshape(x, [times(*sized(x, [0, 1])), *sized(x, range(2, x.ndim))])


def _from_images(b, y, batch):
    return ops.reshape(y, [b.count, batch, *sized(y, range(1, y.ndim))])


def _images(b, node):
    """Ops that treat each image alike: more images. Operands of one dimension are sizes."""
    _no_wide_sizes(b, node)
    operands = [i if i.ndim == 1 else _to_images(b.full(i)) for i in node.inputs]
    return _from_images(b, make(node.op, operands, node.attrs), sized(node, [0])[0])


def _no_wide_sizes(b, node):
    if any(i.ndim == 1 and b.has(i) for i in node.inputs[1:]):
        raise NoBatchRule(f"{node.op.name} of sizes that vary")


def _interpolate(b, node):
    _no_wide_sizes(b, node)
    x, size = node.inputs
    return make(node.op, (b.get(x), size), {**node.attrs, "axis": node.attrs["axis"] + 1})


def _to_channels(x, groups):
    """(B, ..., groups * c) as (..., groups * B * c): more channels in each group."""
    count, *others, channels = sized(x)
    x = ops.reshape(x, [count, *others, groups, channels // groups])
    return ops.reshape(ops.moveaxis(x, 0, -2), [*others, times(count, channels)])


def _from_channels(b, y, groups, channels):
    """What `_to_channels` made of (B, ..., channels), undone."""
    others = sized(y, range(y.ndim - 1))
    y = ops.reshape(y, [*others, groups, b.count, channels // groups])
    return ops.reshape(ops.moveaxis(y, -2, 0), [b.count, *others, channels])


def _conv(b, node):
    """Batched images are more images, kernels or results more channels, both together groups."""
    _no_wide_sizes(b, node)
    first, second, *sizes = node.inputs
    groups, channels, name = node.attrs["groups"], node.shape[-1], node.op.name
    if not b.has(second) and name != "conv_weight_grad":
        y = make(node.op, (_to_images(b.get(first)), second, *sizes), node.attrs)
        return _from_images(b, y, sized(node, [0])[0])
    if None in (channels, first.shape[-1], second.shape[-1]):
        raise NoBatchRule(f"{name} of unknown numbers of channels")
    if b.has(first) and b.has(second):
        if not isinstance(b.count, int):
            raise NoBatchRule(f"{name} of both operands")
        operands = [_to_channels(b.get(i), 1) for i in (first, second)]
        y = make(node.op, (*operands, *sizes), {**node.attrs, "groups": groups * b.count})
        return _from_channels(b, y, 1, channels)
    if name == "conv_input_grad":  # kernels: more input channels in each group
        w = ops.moveaxis(b.get(second), 0, -3)
        more = [*sized(w, range(w.ndim - 3)), times(b.count, second.shape[-2]), second.shape[-1]]
        y = make(node.op, (first, ops.reshape(w, more), *sizes), node.attrs)
        return _from_channels(b, y, groups, channels)
    if b.has(first):  # images for the gradient of one kernel
        y = make(node.op, (_to_channels(b.get(first), groups), second, *sizes), node.attrs)
        apart = [*sized(y, range(y.ndim - 2)), b.count, first.shape[-1] // groups, channels]
        return ops.moveaxis(ops.reshape(y, apart), -3, 0)
    y = make(node.op, (first, _to_channels(b.get(second), groups), *sizes), node.attrs)
    return _from_channels(b, y, groups, channels)


register_rules(
    "batch",
    {
        "[elementwise]": _elementwise,
        "[reduce]": _reduce,
        "transpose": _transpose,
        "expand": _shifted("axes"),
        "squeeze": _shifted("axes"),
        "reshape": still(_reshape, what="sizes"),
        "broadcast_to": still(_broadcast_to, what="sizes"),
        "slice": _with_slices("slices"),
        "set_slice": _with_slices("slices"),
        "inc_slice": _with_slices("slices"),
        "dynamic_slice": still(_with_slices("template")),
        "dynamic_write": still(_with_slices("template"), 2),
        "broadcast_like": _broadcast_like,
        "unbroadcast": _unbroadcast,
        "shape": _shape_only,
        "count": _shape_only,
        "mask_index": still(_shape_only, 0, "a mask"),
        "mean": _shifted("axes"),
        "var": _shifted("axes"),
        "logsumexp": _shifted("axes"),
        "softmax": _axis,
        "log_softmax": _axis,
        "softmax_crossentropy": _axis,
        "sigmoid_crossentropy": _elementwise,
        "logaddexp": _elementwise,
        "matmul": _matmul,
        "matmul_of_bytes": _matmul_of_bytes,
        "concatenate": _axis,
        "cumsum": _axis,
        "cumprod": _axis,
        "cummax": _axis,
        "cummin": _axis,
        "sliding_windows": _axis,
        "linear_recurrence": _axis,
        "product_of_others": _shifted("axes"),
        "sort": _axis,
        "selected": still(_selected, what="places"),
        "argsort": _axis,
        **dict.fromkeys(("numpy_argsort", "numpy_partition", "argpartition"), _axis),
        "first_places": _axis,
        "take": _take,
        "scatter_add": _scatter,
        "take_along_axis": _alike,
        "put_along_axis_add": _put_along,
        "advanced_take": still(_advanced_read),
        "advanced_last": still(_advanced_read),
        "advanced_set": still(_advanced_write, 2),
        "advanced_inc": still(_advanced_write, 2),
        "advanced_combine": still(_advanced_write, 2),
        "pad": _pad,
        "diagonal": _shifted("axes"),
        "diagonal_place": _diagonal_place,
        "diag_matrix": _diag_matrix,
        "fill_diagonal": _fill_diagonal,
        "tril": _leading,
        "triu": _leading,
        "inverse": _leading,
        "det": _leading,
        "cofactors": _leading,
        "cofactors_along": _of_one_rank,
        "cholesky": _leading,
        "lu": _leading,
        "eigh": _leading,
        "svd": _leading,
        "qr": _leading,
        "pinv": _leading,
        **dict.fromkeys(
            ("expm", "slogdet", "eig", "eigvalsh", "svd_full", "svdvals", "qr_full"), _leading
        ),
        "solve": _solve,
        "sylvester": _of_one_rank,
        "solve_triangular": _solve,
        **dict.fromkeys(("rfft", "fft", "rfft_half", "irfft_half"), _leading),
        "irfft": _irfft,
        "convolve": _convolve,
        "choose": _choose,
        "scan_rows": _first_operand,
        "conv": _conv,
        "conv_input_grad": _conv,
        "conv_weight_grad": _conv,
        **dict.fromkeys(
            (
                "patches",
                "patches_grad",
                "pool_max",
                "pool_max_grad",
                "pool_max_take",
                "pool_sum",
                "pool_sum_grad",
                "pool_average",
                "pool_average_grad",
            ),
            _images,
        ),
        "interpolate": _interpolate,
        "interpolate_grad": _interpolate,
        "again": _again,
        "checkpoint": _marked,
        "print": _first_operand,
        "check": _first_operand,
    },
)
