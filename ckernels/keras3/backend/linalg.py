"""keras.ops.linalg: factors, systems and norms of matrices."""

import builtins

import numpy as np
from keras.src import tree

from ... import ops
from ...autodiff.reverse import Rop
from ..casts import result_type
from ..eager import compiled
from ..rows import as_axis, dtype_of, either, floating
from ..tracing import Step
from ..values import Symbolic, cast, convert_to_tensor, has_traced, node_of
from .elementwise import refuse_traced
from .shaping import move_axes, swapaxes


def _floats(*xs):
    """Tensors in one dtype of floats that LAPACK has."""
    xs = [convert_to_tensor(x) for x in xs]
    dtype = result_type(*[floating(dtype_of(x)) for x in xs])
    return [cast(x, dtype) for x in xs], dtype


def _of_floats(name, eager, graph):
    def function(a):
        (a,), _ = _floats(a)
        return either(eager, graph, a)

    function.__name__, function.__doc__ = name, f"keras.ops.{name} of arrays and traced values."
    return function


def matrix_power(a, n):
    a = convert_to_tensor(a)
    return either(lambda a: np.linalg.matrix_power(a, n), lambda a: ops.matrix_power(a, n), a)


def _turned(n):
    return ops.swapaxes(n, -1, -2)


def cholesky(a, upper=False):
    (a,), _ = _floats(a)
    return either(
        lambda x: np.linalg.cholesky(x, upper=upper) if upper else np.linalg.cholesky(x),
        lambda n: _turned(ops.cholesky(n)) if upper else ops.cholesky(n),
        a,
    )


def cholesky_inverse(a, upper=False):
    """The inverse of a matrix of which `a` is the Cholesky factor."""
    (a,), _ = _floats(a)
    if isinstance(a, Symbolic):
        half = Symbolic(ops.inverse(a.node))
    else:
        half = solve_triangular(
            a, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape), not upper
        )
    return half @ swapaxes(half, -1, -2) if upper else swapaxes(half, -1, -2) @ half


det = _of_floats("det", np.linalg.det, ops.det)
inv = _of_floats("inv", np.linalg.inv, ops.inverse)
eigh = _of_floats("eigh", lambda a: tuple(np.linalg.eigh(a)), lambda n: tuple(ops.eigh(n)))


def eig(a):
    (a,), _ = _floats(a)
    refuse_traced("eig", a)
    return tuple(np.linalg.eig(a))


def lu_factor(a):
    (a,), _ = _floats(a)
    refuse_traced("lu_factor", a)
    import scipy.linalg  # Keras asks for SciPy

    if a.ndim == 2:
        return scipy.linalg.lu_factor(a)
    found = [scipy.linalg.lu_factor(m) for m in a.reshape(-1, *a.shape[-2:])]
    factors, pivots = (np.stack(each) for each in zip(*found))
    return factors.reshape(a.shape), pivots.reshape(*a.shape[:-2], -1)


def norm(x, ord=None, axis=None, keepdims=False):
    x = convert_to_tensor(x)
    dtype = dtype_of(x)
    if "int" in dtype or dtype == "bool":
        dtype = result_type(dtype, "float32")
    x = cast(x, dtype)
    axis = as_axis(axis)
    if not isinstance(x, Symbolic):
        return cast(np.linalg.norm(x, ord=ord, axis=axis, keepdims=keepdims), dtype)
    return Symbolic(_norm_of(x.node, ord, axis, keepdims))


def _norm_of(n, order, axis, keepdims):
    if axis is None:
        if order is None:
            total = ops.sqrt(ops.sum(ops.sqr(ops.flatten(n))))
            return ops.reshape(total, [1] * n.ndim) if keepdims else total
        axis = tuple(range(n.ndim))
    axes = (axis,) if isinstance(axis, int) else tuple(a % n.ndim for a in axis)
    if len(axes) == 1:
        return _vector_norm(n, order, axes[0], keepdims)
    return _matrix_norm(n, order, axes, keepdims)


def _vector_norm(n, order, axis, keepdims):
    size = ops.abs(n)
    if order in (None, 2, "fro"):
        return ops.sqrt(ops.sum(ops.sqr(n), axis, keepdims))
    if order == np.inf:
        return ops.max(size, axis, keepdims)
    if order == -np.inf:
        return ops.min(size, axis, keepdims)
    if order == 0:
        return ops.sum(ops.cast(ops.ne(n, 0), n.dtype), axis, keepdims)
    if order == 1:
        return ops.sum(size, axis, keepdims)
    return ops.pow(ops.sum(ops.pow(size, float(order)), axis, keepdims), 1 / float(order))


