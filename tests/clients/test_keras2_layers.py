"""Layers of Keras 2, one of each family: forward against NumPy, gradients against differences."""

import inspect
import json

import numpy as np
import pytest

from ckernels.base.config import config

from . import keras_numpy as oracle
from .keras_support import keras_or_skip, settings

keras = keras_or_skip()
assert settings
pytestmark = pytest.mark.usefixtures("settings")
K, L = keras.backend, keras.layers

LAYERS = {
    # name: (layer, shape of an input without the batch, oracle of (x, weights, layer))
    "Dense": (lambda: L.Dense(4, activation="tanh"), (3,), oracle.dense),
    "Dense_3d": (lambda: L.Dense(4, activation="softmax"), (2, 3), oracle.dense),
    "Flatten": (lambda: L.Flatten(), (2, 3, 2), lambda x, w, layer: x.reshape(len(x), -1)),
    "Reshape": (lambda: L.Reshape((3, -1)), (2, 6), lambda x, w, layer: x.reshape(len(x), 3, 4)),
    "Permute": (lambda: L.Permute((2, 1)), (2, 3), lambda x, w, layer: x.transpose(0, 2, 1)),
    "RepeatVector": (lambda: L.RepeatVector(3), (4,),
                     lambda x, w, layer: x[:, None].repeat(3, 1)),
    "Lambda": (lambda: L.Lambda(lambda x: K.sum(x, axis=2) ** 2), (3, 2),
               lambda x, w, layer: x.sum(2) ** 2),
    "Dropout": (lambda: L.Dropout(0.5), (4,), lambda x, w, layer: x),
    "ActivityRegularization": (lambda: L.ActivityRegularization(0.1, 0.1), (4,),
                               lambda x, w, layer: x),
    "GaussianNoise": (lambda: L.GaussianNoise(0.5), (4,), lambda x, w, layer: x),
    "GaussianDropout": (lambda: L.GaussianDropout(0.5), (4,), lambda x, w, layer: x),
    "AlphaDropout": (lambda: L.AlphaDropout(0.5), (4,), lambda x, w, layer: x),
    "SpatialDropout1D": (lambda: L.SpatialDropout1D(0.5), (4, 2), lambda x, w, layer: x),
    "SpatialDropout2D": (lambda: L.SpatialDropout2D(0.5), (2, 2, 3), lambda x, w, layer: x),
    "SpatialDropout3D": (lambda: L.SpatialDropout3D(0.5), (2, 1, 2, 3), lambda x, w, layer: x),
    "LeakyReLU": (lambda: L.LeakyReLU(0.2), (4,), lambda x, w, layer: np.where(x > 0, x, 0.2 * x)),
    "PReLU": (lambda: L.PReLU(alpha_initializer="ones", shared_axes=[1]), (4, 3),
              lambda x, w, layer: np.where(x > 0, x, w[0] * x)),
    "ELU": (lambda: L.ELU(0.7), (4,), lambda x, w, layer: np.where(x > 0, x, 0.7 * np.expm1(x))),
    "ThresholdedReLU": (lambda: L.ThresholdedReLU(0.3), (9,),
                        lambda x, w, layer: np.where(x > 0.3, x, 0)),
    "Softmax": (lambda: L.Softmax(axis=1), (3, 2),
                lambda x, w, layer: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
    "ReLU": (lambda: L.ReLU(max_value=0.8, negative_slope=0.1, threshold=0.1), (9,),
             lambda x, w, layer: np.where(x > 0.1, np.minimum(x, 0.8), 0.1 * (x - 0.1))),
    "BatchNormalization": (lambda: L.BatchNormalization(), (4, 3), oracle.batch_norm),
    "Conv1D": (lambda: L.Conv1D(4, 3, padding="causal", dilation_rate=2), (7, 2), oracle.conv),
    "Conv1D_strided": (lambda: L.Conv1D(4, 3, strides=2, padding="same"), (7, 2), oracle.conv),
    "Conv2D": (lambda: L.Conv2D(4, (3, 2), activation="relu"), (5, 6, 2), oracle.conv),
    "Conv2D_same": (lambda: L.Conv2D(3, 3, padding="same", strides=(2, 1)), (5, 6, 2), oracle.conv),
    "Conv2D_dilated": (lambda: L.Conv2D(2, 2, dilation_rate=(2, 1)), (5, 6, 2), oracle.conv),
    "Conv3D": (lambda: L.Conv3D(2, 2, padding="same", activation="tanh"), (3, 4, 3, 2),
               oracle.conv),
    "Conv2DTranspose": (lambda: L.Conv2DTranspose(3, 3, strides=2), (3, 2, 2),
                        oracle.conv_transpose),
    "Conv2DTranspose_same": (lambda: L.Conv2DTranspose(3, 3, strides=2, padding="same"), (3, 2, 2),
                             oracle.conv_transpose),
    "Conv3DTranspose": (lambda: L.Conv3DTranspose(2, 2, strides=(2, 1, 2)), (2, 2, 3, 2),
                        oracle.conv_transpose),
    "SeparableConv1D": (lambda: L.SeparableConv1D(3, 3, depth_multiplier=2), (6, 2),
                        lambda x, w, layer: oracle.separable(x, w, layer)),
    "SeparableConv2D": (lambda: L.SeparableConv2D(3, 3, padding="same", depth_multiplier=2),
                        (5, 4, 2), oracle.separable),
    "DepthwiseConv2D": (lambda: L.DepthwiseConv2D(3, depth_multiplier=2), (5, 4, 2),
                        oracle.depthwise_conv),
    "LocallyConnected1D": (lambda: L.LocallyConnected1D(3, 2, strides=2), (7, 2), oracle.local),
    "LocallyConnected2D": (lambda: L.LocallyConnected2D(3, (2, 3)), (4, 5, 2), oracle.local),
    "MaxPooling1D": (lambda: L.MaxPooling1D(3, 2, padding="same"), (7, 2), oracle.max_pool),
    "MaxPooling2D": (lambda: L.MaxPooling2D((2, 3)), (5, 6, 2), oracle.max_pool),
    "MaxPooling3D": (lambda: L.MaxPooling3D(2), (4, 4, 3, 2), oracle.max_pool),
    "AveragePooling1D": (lambda: L.AveragePooling1D(2), (6, 2), oracle.average_pool),
    "AveragePooling2D": (lambda: L.AveragePooling2D(3, 2, padding="same"), (5, 4, 2),
                         oracle.average_pool),
    "AveragePooling3D": (lambda: L.AveragePooling3D(2), (4, 3, 4, 2), oracle.average_pool),
    "GlobalMaxPooling1D": (lambda: L.GlobalMaxPooling1D(), (4, 2), lambda x, w, layer: x.max(1)),
    "GlobalAveragePooling1D": (lambda: L.GlobalAveragePooling1D(), (4, 2),
                               lambda x, w, layer: x.mean(1)),
    "GlobalMaxPooling2D": (lambda: L.GlobalMaxPooling2D(), (4, 3, 2),
                           lambda x, w, layer: x.max((1, 2))),
    "GlobalAveragePooling2D": (lambda: L.GlobalAveragePooling2D(), (4, 3, 2),
                               lambda x, w, layer: x.mean((1, 2))),
    "GlobalMaxPooling3D": (lambda: L.GlobalMaxPooling3D(), (2, 3, 2, 2),
                           lambda x, w, layer: x.max((1, 2, 3))),
    "GlobalAveragePooling3D": (lambda: L.GlobalAveragePooling3D(), (2, 3, 2, 2),
                               lambda x, w, layer: x.mean((1, 2, 3))),
    "UpSampling1D": (lambda: L.UpSampling1D(2), (3, 2), lambda x, w, layer: x.repeat(2, 1)),
    "UpSampling2D": (lambda: L.UpSampling2D((2, 3)), (3, 2, 2),
                     lambda x, w, layer: x.repeat(2, 1).repeat(3, 2)),
    "UpSampling3D": (lambda: L.UpSampling3D(2), (2, 2, 1, 2),
                     lambda x, w, layer: x.repeat(2, 1).repeat(2, 2).repeat(2, 3)),
    "ZeroPadding1D": (lambda: L.ZeroPadding1D((1, 2)), (3, 2),
                      lambda x, w, layer: np.pad(x, ((0, 0), (1, 2), (0, 0)))),
    "ZeroPadding2D": (lambda: L.ZeroPadding2D(((1, 0), (2, 1))), (3, 2, 2),
                      lambda x, w, layer: np.pad(x, ((0, 0), (1, 0), (2, 1), (0, 0)))),
    "ZeroPadding3D": (lambda: L.ZeroPadding3D(1), (2, 1, 2, 2),
                      lambda x, w, layer: np.pad(x, ((0, 0), (1, 1), (1, 1), (1, 1), (0, 0)))),
    "Cropping1D": (lambda: L.Cropping1D((1, 2)), (6, 2), lambda x, w, layer: x[:, 1:-2]),
    "Cropping2D": (lambda: L.Cropping2D(((1, 0), (0, 2))), (4, 5, 2),
                   lambda x, w, layer: x[:, 1:, :-2]),
    "Cropping3D": (lambda: L.Cropping3D(1), (4, 3, 5, 2),
                   lambda x, w, layer: x[:, 1:-1, 1:-1, 1:-1]),
    "SimpleRNN": (lambda: L.SimpleRNN(4, return_sequences=True), (5, 3), oracle.simple_rnn),
    "GRU": (lambda: L.GRU(4, recurrent_activation="hard_sigmoid"), (5, 3), oracle.gru),
    "GRU_reset_after": (lambda: L.GRU(4, reset_after=True, return_sequences=True,
                                      recurrent_activation="sigmoid"), (5, 3), oracle.gru),
    "LSTM": (lambda: L.LSTM(4, recurrent_activation="hard_sigmoid", implementation=1), (5, 3),
             oracle.lstm),
    "LSTM_2": (lambda: L.LSTM(4, recurrent_activation="sigmoid", implementation=2,
                              return_sequences=True, go_backwards=True), (5, 3), oracle.lstm),
    "LSTM_unrolled": (lambda: L.LSTM(4, recurrent_activation="sigmoid", unroll=True), (5, 3),
                      oracle.lstm),
    "ConvLSTM2D": (lambda: L.ConvLSTM2D(2, 3, padding="same", return_sequences=True), (3, 4, 3, 2),
                   oracle.conv_lstm),
    "ConvLSTM2D_valid": (lambda: L.ConvLSTM2D(2, (2, 3)), (3, 4, 4, 2), oracle.conv_lstm),
    "TimeDistributed": (lambda: L.TimeDistributed(L.Dense(3, activation="relu")), (4, 2),
                        lambda x, w, layer: oracle.dense(x, w, layer.layer)),
    "Bidirectional": (
        lambda: L.Bidirectional(L.LSTM(3, recurrent_activation="sigmoid", return_sequences=True)),
        (4, 2),
        lambda x, w, layer: np.concatenate(
            [oracle.lstm(x, w[:3], layer.forward_layer),
             oracle.lstm(x, w[3:], layer.backward_layer)[:, ::-1]], -1)),
    "RNN_stacked_cells": (
        lambda: L.RNN([L.SimpleRNNCell(3), L.SimpleRNNCell(2)], return_sequences=True), (4, 2),
        None),
}  # fmt: skip
STOCHASTIC = ("Dropout", "GaussianNoise", "GaussianDropout", "AlphaDropout", "SpatialDropout1D",
              "SpatialDropout2D", "SpatialDropout3D")  # fmt: skip
UNSMOOTH = ("ThresholdedReLU",)  # whose gradient at the threshold is no limit of differences


if "threshold" not in inspect.signature(L.ReLU.__init__).parameters:
    LAYERS["ReLU"] = (lambda: L.ReLU(max_value=0.8), (9,), lambda x, w, layer: np.clip(x, 0, 0.8))


def model_of(name, dtype="float32", seed=1):
    """(model of one layer with random weights, x, weights)."""
    rng = np.random.default_rng(seed)
    build, shape, _ = LAYERS[name]
    layer = build()
    inputs = L.Input(shape, dtype=dtype)
    model = keras.models.Model(inputs, layer(inputs))
    weights = [
        rng.uniform(0.1, 0.9, w.shape) * rng.choice([-1, 1], w.shape)
        if name != "BatchNormalization"
        else rng.uniform(0.5, 1.5, w.shape)
        for w in layer.get_weights()
    ]
    layer.set_weights(weights)
    return model, rng.normal(size=(2, *shape)).astype(dtype), layer


@pytest.mark.parametrize("name", LAYERS)
def test_forward(name):
    model, x, layer = model_of(name)
    y = model.predict(x)
    assert y.dtype == "float32"
    assert y.shape[1:] == tuple(
        n if n is not None else m for n, m in zip(model.output_shape[1:], y.shape[1:])
    )
    expected = LAYERS[name][2]
    if expected is not None:
        weights = [w.astype("float64") for w in layer.get_weights()]
        with np.errstate(all="ignore"):
            want = expected(x.astype("float64"), weights, layer)
        assert y.shape == want.shape
        np.testing.assert_allclose(y, want, rtol=2e-4, atol=2e-5)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", [n for n in LAYERS if n not in UNSMOOTH])
def test_gradient(name):
    """Along a random direction of the input and of each weight, against a central difference."""
    with config.change(floatX="float64"):
        model, x, layer = model_of(name, "float64")
        rng = np.random.default_rng(2)
        target = rng.normal(size=model.predict(x).shape)
        loss = K.sum(model.output * K.constant(target))
        wrt = [model.input, *layer.trainable_weights]
        f = K.function([model.input], [loss])
        slopes = K.function([model.input], K.gradients(loss, wrt))([x])
        for k, v in enumerate(wrt):
            value = x if k == 0 else K.get_value(v)
            direction, eps = rng.normal(size=value.shape), 1e-6

            def at(t, k=k, v=v, value=value, direction=direction):
                if k == 0:
                    return f([value + t * direction])[0]
                K.set_value(v, value + t * direction)
                return f([x])[0]

            difference = (at(eps) - at(-eps)) / (2 * eps)
            at(0)
            np.testing.assert_allclose(
                (slopes[k] * direction).sum(),
                difference,
                rtol=1e-5,
                atol=1e-7,
                err_msg=f"{name}: {v.name}",
            )


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", LAYERS)
def test_config_and_weights_make_the_same_layer(name):
    model, x, _ = model_of(name)
    copy = keras.models.model_from_json(json.dumps(json.loads(model.to_json())))
    copy.set_weights(model.get_weights())
    np.testing.assert_array_equal(copy.predict(x), model.predict(x))


@pytest.mark.parametrize("name", STOCHASTIC)
def test_noise_is_only_in_training(name):
    model, x, _ = model_of(name)
    f = K.function([model.input, K.learning_phase()], [model.output])
    np.testing.assert_array_equal(f([x, 0])[0], x)
    assert model.uses_learning_phase and abs(f([x, 1])[0] - x).max() > 0


@pytest.mark.parametrize(
    "name",
    [
        "Conv2D",
        "MaxPooling2D",
        "SeparableConv2D",
        "Conv2DTranspose",
        "GlobalMaxPooling2D",
        "UpSampling2D",
        "DepthwiseConv2D",
        "ZeroPadding2D",
        "Cropping2D",
    ],
)
def test_channels_first_is_channels_last_transposed(name):
    model, x, layer = model_of(name)
    y = model.predict(x)
    settings = {**layer.get_config(), "data_format": "channels_first"}
    first = type(layer).from_config(settings)
    inputs = L.Input((x.shape[-1], *x.shape[1:-1]))
    flipped = keras.models.Model(inputs, first(inputs))
    flipped.set_weights(model.get_weights())
    z = flipped.predict(np.moveaxis(x, -1, 1))
    np.testing.assert_allclose(z, np.moveaxis(y, -1, 1) if y.ndim > 2 else y, rtol=1e-5, atol=1e-6)


MERGES = {
    "Add": lambda a, b: a + b,
    "Subtract": lambda a, b: a - b,
    "Multiply": lambda a, b: a * b,
    "Average": lambda a, b: (a + b) / 2,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "Concatenate": lambda a, b: np.concatenate([a, b], -1),
}  # fmt: skip


@pytest.mark.parametrize("name", MERGES)
def test_merge(name):
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 5, 3))
    inputs = [L.Input((5, 3)), L.Input((5, 3))]
    model = keras.models.Model(inputs, getattr(L, name)()(inputs))
    np.testing.assert_allclose(model.predict([a, b]), MERGES[name](a, b), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axes, normalize", [(1, False), (2, True), ((2, 1), False)])
def test_dot(axes, normalize):
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 4, 4)), rng.normal(size=(2, 4, 4))
    inputs = [L.Input((4, 4)), L.Input((4, 4))]
    model = keras.models.Model(inputs, L.Dot(axes, normalize=normalize)(inputs))
    given = [a, b]
    i, j = axes if isinstance(axes, tuple) else (axes, axes)
    if normalize:
        a, b = (v / np.linalg.norm(v, axis=k, keepdims=True) for v, k in ((a, i), (b, j)))
    want = np.moveaxis(a, i, 2) @ np.moveaxis(b, j, 1)
    np.testing.assert_allclose(model.predict(given), want, rtol=1e-4, atol=1e-5)


