"""Loops side by side become one where they see what they share alike; where one of them makes what
the other reads turned, or reads it in two ways, they do not: values beside NumPy's."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from codegen.planned import leaf

from ckernels import ops
from ckernels.runtime.function import make_function
from ckernels.schedule import legal
from ckernels.schedule.group import Group

RNG = np.random.default_rng(2)
N = 96
U, Y = RNG.normal(size=(2, N, N)).astype("float32")
E = np.exp(U) / np.exp(U).sum(1, keepdims=True)
PARTS = {
    "makes": (lambda x, y: x, E),
    "straight": (lambda x, y: y + x, Y + E),
    "turned": (lambda x, y: y * ops.transpose(x), Y * E.T),
    "sums": (lambda x, y: ops.sum(y - x, 1), (Y - E).sum(1)),
    "sums turned": (lambda x, y: ops.sum(y + ops.transpose(x), 1), (Y + E.T).sum(1)),
    "both": (lambda x, y: ops.tanh(y) * x + ops.transpose(x), np.tanh(Y) * E + E.T),
}


def run(names):
    u, y = leaf((N, N), "float32"), leaf((N, N), "float32")
    x = ops.softmax(u)
    f = make_function([u, y], [PARTS[n][0](x, y) for n in names], positional_only=True)
    for got, name in zip(f(U, Y), names):
        np.testing.assert_allclose(got, PARTS[name][1], rtol=2e-5, atol=1e-4)
    return f


@pytest.mark.sampled(0)
@pytest.mark.parametrize("count", [2, 3])
def test_what_is_shared_straight_and_turned(count):
    for names in itertools.permutations(PARTS, count):
        run(names)


def test_alike_is_one_loop():
    assert len(run(["straight", "sums"]).info.program.instructions) == len(
        run(["sums"]).info.program.instructions
    )


# ---- what keeps two loops apart ------------------------------------------------------------------

STRAIGHT, TURNED = (0, 1), (1, 0)
X, Z = 1, 2  # numbers of tensors: what both see, and another one


def loop(domain=(8, 6), reduced=(), **parts):
    group = Group(domain, reduced)
    vars(group).update({"wants": {X: (STRAIGHT,)}, **parts})
    return group


def node(name, shape):
    return SimpleNamespace(op=SimpleNamespace(name=name), shape=shape)


def apart(one, other):
    """The Reason, which is that of either order."""
    reason = legal.merge_fits(one, other, X)
    assert legal.merge_fits(other, one, X) is reason
    return reason


@pytest.mark.parametrize(
    "one, other, reason",
    [
        ((STRAIGHT,), (STRAIGHT,), None),
        ((STRAIGHT,), (TURNED,), legal.UNLIKE),
        ((STRAIGHT, TURNED), (STRAIGHT, TURNED), legal.UNLIKE),
        ((STRAIGHT,), (STRAIGHT, TURNED), legal.UNLIKE),
        (((None, 1),), ((None, 1),), None),
        (((None, None),), ((None, None),), legal.UNLIKE),
    ],
)
def test_what_they_share_is_seen_along_the_same_axes(one, other, reason):
    assert apart(loop(wants={X: one}), loop(wants={X: other})) is reason


@pytest.mark.parametrize("see", ["maps", "wants"])
@pytest.mark.parametrize("how, reason", [(STRAIGHT, None), (TURNED, legal.CROSSED)])
def test_what_one_makes_the_other_sees_as_it_is_made(see, how, reason):
    seen = {"maps": {Z: how}} if see == "maps" else {"wants": {X: (STRAIGHT,), Z: (how,)}}
    assert apart(loop(maps={Z: STRAIGHT}), loop(**seen)) is reason


def test_what_one_reads_at_indices_the_other_does_not_make():
    assert apart(loop(held={Z}), loop(maps={Z: STRAIGHT})) is legal.PICKED
    assert apart(loop(held={Z}), loop(maps={Z + 1: STRAIGHT})) is None


def test_together_they_are_no_larger_than_one_may_be():
    for parts, reason in (
        (lambda k: {"nodes": [node("neg", ())] * (legal.MAX_MEMBERS - 3 + k)}, legal.TOGETHER_FULL),
        (lambda k: {"cost": legal.MAX_COST - 3.0 + k}, legal.TOGETHER_FULL),
        (lambda k: {"varying": set(range(9, 6 + legal.MAX_STREAMS + k))}, legal.TOGETHER_WIDE),
    ):
        small = {"nodes": [node("neg", ())] * 3, "cost": 3.0, "varying": {3, 4, 5}}
        assert apart(loop(**parts(0)), loop(**small)) is None
        assert apart(loop(**parts(1)), loop(**small)) is reason


def test_they_run_over_the_same():
    assert apart(loop(), loop((6, 8))) is legal.DIFFERENT
    assert apart(loop(reduced=(1,)), loop(reduced=(0,))) is legal.DIFFERENT
    assert apart(loop(reduced=(1,)), loop(reduced=(1,))) is None
    sums = node("partial", (4, 6))
    chunks = dict(partial=True, reduced=(0,), nodes=[sums, node("exp", (8, 6))])
    more = dict(chunks, nodes=[sums, node("partial", (2, 6))])
    assert apart(loop(**chunks), loop(**chunks)) is None
    assert apart(loop(**chunks), loop(**more)) is legal.DIFFERENT
    assert apart(loop(**chunks), loop(**{**chunks, "reduced": (1,)})) is legal.DIFFERENT
    assert apart(loop(**chunks), loop(reduced=(0,))) is legal.DIFFERENT


def test_a_flat_loop_beside_rows():
    rows, long = legal.LEAST_ROWS, legal.SERIAL_REDUCTION
    for domain, reason in (
        ((rows, long), None),
        ((rows - 1, long), legal.FEW_ROWS),
        ((1, long), None),
        ((1, long + 1), legal.FEW_ROWS),
    ):
        assert apart(loop(domain), loop(domain, (1,))) is reason, domain
    assert apart(loop(), loop(reduced=(1,), stored=True)) is legal.BY_ROWS
