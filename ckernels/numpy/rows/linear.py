"""Rows of products and of linear algebra."""

import operator
from functools import lru_cache

import numpy as np

from ... import ops
from ...base import dtypes
from ...base.errors import NotSupported
from ...ops.shape import sized, times
from .arranging import common_nodes
from .base import agreeing, contracted, inner_of_rows, newer, node_of, outer, row, ufunc
from .filling import diagonal
from .reductions import largest, total

NONE = np._NoValue


@row(np.dot)
def dot(rule, a, b, out=None):
    a, b = common_nodes(rule, (node_of(a, rule), node_of(b, rule)))
    return ops.mul(a, b) if a.ndim == 0 or b.ndim == 0 else contracted(ops.dot, a, b)


@row(np.inner)
def inner(rule, a, b):
    a, b = common_nodes(rule, (node_of(a, rule), node_of(b, rule)))
    if a.ndim == 0 or b.ndim == 0:
        return ops.mul(a, b)
    return contracted(ops.tensordot, a, b, ((a.ndim - 1,), (b.ndim - 1,)))


@row(np.vdot)
def vdot(rule, a, b):
    a, b = common_nodes(rule, (node_of(a, rule), node_of(b, rule)))
    return contracted(ops.dot, ops.conj(ops.flatten(a)), ops.flatten(b))


@row(np.outer)
def outer_product(rule, a, b, out=None):
    return outer(rule, np.multiply, ops.flatten(node_of(a, rule)), ops.flatten(node_of(b, rule)))


@row(np.tensordot, newer("linalg.tensordot"), array=True)
def tensordot(rule, a, b, axes=2):
    a, b = common_nodes(rule, (node_of(a, rule), node_of(b, rule)))
    return contracted(ops.tensordot, a, b, axes)


