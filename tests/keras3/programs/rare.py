"""Layers, losses, optimisers and options that few programs name."""

import tempfile
from pathlib import Path

import keras
import numpy as np
from keras import layers, ops

from . import fixed, integers, normal, pictures, program, rng, trained, transforms, uniform


@program
def adaptive_pools():
    """Pictures through pools whose windows follow from the result's size, by Lamb."""
    x, side = pictures(11, 10)
    inputs = keras.Input((10, 10, 1))
    h = layers.Conv2D(6, 3, strides=(2, 1), activation="mish")(inputs)
    pools = [layers.AdaptiveAveragePooling2D((2, 3)), layers.AdaptiveMaxPooling2D(2)]
    h = layers.concatenate([layers.Flatten()(pool(h)) for pool in pools])
    model = fixed(keras.Model(inputs, layers.Dense(3, "softmax")(h)))
    return trained(
        model, x, np.eye(3, dtype="float32")[side], optimizer=keras.optimizers.Lamb(0.02),
        loss=keras.losses.CategoricalFocalCrossentropy(alpha=[0.2, 0.5, 0.3], label_smoothing=0.1),
        metrics=[keras.metrics.TopKCategoricalAccuracy(2), "categorical_crossentropy"],
    )  # fmt: skip


@program
def schedule_free():
    """Regression without a schedule of rates, by Huber's loss and the metrics of regressions."""
    x = normal(23, 6)
    y = np.abs(x[:, :1] + 0.3 * x[:, 1:2] * x[:, 2:3]) + 0.5
    model = fixed(
        keras.Sequential([keras.Input((6,)), layers.Dense(9, "squareplus"), layers.Dense(1)])
    )
    metrics = [keras.metrics.R2Score(), keras.metrics.LogCoshError(), "mape"]
    metrics += [keras.metrics.RootMeanSquaredError(), keras.metrics.PearsonCorrelation(axis=0)]
    metrics += [keras.metrics.ConcordanceCorrelation(axis=0)]
    return trained(
        model, x, y, optimizer=keras.optimizers.ScheduleFreeAdamW(0.02, warmup_steps=3),
        loss=keras.losses.Huber(0.4), metrics=metrics,
    )  # fmt: skip


@program
def volumes_up_and_down():
    """Volumes made smaller and larger again, by Dice's loss."""
    x = uniform(7, 6, 6, 4, 1)
    y = (x > 0.6).astype("float32")
    inputs = keras.Input((6, 6, 4, 1))
    h = layers.ZeroPadding3D(((1, 0), 1, (0, 2)))(inputs)
    h = layers.Conv3D(4, 3, padding="same", dilation_rate=2, activation="silu")(h)
    h = layers.AveragePooling3D(2, padding="same")(h)
    h = layers.UpSampling3D((2, 2, 1))(layers.BatchNormalization()(h))
    h = layers.Conv3DTranspose(3, 2, strides=(1, 1, 2), activation="relu")(h)
    h = layers.Cropping3D(((1, 2), 1, (0, 2)))(h)
    h = layers.AdaptiveAveragePooling3D((6, 6, 4))(layers.Conv3D(1, 1, activation="sigmoid")(h))
    return trained(
        fixed(keras.Model(inputs, h)), x, y, loss=keras.losses.Dice(axis=(1, 2, 3, 4)),
        metrics=[keras.metrics.BinaryIoU([0, 1], 0.5), "binary_accuracy"],
    )  # fmt: skip


@program
def rows_of_sounds():
    """Series by separable and depthwise convolutions, cut and padded, by Tversky's loss."""
    x = normal(13, 21, 3)
    y = (x.sum(-1, keepdims=True) > 0).astype("float32")
    inputs = keras.Input((21, 3))
    h = layers.ZeroPadding1D((2, 1))(inputs)
    h = layers.SeparableConv1D(8, 4, strides=2, depth_multiplier=2, activation="gelu")(h)
    h = layers.DepthwiseConv1D(3, padding="same", depth_multiplier=2, activation="celu")(h)
    h = layers.Cropping1D((1, 0))(layers.UpSampling1D(3)(h))
    h = layers.AdaptiveAveragePooling1D(21)(layers.SpatialDropout1D(0.0)(h))
    h = layers.Conv1D(1, 5, padding="causal", activation="hard_sigmoid")(h)
    return trained(
        fixed(keras.Model(inputs, h)), x, y, loss=keras.losses.Tversky(0.3, 0.7),
        metrics=[keras.metrics.SensitivityAtSpecificity(0.5), keras.metrics.PrecisionAtRecall(0.5)],
    )  # fmt: skip


