"""Transforms of traced values against NumPy's of the same numbers: all kinds of lengths, slopes."""

import keras
import numpy as np
import pytest
from keras import layers, ops
from test_export import needs_compiler, outcome

from ckernels.errors import ShapeError
from ckernels.keras3 import fourier, jit, value_and_grad

RNG = np.random.default_rng(0)
LENGTHS = [1, 2, 3, 8, 15, 16, 24, 25, 26, 30, 32, 48, 50, 64, 100, 113, 144, 200, 400, 521, 1000]
LENGTHS += [1024, 1042, 2048, 4096, 8192]
EXACT = {"float32": 2e-6, "float64": 1e-13}


def close(found, wanted, dtype):
    for part, of in zip(found, wanted, strict=True):
        assert part.dtype == dtype and part.shape == of.shape
        scale = max(np.abs(wanted).max() for wanted in wanted)
        np.testing.assert_allclose(part, of, rtol=0, atol=EXACT[dtype] * scale)


def parts(z):
    return np.real(z), np.imag(z)


@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize("n", LENGTHS)
def test_rows_of_every_length(n, dtype):
    x, y = RNG.normal(size=(2, 3, n)).astype("float32")
    wide = lambda *xs: [ops.cast(v, dtype) for v in xs]  # noqa: E731
    z = x + 1j * y.astype("float64")
    close(jit(lambda a, b: ops.fft(tuple(wide(a, b))))(x, y), parts(np.fft.fft(z)), dtype)
    close(jit(lambda a: ops.rfft(*wide(a)))(x), parts(np.fft.rfft(z.real)), dtype)
    a, b = x[:, : n // 2 + 1], y[:, : n // 2 + 1]
    found = jit(lambda a, b: ops.irfft(tuple(wide(a, b)), n))(a, b)
    close([found], [np.fft.irfft(z[:, : n // 2 + 1], n)], dtype)


@pytest.mark.parametrize("shape", [(16, 32), (2, 30, 16), (64, 7), (1, 100)])
def test_planes_there_and_back(shape):
    x, y = RNG.normal(size=(2, *shape)).astype("float32")
    z = x + 1j * y.astype("float64")
    for name in ("fft2", "ifft2"):
        wanted = parts(getattr(np.fft, name)(z))
        for f in (getattr(ops, name), jit(getattr(ops, name))):
            close(f((x, y)), wanted, "float32")


@pytest.mark.parametrize(
    "x, length",
    [(7.0, None), (np.ones((2, 0)), None), (np.ones(3), {"a": 1}),
     (np.ones(3), ()), (np.ones(3), 0), (np.ones(3), 1.5), (np.float32(1), 4)],
)  # fmt: skip
def test_what_has_no_spectrum_is_named(x, length):
    x = np.asarray(x, "float32")
    for name, of in (("rfft", x), ("irfft", (x[..., :1], x[..., :1]) if x.ndim else (x, x))):
        function = getattr(ops, name)
        for f in (function, jit(lambda a, function=function: function(a, length))):
            with pytest.raises(ShapeError, match=f"^{name} transforms .* x has shape"):
                f(of, length) if f is function else f(of)


@pytest.mark.parametrize("shape", [(64, 1024), (8, 16), (3, 5, 4096), (0, 16), (70, 1000)])
def test_arrays(shape):
    x, y = RNG.normal(size=(2, *shape)).astype("float32")
    if x.size:
        close(ops.fft((x, y)), parts(np.fft.fft(x + 1j * y.astype("float64"))), "float32")
        close(ops.rfft(x), parts(np.fft.rfft(x.astype("float64"))), "float32")
    else:
        assert [p.shape for p in ops.fft((x, y))] == [shape, shape]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_floats(dtype):
    x = RNG.integers(-3, 4, (2, 32)).astype("float32")
    wanted = np.fft.fft(x)
    room = 0.02 * np.abs(wanted).max()
    half = ops.cast(x, dtype)
    for f in (ops.fft, jit(ops.fft)):
        for found, of in zip(f((half, half * 0)), parts(wanted), strict=True):
            assert keras.backend.standardize_dtype(found.dtype) == dtype
            np.testing.assert_allclose(np.asarray(found, "float32"), of, atol=room)
    found = jit(ops.rfft)(half)[0]
    assert keras.backend.standardize_dtype(found.dtype) == dtype
    np.testing.assert_allclose(np.asarray(found, "float32"), wanted.real[:, :17], atol=room)


@pytest.mark.parametrize("n", [6, 16, 25, 48, 60, 64, 113])
def test_slopes_are_the_transposed_transform(n):
    """Of sum(c Re f(x) + s Im f(x)), linear in x, at each element by what its unit vector gives."""
    c, s = RNG.normal(size=(2, n))
    x, y = RNG.normal(size=(2, n)).astype("float32")
    unit = np.fft.fft(np.eye(n))
    weigh = lambda pair, k: ops.sum(pair[0] * c[:k]) + ops.sum(pair[1] * s[:k])  # noqa: E731

    def slope(f, *at):
        return np.asarray(jit(value_and_grad(f))(*at)[1])

    by_real = unit.real @ c + unit.imag @ s
    np.testing.assert_allclose(slope(lambda a: weigh(ops.fft((a, y)), n), x), by_real, atol=2e-4)
    by_imag = -unit.imag @ c + unit.real @ s
    np.testing.assert_allclose(slope(lambda b: weigh(ops.fft((x, b)), n), y), by_imag, atol=2e-4)
    m = n // 2 + 1
    by_real = unit.real[:, :m] @ c[:m] + unit.imag[:, :m] @ s[:m]
    np.testing.assert_allclose(slope(lambda a: weigh(ops.rfft(a), m), x), by_real, atol=2e-4)
    for k, one in enumerate((1, 1j)):
        back = np.fft.irfft(np.eye(m) * one, n) @ c
        pair = [x[:m], y[:m]]

        def f(v, k=k, pair=pair):
            given = pair[:k] + [v] + pair[k + 1 :]
            return ops.sum(ops.irfft(tuple(given), n) * c)

        np.testing.assert_allclose(slope(f, pair[k]), back, atol=2e-4)


def test_rows_of_open_number_and_length():
    """One trace for all: as many rows as there are, and a length that only a call tells."""

    class Spectrum(layers.Layer):
        def call(self, x):
            re, im = ops.fft((x, ops.zeros_like(x)))
            return re * re + im * im

    for given in (32, None):
        inputs = keras.Input((given,))
        model = keras.Model(inputs, Spectrum()(inputs))
        for n, rows in ((32, 1), (32, 5)) if given else ((32, 2), (20, 3)):
            x = RNG.normal(size=(rows, n)).astype("float32")
            found = model.predict(x, verbose=0)
            np.testing.assert_allclose(found, np.abs(np.fft.fft(x)) ** 2, rtol=1e-4, atol=1e-4)


def test_what_is_made_of_two_factors():
    assert [fourier.factors(n) for n in (48, 1000, 36, 8192, 113)] == [
        (3, 16), (25, 40), (6, 6), (2, 4096), None
    ]  # fmt: skip
    assert fourier.in_c(509) and not fourier.in_c(521) and not fourier.in_c(None)
    assert fourier.in_c(1000) and fourier.in_c(2 * 509) and not fourier.in_c(2 * 521)
    lengths = [24, 25, 26, 48, 400, 480, 1000, 1024, 8192, None]
    assert [n for n in lengths if not fourier.real_in_c(n)] == [25, 400, 1000, None]


@needs_compiler
def test_a_spectrogram_in_c(tmp_path):
    class Spectrogram(layers.Layer):
        def call(self, x):
            re, im = ops.stft(x, 32, 16, 32)
            return ops.log(re * re + im * im + 1)

    model = keras.Sequential([keras.Input((96,)), Spectrogram(), layers.Flatten(), layers.Dense(3)])
    model.compile("sgd", "mse")
    model.export(tmp_path / "model.c", format="c")
    assert outcome(tmp_path, "model")[0] == 0
