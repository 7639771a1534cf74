"""Every rule over every dtype: at the limits of integers and bools exact, of other dtypes as exact
as the rule is of float64."""

import itertools

import numpy as np
import pytest

from ckernels.base import dtypes
from ckernels.base.errors import CKernelsError
from ckernels.graph.node import constant
from ckernels.graph.op import REGISTRY
from ckernels.graph.walk import rebuild, toposort
from ckernels.rewrite import optimise, rules
from ckernels.rewrite.engine import Pattern, Var, build

from .helpers import placeholder, value
from .rules import EXAMPLES

ALL = [d for d in dtypes.ITEMSIZE if dtypes.available(d)]
OTHERS = [d for d in ALL if d not in ("float32", "float64")]  # those: test_formulas, test_rules
# Formulas round in another order than what they replace, or keep what would overflow: of float16
# and bfloat16 they are compared where numbers are ordinary, to some units in the last place.
ULPS = 40


def limits(dtype):
    """Numbers at the ends of a dtype, and around 0; ordinary ones where it rounds."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in dtypes.INTEGERS:
        info = np.iinfo(dtype)
        middle = info.max // 2 + 1
        near = {info.min, info.min + 1, info.max, info.max - 1, middle, -1, 0, 1, 2, 3, 7, -8}
        return np.array(sorted(n for n in near if info.min <= n <= info.max), dtype)
    if dtypes.is_complex(dtype):
        return np.array([0, 1, -1, 1j, -1j, 2 - 3j, -0.5 + 0.25j, 3.0, -2.5j], dtype)
    return np.array([0.5, -0.5, 1, -1, 0.25, 2, -3, 1.75, -0.625], np.dtype(dtype))


def points(root, dtype):
    """Numbers for the operands of `root`: small ones where integers become floats."""
    at = limits(dtype)
    if dtype in dtypes.INTEGERS and not is_exact(root):
        return at[(at < 8) & (at + 8 < 16)] if dtype in dtypes.SIGNED else at[at < 8]
    return at


def is_exact(root):
    """Whether nothing under `root` rounds."""
    return all(dtypes.is_discrete(n.dtype) for n in toposort([root]) if n.outs is None)


def names(pattern):
    """{name: Var} of the nodes of a pattern."""
    own = {pattern.name: pattern} if isinstance(pattern, Var) else {}
    return own | {k: v for a in pattern.args for k, v in names(a).items()}


def is_elementwise(pattern):
    """Whether a pattern consists of elementwise ops of nodes and numbers; other formulas are tried
    by their examples."""
    if type(pattern) is not Pattern:
        return True
    if any(isinstance(v, Var) for v in pattern.attrs.values()) and pattern.op != "cast":
        return False
    return REGISTRY[pattern.op].kind == "elementwise" and all(map(is_elementwise, pattern.args))


def lefts(formula, dtype):
    """The left side of a formula with placeholders of `dtype`, and with each choice of numbers and
    of dtypes that it casts to."""
    found = names(formula.left)
    given = [k for k, v in found.items() if v.op == "constant"]
    own = {k: placeholder(dtype, (), k) for k in found if k not in given}
    choices = [[constant(n, dtype) for n in limits(dtype)] for _ in given]
    casts = sorted({n for n in ("to", "via") if f"dtype={n}" in repr(formula.left)})
    choices += [ALL for _ in casts]
    for choice in itertools.product(*choices):
        try:
            bound = {**own, **dict(zip([*given, *casts], choice))}
            yield list(own.values()), build(formula.left, bound, dtype)
        except (CKernelsError, OverflowError):  # an op or a number that is not for this dtype
            continue


def same(got, want):
    """Whether two arrays of one dtype are equal; but for rounding where they are floats."""
    got, want = np.broadcast_arrays(np.asarray(got), np.asarray(want))
    dtype = want.dtype.name
    assert got.dtype == want.dtype
    if dtypes.is_discrete(dtype):
        return np.array_equal(got, want)
    wide = "complex128" if dtypes.is_complex(dtype) else "float64"
    kept = np.isfinite(want.astype(wide))
    rounding = float(dtypes.finfo(dtype).eps) * ULPS
    return np.allclose(
        got.astype(wide)[kept], want.astype(wide)[kept], rtol=rounding, atol=rounding
    )


def check(name, root, envs):
    """What the rule `name` alone makes of `root`, and what all rules do, is compared with it."""
    alone, whole = optimise([root], include={name})[0], optimise([root])[0]
    for env in envs:
        want = value(root, env)
        for new in (alone, whole):
            assert (new.dtype, new.shape) == (root.dtype, root.shape)
            assert same(value(new, env), want), (name, root.dtype, env, new)


FORMULAS = [(r.name, f) for r in rules() for f in r.formulas if is_elementwise(f.left)]
ALWAYS = ("bool", "int8", "uint64", "float16", "complex64")
AGAIN = [d for d in OTHERS if d not in ALWAYS]  # like one of those, but for their sizes


def some(number):
    """The dtypes that a case is tried over: one of each kind, and two of the others in turn."""
    return [*ALWAYS, *(AGAIN * 2)[number % len(AGAIN) :][:2]]


@pytest.mark.parametrize("k", range(len(FORMULAS)), ids=[f"{n}: {f}" for n, f in FORMULAS])
def test_formula_at_the_limits_of_every_dtype(k):
    over_dtypes(*FORMULAS[k], some(k))


def over_dtypes(name, formula, over):
    for dtype in over:
        for leaves, left in lefts(formula, dtype):
            at = points(left, dtype)
            pairs = itertools.product(at, repeat=len(leaves))
            arrays = [np.array(column, at.dtype) for column in zip(*pairs)]
            wide = [placeholder(dtype, a.shape) for a in arrays]
            check(name, rebuild([left], dict(zip(leaves, wide)))[0], [dict(zip(wide, arrays))])


def examples():
    return [(name, k) for name, found in EXAMPLES.items() for k in range(len(found))]


@pytest.mark.parametrize("name,k", examples(), ids=[f"{n}-{k}" for n, k in examples()])
def test_example_of_every_dtype(name, k):
    over_dtypes_of_example(name, k, some(examples().index((name, k))))


def over_dtypes_of_example(name, k, over):
    build_graph, shape, *_ = EXAMPLES[name][k]
    for dtype in over:
        x = placeholder(dtype, shape)
        try:
            root = build_graph(x)
        except CKernelsError:  # its ops do not take this dtype, or its constants do not fit
            continue
        at = points(root, dtype)
        check(name, root, [{x: np.resize(np.roll(at, 5 * turn), shape)} for turn in range(3)])


@pytest.mark.slow
def test_all_of_them_over_all_dtypes():
    for name, formula in FORMULAS:
        over_dtypes(name, formula, OTHERS)
    for name, k in examples():
        over_dtypes_of_example(name, k, OTHERS)


# Rules of which a dtype is all of the condition, and a dtype that each leaves alone.
LEAVES = {
    "times_one": ["uint8", "float64"],
    "minus_itself": ["float16", "complex64"],
    "even_of_neg": ["uint8", "uint16", "uint32", "uint64", "complex64"],
    "equal_factors": ["bool"],
    "merge_factors": ["float16", "int32", "complex64"],
    "merge_terms": ["float64", "float16", "complex64"],
    "divide_by_power_of_two": ["float16", "complex128"],
}


@pytest.mark.parametrize("name", LEAVES)
def test_a_rule_says_for_which_dtypes_it_holds(name):
    """Each of these dtypes is refused by a formula of the rule that others pass."""
    formulas = next(r.formulas for r in rules() if r.name == name)
    for dtype in LEAVES[name]:
        assert not all(f.takes(dtype) for f in formulas), (name, dtype)
        assert any(f.takes(d) for f in formulas for d in ALL), name


def test_the_limits_are_those():
    assert {-128, 127, -1, 0, 64} <= set(limits("int8").tolist())
    assert {0, 1, 2**64 - 1, 2**63} <= set(limits("uint64").tolist())
    assert {n for n, _ in FORMULAS} | set(EXAMPLES) >= {r.name for r in rules() if not r.formulas}
    missed = {r.name for r in rules()} - {n for n, _ in FORMULAS} - set(EXAMPLES)
    assert missed <= {"log_of_sum_exp", "log_of_mean_exp"}, missed  # of floats: test_reductions
