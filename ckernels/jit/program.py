"""Reads: a Python function with all that it reads: names of modules, closures, other functions.

`Reads(f)` looks through the code of f and of the functions that it can call. Names that hold
numbers, arrays or containers are inputs, read at each call; modules, functions and classes are
checked to be what they were. `build` makes f anew, over namespaces in which `np` is traced.
"""

import abc
import builtins
import contextlib
import dataclasses
import dis
import functools
import importlib
import inspect
import itertools
import math
import operator
import sys
import types
import typing
from typing import NamedTuple

import numpy as np

from ..base.errors import NotSupported
from ..numpy.value import ArrayValue
from . import elements, namespace
from .flow import Flow
from .number import PythonNumber
from .scipy import names as names_of_scipy
from .syntax import WIDE, transformed
from .trees import STATIC, is_jitted, is_named, is_plain

CACHED = type(functools.lru_cache(len))
ASSIGNS = ("STORE_GLOBAL", "DELETE_GLOBAL")
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


def plain(function):
    """`function`, or one of Python's for a bound method, a partial function, or an object of the
    user's that can be called: what these hold is read at each call, as names of a closure are."""
    if isinstance(function, functools.partial):
        inner, held, named = plain(function.func), function.args, function.keywords

        def made(*args, **kwargs):
            return inner(*held, *args, **{**named, **kwargs})

    elif isinstance(function, np.vectorize):

        def made(*args, **kwargs):
            return function(*args, **kwargs)

    else:
        inner, me = _method(function)
        if inner is None:
            return function
        if me is function and isinstance(inner, types.FunctionType):

            def made(*args, **kwargs):
                return me(*args, **kwargs)  # by what its class has then

        else:

            def made(*args, **kwargs):
                return inner(me, *args, **kwargs)

    made.__name__ = getattr(function, "__name__", type(function).__name__)
    made.__qualname__ = getattr(function, "__qualname__", made.__name__)
    made.__module__ = None  # no library's: what it holds is read at each call
    with contextlib.suppress(ValueError):  # of C
        made.__signature__ = inspect.signature(function)
    return made


def _method(function):
    """(method of a class, its `self`) of what is called through one; else (None, None)."""
    if isinstance(function, types.MethodType):
        method, me = function.__func__, function.__self__
    elif isinstance(function, (type, types.FunctionType)) or is_jitted(function):
        return None, None
    else:
        method, me = inspect.getattr_static(type(function), "__call__", None), function
    ours = is_jitted(method) or isinstance(method, types.FunctionType)
    return (method, me) if ours and not namespace.library(method.__module__) else (None, None)


METAS = (type, abc.ABCMeta)
MARKS = (object, abc.ABC, typing.Generic)  # bases that say something and have nothing


def bases_of(kind):
    """A class and those it is made of."""
    return [each for each in kind.__mro__ if each not in MARKS]


def own_bases(kind):
    """A class of the user's and those of the user's that it is made of."""
    return [each for each in bases_of(kind) if not namespace.library(each.__module__)]


def functions_in(kind):
    """The functions of a class itself: methods, static ones, those of classes and properties."""
    for name, value in vars(kind).items():
        if not is_generated(kind, name, value):
            yield from (f for f in held_by(value) if isinstance(f, types.FunctionType))


def held_by(value):
    """What something in a class calls."""
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    if isinstance(value, (staticmethod, classmethod)):
        return (value.__func__,)
    return (value.func,) if isinstance(value, functools.cached_property) else (value,)


def made_with(value, make):
    """Something in a class, with what `make` gives in the place of each function; None for what
    has none."""
    if isinstance(value, types.FunctionType):
        return make(value)
    if isinstance(value, property):
        return property(*[part and make(part) for part in held_by(value)], value.__doc__)
    if isinstance(value, (staticmethod, classmethod, functools.cached_property)):
        return type(value)(make(*held_by(value)))
    return None


OF_DATACLASSES = {f"__{name}__" for name in (
    "init", "repr", "eq", "lt", "le", "gt", "ge", "hash", "setattr", "delattr", "replace",
    "getstate", "setstate")}  # fmt: skip


def is_generated(kind, name, value):
    """Whether a function is one that dataclass or NamedTuple wrote."""
    if is_named(kind):
        written = [getattr(f, "__module__", None) for f in held_by(value)]
        return name == "__new__" or written == ["collections"]
    if not isinstance(value, types.FunctionType) or not dataclasses.is_dataclass(kind):
        return False
    written = value.__code__.co_filename == "<string>" or namespace.library(
        value.__globals__.get("__name__")
    )
    return written and name in OF_DATACLASSES


