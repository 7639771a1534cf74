"""Wrong loops: when they are made, and when they run, with the user's line and the step."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.config import config
from ckernels.base.errors import (
    ArgumentError,
    DTypeError,
    IndexOutOfBounds,
    NotSupported,
    ShapeError,
    UsageError,
)

from .helpers import Programs, check

MADE, RUN = Programs(), Programs()
X = np.ones((4, 3), "float32")


# --- known when the loop is made --------------------------------------------------------------


@MADE.wrong(ShapeError, "state 0", "(3,)", "(6,)", "keeps its shape")
def a_step_that_changes_the_shape():
    h = K.ones((3,))
    K.scan(lambda h: K.concatenate([h, h]), outputs_info=h, n_steps=2)  # !


@MADE.wrong(DTypeError, "state 0", "float32", "float64", "cast")
def a_step_that_changes_the_dtype():
    h = K.ones((3,))
    K.scan(lambda h: K.cast(h, "float64"), outputs_info=h, n_steps=2)  # !


@MADE.wrong(DTypeError, "state 1 of the scan 'sums'", "int8", "int64")
def a_first_value_of_another_dtype():
    first = [K.constant(0, dtype="int64"), K.constant(0, dtype="int8")]
    K.scan(lambda n, a, b: [a + n, b + n], np.arange(5), first, name="sums")  # !


@MADE.wrong(ShapeError, "outputs_info[0]", "(1, 3)", "[-2, -1]", "2 rows")
def too_few_first_rows():
    h = K.ones((1, 3))  # made
    K.scan(lambda a, b: a + b, outputs_info=dict(initial=h, taps=[-2, -1]), n_steps=3)  # !


@MADE.wrong(ArgumentError, "outputs_info describes 1", "returns 2")
def information_for_some_outputs_only():
    K.scan(lambda x: [x, x], X, [None])  # !


@MADE.wrong(ArgumentError, "outputs_info[0]", "no 'initial'")
def taps_without_a_first_value():
    K.scan(lambda x, h: h, X, [dict(taps=[-1])])  # !


@MADE.wrong(ArgumentError, "outputs_info[0]", "must be negative")
def taps_into_the_future():
    K.scan(lambda h: h, outputs_info=dict(initial=X, taps=[1]), n_steps=2)  # !


@MADE.wrong(ShapeError, "sequence 0 has 4 elements", "n_steps is 5")
def a_sequence_shorter_than_the_steps():
    x = K.placeholder((4, 3))  # made
    K.scan(lambda r: r, x, n_steps=5)  # !


@MADE.wrong(ShapeError, "4 elements", "enough for 2 steps", "n_steps is 3")
def a_sequence_too_short_for_its_taps():
    x = K.placeholder((4, 3))  # made
    K.scan(lambda a, b: a + b, dict(input=x, taps=[-2, 0]), n_steps=3)  # !


@MADE.wrong(ArgumentError, "n_steps is -1", "go_backwards")
def a_negative_number_of_steps():
    K.scan(lambda h: h, outputs_info=1.0, n_steps=-1)  # !


@MADE.wrong(ArgumentError, "needs n_steps")
def no_number_of_steps():
    K.scan(lambda h: h, outputs_info=1.0)  # !


@MADE.wrong(ArgumentError, "last thing")
def until_that_is_not_last():
    K.scan(lambda x: (K.until(x[0] > 0), x), X)  # !


@MADE.wrong(ShapeError, "must be a scalar", "K.any")
def until_of_a_vector():
    K.scan(lambda x: (x, K.until(x > 0)), X)  # !


@MADE.wrong(ArgumentError, "W (float32 (3, 3))", "not among non_sequences", "strict=True")
def a_weight_missing_with_strict():
    w = K.variable(np.ones((3, 3)), name="W")  # made
    K.scan(lambda x: K.dot(K.expand_dims(x, 0), w), X, strict=True)  # !


@MADE.wrong(ArgumentError, "probabilities in [0, 1]", "1.5")
def a_probability_above_one_in_a_step():
    K.scan(lambda: K.random_binomial((3,), p=1.5), n_steps=2)  # !


@MADE.wrong(ArgumentError, "probabilities in [0, 1]", "-0.25")
def probabilities_below_zero_in_a_step():
    p = K.constant([0.5, -0.25])
    K.scan(lambda: K.random_binomial((2,), p=p), n_steps=2)  # !


@MADE.wrong(IndexOutOfBounds, "-1", "size 0")
def the_last_row_of_no_step():
    rows, _ = K.scan(lambda: K.ones((3,)), n_steps=0)
    rows[-1]  # !


@MADE.wrong(IndexOutOfBounds, "0")
def a_fold_of_nothing():
    K.foldl(lambda a, x: a + x, K.zeros((0, 3)))  # !


@MADE.wrong(UsageError, "2 arguments", "1 rows of sequences", "1 results")
def a_step_with_too_few_arguments():
    K.scan(lambda x: x, X, K.ones((3,)))  # !


@MADE.wrong(DTypeError, "no tensor")
def a_step_that_returns_text():
    K.scan(lambda x: "text", X)  # !


@MADE.wrong(DTypeError, "no variable")
def an_update_of_no_variable():
    K.scan(lambda x: {"a": 1}, X)  # !


@MADE.wrong(ShapeError, "(3,)", "(4, 2)")
def shapes_that_do_not_meet_in_a_step():
    w = K.ones((4, 2))
    K.scan(lambda x: K.dot(x, w), X)  # !


@MADE.wrong(NotSupported, "checkpoint", "until")
def a_checkpointed_loop_that_ends_early():
    K.scan(lambda h: (h, K.until(h > 0)), outputs_info=1.0, n_steps=3, checkpoint=2)  # !


@pytest.mark.parametrize("program, error, words", MADE)
def test_message_when_made(program, error, words):
    check(program, error, words)


# --- known when it runs -----------------------------------------------------------------------


@RUN.wrong(ShapeError, "cannot run -3 steps", "negative")
def a_negative_number_as_an_input():
    n = K.placeholder((), dtype="int64")
    rows, _ = K.scan(lambda h: h * 2, outputs_info=K.constant(1.0), n_steps=n)  # made
    K.function([n], rows)(-3)  # !


@RUN.wrong(IndexOutOfBounds, "-1", "size 0")
def the_last_row_of_what_is_no_state_where_no_step_ran():
    x = K.placeholder((None,))
    rows, _ = K.scan(lambda r: r * 2, x)
    K.function([x], rows[-1])(np.zeros(0))  # !


@RUN.wrong(ShapeError, "sequence 0 of the scan 'walk' has 4 rows for 5 steps")
def a_sequence_shorter_than_an_input_says():
    n, x = K.placeholder((), dtype="int64"), K.placeholder((None, 3))
    rows, _ = K.scan(lambda r: r * 2, x, n_steps=n, name="walk")  # made
    K.function([n, x], rows)(5, X)  # !


@RUN.wrong(IndexOutOfBounds, "7", "in step 2 of the scan 'look up'")
def an_index_out_of_range():
    i = K.placeholder((None,), dtype="int32")
    table = K.constant(np.arange(3.0))
    rows, _ = K.scan(lambda at: table[at], i, name="look up")  # made
    K.function([i], rows)(np.array([0, 1, 7, 0], "int32"))  # !


@RUN.wrong(IndexOutOfBounds, "9", "in step 1 of the scan 'inner'", "in step 2 of the scan 'outer'")
def an_index_out_of_range_in_a_loop_in_a_loop():
    i = K.placeholder((None, None), dtype="int32")
    table = K.constant(np.arange(4.0))

    def outer(row):
        return K.scan(lambda at: table[at], row, name="inner")[0]  # made

    rows, _ = K.scan(outer, i, name="outer")
    K.function([i], rows)(np.array([[0, 1], [2, 0], [1, 9]], "int32"))  # !


@RUN.wrong(IndexOutOfBounds, "in step 1 of the scan 'backwards'")
def an_index_out_of_range_going_backwards():
    i = K.placeholder((None,), dtype="int32")
    table = K.constant(np.arange(5.0))
    rows, _ = K.scan(lambda at: table[at], i, go_backwards=True, name="backwards")  # made
    K.function([i], rows)(np.array([0, 1, 7, 0], "int32"))  # !


@RUN.wrong(IndexOutOfBounds, "8", "in step 0 of the scan 'twice'", "in the scan made at")
def a_step_on_lines_of_its_own():
    i = K.placeholder((None,), dtype="int32")
    table = K.constant(np.arange(7.0))

    def step(at):
        return table[at]  # made

    rows, _ = K.scan(step, i, name="twice")
    K.function([i], rows)(np.array([8], "int32"))  # !


@RUN.wrong(ShapeError, "(2,)", "(4,)")
def a_state_that_grows():
    h = K.placeholder((None,))
    rows, _ = K.scan(lambda h: K.concatenate([h, h]), outputs_info=h, n_steps=3)  # made
    K.function([h], rows)(np.ones(2))  # !


@RUN.wrong(ShapeError, "3", "4")
def shapes_that_do_not_meet_at_run_time():
    x, w = K.placeholder((None, None)), K.placeholder((None, None))
    rows, _ = K.scan(lambda r: K.dot(r, w), x)  # made
    K.function([x, w], rows)(X, np.ones((4, 2)))  # !


@pytest.mark.parametrize("mode", ["compiled", "reference"])
@pytest.mark.parametrize("program, error, words", RUN)
def test_message_when_run(program, error, words, mode):
    with config.change(mode=mode):
        check(program, error, words)


@pytest.mark.parametrize("mode", ["compiled", "reference"])
def test_equal_steps_of_two_loops_name_their_own_loop(mode):
    i, table = K.placeholder((None,), dtype="int32"), K.constant(np.arange(8.0))
    one, _ = K.scan(lambda at: table[at], i)
    two, _ = K.scan(lambda at: table[at], i[1:])
    with config.change(mode=mode), pytest.raises(IndexOutOfBounds) as found:
        K.function([i], two)(np.array([0, 9], "int32"))
    assert "two, _ = K.scan(" in str(found.value)


@pytest.mark.parametrize("mode", ["compiled", "reference"])
def test_loops_of_nothing(mode):
    """0 steps, rows of no elements, no rows: shapes as the rules say, no error."""
    x, h = K.placeholder((None, None)), K.placeholder((None,))
    rows, _ = K.scan(lambda r, p: K.tanh(p + r), x, h)
    with config.change(mode=mode):
        f = K.function([x, h], [rows, *K.gradients(K.sum(rows), [x, h])])
        for steps, width in ((0, 3), (4, 0), (0, 0)):
            got = f(np.zeros((steps, width)), np.zeros(width))
            assert [g.shape for g in got] == [(steps, width), (steps, width), (width,)]
