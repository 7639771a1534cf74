"""Calls of public functions with arguments that are none: what test_bad_arguments.py draws.

Each call starts from arguments that fit by their names, of which some are replaced. What comes out
is a result or an exception of ckernels that names the caller's line; anything else is a finding.
"""

import functools
import inspect
import warnings

import numpy as np

import ckernels as K
from ckernels.errors import CKernelsError

# They forget what tests are made of, or replace libraries; the others are helpers of their files.
LEFT_OUT = ("clear_session", "install", "reset_uids", "check_hint", "register_hook", "hook",
            "wrap", "standing_for")  # fmt: skip
STATE = ("floatx", "epsilon", "image_data_format", "intx")
# Python's own words for a call that does not fit a signature.
ARITY = (
    "positional argument",
    "takes no arguments",
    "function takes ",
    "keyword argument",
    "multiple values for",
    "missing required argument",
)


class Nothing:
    """An object no function knows."""


def tensors():
    """One of each kind of tensor a user may hold, by a word for it."""
    return {
        "scalar": K.placeholder((), name="s"),
        "vector": K.placeholder((3,), name="v"),
        "matrix": K.placeholder((3, 3), name="m"),
        "rows": K.placeholder((None, 3), name="r"),
        "images": K.placeholder((2, 4, 4, 3), name="i"),
        "whole": K.placeholder((3,), dtype="int32", name="n"),
        "mask": K.placeholder((3,), dtype="bool", name="b"),
        "sparse": K.placeholder((3, 3), sparse=True, name="p"),
        "variable": K.variable(np.ones((3, 3)), name="w"),
        "constant": K.constant([1.0, 2.0, 3.0]),
        "empty": K.placeholder((0, 3), name="e"),
    }


def odd(t):
    """Values that few arguments take. t: `tensors()`."""
    return [
        None, True, 0, 1, -1, 3, 7, -9, 0.5, -1.5, float("nan"), float("inf"), 1j,
        "a", "", "same", "float32", "valid", b"a", [], (), {}, set(), [1], (2, 3), [1.5], [None],
        ["a"], [[1], [2, 3]], [[]], (None, None), {"a": 1}, {1: 2}, {1}, range(3), slice(0, 2),
        Ellipsis, NotImplemented, Nothing, Nothing(), np, lambda: 1, lambda *a: a,
        lambda x: x, np.ones(3), np.ones((2, 0)), np.array("a"), np.array(None, object),
        np.array(["a", "b"]), np.float32(1), np.int64(-2), np.zeros(2, "datetime64[s]"),
        np.dtype("float32"), np.float32, iter([1]), (x for x in ()), 1000, -1000,
        *t.values(), [t["vector"], t["vector"]], (t["matrix"], t["vector"]), [t["vector"], None],
        {t["vector"]: 1}, t["vector"] == 0, [(t["variable"], 1)], [(t["variable"], t["matrix"])],
    ]  # fmt: skip


# Arguments by name that most functions take: several where shapes or kinds differ.
FITTING = {
    "axis": [0, -1, None], "axes": [0, (0, 1), None], "n": [2, 3], "shape": [(3, 3), (2,)],
    "size": [(3,), 2], "dtype": ["float32", "int32", None], "name": ["a", None],
    "pool_size": [(2, 2)], "strides": [(1, 1), 1], "padding": ["same", "valid"],
    "border_mode": ["same", "valid"], "data_format": ["channels_last", None],
    "dim_ordering": ["tf", "th"], "kernel_size": [(3, 3)], "seed": [1], "low": [0.0],
    "high": [1.0], "mean": [0.0], "std": [1.0], "stddev": [1.0], "level": [0.5], "p": [0.5],
    "ndim": [2], "rep": [2], "keepdims": [True, False], "pattern": [(1, 0), (0, "x", 1)],
    "fn": [lambda x: x, lambda a, b: a], "function": [lambda x: x], "step_function": [
        lambda x, h: (x, h)], "inputs": ["vectors", "rows"], "tensors": ["vectors"],
    "indices": ["whole"], "outputs": ["matrix", "vectors"], "updates": [None, []],
    "alpha": [0.1], "factor": [2], "value": [2.0, "array"], "min_value": [0.0], "max_value": [1.0],
    "k": [1], "num_classes": [3], "nb_classes": [3], "initial_states": [["matrix"]],
    "wrt": ["matrix"], "cost": ["scalar"], "loss": ["scalar"], "kernel": ["kernel"],
    "target": ["vector"], "output": ["vector"], "path": ["f.html"], "variable": ["variable"],
    "tuples": [[]], "rows": [2], "to": [3], "start": [0], "stop": [3],
}  # fmt: skip


