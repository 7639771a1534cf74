"""A dense layer, relu(x @ W + b)."""

import numpy as np

from benchmarks.workload import WON, Case, Workload

SHAPES = {"64 x 64 x 64": (64, 64, 64), "256 x 512 x 512": (256, 512, 512), "1024^3": (1024,) * 3}


class Dense(Workload):
    name = "dense"
    title = "relu(x @ W + b), float32"
    limit_is = "the bare gemm of NumPy's OpenBLAS"
    rtol, atol = 1e-3, 1e-3

    def cases(self):
        return [
            Case(
                f"dense {text}",
                {"shape": shape},
                (WON,),
            )
            for text, shape in SHAPES.items()
        ]

    def data(self, rng, shape):
        m, k, n = shape
        x = rng.standard_normal((m, k), dtype=np.float32)
        w = rng.standard_normal((k, n), dtype=np.float32)
        return x, w, rng.standard_normal(n, dtype=np.float32)

    def numpy(self, xp, x, w, b, shape):
        y = x @ w
        y += b
        return np.maximum(y, 0, out=y)

    def torch(self, torch, x, w, b, shape):
        return torch.relu(torch.addmm(b, x, w))

    def jax(self, xp, x, w, b, shape):
        return xp.maximum(x @ w + b, 0)

    def pytensor(self, pt, x, w, b, shape):
        return pt.maximum(pt.dot(x, w) + b, 0)

    def ckernels(self, K, x, w, b, shape):
        return K.relu(K.dot(x, w) + b)

    def limit(self, c, x, w, b, shape):
        gemm = c.gemm(x, w)

        def call():
            gemm()
            return []

        return call


WORKLOADS = [Dense()]
