"""theano.tensor.signal: pooling, and convolution of single images."""

from ....base.names import absent_of as _absent_of

__getattr__ = _absent_of("theano.tensor.signal")
