"""The dialect of natural_bm: all its signatures, each function against NumPy, and a client of it.

The client is written the way that library is: layers and free energies on the backend's functions,
contrastive divergence in a scan, momentum by updates, partition functions by annealed importance
sampling, whose exact value is known for a small machine.
"""

import inspect
from collections import OrderedDict

import numpy as np
import pytest

import ckernels as K
import ckernels.compat.natural_bm as B

SIGNATURES = """
abs(x)
all(x, axis=None, keepdims=False)
allclose(x, y, rtol=1e-05, atol=1e-08)
any(x, axis=None, keepdims=False)
arange(start, stop=None, step=1, dtype='int32')
argmax(x, axis=-1)
argmin(x, axis=-1)
backend()
batch_get_value(xs)
batch_set_value(tuples)
cast(x, dtype)
cast_to_floatx(x)
clip(x, min_value, max_value)
concatenate(tensors, axis=-1)
cos(x)
cumprod(x, axis=0)
cumsum(x, axis=0)
diag(x)
dot(x, y)
dtype(x)
epsilon()
equal(x, y)
eval(x)
exp(x)
eye(size, dtype=None, name=None)
fill_diagonal(x, val)
flatten(x)
floatx()
function(inputs, outputs, updates=[], name=None, **kwargs)
get_value(x)
get_variable_shape(x)
gradients(loss, variables)
greater(x, y)
greater_equal(x, y)
ifelse(condition, then_expression, else_expression)
intx()
less(x, y)
less_equal(x, y)
log(x)
logdiffexp(x, axis=None, keepdims=False)
logsumexp(x, axis=None, keepdims=False)
make_rng(seed=None)
max(x, axis=None, keepdims=False)
maximum(x, y)
mean(x, axis=None, keepdims=False)
min(x, axis=None, keepdims=False)
minimum(x, y)
ndim(x)
not_equal(x, y)
one_hot(indices, num_classes)
ones(shape, dtype=None, name=None)
ones_like(x, dtype=None, name=None)
permute_dimensions(x, pattern)
placeholder(shape=None, ndim=None, dtype=None, sparse=False, name=None)
pow(x, a)
prod(x, axis=None, keepdims=False)
random_binomial(shape, p=0.0, dtype=None, rng=None)
random_normal(shape, mean=0.0, stddev=1.0, dtype=None, rng=None)
random_uniform(shape, minval=0.0, maxval=1.0, dtype=None, rng=None)
repeat(x, n)
repeat_elements(x, rep, axis)
reshape(x, shape)
reverse(x, axes)
round(x)
scan(function, outputs_info=None, n_steps=None, name=None, **kwargs)
set_epsilon(e)
set_floatx(floatx)
set_intx(intx)
set_value(x, value)
shape(x)
sigmoid(x)
sign(x)
sin(x)
solve(a, b)
sqrt(x)
square(x)
squeeze(x, axis)
stack(x, axis=0)
std(x, axis=None, keepdims=False)
stop_gradient(variables)
sum(x, axis=None, keepdims=False)
svd(x)
tile(x, n)
transpose(x)
until(condition)
var(x, axis=None, keepdims=False)
variable(value, dtype=None, name=None)
zeros(shape, dtype=None, name=None)
zeros_like(x, dtype=None, name=None)
""".strip().split("\n")


@pytest.fixture(autouse=True)
def settings():
    with K.config.change(floatX="float32", warn_float64="ignore"):
        yield
    B.set_epsilon(float(np.finfo("float32").eps))
    B.set_intx("int32")


@pytest.mark.parametrize("text", SIGNATURES)
def test_signature(text):
    function = getattr(B, text.partition("(")[0])
    assert f"{function.__name__}{inspect.signature(function)}" == text
    assert function.__doc__


def rand(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-0.5, 0.5, shape).astype("float32")