@program
def films():
    """Recurrent convolutions of one and of three dimensions, with states that go on."""
    x = uniform(5, 4, 7, 2)
    row = keras.Input((4, 7, 2))
    h, state, _ = layers.ConvLSTM1D(3, 3, return_state=True, padding="same", go_backwards=True)(row)
    cube = layers.Reshape((4, 7, 2, 1, 1))(row)
    deep = layers.ConvLSTM3D(2, (3, 2, 1), strides=(2, 1, 1), return_sequences=True)(cube)
    deep = layers.Flatten()(deep)
    outputs = layers.Dense(2, "softplus")(layers.concatenate([layers.Flatten()(h + state), deep]))
    y = np.stack([x.mean((1, 2, 3)), x.max((1, 2, 3))], -1)
    return trained(
        fixed(keras.Model(row, outputs)), x, y, batch_size=2,
        loss="mean_squared_logarithmic_error", metrics=["msle", "cosine_similarity"],
    )  # fmt: skip


@program
def circles():
    """Vectors of classes by the circle loss, with weights that are bounded."""
    x, y = normal(18, 5), integers(3, 18)
    x[:, 0] += 2 * y
    hidden = layers.Dense(
        8, "tanh_shrink", kernel_constraint=keras.constraints.MinMaxNorm(0.4, 1.1, rate=0.7),
        bias_constraint="non_neg", bias_initializer="ones",
    )  # fmt: skip
    vectors = layers.Dense(4, use_bias=False, kernel_constraint=keras.constraints.UnitNorm(axis=0))
    model = keras.Sequential([keras.Input((5,)), hidden, vectors, layers.UnitNormalization()])
    return trained(
        fixed(model), x, y, batch_size=6, optimizer=keras.optimizers.SGD(0.05, 0.8, nesterov=True),
        loss=keras.losses.Circle(gamma=12, margin=0.3),
    )  # fmt: skip


@program
def many_losses():
    """One body and an answer for each of the losses that are seldom used."""
    x, y = normal(17, 7), integers(3, 17)
    inputs = keras.Input((7,))
    h = layers.ActivityRegularization(l1=1e-3, l2=1e-2)(layers.Dense(8, "sparse_plus")(inputs))
    h = layers.Identity()(layers.maximum([h, layers.Dense(8, "hard_shrink")(inputs)]))
    h = layers.Minimum()([h, layers.Dense(8, "soft_shrink")(inputs) + 1.0])
    classes, one = np.eye(3, dtype="float32")[y], (y > 1).astype("float32")[:, None]
    answers = {
        "count": ("poisson", layers.Dense(1, "exponential"), y[:, None].astype("float32")),
        "side": ("squared_hinge", layers.Dense(1, "tanh"), 2 * one - 1),
        "class": ("categorical_hinge", layers.Dense(3, "log_softmax"), classes),
        "share": ("kl_divergence", layers.Dense(3, "softmax"), 0.8 * classes + 0.2 / 3),
        "noisy": (
            keras.losses.CategoricalGeneralizedCrossEntropy(0.6), layers.Dense(3, "softmax"), y
        ),
        "angle": (keras.losses.CosineSimilarity(axis=-1), layers.Dense(3, "sigmoid"), classes),
        "rate": ("mape", layers.Dense(1, "softplus"), 1 + one),
    }  # fmt: skip
    model = fixed(keras.Model(inputs, {name: layer(h) for name, (_, layer, _) in answers.items()}))
    return trained(
        model, x, {name: target for name, (_, _, target) in answers.items()},
        loss={name: loss for name, (loss, _, _) in answers.items()},
        loss_weights={name: 0.3 + 0.1 * i for i, name in enumerate(answers)},
        metrics={"side": "hinge", "class": [keras.metrics.FBetaScore("macro", 0.5)],
                 "share": "categorical_hinge", "count": "poisson"},
    )  # fmt: skip


