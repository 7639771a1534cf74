"""Functions that update several variables, drawn at random, beside the same program in NumPy.

All that a call computes sees the variables as they were before it: outputs that are views of them,
updates of one by another and back, stores into parts that other updates read, additions to rows
that are named twice. Calls of several functions alternate, values are set and read between them,
and what was given or taken is written over afterwards, which no variable sees. Numbers are whole,
so that all is exact. Variables are those of any dialect, and functions of others read and update
them.
"""

import numpy as np
import pytest

import ckernels as K
import ckernels.compat.theano as theano
import ckernels.compat.theano.tensor as T
from ckernels.compat import keras1, keras2, natural_bm

DIALECTS = {
    "K": (K.variable, lambda *a, **k: K.function(*a, **k)),
    "keras1": (keras1.variable, lambda i, o, updates: keras1.function(i, o, updates=updates)),
    "keras2": (keras2.variable, lambda i, o, updates: keras2.function(i, o, updates=updates)),
    "natural_bm": (lambda x, dtype, name: natural_bm.variable(x, dtype=dtype, name=name),
                   lambda i, o, updates: K.function(i, o, updates=updates)),
    "theano": (lambda x, dtype, name: theano.shared(np.asarray(x, dtype), name),
               lambda i, o, updates: theano.function(i, o, updates=updates,
                                                     on_unused_input="ignore")),
}  # fmt: skip
F = "float64"
SIZES = (0, 1, 2, 3, 3, 5, 8, 33)


class Expression:
    """A tensor, and the function of the values of variables and inputs that it is in NumPy."""

    def __init__(self, tensor, value):
        self.tensor, self.value = tensor, value


