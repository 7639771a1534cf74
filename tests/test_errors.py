"""Wrong programs and what is said about them: the line, the shapes, the dtypes, in few lines.

Each program is a function below, run in the mode the fixture names. A comment `# !` marks the line
its message must name; `# made` the line that made the tensor an error at a call is about.
"""

import inspect

import numpy as np
import pytest

import ckernels as K
from ckernels.config import config
from ckernels.errors import (
    ArgumentError,
    CKernelsError,
    ConfigError,
    DisconnectedError,
    DTypeError,
    IndexOutOfBounds,
    NotSupported,
    ShapeError,
    UsageError,
)

BUILD, CALL = [], []


def wrong(error, *words, table=BUILD):
    """Register a program: the class it raises and the words its message holds."""

    def register(program):
        table.append(pytest.param(program, error, words, id=program.__name__))
        return program

    return register


def at_call(error, *words):
    return wrong(error, *words, table=CALL)


def marked(program, mark):
    """'file:line' of the line of `program` that ends with the comment `# mark`."""
    lines, first = inspect.getsourcelines(program)
    found = [first + k for k, line in enumerate(lines) if line.rstrip().endswith(f"# {mark}")]
    assert len(found) <= 1, program
    return f"{inspect.getsourcefile(program)}:{found[0]}" if found else None


def message_of(program, error):
    with pytest.raises(error) as caught:
        program()
    assert isinstance(caught.value, CKernelsError), type(caught.value)
    text = str(caught.value)
    assert len(text.splitlines()) <= 15, text
    return text


@pytest.mark.parametrize("program, error, words", BUILD)
def test_while_the_graph_is_built(program, error, words):
    text = message_of(program, error)
    assert marked(program, "!") in text, text
    assert (marked(program, "made") or "") in text, text
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"


@pytest.mark.parametrize("mode", ["compiled", "reference"])
@pytest.mark.parametrize("program, error, words", CALL)
def test_at_the_call(program, error, words, mode):
    with config.change(mode=mode):
        text = message_of(program, error)
    for mark in ("made", "!"):
        place = marked(program, mark)
        assert place is None or place in text, text
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"


def test_there_are_enough_wrong_programs():
    assert len(BUILD) + len(CALL) >= 40


# --- shapes and dtypes, while the graph is built ----------------------------------------------


@wrong(ShapeError, "(2, 3)", "(2, 4)", "axis 1", "float32", "float64", "left", "right")
def add_of_two_widths():
    x = K.placeholder((2, 3), name="left")
    y = K.placeholder((2, 4), name="right", dtype="float64")
    x + y  # !


@wrong(ShapeError, "(?, 3)", "(4,)", "float32")
def add_of_a_row_that_does_not_broadcast():
    x = K.placeholder((None, 3))
    x + np.ones(4, "float32")  # !


@wrong(ShapeError, "(?, 784)", "(256, 10)", "784", "256", "float32")
def dot_of_inner_sizes_that_differ():
    x = K.placeholder((None, 784), name="images")
    w = K.zeros((256, 10), name="weights")
    K.dot(x, w)  # !


@wrong(ShapeError, "(2, 3)", "(2, 3)", "float32")
def matmul_operator():
    a, b = K.zeros((2, 3)), K.zeros((2, 3))
    a @ b  # !


@wrong(ShapeError, "(4, 3, 5)", "(4, 2, 6)")
def batch_dot_of_sizes_that_differ():
    K.batch_dot(K.zeros((4, 3, 5)), K.zeros((4, 2, 6)))  # !


@wrong(ShapeError, "(2, 3)", "(2, 4)", "float32")
def concatenate_of_other_sizes():
    parts = [K.zeros((2, 3)), K.zeros((2, 4))]
    K.concatenate(parts, axis=0)  # !


@wrong(ShapeError, "at least one")
def concatenate_of_nothing():
    K.concatenate([])  # !


@wrong(ShapeError, "(2, 3)", "(3, 2)")
def stack_of_two_shapes():
    K.stack([K.zeros((2, 3)), K.zeros((3, 2))])  # !


@wrong(ShapeError, "(2, 6)", "5", "float32")
def reshape_to_another_number_of_elements():
    x = K.zeros((2, 6))
    K.reshape(x, (5, 2))  # !


@wrong(ShapeError, "-1")
def reshape_with_two_unknown_sizes():
    K.reshape(K.zeros((2, 6)), (-1, -1))  # !


@wrong(ShapeError, "axis 2", "2 dimensions", "(2, 3)")
def sum_over_an_axis_that_is_not_there():
    K.sum(K.zeros((2, 3)), axis=2)  # !


