"""
Where the time of a call goes
=============================

A profile has a row for each instruction: what it is and how long it took. ``K.draw`` puts the same
into a page to walk about in.
"""

import matplotlib.pyplot as plt
import numpy as np

import ckernels as K

x = K.placeholder((None, 200), name="x")
layers = [K.variable(np.random.default_rng(i).normal(0, 0.07, (200, 200))) for i in range(4)]
h = x
for w in layers:
    h = K.tanh(K.dot(h, w))
loss = K.mean(K.square(h))
steps = [K.update_sub(w, 0.1 * g) for w, g in zip(layers, K.gradients(loss, layers))]
f = K.function([x], loss, steps, profile=True)
for _ in range(20):
    f(np.ones((256, 200)))
table = f.profile_table()
print(table)

# %%
# The same as bars.

rows = sorted(table, key=lambda row: row.ms)
figure, axis = plt.subplots(figsize=(8, 3.6), layout="constrained")
axis.barh([row.name for row in rows], [1000 * row.ms / row.calls for row in rows])
axis.set(xlabel="microseconds of a call")
