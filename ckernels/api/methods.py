"""Methods of tensors, as NumPy and Theano name them."""

import numpy as np

from .. import ops
from ..base import dtypes, given
from ..base.errors import ShapeError
from ..graph.shapes import axis_of
from ..ops.base import scalar
from .operands import clipped, node_of, operand, reshaped
from .operators import Operators

REDUCTION = """{doc}

        Parameters
        ----------
        axis : {axis}
        keepdims : bool, default False
            Whether they stay, with size 1.

        Returns
        -------
        Tensor
            {returns}

        Raises
        ------
        ShapeError
            For an axis that does not exist.

        Examples
        --------
        >>> K.constant({given}).{name}({call}).eval()
        {gives}
        """
AXES = "int or sequence of int, optional\n            The axes that go; None: all."
ONE = "int, optional\n            The axis that goes; None: of the flattened tensor."
REST = "of the shape of the tensor without these axes."


def _reduction(build, name, doc, given, call, gives, axis=AXES, returns=f"O{REST[1:]}"):
    """The method `name` that reduces by the build function of an op; an example as text."""

    def method(self, axis=None, keepdims=False):
        return self._wrap(build(self.node, axis, keepdims))

    method.__name__, method.__qualname__ = name, f"Methods.{name}"
    method.__doc__ = REDUCTION.format(
        doc=doc, axis=axis, returns=returns, given=given, name=name, call=call, gives=gives
    )
    return method


def _deviation(x, axis, keepdims):
    return ops.sqrt(ops.var(x, axis, keepdims))


