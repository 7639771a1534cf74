"""Ops that choose by a scalar: `choose` takes both values, `ifelse` holds two bodies and runs one.

Users' graphs and their gradients hold `choose`; `rewrite/lazy.py` turns it into `ifelse`, with the
work that only one side needs inside, when a function is made.
"""

import numpy as np

from ..base.errors import DTypeError, ShapeError
from ..graph.node import item, make
from ..graph.op import Op
from ..graph.shapes import show
from .base import cast, to_node, zeros_like
from .bodies import merge
from .logic import ne
from .scan import dtype_of

__all__ = ["choose"]


def _check_condition(condition):
    if condition.ndim or condition.dtype != "bool":
        raise ShapeError(
            f"the condition of ifelse must be a bool scalar, not {condition.dtype} of "
            f"shape {show(condition.shape)}"
        )


def _same_type(k, a, b):
    """(dtype, shape) of result `k`, which is `a` or `b`."""
    if a.dtype != b.dtype:
        raise DTypeError(
            f"the two sides of ifelse have the dtypes {a.dtype} and {b.dtype}; cast one of them"
        )
    try:
        return a.dtype, merge("", a.shape, b.shape)
    except ShapeError:
        raise ShapeError(
            f"the two sides of ifelse have the shapes {show(a.shape)} and "
            f"{show(b.shape)}; they must have one shape"
        ) from None


def _infer_choose(attrs, condition, a, b):
    _check_condition(condition)
    return _same_type(0, a, b) if not attrs.get("varied") else _infer_either(attrs, condition, a, b)


def _run_choose(attrs, condition, a, b):
    if a.shape != b.shape and not attrs.get("varied"):
        raise ShapeError(
            f"the two sides of ifelse have the shapes {show(a.shape)} and "
            f"{show(b.shape)}; they must have one shape"
        )
    return np.array(a if condition else b)


def _grad_choose(node, g):
    condition, a, b = node.inputs
    varied = node.attrs.get("varied")
    zeros = (zeros_like(a), zeros_like(b)) if varied else (zeros_like(g),) * 2
    return (
        None,
        make("choose", (condition, g, zeros[0]), node.attrs),
        make("choose", (condition, zeros[1], g), node.attrs),
    )


Op(
    "choose",
    "opaque",
    _infer_choose,
    _run_choose,
    _grad_choose,
    doc="The second operand where the scalar condition is true, else the third.",
)


def _infer_either(attrs, condition, a, b):
    if a.dtype != b.dtype or len(a.shape) != len(b.shape):
        return _same_type(0, a, b)
    return a.dtype, tuple(p if p is not None and p == q else None for p, q in zip(a.shape, b.shape))


Op(
    "either",
    "opaque",
    _infer_either,
    lambda attrs, condition, a, b: np.array(a if condition else b),
    doc="`choose` between two of different shapes: what comes out is known when it runs.",
)


def choose(condition, a, b, varied=False):
    """`a` if the scalar `condition` is true (not zero), else `b`: of one dtype and one shape.

    varied: sizes may differ; the size of the result then depends on the condition.
    """
    condition = to_node(condition, "ifelse")
    condition = condition if condition.dtype == "bool" else ne(condition, 0)
    attrs = {"varied": True} if varied else {}
    return make("choose", (condition, cast(a, a.dtype), cast(b, b.dtype)), attrs)


# --- the lazy form ----------------------------------------------------------------------------


def _infer_ifelse(attrs, condition, *captured):
    _check_condition(condition)
    then, other = attrs["then"].outputs, attrs["other"].outputs
    if len(then) != len(other):
        raise ShapeError(f"the two sides of ifelse have {len(then)} and {len(other)} results")
    return [_same_type(k, a, b) for k, (a, b) in enumerate(zip(then, other))]


def _refit_ifelse(attrs, inputs):
    types = [(dtype_of(x), x.shape) for x in inputs[1:]]
    constants = {
        k: x
        for k, x in enumerate(inputs[1:])
        if getattr(x, "value", None) is not None
        and x.value.size <= 64
        and x.value.dtype.kind in "iub"
    }
    return {
        **attrs,
        **{side: attrs[side].fit("ifelse", types, constants) for side in ("then", "other")},
    }


def _run_ifelse(attrs, condition, *captured):
    side = _refit_ifelse(attrs, (condition, *captured))["then" if condition else "other"]
    return tuple(np.array(x) for x in side.evaluate(captured))


Op(
    "ifelse",
    "opaque",
    _infer_ifelse,
    _run_ifelse,
    refit=_refit_ifelse,
    doc="The outputs of the body attrs['then'] if the condition is true, else of attrs['other'].",
)


def ifelse_node(condition, captured, then, other):
    """The results of the body `then` or `other` on the nodes `captured`, as a list of nodes."""
    node = make("ifelse", (condition, *captured), {"then": then, "other": other})
    return [item(node, k) for k in range(len(then.outputs))]
