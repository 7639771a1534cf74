"""Programs on words and characters: classification, tagging, translation, language models."""

import keras
import numpy as np
from keras import layers, ops

from . import fixed, integers, normal, program, trained

SPARSE = "sparse_categorical_crossentropy"


def sentences(n=20, length=7, words=9, seed=0):
    """Indices of words, filled up with 0 at the end, and whether the word 3 is there."""
    x = integers(words - 1, n, length, seed=seed) + 1
    for row, size in zip(x, integers(length - 1, n, seed=seed + 1) + 2):
        row[size:] = 0
    return x, (x == 3).any(1).astype("int32")


@program
def bidirectional_lstm():
    x, y = sentences()
    model = keras.Sequential([
        keras.Input((None,), dtype="int32"), layers.Embedding(9, 6, mask_zero=True),
        layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
        layers.Bidirectional(layers.LSTM(4)), layers.Dense(1, "sigmoid"),
    ])  # fmt: skip
    return trained(fixed(model), x, y, loss="binary_crossentropy", metrics=["accuracy"])


@program
def text_convnet():
    x, y = sentences()
    model = keras.Sequential([
        keras.Input((7,), dtype="int32"), layers.Embedding(9, 6),
        layers.Conv1D(8, 3, padding="valid", activation="relu", strides=2),
        layers.GlobalMaxPooling1D(), layers.Dense(4, "relu"), layers.Dense(1, "sigmoid"),
    ])  # fmt: skip
    return trained(fixed(model), x, y, loss="binary_crossentropy", metrics=["auc"])


class Words(layers.Layer):
    """Embeddings of tokens and of their places."""

    def __init__(self, length, words, width, **options):
        super().__init__(**options)
        self.token = layers.Embedding(words, width, mask_zero=True)
        self.place = layers.Embedding(length, width)

    def call(self, x):
        return self.token(x) + self.place(ops.arange(ops.shape(x)[-1]))

    def compute_mask(self, x, mask=None):
        return self.token.compute_mask(x)


