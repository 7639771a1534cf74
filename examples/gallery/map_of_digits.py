"""
A map of digits
===============

t-SNE (van der Maaten and Hinton, 2008) written in NumPy: all pairs of distances, and a gradient
nobody derived.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

import ckernels as ck

HERE = os.path.dirname(os.path.abspath(ck.__file__))
with np.load(os.path.join(HERE, "..", "examples", "data", "digits.npz")) as file:
    images, labels = file["train.data"][:500] / 16.0, file["train.lbl"][:500]


@ck.jit
def near(x, width):
    """Symmetric chances that two points are neighbours, of normal laws about each point."""
    far = ((x[:, None] - x) ** 2).sum(2)
    scale = np.sort(far, 1)[:, width][:, None]
    chance = np.exp(-far / scale * 3) * (1 - np.eye(len(x)))
    chance /= chance.sum(1, keepdims=True)
    return (chance + chance.T) / (2 * len(x))


def cost(y, p):
    q = 1 / (1 + ((y[:, None] - y) ** 2).sum(2)) * (1 - np.eye(len(y)))
    return (p * np.log((p + 1e-12) / (q / q.sum() + 1e-12))).sum()


slope = ck.jit.grad(cost)

# %%
# Gradient descent with momentum.

p = near(images, 20)
y = np.random.default_rng(0).normal(0, 1e-2, (500, 2))
speed = np.zeros_like(y)
for step in range(400):
    pull = 4 if step < 100 else 1
    speed = 0.8 * speed - 100 * slope(y, pull * p)
    y = y + speed

figure, axis = plt.subplots(figsize=(6, 5), layout="constrained")
axis.scatter(*y.T, s=0)
for at, label in zip(y, labels):
    axis.text(*at, str(label), color=plt.cm.tab10(label), fontsize=8, ha="center", va="center")
axis.axis("off")
