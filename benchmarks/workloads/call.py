"""What a call costs when there is nothing to compute."""

import functools

import numpy as np

from benchmarks.workload import Case, Target, Workload


class Increment(Workload):
    name = "call-x+1"
    title = "x + 1, one element"
    limit_is = "np.add(x, one)"
    numexpr = "x + 1"

    def cases(self):
        return [Case("call x+1, 1 element", {}, (Target("limit", 0.5, "at most 2x np.add"),))]

    def data(self, rng):
        return (rng.standard_normal(1, dtype=np.float32),)

    def formula(self, xp, x):
        return x + 1

    def limit(self, c, x):
        return functools.partial(np.add, x, np.ones(1, np.float32))


class FiveOps(Workload):
    name = "call-5ops"
    title = "(x + y) * z - x / y + 1, 8 elements"
    numexpr = "(x + y) * z - x / y + 1"

    def cases(self):
        return [Case("call 5 ops, 3 inputs of 8 elements", {}, (Target("numpy", 1),))]

    def data(self, rng):
        return tuple(rng.uniform(1, 2, 8).astype(np.float32) for _ in range(3))

    def formula(self, xp, x, y, z):
        return (x + y) * z - x / y + 1


WORKLOADS = [Increment(), FiveOps()]
