"""RandomStreams against Theano's rules, worked out in plain Python from the recurrences."""

import inspect
import math

import numpy as np
import pytest

import ckernels as K
from ckernels.api.randomstreams import guess_n_streams
from ckernels.base.errors import CKernelsWarning

M1, M2 = 2**31 - 1, 2**31 - 21069
SIGNATURES = """
__init__(self, seed=12345, use_cuda=None)
binomial(self, size=None, n=1, p=0.5, ndim=None, dtype='int64', nstreams=None)
choice(self, size=1, a=None, replace=True, p=None, ndim=None, dtype='int64', nstreams=None)
inc_rstate(self)
multinomial(self, size=None, n=1, pvals=None, ndim=None, dtype='int64', nstreams=None)
multinomial_wo_replacement(self, size=None, n=1, pvals=None, ndim=None, dtype='int64', nstreams=None)
n_streams(self, size)
normal(self, size, avg=0.0, std=1.0, ndim=None, dtype=None, nstreams=None)
pretty_return(self, node_rstate, new_rstate, sample, size, nstreams)
seed(self, seed=None)
set_rstate(self, seed)
uniform(self, size, low=0.0, high=1.0, ndim=None, dtype=None, nstreams=None)
updates(self)
""".strip().split("\n")  # noqa: E501


@pytest.mark.parametrize("text", SIGNATURES)
def test_signatures(text):
    name = text.partition("(")[0]
    assert f"{name}{inspect.signature(getattr(K.RandomStreams, name))}" == text


# ---- Theano's rules in plain Python --------------------------------------------------------------


def multiply(a, b, m):
    return [[sum(x * y for x, y in zip(row, column)) % m for column in zip(*b)] for row in a]


def jumped(state, log2):
    """`state` (six ints) 2**log2 steps on."""
    out = []
    matrices = (
        ([[0, 2**22, 129], [1, 0, 0], [0, 1, 0]], M1, state[:3]),
        ([[2**15, 0, 2**15 + 1], [1, 0, 0], [0, 1, 0]], M2, state[3:]),
    )
    for matrix, m, part in matrices:
        for _ in range(log2):
            matrix = multiply(matrix, matrix, m)
        out += [row[0] for row in multiply(matrix, [[v] for v in part], m)]
    return out


class Model:
    """The numbers z of draws one after the other: z / 2**31 is uniform."""

    def __init__(self, seed):
        self.start = [seed] * 6

    def draw(self, streams, count):
        """A function that gives the next `count` numbers each time."""
        states = [self.start]
        while len(states) < streams:
            states.append(jumped(states[-1], 72))
        self.start = jumped(self.start, 134)

        def step(s):
            x = (2**22 * s[1] + 129 * s[2]) % M1
            y = (2**15 * s[3] + (2**15 + 1) * s[5]) % M2
            s[:] = [x, s[0], s[1], y, s[3], s[4]]
            return (x - y) % M1 or M1

        states = [list(s) for s in states]
        return lambda: np.array([step(states[i % streams]) for i in range(count)], "int64")


def as_float32(z):
    return z.astype("float32") * np.float32(4.6566126e-10)


@pytest.fixture
def streams():
    return K.RandomStreams(seed=987), Model(987)


def test_uniform(streams):
    rng, model = streams
    first = rng.uniform((3, 5), dtype="float64")
    second = rng.uniform(size=(4,), low=-2.0, high=3.0)
    third = rng.uniform([2, 2], nstreams=3, dtype="float64")
    f = K.function([], [first, second, third])
    a, b, c = model.draw(2, 15), model.draw(4, 4), model.draw(3, 4)
    for _ in range(3):
        x, y, z = f()
        np.testing.assert_array_equal(x, (a() * 2.0**-31).reshape(3, 5))
        # float32 fused multiply-add and two roundings differ in the last place
        np.testing.assert_allclose(y, as_float32(b()) * np.float32(5) - np.float32(2), atol=3e-7)
        np.testing.assert_array_equal(z, (c() * 2.0**-31).reshape(2, 2))
    assert y.dtype == "float32"


