"""Keras 1.2.2 itself on ckernels: its layers, training, files and settings.

Keras 1 and Keras 2 share a name, so this runs in an environment with keras==1.2.2 (`make keras
KERAS=1.2.2`) and is skipped in others.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ckernels.base.config import config

from . import keras_numpy as oracle
from .keras_support import compiled, installed, settings

if not installed().startswith("1."):
    pytest.skip("needs keras 1 (make keras KERAS=1.2.2)", allow_module_level=True)

assert settings and compiled
with config.change(cast_policy=config.cast_policy):
    from ckernels.compat import keras1

    keras1.install("tensorflow")
    import keras
    from keras import backend as K
    from keras import layers as L
    from keras.models import Model, Sequential, load_model, model_from_json

pytestmark = pytest.mark.usefixtures("compiled")
rng = np.random.default_rng(0)

LAYERS = {
    "Dense": (lambda: L.Dense(4, activation="tanh"), (3,)),
    "MaxoutDense": (lambda: L.MaxoutDense(4, nb_feature=3), (3,)),
    "Highway": (lambda: L.Highway(), (3,)),
    "TimeDistributedDense": (lambda: L.TimeDistributed(L.Dense(2)), (4, 3)),
    "Lambda": (lambda: L.Lambda(lambda x: K.concatenate([x, x * 2])), (3,)),
    "Reshape": (lambda: L.Reshape((3, 2)), (6,)),
    "Permute": (lambda: L.Permute((2, 1)), (3, 2)),
    "RepeatVector": (lambda: L.RepeatVector(2), (3,)),
    "BatchNormalization": (lambda: L.BatchNormalization(), (3,)),
    "PReLU": (lambda: L.PReLU(), (3,)),
    "SReLU": (lambda: L.SReLU(), (3,)),
    "ParametricSoftplus": (lambda: L.ParametricSoftplus(), (3,)),
    "LeakyReLU": (lambda: L.LeakyReLU(), (3,)),
    "ELU": (lambda: L.ELU(), (3,)),
    "Dropout": (lambda: L.Dropout(0.5), (3,)),
    "GaussianNoise": (lambda: L.GaussianNoise(0.5), (3,)),
    "Convolution1D": (lambda: L.Convolution1D(4, 3, border_mode="same"), (6, 2)),
    "AtrousConvolution1D": (lambda: L.AtrousConvolution1D(4, 2, atrous_rate=2), (6, 2)),
    "Convolution2D_th": (lambda: L.Convolution2D(4, 3, 2, dim_ordering="th"), (2, 5, 6)),
    "Convolution2D_tf": (lambda: L.Convolution2D(4, 3, 2, dim_ordering="tf", subsample=(2, 1)),
                         (5, 6, 2)),
    "Deconvolution2D": (lambda: L.Deconvolution2D(3, 3, 3, (None, 3, 7, 8), dim_ordering="th"),
                        (2, 5, 6)),
    "Deconvolution2D_full": (
        lambda: L.Deconvolution2D(3, 3, 3, (None, 3, 3, 4), border_mode="full", dim_ordering="th"),
        (2, 5, 6)),
    "Convolution3D": (lambda: L.Convolution3D(2, 2, 2, 2, dim_ordering="tf"), (3, 4, 3, 2)),
    "MaxPooling1D": (lambda: L.MaxPooling1D(2), (6, 2)),
    "MaxPooling2D": (lambda: L.MaxPooling2D((2, 2), dim_ordering="th"), (2, 4, 6)),
    "AveragePooling3D": (lambda: L.AveragePooling3D(dim_ordering="tf"), (4, 4, 2, 2)),
    "GlobalAveragePooling2D": (lambda: L.GlobalAveragePooling2D(dim_ordering="tf"), (4, 3, 2)),
    "UpSampling2D": (lambda: L.UpSampling2D(dim_ordering="tf"), (2, 3, 2)),
    "ZeroPadding2D": (lambda: L.ZeroPadding2D((1, 2), dim_ordering="tf"), (2, 3, 2)),
    "Cropping2D": (lambda: L.Cropping2D(((1, 0), (0, 1)), dim_ordering="tf"), (4, 3, 2)),
    "LocallyConnected1D": (lambda: L.LocallyConnected1D(3, 2), (5, 2)),
    "LocallyConnected2D_th": (lambda: L.LocallyConnected2D(3, 2, 2, dim_ordering="th"), (2, 4, 3)),
    "LocallyConnected2D_tf": (lambda: L.LocallyConnected2D(3, 2, 2, dim_ordering="tf"), (4, 3, 2)),
    "SimpleRNN": (lambda: L.SimpleRNN(4, return_sequences=True), (5, 3)),
    "GRU": (lambda: L.GRU(4, dropout_W=0.1, dropout_U=0.1), (5, 3)),
    "LSTM": (lambda: L.LSTM(4, consume_less="gpu"), (5, 3)),
    "LSTM_unrolled": (lambda: L.LSTM(4, unroll=True, return_sequences=True), (5, 3)),
    "ConvLSTM2D": (lambda: L.ConvLSTM2D(2, 3, 3, border_mode="same", dim_ordering="th"),
                   (3, 1, 4, 4)),
    "Bidirectional": (lambda: L.Bidirectional(L.LSTM(3)), (5, 3)),
    "Flatten": (lambda: L.Flatten(), (3, 2)),
    "Activation": (lambda: L.Activation("softsign"), (3,)),
    "ActivityRegularization": (lambda: L.ActivityRegularization(0.1, 0.1), (3,)),
    "Masking": (lambda: L.Masking(), (3, 2)),
    "ThresholdedReLU": (lambda: L.ThresholdedReLU(0.3), (4,)),
    "GaussianDropout": (lambda: L.GaussianDropout(0.5), (3,)),
    "SpatialDropout1D": (lambda: L.SpatialDropout1D(0.5), (3, 2)),
    "SpatialDropout2D": (lambda: L.SpatialDropout2D(0.5, dim_ordering="tf"), (3, 2, 2)),
    "SpatialDropout3D": (lambda: L.SpatialDropout3D(0.5, dim_ordering="th"), (2, 1, 3, 2)),
    "AtrousConvolution2D": (
        lambda: L.AtrousConvolution2D(2, 2, 2, atrous_rate=(2, 1), dim_ordering="th"), (2, 5, 4)),
    "MaxPooling3D": (lambda: L.MaxPooling3D(dim_ordering="th"), (1, 4, 4, 2)),
    "AveragePooling1D": (lambda: L.AveragePooling1D(2), (6, 2)),
    "AveragePooling2D": (lambda: L.AveragePooling2D((3, 2), border_mode="same", dim_ordering="tf"),
                         (5, 4, 2)),
    "GlobalMaxPooling1D": (lambda: L.GlobalMaxPooling1D(), (4, 2)),
    "GlobalAveragePooling1D": (lambda: L.GlobalAveragePooling1D(), (4, 2)),
    "GlobalMaxPooling2D": (lambda: L.GlobalMaxPooling2D(dim_ordering="th"), (2, 4, 3)),
    "GlobalMaxPooling3D": (lambda: L.GlobalMaxPooling3D(dim_ordering="tf"), (2, 3, 2, 2)),
    "GlobalAveragePooling3D": (lambda: L.GlobalAveragePooling3D(dim_ordering="th"), (2, 2, 3, 2)),
    "UpSampling1D": (lambda: L.UpSampling1D(2), (3, 2)),
    "UpSampling3D": (lambda: L.UpSampling3D(), (2, 2, 2, 1)),
    "ZeroPadding1D": (lambda: L.ZeroPadding1D(2), (3, 2)),
    "ZeroPadding3D": (lambda: L.ZeroPadding3D(dim_ordering="tf"), (2, 1, 2, 2)),
    "Cropping1D": (lambda: L.Cropping1D((1, 2)), (6, 2)),
    "Cropping3D": (lambda: L.Cropping3D(dim_ordering="tf"), (4, 3, 5, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layer_trains_and_is_saved(name, tmp_path):
    """One step moves the loss down its slope; file and config give the layer back."""
    build, shape = LAYERS[name]
    x = rng.normal(size=(4, *shape)).astype("float32")
    inputs = L.Input(shape)
    model = Model(inputs, build()(inputs))
    model.compile("sgd", "mse")
    y = model.predict(x)
    assert y.shape[1:] == tuple(model.output_shape[1:])
    target = y + 1
    loss = model.train_on_batch(x, target)
    assert np.isfinite(loss)
    if model.trainable_weights and not model.uses_learning_phase:
        assert model.test_on_batch(x, target) < loss
    path = str(tmp_path / "m.h5")
    model.save(path)
    copy = load_model(path)
    np.testing.assert_allclose(copy.predict(x), model.predict(x), rtol=1e-6)
    if "Lambda" not in name:
        assert model_from_json(model.to_json()).output_shape == model.output_shape


@pytest.mark.parametrize("consume_less", ["cpu", "mem", "gpu"])
@pytest.mark.parametrize("name", ["LSTM", "GRU", "SimpleRNN"])
def test_dropout_of_inputs_of_any_length(name, consume_less):
    """dropout_W draws one mask for all steps, whose number only the data tells."""
    from keras.layers import Embedding

    options = {"dropout_W": 0.5, "dropout_U": 0.5, "consume_less": consume_less}
    model = Sequential([Embedding(20, 6, mask_zero=True, dropout=0.2)])
    model.add(getattr(L, name)(5, **options))
    model.add(L.Dense(1))
    model.compile("adam", "mse")
    for steps in (7, 3):
        x = rng.integers(1, 20, (4, steps))
        assert model.predict(x).shape == (4, 1)
        assert isinstance(round(model.train_on_batch(x, np.ones((4, 1))), 3), (float, np.float32))
    np.testing.assert_array_equal(model.predict(x), model.predict(x))


def test_histories_are_json(tmp_path):
    model = Sequential([L.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse", metrics=["mae"])
    x = rng.normal(size=(32, 3))
    history = model.fit(x, x[:, :1], nb_epoch=2, validation_split=0.25, verbose=0).history
    assert json.loads(json.dumps(history)) == history
    assert {type(v) for values in history.values() for v in values} == {float}


def test_yaml_and_pictures():
    from scipy.misc import imread, imresize, imsave

    assert callable(imread) and callable(imsave) and callable(imresize)
    from keras.models import model_from_yaml

    model = Sequential([L.Dense(2, input_shape=(3,))])
    assert model_from_yaml(model.to_yaml()).get_config() == model.get_config()


def test_no_layer_is_left_out():
    """Legacy, abstract and TensorFlow-only classes aside; Merge and Embedding have tests below."""
    from keras.engine.topology import Layer

    classes = [c for c in vars(L).values() if isinstance(c, type) and issubclass(c, Layer)]
    names = {c.__name__ for c in classes if not c.__name__.startswith("_")}
    names -= {
        "Layer",
        "Wrapper",
        "Recurrent",
        "ConvRecurrent2D",
        "InputLayer",
        "TimeDistributed",
        "Merge",
        "Embedding",
        "SeparableConvolution2D",
    }
    assert len(names) > 50 and not names - {n.partition("_")[0] for n in LAYERS}


@pytest.mark.parametrize("mode", ["sum", "mul", "ave", "max", "concat", "cos", "dot"])
def test_merge_modes(mode):
    a, b = rng.normal(size=(2, 4, 3)).astype("float32")
    inputs = [L.Input((3,)), L.Input((3,))]
    axes = {"dot_axes": 1} if mode in ("cos", "dot") else {}
    y = Model(inputs, L.merge(inputs, mode=mode, **axes)).predict([a, b])
    norm = lambda v: np.linalg.norm(v, axis=1)
    want = {
        "sum": a + b,
        "mul": a * b,
        "ave": (a + b) / 2,
        "max": np.maximum(a, b),
        "concat": np.hstack([a, b]),
        "dot": (a * b).sum(1)[:, None],
        "cos": ((a * b).sum(1) / norm(a) / norm(b))[:, None, None],
    }[mode]
    np.testing.assert_allclose(y.reshape(want.shape), want, rtol=1e-4, atol=1e-5)


def test_forward_against_numpy():
    x = rng.normal(size=(2, 5, 6, 2)).astype("float32")
    model = Sequential([L.Convolution2D(4, 3, 2, dim_ordering="tf", input_shape=(5, 6, 2))])
    w, b = model.get_weights()
    want = oracle.convolve(x, w, (1, 1), "valid", (1, 1)) + b
    np.testing.assert_allclose(model.predict(x), want, rtol=1e-4, atol=1e-5)
    layer = L.LSTM(4, input_shape=(5, 3))
    model = Sequential([layer])
    gates = {g: [K.get_value(getattr(layer, f"{p}_{g}")) for p in "WUb"] for g in "ifco"}
    weights = [np.concatenate([gates[g][k] for g in "ifco"], -1) for k in range(3)]
    layer.recurrent_activation, layer.go_backwards = layer.inner_activation, False
    layer.units = 4
    x = rng.normal(size=(2, 5, 3)).astype("float32")
    np.testing.assert_allclose(
        model.predict(x), oracle.lstm(x, weights, layer), rtol=1e-4, atol=1e-6
    )


def test_a_classifier_learns():
    labels = rng.integers(0, 3, 300)
    x = rng.normal(size=(300, 2)) * 0.4 + np.array([[0, 2], [2, -1], [-2, -1]])[labels]
    model = Sequential()
    model.add(L.Dense(16, input_dim=2, activation="relu", W_regularizer="l2"))
    model.add(L.Dropout(0.1))
    model.add(L.Dense(3, activation="softmax"))
    model.compile(keras.optimizers.Adam(0.02), "categorical_crossentropy", metrics=["accuracy"])
    y = np.eye(3)[labels]
    history = model.fit(x, y, nb_epoch=8, batch_size=30, verbose=0, validation_split=0.2).history
    assert history["loss"][-1] < 0.3 < history["loss"][0] and history["val_acc"][-1] > 0.95
    assert (model.predict_classes(x, verbose=0) == labels).mean() > 0.95


def test_merge_of_branches():
    left, right = Sequential([L.Dense(4, input_dim=3)]), Sequential([L.Dense(4, input_dim=2)])
    model = Sequential([L.Merge([left, right], mode="concat"), L.Dense(1)])
    model.compile("rmsprop", "mse")
    x = [rng.normal(size=(8, 3)), rng.normal(size=(8, 2))]
    assert model.predict(x).shape == (8, 1)
    assert np.isfinite(model.train_on_batch(x, np.ones((8, 1))))


def test_text_with_masks_and_states():
    model = Sequential([L.Embedding(20, 8, mask_zero=True, input_length=6), L.LSTM(8), L.Dense(1)])
    model.compile("adam", "binary_crossentropy")
    x = rng.integers(1, 20, (10, 6))
    x[:, 4:] = 0
    losses = model.fit(x, x[:, 0] > 10, nb_epoch=3, verbose=0).history["loss"]
    assert np.isfinite(losses).all()
    stateful = Sequential([L.GRU(3, stateful=True, batch_input_shape=(2, 4, 2))])
    y = rng.normal(size=(2, 4, 2))
    first, second = stateful.predict(y, batch_size=2), stateful.predict(y, batch_size=2)
    stateful.reset_states()
    assert abs(first - second).max() > 1e-4
    np.testing.assert_allclose(stateful.predict(y, batch_size=2), first, rtol=1e-6)


PROGRAM = """
import sys
from keras import backend as K
from keras.layers import Convolution2D
from keras.models import Sequential
import ckernels
print(K.backend(), K.image_dim_ordering(), ckernels.image_data_format(), K.floatx(), sys.argv)
K.set_floatx("float64")
print(ckernels.floatx(), K.variable(0.0).dtype)
"""


@pytest.mark.parametrize("like", ["tensorflow", "theano"])
def test_as_a_command(tmp_path, like):
    (tmp_path / ".keras").mkdir()
    asked = {"image_dim_ordering": "th", "epsilon": 1e-7, "floatx": "float32", "backend": like}
    (tmp_path / ".keras" / "keras.json").write_text(json.dumps(asked))
    (tmp_path / "train.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "ckernels.compat.keras1", "train.py", "--now"],
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert f"convolutions of {like}" in done.stderr
    lines = done.stdout.splitlines()
    assert lines == ["theano th channels_first float32 ['train.py', '--now']", "float64 float64"]


NEWER = """
import numpy as np
from keras.layers import LSTM, BatchNormalization, Convolution1D, Dense, Lambda
from keras.models import Sequential, load_model
from keras.optimizers import Adam
from keras.preprocessing import image, sequence, text

