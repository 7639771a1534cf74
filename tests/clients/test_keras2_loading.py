"""How Keras takes the backend: settings, names, what it finds missing, and what is refused.

Each test is a program of its own: what counts is the order in which modules are first imported.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ckernels.compat import keras2

from .keras_support import keras_or_skip, settings

keras = keras_or_skip()
assert settings
ROOT = Path(__file__).resolve().parents[2]


def run(program, tmp_path, backend="ckernels.compat.keras2", **environment):
    """(stdout, stderr) of a Python program, which must end well."""
    env = {**os.environ, "KERAS_BACKEND": backend, "KERAS_HOME": str(tmp_path), **environment}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), env.get("PYTHONPATH", "")])
    if not backend:
        del env["KERAS_BACKEND"]
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def failure(program, tmp_path, backend):
    env = {**os.environ, "KERAS_BACKEND": backend, "KERAS_HOME": str(tmp_path)}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), env.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode != 0
    return done.stderr


@pytest.mark.sampled(0)
@pytest.mark.parametrize("first", ["", "import ckernels.compat.keras2\n", "import ckernels\n"])
def test_import_in_any_order(first, tmp_path):
    _, said = run(
        first + "import keras, numpy, h5py\n"
        "assert numpy.bool and numpy.float is float and keras.backend.epsilon() == 1e-7\n"
        "assert h5py.File.fid and keras.backend.clear_session\n",
        tmp_path,
    )
    assert said.count("Using ckernels.compat.keras2 backend.") == 1
    assert (tmp_path / "keras.json").exists()


@pytest.mark.parametrize("first", ["", "import ckernels\n", "import ckernels.compat.keras2\n"])
def test_plain_ckernels_is_refused_with_one_sentence(first, tmp_path):
    said = failure(first + "import keras", tmp_path, "ckernels")
    assert "set KERAS_BACKEND=ckernels.compat.keras2" in said
    assert "ckernels.errors.ArgumentError" in said or "OtherKeras" in said  # of the backend's start


def test_keras1_is_refused_with_one_sentence(tmp_path):
    said = failure("import keras", tmp_path, "ckernels.compat.keras1")
    assert "for Keras 2 set KERAS_BACKEND=ckernels.compat.keras2" in said


def test_the_module_may_be_named_in_keras_json(tmp_path):
    """`backend` in keras.json, with no environment variable."""
    (tmp_path / "keras.json").write_text('{"backend": "ckernels.compat.keras2"}')
    _, said = run("import os, keras", tmp_path, backend="")
    assert "Using ckernels.compat.keras2 backend." in said


def test_without_keras_nothing_is_touched(tmp_path):
    run(
        "import sys, collections, inspect, h5py, yaml, numpy as np\n"
        "before = vars(h5py.AttributeManager)['__getitem__'], sys.meta_path[:], dir(np)\n"
        "import ckernels, ckernels.compat.keras2 as K\n"
        "assert vars(K)['variable'] and vars(ckernels)['variable']\n"
        "after = vars(h5py.AttributeManager)['__getitem__'], sys.meta_path[:], dir(np)\n"
        "assert before == after, 'touched'\n"
        "assert not hasattr(collections, 'Mapping') and yaml.load.__defaults__ is None\n"
        "assert ckernels.config.cast_policy == 'standard' and 'keras' not in sys.modules\n",
        tmp_path,
    )


def test_settings_are_one_and_the_same(tmp_path):
    (tmp_path / "keras.json").write_text(
        '{"floatx": "float64", "epsilon": 0.001, "image_data_format": "channels_first",'
        ' "backend": "tensorflow"}'
    )
    run(
        "import ckernels, keras\n"
        "from keras import backend as K\n"
        "import keras.backend.common as common\n"
        "from ckernels.compat import keras2\n"
        "for each in (K, ckernels, common, keras2):\n"
        "    assert (each.floatx(), each.epsilon()) == ('float64', 0.001), each\n"
        "    assert each.image_data_format() == 'channels_first'\n"
        "K.set_floatx('float16'); ckernels.set_epsilon(0.5)\n"
        "common.set_image_data_format('channels_last')\n"
        "for each in (K, ckernels, common, keras2):\n"
        "    assert (each.floatx(), each.epsilon()) == ('float16', 0.5), each\n"
        "    assert each.image_data_format() == 'channels_last'\n"
        "assert K.cast_to_floatx([1]).dtype == 'float16'\n"
        "assert K.zeros((1,)).dtype == 'float16'\n"
        "K.set_image_dim_ordering('th')\n"
        "assert ckernels.image_data_format() == 'channels_first'\n",
        tmp_path,
    )


def test_mixed_dtypes_stay_float32_unless_told_otherwise(tmp_path):
    program = (
        "import keras\nfrom keras import backend as K\n"
        "print(K.dtype(K.constant([1], dtype='int32') * K.constant([0.5])))"
    )
    assert run(program, tmp_path)[0].split() == ["float32"]
    flags = ",".join(filter(None, [os.environ.get("CKERNELS_FLAGS"), "cast_policy=standard"]))
    assert run(program, tmp_path, CKERNELS_FLAGS=flags)[0].split() == ["float64"]


def test_names_keras_takes_for_other_backends_only():
    for name in ("clear_session", "get_variable_shape", "manual_variable_initialization"):
        assert getattr(keras.backend, name) is getattr(keras2, name)
    with pytest.raises(NotImplementedError, match="no sessions"):
        keras.backend.get_session()


# On paths of other backends: TensorFlow's own modules, and a guard that asks for a layer's method.
ELSEWHERE = {"tensorflow_backend", "compute_output_shape", "tf"}


def test_every_name_keras_uses_exists():
    package, missing = Path(keras.__file__).parent, {}
    for path in package.rglob("*.py"):
        if "backend" in path.relative_to(package).parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "K":
                if not hasattr(keras2, node.attr) and node.attr not in ELSEWHERE:
                    missing.setdefault(node.attr, path.name)
    assert not missing


# --- what goes wrong is said with the layer's name and the user's line ----------------------------


@pytest.fixture
def programs(settings):
    keras2.clear_session()


def test_shapes_that_do_not_fit_a_custom_layer(programs):
    L = keras.layers
    x = L.Input((3,), name="x")
    with pytest.raises(ValueError, match=r"test_keras2_loading.py:\d+ .*Lambda.*\(in twisted") as e:
        L.Lambda(lambda t: keras.backend.dot(t, keras.backend.ones((4, 2))), name="twisted")(x)
    assert "site-packages" not in str(e.value)


def test_shapes_that_only_show_in_training(programs):
    """A loss over shapes Keras does not check: the error names the loss and the user's line."""
    L, K = keras.layers, keras.backend
    model = keras.models.Sequential([L.Dense(2, input_shape=(3,), name="out")])

    def odd(y_true, y_pred):
        return K.mean(y_true + K.concatenate([y_pred, y_pred]), axis=-1)

    with pytest.raises(ValueError, match=r"(?s)test_keras2_loading.py.*\(in loss"):
        model.compile("sgd", odd)
        model.train_on_batch(np.ones((4, 3)), np.ones((4, 3)))


