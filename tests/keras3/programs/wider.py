"""Programs that take one more part of Keras each: masks and videos, teachers, schedules, files."""

import os
import tempfile

import keras
import numpy as np
from keras import layers, ops

from . import fixed, integers, normal, pictures, program, rng, trained, transforms, uniform


def values_of(history):
    return [v for values in history.history.values() for v in values]


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


class Taught(keras.Model):
    def __init__(self, student, teacher):
        super().__init__()
        self.student, self.teacher = student, teacher
        teacher.trainable = False

    def compile(self, distance, share, heat, **options):
        super().compile(**options)
        self.distance, self.share, self.heat = distance, share, heat
        self.of_teacher = keras.metrics.Mean("of_teacher")

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        taught = ops.softmax(self.teacher(x, training=False) / self.heat, axis=1)
        soft = self.distance(taught, ops.softmax(y_pred / self.heat, axis=1)) * self.heat**2
        self.of_teacher.update_state(soft)
        hard = super().compute_loss(x, y, y_pred, sample_weight)
        return self.share * hard + (1 - self.share) * soft

    def call(self, x):
        return self.student(x)


@program
def student_of_a_teacher():
    x, y = pictures(20)

    def net(filters):
        return fixed(
            keras.Sequential(
                [
                    keras.Input((8, 8, 1)),
                    layers.Conv2D(filters, 3, strides=2, padding="same"),
                    layers.LeakyReLU(0.2),
                    layers.MaxPooling2D(2, 1, "same"),
                    layers.Flatten(),
                    layers.Dense(2),
                ]
            )
        )

    model = Taught(net(3), net(8))
    model.compile(
        keras.losses.KLDivergence(),
        0.3,
        5.0,
        optimizer="rmsprop",
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[keras.metrics.SparseCategoricalAccuracy()],
    )
    return trained(model, x, y, optimizer=None)


@program
def frozen_layers_thawed():
    x, y = pictures(16)
    base = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, padding="same"),
            layers.BatchNormalization(),
            layers.ReLU(6),
            layers.DepthwiseConv2D(3, padding="same"),
            layers.BatchNormalization(),
        ]
    )
    fixed(base).trainable = False
    picture = keras.Input((8, 8, 1))
    h = layers.Rescaling(2.0, -1.0)(picture)
    h = layers.GlobalMaxPooling2D()(base(h, training=False))
    model = fixed(keras.Model(picture, layers.Dense(1)(h)))
    options = {
        "loss": keras.losses.BinaryCrossentropy(from_logits=True),
        "metrics": [keras.metrics.BinaryAccuracy(threshold=0.0)],
    }
    before = trained(model, x, y, optimizer=keras.optimizers.Adam(0.05), **options)
    base.trainable = True
    for layer in base.layers[:2]:
        layer.trainable = False
    return before + trained(model, x, y, optimizer=keras.optimizers.SGD(0.01, 0.9), **options)


class ActivityAndMeasure(layers.Layer):
    """A layer that adds a loss, counts what it saw and keeps a running mean of it."""

    def __init__(self, rate=0.01, **options):
        super().__init__(**options)
        self.rate = rate

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="gain")
        self.seen = self.add_weight(shape=(), initializer="zeros", trainable=False, dtype="int32")
        self.mean = self.add_weight(shape=(shape[-1],), initializer="zeros", trainable=False)

    def call(self, x, training=False):
        if training:
            self.seen.assign_add(ops.shape(x)[0])
            self.mean.assign(0.9 * self.mean + 0.1 * ops.mean(x, axis=0))
        self.add_loss(self.rate * ops.sum(ops.abs(x)) / ops.cast(ops.shape(x)[0], x.dtype))
        return (x - self.mean) * self.scale


class Spread(keras.metrics.Metric):
    def __init__(self, name="spread", **options):
        super().__init__(name=name, **options)
        self.total = self.add_variable((), "zeros", name="total")
        self.most = self.add_variable((), "zeros", name="most")

    def update_state(self, y_true, y_pred, sample_weight=None):
        apart = ops.abs(y_true - y_pred)
        self.total.assign_add(ops.sum(apart))
        self.most.assign(ops.maximum(self.most, ops.max(apart)))

    def result(self):
        return {"total": self.total.value, "most": self.most.value}