@program
def waves_in_and_out():
    """Sounds whose spectra are changed by weights and heard again."""

    class Equaliser(layers.Layer):
        def build(self, shape):
            self.gain = self.add_weight(shape=(9,), initializer="ones", name="gain")

        def call(self, x):
            real, imag = ops.stft(x, 16, 4, 16, window="hamming")
            return ops.istft((real * self.gain, imag * self.gain), 16, 4, 16, window="hamming")

    t = np.arange(64, dtype="float32")
    x = np.stack([np.sin(t * (0.1 + 0.2 * i)) + 0.1 * normal(64, seed=i) for i in range(9)])
    inputs = keras.Input((64,))
    heard = Equaliser()(inputs)
    seen = layers.STFTSpectrogram("log", 16, 8, 16, expand_dims=True)(heard[..., None])
    seen = layers.Dense(1)(layers.Flatten()(layers.MaxPooling2D((2, 1))(seen)))
    model = fixed(keras.Model(inputs, [seen, heard]))
    y = [np.linspace(-1, 1, 9, dtype="float32")[:, None], 0.5 * x]
    return trained(model, x, y, loss=["mae", "mse"], optimizer=keras.optimizers.Adamax(0.03))


@program
def gaussian_process():
    """The marginal likelihood of a process, by the determinant, the inverse and distances."""

    class Process(layers.Layer):
        def build(self, shape):
            self.scale = self.add_weight(shape=(3,), initializer="zeros", name="size")

        def call(self, inputs):
            x, y = inputs
            length, height, noise = ops.unstack(ops.exp(self.scale), 3)
            k = height * ops.exp(-ops.square(ops.linalg.norm(x[:, None] - x, axis=-1)) / length)
            k = k + (noise + 1e-2) * ops.eye(ops.shape(x)[0])
            fit = ops.sum(y * ops.matmul(ops.inv(k), y)) + ops.slogdet(k)[1]
            q, r = ops.qr(k)
            self.add_loss(fit + 0.1 * ops.mean(ops.square(ops.matmul(q, r) - k)))
            self.add_loss(0.01 * ops.trace(ops.linalg.cholesky(k)) + 0.01 * ops.log(ops.det(k) + 1))
            return ops.matmul(k, ops.solve(k, y)) + ops.lstsq(k, y)

    x = normal(12, 2)
    y = np.sin(x[:, :1] * 2) + 0.1 * normal(12, 1, seed=1)
    inputs = [keras.Input((2,)), keras.Input((1,))]
    model = keras.Model(inputs, Process()(inputs))
    return trained(model, [x, y], 2 * y, batch_size=6, epochs=4)


@program
def low_ranks():
    """Layers of few ranks beside weights that stay: what models of language are tuned by."""
    tokens = integers(20, 12, 6)
    inputs = keras.Input((6,), dtype="int32")
    table, dense = layers.Embedding(20, 8), layers.Dense(4, "gelu")
    wide = layers.EinsumDense("abc,cd->abd", (None, 10), bias_axes="d")
    h = layers.GlobalAveragePooling1D()(wide(table(inputs)))
    model = fixed(keras.Model(inputs, layers.Dense(3)(dense(h))))
    for layer in (table, wide, dense):
        layer.enable_lora(2, lora_alpha=3)
    model = fixed(model)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=2)
    losses = trained(model, tokens, tokens[:, 0] % 3, loss=loss)
    return [*losses, *(float(np.sum(np.abs(w))) for w in dense.get_weights())]


