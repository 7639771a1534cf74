"""What loops become: how many instructions, products and kernels, whatever the number of steps."""

import re

import numpy as np
import pytest

import ckernels as K

F, B, N, H = "float64", 4, 3, 8


def cell_of_four(weights):
    """An LSTM step with weights for each gate, as written in a textbook."""

    def step(x, h, c):
        i, f, o, g = (K.dot(x, w) + K.dot(h, u) + b for w, u, b in weights)
        c = K.sigmoid(f) * c + K.sigmoid(i) * K.tanh(g)
        return [K.sigmoid(o) * K.tanh(c), c]

    return step


def cell_of_one(w, u, b):
    """The same with the weights of all gates in one matrix."""

    def step(x, h, c):
        z = K.dot(x, w) + K.dot(h, u) + b
        i, f, o, g = (z[:, k * H : (k + 1) * H] for k in range(4))
        c = K.sigmoid(f) * c + K.sigmoid(i) * K.tanh(g)
        return [K.sigmoid(o) * K.tanh(c), c]

    return step


def lstm(steps, split, gradient):
    """(compiled function, its inputs' values) of an LSTM, or of the gradients of its weights."""
    r = np.random.RandomState(0)
    sizes = [(N, H), (H, H), (H,)] * 4 if split else [(N, 4 * H), (H, 4 * H), (4 * H,)]
    weights = [K.placeholder(s, dtype=F) for s in sizes]
    x = K.placeholder((steps, B, N), dtype=F)
    zeros = K.zeros((B, H), dtype=F)
    cell = cell_of_four(list(zip(*[iter(weights)] * 3))) if split else cell_of_one(*weights)
    (h, _), _ = K.scan(cell, x, [zeros, zeros])
    outputs = K.gradients(K.sum(K.square(h)), weights) if gradient else [h]
    arrays = [r.randn(steps, B, N), *(r.randn(*s) for s in sizes)]
    f = K.function([x, *weights], outputs, mode="compiled")
    g = K.function([x, *weights], outputs, mode="reference")
    for a, b in zip(f(*arrays), g(*arrays)):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
    return f


def instructions(f):
    """[(depth, name)] of the instructions of the last plan, without numbers of steps."""
    found = []
    for line in f.steps():
        _, rest = line.split(":", 1)
        name = rest.strip()
        found.append(((len(rest) - len(name) - 1) // 2, re.sub(r"\d+ steps", "steps", name)))
    return found


def inside(f, which):
    """Names of the instructions in loop number `which`."""
    loops, found = -1, []
    for depth, name in instructions(f):
        loops += depth == 0 and name.startswith("scan")
        if depth and loops == which:
            found.append(name)
    return found


@pytest.mark.parametrize("split", [False, True])
def test_the_gates_of_an_lstm_are_one_product_and_one_kernel(split):
    f = lstm(20, split, False)
    step = inside(f, 0)
    assert len(step) == 2 and sum("matmul" in n for n in step) == 1, f.steps()
    outside = [n for d, n in instructions(f) if not d]
    assert sum("matmul" in n for n in outside) == 1, f.steps()


@pytest.mark.parametrize("split", [False, True])
def test_the_gradient_of_an_lstm_has_one_product_per_step_and_one_per_weight(split):
    f = lstm(20, split, True)
    for which in (0, 1):
        assert sum("matmul" in n for n in inside(f, which)) == 1, f.steps()
    after = [n for d, n in instructions(f) if not d]
    after = after[max(k for k, n in enumerate(after) if n.startswith("scan")) :]
    products = sum("matmul" in n for n in after)
    assert products <= 3, f.steps()  # x.T dz, and h.T dz in two parts


@pytest.mark.sampled(1)
@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("gradient", [False, True])
def test_plans_and_kernels_do_not_depend_on_the_number_of_steps(split, gradient):
    """Of two numbers for which sums over all steps are taken in two parts: the order of a sum
    follows from its length."""
    few, many = lstm(300, split, gradient), lstm(500, split, gradient)
    assert instructions(few) == instructions(many)
    keys = [{k["key"] for k in f.stats()["kernels"]} for f in (few, many)]
    assert keys[0] == keys[1]


def test_a_state_nobody_keeps_is_written_over_itself():
    h = K.placeholder((5000,), dtype=F)
    rows, _ = K.scan(lambda h: K.tanh(h) * 0.5 + 1.0, outputs_info=h, n_steps=50)
    f = K.function([h], rows[-1], mode="compiled")
    got = f(np.ones(5000))
    want = 1.0
    for _ in range(50):
        want = np.tanh(want) * 0.5 + 1.0
    np.testing.assert_allclose(got, want)
    assert len(inside(f, 0)) == 1 and f.stats()["peak_bytes"] <= 5000 * 8


def test_equal_loops_over_the_same_rows_are_one_instruction():
    x, h = K.placeholder((9, 4), dtype=F), K.placeholder((4,), dtype=F)
    rows, _ = K.scan(lambda r, p: K.tanh(r + p), x, h)
    sums, _ = K.scan(lambda r, p: r * 0.5 + p, x, h)
    f = K.function([x, h], [rows, sums], mode="compiled")
    f(np.ones((9, 4)), np.ones(4))
    assert [n for d, n in instructions(f) if not d] == ["scan of steps"]
    other, _ = K.scan(lambda r, p: r * 0.5 + p, x[:8], h)
    f = K.function([x, h], [rows, other], mode="compiled")
    f(np.ones((9, 4)), np.ones(4))
    assert sum(n.startswith("scan") for d, n in instructions(f) if not d) == 2
