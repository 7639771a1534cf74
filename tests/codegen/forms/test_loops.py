"""Each change of a loop: where it is made, and graphs that almost have what it asks for. All of
them are compared with NumPy's oracles."""

import numpy as np
import pytest

from ckernels import ops
from ckernels.codegen.emit import FORMS, form_of
from ckernels.codegen.print_c import Printer

from ..planned import plan

RNG = np.random.default_rng(5)
X, LONG = RNG.normal(size=(40, 50)), RNG.normal(size=(70, 3000))
FLOATS, ROWS = X.astype("float32"), LONG.astype("float32")
BLOCK = RNG.normal(size=(6, 5, 300)).astype("float32")
TRUE, GATES = X > 0, RNG.normal(size=(9, 30)).astype("float32")
TRUE_BLOCK = RNG.normal(size=(6, 5, 300)) > 2
SHORT = RNG.normal(size=(3000, 12))
RUNS = RNG.normal(size=(1800, 20))  # too long to be taken as one row
BYTES = RNG.integers(0, 250, (3000, 12)).astype("uint8")
THREE = RNG.normal(size=(30000, 3)).astype("float32")
MANY = np.tile(THREE, (24, 1))  # fewer products of short rows are stored first, then lie as one
SOME, PLACES = np.int64(17), RNG.integers(0, 50, 50)
NUMBERS = RNG.integers(-3, 60, (40, 1))
BANDED = RNG.normal(size=(16384, 40)).astype("float32")


def off_mean(x):
    return x - ops.mean(x, 1, keepdims=True)


def of_rows(x):
    """Rows by a norm, and sums of their columns."""
    y = off_mean(x) / ops.sqrt(ops.mean(ops.square(off_mean(x)), 1, keepdims=True) + 1e-3)
    return [y, ops.sum(y, 0)]


def before(x, n, other=0, size=50):
    """x where its place in the row is below n."""
    return ops.where(ops.lt(ops.arange(0, size, 1, "int64"), n), x, other)


def since(x, n):
    return ops.where(ops.ge(ops.arange(0, 50, 1, "int64"), n), x, 0)


def gates(x):
    return ops.tanh(x) * ops.sigmoid(x)


