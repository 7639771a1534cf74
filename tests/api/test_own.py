"""Operations of the user's own: Python functions and bodies of C."""

import sys

import numpy as np
import pytest

import ckernels as K
from ckernels import compiler
from ckernels.base.config import config
from ckernels.base.errors import (
    ArgumentError,
    CompilerMissing,
    DisconnectedError,
    DTypeError,
    OwnCodeError,
    ShapeError,
    UsageError,
)

RNG = np.random.default_rng(6)
MODES = ["reference", "fast_compile"]


def has_compiler():
    try:
        return compiler.current_toolchain() is not None
    except CompilerMissing:
        return False


needs_c = pytest.mark.skipif(not has_compiler(), reason="no C compiler")


def cube(x):
    """x ** 3 by NumPy, with its gradient as a graph."""
    return K.py_op(
        lambda a: a**3, [x], x, gradient=lambda i, o, g: [3 * i[0] ** 2 * g[0]], name="cube"
    )


CUBE = """
int64_t n = x_shape[0];
for (int64_t i = 0; i < n; i++) {
    const double v = x[i * x_strides[0]];
    y[i] = v * v * v;
}
"""


def c_cube(x):
    return K.c_op(
        CUBE, {"x": x}, {"y": x}, gradient=lambda i, o, g: [3 * i[0] ** 2 * g[0]], name="cube"
    )


both = pytest.mark.parametrize("op", [cube, pytest.param(c_cube, marks=needs_c)])


# --- both kinds -------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("mode", MODES)
def test_value_and_gradients(op, mode):
    x = K.placeholder((None,), dtype="float64")
    y = op(x * 2)
    g = K.grad(K.sum(y), x)
    f = K.function([x], [y, g, K.grad(K.sum(g), x)], mode=mode)
    for a in (np.array([1.0, -2.0, 3.0]), np.array([0.5]), np.zeros(0)):
        for got, want in zip(f([a]), (8 * a**3, 24 * a**2, 48 * a)):
            np.testing.assert_allclose(got, want, rtol=1e-15)


@both
@pytest.mark.parametrize("mode", MODES)
def test_in_scan_with_its_gradient_and_updates(op, mode):
    x, v = K.placeholder((None,), dtype="float64"), K.variable(np.zeros(2), dtype="float64")
    last, _ = K.scan(lambda s: op(s) * 0.5, outputs_info=[x], n_steps=3)
    f = K.function([x], [last[-1], K.grad(K.sum(last[-1]), x)], updates=[(v, v + op(x))], mode=mode)
    a = np.array([1.1, 0.9])
    value, slope = a, np.ones(2)
    for _ in range(3):
        slope = slope * 1.5 * value**2
        value = 0.5 * value**3
    for got, want in zip(f([a]), (value, slope)):
        np.testing.assert_allclose(got, want, rtol=1e-13)
    f([a])
    np.testing.assert_allclose(K.get_value(v), 2 * a**3, rtol=1e-15)


@both
def test_jacobian(op):
    x = K.placeholder((3,), dtype="float64")
    a = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(K.function([x], K.jacobian(op(x), x))([a]), np.diag(3 * a**2))


@both
def test_equal_operations_on_other_shapes_are_one_plan(op):
    x = K.placeholder((None,), dtype="float64")
    f = K.function([x], op(x) + 1, mode="fast_compile")
    for n in (4, 5, 6):
        a = RNG.normal(size=n)
        np.testing.assert_allclose(f([a]), a**3 + 1, rtol=1e-15)
    assert f.stats()["classes"] == 1


def test_without_a_gradient():
    x = K.placeholder((None,), dtype="float64")
    y = K.py_op(np.exp, [x], x)
    with pytest.raises(DisconnectedError, match="exp has no gradient.*gradient="):
        K.grad(K.sum(y), x)
    assert K.grad(K.sum(K.stop_gradient(y) * x), x) is not None


def test_gradient_that_does_not_fit():
    x = K.placeholder((3,), dtype="float64")
    for bad, words in (
        (lambda i, o, g: [], "list of 1 tensors"),
        (lambda i, o, g: [K.sum(g[0])], r"shape \(\) for operand 0"),
    ):
        y = K.py_op(np.exp, [x], x, gradient=bad)
        with pytest.raises((ArgumentError, ShapeError), match=words):
            K.grad(K.sum(y), x)


