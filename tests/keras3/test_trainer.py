"""Training: updates against NumPy by hand, one trace for all sizes, state that callbacks see."""

import itertools
import warnings

import keras
import numpy as np
import pytest
from keras import layers, ops

from ckernels.keras3 import gradients, jit, value_and_grad

RNG = np.random.default_rng(5)
X = RNG.normal(size=(20, 3)).astype("float32")
Y = (X @ [[1.0], [-2.0], [0.5]] + 0.1).astype("float32")


def linear(**compiled):
    model = keras.Sequential([keras.Input((3,)), layers.Dense(1)])
    model.compile(**{"optimizer": keras.optimizers.SGD(0.1), "loss": "mse", **compiled})
    return model


def by_hand(w, b, batches, rate=0.1):
    """Gradient descent on the mean squared error of a linear model, in float64."""
    losses = []
    for x, y in batches:
        error = x.astype("float64") @ w + b - y
        losses.append(np.mean(error**2))
        w, b = w - rate * 2 * x.T @ error / len(x), b - rate * 2 * error.mean(0)
    return w, b, losses


@pytest.mark.parametrize("steps", [1, 3])
def test_descent_is_that_by_hand(steps):
    model = linear(steps_per_execution=steps)
    w, b = (v.astype("float64") for v in model.get_weights())
    batches = [(X[i : i + 8], Y[i : i + 8]) for i in (0, 8, 16)]
    w, b, losses = by_hand(w, b, batches)
    history = model.fit(X, Y, batch_size=8, shuffle=False, verbose=0)
    np.testing.assert_allclose(model.get_weights()[0], w, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.get_weights()[1], b, rtol=1e-5, atol=1e-6)
    wanted = np.average(losses, weights=[8, 8, 4])
    np.testing.assert_allclose(history.history["loss"], [wanted], rtol=1e-5)


def test_one_trace_serves_all_batch_sizes_and_lengths():
    model = keras.Sequential(
        [layers.Embedding(9, 4, mask_zero=True), layers.GRU(3), layers.Dense(1)]
    )
    model.compile("adam", "mse")
    for n, length in ((4, 5), (3, 5), (6, 2), (1, 7), (4, 3)):
        model.train_on_batch(RNG.integers(0, 9, (n, length)), RNG.normal(size=(n, 1)))
    step = next(
        c.cell_contents
        for c in model.train_function.__closure__
        if hasattr(c.cell_contents, "traces")
    )
    assert [len(t) for t in step.traces.values()] == [1] and step.pinned == 0


def test_a_layer_at_each_of_an_open_number_of_steps():
    """As many as there are, in batches with more rows than steps and with fewer."""
    model = keras.Sequential(
        [keras.Input((None, 3)), layers.TimeDistributed(layers.Dense(2, use_bias=False))]
    )
    model.compile(keras.optimizers.SGD(0.1), "mse")
    (w,) = (v.astype("float64") for v in model.get_weights())
    for rows, steps in ((5, 4), (3, 7), (2, 1), (4, 0)):
        x = RNG.normal(size=(rows, steps, 3)).astype("float32")
        np.testing.assert_allclose(model.predict_on_batch(x), x @ w, rtol=1e-5, atol=1e-6)
        if steps:
            y = RNG.normal(size=(rows, steps, 2)).astype("float32")
            error = x @ w - y
            np.testing.assert_allclose(model.train_on_batch(x, y), np.mean(error**2), rtol=1e-5)
            w = w - 0.1 * 2 * np.einsum("bti,bto->io", x, error) / error.size


def test_callbacks_see_the_weights_of_each_batch():
    model, seen = linear(), []
    watch = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append(model.get_weights()[0].copy())
    )
    model.fit(X, Y, batch_size=5, verbose=0, callbacks=[watch])
    assert len(seen) == 4 and all(np.any(a != b) for a, b in zip(seen, seen[1:]))
    assert int(model.optimizer.iterations) == 4


def test_what_a_user_holds_does_not_change():
    model = linear()
    held = model.layers[0].kernel.value
    before = np.array(held)
    model.train_on_batch(X, Y)
    assert np.array_equal(held, before) and not np.array_equal(model.get_weights()[0], before)


