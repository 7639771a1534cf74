"""Scans whose steps one kernel takes: against the oracle."""

import contextlib
import os
import signal
import threading

import numpy as np
import pytest

from ckernels import ops
from ckernels.base import dtypes
from ckernels.graph.node import constant, make
from ckernels.ops.bodies import closed
from ckernels.ops.branch import ifelse_node
from ckernels.plan import scan_in_kernel
from ckernels.runtime.function import make_function

from .test_scan import check, everything, item, leaf, numbers, scan

DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64",
          *filter(dtypes.available, dtypes.FOREIGN)]  # fmt: skip


def stepped(f):
    """Whether a kernel takes the steps."""
    return "steps" in [kernel["form"] for kernel in f.stats()["kernels"]]


@pytest.mark.sampled(1)
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
        assert stepped(f), f.steps()


@pytest.mark.parametrize("count", [scan_in_kernel.FEW, scan_in_kernel.FEW + 1])
def test_states_of_few_elements_are_variables(count):
    x, s = leaf((None, count)), leaf((1, count))
    node, _ = scan([x], [(s, (-1,))], lambda r, o: [[ops.add(r[0], ops.mul(o[0][0], 0.5))]])
    f = check([x, s], [item(node, 0)], numbers((5, count)), numbers((1, count)), steps=1)
    assert stepped(f) and (f" w3[{count}];" in f.source()) == (count <= scan_in_kernel.FEW)


def test_rows_whose_elements_lie_apart():
    """Few of them, by a step that only a call knows: columns of a matrix."""
    x, s = leaf((3, None)), leaf((1, 3))
    columns = ops.transpose(x, (1, 0))
    node, _ = scan([columns], [(s, (-1,))], lambda r, o: [[ops.add(r[0], ops.mul(o[0][0], 0.5))]])
    f = check([x, s], [item(node, 0)], numbers((3, 9)), numbers((1, 3)), steps=1)
    assert stepped(f)


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


def test_strided_and_lagged_sequences_early_ends_and_more_taps():
    x, s = leaf((None,)), leaf((1,))
    for rows in (x[::-1], x[::2]):
        node, _ = scan([rows], [(s, (-1,))], lambda r, o: [[ops.add(ops.mul(o[0][0], 0.5), r[0])]])
        assert stepped(check([x, s], everything(node), numbers((9,)), numbers((1,))))
    lagged, _ = scan([(s, x)], [(s, (-1,))], lambda r, o: [[ops.add(r[0], o[0][0])]])
    until, _ = scan(
        [x], [(s, (-1,))], lambda r, o: [[ops.add(r[0], o[0][0])], [], ops.gt(o[0][0], 1.0)]
    )
    first = leaf((2,))
    taps, _ = scan([x], [(first, (-2, -1))], lambda r, o: [[ops.add(ops.add(*o[0]), r[0])]])
    for node in (lagged, until):
        assert stepped(check([x, s], everything(node), numbers((9,)), numbers((1,))))
    assert stepped(check([x, first], everything(taps), numbers((9,)), numbers((2,))))


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
            assert samples == 0 or not stepped(f)


# ---- steps of several kernels, by index, with scans and branches inside ------------------------


def element(x, *at):
    """x[at] at scalar indices."""
    return make("advanced_take", (x, *at), {"template": "a" * len(at)})


def put(x, value, *at):
    return make("advanced_set", (x, value, *at), {"template": "a" * len(at)})


