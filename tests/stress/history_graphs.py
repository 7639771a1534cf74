"""Graphs and training steps of one size n: what test_histories.py calls after other sizes.

Each is a function that gets the dtype and returns (inputs, outputs, variables, their updates, shape
of each input by n, n). Sizes lie where plans change: half of n, n and twice n are computed in
different ways, or by different numbers of chunks.
"""

import numpy as np

import ckernels as K

GRAPHS = {}


def graph(n, *shapes, least=1):
    """A row of GRAPHS; shapes: of the inputs by n, of which int inputs are ("index", most, n);
    least: the least n that is not refused."""

    def declare(make):
        GRAPHS[make.__name__] = Graph(make, n, shapes, least)
        return make

    return declare


class Graph:
    """make(inputs, weights) -> (outputs, [(variable, new value)]); weights(*shape): a variable."""

    def __init__(self, make, n, shapes, least):
        self.make, self.n, self.shapes, self.least = make, n, shapes, least

    def build(self, dtype):
        """(a function of this graph, its variables, their first values): new at each call."""
        rng, variables = np.random.default_rng(1), []

        def weights(*shape):
            value = rng.standard_normal(shape) / max(1, shape[0] if shape else 1) ** 0.5
            variables.append(K.variable(value, dtype=dtype))
            return variables[-1]

        one, two = self.shapes_of(3), self.shapes_of(5)
        inputs = [
            K.placeholder(
                [a if a == b else None for a, b in zip(small, large)],
                dtype="int64" if most else dtype,
            )
            for (most, small), (_, large) in zip(one, two)
        ]
        outputs, updates = self.make(inputs, weights)
        first = [K.get_value(v) for v in variables]
        return K.function(inputs, outputs, updates=updates), variables, first

    def shapes_of(self, n):
        """[(most of an index or None, shape)] of the inputs."""
        found = [shape(n) for shape in self.shapes]
        return [(s[1], s[2:]) if s[:1] == ("index",) else (None, s) for s in found]

    def arrays(self, n, dtype):
        rng = np.random.default_rng(n)
        return [
            rng.integers(0, most, shape) if most else rng.standard_normal(shape).astype(dtype)
            for most, shape in self.shapes_of(n)
        ]


def trained(loss, weights, rate=0.1):
    return [(w, w - rate * g) for w, g in zip(weights, K.gradients(loss, weights))]


def rows(width):
    return lambda n: (n, width)


def line(n):
    return (n,)


# ---- reductions -----------------------------------------------------------------------------


@graph(40_000, line)
def sum_of_exponentials(inputs, weights):
    (x,) = inputs
    return [K.sum(K.exp(x) * 1.7), K.sum(K.exp(x) * K.tanh(x))], []


@graph(33_000, line)
def moments(inputs, weights):
    (x,) = inputs
    return [K.mean(x), K.var(x), K.std(K.exp(x))], []


@graph(40_000, line)
def extrema(inputs, weights):
    (x,) = inputs
    return [K.max(x), K.argmax(x), K.min(x * x), K.logsumexp(x), K.prod(1 + x / 40_000)], []


@graph(1000, line)
def short_moments(inputs, weights):
    (x,) = inputs
    return [K.mean(x), K.var(x), K.cumsum(x), K.sum(K.square(x))], []


@graph(2000, rows(300))
def sums_of_columns(inputs, weights):
    (x,) = inputs
    return [K.sum(K.square(x), 0), K.mean(x, 0), K.max(x, 0), K.argmin(x, 0)], []


@graph(3000, rows(16))
def sums_of_few_columns(inputs, weights):
    (x,) = inputs
    return [K.sum(K.exp(x), 0), K.var(x, 0)], []


@graph(900, rows(7))
def sums_of_short_rows(inputs, weights):
    (x,) = inputs
    return [K.sum(K.exp(x), 1), K.softmax(x), K.mean(x, 1)], []


@graph(40, lambda n: (n, n + 3))
def sums_of_two_sizes(inputs, weights):
    (x,) = inputs
    return [K.sum(K.exp(x), 0), K.sum(K.exp(x), 1), K.sum(x * x), K.softmax(x)], []


