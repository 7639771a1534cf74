"""Signals: filters in time, modulation, matched filters, arrays of sensors."""

import numpy as np

from .registry import SAME, program


def signal(rng, n, taps):
    return rng.standard_normal(n), np.hamming(taps) / taps


@program(signal, (50000, 63), (60, 9))
def fir_filter_and_decimate(x, taps):
    y = np.convolve(x, taps, "valid")
    return y[::4], (y**2).mean()


@program(signal, (20000, 5), (40, 5))
def biquad(x, taps):
    """A resonance by its difference equation, sample after sample."""
    y = np.zeros(len(x))
    y1 = y2 = x1 = x2 = 0.0
    for n in range(len(x)):
        y[n] = 0.1 * x[n] - 0.1 * x2 + 1.8 * y1 - 0.9 * y2
        x1, x2 = x[n], x1
        y1, y2 = y[n], y1
    return y


def pulses(rng, n, m):
    return rng.standard_normal((n, m)), np.exp(1j * 0.001 * np.arange(m // 4) ** 2)


@program(pulses, (64, 1024), (3, 16), jax=SAME)
def radar_range_doppler(echo, chirp):
    n = echo.shape[1]
    spectrum = np.fft.fft(echo, axis=1) * np.conj(np.fft.fft(chirp, n))
    compressed = np.fft.ifft(spectrum, axis=1)
    doppler = np.fft.fft(compressed * np.hamming(len(echo))[:, None], axis=0)
    return 20 * np.log10(np.abs(doppler) + 1e-9)


def sensors(rng, n, t, angles):
    return rng.standard_normal((n, t)) + 1j * rng.standard_normal((n, t)), np.linspace(
        -1.5, 1.5, angles
    )


@program(sensors, (16, 1000, 181), (3, 9, 5), jax=SAME)
def beam_forming(x, angle):
    """Capon's spectrum over directions."""
    n = len(x)
    cov = x @ np.conj(x.T) / x.shape[1] + 0.01 * np.eye(n)
    steering = np.exp(-1j * np.pi * np.arange(n)[:, None] * np.sin(angle))
    return 1 / np.real((np.conj(steering) * (np.linalg.inv(cov) @ steering)).sum(0))


@program(signal, (4000, 16), (40, 4))
def adaptive_filter(x, taps):
    """Least mean squares, step after step, against an echo."""
    m = len(taps)
    w = np.zeros(m)
    error = np.zeros(len(x) - m)
    for n in range(len(x) - m):
        u = x[n : n + m]
        error[n] = 0.5 * u[0] + 0.25 * u[3] - w @ u
        w = w + 0.01 * error[n] * u
    return w, error
