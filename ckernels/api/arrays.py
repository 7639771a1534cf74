"""What NumPy's functions do with tensors: arithmetic makes graphs, all else an error with advice.

NumPy asks its operands before it computes (`__array_ufunc__`, `__array_function__`). Operators of
arrays and tensors come here as ufuncs; for other functions an error names the K function to use.
"""

import operator

import numpy as np

from ..base.errors import UsageError

OPERATORS = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "truediv",
    np.floor_divide: "floordiv", np.remainder: "mod", np.power: "pow", np.matmul: "matmul",
    np.bitwise_and: "and", np.bitwise_or: "or", np.bitwise_xor: "xor", np.left_shift: "lshift",
    np.right_shift: "rshift", np.divmod: "divmod",
}  # fmt: skip
COMPARISONS = {
    np.less: operator.gt,
    np.less_equal: operator.ge,
    np.greater: operator.lt,
    np.greater_equal: operator.le,
}  # with the operands exchanged
WHOLE = {"sum", "prod", "mean", "max", "min", "var", "std", "any", "all", "transpose"}
NAMES = {"arcsinh": "asinh", "absolute": "abs", "amax": "max", "amin": "min"}


class ArrayProtocol:
    """The two methods by which NumPy asks; mixed into Tensor."""

    __slots__ = ()
    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method == "__call__" and len(inputs) == 2 and not kwargs:
            first, second = inputs
            if ufunc in OPERATORS:
                name = OPERATORS[ufunc]
                if isinstance(first, ArrayProtocol):
                    return getattr(first, f"__{name}__")(second)
                return getattr(second, f"__r{name}__")(first)
            if ufunc in COMPARISONS and not isinstance(first, ArrayProtocol):
                return COMPARISONS[ufunc](second, first)
            if ufunc in (np.equal, np.not_equal):
                turned = not isinstance(first, ArrayProtocol)
                x, other = (second, first) if turned else (first, second)
                found = x.__ne__(other) if ufunc is np.not_equal else x.__eq__(other)
                return ufunc is np.not_equal if found is NotImplemented else found
        raise UsageError(_refusal(ufunc.__name__ + ("" if method == "__call__" else f".{method}")))

    def __array_function__(self, function, types, args, kwargs):
        if function.__name__ in ("ndim", "shape", "size", "iscomplexobj"):
            return getattr(self, function.__name__)
        bare = all(v is None or v is np._NoValue for v in kwargs.values())
        if function.__name__ in WHOLE and len(args) == 1 and args[0] is self and bare:
            return getattr(type(self), function.__name__)(self)
        raise UsageError(_refusal(function.__name__))


_names = frozenset()  # of the public functions


def register_names(names):
    """Let errors name one of these functions to use instead: the public names of K."""
    global _names
    _names = frozenset(names)


def _refusal(name):
    found = [word for word in (name, NAMES.get(name, name)) if word in _names]
    same = f"K.{found[0]}" if found else "a function of K"
    return (
        f"np.{name} computes with arrays at once, and a tensor of ckernels is symbolic: use "
        f"{same}, or K.eval(x) for a value"
    )
