"""Further tensor functions: running sums, repeats, differences, counts, indices of grids."""

import numpy as np

from ... import ops
from ...base.errors import ArgumentError, UsageError
from ...graph.node import constant as constant_node
from ...graph.shapes import axis_of
from ..base.config import config
from ..base.names import absent_of as _absent_of
from ..classes.meanings import DISCRETE
from ..classes.op import KernelOp, Op
from ..graph.apply import Apply
from ..handles.type import TensorType
from ..handles.variables import Handle, as_tensor_variable
from .creation import arange, zeros
from .elementwise import cast, clip, maximum
from .indexing import flatnonzero, inc_subtensor, set_subtensor
from .raise_op import Assert, valued
from .shaping import get_vector_length, squeeze

__all__ = ["CumOp", "CumsumOp", "CumprodOp", "cumsum", "cumprod", "diff", "bincount", "squeeze",
           "compress", "repeat", "RepeatOp", "bartlett", "Bartlett", "fill_diagonal",
           "FillDiagonal", "fill_diagonal_offset", "to_one_hot", "Unique", "unravel_index",
           "ravel_multi_index", "searchsorted", "SearchsortedOp", "DiffOp"]  # fmt: skip


class CumOp(KernelOp):
    """Running sums or products along an axis."""

    def __init__(self, axis=None, mode="add"):
        if mode not in ("add", "mul"):
            raise ArgumentError(f'CumOp: Unknown mode "{mode}"')
        KernelOp.__init__(self, _cumulated, "CumOp", axis=axis, mode=mode)

    def make_node(self, x):
        x = as_tensor_variable(x)
        axis = self.attrs["axis"]
        if axis is not None and not -x.ndim <= axis < x.ndim:
            raise ArgumentError(f"axis(={axis}) out of bounds")
        return KernelOp.make_node(self, x)

    def __reduce__(self):
        return CumOp, (self.attrs["axis"], self.attrs["mode"])


class CumsumOp(CumOp):
    """Running sums."""

    def __new__(cls, axis=None):
        return CumOp(axis, "add")


class CumprodOp(CumOp):
    """Running products."""

    def __new__(cls, axis=None):
        return CumOp(axis, "mul")


def _cumulated(x, axis, mode):
    if axis is None:
        x, axis = ops.flatten(x) if x.ndim else ops.reshape(x, [1]), 0
    return (ops.cumsum if mode == "add" else ops.cumprod)(x, axis)


def cumsum(x, axis=None):
    """Running sums along `axis`, of the flattened tensor for None."""
    return CumOp(axis, "add")(x)


def cumprod(x, axis=None):
    """Running products along `axis`, of the flattened tensor for None."""
    return CumOp(axis, "mul")(x)


class DiffOp(KernelOp):
    """Differences of neighbours."""

    def __init__(self, n=1, axis=-1):
        KernelOp.__init__(self, _diff, "DiffOp", n=n, axis=axis)


def diff(x, n=1, axis=-1):
    """Differences of neighbours along `axis`, `n` times."""
    x = as_tensor_variable(x)
    if x.ndim == 0:
        raise UsageError("diff needs at least one dimension")
    axis = axis_of(axis, x.ndim, "the axis of diff")
    return KernelOp(_diff, "DiffOp", n=int(n), axis=axis)(x)


def _diff(x, n, axis):
    for _ in range(n):
        lead = (slice(None),) * axis
        upper, lower = (
            ops.getitem(x, lead + (slice(1, None),)),
            ops.getitem(x, lead + (slice(None, -1),)),
        )
        x = ops.ne(upper, lower) if x.dtype == "bool" else ops.sub(upper, lower)
    return x


def bincount(x, weights=None, minlength=None, assert_nonneg=False):
    """How often each number of a vector of integers occurs, or the sums of its weights.

    The result is as long as the largest number and `minlength` need.
    """
    x = as_tensor_variable(x)
    if x.ndim != 1:
        raise UsageError(f"bincount counts the elements of a vector: flatten x (ndim {x.ndim})")
    if x.dtype not in DISCRETE:
        raise UsageError("bincount counts integers")
    if assert_nonneg:
        from .reductions import all  # hides Python's all

        x = Assert("bincount cannot count numbers below 0")(x, all(x >= 0))
    size = cast(x.max() + 1, "int64")
    if minlength is not None:
        size = maximum(size, cast(minlength, "int64"))
    if weights is None:
        return inc_subtensor(zeros([size], dtype="int64")[x], np.int64(1))
    weights = as_tensor_variable(weights)
    return inc_subtensor(zeros([size], dtype=weights.dtype)[x], weights)


