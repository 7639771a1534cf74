"""Products: matmul (the gemm op), dot, tensordot, batch_dot, outer, trace.

All products become 2-D or batched matmuls through views, so that one C routine serves them. The
decompositions are in decompose.py.
"""

import numbers

import numpy as np

from ..base import dtypes, given
from ..base.errors import DTypeError, ShapeError
from ..graph.node import make
from ..graph.op import Op
from ..graph.shapes import axis_of, broadcast, product, show
from .base import cast, expand, operands, to_node, unbroadcast
from .elementwise import mul
from .filling import diagonal
from .movement import broadcast_to, flatten, reshape, squeeze, swapaxes, transpose
from .reduce import sum
from .shape import size_of, sized, times

__all__ = [
    "matmul",
    "matmul_of_bytes",
    "dot",
    "matched",
    "tensordot",
    "batch_dot",
    "outer",
    "trace",
]


# --- matmul -----------------------------------------------------------------------------------


def _infer_matmul(attrs, a, b):
    if a.ndim < 2 or b.ndim < 2:
        raise ShapeError(f"matmul needs matrices, got shapes {show(a.shape)} and {show(b.shape)}")
    if a.dtype != b.dtype:
        raise DTypeError(f"matmul needs one dtype, got {a.dtype} and {b.dtype}")
    k, other = a.shape[-1], b.shape[-2]
    if None not in (k, other) and k != other:
        raise ShapeError(
            f"cannot multiply matrices of shapes {show(a.shape)} and {show(b.shape)}: "
            f"{k} columns against {other} rows"
        )
    batch = broadcast("multiply batches of", a.shape[:-2], b.shape[:-2])
    return a.dtype, batch + (a.shape[-2], b.shape[-1])


def _run_matmul(attrs, a, b):
    if a.shape[-1] != b.shape[-2]:
        raise ShapeError(
            f"cannot multiply matrices of shapes {show(a.shape)} and {show(b.shape)}: "
            f"{a.shape[-1]} columns against {b.shape[-2]} rows"
        )
    wide = dtypes.computed(a.dtype.name)
    return np.matmul(a.astype(wide, copy=False), b.astype(wide, copy=False)).astype(
        a.dtype, copy=False
    )


def _grad_matmul(node, g):
    a, b = node.inputs
    ga, gb = matmul(g, swapaxes(b, -1, -2)), matmul(swapaxes(a, -1, -2), g)
    return _unbatch(ga, a), _unbatch(gb, b)


def _unbatch(g, like):
    return g if g.ndim == like.ndim == 2 else unbroadcast(g, like)


Op(
    "matmul",
    "gemm",
    _infer_matmul,
    _run_matmul,
    _grad_matmul,
    ulp=64,
    cost=1,
    doc="Products of matrices in the last two axes; the axes before them broadcast.",
)


def matmul(a, b):
    """NumPy's matmul: matrices in the last two axes, leading axes broadcast; or vectors."""
    a, b = operands((to_node(a, "matmul"), to_node(b, "matmul")), "matmul")
    if not a.ndim or not b.ndim:
        raise ShapeError(f"matmul takes no scalars, got shapes {show(a.shape)} and {show(b.shape)}")
    if a.ndim == 1 and b.ndim == 1:
        return dot(a, b)
    if a.ndim == 1:
        return squeeze(matmul(expand(a, (0,)), b), -2)
    if b.ndim == 1:
        return squeeze(matmul(a, expand(b, (1,))), -1)
    if a.ndim > 2 and b.ndim == 2:  # one large product instead of a batch of small ones
        _infer_matmul({}, a, b)
        flat = matmul(_rows(a), b)
        return reshape(flat, sized(a, range(a.ndim - 1)) + [size_of(b, 1)])
    return make("matmul", (a, b))