def test_embedding_and_masks():
    """Masked steps change no state; a masked mean leaves them out."""
    layer = L.Embedding(10, 4, mask_zero=True)
    inputs = L.Input((6,))
    embedded = layer(inputs)
    outputs = [L.LSTM(3, recurrent_activation="sigmoid")(embedded), embedded]
    model = keras.models.Model(inputs, outputs)
    x = np.array([[3, 1, 2, 0, 0, 0], [5, 6, 7, 8, 9, 1]])
    states, table = model.predict(x)
    np.testing.assert_array_equal(table, layer.get_weights()[0][x])
    short = keras.models.Model(inputs, outputs[0])
    np.testing.assert_allclose(short.predict(x[:1])[0], states[0], rtol=1e-5, atol=1e-8)
    lstm = model.layers[2]
    np.testing.assert_allclose(
        states[0], oracle.lstm(table[:1, :3], lstm.get_weights(), lstm)[0], rtol=1e-4, atol=1e-6
    )


def test_masking_layer():
    x = np.random.default_rng(4).normal(size=(2, 5, 3))
    x[0, 3:] = 0
    model = keras.models.Sequential([L.Masking(0.0, input_shape=(5, 3)), L.GRU(4)])
    layer = model.layers[1]
    y = model.predict(x)
    np.testing.assert_allclose(
        y[:1], oracle.gru(x[:1, :3], layer.get_weights(), layer), rtol=1e-4, atol=1e-6
    )


