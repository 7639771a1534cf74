"""theano.sandbox: the random streams rng_mrg."""
