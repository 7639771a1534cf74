"""What programs written for Keras on TensorFlow do beyond the documented functions.

Variables as attributes of layers, costs with dimensions, labels that end a CTC sequence, numbers
that are rounded and written to JSON, metrics that Keras keeps for TensorFlow; and that importing
Keras leaves alone what it does not need.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from .keras_support import compiled, installed, keras_or_skip, settings

keras = keras_or_skip()
assert settings and compiled
pytestmark = pytest.mark.usefixtures("settings")
recent = pytest.mark.skipif(not installed().startswith("2.3."), reason="came with Keras 2.3")
K, L = keras.backend, keras.layers
rng = np.random.default_rng(12)


def normal(*shape):
    return rng.normal(size=shape).astype("float32")


# --- variables of layers ----------------------------------------------------------------------


class Scaled(L.Layer):
    """Keeps its variables as attributes, without add_weight."""

    def build(self, shape):
        self.scale = K.variable(1.0, name="scale")
        self.shifts = K.zeros((shape[-1],), name="shifts")
        self.calls = K.variable(0, dtype="int32", name="calls")
        super().build(shape)

    def call(self, x):
        return x * self.scale + self.shifts


@recent
def test_a_variable_kept_as_an_attribute_is_trained():
    model = keras.models.Sequential([Scaled(input_shape=(3,))])
    assert [w.name for w in model.trainable_weights] == ["scaled_1/scale:0", "scaled_1/shifts:0"]
    assert [w.name for w in model.non_trainable_weights] == ["scaled_1/calls:0"]
    model.compile(keras.optimizers.SGD(0.1), "mse")
    x = normal(64, 3)
    model.fit(x, 3 * x + [1.0, 2.0, 3.0], epochs=150, verbose=0)
    scale, shifts = (K.get_value(w) for w in model.trainable_weights)
    assert scale == pytest.approx(3, abs=0.01)
    np.testing.assert_allclose(shifts, [1, 2, 3], atol=0.02)


@recent
def test_a_variable_that_is_not_trainable_is_left_alone():
    class Fixed(L.Layer):
        def build(self, shape):
            factor = K.variable(2.0)
            factor.trainable = False
            self.factor = factor
            self.gain = self.add_weight("gain", (1,), initializer="ones")
            super().build(shape)

        def call(self, x):
            return x * self.factor * self.gain

    model = keras.models.Sequential([Fixed(input_shape=(2,))])
    assert len(model.trainable_weights) == 1 and len(model.non_trainable_weights) == 1
    model.compile("sgd", "mse")
    model.fit(normal(8, 2), normal(8, 2), verbose=0)
    assert K.get_value(model.layers[0].factor) == 2


# --- gradients of costs with dimensions -------------------------------------------------------


def test_costs_with_dimensions_are_summed():
    x = K.placeholder((None, 3))
    y = K.square(x) * np.array([1.0, 2.0, 3.0])
    a = normal(4, 3)
    for cost, want in (
        (y, 2 * a * [1, 2, 3]),
        (y[:, 1], 4 * a * [0, 1, 0]),
        (K.sum(y), 2 * a * [1, 2, 3]),
        ([y[:, 0], K.sum(y[:, 2])], 2 * a * [1, 0, 3]),
    ):
        got = K.function([x], K.gradients(cost, x))([a])[0]
        np.testing.assert_allclose(got, want, rtol=1e-5)
    with pytest.raises(TypeError, match="the cost"):
        K.gradients([], x)


def test_class_activation_maps():
    """Grad-CAM: what the last convolution does for one class, against the dense weights."""
    x = L.Input((8, 8, 1))
    maps = L.Conv2D(4, 3, activation="relu", name="last")(x)
    model = keras.models.Model(x, L.Dense(5)(L.GlobalAveragePooling2D()(maps)))
    last = model.get_layer("last")
    slopes = K.gradients(model.output[:, 2], last.output)[0]
    importance = K.mean(slopes, axis=(0, 1, 2))
    found = K.function([model.input], [importance, last.output[0]])
    weights, activations = found([normal(1, 8, 8, 1)])
    dense = model.layers[-1].get_weights()[0]
    np.testing.assert_allclose(weights, dense[:, 2] / 36, rtol=1e-4)
    assert activations.shape == (6, 6, 4)


# --- connectionist temporal classification ----------------------------------------------------


def softmaxes(*shape):
    y = np.exp(normal(*shape))
    return y / y.sum(-1, keepdims=True)


def test_a_label_that_is_no_class_ends_the_sequence(compiled):
    y, steps = softmaxes(4, 6, 5), np.full((4, 1), 6)
    labels = np.array([[0, 1, 2, 3], [0, 1, 4, 4], [4, 4, 4, 4], [2, 9, 5, 0]])
    cost = lambda labels, lengths: K.eval(
        K.ctc_batch_cost(
            K.constant(labels),
            K.constant(y),
            K.constant(steps, "int32"),
            K.constant(lengths, "int32"),
        )
    )
    got = cost(labels, [[4], [4], [1], [3]])
    want = cost(np.where(labels > 3, 0, labels), [[4], [2], [0], [1]])
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("mode", ["compiled", "reference"])
def test_a_label_behind_the_end_is_an_error(mode):
    from ckernels.base.config import config

    y, labels = softmaxes(1, 6, 5), np.array([[0, 4, 1]])
    with config.change(mode=mode), pytest.raises(ValueError, match="label 1 of sample 0"):
        K.eval(K.ctc_batch_cost(labels, y, np.array([[6]]), np.array([[3]])))


# --- cross-entropies --------------------------------------------------------------------------


@pytest.mark.parametrize("p, target", [(0.0, 1.0), (1.0, 0.0), (0.0, 0.0), (1.0, 1.0), (0.3, 1.0)])
def test_epsilon_inside_the_logarithms_of_keras_2_3(p, target):
    got = K.eval(K.binary_crossentropy(K.constant([target]), K.constant([p])))
    e = np.float32(1e-7)
    p = np.clip(np.float32(p), e, 1 - e)
    more = e if installed().startswith("2.3.") else np.float32(0)
    want = -(target * np.log(p + more) + (1 - target) * np.log(1 - p + more))
    np.testing.assert_allclose(got, [want], rtol=1e-5, atol=1e-6)


# --- numbers ----------------------------------------------------------------------------------


def model_of_two():
    x = L.Input((3,))
    h = L.Dropout(0.1)(L.Dense(4)(x))
    return keras.models.Model(x, [L.Dense(1)(h), L.Dense(1)(h)])


@pytest.mark.parametrize("metrics", [[], ["mae"]])
def test_losses_round_and_format(metrics):
    model = keras.models.Sequential([L.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse", metrics=metrics)
    x, y = normal(16, 3), normal(16, 1)
    for found in (model.train_on_batch(x, y), model.test_on_batch(x, y)):
        for value in found if metrics else [found]:
            assert isinstance(value, np.float32)
            assert round(value, 3) == pytest.approx(float(value), abs=5.1e-4)
            assert f"{value:.3f}" == f"{float(value):.3f}"
    scores = model.evaluate(x, y, verbose=0)
    wanted = float if installed().startswith("2.3.") else np.float64  # with a shape, and a float
    assert {type(s) for s in (scores if metrics else [scores])} == {wanted}


def test_histories_are_json(tmp_path):
    seen = []
    model = model_of_two()
    model.compile("adam", "mse", metrics=["mae"])
    x, y = normal(40, 3), [normal(40, 1), normal(40, 1)]
    callbacks = [
        keras.callbacks.LambdaCallback(on_epoch_end=lambda e, logs: seen.append(json.dumps(logs))),
        keras.callbacks.ReduceLROnPlateau(monitor="loss"),
    ]
    options = {"validation_split": 0.2, "epochs": 2, "verbose": 0, "callbacks": callbacks}
    history = model.fit(x, y, **options).history
    assert json.loads(json.dumps(history)) == history
    assert {type(v) for values in history.values() for v in values} == {float}
    assert len(seen) == 2 and "val_loss" in json.loads(seen[0])


def test_averages_over_an_epoch_are_not_rounded_to_float32():
    logger = keras.callbacks.BaseLogger()
    logger.set_params({"metrics": ["loss"]})
    logger.on_epoch_begin(0)
    for _ in range(3):
        logger.on_batch_end(0, {"size": 3, "loss": np.float32(0.1)})
    logs = {}
    logger.on_epoch_end(0, logs)
    assert logs["loss"] == float(np.float32(0.1)) and type(logs["loss"]) is float


def test_values_without_dimensions_are_scalars():
    x, v = K.placeholder((None,)), K.variable(0.1)
    one, both = K.function([x], K.sum(x)), K.function([x], [K.sum(x), x])
    assert type(one([np.ones(3)])) is np.float32
    total, same = both([np.ones(3)])
    assert type(total) is np.float32 and same.shape == (3,)
    assert type(K.get_value(v)) is type(K.eval(v + 1)) is np.float32
    assert round(K.get_value(v), 3) == pytest.approx(0.1)
    assert [type(w) for w in K.batch_get_value([v, K.zeros((2,))])] == [np.float32, np.ndarray]
    assert repr(both).startswith("<ckernels function") and both.outputs[1] is x.node


def test_each_phase_gives_scalars():
    x = K.placeholder((None, 4))
    y = K.sum(K.dropout(x, 0.5))
    for outputs in (y, [y, x]):
        f = K.function([x, K.learning_phase()], outputs)
        for phase in (0, 1):
            found = f([np.ones((2, 4)), phase])
            assert type(found if outputs is y else found[0]) is np.float32


# --- data -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["imdb", "reuters"])
def test_texts_of_different_lengths(name, tmp_path, monkeypatch):
    from importlib import import_module

    dataset = import_module(f"keras.datasets.{name}")
    texts = np.empty(20, object)
    texts[:] = [list(range(1, 3 + k % 5)) for k in range(20)]
    labels = np.arange(20) % 2
    path = tmp_path / f"{name}.npz"
    if name == "imdb":
        np.savez(path, x_train=texts, y_train=labels, x_test=texts, y_test=labels)
    else:
        np.savez(path, x=texts, y=labels)
    monkeypatch.setattr(dataset, "get_file", lambda *args, **kwargs: str(path))
    (x, y), (_, _) = dataset.load_data(num_words=5)
    assert x.dtype == object and len(x) == len(y) and x[0][0] == 1  # where a text starts
    padded = keras.preprocessing.sequence.pad_sequences(x, maxlen=4)
    assert padded.shape == (len(x), 4) and padded.max() < 5


# --- shapes -----------------------------------------------------------------------------------


def test_static_shapes_as_tensorflow_gives_them():
    x = L.Input((5, 3))
    assert x.get_shape().as_list() == [None, 5, 3]
    assert x.get_shape().ndims == 3 and x.get_shape()[1] == 5
    assert K.sum(x, axis=1).get_shape().as_list() == [None, 3]
    assert K.zeros((2, 2)).get_shape() == (2, 2)


def test_repeated_elements_carry_their_shape():
    y = K.repeat_elements(K.placeholder((None, 3, 4)), 2, axis=1)
    assert y._keras_shape == K.int_shape(y) == (None, 6, 4)
    y = K.repeat_elements(K.placeholder((2, None)), 2, axis=1)
    assert y._keras_shape == (2, None)


# --- metrics that Keras keeps for TensorFlow --------------------------------------------------


def of_top_k(target, p, k, threshold=-1e9):
    """(precision, recall) of the k best of each row; of equals the first."""
    best = np.argsort(-p, axis=-1, kind="stable")[:, :k]
    said = np.zeros(p.shape, bool)
    np.put_along_axis(said, best, True, -1)
    said &= p > threshold
    hits = (said & (target > 0)).sum()
    return hits / said.sum(), hits / (target > 0).sum()


@recent
@pytest.mark.parametrize("k", [1, 3, 6])
@pytest.mark.parametrize("threshold", [None, 0.5])
def test_precision_and_recall_of_the_best(k, threshold):
    p = np.round(rng.uniform(size=(20, 6)), 1)  # with ties
    target = (rng.uniform(size=p.shape) > 0.5) * 1.0
    want = of_top_k(target, p, k, -1e9 if threshold is None else threshold)
    x = L.Input((6,))
    model = keras.models.Model(x, L.Activation("linear")(x))
    M = keras.metrics  # noqa: N806
    made = [M.Precision(threshold, top_k=k), M.Recall(threshold, top_k=k)]
    made = [type(m).from_config(m.get_config()) for m in made]
    model.compile("sgd", "mse", metrics=made)
    got = model.evaluate(p, target, batch_size=4, verbose=0)[1:]
    np.testing.assert_allclose(got, want, rtol=1e-5)


@recent
def test_mean_iou_of_images_with_weights():
    target, p = rng.integers(0, 3, (2, 5, 5)), rng.integers(0, 3, (2, 5, 5))
    weights = rng.uniform(size=target.shape)
    metric = keras.metrics.MeanIoU(num_classes=4)
    metric = keras.metrics.deserialize(keras.metrics.serialize(metric))
    assert metric.num_classes == 4 and isinstance(metric, keras.metrics.MeanIoU)
    assert K.eval(metric.result()) == 0
    for k in range(2):
        K.eval(metric(K.constant(target[k]), K.constant(p[k]), K.constant(weights[k])))
    sums = lambda which: (weights * which).sum()
    want = [sums((target == c) & (p == c)) / sums((target == c) | (p == c)) for c in range(3)]
    assert K.eval(metric.result()) == pytest.approx(np.mean(want), rel=1e-5)
    metric.reset_states()
    assert K.eval(metric.result()) == 0
    with pytest.raises(IndexError):
        K.eval(metric(K.constant([4]), K.constant([0])))
    with pytest.raises(IndexError):
        K.eval(metric(K.constant([0]), K.constant([-1])))


# --- what importing Keras does to others ------------------------------------------------------

LEFT_ALONE = """
import collections, fractions, inspect
import numpy as np, yaml
before = {m: set(vars(m)) for m in (collections, fractions, inspect, np)}
load = yaml.load.__defaults__
import keras
added = {f"{m.__name__}.{n}" for m, names in before.items() for n in set(vars(m)) - names
         if not inspect.ismodule(vars(m)[n])}
