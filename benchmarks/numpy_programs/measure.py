"""One program at one size beside NumPy, numba, JAX and numexpr: right or not, and times in turns.

Each call gets copies of the arguments, made before the clock runs. Times are processor times of one
thread, the least of turns that alternate; first calls count compilers. numba and JAX get the same
source: numba as it is, JAX over `jax.numpy`; where they refuse it, they have no time. Who refused
at one size is not asked again.
"""

import copy
import time
import types
import warnings

import numpy as np

from ..breadth.measure import difference as roughly
from ..breadth.measure import over, spent
from ..npbench.child import difference
from . import adapted

TURNS, LEAST = 0.5, 3  # seconds of all turns of one library, and how many there are at least
DTYPES = ("float64", "float32", "int64")


def arguments(program, size, dtype="float64"):
    """The arguments of a program; its arrays of floats are of this dtype, ints are tenths."""
    given = program.make(np.random.default_rng(5), size)
    return tuple(of_dtype(x, dtype) for x in given)


def of_dtype(x, dtype):
    if not isinstance(x, np.ndarray) or x.dtype != np.float64:
        return x
    return np.round(10 * x).astype(dtype) if np.dtype(dtype).kind == "i" else x.astype(dtype)


def done(function, given):
    """(seconds of CPU, what a call left: its result or its error, and its arguments)."""
    given = copy.deepcopy(given)
    start = time.process_time()
    try:
        result = function(*given)
    except Exception as problem:  # of NumPy too, where a dtype does not do: then both have it
        return 0.0, (type(problem).__name__, given)
    return time.process_time() - start, (result, given)


def compared(program, jitted, size, dtype):
    """What tells a call of `jitted` from NumPy's, arguments included, in words; or None."""
    given = arguments(program, size, dtype)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted, got = done(program.function, given)[1], done(jitted, given)[1]
    return difference(wanted, got, close=1e-4 if dtype == "float32" else 0.0)


def ours(program):
    import ckernels as ck

    return ck.jit(program.function)


def numba_call(program):
    import numba

    def compiled(function, found):
        """A function by numba, and before it those of its module that it calls."""
        if function not in found:
            own = dict(function.__globals__)
            found[function] = numba.njit(types.FunctionType(
                function.__code__, own, function.__name__, function.__defaults__
            ))  # fmt: skip
            for name in function.__code__.co_names:
                value = own.get(name)
                if isinstance(value, types.FunctionType) and value.__module__.startswith(
                    __package__
                ):
                    own[name] = compiled(value, found)
        return found[function]

    return compiled(program.function, {})


def jax_call(program):
    import jax

    jax.config.update("jax_enable_x64", True)
    given = program.make(np.random.default_rng(5), program.sizes[0])
    static = [k for k, x in enumerate(given) if not isinstance(x, (np.ndarray, float))]
    function = jax.jit(over(program.function, jax.numpy, {}), static_argnums=static)
    return lambda *given: jax.block_until_ready(function(*given))


MAKERS = {
    "ckernels": ours,
    "numba": numba_call,
    "jax": jax_call,
    "numexpr": lambda program: getattr(adapted, program.name),
}


def makers(program, people):
    """The functions of `people` for a program, of those that have one."""
    found = {}
    for who in people:
        if who != "numexpr" or hasattr(adapted, program.name):
            found[who] = MAKERS[who](program)
    return found


def row(program, size, functions):
    """{"seconds": {who: seconds}, "first": {who: seconds}, "wrong": {who: words}, "numpy": words};
    who is wrong, or refuses, is taken out of `functions`."""
    given = arguments(program, size)
    found = {"name": program.name, "field": program.field, "size": size}
    found.update(seconds={}, first={}, wrong={})
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = done(program.function, given)[1]
        for who, function in list(functions.items()):
            start = spent()
            got = done(function, given)[1]
            found["first"][who] = spent() - start
            wrong = judged(who, wanted, got)
            if wrong:
                found["wrong"][who] = wrong[:150]
                if who != "ckernels":
                    functions.pop(who)
        found["seconds"] = in_turns({"numpy": program.function, **functions}, given)
    if "ckernels" in functions:
        found["numpy"] = next(iter(functions["ckernels"].report()["numpy"]), "")
    return found


class Close:
    close = 1e-6  # what is allowed to peers


def judged(who, wanted, got):
    """What is wrong with a call, in words; peers may have other dtypes and kinds of scalars."""
    if who == "ckernels":
        return difference(wanted, got)
    if isinstance(got[0], str):
        return got[0]
    try:
        return roughly(Close, got[0], wanted[0])
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"


def in_turns(functions, given):
    """The least time of each function, of turns that alternate."""
    best, all_of = dict.fromkeys(functions, float("inf")), dict.fromkeys(functions, 0.0)
    for count in range(2000):
        for who, function in functions.items():
            if count < LEAST or all_of[who] < TURNS:
                mine = done(function, given)[0]
                best[who], all_of[who] = min(best[who], mine), all_of[who] + mine
        if count >= LEAST and min(all_of.values()) >= TURNS:
            break
    return best
