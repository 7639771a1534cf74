"""Differences, counts, unique elements, positions in grids, choices: what NumPy has for indices.

Most are built of other ops and so have their gradients; ops of their own are searchsorted and
the changes between positions in a grid and positions in memory, which are integers.
"""

import numbers

import numpy as np

from ..base import dtypes, given
from ..base.errors import ArgumentError, ShapeError
from ..base.given import flag
from ..graph.node import Node, constant, item, make
from ..graph.op import Op
from ..graph.shapes import axis_of, broadcast, show
from .base import broadcast_like, cast, expand, operands, to_node, zeros_like
from .composite import mean
from .control import check
from .elementwise import abs, add, clip, maximum, mod, sub, true_div, where
from .filling import arange
from .indexing.advanced import flatnonzero, int_indices, scatter_add, take, take_along_axis
from .indexing.keys import getitem
from .indexing.slicing import dynamic_slice
from .joining import concatenate, stack
from .linalg import matmul
from .logic import eq, ge, isnan, logical_and, logical_not, lt, ne
from .movement import broadcast_to, flatten, reshape, slice_, squeeze, transpose
from .reduce import any, max
from .running import cumsum
from .shape import shape_vector, size_of, sized
from .sort import argsort, sort

__all__ = ["diff", "bincount", "searchsorted", "equal_bins", "unique", "ravel_multi_index",
           "unravel_index", "choose_from", "compress", "cov", "covariances",
           "bartlett"]  # fmt: skip


def diff(x, n=1, axis=-1):
    """The differences of neighbours along `axis`, `n` times over."""
    x = to_node(x, "diff")
    axis = axis_of(axis, x.ndim)
    if isinstance(n, bool) or not isinstance(n, numbers.Integral) or n < 0:
        raise ArgumentError(f"the order of diff is an int >= 0, not {n!r}")
    whole = [(None, None, 1)] * axis
    for _ in range(n):
        later, earlier = slice_(x, [*whole, (1, None, 1)]), slice_(x, [*whole, (None, -1, 1)])
        x = ne(later, earlier) if x.dtype == "bool" else sub(later, earlier)
    return x


def bincount(x, weights=None, minlength=0):
    """How often each integer from 0 occurs in the vector `x`, or the sum of its `weights`.

    Its length is the largest of `x` and one more, and at least `minlength`. Negative numbers raise
    IndexOutOfBounds.
    """
    x = int_indices(x, "bincount")
    if x.ndim != 1:
        raise ShapeError(f"bincount needs a vector, got shape {show(x.shape)}")
    weights = to_node(1 if weights is None else weights, "bincount")
    weights = broadcast_like(weights, x) if not weights.ndim else weights
    if weights.ndim != 1 or None not in (x.shape + weights.shape) and x.shape != weights.shape:
        raise ShapeError(
            f"bincount of shape {show(x.shape)} needs a weight for each, got weights "
            f"of shape {show(weights.shape)}"
        )
    # A number in front, so that an empty vector has a largest element too.
    largest = max(concatenate([constant(np.array([-1])), cast(x, "int64")]), 0)
    if dtypes.kind(x.dtype) == "i":
        message = "bincount counts integers from 0 on, and one is negative"
        largest = check(largest, logical_not(any(lt(x, 0))), message=message)
    length = maximum(add(largest, 1), cast(to_node(minlength, "bincount"), "int64"))
    zeros = broadcast_to(constant(np.zeros((), weights.dtype)), [length])
    return scatter_add(zeros, x, weights)


# --- searching --------------------------------------------------------------------------------


def _infer_searchsorted(attrs, x, v):
    if x.ndim != 1:
        raise ShapeError(f"searchsorted needs a vector to search in, got shape {show(x.shape)}")
    return "int64", v.shape


Op(
    "searchsorted",
    "opaque",
    _infer_searchsorted,
    lambda a, x, v: np.asarray(np.searchsorted(x, v, a["side"]), "int64"),
    lambda node, g: (None, None),
    ulp=0,
    cost=20,
    doc="Where the second operand would be put into the rising vector to keep it rising.",
)


