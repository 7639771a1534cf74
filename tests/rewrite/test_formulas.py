"""Every formula of the tables is its own test: the right side is the exact value of the left side.

Where an input is NaN the result is NaN. Where the left side has no value for other inputs (inf -
inf), the right side is NaN too, except for the formulas in LIMITS, which give the limit there.
"""

import numpy as np
import pytest

from ckernels import ops
from ckernels.graph.node import constant
from ckernels.graph.walk import toposort
from ckernels.rewrite import optimise, rules
from ckernels.rewrite.engine import Pattern, Var, build, given

from .helpers import (
    DIGITS,
    MANY_DIGITS,
    MEANING,
    REDUCTIONS,
    awkward,
    placeholder,
    truth,
    ulps,
    value,
)
from .rules import EXAMPLES
from .test_rules import PAGE, kinds

# inf - inf, 0 * inf or inf / inf on the left; the right side is the limit.
LIMITS = {"log_ratio_tanh", "log_of_sum_of_exps", "log_of_difference_of_exps", "log_of_sqrt"}
MANY = {"log1p_of_minus_sigmoid"}  # mpmath itself loses 1 - sigmoid(x) beyond
# exp(x) + exp(y) near 1: no formula in the same precision keeps the digits of a logarithm near 0
CANCELS = {"log_of_sum_of_exps", "log_of_difference_of_exps"}
AXES = {"axes": (0,), "inner": (0,)}
ULP = {"log_of_sum_of_exps": 4, "log_of_difference_of_exps": 4, "one_minus_erf": 8}
SIGNS_OF_ZERO = {"product_of_neg"}  # x / -0.0 is not x / 0; the examples have them
# Squares on the way may overflow or vanish: test_powers_are_right_for_awkward_bases of test_rules.
ON_THE_WAY = {"pow_by_constant"}


def ops_of(pattern):
    """The names of the ops of a pattern."""
    own = {pattern.op} if type(pattern) is Pattern else set()
    return own.union(*map(ops_of, pattern.args))


def has_a_truth(rule, formula):
    """Whether mpmath says what the left side is; else the rule has examples.

    A formula with a condition holds for what the condition takes: that needs examples too.
    """
    known = ops_of(formula.left) <= set(MEANING) | set(REDUCTIONS) and formula.when is None
    return known and formula.takes("float64") and rule.name not in ON_THE_WAY


ALL = [(r, f) for r in rules() for f in r.formulas]
PROVED = [(r.name, f) for r, f in ALL if has_a_truth(r, f)]
of_each = pytest.mark.parametrize("name,formula", PROVED, ids=[f"{n}: {f}" for n, f in PROVED])


def test_formulas_read_the_same_in_every_process():
    """They are named in reports, and by the tests, which several processes collect."""
    assert not [str(f) for _, f in ALL if " at 0x" in str(f)]


def names(pattern, found=None):
    found = {} if found is None else found
    if isinstance(pattern, Var):
        found[pattern.name] = pattern
    for arg in pattern.args:
        names(arg, found)
    return found


def bound_to(var, dtype, shape):
    """A placeholder; a constant where the variable stands for numbers, one that it takes."""
    if var.op != "constant":
        return placeholder(dtype, shape, var.name)
    return next(n for n in (constant(3.0, dtype), constant(2.0, dtype)) if var.when(n))


def sides(formula, dtype, shape):
    """({name: placeholder}, the left side, the right side)."""
    bound = {k: bound_to(v, dtype, shape) for k, v in names(formula.left).items()}
    keywords = {**bound, **AXES} if "axes" in repr(formula.left) else bound
    left = build(formula.left, keywords, dtype)
    right = (
        build(formula.right, keywords, dtype)
        if isinstance(formula.right, Pattern)
        else given(formula.right, keywords)
    )
    return {k: n for k, n in bound.items() if n.value is None}, left, right


def is_reduction(formula):
    return "axes" in repr(formula.left)


def variables(formula):
    return sum(v.op is None for v in names(formula.left).values())


