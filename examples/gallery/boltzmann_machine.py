"""
Dreams of a Boltzmann machine
=============================

A restricted Boltzmann machine learns binary digits by contrastive divergence; a chain of Gibbs
steps then runs as one scan.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

import ckernels as K

HERE = os.path.dirname(os.path.abspath(K.__file__))
with np.load(os.path.join(HERE, "..", "examples", "data", "digits.npz")) as file:
    images = (file["train.data"] > 7).astype("float32")

rng = np.random.default_rng(0)
w = K.variable(rng.normal(0, 0.05, (64, 96)))
visible, hidden = K.variable(np.zeros(64)), K.variable(np.zeros(96))


def draw(p):
    return K.random_binomial(K.shape(p), p=p)


def up(v):
    return K.sigmoid(K.dot(v, w) + hidden)


def down(h):
    return K.sigmoid(K.dot(h, K.transpose(w)) + visible)


# %%
# A step of learning: what the data say less what the machine says after one step of its own.

K.set_random_seed(0)
v = K.placeholder((None, 64))
first = up(v)
dreamt = down(draw(first))
again = up(dreamt)
count = K.cast(K.shape(v)[0], "float32")
rate = 0.1
seen, told = K.dot(K.transpose(v), first), K.dot(K.transpose(dreamt), again)
steps = [
    K.update_add(w, rate * (seen - told) / count),
    K.update_add(visible, rate * K.mean(v - dreamt, axis=0)),
    K.update_add(hidden, rate * K.mean(first - again, axis=0)),
]
train = K.function([v], K.mean(K.square(v - dreamt)), steps)
for _ in range(60):
    for rows in np.array_split(rng.permutation(len(images)), len(images) // 32):
        train(images[rows])

# %%
# Chains from noise, after 1, 10, 100 and 1000 steps; the last column shows what some units like.

start, steps = K.placeholder((None, 64)), K.placeholder((), dtype="int32")
chain, updates = K.scan(lambda s: draw(down(draw(up(s)))), outputs_info=start, n_steps=steps)
dream = K.function([start, steps], down(draw(up(chain[-1]))), updates=updates)


def wall(rows):
    return rows.reshape(6, 6, 8, 8).transpose(0, 2, 1, 3).reshape(48, 48)


noise = rng.integers(0, 2, (36, 64)).astype("float32")
figure, axes = plt.subplots(1, 5, figsize=(10, 2.3), layout="constrained")
for axis, n in zip(axes, (1, 10, 100, 1000)):
    axis.imshow(wall(dream(noise, n)), cmap="gray")
    axis.set_title(f"{n} steps", fontsize=9)
    axis.axis("off")
axes[-1].imshow(wall(K.get_value(w).T[:36]), cmap="RdBu")
axes[-1].set_title("weights", fontsize=9)
axes[-1].axis("off")
