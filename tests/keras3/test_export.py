"""Models as C: inference and training, compiled and run, against the model itself."""

import shutil
import subprocess

import keras
import numpy as np
import pytest
from keras import layers

from ckernels.base.errors import UsageError

CC = shutil.which("gcc") or shutil.which("clang")
RNG = np.random.default_rng(0)
needs_compiler = pytest.mark.skipif(CC is None, reason="needs a C compiler")


def outcome(folder, prefix):
    """The exit status of the test that lies beside the C, and what it prints."""
    program = folder / "compiled"
    sources = [str(folder / f"{prefix}.c"), str(folder / f"{prefix}_test.c")]
    flags = "-std=c99 -O1 -pedantic -Wall -Wextra -Werror".split()
    subprocess.run([CC, *flags, *sources, "-lm", "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


def dense():
    return keras.Sequential(
        [keras.Input((6,)), layers.Dense(8, activation="relu"), layers.Dense(3)]
    )


def convolutional():
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(),
            layers.Dropout(0.5),
            layers.Flatten(),
            layers.Dense(3),
        ]
    )


def recurrent():
    return keras.Sequential([keras.Input((5, 4)), layers.LSTM(6), layers.Dense(3)])


def words():
    return keras.Sequential([keras.Input((5,), dtype="int32"), layers.Embedding(7, 4),
                             layers.GlobalAveragePooling1D(), layers.Dense(3)])  # fmt: skip


@needs_compiler
@pytest.mark.parametrize("make", [dense, convolutional, recurrent, words])
def test_inference_and_training_in_c(tmp_path, make):
    model = make()
    model.compile(
        "adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["acc"]
    )
    shape = model.inputs[0].shape[1:]
    x = RNG.normal(size=(4, *shape)).astype("float32")
    if make is words:
        x = RNG.integers(0, 7, (4, *shape)).astype("int32")
    before = [w.copy() for w in model.get_weights()]
    report = model.export(
        tmp_path / "net.c", format="c", train=(x, np.array([0, 2, 1, 1])), batch_size=2
    )
    assert outcome(tmp_path, "net")[0] == 0
    assert all(np.array_equal(a, b) for a, b in zip(before, model.get_weights()))
    header = (tmp_path / "net.h").read_text()
    assert "int net_train_on_batch(" in header and "int net_predict(" in header
    assert report.state > sum(np.size(w.numpy()) for w in model.trainable_weights) * 4
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "compiled", "net.c", "net.h", "net.md", "net_test.c"
    ]  # fmt: skip


@needs_compiler
def test_a_result_that_is_off_fails_the_test_of_the_export(tmp_path):
    dense().export(tmp_path / "net.c", format="c")
    assert outcome(tmp_path, "net")[0] == 0
    source = (tmp_path / "net.c").read_text()
    first = source.index("{", source.index("static const float")) + 1
    (tmp_path / "net.c").write_text(source[:first] + "9.0f + " + source[first:])
    assert outcome(tmp_path, "net")[0] != 0


def test_inputs_and_outputs_have_their_sizes(tmp_path):
    dense().export(tmp_path / "folder", format="c", batch_size=5, prefix="mine")
    header = (tmp_path / "folder" / "mine.h").read_text()
    assert "x: float32 5 x 6" in header and "out: float32 5 x 3" in header


def test_what_cannot_be_exported_is_refused_in_words(tmp_path):
    x = keras.Input((None, 3))
    model = keras.Model(x, layers.Dense(2)(x))
    with pytest.raises(UsageError, match="has open ones: say input_signature"):
        model.export(tmp_path / "m.c", format="c")
    model.export(tmp_path / "m.c", format="c", input_signature=[keras.InputSpec(shape=(1, 4, 3))])
    assert "float32 1 x 4 x 3" in (tmp_path / "m.h").read_text()
    with pytest.raises(UsageError, match="needs `compile` before"):
        model.export(tmp_path / "m.c", format="c", train=(np.ones((1, 4, 3)), np.ones((1, 4, 2))))
    with pytest.raises(UsageError, match="before it is exported"):
        keras.Sequential([layers.Dense(2)]).export(tmp_path / "m.c", format="c")
    with pytest.raises(ValueError, match="Unrecognized format=d"):
        model.export(tmp_path / "m.c", format="d")
