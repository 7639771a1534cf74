"""
A fit with its uncertainty
==========================

Decay and oscillation, fitted to noisy points. The Hessian of the cost says how well each number
is known, and so how wide the band is.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import ckernels as ck


def model(p, t):
    return p[0] * np.exp(-p[1] * t) * np.cos(p[2] * t + p[3])


def misfit(p, t, y):
    return (model(p, t) - y) / 0.1


# %%
# ``least_squares`` wants the Jacobian; the covariance is the inverse of the Hessian.

rng = np.random.default_rng(1)
truth = np.array([1.5, 0.4, 3.0, 0.5])
t = np.sort(rng.uniform(0, 6, 60))
y = model(truth, t) + 0.1 * rng.normal(size=60)
fit = least_squares(ck.jit(misfit), [1, 0.2, 2.8, 0], ck.jit.jacobian(misfit), args=(t, y))
hessian = ck.jit.hessian(lambda p: (misfit(p, t, y) ** 2).sum() / 2)(fit.x)
covariance = np.linalg.inv(hessian)
for name, value, spread in zip(("height", "decay", "rate", "phase"), fit.x, np.diag(covariance)):
    print(f"{name:6} {value:6.3f} +- {spread**0.5:.3f}")

# %%
# The band is two standard deviations of the curve.

grid = np.linspace(0, 6, 300)
slopes = ck.jit.jacobian(model)(fit.x, grid)
width = 2 * np.sqrt(np.einsum("ij,jk,ik->i", slopes, covariance, slopes))
curve = model(fit.x, grid)
figure, axis = plt.subplots(figsize=(7, 3.5), layout="constrained")
axis.fill_between(grid, curve - width, curve + width, alpha=0.3)
axis.plot(grid, curve)
axis.plot(t, y, ".k")
axis.set(xlabel="t", ylabel="y")
