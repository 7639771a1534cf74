"""Training on many machines: replicas, Dask's workers, beside one process with whole batches."""

import os
import pickle

import keras
import numpy as np
import pytest
from keras import layers, ops

from ckernels.base.errors import UsageError
from ckernels.bridges.replica import Replica, rows_of
from ckernels.keras3 import training_function, value_and_grad

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 6)).astype("float32")
Y = (X @ RNG.normal(size=(6, 2))).astype("float32")


def dense(*inside):
    return keras.Sequential([keras.Input((6,)), layers.Dense(8, "tanh"), *inside, layers.Dense(2)])


def trained(model, x, y, machines, steps=4):
    """Losses of steps of 10 rows, with these divided among so many copies of a model's step."""
    f, slopes = training_function(model, x[:1], y[:1])
    replicas = [Replica(f, gradients=slopes or None)]
    replicas += [pickle.loads(pickle.dumps(replicas[0])) for _ in range(machines - 1)]
    losses = []
    for i in range(steps):
        rows = slice(10 * i, 10 * i + 10)
        each = [rows_of([x[rows], y[rows]], rank, machines) for rank in range(machines)]
        parts = [r.part(arrays) for r, arrays in zip(replicas, each)]
        sums = [np.sum(p, 0, dtype=p[0].dtype) for p in zip(*parts)]
        losses.append([r.apply(sums, arrays) for r, arrays in zip(replicas, each)][0])
    assert len({r.digest() for r in replicas}) == 1
    return losses


def whole(model, x, y, steps=4):
    return [
        float(model.train_on_batch(x[10 * i : 10 * i + 10], y[10 * i : 10 * i + 10]))
        for i in range(steps)
    ]


OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "adam": lambda: keras.optimizers.Adam(0.01),
    "clipped": lambda: keras.optimizers.Adam(0.01, global_clipnorm=0.1),
    "decayed": lambda: keras.optimizers.AdamW(0.01, use_ema=True, ema_overwrite_frequency=2),
    "accumulated": lambda: keras.optimizers.SGD(0.1, gradient_accumulation_steps=2),
    "scheduled": lambda: keras.optimizers.SGD(keras.optimizers.schedules.CosineDecay(0.1, 3)),
    "scaled": lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1)),
}


@pytest.mark.parametrize("machines", [1, 2, 3])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_losses_are_those_of_one_process_with_the_whole_batch(name, machines):
    model = dense(layers.Dense(4, "relu", kernel_regularizer="l2"))
    other = keras.models.clone_model(model)
    other.set_weights(model.get_weights())
    model.compile(OPTIMIZERS[name](), "mse", metrics=["mae"])
    other.compile(OPTIMIZERS[name](), "mse")
    found, wanted = trained(model, X, Y, machines), whole(other, X, Y)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    for a, b in zip(model.get_weights(), other.get_weights()):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    assert int(model.optimizer.iterations) == int(other.optimizer.iterations)
    assert float(model.metrics[0].result()) == 0  # metrics count nothing on the way


def test_words_weights_of_samples_and_a_model_of_branches():
    x, y = RNG.integers(0, 9, (40, 5)).astype("int32"), RNG.integers(0, 3, 40).astype("int32")
    weights = RNG.uniform(size=40).astype("float32")
    inputs = keras.Input((None,), dtype="int32")
    h = layers.Embedding(9, 4, mask_zero=True)(inputs)
    h = layers.concatenate([layers.LSTM(3)(h), ops.max(h, 1)])
    model = keras.Model(inputs, layers.Dense(3)(h))
    other = keras.models.clone_model(model)
    other.set_weights(model.get_weights())
    for each in model, other:
        each.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    f, slopes = training_function(model, x[:1], y[:1], weights[:1])
    replicas = [Replica(f, gradients=slopes)]
    replicas.append(pickle.loads(pickle.dumps(replicas[0])))
    for i in (0, 20):
        batch = [a[i : i + 20] for a in (x, y, weights)]
        each = [rows_of(batch, rank, 2) for rank in range(2)]
        parts = [r.part(arrays) for r, arrays in zip(replicas, each)]
        found = [r.apply([a + b for a, b in zip(*parts)], e) for r, e in zip(replicas, each)]
        wanted = other.train_on_batch(*batch[:2], sample_weight=batch[2])
        np.testing.assert_allclose(found, [wanted] * 2, rtol=1e-5)


def test_running_means_are_those_of_the_whole_batch():
    model = keras.Sequential([keras.Input((6,)), layers.BatchNormalization(), layers.Dense(2)])
    model.compile("sgd", "mse")
    trained(model, X, Y, 2, steps=1)
    np.testing.assert_allclose(
        model.layers[0].moving_mean.value, 0.01 * X[:10].mean(0), rtol=1e-4, atol=1e-7
    )


def test_a_step_of_jax_s_shape():
    class Own(keras.Model):
        def train_step(self, state, data):
            trained, fixed, held, metrics = state
            x, y, _ = data

            def loss_of(values):
                return ops.mean(ops.square(self.stateless_call(values, fixed, x)[0] - y))

            loss, slopes = value_and_grad(loss_of)(trained)
            trained, held = self.optimizer.stateless_apply(held, slopes, trained)
            return {"loss": loss}, (trained, fixed, held, metrics)

    inputs = keras.Input((6,))
    model = Own(inputs, layers.Dense(2)(inputs))
    other = keras.Sequential([inputs, layers.Dense(2)])
    other.set_weights(model.get_weights())
    for each in model, other:
        each.compile(keras.optimizers.SGD(0.1), "mse")
    np.testing.assert_allclose(trained(model, X, Y, 2), whole(other, X, Y), rtol=1e-5)


def test_what_needs_two_sums_in_a_step_is_refused(sharp):
    model = sharp(6, 2)
    with pytest.raises(UsageError, match="needs `compile` before"):
        training_function(model, X, Y)
    model.compile("sgd", "mse")
    with pytest.raises(UsageError, match="to sum twice in a step"):
        training_function(model, X, Y)


def test_workers_of_dask():
    distributed = pytest.importorskip("distributed", reason="needs Dask: ckernels[dask]")
    from ckernels.dask import Batches, Trainer

    os.environ["OMP_NUM_THREADS"] = "1"
    model, other = dense(layers.Dropout(0.0)), dense()
    other.set_weights(model.get_weights())
    for each in model, other:
        each.compile("adam", "mse")
    cluster = distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        f, slopes = training_function(model, X[:1], Y[:1])
        with Trainer(f, client, gradients=slopes) as trainer:
            found = trainer.run(Batches(X, Y, batch=10), steps=4)
            trainer.pull()
    np.testing.assert_allclose(found, whole(other, X, Y), rtol=1e-5)
    np.testing.assert_allclose(model.predict(X, verbose=0), other.predict(X, verbose=0), rtol=1e-4)
