"""
A plane of digits
=================

A variational autoencoder (Kingma and Welling, 2014) with two numbers for each picture. The draws
are nodes of the graph, fused into the loops that use them.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

import ckernels as K

HERE = os.path.dirname(os.path.abspath(K.__file__))
with np.load(os.path.join(HERE, "..", "examples", "data", "digits.npz")) as file:
    images, labels = file["train.data"].astype("float32") / 16, file["train.lbl"]

rng = np.random.default_rng(0)


def layer(n, m):
    return K.variable(rng.normal(0, n**-0.5, (n, m))), K.variable(np.zeros(m))


weights = [layer(64, 64), layer(64, 4), layer(2, 64), layer(64, 64)]
flat = [w for pair in weights for w in pair]


def dense(x, pair):
    return K.dot(x, pair[0]) + pair[1]


def decode(z):
    return K.sigmoid(dense(K.tanh(dense(z, weights[2])), weights[3]))


# %%
# The cost: how badly a picture comes back, and how far its place strays from the normal law.

x = K.placeholder((None, 64))
code = dense(K.tanh(dense(x, weights[0])), weights[1])
mean, log_variance = code[:, :2], code[:, 2:]
z = mean + K.exp(log_variance / 2) * K.random_normal(K.shape(mean), seed=1)
lost = K.sum(K.binary_crossentropy(decode(z), x), axis=1)
strayed = K.sum(K.square(mean) + K.exp(log_variance) - 1 - log_variance, axis=1) / 2
cost = K.mean(lost + strayed)

moments, updates = [], []
for w, g in zip(flat, K.gradients(cost, flat)):
    m, v = K.zeros(K.int_shape(w)), K.zeros(K.int_shape(w))
    new_m, new_v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * K.square(g)
    step = 0.01 * new_m / (K.sqrt(new_v) + 1e-4)
    updates += [K.update(m, new_m), K.update(v, new_v), K.update_sub(w, step)]
train = K.function([x], cost, updates)
place = K.function([x], mean)
point = K.placeholder((None, 2))
paint = K.function([point], decode(point))

for _ in range(60):
    for rows in np.array_split(rng.permutation(len(images)), len(images) // 64):
        train(images[rows])

# %%
# Where the pictures lie, and what lies where.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
at = place(images)
drawn = left.scatter(*at.T, c=labels, s=5, cmap="tab10")
figure.colorbar(drawn, ax=left, ticks=range(10))
grid = np.stack(np.meshgrid(np.linspace(-2, 2, 14), np.linspace(2, -2, 14)), 2)
tiles = paint(grid.reshape(-1, 2).astype("float32")).reshape(14, 14, 8, 8)
right.imshow(tiles.transpose(0, 2, 1, 3).reshape(112, 112), cmap="gray")
right.axis("off")
