"""Programs with odd parts: gradients by pictures, own loops within a step, cells in cells,
equations as losses, and layers that read at places which are computed."""

import keras
import numpy as np
from keras import layers, ops

from . import fixed, integers, normal, pictures, program, trained, transforms, uniform


def descent(loss, start, turns=5, rate=0.1):
    """Losses while one array goes down its own gradient."""
    value_and_grad, jit = transforms()
    step, x, found = jit(lambda x: value_and_grad(loss)(x)), start, []
    for _ in range(turns):
        value, slope = step(x)
        x = x - rate * np.asarray(slope)
        found.append(value)
    return found


@program
def style_transfer():
    """A picture goes down the difference of its Gram matrices from those of another one."""
    inputs = keras.Input((8, 8, 3))
    first = layers.Conv2D(4, 3, activation="relu")(inputs)
    second = layers.Conv2D(6, 3, activation="relu")(layers.AveragePooling2D(2)(first))
    net = fixed(keras.Model(inputs, [first, second]))
    weights = [v.value for v in net.trainable_variables]

    def features(x):
        return net.stateless_call(weights, [], x)[0]

    def gram(f):
        f = ops.reshape(f, (-1, f.shape[-1]))
        return ops.matmul(ops.transpose(f), f) / f.shape[0]

    content, style = uniform(1, 8, 8, 3), uniform(1, 8, 8, 3, seed=1)
    wanted = [np.asarray(gram(f)) for f in features(style)]
    kept = np.asarray(features(content)[1])

    def loss(x):
        found = features(x)
        far = sum(ops.mean((gram(f) - g) ** 2) for f, g in zip(found, wanted))
        rough = ops.sum(ops.abs(x[:, 1:] - x[:, :-1])) + ops.sum(
            ops.abs(x[:, :, 1:] - x[:, :, :-1])
        )
        return far + 0.1 * ops.mean((found[1] - kept) ** 2) + 1e-4 * rough

    return descent(loss, content, rate=0.5)


@program
def heat_maps_of_classes():
    """Grad-CAM, and integrated gradients along a way of pictures."""
    value_and_grad, jit = transforms()
    x, y = pictures(20)
    body = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(4, 3, activation="relu"),
                             layers.Conv2D(5, 3, activation="relu")])  # fmt: skip
    head = keras.Sequential([keras.Input((4, 4, 5)), layers.GlobalAveragePooling2D(),
                             layers.Dense(2)])  # fmt: skip
    model = fixed(keras.Sequential([body, head]))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    found = trained(model, x, y, loss=loss)
    lower, upper = ([v.value for v in part.trainable_variables] for part in (body, head))

    def score(maps):
        return ops.sum(ops.max(head.stateless_call(upper, [], maps)[0], -1))

    def heat(x):
        maps, _ = body.stateless_call(lower, [], x)
        _, slopes = value_and_grad(score)(maps)
        weights = ops.mean(slopes, (1, 2), keepdims=True)
        return ops.mean(ops.relu(ops.sum(weights * maps, -1)), (1, 2))

    def along(x):
        way = x[None] * ops.reshape(ops.linspace(0.0, 1.0, 5), (5, 1, 1, 1))
        _, slopes = value_and_grad(lambda x: score(body.stateless_call(lower, [], x)[0]))(way)
        return ops.sum(x * ops.mean((slopes[:-1] + slopes[1:]) / 2, 0), (0, 1))

    return [*found, *np.asarray(jit(heat)(x[:3])), *np.asarray(jit(along)(x[0]))]


@program
def tags_under_masks():
    x = normal(20, 6, 3)
    for row, end in zip(x, integers(5, 20, seed=2) + 2):
        row[end:] = 0
    inputs = keras.Input((None, 3))
    h = layers.Masking()(inputs)
    h = layers.Bidirectional(layers.GRU(4, return_sequences=True), merge_mode="sum")(h)
    h = layers.Bidirectional(layers.LSTM(3, return_sequences=True), merge_mode="ave")(h)
    h = layers.TimeDistributed(keras.Sequential([layers.Dense(4, "relu"), layers.Dense(2)]))(h)
    model = keras.Model(inputs, ops.softmax(h))
    y = (x.sum(-1) > 0).astype("int32")
    return trained(fixed(model), x, y, loss="sparse_categorical_crossentropy",
                   metrics=["accuracy"], sample_weight=uniform(20, 6, seed=3))  # fmt: skip


