"""Turns: the body of a Python loop, traced once for all turns, as one scan.

What is carried from turn to turn is found by tracing: arrays that were stored into, names that have
another value. The body is traced again until their shapes and dtypes are what they began as. What a
trace did is undone by `Before`, so that a loop which is no scan can be taken turn by turn instead.
"""

import dis
import functools
import types
from collections import deque
from typing import NamedTuple

import numpy as np

from .. import ops
from ..base.dtypes import is_complex
from ..base.errors import NotSupported
from ..graph.node import Node, constant, item
from ..graph.shapes import axis_of
from ..graph.walk import rebuild, toposort
from ..numpy.value import ArrayValue, Lens
from ..ops import reference
from ..ops.indexing.advanced import is_window
from ..ops.ragged import masked, terms, unmasked
from ..ops.scan import Carry, ScanSignature, scan_node
from ..ops.spectra import LENGTHS
from . import namespace
from .halves import Halves
from .jumps import RESULT
from .maybe import MaybeNumber, flag_of
from .number import DECIDED, PythonNumber, known
from .tails import Tail
from .trace import Asked, InNumPy, TurnLeaves, Untraceable, VaryingLeaves, placeholder
from .trees import LEAF, flatten, put_together

MOST_OBJECTS = 10_000  # that are looked through for changes
ATTEMPTS = 6
FEW_STORES = 4  # turns that may be taken one by one though they store at places that move
SHORT = 8  # turns that make scalars alone may be taken one by one: a kernel takes more of them
MOST_HALVINGS = 64  # turns, one by one, that store in slices of which no mask stands for the length
UNMASKED = "a store in a slice whose length each turn of a loop decides has no form in C"
UNSET = object()


class Unmasked(Untraceable):
    """A loop of stores that no mask stands for: few turns are taken one by one."""


def is_short_transform(node):
    """Whether a Fourier transform runs in C, as far as sizes are known."""
    return node.op.name == "fft" and node.attrs["axes"] == (-1,) and (
        node.shape[-1] is None or node.shape[-1] in LENGTHS
    )  # fmt: skip


