"""Transforms of NumPy functions: against finite differences to second order, and one another."""

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.errors import ArgumentError, DTypeError, NotSupported, ShapeError, UsageError
from ckernels.jit import grad, hessian, jacobian, jit, jvp, stop_gradient, value_and_grad, vjp, vmap

RNG = np.random.default_rng(5)
X = RNG.uniform(0.2, 0.8, size=(3, 4))
S = np.linspace(0.3, 0.7, 4)


def slope(f, x, step=1e-6):
    """The gradient of f: array -> float, by central differences."""
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        found[i] = (f(up) - f(down)) / (2 * step)
    return found


ONE = [np.exp, np.log, np.sqrt, np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sinh,
       np.cosh, np.tanh, np.arcsinh, np.arctanh, np.expm1, np.log1p, np.log2, np.log10, np.exp2,
       np.square, np.reciprocal, np.cbrt, np.deg2rad, np.abs, np.negative,
       lambda x: np.arccosh(x + 1.5)]  # fmt: skip
TWO = [np.add, np.subtract, np.multiply, np.true_divide, np.power, np.arctan2, np.hypot,
       np.maximum, np.minimum, np.logaddexp, np.fmax, np.copysign]  # fmt: skip
WHOLE = [
    np.sum, np.prod, np.mean, np.std, np.var, np.max, np.min, np.linalg.norm,
    lambda x: np.sum(np.cumsum(x, axis=1) ** 2), lambda x: np.sum(np.cumprod(x, axis=0)),
    lambda x: np.sum(np.where(x > 0.5, x**2, np.sin(x))),
    lambda x: np.sum(np.clip(x, 0.3, 0.6) * x),
    lambda x: np.sum(np.concatenate([x, x * 2]) ** 2), lambda x: np.sum(np.dot(x, x.T) ** 2),
    lambda x: np.linalg.det(x @ x.T + np.eye(3)),
    lambda x: np.linalg.slogdet(x @ x.T + np.eye(3))[1],
    lambda x: np.sum(np.linalg.inv(x @ x.T + np.eye(3)) ** 2),
    lambda x: np.sum(np.linalg.solve(x @ x.T + np.eye(3), x) ** 2),
    lambda x: np.sum(np.linalg.cholesky(x @ x.T + np.eye(3)) ** 3),
    lambda x: np.sum(np.einsum("ij,kj->ik", x, x) ** 2),
    lambda x: np.sum(np.sort(x, axis=1)[:, 1:] ** 3),
    lambda x: np.trapezoid(x**3, axis=1).sum(), lambda x: np.sum(np.interp(x, S, S**2) ** 2),
    lambda x: np.sum(np.diff(x, axis=1) ** 3), lambda x: np.sum(np.roll(x, 1, 1) * x**2),
    lambda x: np.sum(np.pad(x, 1, mode="edge") ** 3), lambda x: np.sum(np.tril(x @ x.T) ** 2),
    lambda x: np.median(x, axis=1).sum() ** 2, lambda x: np.average(x, weights=x) * 2,
    lambda x: np.sum(np.cov(x) ** 2), lambda x: np.sum(x[[0, 0, 2], [1, 1, 3]] ** 3),
    lambda x: np.nansum(np.where(x > 0.4, x, np.nan) ** 3),
]  # fmt: skip


def changed(x):
    y = np.zeros_like(x)
    y[1:] = x[:-1] ** 2
    y[y > 0.3] = np.sqrt(y[y > 0.3])
    y[0, ::2] += x[1, ::2]
    v = y.reshape(-1)
    v *= 1.5
    np.add.at(y, (np.array([0, 0]), np.array([1, 1])), x[0, :2])
    return np.sum(y**2)


def looped(x):
    total = 0.0
    for row in x:
        total = np.sin(total) + row @ row
    return total


