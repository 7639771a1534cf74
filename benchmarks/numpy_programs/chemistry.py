"""Programs of chemistry and materials."""

from dataclasses import dataclass

import numpy as np

from .registry import program

GAS = 8.314462618
RADII = {"H": 0.31, "C": 0.76, "N": 0.71, "O": 0.66}
ELEMENTS = np.array([RADII[e] for e in ("H", "C", "N", "O")])


@dataclass
class Box:
    length: float
    cutoff: float = 2.5

    def wrap(self, r):
        return r - self.length * np.rint(r / self.length)


@program((10, 60, 250), lambda r, n: (r.random((n, 3)) * 10, Box(10.0)))
def pair_energy(positions, box):
    i, j = np.triu_indices(len(positions), k=1)
    r = box.wrap(positions[i] - positions[j])
    d2 = np.einsum("ij,ij->i", r, r)
    near = d2 < box.cutoff**2
    s6 = 1.0 / np.maximum(d2[near], 0.5) ** 3
    energy = 4 * (s6 * s6 - s6)
    each = np.zeros(len(positions))
    np.add.at(each, i[near], 0.5 * energy)
    np.add.at(each, j[near], 0.5 * energy)
    return energy.sum(), each


@program((8, 40, 200), lambda r, n: (r.random((n, 3)) * n ** (1 / 3), r.integers(0, 4, n)))
def bonds(positions, kinds, slack=0.45):
    radius = ELEMENTS[kinds]
    delta = positions[:, np.newaxis] - positions
    distance = np.sqrt((delta * delta).sum(axis=-1))
    bonded = distance < radius[:, None] + radius + slack
    np.fill_diagonal(bonded, False)
    count = bonded.sum(axis=1)
    return np.argwhere(np.triu(bonded)), count, np.bincount(count, minlength=13)[:13]


@program((50, 500, 5000), lambda r, n: (np.linspace(280, 420, n), 1.2e10, 75e3, 0.1))
def arrhenius_conversion(temperature, prefactor, energy, time):
    k = prefactor * np.exp(-energy / (GAS * temperature))
    conversion = -np.expm1(-k * time)
    half = np.interp(0.5, conversion, temperature)
    return conversion, half, np.searchsorted(conversion, 0.9)


@program(
    (50, 300, 2000), lambda r, n: (np.array([1.0, 0.0, 0.0]), np.array([0.04, 3e2, 1e2]), 1e-4, n)
)
def reaction_chain(start, rates, dt, steps):
    def slope(c):
        f1 = rates[0] * c[0]
        f2 = rates[1] * c[1] * c[2]
        f3 = rates[2] * c[1] ** 2
        return np.array([-f1 + f2, f1 - f2 - f3, f3])

    c = start.copy()
    path = np.empty((steps, 3))
    for k in range(steps):
        k1 = slope(c)
        k2 = slope(c + dt / 2 * k1)
        k3 = slope(c + dt / 2 * k2)
        k4 = slope(c + dt * k3)
        c = c + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path[k] = c
    return path, f"{steps} steps"


@program((60, 400, 3000), lambda r, n: (np.cumsum(r.normal(size=(n, 3)), axis=0), 20))
def mean_squared_displacement(track, lags):
    out = np.zeros(lags)
    for lag in range(1, lags + 1):
        step = track[lag:] - track[:-lag]
        out[lag - 1] = (step**2).sum(axis=1).mean()
    slope, offset = np.polyfit(np.arange(1, lags + 1), out, 1)
    return out, slope / 6


@program(
    (20, 100, 400),
    lambda r, n: (np.sort(r.random(n)) * 100, r.random(n) * 5, np.linspace(0, 100, 2 * n)),
)
def spectrum_of_lines(centres, heights, grid, width=1.5):
    x = (grid[:, None] - centres[None, :]) / (width / 2)
    lorentz = heights / (1 + x**2)
    total = lorentz.sum(axis=1)
    total /= np.trapezoid(total, grid)
    peaks = np.flatnonzero((total[1:-1] > total[:-2]) & (total[1:-1] > total[2:])) + 1
    return total, grid[peaks]
