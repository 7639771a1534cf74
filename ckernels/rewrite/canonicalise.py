"""Canonical arithmetic: neutral elements, signs outside, casts merged, useless choices.

What is done here is exact, or differs only in the sign of a zero, unless a rule says otherwise:
sums are not reordered, floats times 0 stay (NaN and inf count), and x - x stays for floats.
"""

import numpy as np

from .. import dtypes
from ..graph.node import make
from .engine import Family, Var, fit, number, scalar
from .views import zeros

family = Family("canonicalise")
rule, formula = family.rule, family.formula
x, y, c = Var("x"), Var("y"), Var("c")


# --- neutral elements -----------------------------------------------------------------------------


def _discrete(node):
    return dtypes.is_discrete(node.dtype)


@rule("add", "sub")
def plus_zero(node):
    """x + 0, x - 0 is x (-0.0 + 0 keeps its sign); 0 - x is -x."""
    a, b = node.inputs
    if number(b) == 0:
        return a
    if number(a) == 0:
        return b if node.op.name == "add" else make("neg", (b,))
    return None


@rule("mul", "true_div")
def times_one(node):
    """x * 1, x / 1 is x; x * -1, x / -1 is -x; an integer times 0 is 0 (a float may be NaN)."""
    a, b = node.inputs
    if node.op.name == "mul" and a.op.name == "constant":
        a, b = b, a
    if b.op.name != "constant":
        return None
    value = number(b)
    if value == 1:
        return a
    if value == -1 and node.dtype not in dtypes.UNSIGNED:
        return make("neg", (a,))
    if value == 0 and node.op.name == "mul" and _discrete(node):
        return zeros(node.dtype, node.shape)
    return None


@rule("masked_mul", "masked_div")
def mask_decided(node):
    """masked_mul and masked_div of a number other than 0 are the plain product and quotient."""
    a, b = node.inputs
    plain = {"masked_mul": "mul", "masked_div": "true_div"}[node.op.name]
    return make(plain, (a, b)) if number(a) else None


@rule("sub")
def minus_itself(node):
    """x - x is 0 for integers (a float may be NaN or inf)."""
    a, b = node.inputs
    return zeros(node.dtype, node.shape) if a is b and _discrete(node) else None


@rule("pow")
def pow_by_constant(node):
    """x ** c for c in 0, 1, 2, 3, 4, -1, -2, +-0.5, 1.5: products, quotients and roots.

    x ** 0.5 becomes sqrt(x): they differ at -inf (inf against NaN). x ** 0 is 1, of NaN too.
    """
    base, p = node.inputs
    p = number(p)
    if p is None or p not in _POWERS:
        return None
    if dtypes.is_discrete(node.dtype) and p not in (0, 1, 2, 3, 4):
        return None
    return _POWERS[p](base)


def _square(base):
    return make("square", (base,))


def _ratio(base):
    return make("true_div", (scalar(1, base.dtype), base))


def _sqrt(base):
    return make("sqrt", (base,))


_POWERS = {
    0: lambda b: fit(scalar(1, b.dtype), b.shape),
    1: lambda b: b,
    2: _square,
    3: lambda b: make("mul", (b, _square(b))),
    4: lambda b: _square(_square(b)),
    -1: _ratio,
    -2: lambda b: _ratio(_square(b)),
    0.5: _sqrt,
    1.5: lambda b: make("mul", (b, _sqrt(b))),
    -0.5: lambda b: _ratio(_sqrt(b)),
}  # fmt: skip


@rule("identity", "stop_gradient", "checkpoint")
def no_mark(node):
    """identity, stop_gradient and checkpoint have done their work when gradients exist."""
    return node.inputs[0]


# --- signs travel outwards ------------------------------------------------------------------------


@rule("neg")
def neg_of(node):
    """--x is x; -(a - b) is b - a; -(x * c) is x * -c; -(c / x) is -c / x."""
    a = node.inputs[0]
    name = a.op.name
    if name == "neg":
        return a.inputs[0]
    if name == "sub":
        return make("sub", (a.inputs[1], a.inputs[0]))
    if name in ("mul", "true_div"):
        p, q = a.inputs
        for k, i in enumerate((p, q)):
            value = number(i)
            if value is not None and value not in (1, -1) and i.ndim == 0:
                pair = [p, q]
                pair[k] = scalar(-i.value, i.dtype)
                return make(name, pair)
    return None


@rule("add")
def add_of_neg(node):
    """x + -y is x - y; -x + -y is -(x + y)."""
    a, b = node.inputs
    if b.op.name == "neg":
        if a.op.name == "neg":
            return make("neg", (make("add", (a.inputs[0], b.inputs[0])),))
        return make("sub", (a, b.inputs[0]))
    if a.op.name == "neg":
        return make("sub", (b, a.inputs[0]))
    return None


@rule("sub")
def sub_of_neg(node):
    """x - -y is x + y; -x - y is -(x + y)."""
    a, b = node.inputs
    if b.op.name == "neg":
        return make("add", (a, b.inputs[0]))
    if a.op.name == "neg":
        return make("neg", (make("add", (a.inputs[0], b)),))
    return None


