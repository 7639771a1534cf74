"""StagedFunction: where data decides a shape: compiled pieces of the graph with NumPy between them.

Where the graph is cut, where the operands of each cut come from and which piece comes next are
worked out once for a class of shapes and kept: later calls look them up. A mask that selects
another number of elements gives another member of the same class, not a new class.
"""

import functools

import numpy as np

from ..base import locks
from ..base.dtypes import is_discrete
from ..base.native import runtime
from ..graph.node import item, placeholder
from ..graph.sizes import LEAST, ShapeClass, Written
from ..graph.walk import leaves, rebuild, toposort
from ..ops import reference
from ..plan.concrete import concretise
from ..plan.template import ints
from .common import FunctionBase, updating
from .data_dependent import Origins
from .program import Program
from .snapshots import held, value_of
from .state import snapshot

Base = object if runtime is None else runtime.Stage


class StagedFunction(FunctionBase):
    """Compiled pieces with NumPy between them, cut where data decides a shape.

    Each cut node is computed by its oracle from values of the piece before, all of them whose
    operands are known then; the next piece gets the results as inputs, so its plans are kept per
    shape like those of any function. What a piece computes and later ones need, it hands on:
    nothing is computed twice. Variables are inputs of the pieces too: each call reads all of them
    once, at one moment. While a function with updates runs, other functions that update the same
    variables wait for its last piece.
    """

    def __init__(self, spec):
        super().__init__(spec)
        self.lock = updating if spec.updates else locks.rlock()
        self.pieces, self.stand_ins = {}, {}
        self.stores = [n.attrs["store"] for n in spec.cells]
        self.variables = [value_of(n) for n in spec.cells]
        self.roots = rebuild(
            spec.outputs + [new for _, new in spec.updates], dict(zip(spec.cells, self.variables))
        )
        self.flexible = [i for i, n in enumerate(spec.cells) if None in n.shape]
        self.types = [(np.dtype(n.dtype), n.ndim) for n in spec.inputs]
        self.leaves = self.inputs + self.variables
        self.start = Stage(self.roots)
        known = self.inputs + [self.variables[i] for i in self.flexible]
        self.start.use(self, (), (None, ()), (), env=self.leaves, known=known)

    def __call__(self, *args, **kwargs):
        arrays = None if kwargs else self.plain(args)
        if arrays is None:
            arrays = self.spec.arrange(args, kwargs)
        if not self.stores:
            return self.run(arrays)
        with self.lock, held(self.stores if self.updates else ()):
            return self.run(arrays)

    def plain(self, args):
        """`args` where they are arrays that need no coercion, or ints for scalars; else None."""
        if len(args) == 1 and type(args[0]) in (list, tuple) and not self.spec.positional_only:
            args = args[0]
        if len(args) != len(self.types):
            return None
        arrays = []
        for a, (dtype, ndim) in zip(args, self.types):
            if type(a) is int and not ndim and dtype.char in "lq" and -(2**63) <= a < 2**63:
                a = np.array(a, dtype)
            elif (
                type(a) is not np.ndarray
                or a.dtype is not dtype
                or a.ndim != ndim
                or not a.flags.aligned
            ):
                return None
            arrays.append(a)
        return arrays

    def run(self, arrays):
        values = snapshot(self.stores) if self.stores else []
        found = self.start.run([*arrays, *values])
        return found[0] if self.spec.single else found

    def follow(self, stage, slots):
        """The Stage after `stage` for what is in these slots, which are of no class it knows."""
        env = {n: a for n, a in zip(stage.env, slots) if n is not None}
        if stage is self.start:
            for node in self.inputs:
                Program.check_shape(node, env[node])
        with self.lock:
            return self.planned(stage, env)

    def planned(self, stage, env):
        """The Stage after `stage` for arrays of leaves, which it learns for their class."""
        of, sized, sizes = ShapeClass(), {n: a.shape for n, a in env.items()}, []
        numbers = dict(sized)
        for i, node in enumerate(stage.known):
            made = []
            for k, (n, declared) in enumerate(zip(numbers[node], node.shape)):
                new = declared is None and n >= LEAST
                made.append(of.symbol((i, k), "", n) if new else n)
                sizes.append(-1 if new else n)
            sized[node] = tuple(made)
        cuts = self.next_cuts(stage.roots, sized)
        if cuts and self.next_cuts(cuts, numbers) != cuts:  # for these sizes alone
            of, sizes = ShapeClass(), [n for node in stage.known for n in numbers[node]]
            cuts = self.next_cuts(stage.roots, numbers)
        following = self.plan(stage, cuts, env)
        written = Written(of)
        stage.learn(ints(sizes), ints(written.code, 3), ints(written.args),
                    ints(written.assumed, 2), following)  # fmt: skip
        return following

    # ---- once per class of shapes ---------------------------------------------------------------

    def plan(self, before, nodes, env):
        """The next Stage: it computes the roots of the one before, or the nodes they need that are
        cut first."""
        roots, slots = before.roots, before.env
        if not nodes:
            count = len(self.outputs)
            updates = [(v, new) for (v, _), new in zip(self.updates, roots[count:])]
            stage = Stage(())
            stage.use(self, slots, self.piece(env, roots[:count], updates), roots[:count])
            return stage
        cuts, stand_ins = [], {}
        for maker in dict.fromkeys(n.inputs[0] if n.op.name == "item" else n for n in nodes):
            single = maker.outs is None
            parts = [maker] if single else [item(maker, k) for k in range(len(maker.outs))]
            made = {node: self.stand_in(node) for node in parts}
            cuts.append(Uncompiled(maker, list(made.values())))
            stand_ins |= made
        operands = [n for cut in cuts for n in cut.maker.inputs]
        computed = [n for n in dict.fromkeys(operands) if view_of(n) is None]
        rest = rebuild(roots, stand_ins)
        kept = {n: self.stand_in(n, n.shape) for n in handed_on(rest, computed)}
        stage = Stage(rebuild(rest, kept) if kept else rest)
        needed = set(leaves(stage.roots))
        piece = self.piece(env, computed + list(kept), []) if computed else (None, ())
        made = [leaf for cut in cuts for leaf in cut.leaves]
        env = [n if n in needed else None for n in [*slots, *kept.values(), *made]]
        known = [n for n in env if n is not None and None in n.shape]
        stage.use(self, slots, piece, computed, operands, cuts, len(kept), env, known)
        return stage

    @staticmethod
    def next_cuts(roots, shapes):
        """The nodes with operands of known shapes whose own shape does not follow from those of the
        leaves, and that need no other such node."""
        order = toposort(roots)
        asked = [n for n in order if n.outs is None and None in n.shape and n.op.kind != "leaf"]
        decided = {
            node.uid
            for node, concrete in zip(asked, concretise(asked, shapes))
            if concrete.outs is None and None in concrete.shape
        }
        cuts, after = [], set()
        for node in order:
            if any(i.uid in after for i in node.inputs):
                after.add(node.uid)
            elif node.uid in decided:
                after.add(node.uid)
                cuts.append(node)
        return cuts

    def stand_in(self, node, shape=None):
        """The placeholder that later pieces read for the cut `node`."""
        if node.uid not in self.stand_ins:
            self.stand_ins[node.uid] = placeholder(
                node.dtype, shape or (None,) * node.ndim, f"stage{len(self.stand_ins)}"
            )
        return self.stand_ins[node.uid]

    def piece(self, env, outputs, updates):
        """(function, the inputs it reads): what one stage runs, kept for other shapes."""
        wanted = set(leaves(outputs + [new for _, new in updates], "placeholder"))
        inputs = [n for n in env if n in wanted]
        key = (
            tuple(n.uid for n in inputs),
            tuple(n.uid for n in outputs),
            tuple((v.uid, n.uid) for v, n in updates),
        )
        if key not in self.pieces:
            spec = self.spec.like(
                inputs=inputs,
                outputs=outputs,
                updates=updates,
                single=False,
                name=self.name,
                defaults={},
                downcast=True,
                positional_only=True,
                check="none",
                rules=None,
            )
            whole = outputs + [new for _, new in updates] == self.roots  # nothing left to cut
            self.pieces[key] = spec.compiled() if whole else spec.callable()
        return self.pieces[key], inputs

    # ---- what users may ask ---------------------------------------------------------------------

    def stats(self):
        """The sums over the pieces of what `CompiledFunction.stats` tells."""
        total = super().stats()
        for part in (f.stats() for f in self.pieces.values()):
            for name in (
                "instructions",
                "kernels",
                "built",
                "from_cache",
                "compile_seconds",
                "plans",
                "classes",
            ):
                total[name] += part[name]
            total["peak_bytes"] = max(total["peak_bytes"], part["peak_bytes"])
        return total

    def profile_table(self):
        """The tables of all compiled pieces as one; what NumPy does between them is not in it."""
        table = super().profile_table()
        for piece in self.pieces.values():
            table.extend(piece.profile_table())
        return table.shared()

    def timeline(self):
        """Those of all compiled pieces one behind the other, without what NumPy does between."""
        found = super().timeline()
        for piece in self.pieces.values():
            found.follow(piece.timeline())
        return found

    def source(self):
        """The C of all kernels of all pieces, after the first call."""
        return "\n".join(f.source() for f in self.pieces.values())

    def steps(self):
        """The lines of all compiled pieces, one after the other; each counts from 0."""
        return [line for f in self.pieces.values() for line in f.steps()]

    def explain(self, rewrites=False):
        """The texts of all compiled pieces; each counts its instructions from 0."""
        return "\n\n".join(f.explain(rewrites) for f in self.pieces.values())


