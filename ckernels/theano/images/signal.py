"""Theano's tensor.signal: pooling of the last axes (`pool`), and `conv2d` of single images.

`from ckernels.compat import signal`. Padding is never a maximum and adds nothing to a sum.
"""

import numpy as np

from ... import ops
from ...api.conv import from_last
from ...api.operands import integer, node_of
from ...api.tensor import Tensor
from ...base.errors import ArgumentError, CKernelsWarning, NotSupported, ShapeError
from ...base.warned import warn_user
from ...graph.node import Node, make
from ...graph.shapes import show
from ...ops.shape import sized, times
from . import nnet

MODES = ("max", "sum", "average_inc_pad", "average_exc_pad")


def _ints(value, n, what):
    """A tuple of `n` ints from a tuple, an array or a constant vector."""
    node = getattr(value, "node", value)
    if isinstance(node, Node):
        known = ops.known_values(node) if node.ndim == 1 else None
        if known is None or None in known:
            raise NotSupported(f"{what} must be known while the graph is built; give integers")
        value = known
    if not hasattr(value, "__len__") or not np.iterable(value) or len(value) != n:
        raise ArgumentError(f"{what} must be {n} integers, not {value!r}")
    return tuple(integer(v, what) for v in value)


def _images(x, n, what):
    """`x` (*lead, *sizes) as images (batch, *sizes, channels), the last of lead as channels."""
    x = node_of(x, "input")
    if x.ndim < n:
        raise ShapeError(f"{what} needs at least {n} dimensions, got shape {show(x.shape)}")
    lead = x.ndim - n
    if lead != 2:
        ends = sized(x, range(lead))
        batch, channels = times(*ends[:-1]), ends[-1] if ends else 1
        x = ops.reshape(x, [batch, channels, *sized(x, range(lead, x.ndim))])
    return ops.transpose(x, (0, *range(2, n + 2), 1))


def _restored(y, x, n):
    """Pooled images in the shape (*lead, *results) of the node `x` they came from."""
    y = ops.transpose(y, (0, n + 1, *range(1, n + 1)))
    if x.ndim != n + 2:
        y = ops.reshape(y, [*sized(x, range(x.ndim - n)), *sized(y, range(2, n + 2))])
    return Tensor(y)


def _pool(n, name, input, ws, ignore_border, stride, pad, mode, ds, st, padding):
    for old, new, value in (("ds", "ws", ds), ("st", "stride", st), ("padding", "pad", padding)):
        if value is not None:
            _warn(f"{name}: {old} is the old name of {new}")
    ws = ds if ws is None else ws
    stride = st if stride is None else stride
    pad = pad if padding is None else padding
    if ws is None:
        raise ArgumentError(f"{name} needs ws, the size of the window")
    ws = _ints(ws, n, "ws")
    stride = ws if stride is None else _ints(stride, n, "stride")
    pad = _ints(pad, n, "pad")
    if ignore_border is None:
        _warn(f"{name}: ignore_border is not given and is taken to be False; True is faster")
    if any(pad) and not ignore_border:
        raise ArgumentError(f"{name}: padding {pad} needs ignore_border=True")
    if any(p >= w for p, w in zip(pad, ws)):
        raise ArgumentError(f"{name}: padding {pad} must be smaller than the window {ws}")
    return pooled(input, n, ws, ignore_border, stride, pad, mode)


def pooled(input, n, ws, ignore_border, stride, pad, mode):
    """Pooling over the last `n` axes, with a tuple of n integers for ws, stride and pad.

    Where windows that ignore the border do not fit into an image, the result has no elements.
    """
    if mode not in MODES:
        raise ArgumentError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    x = node_of(input, "input")
    images, around = _images(x, n, f"pool_{n}d"), _around(n, ignore_border, pad)
    how = {"empty": bool(ignore_border)}
    if mode.startswith("average"):
        y = ops.pool_average(images, ws, stride, around, mode == "average_exc_pad", **how)
    else:
        y = (ops.pool_max if mode == "max" else ops.pool_sum)(images, ws, stride, around, **how)
    return _restored(y, x, n)


def _around(n, ignore_border, pad):
    return tuple((p, p) for p in pad) if ignore_border else ("partial",) * n


