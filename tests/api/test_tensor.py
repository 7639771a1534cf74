"""The handle: identity, operators in both orders, indexing, methods, values, and its refusals."""

import copy
import operator

import numpy as np
import pytest

import ckernels as K
from ckernels.errors import ShapeError, UsageError

from .test_math import close, run

X = np.array([[1.0, -2, 3], [4, 5, -6]], "float32")


def test_handles_are_distinct_and_carry_attributes():
    x = K.placeholder(shape=(2, 3))
    a, b = x + 1, x + 1
    assert a is not b and a.node is b.node and a != b and a == a
    a._keras_history = 1
    assert not hasattr(b, "_keras_history")
    assert len({a, b, a}) == 2 and a in [b, a]
    assert a.line[0] == __file__ and a.line[2] == "test_handles_are_distinct_and_carry_attributes"
    assert copy.copy(x).node is x.node and copy.deepcopy(x) is x


def test_repr():
    x, w = K.placeholder(shape=(None, 3)), K.variable(np.ones((3, 10)))
    assert repr(K.placeholder(ndim=1, name="x")) == "x"
    assert repr(K.tanh(x)) == "<Tensor tanh float32 (?, 3)>"
    assert repr(w) == "<Variable float32 (3, 10)>"
    assert str(K.variable(0.0, name="example_var")) == "example_var"


BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]  # fmt: skip


@pytest.mark.parametrize("op", BINARY, ids=lambda f: f.__name__)
def test_operators_in_both_orders(op):
    other = np.array([2.0, 3, 4], "float32")
    close(run(lambda t: op(t, other), X), op(X, other))
    close(run(lambda t: op(other, t), X), op(other, X))
    close(run(lambda t: op(t, 2), X), op(X, 2), op(X, 2).dtype)
    close(run(lambda t: op(2.5, t), X), op(np.float32(2.5), X), op(np.float32(2.5), X).dtype)
    close(run(lambda t: op(np.float64(2.5), t), X), op(2.5, X), op(np.float32(2.5), X).dtype)
    close(run(lambda t: op(t, t), X), op(X, X))


def test_other_operators():
    n = np.array([5, 6, 7], "int32")
    m = np.array([1, 2, 3], "int32")
    for op in (
        operator.and_,
        operator.or_,
        operator.xor,
        operator.lshift,
        operator.rshift,
        operator.pow,
    ):
        close(run(op, n, m), op(n, m))
    close(run(lambda t: 2**t, m), 2**m)
    close(run(lambda t: divmod(t, 4)[1], n), n % 4)
    close(run(operator.neg, X), -X)
    close(run(operator.pos, X), X)
    close(run(abs, X), np.abs(X))
    close(run(operator.invert, n), ~n)
    close(run(lambda t: ~(t > 0), X), ~(X > 0))
    close(run(lambda t: t @ t.T, X), X @ X.T)
    close(run(lambda t: X.T @ t, X), X.T @ X)


def test_numpy_arrays_do_not_swallow_tensors():
    x = K.placeholder(ndim=2)
    assert isinstance(X + x, K.Tensor) and isinstance(X < x, K.Tensor)
    with pytest.raises(TypeError, match="symbolic"):
        np.asarray(x)
    with pytest.raises(TypeError):
        np.sin(x)


