"""Batching any operands of an op, indices and conditions too: as one by one, or no rule."""

from itertools import combinations

import numpy as np
import pytest
from ops.agree import leaf

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.autodiff.batch import NoBatchRule, batched
from ckernels.graph.node import make
from ckernels.ops.reference import evaluate

RNG = np.random.default_rng(21)
B = 3
I = np.array([2, 0, 1, 1])  # noqa: E741
IJ = np.array([[1, 0], [2, 2]])


def real(*shape):
    return RNG.normal(size=shape)


def spd(n):
    a = real(n, n)
    return a @ a.T + n * np.eye(n)


X = real(4, 3, 5)
# name: (what is built of operands, their first values, operands that may not vary)
BUILDS = {
    "elementwise": (lambda x, y, z: ops.where(x > 0, y, z), [real(4, 3), real(3), real(4, 1)], ()),
    "take": (lambda x, i: ops.take(x, i), [X, I], ()),
    "take of middle": (lambda x, i: ops.take(x, i, 1), [X, I], ()),
    "take of last": (lambda x, i: ops.take(x, i, -1), [X, IJ], ()),
    "take of one": (lambda x, i: ops.take(x, i, 1), [X, np.array(2)], ()),
    "scatter_add": (lambda x, i, g: ops.scatter_add(x, i, g), [X, I, real(4, 3, 5)], (1,)),
    "take_along_axis": (lambda x, i: ops.take_along_axis(x, i, 1), [real(2, 3), IJ], ()),
    "put_along_axis_add": (lambda x, i, g: ops.put_along_axis_add(x, i, g, 1),
                           [real(2, 3), IJ, real(2, 2)], ()),
    "advanced": (lambda x, i, j: ops.getitem(x, (i, slice(None), j)), [X, I, I], (1, 2)),
    "advanced_set": (lambda x, i, y: ops.set_subtensor(x, (i, i), y), [X, IJ[0], real(5)], (1,)),
    "dynamic_slice": (lambda x, n: ops.getitem(x, slice(n, None)), [X, np.array(1)], (1,)),
    "reshape": (lambda x, n: ops.reshape(x, n), [real(4, 3), np.array([6, 2])], (1,)),
    "broadcast_to": (lambda x, n: ops.broadcast_to(x, n), [real(3), np.array([2, 3])], (1,)),
    "pad": (lambda x, v: ops.pad(x, ((1, 0), (0, 2)), value=v), [real(2, 3), real()], (1,)),
    "matmul": (ops.matmul, [real(4, 3), real(3, 2)], ()),
    "matmul by a column": (ops.matmul, [real(4, 3), real(3, 1)], ()),
    "matmul of a row by a column": (ops.matmul, [real(1, 3), real(3, 1)], ()),
    "matmul in a batch": (ops.matmul, [real(2, 4, 3), real(3, 2)], ()),
    "matmul with a stack": (ops.matmul, [real(4, 3), real(2, 3, 5)], ()),
    "dot": (ops.dot, [real(3), real(3)], ()),
    "cumsum": (lambda x: ops.cumsum(x, 1), [X], ()),
    "argsort": (lambda x: ops.argsort(x, 1), [X], ()),
    "argmax": (lambda x: ops.argmax(x, 1), [X], ()),
    "solve": (ops.solve, [spd(3), real(3, 2)], ()),
    "solve of a vector": (ops.solve, [spd(3), real(3)], ()),
    "cholesky": (ops.cholesky, [spd(3)], ()),
    "lu": (lambda x: make("lu", (x,)), [spd(3)], ()),
    "diagonal": (lambda x: ops.diagonal(x, 1), [real(3, 4)], ()),
    "diagonal_place": (lambda x, g: make("diagonal_place", (x, g), {"offset": 0, "axes": (0, 1)}),
                       [real(3, 3), real(3)], ()),
    "fill_diagonal": (ops.fill_diagonal, [real(3, 3), real()], ()),
    "softmax": (lambda x: ops.softmax(x, 1), [X], ()),
    "concatenate": (lambda x, y: ops.concatenate([x, y], 1), [X, real(4, 1, 5)], ()),
    "choose": (lambda c, x, y: make("choose", (c, x, y)), [np.array(True), X, real(4, 3, 5)], (0,)),
    "transposed": (lambda x: ops.transpose(x, (2, 0, 1))[::-1], [X], ()),
    "set_slice": (lambda x, y: ops.set_subtensor(x, slice(1, 3), y), [X, real(3, 5)], ()),
    "inc_slice": (lambda x, y: ops.inc_subtensor(x, slice(1, 3), y), [X, real(3, 5)], ()),
    "advanced_inc": (lambda x, i, y: ops.inc_subtensor(x, (i, slice(None), i), y),
                     [X, IJ[0], real(2, 3)], (1,)),
    **{f"advanced_combine {how}": (
           lambda x, i, y, how=how: ops.combine_subtensor(x, (i, slice(None), i), y, how),
           [X, IJ[0], real(2, 3)], (1,)) for how in ("max", "min")},
    **{name: (lambda x, name=name: getattr(ops, name)(x, 1), [X], ())
       for name in ("cummax", "cummin", "numpy_argsort")},
    **{f"numpy_partition {places}": (lambda x, p=places: ops.numpy_partition(x, 1, 1, p), [X], ())
       for places in (False, True)},
    "sliding_windows": (lambda x: ops.sliding_windows(x, 1, 2), [X], ()),
    "dynamic_write": (lambda x, y, n: ops.set_subtensor(x, slice(n, None), y),
                      [X, real(3, 5), np.array(1)], (2,)),
    "a mask": (lambda x, m: ops.getitem(x, m), [real(4), np.array([True, False, True, True])],
               (0, 1)),
    "expand and squeeze": (lambda x: ops.squeeze(ops.expand(x, (0, 2)), 0), [X], ()),
    "sizes only": (lambda x, y: ops.add(ops.broadcast_like(y, x), ops.count(x, (0, 1))),
                   [X, real(5)], ()),
    "unbroadcast": (ops.unbroadcast, [X, real(3, 1)], ()),
    "logaddexp": (ops.logaddexp, [real(3), real(4, 3)], ()),
    "sort": (lambda x: ops.sort(x, 1), [X], ()),
    "selected": (lambda x, p: ops.selected(x, p), [X, np.array([2, 0])], (1,)),
    "sylvester": (lambda a, b, c: make("sylvester", (a, b, c)),
                  [spd(3), spd(2), real(3, 2)], ()),
    "solve_triangular": (lambda a, b: make("solve_triangular", (a, b), {
        "lower": True, "trans": False, "unit": False, "vector": False}), [spd(3), real(3, 2)], ()),
    **{name: (lambda x, name=name: getattr(ops, name)(x, 1), [X], ())
       for name in ("cumprod", "log_softmax", "logsumexp", "mean", "var")},
    **{name: (getattr(ops, name), [spd(3)], ())
       for name in ("inverse", "det", "pinv", "tril", "triu", "expm", "eigvalsh")},
    **{f"{name} {k}": (lambda x, name=name, k=k: getattr(ops, name)(x)[k], [spd(3)], ())
       for name in ("qr", "eigh", "svd", "slogdet") for k in (0, 1)},
}  # fmt: skip
CASES = [
    (name, wide)
    for name, (_, values, _) in BUILDS.items()
    for n in range(1, len(values) + 1)
    for wide in combinations(range(len(values)), n)
]