class Cooling(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        rate = float(ops.convert_to_numpy(self.model.optimizer.learning_rate))
        self.model.optimizer.learning_rate = rate * 0.95

    def on_epoch_end(self, epoch, logs=None):
        logs["rate"] = float(ops.convert_to_numpy(self.model.optimizer.learning_rate))


@program
def own_layer_metric_and_callback():
    x = normal(23, 5)
    model = keras.Sequential(
        [
            keras.Input((5,)),
            layers.Dense(6, "gelu"),
            ActivityAndMeasure(),
            layers.Dense(1, kernel_regularizer=keras.regularizers.OrthogonalRegularizer()),
        ]
    )
    found = trained(
        fixed(model),
        x,
        x[:, :1] * x[:, 1:2],
        metrics=[Spread()],
        optimizer=keras.optimizers.Adamax(0.05),
        callbacks=[Cooling()],
    )
    return [*found, ops.convert_to_numpy(model.layers[1].seen)]


class HardTriplets(keras.losses.Loss):
    def call(self, y_true, y_pred):
        z = ops.normalize(y_pred, axis=1)
        apart = ops.maximum(2.0 - 2.0 * ops.matmul(z, ops.transpose(z)), 0.0)
        labels = ops.reshape(y_true, (-1, 1))
        same = ops.equal(labels, ops.transpose(labels))
        furthest = ops.max(ops.where(same, apart, 0.0), axis=1)
        nearest = ops.min(ops.where(same, 1e9, apart), axis=1)
        return ops.relu(furthest - nearest + 0.5)


@program
def hardest_triplets():
    x = normal(24, 6)
    y = (x[:, 0] > 0).astype("int32") + (x[:, 1] > 0)
    model = fixed(
        keras.Sequential(
            [
                keras.Input((6,)),
                layers.Dense(8, "elu"),
                layers.Dense(3),
                layers.UnitNormalization(),
            ]
        )
    )
    return trained(model, x, y, batch_size=12, loss=HardTriplets(), epochs=5)


@program
def proximal_policies():
    value_and_grad, jit = transforms()
    actor = fixed(keras.Sequential([keras.Input((4,)), layers.Dense(8, "tanh"), layers.Dense(3)]))
    critic = fixed(keras.Sequential([keras.Input((4,)), layers.Dense(8, "tanh"), layers.Dense(1)]))
    states, actions, gains = normal(30, 4), integers(3, 30), normal(30, seed=4)
    goal = normal(30, seed=5)
    before = ops.log_softmax(actor(states))
    chosen = ops.take_along_axis(before, actions[:, None], axis=1)[:, 0]
    chosen = ops.convert_to_numpy(chosen)

    def loss_of(weights, states, actions, gains, goal, chosen):
        policy, value = weights
        scores, _ = actor.stateless_call(policy, [], states)
        guessed, _ = critic.stateless_call(value, [], states)
        every = ops.log_softmax(scores)
        now = ops.sum(every * ops.one_hot(actions, 3), axis=1)
        ratio = ops.exp(now - chosen)
        clipped = ops.where(gains > 0, 1.2 * gains, 0.8 * gains)
        entropy = -ops.mean(ops.sum(ops.exp(every) * every, axis=1))
        surrogate = -ops.mean(ops.minimum(ratio * gains, clipped))
        fit = ops.mean(ops.square(goal - ops.squeeze(guessed, -1)))
        return surrogate + 0.5 * fit - 0.01 * entropy, ops.mean(chosen - now)

    optimizer = keras.optimizers.Adam(0.05)
    every = actor.trainable_variables + critic.trainable_variables
    optimizer.build(every)
    n = len(actor.trainable_variables)

    def step(weights, state, *data):
        (loss, far), slopes = value_and_grad(loss_of, has_aux=True)(
            (weights[:n], weights[n:]), *data
        )
        weights, state = optimizer.stateless_apply(state, slopes[0] + slopes[1], weights)
        return loss, far, weights, state

    step = jit(step)
    weights, state = [v.value for v in every], [v.value for v in optimizer.variables]
    found = []
    for _ in range(6):
        loss, far, weights, state = step(weights, state, states, actions, gains, goal, chosen)
        found += [loss, far]
    return found


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
def speakers_by_their_spectra():
    x, y = normal(16, 64, 1), integers(4, 16)
    sound = keras.Input((64, 1))

    def spectrum(x):
        real, imag = ops.rfft(ops.squeeze(x, -1))
        return ops.log1p(ops.sqrt(real**2 + imag**2))[:, : 64 // 2, None]

    def residual(x, filters, turns):
        straight = layers.Conv1D(filters, 1, padding="same")(x)
        for _ in range(turns):
            x = layers.Conv1D(filters, 3, padding="same", activation="relu")(x)
        x = layers.Activation("relu")(layers.Add()([x, straight]))
        return layers.MaxPool1D(2, 2)(x)

    h = layers.Lambda(spectrum, output_shape=(32, 1))(sound)
    h = residual(residual(h, 4, 1), 6, 2)
    h = layers.Flatten()(layers.AveragePooling1D(3, 3)(h))
    model = keras.Model(sound, layers.Dense(4, "softmax")(h))
    return trained(
        fixed(model),
        x,
        y,
        loss="sparse_categorical_crossentropy",
        metrics=[keras.metrics.SparseTopKCategoricalAccuracy(2)],
    )


@program
def overflow_of_scaled_losses():
    x = normal(24, 6)
    y = (x[:, :1] * 50).astype("float32")
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model = fixed(
            keras.Sequential(
                [
                    keras.Input((6,)),
                    layers.Dense(8, "relu"),
                    layers.LayerNormalization(),
                    layers.Dense(1, dtype="float32"),
                ]
            )
        )
        optimizer = keras.optimizers.LossScaleOptimizer(
            keras.optimizers.Adam(0.05), initial_scale=2.0**22, dynamic_growth_steps=3
        )
        found = trained(model, x, y, optimizer=optimizer, epochs=4)
        return [*found, float(ops.convert_to_numpy(optimizer.dynamic_scale))]
    finally:
        keras.config.set_dtype_policy("float32")


class WarmThenCool(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, size, warm):
        self.size, self.warm = size, warm

    def __call__(self, step):
        step = ops.cast(step, "float32") + 1
        return self.size**-0.5 * ops.minimum(step**-0.5, step * self.warm**-1.5)

    def get_config(self):
        return {"size": self.size, "warm": self.warm}


@program
def schedules_of_many_kinds():
    x = normal(20, 5)
    kinds = keras.optimizers.schedules
    found = []
    for rate in (
        WarmThenCool(64, 4),
        kinds.PiecewiseConstantDecay([3, 6], [0.1, 0.05, 0.01]),
        kinds.ExponentialDecay(0.1, 4, 0.5, staircase=True),
        kinds.PolynomialDecay(0.1, 5, 0.01, power=2.0, cycle=True),
        kinds.InverseTimeDecay(0.1, 3, 0.5),
        kinds.CosineDecayRestarts(0.1, 3),
    ):
        model = fixed(
            keras.Sequential([keras.Input((5,)), layers.Dense(4, "silu"), layers.Dense(1)])
        )
        found += trained(model, x, x[:, :1], optimizer=keras.optimizers.Lion(rate))
    model = fixed(keras.Sequential([keras.Input((5,)), layers.Dense(1)]))
    cool = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5**epoch)
    return found + trained(
        model, x, x[:, :1], optimizer=keras.optimizers.Ftrl(0.1), callbacks=[cool]
    )


class Cut(keras.callbacks.Callback):
    def __init__(self, epoch):
        super().__init__()
        self.epoch = epoch

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == self.epoch:
            raise KeyboardInterrupt


@program
def cut_off_and_gone_on():
    x = normal(20, 5)

    def model():
        made = fixed(
            keras.Sequential([keras.Input((5,)), layers.Dense(4, "tanh"), layers.Dense(1)])
        )
        made.compile(keras.optimizers.AdamW(0.05, amsgrad=True), "huber", metrics=["mae"])
        return made

    with tempfile.TemporaryDirectory() as folder:
        keep = keras.callbacks.BackupAndRestore(os.path.join(folder, "backup"))
        best = os.path.join(folder, "best.weights.h5")
        check = keras.callbacks.ModelCheckpoint(
            best, "loss", save_best_only=True, save_weights_only=True
        )
        try:
            trained(model(), x, x[:, :1], 4, optimizer=None, callbacks=[keep, Cut(2)])
        except KeyboardInterrupt:
            pass
        gone_on = model()
        found = trained(gone_on, x, x[:, :1], 5, optimizer=None, callbacks=[keep, check])
        other = model()
        other.load_weights(best)
        return found + other.evaluate(x, x[:, :1], verbose=0)


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
def target_network_by_averages():
    """BYOL: a net that follows another one by moving averages, within the step."""

    class Follower(keras.Model):
        def __init__(self):
            super().__init__()
            make = lambda: fixed(
                keras.Sequential(
                    [  # noqa: E731 (twice the same net)
                        keras.Input((6,)),
                        layers.Dense(8),
                        layers.BatchNormalization(),
                        layers.ReLU(),
                        layers.Dense(4),
                    ]
                )
            )
            self.online, self.target = make(), make()
            self.guess = fixed(keras.Sequential([keras.Input((4,)), layers.Dense(4)]))
            self.target.trainable = False

        def call(self, x):
            return self.guess(self.online(x))

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            a, b = x, ops.flip(x, axis=1)
            loss = 0.0
            for one, two in ((a, b), (b, a)):
                p = ops.normalize(self.guess(self.online(one, training=training)), axis=-1)
                z = ops.stop_gradient(ops.normalize(self.target(two, training=False), axis=-1))
                loss += ops.mean(2 - 2 * ops.sum(p * z, axis=-1))
            for mine, its in zip(self.target.weights, self.online.weights):
                if mine.shape and len(mine.shape) == 2:
                    mine.assign(0.9 * mine + 0.1 * its)
            return loss

    model = Follower()
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True))
    x = normal(20, 6)
    return values_of(model.fit(x, batch_size=10, epochs=4, verbose=0, shuffle=False))


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


