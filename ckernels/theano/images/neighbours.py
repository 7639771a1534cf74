"""Theano's tensor.nnet.neighbours: windows of images as rows of a matrix, and back."""

from ... import ops
from ...api.operands import integer, node_of
from ...api.tensor import Tensor
from ...base import given
from ...base.errors import ArgumentError, ShapeError
from ...graph.node import Node
from ...graph.shapes import show
from ...ops.shape import sized, times
from ...ops.windows import TilingError

MODES = {"valid": "valid", "ignore_borders": "valid", "half": "half", "full": "full",
         "wrap_centered": "valid"}  # fmt: skip


def _pair(value, what):
    node = getattr(value, "node", value)
    if isinstance(node, Node):
        if node.value is None:
            raise ArgumentError(f"{what} must be known while the graph is built")
        value = node.value.tolist()
    return tuple(integer(v, what) for v in given.pair(value, what))


def _images(ten4):
    x = node_of(ten4, "ten4")
    if x.ndim != 4:
        raise ShapeError(f"images2neibs needs a tensor of 4 dimensions, got shape {show(x.shape)}")
    return x


def images2neibs(ten4, neib_shape, neib_step=None, mode="valid"):
    """Windows of the images ten4 (list 1, list 2, rows, columns) as rows of a matrix: by image, by
    row and by column of their places, each flattened row by row.

    neib_shape: rows and columns of a window; neib_step: between windows (None: side by side).
    mode: "valid" (ValueError where windows do not divide the image), "ignore_borders" (what is
    left at the end is dropped), "half" and "full" ("valid" of an image padded with zeros), or
    "wrap_centered" (a window of odd size around every neib_step-th pixel, wrapping around).

    >>> x = K.variable(np.arange(16.0).reshape(1, 1, 4, 4))
    >>> images2neibs(x, (2, 2)).eval()
    array([[ 0.,  1.,  4.,  5.],
           [ 2.,  3.,  6.,  7.],
           [ 8.,  9., 12., 13.],
           [10., 11., 14., 15.]], dtype=float32)
    """
    given.word(mode, MODES, "mode")
    x, size = _images(ten4), _pair(neib_shape, "neib_shape")
    step = size if neib_step is None else _pair(neib_step, "neib_step")
    batch = times(ops.size_of(x, 0), ops.size_of(x, 1))
    if mode == "wrap_centered":
        x = _wrapped(x, size)
    x = ops.reshape(x, [batch, *sized(x, (2, 3)), 1])
    exact = mode in ("valid", "half", "full")
    p = ops.patches(x, size, step, MODES[mode], exact=exact)
    rows = times(*sized(p, (0, 1, 2)))
    return Tensor(ops.reshape(p, [rows, size[0] * size[1]]))


def _wrapped(x, size):
    for axis, k in ((2, size[0]), (3, size[1])):
        if k % 2 == 0:
            raise TilingError(f"wrap_centered needs windows of odd sizes, not {size}")
        if x.shape[axis] is not None and x.shape[axis] < k:
            raise TilingError(
                f"wrap_centered windows {size} are larger than the images {show(x.shape)}"
            )
        half, whole = k // 2, (slice(None),) * axis
        if half:
            end = ops.getitem(x, (*whole, slice(-half, None)))
            x = ops.concatenate([end, x, ops.getitem(x, (*whole, slice(0, half)))], axis)
    return x


def neibs2images(neibs, neib_shape, original_shape, mode="valid"):
    """The images (of the shape original_shape) whose windows side by side are the rows `neibs`.

    mode: "valid", or "ignore_borders": what windows left out is zero.

    >>> x = K.variable(np.arange(16.0).reshape(1, 1, 4, 4))
    >>> neibs2images(images2neibs(x, (2, 2)), (2, 2), (1, 1, 4, 4)).eval()[0, 0, 1]
    array([4., 5., 6., 7.], dtype=float32)
    """
    given.word(mode, ("valid", "ignore_borders"), "the mode that neibs2images undoes")
    rows, size = node_of(neibs, "neibs"), _pair(neib_shape, "neib_shape")
    if rows.ndim != 2 or rows.shape[1] not in (None, size[0] * size[1]):
        raise ShapeError(
            f"neibs must be a matrix of {size[0] * size[1]} columns, got shape {show(rows.shape)}"
        )
    shape = ops.shape_vector(original_shape, "original_shape")
    known = ops.known_values(shape)
    if shape.shape[0] not in (None, 4) or (known is not None and len(known) != 4):
        raise ShapeError(f"original_shape must have 4 entries, got {original_shape!r}")
    sizes = [
        ops.getitem(shape, k) if known is None or known[k] is None else known[k] for k in range(4)
    ]
    if mode == "valid" and any(isinstance(s, int) and s % k for s, k in zip(sizes[2:], size)):
        raise ShapeError(f"windows {size} do not divide images of shape {show(tuple(known))}")
    batch = times(*sizes[:2])
    places = [
        s // k if isinstance(s, int) else ops.floor_div(s, k) for s, k in zip(sizes[2:], size)
    ]
    p = ops.reshape(rows, [batch, *places, *size, 1])
    return Tensor(ops.reshape(ops.patches_grad(p, sizes[2:], size, size), sizes))
