"""Scans in C: every result against the NumPy oracle, over what a scan can be asked for."""

import threading

import numpy as np
import pytest

from ckernels import ops
from ckernels.base import dtypes
from ckernels.base.errors import OutOfMemory
from ckernels.graph.node import as_node, constant, item, make, new_uid
from ckernels.ops.bodies import closed
from ckernels.ops.branch import ifelse_node
from ckernels.ops.reference import evaluate
from ckernels.ops.scan import ENDLESS, Carry, ScanSignature, scan_node
from ckernels.plan.instructions import PYCALL, SCAN
from ckernels.runtime.function import make_function
from ckernels.runtime.state import Store

pytest.importorskip("ckernels._runtime", reason="the C runtime is not built")
RNG = np.random.default_rng(5)


def leaf(shape, dtype="float32"):
    return make(
        "placeholder", (), {"uid": new_uid(), "dtype": dtype, "shape": tuple(shape), "name": None}
    )


def numbers(shape, dtype="float32"):
    if dtype == "bool":
        return RNG.random(shape) < 0.5
    if np.dtype(dtype).kind in "iu":
        return RNG.integers(1, 9, shape).astype(dtype)
    return RNG.standard_normal(shape).astype(dtype)


def check(leaves, outputs, *arrays, steps=None, updates=(), rtol=1e-5):
    """The function of these nodes, whose results are those of the oracles; `steps`: their count."""
    f = make_function(
        leaves, outputs, updates=updates, positional_only=True, downcast=False, mode="compiled"
    )
    wanted = evaluate(outputs, dict(zip(leaves, arrays)))
    for _ in range(2):
        got = f(*arrays)
        for a, b in zip(got, wanted):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
        if updates:
            break
    kinds = [s.kind for s in f.info.program.instructions]
    if steps is not None:
        assert kinds.count(SCAN) == steps, f.steps()
    return f


def scan(seqs, states, step, outs=False, until=False, **options):
    """The scan of step(rows, taps) -> (new states, outs[, until]) and its Layout.

    seqs: nodes, or (head, rows); states: (init, taps); rows and taps: placeholders, in a list and
    a list of lists.
    """
    seqs = [x if isinstance(x, tuple) else (None, x) for x in seqs]
    rows = [leaf(x.shape[1:], x.dtype) for _, x in seqs]
    taps = [[leaf(init.shape[1:], init.dtype) for _ in which] for init, which in states]
    found = step(rows, taps)
    new, outs = found[0], found[1] if len(found) > 1 else []
    steps = options.pop("steps", None)
    node = scan_node(
        as_node(ops.size_of(seqs[0][1], 0) if steps is None else steps, "int64"),
        [
            (0 if head is None else head.shape[0], [x] if head is None else [head, x], row)
            for (head, x), row in zip(seqs, rows)
        ],
        [Carry(init, which, inputs, n) for (init, which), inputs, n in zip(states, taps, new)],
        outs,
        found[2] if len(found) > 2 else None,
        **options,
    )
    return node, ScanSignature.of(node)


def everything(node):
    return [item(node, k) for k in range(len(node.outs))]


DTYPES = ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64",
          *filter(dtypes.available, dtypes.FOREIGN)]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reverse", [False, True])
