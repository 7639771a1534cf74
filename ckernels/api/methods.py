"""Operators, indexing and methods of tensors, as NumPy and Theano name them."""

import numpy as np

from .. import ops
from ..base import dtypes, given
from ..base.errors import ShapeError, UsageError
from ..graph.node import Node
from ..graph.shapes import axis_of
from .operands import clipped, node_of, operand, reshaped


def _operator(build, swapped=False):
    if swapped:
        return lambda self, other: self._wrap(build(operand(other), self.node))
    return lambda self, other: self._wrap(build(self.node, operand(other)))


def _unary(build):
    return lambda self: self._wrap(build(self.node))


def key_of(key):
    """An index with nodes for handles, arrays for lists and ints for NumPy ints."""
    if isinstance(key, tuple):
        return tuple(key_of(k) for k in key)
    if isinstance(key, slice):
        return slice(*(key_of(k) for k in (key.start, key.stop, key.step)))
    if isinstance(getattr(key, "node", None), Node):
        return key.node
    if isinstance(key, list):
        return np.asarray(key, dtype=None if key else np.int64)
    return int(key) if isinstance(key, np.integer) else key


class Dimension(int):
    """A size that is known, as programs for TensorFlow read it: `x.get_shape()[1].value`."""

    __slots__ = ()

    @property
    def value(self):
        """The size as an int."""
        return int(self)


class StaticShape(tuple):
    """A shape of ints and None that also answers as TensorFlow's does."""

    __slots__ = ()
    ndims = property(len, doc="The number of dimensions.")

    def as_list(self):
        """The sizes, None where unknown.

        >>> K.placeholder((None, 3)).get_shape().as_list()
        [None, 3]
        """
        return list(self)


