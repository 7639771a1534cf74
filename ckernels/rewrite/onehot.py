"""Comparisons with all classes: products with their rows are gathers, sums of them scatters.

The row of a class, 1 at its place and 0 elsewhere, is `eq(class, 0 .. n - 1)` however it is
written, times a number for each row. A class out of range has a row of zeros. What is not picked by
a class is never read, so a NaN there does not reach the result. Sums over fewer than LEAST classes
stay: their loop is short.
"""

import numpy as np

from .. import ops
from ..base import dtypes
from ..graph.node import constant, make
from ..graph.op import having
from .causal import first_of
from .engine import Family, behind_views, number
from .scores import bare

family = Family("one_hot")
LEAST = 16  # classes; a sum over 16 of them takes what a look-up takes, about a nanosecond
STORED = ("leaf", "gemm", "opaque")
EFFECTS = having("effect")
WRAPPED = 6  # operations between a comparison and its use: a walk of both factors doubles with each


class OneHot:
    """A tensor of rows of classes along `axis`, where it has `n` of them.

    at: the class of each row, int64, of the tensor's shape but for that axis. by: the number that
    stands at its class, of the same shape, or None for 1.
    """

    def __init__(self, at, axis, n, by=None):
        self.at, self.axis, self.n, self.by = at, axis, n, by

    @property
    def shape(self):
        return self.at.shape

    def scaled(self, by):
        """These rows times `by`, a number for each of them."""
        return OneHot(self.at, self.axis, self.n, by if self.by is None else ops.mul(self.by, by))

    def turned(self, perm):
        """These rows as a transpose of their tensor has them."""
        axis = perm.index(self.axis)
        rest = [p - (p > self.axis) for p in perm if p != self.axis]
        by = None if self.by is None else ops.transpose(self.by, rest)
        return OneHot(ops.transpose(self.at, rest), axis, self.n, by)

    def inside(self):
        """Which rows have a class at all."""
        return ops.logical_and(ops.ge(self.at, 0), ops.lt(self.at, self.n))

    def places(self):
        """The classes as indices; those out of range are read as 0."""
        return ops.where(self.inside(), self.at, constant(0, "int64"))

    def chosen(self, x, axes=()):
        """`x`, a value for each row that was read at its class, times the number of the row; zero
        where it has no class. axes: those of `x` that rows do not have."""
        if self.by is not None:
            x = ops.mul(x, ops.expand(ops.cast(self.by, x.dtype), axes))
        return ops.where(ops.expand(self.inside(), axes), x, constant(0, x.dtype))


def rows_of(node, left=WRAPPED):
    """The OneHot that `node` is, or None; `left`: operations it may be wrapped in."""
    name, ins = node.op.name, node.inputs
    if name == "eq":
        return compared(node)
    if not left:
        return None
    left -= 1
    if name == "cast":
        return rows_of(ins[0], left)
    if name == "transpose":
        found = rows_of(ins[0], left)
        return None if found is None else found.turned(node.attrs["perm"])
    if name == "reshape":
        return regrouped(rows_of(ins[0], left), ins[0], node)
    if name == "mul":
        return next(filter(None, (scaled(node, *pair, left) for pair in (ins, ins[::-1]))), None)
    if name == "where" and number(bare(ins[2])) == 0:
        return scaled(node, *ins[:2], left)
    return None


def scaled(node, x, by, left):
    """The OneHot of `x` times `by`, where that has a number for each row."""
    found = rows_of(x, left) if x.shape == node.shape else None
    lead = node.ndim - by.ndim
    if found is None or lead > found.axis or by.shape[found.axis - lead] != 1:
        return None if found is None or by.ndim else found.scaled(spread(by, found.shape))
    return found.scaled(spread(ops.squeeze(by, (found.axis - lead,)), found.shape))


def regrouped(found, x, node):
    """The OneHot `found` of x where a reshape regroups them, None where it cuts or joins them."""
    if found is None or found.axis != x.ndim - 1 or not node.ndim or node.shape[-1] != found.n:
        return None
    at, by = (None if v is None else ops.reshape(v, node.shape[:-1]) for v in (found.at, found.by))
    return OneHot(at, node.ndim - 1, found.n, by)


def spread(x, shape):
    return x if x.shape == shape else ops.broadcast_to(x, shape)


def compared(node):
    """The OneHot of a comparison of integers with all classes."""
    for at, line in (node.inputs, node.inputs[::-1]):
        wide = [k for k, n in enumerate(line.shape) if n != 1]
        if len(wide) != 1 or not dtypes.is_discrete(at.dtype) or at.dtype == "bool":
            continue
        axis, n = wide[0] - line.ndim, line.shape[wide[0]]
        values = bare(line)
        while values.op.name == "cast" and dtypes.is_discrete(values.inputs[0].dtype):
            values = bare(values.inputs[0])
        counts = dtypes.is_discrete(line.dtype) and values.ndim == 1 and first_of(values) == 0
        if not counts or -axis <= at.ndim and at.shape[axis] != 1 or holds_less(line.dtype, n):
            continue
        at = ops.cast(ops.squeeze(at, (at.ndim + axis,)) if -axis <= at.ndim else at, "int64")
        axis += node.ndim
        return OneHot(spread(at, node.shape[:axis] + node.shape[axis + 1 :]), axis, n)
    return None


def holds_less(dtype, n):
    """Whether the numbers 0 .. n - 1 may repeat in a dtype."""
    return dtypes.ITEMSIZE[dtype] < 4 and n - 1 > np.iinfo(dtype).max