def compress(condition, x, axis=None):
    """The slices of `x` along `axis` where the vector `condition` is true."""
    indices = flatnonzero(as_tensor_variable(condition))
    x = as_tensor_variable(x)
    return x.take(indices, axis=axis)


class RepeatOp(KernelOp):
    """Each element several times."""

    def __init__(self, axis=None):
        KernelOp.__init__(self, _repeat, "RepeatOp", axis=axis)

    def make_node(self, x, repeats):
        x, repeats = as_tensor_variable(x), as_tensor_variable(repeats)
        if repeats.dtype not in DISCRETE:
            raise UsageError(f"repeats of dtype {repeats.dtype} are no counts: cast to integers")
        if repeats.dtype == "uint64":
            raise UsageError("dtype uint64 is not supported for dtype of the 'repeats' parameter")
        return KernelOp.make_node(self, x, repeats)

    def __reduce__(self):
        return RepeatOp, (self.attrs["axis"],)


def _repeat(x, repeats, axis):
    if axis is None:
        x, axis = ops.flatten(x) if x.ndim != 1 else x, 0
    if repeats.value is not None and repeats.ndim == 0:
        return ops.repeat(x, int(repeats.value), axis)
    return ops.repeat(x, ops.cast(repeats, "int64"), axis)


def repeat(x, repeats, axis=None):
    """Each element of `x` `repeats` times along `axis`, of the flattened tensor for None."""
    repeats = as_tensor_variable(repeats)
    if repeats.ndim > 1:
        raise ArgumentError(f"give repeats as a scalar or a vector: it has {repeats.ndim} axes")
    if repeats.ndim == 1 and repeats.broadcastable[0]:
        repeats = repeats[0]
    return RepeatOp(axis)(x, repeats)


class Bartlett(KernelOp):
    """The Bartlett window."""

    def __init__(self):
        KernelOp.__init__(self, _bartlett, "Bartlett")

    def make_node(self, M):  # noqa: N803 (Theano's name)
        M = as_tensor_variable(M)
        if M.ndim:
            raise UsageError(f"{type(self).__name__} only works on scalar input")
        if M.dtype not in DISCRETE:
            raise UsageError(
                f"{type(self).__name__} needs an integer for the length of the window, "
                f"not {M.dtype}"
            )
        return KernelOp.make_node(self, M)


def _bartlett(M):  # noqa: N803
    M = ops.cast(M, "int64")
    zero, one = constant_node(np.asarray(0)), constant_node(np.asarray(1))
    n = ops.cast(ops.arange(zero, ops.maximum(M, 0), one, "int64"), "float64")
    last = ops.cast(ops.maximum(ops.sub(M, 1), 1), "float64")
    half = ops.true_div(last, constant_node(np.asarray(2.0)))
    up, down = ops.true_div(n, half), ops.sub(constant_node(np.asarray(2.0)), ops.true_div(n, half))
    window = ops.where(ops.le(n, half), up, down)
    return ops.where(ops.le(M, 1), ops.ones_like(window), window)


def bartlett(M):  # noqa: N803
    """The Bartlett window of `M` points: up from 0 to 1 in straight lines, and back."""
    return Bartlett()(M)


class FillDiagonal(KernelOp):
    """`a` with a value on its diagonal."""

    def __init__(self):
        KernelOp.__init__(self, _fill_diagonal, "FillDiagonal")

    def make_node(self, a, val):
        a, val = as_tensor_variable(a), as_tensor_variable(val)
        if a.ndim < 2:
            raise UsageError(
                f"{type(self).__name__}: a diagonal takes two axes or more, and a has {a.ndim}"
            )
        if val.ndim != 0:
            raise UsageError(
                f"{type(self).__name__}: one value fills the diagonal, give val "
                f"without axes (ndim {val.ndim})"
            )
        val = (
            val.astype(a.dtype)
            if val.dtype != a.dtype and np.can_cast(val.dtype, a.dtype, "same_kind")
            else val
        )
        if val.dtype != a.dtype:
            raise UsageError(
                f"the value is {val.dtype}, which {a.dtype} cannot hold: cast it first"
            )
        return KernelOp.make_node(self, a, val)


def _fill_diagonal(a, val):
    if a.ndim == 2:
        return _on_diagonal(a, val, constant_node(np.asarray(0)))
    first = _line(a, 0)
    hit = ops.eq(first, _line(a, 1))
    for axis in range(2, a.ndim):
        hit = ops.logical_and(hit, ops.eq(first, _line(a, axis)))
    return ops.where(hit, val, a)