@graph(24, lambda n: (n, 12, 12, 8))
def sums_of_images(inputs, weights):
    (x,) = inputs
    m, v = K.mean(x, [0, 1, 2]), K.var(x, [0, 1, 2])
    return [(x - m) / K.sqrt(v + 1e-3), K.sum(x, [1, 2]), K.sum(x)], []


@graph(40, lambda n: (3, n, 5, n))
def sums_of_inner_axes(inputs, weights):
    (x,) = inputs
    return [K.sum(K.exp(x), [0, 2]), K.sum(x, [1, 3]), K.mean(x * x, [0, 1])], []


# ---- rows: softmax and norms ------------------------------------------------------------------


@graph(700, rows(50))
def softmax(inputs, weights):
    (x,) = inputs
    y = K.softmax(x * 2)
    return [y, K.sum(y * K.log(y), 1), K.mean(K.logsumexp(x, 1))], []


@graph(2100, lambda n: (17, n))
def softmax_of_long_rows(inputs, weights):
    (x,) = inputs
    return [K.softmax(x), K.sum(K.square(x - K.mean(x, 1, keepdims=True)), 1)], []


@graph(1100, rows(256))
def layer_norm(inputs, weights):
    (x,) = inputs
    m, v = K.mean(x, 1, keepdims=True), K.var(x, 1, keepdims=True)
    g, b = weights(256), weights(256)
    y = (x - m) / K.sqrt(v + 1e-5) * g + b
    return [y], trained(K.mean(K.square(y - 0.5)), [g, b])


@graph(1200, rows(64))
def batch_norm(inputs, weights):
    (x,) = inputs
    w = weights(64, 64)
    y = K.dot(x, w)
    y = (y - K.mean(y, 0)) / K.sqrt(K.var(y, 0) + 1e-3)
    loss = K.mean(K.square(K.relu(y) - x))
    return [loss], trained(loss, [w])


@graph(900, rows(40))
def unit_rows(inputs, weights):
    (x,) = inputs
    y = K.l2_normalize(x, 1)
    return [y, *K.gradients(K.sum(K.exp(y)), [x])], []


# ---- products ---------------------------------------------------------------------------------


@graph(500, rows(64))
def product(inputs, weights):
    (x,) = inputs
    return [K.tanh(K.dot(x, weights(64, 48)) + weights(48))], []


@graph(700, rows(24))
def gram(inputs, weights):
    (x,) = inputs
    return [K.dot(K.transpose(x), x), K.dot(K.transpose(x), K.exp(x[:, :1]))], []


@graph(70, lambda n: (n, n), lambda n: (n, 9))
def square_product(inputs, weights):
    x, y = inputs
    return [K.dot(x, y), K.dot(x, K.transpose(x)), K.dot(K.transpose(y), x)], []


@graph(30, lambda n: (n, 7, 9), lambda n: (n, 9, 5))
def batch_product(inputs, weights):
    x, y = inputs
    return [K.batch_dot(x, y), K.sum(K.batch_dot(x, y), 0)], []


@graph(600, lambda n: (n, 33), lambda n: (33,), line)
def vector_products(inputs, weights):
    x, y, z = inputs
    return [K.dot(x, y), K.dot(z, x), K.dot(z, z)], []


@graph(40, lambda n: (3, n, 16))
def attention(inputs, weights):
    (x,) = inputs
    q, k, v = (K.dot(x, weights(16, 16)) for _ in range(3))
    y = K.batch_dot(K.softmax(K.batch_dot(q, K.permute_dimensions(k, (0, 2, 1))) / 4), v)
    return [y, *K.gradients(K.sum(K.square(y)), [x])], []


@graph(500, rows(20), line, lambda n: (20,))
def factors_of_other_sizes(inputs, weights):
    x, y, z = inputs
    return [K.expand_dims(y, 1) * x * z * K.exp(x) / (1 + z * z), K.sum(x * z * 3, 1) * y * y], []


# ---- images -----------------------------------------------------------------------------------


@graph(12, lambda n: (n, 12, 12, 3))
def convolution(inputs, weights):
    (x,) = inputs
    y = K.relu(K.conv2d(x, weights(3, 3, 3, 16), padding="same") + weights(16))
    return [K.pool2d(y, (2, 2), (2, 2)), K.mean(y, [1, 2])], []


