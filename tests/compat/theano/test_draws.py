"""Draws of theano.tensor.raw_random, number for number those of NumPy's RandomState."""

import pickle

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano.gof.null_type import NullType
from ckernels.compat.theano.sandbox import multinomial
from ckernels.compat.theano.tensor import raw_random
from ckernels.compat.theano.tensor.shared_randomstreams import (
    RandomStreams,
    randomstate_constructor,
)

P = np.array([0.2, 0.5, 0.3])
KIND = raw_random.random_state_type


def drawn(build, seed=7):
    """(the sample, the state behind it) of a draw from RandomState(seed)."""
    state = KIND("state")
    after, sample = build(state)
    f = theano.function([state], [sample, after])
    return f(np.random.RandomState(seed))


DRAWS = {
    "uniform": (
        lambda r: raw_random.uniform(r, (3, 2), 1.0, 4.0),
        lambda r: r.uniform(1, 4, (3, 2)),
    ),
    "uniform of parameters": (
        lambda r: raw_random.uniform(r, None, np.zeros(3), np.arange(1.0, 4)),
        lambda r: r.uniform(np.zeros(3), np.arange(1.0, 4)),
    ),
    "a size as a number": (lambda r: raw_random.normal(r, 4), lambda r: r.normal(size=4)),
    "a size as a variable": (
        lambda r: raw_random.normal(r, T.constant([2, 3]), 1.0, 2.0),
        lambda r: r.normal(1, 2, (2, 3)),
    ),
    "integers": (
        lambda r: raw_random.random_integers(r, (9,), -2, 5),
        lambda r: r.randint(-2, 6, 9),
    ),
    "binomial": (
        lambda r: raw_random.binomial(r, (5,), 10, prob=0.3),
        lambda r: r.binomial(10, 0.3, 5),
    ),
    "poisson": (lambda r: raw_random.poisson(r, (5,), 3.5), lambda r: r.poisson(3.5, 5)),
    "one of a range": (lambda r: raw_random.choice(r, None, 9), lambda r: r.choice(9)),
    "weighted choice": (
        lambda r: raw_random.choice(r, (6,), 3, True, P),
        lambda r: r.choice(3, 6, p=P),
    ),
    "one weighted choice": (
        lambda r: raw_random.choice(r, None, 3, True, P),
        lambda r: r.choice(3, p=P),
    ),
    "choice without return": (
        lambda r: raw_random.choice(r, (4,), 4, False),
        lambda r: r.choice(4, 4, replace=False),
    ),
    "a permutation": (lambda r: raw_random.permutation(r, None, 6), lambda r: r.permutation(6)),
    "rows of permutations": (
        lambda r: raw_random.permutation(r, (3,), 5),
        lambda r: np.stack([r.permutation(5) for _ in range(3)]),
    ),
    "multinomial": (
        lambda r: raw_random.multinomial(r, None, 20, tuple(P)),
        lambda r: r.multinomial(20, P),
    ),
    "many multinomials": (
        lambda r: raw_random.multinomial(r, 4, 20, P),
        lambda r: np.stack([r.multinomial(20, P) for _ in range(4)]),
    ),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_numpys(name):
    build, wanted = DRAWS[name]
    state = np.random.RandomState(7)
    want = np.asarray(wanted(state))
    found, after = drawn(build)
    assert found.shape == want.shape
    np.testing.assert_array_equal(found, want.astype(found.dtype))
    assert KIND.is_valid_value(after) and KIND.values_eq(after, state)
    assert not KIND.values_eq(after, np.random.RandomState(7))


def test_a_function_of_ones_own_draws():
    def halves(state, low, size):
        return low + state.randint(0, 2, size) / 2

    op = raw_random.RandomFunction(halves, T.dvector, inplace=True)
    assert str(op) == "RandomFunction{halves}" and op.destroy_map == {0: [0]}
    state = KIND("state")
    after, sample = op(state, (5,), 3.0)
    want = 3 + np.random.RandomState(3).randint(0, 2, 5) / 2
    found = theano.function([state], sample)(np.random.RandomState(3))
    np.testing.assert_array_equal(found, want)
    found = op.grad(sample.owner.inputs, [None, None])  # undefined, as in Theano
    assert len(found) == 3 and all(isinstance(g.type, NullType) for g in found)


def test_states():
    state = np.random.RandomState(5)
    words = KIND.filter(state)
    assert KIND.filter(words) is words and str(KIND) == "RandomStateType"
    assert KIND == type(KIND)() and hash(KIND) == hash(type(KIND)())
    assert KIND.may_share_memory(state, state) and not KIND.may_share_memory(state, words)
    with pytest.raises(TypeError, match="expected a numpy.random.RandomState"):
        KIND.filter(3)
    with pytest.raises(TypeError):
        randomstate_constructor(3)
    shared = randomstate_constructor(state, "s")
    assert KIND.values_eq(shared.get_value(), state)


def test_sizes_that_cannot_be():
    r, n = KIND("r"), T.lvector("n")
    for call, sentence in (
        (lambda: raw_random.uniform(r, (2, 3), ndim=3), "ndim should be 2"),
        (lambda: raw_random.uniform(r, n), "number of dimensions .* give ndim"),
        (lambda: raw_random.permutation(r, None, 3, ndim=2), "not of 2 dimensions"),
        (lambda: raw_random.poisson(r, None, 1.0, ndim=2), "needs a size"),
        (lambda: raw_random.uniform(T.dvector(), (2,)), "RandomStateType"),
        (lambda: raw_random._infer_ndim_bcast(None, None), "neither a size nor parameters"),
        (lambda: raw_random._infer_ndim_bcast(3, (2, 2)), "ndim should be 2, but got 3"),
    ):
        with pytest.raises((TypeError, ValueError), match=sentence):
            call()


def test_dimensions_of_a_draw_that_libraries_ask_for():
    ask = raw_random._infer_ndim_bcast
    ndim, size, ones = ask(None, (4, 1), T.dmatrix())
    assert (ndim, size.eval().tolist(), ones) == (2, [4, 1], (False, True))
    ndim, size, ones = ask(None, None, T.dcol(), T.dscalar())
    assert (ndim, size.eval().tolist(), ones) == (2, [], (False, True))
    ndim, size, ones = ask(2, T.lvector("n"))
    assert (ndim, ones) == (2, (False, False))


def test_a_size_that_a_call_brings():
    r, n = KIND("r"), T.lvector("n")
    f = theano.function([r, n], raw_random.uniform(r, n, ndim=2)[1])
    np.testing.assert_array_equal(
        f(np.random.RandomState(1), [2, 3]), np.random.RandomState(1).uniform(size=(2, 3))
    )


def test_streams():
    """Theano's manual: seeds of the draws come from a RandomState with the seed of the stream."""
    streams = RandomStreams(234)
    rows = streams.shuffle_row_elements(T.constant(np.arange(12.0).reshape(3, 4)))
    more = [streams.choice((3,), 5), streams.poisson((3,), 2.0), streams.multinomial((2,), 9, P)]
    f = theano.function([], [rows, rows.permutation, *more])
    seeds = np.random.RandomState(234)
    states = [np.random.RandomState(int(seeds.randint(2**30))) for _ in range(4)]
    order = np.stack([states[0].permutation(4) for _ in range(3)])
    want = [
        np.take_along_axis(np.arange(12.0).reshape(3, 4), order, 1), order,
        states[1].choice(5, 3), states[2].poisson(2.0, 3),
        np.stack([states[3].multinomial(9, P) for _ in range(2)]),
    ]  # fmt: skip
    for have, w in zip(f(), want):
        np.testing.assert_array_equal(have, w)
    assert KIND.values_eq(streams[rows.permutation.rng], states[0])
    streams[rows.permutation.rng] = np.random.RandomState(9)
    again = np.random.RandomState(9)
    np.testing.assert_array_equal(f()[1], np.stack([again.permutation(4) for _ in range(3)]))
    for key in (3, rows):
        with pytest.raises(KeyError):
            streams[key]
        with pytest.raises(KeyError):
            streams[key] = again
    with pytest.raises(TypeError, match="only values of type RandomState"):
        streams[rows.permutation.rng] = 3


def test_ops_of_draws_are_told_apart():
    r = KIND("r")
    a, b = (raw_random.uniform(r, (2,), dtype=d)[1].owner.op for d in ("float64", "float32"))
    assert a == pickle.loads(pickle.dumps(a)) and a != b


def first_above(pvals, numbers, replace):
    """The classes drawn of one row, one after another, as Theano's documentation says."""
    pvals, found = np.array(pvals, "float64"), []
    for number in numbers:
        found.append(int(np.flatnonzero(np.cumsum(pvals) > number)[0]))
        if not replace:
            pvals[found[-1]] = 0
            pvals /= pvals.sum()
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("replace", [False, True])
def test_classes_of_uniform_numbers_one_has(dtype, replace):
    rng = np.random.default_rng(3)
    rows, classes, n = 4, 6, 3
    pvals = rng.uniform(0.1, 1, (rows, classes)).astype(dtype)
    pvals /= pvals.sum(1, keepdims=True)
    unis = rng.uniform(0, 0.99, rows * n).astype(dtype)
    want = np.array([first_above(pvals[r], unis[r::rows], replace) for r in range(rows)])
    p, u, count = T.matrix(dtype=dtype), T.vector(dtype=dtype), T.iscalar()
    op = multinomial.ChoiceFromUniform("auto", replace=replace)
    drawn = op(p, u, count)
    assert drawn.dtype == "int64" and drawn.owner.op == pickle.loads(pickle.dumps(op))
    f = theano.function([p, u, count], drawn)
    np.testing.assert_array_equal(f(pvals, unis, n), want)
    with pytest.raises(ValueError, match="cannot reshape"):
        f(pvals, unis[1:], n)
    if replace:
        counts = multinomial.MultinomialFromUniform("auto")(p, u, count)
        assert counts.dtype == dtype and str(counts.owner.op) == "MultinomialFromUniform{auto}"
        found = theano.function([p, u, count], counts)(pvals, unis, n)
        np.testing.assert_array_equal(found, [np.bincount(row, minlength=classes) for row in want])
    else:
        with pytest.raises(ValueError, match="cannot choose 7 of 6 classes"):
            f(pvals, np.zeros(rows * 7, dtype), 7)


def test_ops_of_uniform_numbers():
    one = multinomial.MultinomialFromUniform("int8")
    assert (
        one
        == multinomial.MultinomialFromUniform("int8")
        != multinomial.MultinomialFromUniform("auto")
    )
    assert one(T.matrix(), T.vector()).dtype == "int8"
    with pytest.raises(NotImplementedError, match="unis ndim should be 1, not 2"):
        one(T.matrix(), T.matrix())
    with pytest.warns(DeprecationWarning, match="use ChoiceFromUniform"):
        older = multinomial.MultinomialWOReplacementFromUniform("auto")
    # rows that add up to less than a number: no class is counted, as in Theano's C
    found = one(T.constant([[0.25, 0.5], [1.0, 0.0]]), T.constant([0.9, 0.9]))
    np.testing.assert_array_equal(found.eval(), [[0, 0], [1, 0]])
    assert not older.replace and older(T.constant([[0.0, 1.0]]), T.constant([0.5])).eval() == [[1]]
