"""Branches: the traces of one key of a jitted function, and what each is as a compiled function.

Truth values that the arguments decide choose among them; each path through these is traced when a
call first takes it, and a path that cannot be traced is NumPy's while the others stay compiled.
A path that is refused for open sizes is traced for each of some sizes. Which key a call has, and
what is done where there is no trace, is in function.py.
"""

import inspect
import types
from typing import NamedTuple

import numpy as np

from .. import ops
from ..base import dtypes
from ..base.errors import NotSupported, of_signal
from ..base.native import runtime
from ..graph.node import constant
from ..graph.walk import rebuild, toposort
from ..numpy.value import ArrayValue
from ..ops import reference
from ..ops.ragged import unmasked
from ..runtime.data_dependent import Origins
from ..runtime.function import make_function
from ..runtime.staged import StagedFunction, cheap_template
from . import namespace
from .growing import Growing, settled
from .maybe import MaybeNumber
from .number import PythonNumber, is_any
from .opaque import Opaque, stand_in, why_opaque
from .overlaps import folded, share_memory
from .program import TracedNames
from .tails import APPEND, Tail
from .trace import LARGE, SMALL, Asked, Counts, Pinned, TooDeep, Trace, placeholder
from .trees import (
    LEAF,
    Same,
    Static,
    at,
    containers,
    flatten,
    keyed,
    leaves_in,
    parts_of,
    put_together,
)
from .turns import UNMASKED, roots_of

FAILURES = 3  # paths, or sizes of one path, that may be NumPy's before one was traced
IN_VAIN = 8  # calls that ask on the way to NumPy before they go there at once
MOST_RESULTS = 64  # of calls that C dispatches
HOWS = ("leaf", "view", "static", "constant", "number", "maybe", "scalar", "array", "part")
SIZES = 64  # sizes that get traces of their own, where these are part of traces


def is_narrow(x):
    """Whether a number is no int of Python's, or one of which sums of two have 64 bits."""
    return type(x) is not int or -(2**62) < x < 2**62


def is_traced(x):
    return isinstance(x, (ArrayValue, PythonNumber, np.ndarray, np.generic, Growing, Opaque))


class TraceFailed(NotSupported):
    """An exception while tracing, of the program itself."""

    def __init__(self, problem):
        text = str(problem).splitlines()[0] if str(problem) else ""
        super().__init__(f"{type(problem).__name__}: {text}")
        self.cause, self.line = problem, line_of(problem)


class NotTraced(Exception):
    """A call whose path is NumPy's. cause: why."""

    def __init__(self, cause):
        super().__init__(str(cause))
        self.cause = cause


class HalfWritten(Exception):
    """A signal ended a call that had begun to change its arguments. cause: the exception."""

    def __init__(self, cause):
        super().__init__(str(cause))
        self.cause = cause