def test_none_is_no_gradient():
    x, n = K.placeholder((3,), dtype="float64"), K.placeholder((), dtype="int64")
    y = K.py_op(np.multiply, [x, n], x, gradient=lambda i, o, g: [g[0] * i[1], None])
    f = K.function([x, n], K.grad(K.sum(y), x))
    np.testing.assert_array_equal(f([[1.0, 2, 3], 4]), [4] * 3)


# --- Python functions -------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_several_results_and_infer_shape(mode):
    a, b = K.placeholder((None, 3)), K.placeholder((3, None), dtype="float64")
    got = K.py_op(
        lambda x, y: (x @ y, np.array(x.sum(), "float32")),
        [a, b],
        [("float64", (None, None)), "float32"],
        infer_shape=lambda s, t: [(s[0], t[1]), ()],
    )
    assert isinstance(got, tuple) and K.int_shape(got[0]) == (None, None)
    f = K.function([a, b], [got[0] * 2, got[1]], mode=mode)
    x, y = RNG.normal(size=(2, 3)).astype("float32"), RNG.normal(size=(3, 4))
    product, total = f([x, y])
    np.testing.assert_allclose(product, 2 * (x @ y))
    np.testing.assert_allclose(total, x.sum(), rtol=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_sizes_that_only_the_function_knows(mode):
    x = K.placeholder((None,), dtype="float64")
    y = K.py_op(lambda a: a[a > 0], [x], ("float64", (None,)))
    f = K.function([x], [y * 2, K.sum(y)], mode=mode)
    for a in (np.array([1.0, -1, 2]), np.array([-1.0, -2])):
        doubled, total = f([a])
        np.testing.assert_array_equal(doubled, 2 * a[a > 0])
        assert total == a[a > 0].sum()


def test_infer_shape_may_do_arithmetic_that_none_has_not():
    x = K.placeholder((None, 4))
    y = K.py_op(
        lambda a: np.zeros((a.shape[0] * 2, 4), "float32"),
        x,
        ("float32", (None, 4)),
        infer_shape=lambda s: (s[0] * 2, s[1]),
    )
    assert K.int_shape(y) == (None, 4)
    f = K.function([x], y + 1, mode="fast_compile")
    assert [f([np.zeros((n, 4))]).shape for n in (2, 3, 5)] == [(4, 4), (6, 4), (10, 4)]
    assert f.stats()["classes"] == 1


def test_infer_shape_that_does_not_fit():
    x = K.placeholder((2, 3))
    with pytest.raises(ShapeError, match=r"gave \(6,\) for a result that was declared as \(5,\)"):
        K.py_op(np.ravel, x, ("float32", (5,)), infer_shape=lambda s: (6,))
    with pytest.raises(ArgumentError, match="infer_shape of ravel failed"):
        K.py_op(np.ravel, x, ("float32", (6,)), infer_shape=lambda s: (s[7],))
    with pytest.raises(ArgumentError, match="gave 2 shapes for 1 results"):
        K.py_op(np.ravel, x, [("float32", (6,))], infer_shape=lambda s: [(6,), (1,)])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "function, error, words",
    [
        (lambda a: a[:1], ShapeError, r"has shape \(1,\), and \(3,\) was declared"),
        (lambda a: a + 1j, DTypeError, "complex128 and was declared as float64"),
        (lambda a: (a, a), (ShapeError, ArgumentError), "shape|must return 1"),
        (lambda a: None, DTypeError, "dtype object"),
    ],
)
def test_results_that_are_not_as_declared(mode, function, error, words):
    x = K.placeholder((None,), dtype="float64")
    f = K.function([x], K.py_op(function, x, x), mode=mode)
    with pytest.raises(error, match=words) as found:
        f([np.ones(3)])
    assert "test_own.py" in str(found.value)


class Own(ValueError):
    pass


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("problem", [Own("too hot"), KeyError("k"), RuntimeError("no")])
def test_what_the_function_raises_the_call_raises(mode, problem):
    def picky(a):
        raise problem

    x, v = K.placeholder((None,)), K.variable(1.0)
    f = K.function([x], K.py_op(picky, x, x), updates=[(v, v + 1)], mode=mode)
    with pytest.raises(type(problem)) as found:
        f([np.ones(3)])
    assert type(found.value) is type(problem) and found.value.args == problem.args
    assert K.get_value(v) == 1
    if sys.version_info >= (3, 11):
        assert "picky (test_own.py:" in found.value.__notes__[0]