def test_stateful_rnn_goes_on_where_it_stopped():
    x = np.random.default_rng(4).normal(size=(2, 6, 3)).astype("float32")
    layer = L.LSTM(4, stateful=True, batch_input_shape=(2, 3, 3))
    model = keras.models.Sequential([layer])
    model.predict(x[:, :3], batch_size=2)
    y = model.predict(x[:, 3:], batch_size=2)
    want = oracle.lstm(x, layer.get_weights(), layer)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-6)
    model.reset_states()
    assert abs(model.predict(x[:, 3:], batch_size=2) - y).max() > 1e-3
    layer.reset_states([np.ones((2, 4)), np.zeros((2, 4))])
    with pytest.raises(ValueError, match="shape"):
        layer.reset_states([np.ones((2, 5)), np.zeros((2, 4))])


def test_states_in_and_out():
    """An encoder's states start the decoder: tensors that are inputs of a recurrent layer."""
    source, target = L.Input((4, 3)), L.Input((5, 3))
    _, h, c = L.LSTM(6, return_state=True)(source)
    decoder = L.LSTM(6, return_sequences=True)
    model = keras.models.Model([source, target], decoder(target, initial_state=[h, c]))
    x, y = np.ones((2, 4, 3)), np.ones((2, 5, 3))
    assert model.predict([x, y]).shape == (2, 5, 6)
    model.compile("sgd", "mse")
    before = model.get_weights()
    model.train_on_batch([x, y], np.zeros((2, 5, 6)))
    assert all(abs(a - b).max() > 0 for a, b in zip(before, model.get_weights()))


