"""Every layer of Keras 2 trained by compiled code, saved and loaded; the slopes of the others.

`test_keras2_layers` has the forward passes and most gradients; here are layers of several inputs,
integer inputs and masks, and the tests that no layer of the installed Keras is left out.
"""

import inspect

import numpy as np
import pytest

from ckernels.base.config import config

from .keras_support import keras_or_skip, settings
from .test_keras2_layers import LAYERS, MERGES, STOCHASTIC, model_of

keras = keras_or_skip()
assert settings
pytestmark = pytest.mark.usefixtures("settings")
K, L, Model = keras.backend, keras.layers, keras.models.Model

OTHERS = {  # tested by themselves, in the two files
    "Dot", "Embedding", "Masking", "Input", "InputLayer", "Activation", "SimpleRNNCell", "GRUCell",
    "LSTMCell", "StackedRNNCells", "RNN", "ConvLSTM2DCell", "ConvRNN2D",
}  # fmt: skip
BASES = {"Layer", "Wrapper", "Model", "Sequential"}  # the last two come with `deserialize`
ELSEWHERE = {"CuDNNGRU", "CuDNNLSTM"}  # refused with Keras's own sentence


def test_no_layer_is_left_out():
    classes = {c for c in vars(L).values() if inspect.isclass(c) and issubclass(c, L.Layer)}
    legacy = {c for c in classes if c.__module__.startswith("keras.legacy")}
    private = {c for c in classes if c.__name__.startswith("_")}
    names = {c.__name__ for c in classes - legacy - private} - BASES - ELSEWHERE
    names -= {"Recurrent", "ConvRecurrent2D", "Highway", "MaxoutDense", "AtrousConvolution1D"}
    tested = {n.partition("_")[0] for n in LAYERS} | set(MERGES) | OTHERS
    assert len(names) > 60 and sorted(names - tested) == []


def stepped(name, mode, steps=2):
    """(model, losses) after some steps of gradient descent from fixed weights."""
    with config.change(mode=mode):
        np.random.seed(3)
        model, x, _ = model_of(name)
        model.compile(keras.optimizers.SGD(0.05, momentum=0.5), "mse")
        start = model.predict(x)
        target = start + np.linspace(0, 1, start.size).reshape(start.shape)
        return model, [model.train_on_batch(x, target) for _ in range(steps)]


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("name", LAYERS)
def test_compiled_training_and_files(name, tmp_path):
    """Compiled steps go where the reference goes; the file gives layer and optimiser back."""
    model, losses = stepped(name, "compiled")
    if name not in STOCHASTIC:
        plain, expected = stepped(name, "reference")
        np.testing.assert_allclose(losses, expected, rtol=1e-4, atol=1e-6)
        for got, want in zip(model.get_weights(), plain.get_weights()):
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-5)
        if model.trainable_weights and not model.uses_learning_phase:
            assert losses[-1] < losses[0]
    model.save(str(tmp_path / "model.h5"))
    copy = keras.models.load_model(str(tmp_path / "model.h5"))
    x = np.random.default_rng(0).normal(size=(2, *LAYERS[name][1]))
    with config.change(mode="compiled"):
        np.testing.assert_array_equal(copy.predict(x), model.predict(x))
    assert [v.shape for v in copy.optimizer.get_weights()] == [
        v.shape for v in model.optimizer.get_weights()
    ]
    for got, want in zip(copy.optimizer.get_weights(), model.optimizer.get_weights()):
        np.testing.assert_array_equal(got, want)


# --- gradients of layers with several inputs, integer inputs, masks ------------------------------


def slopes_agree(model, arrays, phase=0, wrt_inputs=True):
    """K.gradients by inputs and weights along random directions, against central differences."""
    rng = np.random.default_rng(5)
    with config.change(floatX="float64"):
        shape = model.predict(arrays).shape
        loss = K.sum(model.output * K.constant(rng.normal(size=shape)))
        inputs = [*model.inputs, K.learning_phase()]
        f = K.function(inputs, [loss])
        places = [*(model.inputs if wrt_inputs else []), *model.trainable_weights]
        slopes = K.function(inputs, K.gradients(loss, places))([*arrays, phase])
        for place, slope in zip(places, slopes):
            k = next((i for i, x in enumerate(model.inputs) if x is place), None)
            value = arrays[k] if k is not None else K.get_value(place)
            direction = rng.normal(size=value.shape)

            def at(t, k=k, place=place, value=value, direction=direction):
                fed = list(arrays)
                if k is None:
                    K.set_value(place, value + t * direction)
                else:
                    fed[k] = value + t * direction
                return f([*fed, phase])[0]

            want = (at(1e-6) - at(-1e-6)) / 2e-6
            at(0.0)
            np.testing.assert_allclose((slope * direction).sum(), want, rtol=1e-5, atol=1e-7)


