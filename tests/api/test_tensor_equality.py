"""`==` and `!=`: the truth is Python's identity, the operand is the elementwise comparison."""

import copy
import operator
import pickle

import numpy as np
import pytest

import ckernels as K
from ckernels.compat import keras1, keras2, natural_bm
from ckernels.errors import DTypeError, ShapeError, UsageError

A = np.array([[0.0, 2, np.nan], [4, -0.0, -6]], "float32")
B = np.array([[0.0, 3, np.nan], [4, 0, 6]], "float32")
DIALECTS = [K, keras1, keras2, natural_bm]
OPS = [operator.eq, operator.ne]


def computed(make, *arrays):
    """The value of make(*placeholders), for arrays."""
    xs = [K.placeholder(ndim=a.ndim, dtype=a.dtype.name) for a in arrays]
    return K.function(xs, make(*xs))(*arrays)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: d.__name__.split(".")[-1])
def test_truth_is_identity(dialect):
    x, y, w = dialect.placeholder((2,)), dialect.placeholder((2,)), dialect.variable(np.ones(2))
    for a in (x, w, x + 1):
        assert bool(a == a) is True and bool(a != a) is False
        assert bool(a == y) is False and bool(a != y) is True
        for other in (0, 1.0, np.ones(2), np.float32(1), [1, 1], (), True):
            assert bool(a == other) is bool(other == a) is False
            assert bool(a != other) is bool(other != a) is True
    assert x in [y, w, x] and x not in [y, w, np.ones(2), 0, None]
    assert [y, x, w, x].index(x) == 1 and [x, y, x].count(x) == 2
    assert x not in (0, 1, None, "auto") and (x, 1) == (x, 1) and (x, 1) != (y, 1)
    assert {x: 1, y: 2}[x] == 1 and {"a": x} == {"a": x} and {"a": x} != {"a": y}
    assert len({x, y, w, x}) == 3 and hash(x) == object.__hash__(x)
    left = [y, x]
    left.remove(x)
    assert left == [y] and (x + 1) not in [x + 1]  # two handles on one node


@pytest.mark.parametrize("other", [None, "same", b"same", "", np.str_("a"), {}, object(), len, int])
def test_beside_what_is_no_value_it_is_a_plain_bool(other):
    x, w = K.placeholder((2,)), K.variable(np.ones(2))
    for a in (x, w, K.placeholder((2, 2), sparse=True)):
        assert (a == other) is (other == a) is False and (a != other) is (other != a) is True


@pytest.mark.parametrize("op", OPS, ids=["eq", "ne"])
def test_elementwise_on_both_sides(op):
    for right in (B, B[0], np.float64(2), 2, 2.0, True, B.tolist(), tuple(B[1].tolist())):
        wanted = op(A, np.asarray(right))
        x = K.placeholder(ndim=2)
        for found in K.function([x], [op(x, right), op(right, x)])(A):
            assert found.dtype == bool
            np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(computed(op, A, B), op(A, B))
    np.testing.assert_array_equal(computed(lambda x: op(x, x), A), op(A, A))  # NaN is not itself
    np.testing.assert_array_equal(computed(lambda x: op(x, [x[0], x[1]]), A), op(A, A))
    for shape in ((0, 3), (2, 0), ()):
        empty = np.ones(shape, "float32")
        np.testing.assert_array_equal(computed(lambda x: op(x, 1), empty), op(empty, 1))
    for dtype in ("uint8", "int64", "bool", "float64", "complex64"):
        a, b = A[:, :2].astype(dtype), B[:, :2].astype(dtype)
        np.testing.assert_array_equal(computed(op, a, b), op(a, b))


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: d.__name__.split(".")[-1])
def test_wherever_a_tensor_is_expected(dialect):
    p, t = dialect.placeholder(ndim=2), dialect.placeholder(ndim=1, dtype="int64")
    hits = dialect.mean(dialect.cast(dialect.argmax(p) == t, "float32"))
    f = dialect.function([p, t], [hits])
    assert float(f([np.eye(10, dtype="float32"), np.arange(10)])[0]) == 1.0
    x = dialect.placeholder(ndim=1)
    switch = getattr(dialect, "switch", K.switch)
    chosen = switch(x != 0, 1 / x, dialect.zeros_like(x))
    g = dialect.function([x], [chosen])
    np.testing.assert_array_equal(g([np.array([0, 2], "float32")])[0], [0, 0.5])


