"""Passes on scans: what they make of a graph, and that they do not change what it computes."""

import numpy as np
import pytest

from ckernels import ops
from ckernels.autodiff import reverse
from ckernels.graph.node import constant, item, make, new_uid
from ckernels.graph.walk import toposort
from ckernels.ops.reference import evaluate
from ckernels.ops.scan import Carry, ScanSignature, is_scan, scan_node
from ckernels.rewrite import optimise, parts
from ckernels.rewrite.scan import opened, passes


def leaf(*shape, dtype="float64"):
    return make("placeholder", (), {"uid": new_uid(), "dtype": dtype, "shape": shape, "name": None})


def numbers(nodes):
    r = np.random.RandomState(0)
    return {n: r.uniform(-1, 1, n.shape) for n in nodes}


def scans(roots):
    return [n for n in toposort(roots) if is_scan(n)]


def inside(scan):
    return [n.op.name for n in toposort(scan.attrs["body"].outputs) if n.op.kind != "leaf"]


def outside(roots):
    return [n.op.name for n in toposort(roots) if n.op.kind != "leaf"]


def same(roots, leaves, rtol=1e-12):
    """`roots` optimised, checked to compute what they did."""
    new = optimise(roots)
    env = numbers(leaves)
    for a, b in zip(evaluate(roots, env), evaluate(new, env)):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-13)
    return new


def scanned(x, carries=(), outs=(), **options):
    """A scan over the rows of x: carries [(first, step(row, own))], outs [step(row, *owns)]."""
    row = leaf(*x.shape[1:])
    own = [leaf(*first.shape) for first, _ in carries]
    made = [
        Carry(ops.expand(first, (0,)), (-1,), [h], step(row, h))
        for (first, step), h in zip(carries, own)
    ]
    return scan_node(
        constant(x.shape[0], "int64"),
        [(0, [x], row)],
        made,
        [out(row, *own) for out in outs],
        **options,
    )


def test_products_of_rows_are_one_product_before_the_loop():
    x, h, w, u = leaf(6, 2, 3), leaf(2, 4), leaf(3, 4), leaf(4, 4)
    node = scanned(x, [(h, lambda r, h: ops.tanh(ops.add(ops.matmul(r, w), ops.matmul(h, u))))])
    new = same([item(node, 0)], [x, h, w, u])
    assert inside(scans(new)[0]).count("matmul") == 1
    assert outside(new).count("matmul") == 1


def test_also_with_the_batch_first_and_weights_on_the_left():
    x, w = leaf(2, 6, 3), leaf(4, 3)
    node = scanned(
        ops.transpose(x, (1, 0, 2)),
        [
            (
                constant(np.zeros((2, 4))),
                lambda r, h: ops.tanh(ops.add(ops.matmul(r, ops.transpose(w, (1, 0))), h)),
            )
        ],
    )
    new = same([item(node, 0)], [x, w])
    assert inside(scans(new)[0]) == ["add", "tanh"]
    column = leaf(6, 3)
    node = scanned(
        column,
        [
            (
                constant(np.zeros(4)),
                lambda r, h: ops.tanh(
                    ops.add(ops.squeeze(ops.matmul(w, ops.expand(r, (1,))), (1,)), h)
                ),
            )
        ],
    )
    new = same([item(node, 0)], [column, w])
    assert "matmul" not in inside(scans(new)[0])


def test_products_that_make_results_are_one_product_after_the_loop():
    x, h, w, b = leaf(6, 2, 3), leaf(2, 3), leaf(3, 5), leaf(5)
    node = scanned(
        x,
        [(h, lambda r, h: ops.tanh(ops.add(r, h)))],
        [lambda r, h: ops.softmax(ops.add(ops.matmul(ops.tanh(ops.add(r, h)), w), b))],
    )
    new = same([item(node, 2)], [x, h, w, b])
    assert inside(scans(new)[0]) == ["add", "tanh"]
    assert outside(new).count("matmul") == 1


def test_products_with_one_left_operand_are_one():
    x, h = leaf(6, 2, 3), leaf(2, 3)
    ws = [leaf(3, 3) for _ in range(3)]

    def step(r, h):
        a, b, c = (ops.matmul(h, w) for w in ws)
        return ops.add(ops.mul(ops.tanh(a), ops.sigmoid(b)), ops.add(c, r))

    new = same([item(scanned(x, [(h, step)]), 0)], [x, h, *ws])
    assert inside(scans(new)[0]).count("matmul") == 1
    assert "concatenate" in outside(new)


