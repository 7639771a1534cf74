"""Bundles of columns: NumPy's numbers for reductions over rows and short bundles of columns."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.codegen import laid
from ckernels.codegen.forms.columns import STRIP
from ckernels.codegen.laid import ALONG, BUNDLED, CYCLE, REPEAT
from ckernels.runtime.function import make_function

from ..pages import guarded
from ..planned import forms, plan

RNG = np.random.default_rng(8)
FLOATS, WHOLE = ["float32", "float64"], ["int8", "uint8", "int32", "int64", "bool"]


def numbers(dtype, *shape):
    x = RNG.normal(size=shape) if dtype in FLOATS else RNG.integers(0, 2, shape)
    return x.astype(dtype)


def normalised(x, scale, shift):
    """A norm of groups: (n, h, groups, channels of one)."""
    mean, var = ops.mean(x, (1, 3), True), ops.var(x, (1, 3), True)
    return [(x - mean) / ops.sqrt(var + 1e-5) * scale + shift, mean, ops.sqrt(var)]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", FLOATS + WHOLE)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all"])
def test_all_reductions_and_lengths(name, dtype):
    """Bundles of 2 to 256, so few and so many of them that strips are cut and have a rest.

    Of whole numbers, each length with one of these counts."""
    counts = ((1, 2), (9, 3), (17, 40))
    for turn, n in enumerate((2, 3, 7, 8, 31, 64, 100, 255, 256)):
        turn = (turn + len(name) + len(dtype)) % 3
        for rows, groups in counts if dtype in FLOATS else counts[turn : turn + 1]:
            x = numbers(dtype, 3, rows, groups, n)
            plan(lambda x: getattr(ops, name)(x, (1, 3), True), x)


def test_the_form_and_its_near_misses():
    x = numbers("float32", 3, 9, 5, 8)
    assert forms(lambda x: ops.sum(x, (1, 3)), x) == ["bundles"]
    assert forms(lambda x: ops.sum(x, (1, 3)), x[..., ::2]) == ["bundles"]
    assert forms(lambda x: ops.sum(x[..., 1:], (1, 3)), x) == ["rows"]  # gaps between groups
    assert forms(lambda x: ops.sum(x, (1, 3)), numbers("float32", 3, 9, 5, BUNDLED)) == ["rows"]
    assert forms(lambda x: ops.sum(x, 3), numbers("float32", 3, 9, 5, 20)) == ["rows"]


def test_how_operands_lie():
    def in_bundles(n, walks, roles):
        return laid.in_bundles(n, walks, roles, STRIP)

    assert in_bundles(8, [(8, 1, True), (8, 1, False)], ["in", "out"]) == (ALONG, ALONG)
    walks = [(8, 1, True), (1, 0, False), (0, 1, False), (0, 0, True)]
    assert in_bundles(8, walks, ["in", "out", "in", "in"]) == (ALONG, REPEAT, CYCLE, "")
    assert in_bundles(8, [(9, 1, True), (1, 0, False)], ["in", "out"]) == ()
    assert in_bundles(8, [(8, 1, True), (1, 0, True)], ["in", "in"]) == ()
    assert in_bundles(8, [(8, 1, True), (0, 0, False)], ["in", "out"]) == ()
    assert (
        in_bundles(0, [(8, 1, True)], ["in"])
        == in_bundles(BUNDLED, [(BUNDLED, 1, 1)], ["in"])
        == ()
    )


def test_a_strip_has_room_for_a_bundle():
    walks = [(5, 1, True)]
    assert laid.in_bundles(5, walks, ["in"], 5) == (ALONG,)
    assert laid.in_bundles(5, walks, ["in"], 4) == ()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("groups, n", [(8, 8), (1, 3), (40, 3), (3, 100), (70, 7)])
def test_norms_with_what_is_read_beside_them(dtype, groups, n):
    """Scales of each column, of each group, of each place in a group, of each sample."""
    x = numbers(dtype, 2, 11, groups, n)
    for shape in ((groups, n), (groups, 1), (n,), (2, 1, 1, 1), (2, 1, groups, 1), (11, 1, 1)):
        scale, shift = numbers(dtype, *shape), numbers(dtype, *shape)
        plan(normalised, x, scale, shift)


def test_what_is_read_within_the_loops():
    """Weights of each group, place, column and row that the sums themselves read."""
    x = numbers("float32", 2, 11, 40, 5)
    for shape in ((40, 1), (5,), (40, 5), (11, 1, 1), (2, 1, 40, 1)):
        w = numbers("float32", *shape)

        def build(x, w):
            total = ops.sum(x * w, (1, 3), True)
            return [total, ops.max(ops.exp(x * w - total * 0.01), (1, 3), True), x * total]

        assert "bundles" in forms(build, x, w)


def test_nan_and_infinity_stay_in_their_bundle():
    x = numbers("float32", 2, 9, 6, 5)
    x[0, 3, 2, 4], x[1, 8, 0, 0] = np.nan, np.inf
    for op in (ops.max, ops.min, ops.sum):
        plan(lambda x, op=op: op(x, (1, 3)), x)


def test_layouts():
    """Views: every second row, rows from behind, axes in another order, repeated rows."""
    x = numbers("float64", 6, 10, 8, 4)
    for v in (x[:, ::2], x[:, ::-1], x[::-1, 1:], x.transpose(1, 0, 2, 3), x[:, :, ::-1, ::-1]):
        plan(normalised, v, np.float64(2), np.float64(1))
    plan(normalised, np.broadcast_to(x[:1, :1], x.shape), np.float64(2), np.float64(1))


def test_empty():
    for shape in ((0, 3, 4, 5), (2, 0, 4, 5), (2, 3, 0, 5), (2, 3, 4, 0)):
        for op in (ops.sum, ops.prod):
            plan(lambda x, op=op: op(x, (1, 3), True), numbers("float32", *shape))


def test_nothing_behind_the_operands_is_touched():
    for shape in ((2, 9, 5, 3), (1, 17, 90, 7)):
        plan(lambda x: ops.sum(x, (1, 3)), guarded(numbers("float32", *shape)))


def test_gradient_of_a_group_norm():
    """The gradient and its gradient against central differences in float64."""
    x = K.placeholder((2, 5, 3, 4), dtype="float64")
    w = RNG.normal(size=(2, 5, 3, 4))
    out = K.sum(K.constant(w, dtype="float64") * K.square(_norm(x)))
    slope = K.grad(out, x)
    along = K.sum(slope * K.constant(w[::-1], dtype="float64"))
    second = K.grad(along, x)
    roots = [t.node for t in (out, along, slope, second)]
    f = make_function([x.node], roots, positional_only=True, downcast=False)
    at, way = RNG.normal(size=w.shape), RNG.normal(size=w.shape)
    h = 1e-5
    high, low = f(at + h * way), f(at - h * way)
    _, _, slope, second = f(at)
    for k, derivative in ((0, slope), (1, second)):
        difference = (high[k] - low[k]) / (2 * h)
        np.testing.assert_allclose((derivative * way).sum(), difference, rtol=1e-6)


def _norm(x):
    mean = K.mean(x, (1, 3), keepdims=True)
    off = x - mean
    return off / K.sqrt(K.mean(K.square(off), (1, 3), keepdims=True) + 1e-3)


def test_bits_do_not_follow_from_threads():
    x = numbers("float32", 7, 300, 24, 6)
    f = K.function([p := K.placeholder((None,) * 4)], K.sum(K.square(p), (1, 3)))
    before = K.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 3):
            K.set_num_threads(threads)
            found.append(f(x))
    finally:
        K.set_num_threads(before)
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