class Stage(Base):
    """One step of a call: `cuts` are what to compute in NumPy; none: the last piece.

    roots: the graph with leaves in the place of what was computed; env: the leaf in each slot, None
    where nothing reads it any more; known: leaves whose shapes decide what comes next.
    """

    def __init__(self, roots):
        self.roots = roots

    def use(self, owner, slots, piece, computed, operands=(), cuts=(), kept=0, env=(), known=()):
        """Say what the runtime does. slots: the leaves before; piece: (function, the leaves it
        reads); computed: what it gives first, before `kept` leaves of later pieces; env: the leaves
        then."""
        function, read = piece
        at = {n: i for i, n in enumerate(slots) if n is not None}
        places = {n: k for k, n in enumerate(computed)}
        given = [(0, places[n], None) if n in places else view_of(n).source(at) for n in operands]
        self.env, self.known = env, known
        dead = [
            i for i, n in enumerate(env) if n is None and (i >= len(slots) or slots[i] is not None)
        ]
        self.take(owner, function, tuple([at[n] for n in read]),
                  tuple([env.index(n) for n in known]), tuple(dead), len(slots), kept,
                  tuple(given), tuple([c.described() for c in cuts]))  # fmt: skip


class Uncompiled:
    """A node that NumPy computes between pieces; `leaves` stand for its results in later ones."""

    def __init__(self, maker, stand_ins):
        self.maker, self.leaves = maker, stand_ins
        self.dtypes = tuple([np.dtype(n.dtype) for n in stand_ins])

    def described(self):
        """What the runtime knows of it: see `Stage.take`."""
        maker, plain = self.maker, None
        template = cheap_template(maker)
        if template is not None:
            plain = part_of(template)
        elif maker.op.name == "arange" and maker.dtype == "int64" and all(
            is_discrete(n.dtype) for n in maker.inputs
        ):  # fmt: skip
            plain = int64_arange
        elif maker.op.name in reference.QUIET and maker.op.oracle is not None:
            plain = functools.partial(maker.op.oracle, maker.attrs)
        places = maker.op.name in ("mask_indices", "nonzero")
        axis = maker.attrs["axis"] if maker.op.name == "mask_indices" else -1
        return int(places), len(maker.inputs), axis, plain, self.compute, self.dtypes

    def compute(self, values):
        """Arrays of the maker's results, or an error that says what is wrong."""
        result = reference.apply_oracle(self.maker, values)
        return list(result) if self.maker.outs is not None else [result]


