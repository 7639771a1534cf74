"""What is read and written at the same mask: z[m] = f(z[m]) is where(m, f(z), z).

By positions such a step is a size that data decides, so NumPy cuts the function in two there; as a
choice it is one loop. It holds for elementwise f only, and for masks over the leading axes. Shapes
may be unknown: that the mask fits is checked where they are known, as positions would.
"""

from .. import ops
from ..graph.node import constant, make
from ..graph.walk import toposort_cut
from .engine import Family

family = Family("masks")
FITTING = {"broadcast_like", "unbroadcast"}  # gradients have them where sizes are not known yet


class Mask:
    """What the positions that a mask gives are taken from and how many axes it has.

    mask: the node; found: the nodes of its positions, one for each tensor that it was an index of.
    """

    def __init__(self, mask):
        self.mask, self.fitted = mask, {}

    @classmethod
    def of(cls, indices):
        """The Mask of which these nodes are all positions; None where they are anything else."""
        maker = indices[0].inputs[0] if indices[0].op.name == "item" else None
        if maker is None or maker.op.name != "mask_indices" or maker.attrs["axis"]:
            return None
        mask = maker.inputs[1]
        parts = [(n.op.name, *n.inputs[:1], n.attrs.get("index")) for n in indices]
        return cls(mask) if parts == [("item", maker, k) for k in range(mask.ndim)] else None

    def fits(self, x):
        """Remember to check that the mask fits the axes of `x`."""
        self.fitted[x] = None

    def over(self, ndim):
        """The mask, checked, with the axes of size 1 that make it broadcast to `ndim` axes."""
        mask = self.mask
        for x in self.fitted:
            mask = make("fitted_mask", (x, mask))
        return ops.expand(mask, tuple(range(mask.ndim, ndim)))

    def taken(self, node):
        """The tensor of which `node` is the part at this mask, or None."""
        indices = gathered(node)
        other = Mask.of(indices) if indices else None
        if other is None or other.mask is not self.mask:
            return None
        return node.inputs[0]

    def everywhere(self, root):
        """`root`, elementwise of parts at this mask, on whole tensors; None where it is not."""
        rest, whole, inner = root.ndim - 1, {}, set()
        stack = [root]
        while stack:
            node = stack.pop()
            if node.uid in inner or node in whole:
                continue
            tensor = self.taken(node)
            if tensor is not None:
                if tensor.shape[self.mask.ndim :] != node.shape[1:] or None in node.shape[1:]:
                    return None
                whole[node] = tensor
                self.fits(tensor)
            elif node.ndim == rest + 1 and is_pointwise(node):
                inner.add(node.uid)
                stack.extend(node.inputs)
            elif None in node.shape:
                return None
            elif node.ndim == rest + 1 and node.shape[0] == 1:
                whole[node] = ops.squeeze(node, (0,))
            elif node.ndim <= rest:
                whole[node] = node
            else:
                return None
        for node in toposort_cut([root], {n.uid for n in whole}):
            inputs = [whole[i] for i in node.inputs]
            like = node.op.name in FITTING
            whole[node] = inputs[0] if like else make(node.op, inputs, node.attrs)
        new = whole[root]
        same = new.shape[new.ndim - rest :] == root.shape[1:]
        return new if self.fitted and same else None


def is_pointwise(node):
    """Whether each element of `node` is computed from those at its place in the operands."""
    if node.op.name in FITTING:
        x, like = node.inputs
        known = node.op.name == "broadcast_like" or x.shape == like.shape
        return known and like.shape[0] is None and None not in like.shape[1:]
    return node.op.kind == "elementwise" and bool(node.inputs)


def gathered(node):
    """The indices of a gather from the leading axes, else ()."""
    if node.op.name == "take":
        return () if node.attrs["axis"] else node.inputs[1:]
    if node.op.name not in ("advanced_take", "advanced_last"):
        return ()
    return node.inputs[1:] if leading(node.attrs["template"]) else ()


def leading(template):
    """Whether the indices stand in front of whole axes and nothing else is there."""
    first = template.count("a")
    return all(t == "a" for t in template[:first]) and all(t == ":" for t in template[first:])


@family.rule("advanced_set", "advanced_inc", "scatter_add")
def masked_update(node):
    """x[m] = f(z[m], ...) is where(m, f(z, ...), x); an increment adds f there.

    Code: f is any elementwise graph. What m leaves out is computed and not used.
    """
    if node.op.name == "scatter_add":
        (x, _, y), indices = node.inputs, node.inputs[1:2]
        at_front = not node.attrs["axis"]
    else:
        (x, y), indices = node.inputs[:2], node.inputs[2:]
        at_front = leading(node.attrs["template"])
    mask = Mask.of(indices) if at_front else None
    if mask is None:
        return None
    rest = x.shape[mask.mask.ndim :]
    if y.ndim == 0:
        new = y
    elif y.ndim != len(rest) + 1 or y.shape[1:] != rest or None in rest:
        return None
    else:
        new = mask.everywhere(y)
    if new is None:
        return None
    mask.fits(x)
    if node.op.name == "advanced_set":
        old = x
    elif node.op.name == "scatter_add":
        old = constant(0, y.dtype)
    else:
        new, old = ops.add(x, new), x
    result = ops.where(mask.over(x.ndim), new, old)
    return result if result.shape == node.shape else None


@family.rule("sum", "unbroadcast")
def masked_sum(node):
    """The sum over f(z[m], ...) is that over where(m, f(z, ...), 0).

    Code: f is any elementwise graph.
    """
    y = node.inputs[0]
    if node.op.name == "sum":
        axes, attrs = node.attrs["axes"], node.attrs
    elif node.ndim:
        return None
    else:
        axes, attrs = tuple(range(y.ndim)), {"keepdims": False}
    mask = part_of(y) if 0 in axes else None
    new = mask and mask.everywhere(y)
    if new is None:
        return None
    more = mask.mask.ndim - 1
    axes = tuple(range(more + 1)) + tuple(a + more for a in axes if a)
    chosen = ops.where(mask.over(y.ndim + more), new, constant(0, new.dtype))
    result = make("sum", (chosen,), {**attrs, "axes": axes})
    return result if result.shape == node.shape else None


def part_of(y):
    """The Mask of the first gather that `y` is elementwise of, or None."""
    stack, met = [y], set()
    while stack:
        node = stack.pop()
        if node.uid in met:
            continue
        met.add(node.uid)
        indices = gathered(node)
        if indices:
            return Mask.of(indices)
        if is_pointwise(node):
            stack.extend(node.inputs)
    return None