@pytest.mark.sampled(1)
@pytest.mark.parametrize("f", [*[lambda x, f=f: np.sum(f(x)) for f in ONE],
                               *[lambda x, f=f: np.sum(f(x, S) * f(S, x)) for f in TWO],
                               *WHOLE, changed, looped],
                         ids=range(len(ONE + TWO + WHOLE) + 2))  # fmt: skip
def test_first_and_second_derivatives(f):
    found, first = value_and_grad(f)(X)
    assert found == pytest.approx(f(X), rel=1e-12)
    np.testing.assert_allclose(first, slope(f, X), rtol=2e-6, atol=2e-7)
    along = RNG.normal(size=X.shape)

    def directional(x):
        return np.sum(grad(f)(x) * along)

    second = grad(directional)(X)
    once = grad(f)
    want = slope(lambda x: np.sum(once(x) * along), X)
    np.testing.assert_allclose(second, want, rtol=1e-5, atol=2e-6)


def test_jacobian_hessian_jvp_vjp_agree():
    def f(x):
        return np.stack([np.sum(x**2), np.prod(x), x[0] * x[2]])

    x, u, v = np.array([0.5, 1.5, -2.0]), np.array([1.0, 2, 3]), np.array([0.1, 0.2, 0.3])
    j = jacobian(f)(x)
    np.testing.assert_allclose(j, np.stack([2 * x, np.prod(x) / x, [x[2], 0, x[0]]]))
    value, along = jvp(f, (x,), (u,))
    np.testing.assert_allclose(value, f(x))
    np.testing.assert_allclose(along, j @ u)
    value, pull = vjp(f, x)
    np.testing.assert_allclose(pull(v)[0], v @ j)
    np.testing.assert_allclose(hessian(lambda x: f(x)[1])(x)[0, 1], x[2])


def beside_zeros(x, n):
    total = np.sum(np.where(x > 0, x**2, np.zeros_like(x))) * len(x)
    for i in range(n):
        total += x[i] * total
        for j in range(i):
            total += x[j] * x[i]
    return total


def test_batches_of_gradients_that_read_shapes_and_count_turns():
    x = np.random.default_rng(2).normal(size=(5, 12))
    for count in (0, 4, 12):
        want = [grad(beside_zeros)(row, count) for row in x]
        np.testing.assert_allclose(vmap(grad(beside_zeros), (0, None))(x, count), want, rtol=1e-9)
    assert vmap(grad(beside_zeros), (0, None))(x[:0], 3).shape == (0, 12)


def test_vmap_in_any_order_with_grad():
    def f(x, w):
        return np.sum(np.sin(x) * w)

    x, w = RNG.normal(size=(5, 3)), RNG.normal(size=3)
    each = np.stack([np.cos(row) * w for row in x])
    np.testing.assert_allclose(vmap(grad(f), (0, None))(x, w), each)
    np.testing.assert_allclose(grad(lambda x: np.sum(vmap(f, (0, None))(x, w)))(x), each)
    np.testing.assert_allclose(vmap(f, (1, None))(x.T, w), [f(r, w) for r in x])
    np.testing.assert_allclose(vmap(lambda r: r * 2, out_axes=1)(x), x.T * 2)
    np.testing.assert_allclose(vmap(vmap(lambda a: a**2))(x), x**2)
    outer = vmap(vmap(lambda a, b: a * b, (None, 0)), (0, None))(x[0], w)
    np.testing.assert_allclose(outer, np.outer(x[0], w))


def bent(x):
    if x > 0:
        return x * x
    return -x


def halvings(n):
    count = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        count += 1
    return count


def newton(a):
    y = a
    for _ in range(50):
        better = 0.5 * (y + a / y)
        if abs(better - y) < 1e-12:
            break
        y = better
    return y


def windowed(v, k):
    return v[k : k + 2] * v[k] + v[:k].sum()


def spread(v, k):
    y = np.zeros(4)
    np.add.at(y, k, v)
    return y + np.interp(y, np.sort(v), v)


def positive(v):
    v = v.copy()
    v[v < 0] = v[np.argmax(v)]
    return v * 2 if v.sum() > 1 else v