def contents(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return UNSET


def set_contents(cell, value):
    if value is not UNSET:
        cell.cell_contents = value
    elif contents(cell) is not UNSET:
        del cell.cell_contents


def cells_of(*functions):
    """{name: cell} of the names that functions inside of a function share with it, and of those
    that other functions store to which they can call by a name (`nonlocal`)."""
    found, seen = {}, set()
    for f in functions:
        if f is not None:
            found.update(zip(f.__code__.co_freevars, f.__closure__ or ()))
    todo = [contents(cell) for cell in found.values()]
    while todo:
        f = todo.pop()
        if isinstance(f, types.FunctionType) and f not in seen:
            seen.add(f)
            held = dict(zip(f.__code__.co_freevars, f.__closure__ or ()))
            todo += [contents(cell) for cell in held.values()]
            for name in stored_outside(f.__code__):
                if not any(cell is held[name] for cell in found.values()):
                    found[name if name not in found else f"{name} of {f.__name__}"] = held[name]
    return found


@functools.lru_cache(maxsize=1024)
def stored_outside(code):
    """The free names of a function that it, or a function inside of it, stores to."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_DEREF"}
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            names.update(stored_outside(each))
    return tuple([name for name in code.co_freevars if name in names])


# ---- what can be undone --------------------------------------------------------------------------


class Objects:
    """Lists, dicts and objects that functions can reach, and what they hold."""

    def __init__(self, roots):
        self.held, self.arrays, seen, todo = [], [], set(), list(roots)
        while todo:
            x = todo.pop()
            if id(x) in seen or isinstance(x, (ArrayValue, PythonNumber, types.ModuleType)):
                continue
            seen.add(id(x))
            if len(seen) > MOST_OBJECTS:
                raise Untraceable("a loop that can reach very many objects")
            todo += self.look(x)

    def look(self, x):
        """What an object holds."""
        if isinstance(x, np.ndarray):
            if x.flags.writeable:
                self.arrays.append(x)
                x.flags.writeable = False
            return ()
        if isinstance(x, types.FunctionType):
            if namespace.library(x.__module__):
                return ()
            inner = [contents(c) for c in x.__closure__ or ()]
            return inner + [x.__globals__[n] for n in names_in(x.__code__) if n in x.__globals__]
        if isinstance(x, type):
            if namespace.library(x.__module__):
                return ()
            self.held.append((x, dict(vars(x))))
            return [*vars(x).values(), *x.__bases__]
        if isinstance(x, (staticmethod, classmethod)):
            return (x.__func__,)
        if isinstance(x, property):
            return x.fget, x.fset
        if isinstance(x, tuple):
            return x
        if isinstance(x, functools.partial):
            return x.func, *x.args, *x.keywords.values()
        if isinstance(x, (types.MethodType, types.BuiltinMethodType)):
            return x.__self__, getattr(x, "__func__", None)
        if type(x) is Tail:
            self.held.append((x, x.appended()))
            return x.appended()
        if isinstance(x, (list, set, deque)):
            self.held.append((x, list(x)))
            return list(x)
        if isinstance(x, dict):
            self.held.append((x, dict(x)))
            return list(x.values())
        if hasattr(x, "__next__"):
            raise Untraceable("a loop that can reach an iterator")
        if any(vars(c).get("__slots__") and not namespace.library(c.__module__)
               for c in type(x).__mro__[:-1]):  # fmt: skip
            raise Untraceable("a loop that can reach an object with slots")
        state = getattr(x, "__dict__", None)
        if isinstance(state, dict) and not isinstance(x, namespace.REACHABLE):
            self.held.append((state, dict(state)))
            return [type(x), *state.values()]
        return ()

    def release(self):
        """Arrays may be written again, and all objects are as they were: [(object, what it held, a
        copy of what it held until now)] of those that were not."""
        for x in self.arrays:
            x.flags.writeable = True
        found = []
        for x, old in self.held:
            now = items_of(x) if isinstance(old, list) else dict(
                vars(x) if isinstance(x, type) else x)  # fmt: skip
            if len(now) != len(old) or not (
                all(a is b for a, b in zip(now, old)) if isinstance(old, list)
                else all(k in now and now[k] is v for k, v in old.items())
            ):  # fmt: skip
                found.append((x, old, now))
                put_into(x, old)
        return found


def items_of(x):
    return x.appended() if type(x) is Tail else list(x)


def put_into(x, items):
    """Let a list, a set, a dict or a class hold this."""
    if isinstance(x, type):
        for name in {*vars(x), *items}:
            if name not in items:
                delattr(x, name)
            elif vars(x).get(name, UNSET) is not items[name]:
                setattr(x, name, items[name])
        return
    if type(x) is Tail:
        x.hold(items)
        return
    x.clear()
    x.update(items) if isinstance(x, (dict, set)) else x.extend(items)


def names_in(code):
    """The names that code and the functions in it use, attributes among them, but those that
    syntax.py puts in."""
    found, todo = set(), [code]
    while todo:
        each = todo.pop()
        found.update(each.co_names)
        todo += [c for c in each.co_consts if isinstance(c, types.CodeType)]
    return [n for n in found if n[:4] != "_ck_"]


def parts_alike(*several):
    """The keys under which lists or dicts hold different things; None where they are not of the
    same keys, or sets."""
    first = several[0]
    if type(first) is list:
        keys = range(len(first)) if len({len(x) for x in several}) == 1 else None
    else:
        keys = list(first) if all(list(x) == list(first) for x in several) else None
    if keys is None:
        return None
    return [k for k in keys if any(x[k] is not first[k] for x in several[1:])]


class Kept:
    """What a list, a dict or an object has at a key, as a cell."""

    def __init__(self, held, key):
        self.held, self.key = held, key

    @property
    def cell_contents(self):
        return self.held[self.key]

    @cell_contents.setter
    def cell_contents(self, value):
        self.held[self.key] = value


class Before:
    """What names, arrays and the trace held before something was traced. What was asked stays: the
    answers of a path are given again in the order of all questions."""

    def __init__(self, trace, cells):
        self.trace, self.cells = trace, cells
        self.names = {n: contents(c) for n, c in cells.items()}
        self.mark, self.born = len(trace.journal), trace.births
        self.lists = len(trace.guards), len(trace.predicates)
        self.levels = [(v, len(v.guards)) for v in trace.inside if isinstance(v, VaryingLeaves)]
        self.count = trace.count

    def written(self):
        """The arrays from before that were stored into since, in order."""
        found = {}
        for value, _ in self.trace.journal[self.mark :]:
            if value.born <= self.born:
                found[id(value)] = value
        return list(found.values())

    def undo_arrays(self):
        while len(self.trace.journal) > self.mark:
            value, node = self.trace.journal.pop()
            value.put_back(node)

    def undo(self):
        trace = self.trace
        self.undo_arrays()
        for name, value in self.names.items():
            set_contents(self.cells[name], value)
        del trace.guards[self.lists[0] :], trace.predicates[self.lists[1] :]
        for level, count in self.levels:
            del level.guards[count:]
        trace.count = self.count


def reads_slices(node):
    """Whether a node is made of slices of other lengths in each turn."""
    return any(n.op.name == "dynamic_slice" for n in toposort([node]))


def is_stored_into(array, many):
    """Whether a turn left an array with stores in slices that move, or, of many turns, at any
    place: one after the other each would be a copy, or a part of a copy, of the whole. Ten rows of
    32 times ten: 139 us, as a scan 11; 40 rows of 100 twice themselves: 12 us and 2.4, the gradient
    of 24 such 18 and 2.7. Of slices whose lengths are others in each turn a scan is NumPy's where
    they are no parts of one sum: these are copies rather."""
    node = array.read()
    while node.op.name in ("set_slice", "advanced_set"):
        if many and node.op.name == "advanced_set" and not reads_slices(node.inputs[1]):
            return True
        if any(map(is_window, node.attrs.get("template", ()))):
            return True
        node = node.inputs[0]
    return False


# ---- values that are carried ---------------------------------------------------------------------


class Kind(NamedTuple):
    """What a leaf is: "array", "scalar" or "number"; its dtype, shape and Python type. A scalar
    with a type is a MaybeNumber."""

    how: str
    dtype: str
    shape: tuple = ()
    type: object = None

    def width(self):
        """How many nodes it is."""
        return 1 + (self.how == "scalar" and self.type is not None)


NUMBERS = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


def is_value(x):
    return isinstance(x, (ArrayValue, PythonNumber, np.generic)) or type(x) in NUMBERS


def kind_of(x):
    if isinstance(x, ArrayValue):
        node = x.read()
        return Kind("scalar" if x.scalar else "array", node.dtype, node.shape,
                    x.type if isinstance(x, MaybeNumber) else None)  # fmt: skip
    if isinstance(x, np.generic):
        return Kind("scalar", np.dtype(x.dtype).name)
    kind = x.kind if isinstance(x, PythonNumber) else type(x)
    return Kind("number", NUMBERS[kind], (), kind)


def node_of(x):
    if isinstance(x, ArrayValue):
        return x.read()
    if isinstance(x, PythonNumber):
        return x.node
    kind = kind_of(x)
    return constant(np.asarray(x, kind.dtype), kind.dtype)


def nodes_of(x, kind):
    """The nodes of a value as one of this kind."""
    node = ops.cast(node_of(x), kind.dtype)
    return [node] if kind.width() == 1 else [node, flag_of(x)]


def joint_kind(x, y):
    """The kind of what is `x` or `y`: of a Python number and a scalar; None where there is none."""
    kinds = kind_of(x), kind_of(y)
    types = {k.type for k in kinds if k.type is not None}
    dtypes = {k.dtype for k in kinds if k.how == "scalar"}
    if "array" in (kinds[0].how, kinds[1].how) or len(types) != 1 or len(dtypes) != 1:
        return None
    kind = Kind("scalar", *dtypes, (), *types)
    return kind if held_by(x, kind) and held_by(y, kind) else None


def held_by(x, kind):
    """Whether a value from before the first turn can be of this kind instead, with no other
    meaning: a Python number that the dtype holds exactly."""
    mine = kind_of(x)
    if mine == kind or kind.width() == 2 and mine == kind._replace(type=None):
        return True
    if mine.how != "number" or kind.how == "array" or bool in (mine.type, kind.type):
        return mine.how == "number" and mine.type is kind.type and kind.dtype == mine.dtype
    if isinstance(x, PythonNumber):
        return kind.dtype == mine.dtype and kind.dtype in ("float64", "int64")
    if mine.type is complex:
        return kind.dtype == "complex128" or kind.dtype == "complex64" and x in (0, 1)
    return np.dtype(kind.dtype).kind in "iuf" and np.asarray(x).astype(kind.dtype).item() == x


def wrapped(trace, nodes, kind, root=None):
    """A value of this kind. root: the array that it may share memory with."""
    if kind.how == "number":
        return known(trace, *nodes, kind.type)
    if kind.width() == 2:
        return MaybeNumber(trace, *nodes, kind.type)
    if kind.how == "scalar":
        return ArrayValue(trace, *nodes, True, True)
    if root is None:
        return ArrayValue(trace, *nodes, False, nodes[0].ndim < 2)
    return shared(trace, *nodes, [root])


def shared(trace, node, roots):
    """An array that holds `node` as long as none of `roots` is stored into, nor is it itself."""
    root = roots[0] if len(roots) == 1 else OneOf(tuple(roots))
    value = ArrayValue(trace, None, False, False, root, Lens(lambda n: node, None, None))
    value.node_ = node
    return value


def depends_on(node, found):
    """Whether a node is made of one of these placeholders."""
    return any(n in found for n in toposort([node]))


class OneOf(NamedTuple):
    """The base of an array that is one or the other of several, as data decide."""

    arrays: tuple
    base = None

    def note_view(self):
        for array in self.arrays:
            array.note_view()

    def current(self):
        return self.version

    @property
    def version(self):
        return sum(a.version for a in self.arrays)

    @property
    def born(self):
        return max(a.born for a in self.arrays)


def roots_of(x):
    """The arrays that a value may share memory with, itself included."""
    root = x.root()
    return root.arrays if isinstance(root, OneOf) else (root,)


def is_frozen(described):
    """Whether a described value has no list, dict or object in it: what can change in itself."""
    if described == LEAF or described[0] == "static":
        return True
    return isinstance(described[0], type) and issubclass(described[0], tuple) and all(
        map(is_frozen, described[1])
    )  # fmt: skip


def same_kinds(some, others):
    """Whether pairs of a kind and a root are equal."""
    return len(some) == len(others) and all(
        k == l and r is t for (k, r), (l, t) in zip(some, others)
    )


class Name(NamedTuple):
    """A name that is carried, by its leaves."""

    cell: object
    described: object
    kinds: list
    first: list  # leaves before the first turn; None where the name has no value then
    inputs: list  # placeholders, as a list for each leaf


class TooFewTurns(Exception):
    """A loop that makes few arrays in all its turns."""


class Turns:
    """The trace of one loop. body(item) and test() are functions; item(turn) makes what the body
    gets of the number of the turn; count: how many turns, an int or a node; ends: test() is true
    as long as the loop goes on, as that of a `while`; else it is true once the loop ends."""

    def __init__(self, trace, body, item, count, test=None, ends=True):
        self.trace, self.body, self.item, self.test = trace, body, item, test
        self.ends = ends
        self.count, self.cells = count, cells_of(body, test)
        self.names, self.arrays = {}, {}
        self.differs = False  # whether a name is of another kind before the first turn
        self.changing = {}  # {name in cells: Kept} of what turns change in lists and objects
        for array in trace.carried_before.get(body.__code__, ()):
            if array.born <= trace.births and array.base is None:
                self.arrays[id(array)] = array

    def take(self, most):
        """Make the scan, and let names and arrays hold what it leaves. TooFewTurns, if a turn makes
        at most so many arrays."""
        for _ in range(ATTEMPTS):
            if self.attempt(most):
                return
        raise Untraceable("values whose shapes or dtypes are others in each turn")

    def attempt(self, most):
        """Trace the body once; whether what it left is what it began with."""
        trace, before = self.trace, Before(self.trace, self.cells)
        turn = placeholder("int64", ())
        level = self.level = TurnLeaves({turn})
        objects = Objects([*map(contents, self.cells.values()), self.body])
        self.begin(level)
        before.born = level.born = trace.births
        level.under = 0 if trace.is_batch() else len(trace.predicates)
        level.turn, level.count = turn, self.most_turns()
        trace.inside.append(level)
        condition, scans, arrays = None, trace.scans, trace.arrays
        try:
            self.body(*self.item(turn))
            if self.test is not None:
                condition = self.goes_on()
            if any(x.current() != version for _, x, version in level.appended):
                raise Untraceable("an array that is stored into once a list has it")
            after = {n: contents(c) for n, c in self.cells.items()}
            complete = self.carries_all(before, after)
            if complete and level.loose:
                raise Untraceable("a list of Python's numbers and NumPy's")
            if complete:
                few = trace.count - before.count <= most and trace.scans == scans
                few = few and (trace.arrays > arrays or self.count <= SHORT)
                many = few and trace.arrays > arrays and self.count > FEW_STORES
                few = few and not any(is_stored_into(a, many) for a in self.arrays.values())
                loops = [r for r in trace.inside if isinstance(r, TurnLeaves)]
                if few and not (level.chosen and loops == [level]):
                    raise TooFewTurns
                self.end(before, after, condition, turn)
        finally:
            trace.inside.pop()
            changes = objects.release()
            guards = trace.guards[before.lists[0] :]
            before.undo()
        if self.changes_more(changes):
            return False
        if complete:
            trace.guards += guards  # what no turn decides
            self.leave()
        return complete

    def changes_more(self, changes):
        """Whether a turn changes what lists, dicts and objects hold at keys that are no names of
        the loop yet; they are from now on."""
        known = {(id(p.held), p.key) for p in self.changing.values()}
        more = []
        for x, old, now in changes:
            keys = parts_alike(old, now) if isinstance(x, (list, dict)) else None
            if keys is None:
                raise Untraceable("a list or an object that changes")
            more += [Kept(x, k) for k in keys if (id(x), k) not in known]
        if (more or known) and any(
            not is_frozen(n.described) for n in self.names.values()
        ):  # its lists and objects are others in each turn
            raise Untraceable("a list or an object that changes, beside one that is a name")
        for part in more:
            name = f"what a list or an object has at {part.key!r}, number {len(self.changing)}"
            self.cells[name] = self.changing[name] = part
        return bool(more)

    def most_turns(self):
        """How many turns there are where there is one, a node; None for a `while`."""
        if self.test is not None and self.ends:
            return None
        if isinstance(self.count, int):
            return constant(self.count, "int64")
        one, other = self.count.inputs if self.count.op.name == "maximum" else (self.count, None)
        return one if other is None or other.value == 0 else self.count

    def goes_on(self):
        """Whether there is a turn after this one: a bool or a node."""
        truth = self.trace.truth(self.test(), False)
        if self.ends:
            return truth
        return ops.logical_not(truth) if isinstance(truth, Node) else not truth

    # ---- before a turn -------------------------------------------------------------------------

    def begin(self, level):
        """Put placeholders where carried values are."""
        trace, self.places = self.trace, {}
        self.own = []
        self.firsts = {name: [nodes_of(x, k) for x, (k, _) in zip(n.first, n.kinds)]
                       for name, n in self.names.items() if n.first is not None}  # fmt: skip
        for array in self.arrays.values():
            node = array.read()
            new = placeholder(node.dtype, node.shape)
            self.places[id(array)] = node, new
            level.add(new)
            array.set_node(new)
        for carried in self.names.values():
            if carried.first is None:
                set_contents(carried.cell, UNSET)
                continue
            level.update(p for each in carried.inputs for p in each)
            values = []
            for each, (kind, root) in zip(carried.inputs, carried.kinds):
                values.append(wrapped(trace, each, kind, root))
                self.own.append(values[-1])
            carried.cell.cell_contents = put_together(carried.described, iter(values))

    # ---- after a turn --------------------------------------------------------------------------

    def carries_all(self, before, after):
        """Whether all that changed is carried, as what it is; else it is carried from now on."""
        complete = True
        mine = {id(v) for v in self.own}
        for array in before.written():
            if id(array) in mine:
                raise Untraceable("an array that gets its name in a turn and is stored into")
            if id(array) not in self.arrays:
                self.arrays[id(array)], complete = array, False
        for name, cell in self.cells.items():
            value, carried = after[name], self.names.get(name)
            if carried is None and value is before.names[name]:
                continue
            if value is UNSET:
                raise Untraceable(f"the name {name}, which a turn may leave without a value")
            found = self.carried(name, cell, value, before)
            if carried is None or found.described != carried.described or not same_kinds(
                found.kinds, carried.kinds
            ) or (found.first is None) != (carried.first is None):  # fmt: skip
                self.names[name], complete = found, False
        return complete

    def carried(self, name, cell, value, before):
        """The Name that a name is after a turn."""
        leaves = []
        described = flatten(value, is_value, leaves)
        kinds = [(kind_of(x), self.root_of(x, before, leaves)) for x in leaves]
        first, old = None, []
        if before.names[name] is not UNSET:
            try:
                same = flatten(before.names[name], is_value, old) == described
            except NotSupported:
                same = False
            if same and all(held_by(x, k) for x, (k, _) in zip(old, kinds)):
                first = old
            else:
                self.differs = True
        if name in self.changing and (first is None or not is_frozen(described)):
            raise Untraceable("a list or an object that changes, and what it holds too")
        inputs = [[placeholder(d, k.shape) for d in (k.dtype, "bool")[: k.width()]]
                  for k, _ in kinds]  # fmt: skip
        return Name(cell, described, kinds, first, inputs)

    def root_of(self, x, before, leaves):
        """The array from before the turn that a value shares memory with, or None."""
        if not isinstance(x, ArrayValue) or x.scalar:
            return None
        root = x.root()
        if any(x is v for v in self.own):
            return x.base
        old = [r for r in roots_of(x) if r.born <= before.born]
        if len(old) > 1:
            raise Untraceable("a name that is one or the other of two arrays")
        if old:
            if root is x:
                raise Untraceable("another name of an array that is stored into")
            return old[0]
        if x.base is not None and any(
            y is not x and isinstance(y, ArrayValue) and y.root() is root for y in leaves
        ):
            raise Untraceable("two names of parts of one array")
        return None

    def end(self, before, after, condition, turn):
        """Note what the scan carries: (node before, placeholder, node after a turn)."""
        self.carries, self.arrays_left, self.names_left = [], [], []
        self.condition, self.turn = condition, turn
        self.same = {}  # placeholders of what no turn changes: what it is
        for array in self.arrays.values():
            node, new = self.places[id(array)]
            now = array.read()
            if now is new:
                self.same[new] = node
            else:
                self.arrays_left.append((array, len(self.carries)))
                self.carries.append((node, new, now))
        for name, carried in self.names.items():
            leaves, left = [], []
            flatten(after[name], is_value, leaves)
            for k, (x, (kind, root)) in enumerate(zip(leaves, carried.kinds)):
                news = nodes_of(x, kind)
                first = [*map(self.zeros, news)] if carried.first is None else self.firsts[name][k]
                if kind.how == "array" and root is None:  # which a list may have too
                    root = next((g.buffer for g, y, _ in self.level.appended
                                 if y.root() is x.root()), None)  # fmt: skip
                left.append((len(self.carries), kind, root, x))
                self.carries += zip(first, carried.inputs[k], news)
            self.names_left.append((name, carried, left))
        self.guard = None
        self.end_at_lost_reads()
        if self.level.guards:
            self.guard, kept = len(self.carries), placeholder("bool", ())
            self.level.add(kept)
            holds = kept
            for each in self.level.guards:
                holds = ops.logical_and(holds, each)
            self.carries.append((constant(True, "bool"), kept, holds))
        if self.same:
            self.outputs(lambda outs: rebuild(outs, self.same))
        if self.trace.types_matter:  # there is NumPy to take them
            self.refuse_calls([now for _, _, now in self.carries])
        own = list(self.trace.of_turns())
        self.outputs(lambda outs: masked(outs, own, self.trace.slices))
        nows = [now for _, _, now in self.carries]
        counted = isinstance(self.count, int) and self.test is None
        few = not counted or self.count <= MOST_HALVINGS
        if few and self.trace.types_matter and unmasked(nows, True) is not None:
            raise Unmasked(UNMASKED)

    def refuse_calls(self, nows):
        """InNumPy if a turn has work that would be a call of NumPy's."""
        order = toposort(nows)
        if any(is_complex(n.dtype) for n in order):
            from ..rewrite.pairs import left_to_numpy  # start-up

            if left_to_numpy(nows, is_short_transform):
                raise InNumPy("complex numbers in a turn, where each would be a call of NumPy")
        if any(is_short_transform(n) and n.shape[-1] is None for n in order):
            self.trace.pin_sizes()  # which decide whether it is one
        if any(n.op.name in DECIDED and self.trace.of_turn(n) for n in order):
            raise InNumPy("shapes that data decide in each turn, which would be calls of NumPy")

    def end_at_lost_reads(self):
        """Let the trace be for calls in which what a turn reads, and nothing takes, exists: NumPy
        raises where it does not, and a `while` ends there."""
        roots = [*(now for _, _, now in self.carries), *self.level.guards]
        known = not isinstance(self.condition, Node)
        taken = {n.uid for n in toposort(roots if known else [*roots, self.condition])}
        for node, x, key in self.level.reads:
            exists = None if node.uid in taken else self.trace.exists(x, key)
            if exists is None:
                continue
            self.trace.guard(exists)
            if not known:
                self.condition = ops.logical_and(self.condition, exists)

    def outputs(self, change):
        """Change all nodes that a turn leaves: change(nodes) -> nodes."""
        outs = [now for _, _, now in self.carries]
        known = not isinstance(self.condition, Node)
        outs = change(outs if known else [*outs, self.condition])
        self.condition = self.condition if known else outs.pop()
        self.carries = [(*c[:2], now) for c, now in zip(self.carries, outs)]

    def zeros(self, node):
        """What a name without a value begins with; no turn reads it."""
        if None in node.shape:
            self.trace.pin_sizes()  # for its zeros
        return ops.broadcast_to(constant(0, node.dtype), list(node.shape))

    # ---- the scan --------------------------------------------------------------------------------

    def leave(self):
        """Make the scan; arrays and names hold its last values."""
        trace, finals, same = self.trace, self.finals(), {}
        for array, k in self.arrays_left:
            array.set_node(finals[k])
        for name, carried, left in self.names_left:
            if carried.first is None and not self.sure(name):
                set_contents(carried.cell, UNSET)
                continue
            if carried.first is not None and self.trace.types_matter and any(
                kind_of(y).how == "number" and k.width() == 1 and kind_of(y) != k
                for y, (k, _) in zip(carried.first, carried.kinds)
            ):  # fmt: skip
                self.sure(name)  # without a turn it stays a Python number
            values = []
            for (k, kind, root, x), first in zip(left, carried.first or [None] * len(left)):
                key = id(x) if kind.how == "array" else k
                if key not in same:
                    same[key] = wrapped(trace, finals[k : k + kind.width()], kind, root), first
                value, other = same[key]
                if other is not first and not self.sure(name):  # two arrays, without a turn
                    value = shared(trace, finals[k], [value])
                values.append(value)
            if not isinstance(self.count, int):
                some = ops.gt(self.count, constant(0, "int64"))
                for first, value in zip(carried.first or (), values):
                    trace.note_same(value, first, some)
            carried.cell.cell_contents = put_together(carried.described, iter(values))
        if self.guard is not None:
            trace.guard(finals[self.guard])
        trace.count += len(self.carries)
        trace.scans += 1
        trace.carried_before[self.body.__code__] = list(self.arrays.values())

    def began_as_number(self, nodes):
        """Whether one of these nodes of a turn may be Python's number in an early one: it is made
        of a name that is a scalar after a turn and was such a number before the first."""
        found = {p for n in self.names.values() if n.first is not None
                 for y, (k, _), (p, *_) in zip(n.first, n.kinds, n.inputs)
                 if kind_of(y).how == "number" and k.how == "scalar"}  # fmt: skip
        mine = {k for _, _, left in self.names_left for k, kind, *_ in left if kind.how == "scalar"}
        carried = [(p, now) for k, (_, p, now) in enumerate(self.carries) if k in mine]
        while found:  # what it was before the first turn a turn may hand to another name
            more = {p for p, now in carried if p not in found and depends_on(now, found)}
            if not more:
                break
            found |= more
        return bool(found) and any(depends_on(n, found) for n in nodes)

    def sure(self, name):
        """Whether a name that a turn sets first has a value after the loop: there is a turn, or the
        trace is for calls in which there is one."""
        if isinstance(self.count, int) or name[: len(RESULT)] == RESULT:
            return True
        if any(isinstance(r, VaryingLeaves) for r in self.trace.inside):
            return False
        self.trace.guard(ops.gt(self.count, constant(0, "int64")))
        return True

    def rows(self, own, all):
        """What the body reads at the number of its turn of arrays that no turn changes, as rows
        that the scan goes along: products of these leave it. The body then reads the rows. But the
        number alone where not `all` turns are taken, perhaps."""
        found, order = {}, toposort([now for _, _, now in self.carries])
        moving = set()
        for node in order:
            if node.uid in own or any(i.uid in moving for i in node.inputs):
                moving.add(node.uid)
        for node in order if all else ():
            if node.op.name == "take" and not node.inputs[1].ndim and node.uid in moving and (
                node.inputs[0].uid not in moving
            ):  # fmt: skip
                rows = self.rows_of(node)
                if rows is not None:
                    found[node] = rows, placeholder(node.dtype, node.shape)
        self.outputs(lambda outs: rebuild(outs, {n: p for n, (_, p) in found.items()}))
        numbers = ops.arange(0, self.count, 1, "int64")
        return [(0, [numbers], self.turn), *[(0, [rows], row) for rows, row in found.values()]]

    def rows_of(self, node):
        """The rows x[start + step * turn] of all turns, or None."""
        x, at = node.inputs
        axis = axis_of(node.attrs["axis"], x.ndim)
        parts = terms(at, 1, {})
        start, step = parts.pop(None, 0), parts.pop(self.turn, 0)
        last, size = start + step * (self.count - 1), x.shape[axis]
        if any(parts.values()) or not step or size is None or not 0 <= min(start, last) or (
            max(start, last) >= size
        ):  # fmt: skip
            return None
        stop = last + (1 if step > 0 else -1)
        whole = (slice(None),) * axis
        part = ops.getitem(x, (*whole, slice(start, None if stop < 0 else stop, step)))
        return ops.transpose(part, [axis, *[a for a in range(x.ndim) if a != axis]])

    def check_ends(self, own):
        """Untraceable where no turn changes what a `while` asks, or a loop ends at once."""
        known = isinstance(self.condition, bool)
        if self.condition is False or self.ends and (known or not any(
            n.uid in own for n in toposort([self.condition])
        )):  # fmt: skip
            raise Untraceable("a condition that no turn changes")

    def turns_here(self):
        """(how many turns there are, of how many of them the first, or None: all of them). There is
        none on the side of a test that is not taken; but all rows of a batch have the same."""
        counted, taken = isinstance(self.count, int), self.trace.predicate()
        count = constant(self.count, "int64") if counted else self.count
        if taken is None or counted and self.trace.is_batch():
            return count, None
        some = ops.where(taken, count, constant(0, "int64"))
        return (count, some) if counted else (some, None)

    def finals(self):
        """The last value of each carry."""
        halves = Halves(self.carries)
        self.outputs(halves.put)
        self.carries = halves.split(self.carries)
        turn, one = self.turn, constant(1, "int64")
        carries = [Carry(ops.expand(first, (0,)), (-1,), [new], now)
                   for first, new, now in self.carries]  # fmt: skip
        start = ops.expand(constant(0, "int64"), (0,))
        count, some = self.turns_here()
        counted = isinstance(self.count, int)
        if not counted or self.test is not None:
            carries.append(Carry(start, (-1,), [turn], ops.add(turn, one)))
        own, until = {turn.uid, *(p.uid for c in carries for p in c.inputs)}, None
        if self.test is not None:
            self.check_ends(own)
            if self.condition is not True:
                until = ops.logical_not(self.condition)
        rows = self.rows(own, some is None) if counted and until is None else ()
        own.update(row.uid for _, _, row in rows)
        news = [now for _, _, now in self.carries]
        carries = [c._replace(new=n) for c, n in zip(carries, news)] + carries[len(news) :]
        node = scan_node(count, rows, carries, (), until, some)
        signature = ScanSignature.of(node)
        found = [item(node, signature.final(k)) for k in range(len(self.carries))]
        for k, (_, _, now) in enumerate(self.carries):
            reads = {n.uid for n in toposort([now])} & own
            if counted and until is None and reads <= {turn.uid} and not now.ndim:
                last = constant(self.count - 1, "int64")
                found[k] = rebuild([now], {turn: last})[0]
                if not any(n.op.name in ("placeholder", "variable") for n in toposort([found[k]])):
                    value = reference.evaluate([found[k]], {})[0]
                    found[k] = constant(value, found[k].dtype)
        return halves.join(found)


__all__ = ["Asked", "Before", "Turns", "cells_of", "contents", "set_contents"]
