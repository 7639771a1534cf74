"""Jitted: what `ck.jit(f)` returns. A call finds the trace of its dtypes, ranks, static arguments
and small sizes, or makes it; where there is none, the call is NumPy's. What a trace is, and which
paths it has, stands in branches.py.

A trace that fails changes nothing, so the function itself can always be called in its place: it
gives the result, or the error, that NumPy gives.
"""

import contextlib
import functools
import inspect
import threading
import types
import warnings

import numpy as np

from ..base import given, locks
from ..base.errors import (
    ArgumentError,
    CKernelsError,
    CKernelsWarning,
    MissingName,
    NonFiniteError,
    NotSupported,
    ShapeError,
)
from ..base.native import runtime
from ..graph.shapes import show
from ..numpy.value import ArrayValue
from . import overlaps
from .branches import (
    SIZES,
    Branches,
    HalfWritten,
    Left,
    NotTraced,
    RefusedPath,
    Traced,
    is_narrow,
    plain_function,
)
from .number import PythonNumber, is_any, is_leaf
from .program import Reads, TracedNames, plain
from .syntax import transformed
from .tails import Described
from .trace import LARGE, SMALL, Asked, Counts, Pinned
from .trees import Static, at, containers, flatten, functions_of, leaves_in

VARIANTS = 24  # values of pinned numbers that get traces of their own; beyond, calls are NumPy's


class PlainDispatch:
    """What the runtime's Dispatch is, where there is no runtime: every call goes to `called`."""

    def __call__(self, *args, **kwargs):
        return self.called(*args, **kwargs)

    def remember(self, *trace):
        """Nothing: a trace is found in Python."""

    def forget(self):
        """Nothing."""


Dispatch = PlainDispatch if runtime is None else runtime.Dispatch
# what users have; the rest is the engine's
PUBLIC = ("address", "explain", "report", "source", "wait")
# what functions of K.function have, and those of other libraries
ELSEWHERE = {
    **dict.fromkeys(("steps", "optimised", "assumptions", "lower", "inspect_types"),
                    "f.explain() has a line for each instruction"),
    **dict.fromkeys(("stats", "signatures", "cache_info", "stat"),
                    "f.report() counts its traces and says what ran in NumPy"),
    **dict.fromkeys(("profile_table", "timeline"),
                    "CKERNELS_FLAGS=profile=True prints where the time went when the program ends"),
    **dict.fromkeys(("grad", "gradient"), "ck.jit.grad(f) is its gradient"),
    "py_func": "f.__wrapped__ is the function as it was written",
}  # fmt: skip
OPTIONS = {  # of the jit of other libraries
    **dict.fromkeys(("parallel", "nogil", "cache", "fastmath", "boundscheck", "inline", "locals"),
                    "leave it out: large loops share the threads, kernels are kept in files"),
    **dict.fromkeys(("nopython", "forceobj", "fullgraph"),
                    "strict=True makes an error of what would run in NumPy"),
    **dict.fromkeys(("static_argnums", "static_argnames"),
                    "static=(name,) names arguments that are part of the plan"),
}  # fmt: skip
MOST_LEAVES = 32  # of calls that C dispatches
MOST_GIVEN = 64  # functions as arguments; each may be traced anew


