"""Matrix products as gemm instructions: what BLAS can read as it lies, and what must be copied."""

from dataclasses import replace

from ..base.machine import NS_MULTIPLY
from ..codegen.layout import collapse
from ..graph.op import register_rules
from ..graph.shapes import product
from ..graph.sizes import greatest, value_of
from .instructions import Gemm, word_of
from .records import GemmDims

PS_PER_MULTIPLY = round(NS_MULTIPLY * 1000)
TALL = 512  # rows up to which gemm reads B without packing it: see builtin.c


def matmul(plan, node):
    """A product of floats; others are left to NumPy."""
    if node.dtype not in ("float32", "float64"):
        return False
    batch_shape = node.shape[:-2]
    a, b = (batched(plan.layout(i), batch_shape) for i in node.inputs)
    c = plan.place(node)
    wide = [k for k, n in enumerate(batch_shape) if n != 1]
    sizes, steps = collapse(
        [batch_shape[k] for k in wide], [[lay.strides[k] for k in wide] for lay in (a, b, c)]
    )
    if len(sizes) > 1:
        a, b = plan.copy(a), plan.copy(b)
        sizes, steps = [product(sizes)], [lay.strides[-3:-2] for lay in (a, b, c)]
    steps = [s[0] if s else 0 for s in steps]
    add(plan, node, a, b, c, sizes[0] if sizes else 1, steps)
    return True


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


def add(plan, node, a, b, c, batch, steps):
    """The instruction: `batch` products, steps[i] from one matrix of an operand to the next."""
    (m, n), k, (step_a, step_b, step_c) = node.shape[-2:], node.inputs[0].shape[-1], steps
    a, trans_a, lda, step_a = matrix(plan, a, step_a)
    b, trans_b, ldb, step_b = matrix(plan, b, step_b)
    if trans_b and plan.is_invariant(b) and not step_b and 1 < m <= TALL:
        b, trans_b, ldb = plan.compact(replace(b, shape=(k, n), strides=b.strides[-2:])), 0, n
    if not batch * m * n:
        return
    work = PS_PER_MULTIPLY * batch * m * n * k
    plan.add(
        Gemm(
            name="matmul",
            pointers=[lay.pointer for lay in (a, b, c)],
            record=GemmDims(
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
                step_a=step_a,
                step_b=step_b,
                step_c=step_c,
                unit=n,
            ),
            ns=value_of(work) / 1000,
            reads=[a.buffer, b.buffer],
            writes=[c.buffer],
            node=node,
            nodes=[node],
            work=work,
        )
    )


def matrix(plan, layout, step):
    """(layout, transposed, leading dimension, batch step), copied when BLAS cannot read it."""
    (m, n), (s, t) = layout.shape[-2:], layout.strides[-2:]
    if (t == 1 or n == 1) and (s >= n or m == 1):
        return layout, 0, greatest(s if m != 1 else n, greatest(n, 1)), step
    if (s == 1 or m == 1) and (t >= m or n == 1):
        return layout, 1, greatest(t if n != 1 else m, greatest(m, 1)), step
    if not step:  # one matrix for the whole batch
        layout = replace(layout, shape=(m, n), strides=(s, t))
    return plan.compact(layout), 0, greatest(n, 1), step and m * n


register_rules("lowering", {"matmul": matmul})