KEYS = [
    0,
    -1,
    (0, 1),
    (slice(None), 2),
    slice(None, None, -1),
    (slice(None), slice(2, None, -2)),
    Ellipsis,
    (Ellipsis, 0),
    (None, slice(None)),
    (slice(None), None, 1),
    slice(-1, None),
    slice(5, 9),
    [1, 0, 1],
    ([0, 1], [2, 0]),
    np.array([[0, 1], [1, 1]]),
    np.array([True, False]),
    np.int64(1),
    (slice(None), [2, 0]),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing(key):
    expected = X[tuple(key) if isinstance(key, tuple) else key]
    close(run(lambda t: t[key], X), expected, "float32")
    assert K.int_shape(K.variable(X)[key]) in (expected.shape, (None,) + expected.shape[1:])


def test_indexing_with_tensors():
    i = np.array([2, 0], "int64")
    close(run(lambda t, i: t[:, i], X, i), X[:, i])
    close(run(lambda t, i: t[i[1]], X, i), X[0])
    close(run(lambda t, i: t[:, i[1] : i[0]], X, i), X[:, 0:2])
    close(run(lambda t: t[t > 0], X), X[X > 0])


def test_indexing_beyond_the_end():
    with pytest.raises((IndexError, ValueError)):
        K.variable(X)[5]
    with pytest.raises((IndexError, ValueError)):
        K.variable(X)[0, 0, 0]
    with pytest.raises(IndexError):
        run(lambda t: t[5], X)


def test_set_and_inc_subtensor():
    for key in (0, (slice(None), 1), (slice(None), slice(None, None, -1)), [1, 1]):
        index = tuple(key) if isinstance(key, tuple) else key
        expected = X.copy()
        expected[index] = 9
        close(run(lambda t, key=key: K.set_subtensor(t[key], 9), X), expected, "float32")
        added = X.copy()
        np.add.at(added, index, 1.5)
        close(run(lambda t, key=key: K.inc_subtensor(t[key], 1.5), X), added, "float32")
    with pytest.raises(TypeError, match="indexing"):
        K.set_subtensor(K.variable(X), 1)
    with pytest.raises(TypeError, match="set_subtensor"):
        K.variable(X)[0] = 1


def test_manual_subset_update():
    table = K.shared(np.arange(8.0).reshape(4, 2))
    idx = K.placeholder(ndim=1, dtype="int64")
    subset = table[idx]
    g = K.grad(K.sum(subset**2), subset)
    f = K.function([idx], [], updates=[(table, K.inc_subtensor(subset, -0.5 * g))])
    f([[1, 3]])
    np.testing.assert_array_equal(table.get_value(), [[0, 1], [0, 0], [4, 5], [0, 0]])


METHODS = [
    ("sum", (), {}),
    ("sum", (), {"axis": 1, "keepdims": True}),
    ("mean", (0,), {}),
    ("prod", (1,), {}),
    ("max", (), {}),
    ("min", (0,), {}),
    ("std", (), {}),
    ("var", (1,), {}),
    ("argmax", (1,), {}),
    ("argmin", (), {}),
    ("reshape", ((3, 2),), {}),
    ("reshape", (3, -1), {}),
    ("flatten", (), {}),
    ("ravel", (), {}),
    ("transpose", (), {}),
    ("transpose", (1, 0), {}),
    ("transpose", ((1, 0),), {}),
    ("swapaxes", (0, 1), {}),
    ("astype", ("int32",), {}),
    ("clip", (-1, 1), {}),
    ("round", (), {}),
    ("cumsum", (), {}),
    ("cumsum", (1,), {}),
    ("cumprod", (0,), {}),
    ("repeat", (2,), {}),
    ("repeat", (2, 1), {}),
    ("take", ([1, 0, 3],), {}),
    ("take", ([1, 0], 1), {}),
    ("copy", (), {}),
    ("squeeze", (), {}),
    ("diagonal", (), {}),
    ("trace", (), {}),
    ("argsort", (1,), {}),
]  # fmt: skip


@pytest.mark.parametrize("name, args, kwargs", METHODS, ids=lambda v: str(v))
def test_methods(name, args, kwargs):
    close(run(lambda t: getattr(t, name)(*args, **kwargs), X), getattr(X, name)(*args, **kwargs))


def test_methods_of_theano():
    cube = np.arange(24, dtype="float32").reshape(2, 3, 4)
    close(run(lambda t: t.dimshuffle(1, "x", 0), X), X.T[:, None])
    close(run(lambda t: t.dimshuffle("x", 0), X[0]), X[:1])
    close(run(lambda t: t[:, :1].dimshuffle(0), X), X[:, 0])
    close(run(lambda t: t.flatten(2), cube), cube.reshape(2, 12))
    close(run(lambda t: t.norm(2), X), np.linalg.norm(X))
    close(run(lambda t: t.norm(1, axis=1), X), np.abs(X).sum(1))
    close(run(lambda t: t.norm(np.inf), X), np.abs(X).max())
    close(run(lambda t: t.sort(0), X), np.sort(X, 0))
    close(run(lambda t: t.dot(t.T), X), X @ X.T)
    close(run(lambda t: t.T, X), X.T)
    close(run(lambda t: t.ptp(), X), np.ptp(X))
    close(run(lambda t: t.fill(3), X), np.full_like(X, 3))
    close(run(lambda t: t.zeros_like() + t.ones_like(), X), np.ones_like(X))
    close(run(lambda t: t.nonzero()[1], X > 0), (X > 0).nonzero()[1])
    for pattern in ((0, 0), (5,)):
        with pytest.raises(ValueError):
            K.variable(X).dimshuffle(*pattern)


def test_symbolic_shape():
    close(run(lambda t: t.shape, X), [2, 3], "int64")
    close(run(lambda t: t.shape[1], X), 3, "int64")
    close(run(lambda t: t.size, X), 6, "int64")
    close(run(lambda t: t.reshape((t.shape[1], t.shape[0])), X), X.reshape(3, 2))
    close(run(lambda t: K.reshape(t, K.shape(t)[::-1]), X), X.reshape(3, 2))


def test_no_truth_no_number_no_iteration():
    x = K.placeholder(shape=(None, 3), name="x")
    for wrong in (
        lambda: bool(x),
        lambda: float(x),
        lambda: int(x),
        lambda: len(x),
        lambda: list(x),
        lambda: 1.0 in x,
        lambda: range(x),
        lambda: list(x[0, 0]),
    ):
        with pytest.raises(TypeError, match="x|Tensor"):
            wrong()
    rows = list(K.variable(X))
    assert len(rows) == 2 and len(K.variable(X)) == 2
    assert not hasattr(K.placeholder((None, 2)), "__len__")  # programs ask, to tell a list
    assert not hasattr(K.placeholder(()), "__len__") and hasattr(K.variable(X), "__len__")
    assert K.placeholder((3, 2)).__len__() == 3
    np.testing.assert_array_equal(rows[1].eval(), X[1])
    first, second = K.variable(X).shape
    assert int(first.eval()) == 2 and int(second.eval()) == 3


def test_a_size_that_is_called_says_that_it_is_no_method():
    for x in (K.placeholder((None, 3)), K.variable(X), K.variable(X) * 2):
        for call in (lambda x=x: x.size(), lambda x=x: x.size(0)):
            with pytest.raises(TypeError, match=r"x.size is the number of elements .* no method"):
                call()
    assert repr(K.variable(X).size) == "<Tensor prod int64 ()>"
    assert (
        K.switch(K.constant(1.0) > 0, K.variable(X).size, 0).eval() == 6
    )  # not taken for a function


def test_eval_keeps_its_function():
    x = K.placeholder(ndim=1)
    y = x * 2
    np.testing.assert_array_equal(y.eval({x: [1.0]}), [2])
    (first,) = y._compiled.values()
    np.testing.assert_array_equal(y.eval({x: [3.0, 4.0]}), [6, 8])
    assert list(y._compiled.values()) == [first]
    with pytest.raises(ValueError):
        y.eval()


# --- values -------------------------------------------------------------------------------------


def test_values_are_copies_unless_borrowed():
    array = np.ones(2, "float32")
    default, kept = K.shared(array), K.shared(array, borrow=False)
    array += 1
    for v in (default, kept):
        np.testing.assert_array_equal(v.get_value(), [1, 1])
    mine = default.get_value()
    mine[0] = 7
    np.testing.assert_array_equal(default.get_value(), [1, 1])
    np.testing.assert_array_equal(default.get_value(borrow=True), [1, 1])
    new = np.zeros(2, "float32")
    default.set_value(new)
    new += 5
    np.testing.assert_array_equal(default.get_value(), [0, 0])


def test_set_value_refuses_what_does_not_fit():
    v, n = K.variable(np.zeros((2, 3)), name="v"), K.shared(np.arange(3), name="n")
    for x, bad, error, words in (
        (v, np.zeros((3, 2)), ValueError, r"\(3, 2\).*\(2, 3\)"),
        (v, 1.0, ValueError, r"\(\).*\(2, 3\)"),
        (v, None, TypeError, "None"),
        (v, [[1], [2, 3]], ValueError, "ragged"),
        (v, "abc", TypeError, "text"),
        (v, np.zeros((2, 3), complex), TypeError, "complex128.*float32"),
        (n, np.array([0.5]), TypeError, "float64.*int64"),
        (n, np.zeros((2, 2), int), ValueError, r"\(\?,\)"),
    ):
        before = x.get_value()
        with pytest.raises(error, match=words):
            K.set_value(x, bad)
        np.testing.assert_array_equal(x.get_value(), before)
    K.set_value(v, np.ones((2, 3), ">f8")[:, ::-1])
    np.testing.assert_array_equal(v.get_value(), np.ones((2, 3)))
    assert v.get_value().dtype == np.dtype("float32") and v.get_value().dtype.isnative
    K.set_value(n, [1.0, 2.0])
    np.testing.assert_array_equal(n.get_value(), [1, 2])


def test_batches_of_values():
    a, b = K.zeros((2,)), K.ones((1, 2))
    K.batch_set_value([(a, [1, 2]), (b, [[3, 4]])])
    got = K.batch_get_value([a, b])
    np.testing.assert_array_equal(got[0], [1, 2])
    np.testing.assert_array_equal(got[1], [[3, 4]])
    assert K.get_variable_shape(b) == (1, 2) and K.count_params(b) == 2
    with pytest.raises(TypeError, match="variable"):
        K.get_value(a + 1)
    with pytest.raises(TypeError, match="variable"):
        K.set_value(K.placeholder(ndim=1), [1])


def test_constants():
    close(K.eval(K.constant([1, 2])), [1, 2], "float32")
    close(K.eval(K.constant(3, shape=(2, 2), dtype="int32")), np.full((2, 2), 3), "int32")
    close(K.eval(K.constant([1, 2, 3, 4], shape=(2, 2))), [[1, 2], [3, 4]], "float32")
    assert str(K.constant(1.0, name="one")) == "one"
    with pytest.raises(ValueError, match=r"3 elements.*\(2, 2\)"):
        K.constant([1, 2, 3], shape=(2, 2))


def test_bad_shapes():
    for shape, error in (
        (("a",), TypeError),
        ((2.5,), TypeError),
        ((-1, 2), ValueError),
        ("ab", TypeError),
    ):
        with pytest.raises(error):
            K.placeholder(shape=shape)
        with pytest.raises(error):
            K.zeros(shape)
    with pytest.raises(ValueError, match="None|known"):
        K.zeros((None, 2))
    with pytest.raises(TypeError):
        K.placeholder(shape=(2,), dtype="object")


def test_filling_a_symbolic_shape():
    close(run(lambda t: K.zeros((t.shape[1], 2)), X), np.zeros((3, 2)), "float32")
    close(run(lambda t: K.ones(K.shape(t)), X), np.ones((2, 3)), "float32")
    close(run(K.ones_like, X), np.ones((2, 3)), "float32")


def test_lists_of_tensors_stack():
    x = K.placeholder(ndim=0)
    close(K.function([x], K.sum([x, 2 * x, 3.0]))(2.0), 9.0)


@pytest.mark.parametrize("mode", ["compiled", "reference"])
def test_an_update_of_another_shape_is_refused_when_a_call_gives_it(mode):
    v, x = K.variable([1.0, 2.0, 3.0]), K.placeholder((None,))
    f = K.function([x], K.sum(x), updates=[(v, x * 2)], mode=mode)
    with pytest.raises(ShapeError, match=r"of a variable has shape \(4,\), the variable has \(3,"):
        f(np.ones(4))
    np.testing.assert_array_equal(K.get_value(v), [1, 2, 3])
    f(np.ones(3))
    np.testing.assert_array_equal(K.get_value(v), [2, 2, 2])


def test_batch_set_value_sets_all_or_none():
    v, w = K.variable([1.0, 2.0]), K.zeros((3,))
    with pytest.raises(ValueError, match=r"\(2,\), but the variable has shape \(3,\)"):
        K.batch_set_value([(v, [5.0, 6.0]), (w, [1.0, 2.0])])
    np.testing.assert_array_equal(K.get_value(v), [1, 2])


def test_sizes_that_are_known_are_ints_where_python_asks():
    x = K.placeholder((None, 7, 2))
    y = K.exp(x)
    assert int(y.shape[1]) == 7 and list(range(3))[y.shape[2]] == 2
    assert [int(n) for n in K.placeholder((2, 3)).shape] == [2, 3]
    assert int(K.constant(4, dtype="int32")) == 4 and np.zeros(y.shape[1]).shape == (7,)
    assert K.zeros((np.array(2), 7)).get_value().shape == (2, 7)  # a computed size
    assert K.eye(np.array(3)).get_value().shape == (3, 3)
    for wrong in (np.array([2]), np.array(2.0), np.array(True)):
        with pytest.raises(UsageError, match="must be an integer"):
            K.zeros((wrong, 2))
    for number in (int, range):
        with pytest.raises(UsageError, match="symbolic and no number"):
            number(y.shape[0])  # known in a call only
        with pytest.raises(UsageError, match="symbolic and no number"):
            number(K.constant(4.0))
        with pytest.raises(UsageError, match="symbolic and no number"):
            number(K.constant([4]))


def test_shapes_answer_as_tensorflows_did():
    x = K.placeholder((None, 7, 2))
    assert x.shape.as_list() == [None, 7, 2] and x.shape.ndims == 3
    assert x.shape[1].value == 7 and x.shape[0].value is None and x.shape[-1].value == 2
    assert x.shape[1:].as_list() == [7, 2] and x.shape[::2][1].value == 2
    assert [n.value for n in x.shape] == [None, 7, 2]
    assert x.get_shape()[1].value == 7 and x.get_shape() == (None, 7, 2)
    f = K.function([x], [x.shape, x.shape[1:], x.shape[0], copy.copy(x.shape)])
    assert [np.asarray(v).tolist() for v in f(np.ones((3, 7, 2)))] == [
        [3, 7, 2],
        [7, 2],
        3,
        [3, 7, 2],
    ]
    with pytest.raises(AttributeError):
        assert K.exp(x).value  # the near miss: no size
    with pytest.raises(AttributeError):
        assert x.shape[K.constant(1, dtype="int32")].value


def test_notebooks_show_a_variable_with_its_values():
    shown = K.variable([[1.5, -2]], name="a<b")._repr_html_()
    assert "a&lt;b: float32 (1, 2)" in shown and "1.5 -2" in shown
    assert len(K.zeros((500, 500))._repr_html_()) < 500
