"""Transposes around images travel towards the roots, where they meet their inverses and go away.

Convolutions and pools compute with channels last; in the other format a transpose stands before
and behind each. f(T(x), bias) is T(f(x, T'(bias))): what lies between two of them is computed with
channels last too, and nothing is copied. Any transpose that all operands share is moved so.
Sums over windows side by side, the gradients of enlarged images, are pools.
"""

import math

from ..graph.node import make
from ..graph.sizes import surely
from .engine import Family
from .views import KEEP_OPERANDS, inverse, reshaped, turned

family = Family("channels")
rule = family.rule


def is_image(x):
    """Whether `x` is a transpose of something larger than a matrix that keeps the first axis."""
    return x.op.name == "transpose" and x.ndim > 2 and x.attrs["perm"][0] == 0


def shared(nodes):
    """The perm of the transposes `nodes`; None unless all are transposes with the same one."""
    if not nodes or not all(map(is_image, nodes)):
        return None
    perm = nodes[0].attrs["perm"]
    return perm if all(n.attrs["perm"] == perm for n in nodes) else None


@rule("transpose")
def only_ones_move(node):
    """A transpose that changes the places of axes of size 1 only is a reshape."""
    x, perm = node.inputs[0], node.attrs["perm"]
    wide = [p for p in perm if x.shape[p] != 1]
    return reshaped(x, node.shape) if wide == sorted(wide) and node.size else None


@rule("[elementwise]")
def elementwise_inside(node):
    """f(T(x), T(y), z) is T(f(x, y, T'(z))) for z that are broadcast: channels stay last."""
    if node.op.name in KEEP_OPERANDS:
        return None
    perm = shared([i for i in node.inputs if surely(i.shape, node.shape)])
    if perm is None:
        return None
    inputs = []
    for i in node.inputs:
        if surely(i.shape, node.shape):
            inputs.append(i.inputs[0])
        elif not i.ndim:
            inputs.append(i)
        else:
            wide = reshaped(i, (1,) * (node.ndim - i.ndim) + i.shape)
            inputs.append(turned(wide, inverse(perm)))
    return turned(make(node.op, inputs, node.attrs), perm)


@rule("[reduce]")
def reduction_inside(node):
    """sum(T(x)) is sum(x) over the axes they were, in the order they had."""
    x, axes = node.inputs[0], node.attrs["axes"]
    if not is_image(x) or (node.op.name.startswith("arg") and len(axes) > 1):
        return None
    perm = x.attrs["perm"]
    inner = make(node.op, x.inputs, {**node.attrs, "axes": tuple(sorted(perm[a] for a in axes))})
    kept = [p for k, p in enumerate(perm) if k not in axes]
    return turned(inner, tuple(sorted(kept).index(p) for p in kept))


@rule("concatenate")
def concatenate_inside(node):
    """concatenate(T(x), T(y)) is T(concatenate(x, y))."""
    perm = shared(node.inputs)
    if perm is None:
        return None
    parts = [i.inputs[0] for i in node.inputs]
    return turned(make("concatenate", parts, {"axis": perm[node.attrs["axis"]]}), perm)


@rule("slice")
def slice_inside(node):
    """A slice of T(x) is T of a slice of x."""
    x = node.inputs[0]
    if not is_image(x):
        return None
    perm, attrs = x.attrs["perm"], dict(node.attrs)
    attrs["slices"] = tuple(attrs["slices"][k] for k in inverse(perm))
    if "exact" in attrs:
        attrs["exact"] = tuple(sorted(perm[a] for a in attrs["exact"]))
    return turned(make("slice", x.inputs, attrs), perm)


@rule("pad")
def pad_inside(node):
    """pad(T(x)) is T(pad(x))."""
    x, value = node.inputs
    if not is_image(x):
        return None
    perm, widths = x.attrs["perm"], node.attrs["widths"]
    inner = make("pad", (x.inputs[0], value), {"widths": tuple(widths[k] for k in inverse(perm))})
    return turned(inner, perm)


LEAST_CHANNELS = 8  # pools are vectorised over channels


@rule("sum")
def windows_summed(node):
    """The sums over windows side by side are a pool, which reads an image row by row, unless the
    image is computed on the way: then nothing has to be stored."""
    x, axes = node.inputs[0], node.attrs["axes"]
    n = len(axes)
    if (
        x.op.name != "reshape"
        or n not in (2, 3)
        or x.ndim != 2 * n + 2
        or None in x.shape
        or axes != tuple(range(2, 2 * n + 1, 2))
        or node.dtype not in ("float32", "float64")
    ):
        return None
    image, base = x.inputs[0], x.inputs[0]
    while base.op.kind == "movement":
        base = base.inputs[0]
    small, size = x.shape[1:-1:2], x.shape[2:-1:2]
    large = (x.shape[0], *(a * b for a, b in zip(small, size)), x.shape[-1])
    if (
        image.shape != large
        or x.shape[-1] < LEAST_CHANNELS
        or 0 in large
        or math.prod(size) > 64
        or base.op.kind == "elementwise"
        or image.dtype != node.dtype
    ):
        return None
    attrs = {"size": size, "strides": size, "padding": ((0, 0),) * n}
    return make("pool_sum", (image,), attrs)
