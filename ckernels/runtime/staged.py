"""StagedFunction: where data decides a shape: compiled pieces of the graph with NumPy between them.

Where the graph is cut, where the operands of each cut come from and which piece comes next are
worked out once for a class of shapes and kept: later calls look them up. A mask that selects
another number of elements gives another member of the same class, not a new class.
"""

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

KEPT = 64  # shapes of one cut's results that are remembered,
CLASSES = 32  # and classes of them


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
        self.start.known = self.inputs + [self.variables[i] for i in self.flexible]

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
        shapes = tuple([a.shape for a in arrays] + [values[i].shape for i in self.flexible])
        env = dict(zip(self.leaves, [*arrays, *values]))
        stage = self.start
        while True:
            following = stage.following.get(shapes)
            if following is None:
                if stage is self.start:
                    for node, array in zip(self.inputs, arrays):
                        Program.check_shape(node, array)
                with self.lock:
                    following = stage.keep(shapes, self.follow(stage, shapes, env))
            stage = following
            values = stage.operands(env)
            if not stage.cuts:
                return values[0] if self.spec.single else values
            env.update(stage.compute(values))
            for n in stage.dead:
                del env[n]
            shapes = tuple([env[n].shape for n in stage.known])

    def follow(self, stage, shapes, env):
        """The Stage after `stage` for these shapes of its known leaves: found by their class, else
        planned."""
        of, sized, kind, symbols = ShapeClass(), {n: a.shape for n, a in env.items()}, [], []
        numbers = dict(sized)
        for i, (node, shape) in enumerate(zip(stage.known, shapes)):
            made = []
            for k, (n, declared) in enumerate(zip(shape, node.shape)):
                new = declared is None and n >= LEAST
                kind.append(None if new else n)
                made.append(of.symbol((i, k), "", n) if new else n)
                symbols.extend([n] * new)
            sized[node] = tuple(made)
        known, symbols = stage.classes.setdefault(tuple(kind), []), ints(symbols)
        for tables, following in known:
            if runtime.sizes(*tables, symbols) is not None:
                return following
        cuts = self.next_cuts(stage.roots, sized)
        if cuts and self.next_cuts(cuts, numbers) != cuts:
            return self.plan(stage, self.next_cuts(stage.roots, numbers), env)
        following = self.plan(stage, cuts, env)
        written = Written(of)
        tables = ints(written.code, 3), ints(written.args), ints(written.assumed, 2)
        known.insert(0, (tables, following))
        del known[CLASSES:]
        return following

    # ---- once per class of shapes ---------------------------------------------------------------

    def plan(self, before, nodes, env):
        """The next Stage: it computes the roots of the one before, or the nodes they need that are
        cut first."""
        roots = before.roots
        if not nodes:
            count = len(self.outputs)
            updates = [(v, new) for (v, _), new in zip(self.updates, roots[count:])]
            stage = Stage(())
            stage.take(roots[:count], self.piece(env, roots[:count], updates), plain=False)
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
        stage = Stage(rebuild(rest, kept) if kept else rest, cuts)
        stage.kept = list(kept.values())
        values, needed = [*env, *stage.kept, *stand_ins.values()], set(leaves(stage.roots))
        stage.known = [n for n in values if n in needed and None in n.shape]
        stage.dead = [n for n in values if n not in needed]
        stage.take(operands, self.piece(env, computed + list(kept), []) if computed else None)
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


class Stage:
    """One step of a call: `cuts` are what to compute in NumPy; none: the last piece.

    roots: the graph with leaves in the place of what was computed; known: leaves whose shapes
    decide what comes next; following: {their shapes: next Stage}; classes: {kind of shapes:
    [(tables that tell whether shapes are of a class, next Stage)]}.
    """

    def __init__(self, roots, cuts=()):
        self.roots, self.cuts = roots, cuts
        self.following, self.classes, self.known = {}, {}, []
        self.piece, self.read, self.sources = None, (), ()
        self.kept = []  # leaves for what the piece computes and later pieces need too
        self.dead = []  # leaves that nothing reads any more

    def take(self, nodes, piece, plain=True):
        """Read `nodes` from the piece: in their order, or with `plain` views of leaves from the
        leaves and each other node once."""
        self.piece, self.read = piece or (None, ())
        if not plain:
            self.sources = None
            return
        views = {n: view_of(n) for n in nodes}
        position = {n: k for k, n in enumerate(n for n in views if views[n] is None)}
        self.sources = [position[n] if views[n] is None else views[n] for n in nodes]

    def keep(self, shapes, stage):
        if len(self.following) >= KEPT:
            self.following.clear()
        self.following[shapes] = stage
        return stage

    def operands(self, env):
        computed = self.piece(*[env[n] for n in self.read]) if self.piece else ()
        if self.kept:
            env.update(zip(self.kept, computed[-len(self.kept) :]))
        if self.sources is None:
            return computed
        return [computed[s] if type(s) is int else s.value(env) for s in self.sources]

    def compute(self, values):
        """{leaf: array} of what NumPy computes here; values: the operands of all cuts."""
        found, first = {}, 0
        for cut in self.cuts:
            end = first + len(cut.maker.inputs)
            found.update(zip(cut.leaves, cut.compute(values[first:end])))
            first = end
        return found


class Uncompiled:
    """A node that NumPy computes between pieces; `leaves` stand for its results in later ones."""

    def __init__(self, maker, stand_ins):
        self.maker, self.leaves = maker, stand_ins
        self.dtypes = [np.dtype(n.dtype) for n in stand_ins]
        self.template = cheap_template(maker)

    def compute(self, values):
        """Arrays of the maker's results."""
        maker = self.maker
        if self.template is not None:
            x, scalars = values[0], [int(v) for v in values[1:]]
            key = tuple(
                [
                    slice(*[scalars[b[1]] if type(b) is tuple else b for b in bounds])
                    for bounds in self.template
                ]
            )
            return [x[key]]
        result = reference.apply_oracle(maker, values)
        results = result if maker.outs is not None else (result,)
        return [r if type(r) is np.ndarray and r.dtype is d else np.asarray(r, d)
                for r, d in zip(results, self.dtypes)]  # fmt: skip


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

    def value(self, env):
        leaf = self.leaf
        if leaf.value is not None:
            array = leaf.value
        else:
            array = env[leaf]
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
