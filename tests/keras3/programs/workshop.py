"""Programs of the kind of keras.io's examples for texts, tables, pictures and control: caches of
keys, lists in order, cycles of nets, selective states, optimisers by layers."""

import keras
import numpy as np
from keras import layers, ops

from . import fixed, integers, normal, pictures, program, trained, transforms, uniform


@program
def branches_by_number():
    """ops.switch, map and vectorize within a step, with gradients through them."""
    value_and_grad, jit = transforms()
    weights = [normal(4, 4, seed=i) / 2 for i in range(3)] + [normal(4, 1, seed=4)]

    def loss(weights, which, x, y):
        *inner, last = weights
        ways = [
            lambda h, w=w, f=f: f(ops.matmul(h, w))
            for w, f in zip(inner, (ops.tanh, ops.sinh, ops.arctan))
        ]
        h = ops.switch(which, ways, x)
        rows = ops.map(lambda row: ops.subtract(row, ops.max(row)) * ops.exp2(-row), h)
        each = ops.vectorize(lambda a, b: ops.vdot(a, a) + b, signature="(n),()->()")
        return ops.mean((ops.matmul(rows, last)[:, 0] - y) ** 2) + 0.01 * ops.mean(each(rows, y))

    step, x, y, found = jit(value_and_grad(loss)), normal(10, 4), normal(10, seed=1), []
    for i in range(6):
        value, slopes = step(weights, np.int32(i % 3), x, y)
        weights = [w - 0.05 * np.asarray(g) for w, g in zip(weights, slopes)]
        found.append(value)
    return found


def likeness(a, b):
    """The structural likeness of pictures, by windows of a fixed kernel."""
    kernel = np.ones((3, 3, a.shape[-1], 1), "float32") / 9

    def mean(x):
        return ops.depthwise_conv(x, kernel, padding="valid")

    ma, mb = mean(a), mean(b)
    va, vb, both = mean(a * a) - ma**2, mean(b * b) - mb**2, mean(a * b) - ma * mb
    top = (2 * ma * mb + 1e-2) * (2 * both + 3e-2)
    return ops.mean(ops.true_divide(top, (ma**2 + mb**2 + 1e-2) * (va + vb + 3e-2)))


class Depths(keras.Model):
    def __init__(self, net, **options):
        super().__init__(**options)
        self.net = net

    def call(self, x):
        return self.net(x)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        true, said = ([d[:, 1:] - d[:, :-1], d[:, :, 1:] - d[:, :, :-1]] for d in (y, y_pred))
        edges = [ops.exp(ops.mean(ops.absolute(t))) for t in true]
        smooth = sum(ops.mean(ops.abs(s * e)) for s, e in zip(said, edges))
        return 0.85 * (1 - likeness(y, y_pred)) + 0.1 * ops.mean(ops.abs(y - y_pred)) + 0.9 * smooth


@program
def depths_of_pictures():
    x, _ = pictures(20, channels=3)
    inputs = keras.Input((8, 8, 3))
    low = layers.Conv2D(4, 3, padding="same")(inputs)
    h = layers.MaxPool2D()(layers.LeakyReLU()(layers.BatchNormalization()(low)))
    h = layers.SeparableConv2D(6, 3, padding="same", activation="relu")(h)
    h = layers.UpSampling2D(2, interpolation="bilinear")(h)
    h = layers.Conv2D(4, 3, padding="same")(layers.Concatenate()([h, low]))
    out = layers.Conv2D(1, 1, activation="tanh")(layers.LeakyReLU()(h))
    model = Depths(fixed(keras.Model(inputs, out)))
    model.compile(keras.optimizers.Adam(0.01, amsgrad=False))
    return trained(model, x, x.mean(-1, keepdims=True), optimizer=None)


