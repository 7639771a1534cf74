"""Programs of imaging."""

import numpy as np

from .registry import program


@program((16, 64, 400), lambda r, n: (r.random((n, n)),))
def sobel_magnitude(image):
    padded = np.pad(image, 1, mode="edge")
    gx = (padded[:-2, 2:] + 2 * padded[1:-1, 2:] + padded[2:, 2:]
          - padded[:-2, :-2] - 2 * padded[1:-1, :-2] - padded[2:, :-2])  # fmt: skip
    gy = (padded[2:, :-2] + 2 * padded[2:, 1:-1] + padded[2:, 2:]
          - padded[:-2, :-2] - 2 * padded[:-2, 1:-1] - padded[:-2, 2:])  # fmt: skip
    magnitude = np.hypot(gx, gy)
    return magnitude / magnitude.max()


@program((16, 64, 300), lambda r, n: ((r.random((n, n)) * 255).astype(np.uint8),))
def otsu_threshold(image):
    hist, _ = np.histogram(image, bins=256, range=(0, 256))
    p = hist / hist.sum()
    omega = np.cumsum(p)
    mu = np.cumsum(p * np.arange(256))
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (mu[-1] * omega - mu) ** 2 / (omega * (1 - omega))
    level = np.nanargmax(between)
    return level, image > level


@program((12, 48, 200), lambda r, n: (r.random((n, n)), 2, 0.1))
def bilateral_filter(image, radius, sigma):
    height, width = image.shape
    padded = np.pad(image, radius, mode="reflect")
    total = np.zeros_like(image)
    weights = np.zeros_like(image)
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            shifted = padded[radius + dy : radius + dy + height, radius + dx : radius + dx + width]
            w = np.exp(-(dx * dx + dy * dy) / 4.5 - (shifted - image) ** 2 / (2 * sigma**2))
            total += w * shifted
            weights += w
    return total / weights


@program((16, 64, 300), lambda r, n: ((r.random((n, n, 3)) * 255).astype(np.uint8),))
def rgb_to_hsv(rgb):
    x = rgb.astype(np.float32) / 255
    r, g, b = x[..., 0], x[..., 1], x[..., 2]
    high, low = x.max(axis=-1), x.min(axis=-1)
    span = high - low
    safe = np.where(span == 0, 1, span)
    hue = np.select(
        [high == r, high == g], [((g - b) / safe) % 6, (b - r) / safe + 2], (r - g) / safe + 4
    )
    out = np.empty_like(x)
    out[..., 0] = np.where(span == 0, 0, hue / 6)
    out[..., 1] = np.where(high == 0, 0, span / np.where(high == 0, 1, high))
    out[..., 2] = high
    return out


@program((16, 64, 200), lambda r, n: (r.random((n, n)), 0.2, 10))
def perona_malik(image, kappa, steps):
    u = image.copy()
    for _ in range(steps):
        north = np.roll(u, 1, axis=0) - u
        south = np.roll(u, -1, axis=0) - u
        east = np.roll(u, -1, axis=1) - u
        west = np.roll(u, 1, axis=1) - u
        u = u + 0.2 * sum(np.exp(-((d / kappa) ** 2)) * d for d in (north, south, east, west))
    return u
