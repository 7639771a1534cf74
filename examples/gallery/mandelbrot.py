"""
The Mandelbrot set
==================

Complex numbers are a dtype of kernels: each turn of the loop is one pass over the picture.
"""

import matplotlib.pyplot as plt
import numpy as np

import ckernels as ck


@ck.jit
def escape(c, turns):
    z = np.zeros_like(c)
    count = np.zeros(c.shape)
    for _ in range(turns):
        z = np.where(np.abs(z) < 2, z * z + c, z)
        count += np.abs(z) < 2
    return count


# %%
# How long each point stays within a circle of radius 2.

real, imaginary = np.linspace(-2.1, 0.7, 420), np.linspace(-1.2, 1.2, 360)
count = escape(real + 1j * imaginary[:, None], 60)

figure, axis = plt.subplots(figsize=(5, 4.3), layout="constrained")
axis.imshow(np.log1p(count), extent=(-2.1, 0.7, -1.2, 1.2), cmap="magma")
axis.set(xlabel="real", ylabel="imaginary")