@program
def distance_to_a_surface():
    """A net whose slope by place has length one, nought on a circle."""
    value_and_grad, jit = transforms()
    net = fixed(
        keras.Sequential(
            [
                keras.Input((2,)),
                layers.Dense(10, "softplus"),
                layers.Dense(8, ops.sin),
                layers.Dense(1),
            ]
        )
    )

    def loss(weights, inside, rim):
        def f(x):
            return ops.sum(net.stateless_call(weights, [], x)[0])

        _, slope = value_and_grad(f)(inside)
        length = ops.norm(slope, axis=-1)
        on = net.stateless_call(weights, [], rim)[0]
        return ops.mean(ops.square(length - 1)) + ops.mean(ops.fabs(on))

    angles = uniform(12, seed=1) * 2 * np.pi
    rim = np.stack([np.cos(angles), np.sin(angles)], 1)
    step, weights, found = jit(value_and_grad(loss)), [v.value for v in net.variables], []
    for i in range(5):
        value, slopes = step(weights, normal(14, 2, seed=i), rim)
        weights = [np.asarray(w) - 0.05 * np.asarray(g) for w, g in zip(weights, slopes)]
        found.append(value)
    return found


class Roads(layers.Layer):
    """Rows of neighbours through a fixed adjacency, then an LSTM for each node."""

    def __init__(self, near, width, units, ahead, **options):
        super().__init__(**options)
        self.near = near / near.sum(1, keepdims=True)
        self.lstm, self.last, self.width = layers.LSTM(units), layers.Dense(ahead), width

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.width), name="w")

    def call(self, x):  # (batch, time, nodes, features)
        nodes = ops.transpose(x, [2, 0, 1, 3])
        told = ops.einsum("nm,mbtf->nbtf", self.near, nodes)
        h = ops.relu(ops.concatenate([nodes @ self.w, told @ self.w], -1))
        count, batch, time, width = ops.shape(h)
        out = self.last(self.lstm(ops.reshape(h, (count * batch, time, width))))
        return ops.transpose(ops.reshape(out, (count, batch, -1)), [1, 2, 0])


@program
def traffic_on_roads():
    x = normal(18, 6, 4, 1)
    near = np.eye(4, dtype="float32") + (uniform(4, 4) > 0.5)
    model = keras.Sequential([keras.Input((6, 4, 1)), Roads(near, 3, 5, 2)])
    y = x[:, -2:, :, 0] * 0.5
    rate = keras.optimizers.RMSprop(0.01, momentum=0.3)
    return trained(
        fixed(model),
        x,
        y,
        optimizer=rate,
        batch_size=7,
        loss=keras.losses.MeanAbsoluteError(),
        metrics=[keras.metrics.MeanSquaredError()],
    )


@program
def answers_in_a_text():
    """Attention that flows both ways between a text and a question; two places are said."""
    text, question = integers(20, 20, 9) + 1, integers(20, 20, 5, seed=1) + 1
    text[:, 7:], question[::2, 3:] = 0, 0
    a, b = keras.Input((9,), dtype="int32"), keras.Input((5,), dtype="int32")
    words = layers.Embedding(21, 5)
    reader = layers.Bidirectional(layers.LSTM(3, return_sequences=True))
    c, q = reader(words(a)), reader(words(b))
    like = ops.einsum("bik,bjk->bij", layers.Dense(6, use_bias=False)(c), q)
    seen = ops.expand_dims(ops.not_equal(b, 0), 1)
    like = ops.where(seen, like, -1e9)
    told = ops.matmul(ops.softmax(like, -1), q)
    back = ops.softmax(ops.amax(like, axis=-1, keepdims=True), axis=1)
    back = ops.repeat(ops.sum(back * c, 1, keepdims=True), 9, axis=1)
    h = layers.Concatenate()([c, told, c * told, c * back])
    h = layers.Bidirectional(layers.GRU(3, return_sequences=True))(h)
    out = [
        ops.softmax(ops.where(ops.greater(a, 0), layers.Flatten()(layers.Dense(1)(h)), -1e9))
        for _ in range(2)
    ]
    model = fixed(keras.Model([a, b], out))
    y = [integers(6, 20, seed=2), integers(6, 20, seed=3)]
    return trained(
        model,
        [text, question],
        y,
        loss=["sparse_categorical_crossentropy"] * 2,
        metrics=[["accuracy"], ["accuracy"]],
    )