from ckernels.compat import _modern
allowed = {f"collections.{n}" for n in ("Container", "Iterable", "Mapping", "Sequence")}
allowed |= {"inspect.getargspec", "inspect.ArgSpec"}
allowed |= {f"numpy.{n}" for n in
            "bool int float complex object str Inf string_ unicode_".split()}
assert added <= allowed, added - allowed
assert yaml.load.__defaults__ is load
assert not _modern.lacking()
model = keras.models.Sequential([keras.layers.Dense(2, input_shape=(3,))])
again = keras.models.model_from_yaml(model.to_yaml())
assert again.get_config() == model.get_config()
print("left alone")
"""


def python(folder, *arguments):
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    home = {"KERAS_HOME": str(folder), "KERAS_BACKEND": "ckernels.compat.keras2"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        env={**os.environ, **home, "PYTHONPATH": path},
        text=True,
        timeout=240,
    )


def test_importing_keras_leaves_others_alone(tmp_path):
    done = python(tmp_path, "-c", LEFT_ALONE)
    assert done.stdout.split() == ["left", "alone"], done.stderr


def test_doctor_says_what_importing_keras_changes(tmp_path):
    done = python(tmp_path, "-m", "ckernels.cli", "doctor", "--json")
    said = json.loads(done.stdout)["keras"]
    assert said["version"] == installed() and "cast_policy=keep_float" in said["text"]
    assert set(said["names"]) >= {"numpy.int", "numpy.float"}
    assert all(name in said["text"] for name in said["names"])
