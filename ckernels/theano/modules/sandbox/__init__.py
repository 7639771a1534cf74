"""theano.sandbox: the random streams rng_mrg."""

from ...base.names import absent_of as _absent_of

__getattr__ = _absent_of("theano.sandbox")