@program
def words_under_covers():
    """Hidden words are told by a table that reads both ways; the others weigh nothing."""
    words = integers(15, 20, 8) + 2
    hidden = uniform(20, 8, seed=1) < 0.3
    hidden[:, 0] = True
    x = np.where(hidden, 1, words).astype("int32")
    inputs = keras.Input((None,), dtype="int32")
    table = layers.ReversibleEmbedding(17, 6, mask_zero=True)
    h = table(inputs)
    for _ in range(2):
        both = layers.MultiHeadAttention(2, 3)(h, h)
        h = layers.LayerNormalization(epsilon=1e-6)(h + both)
        h = layers.LayerNormalization(epsilon=1e-6)(h + layers.Dense(6)(layers.Dense(9, "gelu")(h)))
    model = fixed(keras.Model(inputs, table(h, reverse=True)))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, weighted_metrics=["sparse_categorical_accuracy"])
    return trained(model, x, words, optimizer=None, sample_weight=hidden.astype("float32"))


@program
def sentences_side_by_side():
    a, b = integers(20, 20, 7) + 1, integers(20, 20, 7, seed=1) + 1
    a[:, 5:], b[::3, 4:] = 0, 0
    words = keras.Input((7,), dtype="int32")
    h = layers.Embedding(21, 5)(words)
    seen = ops.cast(ops.not_equal(words, 0), "float32")
    h = layers.MultiHeadAttention(2, 2)(h, h, attention_mask=ops.cast(seen[:, None, :], "bool"))
    pooled = ops.sum(h * seen[..., None], 1) / ops.maximum(ops.sum(seen, 1, keepdims=True), 1)
    tower = fixed(keras.Model(words, layers.UnitNormalization()(pooled)))
    ends = keras.Input((7,), dtype="int32"), keras.Input((7,), dtype="int32")
    score = layers.Dot(axes=1)([tower(e) for e in ends])
    model = keras.Model(ends, score)
    y = np.sign(normal(20, 1))
    return trained(
        model,
        [a, b],
        y,
        loss=keras.losses.Hinge(),
        metrics=[keras.metrics.SquaredHinge(), "cosine_similarity"],
    )


@program
def tables_through_transformers():
    """Each category is a word of its column; numbers are normalised; all are mixed at the end."""
    kinds, numbers = integers(6, 24, 3), normal(24, 2)
    a, b = keras.Input((3,), dtype="int32"), keras.Input((2,))
    columns = [layers.Embedding(6, 4)(ops.get_item(a, (slice(None), i))) for i in range(3)]
    h = ops.stack(columns, axis=1)
    h = h + layers.Embedding(3, 4)(ops.cumsum(ops.ones_like(a), axis=1) - 1)
    for _ in range(2):
        told = layers.MultiHeadAttention(2, 2)(h, h)
        h = layers.LayerNormalization()(layers.Add()([told, h]))
        h = layers.LayerNormalization()(layers.Add()([layers.Dense(4, "gelu")(h), h]))
    h = layers.concatenate([layers.Flatten()(h), layers.LayerNormalization()(b)])
    for n in (8, 5):
        h = layers.Dense(n, "selu")(layers.BatchNormalization()(h))
    model = fixed(keras.Model([a, b], layers.Dense(1, "sigmoid")(h)))
    return trained(
        model,
        [kinds, numbers],
        (numbers[:, :1] > 0) * 1.0,
        loss="binary_crossentropy",
        optimizer=keras.optimizers.AdamW(0.01, weight_decay=0.1),
        sample_weight=uniform(24, seed=5),
        metrics=["AUC"],
    )


def of_whole_lists(y_true, y_pred):
    """Minus the log of the chance of the true order, place by place."""
    order = ops.argsort(-y_true, axis=1)
    scores = ops.take_along_axis(y_pred, order, axis=1)
    scores = scores - ops.max(scores, axis=1, keepdims=True)
    rest = ops.flip(ops.cumsum(ops.flip(ops.exp(scores), axis=1), axis=1), axis=1)
    return ops.sum(ops.log(rest + 1e-6) - scores, axis=1)


class Crossed(layers.Layer):
    """Products of all pairs of features, and a cross of low rank."""

    def build(self, shapes):
        count, width = len(shapes), shapes[0][-1]
        pairs = np.triu_indices(count, 1)
        self.at = (pairs[0] * count + pairs[1]).astype("int32")
        self.u = self.add_weight(shape=(count * width, 3), name="u")
        self.v = self.add_weight(shape=(3, count * width), name="v")

    def call(self, parts):
        h = ops.stack(parts, axis=-2)
        pairs = ops.matmul(h, ops.swapaxes(h, -1, -2))
        flat = ops.reshape(pairs, (*ops.shape(pairs)[:-2], -1))
        x = ops.concatenate(parts, axis=-1)
        cross = ops.multiply(x, ops.matmul(ops.matmul(x, self.u), self.v)) + x
        return ops.concatenate([ops.take(flat, self.at, axis=-1), cross], axis=-1)


