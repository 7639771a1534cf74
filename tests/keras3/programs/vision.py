"""Programs on pictures: classification, segmentation, similarity, reading, films."""

import keras
import numpy as np
from keras import layers, ops

from . import fixed, integers, normal, pictures, program, trained, uniform

SPARSE = "sparse_categorical_crossentropy"


@program
def mlp_classifier():
    x, y = pictures(22)
    model = keras.Sequential([keras.Input((8, 8, 1)), layers.Flatten(),
                              layers.Dense(16, "relu"), layers.Dense(2, "softmax")])  # fmt: skip
    return trained(fixed(model), x, y, loss=SPARSE, metrics=["accuracy"])


@program
def convnet():
    x, y = pictures(22)
    model = keras.Sequential([
        keras.Input((8, 8, 1)), layers.Conv2D(4, 3, activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(8, 2, activation="relu"), layers.GlobalAveragePooling2D(),
        layers.Dense(2, "softmax"),
    ])  # fmt: skip
    return trained(fixed(model), x, y, loss=SPARSE, metrics=["accuracy"])


@program(draws=True)
def augmented_convnet():
    x, y = pictures(20, channels=3)
    model = keras.Sequential([
        keras.Input((8, 8, 3)), layers.RandomFlip(), layers.RandomRotation(0.1),
        layers.RandomZoom(0.1), layers.Conv2D(4, 3), layers.BatchNormalization(),
        layers.ReLU(), layers.Dropout(0.3), layers.Flatten(), layers.Dense(2, "softmax"),
    ])  # fmt: skip
    return trained(fixed(model), x, y, epochs=5, loss=SPARSE)


def residual(x, filters, stride=1):
    y = layers.Conv2D(filters, 3, stride, "same", use_bias=False)(x)
    y = layers.ReLU()(layers.BatchNormalization()(y))
    y = layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same")(y))
    if stride > 1:
        x = layers.Conv2D(filters, 1, stride)(x)
    return layers.ReLU()(layers.Add()([x, y]))


@program
def residual_net():
    x, y = pictures(20, channels=3)
    inputs = keras.Input((8, 8, 3))
    h = layers.Conv2D(4, 3, padding="same")(inputs)
    h = residual(residual(residual(h, 4), 8, 2), 8)
    model = keras.Model(inputs, layers.Dense(2)(layers.GlobalAveragePooling2D()(h)))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return trained(fixed(model), x, y, optimizer=keras.optimizers.SGD(0.05, 0.9), loss=loss,
                   validation_data=(x[:7], y[:7]))  # fmt: skip


@program
def separable_net():
    x, y = pictures(20, channels=3)
    inputs = keras.Input((8, 8, 3))
    h = layers.SeparableConv2D(6, 3, padding="same", activation="relu")(inputs)
    h = layers.MaxPooling2D(3, 2, "same")(layers.BatchNormalization()(h))
    h = layers.DepthwiseConv2D(3, 2, "same", depth_multiplier=2, activation="relu6")(h)
    h = layers.Conv2D(8, 1, activation="swish")(h)
    model = keras.Model(inputs, layers.Dense(1, "sigmoid")(layers.GlobalMaxPooling2D()(h)))
    return trained(fixed(model), x, y, loss="binary_crossentropy", metrics=["auc"])


@program
def unet_segmentation():
    x, _ = pictures(10)
    y = (x[..., 0] > 0.5).astype("int32")
    inputs = keras.Input((8, 8, 1))
    a = layers.Conv2D(4, 3, padding="same", activation="relu")(inputs)
    b = layers.Conv2D(6, 3, padding="same", activation="relu")(layers.MaxPooling2D()(a))
    c = layers.Conv2D(8, 3, padding="same", activation="relu")(layers.MaxPooling2D()(b))
    d = layers.Concatenate()([layers.Conv2DTranspose(6, 2, 2)(c), b])
    e = layers.Concatenate()([layers.UpSampling2D()(layers.Conv2D(4, 3, padding="same")(d)), a])
    model = keras.Model(inputs, layers.Conv2D(2, 1, activation="softmax")(e))
    return trained(fixed(model), x, y, loss=SPARSE,
                   metrics=[keras.metrics.MeanIoU(2, sparse_y_pred=False)])  # fmt: skip


class Patches(layers.Layer):
    def call(self, x):
        n = ops.shape(x)[0]
        x = ops.reshape(x, (n, 4, 2, 4, 2, 1))
        return ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4, 5)), (n, 16, 4))


