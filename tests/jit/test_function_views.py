"""Views under jit beside NumPy: what is stored shows in them, whenever it is stored."""

import warnings

import numpy as np
import pytest
from numpy.lib import stride_tricks
from numpy.lib.stride_tricks import as_strided

import ckernels as ck
from ckernels.base.errors import CKernelsWarning, NotSupported

from .beside import check, same, written


def parts_of_complex(z):
    z.real[0] = 5
    z.imag[1:] *= 2
    re = z.real
    z += 1
    return re, z.imag, z.conj(), z * 2


def seen_late(a):
    d, wide, turned = np.diag(a), np.broadcast_to(a[0], a.shape), np.rot90(a)
    a[0, 0] = 7
    a[-1] += 1
    return d * 2, wide + 0, turned, np.rollaxis(a, 1), np.unstack(a)[1], a.diagonal(1) + 0


def replaced_in_place(x):
    y = np.nan_to_num(x, copy=False)
    y[0] = 3
    return x


def windows_see_stores(x):
    w = np.lib.stride_tricks.sliding_window_view(x, 3)
    x[2] = 9
    return w.sum(1)


@pytest.mark.parametrize("n", [3, 20])
@pytest.mark.parametrize("function, make", [
    (parts_of_complex, lambda n: np.arange(n) + 1j * np.array([np.inf, *range(1, n)])),
    (seen_late, lambda n: np.arange(n * n * 1.0).reshape(n, n)),
    (replaced_in_place, lambda n: np.array([1.0, np.nan, *[np.inf] * (n - 2)])),
    (windows_see_stores, lambda n: np.arange(n * 1.0)),
    (lambda x: (x**2, x**2.0, x**1), lambda n: np.arange(n) % 2 == 0),
])  # fmt: skip
def test_views_see_what_is_stored_later(function, make, n):
    check(function, make(n))


@pytest.mark.parametrize("store", [
    lambda x: np.broadcast_to(x, (2, *x.shape)).__setitem__(0, 1.0),
    lambda x: x[:, None].diagonal().__setitem__(0, 1.0), lambda x: x.imag.__setitem__(0, 1.0),
])  # fmt: skip
def test_views_that_are_only_to_be_read_raise_as_in_numpy(store):
    with pytest.raises(ValueError, match="read-only") as ours:
        ck.jit(store)(np.ones(3))
    assert type(ours.value) is ValueError


def test_gradients_go_through_stores_into_parts():
    def f(x):
        z = x * (1 + 2j)
        z.real[...] = z.imag**2
        z.imag[1] = 3 * z.real[2]
        return (np.abs(z) ** 2).sum()

    x, step = np.array([0.5, -1.0, 2.0]), 1e-6
    want = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(ck.jit.grad(f)(x), want, rtol=1e-6)


