"""Programs of words, sounds and series: forecasts, windows, states that are handed over."""

import keras
import numpy as np
from keras import layers, ops

from . import fixed, integers, normal, program, rng, trained, uniform, values_of


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
