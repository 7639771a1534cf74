"""Embedding lookup and its gradient: 20000 rows of 128 float32, 32 x 200 ids drawn like words."""

import numpy as np

from benchmarks.workload import Case, Target, Workload

ROWS, WIDTH, IDS = 20000, 128, (32, 200)


class Embedding(Workload):
    name = "embedding"
    title = f"gather from {ROWS} x {WIDTH}, {IDS[0]} x {IDS[1]} ids"
    limit_is = "C loop of memcpy / zero and add, two threads"
    rtol, atol = 1e-4, 1e-3  # frequent words sum hundreds of float32

    def cases(self):
        ahead = (Target("peers", 1),)
        return [
            Case("embedding gather", {"gradient_too": False}, ahead),
            Case("embedding scatter-add gradient", {"gradient_too": True}, ahead),
        ]

    def data(self, rng, gradient_too):
        ids = np.minimum(rng.zipf(1.3, IDS), ROWS) - 1
        if gradient_too:
            return rng.standard_normal((*IDS, WIDTH), dtype=np.float32), ids
        return rng.standard_normal((ROWS, WIDTH), dtype=np.float32), ids

    def numpy(self, xp, x, ids, gradient_too):
        if not gradient_too:
            return x[ids]
        out = np.zeros((ROWS, WIDTH), np.float32)
        np.add.at(out, ids, x)
        return out

    def torch(self, torch, x, ids, gradient_too):
        if not gradient_too:
            return torch.nn.functional.embedding(ids, x)
        return torch.zeros(ROWS, WIDTH).index_add_(0, ids.reshape(-1), x.reshape(-1, WIDTH))

    def jax(self, xp, x, ids, gradient_too):
        return xp.zeros((ROWS, WIDTH), xp.float32).at[ids].add(x) if gradient_too else x[ids]

    def pytensor(self, pt, x, ids, gradient_too):
        if not gradient_too:
            return x[ids]
        return pt.inc_subtensor(pt.zeros((ROWS, WIDTH), dtype="float32")[ids], x)

    def ckernels(self, K, x, ids, gradient_too):
        if not gradient_too:
            return K.gather(x, ids)
        table = K.zeros((ROWS, WIDTH))
        return K.gradients(K.sum(K.gather(table, ids) * x), [table])

    def limit(self, c, x, ids, gradient_too):
        if not gradient_too:
            out = np.empty((*IDS, WIDTH), np.float32)
            return c.call("gather_f32", x, ids, out, ids.size, WIDTH, result=out)
        out = np.empty((ROWS, WIDTH), np.float32)
        return c.call("scatter_add_f32", x, ids, out, ids.size, ROWS, WIDTH, result=out)


WORKLOADS = [Embedding()]
