"""
A recurrent net that adds
=========================

The adding problem (Hochreiter and Schmidhuber, 1997): of a long row of numbers two are marked; the
net is to say their sum at the end. A gated unit in :func:`ckernels.scan`.
"""

import matplotlib.pyplot as plt
import numpy as np

import ckernels as K

WIDTH = 32
rng = np.random.default_rng(0)


def weight(n, m):
    return K.variable(rng.normal(0, n**-0.5, (n, m)))


gate_x, gate_h, new_x, new_h = (weight(n, WIDTH) for n in (2, WIDTH, 2, WIDTH))
gate_b, out = K.variable(np.full(WIDTH, -2.0)), weight(WIDTH, 1)
weights = [gate_x, gate_h, new_x, new_h, gate_b, out]

rows, target = K.placeholder((None, None, 2)), K.placeholder((None,))


def step(x, h):
    gate = K.sigmoid(K.dot(x, gate_x) + K.dot(h, gate_h) + gate_b)
    return (1 - gate) * h + gate * K.tanh(K.dot(x, new_x) + K.dot(h, new_h))


start = K.zeros((1, WIDTH)) + K.zeros_like(target)[:, None]
states, _ = K.scan(step, sequences=rows, outputs_info=start)
answer = K.dot(states[-1], out)[:, 0]
loss = K.mean(K.square(answer - target))
updates = []
for w, g in zip(weights, K.gradients(loss, weights)):
    m, v = K.zeros(K.int_shape(w)), K.zeros(K.int_shape(w))
    new_m, new_v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * K.square(g)
    moved = 5e-3 * new_m / (K.sqrt(new_v) + 1e-4)
    updates += [K.update(m, new_m), K.update(v, new_v), K.update_sub(w, moved)]
train = K.function([rows, target], loss, updates)


def problem(length, n=64):
    numbers, marks = rng.random((length, n)), np.zeros((length, n))
    marks[rng.integers(0, length // 2, n), range(n)] = 1
    marks[rng.integers(length // 2, length, n), range(n)] = 1
    return np.stack([numbers, marks], 2).astype("float32"), (numbers * marks).sum(0)


# %%
# One function for all lengths: they grow from 10 to 40 on the way. Always saying 1 costs 1/6.

losses = [float(train(*problem(10 + 30 * i // 1500))) for i in range(1500)]
trial, sums = problem(60, 300)
guess = K.function([rows, target], answer)(trial, np.zeros(300))

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.semilogy(losses, lw=0.5)
left.axhline(1 / 6, color="k", ls=":")
left.set(xlabel="step", ylabel="loss")
right.plot(sums, guess, ".")
right.set(xlabel="sum", ylabel="answer", title="rows of 60, longer than any it learnt from")