class Peephole(layers.Layer):
    """An LSTM whose gates see the cell, and which gives both a hidden state and a gate."""

    def __init__(self, units, **options):
        super().__init__(**options)
        self.units, self.state_size, self.output_size = units, [units, units], units

    def build(self, shape):
        self.w = self.add_weight((shape[-1] + self.units, 4 * self.units), name="w")
        self.peep = self.add_weight((3, self.units), name="peep")

    def call(self, x, states):
        h, c = states
        z = ops.concatenate([x, h], -1) @ self.w
        i, f, o, g = ops.split(z, 4, -1)
        i, f = ops.sigmoid(i + self.peep[0] * c), ops.sigmoid(f + self.peep[1] * c)
        c = f * c + i * ops.tanh(g)
        h = ops.sigmoid(o + self.peep[2] * c) * ops.tanh(c)
        return h, [h, c]


@program
def cells_in_cells():
    x, about = normal(20, 6, 3), normal(20, 4, seed=1)
    series, first = keras.Input((6, 3)), keras.Input((4,))
    backwards = layers.RNN(Peephole(4), return_sequences=True, go_backwards=True)
    h = backwards(series, initial_state=[first, ops.tanh(first)])
    stacked = [Peephole(3), layers.GRUCell(4, reset_after=False), layers.LSTMCell(3)]
    out, *states = layers.RNN(layers.StackedRNNCells(stacked), return_state=True)(h)
    parts = [out, *[s for s in states if not isinstance(s, list)]]
    parts += [t for s in states if isinstance(s, list) for t in s]
    model = keras.Model([series, first], layers.Dense(1)(layers.concatenate(parts)))
    return trained(fixed(model), [x, about], x[:, 0].sum(-1, keepdims=True))


@program
def decoding_in_a_loop():
    """The encoder's states go through a loop of the step that feeds its own words back."""
    value_and_grad, jit = transforms()
    words, width = 6, 5
    source, target = integers(words, 10, 4), integers(words, 10, 3, seed=1)
    table, out = normal(words, width), normal(width, words, seed=1)
    cell = layers.GRUCell(width)
    cell.build((None, width))
    first = [normal(*v.shape, seed=7) * 0.5 for v in cell.trainable_variables]
    rest = [v.value for v in cell.non_trainable_variables]

    def states_of(weights, table, x):
        def step(h, row):
            _, (h,) = cell.stateless_call(weights, rest, row, [h])[0]
            return h, h

        rows = ops.transpose(ops.take(table, x, 0), (1, 0, 2))
        return ops.scan(step, ops.zeros((x.shape[0], width)), rows)[0]

    def loss(parts, x, y):
        weights, table, out = parts
        h, word, total = states_of(weights, table, x), ops.zeros((x.shape[0],), "int32"), 0.0
        for at in range(3):
            _, (h,) = cell.stateless_call(weights, rest, ops.take(table, word, 0), [h])[0]
            total = total + ops.mean(
                ops.sparse_categorical_crossentropy(y[:, at], h @ out, from_logits=True)
            )
            word = y[:, at]
        return total

    def greedy(parts, x):
        weights, table, out = parts

        def turn(at, h, word, said):
            _, (h,) = cell.stateless_call(weights, rest, ops.take(table, word, 0), [h])[0]
            word = ops.cast(ops.argmax(h @ out, -1), "int32")
            return at + 1, h, word, ops.slice_update(said, [0, at], word[:, None])

        said = ops.zeros((x.shape[0], 4), "int32")
        start = (0, states_of(weights, table, x), ops.zeros((x.shape[0],), "int32"), said)
        return ops.while_loop(lambda at, *rest: at < 4, turn, start)[3]

    parts, found = [first, table, out], []
    step = jit(lambda parts, x, y: value_and_grad(loss)(parts, x, y))
    for _ in range(4):
        value, slopes = step(parts, source, target)
        parts = keras.tree.map_structure(
            lambda w, g: np.asarray(w) - 0.3 * np.asarray(g), parts, slopes
        )
        found.append(value)
    return [*found, *np.asarray(jit(greedy)(parts, source))[:3].ravel()]


class Twins(keras.Model):
    """Barlow twins: the correlations of two views' embeddings are to be the identity."""

    def __init__(self, net, **options):
        super().__init__(**options)
        self.net = net

    def call(self, views, training=False):
        a, b = (self.net(v, training=training) for v in views)
        a, b = ((z - ops.mean(z, 0)) / (ops.std(z, 0) + 1e-4) for z in (a, b))
        c = ops.einsum("ni,nj->ij", a, b) / ops.cast(ops.shape(a)[0], "float32")
        diagonal = ops.diagonal(c)
        on, off = ops.sum((diagonal - 1) ** 2), ops.sum(c**2) - ops.sum(diagonal**2)
        self.add_loss(on + 0.05 * off)
        return a


