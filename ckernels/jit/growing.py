"""Growing: a list that a traced function makes and appends to in its loops.

In a loop that becomes one scan, what is appended goes into an array with a row for each turn; where
turns decide whether they append, a number says how many rows there are. Elsewhere it is a list.
What a list can do beyond that is refused once it has such rows.
"""

from typing import NamedTuple

import numpy as np

from .. import ops
from ..graph.node import constant
from ..numpy.value import ArrayValue, result
from .number import MOST_INT, known

REFUSED = "a list that grows in a loop, as more than an array"


class Needs(Exception):
    """A list has no room yet for what a turn appends: kind (turns.py); counted: turns decide
    whether they append; sites: how often a turn does."""

    def __init__(self, list, kind, counted, sites):
        super().__init__()
        self.list, self.kind, self.counted, self.sites = list, kind, counted, sites


class Appended(NamedTuple):
    """What a loop appended: rows of an array, all or the first ones. maybe: the first may be of
    Python's numbers, for the loop began with one."""

    array: ArrayValue
    length: object  # a traced number, or None
    kind: object
    maybe: bool

    def count(self):
        return self.array.shape[0] if self.length is None else self.length

    def value(self):
        return self.array if self.length is None else self.array[: self.length]


class Growing:
    """pieces: items and Appended, in order. Of a loop that is traced, if it appends: buffer, an
    array of rows of `kind`; at: the number of them, an array, or None where each turn makes one."""

    __slots__ = ("owner", "kinds", "level", "under", "outside", "__dict__")
    __hash__ = None

    def __init__(self, owner, kinds, items):
        self.kinds = kinds  # the module turns, which knows kinds of values
        self.owner = owner
        self.level = self.around()
        self.under = self.outside = len(owner.predicates)
        self.pieces = list(items)
        self.buffer = self.at = self.kind = None
        self.sites = 0

    def around(self):
        """The innermost loop that is traced, or None."""
        return self.owner.inside[-1] if self.owner.inside else None

    def append(self, value):
        """list.append."""
        trace, inside = self.owner, [None, *self.owner.inside]
        level, under = inside[-1], len(trace.predicates)
        if level is self.level:
            if under != self.under:
                trace.refuse("a list that grows on one side of an if")
            self.pieces.append(value)
            return
        kind = self.kinds.kind_of(value) if self.kinds.is_value(value) else None
        if inside[-2] is not self.level or not hasattr(level, "grown") or kind is None or (
            kind.width() > 1
        ):  # fmt: skip
            trace.refuse("a list that grows in loops inside of loops, or by what is no number")
        given = level.grown.setdefault(id(self), [])
        given.append(self.kinds.node_of(value))
        sites = len(given)
        counted = under > self.outside or sites > 1
        same = kind == self.kind or self.kind is not None and self.kind.how == "scalar" and (
            kind.how == "number" and self.kinds.held_by(value, self.kind)
        )  # fmt: skip
        if self.buffer is None or not same or sites > self.sites or (counted and self.at is None):
            raise Needs(self, kind, counted, sites)
        level.loose = level.loose or kind != self.kind  # as before names have their kinds
        if kind.how == "array":
            if value.root().born <= level.born:
                trace.refuse("an array from before a turn, appended to a list")
            level.appended.append((self, value, value.current()))
        at = known(trace, level.turn if self.at is None else self.at.read(), int, self.places(-1))
        self.buffer[at] = value
        if self.at is not None:
            self.at.write(ops.add(self.at.read(), constant(1, "int64")))

    def open(self, need, turns, counted):
        """Make room for what a loop of so many turns appends."""
        trace = self.owner
        if None in need.kind.shape:
            trace.pin_sizes()
        self.kind, self.sites = need.kind, need.sites
        self.outside = len(trace.predicates)
        zero = constant(0, need.kind.dtype)
        rows = turns * need.sites if isinstance(turns, int) else ops.mul(
            turns, constant(need.sites, "int64"))  # fmt: skip
        rows = ops.broadcast_to(zero, [rows, *need.kind.shape])
        self.buffer, self.at = ArrayValue(trace, rows, False, True), None
        if counted:
            self.at = ArrayValue(trace, constant(0, "int64"), False, True)

    def places(self, more):
        """The bounds of a place in the buffer, or of how many there are."""
        size = self.buffer.read().shape[0]
        return 0, MOST_INT if size is None else size + more

    def close(self, made):
        """Put what a loop appended, if it became a scan, behind the rest."""
        if made is not None:
            length = None
            if self.at is not None:
                length = known(self.owner, self.at.read(), int, self.places(0))
            maybe = self.kind.how == "scalar" and made.began_as_number(made.level.grown[id(self)])
            self.pieces.append(Appended(self.buffer, length, self.kind, maybe))
        self.buffer = self.at = self.kind = None

    # ---- as an array and as a list -------------------------------------------------------------

    def is_list(self):
        """Whether Python knows all its items."""
        return self.around() is self.level and not any(isinstance(p, Appended) for p in self.pieces)

    def no_turn(self):
        """Refuse what is asked by a turn of a loop that may append."""
        if self.around() is not self.level:
            self.owner.refuse("a list that grows, read in the loop")

    def known(self):
        if not self.is_list():
            self.owner.refuse(REFUSED)
        return self.pieces

    def array(self):
        """np.array of it: of no items it has no other axis, and is of floats."""
        counts = [p.count() for p in self.pieces if isinstance(p, Appended)]
        if counts and len(counts) == len(self.pieces) and not any(type(n) is int for n in counts):
            self.owner.guard(ops.gt(sum(counts[1:], counts[0]).node, constant(0, "int64")))
        return self.whole()

    def whole(self):
        """All rows as an array."""
        self.no_turn()
        parts, items = [], []
        for p in self.pieces:
            if isinstance(p, Appended):
                if p.maybe and p.array.dtype.itemsize < 8:
                    self.owner.refuse("a list whose dtype data decide")
                parts += ([self.owner.array(items)] if items else []) + [p.value()]
                items = []
            else:
                items.append(p)
        parts += [self.owner.array(items)] if items or not parts else []
        whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return ArrayValue(self.owner, whole.read(), False, True)

    def taken_apart(self):
        """(array, function that makes the list of it and of what nodes say, these nodes)."""
        rows = [p for p in self.pieces if isinstance(p, Appended)]
        items = [p for p in self.pieces if not isinstance(p, Appended)]
        kinds = {k[:2] for k in (*[p.kind for p in rows], *map(self.kinds.kind_of, items))}
        if len(kinds) != 1 or any(p.maybe for p in rows):
            self.owner.refuse("a list of values of several kinds that a loop appends to")
        make = np.ndarray.tolist if kinds.pop()[0] == "number" else list
        if len(self.pieces) == 1 and rows and rows[0].length is not None:
            self.no_turn()
            return rows[0].array, lambda all, count: make(all[:count]), (rows[0].length.node,)
        return self.whole(), make, ()

    def __len__(self):
        return len(self.known())

    def __bool__(self):
        if any(not isinstance(p, Appended) or p.length is None for p in self.pieces):
            return True
        return len(self.known()) > 0

    def length(self):
        """len(), which may be traced."""
        if self.is_list():
            return len(self.pieces)
        self.no_turn()
        return sum(p.count() if isinstance(p, Appended) else 1 for p in self.pieces)

    def __iter__(self):
        return iter(self.known())

    def __getitem__(self, key):
        inside = [None, *self.owner.inside]
        if key == -1 and len(inside) > 1 and inside[-2] is self.level:
            return self.last(inside[-1])
        if key == slice(None, None, -1) and not self.is_list():
            return self.turned()
        return self.known()[key]

    def reduced(self, function, start=0):
        """sum, max or min of its items: of integers, or of NumPy's doubles, which are no NaN."""
        kinds = {p.kind if isinstance(p, Appended) else self.kinds.kind_of(p) for p in self.pieces}
        maybe = any(isinstance(p, Appended) and p.maybe for p in self.pieces)
        kind = {(k.how, k.dtype, k.shape) for k in kinds}
        doubles = kind == {("scalar", "float64", ())}
        if maybe or not doubles and kind != {("number", "int64", ())}:
            self.owner.refuse(REFUSED)
        rows = self.whole() if function is sum and not doubles else self.array()
        node = rows.read()
        if function is not sum:  # the first of equals
            if doubles:
                self.owner.guard(ops.logical_not(ops.any(ops.isnan(node))))
            node = ops.take(node, {max: ops.argmax, min: ops.argmin}[function](node, 0), 0)
        elif not doubles:  # a sum of Python's has no 64 bits
            near = ops.sum(ops.cast(node, "float64"))
            self.owner.guard(ops.lt(ops.abs(near), 2.0**62))
        node = ops.sum(node) if function is sum else node
        found = result(self.owner, node) if doubles else known(self.owner, node, int)
        return found + start if function is sum else found

    def turned(self):
        """Another list of its items, from the last to the first."""
        self.no_turn()
        if any(isinstance(p, Appended) and p.maybe for p in self.pieces):
            self.owner.refuse(REFUSED)
        found = Growing(self.owner, self.kinds, self.pieces[::-1])
        for k, p in enumerate(found.pieces):
            if isinstance(p, Appended):
                found.pieces[k] = p._replace(array=p.value()[::-1], length=None)
        return found

    def last(self, level):
        """The last item, where a loop appends one in each turn."""
        item = self.pieces[-1] if self.pieces else None
        if isinstance(item, Appended) or not hasattr(level, "grown") or level.grown.get(id(self)):
            self.owner.refuse(REFUSED)
        if self.buffer is None:
            raise Needs(self, self.kinds.kind_of(item), False, 1)
        if (
            self.at is not None
            or self.kind.how == "array"
            or not self.kinds.held_by(item, self.kind)
        ):
            self.owner.refuse(REFUSED)
        turn, zero = level.turn, constant(0, "int64")
        at = ops.maximum(ops.sub(turn, constant(1, "int64")), zero)
        before = ops.take(self.buffer.read(), at, 0)
        first = ops.cast(self.kinds.node_of(item), self.kind.dtype)
        node = ops.where(ops.gt(turn, zero), before, first)
        if self.kind.how == "number":
            return known(self.owner, node, self.kind.type)
        return ArrayValue(self.owner, node, True, True)

    def __setitem__(self, key, value):
        self.known()[key] = value

    def __contains__(self, x):
        return x in self.known()

    def __eq__(self, other):
        return self.known() == other

    def __add__(self, other):
        return self.known() + (other.known() if isinstance(other, Growing) else other)

    def __radd__(self, other):
        return other + self.known()

    def __mul__(self, count):
        return self.known() * count

    def __array__(self, dtype=None, copy=None):
        return self.owner.refuse(REFUSED)

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        return getattr(self.known(), name)


def settled(x):
    """Results of a function, with lists whose items are known as such."""
    if isinstance(x, Growing):
        return x.pieces if x.is_list() else x
    if type(x) in (tuple, list):
        return type(x)(map(settled, x))
    return {k: settled(v) for k, v in x.items()} if type(x) is dict else x


__all__ = ["Growing", "Needs", "settled"]
