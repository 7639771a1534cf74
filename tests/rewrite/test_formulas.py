"""Every formula of the tables is its own test: the right side is the exact value of the left side.

Where an input is NaN the result is NaN. Where the left side has no value for other inputs (inf -
inf), the right side is NaN too, except for the formulas in LIMITS, which give the limit there.
"""

import numpy as np
import pytest

from ckernels.graph.node import make
from ckernels.rewrite import optimise, rules
from ckernels.rewrite.engine import Number, Pattern, Var, build

from .helpers import DIGITS, MANY_DIGITS, awkward, placeholder, truth, ulps, value
from .test_rules import PAGE, kinds

ROWS = [r for r in rules() if r.left is not None]
# inf - inf, 0 * inf or inf / inf on the left; the right side is the limit.
LIMITS = {"log_ratio_tanh", "log_of_sum_of_exps", "log_of_difference_of_exps", "log_of_sqrt"}
MANY = {"log1p_of_minus_sigmoid"}  # mpmath itself loses 1 - sigmoid(x) beyond
# exp(x) + exp(y) near 1: no formula in the same precision keeps the digits of a logarithm near 0
CANCELS = {"log_of_sum_of_exps", "log_of_difference_of_exps"}
AXES = {"axes": (0,)}
ULP = {"log_of_sum_of_exps": 4, "log_of_difference_of_exps": 4, "one_minus_erf": 8}


def names(pattern, found=None):
    found = {} if found is None else found
    if isinstance(pattern, Var):
        found[pattern.name] = pattern
    for arg in pattern.args:
        names(arg, found)
    return found


def sides(rule, dtype, shape):
    inputs = {k: placeholder(dtype, shape, k) for k in names(rule.left)}
    bound = {**inputs, **AXES}
    left = build(rule.left, bound, dtype)
    keywords = dict(inputs)
    if "axes" in repr(rule.left):
        keywords["axes"] = AXES["axes"]
    right = (
        build(rule.right, bound, dtype)
        if isinstance(rule.right, Pattern)
        else rule.right(**keywords)
    )
    return inputs, left, right


def points(dtype, count):
    line = awkward(dtype)
    if count == 1:
        return [line]
    a, b = np.meshgrid(line, line[::3])
    same = np.concatenate([a.ravel(), line])  # also pairs of equal operands
    return [same, np.concatenate([b.ravel(), line])]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rule", ROWS, ids=lambda r: r.name)
def test_right_side_is_the_true_value_of_the_left(rule, dtype):
    if "axes" in repr(rule.left):
        pytest.skip("reductions: see test_reductions")
    count = len(names(rule.left))
    arrays = points(dtype, count)
    digits = DIGITS
    if rule.name in MANY:
        arrays, digits = [a[~(np.abs(a) > 1e4) | np.isinf(a)] for a in arrays], MANY_DIGITS
    inputs, left, right = sides(rule, dtype, arrays[0].shape)
    env = dict(zip(inputs.values(), arrays))
    want = truth(left, env, digits)
    got = value(right, env)
    nan_in = np.any([np.isnan(a) for a in arrays], axis=0)
    assert np.isnan(got[nan_in]).all()
    free = np.isnan(want) & ~nan_in if rule.name in LIMITS else np.zeros_like(nan_in)
    scale = np.max(np.abs(arrays), axis=0) if rule.name in CANCELS else 0
    off = np.where(free, 0, ulps(got, want, dtype, scale))
    worst = int(np.argmax(off))
    assert off[worst] <= ULP.get(rule.name, 2), (
        f"{rule.name}({', '.join(str(a[worst]) for a in arrays)}): {got[worst]!r} "
        f"instead of {want[worst]!r}"
    )


@pytest.mark.parametrize("rule", ROWS, ids=lambda r: r.name)
def test_formulas_that_change_nan_or_inf_are_in_the_guide(rule):
    if "axes" in repr(rule.left) or f"`{rule.name}`" in PAGE.read_text():
        return
    arrays = points("float64", len(names(rule.left)))
    inputs, left, right = sides(rule, "float64", arrays[0].shape)
    env = dict(zip(inputs.values(), arrays))
    np.testing.assert_array_equal(kinds(value(left, env)), kinds(value(right, env)))


@pytest.mark.parametrize("rule", ROWS, ids=lambda r: r.name)
def test_formula_applies_to_its_own_left_side(rule):
    inputs, left, right = sides(rule, "float64", (3, 2))
    trace = []
    optimise([left], include={rule.name}, trace=trace)
    assert rule.name in [name for name, _, _ in trace]


@pytest.mark.parametrize("rule", [r for r in ROWS if "axes" in repr(r.left)], ids=lambda r: r.name)
def test_reductions(rule):
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [rng.normal(size=(5, 7)), 1e4 * rng.normal(size=(5, 7)), np.full((5, 1), -1e3)], axis=1
    )
    x[0, 0], x[1, 2], x[2, 4] = np.inf, np.nan, -np.inf
    inputs, left, right = sides(rule, "float64", x.shape)
    env = {inputs["x"]: x}
    assert ulps(value(right, env), truth(left, env), "float64", scale=1.0).max() <= 4


def test_patterns_match_both_orders_of_commutative_ops():
    x = placeholder("float64", (3,))
    from ckernels import ops

    for root in (ops.log(1 + ops.exp(x)), ops.log(ops.exp(x) + 1)):
        assert optimise([root], include={"log_of_one_plus_exp"})[0].op.name == "softplus"


def test_number_patterns_take_only_their_value():
    x = placeholder("float64", (3,))
    from ckernels import ops

    assert optimise([ops.log(2 + ops.exp(x))])[0].op.name == "log"
    assert Number(1).value == 1 and make  # the pattern keeps plain numbers
