"""Compiled copies and running sums: dtypes, layouts, threads."""
# ruff: noqa: B023  (lambdas made in loops are called there)

import numpy as np
import pytest
from ops.agree import strided

from ckernels import ops
from ckernels.base import dtypes
from ckernels.codegen import emit as emission
from ckernels.graph.node import make, new_uid
from ckernels.runtime.function import make_function

FOREIGN = [*filter(dtypes.available, dtypes.FOREIGN)]
DTYPES = ["bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", *FOREIGN]
RNG = np.random.default_rng(0)


def leaf(array, name=None):
    return make(
        "placeholder",
        (),
        {"uid": new_uid(), "dtype": array.dtype.name, "shape": (None,) * array.ndim, "name": name},
    )


def numbers(shape, dtype="float32"):
    if dtype == "bool":
        return RNG.random(shape) < 0.5
    return RNG.integers(0 if dtype.startswith("u") else -9, 9, shape).astype(dtype)


def run(build, *arrays, oracle=()):
    """build(*leaves) compiled and called; asserts that nothing but `oracle` ran in Python."""
    return run_all(build, [arrays], oracle)[0]


def run_all(build, cases, oracle=()):
    """The same for each of several lists of arrays, in one function: compiled at once."""
    leaves = [[leaf(a) for a in arrays] for arrays in cases]
    f = make_function(sum(leaves, []), [build(*own) for own in leaves])
    got = f(*(a for arrays in cases for a in arrays))
    calls = [s.name for s in f.info.program.instructions if s.kind == 2]
    assert set(calls) == set(oracle), calls
    return got


def agree(build, expect, *arrays, oracle=(), layouts=True):
    """Equal to NumPy, contiguous and on strided views."""
    want = expect(*arrays) if callable(expect) else expect
    cases = [arrays, [strided(a) for a in arrays]]
    for got in run_all(build, cases[: 1 + layouts], oracle):
        assert got.dtype == want.dtype and got.shape == want.shape, (
            got.dtype,
            got.shape,
            want.shape,
        )
        np.testing.assert_array_equal(got, want)


# ---- joining and padding ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_concatenate(dtype, axis):
    shapes = [[3, 4, 5] for _ in range(3)]
    for k, s in enumerate(shapes):
        s[axis] = (2, 0, 40)[k]
    agree(
        lambda *xs: ops.concatenate(list(xs), axis),
        lambda *xs: np.concatenate(xs, axis),
        *[numbers(s, dtype) for s in shapes],
    )


def test_concatenate_of_expressions_and_views():
    a, b = numbers((30, 40)), numbers((40, 30))
    agree(
        lambda x, y: ops.concatenate([ops.mul(x, 2), ops.transpose(y, (1, 0)), x], 1),
        lambda x, y: np.concatenate([x * 2, y.T, x], 1),
        a,
        b,
    )


def test_stack():
    a, b = numbers((7, 9)), numbers((7, 9))
    for axis in (0, 1, 2):
        agree(lambda x, y: ops.stack([x, y], axis), lambda x, y: np.stack([x, y], axis), a, b)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("shape", [(3, 4), (70, 90), (0, 4), (5,), (2, 3, 40, 50)])
@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "int64", *FOREIGN])
def test_pad(shape, dtype):
    widths = tuple((k % 3, (k + 1) % 3) for k in range(len(shape)))
    agree(
        lambda x: ops.pad(x, widths, 1),
        lambda x: np.pad(x, widths, constant_values=1),
        numbers(shape, dtype),
    )


@pytest.mark.parametrize("offset", [-3, -1, 0, 2, 9])
def test_diagonal(offset):
    agree(lambda x: ops.diagonal(x, offset), lambda x: np.diagonal(x, offset), numbers((5, 7)))
    x = numbers((4, 5, 6, 7))
    agree(lambda x: ops.diagonal(x, offset, 3, 1), lambda x: np.diagonal(x, offset, 3, 1), x)


# ---- writing slices -----------------------------------------------------------------------------

