"""A gradient step on a table of which few rows are read: 500,000 x 64, 3,200 ids, plain descent.

Peers that add to rows in place do so; torch has its gradient as a sparse tensor.
"""

import functools

import numpy as np

from benchmarks.workload import Case, Target, Workload

ROWS, WIDTH, IDS, RATE = 500000, 64, 3200, 0.1


class Tables(Workload):
    name = "tables"
    title = f"gradient step on {IDS} rows of {ROWS} x {WIDTH}"
    steps, stateful = 3, True
    rtol, atol = 1e-4, 1e-5

    def cases(self):
        return [Case("embedding step of few rows", {}, (Target("peers", 1),))]

    def data(self, rng):
        ids = rng.integers(0, ROWS, IDS)
        wanted = rng.standard_normal((IDS, WIDTH), dtype=np.float32)
        return ids, wanted, rng.standard_normal((ROWS, WIDTH), dtype=np.float32)

    def numpy_call(self, peer, ids, wanted, table):
        table = table.copy()

        def step():
            error = table[ids] - wanted
            np.add.at(table, ids, error * np.float32(-2 * RATE / error.size))
            return np.mean(error * error)

        return step

    def torch_call(self, peer, ids, wanted, table):
        torch = peer.lib
        torch.set_grad_enabled(True)
        ids, wanted = peer.tensors((ids, wanted))
        rows = torch.nn.Embedding.from_pretrained(
            torch.from_numpy(table.copy()), freeze=False, sparse=True
        )
        optimizer = torch.optim.SGD(rows.parameters(), lr=RATE)

        def step():
            optimizer.zero_grad()
            loss = torch.mean((rows(ids) - wanted) ** 2)
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step

    def jax_call(self, peer, ids, wanted, table):
        jax = peer.lib

        @functools.partial(jax.jit, donate_argnums=0)
        def step(table, ids, wanted):
            error = table[ids] - wanted
            return table.at[ids].add(error * (-2 * RATE / error.size)), (error * error).mean()

        ids, wanted, table = (jax.device_put(a) for a in (ids, wanted, table))

        def call():
            nonlocal table
            table, loss = step(table, ids, wanted)
            return jax.block_until_ready(loss)

        return call

    def ckernels_call(self, peer, ids, wanted, table):
        K = peer.lib
        w = K.variable(table)
        i, t = peer.symbol(ids), peer.symbol(wanted)
        loss = K.mean(K.square(K.gather(w, i) - t))
        updates = [(w, w - RATE * K.gradients(loss, [w])[0])]
        return functools.partial(peer.function([i, t], [loss], updates=updates), ids, wanted)


WORKLOADS = [Tables()]
