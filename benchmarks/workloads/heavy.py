"""A chain of transcendentals: the quality of the math functions and of their vectorisation."""

import numpy as np

from benchmarks.workload import WON, Case, Workload


def sigmoid(xp, x):
    """The library's own where it has one."""
    own = getattr(xp, "sigmoid", None)
    return own(x) if own else 1 / (1 + xp.exp(-x))


def chain(xp, x, y):
    return xp.tanh(x) * xp.exp(y) + sigmoid(xp, x - y) - xp.log1p(x * x)


class Heavy(Workload):
    name = "heavy"
    title = "tanh(x)*exp(y) + sigmoid(x-y) - log1p(x*x)"
    limit_is = "C loop with OpenMP and glibc's vector math"
    numexpr = "tanh(x)*exp(y) + 1/(1 + exp(y - x)) - log1p(x*x)"

    def cases(self):
        target = (WON,)
        sizes = {"1e3": 1000, "1e5": 100_000, "1e7": 10_000_000}
        return [
            Case(
                f"heavy {short} {label}",
                {"n": n, "dtype": dtype},
                target,
                quick=not (short == "f64" and n > 1e6),
            )
            for short, dtype in (("f32", "float32"), ("f64", "float64"))
            for label, n in sizes.items()
        ]

    def data(self, rng, n, dtype):
        return tuple(rng.standard_normal(n).astype(dtype) for _ in range(2))

    def formula(self, xp, x, y, **params):
        return chain(xp, x, y)

    def jax(self, xp, x, y, **params):
        import jax

        return xp.tanh(x) * xp.exp(y) + jax.nn.sigmoid(x - y) - xp.log1p(x * x)

    def numpy(self, xp, x, y, **params):
        out = np.tanh(x)
        part = np.exp(y)
        out *= part
        np.subtract(y, x, out=part)
        np.exp(part, out=part)
        part += 1
        out += np.reciprocal(part, out=part)
        np.multiply(x, x, out=part)
        out -= np.log1p(part, out=part)
        return out

    def limit(self, c, x, y, n, dtype):
        out = np.empty_like(x)
        name = "heavy_f32" if dtype == "float32" else "heavy_f64"
        return c.call(name, x, y, out, n, result=out)


WORKLOADS = [Heavy()]
