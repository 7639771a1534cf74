"""TensorType: a dtype and a pattern of axes that are known to have size 1.

A call of a type makes a variable. `filter` is what inputs, shared variables and constants go
through: a conversion that could lose something is a TypeError unless it was allowed.
"""

import numpy as np

from ...base import dtypes
from ...base.errors import ArgumentError, DTypeError, UsageError
from ..base.config import config
from ..base.hooks import hook as _hook
from ..base.names import absent_of as _absent_of
from ..graph import apply as gof
from ..graph.type import Type
from ..user_ops.clinker import CTensor

CODES = {"bool": "scalar", (): "scalar", (False,): "vector", (False, True): "col",
         (True, False): "row", (False, False): "matrix"}  # fmt: skip


def name_of(dtype):
    """The name of a dtype; 'floatX' is that of the facade's configuration."""
    if dtype == "floatX":
        return config.floatX
    if dtype == "float":
        return "float64"
    try:
        return dtypes.name_of(dtype)
    except DTypeError:
        raise UsageError(f"tensors cannot have the dtype {dtype}") from None


class TensorType(CTensor, Type):
    """Tensors of `dtype` whose axes are `broadcastable` (of size 1, for sure) or not."""

    filter_checks_isfinite = False

    def __init__(self, dtype, broadcastable, name=None, sparse_grad=False):
        self.dtype = name_of(dtype)
        self.broadcastable = tuple(bool(b) for b in broadcastable)
        self.name, self.sparse_grad = name, sparse_grad
        self.numpy_dtype = np.dtype(self.dtype)

    ndim = property(lambda self: len(self.broadcastable), doc="The number of dimensions.")

    @property
    def static(self):
        """The static shape of the engine: 1 where broadcastable, unknown elsewhere."""
        return tuple(1 if b else None for b in self.broadcastable)

    def dtype_specs(self):
        """(Python type, C type, NumPy's constant) of the dtype."""
        names = {"float16": (float, "npy_float16", "NPY_FLOAT16")}
        kind = {"f": float, "c": complex, "b": bool}.get(self.numpy_dtype.kind, int)
        return names.get(self.dtype, (kind, f"npy_{self.dtype}", f"NPY_{self.dtype.upper()}"))

    # ---- values -----------------------------------------------------------------------------

    def filter(self, data, strict=False, allow_downcast=None):
        """`data` as an array of this type; TypeError where it does not fit.

        strict: it must be one already. allow_downcast: True allows any cast; None only that of a
        Python float to floatX.
        """
        if isinstance(data, gof.Variable):
            raise UsageError(
                f"a number or an array is needed, not the symbolic variable {data}; "
                "of a shared variable, pass get_value()"
            )
        if type(data) is np.ndarray and data.dtype == self.numpy_dtype:
            pass
        elif strict:
            self._refuse_strict(data)
        else:
            data = self._converted(data, allow_downcast)
        if data.ndim != self.ndim:
            raise UsageError(
                f"the array must have {self.ndim} dimensions; it has {data.ndim}, its "
                f"shape being {data.shape}"
            )
        if any(b and d != 1 for b, d in zip(self.broadcastable, data.shape)):
            raise UsageError(
                "the array must have size 1 along each broadcastable axis",
                data.shape,
                self.broadcastable,
            )
        return data

    def _refuse_strict(self, data):
        if not isinstance(data, np.ndarray):
            raise UsageError(f"{self} is strict: pass a NumPy array", data, type(data))
        if data.dtype != self.numpy_dtype:
            raise UsageError(
                f"{self} is strict: pass an array of {self.dtype}, not of {data.dtype}"
            )

    def _converted(self, data, allow_downcast):
        if isinstance(data, np.ndarray) and not dtypes.is_masked(data):
            if allow_downcast or np.can_cast(data.dtype, self.numpy_dtype, "safe"):
                return np.asarray(data, self.numpy_dtype)
            raise UsageError(
                f"an array of {data.dtype} may not fit in {self}: convert it with "
                "astype, or make the function with allow_input_downcast=True. The "
                f"array: {str(data)[:60]}"
            )
        if data is None:
            raise UsageError(f"{self} got None; it needs an array of dtype {self.dtype}")
        array = np.asarray(data)
        if array.dtype.kind in "OUSVmM":
            error = ArgumentError if isinstance(data, (str, bytes)) else UsageError
            raise error(f"{self} cannot store {type(data).__name__} {data!r}"[:200])
        if allow_downcast:
            return array.astype(self.numpy_dtype)
        if allow_downcast is None and type(data) is float and self.dtype == config.floatX:
            return np.asarray(data, self.numpy_dtype)
        if array.dtype.kind == "c" and self.numpy_dtype.kind != "c":
            cast = None
        else:
            with np.errstate(all="ignore"):
                cast = array.astype(self.numpy_dtype)
        if cast is not None and self.values_eq(array, cast, force_same_dtype=False):
            return cast
        raise UsageError(
            f"{self} cannot keep {str(data)[:60]} exactly, only {str(cast)[:60]}: if "
            f"that will do, pass an array of {self.dtype} or make the function with "
            "allow_input_downcast=True"
        )

    def is_valid_value(self, a):
        try:
            return self.filter(a, strict=True) is not None
        except TypeError:
            return False

    def value_validity_msg(self, a):
        try:
            self.filter(a, strict=True)
        except Exception as problem:
            return str(problem)
        return "value is valid"

    def value_zeros(self, shape):
        """Zeros of this dtype."""
        return np.zeros(shape, dtype=self.dtype)

    @staticmethod
    def values_eq(a, b, force_same_dtype=True):
        """Whether two arrays are equal, NaN being equal to NaN."""
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or (force_same_dtype and a.dtype != b.dtype):
            return False
        with np.errstate(invalid="ignore"):
            same = a == b
            if a.dtype.kind in "fc" and b.dtype.kind in "fc":
                same = same | (np.isnan(a) & np.isnan(b))
        return bool(np.all(same))

    @staticmethod
    def values_eq_approx(
        a, b, allow_remove_inf=False, allow_remove_nan=False, rtol=None, atol=None
    ):
        """Whether two arrays are equal up to the rounding of their dtype."""
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
            return False
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.dtype.kind not in "fc":
            return bool(np.all(a == b))
        narrow = a.dtype in (np.float32, np.complex64)
        rtol = (1e-4 if narrow else 1e-7) if rtol is None else rtol
        atol = (1e-5 if narrow else 1e-8) if atol is None else atol
        if a.dtype == np.float16:
            rtol, atol = max(rtol, 5e-3), max(atol, 1e-3)
        ok = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
        if allow_remove_nan:
            ok = ok | np.isnan(a)
        if allow_remove_inf:
            ok = ok | np.isinf(a)
        return bool(np.all(ok))

    @staticmethod
    def may_share_memory(a, b):
        """Whether two values are arrays with memory in common."""
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.may_share_memory(a, b)

    def get_shape_info(self, obj):
        return obj.shape

    def get_size(self, shape_info):
        """Bytes of a value of this shape."""
        return int(np.prod(shape_info, dtype=int)) * self.numpy_dtype.itemsize

    # ---- variables --------------------------------------------------------------------------

    def __call__(self, name=None):
        return self.make_variable(name)

    def make_variable(self, name=None):
        """A new variable of this type."""
        return self.Variable(self, name=name)

    def make_constant(self, value, name=None):
        return self.Constant(self, value, name)

    Variable, Constant, SharedVariable = (
        property(lambda self, kind=kind: _hook(kind), doc=f"The class of {what} of this type.")
        for kind, what in (
            ("TensorVariable", "variables"),
            ("TensorConstant", "constants"),
            ("TensorSharedVariable", "shared variables"),
        )
    )

    def filter_variable(self, other, allow_convert=True):
        """`other` as a variable of this type, its pattern refined where that is possible."""
        if not isinstance(other, gof.Variable):
            other = self.Constant(self, self.filter(other))
        if other.type == self:
            return other
        if allow_convert:
            found = self.convert_variable(other)
            if found is not None:
                return found
        raise UsageError(
            f"{other} has type {other.type} where {self} is needed, and no safe "
            "conversion is known: convert it yourself first"
        )

    def convert_variable(self, var):
        """`var` with the pattern of this type, or None where its dtype or rank is another."""
        if not isinstance(var.type, TensorType):
            return None
        if var.type.dtype == self.dtype and var.type.ndim == self.ndim:
            return _hook("patternbroadcast")(var, self.broadcastable)
        return None

    def clone(self, dtype=None, broadcastable=None):
        """A type like this one, with another dtype or pattern."""
        return type(self)(
            self.dtype if dtype is None else dtype,
            self.broadcastable if broadcastable is None else broadcastable,
            name=self.name,
            sparse_grad=self.sparse_grad,
        )

    def in_same_class(self, other):
        return isinstance(other, TensorType) and (self.dtype, self.broadcastable) == (
            other.dtype,
            other.broadcastable,
        )

    def is_super(self, otype):
        """Whether each value of `otype` is one of this type."""
        return (
            isinstance(otype, TensorType)
            and otype.dtype == self.dtype
            and otype.ndim == self.ndim
            and all(b or not a for a, b in zip(self.broadcastable, otype.broadcastable))
        )

    def __eq__(self, other):
        return self is other or (
            type(self) is type(other)
            and self.dtype == other.dtype
            and self.broadcastable == other.broadcastable
        )

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((self.dtype, self.broadcastable))

    def __str__(self):
        if self.name:
            return self.name
        pattern = self.broadcastable
        shape = CODES.get(pattern)
        if shape is None:
            shape = f"{len(pattern)}D" if not any(pattern) else str(pattern)
        return f"TensorType({self.dtype}, {shape})"

    __repr__ = __str__

    def __getstate__(self):
        return {
            "dtype": self.dtype,
            "broadcastable": self.broadcastable,
            "name": self.name,
            "sparse_grad": self.sparse_grad,
        }

    def __setstate__(self, state):
        self.__dict__.update(state, numpy_dtype=np.dtype(state["dtype"]))


def values_eq_approx_remove_inf(a, b):
    """`TensorType.values_eq_approx` that lets inf of `a` be anything."""
    return TensorType.values_eq_approx(a, b, True)


def values_eq_approx_remove_nan(a, b):
    """`TensorType.values_eq_approx` that lets NaN of `a` be anything."""
    return TensorType.values_eq_approx(a, b, False, True)


def values_eq_approx_remove_inf_nan(a, b):
    """`TensorType.values_eq_approx` that lets inf and NaN of `a` be anything."""
    return TensorType.values_eq_approx(a, b, True, True)


def values_eq_approx_always_true(a, b):
    """True, whatever the arrays are."""
    return True


__getattr__ = _absent_of("theano.tensor.type")