@program
def vision_transformer():
    x, y = pictures(20)
    inputs = keras.Input((8, 8, 1))
    h = layers.Dense(8)(Patches()(inputs))
    h = h + layers.Embedding(16, 8)(ops.arange(16))
    for _ in range(2):
        n = layers.LayerNormalization()(h)
        h = layers.Add()([layers.MultiHeadAttention(2, 4)(n, n), h])
        n = layers.Dense(16, "gelu")(layers.LayerNormalization()(h))
        h = layers.Add()([layers.Dense(8)(n), h])
    model = keras.Model(inputs, layers.Dense(2, "softmax")(layers.Flatten()(h)))
    return trained(fixed(model), x, y, optimizer=keras.optimizers.AdamW(0.01), loss=SPARSE)


@program
def mlp_mixer():
    x, y = pictures(20)
    inputs = keras.Input((8, 8, 1))
    h = layers.Dense(6)(Patches()(inputs))
    for _ in range(2):
        t = layers.Permute((2, 1))(layers.LayerNormalization()(h))
        h = h + layers.Permute((2, 1))(layers.Dense(16, "gelu")(t))
        h = h + layers.Dense(6, "gelu")(layers.LayerNormalization()(h))
    model = keras.Model(inputs, layers.Dense(2, "softmax")(layers.GlobalAveragePooling1D()(h)))
    return trained(fixed(model), x, y, loss=SPARSE)


@program
def siamese_contrastive():
    x, y = pictures(20)
    pairs = [x, x[::-1].copy()]
    same = (y == y[::-1]).astype("float32")
    encoder = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(4, 3, activation="tanh"),
                                layers.AveragePooling2D(2), layers.Flatten(),
                                layers.Dense(4)])  # fmt: skip
    a, b = keras.Input((8, 8, 1)), keras.Input((8, 8, 1))
    apart = ops.sqrt(ops.maximum(ops.sum((encoder(a) - encoder(b)) ** 2, 1, keepdims=True), 1e-7))
    model = keras.Model([a, b], layers.Dense(1, "sigmoid")(layers.BatchNormalization()(apart)))

    def contrastive(y_true, y_pred):
        return ops.mean((1 - y_true) * y_pred**2 + y_true * ops.maximum(1 - y_pred, 0) ** 2)

    return trained(fixed(model), pairs, same, loss=contrastive)


@program
def metric_learning():
    x, y = pictures(12)
    inputs = keras.Input((8, 8, 1))
    h = layers.Dense(6)(layers.Flatten()(layers.Conv2D(4, 3, 2, activation="relu")(inputs)))
    h = layers.UnitNormalization()(h)
    model = keras.Model(inputs, ops.matmul(h, ops.transpose(h)) * 5)

    def same_class(y_true, y_pred):
        target = ops.cast(y_true == ops.transpose(y_true), "float32")
        return ops.mean(ops.binary_crossentropy(target, y_pred, from_logits=True))

    return trained(fixed(model), x, y[:, None], loss=same_class, batch_size=6)


@program
def denoising_autoencoder():
    x, _ = pictures(12)
    noisy = x + 0.2 * normal(*x.shape, seed=1)
    model = keras.Sequential([
        keras.Input((8, 8, 1)), layers.Conv2D(6, 3, 2, "same", activation="relu"),
        layers.Conv2DTranspose(6, 3, 2, "same", activation="relu"),
        layers.Conv2D(1, 3, padding="same", activation="sigmoid"),
    ])  # fmt: skip
    return trained(fixed(model), noisy, x, loss="binary_crossentropy", metrics=["mae"])


