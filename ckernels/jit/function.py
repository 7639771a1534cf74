"""Jitted: what `ck.jit(f)` returns. A call finds the trace of its dtypes, ranks, static arguments
and small sizes, or makes it; where there is none, the call is NumPy's.

A trace that fails changes nothing, so the function itself can always be called in its place: it
gives the result, or the error, that NumPy gives.
"""

import functools
import inspect
import threading
import types
import warnings

import numpy as np

from .. import ops
from ..base import locks
from ..base.errors import ArgumentError, CKernelsError, CKernelsWarning, NotSupported
from ..base.native import runtime
from ..graph.node import Node
from ..graph.walk import toposort
from ..numpy.value import ArrayValue
from ..runtime.function import make_function
from .number import PythonNumber
from .program import Reads, TracedNames
from .syntax import transformed
from .trace import SMALL, Asked, Pinned, Trace, placeholder
from .trees import flatten, put_together

VARIANTS = 24  # values of pinned numbers that get traces of their own; beyond, calls are NumPy's
LEAVES = (np.ndarray, np.generic, int, float, complex)


def is_leaf(x):
    """Whether an argument is data: an array or a number."""
    return isinstance(x, LEAVES) and type(x) is not bool


def is_traced(x):
    return isinstance(x, (ArrayValue, PythonNumber, np.ndarray, np.generic))


class PlainDispatch:
    """What the runtime's Dispatch is, where there is no runtime: every call goes to `called`."""

    def __call__(self, *args, **kwargs):
        return self.called(*args, **kwargs)

    def remember(self, *trace):
        """Nothing: a trace is found in Python."""


Dispatch = PlainDispatch if runtime is None else runtime.Dispatch
MOST_LEAVES = 16  # of calls that C dispatches


