"""theano.sparse over K.sparse."""
