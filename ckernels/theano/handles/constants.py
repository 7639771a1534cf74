"""What is known of a variable while the graph is built: single numbers, constants; the types of
None and of slices."""

import numpy as np

from ... import ops
from ...base.errors import UsageError
from ..base.exceptions import EmptyConstantError, NotScalarConstantError
from ..base.names import absent_of as _absent_of
from ..graph.apply import Constant
from ..graph.type import SingletonType
from .variables import Handle, as_tensor_variable

__all__ = ["get_scalar_constant_value", "extract_constant", "EmptyConstantError",
           "NotScalarConstantError", "NoneConst", "none_type_t", "NoneTypeT", "is_constant",
           "constant_or_value", "SliceType", "slicetype"]  # fmt: skip


class NoneTypeT(SingletonType):
    """The type of None."""

    def filter(self, data, strict=False, allow_downcast=None):
        if data is not None:
            raise UsageError("Expected None!")
        return data

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))


class SliceType(SingletonType):
    """Python slices; a variable of it cuts tensors, x[s]: see tensor/slices.py."""

    def filter(self, x, strict=False, allow_downcast=None):
        if not isinstance(x, slice):
            raise UsageError(f"Expected a slice, not {type(x).__name__} {x!r}")
        return x

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))

    def __str__(self):
        return "slice"


none_type_t, slicetype = NoneTypeT(), SliceType()
NoneConst = Constant(none_type_t, None, name="NoneConst")


def is_constant(x):
    """Whether `x` is a constant."""
    return isinstance(x, Constant)


def constant_or_value(x):
    """The data of a constant, else `x`."""
    return x.data if isinstance(x, Constant) else x


def get_scalar_constant_value(orig_v, elemwise=True, only_process_constants=False, max_recur=10):
    """The one number that `orig_v` holds everywhere, a 0-d array; NotScalarConstantError if none.

    It sees through fills, shapes that are known and arithmetic of constants.
    """
    if orig_v is None:
        raise NotScalarConstantError()
    if isinstance(orig_v, (int, float, complex, np.integer, np.floating)):
        return np.asarray(orig_v)
    if isinstance(orig_v, np.ndarray):
        return _single(orig_v)
    v = orig_v
    if isinstance(v, Constant):
        if not isinstance(v, Handle):
            raise NotScalarConstantError(v)
        return _single(v.data)
    node = as_tensor_variable(v).node
    if only_process_constants:
        raise NotScalarConstantError(v)
    found = _number(node)
    if found is None:
        raise NotScalarConstantError(v)
    return found


def _single(data):
    data = np.asarray(data)
    if data.size == 0:
        raise EmptyConstantError()
    first = data.reshape(-1)[0]
    if data.size > 1 and not (data == first).all():
        raise NotScalarConstantError()
    return np.asarray(first)


FILLS = ("broadcast_like", "broadcast_to", "expand", "squeeze", "reshape", "identity", "cast",
         "transpose", "check", "zero_grad")  # fmt: skip
FOLDED = (
    "add",
    "sub",
    "mul",
    "true_div",
    "floor_div",
    "mod",
    "neg",
    "cast",
    "maximum",
    "minimum",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "where",
    "exp",
    "log",
    "sqrt",
    "square",
    "pow",
)


def _number(node, depth=30):
    """The number an engine node is everywhere, or None."""
    if depth == 0:
        return None
    if node.value is not None:
        try:
            return _single(node.value)
        except NotScalarConstantError:
            return None
    if node.op.name == "check" and not all(_number(c, depth - 1) for c in node.inputs[1:]):
        return None
    if node.op.name in FILLS:
        found = _number(node.inputs[0], depth - 1)
        return None if found is None else found.astype(node.dtype)
    if node.ndim == 0 and node.dtype in ("int64",):
        known = ops.known_value(node)
        if known is not None:
            return np.asarray(known, "int64")
    if node.op.name == "slice":
        return _picked(node, depth - 1)
    if node.op.name in FOLDED and node.inputs:
        found = [_number(i, depth - 1) for i in node.inputs]
        if all(f is not None for f in found):
            return np.asarray(node.op.oracle(node.attrs, *found)).astype(node.dtype).reshape(())
    return None


def _picked(node, depth):
    """The number a slice of a constant, or of joined scalars, is everywhere, or None."""
    x, slices = node.inputs[0], node.attrs["slices"]
    if not all(b is None or isinstance(b, int) for one in slices for b in one):
        return None
    if x.value is not None:
        try:
            return _single(x.value[tuple(slice(*one) for one in slices)])
        except (NotScalarConstantError, EmptyConstantError):
            return None
    if x.op.name != "concatenate" or x.ndim != 1 or any(n.shape[0] != 1 for n in x.inputs):
        return None
    chosen = range(len(x.inputs))[slice(*slices[0])]
    return _number(x.inputs[chosen[0]], depth) if len(chosen) == 1 else None


def extract_constant(x, elemwise=True, only_process_constants=False):
    """The number `x` is known to be, as a 0-d array, or `x` itself."""
    try:
        return get_scalar_constant_value(x, elemwise, only_process_constants)
    except NotScalarConstantError:
        return x


__getattr__ = _absent_of(
    "theano.tensor.type_other", {"tensor.slices": "MakeSlice as_int_none_variable make_slice"}
)
