"""What holds for every schedule: no cycle, each value in one place, axes that agree; and what
making one costs."""

import sys

import pytest
from codegen.random_graphs import Case

from ckernels.graph.walk import toposort
from ckernels.runtime.program import concretise
from ckernels.schedule.fuse import fuse, fusible
from ckernels.schedule.gathers import is_gather
from ckernels.schedule.group import operand_maps, peel
from ckernels.schedule.units import Units

from . import nets

NETS = {
    "residual": (nets.residual, 6), "long batch norm": (lambda n: nets.residual(n, 4100, 24), 3),
    "attention": (nets.attention, 3), "chain": (nets.chain, 150), "sines": (nets.sines, 60),
    "adam": (nets.adam, 30), "batch norm": (nets.batch_norm, 8300),
}  # fmt: skip


def groups_of(home):
    return list({id(g): g for groups in home.values() for g in groups}.values())


def check(roots):
    """Assert all that the planner takes for granted."""
    order, home = fuse(roots)
    assert {n.uid for n in order} == {n.uid for n in toposort(roots)}
    rank = {n.uid: i for i, n in enumerate(order)}
    assert len(rank) == len(order)
    assert all(rank[x.uid] < rank[n.uid] for n in order for x in n.inputs)
    assert {n.uid for n in order if n.uid in home and not is_gather(n)} == {
        n.uid for n in order if fusible(n)
    }
    for group in groups_of(home):
        assert [n.uid for n in group.nodes] == sorted({n.uid for n in group.nodes}, key=rank.get)
        assert set(group.maps) == {n.uid for n in group.nodes}
        assert all(group in home[n.uid] for n in group.nodes)
    for uid, groups in home.items():
        assert groups and len({id(g) for g in groups}) == len(groups)
        assert all(uid in g.maps for g in groups)
    check_axes(home)
    check_order(order, home)


def check_axes(home):
    """A member that a loop computes is used there along the axes it is computed along."""
    for group in groups_of(home):
        for node in group.nodes:
            for operand, want in operand_maps(node, group.maps[node.uid], group):
                base, want = peel(operand, want)
                if base.uid in group.maps:
                    assert group.maps[base.uid] == want
                for axis, size in zip(want, base.shape):
                    assert axis is None or size == group.domain[axis]


def check_order(order, home):
    """Loops and single nodes can run one after the other: each value comes from its first home."""
    unit = {}
    for node in order:
        unit[node.uid] = home[node.uid][0] if node.uid in home else node
    reads = {}
    for group in groups_of(home):
        read = [
            peel(x, want)[0]
            for n in group.nodes
            for x, want in operand_maps(n, group.maps[n.uid], group)
        ]
        reads[id(group)] = [x for x in read if x.uid not in group.maps]
    for node in order:
        if node.uid not in home:
            reads[id(node)] = node.inputs
    waiting = {key: {id(unit[x.uid]) for x in xs} - {key} for key, xs in reads.items()}
    users = {}
    for key, needed in waiting.items():
        for other in needed:
            users.setdefault(other, []).append(key)
    ready = [key for key, needed in waiting.items() if not needed]
    done = 0
    while ready:
        key, done = ready.pop(), done + 1
        for user in users.get(key, ()):
            waiting[user].discard(key)
            if not waiting[user]:
                ready.append(user)
    assert done == len(waiting), "a cycle of loops"


@pytest.mark.parametrize("name", NETS)
def test_schedules_of_deep_graphs(name):
    make, size = NETS[name]
    check(nets.prepared(make(size)[1]))


@pytest.mark.parametrize("seed", range(60))
def test_schedules_of_random_graphs(seed):
    case = Case(
        seed,
        ("float64", "float32", "int32")[seed % 3],
        **({"largest": 100_000} if seed % 2 else {}),
    )
    check(nets.prepared(concretise(case.outputs, {n: a.shape for n, a in case.leaves})))


def calls(roots):
    """Python calls that scheduling takes, per node: a clock that nothing disturbs."""
    count = 0

    def watch(frame, event, arg):
        nonlocal count
        count += event == "call"

    sys.setprofile(watch)
    try:
        order = fuse(roots).order
    finally:
        sys.setprofile(None)
    return count / len(order)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", NETS)
def test_time_is_in_proportion_to_the_graph(name):
    """Four times the depth takes at most 1.3 times the calls per node."""
    make, size = NETS[name]
    few, many = (calls(nets.prepared(make(n)[1])) for n in (2 * size, 8 * size))
    assert many < 1.3 * few, (few, many)


@pytest.mark.parametrize("name", ["residual", "long batch norm", "attention"])
def test_below_knows_what_reaches_what(name, monkeypatch):
    """After fusion the bitsets agree with a search through the groups."""
    make, size = NETS[name]
    made = []
    monkeypatch.setattr(
        "ckernels.schedule.fuse.Units", lambda users: made.append(Units(users)) or made[0]
    )
    fuse(nets.prepared(make(size)[1]))
    (units,) = made
    groups = groups_of(units.home)
    for a in groups:
        seen, stack = set(), list(units.outside(a.number))
        while stack:
            at = stack.pop()
            if at not in seen:
                seen.add(at)
                stack.extend(units.outside(at))
        for b in groups:
            if a is not b:
                found = units.reaches(units.outside(a.number), b)
                assert found == (b.number in seen), (a, b)
