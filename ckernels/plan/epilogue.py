"""A product and the loop that runs on its rows become one instruction, where memory allows it.

The runtime calls the kernel of the loop with panels of rows while they are in cache, so it must
walk the rows as they lie. Which loop it is schedule/order.py says; bands.py has loops on loops.
"""

from dataclasses import replace

from ..codegen.ir import Kernel
from ..codegen.layout import contiguous_strides
from ..schedule.follow import OTHER_ORDER


def why_apart(product, loop, refused=frozenset()):
    """The Reason why the kernel of `loop` cannot walk the rows of C in order, or None.

    refused: keys of kernels that cannot be had, of which a loop that has one is none.
    """
    fits = isinstance(loop.kernel, Kernel) and walks_rows(product, loop)
    return None if fits else OTHER_ORDER(product.node)


def walks_rows(product, loop):
    """Whether panels of C are panels of the loop, for each operand that is C."""
    rows, n, c = product.rows, product.columns, product.writes[0]
    kernel, dims = loop.kernel, loop.launch()
    if not is_over(kernel, dims, loop.n, rows, n):
        return False
    sizes = dims.outer + ((dims.n,) if kernel.form == "flat" else ())
    want = contiguous_strides(sizes)
    if kernel.form == "rows":
        want = tuple(s * n for s in want)
    pointers, seen = iter(loop.pointers), False
    for op, (inner, far, run, _) in zip(kernel.operands, dims.steps):
        if op.role == "index":
            continue
        buffer, offset = next(pointers)
        if buffer == c:
            if kernel.form == "columns":
                inner, far, want, sizes = run[0], (inner,), (n,), (rows,)
            got = far + ((inner,) if kernel.form == "flat" else ())
            same = all(g == w or s == 1 for g, w, s in zip(got, want, sizes))
            if offset or inner != 1 or not same or op.picks:
                return False
            seen = True
    return seen and (kernel.form != "columns" or (dims.n, *dims.runs) == (rows, n))


def is_over(kernel, dims, count, rows, n):
    """Whether a kernel runs over `rows` rows of `n` elements, in a form that takes them in turn."""
    if kernel.form == "flat":
        return count == rows * n
    if kernel.form == "rows":
        return count == rows and dims.n == n and not kernel.runs
    # columns: the rows of C side by side, each read along its run
    return kernel.form == "columns" and not kernel.outer and kernel.runs == 1


def joined(product, loop):
    """The instruction of the product that runs the loop panel by panel."""
    return replace(
        product,
        name=f"{product.name} then {loop.name}",
        record=product.record.but(unit=loop.n // product.rows),
        epilogue=loop,
        reads=product.reads + [r for r in loop.reads if r not in product.writes],
        writes=product.writes + loop.writes,
        inplace=[p for p in loop.inplace if p[1] not in product.reads],
        ns=product.ns + loop.ns,
        work=product.work + loop.work,
        nodes=product.nodes + loop.nodes,
    )
