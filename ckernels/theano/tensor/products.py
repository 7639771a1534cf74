"""Matrix products: dot, tensordot, batched products, outer, trace."""

import numpy as np

from ... import ops
from ...base.errors import ArgumentError, UsageError
from ..classes.meanings import upcast
from ..classes.op import KernelOp
from ..handles.variables import as_tensor_variable

__all__ = ["Dot", "dot", "tensordot", "outer", "batched_dot", "batched_tensordot", "trace",
           "BatchedDot", "matmul"]  # fmt: skip


def _both(a, b):
    dtype = upcast(a.dtype, b.dtype)
    return ops.cast(a, dtype), ops.cast(b, dtype)


class Dot(KernelOp):
    """The product of two tensors of at most two dimensions."""

    def __init__(self):
        KernelOp.__init__(self, _dot, "dot")

    def make_node(self, *inputs):
        inputs = [as_tensor_variable(x) for x in inputs]
        if len(inputs) != 2:
            raise UsageError(f"Dot multiplies two tensors, but got {len(inputs)}")
        for k, x in enumerate(inputs):
            if x.ndim not in (1, 2):
                raise UsageError(
                    f"Dot takes vectors and matrices, but inputs[{k}] has {x.ndim} "
                    "dimensions; theano.tensor.dot takes any number"
                )
        return KernelOp.make_node(self, *inputs)

    def __str__(self):
        return "dot"

    def __reduce__(self):
        return Dot, ()


def _dot(a, b):
    return ops.dot(*_both(a, b))


_dot_op = Dot()


def dot(a, b):
    """The product over the last axis of `a` and the last but one of `b`; scalars multiply."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim > 2 or b.ndim > 2:
        return tensordot(a, b, [[a.ndim - 1], [max(0, b.ndim - 2)]])
    return _dot_op(a, b)


def matmul(a, b):
    """NumPy's matmul: stacks of matrices."""
    return KernelOp(_matmul, "matmul")(a, b)


def _matmul(a, b):
    return ops.matmul(*_both(a, b))


