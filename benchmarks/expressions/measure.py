"""One expression at all sizes: each library's call from NumPy arrays to NumPy arrays, on one
thread; processor times, the least of turns in which all alternate."""

import sys
import time
import warnings

import numpy as np

from ..breadth.measure import spent

TURNS, LEAST = 0.15, 3  # seconds of all turns of one library at a size, and how many at least
BATCH = 20e-6  # seconds of one turn at least: more calls where one is shorter


def jitted(expression):
    import ckernels as ck

    return ck.jit(expression.function(np))


def evaluated(expression):
    import ckernels as ck

    return over_names(expression, lambda names: ck.evaluate(expression.text, names))


def over_names(expression, call):
    names = list(expression.kinds)
    return lambda *given: call(dict(zip(names, given)))


def by_numexpr(expression):
    import numexpr

    numexpr.set_num_threads(1)
    return over_names(expression, lambda names: numexpr.evaluate(expression.text, names))


def by_numba(expression):
    import numba

    numba.set_num_threads(1)
    return numba.njit(parallel=True)(expression.function(np))


def by_jax(expression):
    import jax

    jax.config.update("jax_enable_x64", True)
    function = jax.jit(expression.function(jax.numpy))
    return lambda *given: np.asarray(function(*given))


def by_torch(expression):
    import torch

    torch.set_num_threads(1)
    function = torch.compile(expression.function(torch))

    def call(*given):
        given = [torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in given]
        return function(*given).numpy()

    return call


MAKERS = {"jit": jitted, "evaluate": evaluated, "numexpr": by_numexpr, "numba": by_numba,
          "jax": by_jax, "torch": by_torch}  # fmt: skip
OURS = ("jit", "evaluate")


def wrong(who, got, wanted):
    """What tells a result from NumPy's, in words, or None; peers may have other dtypes."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    if who == "jit" and got.dtype != wanted.dtype:
        return f"{got.dtype} for {wanted.dtype}"
    if got.shape != wanted.shape:
        return f"shape {got.shape} for {wanted.shape}"
    close = 1e-4 if wanted.dtype in (np.float32, np.complex64) else 1e-9
    if who not in OURS and not wanted.ndim and wanted.dtype == np.float32:
        close = 0.02  # sums one after the other
    same = np.allclose(got, wanted, rtol=close, atol=close)
    return None if same else "other values"


def rows(expression, people, sizes):
    """A row for each size: {"seconds": {who: seconds}, "first": .., "wrong": ..}."""
    plain, found = expression.function(np), []
    functions = {who: MAKERS[who](expression) for who in people}
    for size in sizes:
        given = list(expression.arguments(size).values())
        row = {"name": expression.name, "size": size, "first": {}, "wrong": {}}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            wanted = plain(*given)
            for who, function in list(functions.items()):
                start = spent()
                try:
                    told = wrong(who, function(*given), wanted)
                except Exception as problem:
                    told = f"{type(problem).__name__}: {problem}"[:120]
                row["first"][who] = spent() - start
                if told:
                    row["wrong"][who] = told
                    functions.pop(who)
            row["seconds"] = in_turns({"numpy": plain, **functions}, given)
        found.append(row)
        print(expression.name, size, {w: f"{s * 1e6:.2f}" for w, s in row["seconds"].items()},
              row["wrong"], file=sys.stderr, flush=True)  # fmt: skip
    return found


def turn(function, given, number):
    start = time.process_time_ns()
    for _ in range(number):
        function(*given)
    return (time.process_time_ns() - start) / number * 1e-9


def in_turns(functions, given):
    """The least seconds of a call of each function."""
    numbers = {}
    for who, function in functions.items():
        turn(function, given, 2)
        numbers[who] = max(1, int(BATCH / max(turn(function, given, 1), 1e-7)))
    best, all_of = dict.fromkeys(functions, float("inf")), dict.fromkeys(functions, 0.0)
    for count in range(3000):
        for who, function in functions.items():
            if count < LEAST or all_of[who] < TURNS:
                mine = turn(function, given, numbers[who])
                best[who] = min(best[who], mine)
                all_of[who] += mine * numbers[who]
        if count >= LEAST and min(all_of.values()) >= TURNS:
            break
    return best
