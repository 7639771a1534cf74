"""The table of rows, and how a ufunc's row is applied, reduced and accumulated by a dtype rule."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import DTypeError, NotSupported
from ...graph.node import Node, constant, item, make, placeholder
from ...graph.shapes import axes_of, axis_of
from ...ops.base import fits
from ...ops.scan import Carry, scan_node
from ...ops.shape import shape_vector, sized
from ..promote import Weak, check_fits, kind_of, supported

UFUNCS = {}  # {ufunc: Row}
LIBRARIES = []  # functions that add the rows of a library's ufuncs, once a program has imported it
FUNCTIONS = {}  # {function: Row}


class Row(NamedTuple):
    """What one name of NumPy builds.

    build: of a ufunc build(*nodes of the dtypes of its loop) -> node or tuple of nodes; of another
    function build(rule, *args, **kwargs). array: a result of no dimensions is an array, where most
    of NumPy's functions return a scalar; "keepdims": where that option is given. reduction:
    build(node, axes) -> node of `ufunc.reduce`. python: a function of NumPy's whose own code, run
    over values, is the row.
    """

    name: str
    build: Callable
    is_ufunc: bool = False
    array: bool | str = False
    reduction: Callable | None = None
    running: Callable | None = None
    python: Callable | None = None


def contracted(build, a, b, *more):
    """build(a, b, *more), a sum of products; of bools whether one product is true, as in NumPy: a
    float sum of ones is never 0."""
    if a.dtype != "bool":
        return build(a, b, *more)
    return ops.ne(build(ops.cast(a, "float32"), ops.cast(b, "float32"), *more), 0)


def inner_of_rows(a, b):
    """The products of vectors in the last axes, the first of each pair conjugated."""
    if not (a.ndim and b.ndim):
        raise NotSupported("products of numbers that are no vectors")
    b = agreeing(b, a, [(-1, -1)], "vectors of different sizes")
    return ops.sum(ops.mul(ops.conj(a), b), -1)


def newer(name):
    """A function of NumPy 2 by its name, as "linalg.vecdot"; None in a NumPy that lacks it."""
    owner = np
    for part in name.split("."):
        owner = getattr(owner, part, None)
    return owner


def row(*functions, array=False):
    """Decorator: the function below is the row of these functions of NumPy; None counts as none."""

    def add(build):
        for function in filter(None, functions):
            FUNCTIONS[function] = Row(function.__name__, build, array=array)
        return build

    return add


def as_operand(x):
    """`x` as an operand of a row: arrays and NumPy scalars become constants of their dtype."""
    if isinstance(x, (Node, Weak)) or type(x) in (int, float, complex):
        return x
    if isinstance(x, (bool, np.bool_)):
        return constant(np.asarray(x, bool))
    if isinstance(x, (np.generic, np.ndarray)):
        supported(x.dtype)
        return constant(np.asarray(x))
    if isinstance(x, (list, tuple)):
        return constant(_array_of(x))
    kind_of(x)  # raises for what is no number
    return int(x) if isinstance(x, int) else float(x) if isinstance(x, float) else complex(x)


def _array_of(x):
    array = np.asarray(x)
    supported(array.dtype)
    return array


def node_of(x, rule):
    """`x` as a node; a Python number in the dtype that an array made of it has."""
    x = as_operand(x)
    if isinstance(x, Weak):
        return x.node
    if isinstance(x, Node):
        return x
    if type(x) is int and not fits(x, "int64"):  # NumPy's array of it is uint64, or of objects
        if not fits(x, "uint64"):
            raise NotSupported("a Python int beyond 64 bits")
        return constant(np.asarray(x, "uint64"))
    return constant(np.asarray(x), rule.common([kind_of(x)]))


def agreeing(x, other, axes, message):
    """The node `x`, whose sizes along the first of each pair of `axes` are to be those of `other`
    along the second: NumPy says what is wrong where they are not, a call if not known before."""
    late = []
    for i, k in axes:
        mine, its = x.shape[i], other.shape[k]
        if mine is None or its is None:
            late.append(ops.eq(ops.getitem(ops.shape(x), i), ops.getitem(ops.shape(other), k)))
        elif mine != its:
            raise NotSupported(message)
    return ops.check(x, *late, message=message, error="value") if late else x


def shaped_as(x, other, message):
    """The node `x`, which is to have the shape of `other`."""
    if x.ndim != other.ndim:
        raise NotSupported(message)
    return agreeing(x, other, [(k, k) for k in range(x.ndim)], message)


def typed(x, dtype):
    """An operand as a node of `dtype`; OverflowError for a Python int that it cannot hold."""
    if isinstance(x, Node):
        return ops.cast(x, dtype)
    if isinstance(x, Weak):
        narrow = x.kind is int and np.dtype(dtype).kind in "iu" and dtype != "int64"
        if narrow and not (x.bounds and all(fits(b, dtype) for b in x.bounds)):
            raise NotSupported(f"a Python int that is an argument, with an array of {dtype}")
        return ops.cast(x.node, dtype)
    check_fits(x, dtype)
    return constant(np.asarray(x, dtype=dtype), dtype)


def of_ufunc(function):
    """The Row of a ufunc, or None."""
    found = UFUNCS.get(function)
    if found is None:
        for add in LIBRARIES:
            add()
        found = UFUNCS.get(function)
    return found


def ufunc(rule, function, *operands, dtype=None):
    """`function(*operands)` as a node, or a tuple of nodes where it has several results."""
    found = of_ufunc(function)
    if found is None:
        raise NotSupported(f"the ufunc {function.__name__} has no row")
    operands = [as_operand(x) for x in operands]
    kinds = [kind_of(x) for x in operands]
    if found.name in COMPARISONS:
        operands, kinds = _comparable(operands, kinds)
    loop = rule.loop(function, kinds, dtype)
    nodes = [typed(x, d) for x, d in zip(operands, loop)]
    try:
        result = found.build(*nodes)
    except DTypeError as problem:  # a loop that no op has: inverse functions of complex numbers
        raise NotSupported(f"{found.name} of {loop[0]} is computed by NumPy") from problem
    wanted = loop[function.nin :]
    if isinstance(result, tuple):
        return tuple(ops.cast(r, d) for r, d in zip(result, wanted))
    return ops.cast(result, wanted[0])


COMPARISONS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}


def _comparable(operands, kinds):
    """Comparisons take a Python int of any size: one that the array's dtype cannot hold is
    compared with in a dtype that holds both."""
    for a, b in ((0, 1), (1, 0)):
        one, other = operands[a], kinds[b]
        if type(one) is not int or not isinstance(other, np.dtype) or other.kind not in "iu":
            continue
        info = np.iinfo(other)
        if not info.min <= one <= info.max:
            held = np.float64(one) if abs(one) >= 2**63 or other.itemsize == 8 else np.int64(one)
            operands, kinds = list(operands), list(kinds)
            operands[a] = constant(np.asarray(held))
            kinds[a] = held.dtype
    return operands, kinds


def reduce(rule, function, x, axis=0, dtype=None, keepdims=False, initial=None, where=True):
    """`function.reduce(...)` as a node."""
    found = of_ufunc(function)
    if found is None or function.nin != 2 or function.nout != 1:
        raise NotSupported(f"{function.__name__}.reduce has no row")
    x = node_of(x, rule)
    if found.reduction is None:
        if initial not in (None, np._NoValue) or where is not True or not isinstance(axis, int):
            raise NotSupported(f"{function.__name__}.reduce but along one axis, from its first")
        return last_of_running(rule, function, x, axis_of(axis, x.ndim), dtype, keepdims)
    operand, result = rule.reduction(function, np.dtype(x.dtype), dtype)
    x = ops.cast(x, operand)
    axes = axes_of(axis, x.ndim)
    if where is not True:
        x = _kept(function, x, where, initial)
    begins = initial is not None and initial is not np._NoValue
    if begins and function.identity is None and 0 in x.shape:
        return _of_nothing(x, initial, axes, result, keepdims)
    y = found.reduction(x, axes) if axes else x
    if begins:
        y = ufunc(rule, function, y, typed(as_operand(initial), y.dtype), dtype=dtype)
    y = ops.cast(y, result)
    return ops.expand(y, axes) if keepdims else y


def _of_nothing(x, initial, axes, dtype, keepdims):
    """What a reduction that has to begin with something leaves of no elements."""
    sizes = [d for k, d in enumerate(sized(x)) if k not in axes]
    y = ops.broadcast_to(typed(as_operand(initial), dtype), shape_vector(sizes))
    return ops.expand(y, axes) if keepdims else y


def _kept(function, x, where, initial):
    """`x` with what a mask leaves out replaced by what changes nothing."""
    neutral = function.identity
    if neutral is None:
        if initial is None or initial is np._NoValue:
            raise NotSupported(f"{function.__name__}.reduce with where= needs initial=")
        neutral = initial
    neutral = typed(as_operand(neutral), x.dtype)
    mask = node_of(where, None) if not isinstance(where, Node) else where
    return ops.where(mask, x, neutral)


def accumulate(rule, function, x, axis=0, dtype=None):
    """`function.accumulate(...)` as a node."""
    found = of_ufunc(function)
    if found is None or function.nin != 2 or function.nout != 1:
        raise NotSupported(f"{function.__name__}.accumulate has no row")
    x = node_of(x, rule)
    if found.running is None:
        return step_by_step(rule, function, x, axis_of(axis, x.ndim), dtype)
    operand, result = rule.reduction(function, np.dtype(x.dtype), dtype)
    return ops.cast(found.running(ops.cast(x, operand), axis_of(axis, x.ndim)), result)


def last_of_running(rule, function, x, axis, dtype, keepdims):
    """`function.reduce` along an axis as the last of what `accumulate` gives."""
    if x.shape[axis] == 0:
        raise NotSupported(f"{function.__name__}.reduce of nothing")
    if x.shape[axis] is None:
        some = ops.gt(ops.getitem(ops.shape(x), axis), 0)
        x = ops.check(x, some, message=f"{function.__name__}.reduce of nothing", error="value")
    rows = accumulate(rule, function, x, axis, dtype)
    last = ops.getitem(rows, (*[slice(None)] * axis, -1))
    if function.identity is not None:  # with which NumPy begins: gcd(0, -8) is 8
        last = ufunc(rule, function, typed(as_operand(function.identity), last.dtype), last)
    return ops.expand(last, (axis,)) if keepdims else last


def step_by_step(rule, function, x, axis, dtype):
    """`function.accumulate` along an axis of what does not go in pieces, as a scan."""
    if dtype is not None:
        x = ops.cast(x, supported(np.dtype(dtype)))
    rows = ops.moveaxis(x, axis, 0)
    state, row = [placeholder(x.dtype, rows.shape[1:]) for _ in range(2)]
    first = placeholder("bool", ())
    new = ufunc(rule, function, state, row)
    if new.dtype != x.dtype or function is np.power and not dtypes.is_inexact(x.dtype):
        raise NotSupported(f"{function.__name__}.accumulate of {x.dtype}, which has no row")
    start = ops.broadcast_to(constant(0, x.dtype), shape_vector([1, *sized(rows)[1:]]))
    carries = [Carry(start, (-1,), [state], ops.where(first, row, new)),
               Carry(constant(np.ones(1, bool)), (-1,), [first],
                     constant(False, "bool"))]  # fmt: skip
    steps = ops.cast(ops.getitem(ops.shape(rows), 0), "int64")
    node = scan_node(steps, [(0, [rows], row)], carries)
    return ops.moveaxis(item(node, 0), 0, axis)


def reduceat(rule, function, x, indices, axis=0, dtype=None):
    """`function.reduceat(...)` as a node, of places that rise: an error of a call where they do
    not."""
    if function not in PIECES:
        raise NotSupported(f"{function.__name__}.reduceat has no row")
    x, starts = node_of(x, rule), ops.cast(node_of(indices, rule), "int64")
    if starts.ndim != 1 or starts.shape[0] == 0 or dtypes.is_complex(x.dtype):
        raise NotSupported(f"{function.__name__}.reduceat but of a vector of places")
    operand, result = rule.reduction(function, np.dtype(x.dtype), dtype)
    axis = axis_of(axis, x.ndim)
    x = ops.moveaxis(ops.cast(x, operand), axis, 0)
    size = ops.cast(ops.getitem(ops.shape(x), 0), "int64")
    ends = ops.concatenate([ops.getitem(starts, slice(1, None)), ops.expand(size, (0,))], 0)
    rising = ops.logical_and(ops.all(ops.lt(starts, ends)), ops.ge(ops.getitem(starts, 0), 0))
    starts = ops.check(starts, rising, message="places of reduceat that do not rise", error="value")
    marks = ops.broadcast_to(constant(0, "int64"), [size])
    piece = ops.cumsum(ops.inc_subtensor(marks, starts, 1), 0)  # 0: before the first
    like = ops.take(x, ops.concatenate([constant(np.zeros(1, "int64")), starts], 0), 0)
    found = ops.getitem(PIECES[function](like, piece, x), slice(1, None))
    return ops.cast(ops.moveaxis(found, 0, axis), result)


NOTHING = -0.0  # what can be added without a trace: 0.0 would make 0.0 of -0.0

PIECES = {  # (first elements of pieces, which piece each element is of, elements) -> results
    np.add: lambda like, piece, x: ops.inc_subtensor(ops.full_like(like, NOTHING), piece, x),
    np.maximum: lambda like, piece, x: ops.combine_subtensor(like, piece, x, "max"),
    np.minimum: lambda like, piece, x: ops.combine_subtensor(like, piece, x, "min"),
}


def outer(rule, function, a, b):
    """`function.outer(a, b)` as a node."""
    a, b = node_of(a, rule), node_of(b, rule)
    wide = make("expand", (a,), {"axes": tuple(range(a.ndim, a.ndim + b.ndim))}) if b.ndim else a
    return ufunc(rule, function, wide, b)
