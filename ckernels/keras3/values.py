"""The two kinds of values of the backend, and the door they come through.

Eager values are NumPy arrays. While a step, a branch or a shape is traced, a value is a Symbolic: a
node of a graph with the manners of Keras (a tuple of ints and None as its shape, operators that
promote as Keras does). What functions of Keras are given (Variables, numbers, lists with traced
values in them) becomes one of the two in `convert_to_tensor`. What operators compute is declared in
backend/numpy.py.
"""

import numpy as np
from keras.src import tree

from .. import ops
from ..base.errors import UsageError
from ..graph.node import constant
from .casts import KEPT, cast_array, cast_node, result_type, standardize_dtype
from .direct import direct

UFUNC_OPERATORS = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "truediv",
    np.floor_divide: "floordiv", np.remainder: "mod", np.power: "pow", np.matmul: "matmul",
    np.bitwise_and: "and", np.bitwise_or: "or", np.bitwise_xor: "xor",
    np.left_shift: "lshift", np.right_shift: "rshift",
    np.equal: "eq", np.not_equal: "ne", np.less: "lt", np.less_equal: "le",
    np.greater: "gt", np.greater_equal: "ge",
}  # fmt: skip
OPERATORS = {}  # {method of an operator: function of backend/numpy.py}, filled there


ARRAYS = (np.ndarray, np.generic)


class ValueAsked(UsageError):
    """Python asked a traced value what it is."""


class Symbolic:
    """A value of a graph: `node`, with what Keras asks of a tensor."""

    __slots__ = ("node", "__weakref__", "__dict__")
    __array_priority__ = 1000

    def __init__(self, node):
        self.node = node

    @property
    def shape(self):
        """The sizes: ints, None where only a call tells."""
        return tuple(self.node.shape)

    @property
    def dtype(self):
        """The name of the dtype."""
        return self.node.dtype

    @property
    def ndim(self):
        return len(self.node.shape)

    @property
    def size(self):
        """The number of elements, None where only a call tells."""
        return None if None in self.shape else int(np.prod(self.shape))

    def __repr__(self):
        return f"<Symbolic {self.dtype} {self.shape} of {self.node.op.name}>"

    def __len__(self):
        if not self.ndim:
            raise TypeError("a traced scalar has no length")
        if self.shape[0] is None:
            raise UsageError(
                f"the length of {self!r} is known only when a step runs: use keras.ops.shape(x)[0]"
            )
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key):
        items = key if isinstance(key, tuple) else (key,)
        if any(isinstance(k, list | np.ndarray) and _is_mask(k) for k in items):
            items = tuple(np.asarray(k) if isinstance(k, list) else k for k in items)
        return Symbolic(ops.getitem(self.node, tuple(_key(k) for k in items)))

    def _no_value(self, *args, **kwargs):
        raise ValueAsked(
            f"{self!r} has no value while a step is traced; choose with keras.ops.where or "
            "keras.ops.cond, loop with keras.ops.while_loop, and convert after the step"
        )

    __bool__ = __int__ = __float__ = __index__ = __array__ = numpy = item = tolist = _no_value

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        """What operators of arrays ask: array + traced, and array += traced, which is traced."""
        name = UFUNC_OPERATORS.get(ufunc)
        in_place = out is None or out[0] is inputs[0]
        if name is None or method != "__call__" or options or not in_place:
            return NotImplemented
        return OPERATORS[name](*inputs)

    def astype(self, dtype):
        return cast(self, dtype)

    def reshape(self, *shape):
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return OPERATORS["reshape"](self, shape)

    @property
    def T(self):  # noqa: N802
        return Symbolic(ops.transpose(self.node))

    def __hash__(self):
        return id(self)


def _is_mask(k):
    return np.asarray(k).dtype == bool


def _key(k):
    """One entry of an index, with nodes in the place of tensors."""
    if isinstance(k, slice):
        return slice(*(_key(b) for b in (k.start, k.stop, k.step)))
    if isinstance(k, Symbolic):
        return k.node
    if isinstance(k, np.generic):
        return k.item()
    if hasattr(k, "path") and hasattr(k, "value"):  # a Variable
        return _key(k.value)
    return k


def _binary(name):
    return lambda self, other: OPERATORS[name](self, other)


def _swapped(name):
    return lambda self, other: OPERATORS[name](other, self)


for _name in (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
    *("and", "or", "xor", "lshift", "rshift"),
):
    setattr(Symbolic, f"__{_name}__", _binary(_name))
    setattr(Symbolic, f"__r{_name}__", _swapped(_name))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Symbolic, f"__{_name}__", _binary(_name))
