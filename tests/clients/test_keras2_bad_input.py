"""What Keras 2 on ckernels says to wrong shapes, dtypes, inputs and files; what it leaves alone.

`test_keras2_loading` and `test_keras2_files` have more: custom layers, losses, bytecode.
"""

import numpy as np
import pytest

from .keras_support import keras_or_skip, settings

keras = keras_or_skip()
h5py = pytest.importorskip("h5py")
assert settings
pytestmark = pytest.mark.usefixtures("settings")
K, L, Model, Sequential = keras.backend, keras.layers, keras.models.Model, keras.models.Sequential


def ones(*shape):
    return np.ones(shape)


def pair(shape=(3,), layer=None):
    a, b = L.Input(shape, name="left"), L.Input(shape, name="right")
    return Model([a, b], (layer or L.Add(name="both"))([a, b]))


def one(layer, **compiled):
    model = Sequential([layer])
    model.compile("sgd", compiled.get("loss", "mse"))
    return model


CASES = {
    # what is wrong: (program, error, what it says: the numbers, and the layer)
    "a kernel larger than the image": (
        lambda: one(L.Conv2D(2, 9, input_shape=(4, 4, 1), name="big")),
        ValueError, r"(?s)size 9 is larger than the image of size 4.*\(in big"),
    "the same, seen when it runs": (
        lambda: one(L.Conv2D(2, 9, input_shape=(None, None, 1), name="big"))
        .predict(ones(1, 4, 4, 1)),
        ValueError, r"(?s)size 9 is larger than the image of size 4.*bad_input.py.*\(in big"),
    "sizes that do not fold": (
        lambda: one(L.Reshape((2, 3), input_shape=(None, 3), name="fold")).predict(ones(1, 5, 3)),
        ValueError, r"(?s)cannot reshape \(1, 5, 3\).*\(in fold"),
    "lengths that differ": (
        lambda: pair((None, 3)).predict([ones(1, 4, 3), ones(1, 5, 3)]),
        ValueError, r"(?s)add.*\(1, ?4, ?3\) .*\(1, ?5, ?3\).*\(in both"),
    "shapes that cannot be merged": (
        lambda: L.Add(name="both")([L.Input((3,)), L.Input((4,))]),
        ValueError, r"\(3,\) \(4,\)"),
    "another batch size than the states'": (
        lambda: one(L.LSTM(2, stateful=True, batch_input_shape=(2, 3, 1), name="memory"))
        .predict(ones(3, 3, 1), batch_size=3),
        ValueError, r"memory_input was declared with shape \(2, 3, 1\).*\(3, 3, 1\)"),
    "a missing input": (
        lambda: pair().predict([ones(1, 3)]), ValueError, r"Expected to see 2 array"),
    "a missing name": (
        lambda: pair().predict({"left": ones(1, 3)}), ValueError, 'No data provided for "right"'),
    "too few arrays for a function": (
        lambda: K.function(*[[t] for t in (L.Input((3,), name="x"),) * 2])([]),
        TypeError, "1 input"),
    "objects": (
        lambda: one(L.Dense(2, input_shape=(3,), name="out"))
        .predict(np.array([[{}, 1, 2]], object)),
        TypeError, "out_input needs float32 .*dtype object"),
    "text as a target": (
        lambda: one(L.Dense(2, input_shape=(3,), name="out"))
        .fit(ones(1, 3), np.array([["a", "b"]]), verbose=0),
        TypeError, "out_target needs float32"),
    "a target of another shape": (
        lambda: one(L.Dense(2, input_shape=(3,), name="out"))
        .train_on_batch(ones(4, 3), ones(4, 3)),
        ValueError, r"expected out to have shape \(2,\) but got array with shape \(3,\)"),
    "an embedding of what is no number": (
        lambda: one(L.Embedding(5, 2, input_length=2, name="words"))
        .predict(np.array([[1, np.nan]])),
        IndexError, r"(?s)out of bounds for axis 0 of size 5.*\(in words"),
    "a Lambda that gives nothing": (
        lambda: one(L.Lambda(lambda x: None, input_shape=(3,), name="mine")),
        TypeError, r"(?s)None.*\(in mine"),
    "a Lambda that asks a tensor": (
        lambda: one(L.Lambda(lambda x: x if x > 0 else -x, input_shape=(3,), name="mine")),
        TypeError, r"(?s)no truth value.*K.switch.*\(in mine"),
    "a loss that gives nothing": (
        lambda: one(L.Dense(2, input_shape=(3,), name="out"), loss=lambda t, p: None)
        .train_on_batch(ones(1, 3), ones(1, 2)),
        (TypeError, ValueError), "None"),
    "weights of another shape": (
        lambda: one(L.Dense(2, input_shape=(3,), name="out")).set_weights([ones(3, 3), ones(2)]),
        ValueError, r"\(3, 3\).*\(3, 2\)"),
    "an unknown optimiser": (
        lambda: Sequential([L.Dense(2, input_shape=(3,))]).compile("adamw", "mse"),
        ValueError, "Unknown optimizer: adamw"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", CASES)
def test_what_is_said(wrong):
    program, error, says = CASES[wrong]
    with pytest.raises(error, match=says):
        program()


def test_a_class_out_of_range_is_nan_and_seen():
    """Not an index: the loss says so, as on a GPU under TensorFlow."""
    model = one(
        L.Dense(3, input_shape=(3,), activation="softmax"), loss="sparse_categorical_crossentropy"
    )
    watch = keras.callbacks.TerminateOnNaN()
    history = model.fit(ones(2, 3), [0, 3], epochs=3, verbose=0, callbacks=[watch])
    assert model.stop_training and len(history.epoch) <= 1


# --- files: weights are all or nothing ----------------------------------------------------------


def small():
    K.clear_session()
    model = Sequential(
        [
            L.Dense(2, input_shape=(3,), name="one"),
            L.BatchNormalization(name="norm"),
            L.Dense(4, name="two"),
        ]
    )
    model.compile("sgd", "mse")
    return model


def replaced(file, path, value):
    del file[path]
    file[path] = value


FILES = {
    "a layer's group is missing": lambda f: f.__delitem__("two"),
    "an array is missing": lambda f: f.__delitem__("two/two/kernel:0"),
    "text": lambda f: replaced(f, "two/two/kernel:0", np.array([b"abc"])),
    "another shape": lambda f: replaced(f, "two/two/kernel:0", np.ones((2, 5), "float32")),
    "a number": lambda f: replaced(f, "two/two/bias:0", 1.0),
    "complex numbers": lambda f: replaced(f, "two/two/bias:0", np.ones(4) * 1j),
    "a group in place of an array": lambda f: (f.__delitem__("two/two/kernel:0"),
                                               f.create_group("two/two/kernel:0")),
}  # fmt: skip


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("wrong", FILES)
def test_no_half_loaded_weights(wrong, by_name, tmp_path):
    """The last layer's weights are broken; the first layer's are not taken either."""
    path = str(tmp_path / "weights.h5")
    small().save_weights(path)
    with h5py.File(path, "a") as file:
        FILES[wrong](file)
    model = small()
    before = model.get_weights()
    with pytest.raises((ValueError, KeyError, TypeError), match="two|kernel|bias"):
        model.load_weights(path, by_name=by_name)
    for a, b in zip(before, model.get_weights()):
        np.testing.assert_array_equal(a, b)


MODELS = {
    "no JSON": lambda f: f.attrs.__setitem__("model_config", b"{nonsense"),
    "a list": lambda f: f.attrs.__setitem__("model_config", b"[1]"),
    "no weights": lambda f: f.__delitem__("model_weights"),
    "no array": lambda f: f.__delitem__("model_weights/two/two/kernel:0"),
    "an unknown layer": lambda f: f.attrs.__setitem__(
        "model_config", b'{"class_name": "Sequential", "config": [{"class_name": "Bananas",'
        b' "config": {}}]}'),
}  # fmt: skip


@pytest.mark.parametrize("wrong", MODELS)
def test_no_half_loaded_models(wrong, tmp_path):
    path = str(tmp_path / "model.h5")
    small().save(path)
    with h5py.File(path, "a") as file:
        MODELS[wrong](file)
    with pytest.raises((ValueError, KeyError, TypeError)):
        keras.models.load_model(path)