class Jitted(Dispatch):
    """A NumPy function that is compiled for what it is called with. See `ckernels.jit.jit`."""

    def __init__(self, function, static=(), background=False, strict=False, check=None):
        self.function, self.strict, self.check = function, strict, check
        self.static, self.background = _names(static), background
        self.plans, self.pinned, self.failed, self.noted = {}, set(), {}, set()
        self.program, self.lock, self.counts = None, locks.rlock(), {}
        self.signature, self.threads = None, {}
        functools.update_wrapper(self, function)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self):
        return self.__qualname__

    def __repr__(self):
        return f"<ckernels.jit of {getattr(self.function, '__qualname__', self.function)}>"

    # ---- a call --------------------------------------------------------------------------------

    def called(self, *args, **kwargs):
        """A call that is not one of the trace before, of which C knows."""
        try:
            found = self.find(args, kwargs)
        except NotSupported as problem:
            trace = self.around(args, kwargs)
            if trace is not None:
                return self.inside(trace, args, kwargs)
            return self.numpy(problem, args, kwargs)
        plan, leaves = found
        if plan is None:
            return self.function(*args, **kwargs)
        if isinstance(plan, Exception):
            return self.numpy(plan, args, kwargs)
        try:
            done, value = plan.run(leaves)
        except (CKernelsError, FloatingPointError, ValueError, IndexError, TypeError) as problem:
            if self.strict:
                raise
            self.counted(f"a call failed: {type(problem).__name__}")
            return self.original(args, kwargs, problem)
        if done and plan.simple is not None and not kwargs and not self.static:
            self.dispatched(plan.simple, len(args), leaves)
        return value if done else self.original(args, kwargs, None)

    def dispatched(self, traced, count, leaves):
        """Let C serve calls like this one, where each argument and each name is one leaf."""
        program = self.program
        names = [*program.fixed, *program.free]
        if len(leaves) != count + len(program.free) or len(leaves) > MOST_LEAVES or any(
            not isinstance(name[0], (dict, types.CellType)) for name in names
        ):  # fmt: skip
            return
        kinds = [self.leaf_key(i, x) for i, x in enumerate(leaves)]
        if any(isinstance(x, np.generic) or isinstance(k, tuple) and type(x) is not np.ndarray
               for x, k in zip(leaves, kinds)):  # fmt: skip
            return
        self.remember(traced.compiled, tuple(kinds), tuple(traced.used), tuple(program.fixed),
                      tuple(program.free), SMALL, traced.scalar)  # fmt: skip

    def around(self, args, kwargs):
        """The trace in the middle of which this call is, by the values it is given; or None."""
        free = self.program.current() if self.program is not None else None
        for tree in (args, kwargs, *(free or ())):
            found = []
            try:
                flatten(tree, is_any, found)
            except NotSupported:
                pass
            for x in found:
                if isinstance(x, (ArrayValue, PythonNumber)):
                    return x.owner
        return None

    def inside(self, trace, args, kwargs):
        """The call as a part of a trace."""
        program = self.looked()
        build = TracedNames(trace, program)
        build.name(program.current())
        return self.body(build)(*args, **kwargs)

    def original(self, args, kwargs, problem):
        """The call in NumPy, which the trace does not serve: it failed with `problem`, or what it
        takes for granted of numbers or memory does not hold (None)."""
        return self.function(*args, **kwargs)

    def numpy(self, problem, args, kwargs):
        """The call in NumPy, since it cannot be traced; one note says so."""
        what, line = str(problem).split("\n")[0], getattr(problem, "line", None)
        where = f" ({line[0]}:{line[1]})" if line else ""
        text = f"{self.__name__} runs in NumPy: {what}{where}"
        if self.strict:
            raise NotSupported(text) from problem
        self.counted(what)
        result = self.original(args, kwargs, problem)  # an error of its own comes first
        if what not in self.noted:
            self.noted.add(what)
            warnings.warn(text, CKernelsWarning, stacklevel=3)
        return result

    def counted(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def find(self, args, kwargs):
        """(plan or the reason why there is none, leaves) of a call."""
        program = self.program
        free = program.current() if program is not None else None
        if free is None:
            program = self.look()
            free = program.current()
        leaves = []
        described = flatten(self.named((args, kwargs, free)), is_leaf, leaves)
        key = (described, *[self.leaf_key(i, x) for i, x in enumerate(leaves)])
        try:
            plan = self.plans.get(key)
        except TypeError:
            raise NotSupported("an argument that cannot be compared") from None
        if plan is None and self.background:
            self.start(key, described, leaves)
            return None, leaves
        if plan is None:
            with self.lock:
                plan, leaves = self.traced_plan(described, leaves)
        return plan, leaves

    def start(self, key, described, leaves):
        """Trace and compile in a thread of its own, once for each key."""
        with self.lock:
            if key in self.threads:
                return
            copies = [x.copy() if isinstance(x, np.ndarray) else x for x in leaves]

            def work():
                with self.lock:
                    self.traced_plan(described, copies)

            thread = self.threads[key] = threading.Thread(target=work, daemon=True)
        thread.start()

    def named(self, tree):
        """The arguments with those that are static made so."""
        if not self.static:
            return tree
        args, kwargs, free = tree
        if self.signature is None:
            self.signature = inspect.signature(self.function)
        bound = self.signature.bind(*args, **kwargs)
        fixed = {}
        for i, name in enumerate(self.signature.parameters):
            if (name in self.static or i in self.static) and name in bound.arguments:
                fixed[name] = Static(bound.arguments.pop(name))
        names = list(bound.arguments)
        return ({**bound.arguments}, fixed, free) if names or fixed else tree

    def look(self):
        """The Reads of the function as its names are now."""
        with self.lock:
            self.plans, self.failed = {}, {}
            try:
                self.program = self.looked()
            except NotSupported as problem:
                self.program = None
                raise problem
        return self.program

    def looked(self):
        return Reads(self.function)

    def leaf_key(self, place, x):
        """What of a leaf a trace is made for."""
        kind = type(x)
        if kind is np.ndarray:
            shape = x.shape
            if None not in self.pinned:
                shape = tuple([d if d <= SMALL else -1 for d in shape])
            return x.dtype, shape, x.flags.c_contiguous
        if isinstance(x, np.generic):
            return x.dtype, kind
        if kind not in (int, float, complex):
            raise NotSupported(f"an argument of type {kind.__name__}")
        return (kind, repr(x)) if place in self.pinned or kind is complex else kind

    # ---- a trace -------------------------------------------------------------------------------

    def traced_plan(self, described, leaves):
        """The plan for these leaves; an exception that says why there is none is kept as well."""
        while True:
            key = (described, *[self.leaf_key(i, x) for i, x in enumerate(leaves)])
            plan = self.plans.get(key)
            if plan is not None:
                return plan, leaves
            if len(self.plans) >= VARIANTS and self.pinned - {None}:
                plan = NotSupported(f"more than {VARIANTS} values of numbers that it uses as such")
                break
            try:
                plan = Branches(self, described, leaves)
                plan.branch(leaves)
                break
            except Pinned as problem:
                if problem.place in self.pinned:
                    plan = NotSupported("a number is used in Python")
                    break
                self.pinned.add(problem.place)
            except (Asked, NotSupported) as problem:
                plan = problem
                break
            except Exception as problem:  # of the user's program, or of a graph: NumPy's to say
                plan = TraceFailed(problem)
                break
        self.plans[key] = plan
        return plan, leaves

    def traced_function(self):
        """The Python functions that it is made of, for a Reads that calls it."""
        return [self.function]

    def body(self, build):
        """The function over the names of a trace."""
        return build.function(self.function)

    def traced(self, build):
        """What stands for it inside of another function that is traced."""
        return self.body(build)

    # ---- what it tells -------------------------------------------------------------------------

    def report(self):
        """What has been traced and what runs in NumPy: a dict of `traces`, `numpy` {reason: number
        of calls}, `pinned` (whether sizes or numbers are part of a trace)."""
        good = [p for p in self.plans.values() if isinstance(p, Branches)]
        return {"traces": sum(len(t.leaves) for t in good), "numpy": dict(self.counts),
                "pinned": sorted(map(str, self.pinned))}  # fmt: skip

    def source(self, kind="python"):
        """The Python source of the function and of those it calls, with loops and branches as the
        calls that a trace answers; functions without such are as they were written."""
        if kind != "python":
            raise ArgumentError(f'source is of "python", not {kind!r}')
        functions = [f for f in self.looked().known.values() if isinstance(f, types.FunctionType)]
        found = [transformed(f.__code__) for f in functions]
        return "\n\n".join(text[1] if text else f"# {f.__qualname__}: unchanged"
                           for f, text in zip(functions, found))  # fmt: skip

    def wait(self):
        """Wait for what is being compiled in the background; returns the function."""
        for thread in list(self.threads.values()):
            thread.join()
        return self


class TraceFailed(NotSupported):
    """An exception while tracing, of the program itself."""

    def __init__(self, problem):
        super().__init__(
            f"{type(problem).__name__}: {str(problem).splitlines()[0] if str(problem) else ''}"
        )
        self.cause = problem


class Static:
    """An argument that is part of the key by its value."""

    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        return type(self.value) is type(other.value) and self.value == other.value


def _names(static):
    static = (static,) if isinstance(static, (str, int)) else tuple(static)
    if not all(isinstance(s, (str, int)) for s in static):
        raise ArgumentError(f"static is names or positions of arguments, not {static!r}")
    return static


class Branches:
    """Traces for one key: one, or several that truth values of data choose from.

    leaves: {truth values so far: Traced}; asks: {truth values so far: function of the next one}."""

    def __init__(self, jitted, described, leaves):
        self.jitted, self.described = jitted, described
        self.leaves, self.asks = {}, {}
        self.simple = None  # the one trace, where calls are that of its compiled function
        self.inputs = [input_of(jitted, i, x) for i, x in enumerate(leaves)]

    def branch(self, leaves):
        """The Traced for the arguments at hand, traced where there is none."""
        answers = ()
        while answers not in self.leaves:
            ask = self.asks.get(answers)
            if ask is None:
                with self.jitted.lock:
                    if answers not in self.leaves and answers not in self.asks:
                        self.trace(answers, leaves)
                continue
            answers += (bool(ask(leaves)),)
        return self.leaves[answers]

    def trace(self, answers, leaves):
        trace = Trace(answers, lambda node: self.part([node])(leaves))
        plan = make_plan(self, trace, leaves)
        asked = []
        for node, answer in trace.asked:
            if tuple(asked) not in self.asks:
                self.asks[tuple(asked)] = self.part([node])
            asked.append(answer)
        self.leaves[tuple(asked)] = plan
        direct = not asked and plan.simple and runtime is not None
        self.simple = plan if direct and type(plan.compiled) is runtime.Function else None

    def part(self, nodes):
        """A function of the leaves that computes the one node."""
        compiled, used = compile_nodes(self, nodes)
        return lambda leaves: compiled(*[leaves[i] for i in used])[0]

    def run(self, leaves):
        """(whether the trace holds, the result) of a call."""
        plan = self.leaves.get(()) or self.branch(leaves)
        return plan(leaves)


def compile_nodes(tree, nodes):
    """(compiled function, numbers of the leaves that it takes)."""
    order = toposort(nodes)
    needed = {n.uid for n in order if n.op.name == "placeholder"}
    used = [i for i, n in enumerate(tree.inputs) if n.uid in needed]
    compiled = make_function([tree.inputs[i] for i in used], nodes, single=False,
                             name=tree.jitted.__name__, downcast=False, positional_only=True,
                             check=tree.jitted.check)  # fmt: skip
    return compiled, used


def input_of(jitted, place, x):
    """The placeholder of a leaf."""
    if isinstance(x, np.ndarray):
        sizes = [d if None in jitted.pinned or d <= SMALL else None for d in x.shape]
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
    if type(x) is int and not -(2**62) < x < 2**62:
        raise NotSupported("a Python int beyond 64 bits")

    def pin():
        raise Pinned(place)

    return PythonNumber(trace, node, type(x), pin)


def make_plan(tree, trace, leaves):
    """Run the function over Values; the Traced of what it did."""
    jitted, program = tree.jitted, tree.jitted.program
    values = [traced_leaf(jitted, trace, i, x, n)
              for i, (x, n) in enumerate(zip(leaves, tree.inputs))]  # fmt: skip
    build = TracedNames(trace, program)
    args, kwargs, free = put_together(tree.described, iter(values), build.of_class)
    build.name(free)
    if jitted.static:
        bound = inspect.BoundArguments(jitted.signature, {
            **args, **{k: v.value for k, v in kwargs.items()}})  # fmt: skip
        found = jitted.body(build)(*bound.args, **bound.kwargs)
        given = (args, kwargs, free)
    else:
        found = jitted.body(build)(*args, **kwargs)
        given = (args, kwargs, free)
    unchanged(given, tree.described, values)
    return Traced(tree, trace, values, found)


def unchanged(given, described, values):
    """NotSupported where the function changed a list, a dict or an object it was given."""
    now = []
    description = flatten(given, is_any, now)
    same = len(now) == len(values) and all(a is b for a, b in zip(now, values))
    if not same or repr(description) != repr(described):
        raise NotSupported("it changes a list, a dict or an object that it was given")


def is_any(x):
    return isinstance(x, (ArrayValue, PythonNumber)) or is_leaf(x)


class Traced:
    """One trace, compiled: which leaves go in, what the results are made of, what is written
    back into arguments."""

    def __init__(self, tree, trace, values, found):
        self.nodes, self.places = [], {}
        self.guarded = bool(trace.guards)
        if trace.guards:
            whole = trace.guards[0]
            for g in trace.guards[1:]:
                whole = ops.logical_and(whole, g)
            self.nodes.append(whole)
        outs = []
        self.described = flatten(found, is_traced, outs)
        self.makers = [self.maker(x, values) for x in outs]
        self.mutated = [(i, self.place(v.read())) for i, v in enumerate(values)
                        if isinstance(v, ArrayValue)
                        and v.read() is not tree.inputs[i]]  # fmt: skip
        self.arrays = [
            i for i, v in enumerate(values) if isinstance(v, ArrayValue) and not v.scalar
        ]
        if self.nodes:
            self.compiled, self.used = compile_nodes(tree, self.nodes)
        else:
            self.compiled, self.used = None, ()
        single = self.described == "leaf" and not self.mutated and not self.guarded
        self.simple = single and self.nodes and self.makers[0][0] in ("array", "scalar")
        self.scalar = single and self.nodes and self.makers[0][0] == "scalar"

    def place(self, node):
        """The number of an output; equal nodes are computed once."""
        found = self.places.get(node.uid)
        if found is None:
            found = self.places[node.uid] = len(self.nodes)
            self.nodes.append(node)
        return found

    def maker(self, x, values):
        """(how, number of the output or leaf, more) by which one result is made."""
        if not isinstance(x, (ArrayValue, PythonNumber)):
            if isinstance(x, np.ndarray):
                return "constant", x.copy(), None
            return "static", x, None
        for i, v in enumerate(values):
            if x is v:
                return "leaf", i, None
        if isinstance(x, PythonNumber):
            return "number", self.place(x.node), x.kind
        if x.scalar:
            return "scalar", self.place(x.read()), None
        root = x.root()
        for i, v in enumerate(values):
            if root is v:
                return "view", i, lenses(x)
        if x.base is not None:
            return "part", self.place(root.read()), (id(root), lenses(x))
        return "array", self.place(x.read()), id(x)

    def __call__(self, leaves):
        """(whether the trace holds, the result)."""
        if self.simple:
            found = self.compiled(*[leaves[i] for i in self.used])[0]
            return True, found[()] if self.scalar else found
        if self.mutated and not self.writable(leaves):
            return False, None
        found = self.compiled(*[leaves[i] for i in self.used]) if self.nodes else ()
        if self.guarded and not found[0]:
            return False, None
        for i, place in self.mutated:
            np.copyto(leaves[i], found[place])
        made, taken = {}, set()
        results = [self.made(m, found, leaves, made, taken) for m in self.makers]
        return True, put_together(self.described, iter(results))

    def writable(self, leaves):
        """Whether what is written back reaches one argument each, and may be written."""
        for i, _ in self.mutated:
            if not leaves[i].flags.writeable:
                return False
            for j in self.arrays:
                if i != j and np.may_share_memory(leaves[i], leaves[j]):
                    return False
        return not any(_folded(leaves[i]) for i, _ in self.mutated)

    def made(self, maker, found, leaves, made, taken):
        how, what, more = maker
        if how == "leaf":
            return leaves[what]
        if how == "view":
            return _through(leaves[what], more)
        if how in ("static", "constant"):
            return what.copy() if how == "constant" else what
        if how == "number":
            return more(found[what])
        if how == "scalar":
            return found[what][()]
        owner = more if how == "array" else more[0]
        if owner not in made:
            array = found[what]
            made[owner] = array.copy() if what in taken else array
            taken.add(what)
        return made[owner] if how == "array" else _through(made[owner], more[1])


def _folded(array):
    """Whether elements of an array share memory with one another."""
    return any(s == 0 and d > 1 for s, d in zip(array.strides, array.shape))


def lenses(x):
    """How NumPy makes a view from the array at the end of its chain of bases."""
    found = []
    while x.base is not None:
        if x.lens.real is None:
            raise NotSupported("a result that is a view at a place that data decides")
        found.append(x.lens.real)
        x = x.base
    return found[::-1]


def _through(array, views):
    for real in views:
        array = real(array)
    return array


__all__ = ["Jitted", "Node", "Traced", "Branches"]