@wrong(ShapeError, "-3", "(2, 3)")
def concatenate_along_an_axis_that_is_not_there():
    K.concatenate([K.zeros((2, 3)), K.zeros((2, 3))], axis=-3)  # !


@wrong(ShapeError, "twice")
def mean_over_the_same_axis_twice():
    K.mean(K.zeros((2, 3)), axis=(0, -2))  # !


@wrong(ShapeError, "(2, 3)")
def squeeze_of_an_axis_that_is_wide():
    K.squeeze(K.zeros((2, 3)), 1)  # !


@wrong(ShapeError, "(2, 3)")
def transposition_that_is_no_permutation():
    K.permute_dimensions(K.zeros((2, 3)), (0, 0))  # !


@wrong(ShapeError, "(3,)", "4")
def update_of_another_shape():
    v = K.zeros((3,), name="v")
    new = K.zeros((4,)) * 2
    K.update(v, new)  # !


@wrong(ShapeError, "(3,)", "(2,)", "v")
def value_of_another_shape():
    v = K.zeros((3,), name="v")
    K.set_value(v, [1.0, 2.0])  # !


@wrong(DTypeError, "float64", "int32", "count")
def update_of_another_kind():
    count = K.variable(0, "int32", name="count")
    K.function([], [], updates=[(count, count * K.constant(0.5, "float64"))])  # !


@wrong(ShapeError, "square", "(2, 3)", "float32")
def inverse_of_a_wide_matrix():
    K.inverse(K.zeros((2, 3)))  # !


@wrong(DTypeError, "float32", "integer")
def gather_with_float_indices():
    K.gather(K.zeros((5, 2)), K.placeholder((None,)))  # !


@wrong(IndexOutOfBounds, "5", "(3, 2)")
def index_beyond_the_end():
    x = K.zeros((3, 2))
    x[5]  # !


@wrong(ShapeError, "3 indices", "(3, 2)")
def too_many_indices():
    x = K.zeros((3, 2))
    x[0, 0, 0]  # !


@wrong(DTypeError, "float32")
def bits_of_floats():
    K.zeros((3,)) & 1  # !


@wrong(DTypeError, "float31", "float32")
def dtype_that_does_not_exist():
    K.placeholder((3,), dtype="float31")  # !


@wrong(DTypeError, "object")
def dtype_that_is_not_supported():
    K.cast(K.zeros((3,)), object)  # !


@wrong(DTypeError, "300", "int8")
def number_that_does_not_fit():
    K.variable([1, 2], "int8") + 300  # !


# --- values that are no tensors ---------------------------------------------------------------


@wrong(DTypeError, "None")
def none_as_an_operand():
    K.zeros((3,)) + None  # !


@wrong(DTypeError, "None")
def none_as_a_variable():
    K.variable(None)  # !


@wrong(ShapeError, "ragged")
def ragged_list():
    K.variable([[1.0, 2.0], [3.0]])  # !


@wrong(DTypeError, "objects")
def array_of_objects():
    K.constant(np.array([object(), object()]))  # !


@wrong(DTypeError, "text")
def text():
    K.zeros((3,)) * "2"  # !


@wrong(DTypeError, "int32", "float64")
def variable_that_would_lose_its_fractions():
    K.variable([0.5, 1.5], dtype="int32")  # !


@wrong(ArgumentError, "shape", "ndim")
def placeholder_of_nothing():
    K.placeholder()  # !


@wrong(UsageError, "'abc'")
def placeholder_of_text():
    K.placeholder("abc")  # !


@wrong(ShapeError, "-2")
def placeholder_of_negative_size():
    K.placeholder((3, -2))  # !


@wrong(NotSupported, "sparse", "toarray")
def sparse_placeholder():
    K.placeholder((3, 2), sparse=True)  # !


# --- tensors used as Python values ------------------------------------------------------------


@wrong(UsageError, "truth value", "K.switch")
def tensor_in_an_if():
    x = K.placeholder((), name="x")
    if x > 0:  # !
        pass


@wrong(UsageError, "iterate", "(?, 3)")
def loop_over_a_tensor_of_unknown_length():
    for _ in K.placeholder((None, 3)):  # !
        pass


@wrong(UsageError, "no dimensions")
def length_of_a_scalar():
    len(K.placeholder(()))  # !


@wrong(UsageError, "symbolic")
def tensor_as_a_float():
    float(K.placeholder(()))  # !


@wrong(UsageError, "symbolic")
def tensor_as_an_array():
    np.asarray(K.placeholder((3,)))  # !


@wrong(UsageError, "K.set_subtensor")
def assignment_to_an_index():
    K.zeros((3,))[0] = 1.0  # !


@wrong(UsageError, "K.any")
def membership():
    1.0 in K.zeros((3,))  # noqa: B015  # !


