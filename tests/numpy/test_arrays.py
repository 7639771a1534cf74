"""Arrays of ckernels.numpy: NumPy's meaning, computed at once or late; stores and views."""

import copy
import pickle

import numpy as np
import pytest

import ckernels.numpy as cnp
from ckernels.base.config import config
from ckernels.numpy.arrays import Array


@pytest.fixture(params=[0, 1 << 30], ids=["late", "at once"], autouse=True)
def lazy_from(request):
    before = config.lazy_from, config.mode
    config.lazy_from, config.mode = request.param, "reference"
    yield request.param
    config.lazy_from, config.mode = before


def same(got, want):
    assert isinstance(got, Array)
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6)


X = np.arange(12.0).reshape(3, 4)


def test_operators_and_methods_are_numpys():
    x, i = cnp.asarray(X), cnp.asarray(np.arange(4, dtype="int8"))
    n, k = X, np.arange(4, dtype="int8")
    for f in (lambda a, b: a + b, lambda a, b: 2 / (a + 1), lambda a, b: a**2 - b,
              lambda a, b: a @ a.T, lambda a, b: -a // 2, lambda a, b: b << 1, lambda a, b: a > b,
              lambda a, b: a.sum(0), lambda a, b: a.mean(), lambda a, b: a[1:, ::2] * b[0],
              lambda a, b: a.reshape(4, 3).T, lambda a, b: b.astype("float32") / 3,
              lambda a, b: a.max(axis=1, keepdims=True), lambda a, b: (a + 1).clip(2, 5),
              lambda a, b: np.hypot(a, b), lambda a, b: np.concatenate([a, a + b]),
              lambda a, b: a[a > 3], lambda a, b: a[[0, 2]], lambda a, b: divmod(a, 3)[1],
              lambda a, b: a.transpose(1, 0).flatten(), lambda a, b: a.T.mT, lambda a, b: a.real,
              lambda a, b: np.ones(4) * a + np.float32(1)):  # fmt: skip
        same(f(x, i), f(n, k))


def test_large_arrays_wait_and_compute_where_a_value_is_asked_for(lazy_from):
    x = cnp.asarray(X)
    y = cnp.exp(x) + 1
    assert (y.held is None) == (lazy_from == 0)
    for ask in (str, repr, float, np.asarray, bool, iter):
        z = (x + 1).sum()
        try:
            ask(z)
        except TypeError:  # iter of no dimensions
            continue
        assert z.held is not None
    assert y.shape == (3, 4) and y.ndim == 2 and y.size == 12 and len(y) == 3


def test_a_store_is_not_seen_by_what_was_computed_before():
    x = cnp.asarray(X)
    y, part = x * 2, x[1]
    x[1, 0] = 100.0
    same(y, X * 2)
    assert float(part[0]) == 100.0 and float(x[1, 0]) == 100.0
    part += 1
    assert float(x[1, 0]) == 101.0


@pytest.mark.parametrize("view", [lambda a: a[1], lambda a: a.T, lambda a: a.reshape(-1),
                                  lambda a: a[:, None], lambda a: np.flip(a, 0), lambda a: a[...],
                                  lambda a: a.swapaxes(0, 1)[1:], lambda a: a.ravel()])  # fmt: skip
@pytest.mark.parametrize("first", ["view", "base"])
def test_views_alias_as_numpys_do(view, first):
    base, want = cnp.asarray(X) + 1, X + 1
    part, there = view(base), view(want)
    late = part * 2
    if first == "view":
        part[0] = -5
        there[0] = -5
    else:
        base[1] = 7
        want[1] = 7
    same(base, want)
    same(part, there)
    same(late, view(X + 1) * 2)
    part *= 3
    there *= 3
    same(base, want)


def test_a_reshape_that_is_a_copy_aliases_nothing():
    base, want = (cnp.asarray(X) + 1).T, (X + 1).T
    flat, there = base.reshape(-1), want.reshape(-1)
    flat[0] = there[0] = 50
    same(base, want)
    same(flat, there)


def test_operators_in_place_keep_the_array_its_dtype_and_its_errors():
    x = y = cnp.asarray(X)
    x += 1
    x **= 2
    assert x is y
    same(y, (X + 1) ** 2)
    i = cnp.arange(4)
    with pytest.raises(TypeError, match="same_kind"):
        i += 0.5
    with pytest.raises(ValueError, match="broadcast"):
        i += cnp.ones(5, dtype=int)
    same(i, np.arange(4))
    s = np.asarray(1.0)
    t = cnp.asarray(s)
    t += 1
    same(t, 2.0)


