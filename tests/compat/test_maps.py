"""K.map_fn of Keras 2 over several tensors: functions written for TensorFlow's backend get one
tuple of rows, those for Theano's get the rows apart."""

import collections

import numpy as np
import pytest

import ckernels
from ckernels.base.errors import ArgumentError, DTypeError, ShapeError, UsageError
from ckernels.compat import keras2 as K

A = np.array([[1.0, 2.0], [3.0, 4.0]], "float32")
B = np.array([10, 20], "int32")
Pair = collections.namedtuple("Pair", "a b")


def both():
    return K.constant(A), K.constant(B, dtype="int32")


def weighted(a, b):
    return K.sum(a) * K.cast(b, "float32")


@pytest.mark.parametrize("kind", [tuple, list])
@pytest.mark.parametrize("fn", [lambda t: weighted(t[0], t[1]), weighted, lambda *rows:
                                weighted(*(rows[0] if len(rows) == 1 else rows))])  # fmt: skip
def test_one_argument_or_one_for_each(fn, kind):
    y = K.map_fn(fn, kind(both()), dtype="float32")
    assert K.eval(y).tolist() == (A.sum(1) * B).tolist() and K.dtype(y) == "float32"


@pytest.mark.parametrize("kind", [tuple, list])
def test_the_argument_is_what_elems_are(kind):
    seen = []
    K.map_fn(lambda t: seen.append(type(t)) or t[0], kind(both()))
    K.map_fn(lambda t: seen.append(type(t)) or t[0], kind(both()[:1]))
    assert seen == [kind, kind]


def test_arguments_with_a_default_take_rows_together():
    y = K.map_fn(lambda t, scale=2.0: K.sum(t[0]) * scale, both())
    assert K.eval(y).tolist() == [6.0, 14.0]


def test_functions_of_the_backend():
    x = K.constant(A)
    assert K.eval(K.map_fn(K.dot, (x, x))).tolist() == [5.0, 25.0]
    assert K.eval(K.map_fn(K.sum, x)).tolist() == [3.0, 7.0]


@pytest.mark.parametrize("kind", [tuple, list])
def test_results_are_as_the_function_returns_them(kind):
    x, y = both()
    found = K.map_fn(lambda t: kind([t[1], t[0]]), (x, y), dtype=("int64", "float64"))
    assert type(found) is kind and [K.dtype(f) for f in found] == ["int64", "float64"]
    assert K.eval(found[0]).tolist() == B.tolist() and K.eval(found[1]).tolist() == A.tolist()
    (one,) = K.map_fn(lambda row: kind([row]), x, dtype=["float32"])
    assert K.eval(one).tolist() == A.tolist()


def test_named_tuples_stay_so():
    found = K.map_fn(lambda t: Pair(t.b, t.a), Pair(*both()))
    assert type(found) is Pair and K.eval(found.a).tolist() == B.tolist()


def test_batches_of_any_size():
    x, y = K.placeholder((None, 3)), K.placeholder((None,), dtype="uint8")
    f = K.function([x, y], list(K.map_fn(lambda t: (K.sum(t[0]), t[1] + t[1]), (x, y))))
    for n in (2, 0, 1, 5):
        total, twice = f([np.ones((n, 3)), np.full(n, 200)])
        assert total.tolist() == [3.0] * n and twice.tolist() == [144] * n
        assert twice.dtype == "uint8"


def test_gradients():
    x = K.variable(A)
    y = K.map_fn(lambda t: K.sum(t[0] * t[1] * t[1]), (x, x))
    np.testing.assert_allclose(K.eval(K.gradients(K.sum(y), [x])[0]), 3 * A * A, rtol=1e-6)


@pytest.mark.parametrize(
    "wrong, error, says",
    [
        (lambda: K.map_fn(3, both()), UsageError, "must be a function"),
        (lambda: K.map_fn(lambda a, b, c: a, both()), UsageError, "one argument, nor with 2"),
        (lambda: K.map_fn(lambda a, b: a, both()[0]), UsageError, "called with one argument"),
        (lambda: K.map_fn(lambda: 1.0, both()), UsageError, "one argument, nor with 2"),
        (lambda: K.map_fn(lambda t: t, both(), dtype=["float32"]), ArgumentError, "1 dtypes for 2"),
        (lambda: K.map_fn(lambda t: (), both()), ArgumentError, "no results"),
        (lambda: K.map_fn(lambda t: t[0], ()), ArgumentError, "sequence"),
        (lambda: K.map_fn(lambda t: t[0], (A, (B, B[:1]))), ShapeError, "ragged"),
        (lambda: K.map_fn(lambda t: t[0], (A, 3.0)), ShapeError, "axis"),
        (lambda: K.map_fn(lambda t: None, both()), DTypeError, "returned"),
        (lambda: ckernels.map_fn(lambda a, b: a, A), UsageError, "cannot be called with 1"),
        (lambda: ckernels.map_fn(lambda a: a, [A, B]), UsageError, "cannot be called with 2"),
    ],
)
def test_what_does_not_fit_is_said(wrong, error, says):
    with pytest.raises(error, match=says):
        wrong()
