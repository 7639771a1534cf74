"""Rows of products and of linear algebra."""

from functools import lru_cache

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import NotSupported
from .arranging import common_nodes
from .base import node_of, outer, row, ufunc
from .reductions import largest, total


def _numbers(nodes):
    if nodes[0].dtype == "bool":
        raise NotSupported("a product of matrices of bools")
    return nodes


@row(np.dot)
def dot(rule, a, b, out=None):
    a, b = common_nodes(rule, (node_of(a, rule), node_of(b, rule)))
    return ops.mul(a, b) if a.ndim == 0 or b.ndim == 0 else ops.dot(*_numbers([a, b]))


@row(np.inner)
def inner(rule, a, b):
    a, b = common_nodes(rule, (node_of(a, rule), node_of(b, rule)))
    if a.ndim == 0 or b.ndim == 0:
        return ops.mul(a, b)
    return ops.tensordot(*_numbers([a, b]), ((a.ndim - 1,), (b.ndim - 1,)))


@row(np.vdot)
def vdot(rule, a, b):
    a, b = common_nodes(rule, (node_of(a, rule), node_of(b, rule)))
    return ops.dot(*_numbers([ops.conj(ops.flatten(a)), ops.flatten(b)]))


@row(np.outer)
def outer_product(rule, a, b, out=None):
    return outer(rule, np.multiply, ops.flatten(node_of(a, rule)), ops.flatten(node_of(b, rule)))


@row(np.tensordot)
def tensordot(rule, a, b, axes=2):
    a, b = _numbers(common_nodes(rule, (node_of(a, rule), node_of(b, rule))))
    return ops.tensordot(a, b, axes)