def test_out_and_functions_that_store():
    x = cnp.asarray(X)
    before = x + 1
    out = cnp.empty((3, 4))
    assert cnp.sin(x, out=out) is out
    same(out, np.sin(X))
    cnp.copyto(x, 3.0)
    cnp.add.at(x, (0, [0, 0]), 1.0)
    want = np.full((3, 4), 3.0)
    want[0, 0] += 2
    same(x, want)
    same(before, X + 1)
    y = cnp.asarray([3.0, 1, 2])
    z = y * 2
    y.sort()
    same(y, [1.0, 2, 3])
    same(z, [6.0, 2, 4])


def test_what_goes_out_is_shared_and_what_comes_in_is_copied():
    source = X.copy()
    x = cnp.asarray(source)
    source[0, 0] = 99
    same(x, X)
    out = np.asarray(x)
    late = x + 1
    out[0, 0] = 7
    same(late, X + 1)
    assert float(x[0, 0]) == 7
    again = x + 1
    assert float(again[0, 0]) == 8
    shared = cnp.asarray(source, copy=False)
    late = shared + 1
    source[0, 0] = -1
    assert float(shared[0, 0]) == -1 and float(late[0, 0]) == 100
    with pytest.raises(ValueError):
        cnp.asarray([1, 2], copy=False)


def test_dlpack_and_pickles_and_copies():
    x = cnp.asarray(X) + 1
    assert x.__dlpack_device__() == (1, 0)
    np.testing.assert_array_equal(np.from_dlpack(x), X + 1)
    same(cnp.from_dlpack(X.copy()), X)
    same(pickle.loads(pickle.dumps(x)), X + 1)
    for made in (copy.copy(x), copy.deepcopy(x)):
        made[0, 0] = 5
        same(x, X + 1)
    assert x.device == "cpu" and x.to_device("cpu") is x
    with pytest.raises(ValueError, match="cpu"):
        x.to_device("cuda")


def test_errors_are_numpys():
    x = cnp.asarray(X)
    with pytest.raises(ValueError, match="broadcast"):
        x + cnp.ones(3)
    with pytest.raises(IndexError):
        x[5]
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)
    with pytest.raises(TypeError):
        len(x.sum())
    with pytest.raises(TypeError):
        x + "text"
    with pytest.raises(OverflowError):
        cnp.asarray(np.int8([1])) + 300
    with pytest.raises(AttributeError):
        _ = x.no_such_name


def test_long_chains_are_computed_in_pieces_and_once():
    x = cnp.asarray([1.0, 2.0])
    for _ in range(250):
        x = x * 1.01 + 0.1
    want = np.array([1.0, 2.0])
    for _ in range(250):
        want = want * 1.01 + 0.1
    same(x, want)
    y = cnp.exp(cnp.asarray(X))
    z = y.sum()
    float(z)
    assert y.held is not None  # it was needed for z, and somebody holds it


def test_numbers_of_a_program_are_inputs_of_its_graphs():
    from ckernels.numpy import late

    x = cnp.asarray(X)
    float((x * 0.123).sum())
    count = len(late._compiled)
    for k in range(5):
        np.testing.assert_allclose(float((x * (0.3 + k / 7)).sum()), (X * (0.3 + k / 7)).sum())
    assert len(late._compiled) == count


def test_empty_and_no_dimensions():
    e = cnp.zeros((0, 3))
    same(e.sum(0), np.zeros(3))
    same(e + 1, np.zeros((0, 3)))
    same(cnp.asarray(2.0) * 3, 6.0)
    with pytest.raises(ValueError):
        e.max()


def test_an_element_is_no_view_and_an_ellipsis_makes_one():
    x = cnp.asarray(X) + 1
    element, view = x[0, 0], x[0, 0, ...]
    x[0, 0] = 50
    assert float(element) == 1.0 and float(view) == 50.0 and repr(element) == "array(1.)"


def test_it_shows_the_names_of_numpys_arrays():
    x = cnp.zeros((2, 2))
    assert set(dir(x)) == {*dir(np.ndarray), "device", "to_device"}
    for name in dir(np.ndarray):
        if name[0] != "_" and name not in ("ctypes", "data") and hasattr(np.zeros((2, 2)), name):
            assert hasattr(x, name), name
    assert x.sum.__doc__ == np.ndarray.sum.__doc__ and x.flatten.__name__ == "flatten"