@program
def barlow_twins():
    x, _ = pictures(20)
    views = [x, x[:, ::-1].copy()]
    net = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(4, 3, 2),
                            layers.BatchNormalization(), layers.ReLU(), layers.Flatten(),
                            layers.Dense(5)])  # fmt: skip
    model = Twins(fixed(net))
    model.compile("adam", loss=None)
    return trained(model, views, None, optimizer=None, batch_size=10)


class Before(layers.Conv2D):
    """A convolution that sees the pixels above and to the left alone."""

    def __init__(self, *args, itself=False, **options):
        super().__init__(*args, padding="same", **options)
        self.itself = itself

    def build(self, shape):
        super().build(shape)
        mask, middle = np.ones(self._kernel.shape, "float32"), self.kernel_size[0] // 2
        mask[middle, middle + self.itself :] = 0
        mask[middle + 1 :] = 0
        self.mask = mask

    def call(self, x):
        return ops.relu(ops.conv(x, self._kernel * self.mask, padding="same") + self.bias)


@program
def pixels_in_order():
    x = (pictures(20)[0] > 0.5).astype("float32")
    inputs = keras.Input((8, 8, 1))
    h = Before(6, 3)(inputs)
    h = h + Before(6, 3, itself=True)(h)
    model = keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(h))
    found, seen = trained(fixed(model), x, x, loss="binary_crossentropy"), np.zeros((1, 8, 8, 1))
    for place in range(5):
        seen[0, 0, place] = model.predict_on_batch(seen)[0, 0, place] > 0.5
    return [*found, *seen[0, 0, :5, 0]]


@program
def neural_equation():
    """A field that is a net, through which states go by Runge and Kutta's steps."""
    value_and_grad, jit = transforms()
    field = fixed(keras.Sequential([keras.Input((2,)), layers.Dense(8, "tanh"), layers.Dense(2)]))
    start = normal(12, 2)
    turned = start @ np.array([[0.5, 0.8], [-0.8, 0.5]], "float32")

    def loss(weights, x, y):
        def slope(x):
            return field.stateless_call(weights, [], x)[0]

        def step(_, x):
            a = slope(x)
            b = slope(x + 0.1 * a)
            c = slope(x + 0.1 * b)
            return x + 0.2 / 6 * (a + 2 * b + 2 * c + slope(x + 0.2 * c))

        return ops.mean((ops.fori_loop(0, 5, step, x) - y) ** 2)

    step, weights, found = jit(value_and_grad(loss)), [v.value for v in field.variables], []
    for _ in range(5):
        value, slopes = step(weights, start, turned)
        weights = [np.asarray(w) - 0.2 * np.asarray(g) for w, g in zip(weights, slopes)]
        found.append(value)
    return found


@program
def equation_as_a_loss():
    """u'' = -u, u(0) = 0, u'(0) = 1: a net by which the loss takes two derivatives."""
    value_and_grad, jit = transforms()
    net = fixed(keras.Sequential([keras.Input((1,)), layers.Dense(10, "tanh"), layers.Dense(1)]))

    def loss(weights, x):
        def u(x):
            return ops.sum(net.stateless_call(weights, [], x)[0])

        def du(x):
            return ops.sum(value_and_grad(u)(x)[1])

        _, second = value_and_grad(du)(x)
        at = net.stateless_call(weights, [], x)[0]
        zero = ops.zeros((1, 1))
        return ops.mean((second + at) ** 2) + u(zero) ** 2 + (du(zero) - 1) ** 2

    step, weights, found = jit(value_and_grad(loss)), [v.value for v in net.variables], []
    x = np.linspace(0, 3, 16, dtype="float32")[:, None]
    for _ in range(5):
        value, slopes = step(weights, x)
        weights = [np.asarray(w) - 0.02 * np.asarray(g) for w, g in zip(weights, slopes)]
        found.append(value)
    return found


@program
def rays_through_a_volume():
    """Colours and densities of places along rays, summed by what is left of the light."""
    origins, ways, seen = normal(20, 3), normal(20, 3, seed=1), uniform(20, 3, seed=2)
    a, b = keras.Input((3,)), keras.Input((3,))
    depth = np.linspace(0.5, 2, 6, dtype="float32")
    places = a[:, None] + b[:, None] * depth[None, :, None]
    waves = layers.concatenate([places] + [f(places * 2.0**k) for k in range(3)
                                           for f in (ops.sin, ops.cos)])  # fmt: skip
    h = layers.Dense(4)(layers.Dense(12, "relu")(waves))
    alpha = 1 - ops.exp(-ops.softplus(h[..., 3]) * 0.3)
    light = ops.cumprod(1 - alpha + 1e-6, 1)
    light = ops.concatenate([ops.ones_like(light[:, :1]), light[:, :-1]], 1)
    colour = ops.sum((alpha * light)[..., None] * ops.sigmoid(h[..., :3]), 1)
    return trained(fixed(keras.Model([a, b], colour)), [origins, ways], seen)


