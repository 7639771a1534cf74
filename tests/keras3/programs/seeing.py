"""Programs of pictures and videos: masks, dilated and turned windows, colours, places."""

import keras
import numpy as np
from keras import layers, ops

from . import (
    fixed,
    integers,
    normal,
    pictures,
    program,
    rng,
    trained,
    transforms,
    uniform,
    values_of,
)


@program
def videos_with_masks():
    frames, y = uniform(10, 5, 8, 8, 1), integers(3, 10)
    there = (np.arange(5) < rng(1).integers(2, 6, 10)[:, None]).astype("bool")
    eye = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, strides=2, activation="relu"),
            layers.BatchNormalization(),
            layers.GlobalAveragePooling2D(),
        ]
    )
    x, mask = keras.Input((5, 8, 8, 1)), keras.Input((5,), dtype="bool")
    h = layers.TimeDistributed(eye)(x)
    h = layers.GRU(6, return_sequences=True)(h, mask=mask)
    h = layers.Bidirectional(layers.GRU(4))(h, mask=mask)
    model = keras.Model([x, mask], layers.Dense(3, "softmax")(h))
    return trained(
        fixed(model),
        [frames, there],
        y,
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )


@program
def frames_of_convolutional_lstm():
    movies = uniform(6, 5, 6, 6, 1)
    x = keras.Input((None, 6, 6, 1))
    h = layers.ConvLSTM2D(4, 3, padding="same", return_sequences=True)(x)
    h = layers.BatchNormalization()(h)
    h = layers.ConvLSTM2D(4, 3, padding="same", return_sequences=True, go_backwards=True)(h)
    model = keras.Model(x, layers.Conv3D(1, 3, padding="same", activation="sigmoid")(h))
    return trained(
        fixed(model), movies[:, :-1], movies[:, 1:], batch_size=2, loss="binary_crossentropy"
    )


