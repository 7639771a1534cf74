"""MRG_RandomStreams: Theano's MRG31k3p streams, number for number, with Theano's variables.

The generator is that of K.RandomStreams; here draws are variables of the facade, in its floatX.
"""

import functools

import numpy as np

from ... import ops
from ...api.draws import sizes_of
from ...api.randomstreams import RandomStreams, guess_n_streams  # noqa: F401
from ...base.errors import UsageError
from ...ops.mrg import STREAM, SUBSTREAM, ahead
from ..base.config import config
from ..base.names import absent_of as _absent_of
from ..classes.meanings import upcast
from ..classes.op import KernelOp, Op
from ..gradient.functions import undefined_grad
from ..graph.apply import Apply, Constant
from ..graph.walks import handle_of
from ..handles.variables import Handle, as_tensor_variable, holds_variables

# Of what normal numbers within two standard deviations have: sqrt(1 - 4 pdf(2) / (2 cdf(2) - 1)).
TRUNCATED = 0.87962566103423978


def near(given, depth=3):
    """{uid of a node: handle} of the variables among arguments, and of what these are made of:
    three steps upwards, as far as a size is from the tensor whose size it is."""
    memo, level = {}, list(given)
    for _ in range(depth + 1):
        above = []
        for x in level:
            if isinstance(x, (list, tuple)):
                above += x  # a step, as for the vector that it becomes
            elif isinstance(x, Handle) and x.node.uid not in memo:
                memo[x.node.uid] = x
                above += x.owner.inputs if x.owner is not None else ()
        level = above
    return memo


def noting(draw):
    """A draw whose results are made of the very variables it is given."""

    @functools.wraps(draw)
    def noted(self, *args, **kwargs):
        if self.given is not None:  # a draw by another draw
            return draw(self, *args, **kwargs)
        self.given = near((*args, *kwargs.values()))
        try:
            return draw(self, *args, **kwargs)
        finally:
            self.given = None

    return noted


