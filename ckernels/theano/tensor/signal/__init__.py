"""The functions of theano.tensor.signal."""
