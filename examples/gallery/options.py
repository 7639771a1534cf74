"""
Prices of options and their Greeks
==================================

Black and Scholes' formula as it is written in NumPy, and its derivatives for a whole grid.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ndtr

import ckernels as ck


def price(spot, strike, years, rate, volatility):
    deviation = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / deviation
    return spot * ndtr(d1) - strike * np.exp(-rate * years) * ndtr(d1 - deviation)


def total(*market):
    return price(*market).sum()


# %%
# Delta, gamma and vega: the price is independent from one point of the grid to the next, so that
# the gradient of the sum is the derivative at each.

spot, years = np.meshgrid(np.linspace(60, 140, 200), np.linspace(0.05, 1, 150))
market = (spot, 100.0, years, 0.02, 0.3)
delta = ck.jit.grad(total)(*market)
gamma = ck.jit.grad(lambda *m: ck.jit.grad(total)(*m).sum())(*market)
vega = ck.jit.grad(lambda v: total(spot, 100.0, years, 0.02, v))(np.full_like(spot, 0.3))

figure, axes = plt.subplots(1, 4, figsize=(10, 2.8), layout="constrained", sharey=True)
shown = {"price": ck.jit(price)(*market), "delta": delta, "gamma": gamma, "vega": vega}
for axis, (name, values) in zip(axes, shown.items()):
    drawn = axis.pcolormesh(spot, years, values, cmap="viridis")
    figure.colorbar(drawn, ax=axis)
    axis.set(title=name, xlabel="spot")
axes[0].set_ylabel("years")
