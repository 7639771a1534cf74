"""New tensors: zeros and ones of symbolic shapes, ranges, identity matrices, diagonals, grids."""

import numpy as np

from ... import ops
from ...base.errors import ArgumentError, NotSupported, UsageError
from ...graph.node import constant as constant_node
from ..base.config import config
from ..base.exceptions import RefusedError
from ..classes.meanings import DISCRETE, upcast
from ..classes.op import KernelOp
from ..handles.type import name_of
from ..handles.variables import Handle, as_tensor_variable, constant
from .elementwise import cast, fill
from .shaping import as_shape

__all__ = ["Alloc", "AllocEmpty", "alloc", "zeros", "ones", "zeros_like", "ones_like", "eye", "Eye",
           "identity_like", "arange", "ARange", "tri", "tril", "triu", "Tri", "diag", "diagonal",
           "ExtractDiag", "AllocDiag", "extract_diag", "alloc_diag", "mgrid", "ogrid",
           "full", "full_like", "identity_matrix"]  # fmt: skip


class Alloc(KernelOp):
    """A value in a shape."""

    def __init__(self):
        KernelOp.__init__(self, _alloc, "Alloc")

    def make_node(self, value, *shape):
        value = as_tensor_variable(value)
        sizes = [s for one in shape for s in (as_shape([one]))]
        if len(sizes) < value.ndim:
            raise UsageError(
                "alloc cannot fill a shape with a value of more axes: give as many "
                "sizes as the value has axes, or more",
                value.ndim,
                len(sizes),
            )
        sizes = [constant(np.asarray(s, "int64")) if isinstance(s, int) else s for s in sizes]
        return KernelOp.make_node(self, value, *sizes)

    def __reduce__(self):
        return Alloc, ()

    def __str__(self):
        return "Alloc"


def _alloc(value, *sizes):
    sizes = [ops.cast(s, "int64") if s.value is None else int(s.value) for s in sizes]
    if not sizes:
        return ops.identity(value)
    lead = len(sizes) - value.ndim
    value = ops.expand(value, tuple(range(lead))) if lead else value
    return ops.broadcast_to(value, sizes)


alloc = Alloc()


class AllocEmpty(KernelOp):
    """A tensor of a shape, without a value that means anything: zeros here."""

    def __init__(self, dtype):
        KernelOp.__init__(self, _alloc, "AllocEmpty")
        self.dtype = name_of(dtype)

    def make_node(self, *shape):
        return Alloc().make_node(constant(np.zeros((), self.dtype)), *shape)


def zeros(shape, dtype=None):
    """Zeros of a shape of ints and scalars, or given by a vector; dtype floatX by default."""
    return _filled(0, shape, dtype)


def ones(shape, dtype=None):
    """Ones of a shape."""
    return _filled(1, shape, dtype)


def _filled(number, shape, dtype):
    if not (isinstance(shape, (np.ndarray, list, tuple)) or isinstance(shape, Handle)):
        shape = [shape]
    dtype = config.floatX if dtype is None else name_of(dtype)
    value = constant(np.asarray(number, dtype=dtype))
    sizes = as_shape(shape)
    if isinstance(sizes, Handle):
        raise ArgumentError(f"the number of dimensions of the shape {shape} is not known")
    return alloc(value, *sizes)


def full(shape, fill_value, dtype=None):
    """A shape filled with a value."""
    value = as_tensor_variable(fill_value)
    return alloc(value if dtype is None else value.astype(dtype), *as_shape(shape))


def full_like(a, fill_value, dtype=None):
    """A value in the shape of `a`."""
    a = as_tensor_variable(a)
    return fill(a, cast(fill_value, dtype or a.dtype))


def zeros_like(model, dtype=None, opt=False):
    """Zeros of the shape and dtype of `model`."""
    return _like(0, model, dtype)


def ones_like(model, dtype=None, opt=False):
    """Ones of the shape and dtype of `model`."""
    return _like(1, model, dtype)


def _like(number, model, dtype):
    model = as_tensor_variable(model)
    dtype = model.dtype if dtype is None else name_of(dtype)
    return fill(model, constant(np.asarray(number, dtype=dtype)))


# --- ranges -----------------------------------------------------------------------------------


