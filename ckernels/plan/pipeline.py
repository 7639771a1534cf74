"""The way from a graph to a plan, as a tuple of stages in the order they run.

A Draft is what is known of the plan so far; each stage adds its part. `run` tells its listener the
name of each stage when it is done. What the stages do stands in rooms of their own; they are
imported when they are needed, so that a process that finds its plans stored never loads them.
"""

from contextlib import nullcontext
from dataclasses import dataclass, field

from ..base import collector
from ..base.errors import ShapeError, with_line
from ..graph.node import make
from ..graph.shapes import show
from ..graph.walk import toposort
from ..ops.bodies import Body, shapes_known
from .concrete import DataDecides, concretise, unknown
from .instructions import count, flatten


@dataclass
class Draft:
    """A plan in the making. shapes: {leaf: shape}, whose sizes may be those of a class (`sizes`);
    strides: {input: strides in elements} where they are not contiguous; loose: inputs whose
    elements may lie at any byte; build(kernels) gives their addresses."""

    inputs: list
    outputs: list
    updates: list  # [(variable, new value)]
    cells: list
    rules: object  # which rewrites to apply: include, exclude
    sizes: object
    shapes: dict
    strides: dict
    build: object
    exact: bool = False  # no part may be left to its oracle for want of a shape
    refused: frozenset = frozenset()  # keys of kernels that cannot be had: oracles run instead
    loose: frozenset = frozenset()
    bands: bool = True  # whether two loops may become one kernel
    loops: bool = True  # whether kernels may take the steps of scans
    in_place: bool = True  # whether updates may write parts of a variable
    c_order: bool = False  # whether all results lie in C order
    homes: dict = field(default_factory=dict)  # {result: the input that it may be written into}
    asked: int = None  # the result, a bool, without which nothing is
    into: int = -1  # the first instruction that writes into an input
    roots: list = field(default_factory=list)
    binder: object = None
    instructions: list = field(default_factory=list)
    addresses: list = field(default_factory=list)
    template: object = None

    def of_outputs(self):
        return self.roots[: len(self.outputs)]

    def of_updates(self):
        return self.roots[len(self.outputs) :]

    def leaf(self, node):
        """An input or a variable as it stands in the graph, with the shape it has here."""
        shape = tuple(self.shapes.get(node, node.shape))
        return make(node.op, (), {**node.attrs, "shape": shape})

    def variables(self):
        """The variables of the updates, as the graph has them."""
        return [self.leaf(variable) for variable, _ in self.updates]

    @property
    def schedules(self):
        """The Schedule of the graph and those of all bodies inside of it."""
        return self.binder.schedules

    @property
    def constants(self):
        """The constants that the instructions read."""
        return self.binder.plan.constants

    @property
    def buffer_sizes(self):
        """{name of a buffer between instructions: its bytes}."""
        return self.binder.plan.sizes


def lost_inside(order):
    """Whether the body of some scan or branch has a node of unknown shape: with numbers in the
    place of sizes it may be known, and else its oracle runs it."""
    return any(
        not shapes_known(body)
        for n in order
        if n.outs is not None
        for body in n.attrs.values()
        if isinstance(body, Body)
    )


# ---- stages: each adds its part to a Draft ----------------------------------------------------


def give_shapes(draft):
    """Every node gets its shape; constants are folded. DataDecides where some stays unknown."""
    roots = draft.outputs + [new for _, new in draft.updates]
    draft.roots = concretise(roots, draft.shapes)
    order = toposort(draft.roots)
    if unknown(order) or draft.exact and lost_inside(order):
        raise DataDecides


