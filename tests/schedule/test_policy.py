"""How much one loop holds, where long ones are cut, and that equal stretches are one kernel."""

import numpy as np
import pytest
from codegen.planned import leaf, plan

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.schedule.fuse import fuse
from ckernels.schedule.policy import MAX_COST, MAX_DEPTH, MAX_MEMBERS, MAX_STREAMS, SLACK

from . import nets
from .test_fuse_partition import groups_of

RNG = np.random.default_rng(3)


def numbers(*shape):
    return RNG.normal(size=shape).astype("float32")


def distinct(kernels):
    return {k.key() for k in kernels}


@pytest.mark.parametrize(
    "make, size",
    [
        (nets.chain, 400),
        (nets.sines, 100),
        (nets.adam, 40),
        (nets.attention, 2),
        (nets.residual, 4),
    ],
)
def test_no_loop_holds_more_than_the_bounds(make, size):
    for group in groups_of(fuse(nets.prepared(make(size)[1])).home):
        assert len(group.nodes) <= MAX_MEMBERS * SLACK and group.cost <= MAX_COST * SLACK
        assert group.streams() <= MAX_STREAMS and group.depth <= MAX_DEPTH


def test_a_chain_of_dependent_operations_is_cut_in_equal_kernels():
    """Each tanh waits for the last: many short loops overlap where a long one would not."""

    def build(x):
        for _ in range(60):
            x = ops.tanh(x)
        return x

    steps, kernels = plan(build, numbers(40))
    assert 8 < len(steps) < 13 and len(distinct(kernels)) <= 2


def test_independent_operations_fill_a_loop_further_than_dependent_ones():
    xs = [numbers(40) for _ in range(15)]
    steps, _ = plan(lambda *xs: sum((ops.tanh(x) for x in xs[1:]), ops.tanh(xs[0])), *xs)
    assert len(steps) == 1


def test_a_chain_and_its_gradient_take_few_kernels():
    def build(x):
        y = x
        for _ in range(100):
            y = ops.tanh(y) * 1.01
        return [y, nets.grad(ops.sum(y), [x])[0]]

    steps, kernels = plan(build, numbers(40), rtol=2e-3)
    assert len(steps) < 40 and len(distinct(kernels)) < 10


def test_a_sum_of_sines_is_cut_between_its_terms():
    """No sine is stored: each loop adds its own to the sum so far. Two kernels do all of them."""

    def build(x):
        return sum((ops.sin(x * float(k)) for k in range(2, 100)), ops.sin(x))

    steps, kernels = plan(build, numbers(40), rtol=1e-4)
    sines = [s.name.split("+").count("sin") for s in steps]
    assert sum(sines) == 99 and all("add" in s.name for s in steps)
    assert len(distinct(kernels)) <= 4 < len(steps)


def test_three_loops_that_differ_in_a_number_keep_it_in_their_text():
    """A kernel each: from memory the number costs a register, and few kernels cost little."""

    def build(*xs):
        return [ops.exp(x * float(k + 2)) for k, x in enumerate(xs)]

    for count, kinds in ((3, 3), (4, 1)):
        arrays = [numbers(5 + k) for k in range(count)]
        assert len(distinct(plan(build, *arrays)[1])) == kinds


def test_a_number_that_all_loops_share_stays_in_the_text():
    def build(*xs):
        return [ops.exp(x * float(k + 2)) + 0.5 for k, x in enumerate(xs)]

    steps, kernels = plan(build, *[numbers(5 + k) for k in range(5)])
    (kernel,) = {k.key(): k for k in kernels}.values()
    assert [float(dict(v.attrs)["number"]) for v in kernel.values if v.op == "literal"] == [0.5]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_numbers_from_memory_in_any_dtype(dtype):
    def build(*xs):
        return [
            ops.mul(ops.add(x, ops.cast(k + 2, dtype)), ops.cast(k + 3, dtype))
            for k, x in enumerate(xs)
        ]

    arrays = [np.arange(5 + k).astype(dtype) for k in range(6)]
    steps, kernels = plan(build, *arrays, rtol=1e-3)
    assert len(distinct(kernels)) == 1 and len(steps) == 6


