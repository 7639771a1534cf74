"""Operators, indexing and shapes of tensors, as NumPy, Theano and TensorFlow name them."""

import numpy as np

from .. import ops
from ..base.errors import UsageError
from ..graph.node import Node
from .operands import node_of, operand


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


class Operators:
    """Operators, indexing and shapes of a Tensor; mixed into it."""

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
        """The static shape, as programs for TensorFlow ask for it.

        Returns
        -------
        tuple of int or None
            It also has `as_list()`, and `ndims`; each known size has `value`.

        Examples
        --------
        >>> K.placeholder((None, 3)).get_shape().as_list()
        [None, 3]
        """
        return StaticShape(None if n is None else Dimension(n) for n in self.node.shape)

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