MUTABLE = (np.ndarray, list, dict, set)


def is_copied(kind):
    """Whether a trace has a class of its own in the place of this one."""
    if type(kind) not in METAS or not own_bases(kind) or own_bases(kind)[0] is not kind:
        return False
    if not (is_plain(kind) or is_named(kind)) or any("__init_subclass__" in vars(each)
                                                     for each in own_bases(kind)):  # fmt: skip
        return False
    return any(True for each in own_bases(kind) for _ in functions_in(each)) or any(
        isinstance(v, MUTABLE) and n[:2] != "__" for c in bases_of(kind) for n, v in vars(c).items()
    )


def state_of(kind):
    """(names, values) of what a class has itself; Ellipsis for a value that may change in itself,
    which no trace reads."""
    held = dict(vars(kind))
    return tuple(held), tuple([... if isinstance(v, MUTABLE) else v for v in held.values()])


class Refusal:
    """What stands for data of a class that may change in itself."""

    def __init__(self, refuse):
        self.refuse = refuse

    def __get__(self, instance, owner):
        return self.refuse()


class Reads:
    """The names that functions read. fixed: (dict, cell or function, name, object), and of classes
    (class, *state_of(class)); free: (dict or cell, name) whose values are inputs."""

    def __init__(self, *functions):
        self.fixed, self.free = [], []
        self.known = {}  # {id of a function: the function}
        self.given = []  # functions among the arguments, and classes of objects among them
        self.kinds = {}  # classes of the user's, as keys
        self.late = set()  # what a trace met under way
        self.refused = {}  # {id of one of them: why it cannot be traced}
        try:
            for function in functions:
                self.look(function)
        except NotSupported as problem:
            problem.reads = self  # as long as these names are what they are
            raise

    def look(self, function):
        if id(function) in self.known:
            return
        self.known[id(function)] = function
        if not isinstance(function, types.FunctionType):
            self.check(function)
            return
        code = function.__code__
        if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
            raise NotSupported(f"{function.__name__} is a coroutine")
        names = names_of(code)
        if names.refused:
            raise NotSupported(names.refused)
        for name in names.read:
            if name in function.__globals__:
                self.add(function.__globals__, name, function.__globals__[name])
        held = {}
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            try:
                held[name] = cell.cell_contents
            except ValueError:
                raise NotSupported(f"{function.__name__} reads a name without a value") from None
            self.add(cell, "cell_contents", held[name])
        for name, *path in names.inside:
            self.look_inside(held.get(name, function.__globals__.get(name)), path)
        for name in ("__defaults__", "__kwdefaults__"):
            if getattr(function, name):
                self.fixed.append((function, name, getattr(function, name)))
        for place in defaults_of(function):
            default = Default(function, place)
            if not is_number(default):
                self.add(default, "value", default.value)
            elif type(place) is str:
                self.fixed.append((function.__kwdefaults__, place, default.value))

    def look_inside(self, value, path):
        """Look at what is read of a module of the user's, by one name after another."""
        if not (is_own_module(value) and path and path[0] in vars(value)):
            return
        holder, name, *path = vars(value), *path
        value = holder[name]
        if isinstance(value, types.ModuleType):
            self.fixed.append((holder, name, value))
            self.look_inside(value, path)
            return
        before = self.state()
        try:
            self.add(holder, name, value)
        except NotSupported:  # where it is used, it says so
            self.known, self.kinds, self.fixed, self.free = before

    def state(self):
        return dict(self.known), dict(self.kinds), list(self.fixed), list(self.free)

    @staticmethod
    def check(function):
        """NotSupported for a callable that is no function of Python's and none of NumPy's."""
        if not isinstance(function, np.ufunc) and type(function) is not type(np.sum):
            raise NotSupported(f"{function!r} is not written in Python")

    def add(self, holder, name, value):
        if is_jitted(value):
            self.fixed.append((holder, name, value))
            for each in value.traced_function():
                self.look(each)
        elif isinstance(value, types.FunctionType):
            self.fixed.append((holder, name, value))
            if not namespace.library(value.__module__):
                self.look(value)
        elif isinstance(value, np.vectorize):
            self.fixed.append((holder, name, value))
            self.add(vars(value), "pyfunc", value.pyfunc)
        elif is_cached(value):
            self.fixed.append((holder, name, value))
            if Reads(value.__wrapped__).free:
                raise NotSupported(f"{value.__name__} keeps results of what may change")
            self.look(value.__wrapped__)
        elif isinstance(value, type):
            self.fixed.append((holder, name, value))
            self.look_at(value)
        elif isinstance(value, (types.ModuleType, types.BuiltinFunctionType, np.ufunc)) or (
            type(value) is type(np.sum) or id(value) in names_of_scipy.served()
        ):
            self.fixed.append((holder, name, value))
        elif all(holder is not h or name != n for h, n in self.free):
            self.free.append((holder, name))

    def look_at(self, kind):
        """Look at a class: what it has itself is to be what it was, for it is part of a trace."""
        if kind in self.kinds or namespace.library(kind.__module__):
            return
        self.kinds[kind], copied = None, is_copied(kind)
        for each in own_bases(kind):
            self.fixed.append((each, *state_of(each)))
            for value in vars(each).values():
                if isinstance(value, type):
                    self.look_at(value)
            for function in functions_in(each):
                self.meet(function) if copied else self.hold(function)

    def hold(self, function):
        """Look at a function that a trace calls as it is: all that it reads is part of it."""
        found = self.beside()
        found.look(function)
        for holder, name in found.free:
            value = _get(holder, name)
            if not isinstance(value, (*STATIC, np.generic)):
                raise NotSupported(f"{function.__qualname__} reads {name!r} of its module, which "
                                   "may change: give it as an argument")  # fmt: skip
            self.fixed.append((holder, name, value))
        self.fixed += found.fixed
        self.kinds.update(found.kinds)

    def beside(self):
        """A Reads of nothing yet that has met the same classes."""
        found = Reads()
        found.kinds.update(self.kinds)
        return found

    def add_late(self, holder, name, value):
        """A name that a trace met under way: it is to be what it was."""
        if (id(holder), name) not in self.late:
            self.late.add((id(holder), name))
            found = self.beside()
            found.add(holder, name, value)
            self.fixed += found.fixed
            self.kinds.update(found.kinds)

    def met(self, function):
        """Whether names of a function among the arguments are known, or need not be; or what a
        class has."""
        if isinstance(function, type):
            return function in self.kinds or namespace.library(function.__module__)
        own = made_of(function)
        known = all(id(f) in self.known or namespace.library(f.__module__) for f in own)
        return known or id(function) in self.refused

    def meet(self, function):
        """Look at a function that may never be called: an argument, a method; or at a class."""
        if isinstance(function, type):
            self.look_at(function)
            return
        before = self.state()
        try:
            for each in made_of(function):
                self.look(each)
        except NotSupported as problem:
            self.known, self.kinds, self.fixed, self.free = before
            self.refused[id(function)] = str(problem)

    def current(self):
        """The values of the free names, as they are now; None where a fixed one has changed."""
        for holder, name, value in self.fixed:
            if type(name) is tuple:
                now = state_of(holder)
                if now[0] != name or not all(map(operator.is_, now[1], value)):
                    return None
            elif _get(holder, name) is not value:
                return None
        return [_get(holder, name) for holder, name in self.free]


