"""Sorting: sort, argsort, and the k largest elements."""

from .... import ops
from ..gof.op import KernelOp
from ..names import absent_of as _absent_of
from .variables import Handle, as_tensor_variable

__all__ = ["SortOp", "ArgSortOp", "TopKOp", "sort", "argsort", "topk", "argtopk",
           "topk_and_argtopk"]  # fmt: skip


def _axis(axis):
    if isinstance(axis, Handle):
        from .constants import get_scalar_constant_value

        return int(get_scalar_constant_value(axis))
    return int(axis)


def _along(build):
    def sorted_along(x, axis, kind=None):
        if axis is None:
            x, axis = ops.flatten(x) if x.ndim != 1 else x, 0
        return build(x, axis)

    sorted_along.__name__ = build.__name__
    return sorted_along


_sort, _argsort = _along(ops.sort), _along(ops.argsort)


class SortOp(KernelOp):
    """Elements in order along an axis."""

    def __init__(self, kind="quicksort", order=None):
        KernelOp.__init__(self, _sort, "SortOp", kind=kind)
        self.kind, self.order = kind, order

    def make_node(self, input, axis=-1):
        op = KernelOp(_sort, "SortOp", axis=None if axis is None else _axis(axis))
        return op.make_node(input)


class ArgSortOp(SortOp):
    """Places of the elements in order along an axis."""

    def make_node(self, input, axis=-1):
        op = KernelOp(_argsort, "ArgSortOp", axis=None if axis is None else _axis(axis))
        return op.make_node(input)


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
        KernelOp.__init__(self, _topk, "TopKOp", axis=axis, idx_dtype=idx_dtype)
        self.return_values, self.return_indices = return_values, return_indices

    def make_node(self, inp, kth):
        inp = as_tensor_variable(inp)
        if not isinstance(kth, int):
            from .constants import get_scalar_constant_value

            kth = int(get_scalar_constant_value(as_tensor_variable(kth)))
        op = KernelOp(
            _topk, "TopKOp", k=int(kth), **{**self.attrs, "axis": self.attrs["axis"] % inp.ndim}
        )
        return op.make_node(inp)


def _topk(x, k, axis, idx_dtype):
    """The largest |k| (the least for k < 0), largest first."""
    order = ops.argsort(ops.neg(x) if k > 0 and x.dtype != "bool" else x, axis)
    places = ops.getitem(order, (slice(None),) * axis + (slice(None, abs(k)),))
    return [ops.take_along_axis(x, places, axis), ops.cast(places, idx_dtype)]


def topk_and_argtopk(x, kth, axis=-1, sorted=True, idx_dtype="int64"):
    """[the kth largest elements along `axis`, their places]; the least ones for kth < 0."""
    x = as_tensor_variable(x)
    if axis is None:
        x, axis = x.flatten(), 0
    return TopKOp(axis, sorted, idx_dtype).make_node(x, kth).outputs


def topk(x, kth, axis=-1, sorted=True, idx_dtype="int64"):
    """The kth largest elements along `axis`; the least ones for kth < 0."""
    return topk_and_argtopk(x, kth, axis, sorted, idx_dtype)[0]


def argtopk(x, kth, axis=-1, sorted=True, idx_dtype="int64"):
    """The places of the kth largest elements along `axis`."""
    return topk_and_argtopk(x, kth, axis, sorted, idx_dtype)[1]


__getattr__ = _absent_of("theano.tensor.sort")
