"""Special cases that are cheaper: thin matmuls, scales out of gemm, exact quotients.

Runs last, while composites are being lowered. Nothing here changes what is accurate: scales leave a
product of matrices only where they touch fewer elements behind it.
"""

import math

from ..base import dtypes
from ..graph.node import make
from ..graph.sizes import surely, value_of
from ..ops import add, cast, expand, expand_dims, mul, swapaxes
from ..ops import sum as sum_
from .canonicalise import is_any, is_no_bool, is_single_or_double
from .engine import Family, Formula, Var, a_number, number
from .engine import forms as f
from .places import maximum_axes
from .views import INVERSE_DEPTH, KEEP_OPERANDS, pushed

family = Family("specialise")
rule = family.rule
x, y, axes = Var("x"), Var("y"), Var("axes")


def is_below_zero(x, y, axes):
    """Whether `y` is max(x) over those axes."""
    return maximum_axes(y, x) == axes


family.formula("logsumexp_of_shifted", f.logsumexp(x - y, axes=axes),
               f.log(f.sum(f.exp(x - y), axes=axes)), views=False, when=is_below_zero,
               takes=dtypes.is_inexact, doc="Its maximum is off already.")  # fmt: skip


@rule("[composite]")
def lower(node):
    """A composite op is replaced by what it is made of. (Code: each op says what that is.)"""
    return node.op.lower(node)


@rule(
    "conv",
    "conv_input_grad",
    "conv_weight_grad",
    "pool_max",
    "pool_max_grad",
    "pool_max_take",
    "pool_sum",
    "pool_sum_grad",
    "patches_grad",
    "interpolate",
    "interpolate_grad",
    "matmul",
    "csr_dot",
    "csr_sample",
    "csr_dense",
    "csr_product",
)
def half_in_single(node):
    """What adds up float16 or bfloat16 does so in float32: f(x) is cast(f(cast(x))), and has C.

    Code: the same for sixteen ops, of any number of operands, with all their attributes.
    """
    if node.dtype not in dtypes.COMPUTED:
        return None
    wide = [cast(i, dtypes.computed(i.dtype)) for i in node.inputs]
    return cast(make(node.op, wide, node.attrs), node.dtype)


@rule("transpose")
def transposes_meet(node):
    """transpose(f(transpose(x), y)) is f(x, transpose(y)): what is stored need not be copied.

    Code: f is any elementwise op, and the inner transpose may be INVERSE_DEPTH of them further in.
    """
    x = node.inputs[0]
    if x.op.kind != "elementwise" or x.op.name in KEEP_OPERANDS:
        return None
    return pushed(node, x, INVERSE_DEPTH, leaves=True)


def is_power_of_two(node):
    """Whether a constant divides and multiplies with the same bits: 2 ** k, of either sign."""
    value = None if node.ndim else number(node)
    if value is None or not math.isfinite(value):
        return False
    mantissa, exponent = math.frexp(value)
    return abs(mantissa) == 0.5 and abs(exponent) <= (120 if node.dtype == "float32" else 1000)


PRODUCTS = ("mul", "square")


def are_products(x, y):
    """Whether both are products. Of x * y - z * w the compiler rounds one of the two, and what
    NumPy has as 0, where they are equal, is not: NaN for its root."""
    names = (x.op.name, y.op.name)
    return is_single_or_double(x.dtype) and all(name in PRODUCTS for name in names)


x, y, z, power = Var("x"), Var("y"), Var("z"), a_number("c", is_power_of_two)
# fmt: off
family.formula("divide_by_power_of_two", x / power, x * (lambda c: 1 / c),
               takes=is_single_or_double, views=False, doc="The same bits.")
family.formula("difference_of_products", x - y, f.sub_rounded(x, y), views=False,
               when=are_products,
               doc="Of equal products it is 0. Not in steps of scans, which wait for each product.")
family.formulas(
    "decided_by_difference",
    *(Formula(g(x - y), g(f.sub_rounded(x, y)), are_products, views=False)
      for g in (f.sqrt, f.rsqrt, f.log, f.sign, f.floor, f.ceil)),
    *(Formula(g(x - y, z), g(f.sub_rounded(x, y), z), are_products, is_any, views=False)
      for g in (f.lt, f.le, f.gt, f.ge, f.eq, f.ne)),
    *(Formula(g(z, x - y), g(z, f.sub_rounded(x, y)), are_products, is_any, views=False)
      for g in (f.lt, f.le, f.gt, f.ge, f.eq, f.ne)),
    doc="The same where it decides, in steps of scans too.")
