"""Factors of products and quotients: which cancel, which stay, and how they are seen behind views.

That each formula keeps the value is in test_rules.py and test_formulas.py.
"""

import random

import numpy as np
import pytest

from ckernels import ops
from ckernels.graph.node import constant
from ckernels.graph.walk import toposort
from ckernels.rewrite import optimise
from ckernels.rewrite.factors import into_scatter, negated, shown, write
from ckernels.rewrite.sums import terms

from .helpers import awkward, placeholder, value

F = "float64"
# ---- which cancel -------------------------------------------------------------------------------

CANCELLED = {
    "exp": ops.exp,
    "sum of exps": lambda t: ops.sum(ops.exp(t), keepdims=True),
    "square plus": lambda t: ops.square(t) + 1e-3,
    "norm": lambda t: ops.sqrt(ops.square(t) + 1e-3),
    "clipped": lambda t: ops.clip(t, 1e-7, 1.0),
    "two plus exp": lambda t: 2 + ops.exp(t),
    "reshaped": lambda t: ops.reshape(ops.softmax(t), t.shape),
}  # fmt: skip
KEPT = {
    "operand": lambda t: t,
    "sum": lambda t: ops.sum(t, keepdims=True),
    "square": ops.square,
    "sum of squares": lambda t: ops.sum(ops.square(t), keepdims=True),
    "difference": lambda t: ops.exp(t) - 3,
    "relu": lambda t: ops.relu(t) + ops.abs(t),
    "clipped from below 0": lambda t: ops.clip(t, -1.0, 1.0),
    "minimum": lambda t: ops.minimum(ops.exp(t), t),
    "plus": lambda t: t + 1e-3,
}  # fmt: skip


@pytest.mark.parametrize("name", CANCELLED)
def test_factors_that_only_rounding_makes_0_cancel(name):
    x, t = placeholder(F, (5,)), placeholder(F, (5,))
    y = CANCELLED[name](t)
    assert optimise([x * y / y])[0] is x and optimise([x / y * y])[0] is x
    assert optimise([y / y])[0] is optimise([ops.ones_like(y)])[0]


@pytest.mark.parametrize("name", KEPT)
def test_factors_that_may_be_0_stay(name):
    array = awkward(F)
    x, t = placeholder(F, array.shape), placeholder(F, array.shape)
    y = KEPT[name](t)
    for root in (x / y * y, x * y / y, (x / y + 1) * y, y / y):
        for array_of_t in (array, np.zeros_like(array), np.full_like(array, np.inf)):
            env = {x: np.roll(array, 1), t: array_of_t}
            np.testing.assert_array_equal(
                np.isnan(value(optimise([root])[0], env)), np.isnan(value(root, env))
            )


def test_no_factor_cancels_with_a_sum_over_nothing():
    x, t = placeholder(F, (3, 1)), placeholder(F, (3, 0))
    y = ops.sum(ops.exp(t), 1, keepdims=True)
    assert np.isnan(value(optimise([x / y * y])[0], {x: np.ones((3, 1)), t: np.ones((3, 0))})).all()


def test_zeros_of_both_signs_are_not_one_number():
    x = placeholder(F, (3,))
    new = optimise([1 / (x * constant(np.array([0.0, -0.0, 0.0])))])[0]
    np.testing.assert_array_equal(value(new, {x: np.ones(3)}), [np.inf, -np.inf, np.inf])


def test_quotient_of_itself_alone_keeps_nan():
    array = awkward(F)
    x = placeholder(F, array.shape)
    got = value(optimise([x / x])[0], {x: array})
    np.testing.assert_array_equal(np.isnan(got), (array == 0) | ~np.isfinite(array))


def test_numbers_that_overflow_together_stay_apart_without_a_warning():
    x = placeholder("float32", (3,))
    with np.errstate(all="raise"):
        for root in (x * 1e30 * 1e30, x / 1e30 / 1e30, x * 1e-30 * 1e-30):
            assert optimise([root])[0].inputs[0].op.name in ("mul", "true_div")


