"""Where a tensor lies in memory: buffer, offset, strides. Views are arithmetic on layouts; so is
collapsing.

Strides and offsets count elements. Nothing here allocates or copies.
"""

from dataclasses import dataclass, replace

from ..base import dtypes
from ..graph.shapes import dense_strides
from ..graph.sizes import indices, surely, value_of


@dataclass(frozen=True)
class Layout:
    """`buffer` is any hashable name of the memory; element [0, 0, ...] lies at `offset`. loose: its
    elements may lie at any byte, as only loops read them."""

    buffer: object
    shape: tuple
    strides: tuple
    dtype: str
    offset: int = 0
    loose: bool = False

    @property
    def pointer(self):
        """(buffer, bytes) of the first element."""
        return self.buffer, self.offset * dtypes.ITEMSIZE[self.dtype]


def contiguous_strides(shape):
    """Row-major strides in elements.

    >>> contiguous_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides, step = [1], 1
    for n in reversed(shape[1:]):
        if n != 1 and n != 0:
            step = step * n
        strides.append(step)
    return tuple(reversed(strides)) if len(shape) else ()


def fresh(buffer, shape, dtype, order=None):
    """The layout of a whole buffer: C-contiguous, or with its axes in another order in memory."""
    strides = contiguous_strides(shape) if order is None else dense_strides(order, shape)
    return Layout(buffer, tuple(shape), strides, dtype)


def view(node, x):
    """The layout of a movement node over an input laid out as `x`; None when it needs a copy."""
    name, attrs = node.op.name, node.attrs
    if name == "transpose":
        perm = attrs["perm"]
        return replace(x, shape=node.shape, strides=tuple(x.strides[p] for p in perm))
    if name == "expand":
        old = iter(x.strides)
        strides = tuple(0 if k in attrs["axes"] else next(old) for k in range(node.ndim))
        return replace(x, shape=node.shape, strides=strides)
    if name == "squeeze":
        strides = tuple(s for k, s in enumerate(x.strides) if k not in attrs["axes"])
        return replace(x, shape=node.shape, strides=strides)
    if name == "broadcast_to":
        lead = node.ndim - len(x.shape)
        strides = (0,) * lead + tuple(
            0 if n == 1 and m != 1 else s for n, m, s in zip(x.shape, node.shape[lead:], x.strides)
        )
        return replace(x, shape=node.shape, strides=strides)
    if name == "slice":
        return _slice(node, x)
    if name == "sliding_windows":
        strides = (*x.strides, x.strides[attrs["axis"]])
        return replace(x, shape=node.shape, strides=strides)
    if name == "reshape":
        strides = reshape_strides(x.shape, x.strides, node.shape)
        return None if strides is None else replace(x, shape=node.shape, strides=strides)
    raise AssertionError(f"{name} is no view")


def _slice(node, x):
    offset, strides, empty = x.offset, [], any(n == 0 for n in node.shape)
    for bounds, n, s in zip(node.attrs["slices"], x.shape, x.strides):
        first, _, step = indices(bounds, n)
        if not empty:  # an empty view keeps its offset: another may lie behind the buffer
            offset += first * s
        strides.append(s * step)
    return replace(x, shape=node.shape, strides=tuple(strides), offset=offset)


def reshape_strides(shape, strides, new):
    """Strides of `new` over the same memory, or None when no strides can express it."""
    total = 1
    for n in shape:
        total *= n
    if total == 0:
        return contiguous_strides(new)
    if surely(tuple(strides), contiguous_strides(shape)):  # in sizes of the result, as it says them
        return tuple([0 if n == 1 else s for n, s in zip(new, contiguous_strides(new))])
    old = [(n, s) for n, s in zip(shape, strides) if n != 1]
    out, i = [], 0
    pending = []  # old dims (size, stride) merged so far, as one run
    for n in new:
        if n == 1:
            out.append(0)
            continue
        if not pending:
            if i >= len(old):  # no old dims are left: what remains is 1, at least in these calls
                if value_of(n) != 1:
                    return None
                out.append(0)
                continue
            pending = [list(old[i])]
            i += 1
        run, stride = pending[0]
        while run % n and i < len(old):
            size, s = old[i]
            if stride != size * s:
                return None
            run, stride, i = run * size, s, i + 1
        while run < n and i < len(old):
            size, s = old[i]
            if stride != size * s:
                return None
            run, stride, i = run * size, s, i + 1
        if run % n:
            return None
        rest = run // n
        out.append(stride * rest)
        pending = [[rest, stride]] if rest != 1 else []
    return tuple(out)


def collapse(sizes, rows):
    """Merge neighbouring axes that every row of strides walks as one.

    sizes: axis sizes (outermost first, none of them 1); rows: one tuple of strides per operand.
    Returns (sizes, rows) with as few axes as possible.
    """
    sizes, rows = list(sizes), [list(r) for r in rows]
    k = len(sizes) - 2
    while k >= 0:
        if all(surely(r[k], r[k + 1] * sizes[k + 1]) for r in rows):
            sizes[k] *= sizes[k + 1]
            del sizes[k + 1]
            for r in rows:
                r[k] = r[k + 1]
                del r[k + 1]
        k -= 1
    return tuple(sizes), [tuple(r) for r in rows]


def as_pairs(layout):
    """A complex layout as one of floats, with an axis of two more."""
    dtype = "float32" if layout.dtype == "complex64" else "float64"
    return Layout(
        layout.buffer,
        (*layout.shape, 2),
        (*(2 * s for s in layout.strides), 1),
        dtype,
        2 * layout.offset,
        layout.loose,
    )


def part_of_pairs(layout, which):
    """The real (0) or imaginary (1) parts of a complex layout, as one of floats."""
    pairs = as_pairs(layout)
    empty = any(n == 0 for n in layout.shape)  # then no place behind the end of the buffer
    offset = pairs.offset if empty else pairs.offset + which
    return replace(pairs, shape=layout.shape, strides=pairs.strides[:-1], offset=offset)
