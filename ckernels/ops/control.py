"""Ops with an effect or a special gradient: print, check, gradients clipped or scaled."""

import numpy as np

from ..base import given
from ..base.errors import ArgumentError, CKernelsError, IndexOutOfBounds
from ..graph.node import make
from ..graph.op import Op
from .base import cast, elementwise_op, to_node
from .elementwise import clip, mul, zeros_like

__all__ = ["print_", "check", "CheckError", "zero_grad", "grad_clip", "grad_scale"]


class CheckError(CKernelsError, AssertionError):
    """A condition that `check` was told to assert does not hold."""


class ArgumentCheckError(CheckError, ArgumentError):
    """The same of a value that NumPy would refuse by a ValueError."""


class IndexCheckError(CheckError, IndexOutOfBounds):
    """The same of an index or an axis."""


class ZeroCheckError(CheckError, ZeroDivisionError):
    """The same of a number that NumPy would refuse to divide by."""


CHECKS = {
    "": CheckError,
    "value": ArgumentCheckError,
    "index": IndexCheckError,
    "zero": ZeroCheckError,
}


def _run_print(attrs, x):
    print(f"{attrs['message']} {x}" if attrs["message"] else str(x), flush=True)
    return np.array(x)


Op(
    "print",
    "opaque",
    lambda a, x: (x.dtype, x.shape),
    _run_print,
    lambda node, g: (g,),
    doc="x; prints attrs['message'] and the value when it is computed.",
)


def print_(x, message=""):
    """`x`, printing `message` and its value whenever it is computed."""
    return make("print", (to_node(x, "print"),), {"message": str(message)})


def _run_check(attrs, x, *conditions):
    for i, c in enumerate(conditions):
        if not np.all(c):
            which = f"condition {i + 1} of {len(conditions)} " if len(conditions) > 1 else ""
            raise CHECKS[attrs.get("error", "")](
                f"check failed: {attrs['message'] or 'a condition is false'}"
                + (f" ({which.strip()})" if which else "")
            )
    return np.array(x)


Op(
    "check",
    "opaque",
    lambda a, x, *conditions: (x.dtype, x.shape),
    _run_check,
    lambda node, g: (
        make("check", (g, *node.inputs[1:]), node.attrs),  # which may not need x itself
        *[None] * (len(node.inputs) - 1),
    ),
    doc="x, if all conditions hold everywhere; else an error with attrs['message'].",
)


def check(x, *conditions, message="", error=""):
    """`x`; computing it raises CheckError with `message` unless all `conditions` hold; with
    error="value", "index" or "zero" one that is a ValueError, an IndexError or a
    ZeroDivisionError too."""
    nodes = [to_node(x, "check")] + [cast(to_node(c, "check"), "bool") for c in conditions]
    return make("check", nodes, {"message": str(message), **({"error": error} if error else {})})


def _same(name, grad, doc):
    return elementwise_op(name, "({0})", np.array, grad, ulp=0, takes="biufc", doc=doc)


# fmt: off
_zero_grad = _same("zero_grad", lambda x, y, g: zeros_like(g), "x; its gradient is zero.")
_grad_clip = _same("grad_clip", lambda x, y, g: clip(g, y.attrs["low"], y.attrs["high"]),
                   "x; the gradient that comes back is limited to attrs low, high.")
_grad_scale = _same("grad_scale", lambda x, y, g: mul(g, y.attrs["factor"]),
                    "x; the gradient that comes back is multiplied by attrs['factor'].")
# fmt: on


def zero_grad(x):
    """`x` with a gradient of zeros: connected, unlike stop_gradient."""
    return make(_zero_grad, (to_node(x, "zero_grad"),))


def grad_clip(x, low, high):
    """`x`; the gradient passing back through it is limited to [low, high]."""
    low, high = given.number(low, "a limit"), given.number(high, "a limit")
    return make(_grad_clip, (to_node(x, "grad_clip"),), {"low": low, "high": high})


def grad_scale(x, factor):
    """`x`; the gradient passing back through it is multiplied by `factor`."""
    factor = given.number(factor, "factor")
    return make(_grad_scale, (to_node(x, "grad_scale"),), {"factor": factor})