class MaskedConvolution(layers.Layer):
    """A convolution that sees no later pixel, and not its own where the kind is "A"."""

    def __init__(self, kind, **options):
        super().__init__()
        self.kind, self.conv = kind, layers.Conv2D(**options)

    def build(self, shape):
        self.conv.build(shape)
        self.mask = np.ones(self.conv.kernel.shape, "float32")
        row, column = (size // 2 for size in self.mask.shape[:2])
        self.mask[row, column + (self.kind == "B") :] = 0
        self.mask[row + 1 :] = 0

    def call(self, x):
        y = ops.conv(x, self.conv.kernel * self.mask, padding="same")
        return ops.relu(y + self.conv.bias)


@program
def pixels_by_earlier_ones():
    x = (uniform(12, 8, 8, 1) > 0.5).astype("float32")
    picture = keras.Input((8, 8, 1))
    h = MaskedConvolution("A", filters=6, kernel_size=5, padding="same")(picture)
    for _ in range(2):
        r = layers.Conv2D(4, 1, activation="relu")(h)
        r = MaskedConvolution("B", filters=4, kernel_size=3, padding="same")(r)
        h = layers.add([h, layers.Conv2D(6, 1, activation="relu")(r)])
    model = keras.Model(picture, layers.Conv2D(1, 1, activation="sigmoid")(h))
    return trained(
        fixed(model), x, x, loss="binary_crossentropy", optimizer=keras.optimizers.Adam(0.01)
    )


@program
def windows_that_shift():
    x, y = pictures(10, 8, 3)
    window, heads, width = 4, 2, 8

    class WindowAttention(layers.Layer):
        def __init__(self, shift):
            super().__init__()
            self.shift = shift
            self.norm = layers.LayerNormalization(epsilon=1e-5)
            self.qkv, self.out = layers.Dense(3 * width), layers.Dense(width)

        def build(self, shape):
            self.norm.build(shape)
            self.qkv.build(shape)
            self.out.build(shape)
            self.table = self.add_weight(shape=((2 * window - 1) ** 2, heads), name="table")
            at = np.stack(np.meshgrid(*[np.arange(window)] * 2, indexing="ij")).reshape(2, -1)
            far = (at[:, :, None] - at[:, None, :]).transpose(1, 2, 0) + window - 1
            self.index = (far[..., 0] * (2 * window - 1) + far[..., 1]).astype("int32")
            area = np.zeros((8, 8), "int32")
            cuts = slice(0, -window), slice(-window, -2), slice(-2, None)
            for i, rows in enumerate(cuts):
                for j, columns in enumerate(cuts):
                    area[rows, columns] = 3 * i + j
            area = area.reshape(2, window, 2, window).transpose(0, 2, 1, 3).reshape(4, -1)
            apart = area[:, None, :] != area[:, :, None]
            self.blocked = np.where(apart & bool(self.shift), -100.0, 0.0).astype("float32")

        def call(self, x):
            h = ops.roll(self.norm(x), (-self.shift, -self.shift), (1, 2))
            h = ops.reshape(h, (-1, 2, window, 2, window, width))
            h = ops.reshape(ops.transpose(h, (0, 1, 3, 2, 4, 5)), (-1, window**2, width))
            q, k, v = ops.split(self.qkv(h), 3, axis=-1)
            q, k, v = (
                ops.transpose(ops.reshape(t, (-1, window**2, heads, width // heads)), (0, 2, 1, 3))
                for t in (q, k, v)
            )
            scores = ops.matmul(q, ops.swapaxes(k, -1, -2)) * (width // heads) ** -0.5
            bias = ops.take(self.table, self.index.reshape(-1), axis=0)
            bias = ops.transpose(ops.reshape(bias, (window**2, window**2, heads)), (2, 0, 1))
            scores = scores + bias[None]
            scores = ops.reshape(scores, (-1, 4, heads, window**2, window**2))
            scores = scores + self.blocked[None, :, None]
            scores = ops.softmax(ops.reshape(scores, (-1, heads, window**2, window**2)))
            h = ops.reshape(
                ops.transpose(ops.matmul(scores, v), (0, 2, 1, 3)), (-1, window**2, width)
            )
            h = ops.reshape(self.out(h), (-1, 2, 2, window, window, width))
            h = ops.reshape(ops.transpose(h, (0, 1, 3, 2, 4, 5)), (-1, 8, 8, width))
            return x + ops.roll(h, (self.shift, self.shift), (1, 2))

    picture = keras.Input((8, 8, 3))
    h = layers.Dense(width)(picture)
    for shift in (0, 2):
        h = WindowAttention(shift)(h)
        h = h + layers.Dense(width)(layers.Dense(12, "gelu")(layers.LayerNormalization()(h)))
    model = keras.Model(picture, layers.Dense(2)(layers.GlobalAveragePooling2D()(h)))
    loss = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)
    optimizer = keras.optimizers.AdamW(0.01, weight_decay=0.05, clipnorm=1.0)
    return trained(fixed(model), x, np.eye(2, dtype="float32")[y], loss=loss, optimizer=optimizer)


class SoftDice(keras.losses.Loss):
    def call(self, y_true, y_pred):
        y_true = ops.cast(y_true, y_pred.dtype)
        both = ops.sum(y_true * y_pred, axis=(1, 2))
        return 1 - ops.mean((2 * both + 1) / (ops.sum(y_true + y_pred, axis=(1, 2)) + 1), axis=-1)


@program
def dilated_pyramid_of_segments():
    x = uniform(8, 12, 12, 3)
    y = (x.sum(-1) > 1.5).astype("int32")
    picture = keras.Input((12, 12, 3))
    h = layers.Conv2D(6, 3, strides=2, padding="same", activation="relu")(picture)
    pooled = layers.AveragePooling2D((6, 6))(h)
    pooled = layers.UpSampling2D((6, 6), interpolation="bilinear")(layers.Conv2D(4, 1)(pooled))
    parts = [layers.SeparableConv2D(4, 3, dilation_rate=d, padding="same")(h) for d in (1, 2, 3)]
    h = layers.Concatenate()([pooled, *parts])
    h = layers.GroupNormalization(4)(h)
    h = layers.UpSampling2D(2, interpolation="bilinear")(layers.Activation("mish")(h))
    model = keras.Model(picture, layers.Conv2D(2, 1, activation="softmax")(h))
    return trained(
        fixed(model),
        x,
        np.eye(2, dtype="float32")[y],
        loss=SoftDice(),
        batch_size=3,
        metrics=[keras.metrics.OneHotMeanIoU(2)],
    )


@program
def light_from_dark():
    """Curves that make pictures lighter, with losses that know no target."""

    class Enhancer(keras.Model):
        def __init__(self):
            super().__init__()
            picture = keras.Input((None, None, 3))
            a = layers.Conv2D(4, 3, padding="same", activation="relu")(picture)
            b = layers.Conv2D(4, 3, padding="same", activation="relu")(a)
            c = layers.Conv2D(6, 3, padding="same", activation="tanh")(layers.Concatenate()([a, b]))
            self.net = fixed(keras.Model(picture, c))

        def call(self, x):
            for curve in ops.split(self.net(x), 2, axis=-1):
                x = x + curve * (ops.square(x) - x)
            return x

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            pooled = ops.average_pool(ops.mean(y_pred, -1, keepdims=True), 4, 4)
            exposure = ops.mean(ops.square(pooled - 0.6))
            red, green, blue = (ops.mean(c, (1, 2)) for c in ops.unstack(y_pred, axis=-1))
            colour = ops.sqrt((red - green) ** 4 + (green - blue) ** 4 + (blue - red) ** 4)
            kernels = np.zeros((3, 3, 1, 4), "float32")
            kernels[1, 1] = 1
            for i, at in enumerate([(0, 1), (2, 1), (1, 0), (1, 2)]):
                kernels[(*at, 0, i)] = -1
            before = ops.average_pool(ops.mean(x, -1, keepdims=True), 2, 2)
            after = ops.average_pool(ops.mean(y_pred, -1, keepdims=True), 2, 2)
            apart = ops.conv(before, kernels, padding="same") - ops.conv(
                after, kernels, padding="same"
            )
            total = ops.mean(ops.square(y_pred[:, 1:] - y_pred[:, :-1]))
            return 10 * exposure + ops.mean(colour) + ops.mean(ops.square(apart)) + total

    model = Enhancer()
    model.compile(keras.optimizers.Adam(0.01))
    return values_of(
        model.fit(uniform(6, 8, 8, 3) * 0.4, batch_size=2, epochs=3, verbose=0, shuffle=False)
    )


@program
def spatial_gates_of_mlps():
    x, y = normal(14, 6, 5), integers(3, 14)
    h = tokens = keras.Input((6, 5))
    for _ in range(2):
        r = layers.Dense(12, "gelu")(layers.LayerNormalization()(h))
        u = layers.Lambda(lambda t: t[..., :6], output_shape=(6, 6))(r)
        v = layers.LayerNormalization()(r[..., 6:])
        v = layers.Permute((2, 1))(
            layers.Dense(6, bias_initializer="ones")(layers.Permute((2, 1))(v))
        )
        h = h + layers.Dense(5)(layers.Multiply()([u, v]))
    h = layers.GlobalAveragePooling1D()(h)
    model = keras.Model(tokens, layers.Dense(3)(h))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return trained(fixed(model), x, y, loss=loss, metrics=["sparse_categorical_accuracy"])


class Involution(layers.Layer):
    """A kernel for each place, made from what is there."""

    def __init__(self, size=3, groups=1):
        super().__init__()
        self.size, self.groups = size, groups

    def build(self, shape):
        channels = shape[-1]
        self.reduce = keras.Sequential(
            [layers.Conv2D(2, 1), layers.BatchNormalization(), layers.ReLU()]
        )
        self.span = layers.Conv2D(self.size**2 * self.groups, 1)
        self.reduce.build(shape)
        self.span.build((*shape[:-1], 2))
        self.channels = channels

    def call(self, x):
        height, width = x.shape[1:3]
        kernel = self.span(self.reduce(x))
        kernel = ops.reshape(kernel, (-1, height, width, self.size**2, 1, self.groups))
        parts = ops.image.extract_patches(x, self.size, 1, padding="same")
        parts = ops.reshape(
            parts, (-1, height, width, self.size**2, self.channels // self.groups, self.groups)
        )
        return ops.reshape(ops.sum(kernel * parts, axis=3), (-1, height, width, self.channels))


@program
def kernels_of_places():
    x, y = pictures(12, 8, 2)
    model = fixed(
        keras.Sequential(
            [
                keras.Input((8, 8, 2)),
                Involution(3, 1),
                layers.ReLU(),
                layers.MaxPooling2D(2),
                Involution(3, 2),
                layers.ReLU(),
                layers.Flatten(),
                layers.Dense(2),
            ]
        )
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return trained(model, x, y, loss=loss, batch_size=4)


@program
def against_the_gradient():
    """Adversarial training: the inputs of a step are moved along their own gradient."""
    value_and_grad, _ = transforms()

    class Hardened(keras.Model):
        def __init__(self):
            super().__init__()
            self.net = fixed(
                keras.Sequential(
                    [
                        keras.Input((8, 8, 1)),
                        layers.Conv2D(3, 3, activation="swish"),
                        layers.Flatten(),
                        layers.Dense(2, "softmax"),
                    ]
                )
            )

        def call(self, x, training=False):
            return self.net(x)

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            plain = super().compute_loss(x, y, y_pred, sample_weight)
            if not training:
                return plain
            weights = [w.value for w in self.net.trainable_variables]

            def of(x):
                return super(Hardened, self).compute_loss(
                    x, y, self.net.stateless_call(weights, [], x)[0], sample_weight
                )

            _, slope = value_and_grad(of)(x)
            moved = ops.stop_gradient(x + 0.05 * ops.sign(slope))
            return 0.5 * plain + 0.5 * super().compute_loss(x, y, self.net(moved), sample_weight)

    x, y = pictures(15)
    return trained(Hardened(), x, y, loss="sparse_categorical_crossentropy")


@program
def turned_positions():
    """A decoder of language with rotary positions, grouped queries, RMS norms and gated units."""
    words = integers(11, 16, 9)
    width, heads = 8, 2

    def turn(x):
        n, size = ops.shape(x)[1], x.shape[-1]
        angle = ops.einsum(
            "i,j->ij",
            ops.arange(n, dtype="float32"),
            10000.0 ** (-ops.arange(0, size, 2, dtype="float32") / size),
        )
        cos, sin = ops.cos(angle)[None, :, None], ops.sin(angle)[None, :, None]
        a, b = ops.split(x, 2, axis=-1)
        return ops.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)

    class Decoder(layers.Layer):
        def __init__(self):
            super().__init__()
            self.before, self.after = layers.RMSNormalization(), layers.RMSNormalization()
            self.q = layers.EinsumDense("abc,cde->abde", (None, heads, width // heads))
            self.k = layers.EinsumDense("abc,cde->abde", (None, 1, width // heads))
            self.v = layers.EinsumDense("abc,cde->abde", (None, 1, width // heads))
            self.o = layers.EinsumDense("abde,dec->abc", (None, width))
            self.gate, self.up, self.down = (
                layers.Dense(12, "silu"),
                layers.Dense(12),
                layers.Dense(width),
            )

        def call(self, x):
            h = self.before(x)
            out = ops.dot_product_attention(
                turn(self.q(h)),
                ops.repeat(turn(self.k(h)), heads, axis=2),
                ops.repeat(self.v(h), heads, axis=2),
                is_causal=True,
            )
            x = x + self.o(out)
            h = self.after(x)
            return x + self.down(self.gate(h) * self.up(h))

    ids = keras.Input((None,), dtype="int32")
    words_in = (
        layers.ReversibleEmbedding(11, width) if hasattr(layers, "ReversibleEmbedding") else None
    )
    table = words_in or layers.Embedding(11, width)
    h = table(ids)
    for _ in range(2):
        h = Decoder()(h)
    h = layers.RMSNormalization()(h)
    h = table(h, reverse=True) if words_in else layers.Dense(11)(h)
    model = fixed(keras.Model(ids, h))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)
    return trained(
        model,
        words[:, :-1],
        words[:, 1:],
        loss=loss,
        optimizer=keras.optimizers.Muon(0.01) if hasattr(keras.optimizers, "Muon") else "adam",
    )


@program(draws=True)
def pictures_made_at_random():
    x, y = pictures(16, 12, 3)
    kinds = [
        layers.RandomFlip(),
        layers.RandomRotation(0.1, fill_mode="nearest"),
        layers.RandomZoom(0.2, 0.1),
        layers.RandomTranslation(0.1, 0.1, fill_mode="wrap"),
        layers.RandomContrast(0.3),
        layers.RandomBrightness(0.1, value_range=(0, 1)),
        layers.RandomCrop(10, 10),
        layers.Resizing(12, 12),
        layers.RandomErasing(0.5, value_range=(0, 1)),
        layers.RandomGrayscale(0.3),
        layers.RandomSaturation(0.3, value_range=(0, 1)),
        layers.RandomHue(0.1, value_range=(0, 1)),
        layers.RandomShear(0.1, 0.1),
        layers.RandomPerspective(0.2),
        layers.RandomSharpness(0.3, value_range=(0, 1)),
        layers.RandomGaussianBlur(0.5, value_range=(0, 1)),
        layers.GaussianNoise(0.05),
        layers.SpatialDropout2D(0.1),
        layers.AutoContrast(value_range=(0, 1)),
        layers.Solarization(0.1, value_range=(0, 1)),
    ]
    model = keras.Sequential(
        [
            keras.Input((12, 12, 3)),
            *kinds,
            layers.Conv2D(6, 3, 2, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.AlphaDropout(0.05),
            layers.Dense(2, "softmax"),
        ]
    )
    return trained(
        fixed(model),
        x,
        y,
        loss="sparse_categorical_crossentropy",
        epochs=6,
        optimizer=keras.optimizers.Adam(0.02),
    )
