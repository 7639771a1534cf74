"""Convolutions and pooling of Theano on tensors of K."""