class TwoMemories(layers.Layer):
    """A cell with two states of different sizes."""

    def __init__(self, units, **options):
        super().__init__(**options)
        self.units = units
        self.state_size, self.output_size = [units, 2 * units], units

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.units), name="w")
        self.u = self.add_weight(shape=(2 * self.units, self.units), name="u")

    def call(self, x, states, training=False):
        short, long = states
        h = ops.tanh(x @ self.w + long @ self.u)
        long = 0.9 * long + 0.1 * ops.concatenate([h, short], axis=-1)
        return h, [h, long]


@program
def states_handed_over():
    x, y = normal(12, 7, 3), normal(12, 4, 2, seed=1)
    source, goal = keras.Input((None, 3)), keras.Input((None, 2))
    h, a, b = layers.RNN(TwoMemories(4), return_sequences=True, return_state=True)(source)
    back = layers.RNN(TwoMemories(4), go_backwards=True)(h)
    _, s, t = layers.LSTM(4, return_state=True, recurrent_activation="hard_sigmoid")(h)
    g = layers.LSTM(4, return_sequences=True)(goal, initial_state=[s, t])
    g = layers.RNN(TwoMemories(4), return_sequences=True)(g, initial_state=[a, b])
    g = layers.Concatenate()(
        [
            g,
            layers.Lambda(
                lambda t: ops.repeat(t[0][:, None], ops.shape(t[1])[1], axis=1),
                output_shape=(None, 4),
            )([back, g]),
        ]
    )
    model = keras.Model([source, goal], layers.TimeDistributed(layers.Dense(2))(g))
    given = np.concatenate([np.zeros_like(y[:, :1]), y[:, :-1]], 1)
    return trained(fixed(model), [x, given], y, metrics=["cosine_similarity"])


