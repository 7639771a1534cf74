"""Canonical reductions: over axes of size 1, of views, of reductions, of products with constants.

Sums are joined and scaled in another order than written: rounding and overflow are those of the new
order, which accumulates in a wider type. Everything else is exact.
"""

import functools
import math

import numpy as np

from ..base import dtypes
from ..graph.node import constant, make, sizes_constant
from ..graph.op import having
from ..graph.sizes import surely
from .canonicalise import is_any
from .engine import Family, Formula, Var, fit, number, scalar
from .engine import forms as f
from .views import bare, reshaped, reverses, turned

family = Family("reductions")
rule = family.rule

NESTS, GENERATORS = tuple(having("nests")), having("generator")
x, y = Var("x"), Var("y")
axis, axes, inner = Var("axis"), Var("axes"), Var("inner")
new, perm = Var("new"), Var("perm")


def each(formulas, ops=NESTS):
    """The formulas for each of the ops, from tuples of (left, right, when) made for it."""
    return [Formula(*parts, takes=is_any, views=False)
            for op in ops for parts in formulas(getattr(f, op))]  # fmt: skip


# --- axes of size 1, and none ---------------------------------------------------------------------


def ones(x, axes):
    """The axes of size 1 among those."""
    return tuple([k for k in axes if x.shape[k] == 1])


def without_ones(x, axes):
    """The other ones of those axes, as they are numbered without axes of size 1 among them."""
    gone = ones(x, axes)
    return tuple(k - sum(o < k for o in gone) for k in axes if k not in gone)


def is_one(x, axis):
    return x.shape[axis] == 1


def are_ones(x, axes):
    return len(ones(x, axes)) == len(axes)


def zeros(node):
    zero = constant(np.zeros((), node.dtype))
    return make("broadcast_to", (zero, sizes_constant(node.shape, (node.ndim,))))


family.formulas("reduce_ones", *each(lambda op: [
    (op(x, axes=()), x),
    (op(x, axes=axes), op(f.squeeze(x, axes=ones), axes=without_ones),
     lambda x, axes, node: x.dtype == node.dtype and ones(x, axes)),
], (*NESTS, "mean")))  # fmt: skip
family.formulas("sort_of_one", Formula(f.sort(x, axis=axis), x, is_one, is_any, False))
family.formulas("place_in_one", *(
    Formula(op(x, axes=axes), zeros, are_ones, is_any, False) for op in (f.argmax, f.argmin)),
    doc="The first of one is at 0, NaN or not.")  # fmt: skip
family.formulas("running_over_one", *(
    Formula(op(x, axis=axis), x, is_one, is_any, False)
    for op in (f.cumsum, f.cumprod, f.cummax, f.cummin)))  # fmt: skip
family.formula(
    "logsumexp_of_one",
    f.logsumexp(x, axes=axes),
    f.squeeze(x, axes=axes),
    when=are_ones,
    takes=is_any,
    views=False,
    doc="log(exp(x)), without rounding.",
)


# --- views ----------------------------------------------------------------------------------------


def turned_back(perm, axes):
    """Of what is behind a transpose: which axes are `axes` of it."""
    return tuple(sorted(perm[k] for k in axes))


def order_kept(perm, axes):
    """The order in which the axes of a transpose other than `axes` stand."""
    kept = [p for k, p in enumerate(perm) if k not in axes]
    return tuple(sorted(kept).index(p) for p in kept)


def of_transpose(x, perm, axes, node):
    """The reduction `node` of a transpose of `x` as a transpose of one of `x`."""
    made = make(node.op, (x,), {**node.attrs, "axes": turned_back(perm, axes)})
    return turned(made, order_kept(perm, axes))


def of_expand(x, new, axes, node):
    """The reduction `node` of `x` with axes `new` as one of `x`; None where that changes dtype."""
    old = [k for k in range(x.ndim + len(new)) if k not in new]
    inner = tuple(old.index(k) for k in axes if k in old)
    made = make(node.op, (x,), {"axes": inner}) if inner else x
    return reshaped(made, node.shape) if made.dtype == node.dtype else None


def of_reversed(x, axes, node):
    """The reduction `node` of `x` reversed: as one of `x`, with other axes reversed outside."""
    view = node.inputs[0]
    made = make(node.op, (x,), {"axes": axes})
    kept = tuple(s for k, s in enumerate(view.attrs["slices"]) if k not in axes)
    inside = set(reverses(view)) <= set(axes)
    return made if inside else make("slice", (made,), {"slices": kept})


