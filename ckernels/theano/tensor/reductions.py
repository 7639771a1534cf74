"""Reductions: sums, products, means, extrema, and where they are, with dtype= and acc_dtype=.

Small integers are summed as int64, float16 in float32 and other floats in their own dtype (the
engine adds float32 up in double). axis=None means all axes, also for argmax.
"""

import copy
import numbers

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import ArgumentError, NotSupported, ShapeError, UsageError
from ...graph.node import constant as constant_node
from ..classes import scalar as scalars
from ..classes.meanings import DISCRETE, complex_, floats, upcast
from ..classes.op import KernelOp
from ..classes.refused import refusing
from ..graph.apply import Constant
from ..handles.type import name_of
from ..handles.variables import Handle, as_tensor_variable
from .elementwise import cast, conj, sqr, sqrt
from .joining import concatenate

__all__ = ["CAReduce", "CAReduceDtype", "Sum", "Prod", "ProdWithoutZeros", "All", "Any", "Max",
           "Min", "MaxAndArgmax", "Argmax", "Mean", "sum", "prod", "mean", "var", "std", "min",
           "max", "argmin", "argmax", "max_and_argmax", "any", "all", "ptp", "makeKeepDims",
           "check_and_normalize_axes", "logsumexp", "abs_norm", "cov"]  # fmt: skip


def axes_of(axis, ndim):
    """An axis argument as None or a list of ints >= 0."""
    if axis is None or isinstance(axis, Constant) and axis.data is None:
        return None
    if isinstance(axis, Handle):
        if not hasattr(axis, "data"):
            raise UsageError(
                "the axis has to be known when the graph is built, not a variable:", axis
            )
        if axis.dtype not in DISCRETE:
            raise UsageError(f"an axis is an integer, which {axis} of dtype {axis.dtype} is not")
        axis = axis.data.tolist() if axis.data.ndim else int(axis.data)
    if isinstance(axis, np.ndarray):
        axis = axis.tolist()
    given = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    found = []
    for a in given:
        if isinstance(a, (Handle, np.ndarray)):
            a = int(a.data if isinstance(a, Handle) else a)
        if not isinstance(a, (int, np.integer)):
            if isinstance(a, (float, np.floating)) and a == int(a):
                a = int(a)
            else:
                raise UsageError(f"an axis is an integer, which {a!r} is not")
        if not -ndim <= a < ndim:
            raise ArgumentError(
                f"Not enough dimensions on {ndim} to reduce on axis {a}"
                if ndim
                else f"axis {a} does not exist"
            )
        found.append(int(a) % ndim)
    if len(set(found)) != len(found):
        raise ArgumentError(f"duplicate axes {axis}")
    return found


def check_and_normalize_axes(x, axis):
    """The axes of `x` that `axis` means, as a list."""
    return axes_of(axis, as_tensor_variable(x).ndim) or []


class CAReduce(KernelOp):
    """A reduction by an operation that is commutative and associative."""

    def __init__(self, scalar_op, axis=None):
        self.scalar_op = scalar_op
        self._init(None if axis is None else tuple(np.atleast_1d(axis).tolist()))

    def _init(self, axis, **attrs):
        self.axis, self.attrs = axis, {"axis": axis, **attrs}
        kind = type(self).__name__
        self.name = kind
        self.build = _build_of(kind, self.scalar_op)

    def make_node(self, input):
        """The Apply on `input`; of an op with negative axes, by one that counts from the front."""
        x, op = as_tensor_variable(input), self
        for a in self.axis or ():
            if a >= x.ndim or a < -x.ndim:
                raise ArgumentError(f"Not enough dimensions on {x} to reduce on axis {a}")
        axis = None if self.axis is None else tuple(a % x.ndim for a in self.axis)
        if axis != self.axis:
            op = copy.copy(self)
            op.axis = axis
            op.attrs = {**self.attrs, "axis": op.axis}
        return KernelOp.make_node(op, x)

    def __str__(self):
        axis = "" if self.axis is None else f"{{axis={list(self.axis)}}}"
        return f"{self.name}{axis}"

    def __reduce__(self):
        return _careduce, (type(self), dict(self.__dict__, build=None))