@pytest.mark.parametrize("mode", MODES)
def test_the_function_may_keep_and_change_what_it_is_given(mode):
    kept = []

    def greedy(a):
        kept.append(a)
        a += 1
        return a

    x = K.placeholder((None,))
    y = x * 2
    f = K.function([x], [K.py_op(greedy, y, y), y], mode=mode)
    a = np.ones(3, "float32")
    np.testing.assert_array_equal(f([a])[1], 2 * a)
    f([a * 5])
    np.testing.assert_array_equal(kept[0], [3, 3, 3])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "complex64"])
def test_dtypes_and_views(dtype):
    x = K.placeholder((None, None), dtype=dtype)
    y = K.py_op(lambda a: np.asarray(a).T, x.T, x)
    a = RNG.integers(0, 2, (2, 3)).astype(dtype)
    got = K.function([x], y)([a])
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, a)


def test_scalars_and_errors_of_py_op():
    x = K.placeholder((), dtype="float64")
    assert K.function([x], K.py_op(lambda a: float(a) + 1, x, "float64"))([2.0]) == 3
    assert K.py_op(lambda: 7, [], "int64").eval() == 7
    with pytest.raises(UsageError, match="needs a function"):
        K.py_op(3, x, x)
    with pytest.raises(UsageError, match="one of the inputs"):
        K.py_op(np.exp, x, 3.5)
    with pytest.raises(ArgumentError, match="at least one output"):
        K.py_op(np.exp, x, [])


# --- bodies of C ------------------------------------------------------------------------------

SUM_ROWS = """
for (int64_t i = lo; i < hi; i++) {
    double total = 0;
    for (int64_t j = 0; j < x_shape[1]; j++)
        total += x[i * x_strides[0] + j * x_strides[1]];
    y[i * y_strides[0]] = scaled(total, *w);
}
"""


@needs_c
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
@pytest.mark.parametrize("parallel", [False, True])
def test_strides_dtypes_and_support_code(dtype, parallel):
    x, w = K.placeholder((None, None), dtype=dtype), K.placeholder((), dtype="int8")
    body = SUM_ROWS if parallel else SUM_ROWS.replace("lo", "0").replace("hi", "x_shape[0]")
    support = "#include <math.h>\nstatic double scaled(double x, double w) { return fabs(w) * x; }"

    def rows(t):
        return K.c_op(
            body,
            {"x": t, "w": w},
            {"y": ("float64", (None,))},
            name="row sums",
            infer_shape=lambda s, _: (s[0],),
            support=support,
            parallel=parallel,
        )

    a = RNG.integers(0, 2, (4, 5)).astype(dtype)
    f = K.function([x, w], [rows(x), rows(x.T), rows(x[::-1, ::2]), rows(x[:0])])
    for given in (a, np.asfortranarray(a), a[:, ::-1]):
        got = f([given, -2])
        b = given.astype("float64")
        for one, want in zip(got, (b, b.T, b[::-1, ::2], b[:0])):
            np.testing.assert_allclose(one, 2 * want.sum(1))


@needs_c
def test_broadcast_operands_and_several_results():
    x = K.placeholder((3,), dtype="float64")
    low, high = _bounds(x)
    got = K.function([x], [low, high])([[2.0, -1.0, 5.0]])
    assert got == [-1, 5]
    wide = K.broadcast_to(x[:1], (4,))  # strides of 0
    assert K.function([x], _bounds(wide)[0])([[7.0, 1, 1]]) == 7


def _bounds(x):
    return K.c_op(
        "*a = *b = x0[0];\nfor (int64_t i = 1; i < x0_shape[0]; i++) {\n"
        "    double v = x0[i * x0_strides[0]];\n"
        "    if (v < *a) *a = v;\n    if (v > *b) *b = v;\n}",
        [x],
        {"a": "float64", "b": "float64"},
        name="bounds",
    )


@needs_c
def test_a_body_runs_as_a_kernel_without_python():
    x = K.placeholder((None,), dtype="float64")
    f = K.function([x], c_cube(x), mode="compiled")
    f([np.ones(4)])
    assert f.stats()["kernels"] and "x_strides" in f.source()


@needs_c
@pytest.mark.parametrize("mode", MODES)
def test_a_number_the_body_returns(mode):
    x = K.placeholder((None,), dtype="float64")
    y = K.c_op(
        "if (x_shape[0] > 3) return 2;\nif (!x_shape[0]) return 9;\n" + CUBE,
        {"x": x},
        x,
        errors={2: "more than three numbers"},
        name="picky",
    )
    v = K.variable(0.0)
    f = K.function([x], y, updates=[(v, v + 1)], mode=mode)
    f([np.ones(3)])
    with pytest.raises(ArgumentError, match="picky: more than three numbers"):
        f([np.ones(4)])
    assert K.get_value(v) == 1