def test_recurrent_dropout_trains():
    model = keras.models.Sequential(
        [L.LSTM(4, dropout=0.3, recurrent_dropout=0.3, input_shape=(5, 3)), L.Dense(1)]
    )
    model.compile("adam", "mse")
    x = np.random.default_rng(0).normal(size=(8, 5, 3))
    assert np.isfinite(model.train_on_batch(x, x.sum((1, 2))[:, None]))
    np.testing.assert_array_equal(model.predict(x), model.predict(x))


def test_a_cell_of_the_users():
    class Cell(L.Layer):
        def __init__(self, units, **kwargs):
            self.units = self.state_size = units
            super().__init__(**kwargs)

        def build(self, input_shape):
            self.kernel = self.add_weight(
                shape=(input_shape[-1], self.units), initializer="uniform", name="kernel"
            )
            self.built = True

        def call(self, inputs, states):
            output = K.dot(inputs, self.kernel) + 0.5 * states[0]
            return output, [output]

    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    model = keras.models.Sequential([L.RNN(Cell(2), input_shape=(3, 4))])
    w = model.get_weights()[0]
    want = x[:, 2] @ w + 0.5 * (x[:, 1] @ w + 0.5 * (x[:, 0] @ w))
    np.testing.assert_allclose(model.predict(x), want, rtol=1e-5, atol=1e-6)


def test_a_layer_of_the_users_in_a_nested_model():
    class Scale(L.Layer):
        def build(self, input_shape):
            self.scale = self.add_weight(
                name="scale",
                shape=(input_shape[1],),
                initializer="ones",
                regularizer=keras.regularizers.l2(0.01),
                constraint=keras.constraints.NonNeg(),
            )
            super().build(input_shape)

        def call(self, x):
            return x * self.scale

    inner = keras.models.Sequential([Scale(input_shape=(3,)), L.Dense(2)])
    inputs = L.Input((3,))
    model = keras.models.Model(inputs, L.add([inner(inputs), inner(inputs)]))
    model.compile("sgd", "mse")
    x = np.ones((4, 3))
    np.testing.assert_allclose(model.predict(x), 2 * inner.predict(x), rtol=1e-6)
    assert len(model.losses) >= 1
    model.train_on_batch(x, np.zeros((4, 2)))