@row(np.trace)
def trace(rule, a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    return total(rule, ops.diagonal(node_of(a, rule), offset, axis1, axis2), -1, dtype)


@row(np.kron)
def kron(rule, a, b):
    a, b = common_nodes(rule, (node_of(a, rule), node_of(b, rule)))
    if a.ndim != 2 or b.ndim != 2:
        raise NotSupported("kron of what are no matrices")
    return ops.kron(a, b)


@row(np.einsum)
def einsum(rule, subscripts, *operands, out=None, optimize=False, **kwargs):
    """By products over all letters, which one sum ends; two matrices by a product of matrices."""
    if kwargs or not isinstance(subscripts, str) or "." in subscripts:
        raise NotSupported("einsum with an ellipsis, lists of axes or options")
    nodes = common_nodes(rule, [node_of(x, rule) for x in operands])
    left, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if not arrow:
        letters = "".join(terms)
        result = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    if any(len(set(t)) != len(t) for t in (*terms, result)) or nodes[0].dtype == "bool":
        raise NotSupported("einsum along a diagonal, or of bools")
    if len(terms) != len(nodes) or any(len(t) != n.ndim for t, n in zip(terms, nodes)):
        raise ValueError(f"einsum: the subscripts {subscripts!r} do not fit the operands")
    while len(nodes) > 1:
        kept = set(result).union(*terms[2:])
        term, node = _contract(terms[0], nodes[0], terms[1], nodes[1], kept)
        terms[:2], nodes[:2] = [term], [node]
    gone = tuple(i for i, c in enumerate(terms[0]) if c not in result)
    node = ops.sum(nodes[0], gone) if gone else nodes[0]
    term = "".join(c for c in terms[0] if c in result)
    node = ops.cast(node, nodes[0].dtype)
    return ops.transpose(node, [term.index(c) for c in result]) if term != result else node


def _contract(s, a, t, b, kept):
    """(letters, node) of the product of two operands, summed over what nobody else needs."""
    for k, (own, other) in enumerate(((s, t), (t, s))):  # letters of one operand alone
        gone = tuple(i for i, c in enumerate(own) if c not in other and c not in kept)
        short = "".join(c for i, c in enumerate(own) if i not in gone)
        node = (a, b)[k]
        node = ops.cast(ops.sum(node, gone), node.dtype) if gone else node
        s, a, t, b = (short, node, t, b) if k == 0 else (s, a, short, node)
    both = [c for c in s if c in t]
    batch, summed = [c for c in both if c in kept], [c for c in both if c not in kept]
    rows, columns = [c for c in s if c not in t], [c for c in t if c not in s]
    if not summed or (None in a.shape + b.shape and (len(summed) > 1 or len(rows) > 1
                                                     or len(columns) > 1)):  # fmt: skip
        return _multiplied(s, a, t, b, [*batch, *rows, *columns], summed)
    size = dict(zip(s, a.shape)) | dict(zip(t, b.shape))
    shape = [[size[c] for c in group] for group in (batch, rows, summed, columns)]
    a, b = _ordered(s, a, [*batch, *rows, *summed]), _ordered(t, b, [*batch, *summed, *columns])
    if len(rows) == len(summed) == len(columns) == 1:
        return "".join([*batch, *rows, *columns]), ops.matmul(a, b)
    many = [int(np.prod(group)) for group in shape]
    a = ops.reshape(a, [*shape[0], many[1], many[2]])
    b = ops.reshape(b, [*shape[0], many[2], many[3]])
    y = ops.reshape(ops.matmul(a, b), [*shape[0], *shape[1], *shape[3]])
    return "".join([*batch, *rows, *columns]), y


def _ordered(term, node, letters):
    order = [term.index(c) for c in letters]
    return node if order == sorted(order) else ops.transpose(node, order)


def _multiplied(s, a, t, b, letters, summed):
    whole = [*letters, *summed]
    wide = []
    for term, node in ((s, a), (t, b)):
        node = _ordered(term, node, [c for c in whole if c in term])
        wide.append(ops.expand(node, tuple(i for i, c in enumerate(whole) if c not in term)))
    y = ops.mul(*wide)
    if summed:
        y = ops.cast(ops.sum(y, tuple(range(len(letters), len(whole)))), a.dtype)
    return "".join(letters), y


# --- np.linalg --------------------------------------------------------------------------------


def _floats(rule, *values):
    nodes = [node_of(v, rule) for v in values]
    kinds = [np.dtype("float64") if dtypes.is_discrete(n.dtype) else np.dtype(n.dtype)
             for n in nodes]  # fmt: skip
    if any(k.kind == "c" or k.itemsize == 2 for k in kinds):
        raise NotSupported("linear algebra of complex or short numbers")
    common = rule.common(kinds)
    return [ops.cast(n, common) for n in nodes]


@row(np.linalg.solve)
def solve(rule, a, b):
    a, b = _floats(rule, a, b)
    if b.ndim != 1 and b.ndim != a.ndim:
        raise NotSupported("solve with matrices of other dimensions")
    return ops.solve(a, b)


@row(np.linalg.inv)
def inverse(rule, a):
    return ops.inverse(*_floats(rule, a))


@row(np.linalg.det)
def det(rule, a):
    return ops.det(*_floats(rule, a))


@lru_cache
def named(function, *shape):
    """The class of named tuples that a function of np.linalg returns."""
    return type(function(np.ones(shape)))


@row(np.linalg.slogdet)
def slogdet(rule, a):
    return named(np.linalg.slogdet, 1, 1)(*ops.slogdet(*_floats(rule, a)))


@row(np.linalg.cholesky)
def cholesky(rule, a, /, *, upper=False):
    lower = ops.cholesky(*_floats(rule, a))
    return ops.swapaxes(lower, -1, -2) if upper else lower


@row(np.linalg.matrix_power)
def matrix_power(rule, a, n):
    return ops.matrix_power(node_of(a, rule), n)


@row(np.linalg.norm)
def norm(rule, x, ord=None, axis=None, keepdims=False):  # noqa: A002 (NumPy's name)
    x = node_of(x, rule)
    x = ops.cast(x, "float64") if dtypes.is_discrete(x.dtype) else x
    if dtypes.is_complex(x.dtype):
        raise NotSupported("the norm of complex numbers")
    matrix = (axis is None and x.ndim == 2) or isinstance(axis, (tuple, list))
    if ord is None or (ord == 2 and not matrix) or (ord == "fro" and matrix):
        squares = total(rule, ops.square(x), axis, keepdims=keepdims)
        return ops.sqrt(squares)
    if matrix or not isinstance(ord, (int, float)) or (axis is None and x.ndim != 1):
        raise NotSupported(f"the norm {ord!r} of a matrix")
    size = ops.abs(x)
    if ord == np.inf:
        return largest(rule, size, axis, keepdims=keepdims)
    if ord == 1:
        return total(rule, size, axis, keepdims=keepdims)
    if ord <= 0:
        raise NotSupported(f"the norm {ord!r}")
    return ufunc(rule, np.power, total(rule, ops.pow(size, float(ord)), axis, keepdims=keepdims),
                 1.0 / ord)  # fmt: skip
