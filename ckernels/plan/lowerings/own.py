"""Launches of bodies of C that users wrote: pointers, sizes and strides of all operands.

The kernel was written and compiled when the user made the operation; here it only gets its numbers.
A unit of the range is all of the work, or, if it is parallel, one place along the first axis.
"""

from ...base.machine import NS_ASSUMED
from ...codegen.lower import Launch
from ...schedule.cost import work


def own(plan, node):
    """The launch; False where there is no kernel, and the function of the user's runs."""
    made = node.attrs["own"]
    if made.kernel is None:
        return False
    sources = [plan.layout(i) for i in node.inputs]
    targets = plan.places(node)
    if all(0 in lay.shape for lay in targets):
        return True
    layouts = sources + targets
    dims = [n for lay in layouts for n in (*lay.shape, *lay.strides)]
    units = targets[0].shape[0] if made.kernel.parallel else 1
    took = sum(work(NS_ASSUMED, *lay.shape) for lay in layouts)
    plan.launch(
        Launch(
            made.kernel,
            [lay.pointer for lay in layouts],
            dims,
            units,
            1,
            took,
            [lay.buffer for lay in sources],
            [lay.buffer for lay in targets],
        ),
        [node],
    )
    return True
