"""evaluate and its kin: where operands come from, results, caches, threads, hostile texts."""

import gc
import threading
import weakref

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.errors import ArgumentError, UsageError
from ckernels.jit.expression import run
from ckernels.jit.expression.run import validate

outside = np.arange(3.0)
SHAPES = [(0,), (1,), (5,), (2, 3), (2, 0, 3), ()]


def test_operands_are_the_callers_variables():
    inside = np.ones(3)
    np.testing.assert_array_equal(ck.evaluate("inside + outside"), outside + 1)
    inside = inside * 2
    np.testing.assert_array_equal(ck.evaluate("inside + outside"), outside + 2)
    np.testing.assert_array_equal(ck.evaluate("x + outside", {"x": 1}), outside + 1)
    found = ck.evaluate("x + outside", {"x": 1}, {"outside": np.zeros(2)})
    np.testing.assert_array_equal(found, [1, 1])
    np.testing.assert_array_equal(ck.evaluate("outside + 0", {}), outside)
    with pytest.raises(KeyError, match="nowhere"):
        ck.evaluate("outside + nowhere")


@pytest.mark.parametrize("shape", SHAPES)
def test_one_text_serves_all_shapes_and_dtypes(shape):
    rng = np.random.default_rng(0)
    for dtype in ("float64", "float32", "int16", "float64", "complex64", ">f8", "float64"):
        a = (rng.normal(size=shape) * 5).astype(dtype)
        for view in (a, a[..., ::-1] if a.ndim else a, a.T):
            got = ck.evaluate("2 * a + 1", {"a": view})
            assert got.dtype == (2 * view + 1).dtype and np.shape(got) == view.shape
            np.testing.assert_allclose(got, 2 * view + 1, rtol=1e-6)


def test_operands_that_do_not_lie_well():
    bytes_ = np.zeros(41, "uint8")
    unaligned = bytes_[1:].view("float64")
    unaligned[:] = np.arange(5)
    records = np.zeros(4, [("i", "i4"), ("f", "u2")])
    records["i"] = range(4)
    np.testing.assert_array_equal(ck.evaluate("u + 1", {"u": unaligned}), np.arange(5) + 1)
    np.testing.assert_array_equal(ck.evaluate("i + 1", {"i": records["i"]}), np.arange(4) + 1)
    np.testing.assert_array_equal(ck.evaluate("x + 1", {"x": [1, 2]}), [2, 3])
    np.testing.assert_array_equal(ck.evaluate("x + 1", {"x": np.matrix([1, 2])}), [[2, 3]])


def test_a_result_is_new():
    a = np.arange(3.0)
    result = ck.evaluate("a")
    result[0] = 7
    assert a[0] == 0


def test_results_of_no_dimensions_are_scalars():
    for _ in range(2):
        assert type(ck.evaluate("sum(outside)")) is np.float64
    assert type(ck.evaluate("x + 1", {"x": 1})) is np.int64
    assert type(ck.evaluate("x + 1", {"x": np.float32(1)})) is np.float32
    assert type(ck.evaluate("1 + 1")) is np.int64


def test_out_order_and_casting():
    a = np.arange(6.0).reshape(2, 3)
    out = np.empty((2, 3), "float32")
    assert ck.evaluate("a + 1", out=out) is out
    np.testing.assert_array_equal(out, a + 1)
    assert ck.evaluate("a + 1", out=a) is a and a[0, 0] == 1
    with pytest.raises(TypeError, match="cast"):
        ck.evaluate("a + 1", out=np.empty((2, 3), int))
    ck.evaluate("a + 1", out=np.empty((2, 3), int), casting="unsafe")
    with pytest.raises(ValueError, match="broadcast"):
        ck.evaluate("a + 1", out=np.empty(2))
    for order in "CF":
        assert ck.evaluate("a + 1", order=order).flags[f"{order}_CONTIGUOUS"]


