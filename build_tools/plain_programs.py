"""Programs as users of K write them without a library of layers: nets, losses, optimizers.

The kernels they ask for come with the wheel: see prebuilt.py. Nothing here is run; `asked` plans
each program for some batches, and whoever stands in for the compiler sees its kernels. What asks
for none of its own is left out: a rate that is a variable, other batches of large nets.
"""

from itertools import product
from types import SimpleNamespace

import numpy as np

import ckernels as K

SIZES = (  # of a small net and a large one; the batches each is planned for
    (SimpleNamespace(features=8, units=16, classes=3, image=12, filters=4, steps=6), (16, 1)),
    (SimpleNamespace(features=784, units=512, classes=10, image=28, filters=32, steps=28), (256,)),
)  # fmt: skip


def uniform(*shape):
    """A variable of weights, drawn as Glorot does."""
    limit = float((6 / (shape[0] + shape[-1])) ** 0.5)
    return K.random_uniform_variable(shape, -limit, limit)


# ---- nets: (inputs, parameters, outputs before the last activation) -----------------------------


def dense(*activations):
    """Hidden layers with these activations between inputs and outputs."""

    def net(n, width, known):
        x = K.placeholder((None, n.features if known else None), name="x")
        h, parameters, last = x, [], n.features
        for activation in activations:
            w, b = uniform(last, n.units), K.zeros((n.units,))
            h, last = activation(K.dot(h, w) + b), n.units
            parameters += [w, b]
        w, b = uniform(last, width), K.zeros((width,))
        return x, [*parameters, w, b], K.dot(h, w) + b

    return net


def convolutions(pool):
    """Two convolutions of 3 x 3 with relu, each with a pool behind it, and a dense layer."""

    def net(n, width, known):
        x = K.placeholder((None, n.image, n.image, 1), name="x")
        h, parameters, channels = x, [], 1
        for _ in range(2):
            w, b = (
                K.random_normal_variable((3, 3, channels, n.filters), 0, 0.05),
                K.zeros((n.filters,)),
            )
            h = pool(K.relu(K.bias_add(K.conv2d(h, w, padding="same"), b)))
            channels, parameters = n.filters, [*parameters, w, b]
        h = K.batch_flatten(h)
        size = K.int_shape(h)[1]
        w, b = uniform(size, width), K.zeros((width,))
        return x, [*parameters, w, b], K.dot(h, w) + b

    return net


def recurrent(step, gates):
    """The last state of a recurrence over the rows of each sample, and a dense layer."""

    def net(n, width, known):
        x = K.placeholder((None, n.steps, n.features), name="x")
        w, u = uniform(n.features, gates * n.units), uniform(n.units, gates * n.units)
        b = K.zeros((gates * n.units,))
        zero = K.dot(x[:, 0, :] * 0, K.zeros((n.features, n.units)))
        states = [zero] * (2 if gates == 4 else 1)
        last, _, _ = K.rnn(
            lambda i, s: step(K.dot(i, w) + K.dot(s[0], u) + b, s, n.units), x, states
        )
        v, c = uniform(n.units, width), K.zeros((width,))
        return x, [w, u, b, v, c], K.dot(last, v) + c

    return net


def lstm_step(z, states, units):
    i, f, o = (K.sigmoid(z[:, k * units : (k + 1) * units]) for k in (0, 1, 3))
    cell = f * states[1] + i * K.tanh(z[:, 2 * units : 3 * units])
    h = o * K.tanh(cell)
    return h, [h, cell]


def plain_step(z, states, units):
    h = K.tanh(z)
    return h, [h]


# ---- losses: (labels, loss, accuracy or None, predictions) --------------------------------------


def categorical(n, z, known):
    t, y = K.placeholder((None, n.classes if known else None), name="t"), K.softmax(z)
    right = K.cast(K.equal(K.argmax(y), K.argmax(t)), "float32")
    return t, K.mean(K.categorical_crossentropy(target=t, output=y)), K.mean(right), y


def written_out(n, z, known):
    t, y = K.placeholder((None, n.classes if known else None), name="t"), K.softmax(z)
    return t, -K.mean(K.sum(t * K.log(y), axis=1)), None, K.argmax(y)


def kept_from_zero(n, z, known):
    t, y = K.placeholder((None, n.classes if known else None), name="t"), K.softmax(z)
    return t, K.mean(-K.sum(t * K.log(y + 1e-8), axis=-1)), None, y


def sparse(n, z, known):
    t, y = K.placeholder((None,), dtype="int32", name="t"), K.softmax(z)
    right = K.cast(K.equal(K.cast(K.argmax(y), "int32"), t), "float32")
    return t, K.mean(K.sparse_categorical_crossentropy(target=t, output=y)), K.mean(right), y


def binary(n, z, known):
    t, y = K.placeholder((None, 1), name="t"), K.sigmoid(z)
    right = K.cast(K.equal(y > 0.5, t > 0.5), "float32")
    return t, K.mean(K.binary_crossentropy(target=t, output=y)), K.mean(right), y


def each_binary(n, z, known):
    t, y = K.placeholder((None, n.classes if known else None), name="t"), K.sigmoid(z)
    return t, K.mean(K.binary_crossentropy(target=t, output=y)), None, y


def each_squared(n, z, known):
    t, y = K.placeholder((None, n.classes if known else None), name="t"), K.sigmoid(z)
    return t, K.mean(K.square(y - t)), None, y