@pytest.fixture
def double():
    with config.change(floatX="float64"):
        yield np.random.default_rng(4)


@pytest.mark.parametrize("name", [*MERGES, "Dot", "Dot normalised"])
def test_gradient_of_merges(name, double):
    count = 2 if name == "Subtract" or name.startswith("Dot") else 3
    arrays = [double.normal(size=(2, 3, 3)) for _ in range(count)]
    inputs = [L.Input((3, 3)) for _ in arrays]
    dot = L.Dot((2, 1), normalize=name.endswith("normalised"))
    layer = dot if name.startswith("Dot") else getattr(L, name)()
    slopes_agree(Model(inputs, layer(inputs)), arrays)


@pytest.mark.parametrize("phase", [0, 1])
@pytest.mark.parametrize("axis", [1, -1])
def test_gradient_of_batch_normalization_in_both_phases(axis, phase, double):
    x = L.Input((3, 4))
    layer = L.BatchNormalization(axis=axis)
    model = Model(x, layer(x))
    layer.set_weights([double.uniform(0.5, 1.5, w.shape) for w in layer.get_weights()])
    slopes_agree(model, [double.normal(size=(5, 3, 4))], phase)


def test_gradient_of_embeddings_and_masked_states(double):
    words = np.array([[3, 1, 0, 0], [2, 3, 3, 1]], "float64")
    x = L.Input((4,))
    masked = L.Embedding(5, 3, mask_zero=True)(x)
    states = L.GRU(2, return_sequences=True)(masked)
    slopes_agree(Model(x, L.Bidirectional(L.LSTM(2))(states)), [words], wrt_inputs=False)


def test_gradient_through_masking(double):
    data = double.normal(size=(2, 5, 3))
    data[0, 3:] = 0
    x = L.Input((5, 3))
    y = L.SimpleRNN(4, return_sequences=True)(L.Masking(0.0)(x))
    slopes_agree(Model(x, L.TimeDistributed(L.Dense(2))(y)), [data], wrt_inputs=False)


def test_gradient_through_states_and_shared_layers(double):
    a, b = L.Input((3, 2)), L.Input((4, 2))
    shared = L.LSTM(3, return_state=True)
    _, h, c = shared(a)
    y, _, _ = shared(b, initial_state=[h, c])
    slopes_agree(Model([a, b], y), [double.normal(size=(2, n, 2)) for n in (3, 4)])


def test_gradient_of_a_stateful_layer(double):
    x = L.Input(batch_shape=(2, 3, 2))
    layer = L.GRU(3, stateful=True)
    model = Model(x, layer(x))
    start = double.normal(size=(2, 3))
    layer.reset_states(start)
    target = K.sum(K.square(model.output))
    f = K.function([x], [target, *K.gradients(target, [x])])
    data, direction = double.normal(size=(2, 3, 2)), double.normal(size=(2, 3, 2))
    slope = f([data])[1]
    up, down = (f([data + t * direction])[0] for t in (1e-6, -1e-6))
    np.testing.assert_allclose((slope * direction).sum(), (up - down) / 2e-6, rtol=1e-5)


@pytest.mark.parametrize(
    "name",
    [
        "relu",
        "elu",
        "selu",
        "softplus",
        "softsign",
        "tanh",
        "sigmoid",
        "hard_sigmoid",
        "exponential",
        "softmax",
        "linear",
    ],
)
def test_gradient_of_activations(name, double):
    if not hasattr(keras.activations, name):
        pytest.skip(f"this Keras has no activation {name}")
    x = L.Input((4,))
    slopes_agree(Model(x, L.Activation(name)(x)), [double.normal(size=(3, 4))])
