"""K.rnn against the same steps in NumPy: masks, directions, constants, unrolled and as a scan."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import ArgumentError, ShapeError

B, T, D, H = 3, 4, 2, 5


def numbers(seed, *shape):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype("float32")


W, U, X, H0 = numbers(1, D, H), numbers(2, H, H), numbers(3, B, T, D), numbers(4, B, H)
MASK = np.array([[1, 1, 0, 1], [0, 1, 1, 0], [1, 0, 0, 0]], "float32")


def simple(w, u):
    def step(x, states):
        h = K.tanh(K.dot(x, w) + K.dot(states[0], u))
        return h, [h]

    return step


def by_hand(x, h, mask=None, zeros=False):
    rows, before = [], np.zeros_like(h)
    for t in range(x.shape[1]):
        new = np.tanh(x[:, t] @ W + h @ U)
        out = new
        if mask is not None:
            there = mask[:, t, None] != 0
            out = np.where(there, new, 0 if zeros else before)
            new = np.where(there, new, h)
        rows.append(out)
        h = new
        before = out
    return rows[-1], np.stack(rows, 1), h


def run(x=X, mask=None, static=True, **options):
    xs = K.placeholder(x.shape if static else (None, None, D))
    h = K.placeholder(H0.shape if static else (None, H))
    inputs, values = [xs, h], [x, H0]
    if mask is not None:
        m = K.placeholder(mask.shape if static else (None,) * mask.ndim)
        inputs.append(m)
        values.append(mask)
        options["mask"] = m
    last, outputs, states = K.rnn(simple(K.variable(W), K.variable(U)), xs, [h], **options)
    return K.function(inputs, [last, outputs, *states])(*values)


def agree(got, want, rtol=1e-5):
    assert len(got) == len(want)
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-6)


@pytest.mark.parametrize("unroll", [False, True])
@pytest.mark.parametrize("backwards", [False, True])
def test_plain(unroll, backwards):
    x = X[:, ::-1] if backwards else X
    agree(run(unroll=unroll, go_backwards=backwards), by_hand(x, H0))


def test_sizes_that_only_the_call_knows():
    agree(run(static=False), by_hand(X, H0))
    agree(run(static=False, unroll=True, input_length=T), by_hand(X, H0))
    agree(run(mask=MASK, static=False), by_hand(X, H0, MASK))


@pytest.mark.parametrize("unroll", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_masks(unroll, zeros, wide):
    mask = MASK[:, :, None] if wide else MASK
    agree(run(mask=mask, unroll=unroll, zero_output_for_mask=zeros), by_hand(X, H0, MASK, zeros))


def test_masks_backwards():
    agree(run(mask=MASK, go_backwards=True), by_hand(X[:, ::-1], H0, MASK[:, ::-1]))


def test_time_first_and_the_last_output_only():
    got = run(np.ascontiguousarray(X.swapaxes(0, 1)), time_major=True)
    want = by_hand(X, H0)
    agree(got, (want[0], want[1].swapaxes(0, 1), want[2]))
    got = run(return_all_outputs=False)
    agree(got, (want[0], want[0][:, None], want[2]))


@pytest.mark.parametrize("unroll", [False, True])
def test_constants_and_several_states_of_other_shapes(unroll):
    def step(x, states):
        a, n, c = states
        return K.concatenate([a * c, x]), [a + x * c, n + K.cast(K.sum(x, -1) > 0, "int32")]

    x, c = K.placeholder((B, T, D)), K.placeholder((B, D))
    start = [K.zeros_like(x[:, 0]), K.zeros_like(x[:, 0, 0], dtype="int32")]
    last, outputs, (a, n) = K.rnn(step, x, start, constants=[c], unroll=unroll)
    v = numbers(7, B, D)
    got = K.function([x, c], [last, outputs, a, n])(X, v)
    total = np.cumsum(X * v[:, None], 1)
    before = np.concatenate([np.zeros((B, 1, D), "f"), total[:, :-1]], 1)
    agree(got[1:3], [np.concatenate([before * v[:, None], X], -1), total[:, -1]])
    agree(got[:1], [got[1][:, -1]])
    assert got[3].dtype == np.int32 and got[3].tolist() == (X.sum(-1) > 0).sum(1).tolist()


def test_images_over_time():
    x, h = K.placeholder((B, T, 2, 3, 1)), K.placeholder((B, 2, 3, 1))
    mask = K.placeholder((B, T))

    def step(x, states):
        return states[0] + x, [states[0] + x]

    last, outputs, _ = K.rnn(step, x, [h], mask=mask)
    values = numbers(5, B, T, 2, 3, 1)
    got = K.function([x, h, mask], outputs)(values, np.zeros((B, 2, 3, 1)), MASK)
    shown = np.cumsum(values * MASK[:, :, None, None, None], 1)
    for b in range(B):
        first = int(np.argmax(MASK[b]))
        np.testing.assert_allclose(got[b, first:], shown[b, first:], rtol=1e-5, atol=1e-6)
        assert not got[b, :first].any()


@pytest.mark.parametrize("unroll", [False, True])
def test_gradients_are_those_of_the_steps_written_out(unroll):
    def build(unroll):
        x, m = K.placeholder((None, T, D)), K.placeholder((None, T))
        w, u = K.variable(W), K.variable(U)
        _, outputs, (h,) = K.rnn(simple(w, u), x, [K.constant(H0)], mask=m, unroll=unroll)
        cost = K.sum(K.square(outputs)) + K.sum(h)
        return K.function([x, m], [cost, *K.gradients(cost, [x, w, u])])(X, MASK)

    agree(build(False), build(True))


def test_steps_that_use_the_learning_phase():
    def step(x, states):
        h = states[0] + K.in_train_phase(x * 2, x)
        h._uses_learning_phase = True
        return h, [h]

    x = K.placeholder((B, T, D))
    last, outputs, _ = K.rnn(step, x, [K.zeros_like(x[:, 0])])
    assert last._uses_learning_phase and outputs._uses_learning_phase
    f = K.function([x, K.learning_phase()], last)
    agree([f(X, 0), f(X, 1)], [X.sum(1), 2 * X.sum(1)])


def test_dropout_in_a_step_is_drawn_anew_at_each_time():
    def step(x, states):
        y = K.dropout(x, 0.5, seed=3)
        return y, [states[0] + y]

    x = K.placeholder((1, 50, 20))
    _, outputs, _ = K.rnn(step, x, [K.zeros_like(x[:, 0])])
    f = K.function([x], outputs)
    one, two = f(np.ones((1, 50, 20))), f(np.ones((1, 50, 20)))
    assert len({row.tobytes() for row in one[0]}) == 50
    assert not (one == two).all() and set(np.unique(one)) == {0.0, 2.0}


def test_what_is_documented_to_raise():
    x = K.placeholder((None, None, D))
    h = K.placeholder((None, H))
    step = simple(K.variable(W), K.variable(U))
    with pytest.raises(ValueError, match="at least 3 dimensions"):
        K.rnn(step, K.placeholder((None, D)), [h])
    with pytest.raises(ArgumentError, match="known number of times"):
        K.rnn(step, x, [h], unroll=True)
    with pytest.raises(ValueError, match="needs states"):
        K.rnn(lambda x, s: (x, []), x, [], mask=K.placeholder((None, None)))
    with pytest.raises(ShapeError, match="mask"):
        K.rnn(step, x, [h], mask=K.placeholder((None, None, 4)))
    with pytest.raises(ArgumentError, match="returns 2 states"):
        K.rnn(lambda x, s: (x, [s[0], s[0]]), x, [h])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", ["compiled", "reference"])
@pytest.mark.parametrize("options", [{}, {"go_backwards": True}, {"zero_output_for_mask": True}])
@pytest.mark.parametrize("masked", [False, True])
def test_no_times_and_no_samples(masked, options, mode):
    """After 0 times the states are what they were first."""
    x, h, m = K.placeholder((None, None, D)), K.placeholder((None, H)), K.placeholder((None, None))
    step = simple(K.variable(W), K.variable(U))
    if masked:
        options = {**options, "mask": m}
    last, outputs, (state,) = K.rnn(step, x, [h], **options)
    if options.get("zero_output_for_mask"):
        last = state  # an output that is no state has no last value
    found = [last, outputs, state, *K.gradients(K.sum(state) + K.sum(outputs), [x, h])]
    f = K.function([x, h, m], found, mode=mode, on_unused_input="ignore")
    for samples, times in ((0, 3), (2, 0), (0, 0), (2, 3), (1, 0)):
        start = numbers(5, samples, H)
        got = f(numbers(6, samples, times, D), start, np.ones((samples, times)))
        assert [g.shape for g in got] == [
            (samples, H), (samples, times, H), (samples, H), (samples, times, D), (samples, H)
        ]  # fmt: skip
        if not times:
            np.testing.assert_array_equal(got[2], start)
            np.testing.assert_array_equal(got[4], np.ones((samples, H)))


def test_unrolled_over_no_times():
    h = K.placeholder((None, H))
    step = simple(K.variable(W), K.variable(U))
    found = K.rnn(step, K.constant(np.zeros((B, 0, D))), [h], unroll=True)
    outputs, state = K.function([h], [found[1], found[2][0]], on_unused_input="ignore")(H0)
    assert outputs.shape == (B, 0, H)
    np.testing.assert_array_equal(state, H0)
