"""
Patterns that grow by themselves
================================

Two substances feed on each other and spread (Gray and Scott, 1984). The borders meet, by
``np.roll``, and all of a step is fused.
"""

import matplotlib.pyplot as plt
import numpy as np

import ckernels as ck


def spread(x):
    near = np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1)
    return near - 4 * x


@ck.jit
def react(u, v, feed, kill, steps):
    for _ in range(steps):
        made = u * v * v
        u = u + 0.16 * spread(u) - made + feed * (1 - u)
        v = v + 0.08 * spread(v) + made - (feed + kill) * v
    return u, v


# %%
# A few drops of the second substance, and three rates of feeding it.

rng = np.random.default_rng(3)
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for axis, (feed, kill) in zip(axes, [(0.035, 0.06), (0.055, 0.062), (0.03, 0.055)]):
    u, v = np.ones((128, 128)), np.zeros((128, 128))
    for row, column in rng.integers(8, 120, (12, 2)):
        u[row - 4 : row + 4, column - 4 : column + 4] = 0.5
        v[row - 4 : row + 4, column - 4 : column + 4] = 0.25
    u, v = react(u, v, feed, kill, 3000)
    axis.imshow(v, cmap="viridis")
    axis.set_title(f"feed {feed}, kill {kill}", fontsize=9)
    axis.axis("off")