ROWS = np.random.default_rng(1).normal(size=(11, 4))


@pytest.mark.parametrize(
    "f, args",
    [(bent, (ROWS[:, 0],)), (halvings, (np.arange(1, 20),)), (newton, (np.abs(ROWS[:, 0]) + 0.1,)),
     (windowed, (ROWS, np.arange(11) % 3)), (spread, (ROWS, np.arange(44).reshape(11, 4) % 4)),
     (positive, (ROWS,)), (lambda v: bent(newton(v[0] ** 2 + 1) - v[1]), (ROWS,))],
)  # fmt: skip
def test_rows_decide_for_themselves(f, args):
    """Sides of an if, turns of loops, places and lengths, in one compiled function."""
    want = np.stack([f(*row) for row in zip(*args)])
    for batch in (vmap(f), jit(lambda *args: vmap(f)(*args))):
        found = batch(*args)
        assert found.dtype == want.dtype
        np.testing.assert_allclose(found, want, rtol=1e-12)
    nested = vmap(vmap(f))(*(a[None] for a in args))
    np.testing.assert_allclose(nested, want[None], rtol=1e-12)
    one = vmap(f)(*(a[:1] for a in args))
    np.testing.assert_allclose(one, want[:1], rtol=1e-12)


@pytest.mark.parametrize("f", [bent, newton])
def test_slopes_of_rows_that_decide_for_themselves(f):
    x = np.array([0.3, 0.7, 1.5, 2.0])
    want = [(f(v + 1e-6) - f(v - 1e-6)) / 2e-6 for v in x]
    np.testing.assert_allclose(vmap(grad(f))(x), want, rtol=1e-6)
    if f is not newton:
        np.testing.assert_allclose(grad(lambda x: vmap(f)(x).sum())(x[:0]), [])
    np.testing.assert_allclose(jacobian(vmap(bent))(-x), -np.eye(4))


def printed(v):
    return float(f"{v[0]:.2f}") + v[1]


def checked(v):
    if v[0] < -5:
        raise ValueError("too small")
    return np.sqrt(v[0] + 5)


@pytest.mark.filterwarnings("ignore::ckernels.base.errors.CKernelsWarning")
def test_rows_that_no_trace_serves_are_calls():
    for f in (printed, checked):
        want = [f(v) for v in ROWS]
        np.testing.assert_allclose(vmap(f)(ROWS), want)
        np.testing.assert_allclose(vmap(f, 1)(ROWS.T.copy()), want)
    with pytest.raises(ValueError, match="too small"):
        vmap(checked)(ROWS - 10)
    for strict in (vmap(jit(printed, strict=True)), jit(vmap(printed), strict=True)):
        with pytest.raises(NotSupported, match="vmap of printed"):
            strict(ROWS)


def test_a_batch_of_trees():
    pair = {"a": ROWS, "b": (ROWS[:, 0], ROWS[:, 1])}
    found = vmap(lambda d: {"p": d["a"] * d["b"][0], "q": d["b"][1]})(pair)
    np.testing.assert_allclose(found["p"], ROWS * ROWS[:, :1])
    np.testing.assert_allclose(found["q"], ROWS[:, 1])
    np.testing.assert_array_equal(vmap(np.sum)([[1, 2], [3, 4]]), [3, 7])
    with pytest.raises(ArgumentError, match="argument 0 is of <U1, not of numbers"):
        vmap(np.sum)(["x"])
    with pytest.raises(ShapeError, match="argument 0 has 1 rows, argument 1 has 4 rows"):
        vmap(lambda a, b: a + b)(np.ones((1, 2)), np.ones((4, 2)))
    assert vmap(bent)(np.zeros(0)).shape == (0,)


