"""Products and linear algebra: matmul (the gemm row), dot, tensordot, batch_dot, outer, decompositions.

All products become 2-D or batched matmuls through views, so that one C routine serves them. The
decompositions run through LAPACK inside NumPy; their gradients are the standard ones (Giles 2008, Murray 2016).
"""
import numbers

import numpy as np

from .. import dtypes
from ..errors import DTypeError, ShapeError
from ..graph.node import item, make
from ..graph.op import Op
from ..graph.shapes import axis_of, broadcast, product, show
from .base import cast, expand, operands, to_node, unbroadcast
from .elementwise import add, mul, neg, sub, true_div, where
from .joining import eye, tril
from .logic import eq
from .movement import flatten, reshape, squeeze, swapaxes, transpose
from .reduce import sum
from .shape import size_of, sized, times

__all__ = ["matmul", "dot", "tensordot", "batch_dot", "outer", "solve", "inverse", "det", "cholesky",
           "svd", "qr", "eigh", "pinv", "trace", "eye_like"]


# --- matmul -----------------------------------------------------------------------------------------

def _infer_matmul(attrs, a, b):
    if a.ndim < 2 or b.ndim < 2:
        raise ShapeError(f"matmul needs matrices, got shapes {show(a.shape)} and {show(b.shape)}")
    if a.dtype != b.dtype:
        raise DTypeError(f"matmul needs one dtype, got {a.dtype} and {b.dtype}")
    k, other = a.shape[-1], b.shape[-2]
    if None not in (k, other) and k != other:
        raise ShapeError(f"cannot multiply matrices of shapes {show(a.shape)} and {show(b.shape)}: "
                         f"{k} columns against {other} rows")
    batch = broadcast("multiply batches of", a.shape[:-2], b.shape[:-2])
    return a.dtype, batch + (a.shape[-2], b.shape[-1])


def _run_matmul(attrs, a, b):
    if a.shape[-1] != b.shape[-2]:
        raise ShapeError(f"cannot multiply matrices of shapes {show(a.shape)} and {show(b.shape)}: "
                         f"{a.shape[-1]} columns against {b.shape[-2]} rows")
    if a.dtype == np.float16:
        return np.matmul(a.astype("float32"), b.astype("float32")).astype("float16")
    return np.matmul(a, b)


def _grad_matmul(node, g):
    a, b = node.inputs
    ga, gb = matmul(g, swapaxes(b, -1, -2)), matmul(swapaxes(a, -1, -2), g)
    return _unbatch(ga, a), _unbatch(gb, b)


def _unbatch(g, like):
    return g if g.ndim == like.ndim == 2 else unbroadcast(g, like)


Op("matmul", "gemm", _infer_matmul, _run_matmul, _grad_matmul, ulp=64, cost=1,
   doc="Products of matrices in the last two axes; the axes before them broadcast.")


def matmul(a, b):
    """NumPy's matmul: matrices in the last two axes, leading axes broadcast, vectors made matrices."""
    a, b = operands((to_node(a, "matmul"), to_node(b, "matmul")), "matmul")
    if not a.ndim or not b.ndim:
        raise ShapeError(f"matmul takes no scalars, got shapes {show(a.shape)} and {show(b.shape)}")
    if a.ndim == 1 and b.ndim == 1:
        return dot(a, b)
    if a.ndim == 1:
        return squeeze(matmul(expand(a, (0,)), b), -2)
    if b.ndim == 1:
        return squeeze(matmul(a, expand(b, (1,))), -1)
    if a.ndim > 2 and b.ndim == 2:            # one large product instead of a batch of small ones
        _infer_matmul({}, a, b)
        flat = matmul(_rows(a), b)
        return reshape(flat, sized(a, range(a.ndim - 1)) + [size_of(b, 1)])
    return make("matmul", (a, b))


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
        raise ShapeError(f"cannot take the dot product of shapes {show(x.shape)} and {show(y.shape)}: "
                         f"axis {x.ndim - 1} of size {k} against axis {max(y.ndim - 2, 0)} of size {other}")
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
            raise ShapeError(f"tensordot over {axes} axes of shapes {show(x.shape)} and {show(y.shape)}")
        return tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes))
    a, b = ((i,) if isinstance(i, numbers.Integral) else tuple(i) for i in axes)
    a, b = tuple(axis_of(i, x.ndim) for i in a), tuple(axis_of(i, y.ndim) for i in b)
    if len(a) != len(b) or len(set(a)) != len(a) or len(set(b)) != len(b):
        raise ShapeError(f"the axes of tensordot must pair up, got {axes}")
    return a, b