def searchsorted(x, v, side="left", sorter=None):
    """Where the elements of `v` would be put into the vector `x` to keep it rising: int64.

    side: "left" before, "right" behind equal ones. sorter: indices that sort `x`, if it is not
    sorted.
    """
    given.word(side, ("left", "right"), "the side of searchsorted")
    x, v = operands((x if isinstance(x, Node) else to_node(x, "searchsorted"), v), "searchsorted")
    x = x if sorter is None else take(x, sorter, 0)
    return make("searchsorted", (x, v), {"side": side})


def _infer_equal_bins(attrs, x, edges):
    return "int64", x.shape


def _equal_bins(attrs, x, edges):
    bins = len(edges) - 1
    inside = (x >= edges[0]) & (x <= edges[-1])
    near = np.where(inside, x, edges[-1])
    if attrs["exact"]:
        at = np.minimum(np.searchsorted(edges, near, "right") - 1, bins - 1)
    else:
        guess = (near - edges[0]) / (edges[-1] - edges[0]) * edges.dtype.type(bins)
        at = np.fmin(np.fmax(guess, 0), bins - 1).astype("int64")
        at = np.maximum(at - (near < edges[at]), 0)
        at = at + ((near >= edges[at + 1]) & (at != bins - 1))
    return np.asarray(np.where(inside, at, bins), "int64")


Op(
    "equal_bins",
    "opaque",
    _infer_equal_bins,
    _equal_bins,
    lambda node, g: (None, None),
    ulp=0,
    cost=8,
    doc="Which of equal bins each element is in; the number of bins: in none.",
)


def equal_bins(x, edges, exact=False):
    """The numbers of the equal bins that the elements of `x` are in, int64; the number of bins for
    those in none. The last bin holds its upper edge.

    edges: a vector of floats at equal distances, of the dtype of `x`. A guess by the distance from
    the first edge is put right by the edges around it, as NumPy does; exact: by as many as need be,
    where some are equal or nearly so.
    """
    return make("equal_bins", (x, edges), {"exact": bool(exact)})


def unique(x, return_index=False, return_inverse=False, return_counts=False):
    """The different elements of `x`, rising; with what is asked for behind them, a tuple: the
    index of each one's first occurrence in the flattened `x`, for each element of `x` (in the shape
    of `x`) its number among them, how often each occurs.

    Its length is known only in a call. NaN counts as one number, as in NumPy. The gradient flows to
    the first occurrences.
    """
    x = to_node(x, "unique")
    flat = flatten(x)
    return_index = flag(return_index, "return_index")
    return_inverse = flag(return_inverse, "return_inverse")
    needs_order = return_index or return_inverse
    order = argsort(flat, 0) if needs_order else None
    rising = take(flat, order, 0) if needs_order else sort(flat, 0)
    later, earlier = slice_(rising, [(1, None, 1)]), slice_(rising, [(None, -1, 1)])
    new = ne(later, earlier)
    if dtypes.is_inexact(x.dtype):
        new = logical_and(new, logical_not(logical_and(isnan(later), isnan(earlier))))
    new = concatenate([constant(np.array([True])), new])
    new = dynamic_slice(new, [(None, size_of(rising, 0), 1)])  # of no elements none is new
    first = flatnonzero(new)
    index = take(order, first, 0) if needs_order else None
    found = [take(rising, first, 0)]
    if return_index:
        found.append(index)
    if return_inverse:
        numbers_ = sub(cumsum(cast(new, "int64"), 0), 1)
        placed = scatter_add(zeros_like(order), order, numbers_)
        found.append(reshape(placed, sized(x)) if x.ndim != 1 else placed)
    if flag(return_counts, "return_counts"):
        ends = concatenate([first, expand(cast(to_node(size_of(flat, 0)), "int64"), (0,))])
        found.append(diff(ends))
    return tuple(found) if len(found) > 1 else found[0]


