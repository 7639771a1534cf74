"""
What a classifier of digits learns
==================================

Five nets of one hidden layer, from five seeds: their losses as a band, and what the units of the
first look for.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

import ckernels as K

HERE = os.path.dirname(os.path.abspath(K.__file__))
with np.load(os.path.join(HERE, "..", "examples", "data", "digits.npz")) as file:
    images, labels = file["train.data"].astype("float32") / 16, file["train.lbl"]
    tested, truth = file["test.data"].astype("float32") / 16, file["test.lbl"]


def net(seed, hidden=32):
    """(train, predict, filters) of a net with weights of its own."""
    rng = np.random.default_rng(seed)
    x, t = K.placeholder((None, 64)), K.placeholder((None,), dtype="int32")
    w1, w2 = (K.variable(rng.normal(0, n**-0.5, (n, m))) for n, m in ((64, hidden), (hidden, 10)))
    b1, b2 = K.variable(np.zeros(hidden)), K.variable(np.zeros(10))
    y = K.softmax(K.dot(K.relu(K.dot(x, w1) + b1), w2) + b2)
    loss = K.mean(K.sparse_categorical_crossentropy(y, t)) + 1e-3 * K.sum(K.square(w1))
    weights = [w1, b1, w2, b2]
    steps = [K.update_sub(w, 0.3 * g) for w, g in zip(weights, K.gradients(loss, weights))]
    return K.function([x, t], loss, steps), K.function([x], K.argmax(y)), w1


# %%
# Each runs for 600 steps of 64 images.

losses, right = np.zeros((5, 600)), []
for seed in range(5):
    train, predict, filters = net(seed)
    rng = np.random.default_rng(seed)
    for step in range(600):
        rows = rng.integers(0, len(images), 64)
        losses[seed, step] = train(images[rows], labels[rows])
    right.append((predict(tested) == truth).mean())
print(f"right: {np.mean(right):.3f} +- {np.std(right):.3f}")

smooth = np.apply_along_axis(np.convolve, 1, losses, np.ones(20) / 20, "valid")
figure, (left, side) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.fill_between(range(smooth.shape[1]), smooth.min(0), smooth.max(0), alpha=0.3)
left.plot(smooth.mean(0))
left.set(xlabel="step", ylabel="loss", yscale="log")
shown = K.get_value(filters).T.reshape(4, 8, 8, 8).transpose(0, 2, 1, 3).reshape(32, 64)
side.imshow(shown, cmap="RdBu")
side.set_title("weights of the 32 units")
side.axis("off")
