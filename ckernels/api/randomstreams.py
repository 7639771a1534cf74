"""RandomStreams: Theano's MRG_RandomStreams, number for number.

Each draw owns a state, a Variable of shape (streams, 6), whose default update is the state after
the draw; draws start 2**134 numbers apart, their streams 2**72. The generator is in ops/mrg.py;
this file gives seeds and streams to draws, and makes other numbers of uniform ones, as Theano does.
"""

import math
import warnings

import numpy as np

from .. import ops
from ..base import dtypes, given
from ..base.errors import ArgumentError, CKernelsWarning, NotSupported, ShapeError, UsageError
from ..graph.node import Node, constant
from ..graph.shapes import show
from ..ops.mrg import STREAM, ahead, substreams
from ..ops.shape import times
from .draws import check_fits, count_of, float_of, handle, is_number, matrix, sizes_of, state_of
from .operands import integer, node_of, operand
from .random import check_probability
from .tensor import Tensor, Variable

MANY = 60 * 256  # streams of a draw whose size is not made of Python ints


def guess_n_streams(size, warn=False):
    """How many streams Theano gives a draw of this size: a sixth of its elements, at most 15360.

    15360 too when `size` is anything but a tuple or list of Python ints; `warn` says so then.

    >>> from ckernels.api.randomstreams import guess_n_streams
    >>> guess_n_streams((2, 3)), guess_n_streams((10, 10)), guess_n_streams((1000, 1000))
    (6, 16, 15360)
    """
    if isinstance(size, (tuple, list)) and all(isinstance(d, int) for d in size):
        count = math.prod(size)
        return min(count // 6 if count > 6 else count, MANY)
    if warn:
        warnings.warn(
            f"the number of streams cannot be told from the size {size!r}: {MANY} are used",
            CKernelsWarning,
            stacklevel=2,
        )
    return MANY


class RandomStreams:
    """Streams of random tensors with the interface of numpy.random; the generator is MRG31k3p.

    `rstate` is the state at which the next draw will start, six int32; `state_updates` has (state,
    state after the draw, size, nstreams) of each draw so far.

    Parameters
    ----------
    seed : int or list of six int, default 12345
        Below 2147462579; of six, the first three are below 2147483647 and not all 0, the others
        below 2147462579 and not all 0.
    use_cuda : bool, optional
        Only what is false is taken: draws are computed on the CPU.

    Raises
    ------
    ArgumentError
        For a seed out of range.
    UsageError
        For a seed of no integers.
    NotSupported
        With use_cuda=True.

    Notes
    -----
    Equal seeds and equal draws in equal order give Theano's numbers bit for bit (P. L'Ecuyer and R.
    Touzin, Winter Simulation Conference 2000).

    Examples
    --------
    >>> rng = K.RandomStreams(seed=12345)
    >>> f = K.function([], rng.uniform((2,), dtype="float64"))
    >>> f(), f()
    (array([0.73532445, 0.25856858]), array([0.61420744, 0.94899803]))
    """

    def __init__(self, seed=12345, use_cuda=None):
        if given.flag(use_cuda, "use_cuda"):
            raise NotSupported("RandomStreams computes on the CPU; leave use_cuda out")
        self.state_updates = []
        self.default_instance_seed = seed
        self.set_rstate(seed)

    # ---- states ---------------------------------------------------------------------------------

    def updates(self):
        """[(state, its update)] of all draws, for the `updates` of a function.

        Functions apply them anyway, as default updates, unless told otherwise.
        """
        return [(old, new) for old, new, _, _ in self.state_updates]

    def set_rstate(self, seed):
        """Let the next draw start at `seed`, an int or six, as for the constructor."""
        self.rstate = state_of(seed)

    def seed(self, seed=None):
        """Start all draws anew from `seed`, or from the seed of the constructor.

        Draws made so far get new states in the order in which they were made.
        """
        self.set_rstate(self.default_instance_seed if seed is None else seed)
        for old, _, size, nstreams in self.state_updates:
            count = self.n_streams(size) if nstreams is None else nstreams
            old.set_value(self.get_substream_rstates(count, "int32"))

    def inc_rstate(self):
        """Move `rstate` 2**134 numbers on, to the start of the next stream."""
        self.rstate = ahead(np.asarray(self.rstate, "int32"), STREAM)

    def get_substream_rstates(self, n_streams, dtype=None, inc_rstate=True):
        """An int32 matrix (n_streams, 6) of states 2**72 numbers apart, from `rstate` on.

        inc_rstate: move `rstate` on afterwards. dtype is an argument of Theano's, without effect.
        """
        count = integer(n_streams, "the number of streams")
        if count < 1:
            raise ArgumentError(f"a draw needs at least one stream, got {count}")
        rows = substreams(np.asarray(self.rstate, "int32"), count)
        if inc_rstate:
            self.inc_rstate()
        return rows

    def n_streams(self, size):
        """The number of streams of a draw of this size; see `guess_n_streams`."""
        return guess_n_streams(size)

    def pretty_return(self, node_rstate, new_rstate, sample, size, nstreams):
        """Note a draw: `sample` gets the attributes rstate and update, its state an update."""
        sample.rstate, sample.update = node_rstate, (node_rstate, new_rstate)
        self.state_updates.append((node_rstate, new_rstate, size, nstreams))
        node_rstate.default_update = new_rstate
        return sample

    # ---- draws ----------------------------------------------------------------------------------

    def uniform(self, size, low=0.0, high=1.0, ndim=None, dtype=None, nstreams=None):
        """Numbers between low and high; high is excluded, and low up to rounding.

        size   a tuple of ints >= 1 and scalar tensors, or an integer vector tensor
        dtype  a float; by default floatx(), or wider where tensors or arrays low and high are
        ndim   accepted: the number of dimensions is known from `size`
        nstreams  how many streams share the work; the numbers depend on it

        >>> K.RandomStreams(1).uniform((2, 3), low=-1.0).eval().shape
        (2, 3)
        """
        sizes = sizes_of(size, ndim)
        low, high = operand(low, "low"), operand(high, "high")
        dtype = float_of(dtype, low, high)
        check_fits(sizes, low=low, high=high)
        u = self._draw(size, sizes, dtype, nstreams)
        if is_number(low, 0) and is_number(high, 1):
            return u
        wide = dtypes.computed(dtype)  # kernels do not round in between
        first, end = ops.cast(node_of(low), wide), ops.cast(node_of(high), wide)
        y = ops.add(ops.mul(ops.cast(u.node, wide), ops.sub(end, first)), first)
        return self._like(u, ops.without_end(ops.cast(y, dtype), low, high))

    def normal(self, size, avg=0.0, std=1.0, ndim=None, dtype=None, nstreams=None):
        """Normal numbers, by Box and Muller from an even count of uniform ones.

        The first half of these gives radii sqrt(-2 log u), the second angles 2 pi u; the result is
        all radius * cos(angle), then all radius * sin(angle). Parameters are those of `uniform`.

        >>> K.RandomStreams(1).normal((3,), avg=10.0, dtype="float64").eval().dtype
        dtype('float64')
        """
        sizes = sizes_of(size, ndim)
        avg, std = operand(avg, "avg"), operand(std, "std")
        dtype = float_of(dtype, avg, std)
        check_fits(sizes, avg=avg, std=std)
        count = times(*sizes)
        even = count + count % 2 if isinstance(count, int) else ops.add(count, ops.mod(count, 2))
        # In Theano this size is a NumPy int64, not a Python int: it gets 15360 streams.
        held = (np.int64(even) if isinstance(even, int) else Tensor(even),)
        u = self._draw(held, [even], dtype, nstreams)
        half = even // 2 if isinstance(even, int) else ops.floor_div(even, 2)
        first, second = (
            ops.getitem(u.node, part) for part in (slice(None, half), slice(half, None))
        )
        radius = ops.sqrt(ops.mul(ops.log(first), -2.0))
        angle = ops.mul(second, constant(np.asarray(2.0 * np.pi, dtype)))
        z = ops.concatenate([ops.mul(radius, f(angle)) for f in (ops.cos, ops.sin)], 0)
        z = ops.reshape(ops.getitem(z, slice(None, count)), ops.shape_vector(sizes))
        std, avg = ops.cast(node_of(std), dtype), ops.cast(node_of(avg), dtype)
        return self._like(u, ops.add(ops.mul(z, std), avg))

    def binomial(self, size=None, n=1, p=0.5, ndim=None, dtype="int64", nstreams=None):
        """How many of `n` (an int) trials of probability `p` succeed; Theano knows n=1 only.

        p: a number or a tensor that broadcasts to `size`. More trials take more uniform numbers,
        one more axis of them.

        >>> K.RandomStreams(1).binomial((4,), p=1.0).eval()
        array([1, 1, 1, 1])
        """
        if size is None:
            raise UsageError("binomial needs a size, e.g. size=(10,) or the shape of a tensor")
        n = count_of(n, "the number of trials n of binomial")
        p = check_probability(operand(p, "p"), "p of binomial")
        sizes = sizes_of(size, ndim)
        check_fits(sizes, p=p)
        if n == 1:
            u = self._draw(size, sizes, dtypes.floatx(), nstreams)
            return self._like(u, ops.cast(ops.lt(u.node, p), dtype))
        trials = size + (n,) if isinstance(size, tuple) else (*map(handle, sizes), n)
        u = self._draw(trials, [*sizes, n], dtypes.floatx(), nstreams)
        hits = ops.lt(u.node, ops.expand(p, (p.ndim,)) if isinstance(p, Node) else p)
        return self._like(u, ops.cast(ops.sum(ops.cast(hits, "int64"), -1), dtype))

    def multinomial(self, size=None, n=1, pvals=None, ndim=None, dtype="int64", nstreams=None):
        """How often each class comes up in `n` draws (int or scalar tensor) with row i of `pvals`.

        pvals: a matrix; its rows should be probabilities, which is not checked: where they add up
        to less than the number drawn, no class is counted. size and ndim must be left out.

        >>> K.RandomStreams(1).multinomial(n=3, pvals=[[0.0, 1.0], [1.0, 0.0]]).eval()
        array([[0, 3],
               [3, 0]])
        """
        if size is not None or ndim is not None:
            raise ArgumentError("multinomial takes its size from pvals; leave size and ndim out")
        p = matrix(pvals, "pvals of multinomial")
        u, chosen = self._choices(p, n, "n of multinomial", nstreams, True, strict=True)
        classes = ops.arange(0, ops.size_of(p, 1), 1, "int64")
        hot = ops.eq(ops.expand(chosen, (2,)), classes)
        return self._like(u, ops.cast(ops.sum(ops.cast(hot, "int64"), 1), dtype))

    def choice(self, size=1, a=None, replace=True, p=None, ndim=None, dtype="int64", nstreams=None):
        """Indices (rows of p, size) drawn with the probabilities in the rows of the matrix `p`.

        size: an int or a scalar tensor. replace=False: no index twice in a row; Theano has only
        that. a and ndim must be left out. What p adds up to is not checked.

        >>> int(K.RandomStreams(1).choice(2, replace=False, p=[[0.5, 0.0, 0.5]]).eval().sum())
        2
        """
        if a is not None or ndim is not None:
            raise UsageError("choice takes what it chooses from p; leave a and ndim out")
        p = matrix(p, "p of choice")
        u, chosen = self._choices(p, size, "size of choice", nstreams, bool(replace))
        return self._like(u, ops.cast(chosen, dtype))

    def multinomial_wo_replacement(
        self, size=None, n=1, pvals=None, ndim=None, dtype="int64", nstreams=None
    ):
        """`choice(size=n, replace=False, p=pvals)`, under its older name. size must be left out."""
        if size is not None:
            raise ArgumentError(
                "multinomial_wo_replacement takes its size from pvals and n; leave size out"
            )
        return self.choice(n, None, False, pvals, ndim, dtype, nstreams)

    # ---- what draws share -----------------------------------------------------------------------

    def _draw(self, size, sizes, dtype, nstreams):
        """Uniform numbers in (0, 1): a Tensor with its state; `size` decides on the streams."""
        count = self.n_streams(size) if nstreams is None else nstreams
        state = Variable(self.get_substream_rstates(count, dtype), "rstate")
        new, sample = ops.mrg_uniform(state.node, sizes, dtype)
        return self.pretty_return(state, Tensor(new), Tensor(sample), size, nstreams)

    def _choices(self, p, count, what, nstreams, replace, strict=False):
        """(uniform numbers, chosen indices (rows, count)); Theano has 15360 streams for them."""
        count = operand(count, what)
        if isinstance(count, Node):
            if count.ndim or not dtypes.is_discrete(count.dtype):
                raise ShapeError(
                    f"{what} must be an integer or an integer scalar, got a {count.dtype} tensor "
                    f"of shape {show(count.shape)}"
                )
            count = ops.cast(count, "int64")
        else:
            count = count_of(count, what)
            if not replace and p.shape[1] is not None and count > p.shape[1]:
                raise ShapeError(
                    f"{what} is {count}, but there are {p.shape[1]} classes to choose from "
                    "without replacement"
                )
        rows = ops.size_of(p, 0)
        total = times(rows, count)
        u = self._draw((handle(ops.to_node(total)),), [total], dtypes.floatx(), nstreams)
        u_rows = ops.reshape(u.node, ops.shape_vector([count, rows]))
        return u, ops.mrg_choice(p, u_rows, replace, strict)

    @staticmethod
    def _like(u, node):
        """A Tensor on `node` that knows the state of the numbers it was made from."""
        made = Tensor(node)
        made.rstate, made.update = u.rstate, u.update
        return made