@program
def weights_of_classes_and_outputs():
    x = normal(30, 6)
    y, z = (x[:, :1] > 0.3).astype("float32"), np.abs(x[:, 1:3])
    a = keras.Input((6,))
    h = layers.Dense(8, "selu", kernel_initializer="lecun_normal")(a)
    model = fixed(
        keras.Model(
            a,
            {
                "p": layers.Dense(1, "sigmoid", name="p")(h),
                "q": layers.Dense(2, "softplus", name="q")(h),
            },
        )
    )
    model.compile(
        "adam",
        {"p": keras.losses.BinaryFocalCrossentropy(apply_class_balancing=True), "q": "poisson"},
        loss_weights={"p": 1.0, "q": 0.3},
        weighted_metrics={"p": ["AUC", keras.metrics.F1Score("micro", 0.5)], "q": ["mape"]},
    )
    heavy = {"p": uniform(30, seed=2), "q": uniform(30, seed=3)}
    found = trained(model, x, {"p": y, "q": z}, optimizer=None, sample_weight=heavy)
    one = fixed(keras.Sequential([keras.Input((6,)), layers.Dense(3, "softmax")]))
    return found + trained(
        one,
        x,
        integers(3, 30),
        loss="sparse_categorical_crossentropy",
        class_weight={0: 1.0, 1: 4.0, 2: 0.5},
        validation_split=0.2,
    )


