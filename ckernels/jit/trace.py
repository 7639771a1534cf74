"""Trace: one run of a Python function over Values; what it makes is a graph of all that it does.

It owns the values: it says what an index is, which row a function of NumPy has, and what happens
where a number is asked for. A truth value is computed from the arguments at hand and becomes a
branch of the trace; any other number ends it (`Asked`), and the call is NumPy's.
"""

import numpy as np

from .. import ops
from ..base.errors import user_line
from ..graph.node import Node, constant
from ..graph.node import placeholder as new_input
from ..graph.walk import rebuild, toposort
from ..numpy.owner import Owner
from ..numpy.promote import supported
from ..numpy.value import ArrayValue
from ..ops import reference
from ..ops.indexing.keys import MovingSlice
from ..ops.ragged import distance, terms
from ..ops.shape import size_of
from .growing import Growing
from .maybe import MaybeNumber, changes, decided_of, leaves_of
from .number import PythonNumber, item_of, of_scalar, of_sizes, sources, whole

SMALL = 8  # sizes up to this are part of a trace: loops over short axes are unrolled
LARGE = 2**31 - 1  # and so are sizes beyond this: squares of those below are numbers of 64 bits
MOST = 3000  # arrays that a trace may make: 0.5 s to compile; beyond, a loop was unrolled too far
DEEPEST = 8  # truth values that one trace may have been decided by
# functions that bring all their operands to one dtype
JOINT = {np.where, np.clip, np.concatenate, np.stack, np.hstack, np.vstack, np.append, np.dot}
MOST_ASKED = 2  # of them such that say whether a slice stays inside of its axis


class Pinned(Exception):
    """A number was used in Python: the trace is to be made again for its value. place: number of
    the leaf, or None for the sizes of all arrays."""

    def __init__(self, place):
        super().__init__(place)
        self.place = place


class Counts(Pinned):
    """A number that was used in Python is another one after each call, in an object that the call
    changes: the trace is to be made again with the number computed in it."""


class Asked(Exception):
    """A number that only data decides was asked for. what: how; line: the user's."""

    def __init__(self, what):
        self.what, self.line = what, user_line()
        super().__init__(what)


class TooDeep(Asked):
    """One truth value more than a trace may be decided by."""


class Untraceable(Asked):
    """Something that cannot be traced, for another reason."""


def placeholder(dtype, shape, name=None):
    """A new input."""
    return new_input(supported(np.dtype(dtype)), shape, name)


def conjunction(truths):
    """The node that is true where all of these are, or None where there are none."""
    found = None
    for truth in truths:
        found = truth if found is None else ops.logical_and(found, truth)
    return found


class InNumPy(Untraceable):
    """A loop that NumPy takes sooner than a trace of it, turn by turn."""


class VaryingLeaves(set):
    """The placeholders of what has values of its own. guards: truth values of it that the trace
    takes for granted; what: how an error calls it."""

    what = None

    def __init__(self, found):
        super().__init__(found)
        self.guards = []


class BatchLeaves(VaryingLeaves):
    """The placeholders of one row of a batch of vmap."""

    what = "one row of vmap"


class TurnLeaves(VaryingLeaves):
    """The placeholders of one loop whose turn is being traced. chosen: how many tests it decided
    for itself."""

    what = "one turn of a loop"

    def __init__(self, found):
        super().__init__(found)
        self.chosen = 0
        self.under = 0  # how many truth values around the loop hold in its turns
        self.turn, self.born, self.grown, self.appended = None, 0, {}, []
        self.count = None  # how many turns there are, where there is one; None: no one knows
        self.loose = False  # whether a list holds a scalar where it got Python's number
        self.reads = []  # (element, array, its places) of what is read at places that may not exist


