"""Random graphs of integers and bools at the limits of their dtypes: what rules and kernels make of
them equals NumPy's result without any difference."""

import numpy as np
import pytest

from ckernels import ops
from ckernels.base import dtypes
from ckernels.graph.node import constant, make
from ckernels.ops.reference import evaluate
from ckernels.rewrite import optimise
from ckernels.runtime.function import make_function

from .helpers import placeholder
from .test_every_dtype import limits

DISCRETE = [*dtypes.BOOL, *dtypes.INTEGERS]
LENGTHS = (0, 1, 2, 7, 40)
OF_ONE = "neg abs square sign relu bit_not".split()
OF_TWO = "add sub mul maximum minimum bit_and bit_or bit_xor floor_div mod".split()
COMPARE = "eq ne lt le gt ge".split()
OF_BOOL = "logical_and logical_or logical_xor bit_and bit_or maximum minimum mul".split()


class Case:
    """leaves, arrays, roots: graphs of discrete dtypes; two of their leaves are of one dtype."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.seed, self.n = seed, self.pick(LENGTHS)
        first = self.pick(DISCRETE)
        self.leaves, self.arrays, self.pool = [], [], []
        for dtype in (first, first, self.pick(DISCRETE)):
            shape = self.pick([(), (self.n,), (3, self.n), (self.n, 1)])
            self.leaves.append(placeholder(dtype, shape))
            self.arrays.append(self.rng.choice(limits(dtype), shape).astype(dtype))
        self.pool += self.leaves
        for _ in range(int(self.rng.integers(2, 9))):
            self.step()
        self.roots = self.pool[3:]

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def like(self, x):
        """Another operand of the dtype of `x`, of a shape that fits: a node or a number."""
        if self.rng.random() < 0.4:
            return constant(self.pick(limits(x.dtype)), x.dtype)
        y = self.pick(self.pool[-4:])
        fits = [d for d in (x, y) if d.ndim == 0 or d.shape == x.shape]
        return ops.cast(fits[-1], x.dtype)

    def step(self):
        x = self.pick(self.pool[-4:])
        way = self.pick([self.one, self.two, self.two, self.choice, self.cast, self.power,
                         self.view, self.reduced, self.twice])  # fmt: skip
        self.pool.append(way(x))

    def number(self, x):
        """`x`, or bools as the numbers 0 and 1."""
        return ops.cast(x, self.pick(["int8", "uint8"])) if x.dtype == "bool" else x

    def one(self, x):
        return ops.logical_not(x) if x.dtype == "bool" else getattr(ops, self.pick(OF_ONE))(x)

    def two(self, x):
        names = OF_BOOL if x.dtype == "bool" else OF_TWO
        pair = [x, self.like(x)]
        a, b = pair if self.rng.random() < 0.5 else pair[::-1]
        name = self.pick(names)
        if name in ("floor_div", "mod"):
            b = ops.where(ops.eq(b, 0), constant(1, b.dtype), b)
        return getattr(ops, name)(a, b)

    def twice(self, x):
        """An op of an op of its kind: what merges, meets or goes away."""
        x = self.number(x)
        f, g = (getattr(ops, self.pick(OF_ONE)) for _ in range(2))
        y = self.like(x)
        return self.pick([
            lambda: f(g(x)), lambda: ops.abs(-x), lambda: ops.square(ops.abs(x)),
            lambda: ops.add(ops.sub(x, y), y), lambda: ops.mul(-x, ops.neg(y)),
            lambda: ops.maximum(x, x), lambda: ops.sub(x, x), lambda: -(x * y),
        ])()  # fmt: skip

    def choice(self, x):
        return ops.where(getattr(ops, self.pick(COMPARE))(x, self.like(x)), x, self.like(x))

    def cast(self, x):
        return ops.cast(x, self.pick(DISCRETE))

    def power(self, x):
        return self.number(x) ** self.pick([0, 1, 2, 3, 4])

    def view(self, x):
        if x.ndim == 0:
            return make("expand", (x,), {"axes": (0,)})
        return self.pick([
            lambda: ops.slice_(x, [(None, None, -1)]), lambda: make("expand", (x,), {"axes": (0,)}),
            lambda: ops.transpose(x), lambda: ops.reshape(x, (-1,) if x.size else (0,)),
        ])()  # fmt: skip

    def reduced(self, x):
        if x.ndim == 0:
            return x
        axes = (self.pick(range(x.ndim)),)
        op = self.pick(["any", "all"] if x.dtype == "bool" else ["sum", "prod", "max", "min"])
        if op in ("max", "min") and x.shape[axes[0]] == 0:
            op = "sum"
        return make(op, (x,), {"axes": axes})

    def wrong(self, got):
        """A line when `got` are not the values of the graphs."""
        with np.errstate(all="ignore"):
            wanted = evaluate(self.roots, dict(zip(self.leaves, self.arrays)))
        for root, a, b in zip(self.roots, map(np.asarray, got), wanted):
            if a.dtype != b.dtype or not np.array_equal(a, b):
                return f"seed {self.seed}: {root!r} of {self.arrays} gives {a!r} instead of {b!r}"
        return None


def search(seeds):
    """What is wrong with rewritten graphs, evaluated by NumPy."""
    found = []
    for seed in seeds:
        case = Case(seed)
        with np.errstate(all="ignore"):
            new = optimise(case.roots)
            found.append(case.wrong(evaluate(new, dict(zip(case.leaves, case.arrays)))))
    assert not any(found), "\n".join(filter(None, found))


def search_compiled(seeds, per=20):
    """The same of compiled functions of some cases each."""
    found = []
    for first in range(seeds.start, seeds.stop, per):
        cases = [Case(seed) for seed in range(first, min(first + per, seeds.stop))]
        leaves = [n for c in cases for n in c.leaves]
        function = make_function(leaves, [r for c in cases for r in c.roots], positional_only=True)
        got = iter(function(*[a for c in cases for a in c.arrays]))
        found += [c.wrong([next(got) for _ in c.roots]) for c in cases]
    assert not any(found), "\n".join(filter(None, found))


def test_rewritten_integers():
    search(range(400))


def test_compiled_integers():
    search_compiled(range(2000, 2080))


@pytest.mark.slow
def test_many_rewritten_integers(many):
    search(range(10_000, 10_000 + many))


@pytest.mark.slow
def test_many_compiled_integers(many):
    search_compiled(range(100_000, 100_000 + many // 10))


def test_the_generator_reaches_every_dtype_and_size():
    cases = [Case(seed) for seed in range(300)]
    assert {n.dtype for c in cases for n in c.leaves} == set(DISCRETE)
    assert {c.n for c in cases} == set(LENGTHS)
    assert sum(c.roots[-1].size == 0 for c in cases) > 20
    assert all(dtypes.is_discrete(root.dtype) for c in cases for root in c.roots)