@program
def films_in_order():
    users, films = integers(9, 20, 1), integers(12, 20, 5, seed=1)
    a, b = keras.Input((1,), dtype="int32"), keras.Input((5,), dtype="int32")
    who = ops.repeat(layers.Embedding(9, 3)(a), 5, axis=1)
    h = Crossed()([who, layers.Embedding(12, 3)(b), layers.Embedding(12, 3)(b)])
    out = ops.squeeze(layers.Dense(1)(layers.Dense(6, "relu")(h)), -1)
    model = fixed(keras.Model([a, b], out))
    return trained(
        model,
        [users, films],
        uniform(20, 5, seed=2),
        loss=of_whole_lists,
        optimizer=keras.optimizers.Adagrad(0.1),
        batch_size=6,
    )


@program
def control_without_a_model():
    """DDPG: an actor by a critic's slope, targets that follow slowly."""
    value_and_grad, jit = transforms()
    actor = fixed(
        keras.Sequential([keras.Input((3,)), layers.Dense(6, "relu"), layers.Dense(1, "tanh")])
    )
    s, a = keras.Input((3,)), keras.Input((1,))
    h = layers.concatenate([layers.Dense(4, "relu")(s), layers.Dense(3, "relu")(a)])
    critic = fixed(keras.Model([s, a], layers.Dense(1)(h)))
    pair = [keras.optimizers.Adam(0.01), keras.optimizers.Adam(0.02)]
    nets = [[v.value for v in net.trainable_variables] for net in (actor, critic)]
    for optimizer, net in zip(pair, (actor, critic)):
        optimizer.build(net.trainable_variables)
    slots = [[v.value for v in o.variables] for o in pair]

    def critic_loss(weights, x, y):
        return ops.mean(ops.square(critic.stateless_call(weights, [], x)[0] - y))

    def actor_loss(weights, judge, x):
        said = actor.stateless_call(weights, [], x)[0]
        return -ops.mean(critic.stateless_call(judge, [], [x, said])[0])

    @jit
    def step(nets, aims, slots, x, act, reward, after):
        act_after = actor.stateless_call(aims[0], [], after)[0]
        y = reward + 0.9 * critic.stateless_call(aims[1], [], [after, act_after])[0]
        b, slopes = value_and_grad(critic_loss)(nets[1], [x, act], y)
        judge, second = pair[1].stateless_apply(slots[1], slopes, nets[1])
        c, slopes = value_and_grad(actor_loss)(nets[0], judge, x)
        player, first = pair[0].stateless_apply(slots[0], slopes, nets[0])
        aims = keras.tree.map_structure(lambda aim, w: 0.9 * aim + 0.1 * w, aims, [player, judge])
        return [player, judge], aims, [first, second], b, c

    aims, found = keras.tree.map_structure(lambda w: w, nets), []
    for i in range(4):
        x = normal(16, 3, seed=i)
        act = np.tanh(normal(16, 1, seed=i + 9))
        nets, aims, slots, b, c = step(nets, aims, slots, x, act, x[:, :1] * act, x * 0.8 + act)
        found += [b, c]
    return found


class Reflected(layers.Layer):
    def __init__(self, by=1, **options):
        super().__init__(**options)
        self.by = ((0, 0), (by, by), (by, by), (0, 0))

    def call(self, x):
        return ops.pad(x, self.by, "reflect")


def painter():
    h = inputs = keras.Input((8, 8, 1))
    h = layers.ReLU()(layers.GroupNormalization(-1)(layers.Conv2D(4, 3)(Reflected()(h))))
    h = layers.ReLU()(layers.GroupNormalization(2)(layers.Conv2D(6, 3, 2, "same")(h)))
    h = h + layers.GroupNormalization(-1)(layers.Conv2D(6, 3)(Reflected()(h)))
    h = layers.Conv2DTranspose(4, 3, 2, "same", activation="relu")(h)
    return fixed(keras.Model(inputs, layers.Conv2D(1, 3, activation="tanh")(Reflected()(h))))


