"""The operators and methods of tensor variables, with Theano's defaults.

Each is the function of the same name in theano.tensor; this file only binds them.
"""

import numpy as np

from ...api.tensor import NoLength
from ...base import given
from ...base.errors import ArgumentError, UsageError
from ..base.hooks import hook
from ..classes.meanings import UNARY


def _in(file, name):
    """The function `name` of one of tensor's files, which are above this one: methods.py."""
    return getattr(hook("functions")[file], name)


def _op(name):
    return _in("elementwise", name)


def _comparable(other):
    """Whether `other` may stand on the other side of an operator."""
    return not isinstance(other, str)


def _binary(name, swapped=False):
    found = []

    def method(self, other):
        if not found:
            found.append(_op(name))
        try:
            return found[0](other, self) if swapped else found[0](self, other)
        except NotImplementedError as problem:
            if type(problem).__name__ == "ComplexError":
                raise
            return NotImplemented
        except TypeError as problem:
            if type(problem).__name__ == "AsTensorError":
                return NotImplemented
            raise

    return method


def _unary(name):
    def method(self):
        return _op(name)(self)

    return method


def _function(module, name, doc):
    def method(self, *args, **kwargs):
        return _in(module, name)(self, *args, **kwargs)

    method.__doc__ = doc
    return method


# NumPy's functions of one argument that have another name here.
NUMPY = {"absolute": "abs_", "fabs": "abs_", "negative": "neg", "reciprocal": "inv", "sign": "sgn",
         "square": "sqr", "conjugate": "conj"}  # fmt: skip