def _matrix_norm(n, order, axes, keepdims):
    rows, columns = axes
    if order in (None, "fro"):
        return ops.sqrt(ops.sum(ops.sqr(n), axes, keepdims))
    if order in (1, -1, np.inf, -np.inf):
        inner, outer = (rows, columns) if builtins.abs(order) == 1 else (columns, rows)
        total = ops.sum(ops.abs(n), inner, True)
        found = (ops.max if order > 0 else ops.min)(total, outer, True)
        return found if keepdims else ops.squeeze(found, axes)
    values = ops.svd(move_axes(n, axes, (-2, -1)), compute_uv=False)
    reduce = {"nuc": ops.sum, 2: ops.max, -2: ops.min}
    if order not in reduce:
        raise ValueError(f"Invalid `ord` argument for matrix norm. Received: ord={order}")
    found = reduce[order](values, -1)
    if keepdims:
        for a in sorted(axes):
            found = ops.expand_dims(found, a)
    return found


def qr(x, mode="reduced"):
    if mode not in {"reduced", "complete"}:
        raise ValueError(
            "`mode` argument value not supported. Expected one of {'reduced', 'complete'}. "
            f"Received: mode={mode}"
        )
    (x,), _ = _floats(x)
    return either(lambda a: tuple(np.linalg.qr(a, mode)), lambda n: tuple(ops.qr(n, mode)), x)


def _columns(solve, a, b):
    """Systems of one right side, or of one for each matrix, by those of several."""
    if b.ndim == a.ndim - 1:
        return ops.squeeze(solve(a, ops.expand_dims(b, -1)), (-1 % (b.ndim + 1),))
    return solve(a, b)


def solve(a, b):
    (a, b), _ = _floats(a, b)

    def eager(x, y):
        one = y.ndim == x.ndim - 1
        found = np.linalg.solve(x, y[..., None] if one else y)
        return found[..., 0] if one else found

    return either(eager, lambda x, y: _columns(ops.solve, x, y), a, b)


def solve_triangular(a, b, lower=False):
    (a, b), _ = _floats(a, b)
    return compiled(_triangular, a, b, open_sizes=True, lower=lower)


def _triangular(a, b, lower):
    return _columns(lambda p, q: ops.solve_triangular(p, q, lower=lower), a, b)


def svd(x, full_matrices=True, compute_uv=True):
    (x,), _ = _floats(x)
    if isinstance(x, Symbolic):
        found = ops.svd(x.node, full_matrices, compute_uv)
        return tuple(map(Symbolic, found)) if compute_uv else Symbolic(found)
    found = np.linalg.svd(x, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(found) if compute_uv else found


def lstsq(a, b, rcond=None):
    (a, b), _ = _floats(a, b)
    if not has_traced(a, b):
        return np.linalg.lstsq(a, b, rcond=rcond)[0]
    inverse = node_of(pinv(a, rcond))
    if b.ndim == 1:
        return Symbolic(ops.dot(inverse, node_of(b)))
    return Symbolic(ops.matmul(inverse, node_of(b)))


def matrix_rank(x, tol=None):
    x = convert_to_tensor(x)
    if x.ndim < 2:
        raise ValueError(f"Input must have at least 2 dimensions. Received: x.shape={x.shape}")
    refuse_traced("matrix_rank", x)
    return np.asarray(np.linalg.matrix_rank(x, tol)).astype("int32")


def pinv(x, rcond=None):
    (x,), _ = _floats(x)
    if isinstance(x, Symbolic):
        return Symbolic(ops.pinv(x.node) if rcond is None else _inverse_beyond(x.node, rcond))
    return np.linalg.pinv(x) if rcond is None else np.linalg.pinv(x, rcond)


def _inverse_beyond(n, rcond):
    """The pseudo-inverse by the singular values above a share of the largest."""
    u, s, vt = ops.svd(n, False, True)
    kept = ops.gt(s, ops.mul(rcond, ops.max(s, -1, True)))
    inverse = ops.where(kept, ops.true_div(1.0, ops.where(kept, s, 1.0)), 0.0)
    v, ut = (ops.swapaxes(m, -1, -2) for m in (vt, u))
    return ops.matmul(ops.mul(v, ops.expand_dims(inverse, -2)), ut)


def jvp(fun, primals, tangents, has_aux=False):
    """fun(*primals) and its derivative along `tangents`, with has_aux what else it returns."""
    both = tree.map_structure(convert_to_tensor, (tuple(primals), tuple(tangents)))
    if has_traced(*tree.flatten(both)):
        return _along(fun, *both, has_aux)
    return Step(lambda *both: _along(fun, *both, has_aux))(*both)


def _along(fun, primals, tangents, has_aux):
    found = fun(*primals)
    value, aux = found if has_aux else (found, None)
    nodes = [[node_of(x) for x in tree.flatten(xs)] for xs in (value, primals, tangents)]
    slopes = tree.pack_sequence_as(value, [Symbolic(n) for n in Rop(*nodes)])
    return (value, slopes, aux) if has_aux else (value, slopes)