@program
def kept_and_stopped():
    """Training that callbacks end, slow down, write about and average."""
    x = normal(20, 4)
    y = x @ np.array([[1.0], [-2.0], [0.5], [0.0]], "float32")
    model = fixed(keras.Sequential([keras.Input((4,)), layers.Dense(5, "relu6"), layers.Dense(1)]))
    optimizer = keras.optimizers.Adam(
        0.3, use_ema=True, ema_momentum=0.7, ema_overwrite_frequency=None, global_clipnorm=0.9
    )
    model.compile(optimizer, "mse", metrics=["mae"])
    with tempfile.TemporaryDirectory() as folder:
        log = str(Path(folder, "log.csv"))
        callbacks = [
            keras.callbacks.EarlyStopping("val_loss", patience=2, restore_best_weights=True,
                                          start_from_epoch=2, min_delta=0.05),
            keras.callbacks.ReduceLROnPlateau(patience=1, factor=0.3, cooldown=1, min_delta=0.1),
            keras.callbacks.TerminateOnNaN(),
            keras.callbacks.CSVLogger(log),
            keras.callbacks.SwapEMAWeights(swap_on_epoch=True),
        ]  # fmt: skip
        history = model.fit(
            x, y, batch_size=6, epochs=12, verbose=0, shuffle=False, callbacks=callbacks,
            validation_split=0.3, validation_freq=1,
        ).history  # fmt: skip
        rows = len(Path(log).read_text().splitlines())
    return [*history["loss"], *history["val_loss"], *history["learning_rate"], rows]


@program
def patches_and_squares():
    """Pictures as squares of pixels and as depth, warped by places that are learned."""

    class Warp(layers.Layer):
        def build(self, shape):
            self.moves = self.add_weight(shape=(8,), initializer="zeros", name="moves")

        def call(self, x):
            same = np.array([1, 0, 0, 0, 1, 0, 0, 0], "float32")
            moves = ops.tile((same + 0.05 * ops.tanh(self.moves))[None], (ops.shape(x)[0], 1))
            return ops.image.affine_transform(x, moves, fill_mode="reflect")

    x = uniform(9, 8, 8, 2)
    inputs = keras.Input((8, 8, 2))
    h = Warp()(inputs)
    squares = layers.Reshape((16, 8))(ops.image.extract_patches(h, (2, 2), strides=2))
    deep = ops.space_to_depth(layers.Conv2D(2, 3, padding="same")(h), 2)
    h = layers.LayerNormalization()(squares) + layers.Reshape((16, 8))(deep)
    h = layers.MultiHeadAttention(2, 4, output_shape=8, use_bias=False)(h, h)
    h = ops.depth_to_space(layers.Reshape((4, 4, 8))(h), 2)
    outputs = ops.image.resize(h, (5, 5), interpolation="bicubic", antialias=True)
    y = x[:, 1:6, 2:7] ** 2
    return trained(fixed(keras.Model(inputs, outputs)), x, y, optimizer="nadam", batch_size=4)


@program
def orders_in_losses():
    """Losses of quantiles, medians, sorted rows and what lies between steps."""

    def loss(y, p):
        gap = ops.sort(p, -1) - ops.sort(y, -1)
        middle = ops.median(p, -1) - ops.quantile(y, 0.4, -1)
        holes = ops.where(y > 1.0, np.float32("nan"), p - y)
        area = ops.trapezoid(ops.square(p - y), dx=0.5, axis=-1)
        step = ops.digitize(ops.stop_gradient(p), np.array([-0.5, 0.0, 0.7], "float32"))
        chosen = ops.select([step == 0, step == 3], [ops.square(p), ops.abs(p)], 0.1 * p)
        spread = ops.ptp(p, -1) + ops.nanmax(holes, -1) + ops.percentile(p, 70, -1)
        return (
            ops.mean(ops.square(gap), -1) + ops.square(middle) + area + ops.mean(chosen, -1)
            + 0.1 * spread + ops.nanmean(ops.square(holes), -1) + 0.1 * ops.nanvar(holes, -1)
        )  # fmt: skip

    x, y = normal(14, 5), normal(14, 6, seed=1)
    model = keras.Sequential([keras.Input((5,)), layers.Dense(7, "elu"), layers.Dense(6)])
    optimizer = keras.optimizers.RMSprop(0.01, centered=True)
    return trained(fixed(model), x, y, loss=loss, optimizer=optimizer)