class Branches:
    """Traces for one key: one, or several that truth values of data choose from.

    leaves: {truth values so far: Traced, a RefusedPath, or the exception that says why};
    asks: {truth values so far: (function of the next one, its leaves)}; sized: for the sizes of
    `leaves` only; deep: why turns that append to a list, one by one, asked for too much; parts:
    {number of a leaf: the Subarray of another that it is}, where it is known that no others share
    memory, else None."""

    def __init__(self, jitted, described, leaves, sized=False, parts=None):
        self.jitted, self.described, self.sized = jitted, described, sized
        self.parts = parts
        self.leaves, self.asks, self.in_vain, self.deep = {}, {}, 0, None
        self.opaque = {i: why for i, x in enumerate(leaves) if (why := why_opaque(x)) is not None}
        self.inputs = [placeholder("bool", ()) if i in self.opaque
                       else input_of(x, sized or None in jitted.pinned)
                       for i, x in enumerate(leaves)]  # fmt: skip

    def branch(self, leaves):
        """The Traced for the arguments at hand, or why there is none; made where it is new."""
        answers = ()
        while answers not in self.leaves:
            ask = self.asks.get(answers)
            if ask is None:
                with self.jitted.lock:
                    if answers not in self.leaves and answers not in self.asks:
                        deep = self.deep
                        self.trace(answers, leaves)
                        if self.deep is not deep:  # all begins anew
                            answers = ()
                continue
            answers += (bool(value_of(ask, leaves)),)
        found = self.leaves[answers]
        if answers and not isinstance(found, Traced) and not self.served():
            self.in_vain += 1
            if self.in_vain >= IN_VAIN:
                self.leaves[()] = found
        return found

    def trace(self, answers, leaves):
        """Trace the path of these arguments; what came out is kept. Pinned, where the whole has to
        be traced again for the value of a number."""
        trace = Trace(answers, lambda node: self.decided(node, leaves))
        trace.types_matter = self.jitted.in_original()
        trace.lists_grow = trace.types_matter or self.deep is not None
        try:
            plan = Traced(self, trace, *run_over(self, trace, leaves))
            self.ask(trace)
        except Counts:
            raise
        except Pinned as problem:
            if self.jitted.pin(problem.place):
                raise
            plan = NotSupported("a number is used in Python")
        except (Asked, NotSupported) as problem:
            plan = problem
        except Exception as problem:  # of the user's program, or of a graph: NumPy's to say
            if of_signal(problem):
                raise
            plan = TraceFailed(problem)
        if isinstance(plan, TooDeep) and not trace.lists_grow:
            self.deep = plan
            self.leaves.clear()
            self.asks.clear()
            self.trace((), leaves)
            return
        if isinstance(plan, Exception) and self.deep is not None:
            plan = self.deep
        if isinstance(plan, Exception) and None in (d for n in self.inputs for d in n.shape) and (
            trace.reasons if type(plan) in (Asked, TooDeep) else not of_user(plan)
        ):  # fmt: skip
            plan = RefusedPath(plan)
        asked = tuple([answer for _, answer in trace.asked])
        if not isinstance(plan, Traced):
            try:
                self.ask(trace)
            except Exception as problem:  # a truth value that cannot be computed either
                if of_signal(problem):
                    raise
                asked = ()
        trace.decide = None  # it has the arguments, which nobody keeps
        why = plan.why if type(plan) is RefusedPath else plan
        if isinstance(why, Exception) and (
            self.jitted.may_leave() or not isinstance(why, TraceFailed)
        ):
            forget_frames(why)
        self.leaves[asked] = plan
        if isinstance(plan, Exception):
            failed = len(self.leaves) - self.served()
            if isinstance(plan, TooDeep) or failed >= FAILURES and not self.served():
                self.leaves[()] = plan

    def decided(self, node, leaves):
        """The value of a node for the arguments at hand; what is made of few numbers is not
        compiled for that."""
        order = toposort([node])
        if any(n.ndim for n in order):
            return value_of(compile_nodes(self, [node]), leaves)
        needed = {n for n in order if n.op.name == "placeholder"}
        given = {n: np.asarray(x, n.dtype) for x, n in zip(leaves, self.inputs) if n in needed}
        return reference.evaluate([node], given)[0]

    def ask(self, trace):
        """Compile the truth values that a trace was decided by."""
        asked = ()
        for node, answer in trace.asked:
            if asked not in self.asks:
                self.asks[asked] = compile_nodes(self, [node])
            asked += (answer,)

    def served(self):
        """How many traces of its paths are compiled."""
        return sum(isinstance(t, Traced) or isinstance(t, RefusedPath) and t.served()
                   for t in self.leaves.values())  # fmt: skip

    def paths(self):
        """(tree, truth values, Traced or why there is none) of all paths, those of some sizes
        included."""
        for answers, path in list(self.leaves.items()):
            yield self, answers, path
            if isinstance(path, RefusedPath):
                for tree in list(path.found.values()):
                    yield from tree.paths()

    def of_sizes(self, leaves):
        """It, or what is in its place for these sizes."""
        path = self.leaves.get(())
        if type(path) is RefusedPath:
            return path.found.get(sizes_of(leaves), self)
        return self

    def refuse(self, leaves, why):
        """Trace the path of these leaves for each of some sizes, since at theirs its trace failed
        with `why` where NumPy does not."""
        with self.jitted.lock:
            answers = ()
            while answers not in self.leaves:
                answers += (bool(value_of(self.asks[answers], leaves)),)
            if type(self.leaves[answers]) is Traced and not self.sized:
                forget_frames(why)
                self.leaves[answers] = RefusedPath(why)
                self.jitted.forget()

    def node(self, answers=()):
        """What the runtime's Dispatch takes: the paths as a tree; None where it is Python's."""
        path, ask = self.leaves.get(answers), self.asks.get(answers)
        if type(path) is RefusedPath:
            path = path.why if path.is_given_up() else None
            ask = None
        if isinstance(path, Exception):
            return self.jitted.left(path)
        if path is not None:
            return path.end()
        if ask is None or not gives_arrays(ask[0]):
            return None
        ways = [self.node((*answers, way)) for way in (False, True)]
        return (entry_of(ask[0]), tuple(ask[1]), *ways) if ways != [None, None] else None

    def run(self, leaves):
        """(whether the trace holds, the result) of a call. NotTraced for one that is NumPy's."""
        plan = self.leaves.get(()) or self.branch(leaves)
        if type(plan) is RefusedPath:
            plan = plan.branch(self, leaves)
        if isinstance(plan, Exception):
            raise NotTraced(plan)
        return plan(leaves)


