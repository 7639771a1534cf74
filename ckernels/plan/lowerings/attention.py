"""Launches of attention and of its gradients: tiles of scores that the runtime makes and forgets.

A batch of two axes is walked as it lies, and so are rows of queries, keys and values whose numbers
are side by side; what lies otherwise is copied first. Results are contiguous.
"""

from dataclasses import replace

from ...base.machine import NS_MULTIPLY
from ...codegen.layout import collapse, contiguous_strides, fresh
from ...graph.shapes import product
from ...graph.sizes import estimate, greatest
from ...ops.attention import operands_of, shape_of
from ..instructions import Native, word_of
from ..records import ATTENTION, ATTENTION_GRAD, AttentionDims

HAS = {"bias": 1, "mask": 2, "state": 4}
MOST_BATCH = 2  # axes
UNSEEN = 1 << 30  # where there is no order of time, all rows see all keys


def side_by_side(plan, layout):
    """`layout` with the numbers of a row side by side, and rows that do not overlap."""
    (n, width), (far, near) = layout.shape[-2:], layout.strides[-2:]
    if (near == 1 or width == 1) and (n == 1 or far >= width):
        return layout
    return plan.compact(layout)


def over(batch, layout, rest=2):
    """`layout` with its batch broadcast, and the last axes too where they are of size 1."""
    lead = len(batch) - (len(layout.shape) - rest)
    strides = [0 if n == 1 else s for n, s in zip(layout.shape, layout.strides)]
    shape = (*batch, *layout.shape[-rest:])
    return replace(layout, shape=shape, strides=(0,) * lead + tuple(strides))


class Reading:
    """What a node reads: layouts, and strides over a batch of two sizes."""

    def __init__(self, plan, node):
        self.plan, attrs = plan, node.attrs
        self.only = node.outs is None  # the gradient by values, which reads none
        inputs = (*node.inputs[:2], node.inputs[-1], *node.inputs[2:]) if self.only else node.inputs
        self.batch, self.n, self.m, self.d, self.e = shape_of(attrs, inputs)
        q, k, v, others, self.last = operands_of(attrs, inputs)
        self.rows = self.side_by_side(q, k, v)
        self.scores = {x: plan.layout(others[x]) for x in ("bias", "mask") if x in others}
        self.state = others.get("state")
        self.has = sum(HAS[x] for x in attrs["has"])
        self.settle()

    def side_by_side(self, *nodes):
        """Where they lie; keys that are values too are copied once."""
        found = {}
        for x in nodes:
            layout = self.plan.layout(x)
            if layout not in found:
                found[layout] = side_by_side(self.plan, layout)
        return [found[self.plan.layout(x)] for x in nodes]

    def settle(self):
        wide = [k for k, n in enumerate(self.batch) if n != 1]
        read = [
            over(self.batch, lay) for lay in (*self.rows, *map(self.wide, self.scores.values()))
        ]
        strides = [[lay.strides[k] for k in wide] for lay in read]
        results = contiguous_strides(self.batch)
        strides.append([results[k] for k in wide])
        sizes, found = collapse([self.batch[k] for k in wide], strides)
        if len(sizes) > MOST_BATCH:
            self.rows = [self.plan.copy(lay) for lay in read[:3]]
            self.scores = {name: self.plan.copy(lay) for name, lay in zip(self.scores, read[3:])}
            sizes, found = [product(self.batch)], [[product(lay.shape[-2:])] for lay in read]
        pad = MOST_BATCH - len(sizes)
        self.sizes = (*(1,) * pad, *sizes)
        self.steps = [(*(0,) * pad, *row) for row in found]

    def wide(self, layout):
        """Bias or mask as matrices."""
        lack = max(0, 2 - len(layout.shape))
        shape, strides = (1,) * lack + layout.shape, (0,) * lack + layout.strides
        return replace(layout, shape=shape, strides=strides)

    def of_rows(self, which):
        layout, width = self.rows[which], (self.d, self.d, self.e)[which]
        n = layout.shape[-2]
        far = layout.strides[-2] if n != 1 else width
        return (*self.steps[which], greatest(far, greatest(width, 1)))

    def of_scores(self, name):
        if name not in self.scores:
            return (0,) * 4
        layout = self.wide(self.scores[name])
        near = [0 if n == 1 else s for n, s in zip(layout.shape[-2:], layout.strides[-2:])]
        return (*self.steps[3 + list(self.scores).index(name)], *near)

    def layouts(self):
        """All that the instruction reads before its results; what is absent is never read."""
        state = self.rows[0] if self.state is None else self.plan.layout(self.state)
        if self.state is not None and state.strides != (1,):
            state = self.plan.compact(state)
        return [*self.rows, *(self.scores.get(x, self.rows[0]) for x in ("bias", "mask")), state]

    def record(self, op, node):
        attrs = node.attrs
        return AttentionDims(
            op=op,
            dtype=int(node.inputs[0].dtype == "float64"),
            outer=self.sizes[0],
            inner=self.sizes[1],
            rows=self.n,
            keys=self.m,
            width=self.d,
            values=self.e,
            q=self.of_rows(0),
            k=self.of_rows(1),
            v=self.of_rows(2),
            bias=self.of_scores("bias"),
            mask=self.of_scores("mask"),
            has=self.has,
            causal=UNSEEN if attrs["causal"] is None else attrs["causal"],
            fill=word_of(attrs["fill"]),
            zero=int(attrs["zero"]),
            keep=attrs["keep"],
            only=int(self.only),
            none=(0,) * AttentionDims.NESTED["none"][0],
        )


def whole(plan, x):
    """Where `x` lies, contiguous."""
    layout = plan.layout(x)
    return layout if layout == fresh(layout.buffer, x.shape, x.dtype) else plan.copy(layout)


def launched(op, flops):
    """The lowering of one of the ops; flops: of a score, by (width, values)."""

    def lower(plan, node):
        read = Reading(plan, node)
        sources = [*read.layouts(), *(whole(plan, x) for x in read.last)]
        targets = plan.places(node)
        if read.only:  # neither values nor the result there are read, nor are other slopes written
            sources.insert(len(sources) - 2, sources[0])
            none = plan.temp((1,), "uint8")
            targets = [none, none, *targets]
        scores = estimate(*read.batch, read.n, read.m)
        plan.add(
            Native(
                name=node.op.name,
                pointers=[lay.pointer for lay in (*sources, *targets)],
                record=read.record(op, node),
                ns=scores * flops(estimate(read.d), estimate(read.e)) * NS_MULTIPLY,
                reads=[lay.buffer for lay in sources],
                writes=[lay.buffer for lay in targets],
                node=node,
                nodes=[node],
            )
        )
        return True

    return lower


attention = launched(ATTENTION, lambda d, e: 2 * (d + e))
attention_grad = launched(ATTENTION_GRAD, lambda d, e: 6 * d + 4 * e)
values_grad = launched(ATTENTION_GRAD, lambda d, e: 2 * (d + e))