def tensordot(x, y, axes=2):
    """np.tensordot: axes is a count (last of `x` with first of `y`) or a pair of lists of axes."""
    x, y = operands((to_node(x, "tensordot"), to_node(y, "tensordot")), "tensordot")
    a, b = _pair_of_axes(axes, x, y)
    for i, j in zip(a, b):
        if None not in (x.shape[i], y.shape[j]) and x.shape[i] != y.shape[j]:
            raise ShapeError(f"tensordot of shapes {show(x.shape)} and {show(y.shape)}: axis {i} of size "
                             f"{x.shape[i]} against axis {j} of size {y.shape[j]}")
    free_x = [i for i in range(x.ndim) if i not in a]
    free_y = [i for i in range(y.ndim) if i not in b]
    inner = times(*[size_of(x, i) for i in a])
    left = reshape(transpose(x, free_x + list(a)), [times(*sized(x, free_x)), inner])
    right = reshape(transpose(y, list(b) + free_y),
                    [times(*[size_of(y, j) for j in b]), times(*sized(y, free_y))])
    return reshape(make("matmul", (left, right)), sized(x, free_x) + sized(y, free_y))


def batch_dot(x, y, axes=None):
    """Dot products within each sample: over one axis of `x` and one of `y`, neither the batch axis 0.

    axes: a pair, or one int for both; by default the last of `x` and the last but one of `y` (its last when
    it is a matrix). The shape is x's less its axis, then y's less its axis and batch; a vector becomes (n, 1).
    """
    x, y = operands((to_node(x, "batch_dot"), to_node(y, "batch_dot")), "batch_dot")
    if x.ndim < 2 or y.ndim < 2:
        raise ShapeError(f"batch_dot needs tensors of at least 2 dimensions, got {show(x.shape)} and "
                         f"{show(y.shape)}")
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
    return z if len(rows) == len(columns) == 1 else reshape(z, sizes if len(sizes) > 1 else sizes + [1])


def _batch_axes(x, y, axes):
    if axes is None:
        axes = (x.ndim - 1, max(y.ndim - 2, 1))
    a, b = (axes, axes) if isinstance(axes, numbers.Integral) else axes
    a, b = axis_of(a, x.ndim), axis_of(b, y.ndim)
    if 0 in (a, b):
        raise ShapeError("batch_dot cannot sum over axis 0, which is the batch")
    if None not in (x.shape[a], y.shape[b]) and x.shape[a] != y.shape[b]:
        raise ShapeError(f"batch_dot over axis {a} of shape {show(x.shape)} and axis {b} of shape "
                         f"{show(y.shape)}: {x.shape[a]} is not {y.shape[b]}")
    return a, b


def outer(x, y):
    """The matrix x[i] * y[j] of two vectors (flattened first)."""
    x, y = to_node(x, "outer"), to_node(y, "outer")
    return mul(expand(flatten(x), (1,)), expand(flatten(y), (0,)))


def trace(x, offset=0, axis1=0, axis2=1):
    """The sum of the diagonal over two axes."""
    from .joining import diagonal
    return sum(diagonal(x, offset, axis1, axis2), -1)


# --- decompositions -----------------------------------------------------------------------------------

def _t(x):
    return swapaxes(x, -1, -2)


def _mm(*xs):
    total = xs[0]
    for x in xs[1:]:
        total = matmul(total, x)
    return total


def _square(name):
    def check(x):
        if x.ndim < 2 or (None not in x.shape[-2:] and x.shape[-1] != x.shape[-2]):
            raise ShapeError(f"{name} needs square matrices, got shape {show(x.shape)}")
    return check


def _float_matrix(x, name):
    x = to_node(x, name)
    return cast(x, dtypes.to_float(x.dtype))


def _lapack(fn):
    """fn on arrays in a dtype LAPACK has; the results in the dtype of the first operand."""
    def run(attrs, *arrays):
        half = arrays[0].dtype == np.float16
        result = fn(*[a.astype("float32") for a in arrays] if half else arrays)
        several = isinstance(result, tuple)
        typed = tuple(np.asarray(r).astype(arrays[0].dtype, copy=False)
                      for r in (result if several else (result,)))
        return typed if several else typed[0]
    return run


