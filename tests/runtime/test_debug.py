"""mode="debug" finds planted faults in kernels and rewrites; check="nan" names where NaN began."""

import warnings

import numpy as np
import pytest

import ckernels as K
from ckernels import config
from ckernels.base.errors import CKernelsWarning, ConfigError, DebugModeError, NonFiniteError
from ckernels.graph.op import REGISTRY
from ckernels.rewrite import _matchers, canonicalise
from ckernels.rewrite.engine import Rule
from ckernels.runtime import program

pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
HERE = __file__


@pytest.fixture(autouse=True)
def settings():
    with config.change(mode="compiled", floatX="float32"):
        yield


def line_with(mark):
    """The number of the line of this file that ends with a marking comment."""
    lines = open(HERE).read().splitlines()
    return next(k for k, text in enumerate(lines, 1) if text.rstrip().endswith(f"# {mark}"))


def network(mode=None, **options):
    """A training step with every kind of instruction; (function, variables)."""
    x, t = K.placeholder((None, 8), name="x"), K.placeholder((None, 3), name="t")
    rng = np.random.default_rng(1)
    w = K.variable(rng.normal(size=(8, 16)) / 3, name="w")
    v = K.variable(rng.normal(size=(16, 3)) / 3, name="v")
    hidden = K.relu(K.dot(x, w))
    p = K.softmax(K.dot(hidden, v))
    loss = K.mean(K.categorical_crossentropy(p, t))
    gw, gv = K.gradients(loss, [w, v])
    updates = [(w, w - 0.5 * gw), (v, v - 0.5 * gv)]
    outputs = [loss, K.argmax(p, axis=1), K.std(hidden, axis=0), K.cumsum(hidden, axis=1)]
    return K.function([x, t], outputs, updates=updates, mode=mode, **options), (w, v)


def batch(n=32):
    rng = np.random.default_rng(2)
    return rng.normal(size=(n, 8)).astype("f"), np.eye(3, dtype="f")[rng.integers(0, 3, n)]


def test_debug_mode_accepts_what_is_right_and_trains_alike():
    debug, mine = network("debug")
    plain, theirs = network()
    for n in (32, 32, 7):
        for a, b in zip(debug(*batch(n)), plain(*batch(n))):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    for a, b in zip(mine, theirs):
        np.testing.assert_allclose(K.get_value(a), K.get_value(b), rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "build",
    [
        lambda x: K.log(1 + K.exp(x)),  # overflows unless rewritten
        lambda x: K.log(K.softmax(x)),
        lambda x: K.sum(x - K.mean(x, axis=-1, keepdims=True), axis=-1),  # cancels to about 0
        lambda x: K.log(1 + x * 1e-9),
        lambda x: K.argmax(K.softmax(x), axis=-1),
        lambda x: K.sum(x[K.greater(x, 0)]),  # data decides a shape
        lambda x: K.cast(x, "float16") * 3,
        lambda x: K.cast(x * 100, "int8"),
        lambda x: K.std(x, axis=0) / K.sqrt(K.abs(x)),
        lambda x: x * K.random_uniform((4, 5), seed=1),
        lambda x: x / 0,
    ],
)
@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_no_false_alarm(build, scale):
    x = K.placeholder((None, 5), name="x")
    a = (np.random.default_rng(3).normal(size=(4, 5)) * scale).astype("f")
    K.function([x], build(x), mode="debug")(a)


@pytest.fixture
def wrong_sinh():
    """The C of sinh is that of cosh."""
    row, right = REGISTRY["sinh"], REGISTRY["sinh"].c
    program._emitted.clear()
    object.__setattr__(row, "c", REGISTRY["cosh"].c)  # ops are frozen
    yield
    object.__setattr__(row, "c", right)
    program._emitted.clear()


def test_the_first_wrong_kernel_is_named_with_its_line(wrong_sinh):
    x = K.placeholder((None,), name="x")
    y = K.exp(K.cos(x))
    z = sinh(y)
    v = K.variable(1.0)
    f = K.function([x], K.sum(K.sqrt(z)), updates=[(v, v + 1)], mode="debug")
    with pytest.raises(DebugModeError, match="`sinh`") as caught:
        f(np.arange(4, dtype="f"))
    assert f":{line_with('the culprit')} " in str(caught.value)
    assert "instead of" in str(caught.value) and len(str(caught.value).splitlines()) <= 15
    assert K.get_value(v) == 1


def sinh(x):
    from ckernels.api.tensor import Tensor
    from ckernels.graph.node import make

    return Tensor(make("sinh", (x.node,)))  # the culprit


def test_a_wrong_rewrite_is_named():
    def wrong(node):
        return node.inputs[0]

    rule = Rule("cos_is_nothing", "canonicalise", ("cos",), wrong)
    family = canonicalise.family
    family.append(rule)
    _matchers.cache_clear()
    try:
        x = K.placeholder((None,), name="x")
        f = K.function([x], K.cos(x) + 1, mode="debug")
        with pytest.raises(DebugModeError, match="rewrites"):
            f(np.arange(4, dtype="f"))
    finally:
        family.remove(rule)
        _matchers.cache_clear()