def test_products_with_matrices_of_each_step_stay():
    x, h = leaf(6, 3, 3), leaf(2, 3)

    def step(w, h):
        return ops.add(ops.tanh(ops.matmul(h, w)), ops.matmul(h, ops.sin(w)))

    new = same([item(scanned(x, [(h, step)]), 0)], [x, h])
    assert inside(scans(new)[0]).count("matmul") == 2


def test_gates_written_one_by_one_are_joined_forwards_and_backwards():
    x, h = leaf(6, 2, 3), leaf(2, 3)
    ws = [leaf(3, 3) for _ in range(3)]
    us = [leaf(3, 3) for _ in range(3)]

    def step(r, h):
        a, b, c = (ops.add(ops.matmul(r, w), ops.matmul(h, u)) for w, u in zip(ws, us))
        return ops.add(ops.mul(ops.tanh(a), ops.sigmoid(b)), ops.mul(ops.sin(c), h))

    node = scanned(x, [(h, step)])
    grads = reverse.grad(ops.sum(ops.sin(item(node, 0))), [*ws, *us])
    new = same(grads, [x, h, *ws, *us], rtol=1e-10)
    assert [inside(s).count("matmul") for s in scans(new)] == [1, 1]
    assert outside(new).count("matmul") == 1 + 1 + 2  # x w, its gradient, that of u in two parts


def test_products_of_columns_are_one_where_they_cover_the_matrix():
    a, x = leaf(4, 5), leaf(5, 6)
    parts_of = [ops.matmul(a, x[:, :2]), ops.matmul(a, x[:, 2:])]
    new = passes.improve(parts_of, lambda nodes: nodes, "none")
    assert len({n.inputs[0] for n in new}) == 1 and new[0].op.name == "slice"
    for got, want in zip(evaluate(new, numbers([a, x])), evaluate(parts_of, numbers([a, x]))):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    alone = [ops.matmul(a, x[:, :2]), ops.matmul(a, x[:, 3:])]
    assert passes.improve(alone, lambda nodes: nodes, "none") == alone
    many, y = leaf(3, 4, 5), leaf(3, 5, 6)
    others = [ops.matmul(many, y[:, :, :2]), ops.matmul(many, y[:, :, 2:])]
    assert passes.improve(others, lambda nodes: nodes, "none") == others


def test_what_does_not_vary_leaves_the_loop():
    x, w = leaf(6, 3), leaf(3)
    node = scanned(x, outs=[lambda r: ops.mul(r, ops.exp(ops.sin(w)))])
    new = same([item(node, 0)], [x, w])
    assert inside(scans(new)[0]) == ["mul"]


def test_loops_over_the_same_steps_are_one():
    x, h, g = leaf(6, 3), leaf(3), leaf(3)
    one = scanned(x, [(h, lambda r, h: ops.tanh(ops.add(r, h)))])
    two = scanned(x, [(g, lambda r, h: ops.sin(ops.mul(r, h)))])
    assert len(scans(same([item(one, 0), item(two, 1)], [x, h, g]))) == 1
    after = scanned(item(one, 0), [(g, lambda r, h: ops.sin(ops.mul(r, h)))])
    assert len(scans(same([item(one, 0), item(after, 1)], [x, h, g]))) == 2


def test_the_forward_loop_of_a_gradient_runs_once():
    x, h, w = leaf(6, 2, 3), leaf(2, 3), leaf(3, 3)
    node = scanned(
        x,
        [(h, lambda r, h: ops.tanh(ops.add(ops.matmul(h, w), r)))],
        [lambda r, h: ops.sigmoid(ops.matmul(h, w))],
    )
    cost = ops.add(ops.sum(ops.square(item(node, 0))), ops.sum(item(node, 2)))
    new = same([cost, *reverse.grad(cost, [x, h, w])], [x, h, w])
    assert [s.attrs["reverse"] for s in scans(new)] == [False, True]


def test_until_loops_merge_only_with_themselves():
    x, h = leaf(6), leaf()

    def counting(top, extra):
        row, own = leaf(), leaf()
        new = ops.add(own, row)
        return scan_node(
            constant(6, "int64"),
            [(0, [x], row)],
            [Carry(ops.expand(h, (0,)), (-1,), [own], new)],
            [ops.sin(new)] if extra else [],
            ops.gt(new, top),
        )

    small, big, other = counting(0.5, False), counting(0.5, True), counting(0.1, True)
    assert len(scans(same([item(small, 0), item(big, 2)], [x, h]))) == 1
    assert len(scans(same([item(small, 0), item(other, 2)], [x, h]))) == 2