def _square_op(name, fn, out, grad, doc):
    check = _square(name)

    def infer(attrs, x):
        check(x)
        found = out(x)
        return found if isinstance(found, list) else (x.dtype, found)

    op = Op(name, "opaque", infer, _lapack(fn), grad, ulp=1e4, cost=100, doc=doc)

    def build(x):
        node = make(op, (_float_matrix(x, name),))
        return node if node.outs is None else tuple(item(node, i) for i in range(len(node.outs)))
    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    return build


inverse = _square_op("inverse", np.linalg.inv, lambda x: x.shape,
                     lambda node, g: (neg(_mm(_t(node), g, _t(node))),), "The inverse of square matrices.")
det = _square_op("det", np.linalg.det, lambda x: x.shape[:-2],
                 lambda node, g: (mul(expand(mul(g, node), (node.ndim, node.ndim + 1)),
                                      _t(inverse(node.inputs[0]))),),
                 "The determinant of square matrices.")


def _half_diagonal(x):
    """The lower triangle with the diagonal halved."""
    return sub(tril(x), mul(mul(eye_like(x), x), 0.5))


def eye_like(x):
    """The identity matrix in the shape and dtype of the matrices `x`."""
    return eye(size_of(x, x.ndim - 2), size_of(x, x.ndim - 1), 0, x.dtype)


def _grad_cholesky(node, g):
    inv = inverse(node)
    s = _mm(_t(inv), _half_diagonal(_mm(_t(node), g)), inv)
    return (mul(add(s, _t(s)), 0.5),)


cholesky = _square_op("cholesky", np.linalg.cholesky, lambda x: x.shape, _grad_cholesky,
                      "The lower triangular L with L L^T = x, for positive definite x.")


def _infer_solve(attrs, a, b):
    _square("solve")(a)
    k = b.shape[-1 if attrs["vector"] else -2] if b.ndim else None
    if not b.ndim or (None not in (k, a.shape[-1]) and k != a.shape[-1]):
        raise ShapeError(f"cannot solve a system of shape {show(a.shape)} for a right side of shape "
                         f"{show(b.shape)}")
    if attrs["vector"]:
        return a.dtype, a.shape[:-1]
    return a.dtype, broadcast("solve", a.shape[:-2], b.shape[:-2]) + (a.shape[-1], b.shape[-1])


def _run_solve(attrs, a, b):
    if attrs["vector"]:
        return _lapack(lambda a, b: np.linalg.solve(a, b[..., None])[..., 0])(attrs, a, b)
    return _lapack(np.linalg.solve)(attrs, a, b)


def _grad_solve(node, g):
    a, b = node.inputs
    gb = make("solve", (_t(a), g), node.attrs)
    if node.attrs["vector"]:
        ga = neg(mul(expand(gb, (gb.ndim,)), expand(node, (node.ndim - 1,))))
    else:
        ga = neg(matmul(gb, _t(node)))
    return unbroadcast(ga, a), unbroadcast(gb, b)


Op("solve", "opaque", _infer_solve, _run_solve, _grad_solve, ulp=1e4, cost=100,
   doc="The x with a x = b; attrs['vector']: b is a vector.")


def solve(a, b):
    """The x with a . x = b, for `b` a vector or matrices; the axes before the last two broadcast."""
    a, b = operands((_float_matrix(a, "solve"), _float_matrix(b, "solve")), "solve")
    return make("solve", (a, b), {"vector": b.ndim == 1})


# --- several outputs ----------------------------------------------------------------------------------

def _parts(node, g):
    """(outputs, cotangents with zeros for None) of a node with several outputs."""
    outs = [item(node, i) for i in range(len(node.outs))]
    return outs, [mul(o, 0) if c is None else c for o, c in zip(outs, g)]


def _diagonal_matrix(v):
    """Vectors in the last axis as diagonal matrices."""
    n = size_of(v, v.ndim - 1)
    return mul(expand(v, (v.ndim,)), eye(n, n, 0, v.dtype))


def _gaps(v):
    """1 / (v_j - v_i), zero on the diagonal (and where values are equal)."""
    d = sub(expand(v, (v.ndim - 1,)), expand(v, (v.ndim,)))
    same = eq(d, 0)
    return where(same, 0, true_div(1, where(same, 1, d)))


def _grad_eigh(node, g):
    (w, v), (gw, gv) = _parts(node, g)
    inner = add(_diagonal_matrix(gw), mul(_gaps(w), _mm(_t(v), gv)))
    s = _mm(v, inner, _t(v))
    # NumPy reads the lower triangle only: what falls on the upper one belongs to its mirror image.
    return (sub(tril(add(s, _t(s))), mul(eye_like(s), s)),)


