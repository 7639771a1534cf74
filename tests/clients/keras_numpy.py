"""NumPy forward passes of Keras layers, written from the layers' definitions: the oracle of tests.

Each function takes (x, weights, layer) with weights in Keras's order, channels last.
"""

import itertools

import numpy as np
from scipy import special

sigmoid = special.expit


def hard_sigmoid(x):
    return np.clip(0.2 * x + 0.5, 0, 1)


def softmax(x):
    return special.softmax(x, -1)


ACTIVATIONS = {
    "linear": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "hard_sigmoid": hard_sigmoid,
    "softmax": softmax,
    "softplus": lambda x: np.logaddexp(0, x),
    "softsign": lambda x: x / (1 + abs(x)),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "exponential": np.exp,
}  # fmt: skip


def act(layer, name="activation"):
    return ACTIVATIONS[getattr(layer, name).__name__]


def dense(x, w, layer):
    return act(layer)(x @ w[0] + w[1])


# --- windows ----------------------------------------------------------------------------------


def padded(x, size, stride, dilation, padding, value=0.0):
    """x (N, *S, C) padded as TensorFlow pads for windows of these sizes."""
    pairs = [(0, 0)]
    for length, k, s, d in zip(x.shape[1:-1], size, stride, dilation):
        span = (k - 1) * d + 1
        if padding == "same":
            total = max((-(-length // s) - 1) * s + span - length, 0)
            pairs.append((total // 2, total - total // 2))
        else:
            pairs.append((span - 1, 0) if padding == "causal" else (0, 0))
    return np.pad(x, [*pairs, (0, 0)], constant_values=value)


def windows(x, size, stride, dilation):
    """(places, arrays (N, *size, C)) over the spatial axes of x, row by row; and their counts."""
    spans = [(k - 1) * d + 1 for k, d in zip(size, dilation)]
    counts = [(length - span) // s + 1 for length, span, s in zip(x.shape[1:-1], spans, stride)]
    found = []
    for place in itertools.product(*map(range, counts)):
        steps = zip(place, stride, spans, dilation)
        cut = [slice(p * s, p * s + span, d) for p, s, span, d in steps]
        found.append(x[(slice(None), *cut)])
    return found, counts


def convolve(x, kernel, stride, padding, dilation):
    size = kernel.shape[:-2]
    found, counts = windows(padded(x, size, stride, dilation, padding), size, stride, dilation)
    flat = np.stack([f.reshape(len(x), -1) for f in found], 1)
    return (flat @ kernel.reshape(-1, kernel.shape[-1])).reshape(len(x), *counts, -1)


def conv(x, w, layer):
    y = convolve(x, w[0], layer.strides, layer.padding, layer.dilation_rate)
    return act(layer)(y + w[1])


def depthwise(x, kernel, stride, padding, dilation):
    parts = []
    for c in range(x.shape[-1]):
        own = kernel[..., c : c + 1, :]
        parts.append(convolve(x[..., c : c + 1], own, stride, padding, dilation))
    return np.concatenate(parts, -1)


def depthwise_conv(x, w, layer):
    y = depthwise(x, w[0], layer.strides, layer.padding, layer.dilation_rate)
    return act(layer)(y + w[1])


def separable(x, w, layer):
    y = depthwise(x, w[0], layer.strides, layer.padding, layer.dilation_rate)
    return act(layer)(y @ w[1].reshape(w[1].shape[-2:]) + w[2])


def conv_transpose(x, w, layer):
    """The adjoint of the convolution: each input element adds the kernel times it."""
    kernel, size, stride = w[0], w[0].shape[:-2], layer.strides
    full = [(n - 1) * s + k for n, s, k in zip(x.shape[1:-1], stride, size)]
    full = [max(f, n * s) for f, n, s in zip(full, x.shape[1:-1], stride)]
    y = np.zeros((len(x), *full, kernel.shape[-2]))
    for place in itertools.product(*map(range, x.shape[1:-1])):
        cut = tuple(slice(p * s, p * s + k) for p, s, k in zip(place, stride, size))
        y[(slice(None), *cut)] += np.tensordot(x[(slice(None), *place)], kernel, ([1], [-1]))
    if layer.padding == "same":
        for axis, (n, s, k) in enumerate(zip(x.shape[1:-1], stride, size), 1):
            begin = max(k - s, 0) // 2
            y = np.take(y, range(begin, begin + n * s), axis)
    return act(layer)(y + w[1])


def local(x, w, layer):
    found, counts = windows(x, layer.kernel_size, layer.strides, (1,) * len(layer.strides))
    y = np.stack([f.reshape(len(x), -1) @ k for f, k in zip(found, w[0])], 1)
    return act(layer)(y.reshape(len(x), *counts, -1) + w[1])


def pooling(reduce, value):
    def pool(x, w, layer):
        flat = isinstance(layer.pool_size, int)
        size = (layer.pool_size,) if flat else layer.pool_size
        stride = (layer.strides,) if isinstance(layer.strides, int) else layer.strides
        ones = (1,) * len(size)
        wide = padded(x, size, stride, ones, layer.padding, value)
        found, counts = windows(wide, size, stride, ones)
        axes = tuple(range(1, x.ndim - 1))
        return np.stack([reduce(f, axis=axes) for f in found], 1).reshape(len(x), *counts, -1)

    return pool


max_pool, average_pool = pooling(np.max, -np.inf), pooling(np.nanmean, np.nan)


# --- recurrent --------------------------------------------------------------------------------


def over_time(x, states, step, layer):
    order = range(x.shape[1])[:: -1 if layer.go_backwards else 1]
    outputs = []
    for t in order:
        y, states = step(x[:, t], states)
        outputs.append(y)
    return np.stack(outputs, 1) if layer.return_sequences else outputs[-1]


def simple_rnn(x, w, layer):
    def step(x, states):
        y = act(layer)(x @ w[0] + w[2] + states[0] @ w[1])
        return y, [y]

    return over_time(x, [np.zeros((len(x), layer.units))], step, layer)


def gru(x, w, layer):
    n, inner = layer.units, act(layer, "recurrent_activation")
    kernel, recurrent, bias = w

    def step(x, states):
        h = states[0]
        xz, xr, xh = np.split(x @ kernel + (bias[0] if layer.reset_after else bias), 3, 1)
        if layer.reset_after:
            hz, hr, hh = np.split(h @ recurrent + bias[1], 3, 1)
            z, r = inner(xz + hz), inner(xr + hr)
            new = act(layer)(xh + r * hh)
        else:
            hz, hr = np.split(h @ recurrent[:, : 2 * n], 2, 1)
            z, r = inner(xz + hz), inner(xr + hr)
            new = act(layer)(xh + (r * h) @ recurrent[:, 2 * n :])
        y = z * h + (1 - z) * new
        return y, [y]

    return over_time(x, [np.zeros((len(x), n))], step, layer)


def lstm_cell(layer, from_input, from_state):
    inner = act(layer, "recurrent_activation")

    def step(x, states):
        h, c = states
        i, f, new, o = np.split(from_input(x) + from_state(h), 4, -1)
        c = inner(f) * c + inner(i) * act(layer)(new)
        h = inner(o) * act(layer)(c)
        return h, [h, c]

    return step


def lstm(x, w, layer):
    step = lstm_cell(layer, lambda x: x @ w[0] + w[2], lambda h: h @ w[1])
    return over_time(x, [np.zeros((len(x), layer.units))] * 2, step, layer)


def conv_lstm(x, w, layer):
    ones = (1, 1)
    into = lambda x: convolve(x, w[0], layer.strides, layer.padding, ones) + w[2]
    step = lstm_cell(layer, into, lambda h: convolve(h, w[1], ones, "same", ones))
    shape = into(x[:, 0]).shape[:-1] + (layer.filters,)
    return over_time(x, [np.zeros(shape)] * 2, step, layer)


def batch_norm(x, w, layer):
    gamma, beta, mean, var = w
    return (x - mean) / np.sqrt(var + layer.epsilon) * gamma + beta
