"""Doors of the fronts of other libraries: what their functions raise about their arguments.

An error of Python's own that a function behind a door meets on the way, with no code of others in
between, becomes one of ckernels: the call as the program made it, the reason, the user's line. It
stays what it was for `except`: a KeyError remains one. What a function knows better it says itself;
errors of its callers' code pass.
"""

import functools
import inspect
import os
import sys

import numpy as np

from .errors import ArgumentError, CKernelsError, IndexOutOfBounds, UsageError, is_ours

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


class _ByZero(ArgumentError, ZeroDivisionError):
    """An ArgumentError that was a ZeroDivisionError."""


MEETS = {
    TypeError: UsageError,
    ValueError: ArgumentError,
    IndexError: IndexOutOfBounds,
    AttributeError: _NoAttribute,
    KeyError: _NoKey,
    OverflowError: _TooLarge,
    ZeroDivisionError: _ByZero,
}
_LIBRARY, _NUMPY = (os.path.dirname(m.__file__) + os.sep for m in (os, np))


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
    """Whether another door is further out than the one that asks, before any code of others."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code is code:
            return True
        if _is_others(frame.f_code):
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
        if _is_others(at.tb_frame.f_code):
            return None
        at = at.tb_next
    return next(ours for theirs, ours in MEETS.items() if isinstance(problem, theirs))


def _is_others(code):
    """Whether this is code of a program or of a library that calls ckernels."""
    path = code.co_filename
    if path.startswith(("<frozen", _NUMPY, "numpy/")):  # a .pyx of NumPy's by its short name
        return False
    if path.startswith(_LIBRARY) and "site-packages" not in path:
        return False
    return not is_ours(path)


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
