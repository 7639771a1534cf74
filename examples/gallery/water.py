"""
A drop into a basin, as a film
==============================

The shallow-water equations on a staggered grid: heights in the middle of cells, flows at their
edges. All of a step is slices of NumPy; the time loop is one call.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation

import ckernels as ck


@ck.jit
def flow(height, east, south, ground, steps):
    height, east, south = height.copy(), east.copy(), south.copy()
    for _ in range(steps):
        east[:, 1:-1] -= 0.2 * (height[:, 1:] - height[:, :-1])
        south[1:-1, :] -= 0.2 * (height[1:, :] - height[:-1, :])
        deep = height - ground
        over_east = 0.5 * (deep[:, 1:] + deep[:, :-1]) * east[:, 1:-1]
        over_south = 0.5 * (deep[1:, :] + deep[:-1, :]) * south[1:-1, :]
        height[:, :-1] -= 0.2 * over_east
        height[:, 1:] += 0.2 * over_east
        height[:-1, :] -= 0.2 * over_south
        height[1:, :] += 0.2 * over_south
    return height, east, south


# %%
# A bank under the water slows the waves down and bends them. Nothing is lost: the volume stays.

rows, columns = np.mgrid[:120, :160]
ground = -1 + 0.7 * np.exp(-((rows - 60.0) ** 2 + (columns - 110.0) ** 2) / 400)
height = 0.3 * np.exp(-((rows - 60.0) ** 2 + (columns - 40.0) ** 2) / 30)
east, south = np.zeros((120, 161)), np.zeros((121, 160))
volume, frames = height.sum(), [height]
for _ in range(60):
    height, east, south = flow(height, east, south, ground, 12)
    frames.append(height)
print(f"volume: {volume:.6f} at first, {height.sum():.6f} at the end")

figure, axes = plt.subplots(1, 4, figsize=(9, 1.9), layout="constrained")
for axis, at in zip(axes, (0, 15, 30, 60)):
    axis.imshow(frames[at], cmap="RdBu", vmin=-0.06, vmax=0.06)
    axis.set_title(f"step {12 * at}", fontsize=9)
    axis.axis("off")

# %%
# The film.

figure, axis = plt.subplots(figsize=(4, 3), layout="constrained")
shown = axis.imshow(frames[0], cmap="RdBu", vmin=-0.06, vmax=0.06)
axis.axis("off")
film = FuncAnimation(figure, lambda i: [shown.set_data(frames[i])], frames=len(frames), interval=50)