def check(got, want, dtype="float32", rtol=1e-5, atol=1e-6):
    got = got.eval()
    assert got.shape == np.shape(want) and got.dtype == dtype, (got.shape, got.dtype)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


# ---- each function against NumPy -----------------------------------------------------------------

MAPS = {
    "abs": np.abs, "cos": np.cos, "exp": np.exp, "round": np.round, "sign": np.sign,
    "sin": np.sin, "square": np.square, "transpose": np.transpose, "diag": np.diag,
    "flatten": np.ravel, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sqrt": lambda x: np.sqrt(np.clip(x, 0, None)),
    "zeros_like": np.zeros_like, "ones_like": np.ones_like, "stop_gradient": lambda x: x,
}  # fmt: skip


@pytest.mark.parametrize("name", MAPS)
def test_maps(name):
    x = rand(4, 4) * 4
    check(getattr(B, name)(B.variable(x)), MAPS[name](x))


def test_log():
    x = rand(3, 2) + 0.6
    check(B.log(B.variable(x)), np.log(x))
    with np.errstate(invalid="ignore"):
        check(B.log(B.variable(x - 2)), np.log(x - 2))


@pytest.mark.parametrize(
    "name",
    ["maximum", "minimum", "equal", "not_equal", "greater", "greater_equal", "less", "less_equal"],
)
def test_pairs(name):
    x, y = np.round(rand(4, 3) * 3), np.round(rand(4, 3, seed=1) * 3)
    bools = name not in ("maximum", "minimum")
    check(
        getattr(B, name)(B.variable(x), B.variable(y)),
        getattr(np, name)(x, y),
        "bool" if bools else "float32",
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("axis, keepdims", [(None, False), (1, True), (0, False), ([1, -1], False)])
@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "max", "min", "std", "var", "any", "all", "logsumexp"]
)
def test_reductions(name, axis, keepdims):
    x = rand(4, 3, 2) * 3
    if name in ("any", "all"):
        x = (x > 0.3).astype("float32")
    numpys = None if axis is None else tuple(np.atleast_1d(axis))
    if name == "logsumexp":
        want = np.log(np.sum(np.exp(x.astype("float64")), numpys, keepdims=keepdims))
    else:
        want = getattr(np, name)(x.astype("float64"), axis=numpys, keepdims=keepdims)
    got = getattr(B, name)(B.variable(x), axis=axis, keepdims=keepdims)
    check(got, want, "bool" if name in ("any", "all") else "float32", rtol=1e-4)


def test_reductions_of_other_types():
    whole = np.arange(6).reshape(2, 3)
    check(B.mean(B.variable(whole, dtype="int32"), axis=0), whole.mean(0))
    check(B.mean(B.variable(whole, dtype="int32") > 2), 0.5)
    with K.config.change(floatX="float64"):
        check(B.mean(B.variable(whole, dtype="int8")), 2.5, "float64")
    check(B.logsumexp(B.variable([1e4, 1e-4]), axis=0), 1e4)
    check(B.all([B.variable(1.0) > 0, B.variable(2.0) > 3]), False, "bool")


def test_arg_and_running():
    x = rand(4, 3)
    check(B.argmax(B.variable(x)), x.argmax(-1), "int64")
    check(B.argmin(B.variable(x), axis=0), x.argmin(0), "int64")
    check(B.cumsum(B.variable(x)), x.cumsum(0))
    check(B.cumprod(B.variable(x), axis=1), x.cumprod(1))


def test_pow_and_clip():
    x = rand(4, 2)
    check(B.pow(B.variable(x), 3), x**3)
    check(B.pow(0.96, B.variable([2.0])), [0.96**2])
    check(B.clip(B.variable(x), -0.1, 0.2), np.clip(x, -0.1, 0.2))
    check(B.clip(B.variable(x), 0.1, None), np.clip(x, 0.1, None))
    check(B.clip(B.variable(x), 0.3, -0.3), np.full((4, 2), 0.3))  # the larger limit wins


