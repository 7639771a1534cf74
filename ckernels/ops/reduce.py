"""Reductions: sum, prod, max, min, any, all, argmax, argmin. attrs["axes"] are dropped.

Small integers accumulate in 64 bits, float32 in double, float16 and bfloat16 in float32. NaN wins
max, min, argmax and argmin; the first of equal elements is the argmax. The gradient of max and min
goes to every element that equals the result (Theano's rule), so ties get it in full, each; within
`ties_share` in equal parts, as derivatives of plain NumPy code have it: max([x, x]) has slope 1.
"""

from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from ..base import dtypes
from ..base.errors import ShapeError
from ..graph.node import make
from ..graph.shapes import axes_of
from .base import broadcast_like, cast, reduction, to_node
from .elementwise import maximum, mul, sub, true_div, where
from .logic import eq

__all__ = ["sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "ptp"]


ACCUMULATE_IN = {**dtypes.COMPUTED, "float32": "float64", "complex64": "complex128"}


def _accumulating(fn):
    """`fn` over axes in an accumulator wider than the result."""

    def run(x, axes):
        name = dtypes.numpy_name(x.dtype)
        return fn(x, axis=axes, dtype=ACCUMULATE_IN.get(name, name))

    return run


def _grad_prod(x, y, g, axes):
    return mul(g, make("product_of_others", (x,), {"axes": axes}))  # in running.py


_shared = ContextVar("whether ties share a gradient", default=False)


@contextmanager
def ties_share():
    """Derivatives made inside go to the elements that equal a maximum in equal parts."""
    before = _shared.set(True)
    try:
        yield
    finally:
        _shared.reset(before)


def _grad_extremum(x, y, g, axes):
    chosen = eq(x, y)
    if _shared.get():
        count = sum(cast(chosen, "int64"), axes, keepdims=True)
        g = true_div(g, cast(maximum(count, 1), g.dtype))  # 0 where the maximum is NaN
    return where(chosen, g, 0)


# fmt: off
sum = reduction("sum", _accumulating(np.sum), lambda x, y, g, axes: broadcast_like(g, x),
                accumulate=dtypes.accumulator, takes="biufc", doc="Sum over axes.")
prod = reduction("prod", _accumulating(np.prod), _grad_prod, accumulate=dtypes.accumulator,
                 takes="biufc", ulp=4, doc="Product over axes.")
max = reduction("max", lambda x, axes: np.max(x, axis=axes), _grad_extremum, empty=False, ulp=0,
                doc="Largest element over axes; NaN wins.")
min = reduction("min", lambda x, axes: np.min(x, axis=axes), _grad_extremum, empty=False, ulp=0,
                doc="Smallest element over axes; NaN wins.")
any = reduction("any", lambda x, axes: np.any(x, axis=axes), accumulate=lambda dtype: "bool",
                out="bool", ulp=0, takes="b", doc="Whether any element over axes is not zero.")
all = reduction("all", lambda x, axes: np.all(x, axis=axes), accumulate=lambda dtype: "bool",
                out="bool", ulp=0, takes="b", doc="Whether all elements over axes are not zero.")
# fmt: on


def _arg(name, fn, doc):
    def oracle(x, axes):
        return fn(x, axis=None if len(axes) == x.ndim else axes[0])

    row = reduction(name, oracle, out="int64", empty=False, ulp=0, doc=doc)

    def build(x, axis=None, keepdims=False):
        x = to_node(x, name)
        axes = axes_of(axis, x.ndim)
        if 1 < len(axes) < x.ndim:
            raise ShapeError(
                f"{name} takes one axis or all of them, got axes {axes} "
                f"of a tensor of {x.ndim} dimensions"
            )
        return row(x, axes, keepdims)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    return build


argmax = _arg("argmax", np.argmax, "Index of the first largest element along one axis or of all.")
argmin = _arg("argmin", np.argmin, "Index of the first smallest element along one axis or of all.")


def ptp(x, axis=None, keepdims=False):
    """Peak to peak: max - min over axes."""
    return sub(max(x, axis, keepdims), min(x, axis, keepdims))
