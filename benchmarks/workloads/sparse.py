"""A sparse matrix times a dense one, and the gradient to the dense one: bags of words, graphs."""

import numpy as np

from benchmarks.workload import Case, Target, Workload


class Sparse(Workload):
    name = "sparse"
    title = "float32 CSR matrix (rows x columns, entries per row) times a dense one"
    rtol, atol = 1e-3, 1e-3
    peers = ("numpy", "torch", "jax", "ckernels")

    def cases(self):
        ahead = (Target("peers", 1),)
        words, graph = dict(r=4096, c=20000, per=100), dict(r=100000, c=100000, per=10)
        return [
            Case("sparse 4096 x 20000, 100 a row, to 64 columns", dict(words, k=64), ahead),
            Case("sparse 4096 x 20000, 100 a row, to 10 columns", dict(words, k=10), ahead),
            Case("sparse 100000 x 100000, 10 a row, times a vector", dict(graph, k=1), ahead),
            Case(
                "sparse to 64 columns, with the gradient",
                dict(words, k=64, gradient_too=True),
                ahead,
            ),
        ]

    def data(self, rng, r, c, per, k, gradient_too=False):
        counts = rng.integers(per // 2, per + per // 2 + 1, r)
        indptr = np.append(0, counts.cumsum()).astype(np.int32)
        indices = rng.integers(0, c, indptr[-1]).astype(np.int32)
        for a, b in zip(indptr, indptr[1:]):
            indices[a:b].sort()
        data = rng.standard_normal(len(indices), dtype=np.float32)
        y, g = (rng.standard_normal((n, k), dtype=np.float32) for n in (c, r))
        return data, indices, indptr, y, g

    def numpy_call(self, peer, data, indices, indptr, y, g, c, gradient_too=False, **sizes):
        """SciPy, which is what NumPy's users have."""
        import scipy.sparse

        a = scipy.sparse.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, c))
        return (lambda: [a @ y, a.T @ g]) if gradient_too else (lambda: a @ y)

    def torch_call(self, peer, data, indices, indptr, y, g, c, gradient_too=False, **sizes):
        torch = peer.lib
        parts = [torch.from_numpy(p) for p in (indptr, indices, data)]
        a = torch.sparse_csr_tensor(*parts, size=(len(indptr) - 1, c))
        y, g = torch.from_numpy(y), torch.from_numpy(g)
        torch.set_grad_enabled(gradient_too)
        if not gradient_too:
            return lambda: torch.sparse.mm(a, y)
        y.requires_grad_()

        def call():
            product = torch.sparse.mm(a, y)
            return product, *torch.autograd.grad(product, y, g)

        return call

    def jax_call(self, peer, data, indices, indptr, y, g, c, gradient_too=False, **sizes):
        from jax.experimental import sparse

        jax = peer.lib
        a = sparse.BCSR((data, indices, indptr), shape=(len(indptr) - 1, c))
        y, g = jax.device_put(y), jax.device_put(g)

        def both(a, y, g):
            product, pull = jax.vjp(lambda y: a @ y, y)
            return (product, *pull(g)) if gradient_too else product

        jitted = jax.jit(both)
        return lambda: jax.block_until_ready(jitted(a, y, g))

    def ckernels_call(self, peer, data, indices, indptr, y, g, c, gradient_too=False, **sizes):
        import scipy.sparse

        K = peer.lib
        a = scipy.sparse.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, c))
        x, w, by = K.placeholder((None, c), sparse=True), *(K.placeholder(ndim=2) for _ in "yg")
        product = K.dot(x, w)
        if not gradient_too:
            f = peer.function([x, w], product)
            return lambda: f(a, y)
        f = peer.function([x, w, by], [product, *K.gradients(K.sum(product * by), [w])])
        return lambda: f(a, y, g)


WORKLOADS = [Sparse()]
