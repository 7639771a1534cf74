"""Weight and model files of Keras: those of TensorFlow and Theano, of Keras 1, broken ones.

The files of other backends are written here, by hand, from stored arrays, in the form h5py 2 gave
them; what they predict is a NumPy forward pass over the same arrays.
"""

import base64
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from . import keras_numpy as oracle
from .keras_support import keras_or_skip, settings

keras = keras_or_skip()
h5py = pytest.importorskip("h5py")
assert settings
pytestmark = pytest.mark.usefixtures("settings")
K, L, Model, Sequential = keras.backend, keras.layers, keras.models.Model, keras.models.Sequential
rng = np.random.default_rng(0)


def drawn(*shape):
    return rng.normal(size=shape).astype("float32") * 0.5


def write_weights(group, layers, backend="tensorflow", version="2.1.6"):
    """A weight group as Keras wrote it with h5py 2: attributes are bytes of fixed width."""
    names = [name for name, _ in layers]
    group.attrs["layer_names"] = np.array([n.encode() for n in names])
    if backend:
        group.attrs["backend"] = np.bytes_(backend)
    if version:
        group.attrs["keras_version"] = np.bytes_(version)
    for name, arrays in layers:
        part = group.create_group(name)
        paths = [f"{name}/param_{i}:0" for i in range(len(arrays))]
        part.attrs["weight_names"] = np.array([p.encode() for p in paths])
        for path, array in zip(paths, arrays):
            part.create_dataset(path, data=array)


@pytest.fixture
def weights_file(tmp_path):
    def write(layers, **kind):
        path = str(tmp_path / "weights.h5")
        with h5py.File(path, "w") as f:
            write_weights(f, layers, **kind)
        return path

    return write


def flipped(kernel):
    """A kernel turned around its spatial axes: Theano convolves, TensorFlow correlates."""
    return kernel[tuple(slice(None, None, -1) for _ in kernel.shape[:-2])]


def conv_layer(kernel, **how):
    n = kernel.ndim - 2
    how = {"strides": (1,) * n, "padding": "valid", "dilation_rate": (1,) * n, **how}
    return SimpleNamespace(activation=SimpleNamespace(__name__="relu"), **how)


KERNELS = {"Conv1D": (3, 2, 4), "Conv2D": (3, 2, 2, 4), "Conv3D": (2, 2, 3, 2, 4)}
IMAGES = {"Conv1D": (6, 2), "Conv2D": (5, 4, 2), "Conv3D": (4, 3, 4, 2)}