@program
def there_and_back():
    """Two painters whose pictures come back as they were, each with a judge."""
    value_and_grad, jit = transforms()
    makers = [painter(), painter()]
    judges = [
        fixed(
            keras.Sequential(
                [
                    keras.Input((8, 8, 1)),
                    layers.Conv2D(3, 3, 2, "same"),
                    layers.LeakyReLU(0.2),
                    layers.Conv2D(1, 3, padding="same"),
                ]
            )
        )
        for _ in range(2)
    ]

    def run(net, weights, x):
        return net.stateless_call(weights, [], x)[0]

    def makers_loss(weights, judging, pair):
        total = 0.0
        for i in (0, 1):
            fake = run(makers[i], weights[i], pair[i])
            back = run(makers[1 - i], weights[1 - i], fake)
            same = run(makers[i], weights[i], pair[1 - i])
            told = run(judges[i], judging[i], fake)
            total = total + ops.mean((told - 1) ** 2) + 10 * ops.mean(ops.abs(back - pair[i]))
            total = total + 5 * ops.mean(ops.abs(same - pair[1 - i]))
        return total

    def judges_loss(judging, weights, pair):
        total = 0.0
        for i in (0, 1):
            fake = ops.stop_gradient(run(makers[i], weights[i], pair[i]))
            true = ops.mean((run(judges[i], judging[i], pair[1 - i]) - 1) ** 2)
            total = total + 0.5 * (true + ops.mean(run(judges[i], judging[i], fake) ** 2))
        return total

    @jit
    def step(weights, judging, pair):
        g, slopes = value_and_grad(makers_loss)(weights, judging, pair)
        d, others = value_and_grad(judges_loss)(judging, weights, pair)
        down = keras.tree.map_structure(
            lambda w, s: w - 0.02 * s, [weights, judging], [slopes, others]
        )
        return down, g, d

    nets = [[[v.value for v in n.trainable_variables] for n in part] for part in (makers, judges)]
    found = []
    for i in range(4):
        pair = [pictures(5, seed=i)[0], 1 - pictures(5, seed=i + 9)[0]]
        nets, g, d = step(*nets, pair)
        found += [g, d]
    return found


class ByMap(layers.Layer):
    """Normalised pictures with scales and shifts that a map of classes says for each place."""

    def build(self, shapes):
        self.size, channels = shapes[0][1:3], shapes[0][-1]
        self.shared = layers.Conv2D(4, 3, padding="same", activation="relu")
        self.scale = layers.Conv2D(channels, 3, padding="same")
        self.shift = layers.Conv2D(channels, 3, padding="same")

    def call(self, inputs):
        x, told = inputs
        told = self.shared(ops.image.resize(told, self.size, interpolation="nearest"))
        mean, var = ops.moments(x, axes=(0, 1, 2), keepdims=True)
        return self.scale(told) * ops.divide(x - mean, ops.sqrt(var + 1e-5)) + self.shift(told)


@program
def pictures_by_maps_of_classes():
    x, _ = pictures(16)
    told = keras.utils.to_categorical((x[..., 0] * 3).astype("int32"), 3)
    latent, place = keras.Input((6,)), keras.Input((8, 8, 3))
    h = layers.Reshape((2, 2, 5))(layers.Dense(20)(latent))
    for width in (5, 4):
        up = layers.UpSampling2D(2)(layers.LeakyReLU(0.2)(ByMap()([h, place])))
        h = layers.Conv2D(width, 3, padding="same")(up)
    out = layers.Conv2D(1, 3, padding="same", activation="sigmoid")(ByMap()([h, place]))
    model = keras.Model([latent, place], out)
    return trained(fixed(model), [normal(16, 6), told], x, loss="mae", batch_size=6)


