"""Canonical reductions: over axes of size 1, of views, of reductions, of products with constants.

Sums are joined and scaled in another order than written: rounding and overflow are those of the new
order, which accumulates in a wider type. Everything else is exact.
"""

import functools

from ..graph.node import make
from ..graph.op import having
from ..graph.sizes import surely
from .engine import Family, fit
from .views import reshaped, reverses

family = Family("reductions")
rule = family.rule

NESTS = having("nests")


@rule("[reduce]", "mean")
def reduce_ones(node):
    """A reduction over axes of size 1 is a squeeze; over no axes, nothing."""
    a, axes = node.inputs[0], node.attrs["axes"]
    if node.op.name not in (*NESTS, "mean") or a.dtype != node.dtype:
        return None
    if not axes:
        return a
    ones = tuple(k for k in axes if a.shape[k] == 1)
    if not ones:
        return None
    squeezed = make("squeeze", (a,), {"axes": ones})
    if len(ones) == len(axes):
        return squeezed
    rest = tuple(k - sum(o < k for o in ones) for k in axes if k not in ones)
    return make(node.op, (squeezed,), {"axes": rest})


@rule("[reduce]")
def reduce_of_view(node):
    """A reduction of a transpose, expand, reversal or broadcast is one of what is behind it."""
    a, axes, name = node.inputs[0], node.attrs["axes"], node.op.name
    if name not in NESTS:
        return None
    if a.op.name == "transpose":
        perm = a.attrs["perm"]
        kept = [p for k, p in enumerate(perm) if k not in axes]
        made = make(node.op, a.inputs, {"axes": tuple(sorted(perm[k] for k in axes))})
        order = sorted(kept)
        if kept == order:
            return made
        return make("transpose", (made,), {"perm": tuple(order.index(p) for p in kept)})
    if a.op.name == "expand":
        new = [k for k in range(a.ndim) if k not in a.attrs["axes"]]
        inner = tuple(new.index(k) for k in axes if k in new)
        made = make(node.op, a.inputs, {"axes": inner}) if inner else a.inputs[0]
        return reshaped(made, node.shape) if made.dtype == node.dtype else None
    if a.op.name == "slice":
        return _reduce_reversed(node, a, axes)
    if a.op.name == "reshape" and len(axes) == a.ndim:
        return make(node.op, a.inputs[:1], {"axes": tuple(range(a.inputs[0].ndim))})
    if a.op.name == "broadcast_to":
        return _reduce_broadcast(node, a, axes)
    return None


def _reduce_reversed(node, a, axes):
    """sum(x[::-1]) is sum(x), and a reversal of other axes stands outside."""
    turned = reverses(a)
    if not turned:
        return None
    made = make(node.op, a.inputs, {"axes": axes})
    kept = tuple(s for k, s in enumerate(a.attrs["slices"]) if k not in axes)
    return made if set(turned) <= set(axes) else make("slice", (made,), {"slices": kept})


def _reduce_broadcast(node, a, axes):
    """sum(broadcast(x)) is sum(x) * count; max, min, any and all do not count."""
    base = a.inputs[0]
    lead = a.ndim - base.ndim
    if node.op.name == "prod" or base.dtype != node.dtype or a.size == 0:
        return None
    repeated = [k for k in axes if k < lead or base.shape[k - lead] != a.shape[k]]
    if not repeated:
        return None
    count = 1
    for k in repeated:
        count *= a.shape[k]
    inner = tuple(k - lead for k in axes if k >= lead)
    made = make(node.op, (base,), {"axes": inner}) if inner else base
    if node.op.name == "sum":
        size = make("extent", (), {"size": count, "dtype": node.dtype})  # not baked into a kernel
        made = make("mul", (made, size))
    return fit(made, node.shape)


@rule("[reduce]")
def reduce_of_reduce(node):
    """sum(sum(x)) is one sum over all the axes; so for prod, max, min, any, all."""
    a, axes = node.inputs[0], node.attrs["axes"]
    if a.op.name != node.op.name or node.op.name not in NESTS:
        return None
    inner = a.attrs["axes"]
    kept = [k for k in range(a.inputs[0].ndim) if k not in inner]
    return make(node.op, a.inputs, {"axes": tuple(sorted(inner + tuple(kept[k] for k in axes)))})


@rule("sum")
def sum_of_product(node):
    """sum(c * x) is c * sum(x), sum(x / c) is sum(x) / c where c is constant along the axes; -x
    alike.

    Rounding and overflow are those of the new order: an overflow of c * x that c would undo is
    avoided.
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
