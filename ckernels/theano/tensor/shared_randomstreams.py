"""RandomStreams over NumPy's generator, number for number: each draw has its own shared state."""

import numpy as np

from ...base.errors import UsageError
from ..base.names import absent_of as _absent_of
from .raw_random import RandomStateSharedVariable, RandomStreamsBase, random_state_shared


def randomstate_constructor(value, name=None, strict=False, allow_downcast=None, borrow=False):
    """A shared variable of a RandomState."""
    if not isinstance(value, np.random.RandomState):
        raise TypeError
    return random_state_shared(value, name, borrow)


class RandomStreams(RandomStreamsBase):
    """Random variables with shared states, which functions advance.

    >>> from ckernels.compat.theano.tensor.shared_randomstreams import RandomStreams
    >>> u = RandomStreams(seed=234).uniform((2, 2))
    >>> u.eval().round(4).tolist()
    [[0.1267, 0.9709], [0.1399, 0.8875]]
    """

    def __init__(self, seed=None):
        self.state_updates, self.default_instance_seed = [], seed
        self.gen_seedgen = np.random.RandomState(seed)

    def updates(self):
        """[(state, state after the draw)] of all draws."""
        return list(self.state_updates)

    def seed(self, seed=None):
        """Start all draws anew, each with a seed drawn from a generator with this one."""
        seedgen = np.random.RandomState(self.default_instance_seed if seed is None else seed)
        for old, _ in self.state_updates:
            old.set_value(np.random.RandomState(int(seedgen.randint(2**30))), borrow=True)

    def __getitem__(self, item):
        """The RandomState of a draw."""
        for old, new in self.state_updates:
            if item is old or item is new:
                return old.container.value
        raise KeyError(item)

    def __setitem__(self, item, value):
        if not isinstance(value, np.random.RandomState):
            raise UsageError("only values of type RandomState are permitted")
        for old, new in self.state_updates:
            if item is old or item is new:
                old.container.value = value
                return
        raise KeyError(item, len(self.state_updates))

    def gen(self, op, *args, **kwargs):
        """A draw by a function of raw_random, with its own state: attributes rng and update."""
        state = random_state_shared(np.random.RandomState(int(self.gen_seedgen.randint(2**30))))
        new, out = op(state, *args, **kwargs)
        out.rng, out.update = state, (state, new)
        self.state_updates.append(out.update)
        state.default_update = new
        return out


__all__ = ["RandomStreams", "RandomStateSharedVariable", "randomstate_constructor"]


__getattr__ = _absent_of("theano.tensor.shared_randomstreams")
