"""Methods: contrast, distillation, mixtures, patches and latents, routing, low ranks."""

import os
import tempfile

import keras
import numpy as np
from keras import layers, ops

from . import fixed, integers, normal, pictures, program, rng, trained, transforms, uniform


def sums(n=20, steps=12):
    """(series of two values, whether the first outweighs the second)."""
    x = normal(n, steps, 2)
    return x, (x[..., 0].sum(1) > x[..., 1].sum(1)).astype("float32")


@program
def temporal_convnet():
    x, y = sums()
    inputs = h = keras.Input((12, 2))
    for rate in (1, 2, 4):
        g = layers.Conv1D(4, 3, padding="causal", dilation_rate=rate)(h)
        g = layers.SpatialDropout1D(0.0)(layers.LayerNormalization()(g))
        h = layers.add([layers.Conv1D(4, 1)(h), layers.Activation("gelu")(g)])
    model = keras.Model(inputs, layers.Dense(1, "sigmoid")(layers.Lambda(lambda t: t[:, -1])(h)))
    return trained(fixed(model), x, y, loss="binary_crossentropy", metrics=["AUC"])


@program
def gated_waves():
    x = np.sin(np.arange(32)[None] * (1 + uniform(8, 1)) / 3).astype("float32")[..., None]
    inputs = h = keras.Input((None, 1))
    kept = []
    for rate in (1, 2, 4):
        a, b = (layers.Conv1D(4, 2, padding="causal", dilation_rate=rate, activation=f)(h)
                for f in ("tanh", "sigmoid"))  # fmt: skip
        z = layers.multiply([a, b])
        kept.append(layers.Conv1D(3, 1)(z))
        h = layers.Conv1D(4, 1)(z) + h
    model = keras.Model(inputs, layers.Dense(1)(ops.relu(layers.add(kept))))
    fixed(model).compile("adam", "huber")
    return [model.train_on_batch(x[:, i:j], x[:, i + 1 : j + 1])
            for i, j in ((0, 30), (0, 20), (5, 31))]  # fmt: skip


class Capsules(layers.Layer):
    """Routing by agreement: votes of lower capsules, weighted anew three times."""

    def __init__(self, count, width):
        super().__init__()
        self.count, self.width = count, width

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[1], shape[2], self.count, self.width))

    @staticmethod
    def squash(s):
        n = ops.sum(s**2, -1, keepdims=True)
        return n / (1 + n) * s * ops.rsqrt(n + 1e-7)

    def call(self, u):
        votes = ops.einsum("bid,idcw->bicw", u, self.w)
        logits = ops.zeros_like(votes[..., 0])
        for turn in range(3):
            v = self.squash(ops.einsum("bic,bicw->bcw", ops.softmax(logits, -1), votes))
            if turn < 2:
                logits = logits + ops.einsum("bicw,bcw->bic", ops.stop_gradient(votes), v)
        return ops.norm(v, axis=-1)


@program
def capsules():
    x, y = pictures(16)
    model = keras.Sequential([
        keras.Input((8, 8, 1)), layers.Conv2D(8, 3, 2, activation="relu"),
        layers.Reshape((-1, 4)), Capsules(2, 3),
    ])  # fmt: skip
    return trained(fixed(model), x, keras.utils.to_categorical(y, 2), loss="categorical_hinge",
                   metrics=["accuracy"])  # fmt: skip


class Contrast(keras.Model):
    """SimCLR: two views of a picture are to be alike, and unlike those of all others."""

    def __init__(self):
        super().__init__()
        self.net = keras.Sequential([
            keras.Input((8, 8, 1)), layers.Conv2D(4, 3, 2, activation="relu"), layers.Flatten(),
            layers.Dense(6), layers.UnitNormalization(),
        ])  # fmt: skip

    def call(self, x):
        return self.net(x), self.net(ops.flip(x, 1) * 0.9 + 0.05)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        a, b = y_pred
        alike = ops.matmul(a, ops.transpose(b)) / 0.2
        own = ops.arange(ops.shape(a)[0])
        each = keras.losses.sparse_categorical_crossentropy
        return ops.mean(each(own, alike, True) + each(own, ops.transpose(alike), True)) / 2


@program
def contrast_of_views():
    model = Contrast()
    fixed(model.net)
    return trained(model, pictures(14)[0], None, loss=None)


