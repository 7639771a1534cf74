"""Images as arrays: filters, edges, morphology, histograms, transforms."""

import numpy as np

from .registry import SAME, program


def grey(rng, n):
    return (rng.random((n, n), dtype=np.float32),)


@program(grey, (512,), (12,), jax=SAME)
def gaussian_blur(image):
    """Separable, nine taps each way."""
    x = np.arange(-4, 5)
    w = np.exp(-(x**2) / 8)
    w = (w / w.sum()).astype(np.float32)
    p = np.pad(image, 4, mode="reflect")
    rows = sum(w[i] * p[i : i + image.shape[0]] for i in range(9))
    return sum(w[i] * rows[:, i : i + image.shape[1]] for i in range(9))


@program(grey, (512,), (6,), jax=SAME)
def sobel_edges(image):
    p = np.pad(image, 1, mode="edge")
    gx = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
    gy = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]
    size = np.hypot(gx, gy)
    return size / size.max(), np.arctan2(gy, gx)


def median_torch(image):
    import torch

    p = torch.nn.functional.pad(image[None], (1, 1, 1, 1), mode="replicate")[0]
    h, w = image.shape
    return (
        torch.stack([p[i : i + h, j : j + w] for i in range(3) for j in range(3)]).median(0).values
    )


@program(grey, (256,), (6,), torch=median_torch, jax=SAME)
def median_filter(image):
    p = np.pad(image, 1, mode="edge")
    h, w = image.shape
    windows = np.stack([p[i : i + h, j : j + w] for i in range(3) for j in range(3)])
    return np.median(windows, axis=0)


def levels(rng, n):
    return (np.minimum(rng.gamma(4, 20, (n, n)), 255).astype(np.uint8),)


@program(levels, (512,), (8,))
def equalise_histogram(image):
    count = np.bincount(image.ravel(), minlength=256)
    cdf = np.cumsum(count)
    low = cdf[cdf > 0].min()
    curve = np.round((cdf - low) / (image.size - low) * 255).astype(np.uint8)
    return curve[image]


@program(grey, (256,), (8,), close=1e-3)
def low_pass_by_fft(image):
    n, m = image.shape
    y, x = np.fft.fftfreq(n)[:, None], np.fft.rfftfreq(m)
    keep = np.exp(-((x**2 + y**2) / 0.02))
    return np.fft.irfft2(np.fft.rfft2(image) * keep, (n, m))


def mask(rng, n):
    return (rng.random((n, n)) < 0.4,)


def shifts(x, best):
    p = np.pad(x, 1, mode="edge")
    h, w = x.shape
    y = p[:h, :w]
    for i in range(3):
        for j in range(3):
            y = best(y, p[i : i + h, j : j + w])
    return y


@program(mask, (512,), (7,))
def opening_and_closing(x):
    """Morphology of a mask: erosion and dilation, then the other way."""
    opened = shifts(shifts(x, np.logical_and), np.logical_or)
    return shifts(shifts(opened, np.logical_or), np.logical_and)


@program(grey, (128,), (7,), jax=SAME)
def bilateral_filter(image):
    p = np.pad(image, 2, mode="reflect")
    h, w = image.shape
    total = weight = 0
    for i in range(5):
        for j in range(5):
            part = p[i : i + h, j : j + w]
            near = np.exp(-((i - 2) ** 2 + (j - 2) ** 2) / 8 - (part - image) ** 2 / 0.08)
            total = total + near * part
            weight = weight + near
    return total / weight


def lines(rng, n, angles):
    return (
        rng.integers(0, n, (2, 3 * n)),
        np.linspace(0, np.pi, angles),
        np.zeros((angles, 4 * n), int),
    )


@program(lines, (300, 90), (8, 6))
def hough_transform(place, angle, zeros):
    votes = zeros.copy()
    r = place[0] * np.cos(angle)[:, None] + place[1] * np.sin(angle)[:, None]
    bins = np.round(r).astype(int) + votes.shape[1] // 2
    np.add.at(votes, (np.arange(len(angle))[:, None], bins), 1)
    return votes, votes.max(1)
