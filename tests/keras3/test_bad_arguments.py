"""Arguments that are none, for every function of keras.ops: exceptions of ckernels or of Keras.

Each call starts from arguments that fit by their names, of which one is replaced; on arrays, and in
a traced step. `make keras3` draws a call of each; CKERNELS_TESTS_CASES says how many in all.
"""

import inspect
import os
import warnings

import keras
import numpy as np
import pytest
from keras import ops

from ckernels.errors import CKernelsError
from ckernels.keras3 import jit

COUNT = int(os.environ.get("CKERNELS_TESTS_CASES", 0))
MATRIX = np.arange(9, dtype="float32").reshape(3, 3) + 1
ARRAYS = (MATRIX, np.arange(3, dtype="float32"), np.array([0, 1, 2], "int32"),
          np.array([False, True, True]), np.ones((2, 4, 4, 3), "float32"))  # fmt: skip
FUNCTIONS = {
    name: function
    for name, function in vars(ops).items()
    if inspect.isfunction(function) and name[0] != "_"
}


class Nothing:
    """An object no function knows."""


def odd(given):
    """Values that few arguments take; given: the arrays, or the tensors that stand for them."""
    return [
        None, True, 0, 1, -1, 3, 7, -9, 0.5, -1.5, float("nan"), float("inf"), 1j, "a", "", "same",
        "float32", b"a", [], (), {}, [1], (2, 3), [1.5], [None], ["a"], [[1], [2, 3]], [[]],
        (None, None), {"a": 1}, range(3), slice(0, 2), Ellipsis, Nothing, Nothing(), lambda x: x,
        np.ones((2, 0)), np.array("a"), np.array(None, object), np.float32(1), np.int64(-2),
        np.dtype("float32"), 1000, -1000, 2**70, *given, [given[0], given[1]], [given[1], None],
        keras.KerasTensor((3, 3)), keras.Variable(MATRIX),
    ]  # fmt: skip


FITTING = {
    "axis": [0, -1, None], "shape": [(3, 3), (9,)], "dtype": ["float32", "int32"],
    "axes": [(0, 1), None], "num_classes": [3], "k": [1], "pool_size": [2], "strides": [1],
    "padding": ["same", "valid"], "num": [3], "start": [0], "stop": [3], "size": [(2, 2)],
    "n": [2], "repeats": [2], "newshape": [(9,)], "pad_width": [((1, 1), (1, 1))],
    "fn": [lambda x: x], "f": [lambda a, b: (a, b)], "sections": [3],
    "kernel": [np.ones((3, 3, 3, 2), "float32")],
}  # fmt: skip
BY_PLACE = {"indices": 2, "segment_ids": 2, "condition": 3, "images": 4}


def fitting(name, given, rng):
    """A value for the argument `name` that its function is likely to take."""
    if name == "xs":
        return [given[0], given[0]]
    if name in FITTING:
        return FITTING[name][rng.integers(len(FITTING[name]))]
    return given[BY_PLACE.get(name, (0, 0, 1, 1, 4)[rng.integers(5)])]


def drawn(function, given, seed):
    """Keywords for a call: all that are required and some others, of which one is odd."""
    rng = np.random.default_rng(seed)
    named = [
        p
        for p in inspect.signature(function).parameters.values()
        if p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    names = [p.name for p in named if p.default is p.empty or rng.random() < 0.3]
    if not names:
        return {}
    found = {name: fitting(name, given, rng) for name in names}
    pool = odd(given)
    found[names[rng.integers(len(names))]] = pool[rng.integers(len(pool))]
    return found


def is_ours_to_say(problem):
    """Whether an exception is none of ckernels, and none that Keras or a caller's function raised
    or met behind the last line of ckernels."""
    whose, at = "", problem.__traceback__
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        if "/ckernels/" in file and "/tests/" not in file:
            whose = "ckernels"
        elif "/keras/" in file or "/tests/" in file:
            whose = "others"
        at = at.tb_next
    again = str(problem).startswith("Exception encountered when calling")  # of Keras
    return whose == "ckernels" and not again and not isinstance(problem, CKernelsError)


def finding(name, seed, traced):
    """What is wrong with what a call raises, or None."""
    given = []

    def call(*arrays):
        given[:] = [drawn(FUNCTIONS[name], arrays, seed)]
        return FUNCTIONS[name](**given[0])

    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (jit(call) if traced else call)(*ARRAYS)
    except Exception as problem:
        if is_ours_to_say(problem):
            return f"{name}({given!r:.300}), seed {seed}, traced {traced}: {problem!r:.200}"
    return None


def test_every_function(new_seed):
    rounds = max(1, -(-COUNT // (2 * len(FUNCTIONS))))
    first = new_seed if COUNT else 7
    assert len(FUNCTIONS) > 250
    found = [
        finding(name, first + n, traced)
        for n in range(rounds)
        for name in FUNCTIONS
        for traced in (False, True)
    ]
    found = [line for line in found if line]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "call, error, sentence",
    [
        (lambda: ops.unstack(MATRIX, axis=-1000), IndexError, r"unstack\(.* is refused"),
        (
            lambda: ops.adaptive_max_pool(ARRAYS[4], 2**70),
            MemoryError,
            "parts along axis 1 fits into",
        ),
        (lambda: ops.trapezoid(1), ZeroDivisionError, r"trapezoid\(1.* is refused"),
    ],
)
def test_sentences(call, error, sentence):
    with pytest.raises(error, match=sentence) as caught:
        call()
    assert isinstance(caught.value, CKernelsError) and caught.value.line[0] == __file__


def test_an_axis_that_a_number_lacks_is_named_by_keras():
    with pytest.raises(ValueError, match="axis -1 is out of bounds for an array with dimension 0"):
        ops.glu(-9)


def test_errors_of_code_of_others_pass():
    def step(carry, x):
        raise KeyError("mine")

    for call in (
        lambda: ops.scan(step, ARRAYS[1], MATRIX),
        lambda: ops.map(lambda x: step(x, x), MATRIX),
    ):
        with pytest.raises(KeyError) as caught:
            call()
        assert not isinstance(caught.value, CKernelsError)
