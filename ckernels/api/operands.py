"""What a user may pass where a tensor is expected, and what not, and why.

`operand` turns such a value into a Node, or leaves a Python number weak; everything it refuses is
refused with one sentence. No K function looks at its arguments in any other way.
"""

import numbers
import sys

import numpy as np

from .. import ops
from ..base import dtypes
from ..base.errors import DTypeError, OutOfMemory, ShapeError, UsageError, with_line
from ..base.given import integer, sequence
from ..graph.node import Node, constant
from ..graph.shapes import show
from ..ops.base import refuse_mask

WEAK = (bool, int, float, complex)


def operand(x, what="a tensor"):
    """`x` as a Node, or as the Python number it is (weak: it adopts the other operand's dtype).

    NumPy's float64 scalars are Python floats and weak too: `np.sqrt(2.0) * x` keeps the dtype of x.
    Lists of Python floats become floatx(); arrays keep their dtype. TypeError for None, objects,
    strings.
    """
    node = getattr(x, "node", None)
    if isinstance(node, Node):
        return node
    kind = type(x)
    if kind in WEAK or isinstance(x, Node):
        return x
    if kind is np.float64:
        return float(x)
    if isinstance(x, (list, tuple)) and has_tensor(x):
        return _stacked(x)
    array = as_array(x, what)
    if isinstance(x, (list, tuple)) and array.dtype == np.float64 and not _has_array(x):
        array = array.astype(dtypes.floatx())
    return constant(array)


def node_of(x, what="a tensor"):
    """`operand`, with Python numbers made constants of their default dtype."""
    x = operand(x, what)
    return x if isinstance(x, Node) else constant(x)


def has_tensor(x):
    """Whether a (nested) list holds a handle or a node."""
    if isinstance(x, (list, tuple)):
        return any(has_tensor(i) for i in x)
    return isinstance(getattr(x, "node", x), Node)


def _has_array(x):
    if isinstance(x, (list, tuple)):
        return any(_has_array(i) for i in x)
    return isinstance(x, (np.ndarray, np.generic))


def _stacked(x):

    return ops.stack([node_of(i) for i in x], 0)


def as_array(x, what="a value", dtype=None):
    """`x` as an aligned array in native byte order of a dtype ckernels knows.

    Raises DTypeError (a TypeError) for None, objects, strings and dates, ShapeError (a ValueError)
    for ragged lists. Copies only where it must.
    """
    if x is None:
        raise DTypeError(f"{what} is None; expected a number, an array or a tensor")
    if is_sparse_matrix(x):
        raise DTypeError(f"{what} is a SciPy sparse matrix; pass x.toarray()")
    try:
        array = np.asarray(x)
    except ValueError as problem:
        if "inhomogeneous" in str(problem):
            raise ShapeError(f"{what} is a ragged list: its rows have different lengths") from None
        raise
    if array.dtype.name not in dtypes.ITEMSIZE:
        raise DTypeError(_refusal(array, what, x))
    refuse_mask(x, what)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not array.flags.aligned:
        array = array.copy()
    return array if dtype is None else converted(array, dtype, what)


def _refusal(array, what, x):
    kind = array.dtype.kind
    if kind == "O" and array.size and all(type(v) is int for v in array.flat):
        digits = len(str(max(map(abs, array.flat)))) if array.size < 1000 else "many"
        return (
            f"{what} has a Python int of {digits} digits, which no integer dtype holds; pass "
            "it as a float"
        )
    if kind == "O":
        found = (
            f"an object of type {type(x).__name__}"
            if array.ndim == 0
            else "an array of Python objects"
        )
    elif kind in "US":
        found = "text"
    else:
        found = f"an array of dtype {array.dtype}"
    return f"{what} is {found}; ckernels computes with {', '.join(dtypes.ALL)}"


def converted(array, dtype, what="the value"):
    """`array` with `dtype` (a name), or DTypeError naming both where its meaning would change.

    Precision may be lost (float64 -> float32), kinds may widen (int -> float); else every element
    must keep its value: a float may become an integer when it is one, complex never becomes real.
    """
    target = np.dtype(dtypes.name_of(dtype))
    source = array.dtype
    if source == target:
        return array
    with np.errstate(all="ignore"):
        given, wanted = dtypes.kind(source), dtypes.kind(target)
        if np.can_cast(source, target, "safe") or given == wanted in "fc":
            return array.astype(target)
        if given in "biu" and wanted in "fc":
            return array.astype(target)
        if given != "c":
            result = array.astype(target)
            if np.array_equal(result, array):
                return result
    raise DTypeError(
        f"{what} has dtype {source.name} and does not fit {target.name} without loss; "
        f"convert it first, e.g. with .astype({target.name!r})"
    )