def test_trees_numbers_and_more_results():
    def loss(params, x, scale):
        return scale * np.sum((params["w"] @ x + params["b"][0]) ** 2), {"n": x.sum()}

    params, x = {"w": X, "b": (np.ones(3),)}, np.ones(4)
    (value, more), (slopes, by_scale) = value_and_grad(loss, (0, 2), has_aux=True)(params, x, 2.0)
    assert value == pytest.approx(loss(params, x, 2.0)[0]) and more == {"n": 4.0}
    assert by_scale == pytest.approx(value / 2) and set(slopes) == {"w", "b"}
    np.testing.assert_allclose(slopes["b"][0], 4 * (X @ x + 1))


def test_a_gradient_sees_only_its_own_argument():
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(jit(lambda x: grad(lambda a: np.sum(a * x))(x))(x), x)


def test_values_in_python_choose_the_branch():
    f = grad(lambda x: np.sum(x**2) if x.sum() > 0 else np.sum(x))
    np.testing.assert_allclose(f(S), 2 * S)
    np.testing.assert_allclose(f(-S), np.ones(4))


def test_float32_stays_and_large_sizes_share_a_trace():
    f = grad(lambda x: np.sum(x**2))
    assert f(S.astype("float32")).dtype == np.float32
    for n in (20, 30, 40):
        np.testing.assert_allclose(f(np.ones(n)), 2 * np.ones(n))
    assert f.report()["traces"] == 2


def test_minimise_with_scipy():
    scipy = pytest.importorskip("scipy.optimize")

    def rosen(x):
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    found = scipy.minimize(value_and_grad(rosen), np.zeros(5), jac=True, method="BFGS")
    np.testing.assert_allclose(found.x, np.ones(5), atol=1e-5)


def test_what_has_no_derivative_is_a_sentence():
    with pytest.raises(NotSupported, match=r"x.tolist\(\).*test_transform.py"):
        grad(lambda x: sum(x.tolist()))(S)
    np.testing.assert_array_equal(grad(lambda x: float(x.sum()) * 2)(S), np.full(4, 2.0))
    with pytest.raises(ShapeError, match="scalar"):
        grad(lambda x: x * 2)(S)
    with pytest.raises(DTypeError, match="int64"):
        grad(lambda x: np.sum(x))(np.arange(3))
    with pytest.raises(ArgumentError, match="argnums"):
        grad(lambda x: np.sum(x), argnums=2)(S)
    with pytest.raises(NotSupported, match="writes into"):
        grad(_writes)(S.copy())
    with pytest.raises(ZeroDivisionError):
        grad(lambda x, s: np.sum(x / s) * (1 / s))(S, 0.0)


def _writes(x):
    x += 1
    return np.sum(x)


def test_names_on_the_decorator():
    for name in ("grad", "value_and_grad", "jacobian", "hessian", "jvp", "vjp", "vmap", "jit"):
        assert getattr(ck.jit, name).__doc__


def test_a_transform_under_jit_is_the_transform():
    """The attributes of one function made another of it: its value came for its gradient."""

    def cost(x):
        return (x**2).sum()

    np.testing.assert_allclose(ck.jit(ck.jit.grad(cost))(np.arange(5.0)), 2 * np.arange(5.0))
    strict = ck.jit(ck.jit.value_and_grad(cost), check="nan")
    value, gradient = strict(np.arange(5.0))
    assert value == 30
    np.testing.assert_allclose(gradient, 2 * np.arange(5.0))


@pytest.mark.parametrize(
    "call, problem, sentence",
    [
        (lambda: jit([1, 2]), UsageError, r"what jit and its transforms take must be a function"),
        (lambda: hessian("f"), UsageError, "must be a function, not 'f'"),
        (lambda: jit(np.sin, static=3.5), UsageError, "static must be a list, not 3.5"),
        (lambda: jit(np.sin, strict=np.ones(2)), UsageError, "strict must be True or False"),
        (lambda: jit(np.sin, background="x"), UsageError, "background must be True or False"),
        (lambda: jit(np.sin, check=np.ones(2)), ArgumentError, "check is one of None, 'nan'"),
        (lambda: grad(np.sum, "x")(S), UsageError, "argnums of grad must be an integer, not 'x'"),
        (lambda: grad(np.sum, np.ones((2, 2)))(S), UsageError, "must be an integer, not array"),
        (lambda: grad(np.sum, has_aux=S), UsageError, "has_aux must be True or False"),
        (lambda: value_and_grad(np.sum, has_aux=S)(S), UsageError, "has_aux must be True or False"),
        (lambda: jvp(np.sum, 3.0, (S,)), UsageError, "primals must be a list, not 3.0"),
        (lambda: vmap(np.sum, "x")(S), UsageError, "in_axes of vmap must be an integer, not 'x'"),
        (lambda: vmap(np.sum, out_axes=S), UsageError, "out_axes of vmap must be an integer"),
    ],
)
def test_odd_arguments_of_transforms(call, problem, sentence):
    with pytest.raises(problem, match=sentence):
        call()