def another(value, k):
    """Another value of the same kind, for place `k` of the batch."""
    if value.dtype.kind == "f":
        return value * (1 + 0.25 * k) + (0.5 * k if value.ndim < 2 else 0)
    if value.dtype.kind == "b":
        return value ^ bool(k % 2)
    return np.roll(value, k) if value.ndim else (value + k) % 3


@pytest.mark.parametrize("name, wide", CASES)
def test_as_one_by_one(name, wide):
    build, values, alike = BUILDS[name]
    leaves = [leaf(v.shape, str(v.dtype)) for v in values]
    many = {k: leaf((B, *values[k].shape), str(values[k].dtype)) for k in wide}
    node = build(*leaves)
    if set(wide) & set(alike):
        with pytest.raises(NoBatchRule):
            batched([node], {leaves[k]: many[k] for k in wide})
        return
    (found,) = batched([node], {leaves[k]: many[k] for k in wide})
    stacked = {k: np.stack([another(values[k], b) for b in range(B)]) for k in wide}
    env = {many[k]: stacked[k] for k in wide}
    (got,) = evaluate([found], {**dict(zip(leaves, values)), **env})
    want = []
    for b in range(B):
        given = [stacked[k][b] if k in wide else v for k, v in enumerate(values)]
        want.append(evaluate([node], dict(zip(leaves, given)))[0])
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
    assert got.shape == np.shape(want)


def test_scans_that_end_for_all_rows_at_once():
    x, h, limit = leaf((6,), "float64"), leaf((2,), "float64"), leaf((), "float64")
    tensors = [Tensor(n) for n in (x, h, limit)]
    states, _ = K.scan(lambda a, h, most: (h + a, K.until(a > most)), *tensors[:2], tensors[2:])
    node = states.node
    many = leaf((B, 2), "float64")
    (found,) = batched([node], {h: many})
    env = {x: np.arange(6.0), limit: np.array(2.5)}
    firsts = real(B, 2)
    (got,) = evaluate([found], {**env, many: firsts})
    want = [evaluate([node], {**env, h: first})[0] for first in firsts]
    np.testing.assert_array_equal(got, want)
    assert got.shape == (B, 4, 2)
    for one in (limit, x):
        with pytest.raises(NoBatchRule, match="ends at another step"):
            batched([node], {one: leaf((B, *one.shape), "float64")})