def test_steps_of_a_program_both_shapes():
    class Own(keras.Model):
        def train_step(self, data):
            x, y = data
            loss = ops.mean(ops.square(self(x) - y))
            weights = self.trainable_weights
            self.optimizer.apply(gradients(loss, [w.traced() for w in weights]), weights)
            return {"loss": loss}

    class AsInJax(keras.Model):
        def train_step(self, state, data):
            trained, fixed, held, metrics = state
            x, y = data

            def loss_of(values):
                return ops.mean(ops.square(self.stateless_call(values, fixed, x)[0] - y))

            loss, slopes = value_and_grad(loss_of)(trained)
            trained, held = self.optimizer.stateless_apply(held, slopes, trained)
            return {"loss": loss}, (trained, fixed, held, metrics)

    for kind in (Own, AsInJax):
        inputs = keras.Input((3,))
        model = kind(inputs, layers.Dense(1)(inputs))
        model.compile(keras.optimizers.SGD(0.1), "mse")
        w, b, _ = by_hand(*(v.astype("float64") for v in model.get_weights()), [(X, Y)])
        model.fit(X, Y, batch_size=20, shuffle=False, verbose=0)
        np.testing.assert_allclose(model.get_weights()[0], w, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("eagerly", [False, True])
def test_evaluate_and_predict(eagerly):
    model = linear(metrics=["mae"], run_eagerly=eagerly)
    w, b = model.get_weights()
    np.testing.assert_allclose(model.predict(X, verbose=0, batch_size=7), X @ w + b, rtol=1e-5)
    loss, mae = model.evaluate(X, Y, verbose=0, batch_size=7)
    np.testing.assert_allclose(loss, np.mean((X @ w + b - Y) ** 2), rtol=1e-5)
    np.testing.assert_allclose(mae, np.mean(np.abs(X @ w + b - Y)), rtol=1e-5)
    model.train_on_batch(X, Y)
    assert not np.array_equal(model.get_weights()[0], w)


def test_branches_assign_what_the_condition_says():
    """Two batches are accumulated: weights move with every second one, by the mean slope."""
    model = linear(optimizer=keras.optimizers.SGD(0.1, gradient_accumulation_steps=2))
    w, b = (v.astype("float64") for v in model.get_weights())
    model.train_on_batch(X[:10], Y[:10])
    np.testing.assert_array_equal(model.get_weights()[0], w.astype("float32"))
    model.train_on_batch(X[10:], Y[10:])
    w, b, _ = by_hand(w, b, [(X, Y)])
    np.testing.assert_allclose(model.get_weights()[0], w, rtol=1e-5, atol=1e-6)


def test_penalties_of_weights_and_activities():
    model = keras.Sequential(
        [keras.Input((3,)), layers.Dense(2, kernel_regularizer="l2", activity_regularizer="l1")]
    )
    model.compile("sgd", "mse")
    (w, b), target = model.get_weights(), np.zeros((20, 2), "float32")
    y = X @ w + b
    wanted = np.mean(y**2) + 0.01 * np.sum(w**2) + 0.01 * np.sum(np.abs(y)) / 20
    np.testing.assert_allclose(
        model.evaluate(X, target, verbose=0, batch_size=20), wanted, rtol=1e-5
    )


def test_a_gradient_of_the_program():
    @ops.custom_gradient
    def doubled(x):
        return x * 2, lambda *args, upstream=None: (args[0] if upstream is None else upstream) * 7

    def slope(x):
        return value_and_grad(lambda v: ops.sum(ops.square(doubled(v))))(x)

    value, found = jit(slope)(X[0])
    np.testing.assert_allclose(value, np.sum((2 * X[0]) ** 2), rtol=1e-6)
    np.testing.assert_allclose(found, 2 * (2 * X[0]) * 7, rtol=1e-6)


@pytest.mark.parametrize("name", ["model.keras", "model.h5"])
def test_a_saved_model_goes_on(tmp_path, name):
    model = linear(optimizer="adam", loss=keras.losses.MeanSquaredError())
    model.fit(X, Y, epochs=2, verbose=0, shuffle=False)
    model.save(tmp_path / name)
    other = keras.models.load_model(tmp_path / name)
    np.testing.assert_array_equal(other.predict(X, verbose=0), model.predict(X, verbose=0))
    if name.endswith("h5"):
        return  # Keras builds the optimiser of such files for other variables, with any backend
    first, second = (m.fit(X, Y, verbose=0, shuffle=False).history["loss"] for m in (model, other))
    np.testing.assert_allclose(first, second, rtol=1e-6)


def test_draws_are_the_same_in_a_step_and_outside():
    from keras import random

    for draw in (random.normal, random.uniform, random.truncated_normal):
        inside = jit(lambda x, draw=draw: draw((50,), seed=7) + 0 * x)(np.zeros(1, "float32"))
        np.testing.assert_array_equal(inside, draw((50,), seed=7))


# What a step assigns to a Variable is its value from there on, for gradients and updates as well.
# The trainer of JAX drops assignments to trainable weights, and states that a jitted step wrote;
# here the numbers are those of TensorFlow, by hand.


def test_a_spectral_norm_stays_in_the_kernel_and_gradients_are_by_it():
    model = keras.Sequential([
        keras.Input((3,)), layers.SpectralNormalization(layers.Dense(2, use_bias=False)),
    ])  # fmt: skip
    model.compile(keras.optimizers.SGD(0.1), "mse")
    y = np.repeat(Y, 2, 1)
    w, u = (
        np.array(v.value, "float64") for v in (model.layers[0].kernel, model.layers[0].vector_u)
    )
    losses = []
    for _ in range(3):
        v = u @ w.T / np.linalg.norm(u @ w.T)
        u = v @ w / np.linalg.norm(v @ w)
        w = w / (v @ w @ u.T)
        error = X @ w - y
        losses.append(np.mean(error**2))
        w = w - 0.1 * 2 * X.T @ error / error.size
    found = [float(model.train_on_batch(X, y)) for _ in range(3)]
    np.testing.assert_allclose(found, losses, rtol=1e-5)
    np.testing.assert_allclose(model.layers[0].kernel.value, w, rtol=1e-4, atol=1e-6)


def test_the_state_of_a_layer_goes_on_from_batch_to_batch():
    model = keras.Sequential([
        keras.Input(batch_shape=(4, 3, 2)), layers.SimpleRNN(2, stateful=True, use_bias=False),
    ])  # fmt: skip
    model.compile(keras.optimizers.SGD(0.5), "mse")
    x, y = RNG.normal(size=(3, 4, 3, 2)), RNG.normal(size=(3, 4, 2))
    weights, state = [w.astype("float64") for w in model.get_weights()[:2]], np.zeros((4, 2))

    def run(x, y, weights):
        h = state
        for t in range(3):
            h = np.tanh(x[:, t] @ weights[0] + h @ weights[1])
        return np.mean((h - y) ** 2), h

    for now, wanted in zip(x, y):
        found = float(model.train_on_batch(now.astype("float32"), wanted.astype("float32")))
        loss, after = run(now, wanted, weights)
        np.testing.assert_allclose(found, loss, rtol=1e-4)
        slopes = [np.zeros_like(w) for w in weights]
        for w, slope in zip(weights, slopes):
            for i in np.ndindex(w.shape):
                w[i] += 1e-5
                slope[i] = (run(now, wanted, weights)[0] - loss) / 1e-5
                w[i] -= 1e-5
        state = after
        weights = [w - 0.5 * slope for w, slope in zip(weights, slopes)]


def test_gradients_after_an_assignment_are_by_what_was_assigned(sharp):
    """Sharpness-aware descent: the slope at w + e, of which e is no function of w."""

    model = sharp(3, 1)
    model.compile()
    w = np.ones((3, 1))
    for _ in range(2):
        model.train_on_batch(X, Y)
        aside = w + 0.3 * 2 * X.T @ (X @ w - Y) / len(X)
        w = w - 0.1 * 2 * X.T @ (X @ aside - Y) / len(X)
    np.testing.assert_allclose(model.w.value, w, rtol=1e-4, atol=1e-5)


def test_a_running_mean_is_differentiated_as_if_it_had_been_used_itself():
    """As with JAX: sum((x w - mean) ** 2) with mean = 0.5 mean + 0.5 x w, of one row."""

    class Centred(keras.Model):
        def __init__(self):
            super().__init__()
            self.w = self.add_weight(shape=(), initializer="ones")
            self.mean = self.add_weight(shape=(), initializer="ones", trainable=False)

        def call(self, x):
            self.mean.assign(0.5 * self.mean + 0.5 * ops.sum(x * self.w))
            return x * self.w - self.mean

    model, w, mean = Centred(), 1.0, 1.0
    model.compile(keras.optimizers.SGD(0.1), "mse")
    for x in (3.0, -2.0):
        mean = 0.5 * mean + 0.5 * x * w
        w -= 0.1 * 2 * (x * w - mean) * 0.5 * x
        model.train_on_batch(np.array([[x]], "float32"), np.zeros((1, 1), "float32"))
    np.testing.assert_allclose([model.w.value, model.mean.value], [w, mean], rtol=1e-6)


@pytest.mark.parametrize("most", [None, 3, 10**9])
def test_gradients_of_a_loop_need_room_for_the_turns_it_takes(most):
    """y = x ** (turns + 1), where only the loop's condition tells how many turns there are."""

    def loss(x):
        turns, y = ops.while_loop(
            lambda i, y: ops.sum(y) < 100, lambda i, y: (i + 1, y * x), (0, x),
            maximum_iterations=most,
        )  # fmt: skip
        return ops.sum(y), turns

    run = jit(value_and_grad(loss, has_aux=True))
    for x, turns in (([2.0, 3.0], 4), ([1.5, 1.1], 11), ([200.0, 1.0], 0)):
        x, turns = np.array(x, "float32"), min(turns, 3) if most == 3 else turns
        (value, found), slope = run(x)
        assert found == turns
        np.testing.assert_allclose(value, np.sum(x ** (turns + 1)), rtol=1e-5)
        np.testing.assert_allclose(slope, (turns + 1) * x**turns, rtol=1e-5)


def fitted(steps, batches=None, **options):
    """(weights, history, predictions) of a net with draws, metrics and a last batch of 2."""
    keras.utils.set_random_seed(7)
    model = keras.Sequential(
        [keras.Input((3,)), layers.Dense(5, "tanh"), layers.Dropout(0.3), layers.Dense(2)]
    )
    model.compile(
        keras.optimizers.Adam(0.01, **options), "mse", metrics=["mae"], steps_per_execution=steps
    )
    if batches is None:
        data = {"x": X[:18], "y": Y[:18], "batch_size": 4}
    else:
        data = {"x": batches, "steps_per_epoch": 5}
    history = model.fit(**data, epochs=3, verbose=0, validation_data=(X, Y))
    evaluated = model.evaluate(X, Y, batch_size=4, verbose=0)
    predicted = model.predict(X[:18], batch_size=4, verbose=0)
    return model.get_weights(), history.history, evaluated, predicted


def assert_same_bits(found, wanted):
    for a, b in zip(keras.tree.flatten(found), keras.tree.flatten(wanted), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("steps", [2, 3, 5, 50])
@pytest.mark.parametrize("options", [{}, {"gradient_accumulation_steps": 2}, {"use_ema": True}])
def test_several_batches_an_execution_are_the_same_bits(steps, options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same_bits(fitted(steps, **options), fitted(1, **options))


def test_several_batches_of_a_generator():
    def batches():
        for i in itertools.count():
            rows = slice(i % 3 * 5, i % 3 * 5 + 5)
            yield X[rows], Y[rows]

    wanted = fitted(1, batches())
    assert_same_bits(fitted(5, batches()), wanted)


@pytest.mark.parametrize("steps", [2, 3, 5, 7])
def test_a_generator_that_ends_within_an_execution(steps):
    """All of its batches are trained on: Keras puts back two of those a model is built by."""

    def batches():
        for i in range(5):
            yield X[4 * i : 4 * i + 4], Y[4 * i : 4 * i + 4]

    model = linear(steps_per_execution=steps)
    w, b = (v.astype("float64") for v in model.get_weights())
    w, b, _ = by_hand(w, b, batches())
    with pytest.warns(UserWarning, match="ran out of data"):
        model.fit(batches(), verbose=0)
    np.testing.assert_allclose(model.get_weights()[0], w, rtol=1e-5, atol=1e-6)
    assert int(model.optimizer.iterations) == 5


def test_callbacks_come_once_an_execution():
    seen = []

    class Watch(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            seen.append(("begin", batch))

        def on_train_batch_end(self, batch, logs=None):
            seen.append(("end", batch, int(self.model.optimizer.iterations)))

    model = linear(steps_per_execution=2)
    model.fit(X, Y, batch_size=4, verbose=0, callbacks=[Watch()])
    assert seen == [
        ("begin", 0), ("end", 1, 2), ("begin", 2), ("end", 3, 4), ("begin", 4), ("end", 5, 5),
    ]  # fmt: skip


def test_accumulated_gradients_are_those_of_the_mean():
    model, other = linear(), linear()
    other.set_weights(model.get_weights())
    model.compile(keras.optimizers.SGD(0.1, gradient_accumulation_steps=2), "mse")
    for i in (0, 8):
        model.train_on_batch(X[i : i + 8], Y[i : i + 8])
    other.compile(keras.optimizers.SGD(0.1), "mse")
    other.train_on_batch(X[:16], Y[:16])
    for a, b in zip(model.get_weights(), other.get_weights()):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_losses_of_several_outputs_are_averaged_by_the_sizes_of_batches():
    inputs = keras.Input((3,))
    model = keras.Model(inputs, [layers.Dense(1, name=n)(inputs) for n in "ab"])
    model.compile(keras.optimizers.SGD(0.0), ["mse", "mae"], loss_weights=[0.5, 2.0])
    history = model.fit(X, [Y, Y], batch_size=8, epochs=1, verbose=0).history
    a, b = model.predict(X, verbose=0)
    np.testing.assert_allclose(history["a_loss"], [np.mean((a - Y) ** 2)], rtol=1e-5)
    np.testing.assert_allclose(history["b_loss"], [np.mean(np.abs(b - Y))], rtol=1e-5)
    found = model.evaluate(X, [Y, Y], batch_size=8, verbose=0, return_dict=True)
    np.testing.assert_allclose(found["a_loss"], history["a_loss"], rtol=1e-5)
