"""Columns: a strip of one row is reduced and stored in one loop, to NumPy's numbers."""

import re

import numpy as np
import pytest

from ckernels import ops
from ckernels.codegen.emit import emit

from ..planned import plan

RNG = np.random.default_rng(5)
FLOATS, WHOLE = ["float32", "float64"], ["uint8", "int32", "int64", "bool"]
ALONE = "== 1 ? n : "


def numbers(dtype, *shape):
    if dtype not in FLOATS:
        return RNG.integers(0, 2, shape).astype(dtype)
    x = RNG.normal(size=shape).astype(dtype)
    x[:, ::7], x[:, 1::9], x[:, 2::11] = np.nan, -0.0, -np.inf
    return x


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", FLOATS + WHOLE)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all"])
def test_reductions_of_one_row_and_of_two(name, dtype):
    for rows in (1, 2):
        for columns in (512, 700, 5000):
            x = numbers(dtype, rows, columns)
            plan(lambda x: getattr(ops, name)(x, 0), x)
            plan(lambda x: getattr(ops, name)(x, 0), x[:, ::-1])


def test_what_is_computed_before_and_after():
    x, w = numbers("float32", 1, 600), RNG.normal(size=600).astype("float32")
    each = RNG.normal(size=(1, 1)).astype("float32")
    plan(lambda x, e: [ops.sum(ops.exp(-x * x) + e, 0), ops.max(x + e, 0)], x, each)
    plan(lambda x, w: ops.sqrt(ops.abs(ops.sum(x, 0) * 3 + w)), x, w)


def is_alone(f, *arrays):
    (kernel,) = (k for k in plan(f, *arrays)[1] if k.form == "columns")
    return ALONE in emit(kernel)[1]


def test_near_misses():
    x = RNG.normal(size=(3, 600)).astype("float32")
    assert is_alone(lambda x: ops.sum(x, 0), x)
    assert is_alone(lambda x: ops.sum(x, 0) * 2, x)
    assert not is_alone(lambda x: ops.argmax(x, 0), x)  # a place is kept beside
    assert not is_alone(lambda x: ops.var(x, 0), x)  # two loops over rows
    w = RNG.normal(size=600).astype("float32")  # its exponentials are kept for all rows
    assert not is_alone(lambda x, w: ops.sum(x * ops.exp(w), 0), x, w)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "bool"])
def test_short_rows_of_bytes(dtype):
    """Words of a row are laid side by side: whole ones, parts, strips that are not whole."""
    table = RNG.integers(-120, 120, (333, 22)).astype(dtype)
    for n in (*range(1, 11), 15, 16, 17, 20):
        for x in (table[:, :n].copy(), table[:, -n:], table[::-1, :n], table[:, : 2 * n : 2]):
            plan(lambda x: [ops.argmax(x, 1), ops.max(x, 1), ops.min(x, 1), ops.any(x, 1)], x)
            plan(lambda x: ops.sum(x, 1), x)
    for rows in (*range(14, 20), 63, 64, 65, 300):
        plan(lambda x: ops.argmin(x, 1), table[-rows:, -9:])


@pytest.mark.parametrize("dtype", [*FLOATS, "int32", "int64"])
def test_places_in_rows_of_a_few_vectors(dtype):
    x = numbers(dtype, 40, 60)
    for n in (15, 16, 17, 31, 32, 47, 48, 49):
        for part in (x[:, :n].copy(), x[:, -n:]):
            plan(lambda x: [ops.argmax(x, 1), ops.argmin(x, 1)], part)
            plan(lambda x: [ops.max(x, 1), ops.argmax(x, 1)], part)


def slope(x):
    """A softmax's gradient: its exponentials are needed by three loops over a row."""
    z = ops.softmax(x, 1)
    return [z, z * (x - ops.sum(z * x, 1, keepdims=True))]


def kept(build, *arrays, **options):
    """How often a value of all rows of a strip is kept, and how many exponentials there are."""
    (kernel,) = plan(build, *arrays, **options)[1]
    text = emit(kernel)[1]
    return len(re.findall(r" kept\d+\[\d+ \* \d+\];", text)), text


@pytest.mark.parametrize("dtype", FLOATS)
def test_short_rows_keep_what_several_loops_need(dtype):
    for columns in (2, 5, 12, 15):
        for rows in (1000, 63, 64, 65):
            x = RNG.normal(size=(rows, columns)).astype(dtype)
            x[3], x[4, 1], x[5, 0], x[6, 1] = -np.inf, -np.inf, np.nan, np.inf
            for given in (x, x[::-1], np.repeat(x, 2, 1)[:, ::2], x[:40]):
                count, text = kept(slope, given, rtol=1e-5)
                assert count and text.count("ck_exp_shifted") == 1


@pytest.mark.parametrize(
    "build, shape",
    [
        (slope, (1000, 16)),  # a vector
        (lambda x: ops.softmax(x, 0), (12, 1000)),  # side by side already
        (lambda x: ops.sum(ops.exp(x), 1), (1000, 12)),  # one loop
        (lambda x: ops.argmax(ops.exp(x), 1), (1000, 12)),  # a place
    ],
    ids=["long", "columns", "one loop", "a place"],
)
def test_other_strips_keep_nothing(build, shape):
    assert kept(build, RNG.normal(size=shape))[0] == 0
