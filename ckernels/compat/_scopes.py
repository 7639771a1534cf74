"""Names inside scopes, as Keras's weight files carry them: 'dense_1/kernel:0'.

A scope or a variable whose name is taken gets a number, as TensorFlow gave it one, so names are
unique until `reset`. The stack of open scopes also tells which layer is being built.
"""

import contextlib
import threading

from ..base import given, locks

_lock = locks.lock()
_taken = {}
_open = threading.local()


def _stack():
    """[(full name with numbers, name as given)] of this thread's open scopes."""
    if not hasattr(_open, "stack"):
        _open.stack = []
    return _open.stack


def _unique(name):
    with _lock:
        count = _taken.get(name, 0)
        unique = name
        while unique in _taken:
            unique, count = f"{name}_{count or 1}", (count or 1) + 1
        _taken[name] = count
        _taken.setdefault(unique, 0)
    return unique


@contextlib.contextmanager
def name_scope(name):
    """Put `name` and a slash before the names of the variables made inside."""
    stack = _stack()
    outer = stack[-1][0] if stack else ""
    full = _unique(outer + name) + "/" if name else ""
    stack.append((full, name))
    try:
        yield full
    finally:
        stack.pop()


def variable_name(name):
    """The unique name of a new variable in the open scope; None: 'Variable'."""
    stack = _stack()
    name = given.name(name) or "Variable"
    if name.endswith(":0"):  # made from the name of another variable
        name = name[:-2]
    return _unique((stack[-1][0] if stack else "") + name) + ":0"


def doing():
    """The names of the open scopes, outermost first, 'model_1/dense_2': what is being built."""
    return "/".join(name for _, name in _stack() if name)


def reset():
    """Forget all names that were taken."""
    with _lock:
        _taken.clear()