def test_normal_is_box_muller_over_two_halves(streams):
    rng, model = streams
    odd = rng.normal((3, 3), avg=1.0, std=2.0, dtype="float64", nstreams=5)
    even = rng.normal((4,), nstreams=2)
    f = K.function([], [odd, even])
    a, b = model.draw(5, 10), model.draw(2, 4)
    for _ in range(2):
        x, y = f()
        u = a() * 2.0**-31
        r, t = np.sqrt(-2 * np.log(u[:5])), 2 * np.pi * u[5:]
        want = np.concatenate([r * np.cos(t), r * np.sin(t)])[:9].reshape(3, 3)
        np.testing.assert_allclose(x, 1 + 2 * want, rtol=1e-12)
        u = as_float32(b()).astype("float64")
        r, t = np.sqrt(-2 * np.log(u[:2])), 2 * np.pi * u[2:]
        np.testing.assert_allclose(
            y, np.concatenate([r * np.cos(t), r * np.sin(t)]), rtol=2e-6, atol=1e-6
        )


def test_binomial(streams):
    rng, model = streams
    p = np.array([[0.1], [0.5], [0.9]])
    one = rng.binomial((3, 40), p=p)
    several = rng.binomial((4,), n=5, p=0.25, dtype="float32", nstreams=7)
    x, y = K.function([], [one, several])()
    np.testing.assert_array_equal(x, as_float32(model.draw(20, 120)()).reshape(3, 40) < p)
    assert x.dtype == "int64" and y.dtype == "float32"
    hits = as_float32(model.draw(7, 20)()).reshape(4, 5) < 0.25
    np.testing.assert_array_equal(y, hits.sum(1))


def test_multinomial(streams):
    rng, model = streams
    pvals = np.array([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]], "float32")
    n = K.placeholder((), dtype="int32")
    f = K.function([n], rng.multinomial(n=n, pvals=pvals, nstreams=4, dtype="int32"))
    g = K.function([], rng.multinomial(pvals=[[-2.0, 2.0]], nstreams=1))
    for count in (1, 6):
        got = f(count)
        u = as_float32(Model(987).draw(4, 2 * count)()).astype("float64").reshape(count, 2)
        if count == 6:  # the first call moved the states by one number
            moved = Model(987).draw(4, 2 + 2 * count)
            z = moved()
            u = as_float32(reordered(z, 4, 2, 12)).astype("float64").reshape(6, 2)
        want = np.zeros((2, 3), "int32")
        for row in range(2):
            edges = np.cumsum(pvals[row].astype("float64"))
            for number in u[:, row]:
                want[row, np.argmax(edges > number)] += 1
        np.testing.assert_array_equal(got, want)
        assert got.dtype == "int32"
    np.testing.assert_array_equal(g(), [[0, 0]])


def reordered(z, streams, taken, count):
    """The numbers of a second call that starts at stream 0 after `taken` numbers were drawn."""
    left = [[z[i] for i in range(k, len(z), streams)] for k in range(streams)]
    for k in range(taken):
        left[k].pop(0)
    return np.array([left[i % streams].pop(0) for i in range(count)])


def test_choice(streams):
    rng, model = streams
    p = np.array([[0.5, 0.0, 0.25, 0.25], [0.1, 0.2, 0.3, 0.4]])
    f = K.function(
        [],
        [
            rng.choice(size=3, replace=False, p=p, nstreams=2),
            rng.choice(size=5, p=p, nstreams=1),
            rng.multinomial_wo_replacement(n=2, pvals=p, dtype="int32"),
        ],
    )
    without, replaced, older = f()
    u = as_float32(model.draw(2, 6)()).reshape(3, 2)
    for row in range(2):
        q, want = p[row].copy(), []
        for number in u[:, row]:
            want.append(int(np.argmax(np.cumsum(q) > number)))
            q[want[-1]] = 0
            q /= max(q.sum(), 1e-9)
        assert without[row].tolist() == want
    u = as_float32(model.draw(1, 10)()).reshape(5, 2)
    for row in range(2):
        want = [int(np.argmax(np.cumsum(p[row]) > number)) for number in u[:, row]]
        assert replaced[row].tolist() == want
    assert older.dtype == "int32" and older.shape == (2, 2)
    assert all(len(set(row)) == 2 for row in older.tolist())


