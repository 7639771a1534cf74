"""
Which thread did what
=====================

A function made with ``profile=True`` remembers its last call: each instruction, or each part of it
that a thread took, as a span of time. ``K.draw`` shows the same in a page.
"""

import matplotlib.pyplot as plt
import numpy as np

import ckernels as K

rng = np.random.default_rng(0)
x = K.placeholder((None, 256), name="x")
weights = [K.variable(rng.normal(0, 256**-0.5, (256, 256)), name=f"w{i}") for i in range(3)]
h = x
for w in weights:
    h = K.tanh(K.dot(h, w))
loss = K.mean(K.square(h - x))
steps = [K.update_sub(w, 0.1 * g) for w, g in zip(weights, K.gradients(loss, weights))]
train = K.function([x], loss, steps, profile=True)
for _ in range(3):
    train(rng.normal(size=(2048, 256)))

# %%
# Each colour is an instruction. Parts of one are as many as keep all threads busy to the end.

spans = train.timeline()
colours = plt.get_cmap("tab20")
figure, axis = plt.subplots(figsize=(9, 2.4), layout="constrained")
for span in spans:
    axis.barh(
        span.thread,
        span.end - span.start,
        left=span.start,
        color=colours(span.step % 20),
        edgecolor="white",
        linewidth=0.3,
    )
busy = [f"thread {t}\n{100 * ms / spans.ms:.0f} % at work" for t, ms in spans.busy().items()]
axis.set(xlabel="ms since the call began", xlim=(0, spans.ms))
axis.set(yticks=range(len(busy)), yticklabels=busy)

# %%
# The longest instructions of that call, over all threads.

total = {}
for span in spans:
    total[span.name] = total.get(span.name, 0) + span.end - span.start
for name, ms in sorted(total.items(), key=lambda item: -item[1])[:4]:
    print(f"{ms:8.3f} ms  {name}")