@program
def mixture_of_normals():
    """A density of several normals whose places, widths and shares a net says."""
    x = uniform(30, 1) * 4
    y = (np.sin(x) + 0.1 * normal(30, 1, seed=1)).astype("float32")

    def cost(y, said):
        shares, middles, widths = ops.split(said, 3, -1)
        widths = ops.softplus(widths) + 1e-3
        terms = ops.log_softmax(shares) - ops.log(widths) - 0.5 * ((y - middles) / widths) ** 2
        return -ops.logsumexp(terms, -1)

    model = keras.Sequential([keras.Input((1,)), layers.Dense(10, "tanh"), layers.Dense(9)])
    return trained(fixed(model), x, y, loss=cost, batch_size=10)


class RandomField(layers.Layer):
    """Scores of whole sequences of tags: sums over all of them go forward through time."""

    def build(self, shape):
        self.between = self.add_weight((shape[-1], shape[-1]), name="between")

    def call(self, scores, tags):
        rows = ops.transpose(scores, (1, 0, 2))

        def step(total, row):
            total = ops.logsumexp(total[:, :, None] + self.between[None], 1) + row
            return total, total

        total, _ = ops.scan(step, rows[0], rows[1:])
        picked = ops.take_along_axis(scores, tags[..., None], -1)[..., 0]
        pairs = ops.take(ops.reshape(self.between, (-1,)), tags[:, :-1] * 3 + tags[:, 1:])
        path = ops.sum(picked, 1) + ops.sum(pairs, 1)
        self.add_loss(ops.mean(ops.logsumexp(total, -1) - path))
        return scores


@program
def random_field_of_tags():
    x = normal(20, 6, 4)
    tags = (x[..., 0] > 0).astype("int32") + (x[..., 1] > 0.5)
    a, b = keras.Input((6, 4)), keras.Input((6,), dtype="int32")
    h = layers.Bidirectional(layers.SimpleRNN(4, return_sequences=True))(a)
    model = fixed(keras.Model([a, b], RandomField()(layers.Dense(3)(h), b)))
    model.compile("adam", loss=None)
    return trained(model, [x, tags.astype("int32")], None, optimizer=None)


@program
def boxes_of_anchors():
    """Anchors are matched with boxes in the loss; classes by focal losses, places smoothly."""
    x = pictures(20)[0]
    corner = uniform(20, 1, 2, seed=1) * 4
    boxes = np.concatenate([corner, corner + 1 + uniform(20, 1, 2, seed=2) * 3], -1)
    at = np.stack(np.meshgrid(*[np.arange(1, 8, 2.0)] * 2), -1).reshape(-1, 2)
    anchors = np.concatenate([at - 1.5, at + 1.5], -1).astype("float32")

    def overlap(a, b):
        low, high = ops.maximum(a[..., :2], b[..., :2]), ops.minimum(a[..., 2:], b[..., 2:])
        both = ops.prod(ops.maximum(high - low, 0), -1)
        return both / (
            ops.prod(a[..., 2:] - a[..., :2], -1) + ops.prod(b[..., 2:] - b[..., :2], -1) - both
        )

    def cost(box, said):
        shared = overlap(anchors[None], box)
        best = ops.one_hot(ops.argmax(shared, -1), len(anchors))
        there = ops.cast(ops.logical_or(shared > 0.4, best > 0), "float32")
        p = ops.clip(ops.sigmoid(said[..., 4]), 1e-6, 1 - 1e-6)
        focal = -there * (1 - p) ** 2 * ops.log(p) - (1 - there) * p**2 * ops.log(1 - p)
        far = ops.abs(anchors[None] + said[..., :4] - box)
        smooth = ops.where(far < 1, 0.5 * far**2, far - 0.5)
        return ops.sum(focal + there * ops.sum(smooth, -1), -1)

    model = keras.Sequential([
        keras.Input((8, 8, 1)), layers.Conv2D(6, 3, 2, "same", activation="relu"),
        layers.Conv2D(5, 1), layers.Reshape((16, 5)),
    ])  # fmt: skip
    return trained(fixed(model), x, boxes.astype("float32"), loss=cost)