def test_documented_examples():
    """`probably` in Theano's words; certain with this seed."""
    rng = K.RandomStreams()
    p = [[0.98, 0.01, 0.01], [0.01, 0.49, 0.50]]
    one, two = K.function([], [rng.multinomial(pvals=p), rng.multinomial(n=2, pvals=p)])()
    assert (one.shape, two.shape) == ((2, 3), (2, 3))
    assert (one.sum(1) == 1).all() and (two.sum(1) == 2).all()
    assert one[0].tolist() == [1, 0, 0] and two[0].tolist() == [2, 0, 0]


# ---- how many streams, and which -----------------------------------------------------------------


def test_numbers_of_streams():
    rng = K.RandomStreams()
    for size, want in [
        ((), 1),
        ((6,), 6),
        ((7,), 1),
        ((13,), 2),
        ((100, 60), 1000),
        ([12, 5], 10),
        ((10**4, 10**4), 15360),
        ((np.int64(12),), 15360),
    ]:
        assert rng.n_streams(size) == guess_n_streams(size) == want
    x = K.placeholder((None, 3))
    assert guess_n_streams(K.shape(x)) == guess_n_streams((x.shape[0], 2)) == 60 * 256
    with pytest.warns(CKernelsWarning, match="number of streams"):
        guess_n_streams(K.shape(x), warn=True)
    assert rng.uniform((60,)).rstate.get_value().shape == (10, 6)
    assert rng.uniform((60,), nstreams=4).rstate.get_value().shape == (4, 6)
    assert rng.normal((60,)).rstate.get_value().shape == (15360, 6)  # its count is no Python int


def test_draws_start_2_to_the_134_apart():
    rng = K.RandomStreams(seed=[1, 2, 3, 4, 5, 6])
    start = [1, 2, 3, 4, 5, 6]
    for _ in range(3):
        assert rng.rstate.tolist() == start and rng.rstate.dtype == "int32"
        state = rng.uniform((12,)).rstate.get_value()
        assert state.dtype == "int32" and state.tolist() == [start, jumped(start, 72)]
        start = jumped(start, 134)
    rows = rng.get_substream_rstates(3, "float32", inc_rstate=False)
    assert rows.shape == (3, 6) and rng.rstate.tolist() == rows[0].tolist() == start
    rng.inc_rstate()
    assert rng.rstate.tolist() == jumped(start, 134)
    assert rng.get_substream_rstates(1, "float64").tolist() == [jumped(start, 134)]
    assert rng.rstate.tolist() == jumped(jumped(start, 134), 134)


def test_seed_starts_all_draws_anew():
    rng = K.RandomStreams(5)
    f = K.function([], [rng.uniform((4,)), rng.normal((3,), nstreams=2), rng.binomial((9,))])
    first, second = f(), f()
    rng.seed()
    again = [f(), f()]
    for a, b in zip(first + second, again[0] + again[1]):
        np.testing.assert_array_equal(a, b)
    rng.seed(6)
    other = f()
    rng.seed(5)
    assert not np.array_equal(other[0], first[0])
    np.testing.assert_array_equal(f()[0], first[0])
    g = K.RandomStreams(6)
    np.testing.assert_array_equal(g.uniform((4,)).eval(), other[0])


# ---- the semantics of Theano's manual ------------------------------------------------------------


