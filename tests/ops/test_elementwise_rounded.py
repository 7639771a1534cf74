"""Products that are rounded before something is added to them or taken from them, as in NumPy.

A compiler makes one rounding of `a * b + c` where the machine can. Then `x * x - y * y` of equal
numbers is the rounding error of a product and no 0, the edges of bins are not where NumPy has
them, and what is decided by them comes out otherwise: bits are compared here.
"""

import numpy as np
import pytest

import ckernels as K
import ckernels as ck
from ckernels import numpy as cnp

RNG = np.random.default_rng(7)
A, B = RNG.normal(size=(2, 300))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [0, 1, 5, 16, 299, 300])
def test_equal_products_leave_nothing(dtype, n):
    a, b = A[:n].astype(dtype), B[:n].astype(dtype)
    f = ck.jit(lambda x, y, z, w: (np.sqrt(x * x - y * y), x * z - w * y, np.sign(z * x - y * w)))
    for found in f(a, a.copy(), b, b.copy()):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.zeros(n))


def test_infinite_products_leave_no_number():
    x = np.array([np.inf, -np.inf, np.nan, 1e200, 2.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            ck.jit(lambda x, y: x * x - y * y)(x, x.copy()), x * x - x * x
        )


def test_points_on_a_line_turn_neither_way():
    """Orientation, as hulls and polygons ask for it; in a loop over elements too."""

    def turns(p, q, r):
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    def counted(points):
        left = right = 0
        for i in range(len(points) - 2):
            p, q, r = points[i], points[i + 1], points[i + 2]
            side = (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
            if side > 0:
                left += 1
            elif side < 0:
                right += 1
        return left, right

    points = RNG.normal(size=(90, 2))
    points[5::3] = points[3:-2:3]  # back to where one came from
    assert ck.jit(counted)(points) == counted(points)
    p, q, r = points[:-2].T.copy(), points[1:-1].T.copy(), points[2:].T.copy()
    np.testing.assert_array_equal(np.sign(ck.jit(turns)(p, q, r)), np.sign(turns(p, q, r)))


def test_in_functions_of_placeholders_and_their_gradients():
    x, y = K.placeholder((None,), dtype="float64"), K.placeholder((None,), dtype="float64")
    z = x * x - y * y
    f = K.function([x, y], [z, *K.gradients(K.sum(z), [x, y])])
    found, by_x, by_y = f([A, A])
    np.testing.assert_array_equal(found, np.zeros(300))
    np.testing.assert_array_equal(by_x, 2 * A)
    np.testing.assert_array_equal(by_y, -2 * A)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace_has_the_bits_of_numpy(dtype, endpoint):
    f = ck.jit(lambda a, b: np.linspace(a, b, 23, endpoint=endpoint))
    g = ck.jit(lambda a, b, like: np.linspace(a, b, like.size, endpoint=endpoint))
    for a, b in RNG.normal(size=(40, 2)).astype(dtype) * 9:
        np.testing.assert_array_equal(f(a, b), np.linspace(a, b, 23, endpoint=endpoint))
        like = np.ones(int(RNG.integers(0, 40)))
        np.testing.assert_array_equal(
            g(a, b, like), np.linspace(a, b, like.size, endpoint=endpoint)
        )


def test_linspace_of_infinite_ends():
    f = ck.jit(lambda a, b: np.linspace(a, b, 5))
    with np.errstate(all="ignore"):
        for a, b in [(0.0, np.inf), (np.nan, 1.0), (-np.inf, 2.0), (3.0, 3.0), (-0.0, 0.0)]:
            np.testing.assert_array_equal(f(a, b), np.linspace(a, b, 5))


def test_gradients_of_linspace():
    gradient = ck.jit.grad(lambda a: (np.linspace(a, 2.0, 5) ** 2).sum())
    shares = 1 - np.arange(5) / 4
    np.testing.assert_allclose(gradient(0.5), (2 * np.linspace(0.5, 2, 5) * shares).sum())


def test_numbers_on_the_edges_of_bins_are_counted_where_numpy_counts_them():
    f = ck.jit(lambda x: np.histogram(x, 10))
    for _ in range(60):
        x = RNG.integers(0, 50, int(RNG.integers(1, 40))) / RNG.integers(1, 20)
        for found, expected in zip(f(x), np.histogram(x, 10)):
            np.testing.assert_array_equal(found, expected)
        counts, _ = cnp.histogram(cnp.asarray(x), 10)
        np.testing.assert_array_equal(np.asarray(counts), np.histogram(x, 10)[0])
