"""The ops scan, choose and ifelse: shapes, meaning in NumPy, refitting to known shapes, errors."""

import numpy as np
import pytest

from ckernels import ops
from ckernels.base.errors import DTypeError, ShapeError
from ckernels.graph.folding import fold
from ckernels.graph.node import constant, item, make, new_uid
from ckernels.graph.walk import rebuild
from ckernels.ops import bodies, branch, scan_ends
from ckernels.ops.reference import evaluate
from ckernels.ops.scan import Carry, ScanSignature, scan_node


def leaf(shape, dtype="float64", name=None):
    return make(
        "placeholder", (), {"uid": new_uid(), "dtype": dtype, "shape": tuple(shape), "name": name}
    )


def steps_of(n):
    return constant(np.asarray(n, "int64"))


def results(node):
    return [item(node, k) for k in range(len(node.outs))]


def numbers(n, *shape):
    return np.random.RandomState(n).uniform(-1, 1, shape)


def recurrence(x, h0, w, steps, **options):
    """h = tanh(h @ w + x_t), with x_t * 2 as a per-step output."""
    row, h = leaf(x.shape[1:]), leaf(h0.shape)
    new = ops.tanh(ops.add(ops.matmul(h, w), row))
    return scan_node(
        steps,
        [(0, [x], row)],
        [Carry(ops.expand(h0, (0,)), (-1,), [h], new)],
        [ops.mul(row, 2.0)],
        **options,
    )


def run_recurrence(x, h, w, order):
    trace, out = np.zeros(x.shape[:1] + h.shape), np.zeros(x.shape)
    for t in order:
        h = np.tanh(h @ w + x[t])
        trace[t], out[t] = h, x[t] * 2
    return trace, h, out, len(order)


@pytest.mark.parametrize(
    "steps, options, order",
    [
        (5, {}, range(5)),
        (0, {}, range(0)),
        (5, {"reverse": True}, range(5)[::-1]),
        (5, {"reverse": True, "limit": 2}, (4, 3)),
        (5, {"limit": 2}, (0, 1)),
        (5, {"count": 3}, range(3)),
        (5, {"count": 9, "reverse": True}, range(5)[::-1]),
        (5, {"count": 3, "reverse": True, "limit": 2}, (2, 1)),
        (5, {"count": -1}, range(0)),
    ],
)
def test_a_scan_runs_its_steps(steps, options, order):
    x, h0, w = leaf((None, 2, 3)), leaf((2, 3)), leaf((3, 3))
    arrays = [numbers(1, steps, 2, 3), numbers(2, 2, 3), numbers(3, 3, 3)]
    options = dict(options)
    if "count" in options:
        options["count"] = steps_of(options["count"])
    node = recurrence(x, h0, w, ops.size_of(x, 0), **options)
    found = evaluate(results(node), dict(zip([x, h0, w], arrays)))
    for got, want in zip(found, run_recurrence(*arrays, order)):
        np.testing.assert_allclose(got, want, rtol=1e-15)
    assert [o[1] for o in node.outs] == [(None, 2, 3), (2, 3), (None, 2, 3), ()]


def test_taps_reach_back_and_lagged_sequences_start_with_their_head():
    first, head, rows = leaf((2,)), leaf((3, 1)), leaf((None, 1))
    a, b, lagged = leaf(()), leaf(()), leaf((1,))
    node = scan_node(
        ops.size_of(rows, 0),
        [(3, [head, rows], lagged)],
        [Carry(first, (-2, -1), [a, b], ops.add(a, b))],
        [lagged],
    )
    trace, final, out, count = evaluate(
        results(node),
        {
            first: np.array([1.0, 1.0]),
            head: np.array([[7.0], [8.0], [9.0]]),
            rows: np.arange(5.0)[:, None],
        },
    )
    assert trace.tolist() == [2, 3, 5, 8, 13] and final == 13 and count == 5
    assert out[:, 0].tolist() == [7, 8, 9, 0, 1]


