"""A memory-bound chain: four streams in, one out."""

import numpy as np

from benchmarks.workload import WON, Case, Workload


class Light(Workload):
    name = "light"
    title = "1.5*x + 0.5*y - z*w, float32"
    limit_is = "C loop with OpenMP over the same streams"
    numexpr = "a*x + b*y - z*w"
    constants = {"a": np.float32(1.5), "b": np.float32(0.5)}

    def cases(self):
        return [
            Case("light f32 1e3", {"n": 1000}, (WON,)),
            Case("light f32 1e5", {"n": 100_000}, (WON,)),
            Case("light f32 1e7", {"n": 10_000_000}, (WON,)),
        ]

    def data(self, rng, n):
        return tuple(rng.standard_normal(n, dtype=np.float32) for _ in range(4))

    def formula(self, xp, x, y, z, w, n):
        return 1.5 * x + 0.5 * y - z * w

    def numpy(self, xp, x, y, z, w, n):
        out = np.multiply(x, np.float32(1.5))
        part = np.multiply(y, np.float32(0.5))
        out += part
        out -= np.multiply(z, w, out=part)
        return out

    def limit(self, c, x, y, z, w, n):
        out = np.empty_like(x)
        return c.call("light_f32", x, y, z, w, out, n, result=out)


WORKLOADS = [Light()]
