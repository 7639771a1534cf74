"""
Filters in the frequency domain
===============================

A blurred picture is restored by Wiener's filter. Transforms run in the precision of the picture.
"""

import matplotlib.pyplot as plt
import numpy as np

import ckernels as ck


def picture(n=128):
    y, x = np.mgrid[-1 : 1 : n * 1j, -1 : 1 : n * 1j]
    rings = np.sin(30 * (x**2 + y**2)) > 0
    return (np.where(x * y > 0, rings, np.abs(x + y) < 0.4)).astype(np.float32)


@ck.jit
def blur(x, width):
    n = len(x)
    f = np.fft.fftfreq(n)
    response = np.exp(-2 * (np.pi * width) ** 2 * (f[:, None] ** 2 + f[: n // 2 + 1] ** 2))
    return np.fft.irfft2(np.fft.rfft2(x) * response, x.shape), response


@ck.jit
def restore(y, response, noise):
    wiener = response / (response**2 + noise)
    return np.fft.irfft2(np.fft.rfft2(y) * wiener, y.shape)


# %%
# What was seen is the picture through a lens, with noise.

sharp = picture()
seen, response = blur(sharp, 1.5)
seen = seen + 0.01 * np.random.default_rng(0).normal(size=seen.shape)
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for axis, title, image in zip(
    axes, ("the picture", "what was seen", "restored"), (sharp, seen, restore(seen, response, 1e-3))
):
    axis.imshow(image, cmap="gray", vmin=0, vmax=1)
    axis.set_title(title, fontsize=9)
    axis.axis("off")
