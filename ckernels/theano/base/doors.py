"""The doors of the front end: what its functions and classes raise about their arguments.

`put_doors` is called when a program has loaded modules. An error of Python's own that one of their
public functions meets on the way, with no code of the user's in between, becomes one of ckernels:
the call as the program made it, the reason, the user's line. It stays what it was for `except`: a
KeyError remains one. What a function knows better it says itself; errors of its callers' code pass.
"""

import functools
import inspect
import os
import sys
import types

import numpy as np

from ...base.errors import ArgumentError, CKernelsError, IndexOutOfBounds, UsageError, line_at

ROOT = __package__.rpartition(".")[0]
# Classes of variables and of what makes them: all their public methods are called by programs.
METHODS = ("graph.apply", "handles.operators", "handles.sharedvar", "handles.type",
           "handles.variables")  # fmt: skip
# What programs do not call: the doors' own rooms, and what runs inside of a call of a function.
CLOSED = ("base.absent_names", "base.config", "base.doors", "base.flags", "base.hooks",
          "base.names", "user_ops.perform")  # fmt: skip
CALLED = ("classes.op", "classes.scalar", "tensor.elementwise")  # ops, which programs call
LONGEST = 60  # characters of an argument in a sentence


class _NoAttribute(UsageError, AttributeError):
    """A UsageError that was an AttributeError."""


class _Plain(Exception):
    """What prints as other exceptions do; a KeyError prints the repr of its argument."""

    __str__ = BaseException.__str__


class _NoKey(UsageError, _Plain, KeyError):
    """A UsageError that was a KeyError."""


class _TooLarge(ArgumentError, OverflowError):
    """An ArgumentError that was an OverflowError."""


MEETS = {
    TypeError: UsageError,
    ValueError: ArgumentError,
    IndexError: IndexOutOfBounds,
    AttributeError: _NoAttribute,
    KeyError: _NoKey,
    OverflowError: _TooLarge,
}
_LIBRARY, _NUMPY = (os.path.dirname(m.__file__) + os.sep for m in (os, np))
_known = {}  # {id of a function: (it, the same with a door)}
_seen = set()  # names of modules that have their doors


def put_doors():
    """Give the public functions and classes of the modules loaded since the last time a door."""
    modules = [m for name, m in list(sys.modules.items()) if _is_new(name, m)]
    for module in modules:
        _seen.add(module.__spec__.name)
        for name, value in list(vars(module).items()):
            if name[0] == "_" or getattr(value, "__module__", None) != module.__spec__.name:
                continue
            if isinstance(value, types.FunctionType):
                _known.setdefault(id(value), (value, guarded(value, name)))
            elif isinstance(value, type) and not issubclass(value, BaseException):
                _guard_class(value, module.__spec__.name[len(ROOT) + 1 :])
    for module in modules:
        for name, value in list(vars(module).items()):
            kept, door = _known.get(id(value), (None, None))
            if kept is not None and kept is value:
                setattr(module, name, door)


def _is_new(name, module):
    """Whether a module of this package is loaded to its end and has no doors yet."""
    if not name.startswith(ROOT + ".") or name in _seen or name[len(ROOT) + 1 :] in CLOSED:
        return False
    spec = getattr(module, "__spec__", None)
    return spec is not None and spec.name == name and not getattr(spec, "_initializing", False)


def _guard_class(owner, file):
    for key, method in list(vars(owner).items()):
        asked = key == "__init__" or (key == "__call__" and file in CALLED)
        if asked or (file in METHODS and key[0] != "_"):
            if isinstance(method, types.FunctionType):
                setattr(owner, key, guarded(method, key, method=True))


def guarded(function, name, method=False):
    """`function`, or a method of a class, with this door; name: what programs call it."""
    if inspect.isgeneratorfunction(function):
        return function

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except tuple(MEETS) as problem:
            kind = None if _is_inner(call.__code__) else kind_of(problem)
            if kind is None:
                raise
            called = name
            if method:
                kept, *args = args
                called = f"{type(kept).__name__}.{name}".partition(".__")[0]
            raise kind(
                f"{called}({shown(args, kwargs)}) is refused: {reason(problem)}"
            ) from problem

    if not method:  # programs look for arguments by getfullargspec, which follows no __wrapped__
        call.__signature__ = inspect.signature(function)
    return call


def _is_inner(code):
    """Whether another door is further out than the one that asks, before any code of the user's."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code is code:
            return True
        if _is_users(frame.f_code, frame.f_lasti):
            return False
        frame = frame.f_back
    return False


def kind_of(problem):
    """The error of ckernels for one of Python's own or NumPy's; None for what is to pass."""
    if isinstance(problem, CKernelsError):
        return None
    if type(problem).__module__.partition(".")[0] not in ("builtins", "numpy"):
        return None
    at = problem.__traceback__.tb_next
    if at is None:  # Python says that the arguments do not fit the signature
        return None
    while at is not None:
        if _is_users(at.tb_frame.f_code, at.tb_lasti):
            return None
        at = at.tb_next
    return next(ours for theirs, ours in MEETS.items() if isinstance(problem, theirs))


def _is_users(code, instruction):
    """Whether this is code of a program, not of ckernels, NumPy or Python's own library."""
    path = code.co_filename
    if path.startswith(("<frozen", _NUMPY, "numpy/")):  # a .pyx of NumPy's by its short name
        return False
    if path.startswith(_LIBRARY) and "site-packages" not in path:
        return False
    return line_at(code, instruction) is not None


def reason(problem):
    if isinstance(problem, KeyError):
        return f"there is no {problem.args[0]!r}" if problem.args else "there is none"
    return str(problem) or type(problem).__name__


def shown(args, kwargs):
    """The arguments of a call, each as a short text."""
    return ", ".join([*map(brief, args), *(f"{k}={brief(v)}" for k, v in kwargs.items())])


def brief(value):
    try:
        text = repr(value)
    except Exception:  # an object of the user's that cannot be printed
        text = object.__repr__(value)
    return text if len(text) <= LONGEST and "\n" not in text else f"<{type(value).__name__}>"