@program
def subpixel_super_resolution():
    x = uniform(10, 5, 5, 1)
    y = ops.convert_to_numpy(ops.image.resize(x, (10, 10)))
    inputs = keras.Input((None, None, 1))
    h = layers.Conv2D(4, 3, padding="same", activation="relu")(inputs)
    model = keras.Model(inputs, ops.depth_to_space(layers.Conv2D(4, 3, padding="same")(h), 2))
    return trained(fixed(model), x, y)


@program
def reading_with_ctc():
    x, y = normal(8, 12, 6), integers(4, 8, 3) + 1
    inputs = keras.Input((12, 6))
    h = layers.Bidirectional(layers.LSTM(5, return_sequences=True))(inputs)
    model = keras.Model(inputs, layers.Dense(5)(h))

    def ctc(y_true, y_pred):
        n = ops.shape(y_pred)[0]
        return ops.mean(ops.ctc_loss(y_true, y_pred, ops.full((n,), 3), ops.full((n,), 12)))

    return trained(fixed(model), x, y, loss=ctc, batch_size=4)


@program
def next_frame():
    x = uniform(4, 5, 6, 6, 1)
    model = keras.Sequential([
        keras.Input((None, 6, 6, 1)),
        layers.ConvLSTM2D(3, 3, padding="same", return_sequences=True),
        layers.BatchNormalization(),
        layers.Conv3D(1, 3, padding="same", activation="sigmoid"),
    ])  # fmt: skip
    return trained(fixed(model), x[:, :-1], x[:, 1:], batch_size=2, loss="binary_crossentropy")


@program
def volumes():
    x, y = uniform(6, 6, 6, 6, 1), integers(2, 6)
    model = keras.Sequential([
        keras.Input((6, 6, 6, 1)), layers.Conv3D(4, 2, activation="relu"), layers.MaxPooling3D(),
        layers.GlobalAveragePooling3D(), layers.Dense(1, "sigmoid"),
    ])  # fmt: skip
    return trained(fixed(model), x, y, batch_size=3, loss="binary_crossentropy")


@program
def knowledge_distillation():
    x, y = pictures(20)

    def net(width):
        return keras.Sequential([keras.Input((8, 8, 1)), layers.Flatten(),
                                 layers.Dense(width, "relu"), layers.Dense(2)])  # fmt: skip

    class Distiller(keras.Model):
        def __init__(self, teacher, student):
            super().__init__()
            self.teacher, self.student = teacher, student
            self.teacher.trainable = False

        def call(self, x):
            return self.student(x)

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            soft = ops.softmax(self.teacher(x, training=False) / 3)
            own = ops.mean(keras.losses.kl_divergence(soft, ops.softmax(y_pred / 3))) * 9
            loss = keras.losses.sparse_categorical_crossentropy(y, y_pred, from_logits=True)
            return 0.1 * ops.mean(loss) + 0.9 * own

    model = Distiller(fixed(net(16)), net(4))
    fixed(model.student)
    return trained(model, x, y, loss=None)


@program
def mixup_and_smoothing():
    x, y = pictures(20, channels=3)
    share = rng_share()
    mixed = share[:, None, None, None] * x + (1 - share[:, None, None, None]) * x[::-1]
    target = share[:, None] * np.eye(2)[y] + (1 - share[:, None]) * np.eye(2)[y[::-1]]
    model = keras.Sequential([keras.Input((8, 8, 3)), layers.Conv2D(4, 3, activation="elu"),
                              layers.GroupNormalization(2), layers.SpatialDropout2D(0.0),
                              layers.Flatten(), layers.Dense(2)])  # fmt: skip
    loss = keras.losses.CategoricalCrossentropy(True, label_smoothing=0.1)
    return trained(fixed(model), mixed, target, loss=loss, optimizer="rmsprop")


def rng_share():
    return uniform(20, seed=5)


@program
def many_sizes():
    model = keras.Sequential([
        keras.Input((None, None, 1)), layers.Conv2D(3, 3, padding="same", activation="relu"),
        layers.GlobalAveragePooling2D(), layers.Dense(1),
    ])  # fmt: skip
    fixed(model).compile("adam", "mse")
    found = []
    for turn, side in enumerate((6, 9, 6, 7, 9)):
        x = uniform(3, side, side, 1, seed=turn)
        found.append(model.train_on_batch(x, x.mean((1, 2))))
    return found