class Trace(Owner):
    """The owner of the Values of one run. answers: truth values that were given before; decide:
    function (node) -> value of a node for the arguments at hand, or None where there are none."""

    numbers = (PythonNumber,)

    def __init__(self, answers=(), decide=None):
        super().__init__()
        self.answers, self.decide, self.asked = list(answers), decide, []
        self.guards, self.inside, self.count = [], [], 0
        self.arrays = 0  # how many of what `count` counts are no scalars
        self.scans = 0  # how many were made, those that were undone included
        self.journal, self.births = [], 0  # [(array, node that it held)] of all stores
        self.predicates = []  # of the branches that are being traced: stores happen only where true
        self.slices = set()  # (size of the axis, start, stop) of slices that are never cut
        self.numbers_asked, self.granted = 0, {}  # {truth: it in terms of arguments}: see `holds`
        self.carried_before, self.reasons = {}, {}  # by the code of a loop's body
        self.inputs = frozenset()  # the placeholders of arguments
        self.pins = {}  # {one of a Python number: what makes the number a part of the trace}
        self.array_class = np.ndarray  # what stands for it in the function
        self.sizes_open = True  # whether some of their sizes are left open
        self.unless = []  # see `note_same`
        self.types_matter = True  # whether results are to be of the Python types that NumPy gives
        self.lists_grow = True  # whether a loop that appends to a list is a scan

    # ---- what values ask -----------------------------------------------------------------------

    def array(self, x, dtype=None):
        x = x.array() if isinstance(x, Growing) else x
        if dtype is None and changes(self.rule, leaves_of(x)):
            x = decided_of([x])[0]
        return super().array(x, dtype)

    def operand(self, x):
        return super().operand(
            x.decided() if isinstance(x, MaybeNumber) and changes(self.rule, [x]) else x
        )

    def call(self, function, args, kwargs):
        leaves = leaves_of([args, list(kwargs.values())])
        if (
            changes(self.rule, leaves, True)
            or function not in JOINT
            and any(changes(self.rule, [x]) for x in leaves)
        ):
            args, kwargs = decided_of(args), dict(zip(kwargs, decided_of(kwargs.values())))
            return function(*args, **kwargs)
        if function in (np.real, np.imag):
            x = decided_of(args)[0]
            if isinstance(x, PythonNumber):
                return function(x.pin())  # a number of Python's
        return super().call(function, args, kwargs)

    def made(self, scalar):
        """Note that an array was made."""
        self.count += 1
        self.arrays += not scalar
        self.births += 1
        if self.count > MOST:
            why = next(iter(self.reasons.values()), None)
            why = f" that is no scan, for it has {why}" if why else ""
            raise Untraceable(f"more than {MOST} operations: a Python loop of many turns{why}")
        return self.births

    def refuse(self, what):
        raise Untraceable(what)

    def foreign(self, array):
        raise Untraceable("an array that the function did not get as an argument")

    def guard(self, node):
        """Note that the trace is right only where this truth value holds, or where the branch that
        is being traced is not taken."""
        if node.value is not None and not node.ndim and node.value:
            return None
        predicate = self.predicate(whole=True)
        if predicate is not None:
            node = ops.logical_or(ops.logical_not(predicate), node)
        for replaced in reversed(self.inside):
            if not isinstance(replaced, VaryingLeaves):
                node = rebuild([node], replaced)[0]
            elif any(n in replaced for n in toposort([node])):
                return replaced.guards.append(node)
        return self.guards.append(node)

    def to_store(self, item, dtype):
        if not isinstance(item, MaybeNumber):
            return item
        fits = dtype.kind not in "iu" or np.can_cast(item.dtype, dtype)
        return item.plainly() if fits else item.decided()  # Python's has to fit

    def fits_into(self, item, dtype):
        if self.is_batch():  # what a row does not fit is asked of all of them
            return item
        return super().fits_into(item, dtype)

    def outside(self, node):
        """A node in terms of the arguments of the whole function, from inside of transforms."""
        for replaced in reversed(self.inside):
            if isinstance(replaced, VaryingLeaves):
                if any(n in replaced for n in toposort([node])):
                    raise Untraceable(f"a number of {replaced.what}, used in Python")
            else:
                node = rebuild([node], replaced)[0]
        return node

    def of_turn(self, node):
        """Whether a node is computed from what changes from turn to turn of a loop, or from row to
        row of a batch."""
        own = self.of_turns()
        return bool(own) and any(n in own for n in toposort([node]))

    def of_turns(self):
        """The placeholders of all loops whose turns, and batches whose rows are being traced."""
        return set().union(*[r for r in self.inside if isinstance(r, VaryingLeaves)])

    def of_batch(self, node):
        """Whether a node is computed from what each row of a batch has for itself."""
        for replaced in reversed(self.inside) if self.is_batch() else ():
            if isinstance(replaced, dict):
                node = rebuild([node], replaced)[0]
            elif isinstance(replaced, BatchLeaves) and any(n in replaced for n in toposort([node])):
                return True
        return False

    def truth(self, x, asked=True):
        """The truth value of `x`: a bool, or a node in turns of a loop, each of which may have its
        own, and in sides that are both traced. asked: elsewhere it is a bool, a branch of the
        trace."""
        if isinstance(x, PythonNumber) and x.symbolic:
            node = x.node if x.kind is bool else ops.ne(x.node, constant(0, x.node.dtype))
        elif isinstance(x, ArrayValue) and x.read().size == 1:
            node = ops.cast(ops.reshape(x.read(), []), "bool")
        else:
            return bool(x)
        if node.value is not None:
            return bool(node.value)
        both = self.predicates or any(isinstance(r, TurnLeaves) for r in self.inside)
        return node if both or not asked or self.of_batch(node) else bool(x)

    def predicate(self, whole=False):
        """What has to be true for the branches that are being traced, or None. A loop on such a
        side has no turn where that is not taken, so in its turns those around it hold, of which
        only `whole` tells."""
        return conjunction(self.predicates[0 if whole else self.under(len(self.inside)) :])

    def is_batch(self):
        """Whether a row of vmap is being traced."""
        return any(isinstance(r, BatchLeaves) for r in self.inside)

    def under(self, depth):
        """How many predicates hold in the turns of the innermost of so many levels."""
        loops = [r for r in self.inside[:depth] if isinstance(r, TurnLeaves)]
        return loops[-1].under if loops else 0

    def ask(self, node, what, kind=None):
        """The value of a node, in Python."""
        sizes = of_sizes(node) and any(n.op.name == "shape" for n in toposort([node]))
        if sizes and (node.dtype != "bool" or self.decide is None or self.is_batch()):
            self.pin_sizes()
        node = self.outside(node)
        order = () if sizes else toposort([node])
        if not sizes and not any(n.op.name in ("placeholder", "variable") for n in order):
            return reference.evaluate([node], {})[0][()]
        if node.dtype != "bool" or node.ndim or self.decide is None:
            self.pin_all(node)
            raise Asked(what)
        if len(self.asked) >= DEEPEST:
            if any(of_sizes(n) for n, _ in self.asked):
                self.pin_sizes()
            raise TooDeep(what)
        if len(self.asked) < len(self.answers):
            answer = self.answers[len(self.asked)]
        else:
            answer = bool(self.decide(node))
        self.asked.append((node, answer))
        return answer

    def decided(self, truth, what):
        """A truth value that no turn decides, as a branch of the trace. what: what is refused where
        a turn does."""
        if self.of_turn(truth):
            self.refuse(what)
        truth = self.outside(truth)
        known = [answer for node, answer in self.asked if node is truth]
        return known[0] if known else bool(self.ask(truth, what))

    def pin_sizes(self):
        raise Pinned(None)

    def pin_all(self, node):
        """Let what is computed of Python numbers that were given, and of sizes, be part of the
        trace; nothing where data decide it."""
        pins = [self.pins.get(n.uid) for n in sources(node)]
        if pins and None not in pins:
            pins[0]()

    def decided_by_data(self, node):
        """Whether arrays decide a number, so that a trace cannot be for one value of it."""
        return any(n.uid not in self.pins for n in sources(node))

    @staticmethod
    def item(owner, node):
        return item_of(owner, node)

    of_scalar = staticmethod(of_scalar)

    def size(self, node, axis):
        """The size of an axis that a trace serves many of."""
        return PythonNumber(self, size_of(node, axis), int, None, symbolic=True,
                            bounds=self.size_bounds(node, axis))  # fmt: skip

    def shown(self, node, mask):
        count = ops.sum(ops.cast(mask, "int64"), tuple(range(mask.ndim)))
        return PythonNumber(self, count, int, None, symbolic=True, bounds=(0, 2**62))

    def size_bounds(self, node, axis):
        """The (least, greatest) size that an axis can have."""
        while node.op.kind == "elementwise":
            wide = [i for i in node.inputs if i.shape == node.shape]
            if not wide:
                break
            node = wide[0]
        return (SMALL + 1, LARGE) if node.uid in self.inputs else (0, 2**62)

    def extent(self, x):
        if isinstance(x, ArrayValue) and not x.ndim and x.dtype.kind in "iu":
            x = whole(x.owner, x.read())
        if isinstance(x, PythonNumber) and self.is_batch():
            return x.pin()
        return super().extent(x)

    def note_same(self, value, first, changed):
        """Note that a name has `value` after a loop which is the array `first` from before it,
        where the node `changed` is not true."""
        arrays = isinstance(value, ArrayValue) and isinstance(first, ArrayValue)
        if arrays and not value.scalar and not any(
            isinstance(r, VaryingLeaves) for r in self.inside
        ):  # fmt: skip
            self.unless.append((value, first, self.outside(changed), len(self.journal)))

    def guard_same(self, roots_of, results, arguments):
        """Let the trace be for calls in which what may be two names of one array are none, where
        either was stored into later, or one is a result and the other one too, or an argument."""
        given = [r for x in results for r in roots_of(x)]
        for value, first, changed, mark in self.unless:
            mine, theirs = roots_of(value), roots_of(first)
            stored = {id(x) for x, _ in self.journal[mark:]}
            shown = any(any(r is x for x in given) for r in mine) and any(
                any(r is x for x in (*given, *arguments)) for r in theirs
            )
            if shown or any(id(r) in stored for r in (*mine, *theirs)):
                self.guard(changed)

    # ---- indices ---------------------------------------------------------------------------------

    def shift(self, x):
        if isinstance(x, PythonNumber) and x.symbolic and x.kind is int and not (
            of_sizes(x.node) or self.of_turn(x.node)
        ):  # fmt: skip
            return ArrayValue(self, x.node, True, True)
        return super().shift(x)

    def note_read(self, node, x, key):
        loops = [r for r in self.inside if isinstance(r, TurnLeaves)]
        if loops and not self.is_batch() and any(isinstance(k, Node) for k in key):
            loops[-1].reads.append((node, x, key))

    def exists(self, x, key):
        """What is true where x has an element at these places; None where it plainly has."""
        truths = []
        for axis, k in enumerate(key):
            size = size_of(x, axis)
            size = constant(size, "int64") if isinstance(size, int) else size
            if isinstance(k, Node) and not self.is_inside(k, size):
                truths += [ops.ge(k, ops.neg(size)), ops.lt(k, size)]
        return conjunction(truths)

    def is_inside(self, place, size):
        """Whether a sum of numbers of turns is one of 0 .. size - 1 in all turns, whatever the size
        and the numbers of turns."""
        low, high = self.extreme(place, -1), self.extreme(place, 1)
        if low is None or high is None or low.value is None or low.value < 0:
            return False
        left = terms(high, -1, terms(size, 1, {}))
        return left.pop(None, 0) >= 1 and not any(left.values())

    def place(self, node):
        """An index that exists where the branch that is being traced is not taken, too. What is
        computed before the turns of a loop is so where it has none as well."""
        depth = len(self.inside)
        order = toposort([node]) if self.predicates else ()
        while depth and not (
            isinstance(self.inside[depth - 1], set)
            and any(n in self.inside[depth - 1] for n in order)
        ):
            depth -= 1
        predicate = conjunction(self.predicates[self.under(depth) :])
        if predicate is None or node.value is not None:
            return node
        return ops.where(predicate, node, constant(0, node.dtype))

    @staticmethod
    def bound(b):
        """The end of a slice: None, an int or a node."""
        if isinstance(b, PythonNumber) and b.symbolic:
            return b.node
        if isinstance(b, ArrayValue) and b.dtype.kind in "iu" and not b.ndim:
            return ops.cast(b.read(), "int64")
        return b if b is None else int(b)

    def is_element(self, end):
        """Whether the end of a slice is computed from an element of an array that a turn reads."""
        return isinstance(end, Node) and any(
            n.op.name == "take" and self.of_turn(n.inputs[1]) for n in toposort([end])
        )

    def slice(self, value, place, k, parts):
        """A slice over nodes. Of one that moves with a turn its length has to be told from others,
        so sizes are pinned; one that keeps its length is a MovingSlice, if nothing is clipped."""
        bounds = [self.bound(b) for b in (k.start, k.stop, k.step)]
        start, stop, step = bounds
        if isinstance(step, Node):
            raise Untraceable("a slice whose step changes from turn to turn")
        moving = [isinstance(b, Node) for b in (start, stop)]
        if not any(moving):
            return slice(*bounds)
        if any(p is None or p is Ellipsis or isinstance(p, (ArrayValue, np.ndarray, list))
               for p in parts[:place]):  # fmt: skip
            raise Untraceable("a slice that moves, behind an ellipsis or an array")
        width = distance(start, stop) if all(moving) and step in (None, 1) else None
        if not all(moving) and step in (None, 1):
            start, stop = self.note_inside(k, start, stop, value.read().shape[place])
            bounds = [start, stop, step]
        if width is None and self.is_element(start) and self.is_element(stop):
            raise InNumPy("a slice between two elements in a turn, computed at full length")
        size = value.read().shape[place]
        if size is None and self.of_turn(start if moving[0] else stop):
            if not self.sizes_open:
                raise Untraceable("a slice that moves, of one whose length does")
            raise Pinned(None)
        if width is None or size is None or not 1 <= width <= size:
            return slice(*bounds)
        low, high = (getattr(b, "bounds", None) for b in (k.start, k.stop))
        inside = low is not None and high is not None and low[0] >= 0 and high[1] <= size
        if not inside and not self.stays_inside(start, size - width):
            return slice(*bounds)
        return MovingSlice(start, width)

    def note_inside(self, k, start, stop, size):
        """Remember a slice with one end that moves, where both stay places of its axis; its ends,
        counted from the front."""
        end, fixed = (stop, start) if isinstance(stop, Node) else (start, stop)
        if size is None or fixed is not None and not -size <= fixed <= size:
            return start, stop
        known = getattr(k.stop if end is stop else k.start, "bounds", None)
        most = self.extreme(end, 1)
        if most is not None and most.value is not None and most.value < 0:
            known, at = None, ops.add(end, constant(size, "int64"))
        else:
            at = end
        if known and 0 <= known[0] and known[1] <= size or self.stays_inside(at, size):
            start, stop = (start, at) if end is stop else (at, stop)
            self.slices.add((size, start, stop))
        return start, stop

    def stays_inside(self, start, last):
        """Whether `start` is one of 0 .. last in all turns, as far as that can be told before the
        first one: where numbers of the call decide, the trace is for calls in which it is."""
        low, high = self.extreme(start, -1), self.extreme(start, 1)
        if low is None or high is None or self.is_batch():
            return False
        zero, last = constant(0, "int64"), constant(last, "int64")
        return self.holds(ops.logical_and(ops.ge(low, zero), ops.le(high, last)))

    def holds(self, truth):
        """Whether numbers among the arguments say that `truth` holds: a branch of the trace; after
        some of them the trace is for calls alone in which it does."""
        known = [answer for node, answer in self.asked if node is truth]
        if known or truth.value is not None:
            return known[0] if known else bool(truth.value)
        if self.decide is None or any(n.ndim for n in toposort([truth])):
            return False
        if self.numbers_asked < MOST_ASKED:
            self.numbers_asked += 1
            return self.ask(truth, "whether a slice stays inside of its axis")
        if truth not in self.granted and self.decide(truth):
            self.granted[truth] = self.outside(truth)
        return truth in self.granted

    def extreme(self, node, sign):
        """The greatest (sign 1) or least (-1) value of a sum of numbers of turns, as a node that no
        turn changes; None where it is no such sum. Those of inner loops first: how many turns they
        have may depend on the outer ones."""
        found = terms(node, 1, {})
        for level in reversed(self.inside):
            factor = found.pop(level.turn, 0) if isinstance(level, TurnLeaves) else 0
            if factor * sign > 0:
                if level.count is None:
                    return None
                terms(level.count, factor, found)
                found[None] = found.get(None, 0) - factor
        total = constant(found.pop(None, 0), "int64")
        for term, factor in found.items():
            if factor and self.of_turn(term):
                return None
            total = ops.add(total, ops.mul(term, constant(factor, "int64"))) if factor else total
        return total