def test_numbers_that_a_function_returns_as_they_are():
    np.testing.assert_array_equal(jacobian(lambda x: 3.0)(S), np.zeros(4))
    value, slope = jvp(lambda x: 3.0, (S,), (S,))
    assert (value, slope) == (3.0, 0.0)
    np.testing.assert_array_equal(vjp(lambda x: 3.0, S)[1](1.0)[0], np.zeros(4))
    with pytest.raises(DTypeError, match="needs a float"):
        jacobian(lambda x: (x.sum(), 2))(S)
    np.testing.assert_array_equal(vmap(lambda a, b: a + b, [0, None])(S, 2.0), S + 2)
    assert value_and_grad(np.sum, np.int64(0))(S)[1].shape == S.shape


def nested(x, n):
    s = 0.0
    for i in range(n):
        for j in range(3):
            s = s * 0.9 + x[j] * x[i]
    return s


def from_the_end(x, n):
    s = 1.0
    for i in range(n - 1, -1, -1):
        s = s * x[i] + i
    return s


def every_second(x, n):
    s = 1.0
    for i in range(1, n, 2):
        s = s * x[i] + i
    return s


def either(x, n):
    s = 0.0
    for i in range(n):
        if x[i] > 0.5:
            s += x[i] ** 2
        else:
            s -= x[i]
    return s


def until_large(x, n):
    s, i = 1.0, 0
    while i < n and s < 5:
        s = s * (1 + x[i])
        i += 1
    return s


def broken_off(x, n):
    s = 1.0
    for i in range(n):
        s = s * (1 + x[i])
        if s > 3:
            break
    return s


def of_arrays(x, n):
    for _ in range(n):
        x = x + 0.1 * np.sin(x) * np.roll(x, 1)
    return (x**2).sum()


def midpoints(x, n):
    y = x.copy()
    for _ in range(n):
        y = y - 0.1 * (y - 0.05 * y)
    return y.prod()


def stored(x, n):
    y = np.zeros(len(x))
    y[0] = x[0]
    for i in range(1, n):
        y[i] = y[i - 1] * 0.5 + x[i] ** 2
    return y.sum()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 20])
@pytest.mark.parametrize("cost", [nested, from_the_end, every_second, either, until_large,
                                  broken_off, of_arrays, midpoints, stored])  # fmt: skip
def test_slopes_of_loops_as_long_as_a_number_says(cost, n):
    """The number is an argument, which no trace knows; so is how often a `while` goes on."""
    x = np.random.default_rng(n).random(6 if n < 6 else 24)
    steps = 1e-6 * np.eye(len(x))
    want = [(cost(x + e, n) - cost(x - e, n)) / 2e-6 for e in steps]
    slope = ck.jit.grad(cost)
    np.testing.assert_allclose(slope(x, n), want, rtol=1e-6, atol=1e-7)
    want = [(slope(x + 10 * e, n) - slope(x - 10 * e, n)) / 2e-5 for e in steps]
    np.testing.assert_allclose(ck.jit.hessian(cost)(x, n), want, rtol=1e-5, atol=1e-6)


def halved(x):
    y = x.copy()
    while (y**2).sum() > 0.2:
        y = 0.5 * y * np.cos(y)
    return y.sum() * x[0]


