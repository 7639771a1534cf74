"""Canonical arithmetic: neutral elements, signs outside, casts merged, useless choices.

What is done here is exact, or differs only in the sign of a zero, unless a rule says otherwise:
sums are not reordered, floats times 0 stay (NaN and inf count), and x - x stays for floats.
"""

import numpy as np

from ..base import dtypes
from .engine import Family, Formula, Var, a_number, number
from .engine import forms as f

family = Family("canonicalise")
x, y, z = Var("x"), Var("y"), Var("z")
c, d = (a_number(name, lambda n: n.ndim == 0 and number(n) is not None) for name in "cd")
# fmt: off


def is_any(dtype):
    return True


def is_signed(dtype):
    """Whether a number times -1 is one of that dtype."""
    return dtype not in dtypes.UNSIGNED


def is_no_bool(dtype):
    return dtype != "bool"


def exact(left, right, takes=is_any, when=None):
    """A formula for all dtypes. Views are not opened: other rules bring them outside."""
    return Formula(left, right, when, takes, views=False)


def rule(name, *formulas, doc=""):
    """A rule of formulas; (left, right, takes) is an exact one."""
    family.formulas(name, *(exact(*p) if isinstance(p, tuple) else p for p in formulas), doc=doc)


# --- neutral elements -----------------------------------------------------------------------------

rule("plus_zero", (x + 0, x), (x - 0, x), (0 - x, -x), doc="-0.0 + 0 keeps its sign.")
rule("times_one",
     (x * 1, x), (x / 1, x), (x * -1, -x, is_signed), (x / -1, -x, is_signed),
     (x * 0, 0, dtypes.is_discrete),
     doc="A float times 0 may be NaN.")

there = a_number("c", number)  # a number other than 0
rule("mask_decided",
     (f.masked_mul(there, x), there * x), (f.masked_div(there, x), there / x),
     doc="A mask of a number other than 0 masks nothing.")

rule("minus_itself", (x - x, 0, dtypes.is_discrete), doc="A float may be NaN or inf.")

rule("pow_by_constant",
     (x ** 0, 1), (x ** 1, x), (x ** 2, f.square(x)), (x ** 3, x * f.square(x)),
     (x ** 4, f.square(f.square(x))), (x ** 5, x * f.square(f.square(x))),
     (x ** 6, f.square(x * f.square(x))), (x ** 7, x * f.square(x * f.square(x))),
     (x ** 8, f.square(f.square(f.square(x)))), (x ** 10, f.square(x * f.square(f.square(x)))),
     (x ** 12, f.square(f.square(x * f.square(x)))),
     *(exact(left, right, dtypes.is_inexact) for left, right in (
         (x ** -1, 1 / x), (x ** -2, 1 / f.square(x)), (x ** 0.5, f.sqrt(x)),
         (x ** 1.5, x * f.sqrt(x)), (x ** -0.5, 1 / f.sqrt(x)),
         (x ** -1.5, 1 / (x * f.sqrt(x))))),
     doc="x ** 0.5 and sqrt(x) differ at -inf (inf against NaN). x ** 0 is 1, of NaN too. Products "
         "are within 7 ulp of a twelfth power, and take a fifteenth of its time.")

rule("no_mark",
     (f.identity(x), x), (f.stop_gradient(x), x), (f.checkpoint(x), x),
     (f.masked(y, x), x),
     doc="Marks have done their work when gradients exist.")


# --- signs travel outwards ------------------------------------------------------------------------

factor = a_number("c", lambda n: n.ndim == 0 and number(n) not in (None, 1, -1))
rule("neg_of",
     (f.neg(-x), x), (f.neg(x - y), y - x),
     (-(x * factor), x * (lambda c: -c)),
     (-(factor / x), (lambda c: -c) / x), (-(x / factor), x / (lambda c: -c)))

rule("add_of_neg", (-x + -y, -(x + y)), (x + -y, x - y))
rule("sub_of_neg", (x - -y, x + y), (-x - y, -(x + y)))
rule("product_of_neg",
     (-x * -y, x * y), (-x * y, -(x * y)),
     (-x / -y, x / y), (-x / y, -(x / y)), (x / -y, -(x / y)))


def is_not_complex(dtype):
    return not dtypes.is_complex(dtype)


rule("even_of_neg",
     (f.abs(f.abs(x)), f.abs(x)), (f.abs(-x), f.abs(x), is_signed),
     *((op(sign(x)), op(x), is_not_complex)
       for op in (f.square, f.cosh, f.cos) for sign in (f.neg, f.abs)),
     doc="These do not see a sign.")

rule("equal_factors", (x * x, f.square(x), is_no_bool))


# --- constants side by side -----------------------------------------------------------------------


def normal(function):
    """A number made by `function`, where it is a normal one: others stay apart."""

    def of(c, d):
        value = function(c, d)
        info = dtypes.finfo(value.dtype)
        return value if info.tiny <= abs(value) <= info.max else None

    return of


def is_single_or_double(dtype):
    return dtype in ("float32", "float64")


def is_integer(dtype):
    return dtype in dtypes.INTEGERS


product, ratio = normal(lambda c, d: c * d), normal(lambda c, d: c / d)
rule("merge_factors",
     *(exact(left, right, is_single_or_double) for left, right in (
         ((x * c) * d, x * product), ((c / x) * d, product / x),
         ((x / c) * d, x * normal(lambda c, d: d / c)),
         ((x * c) / d, x * ratio), ((c / x) / d, ratio / x), ((x / c) / d, x / product))),
     doc="One rounding less.")

one, other = a_number("c"), a_number("d")
rule("merge_terms",
     *(exact(left, right, is_integer) for left, right in (
         ((x + one) + other, x + (one + other)), ((x - one) + other, x - (one - other)),
         ((x + one) - other, x + (one - other)), ((x - one) - other, x - (one + other)))),
     doc="Floats are rounded as written.")
# fmt: on


# --- casts ----------------------------------------------------------------------------------------


def _lossless(source, target):
    if source == target:
        return True
    if source in ("int64", "uint64") and target not in ("int64", "uint64"):
        return False
    return bool(np.can_cast(source, target, "safe"))


def _merges(x, via, to):
    """Whether a cast of `x` to `to` gives what it gives by way of `via`."""
    through_float = dtypes.is_inexact(via) and dtypes.is_discrete(to)
    return _lossless(x.dtype, via) and not through_float


# fmt: off
to, via = Var("to"), Var("via")
twice = f.cast(f.cast(x, dtype=via), dtype=to)
rule("merge_casts",
     exact(f.cast(x, dtype=to), x, when=lambda x, to: x.dtype == to),
     exact(twice, x, when=lambda x, via, to: x.dtype == to and _lossless(to, via)),
     exact(twice, f.cast(x, dtype=to), when=_merges),
     doc="A cast of a cast that lost nothing is one cast; a cast to its own dtype is nothing.")
# fmt: on


# --- choices --------------------------------------------------------------------------------------

# fmt: off
rule("useless_where",
     (f.where(x, y, y), y),
     (f.where(one, x, y), lambda c, x, y: x if number(c) else y),
     (f.where(f.logical_not(x), y, z), f.where(x, z, y)))

rule("same_operands",
     *((op(x, x), x) for op in (f.maximum, f.minimum, f.logical_and, f.logical_or,
                                f.bit_and, f.bit_or)))
rule("not_not", (f.logical_not(f.logical_not(x)), x))
rule("idempotent",
     *((op(op(x)), op(x)) for op in (f.floor, f.ceil, f.trunc, f.round, f.relu, f.sign)))
# fmt: on