class CAReduceDtype(CAReduce):
    """A reduction with a dtype of its result and one to add up in."""

    def __init__(self, scalar_op, axis=None, dtype=None, acc_dtype=None):
        self.scalar_op, self.dtype, self.acc_dtype = scalar_op, dtype, acc_dtype
        self._init(
            None if axis is None else tuple(np.atleast_1d(axis).tolist()),
            dtype=dtype,
            acc_dtype=acc_dtype,
        )


def _careduce(kind, state):
    made = object.__new__(kind)
    made.__dict__.update(state)
    made.build = _build_of(kind.__name__, made.scalar_op)
    return made


def _build_of(kind, scalar_op):
    """What a reduction of this class means: CAReduce alone keeps the dtype of its input."""
    found = BUILDS.get(kind)
    if found is None:
        name = scalar_op.name
        found = BITS[name] if name in BITS else BUILDS[SCALARS[name]]
        if kind == "CAReduce":
            return _kept_dtypes.setdefault(name, _same_dtype(found))
    return found


_kept_dtypes = {}


def _same_dtype(build):
    def reduce(x, axis=None):
        return ops.cast(build(x, axis), x.dtype)

    return reduce


def _bitwise(name, absorbs):
    """A reduction bit by bit: each of the bits is a sum of zeros and ones."""

    def reduce(x, axis=None):
        if not dtypes.is_discrete(x.dtype):
            raise UsageError(f"a reduction by {name} takes bools and integers, not {x.dtype}")
        if x.dtype == "bool":
            return absorbs(ops.cast(x, "int64"), axis)
        total = None
        for k in range(8 * np.dtype(x.dtype).itemsize):
            mask = constant_node(np.asarray(1).astype(x.dtype) << np.asarray(k).astype(x.dtype))
            one = ops.cast(ops.ne(ops.bit_and(x, mask), 0), "int64")
            part = ops.where(absorbs(one, axis), mask, constant_node(np.asarray(0, x.dtype)))
            total = part if total is None else ops.bit_or(total, part)
        return total

    return reduce


BITS = {
    "and_": _bitwise("and_", lambda one, axis: ops.eq(ops.sum(ops.sub(1, one), axis), 0)),
    "or_": _bitwise("or_", lambda one, axis: ops.ne(ops.sum(one, axis), 0)),
    "xor": _bitwise("xor", lambda one, axis: ops.eq(ops.mod(ops.sum(one, axis), 2), 1)),
}
SCALARS = {"add": "Sum", "mul": "Prod", "maximum": "Max", "minimum": "Min", "and_": "All",
           "or_": "Any"}  # fmt: skip


def _class(name, base, scalar):
    def init(self, axis=None, dtype=None, acc_dtype=None, no_zeros_in_input=False):
        self.scalar_op = getattr(scalars, scalar)
        given = None if axis is None else tuple(np.atleast_1d(axis).tolist())
        if base is CAReduceDtype:
            self.dtype, self.acc_dtype = dtype, acc_dtype
            self._init(given, dtype=dtype, acc_dtype=acc_dtype)
            self.no_zeros_in_input = no_zeros_in_input
        else:
            self._init(given)

    return type(
        name,
        (base,),
        {"__init__": init, "__module__": __name__, "__doc__": f"The reduction {name.lower()}."},
    )


def sum_dtype(name):
    """The dtype of a sum or product of this dtype."""
    if name in ("bool", "int8", "int16", "int32"):
        return "int64"
    return "uint64" if name in ("uint8", "uint16", "uint32") else name


def _accumulated(build):
    def reduce(x, axis=None, dtype=None, acc_dtype=None):
        out = sum_dtype(x.dtype) if dtype is None else _name(dtype)
        acc = upcast(out, x.dtype) if acc_dtype is None else _name(acc_dtype)
        if acc_dtype is None and out == "float16":
            acc = upcast("float32", x.dtype)
        if dtypes.is_complex(x.dtype) and not dtypes.is_complex(acc):
            raise UsageError(f"Cannot cast from {x.dtype} to {acc}: complex numbers stay complex")
        y = build(ops.cast(x, acc), axis)
        return _to(y, out)

    return reduce


