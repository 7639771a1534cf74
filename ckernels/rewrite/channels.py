"""Transposes around images travel towards the roots, where they meet their inverses and go away.

Convolutions and pools compute with channels last; in the other format a transpose stands before
and behind each. f(T(x), bias) is T(f(x, T'(bias))): what lies between two of them is computed with
channels last too, and nothing is copied. Any transpose that all operands share is moved so.
Sums over windows side by side, the gradients of enlarged images, are pools.
"""

import math

from ..graph.node import make
from ..graph.sizes import surely
from .canonicalise import is_any, is_single_or_double
from .engine import Family, Formula, Var
from .engine import forms as f
from .reductions import of_transpose
from .views import KEEP_OPERANDS, inverse, reshaped, turned

family = Family("channels")
formula, rule = family.formula, family.rule
x, y = Var("x"), Var("y")
axes, perm, slices, widths = Var("axes"), Var("perm"), Var("slices"), Var("widths")
turned_x = f.transpose(x, perm=perm)


def is_image(perm):
    """Whether a transpose is of something larger than a matrix and keeps the first axis."""
    return len(perm) > 2 and perm[0] == 0


def shared(nodes):
    """The perm of the transposes `nodes` of images; None unless all are such with the same one."""
    if not nodes or nodes[0].op.name != "transpose":
        return None
    perm = nodes[0].attrs["perm"]
    same = all(n.op is nodes[0].op and n.attrs["perm"] == perm for n in nodes)
    return perm if same and is_image(perm) else None


def ones_move(x, perm, node):
    """Whether a transpose of `x` changes the places of axes of size 1 only."""
    wide = [p for p in perm if x.shape[p] != 1]
    return wide == sorted(wide) and node.size


formula("only_ones_move", turned_x, lambda x, node: reshaped(x, node.shape), when=ones_move,
        takes=is_any, views=False, doc="Such a transpose is a reshape.")  # fmt: skip


@rule("[elementwise]")
def elementwise_inside(node):
    """f(T(x), T(y), z) is T(f(x, y, T'(z))) for z that are broadcast: channels stay last.

    Code: f is any elementwise op, of any number of operands.
    """
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


def along_one(perm, axes):
    """Whether that transpose is of an image, and its elements are numbered along one axis only."""
    return is_image(perm) and len(axes) < 2


family.formulas(
    "reduction_inside",
    *(Formula(op(turned_x, axes=axes), of_transpose, when, is_any, views=False)
      for op, when in ((f.argmax, along_one), (f.argmin, along_one), (f.moment2, is_image))),
    doc="argmax(T(x)) is argmax(x) over the axis it was; for sums see reduce_of_view.",
)  # fmt: skip


@rule("concatenate")
def concatenate_inside(node):
    """concatenate(T(x), T(y)) is T(concatenate(x, y)). (Code: any number of operands.)"""
    perm = shared(node.inputs)
    if perm is None:
        return None
    parts = [i.inputs[0] for i in node.inputs]
    return turned(make("concatenate", parts, {"axis": perm[node.attrs["axis"]]}), perm)


def turned_slice(x, perm, slices, node):
    """A slice of T(x) as T of a slice of `x`; attrs["exact"] names axes."""
    attrs = {**node.attrs, "slices": tuple(slices[k] for k in inverse(perm))}
    if "exact" in attrs:
        attrs["exact"] = tuple(sorted(perm[a] for a in attrs["exact"]))
    return turned(make("slice", (x,), attrs), perm)


formula("slice_inside", f.slice(turned_x, slices=slices), turned_slice,
        when=is_image, takes=is_any, views=False)  # fmt: skip
formula("pad_inside", f.pad(turned_x, y, widths=widths),
        f.transpose(f.pad(x, y, widths=lambda perm, widths: tuple(
            widths[k] for k in inverse(perm))), perm=perm),
        when=is_image, takes=is_any, views=False, doc="pad(T(x)) is T(pad(x)).")  # fmt: skip


LEAST_CHANNELS = 8  # pools are vectorised over channels


def is_cut_into_windows(x, axes, node):
    """Whether `node` is a sum over `axes` of an image `x` that is stored, reshaped so that these
    are the axes of windows side by side."""
    shape, n, base = node.inputs[0].shape, len(axes), x
    if n not in (2, 3) or len(shape) != 2 * n + 2 or axes != tuple(range(2, 2 * n + 1, 2)):
        return False
    while base.op.kind == "movement":
        base = base.inputs[0]
    small, size = shape[1:-1:2], shape[2:-1:2]
    large = (shape[0], *(a * b for a, b in zip(small, size)), shape[-1])
    return (
        x.shape == large
        and shape[-1] >= LEAST_CHANNELS
        and 0 not in large
        and math.prod(size) <= 64
        and base.op.kind != "elementwise"
    )


def window(node):
    return node.inputs[0].shape[2:-1:2]


formula("windows_summed", f.sum(f.reshape(x, y), axes=axes),
        f.pool_sum(x, size=window, strides=window, padding=lambda axes: ((0, 0),) * len(axes)),
        when=is_cut_into_windows, takes=is_single_or_double, views=False,
        doc="They are a pool, which reads an image row by row, unless the image is computed on the "
            "way: then nothing has to be stored.")  # fmt: skip
