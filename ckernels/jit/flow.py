"""Flow: what the calls do that syntax.py puts in the place of `for`, `while`, `if`, `and`, `not`.

Where Python knows the numbers it is Python's: sides of a concrete test, few turns one by one. A
long loop is traced once (turns.py) and becomes one scan. Of a test that each turn decides for
itself both sides are traced: stores happen only where it holds, names get the one or the other
value. A loop that is no scan is taken turn by turn.
"""

import builtins
import operator
import sys

from .. import ops
from ..base.errors import NotSupported, of_signal
from ..graph.node import constant
from ..ops.scan import ENDLESS
from . import turns
from .growing import Growing, Needs
from .jumps import RESULT
from .namespace import Indexed, rows_of
from .number import MOST_INT, PythonNumber, as_node, converted, known
from .trace import Asked, Pinned, TurnLeaves, Untraceable
from .trees import flatten, put_together
from .turns import (
    MOST_HALVINGS,
    UNMASKED,
    UNSET,
    Before,
    InNumPy,
    Objects,
    TooFewTurns,
    Turns,
    Unmasked,
    cells_of,
    contents,
    is_value,
    joint_kind,
    kind_of,
    nodes_of,
    parts_alike,
    put_into,
    roots_of,
    set_contents,
    shared,
    wrapped,
)


class NotOne(Exception):
    """A loop is no scan. first: it may be one after its first turn."""

    def __init__(self, first=False):
        super().__init__(first)
        self.first = first


CHANGED = "a list or an object that changes on a side of an if"
FEW = 1  # turns that are taken one by one, whatever they do
UNROLLED = 400  # arrays that a loop may make in all its turns to be taken turn by turn


MOST_LISTS = 8  # rooms that are made for the lists of one loop


def close(lists, made=None):
    """End the loop that appended to lists. made: its Turns, if it became a scan."""
    for each in {id(x): x for x in lists}.values():
        each.close(made)


