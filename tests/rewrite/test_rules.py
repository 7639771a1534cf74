"""Every rule that is code has examples: the rule applies, and the result equals the original.

Examples and near misses stand in rules/, a file for some families each. EXACT examples agree on
awkward inputs (NaN, inf, subnormal; the sign of a zero is free). CLOSE ones agree to rounding on
ordinary numbers. Documented exceptions have tests of their own below.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from ckernels import ops
from ckernels.base import dtypes
from ckernels.graph.node import constant
from ckernels.graph.walk import toposort
from ckernels.rewrite import ALWAYS, optimise, rules
from ckernels.rewrite.engine import given, match

from .helpers import awkward, placeholder, ulps, value
from .rules import EXAMPLES, FILES, NEAR
from .rules.written import dense

F = "float64"
CASES = [(name, i) for name, examples in EXAMPLES.items() for i in range(len(examples))]


def inputs_for(shape, dtype, exact):
    size = int(np.prod(shape))
    if dtype == "bool":
        return np.arange(size).reshape(shape) % 2 == 0
    if dtype in dtypes.SIGNED:
        return np.resize(np.array([0, 1, -1, 7, -8, 100, np.iinfo(dtype).min], dtype), shape)
    if dtype in dtypes.UNSIGNED:
        return np.resize(np.array([0, 1, 7, 200, np.iinfo(dtype).max], dtype), shape)
    if dtype in ("complex64", "complex128"):
        return np.resize(np.array([0, 1, -1j, 2 - 3j, 0.5j], dtype), shape)
    if not exact:
        return dense(*shape).astype(dtype)
    numbers = awkward(dtype)
    return np.array(
        [np.resize(np.roll(numbers, 5 * k), shape) for k in range(-(-len(numbers) // 5))]
    )


@pytest.mark.parametrize("name,index", CASES, ids=[f"{n}-{i}" for n, i in CASES])
def test_rule_keeps_the_value(name, index):
    fn, shape, dtype, exact = EXAMPLES[name][index]
    x = placeholder(dtype, shape)
    root = fn(x)
    trace = []
    alone = optimise([root], include={name}, trace=trace)[0]
    fully = optimise([root])[0]
    if name not in [n for n, _, _ in trace]:  # some rules see only what others made
        trace = []
        optimise([root], trace=trace)
    assert name in [n for n, _, _ in trace]
    batch = inputs_for(shape, dtype, exact)
    for array in batch if batch.ndim > len(shape) else [batch]:
        want = value(root, {x: array})
        for new in (alone, fully):
            assert new.dtype == root.dtype and new.shape == root.shape
            got = value(new, {x: array})
            if exact:
                np.testing.assert_array_equal(got, want)
            else:
                np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


def test_every_rule_has_examples():
    assert {r.name for r in rules() if not r.formulas} <= set(EXAMPLES) <= {r.name for r in rules()}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.__name__.rpartition(".")[2])
def test_a_file_has_the_rules_of_its_families(file):
    families = {r.name: r.family for r in rules()}
    assert {families[name] for name in file.NEAR} == set(file.FAMILIES)
    assert set(file.EXAMPLES) <= set(file.NEAR)


def test_rules_that_are_code_say_why_and_stand_in_the_table():
    code = {r.name: r for r in rules() if not r.formulas}
    silent = [name for name, r in code.items() if not re.search(r"Code:\s", r.doc)]
    assert not silent, silent
    page = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
    table = page.split("| rules that are code |")[1].split("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", table)) == set(code)


# A condition of these is met by every node that has their form: there is nothing to refuse.
TOTAL = {"merge_reshapes", "shapes_known", "lower", "no_mark"}


@pytest.mark.parametrize("name", NEAR)
def test_rules_leave_what_almost_fits(name):
    dtype, graphs = NEAR[name]
    for fn in graphs:
        trace = []
        optimise([fn(placeholder(dtype, (7,)))], include={name}, trace=trace)
        applied = {rule for rule, _, _ in trace}
        assert name not in applied and applied <= ALWAYS, trace


def test_every_rule_has_a_near_miss():
    assert set(NEAR) == {r.name for r in rules()}


CONDITIONS = [(r.name, k) for r in rules() for k, f in enumerate(r.formulas) if f.when is not None]


@pytest.mark.parametrize("name,k", CONDITIONS, ids=[f"{n}-{k}" for n, k in CONDITIONS])
def test_a_near_miss_has_the_form_that_a_condition_refuses(name, k):
    """Without the condition the formula would take one of them."""
    formula = next(r for r in rules() if r.name == name).formulas[k]
    dtype, graphs = NEAR[name]
    nodes = [n for fn in graphs for n in toposort([fn(placeholder(dtype, (7,)))])]
    nodes = [n for n in nodes if n.op.name == formula.left.op and formula.takes(n.dtype)]
    assert any(
        not given(formula.when, {**bound, "node": n})
        for n in nodes
        for bound in match(formula.left, n, {}, formula.views)
    )


# --- documented exceptions ------------------------------------------------------------------------


def awkward_graph(fn):
    array = awkward(F)
    x = placeholder(F, array.shape)
    return array, value(optimise([fn(x)])[0], {x: array})


@pytest.mark.parametrize("number", [0.0, -0.0])
def test_masks_of_zero_stay(number):
    array = awkward(F)
    x = placeholder(F, array.shape)
    for op in (ops.masked_mul, ops.masked_div):
        got = value(optimise([op(constant(number, F), x)])[0], {x: array})
        np.testing.assert_array_equal(got, np.zeros_like(array))


def test_power_one_half_is_the_square_root():
    array, got = awkward_graph(lambda x: x**0.5)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, np.sqrt(array))


def test_powers_are_right_for_awkward_bases():
    for p in (2, 3, 4, 5, 6, 7, 8, 10, 12, -1, -2, 1.5, -0.5):
        array, got = awkward_graph(lambda x, p=p: ops.abs(x) ** p)
        with np.errstate(all="ignore"):
            want = np.power(np.abs(array), p)
        normal = (np.abs(want) > 1e-300) | (want == 0) | np.isnan(want)  # else intermediates round
        assert ulps(got, want, F)[normal].max() <= (4 if p < 7 else 7), p


def test_float_times_zero_keeps_nan():
    array, got = awkward_graph(lambda x: x * 0)
    np.testing.assert_array_equal(np.isnan(got), ~np.isfinite(array))


def test_compensated_sums_are_left_alone():
    x, y = placeholder(F, (3,)), placeholder(F, (3,))
    lost = (x + y) - x - y
    a, b = np.array([1e20, 1.0, 3.0]), np.array([1.0, 1e-20, 1e-17])
    assert optimise([lost])[0].op.name == "sub"
    np.testing.assert_array_equal(value(optimise([lost])[0], {x: a, y: b}), (a + b) - a - b)


# --- what the guide lists -------------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "rewriting.md"


def kinds(array):
    """NaN, inf, -inf or a number, for each element."""
    return np.where(np.isnan(array), 2, np.where(np.isinf(array), np.sign(array), 0))


def changes(fn, shape, dtype, name):
    """Whether the rule `name` makes a number of a NaN or inf, or the other way round."""
    x = placeholder(dtype, shape)
    root = fn(x)
    new = optimise([root], include={name})[0]
    numbers = awkward(dtype)
    for k in range(len(numbers)):
        rolled = np.roll(numbers, 3 * k)
        for array in (
            np.resize(rolled, shape),
            np.resize(rolled[:: 1 + k % 7], shape),
            np.full(shape, numbers[k]),
        ):
            with np.errstate(all="ignore"):
                before, after = (value(n, {x: array}) for n in (root, new))
            if (kinds(before) != kinds(after)).any():
                return True
    return False


def test_rules_that_change_nan_or_inf_are_in_the_guide():
    page = PAGE.read_text()
    for name, examples in EXAMPLES.items():
        for fn, shape, dtype, _ in examples:
            if dtype in ("float32", F) and f"`{name}`" not in page:
                assert not changes(fn, shape, dtype, name), name
