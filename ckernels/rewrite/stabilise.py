"""Rules that replace formulas which lose digits, overflow or make NaN by functions that do not.

Each formula is (name, pattern, replacement); the tests evaluate both sides. Where the left side is
accurate the right side equals it; elsewhere the right side is the true value. Quotients are in
factors.py.
"""

import math

from .. import ops
from ..base import dtypes
from ..graph.node import make
from .engine import Family, Formula, Var, a_number, number
from .engine import forms as f
from .factors import negated
from .places import maximum_axes, reduced_axes, with_infinities

family = Family("stabilise")
formula = family.formula
x, y, z = Var("x"), Var("y"), Var("z")
# fmt: off
axes, axis = Var("axes"), Var("axis")


# --- logarithms -----------------------------------------------------------------------------------

formula("log_of_one_plus_exp", f.log(1 + f.exp(x)), f.softplus(x))
formula("log_of_one_minus_exp", f.log(1 - f.exp(x)), f.log1mexp(x),
        doc="NaN for x > 0 on both sides.")
formula("log_of_one_plus", f.log(1 + x), f.log1p(x))
formula("log_of_one_minus", f.log(1 - x), f.log1p(-x))
formula("log1p_of_exp", f.log1p(f.exp(x)), f.softplus(x))
formula("log1p_of_minus_exp", f.log1p(-f.exp(x)), f.log1mexp(x))
formula("log1p_of_minus_sigmoid", f.log1p(-f.sigmoid(x)), -f.softplus(x))
formula("log_of_sigmoid", f.log(f.sigmoid(x)), -f.softplus(-x))
formula("log_of_exp", f.log(f.exp(x)), x)
formula("log_of_sqrt", f.log(f.sqrt(x)), 0.5 * f.log(x),
        doc="log(sqrt(-0.0)) is -inf on both sides.")
formula("log_of_square", f.log(f.square(x)), 2 * f.log(f.abs(x)),
        doc="x * x may overflow or vanish.")
formula("log_of_sum_of_exps", f.log(f.exp(x) + f.exp(y)), lambda x, y: ops.logaddexp(x, y))
formula(
    "log_of_difference_of_exps",
    f.log(f.exp(x) - f.exp(y)),
    lambda x, y: ops.logdiffexp(x, y),
    doc="NaN for x < y on both sides; -inf where they are equal.",
)
formula("log_of_sum_exp", f.log(f.sum(f.exp(x), axes=axes)), f.logsumexp(x, axes=axes))
formula(
    "log_of_mean_exp",
    f.log(f.mean(f.exp(x), axes=axes)),
    lambda x, axes: ops.sub(ops.logsumexp(x, axes), ops.log(ops.count(x, axes, x.dtype))),
)
formula("log_of_softmax", f.log(f.softmax(x, axis=axis)), f.log_softmax(x, axis=axis))
family.formulas(
    "exp_of_log_softmax",
    Formula(f.exp(f.log_softmax(x, axis=axis)), f.softmax(x, axis=axis)),
    Formula(f.exp(-f.softplus(x)), lambda x: make("sigmoid", (negated(x),))),
)


def exponent(node):
    """The number by which a power is taken, where that is one, finite, and not 0; else None."""
    value = None if node.ndim else number(node)
    return value if value is not None and math.isfinite(value) and value else None


even = a_number("c", lambda node: exponent(node) and number(node) % 2 == 0)
odd = a_number("c", exponent)
family.formulas(
    "log_of_power",
    Formula(f.log(x ** even), even * f.log(f.abs(x))), Formula(f.log(x ** odd), odd * f.log(x)),
    doc="The power may overflow. NaN where it was.",
)
# fmt: on


def summed_axis(x, y):
    """The axis over which `y` is logsumexp(x), where that is one; else None."""
    along = reduced_axes(y, "logsumexp", x)
    return along[0] if along and len(along) == 1 else None


def is_maximum(x, y, axis):
    """Whether `y` is max(x) over that axis."""
    return maximum_axes(y, x) == (axis,)


def is_its_maximum(x, y, z, axes):
    """Whether z, and y beside x, are max(x) over those axes."""
    z = with_infinities(z)
    return z.op.name == "max" and z.inputs[0] is x and maximum_axes(y, x) == z.attrs["axes"] == axes


formula(
    "maximum_put_back",
    z + f.logsumexp(x - y, axes=axes),
    f.logsumexp(x, axes=axes),
    views=False,
    when=is_its_maximum,
    doc="logsumexp takes the maximum off itself.",
)
formula("minus_logsumexp", x - y, f.log_softmax(x, axis=summed_axis), views=False,
        when=lambda x, y: summed_axis(x, y) is not None)  # fmt: skip
family.formulas(
    "maximum_taken_off",
    *(
        Formula(op(x - y, axis=axis), op(x, axis=axis), is_maximum, dtypes.is_inexact, views=False)
        for op in (f.softmax, f.log_softmax)
    ),
    doc="softmax takes the maximum off itself.",
)


# --- exponentials and logistic functions ----------------------------------------------------------

# fmt: off
formula("exp_minus_one", f.exp(x) - 1, f.expm1(x))
formula("one_minus_exp", 1 - f.exp(x), -f.expm1(x))
formula("one_minus_sigmoid", 1 - f.sigmoid(x), f.sigmoid(-x))
formula("sigmoid_minus_one", f.sigmoid(x) - 1, -f.sigmoid(-x))
formula("reciprocal_of_one_plus_exp", f.reciprocal(1 + f.exp(x)), f.sigmoid(-x))
formula("log_ratio_tanh", (f.exp(x) - f.exp(-x)) / (f.exp(x) + f.exp(-x)), f.tanh(x))
formula("one_minus_erf", 1 - f.erf(x), f.erfc(x))
formula("one_minus_erfc", 1 - f.erfc(x), f.erf(x))
formula("sqrt_of_square", f.sqrt(f.square(x)), f.abs(x), doc="x * x may overflow or vanish.")
formula(
    "square_of_sqrt",
    f.square(f.sqrt(x)),
    lambda x: ops.where(ops.ge(x, 0), x, float("nan")),
    doc="NaN below 0 and for NaN, as sqrt; -0.0 stays.",
)
# fmt: on
