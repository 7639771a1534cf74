"""Trace: one run of a Python function over Values; what it makes is a graph of all that it does.

It owns the values: it says what an index is, which row a function of NumPy has, and what happens
where a number is asked for. A truth value is computed from the arguments at hand and becomes a
branch of the trace; any other number ends it (`Asked`), and the call is NumPy's.
"""

import numpy as np

from .. import ops
from ..base.errors import user_line
from ..graph.node import constant, make, new_uid
from ..graph.walk import rebuild, toposort
from ..numpy.methods import VIEWS
from ..numpy.promote import NUMPY, supported
from ..numpy.rows import find
from ..numpy.value import ArrayValue, call_ufunc, result, stored
from ..ops import reference
from ..ops.shape import size_of
from .number import PythonNumber

SMALL = 8  # sizes up to this are part of a trace: loops over short axes are unrolled
MOST = 3000  # arrays that a trace may make: 0.5 s to compile; beyond, a loop was unrolled too far
DEEPEST = 6  # truth values that one trace may have been decided by


class Pinned(Exception):
    """A number was used in Python: the trace is to be made again for its value. place: number of
    the leaf, or None for the sizes of all arrays."""

    def __init__(self, place):
        super().__init__(place)
        self.place = place


class Asked(Exception):
    """A number that only data decides was asked for. what: how; line: the user's."""

    def __init__(self, what):
        self.what, self.line = what, user_line()
        super().__init__(what)


class Untraceable(Asked):
    """Something that cannot be traced, for another reason."""


def placeholder(dtype, shape, name=None):
    """A new input."""
    attrs = {"uid": new_uid(), "dtype": supported(np.dtype(dtype)), "shape": tuple(shape),
             "name": name}  # fmt: skip
    return make("placeholder", (), attrs)