def test_fast_compile_gives_the_same_numbers():
    fast, mine = network("fast_compile")
    plain, theirs = network()
    for _ in range(3):
        for a, b in zip(fast(*batch()), plain(*batch())):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert fast.stats()["kernels"]
    for a, b in zip(mine, theirs):
        np.testing.assert_allclose(K.get_value(a), K.get_value(b), rtol=1e-4, atol=1e-5)


# ---- check="nan" ----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["compiled", "reference", "debug"])
def test_nan_is_traced_to_its_origin(mode):
    x = K.placeholder((None,), name="x")
    v = K.variable(np.ones(3))
    root = K.arccos(x - 1)  # the origin
    f = K.function([x], K.sum(root * 2), updates=[(v, v + root)], mode=mode, check="nan")
    np.testing.assert_allclose(f(np.array([1, 2, 2], "f")), np.pi, rtol=1e-5)
    np.testing.assert_allclose(K.get_value(v), [1 + np.pi / 2, 1, 1], rtol=1e-5)
    before = K.get_value(v)
    with pytest.raises(NonFiniteError, match="`acos` computed 1 NaN") as caught:
        f(np.array([0.5, -2, 1], "f"))
    text = str(caught.value)
    assert f":{line_with('the origin')} " in text and "from -3 to 0" in text, text
    np.testing.assert_array_equal(K.get_value(v), before)  # nothing was updated


def test_inf_in_an_update_and_in_an_input():
    x = K.placeholder((None,), name="x")
    v = K.variable(np.zeros(2), name="v")
    f = K.function([x], [], updates=[(v, v + 1 / x)], check="nan")
    f(np.array([1, 2], "f"))
    with pytest.raises(NonFiniteError, match="1 inf") as caught:
        f(np.array([1, 0], "f"))
    assert caught.value.made
    with pytest.raises(NonFiniteError, match="the input x has 1 NaN"):
        f(np.array([1, np.nan], "f"))
    np.testing.assert_array_equal(K.get_value(v), [1, 0.5])
    K.set_value(v, np.array([np.inf, 1], "f"))
    with pytest.raises(NonFiniteError, match="the variable v has 1 inf"):
        f(np.array([1, 1], "f"))


def test_what_a_switch_leaves_out_is_not_blamed():
    x = K.placeholder((None,), name="x")
    safe = K.where(K.greater(x, 0), 1 / x, K.zeros_like(x))
    f = K.function([x], K.log(safe - 1), check="nan")
    with pytest.raises(NonFiniteError, match="`log"):
        f(np.array([0.0, 4.0, 0.5], "f"))


def test_overflow_of_a_sum_of_finite_numbers_is_no_alarm():
    x = K.placeholder((None,), name="x")
    big = np.full(4, 3e38, "f")
    np.testing.assert_array_equal(K.function([x], x + 0, check="nan")(big), big)


def test_integers_and_random_state_are_let_through():
    x = K.placeholder((None,), dtype="int32", name="x")
    f = K.function([x], [x * 2, K.random_uniform((3,), seed=1)], check="nan")
    first = f(np.array([1, 2], "int32"))
    second = f(np.array([1, 2], "int32"))
    assert (first[1] != second[1]).any() and (first[0] == [2, 4]).all()


def test_the_flag_and_its_words():
    x = K.placeholder((None,), name="x")
    with config.change(check="nan"):
        f, g = K.function([x], K.log(x)), K.function([x], K.log(x), check="none")
    bad = np.array([-1], "f")
    assert np.isnan(g(bad)).all()
    with pytest.raises(NonFiniteError):
        f(bad)
    with pytest.raises(NonFiniteError):
        f.copy()(bad)
    with pytest.raises(ConfigError):
        K.function([x], x, check="nonsense")


def test_the_network_runs_checked_with_the_same_kernels():
    checked, mine = network(check="nan")
    plain, theirs = network()
    for _ in range(3):
        for a, b in zip(checked(*batch()), plain(*batch())):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(mine, theirs):
        np.testing.assert_array_equal(K.get_value(a), K.get_value(b))
    again = plain.spec.like(check="nan").callable()  # of the very same graph
    again(*batch())
    assert {k["key"] for k in again.stats()["kernels"]} == {
        k["key"] for k in plain.stats()["kernels"]
    }


def test_a_warning_where_rewriting_makes_a_number():
    x = K.placeholder((None,), name="x")
    f = K.function([x], K.log(1 + K.exp(x)), mode="debug")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(np.ones(3))
    with pytest.warns(CKernelsWarning, match="NaN or inf as written in 2 of its elements"):
        f(np.array([1.0, 800.0, 900.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(np.array([800.0]))  # once is enough
        z = K.function([x], x / x * x, mode="debug")(np.zeros(1))  # NaN as written: no surprise
    assert np.isnan(z).all()