def test_logdiffexp():
    x = np.sort(rand(3, 5), axis=1)
    e = np.exp(x.astype("float64"))
    check(B.logdiffexp(B.variable(x)), np.log(np.diff(e)), rtol=2e-3)
    check(B.logdiffexp(B.variable(x.T), axis=0), np.log(np.diff(e)).T, rtol=2e-3)
    check(B.logdiffexp(B.variable([1000.0, 1001.0])), [1001 + np.log(1 - np.exp(-1))])
    assert np.isnan(B.logdiffexp(B.variable([2.0, 1.0])).eval()).all()


def test_linear_algebra():
    a, b, v = rand(4, 4), rand(4, 3, seed=1), rand(4, seed=2)
    check(B.dot(B.variable(a), B.variable(b)), a @ b)
    wide = rand(5, 4, 3, seed=3)
    check(B.dot(B.variable(a), B.variable(wide)), np.dot(a, wide), rtol=1e-4)
    check(B.diag(B.variable(v)), np.diag(v))
    well = a + 2 * np.eye(4, dtype="float32")
    check(B.solve(B.variable(well), B.variable(v)), np.linalg.solve(well, v), rtol=1e-4)
    check(B.solve(B.variable(well), B.variable(b)), np.linalg.solve(well, b), rtol=1e-4)
    for x in (a, rand(3, 4), rand(4, 3)):  # a list of full factors, as Theano's
        found = B.svd(B.variable(x))
        assert type(found) is list
        for got, want in zip(found, np.linalg.svd(x)):
            assert got.eval().shape == want.shape
    u, s, w = (x.eval() for x in B.svd(B.variable(rand(3, 4))))
    np.testing.assert_allclose(u * s @ w[:3], rand(3, 4), atol=1e-5)
    u, s, w = (x.eval() for x in B.svd(B.variable(a)))
    np.testing.assert_allclose(u * s @ w, a, atol=1e-5)
    np.testing.assert_allclose(s, np.linalg.svd(a)[1], rtol=1e-5)


def test_fill_diagonal():
    x = rand(4, 4)
    for val in (2.0, np.array([2.0], "float32"), np.arange(4, dtype="float32")):
        want = x.copy()
        np.fill_diagonal(want, val)
        given = val if isinstance(val, float) else B.variable(val)
        check(B.fill_diagonal(B.variable(x), given), want)
    bad = x.copy()
    bad[0, 0] = np.inf
    assert np.isfinite(B.fill_diagonal(B.variable(bad), 1.0).eval()).all()
    with pytest.raises(ValueError, match="square"):
        B.fill_diagonal(np.ones((2, 3)), 1.0)
    with pytest.raises(ValueError):
        B.fill_diagonal(np.ones((3, 3)), np.ones(2)).eval()
    x = B.variable(x)
    g = B.gradients(B.sum(B.fill_diagonal(x, 0.0) * 3), [x])[0]
    check(g, 3 - 3 * np.eye(4))


def test_shapes():
    x, y = rand(4, 3), rand(4, 2)
    check(B.concatenate([B.variable(x), B.variable(y)]), np.concatenate([x, y], -1))
    check(B.stack([B.variable(x), B.variable(x)], axis=1), np.stack([x, x], 1))
    check(B.reshape(B.variable(x), (2, -1)), x.reshape(2, 6))
    z = rand(4, 2, 3)
    check(B.permute_dimensions(B.variable(z), (2, 0, 1)), z.transpose(2, 0, 1))
    check(B.repeat_elements(B.variable(z), 3, axis=1), z.repeat(3, 1))
    check(B.repeat(B.variable(x), 3), np.stack([x] * 3, 1))
    check(B.tile(B.variable(x), (2, 1)), np.tile(x, (2, 1)))
    check(B.squeeze(B.variable(x[:, None]), 1), x)
    check(B.reverse(B.variable(z), 1), z[:, ::-1])
    check(B.reverse(B.variable(z), (1, 2)), z[:, ::-1, ::-1])
    with pytest.raises(ValueError):
        B.squeeze(B.variable(x), 1).eval()
    assert B.shape(B.variable(z)).eval().tolist() == [4, 2, 3]
    assert B.ndim(B.variable(z)) == 3 and B.dtype(B.variable(z)) == "float32"


