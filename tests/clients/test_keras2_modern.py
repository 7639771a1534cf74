"""Keras 2 in a Python that has lost what 3.10 to 3.14 removed, and without setuptools.

The program trains, saves, loads and predicts in a process that `newer_python` made as poor as those
are; that the removal takes effect is tested beside it.
"""

import os
import subprocess
import sys
from pathlib import Path

from .keras_support import keras_or_skip

keras_or_skip()
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import numpy as np
import keras
from keras import backend as K, layers as L
from keras.preprocessing import image, sequence, text

np.random.seed(0)
model = keras.models.Sequential([
    L.Conv1D(4, 3, padding="same", activation="relu", input_shape=(6, 2)),
    L.BatchNormalization(),
    L.Lambda(lambda t: t * 2.0),
    L.LSTM(8, activity_regularizer="l2"),
    L.Dense(1, kernel_constraint=keras.constraints.MaxNorm(3)),
])
model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
rng = np.random.default_rng(0)
x = rng.normal(size=(128, 6, 2))
y = x.mean((1, 2))[:, None]
losses = model.fit(x, y, batch_size=16, epochs=15, verbose=0).history["loss"]
assert losses[-1] < losses[0] / 2, losses
model.save("model.h5")
copy = keras.models.load_model("model.h5")
np.testing.assert_array_equal(copy.predict(x), model.predict(x))
again = keras.models.model_from_yaml(model.to_yaml())
again.load_weights("model.h5")
np.testing.assert_array_equal(again.predict(x), model.predict(x))
assert sequence.pad_sequences([[1, 2]], 3).tolist() == [[0, 1, 2]]
assert image.img_to_array(np.ones((2, 3, 3))).shape == (2, 3, 3)
moved = image.ImageDataGenerator(rotation_range=20).random_transform(np.ones((4, 4, 3)))
assert moved.shape == (4, 4, 3)
words = text.Tokenizer()
words.fit_on_texts(["a b a"])
assert words.word_index == {"a": 1, "b": 2}
print("trained")
"""
REMOVED = """
import inspect, unittest
for name in "imp", "distutils.version", "cgi", "pkg_resources", "setuptools":
    try:
        __import__(name)
    except ModuleNotFoundError:
        continue
    raise AssertionError(name)
assert not hasattr(inspect, "getargspec") and not hasattr(unittest.TestCase, "assertEquals")
print("removed")
"""


def run(program, folder):
    """What a program prints when `newer_python` runs it."""
    (folder / "program.py").write_text(program)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    home = {"KERAS_HOME": str(folder), "KERAS_BACKEND": "ckernels.compat.keras2"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "clients" / "newer_python.py"), "program.py"],
        env={**os.environ, **home, "PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_model_trains_without_what_was_removed(tmp_path):
    assert run(PROGRAM, tmp_path).split()[-1] == "trained"


def test_what_was_removed_is_gone(tmp_path):
    assert run(REMOVED, tmp_path).split() == ["removed"]
