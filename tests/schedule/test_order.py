"""The order of units, and what is noted of loops that might run on rows of a product."""

from types import SimpleNamespace

import numpy as np
import pytest

from ckernels import ops
from ckernels.graph.node import placeholder
from ckernels.schedule.follow import BEHIND, RUNS
from ckernels.schedule.order import Order, Unit


def unit(*needs, group=None, nodes=()):
    made = Unit(nodes, group)
    made.needs = set(needs)
    return made


def test_ends_of_paths_come_first_the_very_last_one_before_all():
    chain = [unit()]
    for _ in range(5):
        chain.append(unit(chain[-1]))
    before = unit()
    end = unit(before)
    order, taken = Order([*chain, before, end]), []
    while not order.empty():
        taken.append(order.first())
        order.finish(taken[-1])
    assert taken == [before, end, *chain]


def test_a_unit_waits_for_all_that_it_needs():
    a, b = unit(), unit()
    both = unit(a, b)
    order = Order([a, b, both])
    order.finish(a)
    assert both.waits == 1 and order.first() is b
    order.finish(b)
    assert order.first() is both


class Notes(dict):
    """The Reasons of a Schedule: why a loop does not run on rows of a product."""

    def note(self, node, group, reason):
        self[group.name] = reason

    def on_rows(self, node, group):
        return self.get(group.name)


def test_loops_that_are_not_chosen_are_told_why():
    """But for those that have a reason of their own; what is no loop is told nothing."""
    product = ops.matmul(placeholder("float32", (4, 3)), placeholder("float32", (3, 2)))
    for reason, other in ((None, RUNS(product)), ("another", BEHIND(product))):
        made = unit(nodes=[product])
        names = ("chosen", "beside", "refused")
        users = [unit(made, group=SimpleNamespace(name=n, partial=())) for n in names]
        order = Order([made, *users, unit(made, nodes=[ops.sort(product, 0)])])
        notes = Notes(refused="its own")
        order.settle(made, users[0], reason, notes)
        want = {"chosen": reason, "beside": other, "refused": "its own"}
        assert {k: str(r) for k, r in notes.items()} == {k: str(r) for k, r in want.items()}


def test_sums_run_on_rows_only_when_all_that_they_need_is_done():
    def loop(reduced=(), partial=False, maps=(), varying=()):
        return SimpleNamespace(reduced=reduced, partial=partial, maps=maps, varying=varying)

    rows, other = unit(group=loop((1,), maps=(7,))), unit()
    first = unit(rows, group=loop((0,), True, varying=(7,)))
    late = unit(rows, other, group=loop((0,), True, varying=(7,)))
    else_ = unit(rows, group=loop((0,), True, varying=(8,)))
    order = Order([rows, other, late, else_, first])
    assert order.on_rows(rows) is None  # all wait for the rows
    order.finish(rows)
    assert order.on_rows(rows) is first
    assert order.on_rows(first) is None and order.on_rows(other) is None  # chunks, and no loop
    order.finish(first)
    assert order.on_rows(rows) is None
    order.finish(other)
    assert order.on_rows(rows) is late
    flat = unit(group=loop(maps=(7,)))
    assert order.on_rows(flat) is None


@pytest.mark.parametrize("seed", range(3))
def test_after_a_product_comes_a_loop_that_runs_on_its_rows(seed, monkeypatch):
    """Else the first that waits for nothing else; what is no loop, or is done, is none."""
    monkeypatch.setattr("ckernels.schedule.order.later", lambda product, other: other.group.reason)
    rng = np.random.default_rng(seed)
    product = ops.matmul(placeholder("float32", (4, 3)), placeholder("float32", (3, 2)))
    for _ in range(60):
        made, other = unit(nodes=[product]), unit()
        users = []
        for name in range(4):
            group = SimpleNamespace(name=name, partial=(), reason=rng.choice([None, "another"]))
            loop = {"group": group} if rng.random() < 0.8 else {"nodes": [ops.sort(product, 0)]}
            users.append(unit(made, *([other] if rng.random() < 0.4 else []), **loop))
        order, notes = Order([made, other, *users]), Notes()
        order.finish(made)
        users[3].done = bool(rng.integers(2))
        loops = [u for u in users if u.group is not None and not u.done]
        ready = [u for u in loops if not u.waits]
        ready.sort(key=lambda u: u.group.reason is not None)
        found = order.on_product(made, notes)
        assert found is (ready[0] if ready else None)
        assert notes == {u.group.name: u.group.reason for u in loops}