class Selective(layers.Layer):
    """States that forget and take by what they read, all of a sequence by one scan of pairs."""

    def __init__(self, inner=6, states=3, **options):
        super().__init__(**options)
        self.inner, self.states = inner, states

    def build(self, shape):
        self.width = shape[-1]
        self.first = layers.Dense(2 * self.inner, use_bias=False)
        self.near = layers.DepthwiseConv1D(3)
        self.told = layers.Dense(1 + 2 * self.states, use_bias=False)
        self.step, self.last = layers.Dense(self.inner, "softplus"), layers.Dense(self.width)
        start = np.log(np.tile(np.arange(1.0, self.states + 1, dtype="float32"), (self.inner, 1)))
        self.decay = self.add_weight(
            shape=start.shape, name="decay", initializer=keras.initializers.Constant(start)
        )
        self.skip = self.add_weight(shape=(self.inner,), initializer="ones", name="skip")

    def call(self, x):
        h, gate = ops.split(self.first(x), 2, axis=-1)
        h = ops.silu(self.near(ops.pad(h, ((0, 0), (2, 0), (0, 0)))))
        step, into, out = ops.split(self.told(h), [1, 1 + self.states], axis=-1)
        step = self.step(step)
        keep = ops.exp(ops.einsum("btd,dn->btdn", step, -ops.exp(self.decay)))
        take = ops.einsum("btd,btn,btd->btdn", step, into, h)

        def joined(a, b):
            return a[0] * b[0], b[0] * a[1] + b[1]

        _, held = ops.associative_scan(joined, (keep, take), axis=1)
        y = ops.einsum("btdn,btn->btd", held, out) + h * self.skip
        return self.last(ops.multiply(y, ops.silu(gate)))


@program
def selective_states():
    x = normal(18, 7, 4)
    h = inputs = keras.Input((7, 4))
    for _ in range(2):
        h = h + Selective()(layers.RMSNormalization()(h))
    model = keras.Model(inputs, layers.Dense(2)(layers.GlobalMaxPool1D()(h)))
    y = np.stack([x.sum((1, 2)), x[:, 0, 0] * x[:, -1, 1]], 1) / 4
    return trained(fixed(model), x, y, loss="huber", optimizer=keras.optimizers.Adam(0.02))


class Decoder(layers.Layer):
    """A block of KerasHub's kind: keys and values of earlier words are kept and written into."""

    def __init__(self, width, heads, **options):
        super().__init__(**options)
        self.heads, self.each = heads, width // heads
        self.parts = [layers.EinsumDense("btd,dhk->bhtk", (heads, None, self.each)) for _ in "qkv"]
        self.out = layers.EinsumDense("bhtk,hkd->btd", (None, width))
        self.norms = [layers.RMSNormalization(), layers.LayerNormalization(center=False)]
        self.gate, self.up, self.down = (
            layers.Dense(8, "silu"),
            layers.Dense(8),
            layers.Dense(width),
        )

    def turned(self, x, at):
        half = self.each // 2
        waves = 10.0 ** (-ops.arange(half, dtype="float32") / half)
        angles = ops.outer(ops.cast(ops.arange(x.shape[2]) + at, "float32"), waves)
        a, b = ops.split(x, 2, axis=-1)
        sin, cos = ops.sin(angles), ops.cos(angles)
        return ops.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)

    def call(self, x, cache=None, at=0):
        h = self.norms[0](x)
        q, k, v = (part(h) for part in self.parts)
        q, k = self.turned(q, at), self.turned(k, at)
        if cache is not None:
            start = (0, 0, at, 0)
            k = ops.slice_update(cache[:, 0], start, k)
            v = ops.slice_update(cache[:, 1], start, v)
            cache = ops.stack([k, v], axis=1)
        scores = ops.einsum("bhqk,bhsk->bhqs", q, k) / np.sqrt(self.each)
        seen = ops.arange(k.shape[2])[None] <= ops.arange(q.shape[2])[:, None] + at
        scores = ops.softmax(ops.where(seen, scores, -1e9))
        x = x + self.out(ops.einsum("bhqs,bhsk->bhqk", scores, v))
        h = self.norms[1](x)
        return x + self.down(self.gate(h) * self.up(h)), cache


class Speaker(keras.Model):
    def __init__(self, words, width, **options):
        super().__init__(**options)
        self.table = layers.Embedding(words, width)
        self.blocks = [Decoder(width, 2) for _ in range(2)]
        self.norm = layers.RMSNormalization()

    def call(self, words, caches=None, at=0):
        h, kept = self.table(words), []
        for i, block in enumerate(self.blocks):
            h, cache = block(h, cache=None if caches is None else caches[i], at=at)
            kept.append(cache)
        logits = ops.matmul(self.norm(h), ops.transpose(self.table.embeddings))
        return logits if caches is None else (logits, kept)


