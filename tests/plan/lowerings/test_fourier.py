"""Transforms of rows whose lengths are powers of two run in C; others are the library's."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.plan.instructions import PYCALL
from ckernels.plan.lowerings.fourier import LENGTHS

RNG = np.random.default_rng(8)
EPS = {"complex64": 2.0**-24, "complex128": 2.0**-53}
REAL = {"complex64": "float32", "complex128": "float64"}


def compiled(ndim, dtype, inverse=False, axes=(-1,), after=lambda y: y):
    z = K.placeholder((None,) * ndim, dtype=dtype)
    return K.function([z], Tensor(after(ops.fft(z.node, axes, inverse))))


def native(function):
    return all(i.kind != PYCALL for i in function.info.program.instructions)


def some(shape, dtype):
    return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)


def check(got, z, inverse=False, axis=-1):
    """The error over all frequencies, beside that of one rounding in each of its passes."""
    wide = z.astype("clongdouble")
    want = np.fft.ifft(wide, axis=axis, norm="forward") if inverse else np.fft.fft(wide, axis=axis)
    assert got.dtype == z.dtype and got.shape == z.shape
    off = np.sqrt(np.sum(np.abs(got - want) ** 2))
    bound = EPS[z.dtype.name] * max(1, np.log2(z.shape[axis]))
    assert off <= bound * np.sqrt(np.sum(np.abs(want) ** 2))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("dtype", EPS)
def test_every_length(dtype, inverse):
    f = compiled(1, dtype, inverse)
    for n in LENGTHS:
        z = some(n, dtype)
        check(f(z), z, inverse)
        check(f(z[::-1]), z[::-1], inverse)
        assert native(f), n
        one = np.zeros(n, dtype)
        one[0] = 1 - 2j  # of a number in one place the transform has no error
        np.testing.assert_array_equal(f(one), np.full(n, 1 - 2j, dtype))


def real(ndim, dtype, axis=-1):
    """Functions: of real rows their halves of spectra, and back, by both pairs of ops."""
    x = K.placeholder((None,) * ndim, dtype=REAL[dtype])
    z = K.placeholder((None,) * ndim, dtype=dtype)
    pairs = K.placeholder((None,) * ndim + (2,), dtype=REAL[dtype])
    return (
        K.function([x], Tensor(ops.rfft_half(x.node, (axis,)))),
        K.function([z], Tensor(ops.irfft_half(z.node, (axis,)))),
        K.function([x], K.rfft(x, norm="no_norm")),
        K.function([pairs], K.irfft(pairs, norm="no_norm")),
    )


def check_real(functions, x):
    """As `check`, forth and back; what is imaginary at both ends of a spectrum goes unread."""
    forth, back, forth_pairs, back_pairs = functions
    n, wide = x.shape[-1], x.astype("longdouble")
    want, got = np.fft.rfft(wide), forth(x)
    bound = 2 * EPS[got.dtype.name] * np.log2(n)
    norm = np.sqrt(np.sum(np.abs(want) ** 2))
    assert got.dtype == forth.outputs[0].dtype and got.shape == want.shape
    assert np.sqrt(np.sum(np.abs(got - want) ** 2)) <= bound * norm
    np.testing.assert_array_equal(got[..., [0, -1]].imag, 0)
    z = got.copy()
    z[..., 0] += 3j
    z[..., -1] -= 2j
    assert np.sqrt(np.sum((back(z) / n - wide) ** 2)) <= 2 * bound * np.sqrt(np.sum(wide**2))
    both = np.stack([z.real, z.imag], -1)
    np.testing.assert_array_equal(forth_pairs(x), np.stack([got.real, got.imag], -1))
    np.testing.assert_array_equal(back_pairs(both), back(z))
    np.testing.assert_array_equal(back_pairs(both[..., ::-1][..., ::-1]), back(z))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", EPS)
def test_every_length_of_real_rows(dtype):
    functions = real(2, dtype)
    for n in LENGTHS:
        for rows in (1, 3):
            check_real(functions, RNG.normal(size=(rows, n)).astype(REAL[dtype]))
        assert all(native(f) for f in functions), n


@pytest.mark.parametrize("dtype", EPS)
def test_real_rows_of_any_layout(dtype):
    functions = real(3, dtype)
    x = RNG.normal(size=(4, 5, 32)).astype(REAL[dtype])
    for view in (x, x[::-2, 1:4], x.transpose(1, 0, 2), np.broadcast_to(x[:1], x.shape)):
        check_real(functions, view)
    assert functions[0](x[:0]).shape == (0, 5, 17)
    one = real(1, dtype)
    check_real(one, x.ravel()[::2][:64])  # every second: one row may lie anyhow
    check_real(one, x.ravel()[::-1][:128])
    assert all(native(f) for f in (*functions, *one))


def test_other_real_rows_are_the_librarys():
    x = RNG.normal(size=(64, 100))
    for axis, part in ((-1, x), (-2, x[:, :32]), (-1, x[:, :8]), (-1, x[:, :15])):
        forth, back, *_ = real(2, "complex128", axis)
        z = forth(part)
        np.testing.assert_allclose(z, np.fft.rfft(part, axis=axis), 1e-12, 1e-12)
        want = np.fft.irfft(z, axis=axis, norm="forward")
        np.testing.assert_allclose(back(z), want, 1e-12, 1e-12)
        assert not native(forth) and not native(back)


@pytest.mark.parametrize("dtype", EPS)
def test_rows_of_any_layout(dtype):
    f = compiled(3, dtype)
    z = some((5, 6, 64), dtype)
    room = np.zeros(z.nbytes + 8, np.uint8)
    loose = room[1 : 1 + z.nbytes].view(dtype).reshape(z.shape)
    loose[...] = z
    views = (z, z[::-2, 1:4], z.transpose(1, 0, 2), np.broadcast_to(z[:1], z.shape), loose, z[:0])
    for view in views:
        check(f(view), view)
    np.testing.assert_array_equal(f(z)[3, 2], compiled(1, dtype)(z[3, 2]))  # in bits
    every = z[..., ::2]
    check(f(every), every)


@pytest.mark.parametrize("dtype", EPS)
def test_numbers_that_are_none_spread(dtype):
    z = some(32, dtype)
    z[5] = complex(np.nan, np.inf)
    assert np.isnan(compiled(1, dtype)(z)).all()


def test_results_beside_others():
    f = compiled(2, "complex128", after=lambda y: ops.concatenate([y, y * 2], 1))
    z = some((3, 16), "complex128")
    np.testing.assert_allclose(f(z), np.concatenate([np.fft.fft(z), 2 * np.fft.fft(z)], 1), 1e-13)


@pytest.mark.parametrize(
    "shape, axes",
    [((1000,), (-1,)), ((8,), (-1,)), ((8192,), (-1,)), ((64, 3), (-2,)), ((4, 64, 64), (-1, -2))],
)
def test_others_are_the_librarys(shape, axes):
    f, z = compiled(len(shape), "complex128", axes=axes), some(shape, "complex128")
    np.testing.assert_allclose(f(z), np.fft.fftn(z, axes=axes), rtol=1e-11, atol=1e-11)
    assert not native(f)


def test_lengths_one_after_the_other():
    """A plan that was made for one length is not taken for another."""
    f = compiled(1, "complex128")
    for n in (100, 64, 100, 32, 64, 4096, 17, 1, 16):
        z = some(n, "complex128")
        check(f(z), z)


def test_gradients():
    x = K.placeholder((64,), dtype="float64")
    z = ops.fft(ops.cast(x.node, "complex128"), (-1,))
    power = Tensor(ops.sum(ops.square(ops.abs(z))))
    (g,) = K.gradients(power, [x])
    a = RNG.normal(size=64)
    np.testing.assert_allclose(K.function([x], g)(a), 2 * 64 * a, rtol=1e-12)  # Parseval