def rewrite(draft):
    """An equal graph, stabler and cheaper; updates keep the shapes of their variables."""
    from ..rewrite import optimise  # start-up

    draft.roots = optimise(draft.roots, draft.rules.exclude, draft.rules.include)
    if draft.in_place:
        from ..rewrite.gathered import gathered_updates  # start-up

        draft.roots[len(draft.outputs) :] = gathered_updates(
            list(zip(draft.variables(), draft.of_updates())), draft.of_outputs()
        )
    for (variable, _), new in zip(draft.updates, draft.of_updates()):
        if None not in variable.shape and new.shape != variable.shape:
            raise with_line(
                ShapeError(
                    f"the update of {variable.name or 'a variable'} has shape {show(new.shape)}, "
                    f"the variable has {show(variable.shape)}"
                ),
                new,
            )


def schedule(draft):
    """Long reductions are cut, nodes become groups: one future loop nest each."""
    from .binder import ready  # start-up

    draft.roots = ready(draft.roots)  # frees the graph as it was before
    bind(draft)


def bind(draft):
    """The Binder of a Draft; with `homes` stores may change inputs that have one."""
    from .binder import Binder  # start-up

    homes = ()
    if draft.homes:
        from .taken_over import candidates  # start-up

        homes = candidates(draft)
    inputs, cells = {}, {}
    for i, node in enumerate(draft.inputs):
        inputs[draft.leaf(node).uid] = (i, draft.strides.get(node), node in draft.loose)
    for i, node in enumerate(draft.cells):
        cells[draft.leaf(node).uid] = i
    variables = draft.variables() if draft.in_place else ()
    draft.binder = Binder(
        draft.of_outputs(),
        draft.of_updates(),
        inputs,
        cells,
        draft.refused,
        variables,
        draft.c_order,
        homes,
    )


def lower(draft):
    """Groups become kernels, all else other instructions, in an order; buffers have names. Kernels
    take the steps of scans whose steps are short."""
    from .. import compiler  # start-up
    from .scan_in_kernel import take_steps  # start-up

    draft.binder.bands = draft.bands
    draft.instructions = draft.binder.run()
    while draft.homes:
        from .taken_over import TakenOver  # start-up

        written = TakenOver(draft.instructions, draft.binder.homes, draft.binder.moved, draft.asked)
        draft.homes, draft.into = written.kept, written.first
        draft.instructions = written.instructions
        if not written.lost:
            break
        bind(draft)
        draft.binder.bands = draft.bands
        draft.instructions = draft.binder.run()
    if draft.loops and not compiler.ready_made():
        take_steps(draft.instructions, draft.binder.plan, draft.refused)


def compile_kernels(draft):
    """Kernels that are missing are compiled; all have addresses."""
    kernels = [i.kernel for i in flatten(draft.instructions)]
    draft.addresses = draft.build([k for k in kernels if k is not None])


def encode(draft):
    """Buffers get their places, instructions become tables, sizes expressions: a Template."""
    from .encode import Tables  # start-up
    from .template import template  # start-up

    tables = Tables(draft.instructions, draft.buffer_sizes, draft.addresses)
    index = {id(n): i for i, n in enumerate(draft.cells)}
    draft.template = template(
        draft.sizes,
        tables,
        draft.constants,
        [(n.dtype, n.shape, draft.binder.plan.orders.result(n)) for n in draft.of_outputs()],
        [
            (~index[id(v)] if i in draft.binder.partial else index[id(v)], n.dtype, n.shape)
            for i, ((v, _), n) in enumerate(zip(draft.updates, draft.of_updates()))
        ],
    )
    draft.template.nodes = len(draft.binder.order)
    if draft.homes:
        draft.template.into = count(draft.instructions[: draft.into]), draft.homes, draft.asked


PIPELINE = (give_shapes, rewrite, schedule, lower, compile_kernels, encode)


def run(draft, told=lambda stage: None, until=None):
    """The Draft after all stages, or after the one named by `until`."""
    for stage in PIPELINE:
        with nullcontext() if stage is compile_kernels else collector.later():
            stage(draft)
        told(stage.__name__)
        if stage.__name__ == until:
            break
    return draft