def _infer_bytes(attrs, a, b):
    if (a.dtype, b.dtype) != ("int8", "int8"):
        raise DTypeError(f"matmul_of_bytes needs int8, got {a.dtype} and {b.dtype}")
    if (a.ndim, b.ndim) != (2, 2):
        raise ShapeError(f"matmul_of_bytes of shapes {show(a.shape)} and {show(b.shape)}")
    return "int32", _infer_matmul(attrs, a, b)[1]


Op(
    "matmul_of_bytes",
    "opaque",
    _infer_bytes,
    lambda attrs, a, b: _run_matmul(attrs, a.astype("int32"), b.astype("int32")),
    cost=1,
    doc="The product of two matrices of int8, in int32; sums beyond wrap around.",
)


def matmul_of_bytes(a, b):
    """matmul of tensors of int8 in int32: a matrix, or any number of them side by side, and one."""
    a, b = operands((to_node(a, "matmul_of_bytes"), to_node(b, "matmul_of_bytes")), "matmul")
    if a.ndim == 2:
        return make("matmul_of_bytes", (a, b))
    found = make("matmul_of_bytes", (_rows(a), b))
    return reshape(found, sized(a, range(a.ndim - 1)) + [size_of(b, 1)])


def _rows(a):
    """`a` as a matrix of its last axis."""
    width = size_of(a, a.ndim - 1)
    height = product(a.shape[:-1])
    if height is None and width != 0 and isinstance(width, int):
        height = -1
    elif height is None:
        height = times(*sized(a, range(a.ndim - 1)))
    return reshape(a, [height, width])


def dot(x, y):
    """NumPy's dot: over the last axis of `x` and the last but one of `y` (or its only one).

    (2, 3) . (4, 3, 5) gives (2, 4, 5); scalars multiply.
    """
    x, y = operands((to_node(x, "dot"), to_node(y, "dot")), "dot")
    if not x.ndim or not y.ndim:
        return mul(x, y)
    k, other = x.shape[-1], y.shape[max(y.ndim - 2, 0)]
    if None not in (k, other) and k != other:
        raise ShapeError(
            f"cannot take the dot product of shapes {show(x.shape)} and {show(y.shape)}: "
            f"axis {x.ndim - 1} of size {k} against axis {max(y.ndim - 2, 0)} of size {other}"
        )
    if x.ndim == 1 and y.ndim == 1:
        return _vector_dot(x, y)
    if y.ndim <= 2:
        return matmul(x, y)
    return tensordot(x, y, ((x.ndim - 1,), (y.ndim - 2,)))


def _vector_dot(x, y):
    # Sizes 1 and n would broadcast; matmul refuses them, so it stands where a size is unknown.
    if x.shape == y.shape and None not in x.shape:
        return cast(sum(mul(x, y)), x.dtype)
    return squeeze(make("matmul", (expand(x, (0,)), expand(y, (1,)))), (0, 1))


def _pair_of_axes(axes, x, y):
    if isinstance(axes, numbers.Integral):
        if not 0 <= axes <= min(x.ndim, y.ndim):
            raise ShapeError(
                f"tensordot over {axes} axes of shapes {show(x.shape)} and {show(y.shape)}"
            )
        return tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes))
    what = "the axes of tensordot"
    a, b = (
        (i,) if isinstance(i, numbers.Integral) else given.sequence(i, what)
        for i in given.pair(axes, what)
    )
    a, b = tuple(axis_of(i, x.ndim) for i in a), tuple(axis_of(i, y.ndim) for i in b)
    if len(a) != len(b) or len(set(a)) != len(a) or len(set(b)) != len(b):
        raise ShapeError(f"the axes of tensordot must pair up, got {axes}")
    return a, b


def matched(x, y, pairs):
    """x and y, whose sizes along the axes of each pair are equal: ShapeError in a call where they
    are not. Of several axes that become one, the product of sizes does not tell."""
    if len(pairs) < 2 or all(None not in (x.shape[i], y.shape[j]) for i, j in pairs):
        return x, y
    mine, its = sized(x), sized(y)
    for i, j in pairs:
        mine[i], its[j] = size_of(y, j), size_of(x, i)
    return broadcast_to(x, mine), broadcast_to(y, its)  # views; a 1 fails in one of the two


