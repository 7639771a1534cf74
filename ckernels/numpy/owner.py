"""Owner: who makes ArrayValues and knows what an index is and which row a function of NumPy has.

This one refuses all that only a number can answer. `ckernels.jit` has one that computes truth
values from the arguments at hand; rows that are NumPy's own Python code run under this one.
"""

import operator

import numpy as np

from .. import ops
from ..base.errors import NotSupported
from ..graph.node import constant
from ..graph.walk import toposort
from ..ops import reference
from .methods import VIEWS, einsum
from .promote import NUMPY, supported
from .rows import find
from .value import ArrayValue, call_ufunc, lies_plain, result, stored, turned, under


def unlike(shape, other):
    """Whether shapes differ, as far as they are known."""
    return len(shape) != len(other) or any(
        m != n and None not in (m, n) for m, n in zip(shape, other)
    )


class Owner:
    """The owner of ArrayValues. rule: their promotion; numbers: classes of traced numbers; journal:
    None, or a list in which stores are noted, (array, node that it held); guards: None, or a list
    of truth values that are taken for granted."""

    numbers, journal, guards = (), None, None

    @staticmethod
    def item(owner, node):
        """A number of Python's for a node, or None where only its value will do."""

    @staticmethod
    def of_scalar(function, x, scalar):
        """What Python computes of a complex number and a float64 of NumPy's; None: NumPy does."""

    def __init__(self, rule=NUMPY):
        self.rule = rule

    # ---- what values ask -----------------------------------------------------------------------

    def made(self, scalar):
        """Note that an array, or a scalar, was made; the number that it gets."""

    def predicate(self):
        """A truth value only where which stores happen, as a node; None: they do."""

    def of_turn(self, node):
        """Whether a node is computed from what changes from turn to turn of a loop."""
        return False

    def refuse(self, what):
        """Raise what ends the trace: `what` cannot be done."""
        raise NotSupported(what)

    def ask(self, node, what, kind=None):
        """The value of a node, in Python."""
        if not any(n.op.name in ("placeholder", "variable") for n in toposort([node])):
            return reference.evaluate([node], {})[0][()]
        return self.refuse(what)

    def foreign(self, array):
        """Refuse an array that is met in the middle of a trace, where it may change later."""

    def pin_sizes(self):
        """Make sizes part of the trace."""
        self.refuse("a size that is unknown")

    def size(self, node, axis):
        """The size of an axis that is unknown."""
        return self.refuse("a size that is unknown")

    def shown(self, node, mask):
        """How many elements, or rows, a mask shows: the first axis of `node`."""
        return self.size(node, 0)

    # ---- operands ------------------------------------------------------------------------------

    def operand(self, x):
        """`x` as an operand of a row."""
        if isinstance(x, ArrayValue):
            return x.read()
        if isinstance(x, self.numbers):
            return x.weak()
        if isinstance(x, (list, tuple)) and self.inside_of(x):
            return self.array(x).read()
        return x

    def operands(self, args):
        """The operands of a ufunc. A Python int that meets integers narrower than 64 bits is
        pinned: whether it fits decides about an error."""
        ints = [isinstance(a, self.numbers) and a.kind is int and not a.symbolic for a in args]
        if any(ints) and not any(
            isinstance(a, (ArrayValue, np.ndarray, np.generic)) and a.dtype.kind in "iu"
            and a.dtype != np.int64 for a in args
        ):  # fmt: skip
            ints = [False] * len(ints)
        return [a.pin() if pin else self.operand(a) for a, pin in zip(args, ints)]

    def array(self, x, dtype=None):
        """np.asarray(x, dtype), as a ArrayValue."""
        dtype = None if dtype is None else supported(np.dtype(dtype))
        if isinstance(x, ArrayValue):
            if x.scalar or (dtype is not None and x.dtype != dtype):
                return x.fresh(ops.cast(x.read(), dtype or x.read().dtype), False, x.plain)
            return x
        if isinstance(x, self.numbers):
            return ArrayValue(self, ops.cast(x.node, dtype or x.node.dtype), False, True)
        if isinstance(x, (list, tuple)) and self.inside_of(x):
            parts = [self.array(i, dtype) for i in x]
            nodes = [p.read() for p in parts]
            common = dtype or self.rule.common([np.dtype(n.dtype) for n in nodes])
            return ArrayValue(self, ops.stack([ops.cast(n, common) for n in nodes], 0), False, True)
        array = np.asarray(x, dtype)
        supported(array.dtype)
        if type(x) is np.ndarray and array is x:
            self.foreign(array)
        return ArrayValue(self, constant(array), False, lies_plain(array))

    def note_read(self, node, x, key):
        """Note that `node` is the element x[key]."""

    def key(self, value, key):
        """(key over nodes, whether it gives a view, the mask where the key is one)."""
        parts = key if isinstance(key, tuple) else (key,)
        found, basic = [], True
        for k in parts:
            if isinstance(k, (ArrayValue, np.ndarray, list, tuple, range)):
                k = list(k) if isinstance(k, (tuple, range)) else k
                node = (constant(np.array(k, np.intp)) if isinstance(k, list) and not k
                        else self.array(k).read())  # fmt: skip
                if node.dtype == "bool" and node.ndim == 0:
                    self.refuse("an index that is a single truth value")
                basic = basic and node.ndim == 0  # one place is a view, as an int is
                found.append(node if node.dtype == "bool" else self.place(node))
            elif isinstance(k, slice):
                found.append(self.slice(value, len(found), k, parts))
            elif isinstance(k, self.numbers) and k.symbolic:
                found.append(self.place(k.node))
            elif k is None or k is Ellipsis:
                found.append(k)
            elif isinstance(k, (bool, np.bool_)):
                self.refuse("an index that is a truth value")
            else:
                found.append(int(k.__index__()))
        mask = found[0] if len(found) == 1 and not basic and found[0].dtype == "bool" else None
        if mask is not None:
            self.fits(mask, value.read())
        if Ellipsis in [f for f in found if f is Ellipsis] and basic:
            found = _without_ellipsis(found, value.ndim)
        return tuple(found), basic, mask

    def fits(self, mask, node):
        """IndexError, as NumPy's, where a mask has not the sizes of the first axes of `node`."""
        if mask.ndim > node.ndim:
            raise IndexError(f"too many indices: array is {node.ndim}-dimensional, but {mask.ndim} "
                             "were indexed")  # fmt: skip
        for axis, (a, b) in enumerate(zip(mask.shape, node.shape)):
            if a != b and None not in (a, b):
                raise IndexError(f"boolean index did not match indexed array along axis {axis}; "
                                 f"size of axis is {b} but size of corresponding boolean axis is "
                                 f"{a}")  # fmt: skip
            if a != b and 1 in (a, b):  # which would be repeated
                self.refuse("a mask that may have another size than what it masks")

    def place(self, node):
        """An index that is a node, as a key has it."""
        return node

    def slice(self, value, place, k, parts):
        """A slice, number `place` of the parts of a key of `value`, as a key has it."""
        return slice(*[None if b is None else int(b) for b in (k.start, k.stop, k.step)])

    # ---- functions of NumPy --------------------------------------------------------------------

    def call(self, function, args, kwargs):
        """`function(*args, **kwargs)` of NumPy's, with Values among the arguments."""
        first = args[0] if args else None
        view = VIEWS.get(function)
        if view is not None and (
            isinstance(first, ArrayValue) or function.__name__[:7] == "atleast"
        ):
            return view(*args, **kwargs)
        if isinstance(function, np.ufunc):
            return call_ufunc(self, function, args, **kwargs)
        if function is np.dot and len(args) == 2 and not kwargs and (
            turned(first) or getattr(first, "masked", None) is not None and 0 < np.ndim(args[1]) < 3
        ):  # fmt: skip
            return call_ufunc(self, np.matmul, args)
        if function is np.einsum:
            found = einsum(*args, **kwargs)
            if found is not None:
                return found
        row, python = find(function), _is_python(function, args, kwargs)
        if row is None:
            self.refuse(f"np.{function.__name__}, which is computed by NumPy")
        masked = getattr(first, "masked", None)
        if masked is not None and row.name in MASKED and len(args) <= 2 and (
            function not in LEAST or self.guards is not None and masked[0].dtype not in COMPLEX
        ):  # fmt: skip
            axes = _axes_under(masked, {**dict(zip(("axis",), args[1:])), **kwargs})
            if axes:
                found = self.reduced(function, masked, axes, kwargs.get("ddof"))
                return self.item(self, found.read()) if python else found
        out = kwargs.pop("out", None)
        lists, plain = function in OF_LISTS, None
        if function not in TURNED and not (function is np.where and len(args) == 1):
            plain = lies_plain(args) and lies_plain(tuple(kwargs.values()))
        if function is np.roll:
            args = [*args[:1], *map(self.shift, args[1:2]), *args[2:]]
            kwargs = {k: self.shift(v) if k == "shift" else v for k, v in kwargs.items()}
        args = [self.argument(a, lists) for a in args]
        kwargs = {k: self.argument(v, lists) for k, v in kwargs.items()}
        array = kwargs.get("keepdims") if row.array == "keepdims" else row.array
        scalar = not (array or function is np.einsum and _is_by_products(args, kwargs))
        found = result(self, row.build(self.rule, *args, **kwargs), scalar, plain)
        if python:
            return self.item(self, found.read())
        if out is None:
            return found
        if function is not np.clip and unlike(out.read().shape, found.read().shape):
            self.refuse("an output of another shape")
        out[...] = found
        return out

    def reduced(self, function, masked, axes, ddof=None):
        """A sum or mean of what a mask shows, as one over all elements."""
        whole, mask = masked
        where = under(mask, whole)
        if function is np.count_nonzero:
            function, whole = np.sum, ops.cast(whole, "bool")
        options = {"where": where, "axis": axes}
        if ddof is not None:
            options["ddof"] = ddof
        if function in LEAST:
            self.guard(ops.any(mask))
            options["initial"] = LEAST[function](np.dtype(whole.dtype))
        return result(self, find(function).build(self.rule, whole, **options))

    def extent(self, x):
        """A size as rows take it: an int, or a node of one that is not negative."""
        if not isinstance(x, self.numbers):
            return x
        if not x.symbolic or x.kind is not int or self.of_turn(x.node):
            return operator.index(x)
        if not (x.bounds and x.bounds[0] >= 0):
            self.guard(ops.ge(x.node, 0))
        return x.node

    def shape(self, sizes):
        """A shape, or one size, as rows take them."""
        sizes = sizes if isinstance(sizes, (tuple, list)) else (sizes,)
        return [self.extent(s) for s in sizes]

    def argument(self, x, lists=True):
        """An argument of a function of NumPy's as its row takes it. lists: lists and tuples of
        arrays are no arrays."""
        if isinstance(x, self.numbers) and x.kind is int:
            return x.pin()  # a size, an axis, a count
        if isinstance(x, (ArrayValue, *self.numbers)):
            return self.operand(x)
        if type(x) in (tuple, list) and self.inside_of(x):
            if not lists and not self.of_ints(x):
                return self.array(x).read()
            return type(x)(self.argument(i) for i in x)
        return x

    def shift(self, x):
        """How far elements are moved, of which each may be a number that data decide."""
        return type(x)(map(self.shift, x)) if type(x) in (tuple, list) else x

    def of_ints(self, x):
        """Whether a list or tuple holds Python's ints alone: sizes, or axes."""

        def is_int(i):
            if isinstance(i, (list, tuple)):
                return self.of_ints(i)
            return i is None or (i.kind if isinstance(i, self.numbers) else type(i)) is int

        return all(map(is_int, x))

    def fits_into(self, item, dtype):
        """Guard that integers of `dtype` hold a number that is stored among them, where NumPy
        raises for one that does not fit: a Python number, and any scalar into signed ones. The
        item, as one that fits."""
        number = isinstance(item, self.numbers)
        signed = np.dtype(dtype).kind
        if signed in "iu" and isinstance(item, np.generic):
            np.zeros((), dtype)[()] = item  # raises what NumPy does
        if not (number or isinstance(item, ArrayValue) and item.scalar) or (
            signed != "i" and (signed != "u" or not number)
        ):
            return item
        node, limits = self.operand(item), np.iinfo(dtype)
        bounds = node.bounds if number else None
        if bounds and limits.min <= bounds[0] and bounds[1] <= limits.max:
            return item
        node = node.node if number else node
        kind = np.dtype(node.dtype)
        if kind.kind not in "iuf" or kind.kind != "f" and np.can_cast(kind, dtype):
            return item
        if number and kind.kind == "i" and not item.symbolic:
            return item  # which `stored` refuses: the argument would be asked in each call
        if kind.kind == "f":
            node = ops.cast(node, "float64")
            least = float(limits.min)
            above = ops.gt(node, least - 1) if least - 1 < least else ops.ge(node, least)
            inside = ops.logical_and(above, ops.lt(node, float(limits.max) + (least - 1 < least)))
        else:
            inside = ops.le(node, constant(min(limits.max, np.iinfo(kind).max), node.dtype))
            if kind.kind == "i":
                above = ops.ge(node, constant(limits.min, node.dtype))
                inside = ops.logical_and(above, inside)
        self.guard(inside)
        return ops.cast(node, dtype) if number and kind.kind == "i" else item

    def to_store(self, item, dtype):
        """What is stored into elements of `dtype`, as what it is."""
        return item

    def store(self, value, item):
        """`item` stored into all of a ArrayValue."""
        self.fits_into(item, value.read().dtype)
        value.write(stored(self, item, value.read().dtype))

    def inside_of(self, x):
        """Whether a list or tuple has ArrayValues or traced numbers in it."""
        return any(isinstance(i, (ArrayValue, *self.numbers)) or (isinstance(i, (list, tuple)) and
                                                      self.inside_of(i)) for i in x)  # fmt: skip