def test_states_that_are_always_equal_are_one():
    x, h, w = leaf(6, 2, 3), leaf(2, 3), leaf(3, 3)
    row, a, b, c, d = leaf(2, 3), *(leaf(2, 3) for _ in range(4))
    first = ops.expand(h, (0,))

    def cell(h):
        return ops.tanh(ops.add(ops.matmul(h, w), row))

    crossed = [Carry(first, (-1,), [a], cell(b)), Carry(first, (-1,), [b], cell(a))]
    node = scan_node(constant(6, "int64"), [(0, [x], row)], crossed, [ops.mul(a, b)])
    new = same([item(node, 0), item(node, 3), item(node, 4)], [x, h, w])
    (scan,) = scans(new)
    assert inside(scan).count("matmul") == 1 and len(ScanSignature.of(scan).inits) == 1
    # Near misses: another first value, another step, and one that differs a step later.
    other = ops.expand(ops.neg(h), (0,))
    for apart, left in (
        ([Carry(first, (-1,), [a], cell(b)), Carry(other, (-1,), [b], cell(a))], 2),
        ([Carry(first, (-1,), [a], cell(b)), Carry(first, (-1,), [b], ops.sin(cell(a)))], 2),
        ([Carry(first, (-1,), [a], cell(c)), Carry(first, (-1,), [b], cell(d)),
          Carry(first, (-1,), [c], cell(c)), Carry(first, (-1,), [d], ops.neg(cell(d)))], 3),
    ):  # fmt: skip
        node = scan_node(constant(6, "int64"), [(0, [x], row)], apart)
        new = same([item(node, 0), item(node, 1)], [x, h, w])
        assert len(ScanSignature.of(scans(new)[0]).inits) == left


def test_the_scan_of_a_gradient_with_fewer_states_takes_the_place_of_the_first():
    x, h, w = leaf(6, 2, 3), leaf(2, 3), leaf(3, 3)
    row, out, own, cell = leaf(2, 3), leaf(2, 3), leaf(2, 3), leaf(2, 3)
    first, gates = ops.expand(h, (0,)), ops.matmul(own, w)
    kept = ops.add(ops.mul(ops.sigmoid(gates), cell), row)
    new_own = ops.mul(ops.sigmoid(ops.sin(gates)), ops.tanh(kept))
    states = [
        Carry(first, (-1,), [own_], n) for own_, n in ((out, new_own), (own, new_own), (cell, kept))
    ]
    node = scan_node(constant(6, "int64"), [(0, [x], row)], states)
    cost = ops.sum(ops.square(item(node, 0)))
    new = same([cost, *reverse.grad(cost, [x, h, w])], [x, h, w], rtol=1e-10)
    forward, backward = scans(new)
    assert [inside(s).count("matmul") for s in (forward, backward)] == [1, 1]
    assert len(ScanSignature.of(forward).inits) == 2


def test_unused_results_go_with_what_only_they_need():
    x, h, g = leaf(6, 3), leaf(3), leaf(3)
    node = scanned(
        x,
        [(h, lambda r, h: ops.tanh(ops.add(r, h))), (g, lambda r, g: ops.sin(g))],
        [lambda r, h, g: ops.exp(g), lambda r, h, g: ops.cos(h)],
    )
    new = same([item(node, 0)], [x, h, g])
    (scan,) = scans(new)
    assert inside(scan) == ["add", "tanh"] and scan.attrs["outs"] == 0
    new = same([item(node, 4)], [x, h, g])  # exp(g) needs the second state only
    assert inside(scans(new)[0]) == ["sin", "exp"] and not ScanSignature.of(scans(new)[0]).seqs


def test_the_last_row_of_a_trace_is_the_last_state():
    x, h = leaf(6, 3), leaf(3)
    node = scanned(x, [(h, lambda r, h: ops.tanh(ops.add(r, h)))], [lambda r, h: ops.mul(r, h)])
    for index in (0, 2):
        last = ops.slice_(item(node, index), [(5, 6, 1), (0, 2, 1)])
        new = same([last], [x, h])
        read = {n.attrs["index"] for n in toposort(new) if n.op.name == "item"}
        sig = ScanSignature.of(scans(new)[0])
        assert read <= {sig.final(i) for i in range(sig.carries)}


