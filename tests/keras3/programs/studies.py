"""Programs of the kind of keras.io's studies of single papers: layers of one's own that attend,
mask, gather and normalise in ways of their own."""

import keras
import numpy as np
from keras import layers, ops

from . import fixed, integers, normal, pictures, program, trained, transforms, uniform


class Antirectifier(layers.Layer):
    """Both halves of what a rectifier cuts, of rows of length one about zero."""

    def __init__(self, initializer="he_normal", **options):
        super().__init__(**options)
        self.initializer = keras.initializers.get(initializer)

    def build(self, shape):
        self.kernel = self.add_weight(
            shape=(shape[-1] * 2, shape[-1]), name="kernel", initializer=self.initializer
        )

    def call(self, x):
        x = x - ops.mean(x, -1, keepdims=True)
        positive, negative = ops.relu(x), ops.relu(ops.negative(x))
        return ops.matmul(ops.hstack([positive, negative]), self.kernel)

    def get_config(self):
        return {
            **super().get_config(),
            "initializer": keras.initializers.serialize(self.initializer),
        }


@program
def both_halves():
    x, y = normal(20, 6), integers(3, 20)
    parts = [Antirectifier(), layers.Dense(5), Antirectifier("glorot_uniform"), layers.Dense(3)]
    model = fixed(keras.Sequential([keras.Input((6,)), *parts]))
    model = keras.Sequential.from_config(
        model.get_config(), custom_objects={"Antirectifier": Antirectifier}
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return trained(fixed(model), x, y, loss=loss, metrics=["sparse_top_k_categorical_accuracy"])


class RandomFeatures(layers.Layer):
    """cos(x w + b): products of these stand for a kernel; the scale learns."""

    def build(self, shape):
        self.w = self.add_weight(
            shape=(shape[-1], 12),
            trainable=False,
            initializer=keras.initializers.Constant(normal(shape[-1], 12, seed=4)),
        )
        self.b = self.add_weight(
            shape=(12,),
            trainable=False,
            initializer=lambda shape, dtype=None: ops.cast(uniform(12, seed=5) * 2 * np.pi, dtype),
        )
        self.scale = self.add_weight(shape=(), initializer="ones", constraint="non_neg")

    def call(self, x):
        return ops.cos(ops.tensordot(x * self.scale, self.w, axes=1) + self.b)


@program
def nearly_a_support_vector_machine():
    x, y = normal(24, 5), keras.utils.to_categorical(integers(3, 24), 3)
    model = keras.Sequential(
        [
            keras.Input((5,)),
            RandomFeatures(),
            layers.Dense(3, kernel_regularizer=keras.regularizers.L1(0.01)),
        ]
    )
    metrics = [
        keras.metrics.CategoricalAccuracy("acc"),
        keras.metrics.CategoricalHinge(),
        keras.metrics.TopKCategoricalAccuracy(2),
    ]
    return trained(fixed(model), x, y, loss=keras.losses.CategoricalHinge(), metrics=metrics)


class Quotients(layers.Layer):
    """Rows of a table by remainder times rows of another by quotient."""

    def __init__(self, size, buckets, width, **options):
        super().__init__(**options)
        self.size, self.buckets = size, buckets
        self.quotient = layers.Embedding(-(-size // buckets), width)
        self.remainder = layers.Embedding(buckets, width)

    def call(self, x):
        at = ops.mod(x, self.buckets)
        return self.quotient(ops.floor_divide(x, self.buckets)) * self.remainder(at)


@program
def tables_that_share_rows():
    users, films = integers(30, 26, 1), integers(20, 26, 1, seed=1)
    a, b = keras.Input((1,), dtype="int32"), keras.Input((1,), dtype="int32")
    rare = ops.greater_equal(b, 12)
    small = layers.Dense(4, use_bias=False)(layers.Embedding(20, 2)(b))
    film = ops.where(ops.expand_dims(rare, -1), small, layers.Embedding(20, 4)(b))
    score = layers.Dot(2, normalize=True)([Quotients(30, 7, 4)(a), film])
    model = fixed(
        keras.Model([a, b], layers.Flatten()(score) + layers.Flatten()(layers.Embedding(30, 1)(a)))
    )
    y = uniform(26, 1, seed=2)
    return trained(
        model,
        [users, films],
        y,
        loss=keras.losses.MeanSquaredLogarithmicError(),
        metrics=[keras.metrics.MeanSquaredLogarithmicError(), "mean_absolute_error"],
    )


class Quiet(layers.Layer):
    """Weight normalisation of a convolution: a direction and a length."""

    def __init__(self, filters, width, dilation=1, **options):
        super().__init__(**options)
        self.filters, self.width, self.dilation = filters, width, dilation

    def build(self, shape):
        self.v = self.add_weight(shape=(self.width, shape[-1], self.filters), name="v")
        self.g = self.add_weight(shape=(self.filters,), initializer="ones", name="g")

    def call(self, x):
        length = ops.sqrt(ops.sum(ops.square(self.v), axis=[0, 1]) + 1e-8)
        kernel = ops.divide(self.v * self.g, length)
        ends = self.dilation * (self.width - 1) // 2
        x = ops.pad(x, [[0, 0], [ends, ends], [0, 0]], mode="reflect")
        return ops.conv(x, kernel, padding="valid", dilation_rate=self.dilation)


@program
def sounds_from_spectra():
    """Two parts of one model learn by turns, by features of the judge and by hinges."""
    value_and_grad, jit = transforms()
    spectra, sounds = normal(12, 6, 3), np.tanh(normal(12, 24, 1, seed=1))
    inputs = keras.Input((6, 3))
    h = Quiet(4, 3)(inputs)
    for stride in (2, 2):
        h = layers.Conv1DTranspose(4, 2 * stride, stride, padding="same")(layers.LeakyReLU(0.2)(h))
        for dilation in (1, 3):
            h = h + Quiet(4, 3, dilation)(layers.LeakyReLU(0.2)(h))
    maker = fixed(keras.Model(inputs, layers.Activation("tanh")(Quiet(1, 7)(h))))
    heard = keras.Input((24, 1))
    maps = [layers.LeakyReLU(0.2)(Quiet(4, 5)(heard))]
    maps.append(layers.LeakyReLU(0.2)(layers.Conv1D(6, 4, 2, groups=2)(maps[-1])))
    pooled = layers.AveragePooling1D(2, 2, "same")(maps[-1])
    judge = fixed(keras.Model(heard, [*maps, Quiet(1, 3)(pooled)]))
    frozen = [v.value for v in maker.non_trainable_variables]

    def judged(weights, x):
        return judge.stateless_call(weights, [], x)[0]

    def judge_loss(weights, real, fake):
        a, b = judged(weights, real)[-1], judged(weights, fake)[-1]
        return ops.mean(ops.relu(1 - a)) + ops.mean(ops.relu(1 + b))

    def maker_loss(weights, other, x, real):
        fake, _ = maker.stateless_call(weights, frozen, x)
        told, true = judged(other, fake), judged(other, real)
        near = sum(ops.mean(ops.abs(a - b)) for a, b in zip(told[:-1], true[:-1]))
        return 10 * near - ops.mean(told[-1])

    optimizers = [keras.optimizers.Adam(2e-2, beta_1=0.5, beta_2=0.9) for _ in range(2)]
    nets = [[v.value for v in net.trainable_variables] for net in (maker, judge)]
    for optimizer, net in zip(optimizers, (maker, judge)):
        optimizer.build(net.trainable_variables)
    slots = [[v.value for v in o.variables] for o in optimizers]

    @jit
    def step(made, judging, first, second, x, real):
        fake, _ = maker.stateless_call(made, frozen, x)
        d, slopes = value_and_grad(judge_loss)(judging, real, fake)
        judging, second = optimizers[1].stateless_apply(second, slopes, judging)
        g, slopes = value_and_grad(maker_loss)(made, judging, x, real)
        made, first = optimizers[0].stateless_apply(first, slopes, made)
        return made, judging, first, second, d, g

    found = []
    for i in range(0, 12, 4):
        *state, d, g = step(*nets, *slots, spectra[i : i + 4], sounds[i : i + 4])
        nets, slots = state[:2], state[2:]
        found += [d, g]
    return found


class Involution(layers.Layer):
    """A kernel for each place, made of the pixel there, over its neighbours."""

    def __init__(self, groups=2, size=3, **options):
        super().__init__(**options)
        self.groups, self.size = groups, size

    def build(self, shape):
        self.rows, self.columns, self.channels = shape[1:]
        self.kernels = keras.Sequential(
            [
                layers.Conv2D(self.channels // 2, 1),
                layers.BatchNormalization(),
                layers.ReLU(),
                layers.Conv2D(self.size**2 * self.groups, 1),
            ]
        )
        self.kernels.build(shape)

    def call(self, x, training=False):
        each = self.channels // self.groups
        kernel = self.kernels(x, training=training)
        kernel = ops.reshape(kernel, (-1, self.rows, self.columns, self.size**2, 1, self.groups))
        near = ops.image.extract_patches(x, self.size, strides=1, padding="same")
        near = ops.reshape(near, (-1, self.rows, self.columns, self.size**2, each, self.groups))
        found = ops.sum(ops.multiply(kernel, near), axis=3)
        return ops.reshape(found, (-1, self.rows, self.columns, self.channels))


@program
def kernels_of_each_pixel():
    x, y = pictures(20, channels=4)
    h = inputs = keras.Input((8, 8, 4))
    for _ in range(2):
        h = layers.MaxPool2D(2)(layers.Activation("hard_swish")(Involution()(h)))
    model = keras.Model(inputs, layers.Dense(2, "softmax")(layers.Flatten()(h)))
    return trained(fixed(model), x, y, loss="sparse_categorical_crossentropy")


class ForwardOnly(layers.Dense):
    """A layer that learns alone: much on true examples, little on false ones."""

    def build(self, shape):
        super().build(shape)
        self.optimizer = keras.optimizers.Adam(0.05)
        self.optimizer.build(self.trainable_variables)

    def call(self, x):
        x = x / (ops.norm(x, ord=2, axis=1, keepdims=True) + 1e-4)
        return super().call(x)


@program
def no_way_back():
    """Forward-forward: gradients stay in each layer, whose optimiser is its own."""
    value_and_grad, jit = transforms()
    x, y = uniform(24, 10), integers(3, 24)
    first = [ForwardOnly(8, "relu"), ForwardOnly(6, "relu")]
    for layer, width in zip(first, (10, 8)):
        layer.build((None, width))
        fixed(layer)

    def labelled(x, y):
        return ops.concatenate([ops.one_hot(y, 3) * ops.max(x), x[:, 3:]], 1)

    def one(layer):
        def loss(weights, good, bad):
            a, b = (layer.stateless_call(weights, [], z)[0] for z in (good, bad))
            far = ops.concatenate([1.0 - ops.mean(a**2, 1), ops.mean(b**2, 1) - 1.0])
            return ops.mean(ops.log(1 + ops.exp(far))), (a, b)

        def step(weights, slots, good, bad):
            (value, after), slopes = value_and_grad(loss, has_aux=True)(weights, good, bad)
            weights, slots = layer.optimizer.stateless_apply(slots, slopes, weights)
            return (weights, slots), value, [ops.stop_gradient(z) for z in after]

        return step

    @jit
    def turn(states, x, y, wrong):
        good, bad, new, found = labelled(x, y), labelled(x, wrong), [], []
        for layer, state in zip(first, states):
            state, value, (good, bad) = one(layer)(*state, good, bad)
            new.append(state)
            found.append(value)
        return new, found

    def scores(states, x):
        def of(label):
            h, total = labelled(x, ops.full((x.shape[0],), label, "int32")), 0
            for layer, (weights, _) in zip(first, states):
                h, _ = layer.stateless_call(weights, [], h)
                total = total + ops.mean(h**2, 1)
            return total

        return ops.vstack([of(label) for label in range(3)])

    states = [
        ([v.value for v in layer.trainable_variables], [v.value for v in layer.optimizer.variables])
        for layer in first
    ]
    found = []
    for i in range(4):
        states, losses = turn(states, x, y, (y + 1 + i % 2) % 3)
        found += losses
    return [*found, *np.asarray(jit(scores)(states, x[:3])).ravel()]


class Modulation(layers.Layer):
    """Focal modulation: contexts of growing windows, weighed by gates, times a query."""

    def __init__(self, width, levels=2, **options):
        super().__init__(**options)
        self.width, self.levels = width, levels
        self.first = layers.Dense(2 * width + levels + 1)
        self.wider = [
            layers.DepthwiseConv2D(3 + 2 * k, padding="same", activation="gelu", use_bias=False)
            for k in range(levels)
        ]
        self.mix, self.last = layers.Conv2D(width, 1, activation="linear"), layers.Dense(width)

    def call(self, x):
        query, context, gates = ops.split(self.first(x), [self.width, 2 * self.width], axis=-1)
        total = 0
        for k, layer in enumerate(self.wider):
            context = layer(context)
            total = total + context * gates[..., k : k + 1]
        whole = ops.gelu(ops.mean(context, axis=(1, 2), keepdims=True))
        total = ops.add(total, whole * gates[..., self.levels :])
        return self.last(query * self.mix(total))


@program
def contexts_of_many_sizes():
    x, y = pictures(20, channels=3)
    inputs = keras.Input((8, 8, 3))
    h = layers.Conv2D(6, 2, 2)(inputs)
    for _ in range(2):
        h = h + 1e-1 * Modulation(6)(layers.LayerNormalization(epsilon=1e-5)(h))
        h = h + layers.Dense(6)(layers.Dense(12, keras.activations.hard_tanh)(h))
    pooled = layers.GlobalAvgPool2D()(h)
    model = keras.Model(inputs, layers.Dense(2)(pooled))
    optimizer = keras.optimizers.AdamW(
        keras.optimizers.schedules.CosineDecay(0.0, 10, warmup_target=0.02, warmup_steps=3)
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return trained(fixed(model), x, y, optimizer=optimizer, loss=loss)


class External(layers.Layer):
    """Attention to a memory that all pictures share, normalised twice."""

    def __init__(self, width, heads=2, slots=5, **options):
        super().__init__(**options)
        self.heads, self.each = heads, width // heads
        self.first, self.last = layers.Dense(width), layers.Dense(width)
        self.keys, self.values = layers.Dense(slots), layers.Dense(self.each)

    def call(self, x):
        h = ops.reshape(self.first(x), (-1, x.shape[1], self.heads, self.each))
        h = self.keys(ops.moveaxis(h, 1, 2))
        h = ops.softmax(h, axis=2)
        h = h / (1e-9 + ops.amax(h, axis=-1, keepdims=True))
        h = ops.moveaxis(self.values(h), 2, 1)
        return self.last(ops.reshape(h, (-1, x.shape[1], self.heads * self.each)))


class Dropped(layers.Layer):
    """A branch with a learned scale for each channel, from `first` on."""

    def __init__(self, inner, first=0.1, **options):
        super().__init__(**options)
        self.inner, self.first = inner, first

    def build(self, shape):
        self.scale = self.add_weight(
            shape=(shape[-1],), name="gamma", initializer=keras.initializers.Constant(self.first)
        )

    def call(self, x):
        return x + ops.multiply(self.scale, self.inner(x))


class ClassAttention(layers.Layer):
    """The row of the class asks, all rows answer."""

    def __init__(self, width, heads, **options):
        super().__init__(**options)
        self.attend = layers.MultiHeadAttention(heads, width // heads)
        self.norm = layers.LayerNormalization(epsilon=1e-6)

    def build(self, shape):
        self.token = self.add_weight(shape=(1, 1, shape[-1]), initializer="zeros", name="token")

    def call(self, x):
        token = ops.tile(self.token, (ops.shape(x)[0], 1, 1))
        for _ in range(2):
            both = self.norm(ops.concatenate([token, x], 1))
            token = token + self.attend(both[:, :1], both)
        return ops.squeeze(token, 1)


@program
def classes_that_ask():
    x, y = pictures(20)
    inputs = keras.Input((8, 8, 1))
    patches = ops.image.extract_patches(inputs, (2, 2))
    h = layers.Dense(6)(layers.Reshape((16, 4))(patches))
    h = h + layers.Embedding(16, 6)(ops.cumsum(ops.ones_like(h[..., 0], dtype="int32"), 1) - 1)
    for _ in range(2):
        h = Dropped(External(6))(layers.LayerNormalization()(h))
        h = Dropped(layers.Dense(6, "gelu"), 1e-2)(h)
    model = keras.Model(inputs, layers.Dense(1, "sigmoid")(ClassAttention(6, 2)(h)))
    metrics = [
        keras.metrics.TruePositives(),
        keras.metrics.FalsePositives(0.4),
        keras.metrics.TrueNegatives(),
        keras.metrics.RecallAtPrecision(0.5),
    ]
    return trained(fixed(model), x, y, loss="binary_crossentropy", metrics=metrics)


class Masked(keras.Model):
    """A masked autoencoder: some patches are seen, all are painted."""

    def __init__(self, kept=5, **options):
        super().__init__(**options)
        self.kept, self.table = kept, layers.Embedding(16, 6)
        self.embed, self.paint = layers.Dense(6), layers.Dense(4)
        self.attend = layers.MultiHeadAttention(2, 3)
        self.again = layers.MultiHeadAttention(2, 3)

    def build(self, shape):
        self.unseen = self.add_weight(shape=(1, 6), name="unseen")
        super().build(shape)

    def call(self, inputs):
        patches, order = inputs  # order: of numbers that came with the data
        order = ops.argsort(order, axis=-1)
        seen, hidden = order[:, : self.kept], order[:, self.kept :]
        places = ops.broadcast_to(self.table(ops.arange(16))[None], (*ops.shape(patches)[:2], 6))
        rows = self.embed(patches) + places
        h = ops.take_along_axis(rows, ops.expand_dims(seen, -1), axis=1)
        h = h + self.attend(h, h)
        rest = ops.take_along_axis(places, hidden[..., None], axis=1)
        both = ops.concatenate([h, rest + self.unseen], 1)
        both = both + self.again(both, both)
        back = ops.take_along_axis(both, ops.argsort(order, -1)[..., None], 1)
        painted = self.paint(back)
        true = ops.take_along_axis(patches, hidden[..., None], 1)
        said = ops.take_along_axis(painted, hidden[..., None], 1)
        self.add_loss(ops.mean(ops.square(true - said)))
        return painted


@program
def painting_what_is_hidden():
    x = ops.convert_to_numpy(ops.image.extract_patches(pictures(20)[0], 2)).reshape(20, 16, 4)
    model, order = Masked(), uniform(20, 16, seed=3)
    model([x, order])
    fixed(model).compile(keras.optimizers.AdamW(0.01, global_clipnorm=0.5), loss=None)
    found = trained(model, [x, order], None, optimizer=None, epochs=4)
    return [*found, *model.predict([x, order], batch_size=7, verbose=0)[0, 0]]


class NearestNeighbours(keras.Model):
    """Views of the nearest neighbours in a queue of earlier embeddings."""

    def __init__(self, net, width, **options):
        super().__init__(**options)
        self.net, self.width = net, width

    def build(self, shape):
        self.queue = self.add_weight(
            shape=(8, self.width),
            trainable=False,
            name="queue",
            initializer=keras.initializers.Constant(normal(8, self.width)),
        )

    def nearest(self, z):
        similar = ops.matmul(z, ops.transpose(self.queue))
        near = ops.take(self.queue, ops.argmax(similar, axis=1), axis=0)
        return z + ops.stop_gradient(near - z)

    def call(self, views, training=False):
        a, b = (ops.normalize(self.net(v, training=training), axis=1) for v in views)
        sides = []
        for p, q in ((a, b), (b, a)):
            logits = ops.matmul(self.nearest(p), ops.transpose(q)) / 0.1
            labels = ops.arange(ops.shape(logits)[0])
            sides += [
                keras.losses.sparse_categorical_crossentropy(labels, m, from_logits=True)
                for m in (logits, ops.transpose(logits))
            ]
        self.add_loss(ops.mean(ops.stack(sides)))
        if training:
            rows = ops.concatenate([a, self.queue], axis=0)[:8]
            self.queue.assign(ops.reshape(rows, (8, self.width)))
        return a


@program
def neighbours_in_a_queue():
    x, _ = pictures(20)
    views = [x, np.clip(x * 1.2 - 0.1, 0, 1)]
    net = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, 2, "same", activation="relu"),
            layers.Flatten(),
            layers.Dense(5),
        ]
    )
    model = NearestNeighbours(fixed(net), 5)
    model.compile("adam", loss=None)
    return trained(model, views, None, optimizer=None, batch_size=8)
