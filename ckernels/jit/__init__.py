"""jit: plain NumPy functions as compiled ones, with gradients: `import ckernels as ck; @ck.jit`.

The module is the decorator itself and carries the transforms: ck.jit.grad, ck.jit.vmap ...;
`from ckernels.jit import jit, grad` is the same. NumPy's meaning is kept; what cannot be traced
runs in NumPy.
"""

import sys
import types

from ..base.errors import UsageError, did_you_mean, options_of
from .function import OPTIONS, Jitted
from .transform import (
    Transformed,
    grad,
    hessian,
    jacobian,
    jvp,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)

__all__ = ["jit", "grad", "value_and_grad", "jacobian", "hessian", "jvp", "vjp", "vmap",
           "stop_gradient"]  # fmt: skip


def jit(f=None, *, static=(), background=False, strict=False, check=None):
    """`f`, a function of plain NumPy code, compiled for what it is called with.

    Its first call with new dtypes, ranks or small sizes traces it and compiles; later ones run
    fused C on all threads, for sizes above 8 without a trace for each. Results, dtypes and scalars
    are NumPy's; what the function stores into its arguments is stored; names of modules and
    closures are read at each call. What cannot be traced runs in NumPy, with one note that says
    why and where, and is counted in `f.report()`.

    Parameters
    ----------
    f : function, optional
        What to compile; without it the result is a decorator.
    static : str or int or sequence of them
        Names or positions of arguments of kinds that are not traced, as a frozenset or a fraction:
        the trace is for their value. Arrays and numbers among them stay inputs.
    background : bool
        Whether NumPy answers while a first call is traced and compiled in a thread; the last bits
        of results may then differ between calls. `f.wait()` waits for the thread.
    strict : bool
        Whether what cannot be traced is an error.
    check : {None, "nan"}
        With "nan", NaN and inf are errors that say where they began.

    Returns
    -------
    function
        With the methods `report()`, what was traced and what runs in NumPy and why, `explain()`,
        what was compiled, `source()`, the Python that was traced, `wait()`, and `address(...)`, a
        C function pointer.

    Raises
    ------
    NotSupported
        By a call, with `strict`, where it cannot be traced.
    NonFiniteError
        By a call, with `check`.

    Notes
    -----
    Not kept: NumPy's warnings about values (divide by zero), and strides of results.

    Examples
    --------
    >>> from ckernels.jit import jit
    >>> @jit
    ... def smooth(x):
    ...     y = x.copy()
    ...     y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
    ...     return y
    >>> smooth(np.array([0.0, 3.0, 0.0, 3.0]))
    array([0., 1., 2., 3.])
    """
    options = {"static": static, "background": background, "strict": strict, "check": check}
    if f is None:
        return lambda function: jit(function, **options)
    if isinstance(f, Transformed):  # compiled as it is
        return f.with_options(**options) if any(options.values()) else f
    return Jitted(f.function if type(f) is Jitted else f, **options)


class _Decorator(types.ModuleType):
    """The module as what it is named after."""

    def __call__(self, f=None, **options):
        known = options_of(jit)[1:]
        for name in sorted(options.keys() - set(known)):
            hint = f": {OPTIONS[name]};" if name in OPTIONS else did_you_mean(name, known) or ";"
            raise UsageError(f"ck.jit has no option {name!r}{hint} it knows {', '.join(known)}")
        return jit(f, **options)


_Decorator.__call__.__doc__ = jit.__doc__
jit_module = sys.modules[__name__]
jit_module.__class__ = _Decorator
