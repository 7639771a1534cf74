"""theano.tensor.signal: pooling, and convolution of single images."""

import importlib


def __getattr__(name):
    from ...names import elsewhere

    if name in ("pool", "conv", "downsample"):
        return importlib.import_module("." + name, __name__)
    return elsewhere("theano.tensor.signal", name)