def of_broadcast(x, axes, node):
    """The reduction `node` of `x` broadcast: a sum counts how often; max, min, any, all do not.
    None where nothing is repeated along its axes.
    """
    wide = node.inputs[0]
    lead = wide.ndim - x.ndim
    if x.dtype != node.dtype or wide.size == 0:
        return None
    repeated = [k for k in axes if k < lead or x.shape[k - lead] != wide.shape[k]]
    if not repeated:
        return None
    inner = tuple(k - lead for k in axes if k >= lead)
    made = make(node.op, (x,), {"axes": inner}) if inner else x
    if node.op.name == "sum":
        count = math.prod(wide.shape[k] for k in repeated)
        size = make("extent", (), {"size": count, "dtype": node.dtype})  # not baked into a kernel
        made = make("mul", (made, size))
    return fit(made, node.shape)


family.formulas(
    "reduce_of_view",
    *each(lambda op: [
        (op(f.transpose(x, perm=perm), axes=axes), of_transpose),
        (op(f.expand(x, axes=new), axes=axes), of_expand),
        (op(f.slice(x), axes=axes), of_reversed, lambda node: reverses(node.inputs[0])),
        (op(f.reshape(x, y), axes=axes), op(x, axes=lambda x: tuple(range(x.ndim))),
         lambda axes, node: len(axes) == node.inputs[0].ndim),
    ]),
    *each(lambda op: [(op(f.broadcast_to(x, y), axes=axes), of_broadcast)],
          [name for name in NESTS if name != "prod"]),
    doc="A reduction of a view is one of what is behind it.",
)  # fmt: skip


# --- reductions of reductions ---------------------------------------------------------------------


def joined(x, inner, axes):
    """The axes of `x` that a reduction over `inner`, then over `axes` of what is left, drops."""
    kept = [k for k in range(x.ndim) if k not in inner]
    return tuple(sorted(inner + tuple(kept[k] for k in axes)))


family.formulas("reduce_of_reduce", *each(lambda op: [
    (op(op(x, axes=inner), axes=axes), op(x, axes=joined)),
]), doc="sum(sum(x)) is one sum over all the axes.")  # fmt: skip


# --- of what is joined ----------------------------------------------------------------------------


@rule("max", "min")
def extremum_of_joined(node):
    """max(concatenate([a, b])) is maximum(max(a), max(b)): nothing is joined.

    Of integers: of floats the sign of a zero could be that of another one. Code: any number of
    parts, none of which is empty.
    """
    joined, axes = node.inputs[0], node.attrs["axes"]
    if (
        joined.op.name != "concatenate"
        or joined.attrs["axis"] not in axes
        or not dtypes.is_discrete(joined.dtype)
        or any(part.size == 0 for part in joined.inputs)
    ):
        return None
    parts = [make(node.op, (part,), node.attrs) for part in joined.inputs]
    return functools.reduce(lambda a, b: make(f"{node.op.name}imum", (a, b)), parts)


# --- over a few elements --------------------------------------------------------------------------


BINARY = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "any": "logical_or",
          "all": "logical_and"}  # fmt: skip
FEW, MEMBERS = 4, 24  # elements along the axis; operations that each of them takes at most


@rule("[reduce]")
def few_of_outer(node):
    """prod(f(x[:, None], y[None]), 2) of corners is f(.., 0) * f(.., 1): loops have no axis of two.

    Where no operand has all elements of what is reduced, or columns of them would be read apart;
    and where the order changes nothing: of floats, products of two. Code: f is made of any
    elementwise ops.
    """
    a, axes = node.inputs[0], node.attrs.get("axes", ())
    if node.op.name not in BINARY or len(axes) != 1 or a.op.kind != "elementwise":
        return None
    count, exact = a.shape[axes[0]], dtypes.is_discrete(a.dtype)
    if type(count) is not int or not 1 < count <= FEW or a.dtype != node.dtype:
        return None
    if not (exact or node.op.name == "prod" and count == 2 and a.dtype in WIDE):
        return None
    from_end, found = a.ndim - axes[0], {}
    parts = [part_along(a, from_end, k, a, found) for k in range(count)]
    if None in parts:
        return None
    made = functools.reduce(lambda x, y: make(BINARY[node.op.name], (x, y)), parts)
    return made if made.dtype == node.dtype else None


WIDE = ("float32", "float64")


