"""Programs of physics."""

import numpy as np

from .registry import program


@program((16, 48, 128), lambda r, n: (r.choice([-1, 1], (n, n)), r.random((4, n, n)), 0.44))
def ising_checkerboard(spins, noise, beta):
    n = spins.shape[0]
    i, j = np.indices((n, n))
    for k in range(4):
        around = (
            np.roll(spins, 1, 0)
            + np.roll(spins, -1, 0)
            + np.roll(spins, 1, 1)
            + np.roll(spins, -1, 1)
        )
        flip = ((i + j) % 2 == k % 2) & (noise[k] < np.exp(-2 * beta * spins * around))
        spins = np.where(flip, -spins, spins)
    return spins, spins.mean()


@program((64, 256, 1024), lambda r, n: (np.linspace(-10, 10, n), 0.01, 50))
def split_step_schroedinger(x, dt, steps):
    dx = x[1] - x[0]
    k = 2 * np.pi * np.fft.fftfreq(len(x), d=dx)
    psi = np.exp(-((x + 3) ** 2) / 2 + 2j * x)
    psi = psi / np.sqrt(np.sum(np.abs(psi) ** 2) * dx)
    half = np.exp(-0.5j * dt * 0.5 * x**2)
    kinetic = np.exp(-1j * dt * k**2 / 2)
    for _ in range(steps):
        psi = half * np.fft.ifft(kinetic * np.fft.fft(half * psi))
    return np.abs(psi) ** 2


@program(
    (16, 64, 200),
    lambda r, n: (r.normal(size=(n, 3)), r.normal(size=(n, 3)), r.random(n) + 0.1, 0.001),
)
def leapfrog_gravity(pos, vel, mass, dt):
    for _ in range(5):
        r = pos[None, :, :] - pos[:, None, :]
        d2 = (r**2).sum(axis=2) + 0.01
        acc = (r * (mass[None, :] * d2**-1.5)[:, :, None]).sum(axis=1)
        vel += acc * dt
        pos += vel * dt
    return 0.5 * np.sum(mass * (vel**2).sum(axis=1))


@program((32, 128, 1000), lambda r, n: (np.where(np.arange(n) < n // 2, 1.0, 0.125), n))
def advect_upwind(rho, n):
    u, dx = 0.7, 1.0 / n
    dt = 0.5 * dx / u
    for _ in range(60):
        flux = u * rho
        rho[1:] -= dt / dx * (flux[1:] - flux[:-1])
    return rho.sum() * dx


@program((20, 60, 150), lambda r, n: (r.normal(size=(n, n)),))
def poisson_fft(f):
    n = f.shape[0]
    f = f - f.mean()
    k = np.fft.fftfreq(n) * n * 2 * np.pi
    k2 = k[:, None] ** 2 + k[None, :] ** 2
    k2[0, 0] = 1
    u_hat = -np.fft.fft2(f) / k2
    u_hat[0, 0] = 0
    return np.real(np.fft.ifft2(u_hat))


@program((100, 1000, 10000), lambda r, n: (0.5, 0.0, 0.001, n))
def double_well_verlet(x, v, dt, steps):
    xs = np.empty(steps)
    a = x - x**3
    for i in range(steps):
        x = x + v * dt + 0.5 * a * dt**2
        new = x - x**3
        v = v + 0.5 * (a + new) * dt
        a = new
        xs[i] = x
    return xs