def is_cached(value):
    """Whether it is a function that keeps what it gave: for equal arguments it gives the same."""
    return type(value) is CACHED and isinstance(value.__wrapped__, types.FunctionType)


def made_of(function):
    """The functions of Python's that a function is made of: itself, where it is not under jit."""
    return function.traced_function() if is_jitted(function) else [function]


def is_own_module(value):
    """Whether it is a module of the program itself, rather than of Python or an installed package:
    those have thousands of names."""
    if not isinstance(value, types.ModuleType) or namespace.library(value):
        return False
    return "-packages" not in (getattr(value, "__file__", None) or "")


class Default:
    """The default value of one argument, as a name that holds it. place: a number or a name."""

    def __init__(self, function, place):
        self.function, self.place = function, place

    @property
    def value(self):
        if isinstance(self.place, int):
            return self.function.__defaults__[self.place]
        return self.function.__kwdefaults__[self.place]


def defaults_of(function):
    """The places of the default values of a function."""
    return [*range(len(function.__defaults__ or ())), *(function.__kwdefaults__ or {})]


def is_number(holder):
    """Whether a name is a default value that is a number, a string or None."""
    kinds = (int, float, bool, str, type(None))
    return type(holder) is Default and type(holder.value) in kinds


def key_of(holder, name):
    """What tells a name from all others of a Reads."""
    if type(holder) is Default:
        return id(holder.function), holder.place
    return id(holder), name