def _limit(dtype, sign):
    if dtype.kind == "f":
        return sign * np.inf
    return bool(sign > 0) if dtype.kind == "b" else int(
        np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min)  # fmt: skip


def _axes_under(masked, options):
    """The axes of the whole array over which a reduction of its part under a mask goes; None where
    it is not over all that the mask shows, or is asked for something else."""
    whole, mask = masked
    axis, kept = options.get("axis"), whole.ndim - mask.ndim
    if not {"axis", "ddof"}.issuperset(options) or type(options.get("ddof", 0)) is not int:
        return None
    if axis is None:
        return tuple(range(whole.ndim))
    return tuple(range(mask.ndim)) if type(axis) is int and axis in (0, -1 - kept) else None


# functions that take lists of arrays, or of pairs
OF_LISTS = {np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack, np.block,
            np.select, np.choose, np.piecewise, np.lexsort, np.linalg.multi_dot, np.histogramdd,
            np.pad, np.ravel_multi_index, np.histogram, np.histogram_bin_edges,
            np.histogram2d}  # fmt: skip
MASKED = ("sum", "mean", "any", "all", "count_nonzero", "max", "min", "var", "std", "prod")
COMPLEX = ("complex64", "complex128")
# what an extremum begins with, where it is of at least one element
LEAST = {np.max: lambda d: _limit(d, -1), np.min: lambda d: _limit(d, 1)}

