"""Random numbers on one core: K.random_* beside NumPy's Generator and the other libraries.

Everybody draws other numbers, so results are not compared here but with their laws, in
tests/api/test_random_distributions.py.
"""

import functools
import weakref

import numpy as np

from benchmarks.workload import Case, Target, Workload


def on_one_core(peer, call):
    """`call` with one thread for ckernels until it is dropped."""
    peer.lib.set_num_threads(1)
    weakref.finalize(call, peer.lib.set_num_threads, peer.threads)
    return call


class Random(Workload):
    name = "random"
    title = "a million random numbers, one core"
    atol = 100.0  # anything
    peers = ("numpy", "torch", "jax", "ckernels")

    def cases(self):
        return [
            Case(
                f"{kind} {dtype}",
                {"kind": kind, "dtype": dtype},
                (Target("numpy", 5 if kind == "normal" else 3),),
            )
            for kind in ("uniform", "normal", "bernoulli")
            for dtype in ("float32", "float64")
        ]

    def data(self, rng, kind, dtype):
        return (rng.standard_normal(1_000_000).astype(dtype),)

    def numpy_call(self, peer, x, kind, dtype):
        rng = np.random.default_rng(1)
        if kind == "bernoulli":
            p = 1 / (1 + np.exp(-x))
            return lambda: (rng.random(x.shape, dtype) < p).astype(dtype)
        draw = rng.random if kind == "uniform" else rng.standard_normal
        return functools.partial(draw, x.shape, dtype)

    def torch_call(self, peer, x, kind, dtype):
        torch = peer.lib
        torch.set_num_threads(1)
        x = torch.from_numpy(x)
        if kind == "bernoulli":
            p = torch.sigmoid(x)
            return lambda: torch.bernoulli(p)
        draw = torch.rand if kind == "uniform" else torch.randn
        return functools.partial(draw, x.shape, dtype=x.dtype)

    def jax_call(self, peer, x, kind, dtype):
        jax = peer.lib

        @jax.jit
        def draw(key, x):
            key, own = jax.random.split(key)
            if kind == "bernoulli":
                y = jax.random.bernoulli(own, x).astype(x.dtype)
            else:
                y = getattr(jax.random, kind)(own, x.shape, x.dtype)
            return key, y

        x = jax.device_put(1 / (1 + np.exp(-x)))
        key = jax.random.key(1)

        def call():
            nonlocal key
            key, y = draw(key, x)
            return jax.block_until_ready(y)

        return call

    def ckernels_call(self, peer, x, kind, dtype):
        K = peer.lib
        v = K.placeholder((None,), dtype=dtype)
        if kind == "bernoulli":
            y, x = K.random_binomial(K.shape(v), v, dtype, seed=1), 1 / (1 + np.exp(-x))
        else:
            y = getattr(K, "random_" + kind)(K.shape(v), dtype=dtype, seed=1)
        return on_one_core(peer, functools.partial(peer.function([v], y), x))


WORKLOADS = [Random()]