def test_what_a_full_loop_reads_anyway_joins_it():
    """22 factors 1 - x * x, each of one tensor: none is stored although the loop is full."""
    xs = [numbers(40) for _ in range(22)]

    def build(*xs):
        total = ops.cast(1.0, "float32")
        for x in xs:
            total = total * (1.0 - ops.square(x)) * 0.5
        return total

    steps, kernels = plan(build, *xs)
    assert sum(s.name.count("square") for s in steps) == 22
    assert all([o.role for o in k.operands].count("out") == 1 for k in kernels)


def test_shapes_need_no_sizes_to_be_alike():
    """Loops over different sizes share a kernel, those over different axes do not."""
    x, y = leaf((40, 30)), leaf((20, 7))
    a, b = (groups_of(fuse([ops.exp(ops.sum(t, 1))]).home)[0] for t in (x, y))
    from ckernels.schedule.parameters import form

    assert form(a)[0] == form(b)[0]
    (c,) = groups_of(fuse([ops.exp(ops.sum(x, 0))]).home)
    assert form(a)[0] != form(c)[0]


def test_what_is_stored_anyway_is_computed_once():
    """A cheap value that two loops read is computed by both, unless something else needs it."""
    x, w = K.placeholder((50, 60)), K.placeholder((60, 8))
    y = K.square(x)
    sums = [K.sum(y * 2, axis=0), K.sum(y + 1, axis=1)]
    for more, times in (([], 2), ([y], 1), ([K.dot(y, w)], 1), ([K.cumsum(y, 0)], 1)):
        f = K.function([x, w] if more and more[0].node.op.name == "matmul" else [x], sums + more)
        f(*[np.ones((50, 60)), np.ones((60, 8))][: len(f.inputs)])
        assert sum("square" in step for step in f.steps()) == times, f.steps()


def table(x, y):
    return ops.exp(ops.expand_dims(x, 1) - y)


BY_ROWS = {  # how many kernels: (build, sizes of the two vectors)
    "a sum of short rows": (2, lambda x, y: ops.sum(table(x, y)), (300, 5)),
    "the largest of short rows": (2, lambda x, y: ops.max(table(x, y)), (300, 5)),
    "a place in short rows": (2, lambda x, y: ops.argmax(table(x, y)), (300, 5)),
    "a place in long rows": (2, lambda x, y: ops.argmax(table(x, y)), (300, 40)),
    "a sum of long rows": (1, lambda x, y: ops.sum(table(x, y)), (300, 40)),
    "a sum along short rows": (1, lambda x, y: ops.sum(table(x, y), 1), (300, 5)),
    "a sum of what varies along all axes": (
        1, lambda x, y: ops.sum(ops.exp(ops.reshape(x, (60, 5)))), (300, 5)),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_ROWS)
def test_what_short_rows_would_sum_is_stored_as_one_long_row(name):
    count, build, (m, n) = BY_ROWS[name]
    x, y = numbers(m), numbers(n)
    steps, _ = plan(build, x, y)
    assert len(steps) == count
    given = [K.placeholder((k,), name=name) for k, name in ((m, "x"), (n, "y"))]
    rows = np.exp(x.astype(float)[:, None] - y)
    rows = np.exp(x.astype(float).reshape(60, 5)) if "all axes" in name else rows
    last = 1 if "along" in name and "all axes" not in name else None
    make = np.argmax if "place" in name else np.max if "largest" in name else np.sum
    wanted = make(rows, axis=last)
    found = K.function(given, Tensor(build(*[g.node for g in given])))(x, y)
    np.testing.assert_allclose(found, wanted, 1e-4)
