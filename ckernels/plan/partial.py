"""Updates that write parts of a variable: rows or slices of it, in place.

Such a new value begins as the old one. So that nobody sees a variable half written, and an error
leaves all variables as they were, the instructions here are the last of a plan and cannot fail:
indices are checked before the first of them, by instructions of their own, and what they read of
other variables that are written so is copied. The runtime copies the variable where somebody else
holds its value.
"""

from dataclasses import replace

from ..base import dtypes
from ..codegen.indexed import checked, scatter
from ..codegen.layout import fresh
from ..graph.walk import consumers
from ..ops.indexing.advanced import indexed_axes
from .lowerings.indexed import template_nest
from .lowerings.movement import advanced_shape, combine, part, spread
from .stores import STORES

SLICES = ("set_slice", "inc_slice")


def partial_updates(order, ends, variables):
    """{number of an update: the writes that make it of its variable, first one first}.

    ends: (buffer, root); variables: the leaf of each update.
    """
    users, found = consumers(order), {}
    roots = [root for _, root in ends]
    for (space, i), root in ends:
        if space == "next" and i < len(variables) and roots.count(root) == 1:
            chain = writes_of(root, variables[i], users, roots)
            if chain:
                found[i] = chain
    return found


def writes_of(root, variable, users, roots):
    """The writes between a variable and `root`, or None where that is anything else."""
    chain, node, reader = [], root, None
    while node is not variable:
        if node.op.name not in STORES or 0 in node.shape or dtypes.is_complex(node.dtype):
            return None
        if (
            reader is None
            and users[node.uid]
            or reader is not None
            and (users[node.uid] != [reader] or reader.inputs.count(node) > 1 or node in roots)
        ):
            return None
        if node.op.name not in SLICES and not all_checked(node):
            return None
        chain.append(node)
        node, reader = node.inputs[0], node
    return chain[::-1]


def all_checked(node):
    """Whether no index goes unchecked for want of anything to write."""
    return 0 not in advanced_shape(node) or all(0 in i.shape for i in node.inputs[2:])


class PartialUpdates:
    """The writes of all such updates, to be added to the instructions of a Binder at their end."""

    def __init__(self, plan, found):
        self.plan, self.found = plan, found
        self.nodes = {node.uid for chain in found.values() for node in chain}

    def emit(self, cells):
        """cells: {number of an update: the variable's buffer}."""
        written = set(cells.values())
        ready = [
            (i, node, [self.operand(x, written) for x in node.inputs[1:]])
            for i, chain in self.found.items()
            for node in chain
        ]
        for _, node, (_, *arrays) in ready:
            for (axis, width), array in zip(indexed_axes(node.attrs.get("template", ())), arrays):
                if 0 not in array.shape:
                    size = node.shape[axis] - width + 1
                    self.plan.launch(checked(array, size), [node], "check")
        for i, node, operands in ready:
            self.write(node, operands, fresh(("next", i), node.shape, node.dtype))

    def operand(self, x, written):
        """Where an operand lies: a copy of what the writes change."""
        layout = self.plan.layout(x)
        return self.plan.copy(layout) if layout.buffer in written else layout

    def write(self, node, operands, target):
        self.plan.lay(node, target)
        value, *arrays = operands
        if node.op.name in SLICES:
            place = part(target, node.attrs["slices"])
            if node.op.name == "inc_slice":
                combine(self.plan, node, "add", [place, value], place)
            else:
                combine(self.plan, node, None, [value], place)
            return
        values = replace(spread(value, advanced_shape(node)), dtype=node.dtype)
        nest = template_nest(node.attrs["template"], target, values, arrays)
        if nest is not None and 0 not in values.shape:
            launch = scatter(nest, "add" if node.op.name == "advanced_inc" else "set")
            self.plan.launch(launch, [node])
