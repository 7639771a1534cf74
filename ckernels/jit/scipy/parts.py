"""What functions of SciPy are written with, beside NumPy: solutions with triangles, and refusals.

These are called as they are, with traced arrays; all else in this folder is traced as a user's
function is.
"""

import numpy as np

from ... import ops
from ...base.errors import NotSupported
from ...numpy.value import result
from ..maybe import leaves_of
from ..number import pinned

FLOATS = ("float32", "float64")


def unserved(what):
    """End the trace: the call is SciPy's."""
    raise NotSupported(f"{what} is SciPy's")


def is_traced(args, kwargs):
    """Whether something of arguments is part of a trace."""
    return any(hasattr(x, "owner") for x in leaves_of([*args, *kwargs.values()]))


def owner_of(*arrays):
    return next(x.owner for x in arrays if hasattr(x, "owner"))


def built(build, *arrays):
    """build(nodes of arrays) as values."""
    owner = owner_of(*arrays)
    return result(owner, build(*[owner.array(x).read() for x in arrays]), False)


def matrix(a, square=False, finite=True):
    """A matrix of float32 or float64, as SciPy takes it. finite: it is to have no infinity and no
    NaN, for which SciPy has an error: the trace is for calls without."""
    if not hasattr(a, "owner"):
        a = np.asarray(a)
    if a.ndim != 2 or square and a.shape[0] != a.shape[1]:
        unserved(f"a matrix of shape {a.shape}")
    return numbers(a, finite)


def numbers(a, finite=True):
    """An array of float32 or float64: of doubles, where it has integers."""
    if not hasattr(a, "owner"):
        a = np.asarray(a)
    if a.dtype.kind in "iub":
        a = a.astype(np.float64)
    if a.dtype.name not in FLOATS:
        unserved(f"linear algebra of {a.dtype}")
    if finite and hasattr(a, "owner"):
        assure(np.all(np.isfinite(a)))
    return a


def assure(truth):
    """Let the trace be for calls in which `truth` holds; others are SciPy's, or NumPy's."""
    truth.owner.guard(truth.read())


def triangular(a, b, lower, trans, unit_diagonal):
    """The x with a @ x = b for one triangle of `a`."""
    if trans not in (0, 1, "N", "T"):
        unserved(f"trans={trans!r}")
    trans = trans in (1, "T")

    def solved(a, b):
        return ops.solve_triangular(a, b, bool(lower), trans, bool(unit_diagonal))

    return built(solved, a, b)


def by_factor(c, b, lower):
    """The x with a @ x = b, given the factor of Cholesky of `a`."""
    return built(lambda c, b: ops.cho_solve(c, b, bool(lower)), c, b)


def least_squares(a, b, rcond):
    """(the x with the least |a @ x - b|, the rank of a). The trace is for the number `rcond`."""
    rcond = pinned(rcond)
    if rcond == -1:
        rcond = float(np.finfo(a.dtype).eps)
    return built(lambda a, b: ops.lstsq(a, b, rcond)[::2], a, b)


def exponential(a):
    """The matrix exponential."""
    return built(ops.expm, a)


def fast_length(count):
    """The least even product of 2, 3 and 5 that is no less than `count`: of fast transforms."""
    best = 2 ** max(count - 1, 1).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            two = max(-(-count // three) - 1, 1).bit_length()
            best = min(best, three * 2**two)
            three *= 3
        five *= 5
    return best
