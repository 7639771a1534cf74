"""One program in all libraries: the same inputs, results compared with NumPy's, times in turns.

Each library gets copies of its own, of its own kind, made before the clock runs. Times are
processor times of one thread, the least of several turns; the first call of ours counts compilers.
"""

import copy
import functools
import resource
import time
import types
import warnings

import numpy as np

from .registry import SAME

TURNS, TURN, LIMIT = 5, 0.01, 1.5  # turns, seconds of a turn, seconds of all turns of one library


def inputs(program, full=True):
    rng = np.random.default_rng(5)
    return program.make(rng, *(program.full if full else program.tiny))


def ours(program, given):
    """Our call of a program; `report` of it says where NumPy ran."""
    if program.ours:
        return program.ours(*given)
    import ckernels as ck

    function = ck.jit(program.numpy)
    call = functools.partial(function, *given)
    call.report = function.report
    return call


def torch_call(program, given):
    import torch

    torch.set_num_threads(1)
    tensors = [torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in given]

    def call():
        with torch.set_grad_enabled("gradient" in program.name):
            return program.torch(*tensors)

    return call


def over(function, space, found):
    """A copy of a function, and of those of its module that it calls, in which `np` is `space`."""
    if function not in found:
        own = dict(function.__globals__, np=space)
        found[function] = types.FunctionType(
            function.__code__, own, function.__name__, function.__defaults__, function.__closure__
        )
        for name in function.__code__.co_names:
            value = own.get(name)
            if isinstance(value, types.FunctionType) and value.__module__ == function.__module__:
                own[name] = over(value, space, found)
    return found[function]


def jax_call(program, given):
    import jax

    jax.config.update("jax_enable_x64", True)
    same = program.jax == SAME
    function = jax.jit(over(program.numpy, jax.numpy, {}) if same else program.jax)
    arrays = [jax.device_put(x) for x in given]
    return lambda: jax.block_until_ready(function(*arrays))


MAKERS = {
    "ckernels": ours,
    "numpy": lambda program, given: functools.partial(program.numpy, *given),
    "torch": torch_call,
    "jax": jax_call,
}


def leaves(result):
    """The arrays of a result, in order."""
    if isinstance(result, (list, tuple)):
        return [leaf for part in result for leaf in leaves(part)]
    return [np.asarray(result)]


def difference(program, got, wanted):
    """What tells a result from NumPy's, in words, or None."""
    got, wanted = leaves(got), leaves(wanted)
    if len(got) != len(wanted):
        return f"{len(got)} results for {len(wanted)}"
    for k, (x, y) in enumerate(zip(got, wanted)):
        if x.shape != y.shape:
            return f"result {k}: shape {x.shape} for {y.shape}"
        if y.dtype.kind not in "fc":
            if not np.array_equal(x, y):
                return f"result {k}: other values"
            continue
        finite = np.isfinite(y)
        if not np.array_equal(np.isfinite(x), finite):
            return f"result {k}: NaN or inf elsewhere"
        error = np.linalg.norm((x - y)[finite]) / (np.linalg.norm(y[finite]) or 1.0)
        if error > program.close:
            return f"result {k}: error {error:.1e}"
    return None


def spent():
    """Seconds of CPU of this process and of its children that have ended."""
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(r.ru_utime + r.ru_stime for r in found)


def turn(call, number):
    start = time.process_time()
    for _ in range(number):
        call()
    return (time.process_time() - start) / number


def row(program, people, full=True):
    """{"seconds": {who: seconds}, "first": seconds, "wrong": {who: words}, "numpy": words}."""
    given = inputs(program, full)
    found = {"name": program.name, "field": program.field, "wrong": {}, "seconds": {}}
    calls = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = program.numpy(*copy.deepcopy(given))
        for who in people:
            if who in ("torch", "jax") and getattr(program, who) is None:
                continue
            try:
                start = spent()
                calls[who] = MAKERS[who](program, copy.deepcopy(given))
                result = calls[who]()
                if who == "ckernels":
                    found["first"] = spent() - start
                wrong = difference(program, result, wanted)
            except Exception as problem:
                calls.pop(who, None)
                wrong = f"{type(problem).__name__}: {str(problem)[:200]}"
            if wrong:
                found["wrong"][who] = wrong
        report = getattr(calls.get("ckernels"), "report", dict)()
        found["numpy"] = next(iter(report.get("numpy", ())), "")
        found["seconds"] = in_turns(calls)
    return found


def in_turns(calls):
    """The least time of each call, of turns that alternate."""
    numbers, turns = {}, {}
    for who, call in calls.items():
        once = max(min(turn(call, 1) for _ in range(2)), 1e-7)
        numbers[who] = max(1, int(TURN / once))
        turns[who] = max(2, min(TURNS, int(LIMIT / once)))
    best = dict.fromkeys(calls, float("inf"))
    for k in range(TURNS):
        for who, call in calls.items():
            if k < turns[who]:
                best[who] = min(best[who], turn(call, numbers[who]))
    return best
