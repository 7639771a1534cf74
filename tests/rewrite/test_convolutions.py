"""Sums of products at shifted places are convolutions; what is no window of places stays.

Numbers are NumPy's; what became of a sum is told by the ops that are left.
"""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.autodiff.reverse import grad
from ckernels.graph.walk import toposort
from ckernels.ops.reference import evaluate
from ckernels.rewrite import optimise

from .helpers import placeholder

RNG = np.random.default_rng(5)
TOLERANCE = {"float32": {"rtol": 1e-4, "atol": 1e-4}, "float64": {"rtol": 1e-12, "atol": 1e-12}}


def count(outputs, leaves, exclude=None):
    """How many convolutions are in `outputs`, optimised; their numbers are what they were."""
    new = optimise(outputs, exclude)
    rng = np.random.default_rng(5)
    env = {x: rng.normal(size=x.shape).astype(x.dtype) for x in leaves}
    expected, found = evaluate(outputs, env), evaluate(new, env)
    for a, b in zip(expected, found):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(b, a, **TOLERANCE[a.dtype.name])
    return sum(n.op.name == "conv" for n in toposort(new))


def total(terms):
    y = 0
    for term in terms:
        y = ops.add(y, term)
    return y


def along(x, w, places, count, step=1, order=lambda k: k):
    """Terms of a window along the axis before the last one."""
    lead = (slice(None),) * (x.ndim - 2)
    for k, p in enumerate(places):
        part = x[(*lead, slice(p, p + (count - 1) * step + 1, step))]
        yield ops.matmul(part, w[order(k)])


def image(x, w, rows, columns):
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            yield ops.matmul(x[:, i : i + rows, j : j + columns], w[i, j])


ONE = {
    "image": ((2, 7, 8, 3), (3, 2, 3, 6), lambda x, w: total(image(x, w, 5, 7))),
    "a part of an image": ((2, 9, 9, 3), (3, 2, 3, 6), lambda x, w: total(image(x, w, 5, 6))),
    "series": ((2, 9, 3), (3, 3, 5), lambda x, w: total(along(x, w, (0, 1, 2), 7))),
    "one series": ((9, 3), (3, 3, 5), lambda x, w: total(along(x, w, (0, 1, 2), 7))),
    "causal with holes": ((2, 9, 3), (3, 3, 5), lambda x, w: total(along(x, w, (4, 2, 0), 5))),
    "every second": ((2, 9, 3), (3, 3, 5), lambda x, w: total(along(x, w, (1, 2, 3), 3, 2))),
    "other matrices": ((2, 9, 3), (3, 3, 5),
                       lambda x, w: total(along(x, w, (0, 1, 2), 7, 1, lambda k: (2, 0, 2)[k]))),
    "turned matrices": ((2, 9, 3), (3, 5, 3), lambda x, w: total(
        ops.matmul(x[:, k : k + 7], ops.transpose(w[k])) for k in range(3))),
    "rows of images": ((2, 3, 9, 4), (3, 4, 6), lambda x, w: total(along(x, w, (0, 1, 2), 7))),
    "beside other terms": ((2, 9, 3), (3, 3, 5), lambda x, w: ops.relu(total(
        [*along(x, w, (0, 1), 7), ops.matmul(ops.exp(x[:, 2:]), w[2]), *along(x, w[2:], (2,), 7)]
        ) + w[0, 0])),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ONE)
def test_a_sum_over_a_window_is_a_convolution(name, dtype):
    shape, kernel, build = ONE[name]
    x, w = placeholder(dtype, shape), placeholder(dtype, kernel)
    y = build(x, w)
    assert count([y], [x, w]) == 1
    assert count([y], [x, w], {"convolutions"}) == 0
    slope = grad(ops.sum(ops.square(y)), [x, w])
    twice = grad(ops.sum(ops.sin(slope[0])), [w])
    count([y, *slope, *twice], [x, w])


