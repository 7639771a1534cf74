"""Additions whose operands are transposed or broadcast."""

import numpy as np

from benchmarks.workload import WON, Case, Workload

SIDE = 4096


class Operands(Workload):
    name = "operands"
    title = f"x.T + y, x + row, x + column, {SIDE} x {SIDE} float32"
    limit_is = "C loop with OpenMP (16 x 16 tiles for the transpose)"

    def cases(self):
        targets = (WON,)
        return [
            Case(label, {"kind": kind}, targets)
            for kind, label in (
                ("transposed", "x.T + y"),
                ("row", "x + row"),
                ("column", "x + column"),
            )
        ]

    def data(self, rng, kind):
        shape = {"transposed": (SIDE, SIDE), "row": (SIDE,), "column": (SIDE, 1)}[kind]
        x = rng.standard_normal((SIDE, SIDE), dtype=np.float32)
        return x, rng.standard_normal(shape, dtype=np.float32)

    def formula(self, xp, x, y, kind):
        return (x.T if kind == "transposed" else x) + y

    def numexpr(self, kind):
        return "x + y" if kind != "transposed" else None

    def ckernels(self, K, x, y, kind):
        return (K.transpose(x) if kind == "transposed" else x) + y

    def limit(self, c, x, y, kind):
        out = np.empty_like(x)
        return c.call(f"{kind}_add_f32", x, y, out, SIDE, result=out)


WORKLOADS = [Operands()]