class RefusedPath:
    """A path that was refused for open sizes, of which some sizes have traces. why: the exception;
    found: {sizes: Branches}."""

    def __init__(self, why):
        self.why, self.found = why, {}

    def served(self):
        return sum(b.served() for b in self.found.values())

    def is_given_up(self):
        """Whether NumPy has all sizes."""
        return len(self.found) >= FAILURES and not self.served()

    def branch(self, tree, leaves):
        """The Traced for the sizes at hand, or why there is none."""
        sizes = sizes_of(leaves)
        found = self.found.get(sizes)
        if found is None:
            with tree.jitted.lock:
                if len(self.found) >= SIZES:
                    return NotSupported(f"more than {SIZES} sizes, each with a trace: {self.why}")
                if self.is_given_up():
                    return self.why
                found = self.found.setdefault(
                    sizes, Branches(tree.jitted, tree.described, leaves, True)
                )
        return found.branch(leaves)


def gives_arrays(function):
    """Whether a compiled function gives a list of arrays for arrays: pieces with NumPy between them
    do as well."""
    return type(function) is runtime.Function or isinstance(function, StagedFunction)


def entry_of(function):
    """What the runtime calls for a compiled function: of pieces the first."""
    whole = isinstance(function, StagedFunction) and not function.stores
    return function.start if whole else function


def value_of(ask, leaves):
    """What a (function, its leaves) of compile_nodes gives for a call."""
    compiled, used = ask
    return compiled(*[leaves[i] for i in used])[0]


def forget_frames(problem):
    """Take the tracebacks from an exception that is kept: their frames have the arguments."""
    todo, seen = [problem], set()
    while todo:
        each = todo.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        each.__traceback__ = None
        todo += [each.__cause__, each.__context__, getattr(each, "cause", None)]


def sizes_of(leaves):
    return tuple([x.shape for x in leaves if isinstance(x, np.ndarray)])


def of_user(problem):
    """Whether it is an error that the program itself raises, for values rather than for sizes."""
    place = getattr(problem, "cause", problem).__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    name = place.tb_frame.f_globals.get("__name__", "") if place is not None else "ckernels"
    return not namespace.library(name)


def line_of(problem):
    """(file, line) of the program's own code where an exception came from, or None."""
    found, place = None, problem.__traceback__
    while place is not None:
        if not namespace.library(place.tb_frame.f_globals.get("__name__", "")):
            found = place.tb_frame.f_code.co_filename, place.tb_lineno
        place = place.tb_next
    return found


def compile_nodes(tree, nodes, homes=None, asked=None):
    """(compiled function, numbers of the leaves that it takes). homes: {number of a node: the leaf
    whose last value it is}; asked: see make_function."""
    order, homes = toposort(nodes), homes or {}
    needed = {n.uid for n in order if n.op.name == "placeholder"}
    needed |= {tree.inputs[i].uid for i in homes.values()}
    used = [i for i, n in enumerate(tree.inputs) if n.uid in needed]
    places = {k: used.index(i) for k, i in homes.items()}
    compiled = make_function([tree.inputs[i] for i in used], nodes, single=False,
                             name=tree.jitted.__name__, downcast=False, positional_only=True,
                             check=tree.jitted.check, terse=tree.jitted.may_leave(),
                             homes=places, asked=asked)  # fmt: skip
    return compiled, used