@graph(20, lambda n: (n, 14, 14, 1), lambda n: (n, 10))
def convolution_trained(inputs, weights):
    x, t = inputs
    v, w = weights(3, 3, 1, 8), weights(8 * 36, 10)
    y = K.softmax(K.dot(K.batch_flatten(K.pool2d(K.relu(K.conv2d(x, v)), (2, 2), (2, 2))), w))
    loss = K.mean(K.sum(K.square(y - t), 1))
    return [loss], trained(loss, [v, w])


@graph(150, lambda n: (2, n, 6))
def convolution_of_lines(inputs, weights):
    (x,) = inputs
    w = weights(5, 6, 8)
    y = K.conv1d(x, w, padding="same")
    return [y], trained(K.mean(K.square(y)), [w])


@graph(20, lambda n: (2, n, n, 4), least=5)
def convolution_of_any_size(inputs, weights):
    (x,) = inputs
    y = K.depthwise_conv2d(x, weights(3, 3, 4, 2), padding="same")
    z = K.pool2d(K.conv2d(x, weights(3, 3, 4, 4)), (3, 3), (2, 2), pool_mode="avg")
    return [y, z, *K.gradients(K.sum(z * z), [x])], []


# ---- scans ------------------------------------------------------------------------------------


def recurrent(x, weights):
    """(states, weights) of a small network over the first axis of x."""
    w, u, b = weights(8, 24), weights(24, 24), weights(24)
    start = K.zeros_like(K.dot(x[0], w))
    states, _ = K.scan(lambda r, h: K.tanh(K.dot(r, w) + K.dot(h, u) + b), x, start)
    return states, [w, u, b]


@graph(60, lambda n: (9, n, 8))
def scan_of_a_batch(inputs, weights):
    states, parameters = recurrent(inputs[0], weights)
    loss = K.mean(K.square(states[-1]))
    return [loss, states], trained(loss, parameters)


@graph(40, lambda n: (n, 20, 8))
def scan_of_many_steps(inputs, weights):
    states, parameters = recurrent(inputs[0], weights)
    loss = K.mean(K.exp(states))
    return [loss], trained(loss, parameters)


@graph(48, lambda n: (7, n, 8))
def scan_with_gates(inputs, weights):
    (x,) = inputs
    w, u = weights(8, 64), weights(16, 64)

    def step(r, h, c):
        i, f, a, o = K.split(K.dot(r, w) + K.dot(h, u), 4, 1)
        c = K.sigmoid(f) * c + K.sigmoid(i) * K.tanh(a)
        return K.sigmoid(o) * K.tanh(c), c

    zero = K.zeros_like(K.dot(x[0], w)[:, :16])
    (states, _), _ = K.scan(step, x, [zero, zero])
    loss = K.mean(K.square(states[-1]))
    return [loss], trained(loss, [w, u])


@graph(3000, lambda n: (6, n))
def scan_without_products(inputs, weights):
    (x,) = inputs
    states, _ = K.scan(lambda r, h: K.tanh(r + 0.5 * h), x, K.zeros_like(x[0]))
    return [states, K.sum(states)], []


@graph(2000, line)
def scan_of_numbers(inputs, weights):
    (x,) = inputs
    states, _ = K.scan(lambda r, h: 0.9 * h + K.sin(r), x, K.sum(x) * 0)
    return [states[-1], *K.gradients(K.sum(states), [x])], []


@graph(150, lambda n: (n, 5, 4))
def rnn(inputs, weights):
    (x,) = inputs
    w = weights(4, 4)

    def step(r, states):
        h = K.tanh(K.dot(r, w) + states[0])
        return h, [h]

    last, every, _ = K.rnn(step, x, [K.zeros_like(x[:, 0])])
    return [last, K.mean(every, 0)], []


# ---- gathering, scattering, order ---------------------------------------------------------------


@graph(900, lambda n: ("index", 50, n), line)
def embedding(inputs, weights):
    i, t = inputs
    table, w = weights(50, 12), weights(12, 1)
    loss = K.mean(K.square(K.sum(K.dot(K.gather(table, i), w), 1) - t))
    return [loss], trained(loss, [table, w])