def test_re_evaluate_repeats_with_present_values():
    a = np.arange(3.0)
    ck.evaluate("a * 2")
    a = a + 1
    np.testing.assert_array_equal(ck.re_evaluate(), a * 2)
    np.testing.assert_array_equal(ck.re_evaluate({"a": np.arange(2)}), [0, 2])
    out = np.empty(3)
    ck.evaluate("a * 2", out=out)
    a = a + 1
    again = ck.re_evaluate()
    assert again is out and out[0] == a[0] * 2
    del again
    gone = weakref.ref(out)
    del out
    gc.collect()
    assert gone() is None
    np.testing.assert_array_equal(ck.re_evaluate(), a * 2)


def test_re_evaluate_is_of_its_thread():
    failed = []

    def other():
        try:
            ck.re_evaluate({"a": 1})
        except RuntimeError:
            failed.append(True)

    ck.evaluate("a + 1", {"a": 1})
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert failed == [True]


def test_validate_tells_what_evaluate_would_raise():
    a = np.arange(3.0)
    assert validate("a + 1") is None
    np.testing.assert_array_equal(ck.re_evaluate(), a + 1)
    for text, kind in {"2+": SyntaxError, "a[0]": ValueError, "a + b": KeyError,
                       "a and a": TypeError}.items():  # fmt: skip
        assert isinstance(validate(text, {"a": a}), kind)


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(run, "EXPRESSIONS", 10)
    monkeypatch.setattr(run, "FUNCTIONS", 3)
    for k in range(30):
        assert ck.evaluate(f"a + {k}", {"a": 1}) == k + 1
        assert len(run._known) <= 10
    for ndim in range(6):
        assert ck.evaluate("a + 1", {"a": np.zeros((1,) * ndim)}).ndim == ndim
    assert len(run._known["a + 1"].functions) <= 3
    ck.evaluate("a + 1", {"a": 1}, disable_cache=True)
    assert "a + 1" not in run._known


def test_threads_with_other_dtypes_of_one_text():
    wrong = []

    def work(dtype, ndim):
        a = np.ones((3,) * ndim, dtype)
        for _ in range(300):
            got = ck.evaluate("sum(a) + a", {"a": a})
            if got.dtype != dtype or got.ndim != ndim or (got != a.size + 1).any():
                wrong.append(got)

    kinds = [("float32", 0), ("float64", 1), ("float32", 2), ("float64", 0)]
    threads = [threading.Thread(target=work, args=kind) for kind in kinds]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_options_of_numexpr_change_nothing():
    a = np.arange(4)
    for options in ({"truediv": False}, {"optimization": "none"}, {"sanitize": False}):
        np.testing.assert_array_equal(ck.evaluate("a / 2", **options), a / 2)


# ---- hostile texts ------------------------------------------------------------------------------