TRUTHS = {np.array_equal, np.array_equiv, np.allclose}  # Python's bools
COUNTS = {np.count_nonzero} if type(np.count_nonzero([1])) is int else ()  # so before NumPy 2.3

# what lies in another order though what it is made of is in C order
TURNED = {np.einsum, np.cross, np.nonzero, np.argwhere, np.histogram2d}


def _is_by_products(args, options):
    """Whether NumPy ends an einsum with a product of matrices, which leaves an array where einsum
    itself leaves a scalar."""
    few = [np.ones((2,) * x.ndim) if hasattr(x, "ndim") else x for x in args]
    return bool(options.get("optimize")) and type(np.einsum(*few, **options)) is np.ndarray


def _is_python(function, args, kwargs):
    """Whether NumPy gives a number of Python's: of counts, where they are of all elements."""
    if function not in COUNTS:
        return function in TRUTHS
    axis = kwargs.get("axis", args[1] if len(args) > 1 else None)
    return axis is None and not kwargs.get("keepdims")


def _without_ellipsis(key, ndim):
    """A basic key with its ellipsis written out."""
    at = next(i for i, k in enumerate(key) if k is Ellipsis)
    used = sum(k is not None and k is not Ellipsis for k in key)
    return key[:at] + [slice(None)] * (ndim - used) + key[at + 1 :]