def test_inputs_keras_checks(programs):
    L = keras.layers
    model = keras.models.Sequential([L.Dense(2, input_shape=(3,), name="out")])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match=r"expected out_input to have shape \(3,\)"):
        model.predict(np.ones((1, 2)))
    with pytest.raises(ValueError, match="Layer out was called with an input that isn't"):
        model.layers[0](3.0)
    with pytest.raises(ValueError, match="incompatible with layer conv"):
        L.Conv2D(2, 3, name="conv")(L.Input((3,)))
    with pytest.raises(TypeError, match="out_input needs float32"):
        model.predict(np.array([["a", "b", "c"]]))


def test_losses_without_gradient(programs):
    L, K = keras.layers, keras.backend
    model = keras.models.Sequential([L.Dense(2, input_shape=(3,))])
    model.compile("sgd", lambda t, p: K.cast(K.argmax(p), "float32"))
    with pytest.raises(ValueError, match="`None` for gradient"):
        model.train_on_batch(np.ones((1, 3)), np.ones((1, 2)))


def test_embeddings_out_of_range(programs):
    L = keras.layers
    model = keras.models.Sequential([L.Embedding(5, 2, input_length=2, name="words")])
    with pytest.raises(IndexError, match="(?s)7.*5.*in words"):
        model.predict(np.array([[1, 7]]))


@pytest.mark.parametrize("name", ["CuDNNLSTM", "CuDNNGRU"])
def test_layers_of_other_backends(name, programs):
    if not hasattr(keras.layers, name):
        pytest.skip(f"this Keras has no {name}")
    with pytest.raises(RuntimeError, match="TensorFlow backend"):
        getattr(keras.layers, name)(4)


def test_sentences_of_what_is_not_offered(programs):
    with pytest.raises(ImportError, match="[Tt]ensor[Ff]low"):
        keras.callbacks.TensorBoard()
    with pytest.raises((NotImplementedError, ValueError), match="TensorFlow"):
        model = keras.models.Sequential([keras.layers.Dense(2, input_shape=(3,))])
        keras.utils.multi_gpu_model(model, gpus=2)