class Methods:
    """What a Tensor can do; mixed into it."""

    __slots__ = ()

    __add__, __radd__ = _operator(ops.add), _operator(ops.add, True)
    __sub__, __rsub__ = _operator(ops.sub), _operator(ops.sub, True)
    __mul__, __rmul__ = _operator(ops.mul), _operator(ops.mul, True)
    __truediv__, __rtruediv__ = _operator(ops.true_div), _operator(ops.true_div, True)
    __floordiv__, __rfloordiv__ = _operator(ops.floor_div), _operator(ops.floor_div, True)
    __mod__, __rmod__ = _operator(ops.mod), _operator(ops.mod, True)
    __pow__, __rpow__ = _operator(ops.pow), _operator(ops.pow, True)
    __and__, __rand__ = _operator(ops.bit_and), _operator(ops.bit_and, True)
    __or__, __ror__ = _operator(ops.bit_or), _operator(ops.bit_or, True)
    __xor__, __rxor__ = _operator(ops.bit_xor), _operator(ops.bit_xor, True)
    __lshift__, __rlshift__ = _operator(ops.left_shift), _operator(ops.left_shift, True)
    __rshift__, __rrshift__ = _operator(ops.right_shift), _operator(ops.right_shift, True)
    __lt__, __le__ = _operator(ops.lt), _operator(ops.le)
    __gt__, __ge__ = _operator(ops.gt), _operator(ops.ge)
    __neg__, __abs__ = _unary(ops.neg), _unary(ops.abs)

    def __pos__(self):
        return self._wrap(self.node)

    def __invert__(self):
        build = ops.logical_not if self.dtype == "bool" else ops.bit_not
        return self._wrap(build(self.node))

    def __matmul__(self, other):
        return self._wrap(ops.matmul(self.node, node_of(other)))

    def __rmatmul__(self, other):
        return self._wrap(ops.matmul(node_of(other), self.node))

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __getitem__(self, key):
        key = key_of(key)
        result = self._wrap(ops.getitem(self.node, key))
        result._subtensor = (self, key)  # what set_subtensor and inc_subtensor write to
        return result

    def __setitem__(self, key, value):
        raise UsageError(
            f"{self!r} cannot be assigned to; K.set_subtensor(x[index], value) gives a new tensor"
        )

    @property
    def shape(self):
        """The symbolic shape, an int64 vector; `x.shape[0]` is a scalar tensor."""
        return self._wrap(ops.shape(self.node))

    def get_shape(self):
        """The static shape, as programs for TensorFlow ask for it: `x.get_shape().as_list()`."""
        return StaticShape(None if n is None else Dimension(n) for n in self.node.shape)

    @property
    def size(self):
        """The symbolic number of elements, an int64 scalar."""
        return self._wrap(ops.prod(ops.shape(self.node)))

    @property
    def T(self):  # noqa: N802
        """The tensor with its axes reversed."""
        return self.transpose()

    @property
    def real(self):
        """The real part."""
        return self._wrap(ops.real(self.node))

    @property
    def imag(self):
        """The imaginary part."""
        return self._wrap(ops.imag(self.node))

    def sum(self, axis=None, keepdims=False):
        """Sum over axes."""
        return self._wrap(ops.sum(self.node, axis, keepdims))

    def prod(self, axis=None, keepdims=False):
        """Product over axes."""
        return self._wrap(ops.prod(self.node, axis, keepdims))

    def mean(self, axis=None, keepdims=False):
        """Mean over axes."""
        return self._wrap(ops.mean(self.node, axis, keepdims))

    def var(self, axis=None, keepdims=False):
        """Variance over axes."""
        return self._wrap(ops.var(self.node, axis, keepdims))

    def std(self, axis=None, keepdims=False):
        """Standard deviation over axes."""
        return self._wrap(ops.sqrt(ops.var(self.node, axis, keepdims)))

    def max(self, axis=None, keepdims=False):
        """Largest element over axes."""
        return self._wrap(ops.max(self.node, axis, keepdims))

    def min(self, axis=None, keepdims=False):
        """Smallest element over axes."""
        return self._wrap(ops.min(self.node, axis, keepdims))

    def any(self, axis=None, keepdims=False):
        """Whether one element is non-zero, a bool tensor."""
        return self._wrap(ops.any(self.node, axis, keepdims))

    def all(self, axis=None, keepdims=False):
        """Whether all elements are non-zero, a bool tensor."""
        return self._wrap(ops.all(self.node, axis, keepdims))

    def argmax(self, axis=None, keepdims=False):
        """Index of the first largest element, of the flattened tensor for axis None."""
        return self._wrap(ops.argmax(self.node, axis, keepdims))

    def argmin(self, axis=None, keepdims=False):
        """Index of the first smallest element, of the flattened tensor for axis None."""
        return self._wrap(ops.argmin(self.node, axis, keepdims))

    def ptp(self, axis=None):
        """Largest less smallest element over axes."""
        return self.max(axis) - self.min(axis)

    def norm(self, L, axis=None, keepdims=False):  # noqa: N803
        """The L-norm over axes: sum(|x| ** L) ** (1 / L); L may be inf."""
        x, L = ops.abs(self.node), given.number(L, "L of norm")  # noqa: N806
        if L == 0:
            return self._wrap(
                ops.cast(ops.sum(ops.ne(x, 0), axis, keepdims), dtypes.to_float(self.dtype))
            )
        if L == np.inf:
            return self._wrap(ops.max(x, axis, keepdims))
        if L == 2:
            return self._wrap(ops.sqrt(ops.sum(ops.square(x), axis, keepdims)))
        return self._wrap(ops.pow(ops.sum(ops.pow(x, L), axis, keepdims), 1.0 / L))

    def cumsum(self, axis=None):
        """Running sum along `axis`, of the flattened tensor for None."""
        return self._wrap(ops.cumsum(*self._along(axis)))

    def cumprod(self, axis=None):
        """Running product along `axis`, of the flattened tensor for None."""
        return self._wrap(ops.cumprod(*self._along(axis)))

    def repeat(self, repeats, axis=None):
        """Each element `repeats` times along `axis`, of the flattened tensor for None."""
        x, axis = self._along(axis)
        return self._wrap(ops.repeat(x, operand(repeats), axis))

    def take(self, indices, axis=None):
        """The entries at integer `indices` along `axis`, of the flattened tensor for None."""
        x, axis = self._along(axis)
        return self._wrap(ops.take(x, node_of(indices), axis))

    def sort(self, axis=-1):
        """A sorted copy along `axis`."""
        return self._wrap(ops.sort(self.node, axis))

    def argsort(self, axis=-1):
        """The indices that sort along `axis`."""
        return self._wrap(ops.argsort(self.node, axis))

    def _along(self, axis):
        return (self.ravel().node, 0) if axis is None else (self.node, axis)

    def dot(self, other):
        """NumPy's dot: over the last axis, and the last but one of `other`."""
        return self._wrap(ops.dot(self.node, node_of(other)))

    def reshape(self, *shape):
        """Another shape: x.reshape((2, -1)) or x.reshape(2, -1); sizes may be tensors."""
        one = len(shape) == 1 and not isinstance(shape[0], (int, np.integer))
        shape = shape[0] if one and getattr(shape[0], "ndim", 1) else shape
        return self._wrap(reshaped(self, shape))

    def flatten(self, ndim=1):
        """The tensor with its trailing axes joined, so that `ndim` are left."""
        return self._wrap(ops.flatten(self.node, ndim))

    def ravel(self):
        """The tensor as a vector."""
        return self.flatten()

    def transpose(self, *axes):
        """The tensor with its axes in another order; reversed without arguments."""
        axes = axes[0] if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else axes
        order = tuple(axes) or tuple(reversed(range(self.ndim)))
        return self._wrap(ops.transpose(self.node, order))

    def swapaxes(self, axis1, axis2):
        """The tensor with two axes exchanged."""
        order = list(range(self.ndim))
        a, b = axis_of(axis1, self.ndim), axis_of(axis2, self.ndim)
        order[a], order[b] = b, a
        return self.transpose(order)

    def dimshuffle(self, *pattern):
        """Axes in the order `pattern`; 'x' is a new axis. Axes left out must have size 1."""
        pattern = (
            pattern[0] if len(pattern) == 1 and isinstance(pattern[0], (list, tuple)) else pattern
        )
        new = [isinstance(p, str) and p == "x" for p in pattern]
        kept = [axis_of(p, self.ndim) for p, fresh in zip(pattern, new) if not fresh]
        if len(set(kept)) != len(kept):
            raise ShapeError(f"dimshuffle{tuple(pattern)} names an axis twice")
        dropped = tuple(a for a in range(self.ndim) if a not in kept)
        node = ops.squeeze(self.node, dropped) if dropped else self.node
        rank = {a: i for i, a in enumerate(sorted(kept))}
        node = ops.transpose(node, tuple(rank[a] for a in kept))
        return self._wrap(ops.expand(node, tuple(i for i, fresh in enumerate(new) if fresh)))

    def squeeze(self, axis=None):
        """The tensor without its axes of (known) size 1, or without `axis`."""
        if axis is None:
            axis = tuple(i for i, d in enumerate(self.node.shape) if d == 1)
        nothing = isinstance(axis, tuple) and not axis
        return self._wrap(self.node if nothing else ops.squeeze(self.node, axis))

    def diagonal(self):
        """The diagonal of a matrix."""
        return self._wrap(ops.diagonal(self.node))

    def trace(self):
        """The sum of the diagonal of a matrix."""
        return self.diagonal().sum()

    def astype(self, dtype):
        """The tensor in another dtype."""
        return self._wrap(ops.cast(self.node, dtype))

    def clip(self, a_min, a_max):
        """The tensor limited to [a_min, a_max]."""
        return self._wrap(clipped(self, a_min, a_max))

    def round(self):
        """The nearest integers; halves go to the even one."""
        return self._wrap(ops.round(self.node))

    def conj(self):
        """The complex conjugate."""
        return self._wrap(ops.conj(self.node))

    def copy(self):
        """A new handle on the same expression."""
        return self._wrap(self.node)

    def nonzero(self):
        """A tuple of index vectors of the non-zero elements, one for each axis."""
        return tuple(self._wrap(n) for n in ops.nonzero(self.node))

    def zeros_like(self):
        """Zeros with this shape and dtype."""
        return self._wrap(ops.zeros_like(self.node))

    def ones_like(self):
        """Ones with this shape and dtype."""
        return self._wrap(ops.ones_like(self.node))

    def fill(self, value):
        """A tensor of this shape and dtype filled with `value`."""
        return self._wrap(ops.broadcast_like(ops.cast(node_of(value), self.dtype), self.node))