for _name in ("neg", "abs", "invert"):
    setattr(Symbolic, f"__{_name}__", lambda self, name=_name: OPERATORS[name](self))


def is_tensor(x):
    """Whether `x` is a value of the backend; strings in arrays are not."""
    if isinstance(x, ARRAYS):
        return x.dtype in KEPT or x.dtype.kind not in "USTO"
    return isinstance(x, Symbolic)


def has_traced(*values):
    """Whether a traced value is among them, or in a list among them."""
    return any(
        isinstance(x, Symbolic) or (isinstance(x, list | tuple) and has_traced(*x)) for x in values
    )


def is_variable(x):
    """Whether `x` is a Variable of Keras, of any module that defines one."""
    return hasattr(x, "assign") and hasattr(x, "_maybe_autocast")


def to_tensor(x, dtype=None, sparse=None, ragged=None):
    """`x` as an array or a Symbolic, in `dtype`.

    x: a tensor, a Variable, a number, an array, nested lists of these. dtype: None keeps that of
    tensors, and takes Keras's for Python numbers (floatx() for floats, int32 for ints). ValueError
    for sparse and ragged tensors, which the backend does not have.
    """
    if x.__class__ is np.ndarray and x.dtype.kind in "biuf" and not (sparse or ragged):
        return cast_array(x, result_type(x.dtype) if dtype is None else standardize_dtype(dtype))
    if sparse:
        raise ValueError("`sparse=True` is not supported with the ckernels backend")
    if ragged:
        raise ValueError("`ragged=True` is not supported with the ckernels backend")
    if dtype is not None:
        dtype = standardize_dtype(dtype)
    if is_variable(x):
        x = x.value
    if isinstance(x, Symbolic):
        return x if dtype in (None, x.dtype) else Symbolic(cast_node(x.node, dtype))
    if has_traced(x):
        return _stacked(x, dtype)
    if not is_tensor(x) and dtype == "bfloat16":
        return np.asarray(x).astype(dtype)  # of a file, say: as it is stored, then cast
    if dtype is None:
        dtype = result_type(*[getattr(i, "dtype", type(i)) for i in tree.flatten(x)])
    if isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "biuf":
        return np.asarray(cast_array(x, dtype))
    return np.asarray(x, dtype=dtype)


convert_to_tensor = direct(None, to_tensor, KEPT)


def _stacked(items, dtype):
    """A list with traced values in it as one tensor."""
    parts = [convert_to_tensor(i) for i in items]
    dtype = dtype or result_type(*[p.dtype for p in parts])
    return Symbolic(ops.stack([node_of(p, dtype) for p in parts]))


def as_value(x):
    """`x` as an array or a Symbolic in the dtype it has: Keras's own rules make int64 an int32."""
    return x if isinstance(x, np.ndarray | Symbolic) else convert_to_tensor(x)


def node_of(x, dtype=None):
    """The node of a value (a number, an array, a tensor), in `dtype`."""
    x = as_value(x) if dtype is None else convert_to_tensor(x, dtype)
    return x.node if isinstance(x, Symbolic) else constant(np.array(x, order="C"))


def cast(x, dtype):
    """`x` in another dtype."""
    dtype = standardize_dtype(dtype)
    if isinstance(x, ARRAYS):
        return cast_array(x, dtype)
    return convert_to_tensor(x, dtype)


def to_numpy(x):
    """`x` as a NumPy array of its own."""
    if is_variable(x):
        x = x.value
    if isinstance(x, Symbolic):
        x._no_value()
    return np.array(x)


convert_to_numpy = direct(np.array, to_numpy, KEPT)


def shape(x):
    """The sizes of `x`: ints, and traced int32 scalars where only a call tells."""
    if x.__class__ is np.ndarray:
        return x.shape
    if not isinstance(x, Symbolic):
        return tuple(x.shape) if hasattr(x, "shape") else np.shape(x)
    return tuple(
        Symbolic(ops.cast(ops.size_of(x.node, axis), "int32")) if size is None else size
        for axis, size in enumerate(x.shape)
    )


_WHOLE = frozenset((int,))


def whole(sizes):
    """Whether sizes are Python's ints, all of them: None and traced ones need more care."""
    return _WHOLE.issuperset(map(type, sizes))


def size_vector(sizes):
    """Sizes for a node: ints, None for -1, int64 scalars where only a call tells."""
    sizes = [sizes] if isinstance(sizes, int | np.integer | Symbolic) else list(sizes)
    return [_size(s) for s in sizes]


def _size(s):
    if is_variable(s):
        s = s.value
    if isinstance(s, Symbolic):
        return ops.cast(s.node, "int64")
    return -1 if s is None else int(s)