eigh = _square_op("eigh", lambda x: tuple(np.linalg.eigh(x)),
                  lambda x: [(x.dtype, x.shape[:-1]), (x.dtype, x.shape)], _grad_eigh,
                  "(w, v): rising eigenvalues and orthonormal eigenvectors of symmetric matrices, of which "
                  "the lower triangle is read.")


def _smaller(x):
    m, n = x.shape[-2:]
    if None in (m, n):
        return None
    return min(m, n)


def _any_op(name, fn, outs, grad, doc):
    def infer(attrs, x):
        if x.ndim < 2:
            raise ShapeError(f"{name} needs matrices, got shape {show(x.shape)}")
        return outs(x)

    op = Op(name, "opaque", infer, _lapack(fn), grad, ulp=1e4, cost=100, doc=doc)

    def build(x):
        node = make(op, (_float_matrix(x, name),))
        return node if node.outs is None else tuple(item(node, i) for i in range(len(node.outs)))
    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    return build


def _grad_svd(node, g):
    """Townsend 2016, for distinct singular values; the parts outside the range of U and V included."""
    (u, s, vt), (gu, gs, gvt) = _parts(node, g)
    v, gv = _t(vt), _t(gvt)
    f = _gaps(mul(s, s))
    s_row, s_column = expand(s, (s.ndim - 1,)), expand(s, (s.ndim,))
    utu, vtv = _mm(_t(u), gu), _mm(_t(v), gv)
    inner = add(add(mul(mul(f, sub(utu, _t(utu))), s_row), _diagonal_matrix(gs)),
                mul(s_column, mul(f, sub(vtv, _t(vtv)))))
    total = _mm(u, inner, vt)
    inverse_s = true_div(1, s_row)
    outside_u = sub(gu, _mm(u, utu))
    outside_v = sub(gv, _mm(v, vtv))
    total = add(total, _mm(mul(outside_u, inverse_s), vt))
    return (add(total, _mm(u, _t(mul(outside_v, inverse_s)))),)


svd = _any_op("svd", lambda x: tuple(np.linalg.svd(x, full_matrices=False)),
              lambda x: [(x.dtype, x.shape[:-1] + (_smaller(x),)), (x.dtype, x.shape[:-2] + (_smaller(x),)),
                         (x.dtype, x.shape[:-2] + (_smaller(x), x.shape[-1]))], _grad_svd,
              "(u, s, v) with x = u diag(s) v: s falls, u and v are reduced (NumPy's full_matrices=False).")


def _grad_qr(node, g):
    """For at least as many rows as columns."""
    x = node.inputs[0]
    if None not in x.shape[-2:] and x.shape[-2] < x.shape[-1]:
        raise ShapeError(f"qr of shape {show(x.shape)} has no gradient: it needs rows >= columns")
    (q, r), (gq, gr) = _parts(node, g)
    m = sub(_mm(r, _t(gr)), _mm(_t(gq), q))
    symmetric = add(tril(m, -1), _t(tril(m)))       # the lower triangle copied to the upper one
    return (_t(_solve(r, _t(add(gq, _mm(q, _t(symmetric)))))),)


def _solve(a, b):
    return make("solve", (a, b), {"vector": False})


qr = _any_op("qr", lambda x: tuple(np.linalg.qr(x)),
             lambda x: [(x.dtype, x.shape[:-1] + (_smaller(x),)),
                        (x.dtype, x.shape[:-2] + (_smaller(x), x.shape[-1]))], _grad_qr,
             "(q, r) with x = q r, q with orthonormal columns, r upper triangular (reduced).")


def _grad_pinv(node, g):
    """Golub and Pereyra 1973, for constant rank."""
    a, p = node.inputs[0], node
    pt, gt = _t(p), _t(g)
    outside = _mm(sub(gt, _mm(a, p, gt)), p, pt)            # (1 - A P) G^T P P^T
    inside = _mm(pt, p, sub(gt, _mm(gt, p, a)))             # P^T P G^T (1 - P A)
    return (add(neg(_mm(pt, g, pt)), add(outside, inside)),)


pinv = _any_op("pinv", np.linalg.pinv, lambda x: (x.dtype, x.shape[:-2] + (x.shape[-1], x.shape[-2])),
               _grad_pinv, "The Moore-Penrose inverse.")
