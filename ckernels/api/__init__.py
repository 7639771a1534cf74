"""The K functions by topic: thin functions on `Tensor` handles over the ops, the gradient and the
runtime.
"""
