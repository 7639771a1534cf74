"""Training: updates against NumPy by hand, one trace for all sizes, state that callbacks see."""

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
