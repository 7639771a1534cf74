"""One program in a process of its own: right or not, and times. Prints one line of JSON.

A crash, a loop without end or a lack of memory costs one row of the table. Times are processor
times, of the process and of the compilers that it starts; the least of several turns, in which
NumPy and the others alternate.
"""

import copy
import dataclasses
import json
import resource
import sys
import time
import warnings

import numpy as np

from .programs import program

CLOSE = {"f2": 1e-2, "f4": 2e-4, "c8": 2e-4, "f8": 1e-6, "c16": 1e-6}


def spent():
    """Seconds of CPU of this process and of its children that have ended."""
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(r.ru_utime + r.ru_stime for r in found)


def timed(function, arguments):
    """(seconds of CPU, what the call left: its result and its arguments)."""
    given = copy.deepcopy(arguments)
    start = time.process_time()
    result = function(*given)
    return time.process_time() - start, (result, given)


def difference(a, b, where="result", close=0.0):
    """What tells `b` from `a`, of NumPy, in words; None where they are the same. `close` is the
    least error that is allowed, of programs that mix precisions."""
    if type(a) is type(b) and dataclasses.is_dataclass(a):
        a, b = vars(a), vars(b)
    if isinstance(a, dict) and isinstance(b, dict):
        if list(a) != list(b):
            return f"{where}: keys {list(b)} for {list(a)}"
        a, b = list(a.values()), list(b.values())
    if isinstance(a, (tuple, list)):
        if type(a) is not type(b) or len(a) != len(b):
            return f"{where}: {type(b).__name__} for {type(a).__name__}"
        found = (difference(x, y, f"{where}[{i}]", close) for i, (x, y) in enumerate(zip(a, b)))
        return next((f for f in found if f), None)
    if type(a) is not type(b):
        return f"{where}: {type(b).__name__} for {type(a).__name__}"
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype != y.dtype or x.shape != y.shape:
        return f"{where}: {y.dtype}{y.shape} for {x.dtype}{x.shape}"
    if x.dtype.kind not in "fc":
        return None if np.array_equal(x, y) else f"{where}: other values"
    if not np.array_equal(np.isfinite(x), np.isfinite(y)):
        return f"{where}: NaN or inf elsewhere"
    x, y = np.where(np.isfinite(x), x, 0), np.where(np.isfinite(y), y, 0)
    scale = np.abs(x).max(initial=0) or 1.0
    error = np.linalg.norm((x / scale - y / scale).ravel())
    error /= np.linalg.norm((x / scale).ravel()) or 1.0
    return None if error <= max(close, CLOSE[x.dtype.str[1:]]) else f"{where}: error {error:.1e}"


def unsteady(plain, arguments, kept, left):
    """Whether NumPy's own result moves about as much as `left` does from it, where arguments move
    by a rounding: of a program that is chaotic more cannot be asked."""
    eps = np.finfo(float).eps
    moved = [a * (1 + eps * (np.arange(a.size).reshape(a.shape) % 2))
             if isinstance(a, np.ndarray) and a.dtype == float else a
             for a in arguments]  # fmt: skip
    return distance(kept, left) <= 10 * distance(kept, timed(plain, moved)[1])


def distance(a, b):
    """The largest relative error of any array of floats in two equal nestings."""
    if isinstance(a, (tuple, list)):
        return max((distance(x, y) for x, y in zip(a, b)), default=0.0)
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype.kind not in "fc" or not np.isfinite(x).all() or not np.isfinite(y).all():
        return 0.0
    return float(np.linalg.norm((x - y).ravel()) / (np.linalg.norm(x.ravel()) or 1.0))


def made(who, folder, name, preset, plain):
    """The functions to time of `who`: ckernels or a peer."""
    if who == "ckernels":
        import ckernels as ck

        return [ck.jit(plain)]
    functions, _ = program(folder, name, preset, who)
    if who == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
        return [jax_call(f) for f in functions]
    return functions


def jax_call(function):
    import jax

    def call(*arguments):
        return jax.block_until_ready(function(*arguments))

    return call


def row(folder, name, preset, who, budget):
    """The row of the table as a dict."""
    np.seterr(all="ignore")
    (plain,), make = program(folder, name, preset)
    arguments = make()
    best, kept = timed(plain, arguments)
    found = {"name": name, "preset": preset, "who": who, "numpy": best, "time": None}
    notes = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for function in made(who, folder, name, preset, plain):
            start = spent()
            try:
                _, left = timed(function, arguments)
            except Exception as problem:  # of a peer: says so in its row
                found["wrong"] = f"{type(problem).__name__}: {str(problem)[:120]}"
                continue
            first = spent() - start
            wrong = difference(kept, left) if who == "ckernels" else None
            if wrong and ": error" in wrong and unsteady(plain, arguments, kept, left):
                wrong = None
            found.update({"wrong": wrong, "first": first})
            turns(found, plain, function, arguments, budget)
            notes += list(getattr(function, "report", dict)().get("numpy", ()))
    notes += [str(w.message) for w in caught if "runs in NumPy" in str(w.message)]
    found["notes"] = notes[:1]
    return found


def turns(found, plain, function, arguments, budget):
    """Times of NumPy and of `function` in turns, within `budget` seconds of CPU."""
    end, count = time.process_time() + budget, 0
    while count < 3 or time.process_time() < end and count < 50:
        mine = timed(function, arguments)[0]
        found["time"] = min(mine, found["time"] or mine)
        if count < 2 or found["numpy"] < budget / 4:
            found["numpy"] = min(found["numpy"], timed(plain, arguments)[0])
        count += 1
        if time.process_time() > end + 2 * budget:
            break


if __name__ == "__main__":
    folder, name, preset, who, budget = sys.argv[1:]
    print(json.dumps(row(folder, name, preset, who, float(budget))))
