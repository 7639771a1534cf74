"""Examples and near misses of rules on views, parts and scans."""

import numpy as np

from ckernels import ops
from ckernels.graph.node import constant, item, make, sizes_constant
from ckernels.graph.sizes import ShapeClass
from ckernels.ops.scan import Carry, scan_node
from ckernels.rewrite.engine import shape_vector

from ..helpers import placeholder
from .written import WHOLE, C, E, F, as_shape, dense, ints, to, turn, view

FAMILIES = ("views", "parts", "scans")


def size_of_value(n):
    """The node of a size that is `n` now, or of one less than nothing."""
    size = ShapeClass().symbol(("input", 0, 0), "n", abs(n) or 3)
    return sizes_constant([size if n > 0 else -size if n else size - 3], ())


def _stored(name, x, *bounds):
    """`x` with functions of its parts stored in, or added to, these columns."""
    for k, (first, end, *step) in enumerate(bounds):
        part = [WHOLE, (first, end, step[0] if step else 1)]
        x = make(name, (x, ops.slice_(ops.sin(x + float(k)), part)), {"slices": tuple(part)})
    return x


AT, TWICE, WHOLE_AXIS = constant(1), constant(np.array([1, 1])), slice(None)
MOVING = ops.MovingSlice(AT, 2), ops.MovingSlice(constant(3), 2)


def lined(n, step=1):
    """0, step, .. as an index is made of."""
    return ops.iota((n,)) * step if step != 1 else ops.iota((n,))


def counted(start, stop, step, dtype):
    """An arange that was built before its bounds were known."""
    bounds = [b if hasattr(b, "op") else constant(b) for b in (start, stop, step)]
    return make("arange", bounds, {"dtype": dtype})


def zeros(*shape):
    return to(constant(np.zeros((), F)), *shape)


def _at(x, y, key):
    """`x` with `y` added at a key, whatever it is made of."""
    return ops.inc_subtensor(x, key, y)


def _part(x, low, high):
    return ops.set_slice(ops.zeros_like(x), x[:, low:high], [WHOLE, (low, high, 1)])


def _row(x, row):
    return ops.set_slice(x, to(row, 1, *row.shape), [(4, 5, 1)])


def _running_sum(x):
    row, total = placeholder(F, x.shape[1:]), placeholder(F, x.shape[1:])
    state = Carry(to(constant(np.zeros(())), 1, *x.shape[1:]), (-1,), [total], total + row)
    return item(scan_node(constant(x.shape[0], "int64"), [(0, [x], row)], [state]), 0)


def rest(x, template=((("n", 0), None, 1),)):
    """`x` from a place on that a call decides."""
    return make("dynamic_slice", (x, ops.cast(ops.sum(x), "int64")), {"template": template})


