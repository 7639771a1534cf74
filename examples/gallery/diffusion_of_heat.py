"""
Heat in a plate, as a film
==========================

A plain NumPy loop over time steps: :func:`ckernels.jit` turns the loop into one scan in C.
"""

import matplotlib.pyplot as plt
import numpy as np

import ckernels as ck


@ck.jit
def cool(plate, steps):
    plate = plate.copy()
    for _ in range(steps):
        inner = plate[1:-1, 1:-1]
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        plate[1:-1, 1:-1] = inner + 0.2 * (around - 4 * inner)
    return plate


# %%
# The edges stay cold. Two hot bars are in the plate at first; each picture is 60 steps later.

plate = np.zeros((96, 96))
plate[20:30, 15:80] = 1
plate[45:85, 60:68] = 1
frames = [plate]
for _ in range(5):
    frames.append(cool(frames[-1], 60))

figure, axes = plt.subplots(1, 6, figsize=(9, 1.8), layout="constrained")
for i, (axis, frame) in enumerate(zip(axes, frames)):
    axis.imshow(frame, cmap="inferno", vmin=0, vmax=1)
    axis.set_title(f"step {60 * i}", fontsize=9)
    axis.axis("off")
