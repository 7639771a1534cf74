"""The kernel around a body of C that a user wrote: names for its pointers, sizes and strides.

The text depends on the body, the dtypes and the ranks alone, so it is known, and compiled, when the
user makes the operation.
"""

from dataclasses import dataclass

from ..base.dtypes import C_NAMES
from .raw import RawKernel


@dataclass(frozen=True)
class OwnKernel(RawKernel):
    """parallel: the body works on the range [lo, hi) of the first axis of the first result."""

    parallel: bool = False


def own_kernel(title, body, support, inputs, outputs, parallel):
    """The OwnKernel of a body; inputs, outputs: [(name, dtype, ndim)].

    title: what compilers name in their messages instead of a file; lines are those of the body.
    """
    lines, at = [], 0
    for k, (name, dtype, ndim) in enumerate((*inputs, *outputs)):
        const = "const " if k < len(inputs) else ""
        lines += [
            f"    {const}{C_NAMES[dtype]} *const {name} = p[{k}]; (void){name};",
            f"    const int64_t *const {name}_shape = d + {at}, "
            f"*const {name}_strides = d + {at + ndim};",
            f"    (void){name}_shape; (void){name}_strides;",
        ]
        at += 2 * ndim
    # Lines without text are dropped when a template is filled, and compilers count lines.
    body = "\n".join(line if line.strip() else "/* */" for line in body.split("\n"))
    fields = (
        ("support", support),
        ("title", title),
        ("operands", "\n".join(lines)),
        ("body", body),
    )
    roles = tuple(("in", t) for _, t, _ in inputs) + tuple(("out", t) for _, t, _ in outputs)
    return OwnKernel("own", fields, roles, parallel)