# ---- behind views -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 3, 4), (1, 3, 1), (1, 1, 4), (1, 1, 1), (4,), ()])
def test_an_operand_is_seen_without_the_axes_that_x_loses(shape):
    x, i = placeholder(F, (1, 3, 4)), placeholder(F, shape)
    array = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    new = shown(ops.squeeze(x, (0,)), i, x)
    if new is not None:
        want = np.broadcast_to(array, x.shape)[0]
        np.testing.assert_array_equal(np.broadcast_to(value(new, {i: array}), want.shape), want)
    assert (new is None) == (0 < len(shape) < 3)


@pytest.mark.parametrize("view", [
    lambda s: s, lambda s: ops.reshape(s, (2, 6)), lambda s: ops.expand(s, (1,)),
    lambda s: ops.transpose(s, (1, 0))])  # fmt: skip
def test_a_factor_goes_into_what_is_scattered_behind_views(view):
    t, v = placeholder(F, (3, 4)), placeholder(F, (2, 4))
    p, rows = ops.exp(t), [(0, 2, 1), (None, None, 1)]
    zeros = ops.broadcast_to(constant(np.zeros(())), (3, 4))
    scattered = ops.set_slice(zeros, v / ops.exp(t[:2]), rows)
    new = into_scatter(view(scattered), view(p), lambda f, dtype: write(f, dtype))
    rng = np.random.default_rng(0)
    env = {t: rng.normal(size=(3, 4)), v: rng.normal(size=(2, 4))}
    want = value(view(ops.concatenate([v, ops.zeros_like(t[:1])], 0)), env)
    assert new is not None
    np.testing.assert_allclose(value(new, env), want, rtol=1e-14)


@pytest.mark.parametrize("build, signs", [
    (lambda a, b, c: a - -(b - c), (1, 1, -1)), (lambda a, b, c: a + -(b + c), (1, -1, -1)),
    (lambda a, b, c: -a + b - -c, (-1, 1, 1))])  # fmt: skip
def test_the_terms_of_a_sum_have_signs(build, signs):
    a, b, c = (placeholder(F, (3,)) for _ in range(3))
    assert set(terms(build(a, b, c))) == set(zip(signs, (a, b, c)))


def viewed(draw, x, depth):
    """Views and gathers of `x`, one over the other, so that axes of size 1 come and go."""
    for _ in range(depth):
        kinds = ["expand", "reshape"]
        if x.ndim:
            kinds += ["transpose", "slice", "take", "places"]
        if 1 in x.shape:
            kinds.append("squeeze")
        kind, axis = draw.choice(kinds), draw.randrange(x.ndim) if x.ndim else 0
        if kind == "expand":
            x = ops.expand(x, (draw.randint(0, x.ndim),))
        elif kind == "reshape":
            x = ops.reshape(x, (1, *x.shape))
        elif kind == "squeeze":
            x = ops.squeeze(x, (x.shape.index(1),))
        elif kind == "transpose":
            x = ops.transpose(x, tuple(draw.sample(range(x.ndim), x.ndim)))
        elif kind == "slice":
            part = draw.choice([slice(1, None), slice(None, None, 2), slice(None, None, -1)])
            x = x[(slice(None),) * axis + (part,)]
        elif x.size:
            rows = draw.randint(1, 3)
            places = [np.array([draw.randrange(n) for _ in range(rows)]) for n in x.shape]
            x = ops.take(x, constant(places[axis]), axis) if kind == "take" else x[tuple(places)]
    return x


