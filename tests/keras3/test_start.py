"""KERAS_BACKEND=ckernels alone: what an installation puts where Python starts."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

from ckernels.keras3 import start

SOURCE = Path(start.__file__)
ROOT = SOURCE.parents[2]


@pytest.fixture
def site(tmp_path):
    """A folder of packages with what setup.py installs."""
    shutil.copy(SOURCE, tmp_path / "_ckernels_keras3.py")
    (tmp_path / "ckernels_keras3.pth").write_text("import _ckernels_keras3\n")
    return tmp_path


def run(site, program, **environment):
    env = {k: v for k, v in os.environ.items() if k != "KERAS_BACKEND"}
    paths = [str(ROOT), *filter(None, [env.get("PYTHONPATH")])]
    return subprocess.run(
        [sys.executable, "-c", f"import site; site.addsitedir({str(site)!r})\n{program}"],
        capture_output=True, text=True, timeout=250,
        env={**env, **environment, "PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip


def test_setup_installs_what_is_tested_here():
    text = (ROOT / "setup.py").read_text()
    assert '"ckernels/keras3/start.py"' in text and '"_ckernels_keras3.py"' in text
    assert re.search(r'"ckernels_keras3.pth"', text) and "import _ckernels_keras3" in text


def test_the_variable_is_enough(site):
    done = run(site, "import keras; print(keras.backend.backend())", KERAS_BACKEND="ckernels")
    assert done.stdout.strip() == "ckernels", done.stderr


@pytest.mark.parametrize("asked", ["ckernels", "numpy", ""])
def test_nothing_is_loaded_before_keras(site, asked):
    program = "import sys; print([m for m in sys.modules if m in ('ckernels', 'numpy', 'keras')])"
    done = run(site, program, KERAS_BACKEND=asked)
    assert done.stdout.strip() == "[]", done.stderr


def test_another_backend_gets_no_finder(site):
    program = "import sys; print([f for f in sys.meta_path if '_ckernels' in type(f).__module__])"
    assert run(site, program, KERAS_BACKEND="jax").stdout.strip() == "[]"
    assert "KerasFinder" in run(site, program, KERAS_BACKEND="ckernels").stdout
    assert "TellsOfBackends" in run(site, program).stdout


def test_another_version_of_keras_is_refused_in_a_sentence(site):
    old = site / "keras-3.99.0.dist-info"
    old.mkdir()
    (old / "METADATA").write_text("Metadata-Version: 2.1\nName: keras\nVersion: 3.99.0\n")
    program = f"import sys; sys.path.insert(0, {str(site)!r}); import keras"
    done = run(site, program, KERAS_BACKEND="ckernels")
    assert "found a Keras 3.99.0: pip install 'keras==3.15.*'" in done.stderr


def test_an_import_of_tensorflow_by_keras_says_what_to_do(monkeypatch):
    finder, keras = start.TellsOfBackends(), types.ModuleType("keras.src.backend")
    keras.__spec__ = types.SimpleNamespace(_initializing=True)
    monkeypatch.setitem(sys.modules, "keras.src.backend", keras)
    with pytest.raises(ModuleNotFoundError, match="set KERAS_BACKEND=ckernels before") as caught:
        finder.find_spec("tensorflow")
    assert caught.value.name == "tensorflow"
    assert finder.find_spec("tensorflow_datasets") is None
    keras.__spec__._initializing = False  # a program that tries for itself
    assert finder.find_spec("tensorflow") is None
    monkeypatch.delitem(sys.modules, "keras.src.backend")
    assert finder.find_spec("tensorflow") is None


@pytest.mark.skipif(bool(importlib.util.find_spec("tensorflow")), reason="TensorFlow is installed")
def test_a_program_without_a_backend_is_told_what_to_do(site, tmp_path):
    done = run(site, "import keras", KERAS_HOME=str(tmp_path / "none"))
    assert "set KERAS_BACKEND=ckernels before the program starts" in done.stderr


def test_the_flag_profile_says_where_a_step_spends_its_time(site):
    program = (
        "import keras, numpy as np\n"
        "model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])\n"
        "model.compile('sgd', 'mse')\n"
        "x = np.ones((8, 3), 'float32')\n"
        "model.fit(x, x[:, :2], batch_size=4, epochs=2, verbose=0)\n"
    )
    flags = ",".join(filter(None, [os.environ.get("CKERNELS_FLAGS"), "profile=True"]))
    done = run(site, program, KERAS_BACKEND="ckernels", CKERNELS_FLAGS=flags)
    row = r"^ +[\d.]+ +[\d.]+ +[\d.]+ +4  matmul.* <string>:6$"
    assert re.search(row, done.stderr, re.M), done.stderr