@graph(3000, lambda n: ("index", 40, n), rows(6))
def scatter(inputs, weights):
    i, x = inputs
    zero = weights(40, 6) * 0
    return [K.inc_subtensor(zero[i], K.exp(x)), K.sum(K.gather(zero, i) * x)], []


@graph(2000, lambda n: ("index", 9, n), line)
def segments(inputs, weights):
    i, x = inputs
    return [K.dot(K.expand_dims(x, 0), K.one_hot(i, 9)), K.sum(K.one_hot(i, 9), 0)], []


@graph(700, rows(30))
def order(inputs, weights):
    (x,) = inputs
    return [K.sort(x, axis=0), K.sum(K.sort(x, axis=1)[:, :3], 0), K.cumsum(x, axis=0)], []


@graph(5000, line)
def what_data_decide(inputs, weights):
    (x,) = inputs
    some = x[x > 0]
    return [K.mean(some), K.sum(K.exp(some) * 1.7), K.sum(K.square(some[:7]))], []


@graph(40_000, line)
def what_data_decide_of_many(inputs, weights):
    (x,) = inputs
    w = weights()
    some = K.exp(x)[x > -1]
    loss = K.mean(K.square(some - w))
    return [loss, K.var(some)], trained(loss, [w])


# ---- training ---------------------------------------------------------------------------------


def network(x, t, weights, sizes=(40, 64, 10)):
    """(loss, weights) of a small perceptron."""
    found = []
    for a, b in zip(sizes, sizes[1:]):
        found += [weights(a, b), weights(b)]
        x = K.dot(x, found[-2]) + found[-1]
        x = K.relu(x) if b != sizes[-1] else x
    return K.mean(K.categorical_crossentropy(K.softmax(x), K.softmax(t))), found


@graph(1000, rows(40), rows(10))
def perceptron(inputs, weights):
    loss, parameters = network(*inputs, weights)
    return [loss], trained(loss, parameters)


@graph(4000, rows(40), rows(10))
def perceptron_with_momentum(inputs, weights):
    loss, parameters = network(*inputs, weights)
    updates = []
    for w, g in zip(parameters, K.gradients(loss, parameters)):
        m = weights(*K.int_shape(w))
        updates += [(m, 0.9 * m + g), (w, w - 0.1 * (0.9 * m + g))]
    return [loss], updates


@graph(300, rows(40), rows(10))
def perceptron_with_adam(inputs, weights):
    loss, parameters = network(*inputs, weights)
    updates = []
    for w, g in zip(parameters, K.gradients(loss, parameters)):
        m, v = weights(*K.int_shape(w)), weights(*K.int_shape(w))
        a, b = 0.9 * m + 0.1 * g, 0.99 * K.square(v) + 0.01 * K.square(g)
        updates += [(m, a), (v, b), (w, w - 0.01 * a / (K.sqrt(b) + 1e-7))]
    norm = K.sqrt(K.sum(K.stack([K.sum(K.square(g)) for g in K.gradients(loss, parameters)])))
    return [loss, norm], updates


@graph(3000, rows(256))
def regression(inputs, weights):
    (x,) = inputs
    w = weights(256, 1)
    loss = K.mean(K.square(K.sigmoid(K.dot(x, w)) - 0.3)) + 1e-3 * K.sum(K.square(w))
    return [loss], trained(loss, [w])


@graph(5000, rows(16), line)
def logistic(inputs, weights):
    x, t = inputs
    w = weights(16)
    p = K.sigmoid(K.sum(x * w, 1))
    loss = K.mean(K.binary_crossentropy(p, K.sigmoid(t)))
    return [loss, *K.gradients(K.sum(K.square(K.gradients(loss, [w])[0])), [w])], trained(loss, [w])


@graph(300, rows(40), rows(10))
def branch(inputs, weights):
    x, t = inputs
    loss, parameters = network(x, t, weights)
    loss = K.switch(K.sum(x) > 0, loss, K.mean(K.square(x)) + loss)
    return [loss], trained(loss, parameters)
