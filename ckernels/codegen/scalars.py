"""Scalar expressions and literals as C text."""
import numpy as np

from .. import dtypes


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