@keras.saving.register_keras_serializable("programs")
class Wrapped(keras.Model):
    def __init__(self, inner, scale=2.0, **options):
        super().__init__(**options)
        self.inner, self.scale = inner, scale

    def call(self, x, training=False):
        return self.scale * self.inner(x, training=training)

    def get_config(self):
        return {
            **super().get_config(),
            "scale": self.scale,
            "inner": keras.saving.serialize_keras_object(self.inner),
        }

    @classmethod
    def from_config(cls, config):
        config["inner"] = keras.saving.deserialize_keras_object(config["inner"])
        return cls(**config)


@keras.saving.register_keras_serializable("programs")
def swing(x):
    return x * ops.sin(x)


@program
def subclass_saved_in_the_middle():
    x = normal(20, 5)
    inner = fixed(
        keras.Sequential(
            [
                keras.Input((5,)),
                layers.Dense(6, swing),
                layers.BatchNormalization(),
                layers.Dense(1),
            ]
        )
    )
    model = Wrapped(inner)
    optimizer = keras.optimizers.Adafactor(0.05)
    found = trained(model, x, x[:, :1], optimizer=optimizer, metrics=["r2_score"], epochs=2)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        model.save(path)
        again = keras.models.load_model(path)
        weights = os.path.join(folder, "model.weights.h5")
        model.save_weights(weights)
    found += again.evaluate(x, x[:, :1], verbose=0)
    twin = keras.models.clone_model(inner)
    twin.set_weights(inner.get_weights())
    found += [float(np.abs(twin.predict(x, verbose=0) - inner.predict(x, verbose=0)).max())]
    return found + trained(again, x, x[:, :1], optimizer=None, epochs=2)


@program
def learning_to_learn():
    """MAML: a gradient through a step of descent, over tasks side by side."""
    value_and_grad, jit = transforms()
    net = fixed(keras.Sequential([keras.Input((1,)), layers.Dense(8, "tanh"), layers.Dense(1)]))

    def fit(weights, x, y):
        return ops.mean(ops.square(net.stateless_call(weights, [], x)[0] - y))

    def adapted(weights, x, y):
        _, slopes = value_and_grad(fit)(weights, x, y)
        return [w - 0.1 * g for w, g in zip(weights, slopes)]

    def over_tasks(weights, x, y, far_x, far_y):
        losses = [fit(adapted(weights, x[i], y[i]), far_x[i], far_y[i]) for i in range(3)]
        return sum(losses) / 3

    def step(weights, *data):
        loss, slopes = value_and_grad(over_tasks)(weights, *data)
        return loss, [w - 0.05 * g for w, g in zip(weights, slopes)]

    step, weights, found = jit(step), [v.value for v in net.trainable_variables], []
    x, far = normal(3, 6, 1), normal(3, 6, 1, seed=1)
    bends = np.array([0.5, 1.0, 1.5], "float32")[:, None, None]
    for _ in range(5):
        loss, weights = step(weights, x, np.sin(bends * x), far, np.sin(bends * far))
        found.append(loss)
    return found


class ArcMargins(layers.Layer):
    def __init__(self, classes, margin=0.3, scale=8.0):
        super().__init__()
        self.classes, self.margin, self.scale = classes, margin, scale

    def build(self, shapes):
        self.centres = self.add_weight(shape=(shapes[0][-1], self.classes), name="centres")

    def call(self, inputs):
        x, labels = inputs
        cosine = ops.normalize(x, axis=1) @ ops.normalize(self.centres, axis=0)
        angle = ops.arccos(ops.clip(cosine, -1 + 1e-6, 1 - 1e-6))
        mine = ops.one_hot(
            ops.cast(ops.reshape(labels, (-1,)), "int32"), self.classes, dtype=x.dtype
        )
        return ops.softmax(self.scale * ops.cos(angle + self.margin * mine))


