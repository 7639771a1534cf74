"""Programs as users of numexpr write them: what is elementwise is an expression, the rest NumPy."""

# ruff: noqa: B007, F841  the names of an expression are looked up in it
import numpy as np

try:
    from numexpr import evaluate
except ImportError:
    evaluate = None


def kernel_density(data, grid, bandwidth):
    g, d, h = grid[:, None], data[None, :], bandwidth
    k = evaluate("exp(-0.5 * ((g - d) / h)**2) / 2.5066282746310002")
    return k.sum(axis=1) / (len(data) * bandwidth)


def hausdorff(a, b):
    x, y, u, v = a[:, None, 0], a[:, None, 1], b[None, :, 0], b[None, :, 1]
    d = evaluate("sqrt((x - u)**2 + (y - v)**2)")
    return max(d.min(axis=1).max(), d.min(axis=0).max())


def jukes_cantor(sequences):
    p = np.minimum((sequences[:, None, :] != sequences[None, :, :]).mean(axis=2), 0.7499)
    return evaluate("-0.75 * log(1 - 4 / 3 * p)")


def perona_malik(image, kappa, steps):
    u = image.copy()
    for _ in range(steps):
        a, b = np.roll(u, 1, axis=0), np.roll(u, -1, axis=0)
        c, d = np.roll(u, -1, axis=1), np.roll(u, 1, axis=1)
        u = evaluate(
            "u + 0.2 * (exp(-((a - u) / kappa)**2) * (a - u) + exp(-((b - u) / kappa)**2) * (b - u)"
            " + exp(-((c - u) / kappa)**2) * (c - u) + exp(-((d - u) / kappa)**2) * (d - u))"
        )
    return u


def points_in_polygon(points, polygon):
    x, y = points[:, 0], points[:, 1]
    inside = np.zeros(len(points), dtype=bool)
    for (xi, yi), (xj, yj) in zip(polygon, np.roll(polygon, 1, axis=0)):
        test = "((yi > y) != (yj > y)) & (x < (xj - xi) * (y - yi) / (yj - yi) + xi)"
        inside ^= evaluate(test)
    return inside
