"""Computer vision: preparation of images, boxes, layers of nets for images."""

import numpy as np

import ckernels as K

from .registry import SAME, floats, program


def photos(rng, n, side):
    return (
        rng.integers(0, 256, (n, side, side, 3), dtype=np.uint8),
        np.array([123.7, 116.3, 103.5], np.float32),
        np.array([58.4, 57.1, 57.4], np.float32),
    )


def standardised(images, mean, deviation):
    return (images.float() - mean) / deviation


@program(photos, (16, 224), (2, 9), torch=standardised, jax=SAME)
def normalise_images(images, mean, deviation):
    return (images.astype(np.float32) - mean) / deviation


def boxes(rng, n, m):
    corner, size = rng.uniform(0, 500, (n + m, 2)), rng.uniform(10, 200, (n + m, 2))
    all_boxes = np.concatenate([corner, corner + size], 1).astype(np.float32)
    return all_boxes[:n], all_boxes[n:]


def iou_torch(a, b):
    import torch

    low = torch.maximum(a[:, None, :2], b[None, :, :2])
    high = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    inner = (high - low).clamp(min=0).prod(2)
    area_a, area_b = (a[:, 2:] - a[:, :2]).prod(1), (b[:, 2:] - b[:, :2]).prod(1)
    return inner / (area_a[:, None] + area_b[None] - inner)


@program(boxes, (1000, 800), (7, 5), torch=iou_torch, jax=SAME)
def iou_of_boxes(a, b):
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    inner = np.prod(np.clip(high - low, 0, None), axis=2)
    area_a = np.prod(a[:, 2:] - a[:, :2], axis=1)
    area_b = np.prod(b[:, 2:] - b[:, :2], axis=1)
    return inner / (area_a[:, None] + area_b[None] - inner)


def scored(rng, n):
    return boxes(rng, n, 0)[0], rng.random(n).astype(np.float32)


@program(scored, (400,), (9,))
def suppress_boxes(found, scores):
    """Non-maximum suppression as it is published: the best box removes what overlaps it."""
    order = np.argsort(-scores)
    x1, y1, x2, y2 = found[order].T
    areas = (x2 - x1) * (y2 - y1)
    keep = np.ones(len(order), bool)
    for i in range(len(order) - 1):
        w = np.maximum(0, np.minimum(x2[i], x2[i + 1 :]) - np.maximum(x1[i], x1[i + 1 :]))
        h = np.maximum(0, np.minimum(y2[i], y2[i + 1 :]) - np.maximum(y1[i], y1[i + 1 :]))
        inner = w * h
        over = inner / (areas[i] + areas[i + 1 :] - inner) > 0.5
        keep[i + 1 :] &= ~(over & keep[i])
    return order, keep


def picture(rng, h, w, out):
    return rng.random((h, w, 3), dtype=np.float32), np.arange(out, dtype=np.float32)


@program(picture, (480, 640, 224), (12, 10, 7), jax=SAME)
def resize_bilinear(image, steps):
    h, w = image.shape[0], image.shape[1]
    y = (steps + 0.5) * (h / len(steps)) - 0.5
    x = (steps + 0.5) * (w / len(steps)) - 0.5
    y0 = np.clip(np.floor(y).astype(int), 0, h - 2)
    x0 = np.clip(np.floor(x).astype(int), 0, w - 2)
    fy = np.clip(y - y0, 0, 1)[:, None, None]
    fx = np.clip(x - x0, 0, 1)[None, :, None]
    top = image[y0][:, x0] * (1 - fx) + image[y0][:, x0 + 1] * fx
    bottom = image[y0 + 1][:, x0] * (1 - fx) + image[y0 + 1][:, x0 + 1] * fx
    return top * (1 - fy) + bottom * fy


def filters(rng, n, side, c, out):
    return floats(rng, n, side, side, c), floats(rng, 3, 3, c, out), floats(rng, out)


def conv_torch(x, w, b):
    import torch

    y = torch.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), b)
    return torch.relu(y).permute(0, 2, 3, 1)


@program(filters, (4, 34, 16, 32), (2, 6, 3, 4), torch=conv_torch, jax=SAME)
def conv_by_hand(x, w, b):
    """A convolution as lectures write it: a product for each place of the window."""
    h, width = x.shape[1] - 2, x.shape[2] - 2
    y = 0
    for i in range(3):
        for j in range(3):
            y = y + x[:, i : i + h, j : j + width] @ w[i, j]
    return np.maximum(y + b, 0)


