"""Programs of robotics, control, mechanics and electronics."""

import numpy as np

from .registry import program


@program((20, 200, 2000), lambda r, n: (r.normal(size=(n, 4)), r.normal(size=(n, 3))))
def rotate_by_quaternions(q, v):
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    w, u = q[:, :1], q[:, 1:]
    t = 2 * np.cross(u, v)
    return v + w * t + np.cross(u, t)


@program((3, 6, 12), lambda r, n: (r.random(n), np.full(n, 0.5), np.array([0.6, 0.4])))
def inverse_kinematics(angles, lengths, target):
    for turn in range(100):
        total = np.cumsum(angles)
        x, y = lengths * np.cos(total), lengths * np.sin(total)
        tip = np.array([x.sum(), y.sum()])
        error = target - tip
        if error @ error < 1e-16:
            return angles, turn
        J = np.stack([-y[::-1].cumsum()[::-1], x[::-1].cumsum()[::-1]])
        angles = angles + J.T @ np.linalg.solve(J @ J.T + 1e-4 * np.eye(2), error)
    return angles, -1


class Filter:
    """A Kalman filter of constant velocity."""

    def __init__(self, dt, noise):
        self.F = np.array([[1, dt], [0, 1]])
        self.H = np.array([[1.0, 0.0]])
        self.Q = noise * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])

    def step(self, x, P, z, r=0.5):
        x, P = self.F @ x, self.F @ P @ self.F.T + self.Q
        S = self.H @ P @ self.H.T + r
        K = P @ self.H.T / S
        x = x + K[:, 0] * (z - (self.H @ x)[0])
        return x, (np.eye(2) - K @ self.H) @ P


@program((30, 300, 2000), lambda r, n: (np.arange(n) * 0.3 + r.normal(size=n),))
def track_by_kalman(z):
    kalman = Filter(1.0, 0.01)
    x, P = np.array([z[0], 0.0]), np.eye(2) * 10
    out = np.zeros((len(z), 2))
    for k, value in enumerate(z):
        x, P = kalman.step(x, P, value)
        out[k] = x
    return out, P


@program((10, 40, 120), lambda r, n: (r.random(n) * 1e3 + 10, 5.0))
def ladder_network(resistors, volts):
    n = len(resistors)
    G = np.zeros((n, n))
    for k, g in enumerate(1 / resistors):
        G[k, k] += g
        if k + 1 < n:
            G[k + 1, k + 1] += g
            G[k, k + 1] -= g
            G[k + 1, k] -= g
    current = np.zeros(n)
    current[0] = volts / resistors[0]
    return np.linalg.solve(G + np.eye(n) * 1e-6, current)


@program((8, 40, 160), lambda r, n: (n, 210e9, 8e-6, 1000.0))
def cantilever(elements, modulus, inertia, load):
    h = 1.0 / elements
    k = modulus * inertia / h**3 * np.array(
        [[12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h],
         [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h * h, -6 * h, 4 * h * h]])  # fmt: skip
    K = np.zeros((2 * elements + 2, 2 * elements + 2))
    for e in range(elements):
        K[2 * e : 2 * e + 4, 2 * e : 2 * e + 4] += k
    f = np.zeros(len(K))
    f[-2] = -load
    u = np.zeros_like(f)
    u[2:] = np.linalg.solve(K[2:, 2:], f[2:])
    return u[::2], u[1::2].min()


@program((50, 500, 5000), lambda r, n: (np.ones(n), (2.0, 0.5, 0.1), 0.05))
def pid_loop(setpoint, gains, dt):
    kp, ki, kd = gains
    y = integral = previous = 0.0
    out = []
    for target in setpoint:
        error = target - y
        integral = min(max(integral + error * dt, -2.0), 2.0)
        drive = kp * error + ki * integral + kd * (error - previous) / dt
        previous = error
        y += dt * (drive - y)
        out.append(y)
    return np.array(out)


@program((40, 400, 4000), lambda r, n: (np.cumsum(r.normal(size=n)),))
def rainflow_reversals(load):
    slope = np.sign(np.diff(load))
    turning = np.concatenate(([True], slope[1:] * slope[:-1] < 0, [True]))
    peaks = load[turning]
    ranges = np.abs(np.diff(peaks))
    edges = np.linspace(0, ranges.max(), 11)
    counts, _ = np.histogram(ranges, edges)
    damage = (counts * (0.5 * (edges[1:] + edges[:-1])) ** 3).sum()
    return peaks, counts, damage