def test_ranges_and_codes():
    for bounds in [(10,), (-20,), (0,), (0, 5, 1), (-5, 5, 2), (0, 1, 2)]:
        check(B.arange(*bounds), np.arange(*bounds), "int32")
    check(B.arange(4, dtype="float64"), np.arange(4.0), "float64")
    codes = np.random.default_rng(0).integers(0, 20, (3, 4))
    np.testing.assert_array_equal(
        B.one_hot(B.variable(codes, dtype="int32"), 20).eval(), np.eye(20)[codes]
    )
    assert B.allclose(B.variable(1.0), B.variable(1.0 + 1e-6)).eval()
    assert not B.allclose(B.variable([1.0, np.nan]), B.variable([1.0, np.nan])).eval()
    assert not B.allclose(B.variable(1.0), B.variable(1.1), rtol=1e-3, atol=1e-3).eval()
    check(B.cast(B.variable([1.7]), "int32"), [1], "int32")
    assert B.cast(475_000, B.floatx()).eval() == 475_000


# ---- variables and settings ----------------------------------------------------------------------


def test_variables():
    v = B.variable(np.array([[1.5, 2.5]]), name="v")
    assert (v.name, v.dtype) == ("v", "float32") and v  # true, as in Theano
    assert B.get_variable_shape(v) == (1, 2)
    B.set_value(v, [[1], [2], [3]])  # sizes may change
    assert B.get_value(v).tolist() == [[1.0], [2.0], [3.0]]
    k = B.variable(2.9, dtype="int32")
    assert B.eval(k) == 2
    B.set_value(k, 3.7)  # np.asarray(value, dtype)
    assert B.get_value(k) == 3
    check(B.variable(v * 2), [[2], [4], [6]])
    B.batch_set_value([(v, np.zeros((1, 1))), (k, 5)])
    assert [x.tolist() for x in B.batch_get_value([v, k])] == [[[0.0]], 5]
    check(B.zeros((2, 3)), np.zeros((2, 3)))
    check(B.ones((2,), dtype="int64"), np.ones(2), "int64")
    check(B.eye(3, name="I"), np.eye(3))
    with pytest.raises(TypeError, match="get_value"):
        B.get_value(v * 2)
    with pytest.raises(ValueError):
        B.set_value(v, 3.0)


def test_placeholders_keep_their_rank_only():
    x = B.placeholder(shape=(4, 2), name="x")
    f = B.function([x], B.sum(x, axis=0))
    assert f(np.ones((7, 3))).tolist() == [7.0, 7.0, 7.0]  # float64 in, cast down
    assert B.ndim(B.placeholder(ndim=3)) == 3
    with pytest.raises(ValueError):
        B.placeholder()


def test_settings():
    assert (B.backend(), B.floatx(), B.intx()) == ("theano", "float32", "int32")
    assert B.epsilon() == np.finfo("float32").eps
    B.set_epsilon(1e-3)
    B.set_intx("int64")
    assert (B.epsilon(), B.intx()) == (1e-3, "int64")
    for value in ("", "int8", 3):
        with pytest.raises(ValueError):
            B.set_intx(value)
    B.set_floatx("float64")
    assert B.variable([10]).dtype == "float64" == K.floatx()
    for value in ("", "beerfloat", 123):
        with pytest.raises(ValueError):
            B.set_floatx(value)
    assert B.cast_to_floatx([1, 2]).dtype == "float64"


# ---- functions and control flow ------------------------------------------------------------------