class Program:
    def __init__(self, seed):
        self.r = r = np.random.default_rng(seed)
        n = int(r.choice(SIZES))
        m = n if r.random() < 0.5 else int(r.choice(SIZES))
        self.sizes = {1: (n,), 2: (n, m), 0: ()}
        self.square = n == m
        ranks = [int(r.choice([0, 1, 1, 2, 2, 2])) for _ in range(r.integers(2, 6))]
        self.values = [self.numbers(k) for k in ranks]
        self.dialect = str(r.choice(list(DIALECTS)))
        make = DIALECTS[self.dialect][0]
        self.variables = [make(v, dtype=F, name=f"v{i}") for i, v in enumerate(self.values)]
        self.ranks = ranks
        self.functions = [self.function() for _ in range(r.integers(1, 4))]

    def numbers(self, rank):
        return np.asarray(self.r.integers(-9, 10, self.sizes[rank]), F)

    def pick(self, things):
        return things[int(self.r.integers(len(things)))]

    def leaf(self, rank):
        """A variable, or an input, of this rank."""
        known = [i for i, k in enumerate(self.ranks) if k == rank]
        if known and self.r.random() < 0.75:
            i = self.pick(known)
            return Expression(self.variables[i], lambda v, x, i=i: v[i])
        k = len(self.inputs)
        static = self.r.random() < 0.5 and self.dialect != "theano"  # whose types know sizes of 1
        shape = self.sizes[rank] if static else (None,) * rank
        self.inputs.append((K.placeholder(shape, dtype=F), rank))
        return Expression(self.inputs[k][0], lambda v, x: x[k])

    def key(self, rank):
        """(key, the shape rank of what it takes)."""
        n, m = self.sizes[2]
        rows = self.pick([slice(1, None), slice(None, -1), slice(None, None, 2),
                          slice(None, None, -1), slice(2, 4)])  # fmt: skip
        if n and self.r.random() < 0.3:
            rows = np.sort(self.r.integers(0, n, 4)) if self.r.integers(2) else [0, n - 1, 0]
        if rank == 1 or self.r.random() < 0.6:
            return rows
        columns = self.pick([slice(None), slice(1, None), slice(None, None, -1)])
        return (rows, columns) if type(rows) is slice else (slice(None), columns)

    def expression(self, rank, depth=3):
        """One of this rank, of whole numbers between -99 and 99."""
        if depth == 0 or self.r.random() < 0.15:
            return self.leaf(rank)
        kind = self.r.integers(9)
        if kind == 0 and rank < 2:
            a = self.expression(rank + 1, depth - 1)
            return self.limited(K.sum(a.tensor, axis=-1), lambda v, x: a.value(v, x).sum(-1))
        if kind in (1, 2) and rank:
            return self.stored(rank, depth)
        if kind == 3 and rank == 2 and self.square:
            a = self.expression(rank, depth - 1)
            return Expression(K.transpose(a.tensor), lambda v, x: a.value(v, x).T)
        if kind == 4 and rank:
            a = self.expression(rank, depth - 1)
            return Expression(a.tensor[::-1], lambda v, x: a.value(v, x)[::-1])
        a, b = self.expression(rank, depth - 1), self.expression(rank, depth - 1)
        if kind == 5:
            test = K.greater(a.tensor, b.tensor)
            return Expression(
                K.switch(test, a.tensor, b.tensor * 2 - a.tensor),
                lambda v, x: np.where(
                    a.value(v, x) > b.value(v, x), a.value(v, x), b.value(v, x) * 2 - a.value(v, x)
                ),
            )
        ours, numpys = self.pick([(K.maximum, np.maximum), (K.minimum, np.minimum),
                                  (lambda x, y: x + y, np.add), (lambda x, y: x - y, np.subtract),
                                  (lambda x, y: x * y, np.multiply)])  # fmt: skip
        return self.limited(ours(a.tensor, b.tensor),
                            lambda v, x: numpys(a.value(v, x), b.value(v, x)))  # fmt: skip

    @staticmethod
    def limited(tensor, value):
        return Expression(K.clip(tensor, -99, 99), lambda v, x: np.clip(value(v, x), -99, 99))

    def stored(self, rank, depth):
        """A leaf with some of its places set or added to."""
        into, key = self.leaf(rank), self.key(rank)
        item = self.expression(rank, depth - 1)
        added, whole = bool(self.r.integers(2)), type(key) is not slice and type(key) is not tuple
        if whole and not added:
            key = slice(1, None)  # of a place that is set twice the last one need not win
        of = T if type(into.tensor).__module__.startswith("ckernels.theano") else K
        store = of.inc_subtensor if added else of.set_subtensor

        def value(v, x):
            found, part = np.array(into.value(v, x)), item.value(v, x)[key]
            if added:
                np.add.at(found, key, part)
            else:
                found[key] = part
            return found

        return Expression(store(into.tensor[key], item.tensor[key]), value)

    def function(self):
        """(function, (variable, new value) of updates, expressions of outputs, ranks of inputs)."""
        self.inputs = []
        chosen = [i for i in range(len(self.variables)) if self.r.random() < 0.7]
        updates, news = [], []
        if len(chosen) > 1 and self.r.random() < 0.3:  # each takes another one's value
            same = [i for i in chosen if self.ranks[i] == self.ranks[chosen[0]]]
            for i, k in zip(same, [*same[1:], same[0]]):
                updates.append((self.variables[i], self.variables[k]))
                news.append((i, Expression(None, lambda v, x, k=k: v[k])))
            chosen = [i for i in chosen if i not in same]
        for i in chosen:
            x, e = self.variables[i], self.expression(self.ranks[i])
            kind = self.r.integers(4)
            if kind == 0:
                updates.append(K.update_add(x, e.tensor))
                news.append((i, Expression(None, lambda v, x, i=i, e=e: v[i] + e.value(v, x))))
            elif kind == 1:
                updates.append(keras2.update_sub(x, e.tensor))
                news.append((i, Expression(None, lambda v, x, i=i, e=e: v[i] - e.value(v, x))))
            elif kind == 2:
                updates.append(K.moving_average_update(x, e.tensor, 0.0))
                news.append((i, e))
            else:
                updates.append((x, e.tensor))
                news.append((i, e))
        outputs = [
            self.expression(int(self.r.integers(3)), 2) for _ in range(self.r.integers(1, 4))
        ]
        whole = self.pick(range(len(self.variables)))
        outputs.append(Expression(self.variables[whole], lambda v, x: v[whole]))
        dialects = [d for d in DIALECTS if d != "theano" or self.dialect == d]  # it takes its own
        dialect = self.pick(dialects)
        made = DIALECTS[dialect][1](
            [t for t, _ in self.inputs], [e.tensor for e in outputs], updates=updates
        )
        f = (lambda given: made(*given)) if dialect == "theano" else made
        return f, news, outputs, [rank for _, rank in self.inputs]

    def call(self, number):
        f, news, outputs, ranks = self.functions[number]
        given = [self.numbers(k) for k in ranks]
        kept = [np.array(x) for x in given]
        wanted = [np.array(e.value(self.values, kept)) for e in outputs]
        changed = {i: np.array(e.value(self.values, kept)) for i, e in news}
        found = f(given)
        for x, want in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(x, want)
        for i, value in changed.items():
            self.values[i] = value
        for x in (*given, *found):  # the caller's own
            if isinstance(x, np.ndarray) and x.flags.writeable:
                x[...] = 77

    def compare(self):
        for x, want in zip(self.variables, self.values, strict=True):
            np.testing.assert_array_equal(K.get_value(x), want)

    def set_one(self):
        i = self.pick(range(len(self.variables)))
        value = self.numbers(self.ranks[i])
        K.set_value(self.variables[i], value)
        self.values[i] = np.array(value)
        value[...] = 55
        taken = K.get_value(self.variables[i])
        if taken.flags.writeable:
            taken[...] = 44


def check(seed):
    program = Program(seed)
    for _ in range(8):
        if program.r.random() < 0.2:
            program.set_one()
        program.call(int(program.r.integers(len(program.functions))))
        program.compare()
        # what grew is made small again, so that sums stay exact
        for i, value in enumerate(program.values):
            if np.abs(value).max(initial=0) > 1e6:
                program.values[i] = np.sign(value)
                K.set_value(program.variables[i], program.values[i])
    return True


def run(seeds):
    with K.config.change(on_unused_input="ignore"):
        for seed in seeds:
            try:
                check(seed)
            except Exception as problem:
                raise AssertionError(f"seed {seed}") from problem


@pytest.mark.rest
def test_random_updates():
    with K.config.change(mode="reference"):
        run(range(25))
    run(range(25, 28))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["reference", "compiled"])
def test_many_random_updates(many, new_seed, mode):
    with K.config.change(mode=mode):
        run(range(new_seed, new_seed + many // (10 if mode == "reference" else 50)))