def are_usual(*nodes):
    return all(n.dtype != "bool" and not dtypes.is_complex(n.dtype) for n in nodes)


# ---- products -----------------------------------------------------------------------------------


@family.rule("matmul")
def one_hot_product(node):
    """rows @ w picks rows of w, rows.T @ w adds them up.

    Code: rows are written in many ways, and stand on either side.
    """
    if any(x.ndim != 2 or 0 in x.shape for x in node.inputs) or not are_usual(node):
        return None
    for side, x in enumerate(node.inputs):
        rows = rows_of(x)
        if rows is not None:
            return with_rows(rows, node.inputs[1 - side], side)
    return None


def with_rows(rows, other, side):
    """The product of `rows` with `other`: rows stand left (side 0) or right (1)."""
    axis = side  # of `other`, along which the product sums
    if rows.axis == 1 - side:  # classes are summed over
        picked = ops.take(other, rows.places(), axis)
        return rows.chosen(picked, (1 - axis,))
    values = ops.cast(rows.chosen(other, (1 - axis,)), dtypes.computed(other.dtype))
    shape = [rows.n, other.shape[1]] if side == 0 else [other.shape[0], rows.n]
    zeros = ops.broadcast_to(constant(0, values.dtype), shape)
    return ops.cast(ops.scatter_add(zeros, rows.places(), values, axis), other.dtype)


# ---- sums ---------------------------------------------------------------------------------------


@family.rule("sum")
def one_hot_sum(node):
    """sum(rows * y) over classes is y at the class of each row; over rows it adds up by class.

    Code: y is any elementwise graph, which is then computed at these places only.
    """
    x, axes = node.inputs[0], node.attrs["axes"]
    x = ops.cast(x, node.dtype) if x.dtype == "bool" else x
    if not are_usual(node, x) or 0 in x.shape:
        return None
    rows, y = rows_of(x), None
    if rows is None:
        rows, y = factors_of(x)
    if rows is None or rows.n < LEAST:
        return None
    value = constant(1, x.dtype) if y is None else Picked(rows, x.ndim).of(y)
    if value is None:
        return None
    value = rows.chosen(spread(value, rows.shape))
    rest = tuple(a - (a > rows.axis) for a in axes if a != rows.axis)
    if rows.axis in axes:
        return ops.cast(make("sum", (value,), {"axes": rest}) if rest else value, node.dtype)
    if len(rest) != value.ndim:
        return None
    return summed(rows, value, node.dtype)


def summed(rows, values, dtype):
    """The sums of values of each class. As in other sums, those of floats are of doubles."""
    counts = values.dtype not in dtypes.INTEGERS and rows.by is None and is_one(values)
    wide = "int64" if counts else "float64" if dtypes.is_float(dtype) else dtype
    zeros = ops.broadcast_to(constant(0, wide), [rows.n])
    at, values = ops.flatten(rows.places()), ops.flatten(ops.cast(values, wide))
    return ops.cast(ops.scatter_add(zeros, at, values), dtype)


def is_one(values):
    """Whether values are 1 where there is a class, and 0 elsewhere."""
    return values.op.name == "where" and number(bare(values.inputs[1])) == 1


def factors_of(x):
    """(OneHot, y) of which `x` is the product, or that where rows are not 0; or (None, None)."""
    if x.op.name == "where" and number(bare(x.inputs[2])) == 0:
        pairs, skips = (x.inputs[:2],), False
    else:
        x, skips = product_of(x)
        pairs = (x.inputs, x.inputs[::-1]) if x.op.name == "mul" else ()
    for one, y in pairs:
        rows = rows_of(one) if one.shape == x.shape else None
        if rows is not None and not (skips and rows.by is not None):  # 0 where y is infinite
            return rows, y
    return None, None


def product_of(x):
    """(a * b, True) of where(eq(a, 0), 0, a * b), else (x, False)."""
    if x.op.name == "where" and number(bare(x.inputs[1])) == 0:
        test, _, product = x.inputs
        if test.op.name == "eq" and any(
            number(bare(z)) == 0 and a in product.inputs
            for a, z in (test.inputs, test.inputs[::-1])
        ):
            return product, True
    return x, False


class Picked:
    """Elements of tensors at the classes of rows, as they broadcast to rows."""

    def __init__(self, rows, ndim):
        self.rows, self.ndim, self.found = rows, ndim, {}

    def of(self, node):
        """`node` at these places; None where its loop runs over all classes anyway."""
        if node.uid not in self.found:
            self.found[node.uid] = self.made(node)
        return self.found[node.uid]

    def made(self, node):
        axis = self.rows.axis - (self.ndim - node.ndim)
        if axis < 0:
            return node
        if node.shape[axis] == 1:
            return ops.squeeze(node, (axis,))
        if node.op.kind == "elementwise" and node.inputs and node.op.name not in EFFECTS:
            inputs = [self.of(i) for i in node.inputs]
            return None if None in inputs else make(node.op, inputs, node.attrs)
        source = behind_views(node)[0]
        if source.op.name == "add":  # a product and its bias are one result
            source = next((i for i in source.inputs if i.op.kind == "gemm"), source)
        if source.op.kind not in STORED:
            return None
        if node.ndim == 1:
            return ops.take(node, self.rows.places(), 0)
        if node.ndim < self.ndim:
            node = ops.expand(node, tuple(range(self.ndim - node.ndim)))
        at = ops.expand(self.rows.places(), (self.rows.axis,))
        return ops.squeeze(ops.take_along_axis(node, at, self.rows.axis), (self.rows.axis,))