def _to(y, dtype):
    if dtypes.is_complex(y.dtype) and not dtypes.is_complex(dtype):
        text = f"a result of {y.dtype} cannot be {dtype}: take its real or imaginary part"
        return refusing([y], [(dtype, y.shape)], UsageError, text)[0]  # when it is computed
    return ops.cast(y, dtype)


def _name(dtype):
    return name_of(dtype)


def _prod_without_zeros(x, axis):
    one = constant_node(np.asarray(1, x.dtype))
    return ops.prod(ops.where(ops.eq(x, constant_node(np.asarray(0, x.dtype))), one, x), axis)


def _extremum(build):
    def reduce(x, axis=None):
        return _complex_extremum(build, x, axis) if dtypes.is_complex(x.dtype) else build(x, axis)

    return reduce


def _complex_extremum(build, x, axis):
    """The first or last of complex numbers as NumPy orders them: by real, then imaginary parts.

    Where one has a part that is NaN, both parts of the result are.
    """
    axis = tuple(range(x.ndim)) if axis is None else axis
    real, imag = ops.real(x), ops.imag(x)
    if not axis:
        return x
    first = build(real, axis, keepdims=True)
    worst = constant_node(np.asarray(-np.inf if build is ops.max else np.inf, imag.dtype))
    second = build(ops.where(ops.eq(real, first), imag, worst), axis)
    bad = ops.any(ops.isnan(ops.add(real, imag)), axis)
    nan = constant_node(np.asarray(np.nan, imag.dtype))
    return complex_(ops.where(bad, nan, ops.squeeze(first, axis)), ops.where(bad, nan, second))


def _truth(build):
    def reduce(x, axis=None):
        return build(x if x.dtype == "bool" else ops.cast(x, "bool"), axis)

    return reduce


def _mean(x, axis=None, dtype=None, acc_dtype=None):
    return ops.mean(floats(x) if dtype is None else ops.cast(x, dtype), axis)


BUILDS = {"Sum": _accumulated(ops.sum), "Prod": _accumulated(ops.prod),
          "ProdWithoutZeros": _accumulated(_prod_without_zeros), "Max": _extremum(ops.max),
          "Min": _extremum(ops.min), "All": _truth(ops.all), "Any": _truth(ops.any),
          "Mean": _mean}  # fmt: skip
Sum, Prod = _class("Sum", CAReduceDtype, "add"), _class("Prod", CAReduceDtype, "mul")
ProdWithoutZeros = _class("ProdWithoutZeros", CAReduceDtype, "mul")
Mean = _class("Mean", CAReduceDtype, "add")
Max, Min = _class("Max", CAReduce, "maximum"), _class("Min", CAReduce, "minimum")
All, Any = _class("All", CAReduce, "and_"), _class("Any", CAReduce, "or_")


def makeKeepDims(x, y, axis):  # noqa: N802 (Theano's name)
    """`y`, a reduction of `x` over `axis`, with those axes back as axes of size 1."""
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    axes = list(range(x.ndim)) if axis is None else axes_of(axis, x.ndim)
    if len(axes) + y.ndim != x.ndim:
        raise ShapeError(f"{x.ndim} dimensions without {len(axes)} are not the {y.ndim} of {y}")
    rest = iter(range(y.ndim))
    return y.dimshuffle(["x" if i in axes else next(rest) for i in range(x.ndim)])


def _kept(x, y, axis, keepdims):
    return makeKeepDims(x, y, axis) if keepdims else y


def sum(input, axis=None, dtype=None, keepdims=False, acc_dtype=None):
    """The sum over axes. dtype: of the result; acc_dtype: to add up in."""
    x = as_tensor_variable(input)
    axis = axes_of(axis, x.ndim)
    return _kept(x, Sum(axis, dtype, acc_dtype)(x), axis, keepdims)


def prod(input, axis=None, dtype=None, keepdims=False, acc_dtype=None, no_zeros_in_input=False):
    """The product over axes."""
    x = as_tensor_variable(input)
    axis = axes_of(axis, x.ndim)
    return _kept(x, Prod(axis, dtype, acc_dtype)(x), axis, keepdims)