class ARange(KernelOp):
    """start, start + step, ... below stop; one op for each dtype."""

    _made = {}

    def __new__(cls, dtype):
        dtype = name_of(dtype)
        found = cls._made.get(dtype)
        if found is None:
            found = cls._made[dtype] = object.__new__(cls)
        return found

    def __init__(self, dtype):
        dtype = name_of(dtype)
        KernelOp.__init__(self, _arange, "ARange", dtype=dtype)
        self.dtype = dtype

    def __reduce__(self):
        return ARange, (self.dtype,)

    def __str__(self):
        return f"ARange{{dtype='{self.dtype}'}}"


def _arange(start, stop, step, dtype):
    if all(n.value is not None for n in (start, stop, step)):
        return constant_node(np.arange(start.value, stop.value, step.value, dtype=dtype))
    return ops.arange(start, stop, step, dtype)


def arange(start, stop=None, step=1, dtype=None):
    """The numbers start, start + step, ... below stop; with one argument from 0 to it.

    dtype: int64 where all are integers, else the common one (floatX for floats, as it is set).
    """
    if stop is None:
        start, stop = 0, start
    start, stop, step = map(as_tensor_variable, (start, stop, step))
    if any(x.ndim for x in (start, stop, step)):
        raise RefusedError("arange takes scalars")
    if dtype is None:
        dtype = upcast(start.dtype, stop.dtype, step.dtype)
        if dtype in DISCRETE:
            dtype = upcast(dtype, "int64")
        elif (
            config.cast_policy == "numpy+floatX"
            and config.floatX == "float32"
            and dtype == "float64"
            and "float64" not in (start.dtype, stop.dtype, step.dtype)
        ):
            dtype = "float32"
    return ARange(name_of(dtype))(start, stop, step)


class _Grid:
    """What mgrid and ogrid are: indexed by slices, lists of ranges."""

    def __init__(self, sparse):
        self.sparse = sparse

    def __getitem__(self, *args):
        one = isinstance(args[0], slice)
        ndim = 1 if one else len(args[0])
        for s in args if one else args[0]:
            if isinstance(s.step, complex):
                raise NotSupported(
                    f"the step {s.step} counts points, as in NumPy's grids, "
                    "which is not supported: give a real step"
                )
        if one:
            s = args[0]
            return arange(s.start or 0, s.stop, s.step or 1)
        ranges = [arange(s.start or 0, s.stop, s.step or 1) for s in args[0]]
        shaped = [
            r.dimshuffle(["x"] * k + [0] + ["x"] * (ndim - 1 - k)) for k, r in enumerate(ranges)
        ]
        if self.sparse:
            return shaped
        found = []
        for k in range(ndim):
            one = shaped[k]
            for j in range(ndim):
                if j != k:
                    one = one + zeros_like(shaped[j])
            found.append(one)
        return found


mgrid, ogrid = _Grid(False), _Grid(True)


# --- matrices ---------------------------------------------------------------------------------


class Eye(KernelOp):
    """Ones on a diagonal."""

    def __init__(self, dtype=None):
        KernelOp.__init__(
            self, _eye, "Eye", dtype=config.floatX if dtype is None else name_of(dtype)
        )

    def make_node(self, n, m, k):
        n, m, k = map(as_tensor_variable, (n, m, k))
        if any(x.ndim for x in (n, m, k)):
            raise RefusedError("eye takes scalars")
        return KernelOp.make_node(self, n, m, k)

    def __reduce__(self):
        return Eye, (self.attrs["dtype"],)


def _eye(n, m, k, dtype):
    rows, columns = (_not_negative(ops.cast(size, "int64")) for size in (n, m))
    difference = ops.sub(ops.expand(_count(columns), (0,)), ops.expand(_count(rows), (1,)))
    return ops.cast(ops.eq(difference, ops.cast(k, "int64")), dtype)


def _not_negative(size):
    fits = ops.ge(size, constant_node(np.asarray(0)))
    text = "eye makes a matrix of 0 rows and columns or more"
    return ops.check(size, fits, message=text, error="value")


def _count(size):
    """0, 1 ... up to a size."""
    return ops.arange(constant_node(np.asarray(0)), size, constant_node(np.asarray(1)), "int64")


def eye(n, m=None, k=0, dtype=None):
    """A matrix (n, m) with ones on diagonal `k`; m is n by default."""
    return Eye(config.floatX if dtype is None else dtype)(n, n if m is None else m, k)


def identity_like(x):
    """The identity matrix of the shape and dtype of `x`."""
    x = as_tensor_variable(x)
    return eye(x.shape[0], x.shape[1], k=0, dtype=x.dtype)