def convnet_ours(x, *weights):
    image = K.placeholder((None, *x.shape[1:]))
    w1, b1, w2, b2, w3 = map(K.constant, weights)
    y = K.relu(K.conv2d(image, w1, padding="same", data_format="channels_last") + b1)
    y = K.pool2d(y, (2, 2), (2, 2), data_format="channels_last")
    y = K.relu(K.conv2d(y, w2, padding="same", data_format="channels_last") + b2)
    y = K.pool2d(y, (2, 2), (2, 2), data_format="channels_last")
    function = K.function([image], K.softmax(K.dot(K.batch_flatten(y), w3)))
    return lambda: function(x)


def convnet(rng, n, side):
    c = (side // 4) ** 2 * 32
    shapes = (3, 3, 1, 16), (16,), (3, 3, 16, 32), (32,), (c, 10)
    return floats(rng, n, side, side, 1), *(0.1 * floats(rng, *s) for s in shapes)


def convnet_torch(x, w1, b1, w2, b2, w3):
    import torch
    from torch.nn import functional as F

    y = F.max_pool2d(
        torch.relu(F.conv2d(x.permute(0, 3, 1, 2), w1.permute(3, 2, 0, 1), b1, padding=1)), 2
    )
    y = F.max_pool2d(torch.relu(F.conv2d(y, w2.permute(3, 2, 0, 1), b2, padding=1)), 2)
    return torch.softmax(y.permute(0, 2, 3, 1).flatten(1) @ w3, 1)


def conv_same(x, w, b):
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), (3, 3), (1, 2)
    )
    return np.maximum(np.einsum("nhwcij,ijco->nhwo", windows, w, optimize=True) + b, 0)


def halved(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max((2, 4))


@program(convnet, (16, 28), (2, 8), ours=convnet_ours, torch=convnet_torch)
def small_convnet(x, w1, b1, w2, b2, w3):
    y = halved(conv_same(halved(conv_same(x, w1, b1)), w2, b2))
    y = y.reshape(len(x), -1) @ w3
    e = np.exp(y - y.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def feature_maps(rng, n, side, c):
    return floats(rng, n, side, side, c), floats(rng, c), floats(rng, c)


def group_norm_torch(x, scale, shift):
    import torch

    y = torch.nn.functional.group_norm(x.permute(0, 3, 1, 2), 8, scale, shift, 1e-5)
    return y.permute(0, 2, 3, 1)


@program(feature_maps, (4, 32, 64), (2, 4, 16), torch=group_norm_torch, jax=SAME, close=1e-3)
def group_norm(x, scale, shift):
    n, h, w, c = x.shape
    g = x.reshape(n, h, w, 8, c // 8)
    mean = g.mean((1, 2, 4), keepdims=True)
    var = g.var((1, 2, 4), keepdims=True)
    g = (g - mean) / np.sqrt(var + 1e-5)
    return g.reshape(n, h, w, c) * scale + shift


def coloured(rng, h, w):
    return (rng.random((h, w, 3), dtype=np.float32),)


@program(coloured, (256, 256), (5, 6), jax=SAME)
def rgb_to_hsv(image):
    r, g, b = image[..., 0], image[..., 1], image[..., 2]
    high, low = image.max(-1), image.min(-1)
    delta = high - low
    safe = np.where(delta == 0, 1, delta)
    hue = np.where(high == r, (g - b) / safe % 6, (b - r) / safe + 2)
    hue = np.where(high == b, (r - g) / safe + 4, hue) / 6
    saturation = np.where(high == 0, 0, delta / np.where(high == 0, 1, high))
    return np.stack([np.where(delta == 0, 0, hue), saturation, high], -1)


def crops(rng, n, side, size):
    images = rng.integers(0, 256, (n, side, side, 3), dtype=np.uint8)
    corners = rng.integers(0, side - size, (2, n))
    return images, corners[0], corners[1], rng.random(n) < 0.5, np.arange(size)


@program(crops, (64, 40, 32), (3, 9, 5), jax=SAME)
def random_crops(images, top, left, flip, steps):
    rows = top[:, None] + steps
    columns = left[:, None] + np.where(flip[:, None], len(steps) - 1 - steps, steps)
    n = np.arange(len(images))[:, None, None]
    return images[n, rows[:, :, None], columns[:, None, :]]