def input_of(x, sized):
    """The placeholder of a leaf."""
    if isinstance(x, np.ndarray):
        sizes = [None if not sized and SMALL < d <= LARGE else d for d in x.shape]
        return placeholder(x.dtype, sizes)
    if isinstance(x, np.generic):
        return placeholder(x.dtype, ())
    return placeholder({int: "int64", float: "float64", complex: "complex128"}[type(x)], ())


def traced_leaf(jitted, trace, place, x, node):
    """A leaf as the traced function gets it."""
    if isinstance(x, np.ndarray):
        return ArrayValue(trace, node, False, x.flags.c_contiguous)
    if isinstance(x, np.generic):
        return ArrayValue(trace, node, True, True)
    if place in jitted.pinned or type(x) is complex:
        return x
    if not is_narrow(x):
        raise NotSupported("a Python int beyond 64 bits")

    def pin():
        raise Pinned(place)

    if place not in jitted.counters:
        trace.pins[node.uid] = pin
    return PythonNumber(trace, node, type(x), pin, place in jitted.counters and type(x) is int)


def run_over(tree, trace, leaves):
    """Run the function over Values: these, and what it returned."""
    jitted, program = tree.jitted, tree.jitted.program
    trace.inputs = {n.uid for n in tree.inputs}
    trace.sizes_open = any(None in n.shape for n in tree.inputs)
    values = [stand_in(tree.opaque[i], x) if i in tree.opaque
              else traced_leaf(jitted, trace, i, x, n)
              for i, (x, n) in enumerate(zip(leaves, tree.inputs))]  # fmt: skip
    for i, part in (tree.parts or {}).items():
        values[i] = part.of(values[part.place])
    build = TracedNames(trace, program)
    build.on_read = jitted.reads_list
    args, kwargs, free = put_together(tree.described, iter(values), build)
    build.name(free)
    before = dict(containers((args, kwargs, free), tree.described))
    given = args, kwargs
    if jitted.static:
        bound = inspect.BoundArguments(jitted.signature, {
            **args, **{k: v.value for k, v in kwargs.items()}})  # fmt: skip
        given = bound.args, bound.kwargs
    try:
        found = jitted.body(build)(*given[0], **given[1])
    finally:
        build.unchanged()
    if trace.unless:
        shown = []
        flatten(settled(found), is_traced, shown)
        shown = [x for x in shown if isinstance(x, ArrayValue) and trace.types_matter]
        trace.guard_same(roots_of, shown, values)
    whole = trace.types_matter and not jitted.static
    found, again = as_given(found, before) if whole else (found, False)
    found = settled(found)
    left = changes(jitted, (args, kwargs, free), tree.described, values, before)
    if left or again:
        new = [settled(value) for _, value in left]
        mine, theirs = ({id(x) for _, x in containers(t, flatten(t, is_traced, []))}
                        for t in (found, new))  # fmt: skip
        if not whole or mine & theirs:
            raise NotSupported("it changes a list, a dict or an object that it was given")
        jitted.changes_objects |= bool(left)
        found = Left(found, again, tuple([path for path, _ in left]), new)
    look_at_kept(build.kept, found)
    return values, found


def look_at_kept(kept, found):
    """NotSupported where an array that a function keeps was stored into, or is part of what a call
    gives."""
    if kept:
        outs = []
        flatten(found, is_traced, outs)
        given = {id(r) for x in outs if isinstance(x, ArrayValue) for r in roots_of(x)}
        if any(x.read() is not node or given.intersection(map(id, roots_of(x)))
               for x, node in kept):  # fmt: skip
            raise NotSupported("an array that functools.lru_cache keeps is changed or returned")


def as_given(found, held):
    """(a result with its place in what the function was given instead of each list, dict or object
    that is there, whether there is one); held: {path: list, dict or object}."""
    paths, leaves = {id(x): path for path, x in held.items() if len(path) > 1}, []
    described = flatten(found, lambda x: is_traced(x) or id(x) in paths, leaves)
    if not any(id(x) in paths for x in leaves):
        return found, False
    marked = [Same(paths[id(x)]) if id(x) in paths else x for x in leaves]
    return put_together(described, iter(marked)), True


