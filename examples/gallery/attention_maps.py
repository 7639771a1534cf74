"""
Where attention looks
=====================

One head of attention learns to turn a sequence around. Its scores show how: each place looks at
the one opposite.
"""

import matplotlib.pyplot as plt
import numpy as np

import ckernels as K

LENGTH, WORDS, WIDTH = 12, 10, 32
rng = np.random.default_rng(0)


def weight(*shape):
    return K.variable(rng.normal(0, shape[0] ** -0.5, shape))


table, places, answer = weight(WORDS, WIDTH), weight(LENGTH, WIDTH), weight(WIDTH, WORDS)
query, key, value = weight(WIDTH, WIDTH), weight(WIDTH, WIDTH), weight(WIDTH, WIDTH)
weights = [table, places, answer, query, key, value]

words = K.placeholder((None, LENGTH), dtype="int32")
x = K.gather(table, words) + places
scores = K.batch_dot(K.dot(x, query), K.dot(x, key), axes=(2, 2)) / WIDTH**0.5
looks = K.softmax(scores)
y = K.softmax(K.dot(K.batch_dot(looks, K.dot(x, value)), answer))
loss = K.mean(K.sparse_categorical_crossentropy(y, words[:, ::-1]))

# %%
# Adam, as it is in the paper.

updates, time = [], K.variable(0.0)
updates.append(K.update_add(time, 1.0))
for w, g in zip(weights, K.gradients(loss, weights)):
    m, v = K.zeros(K.int_shape(w)), K.zeros(K.int_shape(w))
    new_m, new_v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * K.square(g)
    unbiased = K.sqrt(1 - K.pow(0.999, time + 1)) / (1 - K.pow(0.9, time + 1))
    step = 0.01 * unbiased * new_m / (K.sqrt(new_v) + 1e-7)
    updates += [K.update(m, new_m), K.update(v, new_v), K.update_sub(w, step)]
train = K.function([words], loss, updates)
losses = [float(train(rng.integers(0, WORDS, (64, LENGTH)))) for _ in range(600)]
print(f"loss {losses[0]:.2f} at first, {losses[-1]:.4f} at the end")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.semilogy(losses)
left.set(xlabel="step", ylabel="loss")
shown = K.function([words], looks)(rng.integers(0, WORDS, (1, LENGTH)))[0]
right.imshow(shown, cmap="viridis")
right.set(xlabel="looked at", ylabel="place")
