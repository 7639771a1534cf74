"""Examples and near misses of rules on channels, masks and classes."""

import numpy as np

from ckernels import ops
from ckernels.graph.node import constant

from .written import C, E, F, as_shape, dense, image, ints, to, turn, turned, view

FAMILIES = ("channels", "masks", "one_hot")

CHOSEN = constant(np.array([3, 1, 19, -1, 3, 0])[:, None])


def _chosen(n):
    """Rows of classes, one of them out of range."""
    return ops.eq(CHOSEN, ops.arange(0, n, 1, "int64"))


def _classes(n):
    return ops.cast(_chosen(n), F)


# rule name -> examples (graph of a placeholder x, shape of x, dtype, exact)
EXAMPLES = {
    "only_ones_move": [
        E(lambda x: ops.transpose(x, (0, 2, 1)), 3, 1, 4),
        E(lambda x: ops.transpose(x, (1, 0)), 1, 4, dtype="bool"),
    ],
    "elementwise_inside": [
        C(lambda x: ops.exp(turned(x)) - turned(x) + np.arange(3.0), 2, 3, 4),
        C(lambda x: turned(x) * np.arange(4.0)[:, None], 2, 3, 4),
    ],
    "reduction_inside": [
        E(lambda x: ops.argmax(ops.transpose(x, (0, 3, 2, 1)), 0), 2, 3, 4, 2),
        E(lambda x: ops.argmax(turned(x), 2), 2, 3, 4, dtype=ints),
        E(lambda x: ops.argmin(turned(x), 1), 2, 3, 4),
        C(lambda x: view("moment2", turned(x), axes=(0, 2)), 2, 3, 4),
    ],
    "concatenate_inside": [C(lambda x: ops.concatenate([turned(x), turned(-x)], 1), 2, 3, 4)],
    "slice_inside": [
        E(lambda x: turned(x)[:, 1:3], 2, 3, 4),
        E(lambda x: turned(x)[:, ::-2, 2], 2, 3, 4, dtype="uint8"),
        E(lambda x: turned(x)[:0], 2, 3, 4, dtype="bool"),
    ],
    "windows_summed": [
        C(lambda x: ops.sum(ops.reshape(x, (2, 2, 3, 2, 2, 8)), (2, 4)), 2, 6, 4, 8),
    ],
    "pad_inside": [
        C(lambda x: ops.pad(turned(x), ((0, 0), (1, 0), (0, 2))), 2, 3, 4),
        C(lambda x: ops.pad(turned(x), ((0, 1), (1, 0), (0, 2))), 0, 3, 4, dtype=ints),
    ],
    "masked_update": [
        E(lambda x: ops.set_subtensor(x, x > 0, x[x > 0] * 2 + 1), 5),
        E(lambda x: ops.set_subtensor(ops.exp(x), x > 0, x[x > 0] * x[x > 0]), 3, 5),
        E(lambda x: ops.set_subtensor(x, x[:, 0] > 0, x[x[:, 0] > 0] * x[0] + 1), 3, 5),
        E(lambda x: ops.set_subtensor(x, x[:, :, 0] > 0, ops.neg(x[x[:, :, 0] > 0])), 2, 3, 5),
        E(lambda x: ops.set_subtensor(x, x > 0, 7), 5),
        E(lambda x: ops.set_subtensor(x, ops.isnan(x), ops.cast(x[ops.isnan(x)] > 0, F)), 4),
        E(lambda x: ops.inc_subtensor(x, x > 0, x[x > 0] * 2), 3, 5),
        E(lambda x: ops.scatter_add(x, ops.mask_indices(x, x > 0, 0)[0], ops.sin(x[x > 0])), 5),
        E(lambda x: ops.set_subtensor(x, x > 0, x[x > 0]), 0, dtype="float32"),
        E(lambda x: ops.set_subtensor(x, x > 0, x[x > 0] - 1), 5, dtype="int8"),
    ],
    "masked_sum": [
        C(lambda x: ops.sum(x[x > 0]), 3, 5),
        C(lambda x: ops.sum(ops.exp(x[x > 0]) * x[x > 0]), 7),
        C(lambda x: ops.sum(x[x[:, 0] > 0], 0), 3, 5),
        C(lambda x: ops.sum(x[x[:, :, 0] > 0], (0, 1), keepdims=True), 2, 3, 5),
    ],
    "one_hot_product": [
        C(lambda x: ops.matmul(_classes(20), x), 20, 5),
        C(lambda x: ops.matmul(ops.transpose(_classes(20)), x), 6, 5),
        C(lambda x: ops.matmul(x, _classes(20)), 5, 6),
        C(lambda x: ops.matmul(x, ops.transpose(_classes(20) * 3)), 5, 20),
    ],
    "one_hot_sum": [
        C(lambda x: ops.sum(_classes(20) * x, 1), 6, 20),
        C(lambda x: ops.sum(ops.where(_chosen(20), ops.exp(x), 0), (0, 1)), 6, 20),
        C(lambda x: ops.sum(_classes(20) * ops.expand(x, (1,)), 0), 6),
        C(lambda x: ops.sum(ops.where(ops.eq(_classes(20), 0), 0, _classes(20) * x), 1), 6, 20),
    ],
}  # fmt: skip

