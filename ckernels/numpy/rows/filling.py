"""Rows of functions that make arrays: in the shape of another, ranges, triangles, diagonals.

Functions that NumPy does not dispatch (`np.zeros(n)`) have rows too: who replaces the name `np` of
a program finds them here.
"""

import numbers

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import NotSupported
from ...graph.node import Node, constant
from ..promote import check_fits, kind_of, supported
from .base import as_operand, node_of, row, typed


def _order(order, subok=True):
    if order not in ("K", "C", "A", "F", None):
        raise NotSupported(f"the order {order!r} of an array")


def _dtype(dtype, default):
    return default if dtype is None else supported(dtype)


def _like(function, value):
    @row(function, array=True)
    def build(rule, a, dtype=None, order="K", subok=True, shape=None, *, device=None):
        _order(order)
        x = node_of(a, rule)
        dtype = _dtype(dtype, x.dtype)
        if shape is not None:
            return full(rule, shape, value, dtype)
        return ops.full_like(x, value, dtype)


_like(np.zeros_like, 0)
_like(np.ones_like, 1)
_like(np.empty_like, 0)


@row(np.full_like, array=True)
def full_like(rule, a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    x = node_of(a, rule)
    dtype = _dtype(dtype, x.dtype)
    if shape is not None:
        return full(rule, shape, fill_value, dtype)
    return ops.broadcast_like(ops.cast(node_of(fill_value, rule), dtype), x)


def sizes(shape):
    """The sizes that a shape given as one size or as several has."""
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


@row(np.full, array=True)
def full(rule, shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    value = as_operand(fill_value)
    dtype = _dtype(dtype, rule.common([kind_of(value)]))
    node = typed(value, dtype) if not hasattr(value, "op") else ops.cast(value, dtype)
    return ops.broadcast_to(node, list(sizes(shape)))


def _filled(function, value):
    @row(function, array=True)
    def build(rule, shape, dtype=None, order="C", *, device=None, like=None):
        dtype = _dtype(dtype, rule.floating)
        return ops.broadcast_to(constant(np.asarray(value, dtype), dtype), list(sizes(shape)))


_filled(np.zeros, 0)
_filled(np.ones, 1)
_filled(np.empty, 0)


@row(np.arange, array=True)
def arange(rule, start, stop=None, step=1, dtype=None, *, device=None, like=None):
    start, stop = (0, start) if stop is None else (start, stop)
    bounds = [as_operand(b) for b in (start, stop, 1 if step is None else step)]
    least = np.dtype(rule.integer)  # of narrower integers too
    dtype = _dtype(dtype, rule.common([least, *[kind_of(b) for b in bounds]]))
    if all(isinstance(b, numbers.Number) for b in bounds):
        return constant(np.arange(*bounds, dtype=dtype))
    if np.dtype(dtype).kind == "f" and all(map(_whole, bounds)):
        return ops.cast(ops.arange(*[node_of(b, rule) if hasattr(b, "node") else int(b)
                                     for b in bounds], dtype="int64"), dtype)  # fmt: skip
    if np.dtype(dtype).kind not in "iu":
        raise NotSupported("arange of floats that are known only in a call")
    return ops.arange(*[node_of(b, rule) for b in bounds], dtype=dtype)


def _whole(bound):
    """Whether the end of a range is a Python number without a fraction."""
    return bound.kind is int if hasattr(bound, "node") else not isinstance(bound, complex) and (
        isinstance(bound, numbers.Number) and bound == int(bound))  # fmt: skip


@row(np.linspace, array=True)
def linspace(rule, start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *,
             device=None, computed=None):  # fmt: skip
    """computed: the dtype to compute in; None for NumPy's."""
    if retstep:
        raise NotSupported("linspace with retstep")
    if isinstance(num, (int, np.integer)) and num < 0:
        raise NotSupported("linspace of fewer than no numbers")
    start, stop = as_operand(start), as_operand(stop)
    kinds = [kind_of(start), kind_of(stop)]
    common = computed or rule.common(kinds)
    if not dtypes.is_inexact(common):
        common = rule.common([*kinds, np.dtype(rule.floating)])
    a, b = (ops.cast(node_of(v, rule), common) for v in (start, stop))
    open_ = isinstance(num, Node)
    number = ops.arange(0, num, 1, "int64")
    wide = ops.expand(ops.cast(number, common), tuple(range(1, 1 + max(a.ndim, b.ndim))))
    gap = ops.sub(b, a)
    steps = (ops.sub(num, 1) if open_ else num - 1) if endpoint else num
    steps = ops.cast(ops.maximum(steps, 1), common) if open_ else max(steps, 1)
    line = ops.mul(wide, ops.true_div(gap, steps))
    line = ops.add_rounded(line, a) if dtypes.is_float(common) else ops.add(line, a)
    if endpoint and open_:
        last = ops.logical_and(ops.eq(number, ops.sub(num, 1)), ops.gt(number, 0))
        line = ops.where(ops.expand(last, tuple(range(1, line.ndim))), b, line)
    elif endpoint and num > 1:
        last = ops.broadcast_like(b, ops.getitem(line, -1))
        line = ops.concatenate([ops.getitem(line, slice(None, -1)), ops.expand(last, (0,))], 0)
    line = ops.moveaxis(line, 0, axis) if axis else line
    return line if dtype is None else ops.cast(line, supported(dtype))


@row(np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, array=True)
def array(rule, a, dtype=None, order=None, *, ndmin=0, **options):
    """Their elements; who traces stores says what is copied."""
    x = node_of(a, rule)
    x = x if dtype is None else ops.cast(x, supported(dtype))
    return ops.expand(x, tuple(range(ndmin - x.ndim)))


@row(np.identity, array=True)
def identity(rule, n, dtype=None, *, like=None):
    return eye(rule, n, dtype=dtype)


@row(np.eye, array=True)
def eye(rule, N, M=None, k=0, dtype=None, order="C", *, device=None, like=None):
    dtype = _dtype(dtype, rule.floating)
    if any(isinstance(s, Node) for s in (N, M, k)):
        return ops.eye(N, M, k, dtype)
    return constant(np.eye(N, M, k, dtype=dtype))


def _triangle(function, op):
    @row(function)
    def build(rule, m, k=0):
        x = node_of(m, rule)
        if x.ndim < 2:
            raise NotSupported("a triangle of a vector")
        return op(x, k)


_triangle(np.tril, ops.tril)
_triangle(np.triu, ops.triu)


@row(np.diag)
def diag(rule, v, k=0):
    x = node_of(v, rule)
    return ops.diag(x, k) if x.ndim == 1 else diagonal(rule, x, k)


@row(np.diagonal)
def diagonal(rule, a, offset=0, axis1=0, axis2=1):
    check_fits(offset, "int32")
    return ops.diagonal(node_of(a, rule), offset, axis1, axis2)


@row(np.meshgrid)
def meshgrid(rule, *xi, copy=True, sparse=False, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise NotSupported(f"meshgrid with indexing={indexing!r}")
    count = len(xi)
    nodes = [ops.flatten(x) for x in (node_of(x, rule) for x in xi)]
    places = list(range(count))
    if indexing == "xy" and count > 1:
        places[:2] = [1, 0]
    wide = [ops.expand(x, tuple(a for a in range(count) if a != p))
            for x, p in zip(nodes, places)]  # fmt: skip
    if sparse:
        return tuple(wide)
    whole = wide[0]
    for x in wide[1:]:
        whole = ops.add(ops.zeros_like(whole, "int64"), ops.zeros_like(x, "int64"))
    return tuple([ops.broadcast_like(x, whole) for x in wide])