def test_until_ends_after_the_step_in_which_it_is_true():
    h, top = leaf(()), leaf(())
    new = ops.mul(h, 2.0)
    node = scan_node(
        steps_of(10), [], [Carry(constant(np.ones(1)), (-1,), [h], new)], until=ops.gt(new, top)
    )
    trace, final, count = evaluate(results(node), {top: np.asarray(45.0)})
    assert trace.tolist() == [2, 4, 8, 16, 32, 64, 0, 0, 0, 0] and final == 64 and count == 6


def test_equal_loops_are_one_node_and_bodies_hold_only_their_inputs():
    x, h0, w = leaf((None, 2, 3)), leaf((2, 3)), leaf((3, 3))
    one = recurrence(x, h0, w, ops.size_of(x, 0))
    assert one is recurrence(x, h0, w, ops.size_of(x, 0))
    assert one.attrs["body"] == recurrence(x, leaf((2, 3)), w, ops.size_of(x, 0)).attrs["body"]
    for k, n in enumerate(one.attrs["body"].inputs):
        assert n.op.name == "placeholder" and n.attrs["uid"] == ("body", k)


def test_what_does_not_vary_is_computed_outside():
    x, w = leaf((None, 3)), leaf((3,))
    row = leaf((3,))
    fixed = ops.exp(ops.mul(w, 3.0))
    node = scan_node(ops.size_of(x, 0), [(0, [x], row)], [], [ops.add(ops.mul(row, fixed), 1.5)])
    sig = ScanSignature.of(node)
    assert sig.others == [fixed]
    assert [n.op.name for n in bodies.toposort(sig.body.outputs) if n.op.kind != "leaf"] == [
        "mul",
        "add",
    ]


PLACES, TABLE = ops.iota((5,)), ops.iota((3, 5), 1)
FIRST, LAST, SOME = leaf((), "int64"), leaf((1,), "int64"), leaf((5,), "int64")
BEFORE, SINCE, TRUTH = ops.lt(PLACES, FIRST), ops.ge(PLACES, LAST), leaf((5,), "bool")
ALL = ops.expand(BEFORE, (0,))
MASKS = {
    "before": (BEFORE, (), [FIRST]),
    "up to, turned": (ops.ge(FIRST, PLACES), (), [FIRST]),
    "since": (SINCE, (), [LAST]),
    "behind, turned": (ops.lt(LAST, PLACES), (), [LAST]),
    "between": (ops.logical_and(BEFORE, SINCE), (), [FIRST, LAST]),
    "of all rows": (ALL, (), [FIRST]),
    "as a number": (ops.cast(BEFORE, "float64"), (), [FIRST]),
    "before a number of many": (ops.lt(PLACES, SOME[2]), (), [SOME[2]]),
    "before a constant": (ops.lt(PLACES, constant(np.int64(3))), (), []),
    "at": (ops.eq(PLACES, FIRST), (), None),
    "each its own": (ops.lt(PLACES, SOME), (), None),
    "of numbers": (ops.lt(SOME, FIRST), (), None),
    "of constants": (ops.lt(constant(np.arange(5)), FIRST), (), None),
    "in a table": (ops.lt(TABLE, FIRST), (), [FIRST]),
    "before each other": (ops.lt(ops.iota((5, 5)), ops.iota((5, 5), 1)), (), None),
    "not before": (ops.logical_not(BEFORE), (), None),
    "either": (ops.logical_or(BEFORE, SINCE), (), None),
    "of a computed place": (ops.lt(ops.mul(PLACES, 2), FIRST), (), None),
    "and others": (ops.logical_and(BEFORE, TRUTH), (), None),
    "frozen": (BEFORE, (BEFORE,), None),
    "and numbers": (ops.logical_and(BEFORE, ops.lt(SOME, FIRST)), (), None),
    "and constants": (ops.logical_and(BEFORE, constant(np.arange(5) > 1)), (), None),
    "of what is frozen": (ALL, (BEFORE,), None),
    "of frozen places": (BEFORE, (PLACES,), None),
    "a frozen view": (ops.expand(PLACES, (0,)), (ops.expand(PLACES, (0,)),), None),
}  # fmt: skip