# {change: ([where it is made], [near misses])}; each is (build, its arrays)
CASES = {
    "seek": (
        [(lambda x: ops.argmax(x, 1), FLOATS), (lambda x: ops.argmin(ops.tanh(x), 1), X)],
        [(lambda x: ops.max(x, 1), FLOATS),  # no place
         (lambda x: [ops.argmax(x, 1), ops.sum(x, 1)], FLOATS),  # a sum in the same loop
         (lambda x: [ops.argmax(x, 1), x - ops.max(x, 1, keepdims=True)], FLOATS),  # a store
         (lambda x: ops.argmax(x, 0), FLOATS)],  # of columns
    ),
    "in memory": (
        [(lambda x: ops.max(x, 1), FLOATS), (lambda x: ops.min(x, 1), LONG),
         (lambda x: ops.max(x, (0, 1)), LONG)],  # chunks
        [(lambda x: ops.max(x * 2, 1), FLOATS),  # computed
         (lambda x: ops.max(x, 1), TRUE.astype("uint8")),  # bytes
         (lambda x: [ops.max(x, 1), ops.min(x, 1)], FLOATS),  # two in a loop
         (lambda x: ops.max(x, 1), FLOATS.astype("float16")),  # stored otherwise
         (lambda x: ops.max(x[:, ::2], 1), FLOATS),  # every other number
         (lambda x: ops.max(x, (0, 2)), BLOCK)],  # run by run
    ),
    "search": (
        [(lambda x: ops.argmax(x, 1), FLOATS)],
        [(lambda x: x - ops.max(x, 1, keepdims=True), FLOATS),
         (lambda x: ops.square(x - ops.min(x, 1, keepdims=True)), FLOATS)],
    ),
    "between ends": (
        [(lambda x, n: ops.sum(before(x, n), 0), X[0], SOME),
         (lambda x, n: ops.sum(since(before(x, n * 2), n), 0) * 2, FLOATS[0], SOME),
         (lambda x, n: ops.sum(before(x, n) * before(x[::-1], n), 0), X[0], SOME),
         (lambda x, n: ops.sum(ops.square(before(x, n)), 0), X[0], SOME),
         (lambda x, n: ops.sum(before(x, n), 1), X, NUMBERS),  # of each row
         (lambda x, n: ops.sum(before(x, n, 0, LONG.size)), LONG.ravel(), SOME)],  # chunks
        [(lambda x, n: ops.sum(before(x, n, 1), 0), X[0], SOME),
         (lambda x, n: ops.sum(x - before(x, n), 0), X[0], SOME),
         (lambda x, n: ops.sum(before(x, n) * x[::-1], 0), X[0], SOME),  # 0 * inf
         (lambda x, n: ops.sum(before(x, n) + since(x, n), 0), X[0], SOME),
         (lambda x, n: ops.max(before(x, n), 0), X[0], SOME),
         (lambda x, n: [ops.sum(before(x, n), 0), ops.sum(x, 0)], X[0], SOME),
         (lambda x, n: ops.sum(before(x, n), 0), X[0], np.float64(17)),
         (lambda x, n: ops.sum(before(x, n), 0), X[0], PLACES),
         (lambda x, n: ops.sum(before(x, n), 1), X, SOME),  # one mask for all rows is stored
         (lambda x, n: [ops.sum(before(x, n), 0), before(x, n) * 2], X[0], SOME),  # a store
         (lambda x, n: ops.sum(before(ops.exp(x), n, 0, 12), (0, 1)), SHORT, SOME)],  # runs
    ),
    "runs": (
        [(lambda x: ops.sum(x, (0, 2)), BLOCK)],
        [(lambda x: ops.sum(x, (1, 2)), BLOCK)],  # axes that lie as one
    ),
    "short runs": (
        [(lambda x, m: ops.sum(ops.where(m, x, 0), (0, 2)), BLOCK, TRUE_BLOCK),
         (lambda x, y, m: ops.sum(ops.where(m, x * y, 0)), RUNS, RUNS[:, :1], RUNS > 0),
         (lambda x, y, m: [ops.sum(ops.where(m, x * y, 0)), ops.all(x * y > -9)],
          RUNS, RUNS[:, :1], RUNS > 0)],
        [(lambda x, m: ops.sum(ops.where(m, x, 0), (1, 2)), BLOCK, TRUE_BLOCK),  # no runs
         (lambda x, m: ops.max(ops.where(m, x, 0), (0, 2)), BLOCK, TRUE_BLOCK),  # NaN is a flag
         (lambda x: ops.sum(ops.where(x > 0, x, 0), (0, 2)), BLOCK),  # one width
         (lambda x, m: ops.sum(ops.where(m, x, 0), (0, 2)), BLOCK[..., ::2], TRUE_BLOCK[..., ::2])],
    ),
    "until known": (
        [(lambda x: ops.any(x, 1), LONG > 3), (lambda x: ops.all(x, 1), FLOATS),
         (lambda x: ops.any(x, (0, 2)), TRUE_BLOCK)],  # run by run, each of which may be the last
        [(lambda x: [ops.any(x, 1), ops.sum(x, 1)], FLOATS),  # a sum needs all
         (lambda x: ops.where(ops.all(ops.exp(x) > 1, 1, True), x, x - ops.exp(x)), X),  # kept
         (lambda x: ops.max(ops.cast(x, "uint8"), 1), TRUE)],
    ),
    "blocks": (
        [(lambda x: ops.softmax(x, 1), FLOATS), (lambda x: ops.sum(ops.exp(x), 1), FLOATS)],
        [(lambda x: ops.sum(x, 1), FLOATS), (lambda x: ops.sum(ops.exp(x), 1), X)],
    ),
    "prefetch": (
        [(lambda x: ops.softmax(x, 1), FLOATS), (lambda x: ops.var(x), ROWS)],
        [(lambda x: ops.sum(ops.exp(x), 1), FLOATS),  # one loop
         (lambda x: ops.var(x[:, ::2], 1), ROWS),  # every other number
         (lambda x: off_mean(x) * 2, FLOATS),  # cheap, stored, from a cache
         (lambda x: ops.var(ops.exp(x)), ROWS)],  # dear, and no rows
    ),
    "sums of blocks": (
        [(lambda x: ops.sum(ops.exp(x), 1), FLOATS),
         (lambda x: ops.sum(ops.square(off_mean(x)), 1), FLOATS)],  # of rows read twice
        [(lambda x: ops.sum(x, 1), FLOATS),  # cheap
         (lambda x: ops.sum(ops.exp(x), 1), X),  # of doubles
         (lambda x: ops.prod(ops.exp(x / 90), 1), FLOATS)],  # no sum
    ),
    "side by side": (
        [(lambda x: ops.sum(x, 1), ROWS), (lambda x: ops.sum(ops.square(x), 1), X),
         (lambda x: ops.prod(x * 0.1 + 1, 1), X),
         (lambda x: [ops.prod(x, 1), ops.sum(x, 1)], X)],
        [(lambda x: [ops.max(x, 1), ops.prod(x, 1)], X),
         (lambda x: ops.sum(ops.exp(x), 1), X),  # dear
         (lambda x: ops.sum(x[:, ::2], 1), X),  # every other number
         (lambda x: ops.sum(x * x[::-1], 1), FLOATS),  # floats of two operands
         (lambda x: ops.sum(x, 1), X.astype("int64")),
         (lambda x: ops.sum(x, 1), X.astype("float16")),
         (lambda x: ops.sum(x, (0, 2)), BLOCK.astype("float64")),  # run by run
         (lambda x: [ops.sum(x, 1), x * ops.sum(x, 1, keepdims=True) + 1, ops.max(x, 1)], X)],
    ),
    "rest": (
        [(lambda x: ops.softmax(x, 1), FLOATS), (lambda x: ops.max(x * 2, 1), FLOATS)],
        [(lambda x: ops.sum(ops.square(x), 1), FLOATS),  # cheap
         (lambda x: ops.prod(x / 9 + 1, 1), FLOATS),
         (lambda x: ops.prod(ops.exp(x / 900)), ROWS)],  # chunks, no rows
    ),
    "rows turned": (
        [(lambda x: ops.argmax(x, 1), BYTES), (lambda x: ops.any(x, 1), BYTES > 0),
         (lambda x: ops.max(x[:, ::2], 1), BYTES),  # every other number of a row
         (lambda x: ops.std(ops.cast(x, "float32"), 1), BYTES),  # two loops
         (lambda x: ops.max(ops.transpose(x), 0), BYTES),
         (lambda x: ops.any(x[:, ::2], 0), np.tile(BYTES, (24, 1)))],  # chunks
        [(lambda x: ops.max(x, 1), SHORT.astype("float32")), (lambda x: ops.max(x, 0), BYTES),
         (lambda x: ops.max(x + x[:, :1], 1), SHORT),
         (lambda x: ops.max(x, (0, 2)), TRUE_BLOCK[..., :7])],  # runs of several axes
    ),
    "several rows": (
        [(lambda x: ops.sum(x, 0), FLOATS), (lambda x: ops.sum(ops.square(x), 0), X)],
        [(lambda x: ops.sum(ops.exp(x), 0), FLOATS),  # dear
         (lambda x: ops.sum(x, (0, 2)), RNG.normal(size=(6, 5, 7, 300)))],  # runs of several axes
    ),
    "rows as one": (
        [(lambda x: ops.argmax(x, 0), THREE), (lambda x: ops.min(ops.square(x), 0), THREE),
         (lambda x: ops.any(x > 3, 0), THREE),
         (lambda x: [ops.max(x, 0), ops.argmin(x, 0)], THREE)],
        [(lambda x: ops.sum(x, 0), THREE),  # its rounding tells the order
         (lambda x: ops.argmax(x, 0), THREE[:300]),  # no chunks
         (lambda x: ops.argmax(x * x[0], 0), MANY),  # a number for each column
         (lambda x: ops.argmax(x + x[:, :1], 0), MANY),  # a number for each row
         (lambda x: ops.argmax(x[:, ::2], 0), THREE),  # every other column
         (lambda x: ops.max(x, (0, 2)), THREE.reshape(60, 100, 5, 3))],  # runs of several axes
    ),
    "bands": (
        [(of_rows, BANDED)],
        [(lambda x: ops.sum(ops.exp(x), 0), ROWS)],  # rows that no other kernel makes
    ),
    "one number first": (
        [(lambda x, s: [x * ops.exp(s), ops.exp(s)], X, np.float64(0.5))],
        [(lambda x, s: x * ops.exp(s), X, np.float64(0.5)),
         (lambda s: ops.exp(s), np.float64(0.5))],  # nothing besides
    ),
    "turned": (
        [(lambda x: ops.isnan(x[:, ::-1]), FLOATS)],
        [(lambda x: ops.isnan(x), FLOATS), (lambda x: -x[:, ::-1], FLOATS),
         (lambda x: ops.isnan(x[:, ::-2]), FLOATS)],
    ),
    "asked": (
        [(lambda x: ops.sin(x), FLOATS), (lambda x: ops.tan(x * 3) + ops.cos(x), X),
         (lambda x: ops.log2(x), FLOATS), (lambda x: ops.pow(x, x[::-1]) + 1, X)],
        [(lambda x: ops.sin(ops.exp(x)), FLOATS), (lambda x: ops.sinh(x), FLOATS),
         (lambda x: ops.log(x * 3), FLOATS),  # of what was not read
         (lambda x: ops.log(ops.cast(x, "float64")), FLOATS),
         (lambda x: ops.log(x) * 3 + 4 * ops.sqrt(x), FLOATS),  # more than it is worth
         (lambda x: ops.pow(2.5, x), FLOATS), (lambda x: ops.pow(x, 2), X.astype("int64")),
         (lambda x: ops.sum(ops.sin(x), 1), FLOATS)],
    ),
    "truths by bytes": (
        [(lambda x: ops.isnan(x), X), (lambda x: [x > 3, ops.bit_not(x <= x[::-1])], X),
         (lambda x: ops.logical_and(x != 0, x[:1] < 5), X.astype("int64"))],
        [(lambda x: ops.isnan(x), FLOATS),  # of 4 bytes
         (lambda x: [x > 3, x * 2], X), (lambda x: x * 2 > 3, X),  # no truth value
         (lambda x: x[:, ::-1] > 3, X), (lambda x: x[:, ::2] > 3, X),
         (lambda x, t: ops.logical_and(x > 3, t), X, TRUE),  # a truth value from memory
         (lambda x: ops.eq(ops.cast(x, "int32"), x), X),
         (lambda x: ops.sum(ops.cast(x > 3, "int64"), 1), X)],  # no flat loop
    ),
    "short vectors": (
        [(lambda x: ops.logical_not(x[:, :90]), LONG > 0)],
        [(lambda x: ops.logical_not(x), TRUE),  # one row
         (lambda x: ops.logical_not(x[:, :33]), TRUE),  # side by side
         (lambda x: -x[:, :33], FLOATS),
         (lambda x: ops.tanh(ops.cast(x[:, :33], "float32")) > 0.5, TRUE)],  # dear
    ),
    "part": (
        [(lambda x: gates(x[:, :24]), GATES)],
        [(gates, GATES),  # one row
         (lambda x: ops.tanh(x[:, :24]), GATES),  # one function
         (lambda x: gates(x[:, :24]), GATES.astype("float64")),
         (lambda x: gates(x[:, ::2]), GATES)],
    ),
}  # fmt: skip


