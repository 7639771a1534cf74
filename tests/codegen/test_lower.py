"""Which form a loop gets, and that results do not depend on it."""

import numpy as np
import pytest

from ckernels import ops
from ckernels.autodiff.reverse import grad
from ckernels.runtime.function import make_function
from codegen.planned import forms, leaf

RNG = np.random.default_rng(8)


def normalised(x):
    off = x - ops.mean(x, -1, keepdims=True)
    return off / ops.sqrt(ops.mean(ops.square(off), -1, keepdims=True) + 1e-3)


BODIES = {
    "sum": lambda x: ops.sum(x, -1),
    "softmax": lambda x: ops.softmax(x, -1),
    "log_softmax": lambda x: ops.log_softmax(x, -1),
    "logsumexp": lambda x: ops.logsumexp(x, -1),
    "normalised": normalised,
    "argmax": lambda x: ops.argmax(x, -1),
    "any": lambda x: ops.any(x > 2, -1),
    "prod": lambda x: ops.prod(x, -1),
    "gradient": lambda x: grad(ops.sum(ops.square(ops.softmax(x, -1))), [x])[0],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize(
    "rows, columns, form",
    [
        (32, 2, "columns"),
        (33, 15, "columns"),
        (1000, 10, "columns"),
        (31, 10, "rows"),
        (40, 16, "rows"),
        (300, 17, "rows"),
    ],
)
def test_rows_shorter_than_a_vector_go_side_by_side(rows, columns, form, name, dtype):
    x = (2 * RNG.standard_normal((rows, columns))).astype(dtype)
    x[3] = 1  # a tie
    build = BODIES[name]
    assert forms(build, x) == [form]
    a = leaf((None, None), dtype)
    f = make_function([a], [build(a)], positional_only=True)
    want = f(x)[0]
    for strided in (np.asfortranarray(x), np.repeat(x, 3, 1)[:, ::3], x[::-1].copy()[::-1]):
        np.testing.assert_allclose(f(strided)[0], want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", BODIES)
def test_infinities_and_nan_in_short_rows(name):
    """The same as by rows, of which 31 are too few to go side by side."""
    x = RNG.standard_normal((64, 10)).astype("float32")
    x[1, 3], x[2], x[3, 5], x[4, ::2], x[5] = np.inf, -np.inf, np.nan, -np.inf, 3e38
    a = leaf((None, None))
    f = make_function([a], [BODIES[name](a)], positional_only=True)
    by_rows, together = f(x[:31])[0], f(x)[0]
    np.testing.assert_allclose(together[:31], by_rows, rtol=1e-5, atol=1e-6)


def test_short_rows_of_images_and_of_a_part_of_a_matrix():
    """Leading axes that count as one, and such that do not: those of the last are the lanes."""
    x = RNG.standard_normal((7, 40, 10)).astype("float32")
    assert forms(lambda x: ops.softmax(x, -1), x) == ["columns"]
    assert forms(lambda x: ops.softmax(x[:, :33], -1), x) == ["columns"]
    assert forms(lambda x: ops.softmax(x[:, :9], -1), x) == ["rows"]
    assert forms(lambda x: ops.sum(x, (1, 2)), x) == ["rows"]
    wide = RNG.standard_normal((500, 1000)).astype("float32")
    assert forms(lambda x: ops.softmax(x[:, 20:30], -1), wide) == ["columns"]


def test_one_function_for_rows_of_all_lengths():
    x = leaf((None, None))
    f = make_function([x], [ops.softmax(x, -1), ops.max(x, -1)], positional_only=True)
    for shape in ((40, 10), (40, 20), (4, 10), (40, 1), (0, 10), (1000, 15), (1000, 16), (33, 3)):
        a = RNG.standard_normal(shape).astype("float32")
        e = np.exp(a - a.max(-1, keepdims=True, initial=-9))
        y, top = f(a)
        np.testing.assert_allclose(y, e / e.sum(-1, keepdims=True), rtol=1e-5)
        np.testing.assert_array_equal(top, a.max(-1, initial=-np.inf if a.size else 0))