@program
def keys_are_kept():
    """A small speaker is trained, and then says words one by one in a loop within a step."""
    _, jit = transforms()
    words = integers(11, 16, 9)
    words[:, 1::2] = (words[:, :-1:2] * 3 + 1) % 11
    model = Speaker(11, 8)
    model(words[:, :-1])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    rate = keras.optimizers.schedules.CosineDecay(0.05, 12)
    found = trained(
        fixed(model),
        words[:, :-1],
        words[:, 1:],
        loss=loss,
        optimizer=keras.optimizers.AdamW(rate, clipnorm=1.0),
    )
    weights = [v.value for v in model.trainable_variables]

    def said(weights, prompt):
        text = ops.pad(prompt, ((0, 0), (0, 5)))
        caches = [ops.zeros((3, 2, 2, 8, 4)) for _ in model.blocks]
        (logits, caches), _ = model.stateless_call(weights, [], prompt, caches=caches)
        text = ops.slice_update(text, (0, 3), ops.cast(ops.argmax(logits[:, -1:], -1), "int32"))

        def turn(at, text, caches, total):
            word = ops.slice(text, (0, at), (3, 1))
            (logits, caches), _ = model.stateless_call(weights, [], word, caches=caches, at=at)
            best = ops.cast(ops.argmax(logits, -1), "int32")
            total = total + ops.mean(ops.max(ops.log_softmax(logits), -1))
            return at + 1, ops.slice_update(text, (0, at + 1), best), caches, total

        start = (ops.convert_to_tensor(3), text, caches, ops.zeros(()))
        return ops.while_loop(lambda at, *rest: at < 7, turn, start)

    _, text, _, total = jit(said)(weights, words[:3, :3])
    whole = ops.convert_to_numpy(model(text))
    again = np.argmax(whole[:, 2:-1], -1) == np.asarray(text)[:, 3:]
    return [*found, total, *np.asarray(text).ravel(), again.mean()]


class Centred(keras.optimizers.RMSprop):
    """Gradients of matrices lose their means before a step is taken."""

    def apply(self, grads, trainable_variables=None):
        centred = [
            g - ops.mean(g, axis=tuple(range(len(g.shape) - 1)), keepdims=True)
            if len(g.shape) > 1
            else g
            for g in grads
        ]
        return super().apply(centred, trainable_variables)


@program
def optimisers_of_ones_own():
    x, y = pictures(20)
    parts = [layers.Conv2D(4, 3, activation="relu"), layers.GlobalMaxPool2D(), layers.Dense(1)]
    model = fixed(keras.Sequential([keras.Input((8, 8, 1)), *parts]))
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    seen = []
    told = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: seen.append(logs["loss"])
    )
    found = trained(model, x, y, optimizer=Centred(0.01), loss=loss, callbacks=[told])
    model.optimizer.learning_rate.assign(0.002)
    found += trained(model, x, y, optimizer=None, callbacks=[told])
    return [*found, *seen[3:]]


class Learner(keras.Model):
    """A model that holds a model: its own steps of tests and of predictions."""

    def __init__(self, net, **options):
        super().__init__(**options)
        self.net, self.far = net, keras.metrics.Sum(name="far")

    def call(self, x, training=False):
        return self.net(x, training=training)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        self.far.update_state(ops.sum(ops.square(y - y_pred), -1))
        found = super().compute_metrics(x, y, y_pred, sample_weight)
        return {**found, "far_root": ops.sqrt(self.far.result())}


@program
def models_that_hold_models():
    x = normal(22, 5)
    y = np.stack([x[:, 0] ** 2, np.abs(x[:, 1])], 1)
    net = keras.Sequential(
        [keras.Input((5,)), layers.Dense(7, "relu6"), layers.BatchNormalization(), layers.Dense(2)]
    )
    model = Learner(fixed(net))
    metrics = [keras.metrics.MeanMetricWrapper(keras.losses.log_cosh, name="cosh")]
    found = trained(model, x, y, metrics=metrics, validation_split=0.25)
    scores = model.evaluate(x, y, batch_size=8, return_dict=True, verbose=0)
    return [*found, *[scores[k] for k in sorted(scores)]]
