"""
A Gaussian process learns its lengths
=====================================

The marginal likelihood goes through a Cholesky factor; its gradient in the three settings of the
kernel does too.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import ckernels as ck


def kernel(a, b, settings):
    length, height = np.exp(settings[0]), np.exp(settings[1])
    return height**2 * np.exp(-(((a[:, None] - b) / length) ** 2) / 2)


def cost(settings, x, y):
    covariance = kernel(x, x, settings) + np.exp(2 * settings[2]) * np.eye(len(x))
    factor = np.linalg.cholesky(covariance)
    white = np.linalg.solve(factor, y)
    return (white**2).sum() / 2 + np.log(np.diag(factor)).sum()


# %%
# Forty noisy values of a function with a gap in the middle.

rng = np.random.default_rng(4)
x = np.concatenate([rng.uniform(0, 3, 22), rng.uniform(5, 8, 18)])
y = np.sin(2 * x) + 0.4 * x + 0.2 * rng.normal(size=40)
y -= y.mean()
found = minimize(ck.jit.value_and_grad(cost), np.zeros(3), args=(x, y), jac=True)
print("length, height, noise:", np.exp(found.x).round(3))


@ck.jit
def predict(settings, x, y, at):
    covariance = kernel(x, x, settings) + np.exp(2 * settings[2]) * np.eye(len(x))
    across = kernel(at, x, settings)
    mean = across @ np.linalg.solve(covariance, y)
    lost = (across * np.linalg.solve(covariance, across.T).T).sum(1)
    return mean, np.sqrt(np.exp(2 * settings[1]) - lost)


# %%
# Two standard deviations about the mean.

at = np.linspace(-0.5, 8.5, 300)
mean, spread = predict(found.x, x, y, at)
figure, axis = plt.subplots(figsize=(7, 3.5), layout="constrained")
axis.fill_between(at, mean - 2 * spread, mean + 2 * spread, alpha=0.3)
axis.plot(at, mean)
axis.plot(x, y, ".k")
axis.set(xlabel="x", ylabel="y")