def part_along(node, from_end, k, whole, found):
    """Element k of `node` along the axis `from_end` axes before its end; None where an operand of
    it has all elements of `whole`, or there are too many operations."""
    key = node.uid, k
    if key in found or len(found) > FEW * MEMBERS:
        return found.get(key)
    axis = node.ndim - from_end
    if node.op.kind == "elementwise" and node.op.name not in GENERATORS:
        inputs = [part_along(i, from_end, k, whole, found) for i in node.inputs]
        made = None if None in inputs else make(node.op, inputs, node.attrs)
    elif axis < 0:
        made = node
    elif surely(node.size, whole.size):
        made = None
    else:
        made = node
        if node.shape[axis] != 1:
            bounds = [(None, None, 1)] * node.ndim
            bounds[axis] = (k, k + 1, 1)
            made = make("slice", (node,), {"slices": tuple(bounds)})
        made = make("squeeze", (made,), {"axes": (axis,)})
    found[key] = made
    return made


# --- sums of products -----------------------------------------------------------------------------


@rule("sum")
def sum_of_product(node):
    """sum(c * x) is c * sum(x), sum(x / c) is sum(x) / c where c is constant along the axes; -x
    alike.

    Rounding and overflow are those of the new order: an overflow of c * x that c would undo is
    avoided. Code: all factors of a nest of products that are constant along the axes leave at once.
    """
    a, axes = node.inputs[0], node.attrs["axes"]
    if a.size == 0 or not axes:
        return None
    if a.op.name == "neg":
        return make("neg", (make("sum", a.inputs, node.attrs),))
    if a.op.name not in ("mul", "true_div") or node.dtype == "bool":
        return None
    if a.op.name == "mul":
        return _product(node, factors(a), axes)
    rest, factor = a.inputs
    if not surely(rest.shape, a.shape) or not constant_along(factor, axes, a.ndim):
        return None
    return make(a.op, (make("sum", (rest,), node.attrs), without_axes(factor, axes, a.ndim)))


@rule("sum")
def sum_of_choice(node):
    """sum(where(c, x, -inf)) is where(c, sum(x), -inf) where c is constant along the axes.

    Log-densities with bounds on their parameters: x is summed in the loop that computes it for
    gradients. Of what stays itself when added, so not of no elements. Code: either side may be it.
    """
    a, axes = node.inputs[0], node.attrs["axes"]
    if a.op.name != "where" or not axes or a.dtype not in WIDE or a.size == 0:
        return None
    c, *sides = a.inputs
    if not constant_along(c, axes, a.ndim):
        return None
    fixed = [number(bare(s)) for s in sides]
    k = next((k for k, v in enumerate(fixed) if v is not None and not math.isfinite(v)), None)
    if k is None or fixed[1 - k] is not None or not surely(sides[1 - k].shape, a.shape):
        return None
    made = [make("sum", (sides[1 - k],), node.attrs)]
    made.insert(k, scalar(fixed[k], a.dtype))
    return make("where", (without_axes(c, axes, a.ndim), *made))


def _product(node, parts, axes):
    """The sum `node` of a product of `parts` with those outside that do not vary along `axes`.

    All of them: the gradients of a normalisation are then multiples of the same sum of products.
    """
    a = node.inputs[0]
    same = [constant_along(p, axes, a.ndim) for p in parts]
    rest = functools.reduce(mul, [p for p, out in zip(parts, same) if not out] or [a])
    if rest is a or not surely(rest.shape, a.shape) or rest.dtype != a.dtype or not any(same):
        return None
    made = make("sum", (rest,), node.attrs)
    for p, out in zip(parts, same):
        made = make("mul", (made, without_axes(p, axes, a.ndim))) if out else made
    return made


def mul(a, b):
    return make("mul", (a, b))


def factors(node, depth=3):
    """What a nest of products multiplies, left to right."""
    if node.op.name != "mul" or not depth:
        return [node]
    return [p for x in node.inputs for p in factors(x, depth - 1)]


def constant_along(node, axes, ndim):
    """Whether an operand broadcast to `ndim` axes is constant along `axes`."""
    lead = ndim - node.ndim
    return all(k < lead or node.shape[k - lead] == 1 for k in axes)


def without_axes(node, axes, ndim):
    """Such an operand for a result from which `axes` were dropped."""
    lead = ndim - node.ndim
    drop = tuple(k - lead for k in axes if k >= lead)
    return make("squeeze", (node,), {"axes": drop}) if drop else node
