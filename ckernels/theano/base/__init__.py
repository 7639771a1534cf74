"""Flags, exceptions, what Theano named and where it is; nothing here knows a graph."""
