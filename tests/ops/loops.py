"""Convolution as a loop over windows, straight from its definition: what tests compare with."""

import itertools

import numpy as np


def padding_of(word, size, k, s, d):
    """(low, high) from the definitions."""
    reach = (k - 1) * d + 1
    if word == "same":
        total = max((int(np.ceil(size / s)) - 1) * s + reach - size, 0)
        return total // 2, total - total // 2
    words = {
        "valid": (0, 0),
        "full": (reach - 1,) * 2,
        "half": (reach // 2,) * 2,
        "causal": (reach - 1, 0),
    }
    return words[word] if isinstance(word, str) else (word, word) if isinstance(word, int) else word


def convolved(x, w, groups=1, strides=1, padding="valid", dilation=1):
    """Convolution, one window and one group at a time."""
    n = x.ndim - 2
    strides = (strides,) * n if isinstance(strides, int) else strides
    dilation = (dilation,) * n if isinstance(dilation, int) else dilation
    padding = (padding,) * n if isinstance(padding, (int, str)) else padding
    pads = [padding_of(*a) for a in zip(padding, x.shape[1:-1], w.shape, strides, dilation)]
    x = np.pad(x, [(0, 0), *pads, (0, 0)])
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape, dilation)]
    out = [(size - r) // s + 1 for size, r, s in zip(x.shape[1:-1], reach, strides)]
    y = np.zeros((x.shape[0], *out, w.shape[-1]), x.dtype)
    c, o = x.shape[-1] // groups, w.shape[-1] // groups
    for at in itertools.product(*map(range, out)):
        window = x[
            (
                slice(None),
                *(slice(a * s, a * s + r, d) for a, s, r, d in zip(at, strides, reach, dilation)),
            )
        ]
        for g in range(groups):
            part = window[..., g * c : (g + 1) * c]
            kernel = w[..., g * o : (g + 1) * o]
            y[(slice(None), *at, slice(g * o, (g + 1) * o))] = np.tensordot(part, kernel, n + 1)
    return y