family.formula("one_over_sqrt", 1 / f.sqrt(x), f.rsqrt(x), views=False)
family.formula("outer_product", f.matmul(x, y), x * y, takes=is_no_bool, views=False,
               when=lambda x, y: x.shape[-1] == 1,
               doc="(m, 1) @ (1, n) broadcasts: it fuses with what is around it.")
family.formula("inner_product", f.matmul(x, y),
               f.expand(f.sum(f.squeeze(x, axes=(0,)) * f.squeeze(y, axes=(1,)), axes=(0,)),
                        axes=(0, 1)),
               views=False, when=lambda x, y, node: x.ndim == y.ndim == 2 and node.shape == (1, 1),
               doc="(1, k) @ (k, 1) is a sum.")
# fmt: on
TERMS = (
    4  # by a vector, us: (10000, 2) float32 1.4 for 13.5 as a gemm, (10000, 4) float64 9.5 and 16
)


def few_products(x, y):
    """The sum of x[..., k] * y[k, ...]: as the gemm adds up, one after the other."""
    total = None
    for k in range(x.shape[-1]):
        part = mul(x[..., k : k + 1], y[..., k : k + 1, :])
        total = part if total is None else add(total, part)
    return total


def is_stored(node):
    while node.op.kind == "movement":
        node = node.inputs[0]
    return node.op.kind in ("leaf", "gemm")


def has_few_terms(x, y):
    """Whether these are rows of few elements by a vector, and of them nothing is computed twice."""
    if not (y.shape[-1] == 1 or x.shape[-2] == 1) or not 1 < x.shape[-1] <= TERMS:
        return False
    return all(is_stored(n) or n.ndim == 2 and any(surely(d, 1) for d in n.shape) for n in (x, y))


family.formula("few_terms", f.matmul(x, y), few_products, takes=is_single_or_double, views=False,
               when=has_few_terms, doc="(m, 3) @ (3, 1) is a loop over m: it fuses.")  # fmt: skip


# us, one thread: int64 (400, 400) @ (400, 400) 57700 by NumPy and 8200 by loops, (1, 1000) @
# (1000, 1000) 980 and 106.
def sums_of_products(x, y):
    """x @ y as loops have it."""
    if x.shape[-2] == 1:
        return cast(sum_(mul(swapaxes(x, -1, -2), y), -2, keepdims=True), x.dtype)
    return cast(sum_(mul(expand_dims(x, -2), expand_dims(swapaxes(y, -1, -2), -3)), -1), x.dtype)


family.formula("sums_of_products", f.matmul(x, y), sums_of_products, views=False,
               takes=lambda dtype: dtype in dtypes.INTEGERS,
               doc="BLAS knows no integers: their products fuse.")  # fmt: skip


@rule("take")
def take_of_take(node):
    """x[i][:, j] is x[i[:, None], j] where that is no more than x[i]: whole rows are not copied.

    Both index arrays are checked all the same. Code: the indices have any number of axes.
    """
    rows, j = node.inputs
    if rows.op.name != "take" or None in (node.size, rows.size):
        return None
    (x, i), first, second = rows.inputs, rows.attrs["axis"], node.attrs["axis"]
    if second == first - 1:
        pair = [expand(j, tuple(range(j.ndim, j.ndim + i.ndim))), i]
    elif second == first + i.ndim:
        pair = [expand(i, tuple(range(i.ndim, i.ndim + j.ndim))), j]
    else:
        return None
    if value_of(node.size) > value_of(rows.size):
        return None
    template = [":"] * x.ndim
    lowest = min(first, second)
    template[lowest : lowest + 2] = "aa"
    return make("advanced_take", (x, *pair), {"template": tuple(template)}, like=node)


# fmt: off
stored, scale = Var("a", is_stored), Var("c", lambda node: node.ndim == 0)
family.formulas("scale_outside",
                Formula(f.matmul(scale * stored, y), f.matmul(stored, y) * scale, views=False),
                Formula(f.matmul(x, scale * stored), f.matmul(x, stored) * scale, views=False),
                doc="For a number c, and a stored: no scaled copy of a is made.")
# fmt: on