def test_results_that_are_there_already():
    x, h, c = leaf(6, 3), leaf(3), leaf(3)
    node = scanned(
        x,
        [(h, lambda r, h: ops.add(r, h)), (c, lambda r, c: c)],
        [
            lambda r, h, c: r,
            lambda r, h, c: ops.add(r, h),
            lambda r, h, c: ops.exp(c),
            lambda r, h, c: ops.mul(c, r),
        ],
    )
    roots = [item(node, k) for k in (1, 2, 3, 4, 5, 6, 7)]
    new = same(roots, [x, h, c])
    (scan,) = scans(new)
    assert scan.attrs["outs"] == 1 and len(scan.attrs["taps"]) == 1


@pytest.mark.parametrize("term", [
    lambda new: ops.sum(new, 0),
    lambda new: ops.mul(constant(0.5), ops.sum(new, 0)),
    lambda new: ops.mul(ops.sum(new, 0), constant(0.5)),
], ids=["a sum", "a number times a sum", "a sum times a number"])  # fmt: skip
def test_sums_over_stored_rows_leave_the_loop(term):
    x, h = leaf(6, 2, 3), leaf(2, 3)
    zero = constant(np.zeros(3))
    row, own, total = leaf(2, 3), leaf(2, 3), leaf(3)
    new = ops.tanh(ops.add(row, own))
    node = scan_node(
        constant(6, "int64"),
        [(0, [x], row)],
        [
            Carry(ops.expand(h, (0,)), (-1,), [own], new),
            Carry(ops.expand(zero, (0,)), (-1,), [total], ops.add(total, term(new))),
        ],
        [ops.mul(constant(0.5), new)],
    )
    new = same([item(node, k) for k in (0, 3, 4)], [x, h])
    assert len(scans(new)[0].attrs["taps"]) == 1 and "sum" in outside(new)


@pytest.mark.parametrize("kept", [
    lambda own, new: (ops.sub(own, new), []),
    lambda own, new: (ops.add(own, own), []),
    lambda own, new: (ops.add(own, new), [own]),
    lambda own, new: (ops.add(own, new), [ops.exp(own)]),
    lambda own, new: (ops.add(own, new), [ops.exp(ops.add(own, new))]),
    lambda own, new: (ops.add(own, new[0]), []),
    lambda own, new: (ops.add(own, ops.mul(new, own)), []),
], ids=["a difference", "itself twice", "a result is the state before", "it is read",
        "it is read after", "of another shape", "a factor of it"])  # fmt: skip
def test_sums_that_need_all_steps_stay(kept):
    x, h = leaf(6, 2, 3), leaf(2, 3)
    row, own, total = leaf(2, 3), leaf(2, 3), leaf(2, 3)
    new = ops.tanh(ops.add(row, own))
    after, outs = kept(total, new)
    node = scan_node(
        constant(6, "int64"),
        [(0, [x], row)],
        [
            Carry(ops.expand(h, (0,)), (-1,), [own], new),
            Carry(constant(np.ones((1, 2, 3))), (-1,), [total], after),
        ],
        [new, *outs],
    )
    states = 2 * 2
    new = same([item(node, k) for k in (0, 3, *range(states, states + 1 + len(outs)))], [x, h])
    assert len(scans(new)[0].attrs["taps"]) == 2


def test_loops_that_end_early_keep_their_products():
    """But for one that makes zeros of zeros, as the rows of steps that do not run are."""
    x, h, w = leaf(6, 2, 3), leaf(2, 3), leaf(3, 3)
    row, own = leaf(2, 3), leaf(2, 3)
    new = ops.add(ops.matmul(row, w), own)
    node = scan_node(
        constant(6, "int64"),
        [(0, [x], row)],
        [Carry(ops.expand(h, (0,)), (-1,), [own], new)],
        [ops.matmul(new, w), ops.sigmoid(ops.matmul(new, ops.add(w, 1.0)))],
        ops.gt(ops.sum(new), 0.3),
    )
    new = same([item(node, 0), item(node, 2), item(node, 3), item(node, 4)], [x, h, w])
    assert inside(scans(new)[0]).count("matmul") == 2


def test_a_step_that_reads_a_table_by_its_row_stays():
    x, table, w = leaf(6), leaf(9, 4), leaf(4, 4)
    node = scanned(
        x,
        outs=[
            lambda r: ops.matmul(
                ops.expand(ops.take(table, ops.cast(ops.abs(ops.mul(r, 5.0)), "int64"), 0), (0,)), w
            )
        ],
    )
    same([item(node, 0)], [x, table, w])