class Turned(layers.Layer):
    """A spatial transformer: pictures are read at places that a net says."""

    def call(self, x, parts):
        n = ops.shape(x)[0]
        rows, columns = ops.meshgrid(ops.arange(8.0), ops.arange(8.0), indexing="ij")
        places = ops.stack([rows, columns, ops.ones_like(rows)], -1) - 3.5
        move = ops.reshape(0.1 * parts, (n, 2, 3)) + np.eye(2, 3, dtype="float32")[None]
        at = ops.einsum("hwk,njk->njhw", places, move) + 3.5
        low = ops.clip(ops.floor(at), 0, 6)
        share, low = at - low, ops.cast(low, "int32")
        flat, out = ops.reshape(x, (n, 64)), 0.0
        for i in (0, 1):
            for j in (0, 1):
                index = ops.reshape((low[:, 0] + i) * 8 + low[:, 1] + j, (n, 64))
                weight = (share[:, 0] if i else 1 - share[:, 0]) * (
                    share[:, 1] if j else 1 - share[:, 1]
                )
                value = ops.reshape(ops.take_along_axis(flat, index, 1), (n, 8, 8))
                out = out + weight * value
        return out[..., None]


@program
def spatial_transformer():
    x, y = pictures(20)
    inputs = keras.Input((8, 8, 1))
    parts = layers.Dense(6)(layers.Flatten()(layers.Conv2D(2, 3, 2)(inputs)))
    h = layers.Conv2D(4, 3, activation="relu")(Turned()(inputs, parts))
    model = keras.Model(inputs, layers.Dense(2, "softmax")(layers.GlobalMaxPooling2D()(h)))
    return trained(fixed(model), x, y, loss="sparse_categorical_crossentropy")


class Orthogonal(keras.regularizers.Regularizer):
    def __call__(self, x):
        x = ops.reshape(x, (-1, 3, 3))
        far = ops.matmul(x, ops.transpose(x, (0, 2, 1))) - ops.eye(3)
        return 0.01 * ops.sum(far**2)


@program
def points_of_clouds():
    """PointNet: points are turned by a matrix a small net says, which is to be orthogonal."""
    x, y = normal(20, 12, 3), integers(2, 20, seed=1)
    x[y == 1] *= (1, 1, 0.2)
    inputs = keras.Input((12, 3))
    h = layers.GlobalMaxPooling1D()(layers.Conv1D(6, 1, activation="relu")(inputs))
    turn = layers.Dense(9, bias_initializer=keras.initializers.Constant(np.eye(3).ravel()),
                        activity_regularizer=Orthogonal())(h)  # fmt: skip
    h = layers.Dot(axes=(2, 1))([inputs, layers.Reshape((3, 3))(turn)])
    h = layers.GlobalMaxPooling1D()(layers.Conv1D(8, 1, activation="relu")(h))
    model = keras.Model(inputs, layers.Dense(2, "softmax")(h))
    return trained(fixed(model), x, y, loss="sparse_categorical_crossentropy")


class LinearRecurrence(layers.Layer):
    """h_t = a_t h_{t-1} + b_t for all t by an associative scan."""

    def __init__(self, width, **options):
        super().__init__(**options)
        self.gate, self.value = layers.Dense(width, "sigmoid"), layers.Dense(width)

    def call(self, x):
        a = self.gate(x)

        def after(one, two):
            return one[0] * two[0], one[1] * two[0] + two[1]

        return ops.associative_scan(after, (a, (1 - a) * self.value(x)), axis=1)[1]


@program
def linear_recurrences():
    x = normal(20, 8, 3)
    inputs = keras.Input((8, 3))
    h = layers.LayerNormalization()(LinearRecurrence(6)(inputs))
    h = LinearRecurrence(4)(h) * layers.Dense(4, "silu")(h)
    model = keras.Model(inputs, layers.Dense(1)(h[:, -1]))
    return trained(fixed(model), x, x[:, :, 0].sum(1, keepdims=True))


@program
def learned_resizing():
    x, y = pictures(20)
    inputs = keras.Input((8, 8, 1))
    small = ops.image.resize(inputs, (5, 5), interpolation="bilinear")
    h = layers.Conv2D(3, 3, padding="same", activation="leaky_relu")(inputs)
    h = ops.image.resize(h, (5, 5), interpolation="bilinear")
    h = layers.Conv2D(1, 3, padding="same")(h) + small
    h = ops.image.extract_patches(h, 2, strides=1, padding="valid")
    h = layers.Flatten()(layers.Dense(3, "relu")(h))
    return trained(fixed(keras.Model(inputs, layers.Dense(2, "softmax")(h))), x, y,
                   loss="sparse_categorical_crossentropy")  # fmt: skip