class MRG_RandomStreams(RandomStreams):  # noqa: N801 (Theano's name)
    """Streams of random variables; each draw owns a state, advanced by functions that use it."""

    wanted = None  # the dtype of uniform numbers that a draw is made from, where it is fixed

    given = None  # {uid of a node: handle} of what a draw was given, while it is made

    def __init__(self, seed=12345, use_cuda=None):
        super().__init__(seed, None)

    def pretty_return(self, node_rstate, new_rstate, sample, size, nstreams):
        """Note a draw: `sample` gets the attributes rstate and update."""
        from ..scan.functions import shared_on  # programs would see the name here

        state = shared_on(node_rstate)
        state.name = "rstate"
        memo = {**(self.given or {}), state.node.uid: state}
        new, drawn = handle_of(new_rstate.node, memo), handle_of(sample.node, memo)
        state.default_update = new
        drawn.rstate, drawn.update = state, (state, new)
        self.state_updates.append((state, new, size, nstreams))
        return drawn

    def _like(self, u, node):
        memo = {**(self.given or {}), u.node.uid: u, u.rstate.node.uid: u.rstate}
        made = handle_of(node, memo)
        made.rstate, made.update = u.rstate, u.update
        return made

    def _draw(self, size, sizes, dtype, nstreams):
        return super()._draw(size, sizes, self.wanted or dtype, nstreams)

    def _fixed(self, draw, *args, **kwargs):
        """A draw from uniform numbers of floatX."""
        self.wanted = config.floatX
        try:
            return draw(*args, **kwargs)
        finally:
            self.wanted = None

    def _float(self, dtype, *parameters):
        if dtype is not None:
            return config.floatX if dtype == "floatX" else dtype
        return upcast(config.floatX, *(as_tensor_variable(p).dtype for p in parameters))

    @noting
    def uniform(self, size, low=0.0, high=1.0, ndim=None, dtype=None, nstreams=None, **kwargs):
        """Numbers between low and high."""
        dtype = self._float(dtype, low, high)
        return super().uniform(_size(size), _flat(low), _flat(high), ndim, dtype, nstreams)

    @noting
    def normal(
        self, size, avg=0.0, std=1.0, ndim=None, dtype=None, nstreams=None, truncate=False, **kwargs
    ):
        """Normal numbers, by Box and Muller; truncate: within two standard deviations."""
        dtype = self._float(dtype, avg, std)
        if truncate:
            return self._truncated(_size(size), avg, std, dtype, nstreams)
        return super().normal(_size(size), _flat(avg), _flat(std), ndim, dtype, nstreams)

    @noting
    def truncated_normal(
        self, size, avg=0.0, std=1.0, ndim=None, dtype=None, nstreams=None, **kwargs
    ):
        """Normal numbers cut off at two standard deviations, then scaled so that what is left has
        the standard deviation `std`; those outside are drawn again."""
        std = as_tensor_variable(std) / as_tensor_variable(TRUNCATED)
        return self.normal(size, avg, std, ndim, dtype, nstreams, truncate=True)

    def _truncated(self, size, avg, std, dtype, nstreams):
        from .elementwise import (  # programs would see the name here
            cast,
            cos,
            invert,
            log,
            or_,
            sin,
            sqrt,
        )
        from .indexing import flatnonzero  # programs would see the name here
        from .joining import join  # programs would see the name here
        from .reductions import prod  # programs would see the name here
        from .shaping import reshape  # programs would see the name here

        sizes_of(size)  # its errors
        count = prod(as_tensor_variable(size), dtype="int64")
        pairs = (count + 1) // 2
        u = self.uniform((pairs * 2,), dtype=dtype, nstreams=nstreams)
        radius = sqrt(cast(-2.0, dtype) * log(u[:pairs]))
        theta = cast(2 * np.pi, dtype) * u[pairs:]
        cosines, sines = cos(theta), sin(theta)
        parts, fixes = [], []
        for z in (radius * cosines, radius * sines):
            wrong = or_(z < -2.0, z > 2.0)
            parts.append(z[flatnonzero(invert(wrong))])
            fixes.append(flatnonzero(wrong))
        again = self.uniform(
            (fixes[0].size + fixes[1].size,),
            low=np.asarray(np.exp(-2.0), dtype),
            high=1.0,
            dtype=dtype,
            nstreams=nstreams,
        )
        radius = sqrt(cast(-2.0, dtype) * log(again))
        first = radius[: fixes[0].size] * cosines[fixes[0]]
        second = radius[fixes[0].size :] * sines[fixes[1]]
        z = join(0, parts[0], first, parts[1], second)[:count]
        ndim = len(size) if isinstance(size, (tuple, list)) else None
        made = reshape(z, size, ndim=ndim) * cast(_flat(std), dtype) + cast(_flat(avg), dtype)
        made.rstate, made.update = u.rstate, u.update
        return made

    @noting
    def binomial(self, size=None, n=1, p=0.5, ndim=None, dtype="int64", nstreams=None, **kwargs):
        """How many of `n` trials of probability `p` succeed."""
        dtype = config.floatX if dtype == "floatX" else dtype
        return self._fixed(super().binomial, _size(size), n, _flat(p), ndim, dtype, nstreams)

    @noting
    def multinomial(
        self, size=None, n=1, pvals=None, ndim=None, dtype="int64", nstreams=None, **kwargs
    ):
        """How often each class comes up in `n` draws with each row of `pvals`."""
        dtype = config.floatX if dtype == "floatX" else dtype
        return self._fixed(
            super().multinomial, size, n, _flat(as_tensor_variable(pvals)), ndim, dtype, nstreams
        )

    @noting
    def choice(
        self,
        size=1,
        a=None,
        replace=True,
        p=None,
        ndim=None,
        dtype="int64",
        nstreams=None,
        **kwargs,
    ):
        """Indices drawn with the probabilities in the rows of `p`."""
        return self._fixed(
            super().choice, size, a, replace, _flat(as_tensor_variable(p)), ndim, dtype, nstreams
        )

    @noting
    def multinomial_wo_replacement(
        self, size=None, n=1, pvals=None, ndim=None, dtype="int64", nstreams=None, **kwargs
    ):
        """`choice` without replacement, under its older name."""
        return self.choice(n, None, False, pvals, ndim, dtype, nstreams)


