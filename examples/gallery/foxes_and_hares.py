"""
Equations fitted to their solution
==================================

Lotka and Volterra's equations by Runge and Kutta's method in one scan; the gradient of the misfit
with respect to the four rates goes through all its steps.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import ckernels as ck


def growth(rates, x):
    hares, foxes = x[0], x[1]
    return np.stack([hares * (rates[0] - rates[1] * foxes), foxes * (rates[2] * hares - rates[3])])


def solve(rates, x, steps=150, h=0.1):
    way = np.zeros((steps, 2))
    for i in range(steps):
        k1 = growth(rates, x)
        k2 = growth(rates, x + h / 2 * k1)
        k3 = growth(rates, x + h / 2 * k2)
        k4 = growth(rates, x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        way[i] = x
    return way


def misfit(logs, start, seen):
    return ((solve(np.exp(logs), start)[::5] - seen) ** 2).mean()


# %%
# Every fifth value is seen, with noise.

truth, start = np.array([1.1, 0.4, 0.1, 0.4]), np.array([10.0, 5.0])
way = ck.jit(solve)(truth, start)
seen = way[::5] + 0.5 * np.random.default_rng(0).normal(size=(30, 2))
first = np.log([0.9, 0.3, 0.08, 0.5])
fit = minimize(ck.jit.value_and_grad(misfit), first, args=(start, seen), jac=True)
print("rates:", np.exp(fit.x).round(3), "truth:", truth)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
for axis, title, logs in zip(axes, ("at first", "fitted"), (first, fit.x)):
    axis.plot(ck.jit(solve)(np.exp(logs), start))
    axis.set_prop_cycle(None)
    axis.plot(range(0, 150, 5), seen, ".")
    axis.set(title=title, xlabel="step")
axes[0].legend(["hares", "foxes"])
