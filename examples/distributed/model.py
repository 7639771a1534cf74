"""The model both programs beside this file train: an ordinary training function of K.function."""

import os

import numpy as np

import ckernels as K

DIGITS = os.path.join(os.path.dirname(__file__), os.pardir, "data", "digits.npz")


def digits():
    """(images, labels) to train on and to test with."""
    with np.load(DIGITS) as data:
        train, test = [
            (data[f"{part}.data"].astype("float32") / 16, data[f"{part}.lbl"].astype("int32"))
            for part in ("train", "test")
        ]
    return *train, *test


def classifier(inputs, hidden=128, seed=1):
    """(train, predict, weights): train(images, labels) does a step with momentum; the loss."""
    rng = np.random.default_rng(seed)
    x = K.placeholder((None, inputs), name="x")
    labels = K.placeholder((None,), dtype="int32", name="labels")
    sizes, h, weights = (inputs, hidden, hidden, 10), x, []
    for n, m in zip(sizes, sizes[1:]):
        w = K.variable(rng.normal(size=(n, m)) * np.sqrt(2 / n), name=f"w{n}x{m}")
        b = K.zeros((m,), name=f"b{len(weights)}")
        weights += [w, b]
        h = K.dot(h, w) + b
        h = K.relu(h) if m != 10 else K.softmax(h)
    loss = K.mean(K.sparse_categorical_crossentropy(h, labels))
    updates = []
    for w, gradient in zip(weights, K.gradients(loss, weights)):
        velocity = K.zeros(K.int_shape(w))
        moved = 0.9 * velocity - 0.1 * gradient
        updates += [(velocity, moved), (w, w + moved)]
    train = K.function([x, labels], loss, updates, name="digits")
    return train, K.function([x], K.argmax(h)), weights
