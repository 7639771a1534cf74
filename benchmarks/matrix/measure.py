"""One cell: the same arrays through ours and NumPy (torch, JAX where asked for), in turns.

CPU time on one thread, wall time on two. The best of several turns counts, as in the benchmarks.
"""

import importlib
import time
import warnings

import numpy as np

import ckernels as K

from .layouts import BESIDE, LAYOUTS

TURNS, TURN = 5, 0.002  # seconds of a turn


def arrays(layout, dtype, count):
    """The operands of a cell; the same ones whenever it is run."""
    rng = np.random.default_rng(17)

    def make(shape):
        if dtype == "bool":
            return rng.integers(0, 2, shape).astype(bool)
        if dtype.startswith(("int", "uint")):
            return np.asarray(rng.integers(1, 100, shape), dtype)
        return np.asarray(rng.uniform(0.1, 0.9, shape), dtype)

    return LAYOUTS[layout](make, count)


def cells(operations, layouts, types):
    """(operation, layout, dtype) of all cells that have a meaning."""
    for op in operations:
        for layout in layouts:
            if op.operands == 1 and layout in BESIDE:
                continue  # a cell of its first operand is there already
            given = arrays(layout, "bool", op.operands)
            if given[0].ndim < op.least or op.alike and len({x.shape for x in given}) > 1:
                continue
            for dtype in types:
                if dtype in op.dtypes:
                    yield op, layout, dtype


def ours(op, given):
    """The compiled function of a cell, for arrays of any size."""
    inputs = [K.placeholder((None,) * x.ndim, dtype=x.dtype.name) for x in given]
    return K.function(inputs, op.ours(*inputs))


def holds(name, x):
    """Whether a peer can have this array as it lies: others would be asked about a copy."""
    if name == "jax":  # its arrays are C-contiguous and aligned
        return x.flags.c_contiguous and x.flags.aligned
    return name != "torch" or min(x.strides, default=1) >= 0


def peer(name, op, given):
    """A call of a peer."""
    xp = importlib.import_module({"jax": "jax.numpy"}.get(name, name))
    if name == "torch":
        given = [xp.from_numpy(x) for x in given]
    if name == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)  # else float64 is float32 there
        given, call = [xp.asarray(x) for x in given], jax.jit(lambda *a: op.peer(xp, *a))
        return lambda: call(*given).block_until_ready()
    return lambda: op.peer(xp, *given)


def turn(call, number, clock):
    start = clock()
    for _ in range(number):
        call()
    return (clock() - start) / number


def measured(op, layout, dtype, peers=("numpy",), threads=1):
    """{"ckernels": seconds, peer: seconds}; a peer that lacks the operation is missing."""
    given = arrays(layout, dtype, op.operands)
    function, clock = ours(op, given), time.process_time if threads == 1 else time.perf_counter
    calls = {"ckernels": lambda: function(*given)}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = np.asarray(function(*given))
        for name in peers:
            if not all(holds(name, x) for x in given):
                continue
            call = peer(name, op, given)
            try:
                found = call()
            except (AttributeError, TypeError, ValueError, RuntimeError, NotImplementedError):
                continue
            if name == "numpy":
                agree(op, layout, dtype, result, found)
            elif np.shape(found) != result.shape:
                continue  # another operation of that name, as torch.equal, which is one truth
            calls[name] = call
        numbers = {}
        for name, call in calls.items():
            once = turn(call, 1, time.perf_counter)
            numbers[name] = max(1, int(TURN / max(once, 1e-7)))
        best = dict.fromkeys(calls, float("inf"))
        for _ in range(TURNS):
            for name, call in calls.items():
                best[name] = min(best[name], turn(call, numbers[name], clock))
    return best


def agree(op, layout, dtype, result, wanted):
    wanted = np.asarray(wanted)
    close = np.allclose(result, wanted, 1e-3, 1e-3, equal_nan=True)
    if result.shape != wanted.shape or not close:
        raise AssertionError(f"{op.name} {layout} {dtype}: not what NumPy computes")
