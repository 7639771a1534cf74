"""Programs of signal processing."""

import numpy as np

from .registry import program


@program((128, 1024, 16384), lambda r, n: (np.sin(np.arange(n) * 0.1) + r.normal(size=n),))
def welch_spectrum(x):
    size, hop = 64, 32
    window = np.hanning(size)
    count = (len(x) - size) // hop + 1
    frames = np.stack([x[i * hop : i * hop + size] for i in range(count)])
    spectrum = np.abs(np.fft.rfft(frames * window, axis=1)) ** 2
    return spectrum.mean(axis=0) / (window**2).sum()


@program(
    (64, 512, 8192),
    lambda r, n: (r.normal(size=n), np.array([0.2, 0.3, 0.2]), np.array([1.0, -0.5, 0.2])),
)
def iir_filter(x, b, a):
    y = np.zeros(len(x))
    z = np.zeros(2)
    for i in range(len(x)):
        y[i] = b[0] * x[i] + z[0]
        z[0] = b[1] * x[i] - a[1] * y[i] + z[1]
        z[1] = b[2] * x[i] - a[2] * y[i]
    return y


@program((64, 512, 8192), lambda r, n: (np.sin(np.arange(n) * 0.07) + 0.1 * r.normal(size=n),))
def hilbert_envelope(x):
    n = len(x)
    h = np.zeros(n)
    h[0] = h[n // 2] = 1
    h[1 : n // 2] = 2
    analytic = np.fft.ifft(np.fft.fft(x) * h)
    phase = np.unwrap(np.angle(analytic))
    return np.abs(analytic), np.diff(phase) / (2 * np.pi)


@program((64, 512, 8192), lambda r, n: (np.cumsum(r.normal(size=n)),))
def haar_denoise(x):
    details = []
    a = x
    for _ in range(3):
        details.append((a[0::2] - a[1::2]) / np.sqrt(2))
        a = (a[0::2] + a[1::2]) / np.sqrt(2)
    for d in details[::-1]:
        d = np.sign(d) * np.maximum(np.abs(d) - 0.5, 0)
        up = np.empty(2 * len(a))
        up[0::2] = (a + d) / np.sqrt(2)
        up[1::2] = (a - d) / np.sqrt(2)
        a = up
    return a