@rule("mul", "true_div")
def product_of_neg(node):
    """-x * y is -(x * y), -x * c is x * -c; the same for quotients."""
    a, b = node.inputs
    sign, new = 1, []
    for i in (a, b):
        if i.op.name == "neg":
            sign, i = -sign, i.inputs[0]
        new.append(i)
    if new[0] is a and new[1] is b:
        return None
    made = make(node.op, new)
    return make("neg", (made,)) if sign < 0 else made


@rule("abs", "square", "cosh", "cos")
def even_of_neg(node):
    """abs, square, cos and cosh do not see a sign."""
    a = node.inputs[0]
    if a.op.name == "neg" or (a.op.name == "abs" and node.op.name != "abs"):
        return None if dtypes.is_complex(a.dtype) else make(node.op, (a.inputs[0],))
    return a if a.op.name == "abs" else None


@rule("mul")
def equal_factors(node):
    """x * x is x squared."""
    a, b = node.inputs
    return make("square", (a,)) if a is b and a.dtype != "bool" else None


@rule("mul", "true_div")
def merge_factors(node):
    """(x * c) * d is x * (c * d), one rounding less, where c * d is a normal number; / alike."""
    a, b = node.inputs
    if node.op.name == "mul" and a.op.name == "constant":
        a, b = b, a
    if number(b) is None or b.ndim or node.dtype not in ("float32", "float64"):
        return None
    if a.op.name not in ("mul", "true_div"):
        return None
    return _merged(node, a, b.value)


@np.errstate(over="ignore", under="ignore")  # such numbers stay as they are
def _merged(node, a, d):
    p, q = a.inputs
    divide = node.op.name == "true_div"
    if a.op.name == "mul":
        for k, kept in ((p, q), (q, p)):
            if number(k) is not None and k.ndim == 0:
                return _scaled(kept, k.value / d if divide else k.value * d, "mul")
    elif number(p) is not None and p.ndim == 0:
        return _scaled(q, p.value / d if divide else p.value * d, "true_div")
    elif number(q) is not None and q.ndim == 0:
        if divide:
            return _scaled(p, q.value * d, "over")
        return _scaled(p, d / q.value, "mul")
    return None


def _scaled(kept, value, how):
    info = dtypes.finfo(value.dtype)
    if not info.tiny <= abs(value) <= info.max:
        return None
    value = scalar(value, kept.dtype)
    if how == "true_div":
        return make("true_div", (value, kept))
    return make("mul" if how == "mul" else "true_div", (kept, value))


@rule("add", "sub")
def merge_terms(node):
    """(x + c) + d is x + (c + d) for integers; floats are rounded as written."""
    a, b = node.inputs
    if node.dtype not in dtypes.INTEGERS:
        return None
    if node.op.name == "add" and number(a) is not None:
        a, b = b, a
    if number(b) is None or a.op.name not in ("add", "sub"):
        return None
    p, q = a.inputs
    if number(p) is not None and a.op.name == "add":
        p, q = q, p
    if number(q) is None:
        return None
    return make(a.op, (p, make("add" if a.op is node.op else "sub", (q, b))))


# --- casts ----------------------------------------------------------------------------------------


def _lossless(source, target):
    if source == target:
        return True
    if source in ("int64", "uint64") and target not in ("int64", "uint64"):
        return False
    return bool(np.can_cast(source, target, "safe"))


@rule("cast")
def merge_casts(node):
    """A cast of a cast that lost nothing is one cast; a cast to its own dtype is nothing."""
    a, to = node.inputs[0], node.dtype
    if a.dtype == to:
        return a
    if a.op.name != "cast":
        return None
    base = a.inputs[0]
    if base.dtype == to and _lossless(base.dtype, a.dtype):
        return base
    through_float = dtypes.is_inexact(a.dtype) and dtypes.is_discrete(to)
    if _lossless(base.dtype, a.dtype) and not through_float:
        return make("cast", (base,), {"dtype": to})
    return None


# --- choices --------------------------------------------------------------------------------------


@rule("where")
def useless_where(node):
    """where of a constant condition, of two equal branches, of a negated condition."""
    cond, a, b = node.inputs
    if a is b:
        return a
    value = number(cond)
    if value is not None:
        return a if value else b
    if cond.op.name == "logical_not":
        return make("where", (cond.inputs[0], b, a))
    return None


@rule("maximum", "minimum", "logical_and", "logical_or", "bit_and", "bit_or")
def same_operands(node):
    """max(x, x), x & x and the like are x."""
    a, b = node.inputs
    return a if a is b else None


@rule("logical_not")
def not_not(node):
    """not not x is x."""
    a = node.inputs[0]
    return a.inputs[0] if a.op.name == "logical_not" else None


@rule("floor", "ceil", "trunc", "round", "relu", "sign")
def idempotent(node):
    """floor(floor(x)) is floor(x), and so for the others."""
    a = node.inputs[0]
    return a if a.op.name == node.op.name else None