SLICES = [
    [(1, 3, 1)],
    [(None, None, 1)],
    [(None, None, -1)],
    [(4, 0, -2)],
    [(None, None, 1), (2, 4, 1)],
    [(1, 4, 1), (None, None, 3)],
    [(-2, None, 1), (-3, -1, 1)],
    [(3, 3, 1)],
    [(None, 2, 1), (5, None, 1)],
]  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize("inc", [False, True])
@pytest.mark.parametrize("shape", [(5, 7), (90, 80)])
@pytest.mark.parametrize("slices", SLICES)
def test_write_slice(slices, shape, inc):
    build = ops.inc_slice if inc else ops.set_slice
    key = tuple(slice(*s) for s in slices)
    for dtype in ("bool", "int32", "float32", "float16"):
        x = numbers(shape, dtype)
        for part in (
            numbers(x[key].shape, dtype),
            numbers(x[key].shape[1:], dtype),
            numbers((), dtype),
        ):
            want = np.array(x)
            want[key] = want[key] + part if inc else part
            agree(lambda a, b: build(a, b, slices), want, x, part)


def test_covered_tensors_are_not_copied_first():
    x, y = numbers((90, 80)), numbers((90, 80))
    leaves = [leaf(x), leaf(y)]
    f = make_function(leaves, [ops.set_slice(*leaves, [(None, None, -1)])], single=True)
    np.testing.assert_array_equal(f(x, y), y[::-1])
    assert len(f.info.steps()) == 1


# ---- running sums -------------------------------------------------------------------------------


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["int64", "uint64", "float16", "float32", "float64", *FOREIGN])
@pytest.mark.parametrize("shape", [(7,), (1, 1), (5, 6), (3, 4, 300), (600, 2, 2), (0, 4), (2, 0)])
def test_running_sums(shape, dtype):
    x = (
        (RNG.standard_normal(shape) * 2).astype(dtype)
        if dtypes.is_float(dtype)
        else numbers(shape, dtype)
    )
    wider = {**dtypes.COMPUTED, "float32": "float64"}.get(dtype, dtype)
    for axis in range(len(shape)):
        for reverse in (False, True):
            for build, numpy in ((ops.cumsum, np.cumsum), (ops.cumprod, np.cumprod)):
                y = np.flip(x, axis) if reverse else x
                with np.errstate(all="ignore"):
                    want = numpy(y.astype(wider), axis).astype(dtype)
                agree(
                    lambda x: build(x, axis, reverse), np.flip(want, axis) if reverse else want, x
                )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", *FOREIGN])
@pytest.mark.parametrize("shape", [(7,), (1, 1), (5, 6), (3, 4, 300), (0, 4), (2, 0)])
def test_linear_recurrences(shape, dtype):
    a = RNG.uniform(-1, 1, shape).astype(dtype)
    b = RNG.standard_normal(shape).astype(dtype)
    wide = {**dtypes.COMPUTED, "float32": "float64"}.get(dtype, dtype)
    for axis in range(len(shape)):
        for reverse in (False, True):
            way = slice(None, None, -1 if reverse else 1)
            factors, want = (np.moveaxis(t.astype(wide), axis, 0)[way].copy() for t in (a, b))
            for t in range(1, len(want)):
                want[t] += factors[t] * want[t - 1]
            want = np.moveaxis(want[way], 0, axis).astype(dtype)
            leaves = [leaf(a), leaf(b)]
            f = make_function(leaves, [ops.linear_recurrence(*leaves, axis, reverse)], single=True)
            for copies in ((a, b), (np.asfortranarray(a), b)):
                # A fused multiply-add rounds once where NumPy rounds twice.
                eps = {"bfloat16": 2.0**-8}.get(dtype) or np.finfo(dtype).eps * (
                    20 if dtype == "float64" else 1
                )
                np.testing.assert_allclose(f(*copies), want, rtol=eps, atol=eps)
            assert 0 in shape or f.info.source()


def test_generated_text_is_clean():
    x, i = numbers((4, 6)), np.array([0, 2], "int32")
    leaves = [leaf(x), leaf(i)]
    f = make_function(leaves, [ops.take(leaves[0], leaves[1], 1)], single=True)
    f(x, i)
    text = f.info.source()
    assert "return CK_EINDEX;" in text and "\n\n" not in text and "$" not in text
    assert emission.template("gather") is not None