def balanced(x):
    k = np.exp(np.outer(x, np.cos(x)))
    u, v, error, i = np.ones(len(x)), np.ones(len(x)), 1.0, 0
    while error > 0.1 and i < 50:
        u = 1 / (k @ v)
        v = 1 / (k.T @ u)
        error = np.abs(u * (k @ v) - 1).sum()
        i += 1
    return (u[:, None] * k * v * np.sin(k)).sum()


def of_positive(x):
    p = x[x > 0] / x.sum()
    return -np.sum(p * np.log(p))


def stored_under_a_mask(x):
    y = np.zeros(len(x))
    y[x > 0] = (1 + np.log(x[x > 0]) ** 2) * x[1]
    np.divide(1, x, out=y, where=x > 0.5)
    y[x > 0] **= 1.5
    return (y * np.arange(len(x))).sum()


def rows_under_a_mask(x):
    a = np.outer(x, [1.0, 0.5, 2.0])
    return (np.log(a[x > 0] * x[1:4]) ** 2).sum()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("x", [np.array([1.0, 2, 0, 0.7, 0, 3, 0.25, 1.5, 0.5, 2]) + 0.01,
                               np.zeros(9) + 0.1, np.linspace(0.1, 2, 30)])  # fmt: skip
@pytest.mark.parametrize("cost", [halved, balanced, of_positive, stored_under_a_mask,
                                  rows_under_a_mask])  # fmt: skip
def test_slopes_of_loops_that_data_end_and_under_masks(cost, x):
    """A first test of a `while` is data too; what a mask leaves out has a slope of 0, not NaN."""
    steps = 1e-6 * np.eye(len(x))
    want = [(cost(x + e) - cost(x - e)) / 2e-6 for e in steps]
    slope = ck.jit.grad(cost)
    np.testing.assert_allclose(slope(x), want, rtol=1e-5, atol=1e-6)
    want = [(slope(x + e) - slope(x - e)) / 2e-6 for e in steps]
    np.testing.assert_allclose(ck.jit.hessian(cost)(x), want, rtol=1e-4, atol=1e-4)
    if cost in (of_positive, stored_under_a_mask):
        x = np.where(np.arange(len(x)) % 3 == 2, 0.0, x)  # log(0) and 1 / 0 where no mask is
        want = [(cost(x + e) - cost(x - e)) / 2e-6 for e in steps]
        some = x > 0
        found = slope(x)
        assert np.isfinite(found).all() and np.isfinite(ck.jit.hessian(cost)(x)).all()
        np.testing.assert_allclose(found[some], np.array(want)[some], rtol=1e-5, atol=1e-6)


def grown(x, w):
    while x.sum() < 10:
        x = x * 2
    return (x * w).sum()


def moved(x, w):
    while x.sum() < 10:
        x = x + w
    return (x**2).sum()


def turned(x, w):
    y, a = x, np.outer(w, x) + 1
    while x.sum() < 10:
        x = a @ x
        y = y + 2 * x
    return (x * y).sum()


def grown_in_turns(x, w):
    for i in range(20):
        while x.sum() < i:
            x = x * 2
        x = x + w
    return (x * x).sum()


@pytest.mark.parametrize("cost", [grown, moved, turned, grown_in_turns])
@pytest.mark.parametrize("x", [np.array([0.5, 1.0]), np.array([8.0, 9.0])])
def test_slopes_of_a_while_whose_turns_are_linear(cost, x):
    """No turn's state is read by their slopes: only how many turns there were."""
    w = np.array([0.31, 0.42])
    found = grad(cost, (0, 1))(x, w)
    np.testing.assert_allclose(found[0], slope(lambda x: cost(x, w), x), rtol=1e-5)
    np.testing.assert_allclose(found[1], slope(lambda w: cost(x, w), w), rtol=1e-5, atol=1e-7)


def huber(r):
    if abs(r) <= 1:
        return r * r / 2
    return abs(r) - 0.5


