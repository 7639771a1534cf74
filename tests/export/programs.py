"""Programs to export: each returns ({name: function}, more arguments of K.export).

Together they use every kind of instruction and every native kernel (test_natives.py sees to it).
"""

import numpy as np

import ckernels as K

PROGRAMS = {}


def program(make):
    PROGRAMS[make.__name__] = make
    return make


def numbers(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32") * 0.3


def weight(value, name=None):
    return K.variable(np.asarray(value, "float32"), name=name)


def sgd(loss, weights, rate):
    return [(w, w - rate * g) for w, g in zip(weights, K.gradients(loss, weights))]


def sums(tensors, wrt):
    """Gradients of the sum of squares of each tensor with respect to what `wrt` has for it."""
    found = []
    for tensor, leaves in zip(tensors, wrt):
        found += K.gradients(K.sum(K.square(tensor)), leaves)
    return found


# ---- training steps -----------------------------------------------------------------------------


@program
def mlp():
    x, y, one = (
        K.placeholder(s, name=n) for s, n in (((8, 20), "x"), ((8, 5), "y"), ((1, 20), "x"))
    )
    w1, b1 = weight(numbers(20, 16), "w1"), weight(np.zeros(16), "b1")
    w2, b2 = weight(numbers(16, 5), "w2"), weight(np.zeros(5), "b2")

    def net(x):
        return K.softmax(K.dot(K.tanh(K.dot(x, w1) + b1), w2) + b2)

    loss = K.mean(K.categorical_crossentropy(net(x), y))
    train = K.function([x, y], loss, updates=sgd(loss, [w1, b1, w2, b2], 0.1))
    return {"train": train, "predict": K.function([one], net(one))}, {}


@program
def adam():
    x, y = K.placeholder((16, 12), name="x"), K.placeholder((16, 3), name="y")
    w, b, t = weight(numbers(12, 3), "w"), weight(np.zeros(3), "b"), weight(0, "t")
    loss = K.mean(K.categorical_crossentropy(K.softmax(K.dot(x, w) + b), y))
    updates = [(t, t + 1)]
    rate = 0.01 * K.sqrt(1 - K.pow(0.999, t + 1)) / (1 - K.pow(0.9, t + 1))
    for p, g in zip([w, b], K.gradients(loss, [w, b])):
        m, v = (weight(np.zeros(K.int_shape(p))) for _ in range(2))
        new_m, new_v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * K.square(g)
        updates += [(m, new_m), (v, new_v), (p, p - rate * new_m / (K.sqrt(new_v) + 1e-7))]
    return {"train": K.function([x, y], loss, updates=updates)}, {}


@program
def cnn():
    x, y = K.placeholder((4, 12, 12, 1), name="x"), K.placeholder((4, 5), name="y")
    k1, k2, w = (weight(numbers(*s)) for s in ((3, 3, 1, 8), (3, 3, 8, 12), (108, 5)))
    h = K.pool2d(K.relu(K.conv2d(x, k1, padding="same")), (2, 2), strides=(2, 2), pool_mode="max")
    h = K.pool2d(K.relu(K.conv2d(h, k2, padding="same")), (2, 2), strides=(2, 2), pool_mode="avg")
    out = K.softmax(K.dot(K.reshape(h, (4, 108)), w))
    loss = K.mean(K.categorical_crossentropy(out, y))
    train = K.function([x, y], loss, updates=sgd(loss, [k1, k2, w], 0.1))
    return {"train": train, "predict": K.function([x], out)}, {}


@program
def lstm():
    samples, steps, features, units = 4, 6, 3, 5
    x = K.placeholder((samples, steps, features), name="x")
    y = K.placeholder((samples, 2), name="y")
    w, u, b, v = (
        weight(numbers(*s))
        for s in ((features, 4 * units), (units, 4 * units), (4 * units,), (units, 2))
    )

    def step(x, h, c):
        z = K.dot(x, w) + K.dot(h, u) + b
        i, f, g, o = (z[:, k * units : (k + 1) * units] for k in range(4))
        c = K.sigmoid(f) * c + K.sigmoid(i) * K.tanh(g)
        return [K.sigmoid(o) * K.tanh(c), c]

    start = K.zeros((samples, units))
    (h, _), _ = K.scan(
        step, sequences=[K.permute_dimensions(x, (1, 0, 2))], outputs_info=[start, start]
    )
    out = K.softmax(K.dot(h[-1], v))
    loss = K.mean(K.categorical_crossentropy(out, y))
    train = K.function([x, y], loss, updates=sgd(loss, [w, u, b, v], 0.5))
    return {"train": train, "predict": K.function([x], [out, h])}, {}


@program
def rbm():
    w, b, c = weight(numbers(12, 6), "w"), weight(np.zeros(12), "b"), weight(np.zeros(6), "c")
    v0 = K.placeholder((10, 12), name="v")
    h0 = K.sigmoid(K.dot(v0, w) + c)
    hidden = K.cast(K.random_uniform((10, 6)) < h0, "float32")
    v1 = K.sigmoid(K.dot(hidden, K.transpose(w)) + b)
    h1 = K.sigmoid(K.dot(v1, w) + c)
    change = (K.dot(K.transpose(v0), h0) - K.dot(K.transpose(v1), h1)) / 10
    return {
        "cd": K.function(
            [v0],
            K.mean(K.square(v0 - v1)),
            updates=[
                (w, w + 0.1 * change),
                (b, b + 0.1 * K.mean(v0 - v1, axis=0)),
                (c, c + 0.1 * K.mean(h0 - h1, axis=0)),
            ],
        )
    }, {}


@program
def ctc():
    p = K.placeholder((3, 12, 6), name="p")
    labels, n, m = (
        K.placeholder(s, dtype="int32", name=k)
        for s, k in (((3, 4), "labels"), ((3, 1), "n"), ((3, 1), "m"))
    )
    cost = K.ctc_batch_cost(labels, K.softmax(p), n, m)
    arrays = [
        numbers(3, 12, 6),
        np.array([[1, 2, 3, 4]] * 3),
        np.full((3, 1), 12),
        np.array([[4], [3], [2]]),
    ]
    return {"cost": K.function([p, labels, n, m], [cost, *K.gradients(K.sum(cost), [p])])}, {
        "examples": [("cost", arrays)]
    }


@program
def embedding():
    words, table = K.placeholder((6, 4), dtype="int32", name="words"), weight(numbers(7, 5))
    e = K.gather(table, words)
    loss = K.sum(K.square(e))
    return {"train": K.function([words], [loss, e], updates=sgd(loss, [table], 0.1))}, {}


@program
def batch_norm():
    x = K.placeholder((8, 6), name="x")
    gamma, beta, mean, var = (weight(np.full(6, v)) for v in (1, 0, 0, 1))
    y, m, v = K.normalize_batch_in_training(x, gamma, beta, [0])
    return {
        "train": K.function(
            [x],
            y,
            updates=[K.moving_average_update(mean, m, 0.9), K.moving_average_update(var, v, 0.9)],
        )
    }, {}


# ---- convolutions and pools ---------------------------------------------------------------------


@program
def convolutions():
    x, k = K.placeholder((2, 9, 8, 6), name="x"), K.placeholder((3, 2, 6, 10), name="k")
    each = K.placeholder((3, 3, 6, 1), name="each")
    found = [
        K.conv2d(x, k, strides=(2, 1), padding="same"),
        K.conv2d(x, k, padding="valid", dilation_rate=(2, 2)),
        K.depthwise_conv2d(x, each, padding="same"),
        K.depthwise_conv2d(x, each, strides=(2, 2), padding="valid"),
    ]
    return {"f": K.function([x, k, each], found + sums(found, [[x, k]] * 2 + [[x, each]] * 2))}, {}


@program
def volumes():
    x, k = K.placeholder((2, 5, 6, 7, 3), name="x"), K.placeholder((2, 3, 2, 3, 4), name="k")
    found = [
        K.conv3d(x, k, strides=(2, 1, 1), padding="same"),
        K.pool3d(x, (2, 2, 2), strides=(2, 2, 1), padding="same"),
        K.pool3d(x, (2, 3, 2), padding="same", pool_mode="avg"),
    ]
    more = sums(found, [[x, k], [x], [x]])
    more += K.gradients(K.sum(K.square(more[2]) * x), [x])  # a gradient of a gradient
    return {"f": K.function([x, k], found + more)}, {}


@program
def planes():
    x, k = K.placeholder((2, 4, 17, 19), name="x"), K.placeholder((3, 3, 4, 1), name="k")
    c = K.depthwise_conv2d(x, k, padding="same", data_format="channels_first")
    g = K.placeholder((2, 4, 17, 19), name="g")  # what is read as it lies: no transpose moves
    return {"f": K.function([x, k, g], [c, *K.gradients(K.sum(c * g), [x, k])])}, {}


@program
def transposed():
    x = K.placeholder((70, 90), name="x")
    return {"f": K.function([x], [K.transpose(x), K.transpose(K.cast(x, "float64"))])}, {}


@program
def repeated():
    x = K.placeholder((7, 9), name="x")
    wide = K.cast(x, "float64")
    rows = [K.tile(x, (2, 3)), K.repeat_elements(x, 3, 1), K.repeat_elements(wide, 2, 0)]
    return {"f": K.function([x], [*rows, K.repeat_elements(K.cast(x > 0, "uint8"), 3, 1)])}, {}


# ---- loops and branches -------------------------------------------------------------------------


@program
def backwards():
    x, w, u = K.placeholder((3, 5, 4), name="x"), weight(numbers(4, 6)), weight(numbers(6, 6))

    def step(x, states):
        h = K.tanh(K.dot(x, w) + K.dot(states[0], u))
        return h, [h]

    last, rows, states = K.rnn(step, x, [K.zeros((3, 6))], go_backwards=True)
    return {"f": K.function([x], [last, rows, states[0]])}, {}


@program
def recurrence():
    x = K.placeholder((50,), name="x")
    v, _ = K.scan(lambda x, s: 0.5 * s + x, sequences=[x], outputs_info=[K.constant(0.0)])
    return {"f": K.function([x], [v, v[-1]]), "g": K.function([x], sums([v], [[x]]))}, {}


@program
def taps():
    x = K.placeholder((30, 4), name="x")
    v, _ = K.scan(
        lambda x, s2, s1: 0.5 * s1 - 0.2 * s2 + x,
        sequences=[x],
        outputs_info=[{"initial": K.zeros((2, 4)), "taps": [-2, -1]}],
    )
    return {"last": K.function([x], v[-1]), "rows": K.function([x], v)}, {}


@program
def counted():
    x, n = K.placeholder((4,), name="x"), K.placeholder((), dtype="int32", name="n")
    v, _ = K.scan(lambda s: K.tanh(s) + 0.1, outputs_info=[x], n_steps=n)
    return {"f": K.function([x, n], v[-1])}, {
        "examples": [("f", [numbers(4), 5]), ("f", [numbers(4), 1])]
    }


@program
def until():
    x = K.placeholder((), name="x")
    v, _ = K.scan(lambda s: (s * 2, K.until(s > 100)), outputs_info=[x], n_steps=20)
    return {"f": K.function([x], v[-1])}, {"examples": [("f", [3.0]), ("f", [1e-9])]}


@program
def branches():
    c, x = K.placeholder((), dtype="bool", name="c"), K.placeholder((5, 5), name="x")
    return {"f": K.function([c, x], K.ifelse(c, K.dot(x, x), K.tanh(x)))}, {
        "examples": [("f", [c, numbers(5, 5)]) for c in (True, False)]
    }


# ---- kernels ------------------------------------------------------------------------------------


@program
def draws():
    x = K.placeholder((8, 5), name="x")
    return {
        "f": K.function(
            [x],
            [
                x + K.random_normal((8, 5)),
                K.random_uniform((3, 3)),
                K.dropout(x, 0.5),
                K.random_binomial((4, 4), 0.3),
            ],
        )
    }, {}


@program
def indices():
    x, i = K.placeholder((6, 7), name="x"), K.placeholder((4,), dtype="int64", name="i")
    w, j = K.placeholder((6, 80), name="w"), K.placeholder((3, 5), dtype="int32", name="j")
    rows = K.gather(w, j)  # read by the loops that compute on them
    return {
        "bags": K.function([w, j], [K.mean(rows, axis=1), K.tanh(rows)]),
        "f": K.function(
            [x, i],
            [
                x[i],
                x[:, i],
                K.cumsum(x, axis=0),
                K.cumsum(x, axis=1),
                K.cumprod(x, axis=1),
                K.argmax(x, axis=1),
                K.argmax(x, axis=0),
                K.one_hot(i, 3),
                x[::-1, ::2],
                K.repeat_elements(x, 2, 1),
            ],
        ),
    }, {}


@program
def integers():
    i, u, n, b = (
        K.placeholder((5, 6), dtype=t, name=t[0]) for t in ("int32", "uint8", "int64", "bool")
    )
    return {
        "f": K.function(
            [i, u, n, b],
            [
                i + u,
                n * i - 3,
                K.sum(i, axis=1),
                K.max(n, axis=0),
                K.min(u),
                K.any(b, axis=0),
                K.all(b),
                K.prod(i),
                i // 2,
                i % 3,
                K.cast(n, "float64") / 2,
            ],
        )
    }, {}


@program
def doubles():
    x, w = (K.placeholder(s, dtype="float64", name=n) for s, n in (((7, 5), "x"), ((5, 3), "w")))
    return {
        "f": K.function(
            [x, w],
            [
                K.dot(x, w),
                K.softmax(x),
                K.logsumexp(x, axis=1),
                K.std(x, axis=0),
                K.exp(x),
                K.sin(x * 1e3),
                K.erf(x),
            ],
        )
    }, {}


@program
def halves():
    x = K.placeholder((7, 5), dtype="float16", name="x")
    return {"f": K.function([x], [x * 2 + 1, K.sum(x, axis=1), K.tanh(x)])}, {}


@program
def functions():
    x = K.placeholder((40,), name="x")
    names = (
        "exp log tanh sigmoid sin cos tan abs sqrt square round sign softplus elu relu expm1 "
        "log1p erf erfc erfinv gammaln digamma floor ceil arctan arcsinh sinh cosh"
    ).split()
    found = [getattr(K, n)(x) for n in names if hasattr(K, n)]
    return {
        "f": K.function(
            [x],
            [
                *found,
                K.pow(K.abs(x), 1.7),
                x % 0.3,
                K.maximum(x, 0.1),
                K.clip(x, -0.5, 0.5),
                K.switch(x > 0, x, -x),
            ],
        )
    }, {}


@program
def reductions():
    x = K.placeholder((9, 130, 3), name="x")
    return {
        "f": K.function(
            [x],
            [
                K.sum(x),
                K.mean(x, axis=1),
                K.var(x, axis=0),
                K.max(x, axis=(0, 2)),
                K.min(x, axis=2),
                K.prod(x, axis=2),
                K.logsumexp(x, axis=1),
                K.argmin(x, axis=1),
                K.any(x > 2, axis=1),
                K.softmax(x),
                K.l2_normalize(x, axis=1),
                K.max(x),
            ],
        )
    }, {}


@program
def products():
    a, b = K.placeholder((4, 5, 6), name="a"), K.placeholder((4, 6, 3), name="b")
    c = K.batch_dot(a, b)
    tall, wide = K.placeholder((70, 130), name="tall"), K.placeholder((130, 33), name="wide")
    return {
        "f": K.function([a, b], [c, K.batch_dot(a, b, axes=(2, 1)), *sums([c], [[a, b]])]),
        "g": K.function([tall, wide], [K.dot(tall, wide), K.dot(wide[:, 1], wide)]),
    }, {}


@program
def sparse():
    scipy = __import__("scipy.sparse")
    x, y = K.placeholder((5, 4), name="x"), K.placeholder((6, 4), name="y")
    m = K.variable(scipy.sparse.random(6, 5, 0.4, "csr", dtype="float32", random_state=0))
    return {
        "f": K.function([x], K.dot(m, x)),
        "g": K.function([x, y], K.gradients(K.sum(y * K.dot(m, x)), [x])),
    }, {}


@program
def parts_of_sparse():
    d, i = K.placeholder((4,), name="d"), K.placeholder((4,), dtype="int32", name="i")
    p, y = K.placeholder((4,), dtype="int32", name="p"), K.placeholder((5, 2), name="y")
    product = K.sparse.dot(K.sparse.CSR(d, i, p, (3, 5)), y)
    slope = K.gradients(K.sum(K.square(product)), [d])
    return {"f": K.function([d, i, p, y], [product, *slope])}, {
        "examples": [("f", [numbers(4), [0, 4, 1, 2], [0, 2, 2, 4], numbers(5, 2)])]
    }


@program
def own_ops():
    x = K.placeholder((6,), name="x")
    y = K.c_op(
        """
        for (int64_t i = 0; i < x_shape[0]; i++) {
            if (x[i] > 1e6f) return 7;
            y[i] = twice(x[i * x_strides[0]]);
        }""",
        {"x": x},
        {"y": x},
        name="double",
        gradient=lambda i, o, g: [2 * g[0]],
        support="static float twice(float v) { return v + v; }",
    )
    return {"f": K.function([x], [y * 3, *K.gradients(K.sum(y * y), [x])])}, {}


@program
def decoding():
    p, n = K.placeholder((3, 9, 5), name="p"), K.placeholder((3,), dtype="int32", name="n")
    _, scores = K.ctc_decode(K.softmax(p), n, greedy=False, beam_width=4, top_paths=2)
    return {"f": K.function([p, n], scores)}, {  # the labels have a shape that data decides
        "examples": [("f", [numbers(3, 9, 5), np.array([9, 7, 1])])]
    }


@program
def streams():
    draws = K.RandomStreams(7)
    return {
        "f": K.function(
            [], [draws.uniform((5, 3)), draws.normal((4,)), draws.binomial((6,), p=0.4)]
        )
    }, {}


@program
def resized():
    x = K.placeholder((2, 4, 5, 3), name="x")
    y = K.resize_images(x, 2, 3, "channels_last", interpolation="bilinear")
    return {"f": K.function([x], [y, *sums([y], [[x]])])}, {}


@program
def factored():
    x, b = K.placeholder((9, 6), name="x"), K.placeholder((2, 6, 5), name="b")
    wide = K.placeholder((23, 40), name="wide")
    a = K.dot(K.transpose(x), x) + np.eye(6, dtype="float32")
    factor = K.cholesky(a)
    found = [factor, K.solve_triangular(K.stack([factor, factor]), b, lower=True)]
    large = K.cholesky(K.dot(wide, K.transpose(wide)) + 9 * np.eye(23, dtype="float32"))
    upper = K.solve_triangular(K.transpose(large), wide)
    rows = K.placeholder((3, 6, 6), name="rows")
    whole = [K.inverse(rows + 3 * np.eye(6, dtype="float32")), K.solve(a, K.transpose(x))]
    return {
        "f": K.function([x, b], [*found, *sums(found[1:], [[b]])]),
        "g": K.function([wide], [large, upper]),
        "h": K.function([rows, x], whole),
    }, {}
