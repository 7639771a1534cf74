"""Sorting rows, their largest elements, and medians: float32, short rows and long ones."""

import numpy as np

from benchmarks.workload import Case, Target, Workload

SHAPES = {"30000 x 32": (30000, 32), "1000 x 1000": (1000, 1000), "1024 x 10000": (1024, 10000)}
LARGEST = 10


class Order(Workload):
    name = "order"
    title = "rows in order: sorted, their largest elements, their medians"
    rtol, atol = 1e-6, 0

    def cases(self):
        ahead = (Target("peers", 1),)
        return [
            Case("sort of 30000 x 32", {"what": "sort", "shape": "30000 x 32"}, ahead),
            Case("sort of 1000 x 1000", {"what": "sort", "shape": "1000 x 1000"}, ahead),
            Case("ten largest of 1024 x 10000", {"what": "top", "shape": "1024 x 10000"}, ahead),
            Case("medians of 30000 x 32", {"what": "median", "shape": "30000 x 32"}, ahead),
        ]

    def data(self, rng, what, shape):
        return (rng.standard_normal(SHAPES[shape], dtype=np.float32),)

    def numpy(self, xp, x, what, shape):
        if what == "top":
            return np.sort(np.partition(x, -LARGEST, 1)[:, -LARGEST:], 1)[:, ::-1]
        return np.sort(x, 1) if what == "sort" else np.median(x, 1)

    def torch(self, torch, x, what, shape):
        if what == "top":
            return torch.topk(x, LARGEST, 1).values
        if what == "sort":
            return torch.sort(x, 1).values
        low, high = (torch.kthvalue(x, k, 1).values for k in (16, 17))
        return (low + high) / 2

    def jax(self, xp, x, what, shape):
        import jax

        if what == "top":
            return jax.lax.top_k(x, LARGEST)[0]
        return xp.sort(x, 1) if what == "sort" else xp.median(x, 1)

    def pytensor(self, pt, x, what, shape):
        y = pt.sort(x, 1)
        if what == "top":
            return y[:, : -LARGEST - 1 : -1]
        return y if what == "sort" else (y[:, 15] + y[:, 16]) / 2

    def ckernels(self, K, x, what, shape):
        if what == "top":
            return K.top_k(x, LARGEST, 1)[0]
        return K.sort(x, 1) if what == "sort" else K.median(x, 1)


WORKLOADS = [Order()]
