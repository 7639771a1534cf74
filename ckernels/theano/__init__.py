"""The front end for programs written for Theano 1.0.

Programs import it as `ckernels.compat.theano`, or as theano after its `install()`.
"""