def _line(a, axis):
    n = ops.size_of(a, axis)
    zero, one = constant_node(np.asarray(0)), constant_node(np.asarray(1))
    end = constant_node(np.asarray(n)) if isinstance(n, int) else n
    line = ops.arange(zero, end, one, "int64")
    return ops.expand(line, tuple(i for i in range(a.ndim) if i != axis))


def _on_diagonal(a, val, offset):
    hit = ops.eq(ops.sub(_line(a, 1), _line(a, 0)), ops.cast(offset, "int64"))
    return ops.where(hit, ops.cast(val, a.dtype), a)


def fill_diagonal(a, val):
    """`a` with the scalar `val` on its main diagonal; tensors need equal sizes."""
    return FillDiagonal()(a, val)


class FillDiagonalOffset(KernelOp):
    """A matrix with a value on one of its diagonals."""

    def __init__(self):
        KernelOp.__init__(self, _on_diagonal, "FillDiagonalOffset")

    def make_node(self, a, val, offset):
        a, val, offset = map(as_tensor_variable, (a, val, offset))
        if a.ndim != 2:
            raise UsageError(f"fill_diagonal_offset fills a matrix, not a tensor of {a.ndim} axes")
        if val.ndim or offset.ndim or offset.dtype not in DISCRETE:
            raise UsageError("FillDiagonalOffset: the value and the integer offset must be scalars")
        return KernelOp.make_node(self, a, val.astype(a.dtype), offset)

    def __reduce__(self):
        return FillDiagonalOffset, ()


def fill_diagonal_offset(a, val, offset):
    """The matrix `a` with the scalar `val` on the diagonal `offset`."""
    return FillDiagonalOffset()(a, val, offset)


def to_one_hot(y, nb_class, dtype=None):
    """Rows of zeros with a one at the places that the integer vector `y` gives."""
    y = as_tensor_variable(y)
    ret = zeros((y.shape[0], nb_class), dtype=dtype or config.floatX)
    return set_subtensor(ret[arange(y.shape[0]), y], 1)


class Unique(KernelOp):
    """The different elements in order, and where they were; along `axis` the different slices."""

    __props__ = ("return_index", "return_inverse", "return_counts", "axis")

    def __init__(self, return_index=False, return_inverse=False, return_counts=False, axis=None):
        KernelOp.__init__(
            self,
            _unique,
            "Unique",
            return_index=bool(return_index),
            return_inverse=bool(return_inverse),
            return_counts=bool(return_counts),
        )
        self.axis = axis

    def make_node(self, x):
        x = as_tensor_variable(x)
        if self.axis is None:
            return KernelOp(_unique, "Unique", **self.attrs).make_node(x)
        axis = self.axis + x.ndim if self.axis < 0 else self.axis
        if not 0 <= axis < x.ndim:
            raise RuntimeError(f"Unique has no axis {self.axis} in a tensor of ndim {x.ndim}")
        if x.ndim == 1:
            return KernelOp(_unique, "Unique", **self.attrs).make_node(x)
        return UniqueSlices(axis=axis, **self.attrs).make_node(x)

    def __reduce__(self):
        return Unique, (*self.attrs.values(), self.axis)


def _unique(x, **asked):
    found = ops.unique(ops.flatten(x), **asked)
    return list(found) if isinstance(found, tuple) else found


class UniqueSlices(Op):
    """The different slices along an axis, by NumPy: their order is that of all their elements."""

    __props__ = ("return_index", "return_inverse", "return_counts", "axis")

    def __init__(self, return_index, return_inverse, return_counts, axis):
        self.return_index, self.return_inverse = return_index, return_inverse
        self.return_counts, self.axis = return_counts, axis

    def make_node(self, x):
        pattern = [b and k != self.axis for k, b in enumerate(x.broadcastable)]
        more = self.return_index + self.return_inverse + self.return_counts
        return Apply(
            self,
            [x],
            [
                TensorType(x.dtype, pattern)(),
                *(TensorType("int64", (False,))() for _ in range(more)),
            ],
        )

    def perform(self, node, inputs, outputs):
        found = np.unique(inputs[0], **self._props_dict())
        found = found if isinstance(found, tuple) else (found,)
        for k, (cell, value) in enumerate(zip(outputs, found)):
            cell[0] = value.reshape(-1) if k else value