@wrong(DTypeError, "indexing")
def set_subtensor_of_what_is_no_part():
    K.set_subtensor(K.zeros((3,)) * 2, 1.0)  # !


# --- gradients --------------------------------------------------------------------------------


@wrong(ShapeError, "scalar", "(2, 3)")
def gradient_of_a_matrix():
    w = K.zeros((2, 3), name="w")
    cost = w * 2  # !
    K.gradients(cost, [w])


@wrong(DisconnectedError, "other", "disconnected")
def gradient_of_what_is_not_used():
    w = K.zeros((3,))
    other = K.zeros((3,), name="other")  # !
    K.gradients(K.sum(w), [other])


@wrong(DisconnectedError, "blocked", "cast to int32", "w")
def gradient_through_integers():
    w = K.zeros((3,), name="w")
    whole = K.cast(w, "int32")  # made
    cost = K.sum(whole * 2.0)
    K.gradients(cost, [w])  # !


@wrong(ArgumentError, "'maybe'", "'zero'")
def unknown_policy_for_what_is_disconnected():
    w = K.zeros((3,))
    K.gradients(K.sum(w), [w], disconnected="maybe")  # !


# --- making functions -------------------------------------------------------------------------


@wrong(ArgumentError, "needs the value of y", "x")
def placeholder_that_is_no_input():
    x = K.placeholder((3,), name="x")
    y = K.placeholder((3,), name="y")  # !
    K.function([x], [x + y])


@wrong(UsageError, "[x]", "list")
def inputs_that_are_no_list():
    x = K.placeholder((3,))
    K.function(x, [x * 2])  # !


@wrong(DTypeError, "variable", "givens")
def variable_as_an_input():
    v = K.zeros((3,), name="v")
    K.function([v], [v * 2])  # !


@wrong(ArgumentError, "same tensor")
def the_same_input_twice():
    x = K.placeholder((3,), name="x")
    K.function([x, x], [x])  # !


@wrong(DTypeError, "output 1")
def array_as_an_output():
    x = K.placeholder((3,))
    K.function([x], [x, np.ones(3)])  # !


@wrong(ArgumentError, "twice", "v")
def two_updates_of_one_variable():
    v = K.zeros((3,), name="v")
    K.function([], [], updates=[(v, v + 1), (v, v + 2)])  # !


@wrong(DTypeError, "variable")
def update_of_an_expression():
    v = K.zeros((3,))
    K.function([], [], updates=[(v * 2, v)])  # !


@wrong(ShapeError, "givens[0]", "(4,)", "(3,)")
def given_of_another_shape():
    x = K.placeholder((3,), name="x")
    y = K.zeros((4,)) + 1  # !
    K.function([], [x * 2], givens=[(x, y)])


@wrong(ArgumentError, "feed_dict")
def unknown_option():
    x = K.placeholder((3,))
    K.function([x], [x], feed_dict={})  # !


@wrong(UsageError, "pairs", "Variable")
def updates_that_are_no_pairs():
    v = K.zeros((3,), name="cost")
    K.function([], [], updates=v)  # !


@wrong(ConfigError, "fast", "compiled")
def unknown_mode():
    x = K.placeholder((3,))
    K.function([x], [x], mode="fast")  # !


@wrong(ConfigError, "float", "float32")
def flag_with_a_value_it_does_not_take():
    K.set_floatx("float")  # !


@wrong(ArgumentError, "channels_first")
def unknown_image_layout():
    K.bias_add(K.zeros((2, 3, 3, 4)), K.zeros((4,)), data_format="nchw")  # !


# --- calls ------------------------------------------------------------------------------------


@at_call(ShapeError, "images", "(?, 784)", "(2, 785)", "axis 1")
def array_of_another_size():
    x = K.placeholder((None, 784), name="images")  # made
    f = K.function([x], [K.sum(x)])
    f([np.ones((2, 785), "float32")])  # !


@at_call(ShapeError, "images", "2 dimensions", "(3,)")
def array_of_another_rank():
    x = K.placeholder((None, 784), name="images")  # made
    f = K.function([x], [K.sum(x)])
    f(np.ones(3, "float32"))  # !


@at_call(DTypeError, "None", "float32")
def none_as_an_argument():
    x = K.placeholder((None, 3), name="x")  # made
    f = K.function([x], [K.sum(x)])
    f([None])  # !


@at_call(ShapeError, "differ in length", "(?, ?)")
def ragged_argument():
    x = K.placeholder((None, None), name="x")  # made
    f = K.function([x], [K.sum(x)])
    f([[[1.0, 2.0], [3.0]]])  # !