# rule name -> examples (graph of a placeholder x, shape of x, dtype, exact)
EXAMPLES = {
    "merge_reshapes": [
        E(lambda x: as_shape(as_shape(x, 4, 6), 2, 3, 4), 3, 8),
        E(lambda x: as_shape(x, 3, 1, 8), 3, 8),
        E(lambda x: as_shape(x, 3, 8), 1, 3, 1, 8),
        E(lambda x: view("squeeze", view("expand", x, axes=(1,)), axes=(1,)), 3, 8),
        E(lambda x: view("expand", view("expand", x, axes=(1,)), axes=(0,)), 3, 8),
        E(lambda x: as_shape(x, 3, 1), 1, 3),
        E(lambda x: as_shape(as_shape(x, 2, 0), 0, 4), 4, 0),
    ],
    "merge_transposes": [
        E(lambda x: turn(turn(x, 2, 0, 1), 2, 1, 0), 2, 3, 4),
        E(lambda x: turn(view("expand", x, axes=(1,)), 2, 1, 0), 2, 3),
        E(lambda x: turn(view("expand", x, axes=(0, 2)), 3, 1, 0, 2), 2, 3),
        E(lambda x: turn(x, 0, 1), 2, 0, dtype="bool"),
        E(lambda x: turn(view("expand", x, axes=(0, 1)), 1, 0), dtype="uint8"),
    ],
    "merge_broadcasts": [
        E(lambda x: to(to(x, 3, 4), 2, 3, 4), 4),
        E(lambda x: to(view("expand", x, axes=(0,)), 5, 3), 3),
        E(lambda x: to(x, 1, 3), 3),
        E(lambda x: to(x, 2, 3), 2, 3, dtype="complex64"),
        E(lambda x: to(to(x, 3), 0, 3), dtype="bool"),
    ],
    "merge_slices": [
        E(lambda x: ops.slice_(ops.slice_(x, [(1, 20, 2)]), [(None, None, -3)]), 25),
        E(lambda x: ops.slice_(ops.slice_(x, [(None, None, -1)]), [(2, 5, 1)]), 9),
        E(lambda x: ops.slice_(ops.slice_(x, [(None, None, -1)]), [(1, None, 1)]), 9),
        E(lambda x: ops.slice_(ops.slice_(x, [(4, None, -2)]), [(5, 9, 1)]), 9),
        E(lambda x: make("slice", (x,), {"slices": ((None, None, 1),)}), 4),
        E(lambda x: ops.slice_(to(x, 4, 3), [(1, 4, 2), (0, 2, 1)]), 3, dtype="uint8"),
        E(lambda x: ops.slice_(to(x, 4, 3), [(3, 1, 1), (0, 2, 1)]), 1, dtype="bool"),
        E(lambda x: ops.slice_(view("expand", x, axes=(1,)), [(1, 3, 1), (0, 1, 1)]), 5),
    ],
    "bare_operands": [
        E(lambda x: ops.exp(to(x, 3, 4)), 4),
        E(lambda x: to(x, 3, 4) + to(x, 2, 3, 4), 4),
        E(lambda x: x * constant(np.full((3, 4), 2.5)), 4),
        E(lambda x: x + constant(np.full((1, 1), 2.5)), 4),
        E(lambda x: view("expand", x, axes=(0,)) + constant(1.0, F), 4),
    ],
    "views_outside": [
        E(lambda x: ops.exp(view("expand", x, axes=(1,))), 4),
        E(lambda x: ops.exp(as_shape(x, 6)) * as_shape(ops.neg(x), 6), 2, 3),
        E(lambda x: as_shape(x, 2, 3, 4) + constant(np.arange(4.0)), 6, 4),
        E(lambda x: view("expand", x, axes=(1,)) - constant(np.arange(3.0)), 2, 3),
        E(lambda x: view("expand", x, axes=(0,)) - constant(dense(5, 3)), 1, 3),
        C(lambda x: as_shape(ops.sum(x, 0), 6) * constant(dense(6)), 4, 2, 3),
        C(lambda x: view("squeeze", ops.sum(x, 0), axes=(1,)) - constant(dense(3)), 4, 3, 1),
        E(lambda x: ops.exp(-view("expand", x, axes=(1,))), 4),
        E(lambda x: ops.exp(-as_shape(x, 6)), 2, 3),
        C(lambda x: as_shape(ops.sum(x, 0), 5, 6) * constant(dense(6)), 4, 5, 2, 3),
        C(lambda x: constant(dense(4, 6)) - as_shape(ops.sum(x, 0), 5, 4, 6), 2, 5, 4, 3, 2),
    ],
    "sign_outside": [
        E(lambda x: as_shape(-x, 6), 2, 3),
        E(lambda x: turn(-x, 1, 0), 2, 3),
        E(lambda x: view("expand", -x, axes=(1,)), 3, dtype=ints),
        E(lambda x: view("expand", -x, axes=(0,)), dtype="complex64"),
        E(lambda x: view("squeeze", -x, axes=(0,)), 1, 3, dtype="uint8"),
        E(lambda x: ops.slice_(-x, [(None, None, -1)]), 3),
    ],
    "inverse_views_meet": [
        C(lambda x: as_shape(as_shape(ops.sum(x, 0), 6) * constant(np.arange(6.0)), 2, 3), 4, 2, 3),
        C(
            lambda x: as_shape(
                as_shape(ops.sum(x, 0), 6) * ops.exp(make("identity", (constant(dense(6)),))), 2, 3
            ),
            4,
            2,
            3,
        ),
        C(
            lambda x: view(
                "transpose",
                view("transpose", ops.sum(x, 0), perm=(1, 0)) * constant(dense(3, 2)),
                perm=(1, 0),
            ),
            4,
            2,
            3,
        ),
        C(
            lambda x: view(
                "squeeze",
                view("expand", ops.sum(x, 0), axes=(1,)) * constant(dense(3, 1)),
                axes=(1,),
            ),
            4,
            3,
        ),
    ],
    "fold_constants": [E(lambda x: x * ops.exp(make("identity", (constant(2.0, F),))), 3)],
    "shapes_known": [
        C(lambda x: make("unbroadcast", (x, constant(dense(3, 1)))), 2, 3, 4),
        C(lambda x: make("unbroadcast", (x, constant(dense(1, 4)))), 3, 4),
        E(lambda x: make("broadcast_like", (x, constant(dense(2, 3)))), 3),
        E(lambda x: x * make("count", (x,), {"axes": (0,), "dtype": F}), 3),
    ],
    "take_of_size": [
        E(lambda x: ops.take(x, size_of_value(3), 0) * x, 7),
        E(lambda x: ops.take(x, size_of_value(0), 0) * x, 7),
        E(lambda x: ops.take(to(x, 2, 7), size_of_value(-2), 1), 7),
        E(lambda x: ops.take(to(x, 3, 7), size_of_value(2), 0), 7, dtype="int8"),
    ],
    "take_of_steps": [
        C(lambda x: ops.take(x, lined(3, 5) + 2, 0), 13),
        C(lambda x: ops.take(x, ops.expand_dims(2 * lined(3), 1) + lined(4), 0), 9),
        C(lambda x: ops.take(to(x, 2, 20), lined(4) + ops.expand_dims(lined(3) * 5, 1) + 1, 1), 20),
        C(lambda x: ops.take(to(x, 20, 2), ops.expand_dims(lined(3), 1) * 2 + lined(4) * 3, 0), 2),
        C(lambda x: ops.take(x, ops.cast(20 - (18 - lined(4)), "int64"), 0), 7),
        C(lambda x: ops.take(x, constant(np.arange(1, 9, 3)) + ops.expand_dims(lined(2), 1), 0), 9),
    ],
    "arange_of_sizes": [
        E(lambda x: x * counted(0, 5, 1, F), 5),
        E(lambda x: x * counted(3, -10, -4, F), 4),
        E(lambda x: counted(-2, 300, 7, "float32") * x, 44, dtype="float32"),
        E(lambda x: x + counted(0, 2000, 7, "uint8"), 286, dtype="uint8"),
        E(lambda x: x + counted(5, 5, 1, "int64"), 0, dtype="int64"),
    ],
    "broadcast_outside": [
        C(lambda x: ops.transpose(to(x, 2, 3, 4), (0, 2, 1)), 3, 4),
        E(lambda x: view("squeeze", to(x, 1, 3, 4), axes=(0,)), 3, 4),
        E(lambda x: view("squeeze", to(x, 1, 2), axes=(0,)), dtype="bool"),
        E(lambda x: turn(to(x, 2, 0), 1, 0), 0, dtype="complex64"),
    ],
    "parts_side_by_side": [
        E(lambda x: _part(x, 0, 2) + _part(x, 2, 5), 3, 5),
        E(lambda x: _part(x, 3, 5) + _part(x, 0, 2), 3, 5),
    ],
    "adjacent_stores": [
        E(lambda x: _stored("set_slice", x, (2, 3), (0, 2)), 3, 5),
        E(lambda x: _stored("set_slice", x, (0, 2), (2, 4), (4, 5)), 3, 5),
        E(lambda x: _stored("inc_slice", x, (0, 1), (3, 4), (1, 3)), 3, 5),
        E(lambda x: _stored("inc_slice", x, (3, 5), (0, 3)), 3, 5),
        E(lambda x: _stored("inc_slice", x, (2, 0, -2), (1, 2)), 3, 5),
    ],
    "added_at_a_place": [
        E(lambda x: ops.sin(x) + _at(zeros(3, 5), x[0], (AT, WHOLE_AXIS)), 3, 5),
        E(lambda x: _at(zeros(3, 5), x[1:, :2], MOVING) + ops.sin(x), 3, 5),
        E(lambda x: x + _at(zeros(3, 5), ops.sum(x), (AT, AT)), 3, 5),
        E(lambda x: x + ops.scatter_add(zeros(3, 5), AT, ops.sin(x[:, 1]), 1), 3, 5),
    ],
    "added_to_a_hole": [
        E(lambda x: _at(ops.set_subtensor(ops.sin(x), MOVING, 0.0), x[1:, :2], MOVING), 3, 5),
        E(lambda x: _at(ops.set_subtensor(ops.sin(x), (AT, AT), 0.0), ops.sum(x), (AT, AT)), 3, 5),
    ],
    "static_slice": [
        E(
            lambda x: make(
                "dynamic_slice",
                (x, constant(1, "int64")),
                {"template": ((("n", 0), None, 1), WHOLE)},
            ),
            3,
            5,
        )
    ],
    "slice_of_one_part": [
        E(lambda x: ops.slice_(ops.concatenate([x[:3], ops.neg(x)], 0), [(4, 7, 1)]), 5, 2),
        E(lambda x: ops.slice_(ops.concatenate([x[:3], ops.neg(x)], 0), [(7, 2, -2)]), 5, 2),
        E(lambda x: ops.slice_(ops.concatenate([x, ops.neg(x)], 1), [WHOLE, (0, 2, 1)]), 5, 3),
    ],
    "last_row_is_final": [C(lambda x: ops.slice_(_running_sum(x), [(-1, None, 1)]), 4, 3)],
}  # fmt: skip