identity_matrix = identity_like


class Tri(KernelOp):
    """Ones on and below a diagonal."""

    def __init__(self, dtype=None):
        KernelOp.__init__(
            self, _tri, "Tri", dtype=config.floatX if dtype is None else name_of(dtype)
        )

    def __reduce__(self):
        return Tri, (self.attrs["dtype"],)


def _tri(n, m, k, dtype):
    rows, columns = (_count(ops.cast(size, "int64")) for size in (n, m))
    last = ops.add(ops.expand(rows, (1,)), ops.cast(k, "int64"))
    return ops.cast(ops.le(ops.expand(columns, (0,)), last), dtype)


def tri(N, M=None, k=0, dtype=None):  # noqa: N803 (Theano's name)
    """A matrix (N, M) of ones on and below diagonal `k`, zeros above."""
    return Tri(config.floatX if dtype is None else dtype)(N, N if M is None else M, k)


def tril(m, k=0):
    """`m` with zeros above diagonal `k`."""
    m = as_tensor_variable(m)
    return m * tri(m.shape[0], m.shape[1], k=k, dtype=m.dtype)


def triu(m, k=0):
    """`m` with zeros below diagonal `k`."""
    m = as_tensor_variable(m)
    return m * (
        constant(np.asarray(1, m.dtype)) - tri(m.shape[0], m.shape[1], k=k - 1, dtype=m.dtype)
    )


class ExtractDiag(KernelOp):
    """The diagonal of two axes."""

    def __init__(self, offset=0, axis1=0, axis2=1, view=False):
        KernelOp.__init__(self, _diagonal, "ExtractDiag", offset=offset, axis1=axis1, axis2=axis2)

    def make_node(self, x):
        x = as_tensor_variable(x)
        if x.ndim < 2:
            raise ArgumentError("only a matrix, or a stack of them, has a diagonal: not", x)
        return KernelOp.make_node(self, x)

    def __reduce__(self):
        return ExtractDiag, (self.offset, self.axis1, self.axis2)


def _diagonal(x, offset, axis1, axis2):
    return ops.diagonal(x, offset, axis1, axis2)


class AllocDiag(KernelOp):
    """A matrix with a vector on a diagonal."""

    def __init__(self, offset=0, axis1=0, axis2=1):
        KernelOp.__init__(self, _alloc_diag, "AllocDiag", offset=offset, axis1=axis1, axis2=axis2)

    def __reduce__(self):
        return AllocDiag, (self.offset, self.axis1, self.axis2)


def _alloc_diag(x, offset, axis1, axis2):
    """Diagonals along new axes axis1 and axis2 of the result from the last axis of `x`."""
    n = ops.size_of(x, x.ndim - 1)
    size = n + abs(offset) if isinstance(n, int) else ops.add(n, abs(offset))
    zero, one = constant_node(np.asarray(0)), constant_node(np.asarray(1))
    end = constant_node(np.asarray(size)) if isinstance(size, int) else size
    line = ops.arange(zero, end, one, "int64")
    rows, columns = ops.expand(line, (1,)), ops.expand(line, (0,))
    hit = ops.eq(ops.sub(columns, rows), offset)
    last = constant_node(np.asarray(n - 1)) if isinstance(n, int) else ops.sub(n, 1)
    place = ops.minimum(ops.minimum(rows, columns), last)
    grid = ops.broadcast_like(place, hit)
    values = ops.take(x, ops.maximum(grid, 0), x.ndim - 1)
    y = ops.where(hit, values, constant_node(np.asarray(0, x.dtype)))
    ndim = y.ndim
    order = [i for i in range(ndim - 2)]
    for axis, source in sorted([(axis1, ndim - 2), (axis2, ndim - 1)]):
        order.insert(axis, source)
    return ops.transpose(y, tuple(order))


extract_diag = ExtractDiag()
alloc_diag = AllocDiag()


def diagonal(a, offset=0, axis1=0, axis2=1):
    """The diagonal of two axes, as the last axis of the result."""
    return ExtractDiag(offset, axis1, axis2)(a)


def diag(v, k=0):
    """A matrix with the vector `v` on diagonal `k`; of a matrix its diagonal."""
    v = as_tensor_variable(v)
    if v.ndim == 1:
        return AllocDiag(k)(v)
    if v.ndim >= 2:
        return diagonal(v, offset=k)
    raise ArgumentError("Number of dimensions of `v` must be greater than 0.")