@program
def margins_of_angles():
    x, y = normal(24, 6), integers(4, 24)
    a, label = keras.Input((6,)), keras.Input((1,), dtype="int32")
    z = layers.BatchNormalization(momentum=0.8)(layers.Dense(5)(layers.PReLU()(layers.Dense(8)(a))))
    model = keras.Model([a, label], ArcMargins(4)([z, label]))
    return trained(
        fixed(model), [x, y[:, None]], y, loss="sparse_categorical_crossentropy", epochs=4
    )


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
def messages_between_atoms():
    """Message passing: gates over edges, sums by segments, a gated update of every node."""
    nodes, edges = normal(12, 4), normal(20, 3, seed=1)
    source, target = integers(12, 20, seed=2), np.sort(integers(12, 20, seed=3))
    of = np.repeat(np.arange(3), 4).astype("int32")

    class Messages(layers.Layer):
        def __init__(self, units):
            super().__init__()
            self.units = units
            self.cell = layers.GRUCell(units)

        def build(self, shape):
            self.w = self.add_weight(shape=(3, self.units * self.units), name="w")
            self.b = self.add_weight(
                shape=(self.units * self.units,), initializer="zeros", name="b"
            )
            self.cell.build((None, self.units))

        def call(self, h):
            for _ in range(2):
                kernel = ops.reshape(
                    ops.matmul(edges, self.w) + self.b, (-1, self.units, self.units)
                )
                sent = ops.squeeze(kernel @ ops.expand_dims(ops.take(h, source, axis=0), -1), -1)
                summed = ops.segment_sum(sent, target, num_segments=12, sorted=True)
                h, _ = self.cell(summed, [h])
            return h

    class Molecules(keras.Model):
        def __init__(self):
            super().__init__()
            self.send, self.out = Messages(4), layers.Dense(1)

        def call(self, h):
            h = self.send(h)
            top = ops.segment_max(h, of, num_segments=3)
            return self.out(ops.concatenate([ops.segment_sum(h, of, num_segments=3), top], -1))

    model = Molecules()
    model(nodes)
    value_and_grad, jit = transforms()
    fixed(model)
    optimizer = keras.optimizers.Adam(0.02)
    optimizer.build(model.trainable_variables)

    def step(weights, state, x, y):
        def loss_of(weights):
            return ops.mean(ops.square(model.stateless_call(weights, rest, x)[0] - y))

        loss, slopes = value_and_grad(loss_of)(weights)
        return (loss, *optimizer.stateless_apply(state, slopes, weights))

    rest = [v.value for v in model.non_trainable_variables]
    step, found = jit(step), []
    weights, state = (
        [v.value for v in model.trainable_variables],
        [v.value for v in optimizer.variables],
    )
    for _ in range(5):
        loss, weights, state = step(
            weights, state, nodes, np.array([[1.0], [0.0], [-1.0]], "float32")
        )
        found.append(loss)
    return found


@program
def words_by_their_company():
    pairs, context, y = integers(20, 40), integers(20, 40, 5, seed=1), np.zeros((40, 5), "float32")
    y[:, 0] = 1

    class SkipGrams(keras.Model):
        def __init__(self):
            super().__init__()
            self.words, self.company = layers.Embedding(20, 6), layers.Embedding(20, 6)

        def call(self, inputs):
            word, context = inputs
            return ops.einsum("be,bce->bc", self.words(word), self.company(context))

    model = SkipGrams()
    model([pairs[:2], context[:2]])
    loss = keras.losses.CategoricalCrossentropy(from_logits=True)
    return trained(
        fixed(model),
        [pairs, context],
        y,
        loss=loss,
        batch_size=16,
        optimizer=keras.optimizers.Adagrad(0.5),
        metrics=["categorical_accuracy"],
    )


@program
def quantiles_at_once():
    x = normal(30, 4)
    marks = np.array([0.1, 0.5, 0.9], "float32")

    @keras.saving.register_keras_serializable("programs")
    def pinball(y_true, y_pred):
        apart = y_true - y_pred
        return ops.mean(ops.maximum(marks * apart, (marks - 1) * apart), axis=-1)

    a = keras.Input((4,))
    h = layers.Dense(8, layers.LeakyReLU(0.1))(a)
    first, rest = layers.Dense(1)(h), layers.Dense(2, "softplus")(h)
    grown = layers.Lambda(lambda t: ops.cumsum(ops.concatenate(t, axis=-1), axis=-1))([first, rest])
    model = fixed(keras.Model(a, grown))
    return trained(
        model,
        x,
        x[:, :1] ** 2,
        loss=pinball,
        optimizer=keras.optimizers.Adadelta(1.0),
        metrics=["mean_squared_logarithmic_error", "cosine_similarity"],
    )


