"""theano.misc."""