def squared_above_zero(a):
    if a < 0:
        return 0
    return a**2


def clipped(a):
    return 3 * min(max(a, -1), 1.0)


def taxed(income):
    total = 0.0
    for low, high, rate in ((0, 10, 0.1), (10, 20, 0.2), (20, 1e9, 0.3)):
        if income > low:
            total += (min(income, high) - low) ** 2 * rate
    return total


def doubled(a):
    while a < 10:
        a = a * 2
    return a * a


def in_ranges(a):
    if 0 < a < 2 and a != 1.5 or a == 25.0:
        return np.sin(a)
    elif not a:
        return 4.0
    return a**3 if a > 7 else 1 / a


@pytest.mark.parametrize(
    "f", [huber, squared_above_zero, clipped, taxed, doubled, in_ranges], ids=lambda f: f.__name__
)
def test_the_slope_of_branches_on_a_python_number_is_that_of_the_path_taken(f):
    once, along, twice = grad(f), jit(lambda x: grad(f)(x) * 2), hessian(f)
    for x in (-3.0, -0.4, 0.3, 1.75, 4.0, 12.5, 30.0) if f is not doubled else (0.3, 4.0, 12.5):
        want = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
        assert once(x) == pytest.approx(want, rel=1e-6, abs=1e-8)
        assert along(x) == pytest.approx(2 * want, rel=1e-6, abs=1e-8)
        assert value_and_grad(f)(x)[0] == f(x)
        want = (once(x + 1e-6) - once(x - 1e-6)) / 2e-6
        assert twice(x) == pytest.approx(want, rel=1e-5, abs=1e-7)
    assert not once.report()["numpy"]


def test_a_python_number_that_is_used_as_text_has_no_slope():
    with pytest.raises(NotSupported, match=r"a number in Python of what it is differentiated by"):
        grad(lambda a: a * len(f"{a}"))(3.5)


def test_a_slope_keeps_the_checks_of_what_it_is_of():
    slope = ck.jit.grad(lambda x, s: np.convolve(x[x > 0], s * np.arange(1.0, 32.0), "same").sum())
    for n in (40, 31):
        want = np.convolve(np.ones(n), 0.5 * np.arange(31.0, 0.0, -1), "same")
        np.testing.assert_allclose(slope(np.ones(n), 0.5), want)
    with pytest.raises(ValueError, match="nothing|empty"):
        slope(-np.ones(30), 0.5)


def test_the_slope_of_a_number_is_0():
    x = np.arange(3.0)
    assert np.array_equal(ck.jit.grad(lambda x: 2.0)(x), np.zeros(3))
    for bad in (lambda x: 2, lambda x: None, lambda x: True):
        with pytest.raises(DTypeError, match="does not depend"):
            ck.jit.grad(bad)(x)


def check_slopes(f, x):
    """First and second derivatives by one array, against differences."""
    once, along = grad(f), np.random.default_rng(0).normal(size=x.shape)
    np.testing.assert_allclose(once(x), slope(f, x), rtol=1e-5, atol=1e-6)
    want = slope(lambda x: np.sum(once(x) * along), x)
    found = grad(lambda x: np.sum(once(x) * along))(x)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


def chosen_turn_by_turn(x):
    total, m = 0.0, x * 1.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > 0.6:
                break
            if m[i, j] > 0.4:
                total += m[i, j] ** 2
            total = m[i, j] if total > 1 else total * 0.9 + x[i, -1]
            m[i, j] *= total
    return total + np.sum(m**2)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("n, m", [(1, 1), (1, 6), (7, 1), (5, 4), (8, 8), (20, 3), (1, 20)])
def test_slopes_of_loops_that_choose_in_short_turns(n, m):
    """More choices than a trace could ask for in Python, in loops too short to be worth a scan."""
    x = np.random.default_rng(n).uniform(0.1, 0.9, size=(n, m))
    check_slopes(chosen_turn_by_turn, x)
    np.testing.assert_allclose(ck.jit(chosen_turn_by_turn)(x), chosen_turn_by_turn(x), rtol=1e-12)


