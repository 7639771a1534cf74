"""Wrong calls, in both modes: see helpers.py. And what an error leaves as it was."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.config import config
from ckernels.base.errors import (
    ArgumentError,
    CKernelsError,
    DisconnectedError,
    DTypeError,
    IndexOutOfBounds,
    NotSupported,
    ShapeError,
    UsageError,
)

from .helpers import Programs, check

PROGRAMS = Programs()
wrong = PROGRAMS.wrong


# --- calls ------------------------------------------------------------------------------------


@wrong(ShapeError, "images", "(?, 784)", "(2, 785)", "axis 1")
def array_of_another_size():
    x = K.placeholder((None, 784), name="images")  # made
    f = K.function([x], [K.sum(x)])
    f([np.ones((2, 785), "float32")])  # !


@wrong(ShapeError, "images", "2 dimensions", "(3,)")
def array_of_another_rank():
    x = K.placeholder((None, 784), name="images")  # made
    f = K.function([x], [K.sum(x)])
    f(np.ones(3, "float32"))  # !


@wrong(DTypeError, "None", "float32")
def none_as_an_argument():
    x = K.placeholder((None, 3), name="x")  # made
    f = K.function([x], [K.sum(x)])
    f([None])  # !


@wrong(ShapeError, "differ in length", "(?, ?)")
def ragged_argument():
    x = K.placeholder((None, None), name="x")  # made
    f = K.function([x], [K.sum(x)])
    f([[[1.0, 2.0], [3.0]]])  # !


@wrong(DTypeError, "object", "float32")
def argument_of_objects():
    x = K.placeholder((None,), name="x")  # made
    f = K.function([x], [K.sum(x)])
    f(np.array([{}, {}], object))  # !


@wrong(DTypeError, "int32", "float64", "allow_input_downcast")
def argument_that_would_lose_its_fractions():
    x = K.placeholder((None,), dtype="int32", name="x")  # made
    f = K.function([x], [K.sum(x)])
    f(np.array([0.5, 1.5]))  # !


@wrong(DTypeError, "complex128", "float32")
def complex_argument():
    x = K.placeholder((None,), name="x")  # made
    f = K.function([x], [K.sum(x)])
    f(np.array([1j]))  # !


@wrong(DTypeError, "symbolic")
def symbolic_argument():
    x = K.placeholder((None,), name="x")  # made
    f = K.function([x], [K.sum(x)])
    f(x)  # !


@wrong(UsageError, "2 inputs", "missing: y")
def argument_that_is_missing():
    x, y = K.placeholder((3,), name="x"), K.placeholder((3,), name="y")
    f = K.function([x, y], [x + y])
    f([np.ones(3)])  # !


@wrong(UsageError, "takes 1 input", "got 2")
def argument_too_many():
    x = K.placeholder((3,), name="x")
    f = K.function([x], [x])
    f(np.ones(3), np.ones(3))  # !


@wrong(UsageError, "'z'", "x")
def keyword_that_is_no_input():
    x = K.placeholder((3,), name="x")
    f = K.function([x], [x])
    f(z=np.ones(3))  # !


@wrong(ShapeError, "(2,)", "(3,)", "add")
def sizes_that_disagree_only_at_the_call():
    x, y = K.placeholder((None,), name="x"), K.placeholder((None,), name="y")
    z = x + y  # made
    f = K.function([x, y], [z])
    f([np.ones(2, "float32"), np.ones(3, "float32")])  # !


@wrong(ShapeError, "(2, 3)", "(4, 5)", "3", "4")
def dot_that_disagrees_at_the_call():
    x, y = K.placeholder((None, None)), K.placeholder((None, None))
    z = K.dot(x, y)  # made
    f = K.function([x, y], [z])
    f([np.ones((2, 3), "float32"), np.ones((4, 5), "float32")])  # !


@wrong(ShapeError, "(2, 3)", "(2, 4)")
def concatenate_that_disagrees_at_the_call():
    x, y = K.placeholder((None, None)), K.placeholder((None, None))
    z = K.concatenate([x, y], axis=0)  # made
    f = K.function([x, y], [z])
    f([np.ones((2, 3), "float32"), np.ones((2, 4), "float32")])  # !


@wrong(ShapeError, "7", "2")
def reshape_that_does_not_divide_at_the_call():
    x = K.placeholder((None,))
    z = K.reshape(x, (-1, 2))  # made
    f = K.function([x], [z])
    f([np.ones(7, "float32")])  # !


@wrong(IndexOutOfBounds, "9", "(5, 2)")
def gather_out_of_range():
    table = K.zeros((5, 2))
    ids = K.placeholder((None,), dtype="int64")
    rows = K.gather(table, ids)  # made
    f = K.function([ids], [rows])
    f([np.array([0, 9])])  # !


@wrong(IndexOutOfBounds, "4", "3")
def index_out_of_range_at_the_call():
    x, i = K.placeholder((None,)), K.placeholder((), dtype="int64")
    z = x[i]  # made
    f = K.function([x, i], [z])
    f([np.ones(3, "float32"), 4])  # !


@wrong(ShapeError, "v", "(2,)", "(3,)")
def update_that_disagrees_at_the_call():
    x, v = K.placeholder((None,)), K.zeros((3,), name="v")
    new = x * 2  # made
    f = K.function([x], [], updates=[(v, new)])
    f([np.ones(2, "float32")])  # !


@wrong(ShapeError, "no elements")
def maximum_of_nothing():
    x = K.placeholder((None,))
    z = K.max(x)  # made
    f = K.function([x], [z])
    f([np.ones(0, "float32")])  # !


@pytest.mark.parametrize("mode", ["compiled", "reference"])
@pytest.mark.parametrize("program, error, words", PROGRAMS)
def test_message(program, error, words, mode):
    with config.change(mode=mode):
        check(program, error, words)


# --- what an error leaves behind --------------------------------------------------------------


@pytest.mark.parametrize("mode", ["compiled", "reference"])
def test_an_error_in_a_call_leaves_all_variables_and_arguments(mode):
    v, w = K.variable([1.0, 2.0, 3.0]), K.variable([[1.0, 2.0], [3.0, 4.0]])
    ids, x = K.placeholder((None,), dtype="int64"), K.placeholder((None,))
    f = K.function([ids, x], [K.gather(w, ids)], updates=[(v, v + K.sum(x)), (w, w * 2)], mode=mode)
    f([np.array([0, 1]), np.ones(2, "float32")])
    before = K.get_value(v), K.get_value(w)
    given = [np.array([0, 2]), np.ones(2, "float32")]
    for arguments, error in [
        (given, IndexOutOfBounds),
        ([np.array([0]), np.ones((2, 2), "float32")], ShapeError),
        ([np.array([0]), None], DTypeError),
        ([np.array([0])], UsageError),
    ]:
        with pytest.raises(error):
            f(arguments)
        np.testing.assert_array_equal(K.get_value(v), before[0])
        np.testing.assert_array_equal(K.get_value(w), before[1])
    np.testing.assert_array_equal(given[0], [0, 2])
    np.testing.assert_array_equal(f([np.array([1]), np.zeros(1, "float32")])[0], [[6.0, 8.0]])


def test_the_anatomy_of_an_error_while_building():
    x, w = K.placeholder((None, 784), name="x"), K.zeros((256, 10), name="w")
    with pytest.raises(ShapeError) as caught:
        K.dot(x, w)
    sentence, operands, place = str(caught.value).splitlines()
    assert sentence == caught.value.args[0]
    assert operands == "  with x: float32 (?, 784); w: float32 (256, 10)"
    assert place.startswith(f"  at {__file__}:") and place.endswith("K.dot(x, w)")
    assert caught.value.line[0] == __file__ and caught.value.made is None


def test_errors_are_the_builtin_classes_numpy_users_expect():
    for ours, builtin in [
        (ShapeError, ValueError),
        (ArgumentError, ValueError),
        (DTypeError, TypeError),
        (UsageError, TypeError),
        (IndexOutOfBounds, IndexError),
        (DisconnectedError, ValueError),
        (NotSupported, NotImplementedError),
    ]:
        assert issubclass(ours, builtin) and issubclass(ours, CKernelsError)


def test_errors_survive_pickling():
    import pickle

    with pytest.raises(ShapeError) as caught:
        K.zeros((2,)) + K.zeros((3,))
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is ShapeError and str(copy) == str(caught.value)
