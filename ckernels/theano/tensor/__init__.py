"""The functions of theano.tensor, a file by topic."""
