"""Fields: stencils, waves, flows and spectra, a few time steps each."""

import numpy as np

from .registry import SAME, program


def plate(rng, n):
    return (rng.random((n, n)),)


@program(plate, (256,), (8,))
def heat_equation(u):
    u = u.copy()
    for _ in range(20):
        u[1:-1, 1:-1] += 0.2 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
    return u


def lattice(rng, n, m):
    return (1 + 0.01 * rng.random((9, n, m)),)


@program(lattice, (100, 200), (6, 7), jax=SAME)
def lattice_boltzmann(f):
    """D2Q9: streaming by rolls, collision towards equilibrium."""
    cx = np.array([0, 0, 0, 1, 1, 1, -1, -1, -1])
    cy = np.array([0, 1, -1, 0, 1, -1, 0, 1, -1])
    weight = np.array([4 / 9] + [1 / 9] * 2 + [1 / 9, 1 / 36, 1 / 36] * 2)
    for _ in range(5):
        moved = [(0, 0), (0, 1), (0, -1), (1, 0), (1, 1), (1, -1), (-1, 0), (-1, 1), (-1, -1)]
        f = np.stack([np.roll(f[i], moved[i], (0, 1)) for i in range(9)])
        rho = f.sum(0)
        ux = (f * cx[:, None, None]).sum(0) / rho
        uy = (f * cy[:, None, None]).sum(0) / rho
        cu = 3 * (cx[:, None, None] * ux + cy[:, None, None] * uy)
        equal = rho * weight[:, None, None] * (1 + cu + cu**2 / 2 - 1.5 * (ux**2 + uy**2))
        f = f - (f - equal) / 0.6
    return f


def maxwell(rng, n):
    return rng.random((n, n)), np.zeros((n, n)), np.zeros((n, n))


@program(maxwell, (200,), (7,))
def maxwell_fdtd(ez, hx, hy):
    ez, hx, hy = ez.copy(), hx.copy(), hy.copy()
    for t in range(20):
        hx[:, :-1] -= 0.5 * (ez[:, 1:] - ez[:, :-1])
        hy[:-1] += 0.5 * (ez[1:] - ez[:-1])
        ez[1:, 1:] += 0.5 * (hy[1:, 1:] - hy[:-1, 1:] - hx[1:, 1:] + hx[1:, :-1])
        ez[3, 3] = np.sin(0.3 * t)
    return ez, hx, hy


def packet(rng, n):
    x = np.linspace(-10, 10, n)
    return np.exp(-(x**2) + 5j * x), x**2 / 2, 2 * np.pi * np.fft.fftfreq(n, x[1] - x[0])


@program(packet, (2048,), (16,), jax=SAME)
def split_step_schroedinger(psi, potential, k):
    half = np.exp(-0.5j * 0.01 * potential)
    kinetic = np.exp(-0.5j * 0.01 * k**2)
    for _ in range(20):
        psi = half * np.fft.ifft(kinetic * np.fft.fft(half * psi))
    return np.abs(psi) ** 2


def chemicals(rng, n):
    return 1 - 0.1 * rng.random((n, n)), 0.1 * rng.random((n, n))


def laplacian(x):
    return np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1) - 4 * x


@program(chemicals, (200,), (6,), jax=SAME)
def gray_scott(u, v):
    for _ in range(10):
        uvv = u * v * v
        u = u + 0.16 * laplacian(u) - uvv + 0.035 * (1 - u)
        v = v + 0.08 * laplacian(v) + uvv - (0.035 + 0.065) * v
    return u, v


def water(rng, n):
    return 1 + 0.1 * rng.random((n, n)), np.zeros((n, n)), np.zeros((n, n))


@program(water, (200,), (6,))
def shallow_water(h, u, v):
    """Lax and Friedrichs, edges kept."""
    dt = 0.01
    for _ in range(5):
        f = u * u / h + 4.9 * h * h
        g = v * v / h + 4.9 * h * h
        w = u * v / h
        old = h, u, v
        new = []
        for q, a, b in zip(old, (u, f, w), (v, w, g)):
            r = q.copy()
            r[1:-1, 1:-1] = 0.25 * (q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2])
            r[1:-1, 1:-1] -= dt * (a[2:, 1:-1] - a[:-2, 1:-1] + b[1:-1, 2:] - b[1:-1, :-2])
            new.append(r)
        h, u, v = new
    return h, u, v


def cube(rng, n):
    return (rng.random((n, n, n)),)


@program(cube, (48,), (5,), jax=SAME)
def diffusion_in_three_dimensions(u):
    for _ in range(5):
        inner = u[1:-1, 1:-1, 1:-1]
        around = (
            u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
            + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2]
        )  # fmt: skip
        u = np.pad(inner + 0.1 * (around - 6 * inner), 1, mode="edge")
    return u


def plane(rng, n):
    x = np.linspace(-2, 0.6, n)
    y = np.linspace(-1.2, 1.2, n)
    return (x[None] + 1j * y[:, None],)


@program(plane, (200,), (9,))
def mandelbrot_set(c):
    z = np.zeros_like(c)
    steps = np.zeros(c.shape, int)
    for _ in range(30):
        alive = z.real**2 + z.imag**2 <= 4
        z = np.where(alive, z * z + c, z)
        steps += alive
    return steps