@program
def mixed_samples():
    x, y = pictures(16)
    y = keras.utils.to_categorical(y, 2)

    class Mixed(keras.utils.PyDataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            draw, part = rng(i), slice(4 * i, 4 * i + 4)
            share, other = draw.beta(0.4, 0.4), draw.permutation(16)[:4]
            mixture = share * x[part] + (1 - share) * x[other]
            top, left = draw.integers(0, 4, 2)
            mixture[:, top : top + 4, left : left + 4] = x[other, top : top + 4, left : left + 4]
            share *= 0.75
            return mixture.astype("float32"), share * y[part] + (1 - share) * y[other]

    model = keras.Sequential([
        keras.Input((8, 8, 1)), layers.Conv2D(4, 3, activation="silu"),
        layers.GroupNormalization(2), layers.GlobalMaxPooling2D(), layers.Dense(2),
    ])  # fmt: skip
    loss = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)
    return trained(fixed(model), Mixed(), None, batch_size=None, loss=loss)


class Distilled(keras.Model):
    """A small net learns what a frozen one says, softened, and the labels."""

    def __init__(self, teacher, student):
        super().__init__()
        self.teacher, self.student = teacher, student
        teacher.trainable = False

    def call(self, x, training=False):
        return self.student(x, training=training)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        soft = ops.softmax(self.teacher(x, training=False) / 3.0)
        far = keras.losses.kl_divergence(soft, ops.softmax(y_pred / 3.0))
        near = keras.losses.sparse_categorical_crossentropy(y, y_pred, from_logits=True)
        return ops.mean(0.3 * near + 0.7 * 9.0 * far)


@program
def distillation():
    x, y = normal(30, 6), integers(3, 30)
    nets = [fixed(keras.Sequential([keras.Input((6,)), layers.Dense(n, "relu"),
                                    layers.BatchNormalization(), layers.Dense(3)]))
            for n in (16, 3)]  # fmt: skip
    return trained(Distilled(*nets), x, y, batch_size=8, loss=None)


def patches_of(x, size=4):
    return layers.Reshape((-1, size * size))(layers.Lambda(
        lambda t: ops.image.extract_patches(t, (size, size)))(x))  # fmt: skip


@program(draws=True)  # the table of places
def vision_transformer():
    x, y = pictures(12)
    inputs = keras.Input((8, 8, 1))
    h = layers.Dense(8)(patches_of(inputs))
    h = h + layers.Embedding(4, 8)(np.arange(4)[None])
    for _ in range(2):
        g = layers.LayerNormalization()(h)
        h = h + layers.MultiHeadAttention(2, 4)(g, g)
        g = layers.LayerNormalization(rms_scaling=False)(h)
        h = h + layers.Dense(8)(layers.Dense(16, "gelu")(g))
    model = keras.Model(inputs, layers.Dense(2)(layers.GlobalAveragePooling1D()(h)))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return trained(fixed(model), x, y, optimizer=keras.optimizers.AdamW(1e-2), loss=loss)


@program
def mixers_of_patches():
    x, y = pictures(12)
    inputs = keras.Input((8, 8, 1))
    h = layers.Dense(6)(patches_of(inputs, 2))
    for _ in range(2):
        g = layers.Permute((2, 1))(layers.LayerNormalization()(h))
        h = h + layers.Permute((2, 1))(layers.Dense(16)(layers.Dense(8, "gelu")(g)))
        h = h + layers.Dense(6)(layers.Dense(8, "gelu")(layers.LayerNormalization()(h)))
    model = keras.Model(inputs, layers.Dense(1, "sigmoid")(layers.Flatten()(h)))
    return trained(fixed(model), x, y, loss="binary_focal_crossentropy")


class Latents(layers.Layer):
    """Perceiver: a few latents ask the whole input, then one another."""

    def build(self, shape):
        self.latents = self.add_weight(shape=(3, 8))
        self.asking, self.among = (layers.MultiHeadAttention(2, 4) for _ in range(2))
        self.asking.build((None, 3, 8), shape)
        self.among.build((None, 3, 8), (None, 3, 8))

    def call(self, x):
        h = ops.broadcast_to(self.latents, (ops.shape(x)[0], 3, 8))
        for _ in range(2):  # the same weights again
            h = h + self.asking(h, x)
            h = h + self.among(h, h)
        return h