def computed(draw, x, z):
    """Products, quotients and functions of `x`, some with the factor `z` along its last axis."""
    for _ in range(draw.randint(1, 2)):
        fits = x.ndim and x.shape[-1] == z.shape[0]
        kind = draw.choice(["twice", "exp", "neg", *["times", "over"] * bool(fits)])
        x = {"twice": lambda x: x * 2.0, "exp": lambda x: ops.exp(x * 0.1), "neg": lambda x: -x,
             "times": lambda x: x * z, "over": lambda x: x / z}[kind](x)  # fmt: skip
    return x


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("seed", range(200))
def test_factors_behind_views_of_views_keep_the_value(seed):
    draw = random.Random(seed)
    n, rows = draw.choice([1, 2, 3, 5]), draw.choice([1, 1, 2, 3])
    x, z = placeholder(F, draw.choice([(n,), (rows, n)])), placeholder(F, (n,))
    y = x
    for _ in range(draw.randint(2, 3)):
        y = viewed(draw, computed(draw, y, z), draw.randint(1, 3))
    y = y / (1.0 + y)
    numbers = np.random.default_rng(seed)
    env = {x: numbers.uniform(2, 4, x.shape), z: numbers.uniform(2, 4, n)}
    new = optimise([y])[0]
    assert new.shape == y.shape
    np.testing.assert_allclose(value(new, env), value(y, env), rtol=1e-10)


def test_numbers_of_the_graph_stay_factors():
    """0-d tensors above and below the bar are read and written once, beside numbers and tensors."""
    x, y = placeholder(F, (3,)), placeholder(F, (3,))
    s, t, u = (placeholder(F, ()) for _ in range(3))
    env = {x: np.array([1.5, -2.0, 0.25]), y: np.array([3.0, 0.5, -4.0]), s: 3.0, t: -7.0, u: 0.75}
    env = {node: np.asarray(v) for node, v in env.items()}
    for root in (
        s * x * (2 * y) * t * ops.exp(x) / ops.exp(x),
        (x / s) * (y * t) / (u * ops.exp(y)) * ops.exp(y),
        s * (x / (t * y)) * ops.exp(x) / (u * ops.exp(x)),
        s * t / u * ops.exp(x) / ops.exp(x),
        -(s * x) / ops.exp(s) * ops.exp(s),
    ):
        new = optimise([root])[0]
        assert new is not root and "exp" not in {n.op.name for n in toposort([new])}
        np.testing.assert_allclose(value(new, env), value(root, env), rtol=1e-14)


def test_a_sign_goes_through_what_has_a_sign():
    x, y = placeholder(F, (2, 3)), placeholder(F, (2, 3))
    flat = (6,)
    assert negated(ops.neg(x)) is x
    assert negated(x - y) is y - x
    for inner, want in ((ops.neg(x), x), (x - y, y - x)):
        outer = negated(ops.reshape(inner, flat))
        assert (outer.op.name, outer.inputs[0], outer.shape) == ("reshape", want, flat)
    env = {x: np.arange(6.0).reshape(2, 3), y: np.full((2, 3), 2.5)}
    for root in (x * y, x / y, ops.exp(x), 3 - x, -2.0 * x, ops.reshape(x * y, flat)):
        np.testing.assert_array_equal(value(negated(root), env), -value(root, env))


def test_a_softmax_over_two_axes_of_rows_that_hold_inf():
    """As the guide says: of finite rows exp(t) / sum(exp(t)), beside an inf 0, at the inf NaN."""
    x = placeholder(F, (3, 2, 3))
    e = ops.exp(x - ops.max(x, axis=(1, 2), keepdims=True))
    new = optimise([e / ops.sum(e, axis=(1, 2), keepdims=True)])[0]
    values = np.linspace(-2, 2, 18).reshape(3, 2, 3)
    values[1, 0, 1], values[2, 1, 0] = np.inf, -np.inf
    want = np.exp(values)
    want[1] = 0
    want[1, 0, 1] = np.nan
    want[0], want[2] = want[0] / want[0].sum(), want[2] / want[2].sum()
    np.testing.assert_allclose(value(new, {x: values}), want, rtol=1e-14)