def table_of(x, a, b):
    """A table in which each element is made of three neighbours, by a scan in a scan."""

    def row(_, old):
        i, table = old[0][0], old[1][0]

        def cell(_, inner):
            j, table = inner[0][0], inner[1][0]
            above, left = element(table, ops.sub(i, 1), j), element(table, i, ops.sub(j, 1))
            same = ops.eq(element(a, ops.sub(i, 1)), element(b, ops.sub(j, 1)))
            near = ops.where(same, constant(1, x.dtype), constant(-1, x.dtype))
            cross = ops.add(element(table, ops.sub(i, 1), ops.sub(j, 1)), near)
            best = ops.maximum(ops.maximum(above, left), cross)
            return [[ops.add(j, 1), put(table, best, i, j)]]

        one = ops.expand(constant(1, "int64"), (0,))
        inner, lay = scan(
            [], [(one, (-1,)), (ops.expand(table, (0,)), (-1,))], cell, steps=ops.size_of(b, 0)
        )
        return [[ops.add(i, 1), item(inner, lay.final(1))]]

    one = ops.expand(constant(1, "int64"), (0,))
    node, lay = scan([], [(one, (-1,)), (ops.expand(x, (0,)), (-1,))], row, steps=ops.size_of(a, 0))
    return item(node, lay.final(1))


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64"])
def test_a_table_filled_by_a_scan_in_a_scan(dtype):
    x, a, b = leaf((None, None), dtype), leaf((None,), "int64"), leaf((None,), "int32")
    for n, m in ((3, 4), (0, 2), (2, 0), (1, 1), (6, 5)):
        f = check([x, a, b], [table_of(x, a, b)], numbers((n + 1, m + 1), dtype),
                  numbers((n,), "int64"), numbers((m,), "int32"))  # fmt: skip
    assert stepped(f) and len(f.stats()["kernels"]) <= 4, f.steps()


def test_an_index_out_of_range_is_told_with_the_steps_around_it():
    x, a, b = leaf((None, None)), leaf((None,), "int64"), leaf((None,), "int64")
    f = check([x, a, b], [table_of(x, a, b)], numbers((4, 5)), numbers((3,), "int64"),
              numbers((4,), "int64"))  # fmt: skip
    assert stepped(f)
    with pytest.raises(IndexError, match=r"step 0 of the scan\) \(in step 2 of the scan"):
        f(numbers((3, 9)), numbers((5,), "int64"), numbers((8,), "int64"))
    f(numbers((6, 9)), numbers((5,), "int64"), numbers((8,), "int64"))


@pytest.mark.parametrize("far", [False, True])
def test_a_branch_and_an_early_end_inside(far):
    """Both sides store; the scan inside ends where its state is large."""
    x, s = leaf((None,), "float64"), leaf((), "float64")
    a, b, k = leaf((None,), "float64"), leaf((), "float64"), leaf((), "int64")
    then = closed([a, b, k], [put(a, b, k)])
    other = closed([a, b, k], [put(a, ops.neg(element(a, k)), k)])

    def step(_, old):
        i, y = old[0][0], old[1][0]
        at = element(y, i)
        inner, lay = scan(
            [], [(ops.expand(at, (0,)), (-1,))],
            lambda r, o: [[ops.mul(o[0][0], 2.0)], [], ops.gt(o[0][0], 50.0 if far else 4.0)],
            steps=constant(6, "int64"),
        )  # fmt: skip
        new = ops.add(item(inner, lay.final(0)), ops.cast(item(inner, lay.executed), "float64"))
        (both,) = ifelse_node(ops.gt(at, s), [y, new, i], then, other)
        return [[ops.add(i, 1), both]]

    zero = ops.expand(constant(0, "int64"), (0,))
    node, lay = scan(
        [], [(zero, (-1,)), (ops.expand(x, (0,)), (-1,))], step, steps=ops.size_of(x, 0)
    )
    for n in (1, 9, 0):
        f = check([x, s], [item(node, lay.final(1))], numbers((n,), "float64"), np.array(0.2))
    f(numbers((7,), "float64"), np.array(0.2))
    assert stepped(f) and sum(line.strip() == "if" for line in f.steps()) <= 1


