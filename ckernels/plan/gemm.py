"""Matrix products as gemm instructions: what BLAS can read as it lies, and what must be copied.

A part of Binder (binder.py), which gives layouts and places.
"""

from dataclasses import replace

from ..base.machine import NS_MULTIPLY
from ..codegen.layout import collapse
from ..graph.shapes import product
from ..graph.sizes import greatest, value_of
from .instructions import Gemm, word_of
from .records import GemmDims

PS_PER_MULTIPLY = round(NS_MULTIPLY * 1000)
TALL = 512  # rows up to which gemm reads B without packing it: see builtin.c


class Products:
    """Emits a node of kind gemm."""

    def emit_gemm(self, node):
        a, b = (self.layout(i) for i in node.inputs)
        batch_shape = node.shape[:-2]
        a, b = self.batched(a, batch_shape), self.batched(b, batch_shape)
        c = self.target(node)
        self.layouts[node.uid] = c
        wide = [k for k, n in enumerate(batch_shape) if n != 1]
        sizes, rows = collapse(
            [batch_shape[k] for k in wide], [[lay.strides[k] for k in wide] for lay in (a, b, c)]
        )
        if len(sizes) > 1:
            a, b = self.copy(a), self.copy(b)
            return self.gemm_step(
                node, a, b, c, product(sizes), a.strides[-3:-2], b.strides[-3:-2], c.strides[-3:-2]
            )
        batch = sizes[0] if sizes else 1
        return self.gemm_step(node, a, b, c, batch, *rows)

    @staticmethod
    def batched(layout, batch_shape):
        """`layout` with its batch axes broadcast to `batch_shape`."""
        lead = len(batch_shape) - (len(layout.shape) - 2)
        strides = (0,) * lead + tuple(
            0 if n == 1 else s for n, s in zip(layout.shape[:-2], layout.strides)
        )
        return replace(
            layout,
            shape=tuple(batch_shape) + layout.shape[-2:],
            strides=strides + layout.strides[-2:],
        )

    def gemm_step(self, node, a, b, c, batch, step_a, step_b, step_c):
        steps = [s[0] if s else 0 for s in (step_a, step_b, step_c)]
        a, trans_a, lda, steps[0] = self.matrix(a, steps[0])
        b, trans_b, ldb, steps[1] = self.matrix(b, steps[1])
        m, n = node.shape[-2:]
        k = node.inputs[0].shape[-1]
        if trans_b and b.buffer in self.steady and not steps[1] and 1 < m <= TALL:
            b, trans_b, ldb = self.compact(replace(b, shape=(k, n), strides=b.strides[-2:])), 0, n
        record = GemmDims(
            dtype=int(node.dtype == "float64"),
            m=m,
            n=n,
            k=k,
            trans_a=trans_a,
            trans_b=trans_b,
            lda=lda,
            ldb=ldb,
            ldc=greatest(n, 1),
            alpha=word_of(1.0),
            beta=0,
            batch=batch,
            step_a=steps[0],
            step_b=steps[1],
            step_c=steps[2],
            unit=n,
        )
        work = PS_PER_MULTIPLY * batch * m * n * k
        instr = Gemm(
            name="matmul",
            pointers=[self.pointer(lay) for lay in (a, b, c)],
            record=record,
            ns=value_of(work) / 1000,
            reads=[a.buffer, b.buffer],
            writes=[c.buffer],
            node=node,
            nodes=[node],
            work=work,
        )
        if batch * m * n:
            self.instructions.append(instr)
        return instr

    def matrix(self, layout, step):
        """(layout, transposed, leading dimension, batch step), copied when BLAS cannot read it."""
        (m, n), (s, t) = layout.shape[-2:], layout.strides[-2:]
        if (t == 1 or n == 1) and (s >= n or m == 1):
            return layout, 0, greatest(s if m != 1 else n, greatest(n, 1)), step
        if (s == 1 or m == 1) and (t >= m or n == 1):
            return layout, 1, greatest(t if n != 1 else m, greatest(m, 1)), step
        if not step:  # one matrix for the whole batch
            layout = replace(layout, shape=(m, n), strides=(s, t))
        return self.compact(layout), 0, greatest(n, 1), step and m * n
