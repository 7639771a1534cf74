"""Particles and ensembles: forces over pairs, densities, charges on grids, integration in time."""

import numpy as np

from .registry import SAME, program


def stars(rng, n):
    return rng.standard_normal((n, 3)), rng.standard_normal((n, 3)), rng.random(n)


@program(stars, (300,), (5,), jax=SAME)
def gravity(x, v, mass):
    """Three leapfrog steps with softened forces over all pairs."""
    for _ in range(3):
        d = x[None] - x[:, None]
        r2 = (d**2).sum(-1) + 0.01
        a = (d * (mass / r2**1.5)[:, :, None]).sum(1)
        v = v + 0.01 * a
        x = x + 0.01 * v
    return x, v


def box(rng, n):
    return (10 * rng.random((n, 3)),)


@program(box, (300,), (6,), jax=SAME, close=1e-3)
def lennard_jones(x):
    """Energy and forces, nearest images in a box of 10."""
    n = len(x)
    d = x[:, None] - x[None]
    d = d - 10 * np.round(d / 10)
    r2 = (d**2).sum(-1) + np.eye(n)
    s6 = np.where(r2 < 9, 1 / r2**3, 0) * (1 - np.eye(n))
    energy = 2 * (s6 * s6 - s6).sum()
    force = ((48 * s6 * s6 - 24 * s6) / r2)[:, :, None] * d
    return energy, force.sum(1)


def spins(rng, n, t):
    return np.where(rng.random((n, n)) < 0.5, 1, -1), rng.random((t, 2, n, n))


@program(spins, (100, 10), (6, 2))
def ising_model(spin, draws):
    """Metropolis steps on a checkerboard."""
    n = len(spin)
    i = np.arange(n)
    even = (i[:, None] + i) % 2 == 0
    for step in draws:
        for part, u in ((even, step[0]), (~even, step[1])):
            near = (
                np.roll(spin, 1, 0) + np.roll(spin, -1, 0)
                + np.roll(spin, 1, 1) + np.roll(spin, -1, 1)
            )  # fmt: skip
            flip = part & (u < np.exp(-0.88 * spin * near))
            spin = np.where(flip, -spin, spin)
    return spin, spin.mean()


def plasma(rng, n, cells):
    return rng.random(n) * cells, rng.standard_normal(n), np.zeros(cells)


@program(plasma, (50000, 128), (20, 8))
def particle_in_cell(x, v, zeros):
    """Charges to cells, the field by a running sum, forces back to the particles."""
    cells = len(zeros)
    left = np.floor(x).astype(int)
    right = (left + 1) % cells
    f = x - left
    charge = np.bincount(left, 1 - f, cells) + np.bincount(right, f, cells)
    field = np.cumsum(charge - charge.mean())
    field = field - field.mean()
    force = (1 - f) * field[left] + f * field[right]
    v = v + 0.01 * force
    return (x + 0.1 * v) % cells, v


def fluid(rng, n):
    return rng.random((n, 2)), rng.standard_normal((n, 2))


@program(fluid, (500,), (6,), jax=SAME)
def smoothed_particles(x, v):
    """Densities and viscous forces with a cubic kernel."""
    d = np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1)) / 0.1
    w = np.where(d < 1, (1 - d) ** 3, 0)
    density = w.sum(1)
    dv = v[None] - v[:, None]
    return density, (dv * (w / density)[:, :, None]).sum(1)


def pendulums(rng, n):
    return (rng.uniform(-2, 2, (4, n)),)


def swing(s):
    a, b, p, q = s[0], s[1], s[2], s[3]
    d = a - b
    m = 2 - np.cos(2 * d) / 1 + 1
    da = (-3 * np.sin(a) - np.sin(a - 2 * b) - 2 * np.sin(d) * (q**2 + p**2 * np.cos(d))) / m
    db = 2 * np.sin(d) * (2 * p**2 + 2 * np.cos(a) + q**2 * np.cos(d)) / m
    return np.stack([p, q, da, db])


@program(pendulums, (5000,), (4,), jax=SAME)
def double_pendulums(s):
    """Runge and Kutta's fourth order, an ensemble at once."""
    dt = 0.01
    for _ in range(5):
        k1 = swing(s)
        k2 = swing(s + dt / 2 * k1)
        k3 = swing(s + dt / 2 * k2)
        k4 = swing(s + dt * k3)
        s = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return s