# --- positions in a grid ----------------------------------------------------------------------

ORDERS, MODES = ("C", "F"), ("raise", "wrap", "clip")


def _check_words(name, order="C", mode="raise"):
    given.word(order, ORDERS, f"the order of {name}")
    given.word(mode, MODES, f"the mode of {name}")


def _out_of_range(name, index, limits, dims):
    """An error that names the first of the `index` that is not below its limit."""
    index = np.stack(np.broadcast_arrays(*index), -1).reshape(-1, len(index))
    wrong = index[((index < 0) | (index >= limits)).any(-1)]
    first = [tuple(i) if len(i) > 1 else i[0] for i in wrong.tolist()][:1] or ["no index"]
    sizes = show(tuple(dims.tolist()))
    return ArgumentError(f"{name}: {first[0]} is out of range of the sizes {sizes}")


def _infer_ravel(attrs, dims, *index):
    return "int64", broadcast("ravel_multi_index", *(i.shape for i in index))


def _run_ravel(attrs, dims, *index):
    try:
        flat = np.ravel_multi_index(index, tuple(dims), attrs["mode"], attrs["order"])
    except ValueError:
        raise _out_of_range("ravel_multi_index", index, dims, dims) from None
    return np.asarray(flat, "int64")


def _infer_unravel(attrs, flat, dims):
    return [("int64", flat.shape)] * attrs["count"]


def _run_unravel(attrs, flat, dims):
    try:
        index = np.unravel_index(flat, tuple(dims), attrs["order"])
    except ValueError:
        raise _out_of_range("unravel_index", (flat,), dims.prod(), dims) from None
    return tuple(np.asarray(i, "int64") for i in index)


Op(
    "ravel_multi_index",
    "opaque",
    _infer_ravel,
    _run_ravel,
    lambda node, g: (None,) * len(node.inputs),
    ulp=0,
    cost=20,
    doc="The position in memory of an index of an array of the sizes of the first operand.",
)
Op(
    "unravel_index",
    "opaque",
    _infer_unravel,
    _run_unravel,
    lambda node, g: (None, None),
    ulp=0,
    cost=20,
    doc="The index, one output per axis, of a position in memory.",
)


def _sizes(dims, name):
    vector = shape_vector(dims, f"the sizes of {name}")
    if vector.shape[0] is None:
        raise ShapeError(f"{name}: the number of axes must be known when the graph is built")
    return vector


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """The position in memory of the element `multi_index` (a tensor per axis, or a tensor with the
    axes first) of an array of the sizes `dims`, int64. mode: what is out of range is an error,
    wraps around or is clipped; order: of rows ("C") or columns ("F")."""
    _check_words("ravel_multi_index", order, mode)
    vector = _sizes(dims, "ravel_multi_index")
    if not isinstance(multi_index, (list, tuple)):
        whole = to_node(multi_index, "ravel_multi_index")
        multi_index = [getitem(whole, k) for k in range(vector.shape[0])]
    index = [cast(int_indices(i, "ravel_multi_index"), "int64") for i in multi_index]
    if len(index) != vector.shape[0]:
        raise ShapeError(f"ravel_multi_index got {len(index)} indices for {vector.shape[0]} axes")
    return make("ravel_multi_index", (vector, *index), {"mode": mode, "order": order})


def unravel_index(flat, dims, order="C"):
    """The index, a tuple of int64 tensors, of the element at position `flat` in the memory of an
    array of the sizes `dims`."""
    _check_words("unravel_index", order)
    vector = _sizes(dims, "unravel_index")
    count = vector.shape[0]
    found = make(
        "unravel_index",
        (cast(int_indices(flat, "unravel_index"), "int64"), vector),
        {"count": count, "order": order},
    )
    return tuple(item(found, k) for k in range(count))


# --- choices ----------------------------------------------------------------------------------


