"""softmax, log_softmax and logsumexp over the last axis, forward and with their gradient."""

import numpy as np

from benchmarks.workload import WON, Case, Target, Workload

ROWS, COLUMNS = 4096, 1000


def shifted_exp(x):
    e = x - x.max(-1, keepdims=True)
    return np.exp(e, out=e)


def softmax(x):
    e = shifted_exp(x)
    e /= e.sum(-1, keepdims=True)
    return e


def log_softmax(x):
    y = x - x.max(-1, keepdims=True)
    y -= np.log(np.exp(y).sum(-1, keepdims=True))
    return y


def logsumexp(x):
    top = x.max(-1, keepdims=True)
    return np.log(np.exp(x - top).sum(-1)) + top[:, 0]


def softmax_gradient(x, g):
    y = softmax(x)
    dx = y * g
    total = dx.sum(-1, keepdims=True)
    np.subtract(g, total, out=dx)
    dx *= y
    return [y, dx]


def log_softmax_gradient(x, g):
    y = log_softmax(x)
    dx = np.exp(y)
    dx *= -g.sum(-1, keepdims=True)
    dx += g
    return [y, dx]


def logsumexp_gradient(x, g):
    e = shifted_exp(x)
    total = e.sum(-1, keepdims=True)
    y = np.log(total)[:, 0] + x.max(-1)
    e *= g[:, None] / total
    return [y, e]


class Family(Workload):
    limit_is = "C loop that reads x once and writes the results once"
    reduced = False

    def __init__(self, kind, gradient):
        self.kind, self.gradient = kind, gradient
        self.reduced = kind == "logsumexp"
        self.name = kind + ("-gradient" if gradient else "")
        self.title = f"{kind}, {ROWS} x {COLUMNS} float32"
        self.title += ", forward and backward" if gradient else ""

    def cases(self):
        label = f"{self.kind} {'fwd+bwd' if self.gradient else 'fwd'}"
        kernels = Target("kernels", 2 if self.gradient else 1)
        return [Case(label, {}, (WON, kernels))]

    def data(self, rng):
        x = 3 * rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)
        shape = ROWS if self.reduced else (ROWS, COLUMNS)
        g = rng.standard_normal(shape, dtype=np.float32)
        return (x, g) if self.gradient else (x,)

    def numpy(self, xp, *arrays):
        return globals()[self.kind + ("_gradient" if self.gradient else "")](*arrays)

    def torch(self, torch, x):
        return getattr(torch, self.kind)(x, -1)

    def jax(self, xp, x):
        import jax

        named = {"logsumexp": jax.scipy.special.logsumexp}
        return (named.get(self.kind) or getattr(jax.nn, self.kind))(x, axis=-1)

    def pytensor(self, pt, x):
        named = {"logsumexp": pt.logsumexp}
        return (named.get(self.kind) or getattr(pt.special, self.kind))(x, axis=-1)

    def ckernels(self, K, x):
        return K.logsumexp(x, axis=-1) if self.reduced else getattr(K, self.kind)(x)

    def limit(self, c, x, g=None):
        if self.reduced and g is None:
            return c.call("read_f32", x, x.size, result=[])
        out = [np.empty_like(x) for _ in range(2 if g is not None and not self.reduced else 1)]
        if len(out) == 1:
            return c.call("copy_f32", x, *out, x.size, result=[])
        return c.call("copy2_f32", x, g, *out, x.size, result=[])


WORKLOADS = [
    Family(kind, gradient)
    for gradient in (False, True)
    for kind in ("softmax", "log_softmax", "logsumexp")
]