def squared(n, z, known):
    t = K.placeholder((None, 1), name="t")
    return t, K.mean(K.square(z - t)), None, z


LOSSES = {
    categorical: "classes",
    written_out: "classes",
    kept_from_zero: "classes",
    sparse: "classes",
    each_binary: "classes",
    each_squared: "classes",
    binary: 1,
    squared: 1,
}


# ---- optimizers: updates ------------------------------------------------------------------------


def descent(parameters, gradients, rate):
    return [(p, p - rate * g) for p, g in zip(parameters, gradients)]


def momentum(parameters, gradients, rate):
    updates = []
    for p, g in zip(parameters, gradients):
        velocity = K.zeros(K.int_shape(p))
        moved = 0.9 * velocity - rate * g
        updates += [(velocity, moved), (p, p + moved)]
    return updates


def rmsprop(parameters, gradients, rate):
    updates = []
    for p, g in zip(parameters, gradients):
        a = K.zeros(K.int_shape(p))
        new = 0.9 * a + 0.1 * K.square(g)
        updates += [(a, new), (p, p - rate * g / (K.sqrt(new) + 1e-7))]
    return updates


def adam(parameters, gradients, rate):
    t = K.variable(0.0)
    now = t + 1
    by = rate * K.sqrt(1 - K.pow(0.999, now)) / (1 - K.pow(0.9, now))
    updates = [(t, now)]
    for p, g in zip(parameters, gradients):
        m, v = K.zeros(K.int_shape(p)), K.zeros(K.int_shape(p))
        new_m, new_v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * K.square(g)
        updates += [(m, new_m), (v, new_v), (p, p - by * new_m / (K.sqrt(new_v) + 1e-7))]
    return updates


OPTIMIZERS = descent, momentum, rmsprop, adam


RATES = {"number": lambda: 0.05, "input": None}

# ---- programs -----------------------------------------------------------------------------------


def pooled(mode):
    return lambda h: K.pool2d(h, (2, 2), strides=(2, 2), pool_mode=mode)


NETS = {
    "linear": (dense(), tuple(LOSSES)),
    "one hidden layer": (dense(K.relu), tuple(LOSSES)),
    "one of tanh": (dense(K.tanh), (categorical, binary, squared)),
    "one of sigmoid": (dense(K.sigmoid), (categorical, binary, squared)),
    "two hidden layers": (dense(K.relu, K.relu), tuple(LOSSES)),
    "convolutions": (convolutions(pooled("max")), (categorical, sparse)),
    "averages": (convolutions(pooled("avg")), (categorical,)),
    "lstm": (recurrent(lstm_step, 4), (categorical, binary, squared)),
    "rnn": (recurrent(plain_step, 1), (categorical, squared)),
}


MANY = SimpleNamespace(features=8, units=16, classes=20)  # rows of 16 numbers have other kernels


def programs(n, batches):
    """(inputs of one size after the other, the function) of every net, loss and optimizer."""
    for (name, (net, losses)), optimizer, rate, decay in product(
        NETS.items(), OPTIMIZERS, RATES, (0.0, 1e-4)
    ):
        if (optimizer, rate, decay) == (descent, "number", 0.0):
            print(f"{name}, {n.units} units", flush=True)
        if optimizer in (rmsprop, adam) and (decay or rate != "number"):
            continue
        for loss in losses:
            yield from program(n, batches, net, loss, optimizer, rate, decay)


def program(n, batches, net, loss, optimizer, rate, decay):
    """(inputs of one size after the other, the function) of training, loss and predictions."""
    known = rate != "input"
    x, parameters, z = net(n, n.classes if LOSSES[loss] == "classes" else 1, known)
    t, cost, right, y = loss(n, z, known)
    if decay:
        cost += decay * sum(K.sum(K.square(p)) for p in parameters[::2])
    arrays = [data(n, x, t, loss, batch) for batch in batches]
    given = [K.placeholder((), name="rate")] if rate == "input" else []
    by = given[0] if given else RATES[rate]()
    updates = optimizer(parameters, K.gradients(cost, parameters), by)
    shown = [cost] if right is None or not known else [cost, right]
    rates = [np.float32(0.1)] * len(given)
    yield [a + rates for a in arrays], K.function([x, t, *given], shown, updates=updates)
    if optimizer is descent:  # what others have no say in, once
        if not decay:
            yield [a[:1] for a in arrays], K.function([x], [y])
        yield arrays, K.function([x, t], shown)


def data(n, x, t, loss, batch):
    """Arrays for the inputs; only their shapes matter."""
    shape = (batch, *[d or n.features for d in K.int_shape(x)[1:]])
    labels = {sparse: (batch,), binary: (batch, 1), squared: (batch, 1)}
    return [
        np.zeros(shape, "float32"),
        np.zeros(labels.get(loss, (batch, n.classes)), K.dtype(t)),
    ]


def asked():
    """Plan every program for every size."""
    for n, batches in SIZES:
        for arrays, function in programs(n, batches):
            plan(arrays, function)
    for loss, kind in LOSSES.items():
        if kind == "classes":
            for arrays, function in program(MANY, (16, 1), dense(), loss, descent, "number", 0.0):
                plan(arrays, function)


def plan(arrays, function):
    for inputs in arrays:
        function.info.program.plan_arguments(inputs)