def tensordot(x, y, axes=2):
    """np.tensordot: axes is a count (last of `x` with first of `y`) or a pair of lists of axes."""
    x, y = operands((to_node(x, "tensordot"), to_node(y, "tensordot")), "tensordot")
    a, b = _pair_of_axes(axes, x, y)
    for i, j in zip(a, b):
        if None not in (x.shape[i], y.shape[j]) and x.shape[i] != y.shape[j]:
            raise ShapeError(
                f"tensordot of shapes {show(x.shape)} and {show(y.shape)}: axis {i} of size "
                f"{x.shape[i]} against axis {j} of size {y.shape[j]}"
            )
    x, y = matched(x, y, tuple(zip(a, b)))
    free_x = [i for i in range(x.ndim) if i not in a]
    free_y = [i for i in range(y.ndim) if i not in b]
    inner = times(*[size_of(x, i) for i in a])
    left = reshape(transpose(x, free_x + list(a)), [times(*sized(x, free_x)), inner])
    right = reshape(
        transpose(y, list(b) + free_y),
        [times(*[size_of(y, j) for j in b]), times(*sized(y, free_y))],
    )
    return reshape(make("matmul", (left, right)), sized(x, free_x) + sized(y, free_y))


def batch_dot(x, y, axes=None):
    """Dot products within each sample: over one axis of `x` and one of `y`, not the batch axis 0.

    axes: a pair, or one int for both; by default the last of `x` and the last but one of `y` (its
    last when it is a matrix). The shape is x's less its axis, then y's less its axis and batch; a
    vector becomes (n, 1).
    """
    x, y = operands((to_node(x, "batch_dot"), to_node(y, "batch_dot")), "batch_dot")
    if x.ndim < 2 or y.ndim < 2:
        raise ShapeError(
            f"batch_dot needs tensors of at least 2 dimensions, got {show(x.shape)} and "
            f"{show(y.shape)}"
        )
    a, b = _batch_axes(x, y, axes)
    rows = [i for i in range(1, x.ndim) if i != a]
    columns = [i for i in range(1, y.ndim) if i != b]
    left, right = transpose(x, [0] + rows + [a]), transpose(y, [0, b] + columns)
    if len(rows) != 1:
        left = reshape(left, [size_of(x, 0), times(*sized(x, rows)), size_of(x, a)])
    if len(columns) != 1:
        right = reshape(right, [size_of(y, 0), size_of(y, b), times(*sized(y, columns))])
    z = make("matmul", (left, right))
    sizes = [size_of(z, 0)] + sized(x, rows) + sized(y, columns)
    return (
        z
        if len(rows) == len(columns) == 1
        else reshape(z, sizes if len(sizes) > 1 else sizes + [1])
    )


def _batch_axes(x, y, axes):
    if axes is None:
        axes = (x.ndim - 1, max(y.ndim - 2, 1))
    one = isinstance(axes, numbers.Integral)
    a, b = (axes, axes) if one else given.pair(axes, "the axes of batch_dot")
    a, b = axis_of(a, x.ndim), axis_of(b, y.ndim)
    if 0 in (a, b):
        raise ShapeError("batch_dot cannot sum over axis 0, which is the batch")
    if None not in (x.shape[a], y.shape[b]) and x.shape[a] != y.shape[b]:
        raise ShapeError(
            f"batch_dot over axis {a} of shape {show(x.shape)} and axis {b} of shape "
            f"{show(y.shape)}: {x.shape[a]} is not {y.shape[b]}"
        )
    return a, b


def outer(x, y):
    """The matrix x[i] * y[j] of two vectors (flattened first)."""
    x, y = to_node(x, "outer"), to_node(y, "outer")
    return mul(expand(flatten(x), (1,)), expand(flatten(y), (0,)))


def trace(x, offset=0, axis1=0, axis2=1):
    """The sum of the diagonal over two axes."""
    return sum(diagonal(x, offset, axis1, axis2), -1)