def choose_from(index, choices, mode="raise"):
    """np.choose: at each place the element of choices[index[place]]; all broadcast.

    choices: tensors, or one whose first axis counts them. mode: see `take`.
    """
    _check_words("choose", mode=mode)
    index = cast(int_indices(index, "choose"), "int64")
    if not isinstance(choices, (list, tuple)):
        choices = to_node(choices, "choose")
        if not choices.ndim or choices.shape[0] is None:
            raise ShapeError(
                "choose: the number of choices must be known when the graph is built, "
                f"got choices of shape {show(choices.shape)}"
            )
        choices = [getitem(choices, k) for k in range(choices.shape[0])]
    choices = operands(choices, "choose")
    if mode == "wrap":
        index = mod(index, len(choices))
    elif mode == "clip":
        index = clip(index, 0, len(choices) - 1)
    else:
        there = logical_and(ge(index, 0), lt(index, len(choices)))
        index = check(
            index, there, message=f"an index of choose is not among the {len(choices)} choices"
        )
    whole = zeros_like(index, "int8")
    for c in choices:
        whole = add(whole, zeros_like(c, "int8"))
    stacked = stack([broadcast_like(c, whole) for c in choices], 0)
    picked = take_along_axis(stacked, expand(broadcast_like(index, whole), (0,)), 0)
    return squeeze(picked, 0)


def compress(condition, x, axis=None):
    """The slices of `x` along `axis` (None: the elements) where the vector `condition` is not 0.

    Its length is known only in a call.
    """
    x, condition = to_node(x, "compress"), to_node(condition, "compress")
    if condition.ndim != 1:
        raise ShapeError(
            f"the condition of compress is a vector, not of shape {show(condition.shape)}"
        )
    x, axis = (flatten(x), 0) if axis is None else (x, axis_of(axis, x.ndim))
    return take(x, flatnonzero(condition), axis)


# --- statistics and windows -------------------------------------------------------------------


def cov(x, y=None, rowvar=True, bias=False, ddof=None):
    """The covariances of the rows of `x` (with rowvar=False its columns), of a vector its variance.

    y: more rows. Sums of products are divided by the number of observations less `ddof`: 1, with
    bias=True 0.
    """
    x = to_node(x, "cov")
    x = cast(x, dtypes.to_float(x.dtype))
    if x.ndim > 2:
        raise ShapeError(f"cov needs a vector or a matrix, got shape {show(x.shape)}")
    rowvar, bias = flag(rowvar, "rowvar"), flag(bias, "bias")
    single = x.ndim < 2 and y is None

    def rows(v):
        v = expand(v, tuple(range(2 - v.ndim))) if v.ndim < 2 else v
        return v if rowvar or v.shape[0] == 1 else transpose(v)

    m = rows(x)
    if y is not None:
        m = concatenate([m, rows(cast(to_node(y, "cov"), x.dtype))], 0)
    m = sub(m, mean(m, 1, keepdims=True))
    ddof = (0 if bias else 1) if ddof is None else ddof
    count = cast(to_node(size_of(m, 1)), m.dtype)
    found = covariances(m, m, sub(count, ddof))
    return squeeze(found, (0, 1)) if single else found


def covariances(m, weighted, freedom):
    """Products of the rows of `m`, whose means are 0, with the `weighted` ones, over the degrees of
    freedom: NaN or infinite where none are left."""
    return true_div(matmul(m, transpose(weighted)), maximum(freedom, 0))


def bartlett(n, dtype=None):
    """The triangle of `n` points (an int or a scalar node) that rises from 0 to 1 and falls."""
    n = n if isinstance(n, numbers.Integral) else cast(int_indices(n, "bartlett"), "int64")
    dtype = dtypes.name_of(dtypes.floatx() if dtype is None else dtype)
    k = cast(arange(0, n, 1, "int64"), dtype)
    half = true_div(cast(sub(to_node(n), 1), dtype), 2)
    safe = where(eq(half, 0), 1, half)  # one point is the top
    return where(eq(half, 0), 1, sub(1, abs(true_div(sub(k, half), safe))))