def holds(trace):
    """Whether a trace is right for a call, as a node of one bool; None: always."""
    whole = None
    for guard in (*trace.guards, *trace.granted.values()):
        guard = ops.cast(guard, "bool")
        whole = guard if whole is None else ops.logical_and(whole, guard)
    return whole


def and_checks(whole, values):
    """What has to be true for a trace, with the conditions of all checks in what it computes."""
    values = [x.whole() if isinstance(x, Growing) else x for x in values]
    roots = [x.read() if isinstance(x, ArrayValue) else x.node for x in values
             if isinstance(x, (ArrayValue, PythonNumber))]  # fmt: skip
    for node in toposort(roots):
        for condition in node.inputs[1:] if node.op.name == "check" else ():
            condition = ops.all(condition) if condition.ndim else condition
            whole = condition if whole is None else ops.logical_and(whole, condition)
    return whole


def unchecked(node):
    return node.inputs[0] if node.op.name == "check" else node


def plain_function(tree, leaves):
    """A compiled function of all leaves, with the arrays and numbers that the jitted one returns as
    its outputs: NaN where Python would raise, as for a number divided by 0. NotSupported where it
    is none: it stores into its arguments, or values decide which way it takes."""

    def decide(node):
        raise NotSupported("values decide which way it takes; choose with np.where")

    if tree.opaque:
        raise next(iter(tree.opaque.values()))
    trace = Trace((), decide)
    trace.types_matter = False
    values, found = run_over(tree, trace, leaves)
    outs = []
    flatten(found, is_traced, outs)
    if any(isinstance(v, ArrayValue) and v.read() is not n for v, n in zip(values, tree.inputs)):
        raise NotSupported("it stores into its arguments")
    if any(isinstance(x, (MaybeNumber, Growing)) for x in outs):
        raise NotSupported("values decide whether it returns a Python number or one of NumPy")
    nodes = [x.read() if isinstance(x, ArrayValue) else x.node if isinstance(x, PythonNumber)
             else constant(x) for x in outs]  # fmt: skip
    whole = holds(trace)
    if whole is not None:
        if not all(dtypes.is_inexact(n.dtype) for n in nodes):
            raise NotSupported("Python may raise, for which integers have no value")
        nodes = [ops.where(whole, n, constant(np.full((), np.nan, n.dtype))) for n in nodes]
    return make_function(tree.inputs, nodes, name=tree.jitted.__name__, downcast=False,
                         positional_only=True)  # fmt: skip


def changes(jitted, given, described, values, held):
    """[(path, what is there now)] where the function put something else into lists, dicts and
    objects that it was given: held, {path: list, dict or object}, are these. NotSupported where
    one has lost something."""
    refused = NotSupported("it changes a list, a dict or an object that it was given")
    leaves, found = iter(enumerate(values)), []

    def look(tree, description, path):
        if description == LEAF:
            place, was = next(leaves)
            if tree is not was:
                found.append((path, tree))
                if type(was) is int and not (type(tree) is int and tree == was):
                    jitted.count(place)
            return
        kind, now = description[0], []
        if kind == "static" and description[1] is Tail:
            if type(tree) is not Tail:
                jitted.reads_list(path)  # another list is in its place
            found.extend(((*path, APPEND), x) for x in tree.appended())
            return
        if kind == "static" and description[1] is types.MethodType:
            if getattr(getattr(tree, "__func__", None), "given_as", None) is not description[2]:
                found.append((path, tree))
            return
        if kind == "static" or Static in description:
            if flatten(tree, is_any, now) != description or any(
                x is not next(leaves)[1] for x in now
            ):  # fmt: skip
                if kind != "static":
                    raise refused
                found.append((path, tree))
            return
        if path in held and held[path] is not tree:
            found.append((path, tree))
            for _ in range(leaves_in(description)):
                next(leaves)
            return
        if issubclass(kind, tuple):  # what has another part is another tuple
            before = len(found)
            same = getattr(type(tree), "traced_from", type(tree)) is kind
            if same and len(tree) == len(description[1]):
                for key, part, inner in parts_of(tree, description):
                    look(part, inner, (*path, key))
                if all(len(inner) > len(path) + 1 for inner, _ in found[before:]):
                    return
            else:
                for _ in range(leaves_in(description)):
                    next(leaves)
            found[before:] = [(path, tree)]
            return
        new = gained(tree, description)
        if new is None:
            raise refused
        if kind is list and new:
            jitted.appends(path)
        for key, part, inner in parts_of(tree, description):
            look(part, inner, (*path, key))
        found.extend(((*path, APPEND if kind is list else k), keyed(tree)[k]) for k in new)

    look(given, described, ())
    seen = {id(x) for x in held.values()}
    for _, value in found:
        inner = [id(x) for _, x in containers(value, flatten(value, is_traced, []))]
        if seen.intersection(inner) or len(set(inner)) < len(inner):
            raise refused
        seen.update(inner)
    return found


