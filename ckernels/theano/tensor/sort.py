"""Sorting: sort, argsort, and the k largest elements."""

import numpy as np

from ... import ops
from ...base.errors import ArgumentError, IndexOutOfBounds, UsageError
from ...graph.node import constant as node_of
from ..base.names import absent_of as _absent_of
from ..classes.meanings import DISCRETE
from ..classes.op import KernelOp
from ..graph.apply import Constant
from ..handles.type import name_of
from ..handles.variables import as_tensor_variable

__all__ = ["SortOp", "ArgSortOp", "TopKOp", "sort", "argsort", "topk", "argtopk",
           "topk_and_argtopk"]  # fmt: skip


def _along(build):
    def sorted_along(x, axis, kind=None):
        if axis.value is not None:
            return build(x, int(axis.value))
        if x.ndim == 1:  # whatever the number is, if it is one of an axis
            ok = ops.logical_or(ops.eq(axis, 0), ops.eq(axis, -1))
            return build(ops.check(x, ok, message="a vector has axis 0 only"), 0)
        # Which axis is known when it runs: each way in a branch, of which one is computed.
        found = build(x, x.ndim - 1)
        for a in range(x.ndim - 1):
            mine = ops.logical_or(ops.eq(axis, a), ops.eq(axis, a - x.ndim))
            found = ops.where(mine, build(x, a), found)
        return found

    sorted_along.__name__ = build.__name__
    return sorted_along


_sort, _argsort = _along(ops.sort), _along(ops.argsort)


class SortOp(KernelOp):
    """Elements in order along an axis, the second input of its Apply; None: flattened before."""

    own = staticmethod(_sort)

    def __init__(self, kind="quicksort", order=None):
        KernelOp.__init__(self, self.own, type(self).__name__, kind=kind)
        self.kind, self.order = kind, order

    def make_node(self, input, axis=-1):
        x = as_tensor_variable(input)
        if axis is None or isinstance(axis, Constant) and axis.data is None:
            x, axis = x.flatten(), 0
        return KernelOp.make_node(self, x, axis)

    def __reduce__(self):
        return type(self), (self.kind, self.order)


class ArgSortOp(SortOp):
    """Places of the elements in order along an axis."""

    own = staticmethod(_argsort)


def sort(a, axis=-1, kind="quicksort", order=None):
    """`a` in order along `axis`, or flattened for None. Sorting is stable whatever `kind` is."""
    return SortOp(kind, order).make_node(a, axis).outputs[0]


def argsort(a, axis=-1, kind="quicksort", order=None):
    """The places of the elements of `a` in order along `axis`."""
    return ArgSortOp(kind, order).make_node(a, axis).outputs[0]


class TopKOp(KernelOp):
    """The k largest elements along an axis, and their places."""

    def __init__(
        self, axis=-1, sorted=True, idx_dtype="int64", return_values=True, return_indices=True
    ):
        if name_of(idx_dtype) not in DISCRETE:
            raise UsageError(f"the places that topk gives are integers, not {idx_dtype}")
        KernelOp.__init__(
            self,
            _topk,
            "TopKOp",
            axis=axis,
            idx_dtype=idx_dtype,
            return_values=return_values,
            return_indices=return_indices,
        )

    def make_node(self, inp, kth):
        x, k = as_tensor_variable(inp), as_tensor_variable(kth)
        if k.ndim or k.dtype not in DISCRETE:
            raise UsageError(f"topk takes as many elements as an integer says, not {kth}")
        if not -x.ndim <= self.attrs["axis"] < x.ndim:
            raise IndexOutOfBounds(f"{x} has {x.ndim} axes, and no axis {self.attrs['axis']}")
        if getattr(k, "data", 1) == 0:
            raise ArgumentError("topk of 0 elements: ask for one or more, or for none of it")
        return KernelOp.make_node(self, x, k)


def _topk(x, k, axis, idx_dtype, return_values, return_indices):
    """The largest k in order (the least for k < 0), their places, or both."""
    axis = axis % x.ndim
    k = int(k.value) if k.value is not None else ops.cast(k, "int64")
    count = abs(k) if isinstance(k, int) else ops.abs(k)
    size = ops.size_of(x, axis)
    if not isinstance(count, int) or not isinstance(size, int) or count > size:
        some, fits = ops.gt(_scalar(count), 0), ops.le(_scalar(count), _scalar(size))
        x = ops.check(
            x,
            some,
            fits,
            message="topk asks for more elements than the axis has, or for none",
            error="value",
        )
    low = ops.argsort(x, axis)
    if isinstance(k, int):
        order = low if k < 0 else _largest_first(x, low, axis)
    else:
        order = ops.where(ops.lt(k, 0), low, _largest_first(x, low, axis))
    places = ops.getitem(order, (slice(None),) * axis + (slice(None, count),))
    found = [ops.take_along_axis(x, places, axis)] if return_values else []
    return found + [ops.cast(places, idx_dtype)] if return_indices else found


def _scalar(n):
    return n if not isinstance(n, int) else node_of(np.asarray(n))


def _largest_first(x, low, axis):
    """The places in falling order: those in rising order read backwards, whatever the dtype."""
    return ops.getitem(low, (slice(None),) * axis + (slice(None, None, -1),))


def _made(x, kth, axis, *options):
    x = as_tensor_variable(x)
    if axis is None:
        x, axis = x.flatten(), 0
    return TopKOp(axis, *options).make_node(x, kth).outputs


def topk_and_argtopk(x, kth, axis=-1, sorted=True, idx_dtype="int64"):
    """[the kth largest elements along `axis`, their places]; the least ones for kth < 0."""
    return _made(x, kth, axis, sorted, idx_dtype)


def topk(x, kth, axis=-1, sorted=True, idx_dtype="int64"):
    """The kth largest elements along `axis`; the least ones for kth < 0."""
    return _made(x, kth, axis, sorted, idx_dtype, True, False)[0]


def argtopk(x, kth, axis=-1, sorted=True, idx_dtype="int64"):
    """The places of the kth largest elements along `axis`."""
    return _made(x, kth, axis, sorted, idx_dtype, False, True)[0]


__getattr__ = _absent_of("theano.tensor.sort")