def max_taken(input, values, n, ws, ignore_border, stride, pad):
    """Of `values`, in the shape of `input`, what lies where each window of `input` has its maximum
    (the first of equal ones); arguments as for `pooled`."""
    x, v = node_of(input, "input"), node_of(values, "values")
    images = _images(x, n, "max_taken")
    y = ops.pool_max(images, ws, stride, _around(n, ignore_border, pad), bool(ignore_border))
    taken = make("pool_max_take", (images, y, _images(v, n, "max_taken")), y.attrs)
    return _restored(taken, x, n)


def _warn(text):
    warn_user(text, CKernelsWarning)


def pool_2d(
    input,
    ws=None,
    ignore_border=None,
    stride=None,
    pad=(0, 0),
    mode="max",
    ds=None,
    st=None,
    padding=None,
):
    """Pooling over the last two axes of a tensor of at least two.

    ws: the window; stride: None for windows side by side; pad: zeros on both sides of each axis,
    with ignore_border=True only. ignore_border: drop windows that reach over the end; False (what
    None means, with a warning) keeps them, cut. mode: "max", "sum", "average_inc_pad" (padding
    counts) or "average_exc_pad". ds, st, padding: old names of ws, stride and pad.

    >>> x = K.ones((5, 5))
    >>> K.int_shape(pool_2d(x, (2, 2), True)), K.int_shape(pool_2d(x, (2, 2), False))
    ((2, 2), (3, 3))
    """
    return _pool(2, "pool_2d", input, ws, ignore_border, stride, pad, mode, ds, st, padding)


def pool_3d(
    input,
    ws=None,
    ignore_border=None,
    stride=None,
    pad=(0, 0, 0),
    mode="max",
    ds=None,
    st=None,
    padding=None,
):
    """Pooling over the last three axes; arguments as for `pool_2d`.

    >>> K.int_shape(pool_3d(K.ones((5, 5, 5)), (2, 2, 2), False, mode="sum"))
    (3, 3, 3)
    """
    return _pool(3, "pool_3d", input, ws, ignore_border, stride, pad, mode, ds, st, padding)


def max_pool_2d_same_size(input, patch_size):
    """`input` with all but the maximum (the first of equal ones) of each patch set to zero.

    What patches do not cover at the end of an axis is zero.

    >>> x = K.variable(np.arange(8.0).reshape(1, 1, 2, 4))
    >>> max_pool_2d_same_size(x, (2, 2)).eval()[0, 0]
    array([[0., 0., 0., 0.],
           [0., 5., 0., 7.]], dtype=float32)
    """
    x = node_of(input, "input")
    images = _images(x, 2, "max_pool_2d_same_size")
    y = ops.pool_max(images, _ints(patch_size, 2, "patch_size"))
    return _restored(make("pool_max_grad", (images, y, y), y.attrs), x, 2)


def conv2d(
    input,
    filters,
    image_shape=None,
    filter_shape=None,
    border_mode="valid",
    subsample=(1, 1),
    **kwargs,
):
    """Each image (rows, columns) of `input`, a matrix or a stack of them, convolved with each
    filter: ([images], [filters], rows, columns), without the axes of what was no stack.

    border_mode: "valid" or "full". Filters are flipped, as in scipy.signal.convolve2d.

    >>> K.int_shape(conv2d(K.ones((4, 5, 5)), K.ones((3, 2, 2)), border_mode="full"))
    (4, 3, 6, 6)
    """
    x, w = node_of(input, "input"), node_of(filters, "filters")
    for what, node, shape in (("image_shape", x, image_shape), ("filter_shape", w, filter_shape)):
        if node.ndim not in (2, 3):
            raise ShapeError(
                f"conv2d of the signal room needs images and filters of 2 or 3 "
                f"dimensions, got shape {show(node.shape)}"
            )
        nnet.check_hint(what, node, shape)
    if border_mode not in ("valid", "full"):
        raise ArgumentError(f"border_mode must be 'valid' or 'full', not {border_mode!r}")
    images = ops.expand(x, (3,) if x.ndim == 3 else (0, 3))
    kernel = ops.flip(ops.transpose(w, (1, 2, 0)) if w.ndim == 3 else ops.expand(w, (2,)), (0, 1))
    y = ops.conv(images, ops.expand(kernel, (2,)), subsample, border_mode)
    y = from_last(y, "channels_first").node
    ones = tuple(k for k, node in enumerate((x, w)) if node.ndim == 2)
    return Tensor(ops.squeeze(y, ones) if ones else y)