def tensordot(a, b, axes=2):
    """The sum of products over several axes: a count of them, or two lists."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    axes = _axes(a, b, axes, 0)
    return KernelOp(_tensordot, "tensordot", axes=axes)(a, b)


def _axes(a, b, axes, batch):
    """Two tuples of axes >= 0; ValueError where they do not fit."""
    if isinstance(axes, (int, np.integer)) or np.isscalar(axes) and not isinstance(axes, str):
        axes = int(axes)
        if axes > min(a.ndim, b.ndim):
            raise ArgumentError(f"cannot sum over {axes} axes: a has {a.ndim} and b has {b.ndim}")
        first = tuple(range(a.ndim - axes, a.ndim))
        second = tuple(range(batch, axes + batch))
        return first, second
    if len(axes) != 2:
        raise ArgumentError(
            f"axes is {axes}: give an int, or a pair of the axes of a and the axes of b"
        )
    first, second = (tuple(int(v) for v in np.atleast_1d(x)) for x in axes)
    if len(first) != len(second):
        raise ArgumentError(
            f"axes names {len(first)} axes of a but {len(second)} of b: give as many of each"
        )
    for what, x, given in (("a", a, first), ("b", b, second)):
        if len(given) > x.ndim:
            raise ArgumentError(f"axes names {len(given)} axes of {what}, which has only {x.ndim}")
        if given and (max(given) >= x.ndim or min(given) < -x.ndim):
            raise ArgumentError(
                f"axes {given} are out of range for {what}, which has {x.ndim} dimensions"
            )
        if batch and 0 in given:
            raise ArgumentError(f"axis 0 of {what} counts the batch and cannot be summed over")
    return tuple(v % a.ndim for v in first), tuple(v % b.ndim for v in second)


def _tensordot(a, b, axes):
    return ops.tensordot(*_both(a, b), tuple(list(x) for x in axes))


def outer(x, y):
    """The outer product of two vectors (flattened, as NumPy's)."""
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    x = x.flatten() if x.ndim != 1 else x
    y = y.flatten() if y.ndim != 1 else y
    return dot(x.dimshuffle(0, "x"), y.dimshuffle("x", 0))


class BatchedDot(KernelOp):
    """Products of matrices, one for each entry of the first axis."""

    def __init__(self):
        KernelOp.__init__(self, _batched_dot, "BatchedDot")

    def make_node(self, *inputs):
        inputs = [as_tensor_variable(x) for x in inputs]
        if len(inputs) != 2:
            raise UsageError(f"BatchedDot multiplies two tensors, but got {len(inputs)}")
        if inputs[0].ndim not in (2, 3) or inputs[1].ndim not in (2, 3):
            raise UsageError(
                "BatchedDot takes tensors of 2 or 3 dimensions, not of "
                f"{inputs[0].ndim} and {inputs[1].ndim}; theano.tensor.batched_dot "
                "takes more"
            )
        return KernelOp.make_node(self, *inputs)

    def __reduce__(self):
        return BatchedDot, ()


def _batched_dot(a, b):
    a, b = _both(a, b)
    left, right = a.ndim == 2, b.ndim == 2
    a = ops.expand(a, (1,)) if left else a
    b = ops.expand(b, (2,)) if right else b
    size = [x.shape[0] for x in (a, b)]
    if 1 not in size:
        same = ops.eq(ops.getitem(ops.shape(a), 0), ops.getitem(ops.shape(b), 0))
        a = (
            a
            if None not in size
            else ops.check(a, same, message="BatchedDot: the first axes have different sizes")
        )
    y = ops.matmul(a, b)
    gone = tuple(i for i, g in ((1, left), (2, right)) if g)
    return ops.squeeze(y, gone) if gone else y


_batched = BatchedDot()


def batched_dot(a, b):
    """Products for each entry of the first axis: of matrices, of vectors, or of larger tensors."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if a.ndim == 0 or b.ndim == 0:
        raise UsageError(
            f"{'a' if a.ndim == 0 else 'b'} is a scalar; batched_dot needs a first axis to go along"
        )
    if a.ndim == 1:
        return a.dimshuffle(0, *["x"] * (b.ndim - 1)) * b
    if b.ndim == 1:
        return a * b.dimshuffle(0, *["x"] * (a.ndim - 1))
    if a.ndim > 3 or b.ndim > 3:
        return batched_tensordot(a, b, [[a.ndim - 1], [max(1, b.ndim - 2)]])
    return _batched(a, b)


def batched_tensordot(x, y, axes=2):
    """`tensordot` for each entry of the first axis."""
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    axes = _axes(x, y, axes, 1)
    return KernelOp(_batched_tensordot, "batched_tensordot", axes=axes)(x, y)


def _batched_tensordot(x, y, axes):
    x, y = ops.matched(*_both(x, y), tuple(zip(*axes)))
    left = [i for i in range(1, x.ndim) if i not in axes[0]]
    right = [i for i in range(1, y.ndim) if i not in axes[1]]
    a = ops.transpose(x, (0, *left, *axes[0]))
    b = ops.transpose(y, (0, *axes[1], *right))

    def size(t, dims):
        total = 1
        for d in dims:
            s = ops.size_of(t, d)
            total = (
                s
                if isinstance(total, int) and total == 1
                else (
                    total * s
                    if isinstance(total, int) and isinstance(s, int)
                    else ops.mul(total, s)
                )
            )
        return total

    batch = ops.size_of(x, 0)
    a = ops.reshape(a, [batch, size(x, left), size(x, axes[0])])
    b = ops.reshape(b, [ops.size_of(y, 0), size(y, axes[1]), size(y, right)])
    shape = [batch, *(ops.size_of(x, d) for d in left), *(ops.size_of(y, d) for d in right)]
    return ops.reshape(ops.matmul(a, b), shape)


def trace(a, offset=0, axis1=0, axis2=1):
    """The sum of a diagonal."""
    return as_tensor_variable(a).diagonal(offset, axis1, axis2).sum(axis=-1)
