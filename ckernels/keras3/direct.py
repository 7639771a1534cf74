"""Eager functions with nothing around them: no frame of Python, no warnings that take a scope.

Small arrays take a ufunc 0.4 us, a frame of Python 0.1 and NumPy's scope of errors 0.8.
"""

import contextvars

import numpy as np

from ..base.doors import guarded
from ..base.native import runtime

SILENT = {
    *(np.negative, np.absolute, np.isnan, np.isfinite, np.isinf, np.floor, np.ceil, np.invert),
    *(np.equal, np.not_equal, np.greater, np.greater_equal, np.less, np.less_equal),
    *(np.maximum, np.minimum, np.logical_and, np.logical_or, np.logical_xor),
    *(np.bitwise_and, np.bitwise_or, np.bitwise_xor),
    *(np.any, np.all, np.max, np.min, np.array),
}  # functions that never warn: the scope that keeps warnings away takes longer than small arrays do


NUMPY_2 = not np.__version__.startswith("1.")  # what warns is said by a context, and ints are weak


def _context():
    """One in which NumPy does not warn; None where the thread says what warns."""
    context = contextvars.Context()
    if NUMPY_2:
        context.run(np.seterr, all="ignore")
    return context if NUMPY_2 else None


CONTEXT = _context()


def quiet(eager):
    """`eager` without warnings of overflow and of what is no number."""
    if eager in SILENT:
        return eager
    if CONTEXT is None:
        return np.errstate(all="ignore")(eager)
    return lambda *xs, **more: CONTEXT.copy().run(eager, *xs, **more)


def direct(eager, other, kept, few=(), count=1):
    """`other`, past Python for arrays of one dtype, or one and a number, of which it is `eager`.

    eager: a ufunc, or None for the array itself. few: dtypes of which only small arrays go there.
    """
    loud = eager is not None and eager not in SILENT
    if runtime is None or (loud and CONTEXT is None):
        return other
    sets = [sum(1 << d.num for d in dtypes) for dtypes in (kept, few)]
    said = guarded(other, other.__name__)  # what fails is asked again, and says with what
    made = runtime.Direct(eager, said, *sets, count, CONTEXT if loud else None, NUMPY_2)
    made.__wrapped__ = other
    return named(made, other.__name__)


def named(function, name):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"keras.ops.{name} of arrays and traced values."
    return function