def test_slopes_of_complex_numbers_in_turns():
    def f(x):
        power, total = np.abs(np.fft.fft(x, axis=0)) ** 2 * 0.1, 0.0
        for i in range(len(x)):
            for j in range(x.shape[1]):
                total = power[i, j] if total > 1 else total + x[i, j]
        return np.sin(total)

    check_slopes(f, np.random.default_rng(1).normal(size=(5, 4)))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_slopes_of_what_is_put_along_an_axis(axis):
    def f(x):
        y = x * 2
        np.put_along_axis(y, np.argsort(x, axis), x**2, axis)
        return np.sum(y * x)

    check_slopes(f, X)
    jitted = jit(f)
    assert jitted(X) == pytest.approx(f(X), rel=1e-12) and not jitted.report()["numpy"]


def chosen_rows(x, w):
    """Each turn tests its data and appends to a list."""
    kept, total = [], 0.0
    for row in x:
        if w[0] > row[0]:
            total += w[-1] * row[1]
        kept.append(row * w)
    return np.sum(np.sin(np.stack(kept))) + total


def chosen_twice(x, w):
    first, h, t = [], w * 1.0, 0.0
    for row in x:
        if h[0] > row[0]:
            t += h[-1]
        h = np.sort(h * 0.5 + row)
        first.append(h)
    second = []
    for row in np.stack(first):
        if row[0] > 0:
            t = t * 0.5
        second.append(np.sort(row * h) + t)
    return np.sum(np.vstack(second)) + t


@pytest.mark.parametrize("cost", [chosen_rows, chosen_twice])
@pytest.mark.parametrize("n", [1, 3, 40])
def test_slopes_of_turns_that_test_their_data_and_append(cost, n):
    """Of as many turns as there are; one by one, each of them would ask for the truth."""
    rng = np.random.default_rng(n)
    x, w, u, v = rng.normal(size=(n, 4)), rng.normal(size=4), rng.normal(size=(n, 4)), np.ones(4)
    gx, gw = grad(cost, (0, 1))(x, w)
    up, down = (cost(x + h * u, w + h * v) for h in (1e-6, -1e-6))
    assert np.sum(gx * u) + np.sum(gw * v) == pytest.approx((up - down) / 2e-6, rel=1e-6)
    second = hessian(lambda w: cost(x, w))(w)
    up, down = (grad(cost, 1)(x, w + h * v) for h in (1e-6, -1e-6))
    np.testing.assert_allclose(second @ v, (up - down) / 2e-6, rtol=1e-5, atol=1e-6)


def test_what_a_gradient_takes_for_a_constant():
    x = np.array([0.5, 2.0, -1.0])

    def f(x, scale=3.0):
        held = stop_gradient({"x": x * 2, "s": (scale, 7, "name")})
        return np.sum(held["x"] * x) * held["s"][0] * scale + held["s"][1]

    assert f(x) == jit(f, strict=True)(x) == 2 * np.sum(x * x) * 9 + 7
    np.testing.assert_allclose(grad(f)(x, 3.0), 2 * x * 9)
    np.testing.assert_allclose(grad(f, 1)(x, 3.0), 2 * np.sum(x * x) * 3)
    np.testing.assert_allclose(jvp(lambda x: x * stop_gradient(np.exp(x)), (x,), (x,))[1],
                               x * np.exp(x))  # fmt: skip
    np.testing.assert_allclose(vmap(grad(lambda v: v * stop_gradient(v)))(x), x)
    assert stop_gradient(x) is x and stop_gradient([1, None]) == [1, None]

    def steps(x):
        for i in range(len(x)):
            x = x - 0.5 * stop_gradient(x * x[i])
        return np.sum(x**2)

    last = x.copy()
    for i in range(3):
        last = last - 0.5 * last * last[i]
    np.testing.assert_allclose(grad(steps)(x), 2 * last)
