"""Programs on series of time and on sound."""

import keras
import numpy as np
from keras import layers, ops

from . import fixed, integers, normal, program, trained

SPARSE = "sparse_categorical_crossentropy"


def waves(n=20, length=16, channels=1):
    """(noisy sines of two frequencies, which)."""
    y = integers(2, n)
    t = np.arange(length) * (0.4 + 0.5 * y[:, None])
    x = np.sin(t)[..., None] + 0.1 * normal(n, length, channels)
    return x.astype("float32"), y


@program
def weather_forecast():
    x, _ = waves(30, 12, 3)
    model = keras.Sequential([keras.Input((11, 3)), layers.LSTM(6), layers.Dense(1)])
    return trained(fixed(model), x[:, :-1], x[:, -1, 0], metrics=["mae"], batch_size=8)


@program
def anomalies():
    x, _ = waves()
    model = keras.Sequential([
        keras.Input((16, 1)), layers.Conv1D(6, 5, 2, "same", activation="relu"),
        layers.Conv1D(4, 5, 2, "same", activation="relu"),
        layers.Conv1DTranspose(4, 5, 2, "same", activation="relu"),
        layers.Conv1DTranspose(6, 5, 2, "same", activation="relu"),
        layers.Conv1DTranspose(1, 5, padding="same"),
    ])  # fmt: skip
    losses = trained(fixed(model), x, x)
    return [*losses, np.abs(model.predict(x, verbose=0) - x).mean((1, 2)).max()]


@program
def transformer_of_series():
    x, y = waves()
    inputs = keras.Input((16, 1))
    h = layers.Dense(8)(inputs)
    n = layers.LayerNormalization()(h)
    h = h + layers.MultiHeadAttention(2, 4)(n, n)
    h = h + layers.Conv1D(8, 1)(layers.Conv1D(4, 1, activation="relu")(h))
    h = layers.GlobalAveragePooling1D(data_format="channels_first")(h)
    model = keras.Model(inputs, layers.Dense(2, "softmax")(layers.Dense(8, "relu")(h)))
    return trained(fixed(model), x, y, loss=SPARSE, metrics=["sparse_categorical_accuracy"])


@program
def dilated_causal_convolutions():
    x, y = waves()
    inputs = keras.Input((None, 1))
    h = layers.Conv1D(6, 1)(inputs)
    for rate in (1, 2, 4):
        skip = layers.Conv1D(6, 2, padding="causal", dilation_rate=rate)(h)
        h = h + ops.tanh(skip) * ops.sigmoid(layers.Conv1D(6, 1)(h))
    model = keras.Model(inputs, layers.Dense(1, "sigmoid")(h[:, -1]))
    return trained(fixed(model), x, y, loss="binary_crossentropy")


@program
def stateful_rnn():
    x, y = normal(4, 12, 2), normal(4, 12, 1, seed=1)
    model = keras.Sequential([keras.Input(batch_shape=(4, 3, 2)),
                              layers.GRU(5, stateful=True, return_sequences=True),
                              layers.LSTM(3, stateful=True, return_sequences=True),
                              layers.Dense(1)])  # fmt: skip
    fixed(model).compile("sgd", "mse")
    found = []
    for _ in range(2):
        for i in range(0, 12, 3):
            found.append(model.train_on_batch(x[:, i : i + 3], y[:, i : i + 3]))
        model.layers[0].reset_state()
    return found


class MinimalCell(layers.Layer):
    """h = tanh(x W + h U)."""

    def __init__(self, units):
        super().__init__()
        self.state_size = self.units = units

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], self.units))
        self.own = self.add_weight(shape=(self.units, self.units))

    def call(self, x, states):
        h = ops.tanh(ops.matmul(x, self.kernel) + ops.matmul(states[0], self.own))
        return h, [h]


@program
def own_cell():
    x, y = waves()
    cells = [MinimalCell(4), layers.GRUCell(3, reset_after=False), layers.SimpleRNNCell(3)]
    model = keras.Sequential([keras.Input((16, 1)), layers.RNN(cells, go_backwards=True),
                              layers.Dense(1, "sigmoid")])  # fmt: skip
    return trained(fixed(model), x, y, loss="binary_crossentropy")


@program
def unrolled_and_masked():
    x, y = waves(length=6)
    x[:, 4:] *= (integers(2, 20, 2, seed=3) > 0)[..., None]
    model = keras.Sequential([
        keras.Input((6, 1)), layers.Masking(0.0),
        layers.LSTM(4, unroll=True, return_sequences=True),
        layers.TimeDistributed(layers.Dense(3, "relu")), layers.GRU(3), layers.Dense(1, "sigmoid"),
    ])  # fmt: skip
    return trained(fixed(model), x, y, loss="binary_crossentropy")


@program
def sound_spectrogram():
    x, y = normal(8, 256), integers(2, 8)
    x[y > 0] += np.sin(np.arange(256) * 0.7)
    model = keras.Sequential([
        keras.Input((256,)),
        layers.MelSpectrogram(fft_length=64, sequence_stride=32, num_mel_bins=8, sampling_rate=512,
                              max_freq=256.0, min_freq=10.0),
        layers.Permute((2, 1)), layers.Conv1D(4, 3, activation="relu"),
        layers.GlobalMaxPooling1D(), layers.Dense(2, "softmax"),
    ])  # fmt: skip
    return trained(fixed(model), x, y, batch_size=4, loss=SPARSE)


@program
def attention_over_time():
    x, y = waves()
    inputs = keras.Input((16, 1))
    h = layers.GRU(4, return_sequences=True)(inputs)
    h = layers.Concatenate()([layers.AdditiveAttention()([h, h]), layers.Attention()([h, h])])
    model = keras.Model(inputs, layers.Dense(1, "sigmoid")(layers.Flatten()(h)))
    return trained(fixed(model), x, y, loss="binary_crossentropy")