def test_copying_states_between_graphs():
    class Graph:
        def __init__(self, seed):
            self.rng = K.RandomStreams(seed)
            self.y = self.rng.uniform(size=(1,))

    g1, g2 = Graph(123), Graph(987)
    f1, f2 = K.function([], g1.y), K.function([], g2.y)
    assert f1() != f2()
    g2.rng.rstate = g1.rng.rstate
    for su1, su2 in zip(g1.rng.state_updates, g2.rng.state_updates):
        su2[0].set_value(su1[0].get_value())
    assert f1() == f2()
    assert g1.rng.uniform((1,)).eval() == g2.rng.uniform((1,)).eval()


def test_updates_and_default_updates():
    rng = K.RandomStreams(3)
    u = rng.uniform((2, 2))
    nearly = K.function([], u + u - 2 * u)
    np.testing.assert_array_equal(nearly(), np.zeros((2, 2)))
    still = K.function([], u, no_default_updates=True)
    np.testing.assert_array_equal(still(), still())
    moving = K.function([], u, updates=rng.updates(), no_default_updates=True)
    a, b = moving(), moving()
    assert not np.array_equal(a, b)
    assert len(rng.state_updates) == 1 and rng.state_updates[0][2:] == ((2, 2), None)
    assert rng.state_updates[0][0] is u.rstate and u.update == rng.updates()[0]
    saved = u.rstate.get_value()
    f = K.function([], u)
    v1 = f()
    u.rstate.set_value(saved)
    np.testing.assert_array_equal(f(), v1)


def test_functions_share_states():
    rng = K.RandomStreams(4)
    u = rng.uniform((6,), dtype="float64")
    f, g = K.function([], u), K.function([], u * 1.0)
    both = [f(), g(), f()]
    z = Model(4).draw(6, 6)
    np.testing.assert_array_equal(both, [z() * 2.0**-31 for _ in range(3)])


def test_symbolic_sizes():
    rng = K.RandomStreams(8)
    x = K.placeholder((None, None))
    u, z = rng.uniform(K.shape(x)), rng.normal((x.shape[1], 3), dtype="float64")
    f = K.function([x], [u, z])
    a, b = f(np.ones((4, 5), "float32"))
    assert a.shape == (4, 5) and b.shape == (5, 3)
    np.testing.assert_array_equal(a.reshape(-1), as_float32(Model(8).draw(20, 20)()))
    assert f(np.ones((1, 1), "float32"))[1].shape == (1, 3)
    s = K.placeholder(ndim=1, dtype="int64")
    assert K.function([s], rng.uniform(s, ndim=2))(np.array([2, 3])).shape == (2, 3)
    r = K.function([x], rng.binomial(K.shape(x), n=3, p=0.5))(np.ones((4, 2), "float32"))
    assert r.shape == (4, 2)


def test_dtypes():
    rng = K.RandomStreams(8)
    assert rng.uniform((2,)).dtype == rng.normal((2,)).dtype == K.floatx()
    assert rng.uniform((2,), low=K.constant(0.0, dtype="float64")).dtype == "float64"
    assert rng.uniform((2,), low=K.constant(0, dtype="int32")).dtype == "float64"
    assert rng.normal((2,), avg=np.zeros(2), dtype="float32").dtype == "float32"
    assert rng.uniform((500,), dtype="float16").eval().dtype == "float16"
    assert rng.binomial((2,), dtype="float32").eval().dtype == "float32"


