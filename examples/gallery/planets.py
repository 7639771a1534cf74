"""
Orbits from an energy
=====================

Forces are minus the gradient of a potential: :func:`ckernels.jit.grad` writes them. Planets and
a sun, by leapfrog steps.
"""

import matplotlib.pyplot as plt
import numpy as np

import ckernels as ck

MASS = np.array([1.0, 3e-3, 1e-3, 2e-3])


def potential(at):
    apart = at[:, None] - at
    far = np.sqrt((apart**2).sum(2) + np.eye(len(at)))
    return -np.sum(np.triu(MASS[:, None] * MASS / far, 1))


slope = ck.jit.grad(potential)

# %%
# Each planet starts with the speed of a circle, the third with more.

radius = np.array([0, 1.0, 1.6, 2.4])
at = np.stack([radius, np.zeros(4)], 1)
speed = np.zeros((4, 2))
speed[1:, 1] = radius[1:] ** -0.5 * np.array([1, 1, 1.1])
step, way, energy = 0.02, [], []
for _ in range(1500):
    speed = speed - step / 2 * slope(at) / MASS[:, None]
    at = at + step * speed
    speed = speed - step / 2 * slope(at) / MASS[:, None]
    way.append(at)
    energy.append(potential(at) + (MASS[:, None] * speed**2).sum() / 2)
way = np.array(way)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for planet in range(4):
    left.plot(way[:, planet, 0], way[:, planet, 1], lw=1)
left.set_aspect("equal")
right.plot(np.array(energy) / energy[0] - 1, lw=1)
right.set(xlabel="step", title="change of the energy, relative")