@pytest.mark.parametrize("name", MASKS)
def test_masks_of_places_before_or_after_a_number_stay_in_the_step(name):
    mask, frozen, others = MASKS[name]
    found = bodies.capture([mask, PLACES], [leaf(())], frozen)
    assert found == ([mask] if others is None else others) + [n for n in frozen if n is PLACES]


def test_the_body_follows_the_shapes_of_the_operands():
    x, h0, w = leaf((None, None, 3)), leaf((None, 3)), leaf((3, 3))
    size = ops.size_of(h0, 0)
    row, h = leaf(x.shape[1:]), leaf(h0.shape)
    zeros = ops.broadcast_to(constant(0.0, "float64"), ops.shape_vector([size, 3]))
    new = ops.add(ops.add(ops.matmul(h, w), row), zeros)
    node = scan_node(
        ops.size_of(x, 0), [(0, [x], row)], [Carry(ops.expand(h0, (0,)), (-1,), [h], new)]
    )
    loose = results(node)
    assert loose[0].shape == (None, None, 3)
    known = rebuild(loose, {x: leaf((4, 2, 3)), h0: leaf((2, 3)), w: w}, fold)
    assert [k.shape for k in known] == [(4, 2, 3), (2, 3), ()]
    inner = known[0].inputs[0].attrs["body"]
    assert all(None not in n.shape for n in bodies.toposort(inner.outputs))
    again = rebuild(loose, {x: leaf((4, 2, 3)), h0: leaf((2, 3)), w: w}, fold)
    assert again[0].inputs[0].attrs["body"] is inner  # kept, not made anew


def test_zero_steps_have_the_shapes_that_sizes_give():
    n, row = leaf((), "int64"), leaf(())
    x = leaf((None,))
    wide = ops.broadcast_to(row, ops.shape_vector([n, 2]))
    node = scan_node(ops.size_of(x, 0), [(0, [x], row)], [], [wide])
    out, count = evaluate(results(node), {x: np.zeros(0), n: np.asarray(3)})
    assert out.shape == (0, 3, 2) and count == 0


@pytest.mark.parametrize(
    "change, error, words",
    [
        (dict(new=lambda h: ops.cast(h, "float32")), DTypeError, "becomes float32"),
        (dict(new=lambda h: ops.expand(h, (0,))), ShapeError, "keeps its shape"),
        (dict(init=lambda: leaf((2, 3))), ShapeError, "need 1 rows"),
        (dict(steps=lambda: steps_of(-2)), ShapeError, "cannot run -2 steps"),
        (dict(steps=lambda: steps_of(4)), ShapeError, "5 rows for 4 steps"),
        (dict(steps=lambda: leaf((), "int32")), DTypeError, "int64 scalar"),
        (dict(until=lambda h: ops.add(h, 1.0)), ShapeError, "bool scalar"),
        (dict(taps=(1,)), ShapeError, "taps"),
        (dict(x=lambda: leaf(())), ShapeError, "first axis"),
    ],
)
def test_what_does_not_fit_is_said_when_the_loop_is_made(change, error, words):
    row, h = leaf((3,)), leaf((3,))
    new = change.get("new", lambda h: ops.add(h, row))(h)
    with pytest.raises(error, match=words):
        scan_node(
            change.get("steps", lambda: steps_of(5))(),
            [(0, [change.get("x", lambda: leaf((5, 3)))()], row)],
            [
                Carry(
                    change.get("init", lambda: leaf((1, 3)))(), change.get("taps", (-1,)), [h], new
                )
            ],
            until=change["until"](h) if "until" in change else None,
            name="walk",
        )


