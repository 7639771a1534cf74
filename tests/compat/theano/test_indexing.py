"""Parts of tensors by Theano's functions, beside NumPy's."""

import numpy as np
import pytest

import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat.theano.tensor import subtensor as parts

A = np.arange(12.0).reshape(3, 4)


def value(built, *arrays):
    """What a graph gives of arrays."""
    leaves = [T.TensorType(a.dtype.name, (False,) * a.ndim)() for a in arrays]
    return theano.function(leaves, built(*leaves))(*arrays)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_take(mode, axis):
    places = np.array([[0, 2], [1, 1]])
    for k in (places, places - 7, places + 9)[: 1 if mode == "raise" else 3]:
        got = value(lambda a, i: T.take(a, i, axis, mode), A, k)
        np.testing.assert_array_equal(got, np.take(A, k, axis, mode=mode))
    with pytest.raises(ValueError, match="invalid mode"):
        T.take(T.dvector(), [0], mode="sideways")


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_choose(mode):
    choices = [A, -A, A * 10]
    k = np.array([2, 0, 1, 1]) + (0 if mode == "raise" else 4)
    got = value(lambda i, *c: T.choose(i, list(c), mode=mode), k, *choices)
    np.testing.assert_array_equal(got, np.choose(k, choices, mode=mode))
    got = value(lambda i, a, row: T.choose(i, [a, row], mode=mode), k % 2, A, A[0])
    np.testing.assert_array_equal(got, np.choose(k % 2, [A, A[0]], mode=mode))


def test_rows_are_permuted_and_back():
    order = np.array([[2, 0, 3, 1], [0, 1, 2, 3], [3, 2, 1, 0]])
    got = value(lambda a, p: T.permute_row_elements(a, p), A, order)
    np.testing.assert_array_equal(got, np.take_along_axis(A, order, 1))
    one = value(lambda a, p: T.permute_row_elements(a, p), A, order[0])
    np.testing.assert_array_equal(one, A[:, order[0]])
    back = value(lambda a, p: T.permute_row_elements(a, p, inverse=True), got, order)
    np.testing.assert_array_equal(back, A)
    for p in (order, order[0], order.astype("int32")):
        found = value(T.inverse_permutation, p)
        assert found.dtype == p.dtype
        np.testing.assert_array_equal(found, np.argsort(p, -1))


def test_what_shows_a_part_differently_is_stored_into_too():
    """The part behind a transposition, a reshape or a known broadcast is the part of the tensor."""
    for shown, key in (
        (lambda p: p.dimshuffle(1, 0), np.s_[:, 1:]),
        (lambda p: p.dimshuffle(0, "x", 1), np.s_[:, 1:]),
        (lambda p: p.flatten(), np.s_[1:, :2]),
        (lambda p: p.reshape((3, 2)), np.s_[:2, 1:]),
    ):
        lines = value(lambda a, v=shown, k=key: v(a[k]), A)  # places, for A counts its elements
        numbers = np.arange(float(lines.size)).reshape(lines.shape) + 100
        for put, more in ((T.set_subtensor, 0), (T.inc_subtensor, 1)):
            got = value(lambda a, y, p=put, v=shown, k=key: p(v(a[k]), y), A, numbers)
            want = A.copy()
            want.flat[lines.ravel().astype(int)] = (numbers + more * lines).ravel()
            np.testing.assert_array_equal(got, want)
    with pytest.raises(TypeError, match="cut out"):
        T.set_subtensor(T.exp(T.dvector()), 1)


def test_slices_in_canonical_form():
    n = T.lscalar()
    for s in (slice(None), slice(1, 9), slice(-3, None), slice(None, None, -1), slice(8, 2, -2)):
        canonical, turned = parts.get_canonical_form_slice(s, n)
        bounds = canonical.start, canonical.stop, canonical.step
        ends = theano.function([n], [T.as_tensor_variable(e) for e in bounds])
        sign = theano.function([n], T.as_tensor_variable(turned), on_unused_input="ignore")
        for size in (0, 4, 7):
            low, high, step = (int(e) for e in ends(size))
            found = list(range(size))[low:high:step][:: int(sign(size))]
            assert found == list(range(size))[s], (s, size)
    place, turned = parts.get_canonical_form_slice(T.constant(-2), n)
    assert theano.function([n], place)(5) == 3 and turned == 1
