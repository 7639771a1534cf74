"""sum, mean with variance, and argmax of a matrix, over either axis and over all of it."""

import numpy as np

from benchmarks.workload import WON, Case, Workload

SIDE = 4096
AXES = {"axis 0": 0, "axis 1": 1, "all": None}


class Reduction(Workload):
    limit_is = "C loop with OpenMP that reads the matrix once (sums it)"

    def __init__(self, kind):
        self.kind = kind
        self.name = kind
        self.title = f"{kind}, {SIDE} x {SIDE} float32"

    def cases(self):
        target = (WON,)
        return [Case(f"{self.kind} {text}", {"axis": axis}, target) for text, axis in AXES.items()]

    def data(self, rng, axis):
        return (rng.standard_normal((SIDE, SIDE), dtype=np.float32),)

    def limit(self, c, x, axis):
        return c.call("read_f32", x, x.size, result=[])


class Sum(Reduction):
    rtol, atol = 1e-3, 2e-2  # float32 sums of numbers around zero

    def formula(self, xp, x, axis):
        return x.sum(axis)

    def ckernels(self, K, x, axis):
        return K.sum(x, axis=axis)

    def numexpr(self, axis):
        return "sum(x)" if axis is None else f"sum(x, axis={axis})"

    def torch(self, torch, x, axis):
        return x.sum() if axis is None else x.sum(axis)


class MeanVar(Reduction):
    rtol, atol = 1e-3, 1e-4

    def formula(self, xp, x, axis):
        return [x.mean(axis), x.var(axis)]

    def torch(self, torch, x, axis):
        variance, mean = torch.var_mean(x, axis, correction=0)
        return [mean, variance]

    def ckernels(self, K, x, axis):
        return [K.mean(x, axis=axis), K.var(x, axis=axis)]


class Argmax(Reduction):
    rtol = atol = 0

    def formula(self, xp, x, axis):
        return x.argmax(axis)

    def ckernels(self, K, x, axis):
        return K.argmax(K.flatten(x) if axis is None else x, axis=-1 if axis is None else axis)


WORKLOADS = [Sum("sum"), MeanVar("mean+var"), Argmax("argmax")]
