"""The programs: {name: function that returns (a compiled model, x, y of one batch)}."""

import keras
import numpy as np
from keras import layers, ops

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def normal(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def integers(high, *shape):
    return np.random.default_rng(1).integers(0, high, shape).astype("int32")


def classifier(model, **more):
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), **more)
    return model


@program
def dense():
    """20-64-1, 32 rows."""
    model = keras.Sequential(
        [keras.Input((20,)), layers.Dense(64, activation="relu"), layers.Dense(1)]
    )
    model.compile("adam", "mse")
    return model, normal(32, 20), normal(32, 1)


@program
def mlp():
    """784-256-128-10 with dropout and an accuracy, 64 rows."""
    parts = [layers.Dense(256, "relu"), layers.Dropout(0.2), layers.Dense(128, "relu")]
    model = keras.Sequential([keras.Input((784,)), *parts, layers.Dense(10)])
    return classifier(model, metrics=["accuracy"]), normal(64, 784), integers(10, 64)


@program
def convnet():
    """Two convolutions and pools of 28 x 28 pictures, 64 of them."""
    parts = []
    for channels in (32, 64):
        parts += [layers.Conv2D(channels, 3, activation="relu"), layers.MaxPooling2D()]
    model = keras.Sequential([keras.Input((28, 28, 1)), *parts, layers.Flatten(), layers.Dense(10)])
    return classifier(model), normal(64, 28, 28, 1), integers(10, 64)


@program
def residual():
    """Three residual blocks with batch normalisation of 32 x 32 pictures, 32 of them."""
    inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(16, 3, padding="same")(inputs)
    for _ in range(3):
        y = layers.Activation("relu")(layers.BatchNormalization()(x))
        y = layers.Conv2D(16, 3, padding="same", use_bias=False)(y)
        y = layers.Activation("relu")(layers.BatchNormalization()(y))
        x = x + layers.Conv2D(16, 3, padding="same", use_bias=False)(y)
    outputs = layers.Dense(10)(layers.GlobalAveragePooling2D()(x))
    return classifier(keras.Model(inputs, outputs)), normal(32, 32, 32, 3), integers(10, 32)


@program
def lstm():
    """LSTMs of 32 and 16 over 50 steps of 8, 32 series."""
    parts = [layers.LSTM(32, return_sequences=True), layers.LSTM(16), layers.Dense(1)]
    model = keras.Sequential([keras.Input((50, 8)), *parts])
    model.compile("adam", "mse")
    return model, normal(32, 50, 8), normal(32, 1)


@program
def text():
    """A bidirectional GRU over 80 masked words of 5,000, with an AUC, 32 texts."""
    parts = [layers.Embedding(5000, 32, mask_zero=True), layers.Bidirectional(layers.GRU(24))]
    model = keras.Sequential([keras.Input((80,)), *parts, layers.Dense(1, "sigmoid")])
    model.compile("adam", "binary_crossentropy", metrics=["AUC"])
    return model, integers(5000, 32, 80), integers(2, 32, 1)


@program
def transformer():
    """Two causal blocks of width 64 with 4 heads over 64 of 1,000 tokens, 16 texts."""
    return causal(2)


def causal(count):
    """So many causal blocks."""
    inputs = keras.Input((64,))
    x = layers.Embedding(1000, 64)(inputs)
    for _ in range(count):
        y = layers.MultiHeadAttention(4, 16)(x, x, use_causal_mask=True)
        x = layers.LayerNormalization()(x + y)
        y = layers.Dense(64)(layers.Dense(128, activation="gelu")(x))
        x = layers.LayerNormalization()(x + y)
    model = classifier(keras.Model(inputs, layers.Dense(1000)(x)))
    return model, integers(1000, 16, 64), integers(1000, 16, 64)


@program
def autoencoder():
    """A variational autoencoder of 784-128-8 with a loss of its own, 64 rows."""
    inputs = keras.Input((784,))
    h = layers.Dense(128, "relu")(inputs)
    middle, spread = layers.Dense(8)(h), layers.Dense(8)(h)
    z = Drawn()([middle, spread])
    outputs = layers.Dense(784, "sigmoid")(layers.Dense(128, "relu")(z))
    model = keras.Model(inputs, outputs)
    model.compile("adam", "binary_crossentropy")
    x = np.abs(normal(64, 784)).clip(0, 1)
    return model, x, x


class Drawn(layers.Layer):
    """A draw from a normal distribution, whose distance from the standard one is a loss."""

    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(1)

    def call(self, inputs):
        middle, spread = inputs
        far = ops.square(middle) + ops.exp(spread) - spread - 1
        self.add_loss(5e-4 * ops.mean(ops.sum(far, axis=-1)))
        return middle + ops.exp(spread / 2) * keras.random.normal(ops.shape(middle), seed=self.seed)


@program
def unet():
    """Two levels down and up of 64 x 64 pictures, classes of pixels, 8 of them."""
    h = inputs = keras.Input((64, 64, 3))
    kept = []
    for filters in (16, 32):
        h = layers.Conv2D(filters, 3, padding="same", activation="relu")(h)
        h = layers.BatchNormalization()(h)
        kept.append(h)
        h = layers.MaxPooling2D()(h)
    h = layers.SeparableConv2D(64, 3, padding="same", activation="relu")(h)
    for filters in (32, 16):
        h = layers.Conv2DTranspose(filters, 3, strides=2, padding="same", activation="relu")(h)
        h = layers.Conv2D(filters, 3, padding="same", activation="relu")(
            layers.Concatenate()([h, kept.pop()])
        )
    model = keras.Model(inputs, layers.Conv2D(4, 1)(h))
    return classifier(model), normal(8, 64, 64, 3), integers(4, 8, 64, 64)


@program
def recommender():
    """Two embeddings of 10,000 rows and their product, 256 pairs."""
    user, item = keras.Input((1,)), keras.Input((1,))
    rows = [layers.Flatten()(layers.Embedding(10000, 32)(x)) for x in (user, item)]
    model = keras.Model([user, item], layers.Dense(1)(layers.Concatenate()(rows)))
    model.compile("adam", "mse")
    return model, [integers(10000, 256, 1), integers(10000, 256, 1)], normal(256, 1)


@program
def blocks():
    """Eight blocks of the transformer above: its first batches."""
    return causal(8)


@program
def resnet():
    """ResNet50 of 160 x 160 pictures, 4 of them, and SGD with momentum."""
    model = keras.applications.ResNet50(weights=None, input_shape=(160, 160, 3), classes=10)
    model.compile(keras.optimizers.SGD(0.01, momentum=0.9), "sparse_categorical_crossentropy")
    return model, normal(4, 160, 160, 3), integers(10, 4)


LONG = {"resnet": 2, "blocks": 8}  # programs of which an epoch has fewer batches