def mean(input, axis=None, dtype=None, op=False, keepdims=False, acc_dtype=None):
    """The mean over axes, of integers as a float64."""
    x = as_tensor_variable(input)
    axis = axes_of(axis, x.ndim)
    if dtype is not None:
        dtype = _name(dtype)
    if dtype is None and x.dtype in DISCRETE:
        sum_in = "float64"
    else:
        sum_in = (
            dtype
            if dtype is not None and dtype not in DISCRETE
            else ("float64" if dtype is not None else x.dtype)
        )
    y = KernelOp(_mean_in, "mean", axis=None if axis is None else tuple(axis), dtype=sum_in)(x)
    return _kept(x, y, axis, keepdims)


def _mean_in(x, axis, dtype):
    if axis == () or x.ndim == 0:
        return ops.cast(x, dtype)
    return ops.mean(ops.cast(x, dtype), axis)


def var(input, axis=None, ddof=0, keepdims=False, corrected=False):
    """The variance over axes. ddof: what is subtracted from the count."""
    if isinstance(ddof, bool):
        raise ArgumentError(
            f"ddof is a number, not {ddof}: the third argument is ddof, the fourth keepdims"
        )
    x = as_tensor_variable(input)
    axis = axes_of(axis, x.ndim)
    centred = x - mean(x, axis, keepdims=True)
    if ddof == 0:
        v = mean(
            sqr(centred) if x.dtype not in ("complex64", "complex128") else sqr(abs(centred)), axis
        )
    else:
        count = 1
        for a in range(x.ndim) if axis is None else axis:
            count = x.shape[a] * count
        total = sum(sqr(centred), axis)
        v = total / cast(count - ddof, total.dtype)
    if corrected:
        error = mean(centred, axis) ** 2
        v = v - error
    v.name = "var"
    return _kept(x, v, axis, keepdims)


def std(input, axis=None, ddof=0, keepdims=False, corrected=False):
    """The standard deviation over axes; see `var`."""
    if isinstance(ddof, bool):
        raise ArgumentError(
            f"ddof is a number, not {ddof}: the third argument is ddof, the fourth keepdims"
        )
    made = sqrt(var(input, axis, ddof, keepdims, corrected))
    made.name = "std"
    return made


def _over(reduction, x, axis, keepdims):
    x = as_tensor_variable(x)
    axis = axes_of(axis, x.ndim)
    return _kept(x, reduction(axis)(x), axis, keepdims)


def max(x, axis=None, keepdims=False):
    """The largest element over axes; NaN wins."""
    return _over(Max, x, axis, keepdims)


def min(x, axis=None, keepdims=False):
    """The least element over axes; NaN wins."""
    return _over(Min, x, axis, keepdims)


class Argmax(KernelOp):
    """The place of the first largest element over axes, counted over them in order."""

    def __init__(self, axis):
        KernelOp.__init__(
            self,
            _arg_over,
            "Argmax",
            axis=None if axis is None else tuple(sorted(axis)),
            least=False,
        )
        self.axis = axis


def _arg_over(x, axis, least=False):
    if dtypes.is_complex(x.dtype):
        raise UsageError("complex numbers have no order")
    build = ops.argmin if least else ops.argmax
    if axis is None or len(axis) == x.ndim:
        return build(x, None)
    if len(axis) == 1:
        return build(x, axis[0])
    kept = [i for i in range(x.ndim) if i not in axis]
    x = ops.transpose(x, (*kept, *axis))
    return build(ops.flatten(x, len(kept) + 1), -1)


def argmax(x, axis=None, keepdims=False):
    """The place of the first largest element: in the flattened tensor for axis None."""
    return _arg(x, axis, keepdims, False)


def argmin(x, axis=None, keepdims=False):
    """The place of the first least element: in the flattened tensor for axis None."""
    return _arg(x, axis, keepdims, True)


def _arg(x, axis, keepdims, least):
    x = as_tensor_variable(x)
    axis = axes_of(axis, x.ndim)
    op = Argmax(axis)
    op.attrs["least"] = least
    return _kept(x, op(x), axis, keepdims)