class Methods(Operators):
    """What a Tensor can do; mixed into it."""

    __slots__ = ()

    sum = _reduction(
        ops.sum,
        "sum",
        "Sum over axes; small integers and bools are summed in 64 bits.",
        "[[1.0, 2.0], [3.0, 4.0]]",
        "axis=0",
        "array([4., 6.], dtype=float32)",
    )
    prod = _reduction(
        ops.prod,
        "prod",
        "Product over axes; small integers and bools are multiplied in 64 bits.",
        "[[1.0, 2.0], [3.0, 4.0]]",
        "axis=0",
        "array([3., 8.], dtype=float32)",
    )
    mean = _reduction(
        ops.mean,
        "mean",
        "Mean over axes; of integers a float.",
        "[[1.0, 2.0], [3.0, 4.0]]",
        "axis=1",
        "array([1.5, 3.5], dtype=float32)",
    )
    var = _reduction(
        ops.var,
        "var",
        "Variance over axes, divided by the number of elements.",
        "[1.0, 2.0, 3.0, 6.0]",
        "",
        "array(3.5, dtype=float32)",
    )
    std = _reduction(
        _deviation,
        "std",
        "Standard deviation over axes: the square root of `var`.",
        "[1.0, 3.0]",
        "",
        "array(1., dtype=float32)",
    )
    max = _reduction(
        ops.max,
        "max",
        "Largest element over axes; NaN where one is among them.",
        "[[1.0, 2.0], [4.0, 3.0]]",
        "axis=1",
        "array([2., 4.], dtype=float32)",
    )
    min = _reduction(
        ops.min,
        "min",
        "Smallest element over axes; NaN where one is among them.",
        "[[1.0, 2.0], [4.0, 3.0]]",
        "axis=1",
        "array([1., 3.], dtype=float32)",
    )
    any = _reduction(
        ops.any,
        "any",
        "Whether one element is non-zero.",
        "[[0.0, 2.0], [0.0, 0.0]]",
        "axis=1",
        "array([ True, False])",
        returns=f"Bools, {REST}",
    )
    all = _reduction(
        ops.all,
        "all",
        "Whether all elements are non-zero.",
        "[[0.0, 2.0], [1.0, 2.0]]",
        "axis=1",
        "array([False,  True])",
        returns=f"Bools, {REST}",
    )
    argmax = _reduction(
        ops.argmax,
        "argmax",
        "Index of the first largest element.",
        "[[1.0, 5.0], [4.0, 3.0]]",
        "axis=1",
        "array([1, 0])",
        axis=ONE,
        returns=f"int64, {REST}",
    )
    argmin = _reduction(
        ops.argmin,
        "argmin",
        "Index of the first smallest element.",
        "[[1.0, 5.0], [4.0, 3.0]]",
        "axis=1",
        "array([0, 1])",
        axis=ONE,
        returns=f"int64, {REST}",
    )

    def ptp(self, axis=None):
        """Largest less smallest element over axes.

        Parameters
        ----------
        axis : int or sequence of int, optional
            The axes that go; None: all.

        Returns
        -------
        Tensor
            Of the shape of the tensor without these axes.

        Raises
        ------
        ShapeError
            For an axis that does not exist.

        Examples
        --------
        >>> K.constant([1.0, 5.0, 2.0]).ptp().eval()
        array(4., dtype=float32)
        """
        return self.max(axis) - self.min(axis)

    def norm(self, L, axis=None, keepdims=False):  # noqa: N803
        """The L-norm over axes: sum(|x| ** L) ** (1 / L).

        Parameters
        ----------
        L : float
            The order; 0 counts elements that are not 0, inf is the largest of |x|.
        axis : int or sequence of int, optional
            The axes that go; None: all.
        keepdims : bool, default False
            Whether they stay, with size 1.

        Returns
        -------
        Tensor
            Of the shape of the tensor without these axes.

        Raises
        ------
        ArgumentError
            Where L is no number.
        ShapeError
            For an axis that does not exist.

        Examples
        --------
        >>> K.constant([3.0, 4.0]).norm(2).eval()
        array(5., dtype=float32)
        """
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
        """Running sum along an axis.

        Parameters
        ----------
        axis : int, optional
            The axis; None: of the flattened tensor.

        Returns
        -------
        Tensor
            Of the same shape; a vector for None.

        Raises
        ------
        ShapeError
            For an axis that does not exist.

        Examples
        --------
        >>> K.constant([1.0, 2.0, 3.0]).cumsum().eval()
        array([1., 3., 6.], dtype=float32)
        """
        return self._wrap(ops.cumsum(*self._along(axis)))

    def cumprod(self, axis=None):
        """Running product along an axis.

        Parameters
        ----------
        axis : int, optional
            The axis; None: of the flattened tensor.

        Returns
        -------
        Tensor
            Of the same shape; a vector for None.

        Raises
        ------
        ShapeError
            For an axis that does not exist.

        Examples
        --------
        >>> K.constant([1.0, 2.0, 3.0]).cumprod().eval()
        array([1., 2., 6.], dtype=float32)
        """
        return self._wrap(ops.cumprod(*self._along(axis)))

    def repeat(self, repeats, axis=None):
        """Each element several times along an axis.

        Parameters
        ----------
        repeats : int or tensor
            How often; one for all, or a vector with one for each element.
        axis : int, optional
            The axis; None: of the flattened tensor.

        Returns
        -------
        Tensor
            Longer along the axis.

        Raises
        ------
        ShapeError
            For an axis that does not exist, or another number of repeats than elements.

        Examples
        --------
        >>> K.constant([1.0, 2.0]).repeat(2).eval()
        array([1., 1., 2., 2.], dtype=float32)
        """
        x, axis = self._along(axis)
        return self._wrap(ops.repeat(x, operand(repeats), axis))

    def take(self, indices, axis=None):
        """The entries at indices along an axis.

        Parameters
        ----------
        indices : tensor or array of integers
            Of any shape; negative ones count from the end.
        axis : int, optional
            The axis; None: of the flattened tensor.

        Returns
        -------
        Tensor
            The axis is replaced by the shape of `indices`.

        Raises
        ------
        DTypeError
            Where the indices are no integers.
        IndexOutOfBounds
            By a call, for an index beyond the axis.

        Examples
        --------
        >>> K.constant([1.0, 2.0, 3.0]).take([2, 0]).eval()
        array([3., 1.], dtype=float32)
        """
        x, axis = self._along(axis)
        return self._wrap(ops.take(x, node_of(indices), axis))

    def sort(self, axis=-1):
        """A sorted copy; NaN come last.

        Parameters
        ----------
        axis : int, default -1
            The axis to sort along; None: of the flattened tensor.

        Returns
        -------
        Tensor
            Of the same shape and dtype.

        Raises
        ------
        ShapeError
            For an axis that does not exist.

        Examples
        --------
        >>> K.constant([3.0, 1.0, 2.0]).sort().eval()
        array([1., 2., 3.], dtype=float32)
        """
        return self._wrap(ops.sort(self.node, axis))

    def argsort(self, axis=-1):
        """The indices that sort; equal elements keep their order.

        Parameters
        ----------
        axis : int, default -1
            The axis to sort along; None: of the flattened tensor.

        Returns
        -------
        Tensor
            int64, of the same shape.

        Raises
        ------
        ShapeError
            For an axis that does not exist.

        Examples
        --------
        >>> K.constant([3.0, 1.0, 2.0]).argsort().eval()
        array([1, 2, 0])
        """
        return self._wrap(ops.argsort(self.node, axis))

    def _along(self, axis):
        return (self.ravel().node, 0) if axis is None else (self.node, axis)

    def dot(self, other):
        """NumPy's dot: over the last axis, and the last but one of `other`.

        Parameters
        ----------
        other : tensor or array
            The second operand.

        Returns
        -------
        Tensor
            Their other axes, one after the other.

        Raises
        ------
        ShapeError
            Where the two axes differ in size.

        Examples
        --------
        >>> K.constant([[1.0, 2.0]]).dot(K.constant([[3.0], [4.0]])).eval()
        array([[11.]], dtype=float32)
        """
        return self._wrap(ops.dot(self.node, node_of(other)))

    def reshape(self, *shape):
        """The elements in another shape.

        Parameters
        ----------
        *shape : int or tensor
            The sizes, as one argument or as several; one may be -1.

        Returns
        -------
        Tensor
            With the same elements in C order.

        Raises
        ------
        ShapeError
            Where the number of elements differs.

        Examples
        --------
        >>> K.arange(6).reshape(2, -1).eval()
        array([[0, 1, 2],
               [3, 4, 5]], dtype=int32)
        """
        one = len(shape) == 1 and not isinstance(shape[0], (int, np.integer))
        shape = shape[0] if one and getattr(shape[0], "ndim", 1) else shape
        return self._wrap(reshaped(self, shape))

    def flatten(self, ndim=1):
        """The tensor with its trailing axes joined.

        Parameters
        ----------
        ndim : int, default 1
            How many axes are left.

        Returns
        -------
        Tensor
            With the same elements in C order.

        Raises
        ------
        ShapeError
            Where there are fewer axes.

        Examples
        --------
        >>> K.int_shape(K.zeros((2, 3, 4)).flatten(2))
        (2, 12)
        """
        return self._wrap(ops.flatten(self.node, ndim))

    def ravel(self):
        """The tensor as a vector.

        Returns
        -------
        Tensor
            With the same elements in C order.

        Examples
        --------
        >>> K.int_shape(K.zeros((2, 3)).ravel())
        (6,)
        """
        return self.flatten()

    def transpose(self, *axes):
        """The tensor with its axes in another order.

        Parameters
        ----------
        *axes : int
            The order, as one argument or as several; without any it is reversed.

        Returns
        -------
        Tensor
            With the same elements.

        Raises
        ------
        ShapeError
            Where the order does not name each axis once.

        Examples
        --------
        >>> K.int_shape(K.zeros((2, 3, 4)).transpose(1, 0, 2))
        (3, 2, 4)
        """
        axes = axes[0] if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else axes
        order = tuple(axes) or tuple(reversed(range(self.ndim)))
        return self._wrap(ops.transpose(self.node, order))

    def swapaxes(self, axis1, axis2):
        """The tensor with two axes exchanged.

        Parameters
        ----------
        axis1, axis2 : int
            The axes.

        Returns
        -------
        Tensor
            With the same elements.

        Raises
        ------
        ShapeError
            For an axis that does not exist.

        Examples
        --------
        >>> K.int_shape(K.zeros((2, 3, 4)).swapaxes(0, 2))
        (4, 3, 2)
        """
        order = list(range(self.ndim))
        a, b = axis_of(axis1, self.ndim), axis_of(axis2, self.ndim)
        order[a], order[b] = b, a
        return self.transpose(order)

    def dimshuffle(self, *pattern):
        """Axes in another order, with new ones: Theano's dimshuffle.

        Parameters
        ----------
        *pattern : int or 'x'
            The axes, as one argument or as several; 'x' is a new one of size 1. Those left out must
            have size 1.

        Returns
        -------
        Tensor
            With the same elements.

        Raises
        ------
        ShapeError
            Where an axis is named twice, does not exist, or one left out is longer than 1.

        Examples
        --------
        >>> K.int_shape(K.zeros((2, 3)).dimshuffle(1, 'x', 0))
        (3, 1, 2)
        """
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
        """The tensor without axes of size 1.

        Parameters
        ----------
        axis : int or tuple of int, optional
            The axes that go; None: all that are known to have size 1.

        Returns
        -------
        Tensor
            With the same elements.

        Raises
        ------
        ShapeError
            For an axis that does not exist or is longer than 1.

        Examples
        --------
        >>> K.int_shape(K.zeros((1, 3, 1)).squeeze(0))
        (3, 1)
        """
        if axis is None:
            axis = tuple(i for i, d in enumerate(self.node.shape) if d == 1)
        nothing = isinstance(axis, tuple) and not axis
        return self._wrap(self.node if nothing else ops.squeeze(self.node, axis))

    def diagonal(self):
        """The diagonal of a matrix.

        Returns
        -------
        Tensor
            A vector.

        Raises
        ------
        ShapeError
            Where the tensor has fewer than two axes.

        Examples
        --------
        >>> K.constant([[1.0, 2.0], [3.0, 4.0]]).diagonal().eval()
        array([1., 4.], dtype=float32)
        """
        return self._wrap(ops.diagonal(self.node))

    def trace(self):
        """The sum of the diagonal of a matrix.

        Returns
        -------
        Tensor
            A scalar.

        Raises
        ------
        ShapeError
            Where the tensor has fewer than two axes.

        Examples
        --------
        >>> K.constant([[1.0, 2.0], [3.0, 4.0]]).trace().eval()
        array(5., dtype=float32)
        """
        return self.diagonal().sum()

    def astype(self, dtype):
        """The tensor in another dtype.

        Parameters
        ----------
        dtype : str or dtype
            Its name, such as 'float64'.

        Returns
        -------
        Tensor
            Of the same shape.

        Raises
        ------
        DTypeError
            For a dtype that does not exist.

        Examples
        --------
        >>> K.constant([1.7]).astype('int32').eval()
        array([1], dtype=int32)
        """
        return self._wrap(ops.cast(self.node, dtype))

    def clip(self, a_min, a_max):
        """The tensor limited to [a_min, a_max].

        Parameters
        ----------
        a_min, a_max : float or tensor or None
            The limits; None: none on this side.

        Returns
        -------
        Tensor
            NaN stay NaN.

        Raises
        ------
        ShapeError
            Where the shapes do not broadcast.

        Examples
        --------
        >>> K.constant([-2.0, 0.5, 3.0]).clip(0, 1).eval()
        array([0. , 0.5, 1. ], dtype=float32)
        """
        return self._wrap(clipped(self, a_min, a_max))

    def round(self):
        """The nearest integers; halves go to the even one.

        Returns
        -------
        Tensor
            Of the same dtype.

        Examples
        --------
        >>> K.constant([0.5, 1.5, 2.4]).round().eval()
        array([0., 2., 2.], dtype=float32)
        """
        return self._wrap(ops.round(self.node))

    def conj(self):
        """The complex conjugate; of real numbers themselves.

        Returns
        -------
        Tensor
            Of the same shape and dtype.

        Examples
        --------
        >>> K.constant([1.0 + 2.0j], dtype="complex64").conj().eval()
        array([1.-2.j], dtype=complex64)
        """
        return self._wrap(ops.conj(self.node))

    def copy(self):
        """A new handle on the same expression.

        Returns
        -------
        Tensor
            Equal to this one in every call.

        Examples
        --------
        >>> x = K.constant([1.0])
        >>> x.copy() is x
        False
        """
        return self._wrap(self.node)

    def nonzero(self):
        """Where the elements are not zero.

        Returns
        -------
        tuple of Tensor
            Vectors of int64, the indices along each axis.

        Raises
        ------
        ShapeError
            For a scalar.

        Examples
        --------
        >>> [i.eval().tolist() for i in K.constant([[0.0, 5.0], [6.0, 0.0]]).nonzero()]
        [[0, 1], [1, 0]]
        """
        return tuple(self._wrap(n) for n in ops.nonzero(self.node))

    def zeros_like(self):
        """Zeros with this shape and dtype.

        Returns
        -------
        Tensor
            Its shape follows that of this one in every call.

        Examples
        --------
        >>> K.constant([1.0, 2.0]).zeros_like().eval()
        array([0., 0.], dtype=float32)
        """
        return self._wrap(ops.zeros_like(self.node))

    def ones_like(self):
        """Ones with this shape and dtype.

        Returns
        -------
        Tensor
            Its shape follows that of this one in every call.

        Examples
        --------
        >>> K.constant([1.0, 2.0]).ones_like().eval()
        array([1., 1.], dtype=float32)
        """
        return self._wrap(ops.ones_like(self.node))

    def fill(self, value):
        """A tensor of this shape and dtype filled with a value.

        Parameters
        ----------
        value : float or tensor
            A scalar.

        Returns
        -------
        Tensor
            This one is not changed.

        Raises
        ------
        DTypeError
            For an int that the dtype cannot hold.

        Examples
        --------
        >>> K.constant([1.0, 2.0]).fill(7).eval()
        array([7., 7.], dtype=float32)
        """
        whole = type(value) is int and self.dtype != "bool"
        value = scalar(value, self.dtype, "fill") if whole else node_of(value)
        return self._wrap(ops.broadcast_like(ops.cast(value, self.dtype), self.node))