class Jitted(Dispatch):
    """A NumPy function that is compiled for what it is called with. See `ckernels.jit.jit`."""

    def __init__(self, function, static=(), background=False, strict=False, check=None):
        given.function(function, "what jit and its transforms take")
        functools.update_wrapper(self, function)  # first: it may bring a dict of its own
        if not hasattr(self, "__name__"):  # partial(f, 1), an object that can be called
            self.__name__ = self.__qualname__ = type(function).__name__
        self.function, self.strict = plain(function), given.flag(strict, "strict")
        self.check = given.word(check, (None, "nan"), "check")
        self.static = _names(static, function)
        self.background = given.flag(background, "background")
        self.plans, self.pinned, self.noted = {}, set(), set()
        self.refusal = None  # why its names cannot be traced, as long as they are what they were
        self.counters = set()  # places of ints in objects that calls change
        self.tails, self.whole = set(), set()  # paths of lists: appended to alone; read as well
        self.program, self.lock, self.counts = None, locks.rlock(), {}
        self.signature, self.threads = None, {}
        self.changes_objects = False  # whether a trace leaves something in objects it is given

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self):
        return self.__qualname__

    def __dir__(self):
        own = vars(self.function) if hasattr(self.function, "__dict__") else ()
        return sorted({*PUBLIC, *own, *(n for n in object.__dir__(self) if n[:2] == "__")})

    def __getattr__(self, name):
        if name[0] == "_":  # asked by libraries
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        sentence = f"a jitted function has no attribute {name!r}"
        if name in ELSEWHERE:
            raise MissingName(f"{sentence}; {ELSEWHERE[name]}")
        raise MissingName(sentence, name, PUBLIC)

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
            try:
                return self.numpy(problem, args, kwargs)
            finally:
                problem.__traceback__ = None  # which has the arguments, where it is kept
        plan, leaves = found
        if plan is None:
            return self.function(*args, **kwargs)
        if isinstance(plan, Exception):
            return self.numpy(plan, args, kwargs)
        if self.changes_objects and self.twice(args, kwargs):
            return self.overlapping(args, kwargs)
        return self.answer(plan, leaves, args, kwargs)

    def answer(self, plan, leaves, args, kwargs):
        """What a call gives that has a plan."""
        try:
            done, value = plan.run(leaves)
        except Pinned:  # on a path that no call took before
            return self.called(*args, **kwargs)
        except NotTraced as problem:
            result = self.numpy(problem.cause, args, kwargs)
            self.dispatched(plan.of_sizes(leaves), leaves)
            return result
        except NonFiniteError:  # what `check` asks for
            raise
        except HalfWritten as problem:  # to run it again would change arguments twice
            raise problem.cause from None
        except (CKernelsError, FloatingPointError, ValueError, IndexError, TypeError) as problem:
            if self.strict:
                raise
            self.counted(f"a call failed: {type(problem).__name__}")
            result = self.original(args, kwargs, problem)
            if isinstance(problem, ShapeError):
                plan.refuse(leaves, problem)
            return result
        self.dispatched(plan.of_sizes(leaves), leaves)
        if done:
            left = type(value) is Left
            return value.put((args, kwargs, self.program.current())) if left else value
        if value == "shared" and plan.parts is not None:
            return self.overlapping(args, kwargs)
        ways = {"shared": self.shared, "alike": self.alike}
        return ways.get(value, self.missed)(*args, **kwargs)

    def twice(self, args, kwargs):
        """Whether a list, a dict or an object is in two places of what a call reads."""
        given = args, kwargs, self.program.current()
        described = flatten(given, is_leaf, [], tails=self.tails_of(given))
        found = [id(x) for _, x in containers(given, described)]
        return len(set(found)) < len(found)

    def missed(self, *args, **kwargs):
        """A call whose trace does not hold."""
        self.counted("a number or an index for which the trace of a call does not hold")
        return self.original(args, kwargs, None)

    def shared(self, *args, **kwargs):
        """A call whose trace stores into memory that others may have too, or that nobody may write
        to: it gets one in which arguments that share memory are parts of one array."""
        plan, leaves = self.of_parts(args, kwargs)
        if plan is None:
            return self.overlapping(args, kwargs)
        return self.answer(plan, leaves, args, kwargs)

    def of_parts(self, args, kwargs):
        """(plan, leaves) of such a call; no plan where it is NumPy's."""
        try:
            described, leaves = self.flat(args, kwargs)
        except NotSupported:
            return None, ()
        found = None if self.background else overlaps.parts(leaves)
        if found is None:
            return None, ()
        leaves, parts = found
        key = (described, tuple(parts.items()),
               *[self.leaf_key(i, x, True) for i, x in enumerate(leaves)])  # fmt: skip
        with self.lock:
            plan = self.plans.get(key)
            if plan is None and len(self.plans) < SIZES:
                plan = self.plans[key] = Branches(self, described, leaves, True, parts)
        return plan, leaves

    def overlapping(self, args, kwargs):
        """A call of that kind in NumPy."""
        self.counted("an array that is written to and shares memory with another one")
        return self.original(args, kwargs, None)

    def alike(self, *args, **kwargs):
        """A call whose result may be an argument itself, of which it has the elements."""
        self.counted("a result that may be an argument itself")
        return self.original(args, kwargs, None)

    def dispatched(self, plan, leaves):
        """Let C serve calls like this one."""
        if self.static or runtime is None:
            return
        program, node = self.program, plan.node()
        if node is None or len(leaves) > MOST_LEAVES or len(leaves) > leaves_in(plan.described):
            return
        kinds = [self.kind(i, x, plan.sized) for i, x in enumerate(leaves)]
        if plan.parts is not None:
            for i, place in overlaps.places(leaves).items():
                kinds[i] += place
        if None not in kinds:
            self.remember(plan.described, tuple(kinds), tuple(program.fixed), tuple(program.free),
                          SMALL, node)  # fmt: skip

    def kind(self, place, x, sized):
        """What of a leaf a trace is made for, as C knows it; None where it does not."""
        if isinstance(x, np.ndarray):
            return self.leaf_key(place, x, sized)
        if isinstance(x, (np.number, np.bool_)):
            return type(x)
        if place in self.pinned and type(x) in (int, float):
            return type(x), x
        return None if type(x) is complex else type(x)

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
        try:
            return self.body(build)(*args, **kwargs)
        finally:
            build.unchanged()

    def may_leave(self):
        """Whether NumPy may run the function as well: where steps of a loop would run in NumPy one
        op after the other, that takes a ninth of the time."""
        return not self.strict and self.in_original()

    def in_original(self):
        """Whether NumPy has the same function, for calls that a trace does not serve."""
        return type(self).original is Jitted.original

    def original(self, args, kwargs, problem):
        """The call in NumPy, which the trace does not serve: it failed with `problem`, or what it
        takes for granted of numbers or memory does not hold (None)."""
        if self.check is None:
            return self.function(*args, **kwargs)
        try:
            with np.errstate(invalid="raise", divide="raise", over="raise"):
                return self.function(*args, **kwargs)
        except FloatingPointError as problem:
            raise NonFiniteError(f"{self.__name__}, in NumPy: {problem}") from problem

    def numpy(self, problem, args, kwargs):
        """The call in NumPy, since it cannot be traced; one note says so."""
        what, line = sentence(problem), getattr(problem, "line", None)
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

    def left(self, problem):
        """What the runtime's Dispatch takes for calls that are NumPy's because of `problem`, of
        which a note has been given; or None."""
        what = sentence(problem)
        if what not in self.noted or not self.may_leave():
            return None

        def call(*args, **kwargs):
            self.counted(what)
            return self.original(args, kwargs, problem)

        return (call,)

    def counted(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def find(self, args, kwargs):
        """(plan or the reason why there is none, leaves) of a call."""
        while True:
            described, leaves = self.flat(args, kwargs)
            key = (described, *[self.leaf_key(i, x) for i, x in enumerate(leaves)])
            try:
                plan = self.plans.get(key)
            except TypeError:
                raise NotSupported("an argument that cannot be compared") from None
            if plan is None and self.background:
                self.start(key, described, leaves)
                return None, leaves
            if plan is not None:
                return plan, leaves
            with self.lock, contextlib.suppress(Described):
                return self.traced_plan(described, leaves)

    def flat(self, args, kwargs):
        """(description, leaves) of a call, whose functions the program has met."""
        program = self.program
        free = program.current() if program is not None else None
        if free is None:
            program = self.look()
            free = program.current()
        while True:
            leaves, given = [], (args, kwargs, free)
            described = flatten(self.named(given), is_leaf, leaves, tails=self.tails_of(given))
            new = [f for f in functions_of(described) if not program.met(f)]
            if not new:
                break
            program = self.with_functions(program, new)
            free = program.current()
        self.program = program
        return described, leaves

    def tails_of(self, given):
        """{id: path} of the lists of a call that are appended to alone."""
        found = {}
        for path in tuple(self.tails):  # other threads add to it
            with contextlib.suppress(LookupError, TypeError):
                found[id(at(given, path))] = path
        return found

    def start(self, key, described, leaves):
        """Trace and compile in a thread of its own, once for each key."""
        with self.lock:
            if key in self.threads:
                return
            copies = [x.copy() if isinstance(x, np.ndarray) else x for x in leaves]

            def work():
                with self.lock, contextlib.suppress(NotSupported, Described):  # NumPy goes on
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
            reads = getattr(self.refusal, "reads", None)
            if reads is not None and reads.current() is not None:
                raise self.refusal.with_traceback(None)
            self.plans = {}
            try:
                self.program = self.looked()
            except NotSupported as problem:
                self.program, self.refusal = None, problem
                raise problem
        return self.program

    def looked(self):
        return Reads(self.function)

    def with_functions(self, program, new):
        """A Reads that knows the functions among the arguments too: their names may change."""
        given = [*program.given, *new]
        if len(given) > MOST_GIVEN:
            raise NotSupported(f"more than {MOST_GIVEN} functions as arguments: give those that "
                               "were made once")  # fmt: skip
        made = self.looked()
        for each in given:
            made.meet(each)
        made.given = given
        return made

    def leaf_key(self, place, x, sized=False):
        """What of a leaf a trace is made for. sized: for these sizes only."""
        kind = type(x)
        if kind is np.ndarray:
            shape = x.shape
            if None not in self.pinned and not sized:
                shape = tuple([-1 if SMALL < d <= LARGE else d for d in shape])
            return x.dtype, shape, x.flags.c_contiguous
        if isinstance(x, np.generic):
            return x.dtype, kind
        if kind not in (int, float, complex):
            if is_leaf(x) or is_any(x):  # a class of one's own; a value of a trace around
                raise NotSupported(f"an argument of type {kind.__name__}")
            return kind
        if place in self.pinned or kind is complex:
            return kind, repr(x)
        return kind if is_narrow(x) else (kind, "beyond 64 bits")

    # ---- a trace -------------------------------------------------------------------------------

    def traced_plan(self, described, leaves):
        """The plan for these leaves; an exception that says why there is none is kept as well."""
        while True:
            key = (described, *[self.leaf_key(i, x) for i, x in enumerate(leaves)])
            plan = self.plans.get(key)
            if plan is not None:
                return plan, leaves
            if len(self.plans) >= VARIANTS and not self.served():
                raise NotSupported(f"calls of {len(self.plans)} kinds, of which none was traced")
            most = VARIANTS if self.pinned - {None} else SIZES
            if len(self.plans) >= most and self.pinned:
                self.plans[key] = NotSupported(f"more than {most} sizes, or values of numbers, "
                                               "that each need a trace of their own")  # fmt: skip
                continue
            try:
                plan = Branches(self, described, leaves)
                plan.branch(leaves)
            except Described:
                raise
            except Pinned:
                continue
            self.plans[key] = plan

    def pin(self, place):
        """Make a number, or with None all sizes, a part of traces; whether it was none yet."""
        new = place not in self.pinned
        self.pinned.add(place)
        return new

    def count(self, place):
        """Let traces compute a number that they took for one of Python's and that calls change."""
        if place in self.counters or not self.in_original():
            raise NotSupported("a number that each call changes, used in Python")
        self.counters.add(place)
        self.pinned.discard(place)
        raise Counts(place)

    def appends(self, path):
        """Let a list that a call has appended to be known by its end alone, unless it is read."""
        if self.in_original() and not self.static and path not in self.whole | self.tails:
            self.tails.add(path)
            raise Described(path)

    def reads_list(self, path):
        """Let a list be known by all that it has."""
        self.tails.discard(path)
        self.whole.add(path)
        raise Described(path)

    def paths(self):
        """What Branches.paths gives, of all keys."""
        for tree in list(self.plans.values()):
            if isinstance(tree, Branches):
                yield from tree.paths()

    def served(self):
        """How many traces there are."""
        return sum(p.served() for p in self.plans.values() if isinstance(p, Branches))

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
        """What has been traced and what runs in NumPy.

        Returns
        -------
        dict
            traces: their number; numpy: {reason: number of calls}; pinned: which numbers are part
            of a trace ("all sizes": those of arrays); sized: what was refused for all sizes, so
            that each size has a trace of its own; kernels: what the compiler said of kernels that
            it refused, in whose place NumPy runs.

        Examples
        --------
        >>> from ckernels.jit import jit
        >>> double = jit(lambda x: 2 * x)
        >>> double(np.ones(2))
        array([2., 2.])
        >>> double.report()["traces"]
        1
        """
        paths = [path for _, _, path in self.paths()]
        sized = {str(t.why).split("\n")[0]: None for t in paths if isinstance(t, RefusedPath)}
        refused = {t.refused(): None for t in paths if isinstance(t, Traced)}
        pinned = sorted("all sizes" if p is None else str(p) for p in self.pinned)
        return {"traces": self.served(), "numpy": dict(self.counts),
                "pinned": pinned, "sized": list(sized),
                "kernels": list(filter(None, refused))}  # fmt: skip

    def explain(self, rewrites=False):
        """What each instruction of its traces computes, and why it does not do more.

        Parameters
        ----------
        rewrites : bool, default False
            Whether to begin each trace with the rewrites of its graph.

        Returns
        -------
        str
            For each trace the types of what it takes, and what `explain` of a K function says; at
            the end the reasons why calls ran in NumPy.

        Examples
        --------
        >>> from ckernels.jit import jit
        >>> wave = jit(lambda x: np.sum(np.exp(x)))
        >>> wave(np.zeros(100))
        np.float64(100.0)
        >>> wave.explain().splitlines()[:2]
        ['a trace of float64 (?,):', '0: exp+sum']
        """
        found = []
        for tree, answers, path in self.paths():
            if isinstance(path, Traced):
                types = ", ".join(f"{n.dtype} {show(n.shape)}" for n in tree.inputs)
                ways = f" where tests are {', '.join(map(str, answers))}" if answers else ""
                text = path.compiled.explain(rewrites) if path.nodes else "nothing is computed"
                found.append(f"a trace of {types or 'no arrays'}{ways}:\n{text}")
        found += [f"in NumPy, {n} call{'s' * (n > 1)}: {why}" for why, n in self.counts.items()]
        return "\n\n".join(found) or "Nothing was traced yet: call the function first."

    def newest(self):
        """The compiled function of the newest trace, or None."""
        made = [path.compiled for _, _, path in self.paths() if isinstance(path, Traced)]
        return made[-1] if made else None

    def source(self, kind="python"):
        """The Python source of the function and of those it calls, as calls that a trace answers
        run it.

        Parameters
        ----------
        kind : {"python"}
            Which source.

        Returns
        -------
        str
            With loops and branches as scans and branches; functions without such are as they were
            written.

        Raises
        ------
        ArgumentError
            For another kind.

        Examples
        --------
        >>> from ckernels.jit import jit
        >>> jit(np.square).source()
        ''
        """
        if kind != "python":
            raise ArgumentError(f'source is of "python", not {kind!r}')
        functions = [f for f in self.looked().known.values() if isinstance(f, types.FunctionType)]
        found = [transformed(f.__code__) for f in functions]
        return "\n\n".join(new.source if new else f"# {f.__qualname__}: unchanged"
                           for f, new in zip(functions, found))  # fmt: skip

    def address(self, signature, *args, **kwargs):
        """A C function pointer of this function for fixed shapes, without Python or GIL.

        Globals, closures and numbers that the trace holds keep the values they have now. Python
        floats stand for numbers of NumPy, which divide by 0; where Python would raise even so,
        results are NaN.

        Parameters
        ----------
        signature : str
            The C type, such as 'double (double, void *)'; its last argument is the entry's
            `user_data`.
        *args, **kwargs : arrays or numbers
            An example of a call, for the shapes and dtypes of what callers give.

        Returns
        -------
        CFunction
            With `address`, `user_data`, and `scipy()` for functions of SciPy.

        Raises
        ------
        NotSupported
            Where the function cannot be traced, stores into its arguments, or where values decide
            which way it takes.
        ArgumentError
            Where its arguments and results do not suit the signature.

        Examples
        --------
        >>> from ckernels.jit import jit
        >>> import scipy.integrate
        >>> wave = jit(lambda x: np.exp(-x * x) * np.cos(x))
        >>> entry = wave.address("double (double, void *)", 0.0)
        >>> round(scipy.integrate.quad(entry.scipy(), 0, 2)[0], 9)
        0.692611452
        """
        args = tuple(np.float64(x) if type(x) is float else x for x in args)
        kwargs = {k: np.float64(x) if type(x) is float else x for k, x in kwargs.items()}
        plan, leaves = self.find(args, kwargs)
        if plan is None:  # a thread traces it
            plan, leaves = self.wait().find(args, kwargs)
        theirs = []
        flatten(self.named((args, kwargs, ())), is_leaf, theirs)
        count = len(theirs)
        try:
            if isinstance(plan, Exception):
                raise plan
            plan.branch(leaves)
            if any(i in self.pinned for i in range(count)):
                raise NotSupported("a number that it is called with is used in Python; choose with "
                                   "np.where, and give np.int64(3) for an integer")  # fmt: skip
            made = plain_function(plan.of_sizes(leaves), leaves)
        except (Asked, NotSupported) as problem:
            raise NotSupported(f"{self!r} has no C function: {problem}") from problem
        bound = {i: np.asarray(x) for i, x in enumerate(leaves) if i >= count}
        return made.address(signature, *map(np.asarray, theirs), bound=bound)

    def wait(self):
        """Wait for what is being compiled in the background.

        Returns
        -------
        Jitted
            This function.

        Examples
        --------
        >>> from ckernels.jit import jit
        >>> double = jit(lambda x: 2 * x, background=True)
        >>> double(np.ones(2)), double.wait()(np.ones(2))
        (array([2., 2.]), array([2., 2.]))
        """
        for thread in list(self.threads.values()):
            thread.join()
        return self


def sentence(problem):
    """The first line of what an exception says."""
    return str(problem).split("\n")[0]


def _names(static, function):
    static = [static] if isinstance(static, (str, int)) else given.sequence(static, "static")
    if not all(isinstance(s, (str, int)) for s in static):
        raise ArgumentError(f"static is names or positions of arguments, not {static!r}")
    try:
        names = list(inspect.signature(function).parameters) if static else ()
    except ValueError:  # of C
        return tuple(static)
    for s in static:
        if s not in names and s not in range(len(names)):
            raise ArgumentError(f"static is {s!r}, which is no argument of "
                                f"{getattr(function, '__name__', function)}: "
                                f"these are {', '.join(names)}")  # fmt: skip
    return tuple(static)


__all__ = ["Jitted"]