def test_functions_and_gradients():
    x, unused = B.placeholder(ndim=1), B.placeholder(ndim=1)
    w = B.variable([1.0, 2.0])
    cost = B.sum(x * w**2)
    single, listed = B.gradients(cost, w), B.gradients(cost, [w])
    assert isinstance(listed, list) and not isinstance(single, list)
    f = B.function([x, unused], [cost, single], updates=OrderedDict([(w, w + 1)]), name="f")
    c, g = f([1, 1], [0])
    assert c == 5 and g.tolist() == [2, 4] and B.get_value(w).tolist() == [2, 3]
    data, at = B.variable(np.arange(8).reshape(4, 2)), B.placeholder((2,), dtype="int32")
    rows = B.function([at], B.sum(x), givens={x: data[at[0]]})
    assert rows(np.array([2, 0])) == 9
    with pytest.raises(ValueError):
        B.gradients(B.sum(B.stop_gradient(w)), [w])


def test_ifelse():
    v = B.variable(0.7)
    pick = B.ifelse(v >= 0.5, v * 0.1, v * 0.2)
    check(pick, 0.07)
    B.set_value(v, 0.2)
    check(B.ifelse(v >= 0.5, v * 0.1, 4), 4)
    both = B.ifelse(B.less(v, 1.0), [v, v * 2], [v * 3, v * 4])
    assert [float(b.eval()) for b in both] == pytest.approx([0.2, 0.4])
    with pytest.raises(ValueError, match="scalar"):
        B.ifelse(B.variable([1.0, 2.0]), v, v)
    with pytest.raises(ValueError, match="equal length"):
        B.ifelse(v > 0, [v, v], [v])


def test_scan_and_until():
    x = B.variable(1.0)
    out, updates = B.scan(lambda h: h * 2, outputs_info=x, n_steps=4, name="powers")
    assert out.eval().tolist() == [2, 4, 8, 16] and len(updates) == 0
    out, _ = B.scan(lambda h: (h * 2, B.until(B.all([h * 2 > 5]))), outputs_info=[x], n_steps=9)
    assert out.eval().tolist() == [2, 4, 8]


# ---- random numbers ------------------------------------------------------------------------------


def test_random_tensors_take_an_rng():
    rng = B.make_rng(seed=42)
    same = K.RandomStreams(42)
    a = [
        B.random_uniform((20,), -1.0, 2.0, rng=rng),
        B.random_normal((5,), 3.0, 0.5, rng=rng),
        B.random_binomial((8,), p=0.5, rng=rng),
        B.random_uniform((3,), dtype="float64", rng=rng),
    ]
    b = [
        same.uniform((20,), -1.0, 2.0),
        same.normal((5,), 3.0, 0.5),
        same.binomial((8,), p=0.5, dtype="float32"),
        same.uniform((3,), dtype="float64"),
    ]
    for x, y in zip(K.function([], a)(), K.function([], b)()):
        np.testing.assert_array_equal(x, y)
        assert x.dtype == y.dtype
    np.random.seed(3)
    first = B.random_normal((4,)).eval()
    np.random.seed(3)
    np.testing.assert_array_equal(B.random_normal((4,)).eval(), first)
    p = B.placeholder(ndim=2)
    coin = B.function([p], B.random_binomial(p.shape, p))
    assert coin(np.array([[0, 1], [1, 0]])).tolist() == [[0, 1], [1, 0]]
    assert B.random_binomial((3,)).eval().tolist() == [0, 0, 0]  # p is 0 unless given


# ---- a client: a restricted Boltzmann machine in the library's manner ----------------------------


