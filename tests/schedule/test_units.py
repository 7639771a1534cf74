"""What flows where while loops are formed: the answers from bitsets are those of a search."""

import numpy as np
import pytest

from ckernels import ops
from ckernels.graph.node import make, new_uid
from ckernels.schedule.fuse import _Fuser
from ckernels.schedule.group import Group


def leaf(*shape):
    attrs = {"uid": new_uid(), "dtype": "float64", "shape": shape, "name": None}
    return make("placeholder", (), attrs)


def batch_norms(rng):
    """Sums over rows and columns of few tensors, each of which reads the ones before."""
    nodes = [leaf(40, 30), leaf(40, 30)]
    for _ in range(int(rng.integers(8, 25))):
        x, y = (nodes[int(k)] for k in rng.integers(0, len(nodes), 2))
        axes = [(0,), (1,), (0, 1)][int(rng.integers(3))]
        kind = int(rng.integers(4))
        if kind == 0:
            nodes.append(ops.sub(x, ops.sum(y, axes, keepdims=True)))
        elif kind == 1:
            nodes.append(ops.mul(x, ops.max(ops.mul(x, y), axes, keepdims=True)))
        elif kind == 2:
            nodes.append(ops.add(ops.sin(x), y))
        else:
            nodes.append(ops.cumsum(x, 0))
    return [*nodes[-2:], ops.sum(nodes[-3]), ops.sum(nodes[-1], 1)]


@pytest.mark.parametrize("seed", range(12))
def test_what_reaches_what(seed):
    """After all that is joined, merged and cut."""
    fuser = _Fuser(batch_norms(np.random.default_rng(seed)), False)
    fuser.run()
    units = fuser.units
    alive = [n for n, u in enumerate(units.units) if not isinstance(u, Group) or u.nodes]
    readers = {n: units.outside(n) for n in alive}

    def behind(number):
        seen, stack = set(), list(readers[number])
        while stack:
            at = stack.pop()
            if at not in seen:
                seen.add(at)
                stack.extend(readers[at])
        return seen

    groups = [n for n in alive if isinstance(units.units[n], Group)]
    assert len(groups) > 2
    for a in groups:
        found = behind(a)
        assert a not in found
        for b in groups:
            if a != b:
                said = units.reaches(units.outside(a), units.units[b])
                assert said == (b in found), (a, b)