def test_dtypes(dtype, reverse):
    x, s = leaf((None, 3), dtype), leaf((1, 3), dtype)

    def step(rows, taps):
        both = (ops.logical_xor if dtype == "bool" else ops.add)(rows[0], taps[0][0])
        return [both], [ops.cast(both, "int32")]

    node, _ = scan([x], [(s, (-1,))], step, reverse=reverse)
    for n in (0, 1, 5):
        check(
            [x, s],
            everything(node),
            numbers((n, 3), dtype),
            numbers((1, 3), dtype),
            rtol=0.1 if dtype in dtypes.FOREIGN else 1e-2,
            steps=int(n > 0),
        )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("wanted", ["0", "1", "2", "3", "01", "12", "023", "0123"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("how", ["all", "limit", "limit 0", "count", "until", "until count"])
def test_only_what_is_used_is_kept(wanted, reverse, how):
    """Trace, last state, an output per step, count: all subsets, over all ways to stop."""
    x, s, stop = leaf((None, 2)), leaf((1, 2)), leaf(())
    count = leaf((), "int64")

    def step(rows, taps):
        new = ops.tanh(ops.add(rows[0], taps[0][0]))
        flag = [ops.gt(ops.sum(new), stop)] if "until" in how else []
        return [[new], [ops.mul(rows[0], 2.0)], *flag]

    options = {"limit": int(how[5:] or 3)} if "limit" in how else {}
    if "count" in how:
        options["count"] = count
    node, _ = scan([x], [(s, (-1,))], step, reverse=reverse, **options)
    outputs = [item(node, int(k)) for k in wanted]
    for n, c, z in [(0, 1, 0.0), (1, 1, 9.0), (6, 4, 9.0), (6, 0, 9.0), (6, 9, 0.2), (6, -2, -9.0)]:
        check(
            [x, s, stop, count],
            outputs,
            numbers((n, 2)),
            numbers((1, 2)),
            np.float32(z),
            np.array(c),
        )


@pytest.mark.parametrize("taps", [(-1,), (-2,), (-2, -1), (-3, -1), (-5,), (-4, -3, -2, -1)])
@pytest.mark.parametrize("wanted", [0, 1])
def test_taps(taps, wanted):
    far = -min(taps)
    x, s = leaf((None, 3)), leaf((far, 3))
    node, _ = scan(
        [x], [(s, taps)], lambda rows, old: [[sum((ops.mul(t, 0.5) for t in old[0]), rows[0])]]
    )
    for n in (1, 2, 3, 9):
        check([x, s], [item(node, wanted)], numbers((n, 3)), numbers((far, 3)), steps=1)


@pytest.mark.parametrize("lag", [1, 3])
@pytest.mark.parametrize("reverse", [False, True])
def test_lagged_sequences(lag, reverse):
    head, x, s = leaf((lag, 2)), leaf((None, 2)), leaf((1, 2))
    node, _ = scan(
        [(head, x), x],
        [(s, (-1,))],
        lambda rows, old: [[ops.add(ops.mul(rows[0], old[0][0]), rows[1])]],
        reverse=reverse,
    )
    for n in (1, 2, 7):
        check(
            [head, x, s],
            everything(node)[:2],
            numbers((lag, 2)),
            numbers((n, 2)),
            numbers((1, 2)),
            steps=1,
        )


def test_sequences_may_be_views():
    x, s = leaf((None, 3, 4)), leaf((1, 4, 3))
    row = ops.broadcast_to(x[:1, :, :1], ops.pack(ops.size_of(x, 0), 3, 4))
    views = [ops.transpose(v, (0, 2, 1)) for v in (x, x[::-1], row)]
    node, _ = scan(views, [(s, (-1,))], lambda rows, old: [[sum(rows, ops.mul(old[0][0], 0.5))]])
    check([x, s], everything(node), numbers((5, 3, 4)), numbers((1, 4, 3)), steps=1)


def test_a_first_state_may_be_a_view():
    x, s = leaf((None, 4, 3)), leaf((3, 4))
    first = ops.expand(ops.transpose(s, (1, 0)), (0,))
    zeros = ops.broadcast_to(constant(np.zeros((1, 1, 1), "f")), (1, 4, 3))
    node, _ = scan(
        [x],
        [(first, (-1,)), (zeros, (-1,))],
        lambda rows, old: [[ops.add(rows[0], old[0][0]), ops.add(old[0][0], old[1][0])]],
    )
    check([x, s], everything(node), numbers((5, 4, 3)), numbers((3, 4)), steps=1)


def test_states_that_are_views_inputs_or_constants():
    x, s = leaf((None, 2, 2)), leaf((1, 2, 2))
    node, _ = scan(
        [x],
        [(s, (-1,))] * 4,
        lambda rows, old: [
            [
                rows[0],
                ops.transpose(old[0][0], (1, 0)),
                old[2][0],
                constant(np.full((2, 2), 3.0, "f")),
            ],
            [old[1][0], old[2][0], rows[0]],
        ],
    )
    check([x, s], everything(node), numbers((5, 2, 2)), numbers((1, 2, 2)), steps=1)
    for k in range(len(node.outs)):
        check([x, s], [item(node, k)], numbers((5, 2, 2)), numbers((1, 2, 2)))


def test_a_state_handed_on_and_one_shared_by_two():
    x, s = leaf((None, 2)), leaf((1, 2))

    def step(rows, old):
        new = ops.add(rows[0], old[1][0])
        return [[new, old[0][0], new], [new, ops.add(new, old[2][0])]]

    node, _ = scan([x], [(s, (-1,))] * 3, step)
    check([x, s], everything(node), numbers((6, 2)), numbers((1, 2)), steps=1)
    for k in range(len(node.outs)):
        check([x, s], [item(node, k)], numbers((6, 2)), numbers((1, 2)))


def test_results_that_are_outputs_and_used_again():
    x, s = leaf((None, 2)), leaf((1, 2))
    node, sig = scan([x], [(s, (-1,))], lambda rows, old: [[ops.add(rows[0], old[0][0])]])
    trace, final = item(node, sig.trace(0)), item(node, sig.final(0))
    outputs = [
        ops.mul(trace, 2.0),
        trace,
        final,
        ops.exp(final),
        final,
        ops.expand(final, (0,)),
        ops.sum(trace, 0),
    ]
    check([x, s], outputs, numbers((6, 2)), numbers((1, 2)), steps=1)
    check([x, s], [ops.exp(final)], numbers((6, 2)), numbers((1, 2)), steps=1)
    check([x, s], [ops.expand(final, (0,))], numbers((6, 2)), numbers((1, 2)), steps=1)


@pytest.mark.parametrize("shape", [(4, 3), (40, 70), (0, 3), (4, 0)])
def test_products_with_epilogues(shape):
    m, n = shape
    x, s, w, b = leaf((None, m, n)), leaf((1, m, n)), leaf((n, n)), leaf((n,))

    def step(rows, old):
        return [[ops.tanh(ops.add(ops.add(ops.matmul(old[0][0], w), rows[0]), b))]]

    node, _ = scan([x], [(s, (-1,))], step)
    for outputs in (everything(node)[:2], [item(node, 1)]):
        f = check(
            [x, s, w, b],
            outputs,
            numbers((5, m, n)),
            numbers((1, m, n)),
            numbers((n, n)) / max(n, 1),
            numbers((n,)),
            steps=1,
            rtol=1e-4,
        )
        assert m * n == 0 or len(f.steps()) == 1 + len(outputs), f.steps()


def test_large_steps_run_on_all_threads():
    x, s, w = leaf((None, 300, 400)), leaf((1, 300, 400)), leaf((400, 400))
    node, _ = scan(
        [x],
        [(s, (-1,))],
        lambda rows, old: [
            [ops.sin(ops.add(ops.matmul(old[0][0], w), rows[0]))],
            [ops.sum(old[0][0], 1)],
        ],
    )
    check(
        [x, s, w],
        everything(node),
        numbers((3, 300, 400)),
        numbers((1, 300, 400)),
        numbers((400, 400)) / 40,
        steps=1,
        rtol=1e-3,
    )


def test_python_inside_of_a_loop():
    x, s = leaf((None, 5), "float64"), leaf((1, 5), "float64")

    def step(rows, old):
        return [[ops.svd(ops.outer(rows[0], ops.add(rows[0], old[0][0])), compute_uv=False)]]

    node, _ = scan([x], [(s, (-1,))], step)
    f = check(
        [x, s], everything(node), numbers((6, 5), "float64"), numbers((1, 5), "float64"), steps=1
    )
    assert PYCALL in [s.kind for s in f.info.program.instructions]


@pytest.mark.parametrize("most", [9, 10**12, ENDLESS])
@pytest.mark.parametrize("read", ["states", "rows"])
def test_a_scan_in_numpy_keeps_rows_of_what_is_read_alone(most, read):
    """The step picks as many elements as data tell: no C runs it."""
    x, wide = leaf((None,), "float64"), 3000  # 10**12 rows of 3000 have no room anywhere
    index, total = leaf((), "float64"), leaf((wide,), "float64")
    picked = ops.sum(ops.nonzero(ops.gt(x, index))[0])
    new = ops.add(index, constant(1.0))
    node = scan_node(
        constant(most),
        carries=[
            Carry(constant(np.zeros(1)), (-1,), [index], new),
            Carry(constant(np.zeros((1, wide))), (-1,), [total], ops.add(total, picked)),
        ],
        until=ops.gt(new, constant(3.5)),
    )
    sig = ScanSignature.of(node)
    roots = [item(node, sig.final(1)), item(node, sig.executed)]
    if read == "rows":
        roots = [item(node, sig.trace(1))]
    f = make_function([x], roots)
    if read == "rows" and most == 10**12:
        with pytest.raises(OutOfMemory, match="ran out of memory"):
            f(np.array([5.0, 2.0, 7.0, 1.0]))
        return
    found = f(np.array([5.0, 2.0, 7.0, 1.0]))
    sums = np.cumsum([0 + 1 + 2 + 3, 0 + 1 + 2, 0 + 2, 0 + 2])  # places of x above 0, 1, 2, 3
    if read == "rows":
        np.testing.assert_array_equal(found[0][:4], np.repeat(sums[:, None], wide, 1))
        assert found[0].shape == (min(most, 9) if most < ENDLESS else 4, wide)
        assert not found[0][4:].any()
    else:
        np.testing.assert_array_equal(found[0], np.full(wide, sums[-1]))
        assert found[1] == 4


def test_complex_numbers():
    x, s = leaf((None, 2, 3), "complex64"), leaf((1, 3, 2), "complex64")
    node, _ = scan(
        [x],
        [(s, (-1,))],
        lambda rows, old: [
            [ops.mul(ops.transpose(rows[0], (1, 0)), old[0][0])],
            [rows[0], old[0][0]],
        ],
    )
    z = numbers((4, 2, 3)) + 1j * numbers((4, 2, 3))
    check([x, s], everything(node), z.astype("complex64"), np.ones((1, 3, 2), "complex64"), steps=1)


def nested(width=3):
    """For each matrix of x: a running sum of its rows scaled by a state that goes on outside."""
    x, s = leaf((None, None, width)), leaf((1, width))

    def outer(rows, old):
        inner, sig = scan(
            [rows[0]],
            [(ops.expand(old[0][0], (0,)), (-1,))],
            lambda r, o: [
                [ops.add(ops.mul(o[0][0], 0.5), ops.mul(r[0], old[0][0]))],
                [ops.mul(o[0][0], r[0])],
            ],
        )
        return [
            [item(inner, sig.final(0))],
            [item(inner, sig.trace(0)), ops.sum(item(inner, sig.out(0)), 0)],
        ]

    return x, s, scan([x], [(s, (-1,))], outer)[0]


@pytest.mark.parametrize("shape", [(4, 5, 3), (1, 1, 3), (4, 0, 3), (0, 4, 3)])
def test_loops_in_loops(shape):
    x, s, node = nested()
    check(
        [x, s],
        everything(node),
        numbers(shape),
        numbers((1, 3)),
        steps=2 * (0 not in shape) or int(shape[1] == 0),
    )
    for k in range(4):
        check([x, s], [item(node, k)], numbers(shape), numbers((1, 3)))


def test_until_in_a_loop_with_a_count_in_the_outer_one():
    x, s, count = leaf((None, 8)), leaf((1,)), leaf((), "int64")

    def outer(rows, old):
        inner, sig = scan(
            [rows[0]],
            [(ops.expand(old[0][0], (0,)), (-1,))],
            lambda r, o: [[ops.add(o[0][0], r[0])], [], ops.gt(o[0][0], 0.5)],
        )
        return [[item(inner, sig.final(0))], [item(inner, sig.trace(0)), item(inner, sig.executed)]]

    node, _ = scan([x], [(s, (-1,))], outer, count=count)
    for c in (0, 2, 9):
        check([x, s, count], everything(node), numbers((5, 8)), numbers((1,)), np.array(c), steps=2)


def test_branches_inside_and_outside():
    x, s, c = leaf((None, 3)), leaf((1, 3)), leaf((), "bool")
    a, b = leaf((3,)), leaf((3,))
    then = closed([a, b], [ops.exp(ops.add(a, b)), b])
    other = closed([a, b], [a, ops.mul(b, 3.0)])

    def step(rows, old):
        hot = ops.gt(ops.sum(rows[0]), 0.0)
        first, second = ifelse_node(hot, [rows[0], old[0][0]], then, other)
        return [[second], [first, ops.add(first, second)]]

    node, sig = scan([x], [(s, (-1,))], step)
    check([x, s], everything(node), numbers((9, 3)), numbers((1, 3)), steps=1, rtol=1e-4)
    results = ifelse_node(
        c, [item(node, sig.final(0)), ops.sum(item(node, sig.trace(0)), 0)], then, other
    )
    for value in (True, False):
        check(
            [x, s, c],
            [results[1], ops.neg(results[0])],
            numbers((9, 3)) / 9,
            numbers((1, 3)),
            np.array(value),
            rtol=1e-4,
        )


def test_only_one_side_of_a_branch_runs():
    x, c, a = leaf((4,), "float64"), leaf((), "bool"), leaf((4,), "float64")
    results = ifelse_node(c, [x], closed([a], [ops.sort(a)]), closed([a], [a]))
    f = make_function([x, c], results, mode="compiled", profile=True)
    data = numbers((4,), "float64")
    for value, want in ((False, data), (True, np.sort(data)), (False, data)):
        np.testing.assert_array_equal(f(data, np.array(value))[0], want)
    calls = {row.name.strip(): row.calls for row in f.profile_table()}
    assert calls["if"] == 3 and calls["sort"] == 1


def test_last_states_go_into_variables():
    store = Store(numbers((3,)))
    v = make("variable", (), {"store": store, "dtype": "float32", "shape": (3,), "name": "v"})
    x = leaf((None, 3))
    for step in (
        lambda rows, old: [[ops.add(rows[0], old[0][0])]],
        lambda rows, old: [[ops.add(ops.mul(ops.sum(old[0][0]), rows[0]), old[0][0])]],
    ):
        node, sig = scan([x], [(ops.expand(v, (0,)), (-1,))], step)
        new = item(node, sig.final(0))
        before = store.get().copy()
        rows = numbers((6, 3))
        f = make_function([x], [ops.mul(v, 1.0)], updates=[(v, new)], mode="compiled")
        np.testing.assert_array_equal(f(rows)[0], before)
        (want,) = evaluate([new], {x: rows, v: before})
        np.testing.assert_allclose(store.get(), want, rtol=1e-4)
        assert len(f.steps()) == 3 + (len(f.steps()) > 3), f.steps()


def test_sixteen_threads():
    x, s, node = nested()
    f = make_function([x, s], everything(node), mode="compiled")
    data = [(numbers((6, n % 5 + 1, 3)), numbers((1, 3))) for n in range(16)]
    wanted = [evaluate(everything(node), {x: a, s: b}) for a, b in data]
    problems = []

    def work(k):
        try:
            for _ in range(20):
                for got, want in zip(f(*data[k]), wanted[k]):
                    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not problems


@pytest.mark.parametrize("seed", range(12))
def test_random_bodies(seed):
    """Chains of elementwise steps, products and reductions over states with random taps."""
    rng = np.random.default_rng(seed)
    x = leaf((None, 3, 3), "float64")
    states = []
    for _ in range(rng.integers(1, 4)):
        taps = (-1,) if seed % 2 else tuple(sorted({-int(t) for t in rng.integers(1, 4, 2)}))
        states.append((leaf((-min(taps), 3, 3), "float64"), taps))

    def step(rows, old):
        values = rows + [t for taps in old for t in taps]

        def pick():
            return values[rng.integers(len(values))]

        for _ in range(6):
            kind = rng.integers(5)
            if kind == 0:
                values.append(ops.matmul(pick(), ops.mul(pick(), 0.2)))
            elif kind == 1:
                values.append(ops.add(pick(), ops.mul(pick(), 0.3)))
            elif kind == 2:
                values.append(ops.tanh(pick()))
            elif kind == 3:
                values.append(ops.transpose(pick(), (1, 0)))
            else:
                values.append(ops.sub(pick(), ops.expand(ops.mean(pick(), 0), (0,))))
        return [[pick() for _ in states], [pick(), pick()]]

    node, _ = scan([x], states, step, reverse=bool(seed % 2 and seed % 3))
    chosen = sorted({int(k) for k in rng.integers(0, len(node.outs), 3)})
    leaves = [x, *(s for s, _ in states)]
    for n in (1, 2, 7):
        check(
            leaves,
            [item(node, k) for k in chosen],
            numbers((n, 3, 3), "float64"),
            *(numbers(s.shape, "float64") for s, _ in states),
            rtol=1e-8,
        )


def test_mistakes_name_the_step():
    x, s, at = leaf((None, 3)), leaf((1, 3)), leaf((None,), "int64")
    table = leaf((4, 3))
    node, _ = scan(
        [x, at], [(s, (-1,))], lambda rows, old: [[ops.add(old[0][0], ops.take(table, rows[1], 0))]]
    )
    f = make_function([x, at, s, table], [item(node, 1)], mode="compiled")
    with pytest.raises(IndexError, match="in step 2 of the scan"):
        f(numbers((4, 3)), np.array([0, 1, 7, 2]), numbers((1, 3)), numbers((4, 3)))


def test_steps_and_profiles_show_what_is_inside():
    x, s, node = nested(None)  # of rows that are no few numbers
    f = make_function([x, s], everything(node)[:2], mode="compiled", profile=True)
    f(numbers((4, 5, 3)), numbers((1, 3)))
    lines = f.steps()
    outer, inner = (f"scan of input 0.shape[{axis}] steps" for axis in (0, 1))
    assert lines[0].startswith(f"0: {outer}") and f"  {inner}" in "".join(lines)
    assert len(lines) == f.stats()["instructions"]
    table = f.profile_table()
    calls = {row.name.strip(): row.calls for row in table}
    assert calls[outer] == 1 and calls[inner] == 4
    assert max(calls.values()) == 20 and abs(sum(r.percent for r in table) - 100) < 1e-6


def test_a_transposed_matrix_is_copied_once_before_the_loop():
    x, s, w = leaf((None, 8, 6)), leaf((1, 8, 6)), leaf((6, 6))
    node, _ = scan(
        [x],
        [(s, (-1,))],
        lambda rows, old: [[ops.add(rows[0], ops.matmul(old[0][0], ops.transpose(w, (1, 0))))]],
    )
    f = check(
        [x, s, w],
        [item(node, 1)],
        numbers((5, 8, 6)),
        numbers((1, 8, 6)),
        numbers((6, 6)) / 6,
        steps=1,
    )
    assert [s.name for s in f.info.program.instructions][0] == "copy"
    assert [s.depth for s in f.info.program.instructions] == [0, 0, 1]


def test_joined_rows_are_computed_where_they_go():
    x, s = leaf((None, 4, 3)), leaf((1, 4, 6))
    node, _ = scan(
        [x],
        [(s, (-1,))],
        lambda rows, old: [[ops.concatenate([ops.exp(rows[0]), ops.tanh(old[0][0][:, 2:5])], 1)]],
    )
    f = check([x, s], everything(node)[:2], numbers((5, 4, 3)), numbers((1, 4, 6)), steps=1)
    assert not any("concatenate" in line for line in f.steps())