@pytest.mark.parametrize("layers", [2, 3])
def test_layers_of_windows_are_as_many_convolutions(layers):
    x, w = placeholder("float64", (2, 12, 5)), placeholder("float64", (3, 5, 5))
    y = x
    for _ in range(layers):
        y = ops.tanh(total(along(y, w, (0, 1, 2), y.shape[1] - 2)))
    assert count([y], [x, w]) == layers


def two_windows(x, w):
    return total([*along(x, w, (0, 1), 7), *along(ops.exp(x), w, (1, 2), 7)])


def test_windows_of_two_tensors_are_two_convolutions():
    x, w = placeholder("float64", (2, 9, 3)), placeholder("float64", (3, 3, 5))
    assert count([two_windows(x, w)], [x, w]) == 2


NONE = {
    "a place is missing": ((2, 9, 3), (3, 3, 5), lambda x, w: total(along(x, w, (0, 1, 3), 6))),
    "a place is there twice": ((2, 9, 3), (3, 3, 5), lambda x, w: total(
        along(x, w, (0, 1, 1), 7))),
    "a corner is missing": ((2, 7, 8, 3), (2, 2, 3, 6), lambda x, w: total(
        list(image(x, w, 5, 7))[:3])),
    "few columns": ((2, 9, 3), (3, 3, 4), lambda x, w: total(along(x, w, (0, 1, 2), 7))),
    "backwards": ((9, 3), (2, 3, 5), lambda x, w: total(
        ops.matmul(x[8 - k : 1 - k if k < 1 else 0 : -1], w[k]) for k in range(2))),
    "channels are cut": ((2, 9, 4), (3, 3, 5), lambda x, w: total(
        ops.matmul(x[:, k : k + 7, :3], w[k]) for k in range(3))),
    "rows go on": ((2, 9, 3), (2, 6, 5), lambda x, w: total(
        ops.matmul(ops.reshape(x[:, k : k + 8], (8, 6)), w[k]) for k in range(2))),
    "three axes": ((2, 4, 4, 4, 3), (2, 3, 5), lambda x, w: total(
        ops.matmul(x[:, k : k + 3, k : k + 3, k : k + 3], w[k]) for k in range(2))),
    "integers": ((2, 9, 3), (3, 3, 5), None),
}  # fmt: skip


@pytest.mark.parametrize("name", NONE)
def test_what_is_no_window_stays(name):
    shape, kernel, build = NONE[name]
    x, w = placeholder("float64", shape), placeholder("float64", kernel)
    if build is None:
        x, w = placeholder("int64", shape), placeholder("int64", kernel)
        new = optimise([total(along(x, w, (0, 1, 2), 7))])
        assert all(n.op.name != "conv" for n in toposort(new))
    else:
        assert count([build(x, w)], [x, w]) == 0


def test_sums_so_far_that_are_read_stay():
    x, w = placeholder("float64", (2, 9, 3)), placeholder("float64", (3, 3, 5))
    terms = list(along(x, w, (0, 1, 2), 7))
    first = ops.add(terms[0], terms[1])
    assert count([ops.add(first, terms[2]), ops.exp(first)], [x, w]) == 1
    assert count([ops.add(first, terms[2]), first], [x, w]) == 1
    assert count([ops.add(first, terms[2]), *terms], [x, w]) == 0


def test_sizes_may_be_open():
    x, w = K.placeholder((None, None, None)), K.placeholder((3, None, None))
    y = total(ops.matmul(x.node[:, k : k + 7], w.node[k]) for k in range(3))
    f = K.function([x, w], Tensor(y))
    for rows, width, columns in ((2, 3, 6), (4, 3, 6), (4, 8, 5)):
        a, b = RNG.normal(size=(rows, 9, width)), RNG.normal(size=(3, width, columns))
        want = sum(a[:, k : k + 7] @ b[k] for k in range(3))
        np.testing.assert_allclose(f(a, b), want, rtol=1e-4, atol=1e-4)
        assert not any("matmul" in step for step in f.steps())