# rule -> (dtype, graphs of x that it almost fits)
NEAR = {
    "only_ones_move": (F, [lambda x: turn(to(x, 2, 7), 1, 0)]),
    "reduction_inside": (F, [lambda x: ops.argmax(turn(to(x, 2, 7), 1, 0), 0),
                             lambda x: ops.argmin(turn(to(x, 2, 7), 1, 0), 0),
                             lambda x: view("moment2", turn(to(x, 2, 7), 1, 0), axes=(0,)),
                             lambda x: ops.argmax(turn(to(x, 2, 3, 7), 0, 2, 1))]),
    "slice_inside": (F, [lambda x: turn(to(x, 2, 3, 7), 1, 0, 2)[:, 1:]]),
    "pad_inside": (F, [lambda x: ops.pad(turn(to(x, 2, 7), 1, 0), ((1, 0), (0, 0)))]),
    "windows_summed": (F, [
        lambda x: ops.sum(as_shape(to(x, 8, 7), 2, 2, 2, 7), (1, 2)),
        lambda x: ops.sum(as_shape(to(x, 1, 4, 4, 7), 1, 2, 2, 2, 2, 7), (2, 4))]),
    "masked_update": (F, [
        lambda x: ops.set_subtensor(x, x > 0, ops.softmax(x[x > 0])),  # not elementwise
        lambda x: ops.set_subtensor(x, x > 0, ops.sort(x[x > 0])),
        lambda x: ops.set_subtensor(x, x > 0, ops.cumsum(x[x > 0], 0)),
        lambda x: ops.set_subtensor(x, x > 0, x[ops.logical_not(x > 0)]),  # another mask
        lambda x: ops.set_subtensor(x, x > 0, x[x > 0][::-1]),
        lambda x: ops.set_subtensor(x, x > 0, x[ops.nonzero(x > 0)[0] - 1]),
        lambda x: ops.set_subtensor(x, x > 0, x[x > 0] + x),  # fits where all is taken
        lambda x: ops.set_subtensor(x, ops.nonzero(x)[0], ops.nonzero(x)[0] * 2),
        lambda x: ops.set_subtensor(to(x, 2, 7), (slice(None), x > 0), to(x, 2, 7)[:, x > 0]),
        lambda x: ops.set_subtensor(to(x, 7, 7), (x > 0, 1), 2.0),  # a number beside the mask
        lambda x: ops.inc_subtensor(to(x, 7, 7), (x > 0, 1), x[x > 0])]),
    "one_hot_product": (F, [
        lambda x: ops.matmul(_classes(7) + 1, as_shape(x, 7, 1)),
        lambda x: ops.matmul(ops.cast(_classes(7) > 1, F), as_shape(x, 7, 1))]),
    "one_hot_sum": (F, [
        lambda x: ops.sum(_classes(7) * x, 1), lambda x: ops.max(_classes(20) * x[0], 1),
        lambda x: ops.sum(_classes(20) * ops.arange(0, 20, 1, F) * ops.sum(to(x, 20, 7), 1), 1)]),
    "masked_sum": (F, [lambda x: ops.max(x[x > 0]), lambda x: ops.sum(ops.sort(x[x > 0])),
                       lambda x: ops.prod(x[x > 0]), lambda x: ops.sum(x[ops.argsort(x)]),
                       lambda x: ops.sum(ops.transpose(to(x, 7, 7)[x > 0]), 1),
                       lambda x: ops.sum(to(ops.expand(x, (1,)), 7, 2)[x > 0], 1)]),
    "elementwise_inside": (F, [lambda x: ops.exp(turn(to(x, 2, 7), 1, 0)),
                               lambda x: image(x, 0, 2, 1) + constant(dense(2, 7, 3)),
                               lambda x: ops.exp(image(x, 1, 0, 2))]),
    "concatenate_inside": (F, [
        lambda x: ops.concatenate([image(x, 0, 2, 1), constant(dense(2, 7, 3))], 0),
        lambda x: ops.concatenate([image(x, 1, 0, 2), image(x, 1, 0, 2)], 0)]),
}  # fmt: skip
