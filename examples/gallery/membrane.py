"""
Waves on a drum
===============

A membrane that is struck off its centre. The same function of NumPy serves every size of drum.
"""

import matplotlib.pyplot as plt
import numpy as np

import ckernels as ck


@ck.jit
def swing(height, before, steps, courant=0.5):
    for _ in range(steps):
        bent = np.zeros_like(height)
        bent[1:-1, 1:-1] = (
            height[:-2, 1:-1] + height[2:, 1:-1] + height[1:-1, :-2] + height[1:-1, 2:]
            - 4 * height[1:-1, 1:-1]
        )  # fmt: skip
        height, before = 2 * height - before + courant**2 * bent, height
    return height, before


# %%
# The drum at five times, from above.

y, x = np.mgrid[-1:1:101j, -1:1:101j]
height = np.exp(-60 * ((x - 0.3) ** 2 + (y + 0.2) ** 2))
before = height.copy()
figure, axes = plt.subplots(1, 5, figsize=(9, 2.1), layout="constrained")
for i, axis in enumerate(axes):
    axis.imshow(height, cmap="RdBu", vmin=-0.4, vmax=0.4)
    axis.set_title(f"step {40 * i}", fontsize=9)
    axis.axis("off")
    height, before = swing(height, before, 40)