class Operators:
    """What a tensor variable can do; mixed into it."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """np.exp(x) is tensor.exp(x), and so on for functions of one argument."""
        if method == "__call__" and len(inputs) == 1 and not kwargs:
            name = NUMPY.get(ufunc.__name__, ufunc.__name__)
            if name in UNARY:
                return _op(name)(self)
        return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)

    def __array_function__(self, function, types, args, kwargs):
        """np.clip(x, 0, 1) is x.clip(0, 1), and so on for functions that x has as methods."""
        if function is np.atleast_1d and len(args) == 1:
            return self.__array__().reshape(1)  # a list of variables: what programs mean by it
        method = getattr(type(self), function.__name__, None)
        given = {k: v for k, v in kwargs.items() if v is not None and v is not np._NoValue}
        if not callable(method) or not args or args[0] is not self or "out" in given:
            return super().__array_function__(function, types, args, kwargs)
        return method(self, *args[1:], **given)

    def __array__(self, dtype=None, copy=None):
        """An object in an array: np.prod((n, 2, 3)) of a symbolic n is n * 2 * 3."""
        if dtype is not None and np.dtype(dtype) != object:
            return super().__array__(dtype)
        made = np.empty((), object)
        made[()] = self
        return made

    __array_priority__ = 1000

    __add__, __radd__ = _binary("add"), _binary("add", True)
    __sub__, __rsub__ = _binary("sub"), _binary("sub", True)
    __mul__, __rmul__ = _binary("mul"), _binary("mul", True)
    __truediv__, __rtruediv__ = _binary("divided"), _binary("divided", True)
    __div__, __rdiv__ = _binary("div_proxy"), _binary("div_proxy", True)
    __floordiv__, __rfloordiv__ = _binary("floor_div"), _binary("floor_div", True)
    __mod__, __rmod__ = _binary("mod_check"), _binary("mod_check", True)
    __divmod__, __rdivmod__ = _binary("divmod"), _binary("divmod", True)
    __pow__, __rpow__ = _binary("pow"), _binary("pow", True)
    __and__, __rand__ = _binary("and_"), _binary("and_", True)
    __or__, __ror__ = _binary("or_"), _binary("or_", True)
    __xor__, __rxor__ = _binary("xor"), _binary("xor", True)
    __lt__, __le__ = _binary("lt"), _binary("le")
    __gt__, __ge__ = _binary("gt"), _binary("ge")
    __neg__, __abs__, __invert__ = _unary("neg"), _unary("abs_"), _unary("invert")

    def __lshift__(self, other):
        return NotImplemented

    __rshift__ = __rlshift__ = __rrshift__ = __lshift__

    def __pos__(self):
        return self

    def __round__(self, digits=None):
        return _op("round")(self)

    def __ceil__(self):
        return _op("ceil")(self)

    def __floor__(self):
        return _op("floor")(self)

    def __trunc__(self):
        return _op("trunc")(self)

    def __dot__(self, other):
        return self.dot(other)

    def __rdot__(self, other):
        return _in("products", "dot")(other, self)

    def __matmul__(self, other):
        return self.dot(other)

    def __rmatmul__(self, other):
        return self.__rdot__(other)

    # ---- shape ----------------------------------------------------------------------------------

    @property
    def shape(self):
        """The shape, an int64 vector."""
        return _in("shaping", "shape")(self)

    @property
    def size(self):
        """The number of elements, an int64 scalar."""
        return _in("shaping", "size")(self)

    @property
    def T(self):  # noqa: N802 (NumPy's name)
        """The axes reversed."""
        return _in("shaping", "transpose")(self)

    def reshape(self, shape, ndim=None):
        """Another shape, of the same number of elements; -1 stands for what is left."""
        if ndim is not None and not isinstance(ndim, int):
            raise ArgumentError(f"reshape takes an int as ndim, not a {type(ndim)}")
        return _in("shaping", "reshape")(self, shape, ndim=ndim)

    def dimshuffle(self, *pattern):
        """Axes in the order `pattern`; 'x' is a new axis of size 1."""
        if len(pattern) == 1 and not isinstance(pattern[0], (str, int)):
            pattern = pattern[0]
        if len(pattern) == 1 and isinstance(pattern[0], (list, tuple)):
            pattern = pattern[0]
        pattern = [p if isinstance(p, str) else int(p) for p in pattern]
        return _in("elementwise", "DimShuffle")(self.type.broadcastable, pattern)(self)

    def transpose(self, *axes):
        """Axes in another order, reversed by default."""
        if not axes:
            return _in("shaping", "transpose")(self)
        if len(axes) == 1 and isinstance(axes[0], (list, tuple)):
            axes = axes[0]
        return _in("shaping", "transpose")(self, axes)

    def flatten(self, ndim=1):
        """`ndim` axes, the last of which holds all others."""
        return _in("shaping", "flatten")(self, ndim)

    def ravel(self):
        """All elements as a vector."""
        return self.flatten()

    squeeze = _function("shaping", "squeeze", "Without axes known to have size 1.")
    swapaxes = _function("shaping", "swapaxes", "Two axes exchanged.")
    repeat = _function("extra_ops", "repeat", "Each element several times along an axis.")
    diagonal = _function("creation", "diagonal", "The diagonal of two axes.")
    trace = _function("products", "trace", "The sum of the diagonal.")
    fill = _function("elementwise", "fill", "A value in the shape of this tensor.")
    zeros_like = _function("creation", "zeros_like", "Zeros of this shape.")
    ones_like = _function("creation", "ones_like", "Ones of this shape.")

    # ---- indexing -------------------------------------------------------------------------------

    def __getitem__(self, key):
        return _in("indexing", "subtensor")(self, key)

    def __setitem__(self, key, value):
        raise UsageError(
            f"{self!r} cannot be assigned to; set_subtensor(x[index], value) gives a new tensor"
        )

    def __iter__(self):
        try:
            count = _in("shaping", "get_vector_length")(self)
        except (TypeError, ValueError):
            raise UsageError(
                "of symbolic tensors only vectors of known length can be looped over; "
                "in place of Python's sum or max call theano.tensor's"
            ) from None
        return (self[i] for i in range(count))

    @property
    def __len__(self):
        """Absent, as in Theano: programs ask for it to tell a list from a variable."""
        raise NoLength(f"object of type '{type(self).__name__}' has no len()")

    def __contains__(self, value):
        raise UsageError("`in` needs the elements of a tensor, which is symbolic")

    take = _function("indexing", "take", "Entries at integer places along an axis.")
    choose = _function("indexing", "choose", "Elements of one of several tensors.")
    compress = _function("extra_ops", "compress", "Slices along an axis where a condition holds.")
    nonzero_values = _function("indexing", "nonzero_values", "The elements that are not zero.")

    def nonzero(self, return_matrix=False):
        """The places of the elements that are not zero."""
        return _in("indexing", "nonzero")(self, return_matrix=return_matrix)

    # ---- numbers --------------------------------------------------------------------------------

    def dot(self, other):
        """The matrix product."""
        return _in("products", "dot")(self, other)

    sum = _function("reductions", "sum", "The sum over axes.")
    prod = _function("reductions", "prod", "The product over axes.")
    mean = _function("reductions", "mean", "The mean over axes.")
    var = _function("reductions", "var", "The variance over axes.")
    std = _function("reductions", "std", "The standard deviation over axes.")
    min = _function("reductions", "min", "The least element over axes.")
    max = _function("reductions", "max", "The largest element over axes.")
    argmin = _function("reductions", "argmin", "The place of the least element.")
    argmax = _function("reductions", "argmax", "The place of the largest element.")
    any = _function("reductions", "any", "Whether one element is not zero.")
    all = _function("reductions", "all", "Whether no element is zero.")
    ptp = _function("reductions", "ptp", "The largest less the least element.")
    cumsum = _function("extra_ops", "cumsum", "Running sums.")
    cumprod = _function("extra_ops", "cumprod", "Running products.")
    sort = _function("sort", "sort", "Sorted along an axis.")
    argsort = _function("sort", "argsort", "The places in sorted order.")
    searchsorted = _function("extra_ops", "searchsorted", "Where elements would be inserted.")
    clip = _function("elementwise", "clip", "Limited to [a_min, a_max].")
    round = _function("elementwise", "round", "The nearest integers.")
    conj = conjugate = _function("elementwise", "conj", "The complex conjugate.")

    def norm(self, L, axis=None, keepdims=False):  # noqa: N803 (Theano's name)
        """The L-norm over axes."""
        return _in("reductions", "abs_norm")(self, L, axis, keepdims)

    @property
    def real(self):
        """The real part."""
        return _op("real")(self)

    @property
    def imag(self):
        """The imaginary part."""
        return _op("imag")(self)

    def astype(self, dtype):
        """In another dtype."""
        return _op("cast")(self, dtype)

    def copy(self, name=None):
        """A variable of the same value and its own identity."""
        made = _op("tensor_copy")(self)
        made.name = given.name(name)
        return made

    def transfer(self, target):
        """On another device: there is the CPU only."""
        if target not in ("cpu", None):
            raise ArgumentError(f"Can't transfer to target {target}")
        return self

    def get_scalar_constant_value(self):
        """The one number this variable is known to be, or NotScalarConstantError."""
        return _in("constants", "get_scalar_constant_value")(self)

    def _no_number(self):
        raise UsageError(f"{self!r} is symbolic and no number; eval() or a function gives one")

    __int__ = __float__ = __complex__ = __index__ = _no_number


for _name in (
    "ceil",
    "floor",
    "trunc",
    "sqrt",
    "exp",
    "log",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "arccos",
    "arcsin",
    "arctan",
    "arccosh",
    "arcsinh",
    "arctanh",
    "exp2",
    "expm1",
    "log2",
    "log10",
    "log1p",
    "deg2rad",
    "rad2deg",
):
    if not hasattr(Operators, _name):
        setattr(Operators, _name, _unary(_name))
