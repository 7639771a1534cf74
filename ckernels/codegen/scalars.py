"""Scalar expressions and literals as C text; exponentials that other ones are multiples of."""
import numpy as np

from .. import dtypes
from ..schedule.group import peel


def behind(node):
    """The tensor behind views that rename axes."""
    return peel(node, (None,) * node.ndim)[0]


def summed_exponential(node):
    """(exp(x - top), top, y) for exp(x - y), y = log(sum(exp(x - top))) + top or 0: else None.

    That is a logsumexp's gradient: exp(x - top) * exp(top - y) needs no exponential per element.
    Where y is not finite and so 0, top is 0 too.
    """
    if node.op.name != "exp" or node.inputs[0].op.name != "sub":
        return None
    x, guarded = node.inputs[0].inputs[0], behind(node.inputs[0].inputs[1])
    if guarded.op.name != "where":
        return None
    finite, y, zero = guarded.inputs
    if finite.op.name != "isfinite" or finite.inputs[0] is not y or y.op.name != "add":
        return None
    top, total = sorted(y.inputs, key=lambda n: n.op.name == "log")
    if zero.value is None or zero.value.any() or total.op.name != "log":
        return None
    e = total.inputs[0].inputs[0] if total.inputs[0].op.name == "sum" else x
    if e.op.name != "exp" or e.inputs[0].op.name != "sub" or e.inputs[0].inputs[0] is not x:
        return None
    if behind(e.inputs[0].inputs[1]) is not top or not bounds(top, x, total.inputs[0]):
        return None
    return e, top, guarded


def bounds(top, x, total):
    """Whether `top` is the maximum of x over the axes that `total` sums, or 0 where not finite."""
    best = behind(top.inputs[1]) if top.op.name == "where" else top
    if top.op.name == "where" and not (
            top.inputs[0].op.name == "isfinite" and top.inputs[0].inputs[0] is top.inputs[1]
            and top.inputs[2].value is not None and not top.inputs[2].value.any()):
        return False
    return best.op.name == "max" and total.op.name == "sum" and best.inputs[0] is x \
        and best.attrs["axes"] == total.attrs["axes"]


def c_text(node, dtype):
    """The scalar C expression of an elementwise node with {0}, {1}.. left for its operands."""
    text = node.op.c(node.attrs, dtype) if callable(node.op.c) else node.op.c
    if dtype == "float16":
        kind, suffix = "float", "f32"
    else:
        kind, suffix = dtypes.C_NAMES[dtype], dtypes.SUFFIX[dtype]
    holes = [f"{{{i}}}" for i in range(len(node.inputs))]
    return text.format(*holes, T=kind, S=suffix, **node.attrs)


def literal_text(dtype, number):
    """A C literal with exactly this value."""
    if dtype == "bool":
        return str(int(number))
    if dtypes.is_float(dtype):
        x = float(number)
        suffix = "" if dtype == "float64" else "f"
        if x != x:
            return f'__builtin_nan{suffix}("")'
        if x in (float("inf"), float("-inf")):
            return f"{'-' if x < 0 else ''}__builtin_inf{suffix}()"
        text = (repr(x) if dtype == "float64" else str(np.float32(x))) + suffix   # shortest exact
        return f"({text})" if x < 0 or text[0] == "-" else text
    n = int(number)
    kind = dtypes.C_NAMES[dtype]
    if dtype == "int64" and n == -2**63:
        return "(-0x7fffffffffffffff - 1)"
    return f"(({kind}){n}{'u' if dtype.startswith('u') else ''}{'l' if '64' in dtype else ''})"