def _dims(dims, count=None):
    dims = (
        as_tensor_variable(dims, ndim=1)
        if isinstance(dims, Handle)
        else as_tensor_variable(list(dims) if isinstance(dims, tuple) else dims)
    )
    if dims.dtype not in DISCRETE:
        raise UsageError(f"dims, the sizes of the axes, are integers, not {dims.dtype}")
    if dims.ndim != 1:
        raise UsageError(f"dims, the sizes of the axes, is a vector, not of {dims.ndim} axes")
    count = get_vector_length(dims) if count is None else count
    return [dims[i].astype("int64") for i in range(count)]


def unravel_index(indices, dims, order="C", ndim=None):
    """The coordinates in a grid of sizes `dims` of places in the flattened grid."""
    if order not in ("C", "F"):
        raise ArgumentError("order must be 'C' or 'F'")
    rest = as_tensor_variable(indices)
    if rest.dtype not in DISCRETE:
        raise UsageError("'indices' must be integers")
    from .reductions import all  # hides Python's all

    rest, found = rest.astype("int64"), []
    sizes, total = _dims(dims, ndim), 1
    for d in sizes:
        total = total * d
    rest = valued(rest, "an index is outside of the grid", all(rest >= 0), all(rest < total))
    for d in reversed(sizes) if order == "C" else sizes:
        found.append(rest % d)
        rest = rest // d
    return tuple(reversed(found)) if order == "C" else tuple(found)


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """Places in the flattened grid of sizes `dims` from coordinates."""
    if mode not in ("raise", "wrap", "clip"):
        raise ArgumentError("mode must be 'raise', 'wrap' or 'clip'")
    if order not in ("C", "F"):
        raise ArgumentError("order must be 'C' or 'F'")
    from .reductions import all  # hides Python's all

    if isinstance(multi_index, Handle):
        count = multi_index.node.shape[0]
        if count is None:
            raise UsageError("the number of coordinates must be known: give a tuple of them")
        multi_index = [multi_index[i] for i in range(count)]
    coordinates = [as_tensor_variable(i) for i in multi_index]
    for i in coordinates:
        if i.dtype not in DISCRETE:
            raise UsageError(f"the coordinates are integers, not {i.dtype}")
    coordinates = [i.astype("int64") for i in coordinates]
    sizes, total = _dims(dims, len(coordinates)), 0
    pairs = list(zip(coordinates, sizes))
    for i, d in pairs if order == "C" else reversed(pairs):
        if mode == "wrap":
            i = i % d
        elif mode == "clip":
            i = clip(i, 0, d - 1)
        else:
            i = valued(i, "invalid entry in coordinates array", all(i >= 0), all(i < d))
        total = total * d + i
    return total


class UnravelIndex:
    """The op of `unravel_index`; a call makes a list of variables."""

    def __init__(self, ndim=None, order="C"):
        self.ndim, self.order = ndim, order

    def __call__(self, indices, dims):
        return list(unravel_index(indices, dims, self.order, self.ndim))


class RavelMultiIndex:
    """The op of `ravel_multi_index`, of coordinates and sizes; a call makes a variable."""

    def __init__(self, mode="raise", order="C"):
        self.mode, self.order = mode, order

    def __call__(self, *coordinates_and_dims):
        *coordinates, dims = coordinates_and_dims
        return ravel_multi_index(tuple(coordinates), dims, self.mode, self.order)


class CpuContiguous:
    """The op that makes a variable lie in C order, as arrays that a function returns do."""

    def __call__(self, x):
        return as_tensor_variable(x)


cpu_contiguous = CpuContiguous()


class SearchsortedOp:
    """Where elements would be inserted in a sorted vector; a call makes a variable."""

    def __init__(self, side="left"):
        if side not in ("left", "right"):
            raise ArgumentError(f"side is 'left' or 'right', not {side!r}")
        self.side = side

    def __call__(self, x, v, sorter=None):
        return searchsorted(x, v, self.side, sorter)


def searchsorted(x, v, side="left", sorter=None):
    """Where elements of `v` would be inserted into the sorted vector `x` to keep its order.

    sorter: an order of `x` that sorts it.
    """
    x, v = as_tensor_variable(x), as_tensor_variable(v)
    if x.ndim != 1:
        raise ArgumentError("x must be a 1-d array")
    if sorter is not None:
        sorter = as_tensor_variable(sorter, ndim=1)
        if sorter.dtype not in DISCRETE:
            raise UsageError(
                "sorter holds positions in x: give a vector of integers, not", sorter.type
            )
        x = x[sorter]
    if side not in ("left", "right"):
        raise ArgumentError(f"side is 'left' or 'right', not {side!r}")
    return KernelOp(ops.searchsorted, "SearchsortedOp", side=side)(x, v)


__getattr__ = _absent_of("theano.tensor.extra_ops")
