"""Contractions: sums over a shared axis in tiles, against NumPy in double."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.autodiff.reverse import grad
from ckernels.runtime.function import make_function

from ..pages import guarded
from ..planned import leaf

RNG = np.random.default_rng(12)


def pairs(x, y):
    return ops.expand_dims(x, 1), ops.expand_dims(y, 0)


def squared(x, y):
    a, b = pairs(x, y)
    return ops.sum(ops.square(a - b), 2)


def absolute(x, y):
    a, b = pairs(x, y)
    return ops.sum(ops.abs(a - b), 2)


NUMPY = {
    squared: lambda x, y: ((x[:, None] - y[None]) ** 2).sum(2),
    absolute: lambda x, y: abs(x[:, None] - y[None]).sum(2),
}


def runner(build, *shapes, dtype="float32"):
    """A call of build(*leaves), and one for the forms of its kernels."""
    leaves = [leaf(s, dtype) for s in shapes]
    roots = build(*leaves)
    roots = list(roots) if isinstance(roots, (tuple, list)) else [roots]
    f = make_function(leaves, roots, positional_only=True, downcast=False)

    def forms():
        found = f.info.program.drafted("lower").instructions
        return [i.kernel.form for i in found if i.kernel is not None]

    return f, forms


def normal(*shape, dtype="float32"):
    return RNG.standard_normal(shape).astype(dtype)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype, rtol", [("float32", 2e-6), ("float64", 1e-14)])
@pytest.mark.parametrize("build", [squared, absolute])
def test_all_lengths(build, dtype, rtol):
    """Rests of tiles, strips, blocks and parts; the shared axis from 1 on, and empty ones."""
    f, forms = runner(build, (None, None), (None, None), dtype=dtype)
    shapes = [(8, 16, k) for k in (*range(1, 18), 63, 64, 65, 70, 128, 200)]
    shapes += [(m, 33, 5) for m in (*range(8, 18), 127, 128, 129, 137, 300)]
    shapes += [(9, n, 6) for n in (*range(16, 36), 63, 64, 65, 97)]
    for m, n, k in shapes:
        x, y = normal(m, k, dtype=dtype), normal(n, k, dtype=dtype)
        want = NUMPY[build](x.astype("float64"), y.astype("float64"))
        np.testing.assert_allclose(f(x, y)[0], want, rtol=rtol)
    assert forms() == ["contraction"]
    for m, n, k in ((0, 20, 3), (20, 0, 3), (20, 20, 0), (1, 1, 1), (1, 20, 3), (20, 1, 3)):
        x, y = normal(m, k, dtype=dtype), normal(n, k, dtype=dtype)
        np.testing.assert_allclose(f(x, y)[0], NUMPY[build](x, y), rtol=1e-5)


@pytest.mark.parametrize("dtype, rtol", [("float32", 2e-6), ("float64", 1e-14)])
def test_few_centres(dtype, rtol):
    """Points lie along vectors then, in parts; results and operands of any strides."""

    def build(x, y, r, c):
        return [squared(x, y) * ops.expand_dims(r, 1) + c, ops.transpose(squared(y, x))]

    f, forms = runner(build, (None, None), (None, None), (None,), (None,), dtype=dtype)
    shapes = [(m, n, 5) for m in (16, 33, 511, 512, 513, 1024, 1100) for n in (3, 8, 15)]
    shapes += [(700, 4, k) for k in (1, 2, 64, 65)]
    for m, n, k in shapes:
        x, y = normal(2 * m, k, dtype=dtype)[::2], normal(k, n, dtype=dtype).T
        r, c = normal(m, dtype=dtype), normal(n, dtype=dtype)
        d = NUMPY[squared](x.astype("float64"), y.astype("float64"))
        first, second = f(x, y, r, c)
        np.testing.assert_allclose(first, d * r[:, None] + c, rtol=1e3 * rtol, atol=1e3 * rtol)
        np.testing.assert_allclose(second, d, rtol=rtol)
        assert k != 5 or set(forms()) == {"contraction"}
    for m, n in ((16, 2), (15, 15), (2, 100)):
        f(normal(m, 5, dtype=dtype), normal(n, 5, dtype=dtype), normal(m), normal(n))
        assert "contraction" not in forms()


def test_epilogues_and_several_results():
    """What follows the sums, with operands of one row, one column, one element and none."""

    def build(x, y, r, c, g, s):
        d = squared(x, y)
        e = ops.exp(d * s) * g + ops.expand_dims(r, 1)
        return [e - c, d]

    shapes = [(41, 7), (50, 7), (41,), (50,), (41, 50), ()]
    f, forms = runner(build, *shapes)
    x, y, r, c, g, s = arrays = [normal(*shape) for shape in shapes]
    d = NUMPY[squared](x.astype("d"), y.astype("d"))
    arrays[-1] = s = np.float32(-0.1)
    got = f(*arrays)
    assert forms() == ["contraction"]
    np.testing.assert_allclose(got[0], np.exp(d * s) * g + r[:, None] - c, rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(got[1], d, rtol=1e-6)


def test_weights_of_the_axis_and_of_each_pair():
    """Operands that vary along the shared axis alone, along one outer axis, along both."""

    def build(x, y, w, u, g):
        a, b = pairs(x * ops.expand_dims(u, 1), ops.exp(y))
        return ops.sum((a - b) * w * ops.expand_dims(g, 2), 2)

    shapes = [(33, 70), (40, 70), (70,), (33,), (33, 40)]
    f, forms = runner(build, *shapes)
    x, y, w, u, g = arrays = [normal(*shape) for shape in shapes]
    x, y, w, u, g = (a.astype("d") for a in arrays)
    want = (((x * u[:, None])[:, None] - np.exp(y)) * w * g[:, :, None]).sum(2)
    np.testing.assert_allclose(f(*arrays)[0], want, rtol=1e-4, atol=1e-4)
    assert forms()[-1] == "contraction"


def test_epilogues_of_places():
    """What is made of the row and the column alone, as of the strictly lower triangle."""

    def build(x, y):
        i, j = (ops.iota((33, 40), k) for k in (0, 1))
        return ops.where(ops.lt(j, i), ops.exp(-squared(x, y)), ops.cast(i + j * 2, "float32"))

    f, forms = runner(build, (33, 7), (40, 7))
    x, y = arrays = normal(33, 7), normal(40, 7)
    i, j = np.indices((33, 40))
    want = np.where(j < i, np.exp(-NUMPY[squared](x.astype("d"), y.astype("d"))), i + j * 2)
    np.testing.assert_allclose(f(*arrays)[0], want, rtol=2e-6, atol=2e-6)
    assert forms() == ["contraction"]


def test_gradients_of_distances_are_contractions_too():
    x, y = leaf((None, None)), leaf((None, None))
    roots = grad(ops.sum(ops.exp(squared(x, y) * -0.1)), [x, y])
    f = make_function([x, y], list(roots), positional_only=True)
    a, b = normal(40, 20), normal(50, 20)
    got = f(a, b)
    found = [i.kernel.form for i in f.info.program.drafted("lower").instructions]
    assert found == ["contraction"] * 3
    off = a[:, None].astype("d") - b
    g = -0.2 * np.exp(-0.1 * (off**2).sum(2))[:, :, None] * off
    np.testing.assert_allclose(got[0], g.sum(1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(got[1], -g.sum(0), rtol=1e-5, atol=1e-5)


def test_batches_and_any_layout():
    def build(x, y):
        return ops.sum(ops.abs(ops.expand_dims(x, 2) - ops.expand_dims(y, 1)), 3)

    f, forms = runner(build, (None, None, None), (None, None, None))
    x, y = normal(5, 23, 9), normal(5, 31, 9)

    def turned(a):
        return np.ascontiguousarray(a.swapaxes(1, 2)).swapaxes(1, 2)

    views = (
        lambda a: a,
        turned,
        lambda a: a[:, ::-1],
        lambda a: a[::-1, :, ::-1],
        lambda a: np.repeat(a, 2, 2)[:, :, ::2],
        lambda a: np.broadcast_to(a[:1], a.shape),
    )
    for left in views:
        for right in views:
            a, b = left(x), right(y)
            want = abs(a[:, :, None].astype("d") - b[:, None]).sum(3)
            np.testing.assert_allclose(f(a, b)[0], want, rtol=2e-6)
    assert forms()[-1] == "contraction"


def test_unaligned_operands_that_end_at_a_page():
    f, _ = runner(squared, (None, None), (None, None))
    for m, n, k in ((8, 16, 1), (13, 37, 3), (130, 33, 65)):
        for end in (True, False):
            x, y = guarded(normal(m, k), end), guarded(normal(n, k), end)
            np.testing.assert_allclose(f(x, y)[0], NUMPY[squared](x, y), rtol=1e-4)
    room = np.zeros(4 * 9 * 20 + 1, "u1")
    x = room[1:].view("f").reshape(20, 9)
    x[...] = normal(20, 9)
    np.testing.assert_allclose(f(x, x)[0], NUMPY[squared](x, x), rtol=1e-4, atol=1e-6)


def test_infinities_and_nan_stay_in_their_rows():
    f, _ = runner(absolute, (20, 5), (30, 5))
    x, y = normal(20, 5), normal(30, 5)
    x[3, 1], x[4, 2], y[7, 0] = np.nan, np.inf, -np.inf
    np.testing.assert_allclose(f(x, y)[0], NUMPY[absolute](x, y), rtol=1e-5)


def test_any_number_of_threads_gives_the_same_bits():
    f, _ = runner(squared, (None, None), (None, None))
    x, y = normal(1003, 70), normal(517, 70)
    before, found = K.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 4):
            K.set_num_threads(threads)
            found.append(f(x, y)[0])
    finally:
        K.set_num_threads(before)
    assert all(np.array_equal(found[0], other) for other in found)


def test_long_sums_of_floats_join_a_double():
    """100,000 numbers near 1: in float alone the last ones would lose three digits."""
    f, _ = runner(absolute, (8, 100_000), (16, 100_000))
    x, y = 1 + normal(8, 100_000) / 100, normal(16, 100_000) / 100
    want = NUMPY[absolute](x.astype("d"), y.astype("d"))
    np.testing.assert_allclose(f(x, y)[0], want, rtol=3e-7)


def test_halves():
    for dtype in ("float16", "bfloat16"):
        x, y = K.placeholder((20, 9), dtype), K.placeholder((30, 9), dtype)
        a, b = (K.cast(v, "float32") for v in (x, y))
        f = K.function([x, y], K.sum(K.abs(K.expand_dims(a, 1) - K.expand_dims(b, 0)), axis=2))
        m, n = RNG.integers(0, 9, (20, 9)).astype("f"), RNG.integers(0, 9, (30, 9)).astype("f")
        np.testing.assert_array_equal(f(m, n), NUMPY[absolute](m, n))


def maxima(x, y):
    a, b = pairs(x, y)
    return ops.max(ops.abs(a - b), 2)


def softened(x, y):
    d = ops.sub(*pairs(x, y))
    return ops.sum(ops.exp(d - ops.max(d, 2, keepdims=True)), 2)


NEAR = {
    "maxima": (maxima, (20, 9), (20, 9)),
    "a second loop": (softened, (20, 9), (20, 9)),
    "exponentials": (lambda x, y: ops.sum(ops.exp(ops.sub(*pairs(x, y))), 2), (20, 9), (20, 9)),
    "a choice": (lambda x, y: ops.sum(ops.maximum(*pairs(x, y)), 2), (20, 9), (20, 9)),
    "a tensor of all axes": (lambda x, y: ops.sum(x * y, 2), (20, 30, 9), (20, 1, 9)),
    "one operand alone": (lambda x, y: ops.sum(ops.square(x), 2) + y, (20, 30, 9), (20, 30)),
    "few of both": (squared, (15, 9), (15, 9)),
    "two rows": (squared, (2, 9), (20, 9)),
    "stored along the axis": (
        lambda x, y: [squared(x, y), ops.square(ops.sub(*pairs(x, y)))], (20, 9), (20, 9)),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR)
def test_near_misses(name):
    build, *shapes = NEAR[name]
    f, forms = runner(build, *shapes)
    f(*(normal(*s) for s in shapes))
    assert "contraction" not in forms()


def test_ints_are_summed_as_before():
    f, forms = runner(squared, (20, 9), (20, 9), dtype="int32")
    x, y = RNG.integers(-9, 9, (2, 20, 9)).astype("int32")
    np.testing.assert_array_equal(f(x, y)[0], NUMPY[squared](x, y))
    assert forms() != ["contraction"]