_missing = object()


def _get(holder, name):
    if type(holder) is dict:
        return holder.get(name, _missing)
    return getattr(holder, name, _missing)


TESTS = ("CHECK_EXC_MATCH", "JUMP_IF_NOT_EXC_MATCH")  # from Python 3.11 on, and before it


def catches_all(steps):
    """Whether instructions catch errors of any class: after `except:`, or by the name of one of
    WIDE."""
    targets = {step.argval for step in steps if step.opname == "SETUP_FINALLY"}
    for k, step in enumerate(steps):
        last = steps[k - 1] if k else step
        begins = last.opname == "PUSH_EXC_INFO" or step.offset in targets
        if begins and step.opname == "POP_TOP":
            return True
        if step.opname in TESTS:
            count = last.argval if last.opname == "BUILD_TUPLE" else 0
            named = steps[k - 1 - count : k]
            if any(s.opname in ("LOAD_GLOBAL", "LOAD_NAME") and s.argval in WIDE for s in named):
                return True
    return False


class Names(NamedTuple):
    """Names that code reads from its module, sorted; inside: what it reads of these and of a
    closure's, as one name after another; refused: why it cannot be traced, or ""."""

    read: tuple
    inside: tuple
    refused: str


@functools.lru_cache(maxsize=1024)  # of a function that is NumPy's it is asked at each call
def names_of(code, cells=None):
    """The Names of code with those of functions inside of it. cells: the names of a closure, to
    which it must not assign."""
    cells = code.co_freevars if cells is None else cells
    found, inside, refused = set(), set(), ""
    steps = list(dis.get_instructions(code))
    if catches_all(steps) and transformed(code) is None:
        refused = "it catches every error, also those that tell what no trace can do"
    for k, step in enumerate(steps):
        if step.opname in ASSIGNS or (step.opname == "STORE_DEREF" and step.argval in cells):
            refused = f"it assigns to {step.argval!r}, which is a name outside of it"
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            found.add(step.argval)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"):
            path = itertools.takewhile(lambda s: s.opname in ATTRIBUTES, steps[k + 1 :])
            inside.add((step.argval, *[s.argval for s in path]))
        if step.opname == "IMPORT_NAME" and not namespace.library(step.argval):
            refused = f"it imports {step.argval!r} while it runs"
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            inner = names_of(each, cells)
            found.update(inner.read)
            inside.update(inner.inside)
            refused = refused or inner.refused
    return Names(tuple(sorted(found)), tuple(sorted(p for p in inside if len(p) > 1)), refused)