@program
def latents_that_ask():
    x, y = sums()
    model = keras.Sequential([keras.Input((None, 2)), layers.Dense(8), Latents(),
                              layers.GlobalAveragePooling1D(), layers.Dense(1)])  # fmt: skip
    return trained(fixed(model), x, y, loss=keras.losses.BinaryCrossentropy(from_logits=True))


@program
def walks_on_a_graph():
    pairs, y = [integers(9, 40, seed=i) for i in (1, 2)], integers(2, 40)
    inputs = [keras.Input((), dtype="int32") for _ in pairs]
    table = layers.Embedding(9, 4)
    model = keras.Model(inputs, layers.Dot(1)([table(i) for i in inputs]))
    return trained(fixed(model), pairs, y, batch_size=16,
                   loss=keras.losses.BinaryCrossentropy(from_logits=True))  # fmt: skip


class Neighbours(layers.Layer):
    """Attention of a graph: a softmax over the edges that come into each node."""

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[0][-1], 4))
        self.a = self.add_weight(shape=(8, 1))

    def call(self, given):
        states, edges = given
        h = ops.matmul(states, self.w)
        ends = ops.reshape(ops.take(h, edges, axis=0), (-1, 8))
        scores = ops.leaky_relu(ops.matmul(ends, self.a))[:, 0]
        to, n = edges[:, 0], ops.shape(states)[0]
        top = ops.take(ops.segment_max(scores, to, num_segments=12), to)
        weights = ops.exp(scores - top)
        whole = ops.take(ops.segment_sum(weights, to, num_segments=12), to)
        found = ops.take(h, edges[:, 1], axis=0) * (weights / whole)[:, None]
        return ops.segment_sum(found, to, num_segments=12)[:n]


@program
def attention_on_graphs():
    value_and_grad, jit = transforms()
    states, y = normal(12, 5), integers(3, 12)
    edges = np.concatenate([integers(12, 30, 2), np.repeat(np.arange(12), 2).reshape(-1, 2)])
    inputs = [keras.Input((5,)), keras.Input((2,), dtype="int32")]
    h = ops.elu(Neighbours()([inputs[0], inputs[1]]))
    model = fixed(keras.Model(inputs, layers.Dense(3)(h)))
    optimizer = keras.optimizers.Adam(0.05)
    optimizer.build(model.trainable_variables)

    def cost(weights, rest):
        found, _ = model.stateless_call(weights, rest, [states, edges.astype("int32")])
        return ops.mean(keras.losses.sparse_categorical_crossentropy(y, found, True))

    def turn(weights, rest, slots):
        loss, slopes = value_and_grad(cost)(weights, rest)
        return loss, *optimizer.stateless_apply(slots, slopes, weights)

    turn, losses = jit(turn), []
    now = [[v.value for v in each] for each in (model.trainable_variables, optimizer.variables)]
    rest = [v.value for v in model.non_trainable_variables]
    for _ in range(4):
        loss, *now = turn(now[0], rest, now[1])
        losses.append(float(loss))
    return losses


@program  # with no losses of JAX: its sparsemax of Keras does not add to 1, as the paper's does
def chosen_features():
    x, y = normal(24, 8), integers(2, 24)
    inputs = keras.Input((8,))
    prior, parts = ops.ones_like(inputs), []
    h = layers.Dense(8)(inputs)
    for _ in range(2):
        mask = layers.Activation("sparsemax")(
            layers.BatchNormalization()(layers.Dense(8)(h)) * prior
        )
        prior = prior * (1.3 - mask)
        h = layers.Dense(8, "silu")(inputs * mask)
        parts.append(layers.Dense(4, "relu")(h))
    model = keras.Model(inputs, layers.Dense(1, "sigmoid")(layers.add(parts)))
    return trained(fixed(model), x, y, batch_size=8, loss="binary_crossentropy")


