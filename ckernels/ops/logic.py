"""Ops on truth values and bits: comparisons, logic, bit operations, tests for NaN and infinity.

bool is one byte holding 0 or 1, and every C expression here keeps that.
"""

import numpy as np

from ..base import dtypes
from .base import elementwise, full_like, is_weak, operands, to_node

__all__ = ["eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor",
           "logical_not", "bit_and", "bit_or", "bit_xor", "bit_not", "left_shift", "right_shift",
           "isnan", "isinf", "isfinite"]  # fmt: skip


def _comparison(name, sign, fn, **row):
    return elementwise(
        name,
        f"({{0}}) {sign} ({{1}})",
        fn,
        out="bool",
        widen=True,
        ulp=0,
        doc=f"x {sign} z as bool.",
        **row,
    )


eq = _comparison("eq", "==", np.equal, commutative=True, takes="biufc")
ne = _comparison("ne", "!=", np.not_equal, commutative=True, takes="biufc")
lt = _comparison("lt", "<", np.less)
le = _comparison("le", "<=", np.less_equal)
gt = _comparison("gt", ">", np.greater)
ge = _comparison("ge", ">=", np.greater_equal)


def _logical(name, sign, fn):
    return elementwise(
        name,
        f"({{0}}) {sign} ({{1}})",
        fn,
        rule="bool",
        ulp=0,
        commutative=True,
        takes="b",
        doc=f"{name} of truth values (anything not zero is true).",
    )


# fmt: off
logical_and = _logical("logical_and", "&", np.logical_and)
logical_or = _logical("logical_or", "|", np.logical_or)
logical_xor = _logical("logical_xor", "^", np.logical_xor)
logical_not = elementwise("logical_not", "({0}) ^ 1", np.logical_not, rule="bool", ulp=0, takes="b",
                          doc="True where x is zero.")
# fmt: on


def _bits(name, sign, fn):
    def c(attrs, dtype):
        return f"({dtypes.C_NAMES[dtype]})(({{0}}) {sign} ({{1}}))"

    return elementwise(
        name,
        c,
        fn,
        ulp=0,
        commutative=True,
        takes="biu",
        doc=f"x {sign} z bit by bit; integers and bools.",
    )


bit_and = _bits("bit_and", "&", np.bitwise_and)
bit_or = _bits("bit_or", "|", np.bitwise_or)
bit_xor = _bits("bit_xor", "^", np.bitwise_xor)


def _c_bit_not(attrs, dtype):
    return "({0}) ^ 1" if dtype == "bool" else f"({dtypes.C_NAMES[dtype]})~({{0}})"


bit_not = elementwise("bit_not", _c_bit_not, np.invert, ulp=0, takes="biu", doc="~x; bools: not.")


def _c_left_shift(attrs, dtype):
    # Shifting by the width or more is undefined in C; NumPy gives 0. The count is taken as
    # uint64_t, so that a negative one is too large as well.
    kind, bits = dtypes.C_NAMES[dtype], 8 * dtypes.ITEMSIZE[dtype]
    wide = "uint64_t" if bits == 64 else "uint32_t"
    return f"((uint64_t)({{1}}) < {bits} ? ({kind})(({wide})({{0}}) << ({{1}})) : ({kind})0)"


def _c_right_shift(attrs, dtype):
    kind, bits = dtypes.C_NAMES[dtype], 8 * dtypes.ITEMSIZE[dtype]
    beyond = "(({0}) < 0 ? -1 : 0)" if dtype in dtypes.SIGNED else "0"
    return f"((uint64_t)({{1}}) < {bits} ? ({kind})(({{0}}) >> ({{1}})) : ({kind}){beyond})"


left_shift = elementwise(
    "left_shift",
    _c_left_shift,
    np.left_shift,
    rule="number",
    ulp=0,
    takes="iu",
    doc="x << z; 0 when z is not below the width.",
)
right_shift = elementwise(
    "right_shift",
    _c_right_shift,
    np.right_shift,
    rule="number",
    ulp=0,
    takes="iu",
    doc="x >> z, keeping the sign.",
)


def _c_magnitude(sign):
    def c(attrs, dtype):
        return (
            f"__builtin_fabs({{0}}) {sign} __builtin_inf()"
            if dtype == "float64"
            else f"__builtin_fabsf({{0}}) {sign} __builtin_inff()"
        )

    return c


def _test(name, c, fn, for_discrete, doc):
    row = elementwise(name, c, fn, out="bool", takes="fc", ulp=0, doc=doc)

    def build(x):
        x = operands((x,), name)[0] if is_weak(x) else to_node(x, name)
        return full_like(x, for_discrete, "bool") if dtypes.is_discrete(x.dtype) else row(x)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    return build


isnan = _test("isnan", "({0}) != ({0})", np.isnan, False, "Whether x is NaN.")
isinf = _test("isinf", _c_magnitude("=="), np.isinf, False, "Whether x is inf or -inf.")
isfinite = _test("isfinite", _c_magnitude("<"), np.isfinite, True, "Whether x is a number.")