np.random.seed(0)
model = Sequential()
model.add(Convolution1D(4, 3, border_mode="same", activation="relu", input_shape=(6, 2)))
model.add(BatchNormalization())
model.add(Lambda(lambda t: t * 2.0))
model.add(LSTM(8))
model.add(Dense(1))
model.compile(Adam(0.01), "mse")
rng = np.random.default_rng(0)
x = rng.normal(size=(128, 6, 2))
y = x.mean((1, 2))[:, None]
losses = model.fit(x, y, batch_size=16, nb_epoch=15, verbose=0).history["loss"]
assert losses[-1] < losses[0] / 2, losses
model.save("model.h5")
np.testing.assert_array_equal(load_model("model.h5").predict(x), model.predict(x))
print("trained")
"""


def test_without_what_newer_pythons_removed(tmp_path):
    """Keras 1 where imp, distutils, pkg_resources, ... cannot be imported."""
    program = "from ckernels.compat import keras1\nkeras1.install()\n" + NEWER
    (tmp_path / "train.py").write_text(program)
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("newer_python.py")), "train.py"],
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "trained"


def test_texts_of_different_lengths(tmp_path, monkeypatch):
    import pickle

    from keras.datasets import imdb

    texts, labels = [list(range(3, 6 + k % 5)) for k in range(20)], [k % 2 for k in range(20)]
    path = tmp_path / "imdb.pkl"
    path.write_bytes(pickle.dumps(((texts, labels), (texts, labels))))
    monkeypatch.setattr(imdb, "get_file", lambda *args, **kwargs: str(path))
    (x, y), _ = imdb.load_data(nb_words=8)
    assert x.dtype == object and len(x) == len(y) == 20
    from keras.preprocessing.sequence import pad_sequences

    assert pad_sequences(x, maxlen=4).shape == (20, 4)