def frames(x, hop, ahead=0):
    places = np.arange(7) + hop * np.arange((len(x) - 7) // hop + 1)[:, None]
    return x[places + ahead] * np.hanning(7), x[::-1][places.T].sum(1)


@pytest.mark.parametrize("hop", [1, 3, 9])
def test_frames_by_arithmetic_on_indices(hop):
    """Of lengths that leave no frame, one, several, and elements over; an index too far is NumPy's
    error; the gradient adds up what overlaps."""
    framed, ahead = ck.jit(frames), ck.jit(lambda x: frames(x, hop, 1))
    for n in (6, 7, 8, 16, 34, 41, 40):
        x = np.arange(n * 1.0) ** 2
        for got, want in zip(framed(x, hop), frames(x, hop)):
            np.testing.assert_allclose(got, want, rtol=1e-12)
        if n > 6 and (n - 7) % hop == 0:
            with pytest.raises(IndexError):
                ahead(x)
        elif n > 7:
            np.testing.assert_array_equal(ahead(x)[0], frames(x, hop, 1)[0])
    x = np.random.default_rng(3).normal(size=30)
    slope = ck.jit.grad(lambda x: (frames(x, hop)[0] ** 2).sum())(x)
    places = np.arange(7) + hop * np.arange((30 - 7) // hop + 1)[:, None]
    want = np.zeros(30)
    np.add.at(want, places, 2 * x[places] * np.hanning(7) ** 2)
    np.testing.assert_allclose(slope, want, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("window", [
    lambda x: np.lib.stride_tricks.sliding_window_view(x, x.shape[0] - 2),
    lambda x: np.lib.stride_tricks.sliding_window_view(x, (x.size // 2,))[:: x.size // 4],
    lambda x: np.broadcast_to(x, (x.size, x.size)),
    lambda x: np.diag(np.outer(x, x), x.size // 2),
])  # fmt: skip
def test_views_of_as_many_elements_as_sizes_say_are_returned_at_each_size(window):
    jitted = ck.jit(window)
    for n in (6, 9, 8, 6):
        same(window(np.arange(1.0, n + 1)), jitted(np.arange(1.0, n + 1)))
    assert not jitted.report()["numpy"]


def test_views_of_the_same_and_of_another_dtype():
    def same_dtype(a):
        b = a.view()
        b[0] = 3
        return a * 2, b

    check(same_dtype, np.arange(12.0))
    with pytest.raises(NotSupported, match="another dtype"):
        ck.jit(lambda a: a.view("i8"), strict=True)(np.arange(12.0))


@pytest.mark.parametrize("key", ["1:", "0", "..., 0", "::2, None"])
def test_a_view_of_more_axes_than_there_are(key, tmp_path):
    """NumPy's error, though nothing reads the view."""
    jitted = ck.jit(written(f"def f(a):\n    v = a[{key}]\n    return a\n", "axes", tmp_path))
    with pytest.raises(IndexError, match="too many indices"):
        jitted(np.ones(()))
    np.testing.assert_array_equal(jitted(np.ones(3)), np.ones(3))


def of_a_scalar(a):
    wide, one = np.broadcast_to(a, (2,)), np.expand_dims(a, 0)
    turned = one[::-1]
    turned += 1
    return wide, one, turned, a.view(), a.conj(), np.atleast_2d(a), np.transpose(a), a


def brought_together(a, b):
    x, y = np.broadcast_arrays(a, b)
    x[...] = 7
    return x * 1, y * 2, a


def made_of_its_own_type(a):
    x = np.float32(a)
    x += 1
    return a, x


def without_dimensions(a):
    return (np.select([a > 1, a < 0], [a, 2.0]), np.tensordot(a, a, 0), np.block(a),
            np.median(a, keepdims=True), np.quantile(a, 0.5, keepdims=True))  # fmt: skip


def numbers_that_are_joined(a):
    return (np.concatenate([a, a.size], None), np.concatenate([a, 300], None),
            np.concatenate([a, 2.5], None), np.append(a, 3))  # fmt: skip


@pytest.mark.parametrize("number", [np.uint16(2), np.float64(2.5), np.complex64(2j)])
def test_arrays_that_are_made_of_a_scalar_are_no_views(number):
    check(of_a_scalar, number)


@pytest.mark.parametrize("a", [np.array(2.5), np.ones(3), np.ones((3, 2))])
def test_arrays_of_one_shape_are_brought_together_as_they_are(a):
    check(brought_together, a, a + 1)


@pytest.mark.parametrize("a", [np.ones(3, "f"), np.ones((2, 2)), np.array(1.5, "f"), np.float32(2)])
def test_an_array_made_of_one_of_its_type_is_that_array(a):
    check(made_of_its_own_type, a)


@pytest.mark.parametrize("a", [np.array(2.5), np.float32(-1)])
def test_results_without_dimensions_that_are_arrays(a):
    check(without_dimensions, a)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "bool", "complex64"])
def test_numbers_are_weak_where_all_axes_are_joined(dtype):
    check(numbers_that_are_joined, np.ones((2, 3), dtype))


def clipped(a, b):
    return np.clip(a, 0, b), np.clip(a, b, 2), np.clip(a, None, b), np.clip(a, 0, 1)


@pytest.mark.parametrize("a, b", [("bool", "uint16"), ("int8", "float16"), ("uint8", "bool")])
def test_the_three_arguments_of_clip_decide_its_dtype(a, b):
    check(clipped, np.ones(3, a), np.ones(3, b))


@pytest.mark.parametrize("out", [np.ones(1), np.ones(3), np.ones((1, 1))])
def test_an_output_of_another_shape_is_numpys_error(out):
    def total(x, out):
        return np.sum(x, axis=0, out=out)

    for function in (total, ck.jit(total)):
        with warnings.catch_warnings(), pytest.raises(ValueError, match="output parameter"):
            warnings.simplefilter("ignore", CKernelsWarning)
            function(np.ones(3), out)


# ---- strides -------------------------------------------------------------------------------------


def strided_frames(x):
    step = x.strides[0]
    return as_strided(x, ((len(x) - 4) // 2 + 1, 4), (2 * step, step)).sum(axis=1)


def dilated(x):
    return np.lib.stride_tricks.as_strided(x, (len(x) - 4, 3), (x.itemsize, 2 * x.itemsize)).max(1)


def patches(m):
    n, w = m.shape
    return stride_tricks.as_strided(m, (n - 2, w - 1, 3, 2), m.strides * 2).sum(axis=(2, 3))


def blocks(m):
    (n, w), s = m.shape, m.strides
    return as_strided(m, (n // 2, w // 4, 2, 4), (s[0] * 2, s[1] * 4) + s).mean(axis=(2, 3))


def turned(m):
    return as_strided(m, m.shape[::-1], m.strides[::-1]) @ np.ones(len(m)), m.strides


def every_third_changed(x):
    third = as_strided(x, shape=(len(x) // 3,), strides=(3 * x.itemsize,))
    third *= 2
    return third.sum(), x


@pytest.mark.parametrize("function", [
    strided_frames, dilated, patches, blocks, turned, every_third_changed], ids=lambda f: f.__name__
)  # fmt: skip
def test_strides_of_arrays_without_gaps(function):
    sizes = ((12, 16), (10, 12)) if "m" in function.__code__.co_varnames else (21, 30)
    for shape in sizes:
        for dtype in ("float64", "int16"):
            check(function, (np.random.default_rng(1).normal(size=shape) * 9).astype(dtype))


def test_strides_that_leave_their_axis_or_meet_gaps_are_numpys():
    m = np.arange(192.0).reshape(12, 16)
    diagonal = lambda m: as_strided(m, (len(m),), (sum(m.strides),)).copy()  # noqa: E731
    check(diagonal, m, traced=False)
    check(lambda m: strided_frames(m[1, ::2]), m, traced=False)
    check(lambda m: as_strided(m[0], (0,), (16,)).copy(), m, traced=False)
    check(lambda m: strided_frames(m[1]) + strided_frames(m.T[3].copy())[0], m)


def by_places(m):
    out, total = np.zeros(m.shape), 0.0
    for i, j in np.ndindex(m.shape):
        out[i, j] = m[i, j] * i - j
    for place, x in np.ndenumerate(m):
        if x > 0 and place[1] > 1:
            total += x * place[0]
    return out, total


def until_a_place(m):
    for place, x in np.ndenumerate(m):
        m[place] = x * 2
        if place == (3, 3):
            break
    return m, place, list(np.ndindex(2, 1)), list(np.ndindex(0, 3)), list(np.ndindex())


@pytest.mark.parametrize("function", [by_places, until_a_place])
def test_places_of_arrays_as_loops_take_them(function):
    for shape in ((12, 14), (9, 10)):
        check(function, np.random.default_rng(1).normal(size=shape))
