"""Long reductions in two steps, so that all threads work and any number of
threads gives the same bits.

A full reduction of many elements, or a reduction over many leading rows, becomes `partial` (one
result per chunk of a grid fixed by the shape) followed by a small reduction of the chunks. Shapes
must be concrete.
"""

from .. import ops
from ..base import dtypes
from ..base.machine import FLOAT, IN_CACHE, L2
from ..graph.node import apply, constant, make
from ..graph.op import Op
from ..graph.sizes import ceil_divide, greatest, smallest
from ..ops.composite import extent

CHUNK = L2 // 16 // FLOAT  # elements per chunk at least: it stays in L2 between its loops
FULL = 2 * CHUNK  # elements below which one thread reduces everything
MAX_CHUNKS = 1024
ROWS = 512  # leading rows from which on a column reduction is chunked, if there are FULL elements
NARROW = 64  # and fewer columns than this, too few for the threads; of more columns, if IN_CACHE
# elements leave the cores' caches: one batch norm step of 8192 x 256 takes 1.3 ms so, 2.5 in strips
LEAST = 128  # rows of a chunk at least: its results are written and read again
ELEMENTS = 4 * CHUNK  # of a chunk of few columns, where there are so many


def _infer_partial(attrs, x):
    kept = tuple(d for k, d in enumerate(x.shape) if k not in attrs["axes"])
    kind = attrs["kind"]
    dtype = x.dtype
    if kind in ("argmax", "argmin"):
        dtype = "int64"
    elif kind in ("moment2", "count"):
        dtype = "float64"
    elif kind in ("sum", "prod") and dtypes.computed(dtype) == "float32":
        dtype = "float64"
    return dtype, (attrs["chunks"],) + kept


Op("partial", "reduce", _infer_partial, doc="A reduction per chunk of the reduced axes.")


def chunking(node):
    """Into how many chunks a reduction wants to be split, at least 2; None for not at all.

    Near the least size that is split one chunk would do: but a 1 would end the class of shapes.
    """
    x, axes = node.inputs[0], node.attrs["axes"]
    if node.op.name == "partial" or not x.size:
        return None
    wide = [k for k, n in enumerate(x.shape) if n != 1]
    reduced = [k for k in axes if x.shape[k] != 1]
    kept = [k for k in wide if k not in axes]
    count = 1
    for k in reduced:
        count *= x.shape[k]
    if not kept:
        if count < FULL:
            return None
        return smallest(MAX_CHUNKS, greatest(2, ceil_divide(count, CHUNK)))
    width = x.size // count
    if wide[: len(reduced)] != reduced:
        return None
    least = ceil_divide(IN_CACHE if width >= NARROW else FULL, width)
    if count < greatest(ROWS, least):  # one question, and so one border between classes
        return None
    rows = greatest(greatest(LEAST, ceil_divide(count, 64)), ELEMENTS // greatest(width, 1))
    return greatest(2, ceil_divide(count, rows))


def in_chunks(node):
    """`node` itself, or the same reduction in two steps."""
    if node.op.kind != "reduce":
        return node
    chunks = chunking(node)
    if chunks is None:
        return node if node.op.name != "moment2" else _two_passes(node)
    x, axes, name = node.inputs[0], node.attrs["axes"], node.op.name
    attrs = {"axes": axes, "chunks": chunks}
    if name in ("argmax", "argmin"):
        return _chunked_arg(node, x, attrs, name)
    if name == "moment2":
        return _chunked_moment2(node, x, attrs)
    first = make("partial", (x,), {**attrs, "kind": name})
    last = make(name, (first,), {"axes": (0,)})
    return last if last.dtype == node.dtype else make("cast", (last,), {"dtype": node.dtype})


def _two_passes(node):
    """Squared deviations of rows that stay in cache between the mean and the second look."""
    x, axes = node.inputs[0], node.attrs["axes"]
    mean = ops.true_div(ops.sum(x, axes), extent(x, axes, x.dtype))
    return ops.sum(ops.square(ops.sub(x, ops.expand(mean, axes))), axes)


def _chunked_moment2(node, x, attrs):
    """One pass over memory: each chunk's sum and squared deviations from its own mean, in cache.

    Merged by M2 = sum(M2_c) + sum(n_c * (mean_c - mean)**2) (Chan, Golub and LeVeque 1979).
    """
    total, off, count = (
        make("partial", (x,), {**attrs, "kind": k}) for k in ("sum", "moment2", "count")
    )
    total = ops.cast(total, "float64")
    mean = ops.true_div(ops.sum(total, 0), extent(x, attrs["axes"], "float64"))
    away = ops.sub(ops.true_div(total, ops.maximum(count, 1.0)), mean)
    merged = ops.sum(ops.add(off, ops.mul(count, ops.square(away))), 0)
    return ops.cast(merged, node.dtype)


def _chunked_arg(node, x, attrs, name):
    """argmax over chunks: the best value of each, the first index in each, then the first chunk."""
    best = make("partial", (x,), {**attrs, "kind": name[3:]})
    where = make("partial", (x,), {**attrs, "kind": name})
    top = make(name[3:], (best,), {"axes": (0,)})
    hit = apply("eq", best, ops.expand(top, (0,)))
    if dtypes.is_float(x.dtype):
        hit = apply("logical_or", hit, apply("isnan", best))
    far = constant(2**63 - 1, "int64")
    return make("min", (make("where", (hit, where, far)),), {"axes": (0,)})