@program
def forecasts_back_and_forth():
    """N-BEATS: blocks that explain the past away and add up the future."""
    t = np.arange(40) / 3.0
    series = (np.sin(t) + 0.1 * t).astype("float32")
    x = np.stack([series[i : i + 8] for i in range(28)])
    y = np.stack([series[i + 8 : i + 12] for i in range(28)])
    past = h = keras.Input((8,))
    total = 0
    for kind in ("trend", "season", "free"):
        r = layers.Dense(8, "relu")(layers.Dense(8, "relu")(h))
        at, ahead = np.arange(8) / 12.0, np.arange(8, 12) / 12.0
        if kind == "trend":
            theta = layers.Dense(3, use_bias=False)(r)
            back, fore = (
                theta @ np.stack([p**i for i in range(3)]).astype("float32") for p in (at, ahead)
            )
        elif kind == "season":
            theta = layers.Dense(4, use_bias=False)(r)
            back, fore = (
                theta
                @ np.stack([f(2 * np.pi * k * p) for k in (1, 2) for f in (np.cos, np.sin)]).astype(
                    "float32"
                )
                for p in (at, ahead)
            )
        else:
            back, fore = layers.Dense(8)(r), layers.Dense(4)(r)
        h, total = h - back, fore + total
    model = fixed(keras.Model(past, total))
    return trained(model, x, y, loss="mae", batch_size=8, metrics=["mape"])


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


@program
def crossed_and_counted_categories():
    ages, sizes = uniform(30, 1) * 60, integers(50, 30, 1)
    y = (ages[:, 0] > 30).astype("float32")
    inputs = keras.Input((1,), name="age"), keras.Input((1,), dtype="int32", name="size")
    bins = layers.Discretization([10.0, 20.0, 40.0], output_mode="one_hot")
    norm = layers.Normalization()
    norm.adapt(ages)
    h = [
        bins(inputs[0]),
        norm(inputs[0]),
        layers.CategoryEncoding(num_tokens=50, output_mode="multi_hot")(inputs[1]),
        layers.Flatten()(layers.Embedding(50, 3)(inputs[1])),
    ]
    h = layers.Dense(6, "relu6")(layers.Concatenate()(h))
    model = fixed(keras.Model(inputs, layers.Dense(1, "sigmoid")(h)))
    counts = [
        keras.metrics.Precision(),
        keras.metrics.Recall(),
        keras.metrics.AUC(curve="PR"),
        keras.metrics.SpecificityAtSensitivity(0.5),
    ]
    return trained(
        model, {"age": ages, "size": sizes}, y, loss="binary_crossentropy", metrics=counts
    )


@program
def process_of_a_learned_kernel():
    """A Gaussian process over a net: the loss is a likelihood by a Cholesky factor."""

    class Deep(keras.Model):
        def __init__(self):
            super().__init__()
            self.net = fixed(
                keras.Sequential([keras.Input((3,)), layers.Dense(6, "tanh"), layers.Dense(2)])
            )
            self.noise = self.add_weight(shape=(), initializer=keras.initializers.Constant(-1.0))

        def call(self, x):
            return self.net(x)

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            apart = ops.sum(ops.square(y_pred[:, None] - y_pred[None]), axis=-1)
            kernel = ops.exp(-0.5 * apart) + ops.softplus(self.noise) * ops.eye(ops.shape(x)[0])
            factor = ops.cholesky(kernel)
            alpha = ops.solve_triangular(factor, y, lower=True)
            return 0.5 * ops.sum(ops.square(alpha)) + ops.sum(ops.log(ops.diagonal(factor)))

    x = normal(16, 3)
    model = Deep()
    model.compile(keras.optimizers.Adam(0.02))
    return values_of(
        model.fit(x, x[:, :1] + x[:, 1:2] ** 2, batch_size=8, epochs=3, shuffle=False, verbose=0)
    )


class Endpoint(layers.Layer):
    def call(self, y, scores, frames, length):
        n = ops.shape(y)[0]
        loss = ops.ctc_loss(
            y, scores, ops.reshape(length, (-1,)), ops.reshape(frames, (-1,)), mask_index=0
        )
        self.add_loss(ops.sum(loss) / ops.cast(n, "float32"))
        return ops.argmax(scores, axis=-1)


