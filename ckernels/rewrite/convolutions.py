"""Sums of products of one tensor at shifted places are convolutions.

`y = y + x[:, i : i + h, j : j + w] @ k[i, j]`, for each place of a window, is how lectures write
one: each product copies its part of `x` and makes a table of all results. A convolution reads `x`
where it lies and adds in registers. Its sums are of the same products in another order.
"""

from itertools import product

from .. import ops
from ..graph.sizes import indices, surely, value_of
from ..graph.walk import consumers, rebuild, toposort

SPATIAL = 2  # axes that a window may have
DTYPES = ("float32", "float64")
FEW = 4  # columns of results, up to which products of vectors take less time than a convolution


def convolutions(roots):
    """`roots` with a convolution for each sum of products that is one."""
    order = toposort(roots)
    if sum(is_term(n) for n in order) < 2:
        return roots
    users, kept, found = consumers(order), {n.uid for n in roots}, {}
    for node in order:
        if node.op.name != "add" or any(goes_on(node, u, users, kept) for u in users[node.uid]):
            continue
        new = summed(addends(node, users, kept), node)
        if new is not None:
            found[node] = rebuild([new], found)[0]  # it may read the sum of another window
    return rebuild(roots, found) if found else roots


def is_term(node):
    """Whether a node is a product of a slice, seen as rows, with a matrix."""
    if node.op.name != "matmul" or node.inputs[1].ndim != 2 or node.dtype not in DTYPES:
        return False
    view = shown(node)
    if value_of(node.shape[-1]) <= FEW:
        return False
    return view.op.name == "slice" and surely(view.shape[-1], node.inputs[0].shape[-1])


def shown(node):
    """What the rows of a product are."""
    rows = node.inputs[0]
    return rows.inputs[0] if rows.op.name == "reshape" else rows


def goes_on(node, user, users, kept):
    """Whether a sum is a part of the longer one `user` and of nothing else."""
    return user.op.name == "add" and node.uid not in kept and is_single(node, users)


def is_single(node, users):
    """Whether one node reads `node`, and once."""
    first, *rest = users[node.uid]
    return not rest and first.inputs.count(node) == 1


def addends(node, users, kept):
    """What a sum adds, in the order in which it is written."""
    found, stack = [], [node]
    while stack:
        n = stack.pop()
        inner = n is node or n.uid not in kept and is_single(n, users)
        if n.op.name == "add" and inner and surely(n.shape, node.shape):
            stack.extend(n.inputs[::-1])
        else:
            found.append((n, inner))
    return found


def summed(parts, node):
    """A sum with convolutions for the products that are one, or None."""
    tables = {}  # (uid of the tensor, shapes): the products of its slices
    for term, inner in parts:
        if inner and is_term(term) and term.dtype == node.dtype and surely(term.shape, node.shape):
            tables.setdefault(shown(term).inputs[0].uid, []).append(term)
    taken, made = set(), []
    for terms in tables.values():
        new = convolution(terms) if len(terms) > 1 else None
        if new is not None:
            made.append(new)
            taken |= {t.uid for t in terms}
    if not made:
        return None
    total = None
    for new in (*made, *(n for n, _ in parts if n.uid not in taken)):
        total = new if total is None else ops.add(total, new)
    return total


def convolution(terms):
    """The sum of these products of slices of one tensor, or None where they are not all places of
    a window, each once."""
    x, matrix = shown(terms[0]).inputs[0], terms[0].inputs[1]
    views = [shown(t) for t in terms]
    lines = [[indices(s, n) for s, n in zip(v.attrs["slices"], x.shape)] for v in views]
    lead = int(is_whole([ls[0] for ls in lines], x.shape[0]))  # axes before those of the window
    spatial = range(lead, x.ndim - 1)
    if not 1 <= len(spatial) <= SPATIAL or not is_whole([ls[-1] for ls in lines], x.shape[-1]):
        return None
    if not all(surely(t.inputs[1].shape, matrix.shape) for t in terms):
        return None
    axes = [axis_of([ls[k] for ls in lines]) for k in spatial]
    if any(axis is None for axis in axes):
        return None
    at = {tuple(ls[k].start for k in spatial): t.inputs[1] for ls, t in zip(lines, terms)}
    places = list(product(*[axis.starts for axis in axes]))
    if len(terms) != len(places) or any(p not in at for p in places):
        return None
    sizes = [len(axis.starts) for axis in axes]
    kernel = ops.reshape(ops.concatenate([at[p] for p in places], 0), (*sizes, *matrix.shape))
    region = [(axis.starts[0], axis.end, 1) for axis in axes]
    image = ops.slice_(x, [(None, None, 1)] * lead + region + [(None, None, 1)])
    image = image if lead else ops.expand_dims(image, 0)
    steps, holes = [axis.step for axis in axes], [axis.apart for axis in axes]
    return ops.reshape(ops.conv(image, kernel, steps, "valid", holes), terms[0].shape)


def is_whole(lines, n):
    """Whether slices take all of an axis of `n` elements."""
    return all(line.step == 1 and surely(line.count, n) for line in lines)


class Axis:
    """Where windows begin along an axis: starts, `apart` from each other; the step from one result
    to the next; the end of what the last one reads."""

    def __init__(self, starts, apart, step, count):
        self.starts, self.apart, self.step = starts, apart, step
        self.end = starts[-1] + (count - 1) * step + 1


def axis_of(lines):
    """The Axis of slices along one, or None."""
    first = lines[0]
    if any(type(line.start) is not int for line in lines) or first.step < 1:
        return None
    if any(line.step != first.step or not surely(line.count, first.count) for line in lines):
        return None
    starts = sorted({line.start for line in lines})
    apart = starts[1] - starts[0] if len(starts) > 1 else 1
    if any(b - a != apart for a, b in zip(starts, starts[1:])):
        return None
    return Axis(starts, apart, first.step, first.count)
