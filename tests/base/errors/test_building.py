"""Wrong programs that fail while the graph is built: see helpers.py."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import (
    ArgumentError,
    ConfigError,
    DisconnectedError,
    DTypeError,
    IndexOutOfBounds,
    ShapeError,
    UsageError,
)

from .helpers import Programs, check

PROGRAMS = Programs()
wrong = PROGRAMS.wrong


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


@wrong(UsageError, "axis", "'time'")
def axis_by_name():
    K.sum(K.zeros((2, 3)), axis="time")  # !


@wrong(UsageError, "axis", "1.5")
def axis_that_is_no_integer():
    K.mean(K.zeros((2, 3)), axis=[0, 1.5])  # !


@wrong(ShapeError, "multiply", "(2,)", "(3,)")
def product_of_two_lengths():
    K.zeros((2,)) * K.zeros((3,))  # !


@wrong(ShapeError, "broadcast", "where", "(2,)", "(3,)", "float32")
def choice_of_two_lengths():
    K.where(K.zeros((2,)) > 0, K.zeros((2,)), K.zeros((3,)))  # !


@wrong(ArgumentError, "pair", "(1,)")
def batch_dot_over_one_axis():
    K.batch_dot(K.zeros((2, 3)), K.zeros((2, 3)), axes=(1,))  # !


@wrong(ShapeError, "negative")
def tile_backwards():
    K.tile(K.zeros((2, 3)), -1)  # !


@wrong(ArgumentError, "threads", "0")
def no_threads():
    K.set_num_threads(0)  # !


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


@wrong(ShapeError, "sparse", "(3, 2, 1)")
def sparse_placeholder():
    K.placeholder((3, 2, 1), sparse=True)  # !


@wrong(UsageError, "sparse", "K.to_dense")
def sparse_where_dense_is_needed():
    K.tanh(K.placeholder((3, 2), sparse=True))  # !


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


@wrong(UsageError, "updates[0]", "array", "...")
def update_that_is_a_large_array():
    K.function([], [], updates=[np.arange(10000.0).reshape(100, 100)])  # !


@wrong(UsageError, "integer")
def shape_that_is_a_large_array():
    K.placeholder(np.full((60, 60), 0.5))  # !


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


@pytest.mark.parametrize("program, error, words", PROGRAMS)
def test_message(program, error, words):
    check(program, error, words)


def test_there_are_enough_of_them():
    assert len(PROGRAMS) >= 40
