"""CTC loss with its gradient to the logits, as in the training of a speech or handwriting model."""

import numpy as np

from benchmarks.workload import Case, Target, Workload


class Ctc(Workload):
    name = "ctc"
    title = "CTC loss of logits (samples, steps, classes): log softmax, loss, gradient"
    rtol, atol = 1e-3, 3e-3  # torch keeps the trellis in float32
    peers = ("numpy", "torch", "ckernels")

    def cases(self):
        ahead = (Target("peers", 1),)
        return [
            Case("ctc 32 x 150, 64 classes, 30 labels", dict(n=32, t=150, c=64, k=30), ahead),
            Case("ctc 16 x 500, 32 classes, 100 labels", dict(n=16, t=500, c=32, k=100), ahead),
            Case(
                "ctc 32 x 100, 5000 classes, 20 labels",
                dict(n=32, t=100, c=5000, k=20),
                ahead,
                quick=False,
            ),
        ]

    def data(self, rng, n, t, c, k):
        return rng.standard_normal((t, n, c), dtype=np.float32), rng.integers(1, c, (n, k))

    def numpy(self, xp, x, labels, **sizes):
        """Alpha and beta over all samples at once, in logarithms."""
        steps, n, _ = x.shape
        logp = x - x.max(2, keepdims=True)
        logp -= np.log(np.exp(logp).sum(2, keepdims=True))
        states = np.zeros((n, 2 * labels.shape[1] + 1), int)
        states[:, 1::2] = labels
        w = np.take_along_axis(logp.astype(np.float64), states[None].repeat(steps, 0), 2)

        def sums(w, states):
            skip = np.full(states.shape, -np.inf)
            skip[:, 2:][(states[:, 2:] != states[:, :-2]) & (states[:, 2:] > 0)] = 0
            row = np.full((n, states.shape[1] + 2), -np.inf)
            row[:, 2] = 0
            kept = np.empty(w.shape)
            for t in range(steps):
                near = np.logaddexp(row[:, 2:], row[:, 1:-1])
                kept[t] = np.logaddexp(near, row[:, :-2] + skip)
                row[:, 2:] = kept[t] + w[t]
            return kept, np.logaddexp(row[:, -1], row[:, -2])

        ahead, total = sums(w, states)
        behind, _ = sums(w[::-1, :, ::-1], states[:, ::-1])
        share = np.exp(ahead + behind[::-1, :, ::-1] + w - total[:, None])
        slope = np.exp(logp)
        rows = np.arange(n)[:, None]
        for t in range(steps):
            np.subtract.at(slope[t], (rows, states), share[t].astype(np.float32))
        return [-total, slope]

    def torch_call(self, peer, x, labels, **sizes):
        torch, functional = peer.lib, peer.lib.nn.functional
        x, labels = torch.from_numpy(x).requires_grad_(), torch.from_numpy(labels)
        steps = torch.full((x.shape[1],), x.shape[0])
        held = torch.full((x.shape[1],), labels.shape[1])

        def call():
            logp = functional.log_softmax(x, 2)
            loss = functional.ctc_loss(logp, labels, steps, held, reduction="none")
            return loss, *torch.autograd.grad(loss.sum(), x)

        return call

    def ckernels_call(self, peer, x, labels, **sizes):
        K = peer.lib
        logits = K.placeholder((None, None, x.shape[2]))
        held = K.placeholder((None, None), dtype="int64")
        steps = K.placeholder((None,), dtype="int64")
        loss = K.ctc(logits, held, steps)
        f = peer.function([logits, held, steps], [loss, *K.gradients(K.sum(loss), [logits])])
        every = np.full(x.shape[1], x.shape[0])
        return lambda: f(x, labels, every)


WORKLOADS = [Ctc()]