BACKENDS = ["tensorflow", "theano", "cntk", "ckernels.compat.keras2", None]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", KERNELS)
def test_convolution_weights_of_each_backend(kind, backend, weights_file):
    kernel, bias, w, b = drawn(*KERNELS[kind]), drawn(4), drawn(4, 3), drawn(3)
    stored = flipped(kernel) if backend == "theano" else kernel
    x = drawn(2, *IMAGES[kind])
    layers = [
        getattr(L, kind)(4, kernel.shape[:-2], activation="relu", input_shape=IMAGES[kind]),
        L.Flatten(),
    ]
    flat = oracle.conv(x, [kernel, bias], conv_layer(kernel)).reshape(2, -1)
    w = drawn(flat.shape[1], 3)
    model = Sequential([*layers, L.Dense(3, activation="softmax")])
    model.load_weights(
        weights_file([("conv", [stored, bias]), ("flat", []), ("dense", [w, b])], backend=backend)
    )
    np.testing.assert_allclose(model.predict(x), oracle.softmax(flat @ w + b), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("backend", ["tensorflow", "theano"])
def test_channels_first_weights(backend, weights_file):
    """Kernels are (rows, columns, in, out) in both data formats; Theano's are turned around."""
    kernel, bias = drawn(3, 3, 2, 4), drawn(4)
    stored = flipped(kernel) if backend == "theano" else kernel
    model = Sequential([L.Conv2D(4, 3, data_format="channels_first", input_shape=(2, 5, 6))])
    model.load_weights(weights_file([("conv", [stored, bias])], backend=backend))
    x = drawn(2, 2, 5, 6)
    y = oracle.convolve(np.moveaxis(x, 1, -1), kernel, (1, 1), "valid", (1, 1)) + bias
    np.testing.assert_allclose(model.predict(x), np.moveaxis(y, -1, 1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize("backend", ["tensorflow", "theano"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_transposed_convolutions_of_each_backend(backend, data_format, wrapped, weights_file):
    """Their kernels are (rows, columns, out, in); in a TimeDistributed layer too."""
    kernel, bias = drawn(3, 2, 4, 2), drawn(4)
    stored = flipped(kernel) if backend == "theano" else kernel
    first = data_format == "channels_first"
    shape = (2, 3, 4) if first else (3, 4, 2)
    sizes = {} if wrapped else {"input_shape": shape}
    layer = L.Conv2DTranspose(4, (3, 2), strides=2, data_format=data_format, **sizes)
    model = Sequential([L.TimeDistributed(layer, input_shape=(2, *shape)) if wrapped else layer])
    model.load_weights(weights_file([("up", [stored, bias])], backend=backend))
    x = drawn(2, 3, 4, 2)
    linear = SimpleNamespace(__name__="linear")
    how = SimpleNamespace(strides=(2, 2), padding="valid", activation=linear)
    want = oracle.conv_transpose(x, [kernel, bias], how)
    fed = np.moveaxis(x, -1, 1) if first else x
    y = model.predict(np.stack([fed, fed], 1))[:, 1] if wrapped else model.predict(fed)
    np.testing.assert_allclose(np.moveaxis(y, 1, -1) if first else y, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backend", ["tensorflow", "theano"])
def test_recurrent_convolution_weights_of_each_backend(backend, weights_file):
    """Both kernels of a ConvLSTM2D are turned around."""
    kernels, bias = [drawn(3, 3, 2, 12), drawn(3, 3, 3, 12)], drawn(12)
    stored = [flipped(k) if backend == "theano" else k for k in kernels]
    layer = L.ConvLSTM2D(3, 3, padding="same", input_shape=(3, 4, 5, 2))
    model = Sequential([layer])
    model.load_weights(weights_file([("film", [*stored, bias])], backend=backend))
    x = drawn(2, 3, 4, 5, 2)
    want = oracle.conv_lstm(x, [*kernels, bias], layer)
    np.testing.assert_allclose(model.predict(x), want, rtol=1e-4, atol=1e-5)


def test_convolution_weights_of_keras_1(weights_file):
    """Keras 1 with dim_ordering="th" kept kernels as (out, in, rows, columns).

    Its files do not tell the backend: those of Theano are turned around with Keras's own tool.
    """
    kernel, bias = drawn(3, 3, 2, 4), drawn(4)
    x = drawn(1, 2, 5, 6)
    y = oracle.convolve(np.moveaxis(x, 1, -1), kernel, (1, 1), "valid", (1, 1)) + bias
    for theano in (False, True):
        model = Sequential([L.Conv2D(4, 3, data_format="channels_first", input_shape=(2, 5, 6))])
        stored = (flipped(kernel) if theano else kernel).transpose(3, 2, 0, 1)
        path = weights_file([("conv", [stored, bias])], backend=None, version=None)
        model.load_weights(path)
        if theano:
            keras.utils.layer_utils.convert_all_kernels_in_model(model)
        np.testing.assert_allclose(model.predict(x), np.moveaxis(y, -1, 1), rtol=1e-4, atol=1e-5)


def test_lstm_weights_of_keras_1(weights_file):
    """Keras 1 kept twelve arrays, for each gate i, c, f, o: input kernel, recurrent, bias."""
    w, u, b = drawn(3, 16), drawn(4, 16), drawn(16)
    gates = {g: [a[..., 4 * k : 4 * k + 4] for a in (w, u, b)] for k, g in enumerate("ifco")}
    old = [array for g in "icfo" for array in gates[g]]
    layer = L.LSTM(4, recurrent_activation="hard_sigmoid", input_shape=(5, 3))
    model = Sequential([layer])
    model.load_weights(weights_file([("lstm", old)], version=None, backend=None))
    x = drawn(2, 5, 3)
    np.testing.assert_allclose(
        model.predict(x), oracle.lstm(x, [w, u, b], layer), rtol=1e-4, atol=1e-6
    )


def test_cudnn_weights(weights_file):
    """A CuDNNLSTM has two biases and its kernels transposed gate by gate."""
    w, u, b = drawn(3, 16), drawn(4, 16), drawn(2, 16)
    stored = [
        np.hstack([g.T.reshape(g.shape, order="C") for g in np.hsplit(w, 4)]),
        np.hstack([g.T for g in np.hsplit(u, 4)]),
        b.ravel(),
    ]
    layer = L.LSTM(4, recurrent_activation="sigmoid", input_shape=(5, 3))
    model = Sequential([layer])
    model.load_weights(weights_file([("lstm", stored)]))
    x = drawn(2, 5, 3)
    undone = [np.hstack([g.reshape(g.shape[::-1]).T for g in np.hsplit(stored[0], 4)])]
    want = oracle.lstm(x, [undone[0], u, b.sum(0)], layer)
    np.testing.assert_allclose(model.predict(x), want, rtol=1e-4, atol=1e-6)


def network():
    inputs = L.Input((8, 8, 1))
    x = L.Conv2D(3, 3, activation="relu")(inputs)
    x = L.BatchNormalization()(L.MaxPooling2D()(x))
    x = L.Lambda(lambda t: t * 2.0)(x)
    model = Model(inputs, L.Dense(2, activation="softmax")(L.Flatten()(x)))
    model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
    return model


def test_a_whole_model_and_its_optimizer(tmp_path):
    model, x = network(), drawn(8, 8, 8, 1)
    y = np.eye(2)[[0, 1] * 4]
    model.fit(x, y, epochs=2, verbose=0)
    path = str(tmp_path / "model.h5")
    model.save(path)
    copy = keras.models.load_model(path)
    np.testing.assert_array_equal(copy.predict(x), model.predict(x))
    losses = [each.train_on_batch(x, y)[0] for each in (model, copy)]
    assert losses[0] == losses[1]
    for a, b in zip(model.get_weights(), copy.get_weights()):
        np.testing.assert_array_equal(a, b)
    model.save_weights(path)
    other = network()
    other.load_weights(path)
    np.testing.assert_array_equal(other.predict(x), model.predict(x))


def test_the_file_is_as_keras_wrote_it(tmp_path):
    """Names, and attributes of fixed width: the Keras of then, with h5py 2, reads it too."""
    K.clear_session()
    model = Sequential([L.Dense(2, input_shape=(3,), name="first"), L.Dense(1, name="last")])
    path = str(tmp_path / "model.h5")
    model.save(path)
    with h5py.File(path, "r") as f:
        group = f["model_weights"]
        assert list(group.attrs["layer_names"]) == [b"first", b"last"]
        assert list(group["first"].attrs["weight_names"]) == [b"first/kernel:0", b"first/bias:0"]
        assert group["first/first/kernel:0"].shape == (3, 2)
        assert group.attrs["backend"].decode("utf8") == "ckernels.compat.keras2"
        assert json.loads(f.attrs["model_config"])["class_name"] == "Sequential"


def test_a_model_file_of_tensorflow(tmp_path):
    """A whole .h5 model written by hand as Keras 2.1 on TensorFlow and h5py 2 wrote it."""
    w, b = drawn(3, 2), drawn(2)
    config = {
        "name": "dense_1",
        "trainable": True,
        "batch_input_shape": [None, 3],
        "units": 2,
        "dtype": "float32",
        "activation": "tanh",
        "use_bias": True,
    }
    config = {"class_name": "Sequential", "config": [{"class_name": "Dense", "config": config}]}
    sgd = {"lr": 0.01, "decay": 0.0, "momentum": 0.0, "nesterov": False}
    training = {
        "optimizer_config": {"class_name": "SGD", "config": sgd},
        "loss": "mse",
        "metrics": [],
        "sample_weight_mode": None,
        "loss_weights": None,
    }
    path = str(tmp_path / "model.h5")
    with h5py.File(path, "w") as f:
        f.attrs["keras_version"] = np.bytes_("2.1.6")
        f.attrs["backend"] = np.bytes_("tensorflow")
        f.attrs["model_config"] = np.bytes_(json.dumps(config))
        f.attrs["training_config"] = np.bytes_(json.dumps(training))
        write_weights(f.create_group("model_weights"), [("dense_1", [w, b])])
    model = keras.models.load_model(path)
    x = drawn(4, 3)
    np.testing.assert_allclose(model.predict(x), np.tanh(x @ w + b), rtol=1e-4, atol=1e-6)
    assert model.train_on_batch(x, np.zeros((4, 2))) > 0


def test_json_yaml_and_custom_objects(tmp_path):
    def twice(x):
        return 2 * x

    model = Sequential([L.Dense(2, activation=twice, input_shape=(3,))])
    objects = {"twice": twice}
    for copy in (
        keras.models.model_from_json(model.to_json(), custom_objects=objects),
        keras.models.model_from_yaml(model.to_yaml(), custom_objects=objects),
    ):
        copy.set_weights(model.get_weights())
        np.testing.assert_array_equal(copy.predict(np.ones((1, 3))), model.predict(np.ones((1, 3))))
    with pytest.raises(ValueError, match="twice"):
        keras.models.model_from_json(model.to_json())


def test_pickle_and_groups(tmp_path):
    import pickle

    model, x = network(), drawn(2, 8, 8, 1)
    if not hasattr(Model, "__setstate__"):
        pytest.skip("models are pickled and saved to groups since Keras 2.2.1")
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(x), model.predict(x))
    with h5py.File(str(tmp_path / "both.h5"), "w") as f:
        model.save(f.create_group("one"))
        copy = keras.models.load_model(f["one"])
    np.testing.assert_array_equal(copy.predict(x), model.predict(x))


# --- what is broken or foreign ------------------------------------------------------------------


def untouched(model, load, error, says):
    before = model.get_weights()
    with pytest.raises(error, match=says):
        load()
    for a, b in zip(before, model.get_weights()):
        np.testing.assert_array_equal(a, b)


def test_a_weight_of_another_shape_changes_nothing(weights_file):
    model = Sequential([L.Dense(2, input_shape=(3,), name="one"), L.Dense(4, name="two")])
    path = weights_file([("one", [drawn(3, 2), drawn(2)]), ("two", [drawn(2, 5), drawn(5)])])
    untouched(model, lambda: model.load_weights(path), ValueError, r"two.*kernel.*\(2, 5\)")


def test_other_layers_and_missing_weights(weights_file):
    model = Sequential([L.Dense(2, input_shape=(3,), name="one"), L.Dense(4, name="two")])
    path = weights_file([("one", [drawn(3, 2), drawn(2)])])
    untouched(model, lambda: model.load_weights(path), ValueError, "1 layers into a model with 2")
    path = weights_file([("one", [drawn(3, 2)]), ("two", [drawn(2, 4), drawn(4)])])
    untouched(model, lambda: model.load_weights(path), ValueError, 'named "one".*2 weights')


@pytest.mark.parametrize("bad", [b"", b"no hdf5", b"\x89HDF\r\n\x1a\n" + b"\0" * 40])
def test_a_broken_file(tmp_path, bad):
    path = tmp_path / "bad.h5"
    path.write_bytes(bad)
    model = Sequential([L.Dense(2, input_shape=(3,))])
    untouched(model, lambda: model.load_weights(str(path)), OSError, "open|read")


def test_a_truncated_file(tmp_path):
    path = tmp_path / "model.h5"
    model = network()
    model.save(str(path))
    whole = path.read_bytes()
    for part in (len(whole) // 3, len(whole) - 100):
        path.write_bytes(whole[:part])
        with pytest.raises((OSError, KeyError, ValueError)):
            keras.models.load_model(str(path))
    with pytest.raises((OSError, ValueError), match="missing|open"):
        keras.models.load_model(str(tmp_path / "missing.h5"))


def test_a_file_of_something_else(tmp_path):
    path = str(tmp_path / "data.h5")
    with h5py.File(path, "w") as f:
        f["data"] = drawn(3)
    with pytest.raises((ValueError, KeyError)):
        keras.models.load_model(path)


def test_a_lambda_of_another_python_is_refused():
    """Bytecode of Python 3.6, and of the next Python: neither may run."""
    layer = L.Lambda(lambda x: x + 1)
    config = layer.get_config()
    assert L.Lambda.from_config(config).function(1) == 2
    code, *rest = config["function"]
    newer = code.replace("~", "") + "~" * (sys.version_info[1] + 1)
    for text in (newer, PYTHON36, base64.b64encode(b"\xe3\x01").decode()):
        broken = {**config, "function": (text, *rest)}
        with pytest.raises(ValueError, match="bytecode of .*Python"):
            L.Lambda.from_config(broken)


# marshal.dumps((lambda x: x + 1).__code__) of CPython 3.6.15, as Keras wrote it
PYTHON36 = """
4wEAAAAAAAAAAQAAAAIAAABDAAAA8wgAAAB8AGQBFwBTAKkCTukBAAAAqQApAdoBeHIEAAAAcgQA
AAD6CG1vZGVsLnB52gg8bGFtYmRhPgMAAADzAAAAAA==
"""


@pytest.mark.parametrize("kind", [list, tuple])
def test_attributes_of_bytes_come_back_as_bytes(tmp_path, kind):
    words = [b"asd", b"sdfg"]
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.attrs["words"], f.attrs["text"] = kind(words), "abc"
    with h5py.File(tmp_path / "a.h5", "r") as f:
        assert list(f.attrs["words"]) == words and f.attrs["words"].dtype.kind == "S"
        assert f.attrs["text"] == f.attrs["text"].decode("utf-8") == "abc"