MRG_RandomStream = MRG_RandomStreams  # its name in Theano-PyMC


def _size(size):
    """A size as the engine takes it: a tuple, or a vector."""
    if isinstance(size, list):
        return tuple(size)
    if isinstance(size, (int, np.integer)):
        return (int(size),)
    return size


def _flat(x):
    """A parameter of a distribution: draws have no gradient by it."""
    if isinstance(x, (int, float)):
        return x
    x = as_tensor_variable(x)
    return x if isinstance(x, Constant) else undefined_grad(x)


def ff_2p72(rstate):
    """The six numbers of a state 2**72 draws after `rstate`: the next substream."""
    return ahead(np.asarray(rstate, "int32"), SUBSTREAM)


def ff_2p134(rstate):
    """The six numbers of a state 2**134 draws after `rstate`: the next stream."""
    return ahead(np.asarray(rstate, "int32"), STREAM)


def matVecModM(A, s, m):  # noqa: N802, N803 (Theano's name)
    """A s mod m, of integers that may be large."""
    found = np.asarray(A, object).dot(np.asarray(s, object)) % int(m)
    return np.asarray(found, "int64").astype("int32")


class DotModulo(Op):
    """A s mod m and A2 s2 mod m2, one behind the other, of integers that may be large."""

    __props__ = ()

    def make_node(self, A, s, m, A2, s2, m2):  # noqa: N803 (Theano's name)
        inputs = [as_tensor_variable(x) for x in (A, s, m, A2, s2, m2)]
        if [x.ndim for x in inputs] != [2, 1, 0] * 2:
            shown = ", ".join(str(x.type) for x in inputs)
            raise UsageError(f"DotModulo takes a matrix, a vector and a scalar, twice, not {shown}")
        return Apply(self, inputs, [inputs[1].type()])

    def perform(self, node, inputs, outputs):
        found = np.concatenate([matVecModM(*inputs[:3]), matVecModM(*inputs[3:])])
        outputs[0][0] = found.astype(node.outputs[0].dtype)


class mrg_uniform(KernelOp):  # noqa: N801 (Theano's name)
    """(states, size) to (new states, numbers between 0 and 1) of one dtype."""

    def __init__(self, output_type, inplace=False):
        KernelOp.__init__(self, _uniform, "mrg_uniform", dtype=output_type.dtype)
        self.output_type, self.inplace = output_type, inplace

    @classmethod
    def new(cls, rstate, ndim, dtype, size):
        """[new states, numbers] for a `size` of ints or a vector; ndim: its length, or None."""
        size = as_tensor_variable(np.asarray(size, "int64") if not holds_variables(size) else size)
        from ..handles.type import TensorType  # programs would see the name here
        from .shaping import get_vector_length  # programs would see the name here

        count = get_vector_length(size) if ndim is None else ndim
        return cls(TensorType(dtype, (False,) * count))(rstate, size)

    def __reduce__(self):
        return mrg_uniform, (self.output_type, self.inplace)


def _uniform(rstate, size, dtype):
    return list(ops.mrg_uniform(rstate, size, dtype))


def multMatVect(v, A, m1, B, m2):  # noqa: N802, N803 (Theano's name)
    """(A v[:3] mod m1, B v[3:] mod m2) of integers."""
    first = (np.asarray(A, object).dot(np.asarray(v[:3], object))) % m1
    second = (np.asarray(B, object).dot(np.asarray(v[3:], object))) % m2
    return np.concatenate([first, second]).astype("int32")


__getattr__ = _absent_of("theano.sandbox.rng_mrg")
