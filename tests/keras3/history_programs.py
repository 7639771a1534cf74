"""Families of training programs for the generator of histories, beside those of ckernels itself."""

import keras
import numpy as np
from keras import layers
from stress.pair_programs import family


def optimizer(d):
    rate = d.pick(0.1, 0.01)
    return d.pick(
        lambda: keras.optimizers.SGD(rate), lambda: keras.optimizers.Adam(rate),
        lambda: keras.optimizers.SGD(rate, momentum=0.9), lambda: keras.optimizers.RMSprop(rate),
    )()  # fmt: skip


def trained(d, x, *stack):
    """What is lost in each epoch, what is predicted then, and all weights."""
    y = d.numbers.integers(0, 3, len(x))
    model = keras.Sequential([keras.Input(x.shape[1:]), *stack, layers.Dense(3)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer(d), loss, jit_compile=d.pick(True, "auto"))
    told = model.fit(x, y, d.pick(5, 8, 20), epochs=2, shuffle=False, verbose=0)
    return [told.history["loss"], model.predict(x, verbose=0), *model.get_weights()]


@family
def keras_dense(d):
    keras.utils.set_random_seed(d.pick(1, 2))
    x = d.values((20, d.pick(4, 7)), "float32")
    act = d.pick("relu", "tanh", "gelu")
    more = d.pick(layers.Dropout(0.3), layers.BatchNormalization(), layers.LayerNormalization())
    return trained(d, x, layers.Dense(d.pick(5, 8), activation=act), more)


@family
def keras_images(d):
    keras.utils.set_random_seed(d.pick(1, 2))
    x = d.values((20, 6, 6, 2), "float32")
    conv = layers.Conv2D(d.pick(3, 4), 3, d.pick(1, 2), padding=d.pick("same", "valid"))
    pool = d.pick(layers.GlobalAveragePooling2D(), layers.GlobalMaxPooling2D(), layers.Flatten())
    return trained(d, x, conv, pool)


@family
def keras_sequences(d):
    keras.utils.set_random_seed(d.pick(1, 2))
    x = np.abs(d.values((20, 5, 3), "float32"))
    cell = d.pick(layers.LSTM, layers.GRU, layers.SimpleRNN)
    return trained(d, x, cell(d.pick(3, 5), go_backwards=d.pick(False, True)))
