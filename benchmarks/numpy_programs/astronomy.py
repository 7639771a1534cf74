"""Programs of astronomy, geodesy and the atmosphere."""

import math

import numpy as np

from .registry import program

LAYERS = [(0.0, 288.15, -0.0065), (11000.0, 216.65, 0.0), (20000.0, 216.65, 0.001)]


@program((50, 1000, 20000), lambda r, n: (r.random(n) * 2 * np.pi, r.random(n) * 0.05))
def kepler(mean, eccentricity):
    E = mean + eccentricity * np.sin(mean)
    for _ in range(50):
        step = (E - eccentricity * np.sin(E) - mean) / (1 - eccentricity * np.cos(E))
        E -= step
        if np.max(np.abs(step)) < 1e-12:
            break
    nu = 2 * np.arctan2(
        np.sqrt(1 + eccentricity) * np.sin(E / 2), np.sqrt(1 - eccentricity) * np.cos(E / 2)
    )
    return E, nu % (2 * np.pi)


@program((50, 1000, 20000), lambda r, n: (r.random(n) * 30000,))
def standard_atmosphere(height):
    temperature = np.empty_like(height, dtype=float)
    pressure = np.empty(height.shape)
    base = 101325.0
    for k, (low, t0, rate) in enumerate(LAYERS):
        high = LAYERS[k + 1][0] if k + 1 < len(LAYERS) else np.inf
        here = (height >= low) & (height < high)
        dh = height[here] - low
        temperature[here] = t0 + rate * dh
        if rate:
            pressure[here] = base * (1 + rate * dh / t0) ** (-0.0341632 / rate)
            base *= (1 + rate * (min(high, 1e5) - low) / t0) ** (-0.0341632 / rate)
        else:
            pressure[here] = base * np.exp(-0.0341632 * dh / t0)
            base *= math.exp(-0.0341632 * (high - low) / t0)
    return temperature, pressure, pressure / (287.05 * temperature)


def _radians(*angles):
    return [np.deg2rad(a) for a in angles]


@program((40, 1000, 30000), lambda r, n: (r.random((n, 2)) * [180, 360] - [90, 180], 52.5, 13.4))
def bearing_and_distance(places, lat, lon, radius=6371.0):
    p1, l1, p2, l2 = _radians(lat, lon, *places.T)
    y = np.sin(l2 - l1) * np.cos(p2)
    x = np.cos(p1) * np.sin(p2) - np.sin(p1) * np.cos(p2) * np.cos(l2 - l1)
    a = np.sin((p2 - p1) / 2) ** 2 + np.cos(p1) * np.cos(p2) * np.sin((l2 - l1) / 2) ** 2
    distance = 2 * radius * np.arcsin(np.sqrt(np.clip(a, 0, 1)))
    nearest = distance.argsort()[:5]
    return (np.degrees(np.arctan2(y, x)) + 360) % 360, distance, nearest


@program(
    (60, 500, 5000),
    lambda r, n: (np.sort(r.random(n) * 100), r.normal(size=n), np.linspace(0.05, 2, 100)),
)
def lomb_scargle(t, y, frequencies):
    y = y - y.mean()
    power = np.zeros(len(frequencies))
    for i, w in enumerate(2 * np.pi * frequencies):
        tau = np.arctan2(np.sin(2 * w * t).sum(), np.cos(2 * w * t).sum()) / (2 * w)
        c, s = np.cos(w * (t - tau)), np.sin(w * (t - tau))
        power[i] = 0.5 * ((y @ c) ** 2 / (c @ c) + (y @ s) ** 2 / (s @ s))
    return power / y.var(), frequencies[power.argmax()]


@program((16, 60, 200), lambda r, n: (r.normal(10, 1, (n, n)), 3.0))
def sigma_clipped(image, kappa):
    good = np.isfinite(image)
    while True:
        kept = image[good]
        mean, std = kept.mean(), kept.std()
        new = good & (np.abs(image - mean) <= kappa * std)
        if new.sum() == good.sum():
            break
        good = new
    return mean, std, int(good.sum())


@program((30, 365, 3650), lambda r, n: (np.arange(n), r.normal(10, 4, n)))
def seasonal_anomaly(day, temperature):
    month = day % 365 // 31
    total = np.bincount(month, weights=temperature, minlength=12)
    count = np.bincount(month, minlength=12)
    with np.errstate(invalid="ignore"):
        normal = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    anomaly = temperature - normal[month]
    return normal, anomaly, np.nanmax(normal) - np.nanmin(normal), (anomaly > 5).mean()