def gained(tree, description):
    """The keys that a list, a dict or an object has behind those of its description; None where it
    lost some, or has them in another order."""
    kind, old = description[:2]
    if kind is object:
        now, old = list(vars(tree)), description[2]
        return None if set(old) - set(now) else [key for key in now if key not in old]
    now, old = list(tree) if kind is dict else list(range(len(tree))), len(old)
    before = [key for _, key in description[1]] if kind is dict else list(range(old))
    return now[old:] if now[:old] == before else None


class Left(NamedTuple):
    """What a call returns, and what it leaves in lists, dicts and objects that it was given. again:
    whether it returns some of these."""

    result: object
    again: bool
    places: tuple
    values: list

    def put(self, given):
        """Put it there; given: (args, kwargs, values of free names)."""
        holders = {}
        for path, value in zip(self.places, self.values):
            holder = holders.get(path[:-1])
            if holder is None:
                holder = holders[path[:-1]] = keyed(at(given, path[:-1]))
            if type(holder) is list and path[-1] == APPEND:
                holder.append(value)
            else:
                holder[path[-1]] = value
        if not self.again:
            return self.result
        leaves = []
        described = flatten(self.result, lambda x: isinstance(x, (np.ndarray, np.generic, Same)),
                            leaves)  # fmt: skip
        found = [at(given, x.path) if type(x) is Same else x for x in leaves]
        return put_together(described, iter(found))