def int64_arange(*bounds):
    return np.arange(*[int(n) for n in bounds], dtype=np.int64)


def part_of(template):
    """The function of an array, and of the numbers that a template of slices leaves open, which
    gives that part."""

    def part(x, *numbers):
        numbers = [int(n) for n in numbers]
        return x[tuple([slice(*[numbers[b[1]] if type(b) is tuple else b for b in bounds])
                        for bounds in template])]  # fmt: skip

    return part


def handed_on(roots, computed):
    """The nodes that `roots` read of what a piece computes on its way to `computed`.

    The piece hands them on, so that no later one computes them again. Views cost nothing, and what
    follows from shapes must stay an expression of them, for the shapes that follow from it: of
    these, what they are made of is handed on.
    """
    made, found, seen, stack = {n.uid for n in toposort(computed)}, [], set(), list(roots)
    origins = Origins()
    while stack:
        node = stack.pop()
        if node.uid in seen:
            continue
        seen.add(node.uid)
        maker = node.inputs[0] if node.op.name == "item" else node
        if maker.uid in made and not free(node, origins):
            found.append(node)
        else:
            stack.extend(node.inputs)
    return found


def free(node, origins):
    """Whether it costs nothing to have `node` again where its operands are."""
    if node.outs is not None or node.op.kind in ("leaf", "movement"):
        return True
    return node.ndim < 2 and is_discrete(node.dtype) and not origins.from_data(node)


def cheap_template(maker):
    """The template of a dynamic slice that cannot fail: its oracle would check for 10 us."""
    if maker.op.name != "dynamic_slice" or maker.attrs.get("exact"):
        return None
    template = maker.attrs["template"]
    return None if any(type(step) is tuple or step == 0 for _, _, step in template) else template


class View:
    """An operand of a cut that needs no computing: a leaf, seen through movement ops."""

    def __init__(self, leaf, moves):
        self.leaf, self.moves = leaf, moves

    def source(self, at):
        """Where it is found: see `Stage.take`. at: {leaf: slot}."""
        if self.leaf.value is not None:
            return 2, 0, self.moved(self.leaf.value)
        return 1, at[self.leaf], self.moved if self.moves else None

    def moved(self, array):
        for node in self.moves:
            array = node.op.oracle(node.attrs, array, *(i.value for i in node.inputs[1:]))
        return array


def view_of(node):
    """The View that gives `node` without copying a tensor, or None where it must be computed."""
    moves = []
    while node.op.kind == "movement" and all(i.value is not None for i in node.inputs[1:]):
        moves.append(node)
        node = node.inputs[0]
    return View(node, moves[::-1]) if node.op.kind == "leaf" else None