class Trace:
    """The owner of the Values of one run. answers: truth values that were given before; decide:
    function (node) -> value of a node for the arguments at hand, or None where there are none."""

    def __init__(self, answers=(), decide=None):
        self.answers, self.decide, self.asked = list(answers), decide, []
        self.guards, self.inside, self.count = [], [], 0

    # ---- what values ask -----------------------------------------------------------------------

    def made(self):
        """Note that an array was made."""
        self.count += 1
        if self.count > MOST:
            raise Untraceable(f"more than {MOST} operations: a Python loop of many turns")

    def refuse(self, what):
        raise Untraceable(what)

    def guard(self, node):
        """Note that the trace is right only where this truth value holds."""
        self.guards.append(self.outside(node))

    def outside(self, node):
        """A node in terms of the arguments of the whole function, from inside of transforms."""
        for replaced in reversed(self.inside):
            if replaced is None:
                raise Untraceable("a number asked for inside of vmap")
            node = rebuild([node], replaced)[0]
        return node

    def ask(self, node, what, kind=None):
        """The value of a node, in Python."""
        node = self.outside(node)
        if not any(n.op.name in ("placeholder", "variable") for n in toposort([node])):
            return reference.evaluate([node], {})[0][()]
        if node.dtype != "bool" or node.ndim or self.decide is None:
            raise Asked(what)
        if len(self.asked) >= DEEPEST:
            raise Asked(what)
        if len(self.asked) < len(self.answers):
            answer = self.answers[len(self.asked)]
        else:
            answer = bool(self.decide(node))
        self.asked.append((node, answer))
        return answer

    def pin_sizes(self):
        raise Pinned(None)

    def size(self, node, axis):
        """The size of an axis that a trace serves many of."""
        return PythonNumber(self, size_of(node, axis), int, self.pin_sizes, True)

    # ---- operands ------------------------------------------------------------------------------

    def operand(self, x):
        """`x` as an operand of a row."""
        if isinstance(x, ArrayValue):
            return x.read()
        if isinstance(x, PythonNumber):
            return x.weak()
        if isinstance(x, (list, tuple)) and _traced_inside(x):
            return self.array(x).read()
        return x

    def operands(self, args):
        """The operands of a ufunc. A Python int that meets integers narrower than 64 bits is
        pinned: whether it fits decides about an error."""
        narrow = any(isinstance(a, (ArrayValue, np.ndarray, np.generic)) and a.dtype.kind in "iu"
                     and a.dtype != np.int64 for a in args)  # fmt: skip
        pinned = [narrow and isinstance(a, PythonNumber) and a.kind is int for a in args]
        return [a.pin() if pin else self.operand(a) for a, pin in zip(args, pinned)]

    def array(self, x, dtype=None):
        """np.asarray(x, dtype), as a ArrayValue."""
        dtype = None if dtype is None else supported(np.dtype(dtype))
        if isinstance(x, ArrayValue):
            if x.scalar or (dtype is not None and x.dtype != dtype):
                return ArrayValue(self, ops.cast(x.read(), dtype or x.read().dtype), False, True)
            return x
        if isinstance(x, PythonNumber):
            return ArrayValue(self, ops.cast(x.node, dtype or x.node.dtype), False, True)
        if isinstance(x, (list, tuple)) and _traced_inside(x):
            parts = [self.array(i, dtype) for i in x]
            nodes = [p.read() for p in parts]
            common = dtype or NUMPY.common([np.dtype(n.dtype) for n in nodes])
            return ArrayValue(self, ops.stack([ops.cast(n, common) for n in nodes], 0), False, True)
        array = np.asarray(x, dtype)
        supported(array.dtype)
        if type(x) is np.ndarray and array is x:
            raise Untraceable("an array that the function did not get as an argument")
        return ArrayValue(self, constant(array), False, True)

    def key(self, value, key):
        """(key over nodes, whether it gives a view, the mask where the key is one)."""
        parts = key if isinstance(key, tuple) else (key,)
        found, basic = [], True
        for k in parts:
            if isinstance(k, (ArrayValue, np.ndarray, list)):
                node = self.array(k).read()
                if node.dtype == "bool" and node.ndim == 0:
                    raise Untraceable("an index that is a single truth value")
                basic = basic and node.ndim == 0  # one place is a view, as an int is
                found.append(node)
            elif isinstance(k, slice):
                found.append(slice(*[None if b is None else int(b)
                                     for b in (k.start, k.stop, k.step)]))  # fmt: skip
            elif k is None or k is Ellipsis:
                found.append(k)
            elif isinstance(k, (bool, np.bool_)):
                raise Untraceable("an index that is a truth value")
            else:
                found.append(int(k.__index__()))
        mask = found[0] if len(found) == 1 and not basic and found[0].dtype == "bool" else None
        if Ellipsis in [f for f in found if f is Ellipsis] and basic:
            found = _without_ellipsis(found, value.ndim)
        return tuple(found), basic, mask

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
        row = find(function)
        if row is None:
            raise Untraceable(f"np.{function.__name__}, which is computed by NumPy")
        masked = getattr(first, "masked", None)
        if masked is not None and row.name in MASKED and len(args) == 1 and not kwargs:
            return self.reduced(function, masked)
        out = kwargs.pop("out", None)
        args = [self.argument(a) for a in args]
        kwargs = {k: self.argument(v) for k, v in kwargs.items()}
        found = result(self, row.build(NUMPY, *args, **kwargs), not row.array)
        if out is None:
            return found
        out[...] = found
        return out

    def reduced(self, function, masked):
        """A sum or mean of what a mask shows, as one over all elements."""
        whole, mask = masked
        options = {"where": ops.broadcast_like(mask, whole)}
        return result(self, find(function).build(NUMPY, whole, **options))

    def argument(self, x):
        """An argument of a function of NumPy's as its row takes it."""
        if isinstance(x, PythonNumber) and x.kind is int:
            return x.pin()  # a size, an axis, a count
        if isinstance(x, (ArrayValue, PythonNumber)):
            return self.operand(x)
        if type(x) in (tuple, list) and _traced_inside(x):
            return type(x)(self.argument(i) for i in x)
        return x

    def store(self, value, item):
        """`item` stored into all of a ArrayValue."""
        value.write(stored(self, item, value.read().dtype))


MASKED = ("sum", "mean", "any", "all", "count_nonzero")


def _traced_inside(x):
    return any(isinstance(i, (ArrayValue, PythonNumber)) or (isinstance(i, (list, tuple)) and
                                                  _traced_inside(i)) for i in x)  # fmt: skip


def _without_ellipsis(key, ndim):
    """A basic key with its ellipsis written out."""
    at = next(i for i, k in enumerate(key) if k is Ellipsis)
    used = sum(k is not None and k is not Ellipsis for k in key)
    return key[:at] + [slice(None)] * (ndim - used) + key[at + 1 :]