class Traced:
    """One trace, compiled: which leaves go in, what the results are made of, what is written
    back into arguments."""

    def __init__(self, tree, trace, values, found):
        self.nodes, self.places = [], {}
        outs = []
        self.described = flatten(found, is_traced, outs)
        leave = tree.jitted.may_leave()  # where NumPy says what is wrong, no check has to
        whole = and_checks(holds(trace), [*outs, *values]) if leave else holds(trace)
        self.guarded = whole is not None
        if self.guarded:
            self.nodes.append(whole)
        self.arguments = {id(v) for v in values}
        self.given_back = [x for x in outs if isinstance(x, ArrayValue) and not x.scalar]
        own = {i: v for i, v in enumerate(values)
               if isinstance(v, ArrayValue) and i not in (tree.parts or ())}  # fmt: skip
        self.changes = any(v.read() is not tree.inputs[i] for i, v in own.items())
        self.makers = [self.maker(x, values) for x in outs]
        self.mutated = [(i, self.place(v.read())) for i, v in own.items()
                        if v.read() is not tree.inputs[i]]  # fmt: skip
        self.arrays = [i for i, v in own.items() if not v.scalar]
        if self.mutated and any(numbers for x in outs if isinstance(x, ArrayValue)
                                for _, numbers in self.lenses(x)):  # fmt: skip
            raise NotSupported("a result that is a view at a place that data decides")
        self.nodes = rebuild(self.nodes, step=unchecked) if leave else self.nodes
        if leave and unmasked(self.nodes) is not None:
            raise NotSupported(UNMASKED)
        if self.nodes:
            asked = 0 if self.guarded else None
            self.compiled, self.used = compile_nodes(tree, self.nodes, self.homes(), asked)
        else:
            self.compiled, self.used = None, ()
        kinds = [how for how, *_ in self.makers]
        alone = self.described == LEAF and not self.guarded and not self.mutated
        self.single = alone and kinds in (["array"], ["scalar"])
        self.scalar = self.single and kinds == ["scalar"]

    def homes(self):
        """{output: the leaf whose last value it is} of those that are no other result."""
        found = {place: i for i, place in self.mutated[::-1]}
        for how, place, more in self.makers:
            more = more if how == "view" else more[1] if how == "part" else ()
            shown = {k for _, places in more for k in places}
            shown |= {place} if how not in ("leaf", "view", "static", "constant") else set()
            found = {k: i for k, i in found.items() if k not in shown}
        return found

    def end(self):
        """The end of a path as the runtime's Dispatch takes it; None where it is Python's."""
        if (
            len(self.makers) > MOST_RESULTS
            or any(how == "other" for how, *_ in self.makers)
            or (self.compiled is not None and not gives_arrays(self.compiled))
        ):
            return None
        owners, taken, parts = {}, set(), []
        for number, (how, place, more) in enumerate(self.makers):
            owner, copied = 0, False
            if how in ("array", "part"):
                whose = more if how == "array" else more[0]
                copied = whose not in owners and place in taken
                owner = owners.setdefault(whose, number)
                taken.add(place)
            lenses = more if how == "view" else more[1] if how == "part" else None
            if lenses is not None:
                more = tuple([(real, tuple(places)) for real, places in lenses])
            if how in ("static", "constant"):
                place, more = 0, place
            parts.append((HOWS.index(how), place, owner, copied, more))
        mutated = tuple([number for pair in self.mutated for number in pair])
        return (entry_of(self.compiled), tuple(self.used), self.guarded, mutated,
                tuple(self.arrays), tuple(parts), self.described,
                self.described[0] is Left)  # fmt: skip

    def refused(self):
        """What the compiler said of kernels in whose place NumPy runs, or None."""
        program = getattr(getattr(self.compiled, "info", None), "program", None)
        problem = getattr(program, "partly", None)
        return problem and str(problem).split("\n")[0]

    def place(self, node):
        """The number of an output; equal nodes are computed once."""
        found = self.places.get(node.uid)
        if found is None:
            found = self.places[node.uid] = len(self.nodes)
            self.nodes.append(node)
        return found

    def lenses(self, x):
        """How NumPy makes a view from the array at the end of its chain of bases: of each lens what
        makes it, and the numbers of the outputs that this takes."""
        found, home = [], self.home(x)
        while x is not home:
            if x.lens.real is None:
                raise NotSupported("a result that is a view at a place that data decides")
            if x.lens.put is None and x.seen != x.current():
                raise NotSupported("a reshape that may be a view or a copy is read after a store")
            found.append((x.lens.real, [self.place(n) for n in x.lens.nodes]))
            x = x.base
        return found[::-1]

    def home(self, x):
        """The array that `x` is a view of: at the end of its chain of bases, or before it one which
        nobody else sees, if it is one or the other of several arrays or a part of an order. What is
        made of a scalar is an array of its own."""
        while (
            x.base is not None
            and not x.base.scalar
            and not ((x.lens.real is None or is_of_order(x)) and self.alone(x))
        ):
            x = x.base
        return x

    def alone(self, x):
        """Whether no argument, and no other result, may share memory with an array."""
        roots = {id(r) for r in roots_of(x)}
        return roots.isdisjoint(self.arguments) and all(
            id(x) in bases_of(y) or roots.isdisjoint(id(r) for r in roots_of(y))
            for y in self.given_back
        )

    def may_be(self, x, values):
        """The numbers of the arguments of which a result is one or another, or else a new array;
        none where it may be a view of one, or what was stored into, or a part of another result."""
        if x.base is None or x.lens.real is not None:
            return ()
        roots = {id(r): r for r in roots_of(x)}
        alike = any(id(r) in roots for y in self.given_back if y is not x
                    and not any(y is v for v in values) for r in roots_of(y))  # fmt: skip
        if alike or self.changes or any(r.viewed for r in roots.values()):
            return ()
        return tuple(i for i, v in enumerate(values) if id(v) in roots)

    def maker(self, x, values):
        """(how, number of the output or leaf, more) by which one result is made."""
        if isinstance(x, Growing):
            array, make, nodes = x.taken_apart()
            return "part", self.place(array.read()), (id(x), [(make, list(map(self.place, nodes)))])
        if not isinstance(x, (ArrayValue, PythonNumber, Opaque)):
            if isinstance(x, np.ndarray):
                return "constant", x.copy(), None
            return "static", x, None
        for i, v in enumerate(values):
            if x is v:
                return "leaf", i, None
        if isinstance(x, PythonNumber):
            return "number", self.place(x.node), x.kind
        if isinstance(x, MaybeNumber):
            return "maybe", self.place(x.read()), (self.place(x.flag), x.type)
        if x.scalar:
            return "scalar", self.place(x.read()), None
        given = self.may_be(x, values)
        if given:
            return "other", self.place(x.read()), (id(x), given)
        root = self.home(x)
        for i, v in enumerate(values):
            if root is v:
                return "view", i, self.lenses(x)
        if x is not root:
            return "part", self.place(root.read()), (id(root), self.lenses(x))
        node = x.read()
        if node.op.name == "dynamic_slice" and cheap_template(node) and any(
            map(Origins().from_data, node.inputs[1:])
        ):  # fmt: skip
            lens = part_of(node.attrs["template"]), list(map(self.place, node.inputs[1:]))
            return "part", self.place(node.inputs[0]), (id(x), [lens])
        return "array", self.place(node), id(x)

    def __call__(self, leaves):
        """(whether the trace holds, the result, or why it does not where memory is it: an
        argument is "shared", or a new array and an argument are "alike")."""
        if self.single:
            found = self.compiled(*[leaves[i] for i in self.used])[0]
            return True, found[()] if self.scalar else found
        if self.mutated and not self.writable(leaves):
            return False, "shared"
        found = self.computed(leaves) if self.nodes else ()
        if self.guarded and not found[0]:
            return False, None
        if any(how == "other" and any(_alike(found[place], leaves[i]) for i in more[1])
               for how, place, more in self.makers):  # fmt: skip
            return False, "alike"
        for i, place in self.mutated:
            if found[place] is not leaves[i]:
                np.copyto(leaves[i], found[place])
        made, taken = {}, set()
        results = [self.made(m, found, leaves, made, taken) for m in self.makers]
        return True, put_together(self.described, iter(results))

    def computed(self, leaves):
        try:
            return self.compiled(*[leaves[i] for i in self.used])
        except BaseException as problem:
            written = getattr(self.compiled, "written", False)
            if written:
                self.compiled.written = False
            if written and isinstance(problem, Exception):
                raise HalfWritten(problem) from problem
            raise

    def writable(self, leaves):
        """Whether what is written back reaches one argument each, and may be written."""
        for i, _ in self.mutated:
            if not leaves[i].flags.writeable:
                return False
            for j in self.arrays:
                if i != j and share_memory(leaves[i], leaves[j]):
                    return False
        return not any(folded(leaves[i]) for i, _ in self.mutated)

    def made(self, maker, found, leaves, made, taken):
        how, what, more = maker
        if how == "leaf":
            return leaves[what]
        if how == "view":
            return _through(leaves[what], more, found)
        if how in ("static", "constant"):
            return what.copy() if how == "constant" else what
        if how == "number":
            return more(found[what])
        if how == "maybe":
            value = found[what][()]
            return more[1](value) if found[more[0]] else value
        if how == "scalar":
            return found[what][()]
        owner = more if how == "array" else more[0]
        if owner not in made:
            array = found[what]
            made[owner] = array.copy() if what in taken else array
            taken.add(what)
        return made[owner] if how != "part" else _through(made[owner], more[1], found)


def part_of(template):
    """The function of an array, and of the numbers that a template of slices leaves open, which
    gives such a part as an array of its own."""

    def part(array, *numbers):
        key = [slice(*[numbers[b[1]] if type(b) is tuple else b for b in bounds])
               for bounds in template]  # fmt: skip
        return array[tuple(key)].copy()

    return part


def is_of_order(x):
    """Whether an array is a view of what is sorted, or of its places: few are found without."""
    while x.base is not None:
        x = x.base
    return x.read().op.name in ("sort", "argsort", "numpy_argsort")


def bases_of(x):
    """The ids of an array and of those that it is a view of, one of another."""
    found = {id(x)}
    while x.base is not None:
        x = x.base
        found.add(id(x))
    return found


def _alike(a, b):
    """Whether two arrays may be one: nothing in them tells one from the other."""
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def _through(array, views, found):
    for real, numbers in views:
        array = real(array, *[found[i] for i in numbers])
    return array
