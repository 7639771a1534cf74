"""Rows of what compares elements with one another: unique ones, members, orders by several keys."""

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import NotSupported
from .arranging import common_nodes
from .base import newer, node_of, row, ufunc


def _ordered(x):
    if dtypes.is_complex(x.dtype):
        raise NotSupported("the order of complex numbers")
    return x


@row(np.unique, array=True)
def unique(rule, ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *,
           equal_nan=True, sorted=True):  # fmt: skip
    x = _ordered(node_of(ar, rule))
    if (axis is not None and (x.ndim != 1 or axis not in (0, -1))) or not equal_nan:
        raise NotSupported("unique rows, or NaN that differ")
    return ops.unique(x, bool(return_index), bool(return_inverse), bool(return_counts))


def _unique(function, **options):
    if function is None:
        return

    @row(function, array=True)
    def build(rule, x, *, sorted=True):
        node = _ordered(node_of(x, rule))
        if dtypes.is_float(node.dtype):
            raise NotSupported("unique floats, of which NaN differ from one another")
        found = ops.unique(node, **options)
        return type(function(np.zeros(1, "int64")))(*found) if options else found


_unique(newer("unique_values"))
_unique(newer("unique_counts"), return_counts=True)
_unique(newer("unique_inverse"), return_inverse=True)
_unique(newer("unique_all"), return_index=True,
        return_inverse=True, return_counts=True)  # fmt: skip


@row(np.isin, array=True)
def isin(rule, element, test_elements, assume_unique=False, invert=False, *, kind=None):
    x, among = node_of(element, rule), ops.flatten(node_of(test_elements, rule))
    if among.shape[0] == 0:
        found = ops.zeros_like(x, "bool")
    elif among.shape[0] is not None and among.shape[0] <= 8:
        found = ufunc(rule, np.equal, ops.expand(x, (x.ndim,)), among)
        found = ops.any(found, -1)
    else:
        x, among = common_nodes(rule, (_ordered(x), _ordered(among)))
        among = ops.sort(among, 0)
        place = ops.cast(ops.searchsorted(among, x), "int64")
        last = ops.sub(ops.cast(ops.getitem(ops.shape(among), 0), "int64"), 1)
        found = ops.eq(ops.take(among, ops.minimum(place, last), 0), x)
    return ops.logical_not(found) if invert else found


@row(np.intersect1d, array=True)
def intersect1d(rule, ar1, ar2, assume_unique=False, return_indices=False):
    if return_indices:
        raise NotSupported("intersect1d with indices")
    a, b = common_nodes(rule, (node_of(ar1, rule), node_of(ar2, rule)))
    a = ops.unique(_ordered(a))
    return _kept(a, isin(rule, a, b))


@row(np.setdiff1d, array=True)
def setdiff1d(rule, ar1, ar2, assume_unique=False):
    a = node_of(ar1, rule)
    a = ops.flatten(a) if assume_unique else ops.unique(_ordered(a))
    return _kept(a, ops.logical_not(isin(rule, a, ar2)))


@row(np.union1d, array=True)
def union1d(rule, ar1, ar2):
    a, b = common_nodes(rule, (node_of(ar1, rule), node_of(ar2, rule)))
    return ops.unique(ops.concatenate([ops.flatten(_ordered(a)), ops.flatten(b)], 0))


@row(np.setxor1d, array=True)
def setxor1d(rule, ar1, ar2, assume_unique=False):
    a, b = common_nodes(rule, (node_of(ar1, rule), node_of(ar2, rule)))
    a, b = ops.unique(_ordered(a)), ops.unique(b)
    values, counts = ops.unique(ops.concatenate([a, b], 0), return_counts=True)
    return _kept(values, ops.eq(counts, 1))


def _kept(values, mask):
    return ops.getitem(values, (mask,))


@row(np.lexsort)
def lexsort(rule, keys, axis=-1):
    keys = [node_of(k, rule) for k in keys] if isinstance(keys, (tuple, list)) else None
    if not keys or any(k.ndim == 0 for k in keys):
        raise NotSupported("lexsort but of a tuple of keys")
    order = ops.argsort(_ordered(keys[0]), axis)
    for key in keys[1:]:
        places = ops.argsort(ops.take_along_axis(_ordered(key), order, axis), axis)
        order = ops.take_along_axis(order, places, axis)
    return order