def test_places_of_operands():
    x, y = K.placeholder((None,)), K.placeholder((None,))
    w = K.variable(np.array([0.0, 5]))
    values = np.array([0.0, 5], "float32")
    is_zero = values == 0

    def of(output, **options):
        return K.function([x], output, **options)(values)

    np.testing.assert_array_equal(of(x == 0), is_zero)  # an output, alone and in a list
    np.testing.assert_array_equal(of([x, 0 != x])[1], ~is_zero)
    np.testing.assert_array_equal(of(K.where(x == 0, 1, x)), [1, 5])
    np.testing.assert_array_equal(of(x[x == 0]), [0])
    np.testing.assert_array_equal(of((x == 0) * x + (x == 5)), [0, 1])
    np.testing.assert_array_equal(of(~(x == 0) & (x == 5) | (x != x)), [False, True])
    np.testing.assert_array_equal(of((x == 0) == (x == 5)), [False, False])
    np.testing.assert_array_equal(of((x == 0).sum()), 1)
    np.testing.assert_array_equal(of(np.sum(x == 0)), 1)
    np.testing.assert_array_equal(of(np.array([0, 4]) == x), [True, False])
    np.testing.assert_array_equal(of(np.not_equal(values, x)), [False, False])
    np.testing.assert_array_equal(of(K.stack([x == 0, x != 0])), [is_zero, ~is_zero])
    np.testing.assert_array_equal(of(K.ifelse(K.sum(x) == 5, x, -x)), values)
    np.testing.assert_array_equal(of(K.set_subtensor(x[x == 0], 7)), [7, 5])
    np.testing.assert_array_equal(of(y, givens={y: K.cast(x == 0, "float32")}), is_zero)
    K.function([], [], updates=[(w, w == 5)])()
    np.testing.assert_array_equal(w.get_value(), [0, 1])
    np.testing.assert_array_equal(K.eval(w == 0), [True, False])
    states, _ = K.scan(lambda h: (h + 1, K.until(h[0] == 2)), outputs_info=x, n_steps=9)
    np.testing.assert_array_equal(of(states)[:, 0], [1, 2, 3])


def test_it_is_a_tensor():
    x = K.placeholder((None, 3), name="x")
    same = x == 2
    assert K.int_shape(same) == (None, 3) and same.dtype == "bool" and K.ndim(same) == 2
    assert repr(same) == "(x == 2)" and repr(x != 2) == "(x != 2)" and same.name is None
    assert same.node is (x == 2).node and same.line[:2] == (__file__, same.node.line[1])
    w = K.variable([1.0, 2])
    for twin in (copy.copy(w == 2), copy.deepcopy(w == 2), pickle.loads(pickle.dumps(w == 2))):
        np.testing.assert_array_equal(K.eval(twin), [False, True])


def test_errors_name_the_line_of_the_comparison():
    a, b = K.placeholder((3,)), K.placeholder((2,))
    different = a == b  # this line
    with pytest.raises(ShapeError, match=r"(?s)\(3,\) and \(2,\).*this line"):
        K.sum(different)
    with pytest.raises(DTypeError, match="text"):
        K.sum(a == ["u", "v", "w"])
    assert bool(different) is False and repr(different)  # without a node


def test_what_and_or_and_chains_return_is_no_tensor():
    x, y = K.placeholder((2,), name="x"), K.placeholder((2,), name="y")
    for made in (0 == x == 1, x == 0 and y == 0, x != 0 or y != 0):
        with pytest.raises(UsageError, match=r"(?s)`and`.*(\(x > 0\) & \(x < 1\)).*made at"):
            K.where(made, 1, x)
    used = x == 0
    K.sum(used)
    assert not used and K.int_shape(K.any(used)) == ()  # a node that was there before


def test_sparse():
    sp = pytest.importorskip("scipy.sparse")
    s, t = K.placeholder((2, 2), sparse=True), K.placeholder((2, 2), sparse=True)
    x, eye = K.placeholder((2, 2)), np.eye(2, dtype="float32")
    assert bool(s == s) and s in [t, s] and s not in [t, x, None] and not x == s
    f = K.function([s, t, x], [s == 1, s != t, x == s, s == x, [[1, 1], [1, 1]] != s])
    found = f(sp.csr_matrix(eye), sp.csr_matrix(2 * eye), np.ones((2, 2), "float32"))
    for got, wanted in zip(found, (eye == 1, eye != 2 * eye, eye == 1, eye == 1, eye != 1)):
        np.testing.assert_array_equal(got, wanted)


def test_theano_keeps_plain_bools():
    import ckernels.compat.theano.tensor as T

    x, y = T.vector("x"), T.vector("y")
    assert (x == x) is True and (x == y) is False and (x != x) is False and (x != y) is True
    assert (x == 0) is (np.ones(2) == x) is False and (np.ones(2) != x) is True
    with pytest.raises(TypeError, match="theano.tensor.eq"):
        T.switch(x == y, 1, x)