def block(h, heads=2, width=8, causal=False, context=None):
    attend = layers.MultiHeadAttention(heads, width // heads)
    h = layers.LayerNormalization()(h + attend(h, h, use_causal_mask=causal))
    if context is not None:
        cross = layers.MultiHeadAttention(heads, width // heads)
        h = layers.LayerNormalization()(h + cross(h, context))
    return layers.LayerNormalization()(h + layers.Dense(width)(layers.Dense(16, "relu")(h)))


@program
def transformer_classifier():
    x, y = sentences()
    inputs = keras.Input((7,), dtype="int32")
    h = block(Words(7, 9, 8)(inputs))
    model = keras.Model(inputs, layers.Dense(2, "softmax")(layers.GlobalAveragePooling1D()(h)))
    return trained(fixed(model), x, y, loss=SPARSE, metrics=["accuracy"])


@program
def small_language_model():
    x, _ = sentences(length=9)
    inputs = keras.Input((None,), dtype="int32")
    h = block(block(Words(16, 9, 8)(inputs), causal=True), causal=True)
    model = keras.Model(inputs, layers.Dense(9)(h))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)
    found = trained(fixed(model), x[:, :-1], x[:, 1:], loss=loss)
    start = np.array([[1, 2]])
    for _ in range(3):  # greedy, one word at a time
        start = np.append(start, [[model.predict_on_batch(start)[0, -1].argmax()]], 1)
    return [*found, *start[0]]


@program
def addition_of_digits():
    rows = integers(10, 24, 2)
    text = np.eye(11, dtype="float32")[[[a, 10, b] for a, b in rows]]
    answer = np.eye(11, dtype="float32")[[[s // 10, s % 10] for s in rows.sum(1)]]
    model = keras.Sequential([
        keras.Input((3, 11)), layers.LSTM(8), layers.RepeatVector(2),
        layers.LSTM(8, return_sequences=True), layers.Dense(11, "softmax"),
    ])  # fmt: skip
    return trained(
        fixed(model), text, answer, loss="categorical_crossentropy", metrics=["accuracy"]
    )


@program
def translation_by_states():
    source, target = normal(12, 5, 6), np.eye(7, dtype="float32")[integers(7, 12, 6)]
    encoder_in, decoder_in = keras.Input((None, 6)), keras.Input((None, 7))
    _, h, c = layers.LSTM(5, return_state=True)(encoder_in)
    decoder = layers.LSTM(5, return_sequences=True, return_state=True)
    out, _, _ = decoder(decoder_in, initial_state=[h, c])
    model = keras.Model([encoder_in, decoder_in], layers.Dense(7, "softmax")(out))
    return trained(fixed(model), [source, target[:, :-1]], target[:, 1:], batch_size=4,
                   optimizer="rmsprop", loss="categorical_crossentropy")  # fmt: skip


@program
def translation_by_attention():
    source, target = sentences()[0], sentences(length=6, seed=4)[0]
    a, b = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    context = block(Words(7, 9, 8)(a))
    h = block(Words(6, 9, 8)(b), causal=True, context=context)
    model = keras.Model([a, b], layers.Dense(9, "softmax")(h))
    return trained(fixed(model), [source, target[:, :-1]], target[:, 1:], loss=SPARSE,
                   metrics=["accuracy"])  # fmt: skip


@program
def mixing_by_fourier_transforms():
    x, y = sentences(length=8)
    inputs = keras.Input((8,), dtype="int32")
    h = Words(8, 9, 8)(inputs)
    for _ in range(2):
        real, _ = ops.fft2((h, ops.zeros_like(h)))
        h = layers.LayerNormalization()(h + real)
        h = layers.LayerNormalization()(h + layers.Dense(8)(layers.Dense(12, "gelu")(h)))
    model = keras.Model(inputs, layers.Dense(1, "sigmoid")(layers.GlobalAveragePooling1D()(h)))
    return trained(fixed(model), x, y, loss="binary_crossentropy")


@program
def tagging_of_names():
    x, _ = sentences()
    tags = (x % 3).astype("int32")
    inputs = keras.Input((None,), dtype="int32")
    model = keras.Model(inputs, layers.Dense(3, "softmax")(block(Words(7, 9, 8)(inputs))))

    def masked(y_true, y_pred):
        loss = keras.losses.sparse_categorical_crossentropy(y_true, y_pred)
        mask = ops.cast(y_true > 0, "float32")
        return ops.sum(loss * mask) / ops.maximum(ops.sum(mask), 1)

    return trained(fixed(model), x, tags, loss=masked)


class Experts(layers.Layer):
    """Each token goes to the expert its router likes best."""

    def __init__(self, count=3, width=8):
        super().__init__()
        self.router = layers.Dense(count, "softmax")
        self.experts = [layers.Dense(width, "relu") for _ in range(count)]

    def call(self, x):
        share = self.router(x)
        best, which = ops.top_k(share, 1)
        chosen = ops.one_hot(ops.squeeze(which, -1), len(self.experts))
        found = ops.stack([e(x) for e in self.experts], -2)
        self.add_loss(0.01 * ops.mean(ops.mean(chosen, 0) * ops.mean(share, 0)))
        return ops.sum(found * ops.expand_dims(chosen, -1), -2) * best


@program
def mixture_of_experts():
    x, y = sentences()
    inputs = keras.Input((7,), dtype="int32")
    h = Experts()(layers.Embedding(9, 8)(inputs))
    model = keras.Model(inputs, layers.Dense(1, "sigmoid")(layers.GlobalAveragePooling1D()(h)))
    return trained(fixed(model), x, y, loss="binary_crossentropy")


@program
def words_of_strings():
    words = np.array([["cat"], ["dog"], ["bird"], ["dog"], ["fish"], ["cat"], ["cow"]])
    lookup = layers.StringLookup(vocabulary=["cat", "dog", "bird"])
    x = lookup(words)
    model = keras.Sequential([keras.Input((1,), dtype="int32"), layers.Embedding(4, 3),
                              layers.Flatten(), layers.Dense(1)])  # fmt: skip
    return trained(fixed(model), np.asarray(x), np.arange(7.0), batch_size=3)