class Machine:
    def __init__(self, visible, hidden, seed):
        rng = np.random.default_rng(seed)
        self.W = B.variable(rng.normal(0, 0.5, (visible, hidden)), name="h0-1_W")
        self.b = [
            B.variable(rng.normal(0, 0.2, n), name=f"h{i}_b")
            for i, n in enumerate((visible, hidden))
        ]
        self.weights = [self.W, *self.b]

    def hidden(self, v, beta=1.0):
        return B.sigmoid(B.cast(beta, B.floatx()) * (self.b[1] + B.dot(v, self.W)))

    def visible(self, h, beta=1.0):
        return B.sigmoid(B.cast(beta, B.floatx()) * (self.b[0] + B.dot(h, B.transpose(self.W))))

    def free_energy(self, v, beta=1.0):
        z = self.b[1] + B.dot(v, self.W)
        return -B.sum(B.log(1 + B.exp(beta * z)), axis=1) - beta * B.dot(v, self.b[0])

    def log_z(self):
        """By summing over all visible states."""
        n = B.get_variable_shape(self.b[0])[0]
        states = np.array(np.meshgrid(*[[0, 1]] * n)).reshape(n, -1).T
        v = B.placeholder(shape=(n**2, n))  # the library declares fewer rows than it passes
        return B.function([v], B.logsumexp(-self.free_energy(v)))(states)


def test_contrastive_divergence_learns():
    patterns = np.repeat(np.eye(6)[:3] + np.eye(6)[3:], 20, axis=0)
    machine, rng = Machine(6, 4, seed=1), B.make_rng(seed=7)
    data, index = B.variable(patterns), B.placeholder(shape=(20,), dtype=B.intx())
    x = B.placeholder(shape=(None, 6), name="x")

    def gibbs(v):
        h = machine.hidden(B.random_binomial(v.shape, v, rng=rng))
        return machine.visible(B.random_binomial(h.shape, h, rng=rng))

    chain, updates = B.scan(gibbs, outputs_info=x, n_steps=3, name="scan_gibbs_prob")
    loss = B.mean(machine.free_energy(x)) - B.mean(machine.free_energy(B.stop_gradient(chain[-1])))
    merged = OrderedDict(updates)
    for p, g in zip(machine.weights, B.gradients(loss, machine.weights)):
        moment = B.zeros(B.get_variable_shape(p), name=p.name + "_moment")
        velocity = 0.5 * moment - 0.1 * g
        merged[moment], merged[p] = velocity, p + velocity
    train = B.function([index], loss, updates=merged, givens={x: data[index]}, name="train")

    def score():
        fe = B.function([x], B.mean(machine.free_energy(x)))
        return -float(fe(patterns)) - float(machine.log_z())

    before = score()
    order = np.random.default_rng(0)
    for _ in range(300):
        train(order.integers(0, len(patterns), 20).astype("int32"))
    after = score()
    assert before < -3 and after > -2.2, (before, after)  # three patterns alone: log(1/3) = -1.1


def test_annealed_importance_sampling_finds_the_partition_function():
    machine, base = Machine(6, 4, seed=3), Machine(6, 4, seed=3)
    B.batch_set_value([(w, np.zeros(B.get_variable_shape(w))) for w in base.weights])
    runs, steps, rng = 200, 100, B.make_rng(seed=5)
    betas = B.variable(np.linspace(0, 1, steps), name="betas")
    start = np.random.default_rng(1).integers(0, 2, (runs, 6)).astype("float32")

    def update(log_w, index, v):
        beta = betas[index]
        log_w += machine.free_energy(v, betas[index - 1])
        log_w -= machine.free_energy(v, beta)
        h = machine.hidden(v, beta)
        h = B.random_binomial(h.shape, h, rng=rng)
        v = machine.visible(h, beta)
        index += 1
        return [log_w, index, B.random_binomial(v.shape, v, rng=rng)]

    info = [B.zeros(runs), B.variable(1, dtype=B.intx()), start]
    out, updates = B.scan(update, outputs_info=info, n_steps=steps - 1, name="scan_ais")
    logs = B.function([], out[0][-1], updates=updates)()
    estimate = np.log(np.mean(np.exp(logs.astype("float64")))) + 10 * np.log(2)
    assert abs(estimate - machine.log_z()) < 0.1