def is_sparse_matrix(x):
    """Whether `x` is a SciPy sparse matrix, without importing SciPy."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and sparse.issparse(x)


def static_shape(shape, what="shape"):
    """A tuple of ints and None from an int, or a sequence of ints and None."""
    if isinstance(shape, numbers.Integral):
        shape = (shape,)
    try:
        dims = tuple(None if d is None else integer(d, f"a dimension of {what}") for d in shape)
    except TypeError as problem:
        raise UsageError(
            f"{what} must be a sequence of integers (and None), got {shape!r}: {problem.args[0]}"
        ) from None
    if any(d is not None and d < 0 for d in dims):
        raise ShapeError(f"{what} {dims} has a negative dimension; use None for an unknown one")
    return dims


def known_shape(shape):
    """`static_shape` without None."""
    shape = static_shape(shape)
    if None in shape:
        raise ShapeError(
            f"cannot fill shape {show(shape)}: every size must be known; for the sizes of "
            "another tensor use zeros_like, ones_like or its symbolic shape"
        )
    return shape


def allocated(make, shape, dtype):
    """The array make(); OutOfMemory, in words, where one of this shape and dtype cannot be had."""
    try:
        return make()
    except (MemoryError, ValueError, OverflowError) as problem:
        error = OutOfMemory(f"there is no memory for a {dtype} tensor of shape {show(shape)}")
        raise error from problem


# ---- shapes and limits ---------------------------------------------------------------------------


def shape_vector(shape):
    """An int64 vector node from a tuple of ints and scalar tensors, or from a vector tensor."""
    if isinstance(getattr(shape, "node", None), Node):
        return ops.shape_vector(shape.node)
    if not isinstance(shape, (list, tuple, np.ndarray)):
        shape = (shape,)
    what = "a dimension of shape"
    dims = sequence(shape, "a shape")
    if any(d is None for d in dims):
        raise UsageError(
            f"{what} must be an integer or a tensor, and shape {show(tuple(dims))} has None; "
            "K.shape(x) is the shape that a tensor x has in a call"
        )
    return ops.pack(*(node_of(d) if has_tensor(d) else integer(d, what) for d in dims))


def reshaped(x, shape):
    """The node of `x` with another shape, as K.reshape takes one."""
    if isinstance(shape, (list, tuple)):
        shape = tuple(-1 if d is None else d for d in shape)
    return ops.reshape(node_of(x), shape_vector(shape))


def clipped(x, low, high):
    """The node of `x` limited as by K.clip."""
    x, plain = node_of(x), (int, float)
    if isinstance(low, plain) and isinstance(high, plain) and high < low:
        high = low
    return ops.clip(x, *(None if bound is None else operand(bound) for bound in (low, high)))


# ---- new values of variables ---------------------------------------------------------------------


def update_value(variable, value):
    """The node that replaces `variable`: of its dtype, rank and static shape."""
    what = f"the update of {variable!r}"
    node = fitting(operand(value, what), variable.dtype, what)
    old, new = variable.node.shape, node.shape
    if len(old) != len(new) or any(
        a is not None and b is not None and a != b for a, b in zip(old, new)
    ):
        raise with_line(
            ShapeError(f"{what} has shape {show(new)}, but the variable has shape {show(old)}"),
            node,
        )
    return node


def fitting(value, dtype, what):
    """`value` as a node of `dtype`; DTypeError when that would change its kind."""
    if not isinstance(value, Node):
        return constant(converted(np.asarray(value), dtype, what))
    if value.dtype != dtype and not np.can_cast(value.dtype, dtype, "same_kind"):
        raise with_line(
            DTypeError(
                f"{what} has dtype {value.dtype}, which does not fit {dtype}; use "
                f"K.cast(x, {dtype!r})"
            ),
            value,
        )
    return ops.cast(value, dtype)