def fitting(name, t, rng):
    """A value for the argument `name` that its function is likely to take."""
    named = FITTING.get(name)
    if named is None:
        named = ["matrix", "vector", "matrix", "images", "variable"]
    value = named[rng.integers(len(named))]
    special = {
        "vectors": [t["vector"], t["vector"]],
        "array": np.ones((3, 3)),
        "kernel": K.variable(np.ones((3, 3, 3, 2))),
    }
    if isinstance(value, list):
        return [t.get(v, v) if isinstance(v, str) else v for v in value]
    return special.get(value, t.get(value, value)) if isinstance(value, str) else value


def functions(module):
    """{name: function or class} of what users call in a module: its own, and those of K."""
    public = set(map(id, vars(K).values()))
    found = {}
    for name in getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]:
        value = getattr(module, name)
        room = str(getattr(value, "__module__", ""))
        own = room.startswith(("ckernels.compat", "ckernels.theano"))
        if callable(value) and (own or module is K or K.sparse is module or id(value) in public):
            found[name] = value
    return {n: f for n, f in found.items() if n not in LEFT_OUT}


@functools.lru_cache(None)
def parameters(function):
    """The names of the arguments of a function that may be given by position, as far as known."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(
        (p.name, p.default is p.empty)
        for p in found
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name != "self"
    )


def flags(function):
    """The names of the arguments that are True, False or None if nothing is said."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in found if isinstance(p.default, bool) or p.default is None]


def arguments(function, t, rng):
    """(args, kwargs): some fit, at least one is drawn from what is odd."""
    known = parameters(function)
    if not known:
        return [odd(t)[rng.integers(len(odd(t)))] for _ in range(rng.integers(3))], {}
    needed = sum(required for _, required in known)
    given = [(n, fitting(n, t, rng)) for n, _ in known[:needed]]
    extra = [n for n, _ in known[needed:] if rng.random() < 0.3]
    given += [(n, fitting(n, t, rng)) for n in extra]
    pool = odd(t)
    for k in rng.permutation(len(given))[: 1 + int(rng.random() < 0.3)]:
        given[k] = given[k][0], pool[rng.integers(len(pool))]
    args = [v for _, v in given[:needed]]
    return args, dict(given[needed:])


def run(function, args, kwargs, line_file=__file__):
    """None if the call gives a result or an error of ckernels with this line; else what came."""
    kept = {name: getattr(K, name)() for name in STATE}
    threads = K.get_num_threads()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with np.errstate(all="ignore"):
                made = function(*args, **kwargs)
                computed(made)
    except CKernelsError as problem:
        if problem.about_programs and (problem.line is None or problem.line[0] != line_file):
            return f"without a line: {problem!r}"
        str(problem)
    except Exception as problem:
        if not of_the_caller(problem, args, kwargs):
            return problem
    finally:
        restore(kept, threads)
    return None


def computed(made):
    """Run what a call made, in NumPy, where it is a tensor."""
    if isinstance(made, K.Tensor) and not made.node.op.name == "variable":
        inputs = [x for x in PLACES if not K.is_sparse(x)]
        f = K.function(inputs, made, mode="reference", on_unused_input="ignore")
        shapes = [tuple(2 if d is None else d for d in x.node.shape) for x in inputs]
        f(*(np.ones(shape, x.dtype) for shape, x in zip(shapes, inputs)))


def restore(kept, threads):
    for name, value in kept.items():
        getattr(K, f"set_{name}")(value)
    if K.get_num_threads() != threads:
        K.set_num_threads(threads)
    from ckernels.api import learning_phase

    learning_phase.reset()


def of_the_caller(problem, args, kwargs):
    """Whether Python itself says that a call does not fit a signature, the system that a file
    cannot be had, or code of the caller raised: functions that are arguments are called, and
    iterators asked."""
    if isinstance(problem, OSError) and isinstance(problem.filename, str):
        return True  # of a file with the name that was given
    if type(problem) is TypeError and any(words in str(problem) for words in ARITY):
        return True
    last = problem.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    return last.tb_frame.f_code.co_filename == __file__ and last.tb_frame.f_code.co_name != "run"


def place(problem):
    """Where an exception was raised: the innermost line of ckernels, as text."""
    found, at = "?", getattr(problem, "__traceback__", None)
    while at is not None:
        name = at.tb_frame.f_code.co_filename
        if "ckernels/" in name and "/tests/" not in name:
            found = f"{name.rsplit('ckernels/', 1)[1]}:{at.tb_lineno}"
        at = at.tb_next
    return found


PLACES = []