def test_moments():
    rng = K.RandomStreams(77)
    u, z, b = K.function(
        [],
        [
            rng.uniform((300, 300), dtype="float64"),
            rng.normal((300, 300)),
            rng.binomial((300, 300), p=0.3),
        ],
    )()
    n = 90_000
    assert abs(u.mean() - 0.5) < 4 / math.sqrt(12 * n) and 0 < u.min() and u.max() < 1
    assert abs(z.mean()) < 4 / math.sqrt(n) and abs(z.std() - 1) < 4 / math.sqrt(2 * n)
    assert abs(b.mean() - 0.3) < 4 * math.sqrt(0.21 / n)


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seed, kind, match",
    [
        (0, ValueError, "1 .. 2147462578"),
        (M2, ValueError, "1 .. 2147462578"),
        (-3, ValueError, "1 .. "),
        ([0, 0, 0, 1, 1, 1], ValueError, "first three"),
        ([1, 1, 1, 0, 0, 0], ValueError, "last three"),
        ([M1, 1, 1, 1, 1, 1], ValueError, "first"),
        ([1, 1, 1, 1, 1, M2], ValueError, "last"),
        ([1, 2], TypeError, "one integer or six"),
        ("abc", TypeError, "one integer or six"),
        (1.5, TypeError, "one integer or six"),
        ([1.5] * 6, TypeError, "word of the seed"),
    ],
)
def test_refused_seeds(seed, kind, match):
    with pytest.raises(kind, match=match):
        K.RandomStreams(seed)
    with pytest.raises(kind, match=match):
        K.RandomStreams(1).seed(seed)


def test_refused_draws():
    rng = K.RandomStreams(1)
    rows = K.placeholder((None, 2))
    cases = [
        (lambda: rng.uniform((2, 0)), ValueError, "below 1"),
        (lambda: rng.uniform((-1,)), ValueError, "below 1"),
        (lambda: rng.uniform(3), TypeError, "tuple"),
        (lambda: rng.uniform(rows), TypeError, "vector"),
        (lambda: rng.uniform((rows,)), ValueError, "scalar"),
        (lambda: rng.uniform((2.5,)), TypeError, "integer"),
        (lambda: rng.uniform((2,), ndim=3), ValueError, "ndim is 3"),
        (lambda: rng.uniform(K.placeholder(ndim=1, dtype="int64")), ValueError, "give ndim"),
        (lambda: rng.uniform((2,), dtype="int32"), TypeError, "float64, not int32"),
        (lambda: rng.uniform((2,), low=np.zeros((3, 2))), ValueError, r"low of shape .* \(2,\)"),
        (lambda: rng.normal((2,), std=np.ones((3, 1))), ValueError, "std of shape"),
        (lambda: rng.binomial((2, 3), p=[0.5, 0.5]), ValueError, "p of shape"),
        (lambda: rng.uniform((2,), nstreams=0), ValueError, "at least one stream"),
        (lambda: rng.binomial(), TypeError, "size"),
        (lambda: rng.binomial((2,), n=0), ValueError, "at least 1"),
        (lambda: rng.binomial((2,), n=np.ones(2, "int64")), TypeError, "must be an integer"),
        (lambda: rng.binomial((2,), n=rows), TypeError, "must be an integer"),
        (lambda: rng.binomial((2,), p=1.5), ValueError, r"\[0, 1\], got 1.5"),
        (lambda: rng.binomial((2,), p=[0.5, -0.25]), ValueError, r"\[0, 1\], got -0.25"),
        (lambda: rng.binomial((2,), p=np.nan), ValueError, "got nan"),
        (lambda: rng.multinomial(), TypeError, "pvals of multinomial is missing"),
        (lambda: rng.multinomial(pvals=[0.5, 0.5]), ValueError, "matrix"),
        (lambda: rng.multinomial(size=(2,), pvals=[[1.0]]), ValueError, "leave size"),
        (lambda: rng.multinomial(n=rows, pvals=[[1.0]]), ValueError, "integer scalar"),
        (lambda: rng.choice(), TypeError, "p of choice is missing"),
        (lambda: rng.choice(a=3, p=[[1.0]]), TypeError, "leave a"),
        (lambda: rng.choice(size=3, replace=False, p=[[0.5, 0.5]]), ValueError, "but there are 2"),
        (lambda: rng.multinomial_wo_replacement(size=(1,), pvals=[[1.0]]), ValueError, "size"),
        (lambda: K.RandomStreams(1, use_cuda=True), NotImplementedError, "CPU"),
    ]
    before = rng.rstate.tolist()
    for build, kind, match in cases:
        with pytest.raises(kind, match=match):
            build()
    assert before == rng.rstate.tolist() and not rng.state_updates  # as if nobody had asked
