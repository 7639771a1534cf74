"""Layer normalisation over the last axis, forward and with all three gradients."""

import numpy as np

from benchmarks.workload import WON, Case, Target, Workload

ROWS, COLUMNS, EPSILON = 4096, 768, 1e-5


class LayerNorm(Workload):
    limit_is = "C loop that reads x once and writes the results once"
    wrt = (0, 1, 2)
    rtol, atol = 1e-3, 1e-3  # gradients of scale and shift are sums of 4096 float32

    def __init__(self, gradient):
        self.gradient = gradient
        self.name = "layer-norm" + ("-gradient" if gradient else "")
        self.title = f"layer norm, {ROWS} x {COLUMNS} float32"
        self.title += ", forward and backward" if gradient else ""

    def cases(self):
        label = f"layer norm {'fwd+bwd' if self.gradient else 'fwd'}"
        # one pass forward, one backward, and one over the partial sums of scale and shift
        kernels = Target("kernels", 3 if self.gradient else 1)
        return [Case(label, {}, (WON, kernels))]

    def data(self, rng):
        x, g = (rng.standard_normal((ROWS, COLUMNS), dtype=np.float32) for _ in range(2))
        scale, shift = (rng.standard_normal(COLUMNS, dtype=np.float32) for _ in range(2))
        return (x, scale, shift, g) if self.gradient else (x, scale, shift)

    def formula(self, xp, x, scale, shift):
        mean = x.mean(-1, keepdims=True)
        centred = x - mean
        variance = (centred * centred).mean(-1, keepdims=True)
        return centred / xp.sqrt(variance + EPSILON) * scale + shift

    def ckernels(self, K, x, scale, shift):
        mean = K.mean(x, axis=-1, keepdims=True)
        variance = K.var(x, axis=-1, keepdims=True)
        return (x - mean) / K.sqrt(variance + EPSILON) * scale + shift

    def torch(self, torch, x, scale, shift):
        return torch.nn.functional.layer_norm(x, (COLUMNS,), scale, shift, EPSILON)

    def numpy(self, xp, x, scale, shift, g=None):
        xhat = x - x.mean(-1, keepdims=True)
        inverse = 1 / np.sqrt(np.square(xhat).mean(-1, keepdims=True) + np.float32(EPSILON))
        xhat *= inverse
        y = xhat * scale
        y += shift
        if g is None:
            return y
        dx = g * scale
        m1 = dx.mean(-1, keepdims=True)
        m2 = (dx * xhat).mean(-1, keepdims=True)
        dx -= m1
        dx -= xhat * m2
        dx *= inverse
        xhat *= g
        return [y, dx, xhat.sum(0), g.sum(0)]

    def limit(self, c, x, scale, shift, g=None):
        out = [np.empty_like(x) for _ in range(2 if self.gradient else 1)]
        if self.gradient:
            return c.call("copy2_f32", x, g, *out, x.size, result=[])
        return c.call("copy_f32", x, *out, x.size, result=[])


WORKLOADS = [LayerNorm(False), LayerNorm(True)]
