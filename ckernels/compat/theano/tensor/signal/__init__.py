"""theano.tensor.signal: pooling, and convolution of single images."""

import importlib


def __getattr__(name):
    from ...names import missing
    if name in ("pool", "conv", "downsample"):
        return importlib.import_module("." + name, __name__)
    raise missing("theano.tensor.signal", name)
