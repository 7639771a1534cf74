"""Recurrences of single numbers, whose steps one kernel takes: against the oracle."""

import numpy as np
import pytest

from ckernels import ops
from ckernels.base import dtypes

from .test_scan import check, everything, item, leaf, numbers, scan

DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64",
          *filter(dtypes.available, dtypes.FOREIGN)]  # fmt: skip


def stepped(f):
    """Whether a kernel takes the steps."""
    return "steps" in [kernel["form"] for kernel in f.stats()["kernels"]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("wanted", ["01", "0", "1", "12", "0123"])
def test_states_sequences_and_outputs(dtype, reverse, wanted):
    x, s, a = leaf((None,), dtype), leaf((1,), dtype), leaf((), dtype)

    def step(rows, old):
        both = ops.logical_xor if dtype == "bool" else ops.add
        new = both(both(rows[0], old[0][0]), a)
        return [new], [ops.logical_and(new, rows[0]) if dtype == "bool" else ops.mul(new, a)]

    node, _ = scan([x], [(s, (-1,))], lambda r, o: tuple(step(r, o)), reverse=reverse)
    for n in (1, 2, 9):
        f = check(
            [x, s, a],
            [item(node, int(k)) for k in wanted],
            numbers((n,), dtype),
            numbers((1,), dtype),
            numbers((), dtype),
            steps=1,
            rtol=0.1 if dtype in dtypes.FOREIGN else 1e-2,
        )
        assert stepped(f) == (dtype not in dtypes.COMPUTED), f.steps()


@pytest.mark.parametrize("how", ["count", "limit"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("wanted", ["0", "1", "013"])
def test_fewer_steps(how, reverse, wanted):
    x, s, count = leaf((None,)), leaf((1,)), leaf((), "int64")
    options = {"count": count} if how == "count" else {"limit": 3}
    node, _ = scan(
        [x],
        [(s, (-1,))],
        lambda rows, old: [[ops.sub(rows[0], old[0][0])]],
        reverse=reverse,
        **options,
    )
    for c in (-1, 0, 1, 4, 9):
        f = check(
            [x, s, count],
            [item(node, min(int(k), len(node.outs) - 1)) for k in wanted],
            numbers((7,)),
            numbers((1,)),
            np.array(c),
            steps=1,
        )
        assert stepped(f)


def test_more_steps_than_a_stretch():
    """Beside the recurrence in Python's integers: so many steps take the oracle half a minute."""
    x, s = leaf((None,), "int64"), leaf((1,), "int64")
    data = np.random.default_rng(0).integers(-9, 9, 150_001)
    start = numbers((1,), "int64")

    def step(rows, old):
        new = ops.add(rows[0], old[1][0])
        return [[new, ops.bit_xor(old[0][0], new)]]

    def traces(data):
        states, found = (int(start[0]),) * 2, []
        for number in data.tolist():
            new = number + states[1]
            states = new, states[0] ^ new
            found.append(states)
        return np.array(found).T

    for reverse in (False, True):
        node, _ = scan([x], [(s, (-1,))] * 2, step, reverse=reverse)
        f = check([x, s], everything(node), data[:5], start)
        assert stepped(f)
        got, want = f(data, start), traces(data[::-1] if reverse else data)
        rows = [r for r in got if r.shape == data.shape]
        if not (rows[0] == want[0]).all():  # a row of the trace lies where its row of x does
            rows = [r[::-1] for r in rows]
        np.testing.assert_array_equal(rows, want)
        ends = [int(r) for r in got if r.shape != data.shape]
        assert ends == [*want[:, -1], data.size]


def test_two_states_that_change_places():
    x, s = leaf((None,)), leaf((1,))

    def step(rows, old):
        new = ops.mul(old[1][0], 0.5)
        return [[new, ops.add(ops.add(old[0][0], rows[0]), new)]]

    node, _ = scan([x], [(s, (-1,)), (ops.mul(s, 2.0), (-1,))], step)
    for wanted in ([0, 1], [2, 3], [2], [0, 3]):
        assert stepped(
            check([x, s], [item(node, k) for k in wanted], numbers((8,)), numbers((1,)), steps=1)
        )


def test_strided_sequences_and_what_is_no_single_kernel():
    x, s = leaf((None,)), leaf((1,))
    for rows, way in ((x[::-1], True), (x[::2], True)):
        node, _ = scan([rows], [(s, (-1,))], lambda r, o: [[ops.add(ops.mul(o[0][0], 0.5), r[0])]])
        assert stepped(check([x, s], everything(node), numbers((9,)), numbers((1,)))) == way
    lagged, _ = scan([(s, x)], [(s, (-1,))], lambda r, o: [[ops.add(r[0], o[0][0])]])
    until, _ = scan(
        [x], [(s, (-1,))], lambda r, o: [[ops.add(r[0], o[0][0])], [], ops.gt(o[0][0], 1.0)]
    )
    first = leaf((2,))
    taps, _ = scan([x], [(first, (-2, -1))], lambda r, o: [[ops.add(ops.add(*o[0]), r[0])]])
    for node in (lagged, until):
        assert not stepped(check([x, s], everything(node), numbers((9,)), numbers((1,))))
    assert not stepped(check([x, first], everything(taps), numbers((9,)), numbers((2,))))


def test_inside_of_another_loop():
    x, s = leaf((None, None)), leaf((1,))

    def outer(rows, old):
        inner, lay = scan(
            [rows[0]],
            [(ops.expand(old[0][0], (0,)), (-1,))],
            lambda r, o: [[ops.add(ops.mul(o[0][0], 0.5), ops.mul(r[0], old[0][0]))]],
        )
        return [[item(inner, lay.final(0))], [item(inner, lay.trace(0))]]

    node, _ = scan([x], [(s, (-1,))], outer)
    f = check([x, s], everything(node), numbers((4, 5)), numbers((1,)), steps=2)
    assert stepped(f)


@pytest.mark.parametrize("late", [False, True])
def test_a_batch_of_no_samples(late):
    """No kernel computes its states then; one for a number of the row may be left, and is none."""
    x, s = leaf((None,)), leaf((None, 2))

    def step(rows, old):
        gate = ops.exp(ops.neg(rows[0])) if not late else ops.tanh(rows[0])
        return [[ops.mul(old[0][0], gate)]]

    node, _ = scan([x], [(ops.expand(s, (0,)), (-1,))], step)
    for samples in (0, 1, 3, 0):
        for steps in (4, 0):
            f = check([x, s], everything(node), numbers((steps,)), numbers((samples, 2)))
            assert not stepped(f)