class MaxAndArgmax(KernelOp):
    """The largest element and its place."""

    def __init__(self, axis):
        KernelOp.__init__(self, _max_and_arg, "MaxAndArgmax", axis=tuple(sorted(axis)))
        self.axis = axis

    def __reduce__(self):
        return MaxAndArgmax, (self.axis,)


def _max_and_arg(x, axis):
    return [ops.max(x, axis), _arg_over(x, axis)]


def max_and_argmax(a, axis=None, keepdims=False):
    """[the largest element over axes, its place]."""
    a = as_tensor_variable(a)
    axis = axes_of(list(dict.fromkeys(axis)) if isinstance(axis, list) else axis, a.ndim)
    axes = list(range(a.ndim)) if axis is None else axis
    if not axes:
        return [a, a.zeros_like(dtype="int64")]
    return [_kept(a, y, axis, keepdims) for y in MaxAndArgmax(axes)(a)]


def any(x, axis=None, keepdims=False):
    """Whether one element is not zero."""
    return _over(Any, x, axis, keepdims)


def all(x, axis=None, keepdims=False):
    """Whether no element is zero."""
    return _over(All, x, axis, keepdims)


def ptp(a, axis=None):
    """The largest less the least element."""
    a = as_tensor_variable(a)
    return max(a, axis) - min(a, axis)


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None):
    """The covariances of variables, one in each row of the matrix `m` (column with rowvar=False).

    y: further variables. The sums are divided by the count less `ddof`: 1, or 0 with bias=True.
    Weights are refused with NotImplementedError.

    >>> import ckernels.compat.theano.tensor as T
    >>> T.cov(np.array([[0.0, 2.0], [1.0, 5.0]])).eval().tolist()
    [[2.0, 4.0], [4.0, 8.0]]
    """
    if fweights is not None or aweights is not None:
        raise NotSupported("cov takes no weights: scale the observations first")
    if ddof is not None and ddof != int(ddof):
        raise ArgumentError(f"ddof is subtracted from a count and is an integer, not {ddof}")
    m = as_tensor_variable(m)
    m = m if rowvar else m.T
    if y is not None:
        y = as_tensor_variable(y)
        m = concatenate([m, y if rowvar else y.T], axis=0)
    if ddof is None:
        ddof = 0 if bias else 1
    centred = m - mean(m, 1, keepdims=True)
    total = centred.dot(conj(centred).T if m.dtype.startswith("complex") else centred.T)
    return total / (m.shape[1] - int(ddof)).astype(total.dtype)


def abs_norm(x, L, axis=None, keepdims=False):  # noqa: N803 (Theano's name)
    """The L-norm over axes: (sum |x|^L)^(1/L), for 0 the count of what is not zero."""
    from .elementwise import abs_, cast, neq, pow, sqrt, switch  # hides Python's pow

    if L == 0:
        return cast(neq(x, 0), x.dtype).sum(axis=axis, keepdims=keepdims)
    if L == float("inf"):
        return abs_(x).max(axis=axis, keepdims=keepdims)
    if L == 2:
        return sqrt((abs_(x) ** 2).sum(axis=axis, keepdims=keepdims))
    if L == -float("inf"):
        return abs_(x).min(axis=axis, keepdims=keepdims)
    if isinstance(L, numbers.Real) and L < 0:  # a zero makes it 0, with the slope of abs there
        some = neq(x, 0)
        powers = switch(some, pow(switch(some, abs_(x), 1), float(L)), float("inf"))
    else:
        powers = pow(abs_(x), L)
    return pow(powers.sum(axis=axis, keepdims=keepdims), 1.0 / L)


def logsumexp(x, axis=None, keepdims=False):
    """log(sum(exp(x))) over axes, without overflow."""
    x = as_tensor_variable(x)
    axis = axes_of(axis, x.ndim)
    return KernelOp(
        _logsumexp, "logsumexp", axis=None if axis is None else tuple(axis), keepdims=bool(keepdims)
    )(x)


def _logsumexp(x, axis, keepdims):
    return ops.logsumexp(floats(x), axis, keepdims)