@needs_c
def test_a_faulty_body_names_the_users_line():
    x = K.placeholder((None,))
    with pytest.raises(OwnCodeError) as found:
        K.c_op("int64_t n = 3;\n\ny[0] = undeclared + n;", {"x": x}, {"y": x}, name="broken")
    text = str(found.value)
    assert "body of c_op broken does not compile, line 3" in text and "undeclared" in text
    assert "y[0] = undeclared + n;" in text and "test_own.py" in text
    with pytest.raises(OwnCodeError, match="support code of c_op broken .*line 2"):
        K.c_op(
            "", {"x": x}, x, support="static int f(void) {\n    return missing; }", name="broken"
        )
    sentence = "c_op alone calls nobody_has_this, which no loaded library has.*RTLD_GLOBAL"
    with pytest.raises(OwnCodeError, match=sentence):
        support = "float nobody_has_this(float);"
        K.c_op("y[0] = nobody_has_this(x[0]);", {"x": x}, {"y": x}, name="alone", support=support)


@needs_c
def test_errors_of_c_op():
    x, half = K.placeholder((None,)), K.placeholder((None,), dtype="float16")
    with pytest.raises(ShapeError, match="size of output y of c_op c_op is unknown"):
        K.c_op("", [x], ("float32", (None,)))
    with pytest.raises(DTypeError, match="float16, which C has no type for"):
        K.c_op("", [half], x)
    for names in ({"int": x}, {"a b": x}, {"ck_x": x}, {"lo": x}):
        with pytest.raises(ArgumentError, match="different names"):
            K.c_op("", names, x)
    with pytest.raises(ArgumentError, match="different names"):
        K.c_op("", {"y": x}, {"y": x})
    with pytest.raises(ArgumentError, match="letters, digits"):
        K.c_op("", [x], x, name='a"b')
    with pytest.raises(ArgumentError, match="parallel over the first axis"):
        K.c_op("", [x], "float32", parallel=True)


def test_without_a_compiler(monkeypatch):
    def missing(sources):
        raise CompilerMissing("no C compiler")

    monkeypatch.setattr(compiler, "build", missing)
    x = K.placeholder((None,), dtype="float64")
    with pytest.raises(CompilerMissing):
        K.c_op(CUBE, {"x": x}, x)
    y = K.c_op(CUBE, {"x": x}, x, function=lambda a: a**3)
    np.testing.assert_array_equal(K.function([x], y, mode="reference")([[2.0]]), [8])


@needs_c
def test_debug_mode_compares_with_the_function():
    x = K.placeholder((None,), dtype="float64")
    wrong = K.c_op(CUBE, {"x": x}, {"y": x}, function=lambda a: a**2)
    with pytest.raises(AssertionError):
        K.function([x], wrong, mode="debug")([np.full(3, 2.0)])
    right = K.c_op(CUBE, {"x": x}, {"y": x}, function=lambda a: a**3)
    np.testing.assert_array_equal(K.function([x], right, mode="debug")([[2.0]]), [8])


@needs_c
def test_the_flags_do_not_matter_to_the_meaning():
    x = K.placeholder((None,), dtype="float64")
    with config.change(optimizer="None"):
        np.testing.assert_array_equal(K.function([x], c_cube(x), mode="compiled")([[2.0]]), [8])


def test_helpers_of_one_name_do_not_meet(monkeypatch):
    """Two bodies that are compiled at once, each with a helper and a macro of the same name."""
    x = K.placeholder((None,), dtype="float64")
    made = [
        K.c_op(
            "for (int64_t i = 0; i < x_shape[0]; i++) y[i] = helped(x[i * x_strides[0]]) * BY;",
            {"x": x},
            {"y": x},
            name=f"helped {k}",
            support=f"#define BY {k}\nstatic double helped(double v) {{ return v + {k}; }}",
        )
        for k in (2, 3)
    ]
    monkeypatch.setattr(compiler, "_loaded", {})
    with config.change(cache="off"):
        f = K.function([x], made, mode="compiled")
        assert [v.tolist() for v in f([np.array([1.0, 2.0])])] == [[6, 8], [12, 15]]