def test_numbers_are_rounded_between_kernels():
    """The bits are those of one kernel after the other: no product of one is added to in another
    without being rounded, nor where two kernels compute the same product."""
    x, y, zero = leaf((None,), "float64"), leaf((3,), "float64"), constant(0, "int64")

    def step(rows, old):
        table, s = old[0][0], old[1][0]
        i = ops.mod(ops.cast(ops.floor(ops.abs(ops.mul(s, 100.0))), "int64"), 3)
        product = ops.mul(s, rows[0])
        table = put(table, product, i)
        back = element(table, i)
        new = ops.sub(ops.add(back, rows[0]), ops.mul(element(table, zero), s))
        return [[table, ops.sin(new)]]

    node, lay = scan([x], [(ops.expand(y, (0,)), (-1,)), (y[:1], (-1,))], step)
    outputs = [item(node, lay.final(0)), item(node, lay.trace(1))]
    a, b = numbers((300,), "float64"), numbers((3,), "float64")
    f, g = (  # another function, whose plan is not that of the first, stored
        make_function(
            [x, y], [*outputs, *more], positional_only=True, downcast=False, mode="compiled"
        )
        for more in ((), (ops.neg(x),))
    )
    with undone():
        wanted = g(a, b)
    for one, other in zip(f(a, b), wanted):
        np.testing.assert_array_equal(one, other)
    assert stepped(f) and np.isfinite(wanted[1]).all() and len(set(wanted[1].tolist())) > 200
    assert not stepped(g)


@pytest.mark.parametrize("ends", [False, True])
def test_signals_end_a_scan_inside_that_never_ends(ends):
    """By a condition that is never met, or after more steps than anybody waits for."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread only")
    x, most = leaf((None,), "float64"), leaf((), "int64")

    def step(rows, old):
        def turn(r, inner):
            end = [[], ops.gt(inner[0][0], 1e9)] if ends else []
            return [[ops.mul(inner[0][0], 0.5)], *end]

        inner, lay = scan([], [(ops.expand(rows[0], (0,)), (-1,))], turn, steps=most)
        return [[ops.add(old[0][0], item(inner, lay.final(0)))]]

    node, lay = scan([x], [(x[:1], (-1,))], step)
    f = check([x, most], [item(node, lay.final(0))], np.ones(2), np.array(4_000))
    assert stepped(f)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            f(np.ones(4), np.array(2**62))
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert f(np.array([1.0, 2.0]), np.array(3))[0] == 1 + 3 / 8


@contextlib.contextmanager
def undone():
    """The runtime takes all steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan_in_kernel, "is_taken", lambda scan: False)
        yield


def test_steps_that_are_no_short_loops():
    """Products, calls of Python, rows whose length only a call knows, and steps that are long."""
    x, s = leaf((None, 3)), leaf((1, 3))
    wide, start = leaf((None, None)), leaf((1, None))
    many = leaf((None, 200_000), "float64")
    rows, first, m = leaf((None, 8, 40)), leaf((1, 8, 40)), leaf((40, 40))
    node, _ = scan([rows], [(first, (-1,))], lambda r, o: [[ops.add(r[0], ops.dot(o[0][0], m))]])
    shapes = (4, 8, 40), (1, 8, 40), (40, 40)
    f = check([rows, first, m], everything(node), *map(numbers, shapes), rtol=1e-2)
    assert "matmul" in "".join(f.steps()) and not stepped(f)
    node, _ = scan([wide], [(start, (-1,))], lambda r, o: [[ops.add(r[0], o[0][0])]])
    assert not stepped(check([wide, start], everything(node), numbers((4, 5)), numbers((1, 5))))
    node, lay = scan([many], [(many[:1], (-1,))], lambda r, o: [[ops.tanh(ops.add(r[0], o[0][0]))]])
    last = [item(node, lay.final(0))]
    assert not stepped(check([many], last, numbers((3, 200_000), "float64")))
    node, lay = scan([x], [(s, (-1,))], lambda r, o: [[ops.add(r[0], o[0][0])]])
    assert stepped(check([x, s], everything(node), numbers((4, 3)), numbers((1, 3))))