# rule -> (dtype, graphs of x that it almost fits)
NEAR = {
    "merge_transposes": (F, [lambda x: turn(as_shape(x, 7, 1), 1, 0)]),
    "merge_broadcasts": (F, [lambda x: to(as_shape(x, 7, 1), 7, 3),
                             lambda x: to(view("expand", x, axes=(1,)), 7, 3)]),
    "merge_slices": (F, [lambda x: x[1:], lambda x: ops.slice_(
        view("expand", x, axes=(1,)), [WHOLE, (0, 0, 1)])]),
    "broadcast_outside": (F, [lambda x: ops.slice_(to(x, 1, 7), [(0, 1, 1), (0, 2, 1)])]),
    "sign_outside": (F, [lambda x: as_shape(ops.abs(x), 7, 1), lambda x: ops.sum(-x)]),
    "merge_reshapes": (F, [
        lambda x: view("expand", ops.exp(view("expand", x, axes=(1,))), axes=(2,)),
        lambda x: make("reshape", (to(x, 2, 7), shape_vector((14,))))]),
    "bare_operands": (F, [lambda x: x + constant(dense(7)), lambda x: ops.exp(as_shape(x, 7, 1)),
                          lambda x: x * constant(np.array([0.0] * 6 + [-0.0]))]),
    "views_outside": (F, [
        lambda x: view("expand", x, axes=(0,)) * view("expand", ops.exp(x), axes=(1,)),
        lambda x: view("expand", ops.exp(x), axes=(1,)) * to(x, 7, 7),
        lambda x: as_shape(ops.sum(to(x, 2, 6, 7), 0), 7, 6) * constant(dense(6)),
        lambda x: as_shape(ops.sum(to(x, 2, 2, 6, 7), 0), 4, 3, 7) * constant(dense(3, 7)),
        lambda x: as_shape(ops.sum(to(x, 2, 2, 6, 7), 0), 2, 42) * constant(dense(1, 42)),
        lambda x: as_shape(to(x, 6, 7), 42) * constant(dense(42)),
        lambda x: as_shape(to(x, 6, 7), 3, 14) * constant(dense(3, 14)),
        lambda x: as_shape(to(x, 4, 6, 7), 4, 42) * constant(dense(42))]),
    "inverse_views_meet": (F, [
        lambda x: as_shape(ops.exp(as_shape(to(x, 2, 7), 14)), 7, 2),
        lambda x: ops.exp(x[::-1])[1:],
        lambda x: turn(ops.exp(turn(to(x, 2, 3, 7), 1, 2, 0)), 1, 2, 0)]),
    "fold_constants": (F, [lambda x: x * constant(2.0, F), lambda x: ops.exp(constant(dense(65)))]),
    "shapes_known": (F, [lambda x: to(x, 2, 7), lambda x: ops.sum(x)]),
    "take_of_size": (F, [
        lambda x: ops.take(x, constant(np.asarray(3)), 0),
        lambda x: ops.take(x, ops.cast(ops.sum(x), "int64"), 0)]),
    "take_of_steps": (F, [
        lambda x: ops.take(x, lined(4) - 1, 0),  # the last one first
        lambda x: ops.take(x, 6 - lined(4), 0),
        lambda x: ops.take(x, constant(np.array([1, 2, 4])) + ops.expand_dims(lined(2), 1), 0),
        lambda x: ops.take(x, ops.expand_dims(lined(3), 1) * lined(3), 0),
        lambda x: ops.take(x, lined(3) * lined(3), 0),
        lambda x: ops.take(x, lined(8), 0),  # there is no eighth
        lambda x: ops.take(
            to(x, 3, 7), make("broadcast_to", (lined(3), shape_vector((2, 3)))), 1),
        lambda x: ops.take(x, constant(np.array([2, 3, 4])), 0)]),
    "arange_of_sizes": (F, [
        lambda x: x * counted(0.5, 7.5, 1.0, F),
        lambda x: x * counted(0, 7, 1, "float16"),
        lambda x: x * counted(1 << 24, (1 << 24) + 7, 1, F),
        lambda x: x * counted(100, 800, 100, "int8"),
        lambda x: x * counted(0, ops.cast(ops.sum(x), "int64"), 1, F)]),
    "parts_side_by_side": (F, [
        lambda x: _part(to(x, 3, 7), 0, 3) + _part(to(x, 3, 7), 2, 5),
        lambda x: _part(to(x, 3, 7), 0, 3) + ops.exp(to(x, 3, 7)),
        lambda x: _part(to(x, 5, 7), 0, 2) + _row(_part(to(x, 5, 7), 2, 4), x),
        lambda x: _part(to(x, 3, 7), 0, 2) - _part(to(x, 3, 7), 2, 7),
        lambda x: _part(to(x, 3, 7), 0, 2) + ops.set_slice(to(x, 3, 7), 0.0, [WHOLE, (2, 7, 1)])]),
    "adjacent_stores": (F, [
        lambda x: _stored("set_slice", to(x, 3, 7), (0, 2), (1, 3)),
        lambda x: _stored("inc_slice", to(x, 3, 7), (0, 2), (3, 5)),
        lambda x: _stored("inc_slice", to(x, 3, 7), (3, 5), (0, 2)),
        lambda x: _stored("inc_slice", to(x, 3, 7), (0, 3, 2), (3, 5)),
        lambda x: ops.set_slice(_stored("inc_slice", to(x, 3, 7), (0, 2)), 0.0, [WHOLE, (2, 7, 1)]),
        lambda x: ops.set_slice(_stored("set_slice", to(x, 3, 7), (0, 2)), 0.0, [(2, 3, 1)])]),
    "added_at_a_place": (F, [
        lambda x: ops.sin(x) + _at(zeros(7), 2.0, (TWICE,)),
        lambda x: ops.sin(x) + _at(ops.cos(x), 2.0, (AT,)),
        lambda x: ops.sum(x) + _at(zeros(7), 2.0, (AT,)),
        lambda x: x + ops.scatter_add(zeros(7), TWICE, constant(dense(2)), 0),
        lambda x: x - _at(zeros(7), 2.0, (AT,)),
        lambda x: ops.sum(to(x, 1, 7), 1) + _at(zeros(7), 2.0, (AT,))]),
    "added_to_a_hole": (F, [
        lambda x: _at(ops.set_subtensor(x, (AT,), 1.0), 2.0, (AT,)),
        lambda x: _at(ops.set_subtensor(x, (constant(2),), 0.0), 2.0, (AT,)),
        lambda x: _at(ops.set_subtensor(x, (ops.MovingSlice(AT, 2),), 0.0), 2.0,
                      (ops.MovingSlice(AT, 3),)),
        lambda x: _at(ops.set_subtensor(x, (TWICE,), 0.0), 2.0, (TWICE,))]),
    "static_slice": (F, [rest]),
    "slice_of_one_part": (F, [lambda x: ops.slice_(ops.concatenate([x, -x], 0), [(5, 9, 1)]),
                              lambda x: ops.slice_(ops.concatenate([x, -x], 0), [(0, 14, 7)])]),
    "last_row_is_final": (F, [lambda x: ops.slice_(_running_sum(to(x, 4, 7)), [(0, 1, 1)]),
                              lambda x: ops.slice_(_running_sum(to(x, 4, 7)), [(-2, None, 1)])]),
}  # fmt: skip
