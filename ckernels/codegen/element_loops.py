"""A loop taken by each element for itself, as a body of C: states in registers, until a condition.

Which operations a step has is a graph of numbers. What does not change from step to step is
computed before the first; an element that has ended costs nothing more.
"""

from ..base.dtypes import C_NAMES
from ..graph.op import REGISTRY
from ..graph.walk import toposort
from .print_c import READ, ctype, expression, literal, scalar


def element_loop(states, fixed, new, until=None):
    """The body of a c_op, parallel over its elements; None where an operation has no C.

    states, fixed: placeholders of no axes; new: the next states, `until`: whether they are the
    last. Operands are vectors: n, the most steps of each element, x0, x1, ..., the first states,
    and c0, c1, ..., what stays the same; results are y0, y1, ..., the last states, and `ended`,
    whether `until` held.
    """
    roots = [*new, *([] if until is None else [until])]
    order = toposort(roots)
    names = {x: f"v{k}" for k, x in enumerate((*states, *fixed))}
    moving, before, inside = set(states), [], []
    for node in order:
        if node in names:
            continue
        if node.op.name == "constant" and not node.ndim:
            names[node] = literal(node.dtype, node.value.item())
            continue
        if node.op.kind != "elementwise" or node.ndim or REGISTRY[node.op.name].c is None:
            return None
        attrs = tuple(sorted(node.attrs.items()))
        text = scalar(node.op.name, attrs, node.inputs[-1].dtype, node.dtype)
        names[node] = f"v{len(names)}"
        line = f"const {ctype(node.dtype)} {names[node]} = "
        line += expression(text, [names[i] for i in node.inputs]) + ";"
        if moving.isdisjoint(node.inputs):
            before.append(line)
        else:
            moving.add(node)
            inside.append(line)
    used = {*states, *order}
    for letter, sources in (("x", states), ("c", fixed)):
        for k, x in reversed(list(enumerate(sources))):
            if x not in used:
                continue
            place = f"{letter}{k}[i * {letter}{k}_strides[0]]"
            const = "" if letter == "x" else "const "
            loaded = READ.get(x.dtype, "{0}").format(place)
            before.insert(0, f"{const}{ctype(x.dtype)} {names[x]} = {loaded};")
    inside += [f"const {ctype(x.dtype)} n{k} = {names[x]};" for k, x in enumerate(new)]
    inside += [f"{names[x]} = n{k};" for k, x in enumerate(states)]
    after = [f"y{k}[i] = ({C_NAMES[x.dtype]}){names[x]};" for k, x in enumerate(states)]
    if until is not None:
        before.append("_Bool end = 0;")
        inside += [f"end = {names[until]};", "if (end) break;"]
        after.append("ended[i] = end;")
    lines = ["for (int64_t i = lo; i < hi; i++) {", "    const int64_t most = n[i * n_strides[0]];"]
    lines += ["    " + line for line in before]
    lines += [
        "    for (int64_t t = 0; t < most; t++) {",
        *["        " + x for x in inside],
        "    }",
    ]
    return "\n".join([*lines, *["    " + line for line in after], "}"])
