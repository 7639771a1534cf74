"""theano.function: what it takes, lowers, returns, watches and shows."""