class Flow:
    """The control flow of one trace."""

    def __init__(self, trace):
        self.trace = trace
        trace.flow = self

    def names(self):
        """What a function with transformed source reads."""
        return {"_ck_for": self.for_, "_ck_while": self.while_, "_ck_if": self.if_,
                "_ck_either": self.either, "_ck_return": self.return_,
                "_ck_after": self.after, "_ck_and": self.and_,
                "_ck_or": self.or_, "_ck_not": self.not_,
                "_ck_all": self.all_, "_ck_any": self.any_,
                "_ck_list": self.list_, "_ck_comprehended": self.comprehended,
                "_ck_caught": self.caught,
                "_ck_convert": converted}  # fmt: skip

    @staticmethod
    def caught():
        """Raise again what a handler of every error caught: what tells that a trace cannot go on;
        another error is NumPy's to raise and the handler's to take."""
        problem = sys.exc_info()[1]
        if isinstance(problem, (Asked, NotSupported, Pinned)):
            raise problem
        raise NotSupported(f"it catches an error of its own: {type(problem).__name__}")

    # ---- loops ---------------------------------------------------------------------------------

    def for_(self, iterable, body, stop=None):
        """`for item in iterable: body(item)`, until stop() is true."""
        rows = iterable if isinstance(iterable, Indexed) else rows_of(iterable)
        if rows is None:
            self.each(iterable, body, stop)
            return
        count = self.turns_of(rows.ends)
        if isinstance(count, int) and count <= FEW:
            return self.each(rows, body)  # no turn is left that could be left out

        def item(turn):
            return (rows.at(self.number(rows.ends, count, turn)),)

        try:
            self.scan(body, item, count, stop, ends=False, range=rows.ends)
        except NotOne as problem:
            if not (problem.first and isinstance(count, int)):
                return self.each(rows, body, stop)
            # the first turn by itself: after it names have the kinds that they keep
            body(*item(constant(0, "int64")))
            if not self.stopped(stop):
                self.for_(Indexed(rows.ends[1:], rows.at), body, stop)

    def stopped(self, stop):
        """Whether a loop that is taken turn by turn ends here."""
        return stop is not None and bool(stop())

    def each(self, iterable, body, stop=None):
        for each in iterable:
            body(each)
            if self.stopped(stop):
                return

    def turns_of(self, ends):
        """How many numbers a range has: an int or a node."""
        if isinstance(ends, range):
            return len(ends)
        start, stop, step = map(as_node, (ends.start, ends.stop, ends.step))
        sign = self.sign(ends.step)
        if sign is None:  # which way it goes a call says
            self.trace.guard(ops.ne(step, constant(0, "int64")))
            up = ops.gt(step, constant(0, "int64"))
            gap = ops.where(up, ops.sub(stop, start), ops.sub(start, stop))
            step = ops.abs(step)
            step = ops.maximum(step, constant(1, "int64"))
        elif sign > 0:
            gap = ops.sub(stop, start)
        else:
            gap, step = ops.sub(start, stop), ops.neg(step)
        one = constant(1, "int64")
        if step.value is None or step.value > 1:
            gap = ops.floor_div(ops.add(gap, ops.sub(step, one)), step)
        found = ops.maximum(gap, constant(0, "int64"))
        return found if found.value is None else int(found.value)

    @staticmethod
    def sign(step):
        """1 or -1, as a range goes up or down; None where it is not known."""
        low, high = (step.bounds or (-1, 1)) if isinstance(step, PythonNumber) else (step, step)
        if low == high == 0:
            raise ValueError("range() arg 3 must not be zero")
        return 1 if low > 0 else -1 if high < 0 else None

    def number(self, ends, count, turn):
        """The number of a range that a turn has."""
        step, start = ends.step, ends.start
        traced = isinstance(step, PythonNumber)
        node = turn if not traced and step == 1 else ops.mul(turn, as_node(step))
        if isinstance(start, PythonNumber) or start:
            node = ops.add(node, as_node(start))
        return known(self.trace, node, int, self.bounds(ends, count))

    @staticmethod
    def bounds(ends, count):
        """The (least, greatest) number of a range, as far as it is known."""
        if isinstance(ends, range):
            return min(ends[0], ends[-1]), max(ends[0], ends[-1])
        first, last = (e.bounds if isinstance(e, PythonNumber) else (e, e)
                       for e in (ends.start, ends.stop))  # fmt: skip
        sign = Flow.sign(ends.step)
        if not first or sign is None:
            return None
        if sign > 0:
            return first[0], max(last[1] - 1, first[0]) if last else MOST_INT
        return min(last[0] + 1, first[1]) if last else -MOST_INT, first[1]

    def scan(self, body, item, count, test=None, ends=True, range=None):
        """A loop as a scan; NotOne, with nothing changed, where it is none or not worth it. test:
        whether it goes on; ends False: whether it ends early, as it need not. range: the numbers
        of its turns, where it has them."""
        trace = self.trace
        if body.__code__ in trace.reasons:
            raise NotOne
        before = Before(trace, cells_of(body, test))
        few = isinstance(count, int) and test is None
        lists, made = [], None
        try:
            while True:
                made = Turns(trace, body, item, count, test, ends)
                try:
                    made.take(UNROLLED // count if few else -1)
                    break
                except Needs as need:
                    before.undo()
                    self.make_room(need, lists, range, test is not None)
            close(lists, made)
        except (Pinned, InNumPy):
            raise
        except Exception as problem:  # of placeholders: whether it is real the turns will tell
            if of_signal(problem):
                raise
            before.undo()
            close(lists)
            first = made.differs and not isinstance(problem, TooFewTurns)
            if not first and not isinstance(problem, TooFewTurns):
                trace.reasons[body.__code__] = str(problem).split("\n")[0]
            raise NotOne(first) from problem

    def make_room(self, need, lists, range, counted):
        """Let a list have room for what turns append."""
        if (
            range is None
            or len(lists) > MOST_LISTS
            or len(self.trace.predicates) != need.list.under
        ):
            raise Untraceable("a list that grows in a loop without an end, or on a side of an if")
        turns = self.turns_of(range)
        if not self.counted_by_data(turns):
            ends = range.start, range.stop, range.step
            turns = len(builtins.range(*map(operator.index, ends)))
        lists.append(need.list)
        need.list.open(need, turns, counted or need.counted)

    def counted_by_data(self, turns):
        """Whether values of arrays decide how many turns a loop has, the same in each turn around
        it: a trace cannot be for one number of them."""
        return not (isinstance(turns, int) or self.trace.of_turn(turns)) and (
            self.trace.decided_by_data(turns)
        )

    def comprehended(self, iterable, items, body, plain):
        """`[item for each in iterable]`: a loop that appends to the list `items` where data decide
        how many there are, else what plain(iterable) makes."""
        rows = rows_of(iterable) if isinstance(items, Growing) else None
        if rows is None or not self.counted_by_data(self.turns_of(rows.ends)):
            return plain(iterable)
        self.for_(rows, body)
        return items

    def list_(self, items):
        """A list that a loop appends to."""
        return Growing(self.trace, turns, items) if self.trace.lists_grow else items

    def while_(self, test, body):
        """`while test(): body()`."""
        truth = self.trace.truth(test(), False)
        if truth is False:
            return
        limit = constant(ENDLESS, "int64")
        if truth is not True:
            limit = ops.where(truth, limit, constant(0, "int64"))
        try:
            self.scan(body, lambda turn: (), limit, test)
            return
        except NotOne as problem:
            few = isinstance(problem.__cause__, Unmasked)
        turns = 0
        while test():
            body()
            turns += 1
            if few and turns > MOST_HALVINGS:
                raise InNumPy(UNMASKED)

    # ---- branches ------------------------------------------------------------------------------

    def if_(self, test, then, otherwise=None):
        """`if test: then() else: otherwise()`."""
        truth = self.trace.truth(test)
        if truth is True:
            then()
        elif truth is False:
            if otherwise is not None:
                otherwise()
        else:
            self.sides(truth, then, otherwise)

    def either(self, test, then, otherwise):
        """then() if test else otherwise()."""
        truth = self.trace.truth(test)
        if isinstance(truth, bool):
            return then() if truth else otherwise()
        born = self.trace.births
        return self.merged(truth, *self.sides(truth, then, otherwise), "a value", born)

    def return_(self, test, then, otherwise):
        """`return then() if test else otherwise()`, where a loop says whether it has returned."""

        def chosen(truth, born):
            return self.merged(truth, *self.sides(truth, then, otherwise), "a value", born)

        return self.of_flag(test, then, otherwise, chosen, self.either)

    def after(self, test, then, otherwise=None):
        """`if test: then() else: otherwise()`, where a loop says whether it ran to its end."""

        def chosen(truth, born):
            self.sides(truth, then, otherwise)

        self.of_flag(test, then, otherwise, chosen, self.if_)

    def of_flag(self, test, then, otherwise, chosen, asked):
        """Both sides of a test of what a loop left in a flag, of which no second trace should be
        made; a branch of the trace, where they do not go together."""
        trace = self.trace
        truth = trace.truth(test, False)
        if isinstance(truth, bool) or trace.of_turn(truth):
            return asked(test, then, otherwise)
        before = Before(trace, cells_of(then, otherwise))
        try:
            return chosen(truth, before.born)
        except (Pinned, InNumPy):
            raise
        except Exception as problem:  # of a side that may not be the one
            if of_signal(problem):
                raise
            before.undo()
            return asked(test, then, otherwise)

    def one_of(self, test, a, b):
        """a if test else b, of values that are there."""
        return self.return_(test, lambda: a, lambda: b)

    def sides(self, truth, then, otherwise):
        """Both sides of a test that each turn decides for itself: their results."""
        trace, cells = self.trace, cells_of(then, otherwise)
        for level in trace.inside:
            if isinstance(level, TurnLeaves):
                level.chosen += 1
        old, born = {n: contents(c) for n, c in cells.items()}, trace.births
        results, left, changes = [], [], []
        for predicate, side in ((truth, then), (ops.logical_not(truth), otherwise)):
            trace.predicates.append(predicate)
            objects = Objects([] if side is None else [side])
            try:
                results.append(None if side is None else side())
            finally:
                trace.predicates.pop()
                changes.append({id(x): (x, was, now) for x, was, now in objects.release()})
            left.append({n: contents(c) for n, c in cells.items()})
            for n, c in cells.items():
                set_contents(c, old[n])
        for n, c in cells.items():
            a, b = left[0][n], left[1][n]
            if n[: len(RESULT)] == RESULT and (a is UNSET or b is UNSET):
                set_contents(c, b if a is UNSET else a)  # which is read where it is set
            elif a is UNSET or b is UNSET:
                set_contents(c, UNSET)
            elif a is b:
                set_contents(c, a)
            else:
                c.cell_contents = self.merged(truth, a, b, f"the name {n}", born)
        held = []
        for x, was, _ in {**changes[0], **changes[1]}.values():
            a, b = (side[id(x)][2] if id(x) in side else was for side in changes)
            keys = parts_alike(a, b) if isinstance(x, (list, dict)) else None
            if keys is None:
                raise Untraceable(CHANGED)
            for k in keys:
                a[k] = self.merged(truth, a[k], b[k], "what an object holds", born)
            held.append((x, a))
        for x, a in held:
            put_into(x, a)
        return results

    def merged(self, truth, a, b, what, born):
        """What is `a` where the test holds and `b` where it does not."""
        if a is b:
            return a
        left, right = [], []
        if flatten(a, is_value, left) != flatten(b, is_value, right):
            raise Untraceable(f"{what} that is of another kind on either side of an if")
        values = [self.merged_leaf(truth, x, y, what, born) for x, y in zip(left, right)]
        return put_together(flatten(a, is_value, []), iter(values))

    def merged_leaf(self, truth, x, y, what, born):
        kinds = kind_of(x), kind_of(y)
        kind = kinds[0] if kinds[0] == kinds[1] else joint_kind(x, y)
        if kind is None:
            raise Untraceable(f"{what} that is of another dtype or shape on either side of an if")
        pairs = zip(nodes_of(x, kind), nodes_of(y, kind))
        nodes = [ops.where(truth, a, b) for a, b in pairs]
        if kind.how == "number":
            bounds = [self.range(v) for v in (x, y)]
            bounds = None if None in bounds else (min(b[0] for b in bounds),
                                                  max(b[1] for b in bounds))  # fmt: skip
            return known(self.trace, *nodes, kind.type, bounds)
        if kind.how == "scalar":
            return wrapped(self.trace, nodes, kind)
        roots = {id(r): r for v in (x, y) for r in roots_of(v)}
        old = [r for r in roots.values() if r.born <= born]
        return shared(self.trace, *nodes, old or (x.root(),))

    @staticmethod
    def range(x):
        if isinstance(x, PythonNumber):
            return x.bounds
        return (x, x) if type(x) is int else None

    def all_(self, first, second):
        """first and second(), as the value that it is."""
        return self.either(first, second, lambda: first)

    def any_(self, first, second):
        """first or second(), as the value that it is."""
        return self.either(first, lambda: first, second)

    def and_(self, first, second):
        """first and second(), as a truth value."""
        truth = self.trace.truth(first)
        if isinstance(truth, bool):
            return second() if truth else first
        return self.joined(ops.logical_and, truth, truth, second)

    def or_(self, first, second):
        truth = self.trace.truth(first)
        if isinstance(truth, bool):
            return first if truth else second()
        return self.joined(ops.logical_or, truth, ops.logical_not(truth), second)

    def joined(self, function, truth, predicate, second):
        self.trace.predicates.append(predicate)
        objects = Objects([second])
        try:
            other = self.trace.truth(second())
        finally:
            self.trace.predicates.pop()
            changes = objects.release()
        if changes:
            raise Untraceable(CHANGED)
        other = constant(other, "bool") if isinstance(other, bool) else other
        return known(self.trace, function(truth, other), bool)

    def not_(self, x):
        truth = self.trace.truth(x, False)
        if isinstance(truth, bool):
            return not truth
        return known(self.trace, ops.logical_not(truth), bool)