def points(dtype, count):
    line = awkward(dtype)
    if count == 1:
        return [line]
    a, b = np.meshgrid(line, line[::3])
    same = np.concatenate([a.ravel(), line])  # also pairs of equal operands
    return [same, np.concatenate([b.ravel(), line])]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@of_each
def test_right_side_is_the_true_value_of_the_left(name, formula, dtype):
    if is_reduction(formula):
        pytest.skip("reductions: see test_reductions")
    arrays = points(dtype, variables(formula))
    digits = DIGITS
    if name in MANY:
        arrays, digits = [a[~(np.abs(a) > 1e4) | np.isinf(a)] for a in arrays], MANY_DIGITS
    if "true_div" in ops_of(formula.left):  # mpmath has no -0.0, and x / -0.0 has its sign
        zero = 0.25 if name in SIGNS_OF_ZERO else 0
        arrays = [np.where(a == 0, zero, a).astype(dtype) for a in arrays]
    inputs, left, right = sides(formula, dtype, arrays[0].shape)
    env = dict(zip(inputs.values(), arrays))
    want = truth(left, env, digits)
    got = np.broadcast_to(value(right, env), want.shape)
    nan_in = np.any([np.isnan(a) for a in arrays], axis=0)
    assert np.isnan(got[nan_in]).all()
    free = np.isnan(want) & ~nan_in if name in LIMITS else np.zeros_like(nan_in)
    scale = np.max(np.abs(arrays), axis=0) if name in CANCELS else 0
    off = np.where(free, 0, ulps(got, want, dtype, scale))
    worst = int(np.argmax(off))
    assert off[worst] <= ULP.get(name, 2), (
        f"{name}({', '.join(str(a[worst]) for a in arrays)}): {got[worst]!r} "
        f"instead of {want[worst]!r}"
    )


@of_each
def test_formulas_that_change_nan_or_inf_are_in_the_guide(name, formula):
    if is_reduction(formula) or f"`{name}`" in PAGE.read_text():
        return
    arrays = points("float64", variables(formula))
    inputs, left, right = sides(formula, "float64", arrays[0].shape)
    env = dict(zip(inputs.values(), arrays))
    np.testing.assert_array_equal(kinds(value(left, env)), kinds(value(right, env)))


@of_each
def test_formula_applies_to_its_own_left_side(name, formula):
    inputs, left, right = sides(formula, "float64", (3, 2))
    trace = []
    optimise([left], include={name}, trace=trace)
    assert name in [name for name, _, _ in trace]


def test_formulas_without_a_truth_apply_to_examples():
    for rule, formula in ALL:
        if not has_a_truth(rule, formula):
            assert rule.name in EXAMPLES, (
                f"mpmath does not know all ops of {rule.name}: give it an example in rules/"
            )
            graphs = (fn(placeholder(dtype, shape)) for fn, shape, dtype, _ in EXAMPLES[rule.name])
            nodes = (n for graph in graphs for n in toposort([graph]))
            applied = (n.op.name == formula.left.op and formula.run(n) is not None for n in nodes)
            assert any(applied), f"{rule.name}: {formula}"


@pytest.mark.parametrize("formula", [f for _, f in PROVED if is_reduction(f)], ids=repr)
def test_reductions(formula):
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [rng.normal(size=(5, 7)), 1e4 * rng.normal(size=(5, 7)), np.full((5, 1), -1e3)], axis=1
    )
    x[0, 0], x[1, 2], x[2, 4] = np.inf, np.nan, -np.inf
    inputs, left, right = sides(formula, "float64", x.shape)
    env = {inputs["x"]: x}
    assert ulps(value(right, env), truth(left, env), "float64", scale=1.0).max() <= 4


def test_patterns_match_both_orders_of_commutative_ops():
    x = placeholder("float64", (3,))
    for root in (ops.log(1 + ops.exp(x)), ops.log(ops.exp(x) + 1)):
        assert optimise([root], include={"log_of_one_plus_exp"})[0].op.name == "softplus"


def test_number_patterns_take_only_their_value():
    x = placeholder("float64", (3,))
    assert optimise([ops.log(2 + ops.exp(x))])[0].op.name == "log"
