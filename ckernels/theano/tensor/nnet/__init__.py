"""The functions of theano.tensor.nnet, a file by topic."""