@at_call(DTypeError, "object", "float32")
def argument_of_objects():
    x = K.placeholder((None,), name="x")  # made
    f = K.function([x], [K.sum(x)])
    f(np.array([{}, {}], object))  # !


@at_call(DTypeError, "int32", "float64", "allow_input_downcast")
def argument_that_would_lose_its_fractions():
    x = K.placeholder((None,), dtype="int32", name="x")  # made
    f = K.function([x], [K.sum(x)])
    f(np.array([0.5, 1.5]))  # !


@at_call(DTypeError, "complex128", "float32")
def complex_argument():
    x = K.placeholder((None,), name="x")  # made
    f = K.function([x], [K.sum(x)])
    f(np.array([1j]))  # !


@at_call(DTypeError, "symbolic")
def symbolic_argument():
    x = K.placeholder((None,), name="x")  # made
    f = K.function([x], [K.sum(x)])
    f(x)  # !


@at_call(UsageError, "2 inputs", "missing: y")
def argument_that_is_missing():
    x, y = K.placeholder((3,), name="x"), K.placeholder((3,), name="y")
    f = K.function([x, y], [x + y])
    f([np.ones(3)])  # !


@at_call(UsageError, "takes 1 input", "got 2")
def argument_too_many():
    x = K.placeholder((3,), name="x")
    f = K.function([x], [x])
    f(np.ones(3), np.ones(3))  # !


@at_call(UsageError, "'z'", "x")
def keyword_that_is_no_input():
    x = K.placeholder((3,), name="x")
    f = K.function([x], [x])
    f(z=np.ones(3))  # !


@at_call(ShapeError, "(2,)", "(3,)", "add")
def sizes_that_disagree_only_at_the_call():
    x, y = K.placeholder((None,), name="x"), K.placeholder((None,), name="y")
    z = x + y  # made
    f = K.function([x, y], [z])
    f([np.ones(2, "float32"), np.ones(3, "float32")])  # !


@at_call(ShapeError, "(2, 3)", "(4, 5)", "3", "4")
def dot_that_disagrees_at_the_call():
    x, y = K.placeholder((None, None)), K.placeholder((None, None))
    z = K.dot(x, y)  # made
    f = K.function([x, y], [z])
    f([np.ones((2, 3), "float32"), np.ones((4, 5), "float32")])  # !


@at_call(ShapeError, "(2, 3)", "(2, 4)")
def concatenate_that_disagrees_at_the_call():
    x, y = K.placeholder((None, None)), K.placeholder((None, None))
    z = K.concatenate([x, y], axis=0)  # made
    f = K.function([x, y], [z])
    f([np.ones((2, 3), "float32"), np.ones((2, 4), "float32")])  # !


@at_call(ShapeError, "7", "2")
def reshape_that_does_not_divide_at_the_call():
    x = K.placeholder((None,))
    z = K.reshape(x, (-1, 2))  # made
    f = K.function([x], [z])
    f([np.ones(7, "float32")])  # !


@at_call(IndexOutOfBounds, "9", "(5, 2)")
def gather_out_of_range():
    table = K.zeros((5, 2))
    ids = K.placeholder((None,), dtype="int64")
    rows = K.gather(table, ids)  # made
    f = K.function([ids], [rows])
    f([np.array([0, 9])])  # !


@at_call(IndexOutOfBounds, "4", "3")
def index_out_of_range_at_the_call():
    x, i = K.placeholder((None,)), K.placeholder((), dtype="int64")
    z = x[i]  # made
    f = K.function([x, i], [z])
    f([np.ones(3, "float32"), 4])  # !


@at_call(ShapeError, "v", "(2,)", "(3,)")
def update_that_disagrees_at_the_call():
    x, v = K.placeholder((None,)), K.zeros((3,), name="v")
    new = x * 2  # made
    f = K.function([x], [], updates=[(v, new)])
    f([np.ones(2, "float32")])  # !


@at_call(ShapeError, "no elements")
def maximum_of_nothing():
    x = K.placeholder((None,))
    z = K.max(x)  # made
    f = K.function([x], [z])
    f([np.ones(0, "float32")])  # !


# --- what an error leaves behind --------------------------------------------------------------


@pytest.mark.parametrize("mode", ["compiled", "reference"])
def test_an_error_in_a_call_leaves_all_variables_and_arguments(mode):
    v, w = K.variable([1.0, 2.0, 3.0]), K.variable([[1.0, 2.0], [3.0, 4.0]])
    ids, x = K.placeholder((None,), dtype="int64"), K.placeholder((None,))
    f = K.function(
        [ids, x], [K.gather(w, ids)], updates=[(v, v + K.sum(x)), (w, w * 2)], mode=mode
    )
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