@program
def letters_with_an_endpoint():
    x, y = uniform(8, 12, 6, 1), integers(4, 8, 3) + 1
    picture, label = keras.Input((12, 6, 1)), keras.Input((None,), dtype="int32")
    frames, length = keras.Input((1,), dtype="int32"), keras.Input((1,), dtype="int32")
    h = layers.Conv2D(4, 3, padding="same", activation="relu")(picture)
    h = layers.Reshape((-1, 12))(layers.MaxPooling2D((1, 2))(h))
    h = layers.Bidirectional(layers.LSTM(5, return_sequences=True), merge_mode="sum")(h)
    scores = layers.Dense(6)(h)
    model = keras.Model([picture, label, frames, length], Endpoint()(label, scores, frames, length))
    model.compile("adam")
    frames, length = np.full((8, 1), 12, "int32"), (np.arange(8)[:, None] % 3 + 1).astype("int32")
    return values_of(
        fixed(model).fit([x, y, frames, length], batch_size=3, epochs=3, verbose=0, shuffle=False)
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


class Windows(keras.utils.PyDataset):
    def __init__(self, series, **options):
        super().__init__(**options)
        self.series = series

    def __len__(self):
        return 5

    def __getitem__(self, i):
        rows = [self.series[4 * i + j : 4 * i + j + 9] for j in range(4 - (i == 4))]
        rows = np.stack(rows)
        return rows[:, :8, None], rows[:, 8], np.linspace(0.5, 1, len(rows), dtype="float32")

    def on_epoch_end(self):
        self.series = self.series * 0.95


@program
def windows_of_a_dataset():
    series = np.sin(np.arange(40) / 3).astype("float32")
    model = fixed(
        keras.Sequential(
            [
                keras.Input((8, 1)),
                layers.Conv1D(4, 3, padding="causal", activation="tanh"),
                layers.SimpleRNN(5, return_sequences=True),
                layers.LSTM(4),
                layers.Dense(1),
            ]
        )
    )
    model.compile("adam", keras.losses.LogCosh(), metrics=["mae"])
    found = values_of(
        model.fit(
            Windows(series, workers=1),
            epochs=3,
            verbose=0,
            shuffle=False,
            validation_data=Windows(series[::-1].copy()),
            validation_steps=3,
        )
    )
    return (
        found
        + list(model.evaluate(Windows(series), verbose=0))
        + [float(model.predict(Windows(series), verbose=0).sum())]
    )


@program
def samples_side_by_side():
    """Slopes of every sample by vectorized_map, clipped one by one; a scan of an average."""
    value_and_grad, jit = transforms()
    net = fixed(keras.Sequential([keras.Input((4,)), layers.Dense(5, "softsign"), layers.Dense(1)]))
    x, y = normal(6, 4), normal(6, 1, seed=2)

    def loss_of(weights, x, y):
        return ops.mean(ops.square(net.stateless_call(weights, [], x)[0] - y))

    def step(weights, x, y):
        def of_one(row):
            loss, slopes = value_and_grad(loss_of)(weights, row[0][None], row[1][None])
            size = ops.sqrt(sum(ops.sum(g**2) for g in slopes))
            return loss, [g / ops.maximum(1.0, size) for g in slopes]

        losses, slopes = ops.vectorized_map(of_one, (x, y))
        smooth, _ = ops.scan(lambda c, l: (0.8 * c + 0.2 * l, c), ops.zeros(()), losses)
        return ops.mean(losses), smooth, [w - 0.1 * ops.mean(g, 0) for w, g in zip(weights, slopes)]

    step, weights, found = jit(step), [v.value for v in net.trainable_variables], []
    for _ in range(4):
        loss, smooth, weights = step(weights, x, y)
        found += [loss, smooth]
    return found


@program
def masks_through_attention():
    words, y = integers(12, 16, 8), integers(2, 16, 1).astype("float32")
    words[np.arange(8) >= rng(1).integers(2, 9, 16)[:, None]] = 0
    ids = keras.Input((None,), dtype="int32")
    h = layers.Embedding(12, 6, mask_zero=True)(ids)
    h = layers.Bidirectional(layers.LSTM(3, return_sequences=True), merge_mode="ave")(h)
    h = layers.Dense(6)(h)
    a = layers.MultiHeadAttention(2, 3)(h, h, use_causal_mask=True)
    b = layers.AdditiveAttention()([h, h])
    c = layers.GroupQueryAttention(3, 2, 1)(h, h)
    h = layers.Average()([a, b, c])
    h = layers.Concatenate()(
        [layers.GlobalAveragePooling1D()(h), layers.GRU(4, reset_after=False)(h)]
    )
    model = fixed(keras.Model(ids, layers.Dense(1, "sigmoid")(h)))
    return trained(model, words, y, loss="binary_crossentropy", metrics=["AUC", "binary_accuracy"])