HOSTILE = {
    "powers of powers": "**".join(["9"] * 50),
    "shift": "1 << (1 << 62)",
    "100,000 signs": "-" * 100_000 + "a",
    "parentheses": "(" * 100_000 + "a" + ")" * 100_000,
    "digits": "9" * 100_000,
    "string": "'a' * 10**9",
    "products": "*".join(["9223372036854775807"] * 1000),
    "class": "a.__class__.__bases__",
    "attribute": "a.tofile",
    "call": "__import__('os').system('true')",
    "lambda": "(lambda: a)()",
    "index": "a[1]",
    "comprehension": "sum(a for a in a)",
    "million": "a+" * 600_000 + "a",
}
COMPUTED = {
    "12,000 signs": ("-" * 12_000 + "a", lambda a: a),
    "9,000 parentheses": ("(" * 9_000 + "a" + ")" * 9_000, lambda a: a),
    "3,000 terms": (
        "+".join(f"a*{k}" for k in range(3000)), lambda a: a * (2999 * 3000 // 2)),
    "deep calls": ("abs(" * 3000 + "a" + ")" * 3000, np.abs),
    "deep choices": ("where(a>1," * 1000 + "a" + ",1)" * 1000, lambda a: np.where(a > 1, a, 1)),
    "a huge power": ("a ** 2 ** 62", lambda a: a ** 2.0**62),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_refused(name):
    with pytest.raises((ArgumentError, UsageError, SyntaxError)):
        ck.evaluate(HOSTILE[name], {"a": np.ones(3)})


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", COMPUTED)
def test_large_texts_are_computed(name):
    text, function = COMPUTED[name]
    a = np.array([0.0, 1.0, 0.5])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(ck.evaluate(text, {"a": a}), function(a), rtol=1e-12)


def test_any_number_of_operands():
    names = {f"v{k}": np.full(3, k) for k in range(64)}
    np.testing.assert_array_equal(ck.evaluate(" + ".join(names), names), np.full(3, 2016))


# ---- gradients ----------------------------------------------------------------------------------


def differences(text, names, name, h=1e-6):
    x = np.asarray(names[name], float)
    slope = np.zeros(x.shape)
    for at in np.ndindex(x.shape):
        sides = []
        for step in (h, -h):
            moved = x.copy()
            moved[at] += step
            sides.append(np.sum(ck.evaluate(text, {**names, name: moved})))
        slope[at] = (sides[0] - sides[1]) / (2 * h)
    return slope


@pytest.mark.parametrize(
    "text",
    ["sum((w * x - y) ** 2)", "sin(x) * exp(-x / w)", "where(x > y, x * y, w)", "x / (1 + y)",
     "arctan2(x, y) + hypot(x, w)", "mean(log1p(x ** 2)) + max(x)", "sqrt(x) * w", "y"],
)  # fmt: skip
def test_gradients_are_finite_differences(text):
    rng = np.random.default_rng(1)
    names = {"x": rng.uniform(0.5, 2, (3, 4)), "y": rng.uniform(0.5, 2, 4), "w": 1.5}
    names = {n: v for n, v in names.items() if n in text}
    slopes = ck.evaluate_grad(text, list(names), names)
    for (name, value), slope in zip(names.items(), slopes):
        assert np.shape(slope) == np.shape(value)
        np.testing.assert_allclose(slope, differences(text, names, name), rtol=1e-5, atol=1e-7)


def test_gradients_with_the_value_and_dtypes():
    x = np.arange(3, dtype="float32")
    value, slope = ck.evaluate_grad("sum(x * x)", "x", value=True)
    assert value == 5 and slope.dtype == "float32"
    np.testing.assert_array_equal(slope, 2 * x)
    np.testing.assert_array_equal(ck.evaluate_grad("x * n", "x", {"x": x, "n": 3}), [3, 3, 3])


def test_gradients_that_there_are_not():
    x, n = np.ones(3), np.arange(3)
    for text, wrt in (("x * n", "n"), ("x * n", "z"), ("n + n", "n"), ("n < x", "x")):
        with pytest.raises(UsageError):
            ck.evaluate_grad(text, wrt, {"x": x, "n": n})


A = np.arange(3.0)


@pytest.mark.parametrize(
    "call, problem, sentence",
    [
        (lambda: ck.evaluate(["A"]), ArgumentError, "an expression is a string"),
        (lambda: ck.evaluate("A", 7), UsageError, "local_dict must be a dict, not int"),
        (lambda: ck.evaluate("A", {}, [A]), UsageError, "global_dict must be a dict, not list"),
        (lambda: ck.evaluate("A", out=3), UsageError, "out must be an array of NumPy, not int"),
        (lambda: ck.evaluate("A", order=A), UsageError, "order must be a string"),
        (lambda: ck.evaluate("A", disable_cache=A), UsageError, "disable_cache must be True or"),
        (lambda: ck.evaluate_grad("A", 3), UsageError, "wrt must be a list, not 3"),
        (lambda: ck.evaluate_grad("A", [A]), UsageError, "a name in wrt must be a string"),
        (lambda: ck.evaluate_grad("A", "A", value=A), UsageError, "value must be True or False"),
        (lambda: ck.re_evaluate(3), UsageError, "local_dict must be a dict, not int"),
    ],
)
def test_odd_arguments(call, problem, sentence):
    ck.evaluate("A + 1", {"A": A})
    with pytest.raises(problem, match=sentence):
        call()
    np.testing.assert_array_equal(ck.evaluate("A", order="".join(["", "C"])), A)
    np.testing.assert_array_equal(ck.evaluate("A", {"A": A}, order=str(b"K", "ascii")), A)