@program
def policy_gradient():
    value_and_grad, jit = transforms()
    model = fixed(keras.Sequential([keras.Input((2,)), layers.Dense(8, "tanh"), layers.Dense(2)]))
    optimizer = keras.optimizers.RMSprop(0.05)
    optimizer.build(model.trainable_variables)

    def cost(weights, states, actions, returns):
        logits, _ = model.stateless_call(weights, [], states)
        picked = ops.sum(ops.log_softmax(logits) * ops.one_hot(actions, 2), -1)
        return -ops.mean(picked * (returns - ops.mean(returns)) / (ops.std(returns) + 1e-6))

    def turn(weights, slots, *data):
        loss, slopes = value_and_grad(cost)(weights, *data)
        return loss, *optimizer.stateless_apply(slots, slopes, weights)

    turn, losses, draw = jit(turn), [], rng(3)
    weights = [v.value for v in model.trainable_variables]
    slots = [v.value for v in optimizer.variables]
    for length in (9, 7, 9, 11):
        states = draw.normal(size=(length, 2)).astype("float32")
        actions = draw.integers(0, 2, length).astype("int32")
        rewards = np.where(actions == (states[:, 0] > 0), 1.0, -1.0)
        returns = np.cumsum(rewards[::-1])[::-1].astype("float32")
        loss, weights, slots = turn(weights, slots, states, actions, returns.copy())
        losses.append(float(loss))
    return losses


@program
def reading_letters():
    x, y = uniform(6, 8, 16, 1), 1 + integers(4, 6, 3)
    y[3:, 2] = 0  # a shorter word
    model = keras.Sequential([
        keras.Input((8, None, 1)), layers.Conv2D(4, 3, (8, 1), "same", activation="relu"),
        layers.Lambda(lambda t: t[:, 0]),
        layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
        layers.Dense(6),
    ])  # fmt: skip
    return trained(fixed(model), x, y, batch_size=4, optimizer="adamax", loss=keras.losses.CTC())


@program
def translation_by_attention():
    source, target = 1 + integers(7, 12, 6), 1 + integers(7, 12, 5, seed=1)
    source[:5, 4:], target[:5, 3:] = 0, 0
    a, b = (keras.Input((None,), dtype="int32") for _ in range(2))
    words, state = layers.GRU(6, return_sequences=True, return_state=True)(
        layers.Embedding(8, 5, mask_zero=True)(a))  # fmt: skip
    h = layers.GRU(6, return_sequences=True)(layers.Embedding(8, 5, mask_zero=True)(b),
                                             initial_state=state)  # fmt: skip
    h = layers.concatenate([h, layers.AdditiveAttention()([h, words])])
    model = fixed(keras.Model([a, b], layers.Dense(8, "softmax")(h)))
    wanted = np.roll(target, -1, 1)
    return trained(model, [source, target], wanted, loss="sparse_categorical_crossentropy",
                   metrics=["accuracy"])  # fmt: skip


@program
def adapters_of_low_rank():
    x, y = normal(24, 6), normal(24, 2, seed=2)
    model = fixed(keras.Sequential([keras.Input((6,)), layers.Dense(8, "tanh"), layers.Dense(2)]))
    for i, layer in enumerate(model.layers):
        layer.enable_lora(2)
        layer.lora_kernel_a.assign(normal(*layer.lora_kernel_a.shape, seed=i))
    found = trained(model, x, y, batch_size=10, optimizer=keras.optimizers.Lion(0.01))
    return [*found, model.evaluate(x, y, verbose=0)]


@program
def half_precision_of_wide_range():
    x, y = pictures(16)
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = keras.Sequential([
            keras.Input((8, 8, 1)), layers.SeparableConv2D(4, 3, activation="relu"),
            layers.BatchNormalization(), layers.Flatten(), layers.Dense(1, dtype="float32"),
        ])  # fmt: skip
    finally:
        keras.config.set_dtype_policy("float32")
    return trained(fixed(model), x, y, loss=keras.losses.BinaryCrossentropy(from_logits=True))


@program
def averages_saved_and_gone_on():
    x, y = normal(32, 4), normal(32, 1, seed=2)
    model = fixed(keras.Sequential([keras.Input((4,)), layers.Dense(6, "elu"), layers.Dense(1)]))
    optimizer = keras.optimizers.Adam(0.02, use_ema=True, ema_momentum=0.9, clipnorm=1.0,
                                      gradient_accumulation_steps=2, weight_decay=1e-3)  # fmt: skip
    found = trained(model, x, y, batch_size=8, optimizer=optimizer)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        model.save(path)
        again = keras.saving.load_model(path)
    return found + trained(again, x, y, batch_size=8, optimizer=None)