def test_shapes_that_turn_out_wrong_name_the_step():
    x, row = leaf((None,)), leaf(())
    h = leaf((None,))
    longer = ops.concatenate([h, ops.expand(row, (0,))], 0)
    node = scan_node(
        ops.size_of(x, 0),
        [(0, [x], row)],
        [Carry(leaf((1, None), name="start"), (-1,), [h], longer)],
    )
    start = ScanSignature.of(node).inits[0]
    with pytest.raises(ShapeError):
        evaluate(results(node)[:1], {x: np.zeros(3), start: np.zeros((1, 2))})
    inside = ops.take(leaf((4,)), ops.cast(row, "int64"), 0)
    table = inside.inputs[0]
    node = scan_node(ops.size_of(x, 0), [(0, [x], row)], [], [inside], name="look")
    with pytest.raises(IndexError, match="in step 2 of the scan 'look'"):
        evaluate(results(node)[:1], {x: np.array([0.0, 3.0, 4.0]), table: np.zeros(4)})


def test_the_last_row_of_a_trace_is_the_last_state():
    x, h0, w = leaf((None, 2, 3)), leaf((2, 3)), leaf((3, 3))
    node = recurrence(x, h0, w, ops.size_of(x, 0))
    last = ops.getitem(item(node, 0), -1)
    assert last is item(node, 1)
    arrays = dict(zip([x, h0, w], [numbers(1, 4, 2, 3), numbers(2, 2, 3), numbers(3, 3, 3)]))
    trace, final = evaluate([item(node, 0), last], arrays)
    np.testing.assert_array_equal(trace[-1], final)
    assert ops.getitem(item(node, 2), -1).op.name != "item"
    (first,) = evaluate([last], {**arrays, x: np.zeros((0, 2, 3))})
    np.testing.assert_array_equal(first, arrays[h0])


# --- choosing -----------------------------------------------------------------------------------


def test_choose_takes_one_side_whole():
    c, a, b = leaf((), "bool"), leaf((None, 2)), leaf((3, None))
    y = branch.choose(c, a, b)
    assert y.shape == (3, 2)
    for flag in (True, False):
        va, vb = numbers(1, 3, 2), numbers(2, 3, 2)
        (got,) = evaluate([y], {c: np.asarray(flag), a: va, b: vb})
        np.testing.assert_array_equal(got, va if flag else vb)


def test_choose_refuses_other_types_and_shapes():
    c, a = leaf((), "bool"), leaf((3, 2))
    with pytest.raises(ShapeError, match="one shape"):
        branch.choose(c, a, leaf((3, 1)))
    with pytest.raises(DTypeError, match="dtypes float64 and float32"):
        branch.choose(c, a, leaf((3, 2), "float32"))
    with pytest.raises(ShapeError, match="bool scalar"):
        branch.choose(leaf((3,)), a, a)


def test_ifelse_runs_one_body():
    c, x, y = leaf((), "bool"), leaf((None,)), leaf((None,))
    then = bodies.closed([x, y], [ops.add(x, 1.0), ops.mul(x, y)])
    other = bodies.closed([x, y], [x, ops.print_(y, "never")])
    one, two = branch.ifelse_node(c, [x, y], then, other)
    got = evaluate([one, two], {c: np.asarray(True), x: np.ones(2), y: np.full(2, 3.0)})
    assert got[0].tolist() == [2, 2] and got[1].tolist() == [3, 3]
    (known,) = rebuild([one], {c: c, x: leaf((2,)), y: leaf((2,))}, fold)
    assert known.shape == (2,)


def test_the_row_of_steps_that_ran():
    h, top = leaf(()), leaf(())
    new = ops.mul(h, 2.0)
    node = scan_node(
        steps_of(10), [], [Carry(constant(np.ones(1)), (-1,), [h], new)], until=ops.gt(new, top)
    )
    rows = scan_ends.ran(item(node, 0))
    last = ops.getitem(rows, -1)
    assert last.op.name == "item"
    got = evaluate([rows, last], {top: np.asarray(5.0)})
    assert got[0].tolist() == [2, 4, 8] and got[1] == 8