def test_bodies_are_rewritten_and_lowered():
    x = leaf(6, 3)
    node = scanned(x, outs=[lambda r: ops.softmax(ops.add(ops.mul(r, 1.0), 0.0))])
    body = scans(same([item(node, 0)], [x]))[0].attrs["body"]
    assert all(n.op.kind != "composite" for n in toposort(body.outputs))
    assert "mul" not in [n.op.name for n in toposort(body.outputs)][:1]


def test_the_passes_can_be_left_out():
    x, w = leaf(6, 2, 3), leaf(3, 3)
    node = scanned(x, outs=[lambda r: ops.tanh(ops.matmul(r, w))])
    kept = optimise([item(node, 0)], exclude=frozenset({"scans"}))
    assert "matmul" in inside(scans(kept)[0])
    assert "composite" not in {n.op.kind for n in toposort(kept)}


def test_slices_with_known_bounds_are_views():
    x = leaf(6, 3)
    sliced = make(
        "dynamic_slice",
        (x, constant(2, "int64")),
        {"template": ((("n", 0), None, 1), (None, None, 1))},
    )
    assert [n.op.name for n in toposort(same([sliced], [x]))][-1] == "slice"
    assert any(rule.name == "static_slice" for rule in opened.family)


# --- parts ------------------------------------------------------------------------------------


def piece(value, size, low, high, axis=1):
    shape = list(value.shape)
    shape[axis] = size
    zeros = ops.broadcast_to(constant(np.zeros(())), ops.shape_vector(shape))
    slices = [(None, None, 1)] * value.ndim
    slices[axis] = (low, high, 1)
    return ops.set_slice(zeros, value, slices)


@pytest.mark.parametrize(
    "bounds, name",
    [
        ([(0, 2), (2, 5), (5, 6)], "concatenate"),
        ([(2, 5), (0, 2), (5, 6)], "concatenate"),
        ([(0, 2), (3, 6)], "set_slice"),
        ([(0, 3), (2, 6)], "add"),
    ],
)
def test_parts_side_by_side(bounds, name):
    leaves = [leaf(4, high - low) for low, high in bounds]
    total = piece(leaves[0], 6, *bounds[0])
    for value, at in zip(leaves[1:], bounds[1:]):
        total = ops.add(total, piece(value, 6, *at))
    new = same([total], leaves)
    assert new[0].op.name == name
    assert parts.parts_of(piece(leaves[0], 6, *bounds[0]))[0] == 1


@pytest.mark.parametrize(
    "bounds, moved",
    [
        (((None, 2), (2, None)), True),
        (((2, 5), (0, 2)), True),
        (((0, 3), (2, 6)), False),
        (((0, 6), (0, 6)), False),
        (((0, 3), (3, 3)), False),
        (((0, 6, 2), (1, 6, 2)), False),
    ],
)
def test_gates_add_up_their_own_columns(bounds, moved):
    x, h, w, b = leaf(5, 2, 6), leaf(2, 3), leaf(3, 6), leaf(6)

    def step(row, h):
        z = ops.add(ops.add(ops.mul(ops.matmul(h, w), 2.0), row), b)
        one, two = (ops.tanh(z[:, slice(*s)]) for s in bounds)
        return ops.tanh(ops.add(h, ops.add(ops.sum(one, 1, True), ops.sum(two, 1, True))))

    node = scanned(x, [(h, step)])
    new = same([item(node, 0)], [x, h, w, b])
    sums = [
        n
        for n in toposort(scans(new)[0].attrs["body"].outputs)
        if n.op.name == "add" and n.shape == (2, 6)
    ]
    assert inside(scans(new)[0]).count("matmul") == 1 and bool(sums) != moved


def test_what_others_read_too_is_added_up_once():
    x, h, w = leaf(5, 2, 6), leaf(2, 3), leaf(3, 6)

    def step(row, h):
        z = ops.add(ops.matmul(h, w), row)
        return ops.mul(ops.tanh(z[:, :3]), ops.add(z[:, 3:], ops.sum(z)))

    new = same([item(scanned(x, [(h, step)]), 0)], [x, h, w])
    assert inside(scans(new)[0]).count("matmul") == 1
    assert [
        n.shape for n in toposort(scans(new)[0].attrs["body"].outputs) if n.op.name == "add"
    ].count((2, 6)) == 1
