"""
Two ways to write attention
===========================

The same head of attention twice: as it is compiled, which for long sequences is by blocks that keep
no scores, and with something asked of the scores, which therefore have to be there. Their memory,
and two profiles side by side.
"""

import matplotlib.pyplot as plt
import numpy as np

import ckernels as K

rng = np.random.default_rng(0)
q, k, v = (K.placeholder((None, None, 32), name=name) for name in "qkv")
looks = K.softmax(K.batch_dot(q, k, axes=(2, 2)) / 32**0.5)
result = K.batch_dot(looks, v)
blocks = K.function([q, k, v], result, profile=True, name="by blocks")
scores = K.function([q, k, v], [result, K.max(looks, axis=-1)], profile=True, name="with scores")

# %%
# What a call of each needs beside its arguments and results.

lengths, needed = [256, 512, 1024, 2048], {blocks: [], scores: []}
for length in lengths:
    rows = [rng.normal(size=(2, length, 32)).astype("float32") for _ in range(3)]
    for function, found in needed.items():
        fresh = function.copy()
        fresh(*rows)
        found.append(fresh.stats()["peak_bytes"] / 2**20)
        function(*rows)

figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
for function, found in needed.items():
    axis.loglog(lengths, np.maximum(found, 1e-3), "o-", label=function.name)
axis.set(xlabel="length of the sequence", ylabel="MB", xticks=lengths, xticklabels=lengths)
axis.minorticks_off()
axis.legend()

# %%
# A picture of both to walk about in: the profiles, the kernels, the memory, the graphs.

K.draw([blocks, scores])