@program
def both_ways():
    """A recurrent layer of each kind in each direction, under a mask, with options of theirs."""
    words = integers(12, 9, 7)
    words[:, 5:] = 0
    inputs = keras.Input((7,), dtype="int32")
    h = layers.Embedding(12, 5, mask_zero=True)(inputs)
    forth = layers.GRU(4, return_sequences=True, reset_after=False, zero_output_for_mask=True)
    back = layers.LSTM(
        4, return_sequences=True, go_backwards=True, unit_forget_bias=False, activation="softsign"
    )
    h = layers.Bidirectional(forth, merge_mode="mul", backward_layer=back)(h)
    h = layers.Bidirectional(layers.SimpleRNN(3, return_sequences=True), merge_mode="ave")(h)
    h = layers.Bidirectional(layers.GRU(3, use_bias=False, unroll=True), merge_mode="sum")(h)
    outputs = layers.Dense(1)(layers.dot([h, layers.Dense(3)(h)], axes=1, normalize=True))
    y = normal(9, 1)
    return trained(fixed(keras.Model(inputs, outputs)), words, y, optimizer="adagrad", epochs=4)


@program
def scores_of_attention():
    """Attention by its scores, along another axis, with pairs of masks and of queries."""
    x = normal(8, 4, 6)
    inputs = keras.Input((4, 6))
    seen = np.arange(4)[:, None] >= np.arange(4) - 1
    mask = ops.broadcast_to(ops.convert_to_tensor(seen[None]), (1, 4, 4))
    two = layers.MultiHeadAttention(3, 2, value_dim=5)
    h, scores = two(inputs, inputs[:, :3] * 2, return_attention_scores=True,
                    attention_mask=mask[:, :, :3])  # fmt: skip
    grid = layers.Reshape((4, 3, 2))(inputs)
    across = layers.MultiHeadAttention(2, 2, attention_axes=(2,))(grid, grid)
    joined = layers.Attention(use_scale=True, score_mode="concat")([h, inputs])
    h = layers.concatenate([h, joined, layers.Reshape((4, 6))(across)])
    outputs = [layers.Dense(2)(h), layers.Permute((2, 3, 1))(scores)]
    y = [normal(8, 4, 2, seed=2), np.full((8, 4, 3, 3), 0.3, "float32")]
    return trained(fixed(keras.Model(inputs, outputs)), x, y, loss=["mse", "mse"])


@program
def straight_through():
    """Whole numbers whose gradient is that of the numbers before, in a loop of one's own."""
    value_and_grad, jit = transforms()

    @ops.custom_gradient
    def rounded(x):
        def slope(*args, upstream=None):
            return (args[0] if upstream is None else upstream) * 0.9

        return ops.round(x), slope

    x = normal(10, 4)
    parts = [layers.Dense(3), layers.Lambda(rounded), layers.Dense(4)]
    model = fixed(keras.Sequential([keras.Input((4,)), *parts]))

    def loss_of(trainable, x):
        y, _ = model.stateless_call(trainable, [], x)
        return ops.mean(ops.logaddexp(ops.abs(y - x), 0.0)) + ops.mean(ops.hypot(y, x)) * 0.1

    step = jit(value_and_grad(loss_of))
    trainable = [v.value for v in model.trainable_variables]
    losses = []
    for _ in range(4):
        loss, slopes = step(trainable, x)
        trainable = [t - 0.2 * g for t, g in zip(trainable, slopes)]
        losses.append(float(loss))
    return losses


@program
def two_optimisers():
    """One optimiser after the other, with a layer that no longer learns and weights of rows."""
    rows = rng(3)
    x = rows.normal(size=(15, 5)).astype("float32")
    y = (x[:, :1] > x[:, 1:2]).astype("float32")
    parts = [layers.Dense(6, "hard_silu"), layers.Dense(1)]
    model = fixed(keras.Sequential([keras.Input((5,)), *parts]))
    losses = trained(
        model, x, y, optimizer=keras.optimizers.Lion(0.01, weight_decay=0.1),
        loss=keras.losses.BinaryCrossentropy(from_logits=True, label_smoothing=0.2),
    )  # fmt: skip
    model.layers[0].trainable = False
    more = trained(
        model, x, y, loss="hinge",
        optimizer=keras.optimizers.Ftrl(0.1, l1_regularization_strength=0.01, beta=0.2),
        sample_weight=np.linspace(0, 2, 15, dtype="float32"), class_weight=None,
    )  # fmt: skip
    return losses + more