@row(np.trace)
def trace(rule, a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    return total(rule, diagonal(rule, a, offset, axis1, axis2), -1, dtype)


@row(np.kron)
def kron(rule, a, b):
    a, b = common_nodes(rule, (node_of(a, rule), node_of(b, rule)))
    ndim = max(a.ndim, b.ndim)
    a, b = (ops.expand(x, tuple(range(ndim - x.ndim))) for x in (a, b))
    wide = ops.mul(ops.expand(a, tuple(range(1, 2 * ndim, 2))),
                   ops.expand(b, tuple(range(0, 2 * ndim, 2))))  # fmt: skip
    return ops.reshape(wide, [times(m, n) for m, n in zip(sized(a), sized(b))])


@row(np.einsum)
def einsum(rule, subscripts, *operands, out=None, optimize=False, **kwargs):
    """By products over all letters, which one sum ends; two matrices by a product of matrices."""
    if kwargs:
        raise NotSupported("einsum with options")
    if not isinstance(subscripts, str):
        subscripts, operands = _lettered((subscripts, *operands))
    nodes = common_nodes(rule, [node_of(x, rule) for x in operands])
    left, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if not (left + result).replace("...", "").replace(",", "a").isalpha() and left + result:
        raise NotSupported("einsum of subscripts that are no letters")
    if not arrow:
        letters = "".join(terms).replace(".", "")
        result = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
        result = "..." + result if "..." in left else result
    if len(terms) != len(nodes):
        raise NotSupported("einsum of more or fewer terms than operands")
    terms, result = _written_out(terms, nodes, result)
    if len(set(result)) != len(result) or nodes[0].dtype == "bool":
        raise NotSupported("einsum that repeats a letter of its result, or of bools")
    terms, nodes = zip(*[_diagonals(t, n) for t, n in zip(terms, nodes)])
    terms, nodes = list(terms), list(nodes)
    if len(terms) != len(nodes) or any(len(t) != n.ndim for t, n in zip(terms, nodes)):
        raise ValueError(f"einsum: the subscripts {subscripts!r} do not fit the operands")
    for i, j in _order(tuple(terms), result):
        (s, a), (t, b) = [(terms.pop(k), nodes.pop(k)) for k in (j, i)][::-1]
        term, node = _contract(s, a, t, b, set(result).union(*terms))
        terms.insert(0, term)
        nodes.insert(0, node)
    gone = tuple(i for i, c in enumerate(terms[0]) if c not in result)
    node = ops.sum(nodes[0], gone) if gone else nodes[0]
    term = "".join(c for c in terms[0] if c in result)
    node = ops.cast(node, nodes[0].dtype)
    return ops.transpose(node, [term.index(c) for c in result]) if term != result else node


def _lettered(given):
    """(subscripts, operands) of einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    operands, terms = list(given[0 : len(given) - 1 : 2]), list(given[1::2])
    result = given[-1] if len(given) % 2 else None
    terms += [] if result is None else [result]
    numbers = [[i if i is Ellipsis else operator.index(i) for i in t] for t in terms]
    if any(i is not Ellipsis and not 0 <= i < 26 for t in numbers for i in t):
        raise NotSupported("einsum with axes of more than 26 numbers")
    text = ["".join("..." if i is Ellipsis else chr(97 + i) for i in t) for t in numbers]
    arrow = "" if result is None else "->" + text.pop()
    return ",".join(text) + arrow, operands


MORE = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _written_out(terms, nodes, result):
    """The terms and the result with letters for the axes that an ellipsis stands for."""
    if not any("..." in t for t in (*terms, result)):
        return terms, result
    free = "".join(c for c in MORE if c not in "".join(terms) + result)
    counts = [n.ndim - len(t.replace("...", "")) for t, n in zip(terms, nodes) if "..." in t]
    most = max(counts, default=0)
    if len(terms) != len(nodes) or min(counts, default=0) < 0 or most > len(free):
        raise NotSupported("einsum whose ellipses do not fit the operands")
    if most and "..." not in result:
        raise ValueError(
            "einsum: an ellipsis of the operands stands for axes that the result needs"
        )
    letters = free[:most]
    written, sizes = [], []
    for t, n in zip(terms, nodes):
        own = letters[most - (n.ndim - len(t.replace("...", ""))) :] if "..." in t else ""
        written.append(t.replace("...", own))
        sizes = [*sizes, *[(c, n.shape[written[-1].index(c)]) for c in own]]
    if len(set(sizes)) != len({c for c, _ in sizes}):
        raise NotSupported("einsum whose ellipses broadcast")
    return written, result.replace("...", letters)


def _diagonals(term, node):
    """(term, node) with a letter that occurs twice taken along its diagonal."""
    for c in dict.fromkeys(term):
        while term.count(c) > 1:
            i = term.index(c)
            j = term.index(c, i + 1)
            message = f"the axes of {c!r} in einsum are of different sizes"
            node = agreeing(node, node, [(i, j)], message)
            node = ops.diagonal(node, 0, i, j)  # comes last
            term = term[:i] + term[i + 1 : j] + term[j + 1 :] + c
    return term, node


ALL_ORDERS = 4  # operands of which all orders are looked at: 18


def _order(terms, result):
    """The pairs of places to multiply, one after the other; what they make comes first."""
    if len(terms) < 2:
        return []
    pairs = [(i, j) for j in range(len(terms)) for i in range(j)]
    if len(terms) > ALL_ORDERS:
        pairs = [min(pairs, key=lambda pair: _cost(terms, result, pair)[0])]
    ways = []
    for pair in pairs:
        cost, left = _cost(terms, result, pair)
        rest = _order(left, result)
        for i, j in rest:
            more, left = _cost(left, result, (i, j))
            cost = [a + b for a, b in zip(cost, more)]
        ways.append((cost, [pair, *rest]))
    return min(ways, key=lambda way: way[0])[1]


def _cost(terms, result, pair):
    """(what a product of two of the terms costs, the terms after it).

    Nothing is asked but which letters there are, as if all sizes were equal: an order is the same
    whether sizes are open or known. First comes the count of multiplications, its highest power
    first, then how many letters count matrices that are multiplied one by one, then those of
    operands and of the result that are turned for it; a matrix is read either way.
    """
    s, t = (terms[k] for k in pair)
    others = [term for k, term in enumerate(terms) if k not in pair]
    kept = set(result).union(*others)
    left, right = (s, t) if _turned(s, t, kept) <= _turned(t, s, kept) else (t, s)
    made = [c for c in left if c in right] + [c for c in left + right if not (c in s and c in t)]
    made = "".join(c for c in made if c in kept)
    powers, both = [0] * 53, set(s) & set(t)
    powers[-1 - len({*s, *t})] = 1
    if not both - kept:
        return [*powers, 0, 0], (made, *others)
    turned = _turned(left, right, kept) + (0 if others or made == result else len(made))
    return [*powers, len(both & kept), turned], (made, *others)


def _turned(s, t, kept):
    """How many letters the operands of a product, s the left one, have that are laid out anew for
    it: batch, rows and what is summed come in that order. A matrix is read either way."""
    count = 0
    for term, order in ((s, "brs"), (t, "bsr")):
        kinds = ["r" if not (c in s and c in t) else "b" if c in kept else "s" for c in term]
        ranks = [order.index(kind) for kind in kinds]
        count += len(term) if len(term) > 2 and ranks != sorted(ranks) else 0
    return count


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
    if _turned(t, s, kept) < _turned(s, t, kept):
        s, a, t, b, rows, columns = t, b, s, a, columns, rows
    if not summed:
        return _multiplied(s, a, t, b, [*batch, *rows, *columns])
    a, b = _ordered(s, a, [*batch, *rows, *summed]), _ordered(t, b, [*batch, *summed, *columns])
    if batch and not rows and not columns:  # products of vectors, as many as there are
        axes = tuple(range(len(batch), a.ndim))
        return "".join(batch), ops.cast(ops.sum(ops.mul(a, b), axes), a.dtype)
    if len(rows) == len(summed) == len(columns) == 1:
        return "".join([*batch, *rows, *columns]), ops.matmul(a, b)
    n, m = len(batch), len(batch) + len(rows)
    # NumPy repeats axes of 1, and refuses others, of which products may be equal
    pairs = [(m + i, n + i) for i in range(len(summed))]
    if any(a.shape[i] != b.shape[j] for i, j in pairs if None not in (a.shape[i], b.shape[j])):
        raise NotSupported("einsum of axes of other sizes")
    a, b = ops.matched(a, b, pairs)
    k, own, other = n + len(summed), sized(a), sized(b)
    a = ops.reshape(a, [*own[:n], times(*own[n:m]), times(*own[m:])])
    b = ops.reshape(b, [*other[:n], times(*other[n:k]), times(*other[k:])])
    y = ops.matmul(a, b)
    y = ops.reshape(y, [*sized(y)[:n], *own[n:m], *other[k:]])
    return "".join([*batch, *rows, *columns]), y


def _ordered(term, node, letters):
    order = [term.index(c) for c in letters]
    return node if order == sorted(order) else ops.transpose(node, order)


def _multiplied(s, a, t, b, letters):
    wide = []
    for term, node in ((s, a), (t, b)):
        node = _ordered(term, node, [c for c in letters if c in term])
        wide.append(ops.expand(node, tuple(i for i, c in enumerate(letters) if c not in term)))
    return "".join(letters), ops.mul(*wide)


# --- np.linalg --------------------------------------------------------------------------------


def _floats(rule, *values, analytic=False):
    """Operands of LAPACK; analytic: of a function that has a derivative of complex numbers too."""
    nodes = [node_of(v, rule) for v in values]
    kinds = [np.dtype("float64") if dtypes.is_discrete(n.dtype) else np.dtype(n.dtype)
             for n in nodes]  # fmt: skip
    if any(k.kind == "c" and not analytic or k.itemsize == 2 for k in kinds):
        raise NotSupported("linear algebra of complex or short numbers")
    common = rule.common(kinds)
    return [ops.cast(n, common) for n in nodes]


@row(np.linalg.solve)
def solve(rule, a, b):
    a, b = _floats(rule, a, b, analytic=True)
    if b.ndim != 1 and b.ndim != a.ndim:
        raise NotSupported("solve with matrices of other dimensions")
    return ops.solve(a, b)


@row(np.linalg.inv)
def inverse(rule, a):
    return ops.inverse(*_floats(rule, a, analytic=True))


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
    x = ops.abs(x) if dtypes.is_complex(x.dtype) else x
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


def _square(rule, a):
    (x,) = _floats(rule, a)
    if x.ndim < 2 or (None not in x.shape[-2:] and x.shape[-1] != x.shape[-2]):
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return x


def _lower(x, uplo):
    if uplo.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return x if uplo.upper() == "L" else ops.swapaxes(x, -1, -2)


@row(np.linalg.eigh)
def eigh(rule, a, UPLO="L"):  # noqa: N803 (NumPy's name)
    return named(np.linalg.eigh, 1, 1)(*ops.eigh(_lower(_square(rule, a), UPLO)))


@row(np.linalg.eigvalsh)
def eigvalsh(rule, a, UPLO="L"):  # noqa: N803
    return ops.eigvalsh(_lower(_square(rule, a), UPLO))


@row(np.linalg.svd)
def svd(rule, a, full_matrices=True, compute_uv=True, hermitian=False):
    if hermitian:
        raise NotSupported("svd of hermitian matrices by their eigenvalues")
    (x,) = _floats(rule, a)
    if not compute_uv:
        return ops.svd(x, False, False)
    return named(np.linalg.svd, 1, 1)(*ops.svd(x, bool(full_matrices)))


@row(newer("linalg.svdvals"))
def svdvals(rule, x, /):
    return ops.svd(*_floats(rule, x), False, False)


@row(np.linalg.qr)
def qr(rule, a, mode="reduced"):
    if mode not in ("reduced", "complete"):
        raise NotSupported(f"qr with mode={mode!r}")
    return named(np.linalg.qr, 1, 1)(*ops.qr(*_floats(rule, a), mode))


@row(np.linalg.pinv)
def pinv(rule, a, rcond=None, hermitian=False, *, rtol=NONE):
    if rcond is not None or hermitian or rtol is not NONE:
        raise NotSupported("pinv with a limit, or of hermitian matrices")
    a = node_of(a, rule)
    found = ops.pinv(*_floats(rule, a))
    return ops.cast(found, a.dtype) if 0 in a.shape[-2:] else found  # as NumPy's of none


@row(np.linalg.cond)
def cond(rule, x, p=None):
    (x,) = _floats(rule, x)
    if p not in (None, 2, -2) or x.ndim < 2:
        raise NotSupported(f"cond by the norm {p!r}")
    s = ops.svd(x, False, False)
    first, last = ops.getitem(s, (..., 0)), ops.getitem(s, (..., -1))
    return ops.true_div(last, first) if p == -2 else ops.true_div(first, last)


@row(np.linalg.matrix_rank)
def matrix_rank(rule, A, tol=None, hermitian=False, *, rtol=None):  # noqa: N803
    (x,) = _floats(rule, A)
    if tol is not None or rtol is not None or hermitian or x.ndim < 2 or None in x.shape[-2:]:
        raise NotSupported("matrix_rank with a limit, or of vectors")
    s = ops.svd(x, False, False)
    limit = float(max(x.shape[-2:]) * np.finfo(x.dtype).eps)
    low = ops.mul(ops.max(s, -1, True), limit)
    return ops.sum(ops.cast(ops.gt(s, low), "int64"), -1)


@row(newer("matrix_transpose"), newer("linalg.matrix_transpose"), array=True)
def matrix_transpose(rule, x, /):
    return ops.swapaxes(node_of(x, rule), -1, -2)


@row(newer("linalg.vecdot"))
def vecdot(rule, x1, x2, /, *, axis=-1):
    a, b = common_nodes(rule, (node_of(x1, rule), node_of(x2, rule)))
    a, b = ops.moveaxis(a, axis, -1), ops.moveaxis(b, axis, -1)
    return ops.cast(inner_of_rows(a, b), a.dtype)


@row(np.linalg.tensorsolve)
def tensorsolve(rule, a, b, axes=None):
    return ops.tensorsolve(*_floats(rule, a, b), axes)


@row(np.cross)
def cross(rule, a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    axisa, axisb, axisc = (axis,) * 3 if axis is not None else (axisa, axisb, axisc)
    a, b = common_nodes(rule, (node_of(a, rule), node_of(b, rule)))
    a, b = ops.moveaxis(a, axisa, -1), ops.moveaxis(b, axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3 or a.dtype == "bool":
        raise NotSupported("cross of vectors that have not three elements")
    x, y = ([ops.getitem(v, (..., i)) for i in range(3)] for v in (a, b))
    parts = [ops.sub(ops.mul(x[i], y[j]), ops.mul(x[j], y[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    return ops.moveaxis(ops.stack(parts, -1), -1, axisc) if parts[0].ndim else ops.stack(parts, 0)


@row(newer("linalg.cross"))
def linalg_cross(rule, x1, x2, /, *, axis=-1):
    return cross(rule, x1, x2, axis=axis)
