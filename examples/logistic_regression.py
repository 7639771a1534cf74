"""Logistic regression on random data, the long example of the Theano manual, written with K.

    python examples/logistic_regression.py [--steps 10000]

The formula is the naive one: evaluated as it stands, exp and log overflow in the first step and
the weights become NaN. ckernels sees 1 / (1 + exp(-z)) and log(1 - p) and computes them stably.
"""

import argparse
import time

import numpy as np

import ckernels as K

SAMPLES, FEATURES = 400, 784


def build(rng):
    """(train, predict): one step of gradient descent, and the prediction alone."""
    x = K.placeholder(shape=(None, FEATURES), dtype="float64", name="x")
    y = K.placeholder(shape=(None,), dtype="float64", name="y")
    w = K.variable(rng.standard_normal(FEATURES), dtype="float64", name="w")
    b = K.variable(0.0, dtype="float64", name="b")

    p = 1 / (1 + K.exp(-K.dot(x, w) - b))  # probability that the target is 1
    prediction = p > 0.5
    xent = -y * K.log(p) - (1 - y) * K.log(1 - p)
    cost = K.mean(xent) + 0.01 * K.sum(w**2)
    dw, db = K.gradients(cost, [w, b])

    updates = [K.update_sub(w, 0.1 * dw), K.update_sub(b, 0.1 * db)]
    return K.function([x, y], [prediction, cost], updates), K.function([x], prediction)


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--steps", type=int, default=10000)
    steps = parser.parse_args().steps

    rng = np.random.default_rng(0)
    data = rng.standard_normal((SAMPLES, FEATURES))
    target = rng.integers(0, 2, SAMPLES).astype(np.float64)

    train, predict = build(rng)
    cost, start = np.nan, time.perf_counter()
    for step in range(steps):
        _, cost = train([data, target])
        if step in (0, 9, 99, 999) or step == steps - 1:
            print(f"step {step + 1:6d}  cost {cost:.6f}")
    seconds = time.perf_counter() - start
    right = (predict(data) == (target == 1)).mean()
    print(f"{right:.1%} of the targets predicted, {seconds / max(steps, 1) * 1e6:.0f} us per step")
    return 0 if np.isfinite(cost) else 1


if __name__ == "__main__":
    raise SystemExit(main())