class TracedNames:
    """One making of a Reads's functions, for one trace. values: {(id of holder, name): traced
    value} of the free names."""

    def __init__(self, trace, program):
        self.trace, self.program, self.made, self.values = trace, program, {}, None
        self.nameless = []  # functions that wait for these values
        self.kept = []  # [(array, its node)] of what functions keep
        self.classes = {}
        self.classes_were = {kind: dict(vars(kind)) for kind in program.kinds}
        self.builtins, self.flow = namespace.builtin_names(), Flow(trace)
        self.numpy = namespace.Namespace(trace)
        self.math = namespace.MathModule()
        self.builtins["__import__"] = self.imported
        self.numpy.__dict__["vectorize"] = functools.partial(elements.Elementwise, self)
        self.numpy.__dict__["apply_along_axis"] = elements.along_axis(self)
        self.own = {id(np): self.numpy, id(math): self.math}
        self.own[id(np.linalg)], self.own[id(np.lib)] = self.numpy.linalg, self.numpy.lib
        self.own[id(np.lib.stride_tricks)] = self.numpy.lib.stride_tricks
        self.scipy, self.numpy.linalg.program = names_of_scipy.served(), self.standing
        transforms = self.own[id(np.fft)] = self.numpy.fft
        self.own.update({id(f): getattr(transforms, f.__name__)
                         for f in (np.fft.fftfreq, np.fft.rfftfreq)})  # fmt: skip
        self.own.update({id(getattr(builtins, name)): self.builtins[name]
                         for name in namespace.WORLD if hasattr(builtins, name)})  # fmt: skip
        self.own.update({id(getattr(math, name)): f for name, f in vars(self.math).items()})
        there = vars(np)  # np.random is not, until it is asked for
        self.own.update(
            {id(there[name]): made for name, made in vars(self.numpy).items() if name in there}
        )

    def name(self, values):
        """Give the free names their traced values."""
        self.values = dict(zip((key_of(h, n) for h, n in self.program.free), values))
        self.give_names()

    def of_class(self, kind):
        """A class like `kind` whose methods have traced names; what a method reads of its module
        must be modules, functions and classes, for numbers and arrays there may change."""
        found = self.classes.get(kind)
        if found is not None:
            return found
        own = {}
        for base in bases_of(kind)[::-1]:
            for name, value in vars(base).items():
                if isinstance(value, MUTABLE) and name[:2] != "__":
                    own[name] = Refusal(self.shared(kind, name))
                elif not is_generated(base, name, value):
                    made = made_with(value, self.method)
                    own.update({name: made} if made is not None else {})
        own["traced_from"] = kind
        bases = [self.of_class(base) for base in kind.__bases__
                 if base not in MARKS and not namespace.library(base.__module__)]  # fmt: skip
        found = self.classes[kind] = type(kind)(kind.__name__, (kind, *bases), own)
        self.classes_were[found] = dict(vars(found))
        return found

    def held(self, value):
        """What stands for a module, or something of NumPy's, that an argument or an object has."""
        if isinstance(value, types.ModuleType) and not namespace.library(value):
            return UserModule(self, value)
        return self.numpy.taking_lists(value)

    def of_named(self, kind):
        """What stands for a class of named tuples."""
        return self.of_class(kind) if is_copied(kind) else kind

    def unchanged(self):
        """Put back what a trace left in classes; NotSupported if there is such, or in functions."""
        changed = False
        for kind, was in self.classes_were.items():
            for name in {n for n in (*was, *vars(kind)) if n[:2] != "__"}:
                if vars(kind).get(name, _missing) is not was.get(name, _missing):
                    changed = True
                    setattr(kind, name, was[name]) if name in was else delattr(kind, name)
        if changed:
            raise NotSupported("it changes a class")
        if any(set(vars(made)) - {"given_as"} for made in self.made.values()):
            raise NotSupported("it gives a function an attribute")

    def shared(self, kind, name):
        return self.refusing(f"{kind.__name__}.{name} is data of a class, which a trace would not "
                             "see change: give it to the object")  # fmt: skip

    def method(self, function):
        def method(*args, **kwargs):
            inner = getattr(function, "function", function)
            if not self.knows(Reads(inner)):
                raise NotSupported(f"{inner.__qualname__} reads names of its module that may "
                                   "change: give them to the object or as arguments")  # fmt: skip
            return self.function(inner)(*args, **kwargs)

        method.__name__, method.given_as = function.__name__, function
        return method

    def cached(self, function):
        """A function that keeps what it gave, as one that gives it anew. The arrays go to `kept`:
        nobody may store into them, or get them, for they would be there in later calls."""
        inner = self.function(function.__wrapped__)

        def called(*args, **kwargs):
            found = inner(*args, **kwargs)
            every = found if type(found) is tuple else (found,)
            arrays = [x for x in every if isinstance(x, ArrayValue) and not x.scalar]
            if any(isinstance(x, ArrayValue) for x in (*args, *kwargs.values())) or not all(
                isinstance(x, (ArrayValue, PythonNumber, *STATIC)) for x in every
            ):  # fmt: skip
                raise NotSupported(f"{function.__name__} keeps what is no number and no array")
            self.kept += [(x, x.read()) for x in arrays]
            return found

        return called

    def knows(self, program):
        """Whether all that other functions read is an input too, or cannot change."""
        return all(key_of(*read) in self.values or is_number(read[0]) for read in program.free)

    def imported(self, name, names=None, held=None, wanted=(), level=0):
        """What `import` gives inside of a traced function: `__import__` of libraries."""
        if level:
            raise NotSupported(f"it imports {'.' * level + name!r} while it runs")
        importlib.import_module(name)
        top, *parts = name.split(".")
        module = self.seen(sys.modules, top, sys.modules[top])
        for part in parts if wanted else ():
            module = getattr(module, part)
        return module

    def seen(self, holder, name, value):
        """What stands for the object that a name has."""
        if key_of(holder, name) in self.values:
            return self.values[key_of(holder, name)]
        if id(value) in self.own:
            return self.own[id(value)]
        if isinstance(value, np.vectorize):
            return elements.vectorized(self, value)
        if is_cached(value):
            return self.cached(value)
        program = self.standing(value)
        if program is not None:
            return program
        if is_jitted(value):
            return value.traced(self)
        if isinstance(value, types.FunctionType) and (
            not namespace.library(value.__module__) or value.__module__ in names_of_scipy.PROGRAMS
        ):
            return self.function(value)
        if isinstance(value, type):
            return self.of_class(value) if is_copied(value) else value
        if isinstance(value, types.ModuleType):
            if value.__name__.partition(".")[0] in namespace.REFUSED:
                return namespace.Forbidden(value.__name__)
            if value.__name__ == "ckernels" or value.__name__.startswith("ckernels.compat."):
                return namespace.HandleModule(self.trace, value)
            return value if namespace.library(value) else UserModule(self, value)
        if namespace.takes_handles(value):
            return namespace.with_handles(self.trace, value)
        return self.numpy.taking_lists(value)

    def standing(self, value):
        """The program that stands for an object of SciPy or of np.linalg, or None."""
        if id(value) not in self.scipy:
            return None
        if id(value) not in self.own:
            self.own[id(value)] = names_of_scipy.standing(self, *self.scipy[id(value)])
        return self.own[id(value)]

    def given(self, function):
        """What stands for a function among the arguments; it is told from others by `given_as`. Or
        for a class."""
        if isinstance(function, type):
            found = self.own.get(id(function), function)
            return self.of_class(function) if is_copied(function) else found
        if id(function) in self.program.refused:
            made = self.refusing(self.program.refused[id(function)])
        elif is_jitted(function):
            made = function.traced(self)
        elif isinstance(self.standing(function), types.FunctionType):
            made = self.standing(function)
        elif namespace.library(function.__module__):
            return self.numpy.taking_lists(function)
        else:
            made = self.function(function)
        if isinstance(made, types.FunctionType):
            made.given_as = function
        return made

    @staticmethod
    def refusing(why):
        def refuse(*args, **kwargs):
            raise NotSupported(why)

        return refuse

    def function(self, original):
        """`original` with traced names."""
        if not isinstance(original, types.FunctionType):
            return original
        found = self.made.get(id(original))
        if found is not None:
            return found
        names = {"__builtins__": self.builtins, "__name__": original.__module__}
        cells = tuple(types.CellType() for _ in original.__closure__ or ())
        found = transformed(original.__code__)
        code = found.code if found else original.__code__
        names.update(self.flow.names() if found else {})
        made = types.FunctionType(code, names, original.__name__, None, cells or None)
        self.made[id(original)] = made  # before its names: functions call themselves
        self.nameless.append((original, made))
        if self.values is not None:
            self.give_names()
        return made

    def give_names(self):
        while self.nameless:
            original, made = self.nameless.pop()
            given = {place: self.seen(d := Default(original, place), "value", d.value)
                     for place in defaults_of(original)}  # fmt: skip
            made.__defaults__ = tuple(v for p, v in given.items() if isinstance(p, int)) or None
            made.__kwdefaults__ = {p: v for p, v in given.items() if not isinstance(p, int)} or None
            for name in names_of(original.__code__).read:
                if name in original.__globals__:
                    value = original.__globals__[name]
                    made.__globals__[name] = self.seen(original.__globals__, name, value)
            for name, cell, old in zip(made.__code__.co_freevars, made.__closure__ or (),
                                       original.__closure__ or ()):  # fmt: skip
                value = old.cell_contents
                if name != "__class__":  # from which `super` goes on: over bases that are traced
                    value = self.seen(old, "cell_contents", value)
                cell.cell_contents = value


class UserModule:
    """A module of the user's: its functions are traced; its data is an input where code reads it by
    name."""

    def __init__(self, build, module):
        self.__dict__.update(_build=build, _module=module)

    @property
    def given_as(self):
        return self._module

    def __getattr__(self, name):
        module, build = self._module, self._build
        value, place = getattr(module, name), (vars(module), name)
        if key_of(*place) in build.values:
            return build.seen(*place, value)
        kinds = (types.FunctionType, types.BuiltinFunctionType, type, types.ModuleType, np.ufunc)
        if not isinstance(value, kinds) and not is_jitted(value):
            raise NotSupported(f"{module.__name__}.{name} is data of another module, which a "
                               "trace would not see change; import the name")  # fmt: skip
        if isinstance(value, types.FunctionType) and not namespace.library(value.__module__) and (
            not build.knows(Reads(value))
        ):  # fmt: skip
            raise NotSupported(f"{module.__name__}.{name} reads names that may change")
        build.program.add_late(*place, value)
        return build.seen(*place, value)

    def __setattr__(self, name, value):
        raise NotSupported(f"it assigns to {self._module.__name__}.{name}")