def changes(build, *arrays):
    """The names of the changes that are made in the kernels of a graph."""
    found = set()
    for kernel in plan(build, *arrays, rtol=1e-3)[1]:
        if kernel.form in FORMS:
            form = form_of(kernel)(kernel, Printer(getattr(kernel, "kernel", kernel)))
            form.write()
            found.update(form.changed)
    return found


def test_every_change_says_what_it_gains_and_has_near_misses():
    every = [c for form in FORMS.values() for c in form.changes]
    assert {c.name for c in every} == set(CASES)
    assert len({(c.name, c.write) for c in every}) == len(CASES), "two changes of one name"
    for change in every:
        assert len(change.why) > 40 and all(CASES[change.name])


@pytest.fixture(autouse=True)
def few_chunks(monkeypatch):
    """Bands of so few rows as there are here."""
    monkeypatch.setattr("ckernels.schedule.chunks.IN_CACHE", 1 << 18)
    monkeypatch.setattr("ckernels.plan.bands.LEAST_CHUNKS", 2)


@pytest.mark.parametrize("name", CASES)
def test_where_it_is_made(name):
    for build, *arrays in CASES[name][0]:
        assert name in changes(build, *arrays)


@pytest.mark.parametrize("name, at", [(n, k) for n in CASES for k in range(len(CASES[n][1]))])
def test_near_misses(name, at):
    build, *arrays = CASES[name][1][at]
    assert name not in changes(build, *arrays)
