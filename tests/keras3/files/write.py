"""`KERAS_BACKEND=jax python tests/keras3/files/write.py`: a trained model in files, and its losses.

Writes BACKEND.keras, for JAX jax.weights.h5 and jax.h5, and BACKEND.json beside itself: predictions
of the model that was saved, and losses of training it further. With names of other backends behind,
their files are read instead, and the losses of training on from them here are added to their
BACKEND.json ("continued"). `go_on FILE` prints the losses of training on from a file.
test_files.py reads them.
"""

import json
import sys
from pathlib import Path

import keras
import numpy as np
from keras import layers

HERE = Path(__file__).parent
MANY = 120  # words of which no row has two


def data(count=9):
    """(inputs, targets) of 24 rows: pictures, and texts of `count` words, each once if it can."""
    rng = np.random.default_rng(4)
    pictures = rng.normal(size=(24, 6, 6, 2)).astype("float32")
    words = rng.integers(0, count, (24, 5)).astype("int32")
    if count >= words.size:
        words = rng.permutation(words.size).astype("int32").reshape(words.shape)
    y = pictures.mean((1, 2))[:, :1] + (words == 3).sum(1, keepdims=True)
    return [pictures, words], y.astype("float32")


def model(attends=True, count=9):
    """Layers with weights of many shapes and with states, and an optimiser with two slots."""
    pictures, words = keras.Input((6, 6, 2)), keras.Input((5,), dtype="int32")
    h = layers.Conv2D(3, 3, activation="relu")(pictures)
    h = layers.GlobalAveragePooling2D()(layers.BatchNormalization()(h))
    t = layers.Embedding(count, 4, mask_zero=attends)(words)
    t = layers.Bidirectional(layers.GRU(2, return_sequences=True))(t)
    if attends:
        t = layers.LayerNormalization()(layers.MultiHeadAttention(2, 2)(t, t) + t)
    h = layers.concatenate([h, layers.LSTM(3)(t)])
    made = keras.Model([pictures, words], layers.Dense(1)(h))
    rate = keras.optimizers.schedules.ExponentialDecay(0.02, 5, 0.9)
    made.compile(keras.optimizers.AdamW(rate, clipnorm=1.0), "mse", metrics=["mae"])
    return made


def further(made, epochs=4, count=9):
    """Losses of more epochs over all rows."""
    x, y = data(count)
    history = made.fit(x, y, epochs=epochs, batch_size=8, shuffle=False, verbose=0)
    return [float(v) for v in history.history["loss"]]


def read(path):
    """The model with weights and optimiser of a file."""
    made = model()
    made.optimizer.build(made.trainable_variables)
    made.load_weights(path)
    return made


def predicted(made):
    return [float(v) for v in made.predict(data()[0], verbose=0)[:, 0]]


def read_whole(path):
    """The model of an HDF5 file, compiled again: Keras does not read its optimiser."""
    made = keras.models.load_model(path, compile=False)
    made.compile(keras.optimizers.AdamW(0.02, clipnorm=1.0), "mse", metrics=["mae"])
    return made


def write_whole(path):
    """A trained model as one HDF5 file; Keras does not read masks and attention from one.

    What it predicts, and the losses of training further what was read.
    """
    keras.utils.set_random_seed(1)
    made = model(attends=False)
    further(made, 3)
    made.save(path)
    return {"predicted": predicted(made), "losses": further(read_whole(path))}


def add(other):
    """To what another backend said of its file: the losses of training on from it by this one."""
    said = json.loads((HERE / f"{other}.json").read_text())
    said["continued"] = further(read(HERE / f"{other}.keras"))
    (HERE / f"{other}.json").write_text(json.dumps(said) + "\n")


def main():
    backend = keras.backend.backend()
    keras.utils.set_random_seed(1)
    made = model()
    further(made, 3)
    made.save(HERE / f"{backend}.keras")
    if backend == "jax":
        made.save_weights(HERE / "jax.weights.h5")
    found = {"predicted": predicted(made), "losses": further(made)}
    if backend == "jax":
        found["whole"] = write_whole(HERE / "jax.h5")
    (HERE / f"{backend}.json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["go_on"]:
        made = keras.models.load_model(sys.argv[2])
        made.jit_compile = False  # PyTorch and TensorFlow would compile for minutes
        print(json.dumps(further(made, count=MANY)))
        sys.exit()
    for name in sys.argv[1:]:
        add(name)
    if not sys.argv[1:]:
        main()
