"""Rewrites that users write over the graph as it was written, and what walks a graph with them.

A local one gets an Apply and returns what stands for its outputs, or False; a global one gets the
FunctionGraph. They run before the engine sees the graph; what the engine rewrites, it rewrites
after them, in its own graph (f.explain(rewrites=True)).
"""

import sys
import time
import traceback
from collections import deque

from ...base.errors import ArgumentError, UsageError
from ..base.config import config
from ..base.exceptions import RefusedError
from ..base.names import absent_of as _absent_of
from ..base.names import place
from ..graph.apply import Constant, Variable, equal_computations
from ..graph.fg import InconsistencyError
from ..handles.variables import as_tensor_variable
from .local_opt import (  # noqa: F401
    FromFunctionLocalOptimizer,
    LocalOptGroup,
    LocalOptimizer,
    OpRemove,
    OpSub,
    PatternSub,
    Rewrite,
    check_stack_trace,
    copy_stack_trace,
    inherit_stack_trace,
    is_tracked,
    local_optimizer,
)
from .toolbox import Feature, NodeFinder, ReplaceValidate


class LocalMetaOptimizerSkipAssertionError(AssertionError):
    """A local rewrite that is not to be tried."""


# ---- global ones -----------------------------------------------------------------------------


class Optimizer(Rewrite):
    """A rewrite of a whole FunctionGraph: `apply(fgraph)`; `add_requirements` adds features."""

    def apply(self, fgraph):
        """Change the graph."""

    def add_requirements(self, fgraph):
        """Add the features that `apply` needs."""

    def optimize(self, fgraph, *args, **kwargs):
        """add_requirements, then apply."""
        if not hasattr(fgraph, "attach_feature"):
            raise UsageError("a FunctionGraph is rewritten, and this is none", fgraph)
        self.add_requirements(fgraph)
        return self.apply(fgraph, *args, **kwargs)

    def __call__(self, fgraph):
        return self.optimize(fgraph)

    def print_summary(self, stream=sys.stdout, level=0, depth=-1):
        """Print the name, indented."""
        name = getattr(self, "name", None)
        print(f"{' ' * level}{type(self).__name__} {name} id={id(self)}", file=stream)

    @staticmethod
    def print_profile(stream, prof, level=0):
        """Print what a run took."""
        if prof is not None:
            print(f"{' ' * level}{prof}", file=stream)


class FromFunctionOptimizer(Optimizer):
    """A function of a FunctionGraph as a rewrite."""

    def __init__(self, fn, requirements=()):
        self.apply, self.requirements = fn, requirements

    def add_requirements(self, fgraph):
        for requirement in self.requirements:
            requirement(fgraph)

    def __call__(self, *args, **kwargs):
        return self.apply(*args, **kwargs)

    def __str__(self):
        return getattr(self, "__name__", repr(self))


def optimizer(f):
    """A decorator that makes a function of a FunctionGraph a rewrite."""
    made = FromFunctionOptimizer(f)
    made.__name__ = made.name = f.__name__
    return made


def inplace_optimizer(f):
    """`optimizer`; nothing works in place on this graph."""
    return optimizer(f)


class SeqOptimizer(Optimizer, list):
    """Rewrites one after the other."""

    def __init__(self, *opts, **kwargs):
        if len(opts) == 1 and isinstance(opts[0], (list, tuple)):
            opts = opts[0]
        list.__init__(self, opts)
        self.failure_callback = kwargs.pop("failure_callback", None)

    @staticmethod
    def warn(exc, self, optimizer):
        """What a failing rewrite comes to by the flag on_opt_error."""
        if config._get("on_opt_error") == "raise":
            raise exc
        print(f"SeqOptimizer: {optimizer} failed: {exc}", file=sys.stderr)

    def apply(self, fgraph):
        began, took = time.perf_counter(), []
        for one in list(self):
            start = time.perf_counter()
            try:
                one.optimize(fgraph)
            except AssertionError:
                raise
            except Exception as problem:
                if self.failure_callback is None:
                    raise
                self.failure_callback(problem, self, one)
            took.append(time.perf_counter() - start)
        return self, took, time.perf_counter() - began, len(self)

    __eq__, __ne__, __hash__ = Optimizer.__eq__, Optimizer.__ne__, Optimizer.__hash__

    def __str__(self):
        return f"SeqOpt({list.__str__(self)})"

    __repr__ = list.__repr__

    def print_summary(self, stream=sys.stdout, level=0, depth=-1):
        super().print_summary(stream, level, depth)
        for one in self if depth else ():
            one.print_summary(stream, level + 2, depth - 1)


class MergeFeature(Feature):
    """Kept for programs that attach it: merging needs no watching here."""


class MergeOptimizer(Optimizer):
    """Equal computations become one: the same op on the same inputs, equal constants."""

    def add_requirements(self, fgraph):
        fgraph.attach_feature(ReplaceValidate())

    def apply(self, fgraph):
        start, failed, merged, constants = time.perf_counter(), 0, 0, 0
        known = {}
        for v in [v for v in fgraph.variables if isinstance(v, Constant)]:
            key = v.merge_signature() if hasattr(v, "merge_signature") else v.signature()
            try:
                first = known.setdefault(key, v)
            except TypeError:
                continue
            if first is not v:
                fgraph.replace(v, first, reason="MergeOptimizer")
                constants += 1
        seen = {}
        for node in fgraph.toposort():
            if node not in fgraph.apply_nodes:
                continue
            try:
                key = node.op, tuple(map(id, node.inputs))
                first = seen.setdefault(key, node)
            except TypeError:
                continue
            if first is not node and self._like(first, node):
                pairs = list(zip(node.outputs, first.outputs))
                try:
                    fgraph.replace_all_validate(pairs, reason="MergeOptimizer")
                except InconsistencyError:
                    failed += 1
                    continue
                merged += 1
                for old, new in pairs:
                    new.name = old.name if new.name is None else new.name
        return failed, time.perf_counter() - start, None, None, {}, merged + constants, constants

    @staticmethod
    def _like(first, node):
        return all(a.type == b.type for a, b in zip(first.outputs, node.outputs))


def merge_none_number(v1, v2):
    """The sum of what are numbers."""
    return v2 if v1 is None else v1 if v2 is None else v1 + v2


def merge_dict(d1, d2):
    """Sums by key."""
    return {k: d1.get(k, 0) + d2.get(k, 0) for k in {**d1, **d2}}


def is_same_graph_with_merge(var1, var2, givens=None):
    """Whether two variables compute the same."""
    pairs = dict(givens.items() if hasattr(givens, "items") else givens or ())
    return equal_computations([var1], [var2], list(pairs), list(pairs.values()))


def pre_constant_merge(vars):
    """Equal constants in the graphs of variables become one, and the variables come back."""
    seen, known = set(), {}

    def walk(v):
        if v in seen or hasattr(v, "fgraph"):
            return v
        seen.add(v)
        if v.owner is not None:
            v.owner.inputs = [walk(x) for x in v.owner.inputs]
            return v
        if isinstance(v, Constant):
            try:
                return known.setdefault(v.signature(), v)
            except TypeError:
                return v
        return v

    return [walk(v) for v in vars]


def pre_greedy_local_optimizer(list_optimizations, out):
    """A graph of a variable with local rewrites applied, inputs first; without a FunctionGraph."""
    done = {}

    def walk(v):
        if v.owner is None:
            return v
        if v in done:
            return done[v]
        node = v.owner
        inputs = [walk(x) for x in node.inputs]
        if any(a is not b for a, b in zip(inputs, node.inputs)):
            node = node.clone_with_new_inputs(inputs, strict=False)
        outputs = node.outputs
        for one in list_optimizations:
            if outputs[0].owner is None:
                break
            found = one.transform(outputs[0].owner)
            if found:
                outputs = list(found) if isinstance(found, (list, tuple)) else outputs
        for old, new in zip(v.owner.outputs, outputs):
            done[old] = new
        return done[v]

    found = pre_constant_merge([out])[0]
    return walk(found), list(done)


# ---- navigators ------------------------------------------------------------------------------


class Updater(Feature):
    """Tells a navigator of what comes in, changes and goes."""

    def __init__(self, importer, pruner, chin, name=None):
        self.importer, self.pruner, self.chin, self.name = importer, pruner, chin, name

    def on_import(self, fgraph, node, reason):
        if self.importer:
            self.importer(node)

    def on_prune(self, fgraph, node, reason):
        if self.pruner:
            self.pruner(node)

    def on_change_input(self, fgraph, node, i, r, new_r, reason=None):
        if self.chin:
            self.chin(node, i, r, new_r, reason)


class NavigatorOptimizer(Optimizer):
    """Applies a local rewrite to nodes; what walks how is for classes below.

    ignore_newtrees: whether nodes that a rewrite made are left alone ("auto": where the rewrite is
    not reentrant). failure_callback: what to do with an exception of the rewrite.
    """

    @staticmethod
    def warn(exc, nav, repl_pairs, local_opt, node):
        """What a failing rewrite comes to by the flag on_opt_error."""
        action = config._get("on_opt_error")
        if action == "raise":
            raise exc
        if action == "pdb":
            import pdb  # start-up: 5 ms

            pdb.post_mortem(exc.__traceback__)
        if action == "warn":
            print(f"the rewrite {local_opt} failed at {node}: {exc}", file=sys.stderr)
            traceback.print_exc()

    @staticmethod
    def warn_inplace(exc, nav, repl_pairs, local_opt, node):
        """`warn`, but for inconsistencies."""
        if not isinstance(exc, InconsistencyError):
            NavigatorOptimizer.warn(exc, nav, repl_pairs, local_opt, node)

    @staticmethod
    def warn_ignore(exc, nav, repl_pairs, local_opt, node):
        """Nothing."""

    def __init__(self, local_opt, ignore_newtrees="auto", failure_callback=None):
        self.local_opt = local_opt
        if ignore_newtrees == "auto":
            ignore_newtrees = not getattr(local_opt, "reentrant", True)
        self.ignore_newtrees, self.failure_callback = ignore_newtrees, failure_callback

    def attach_updater(self, fgraph, importer, pruner, chin=None, name=None):
        """An Updater on the graph, or None where new nodes are left alone."""
        if self.ignore_newtrees:
            importer = None
        if importer is None and pruner is None:
            return None
        made = Updater(importer, pruner, chin, name)
        fgraph.attach_feature(made)
        return made

    def detach_updater(self, fgraph, u):
        """Take it away."""
        if u is not None:
            fgraph.remove_feature(u)

    def process_node(self, fgraph, node, lopt=None):
        """Apply the local rewrite to a node; whether the graph changed."""
        lopt = lopt or self.local_opt
        try:
            found = lopt.transform(node)
        except Exception as problem:
            if self.failure_callback is None:
                raise
            pairs = [(v, None) for v in node.outputs]
            self.failure_callback(problem, self, pairs, lopt, node)
            return False
        if found is False or found is None:
            return False
        pairs, remove = self._pairs(fgraph, node, lopt, found)
        pairs = [(old, new) for old, new in pairs if old is not new]
        if not pairs and not remove:
            return False
        try:
            fgraph.replace_all_validate_remove(pairs, reason=lopt, remove=remove)
            return True
        except Exception as problem:
            if self.failure_callback is None:
                raise
            self.failure_callback(problem, self, pairs, lopt, node)
            return False

    def _pairs(self, fgraph, node, lopt, found):
        """([(variable, what stands for it)], Applys that must go) of what a rewrite gave."""
        remove = []
        if isinstance(found, dict):
            found = dict(found)
            remove = found.pop("remove", [])
            old, new = list(found), list(found.values())
        elif isinstance(found, (list, tuple)):
            old, new = node.outputs, found
        else:
            raise UsageError(
                f"the rewrite {lopt} gave {found!r}: it gives False, a list of variables or a dict"
            )
        if len(old) != len(new):
            raise ArgumentError(
                f"the rewrite {lopt} gave {len(new)} variables for the {len(old)} outputs of {node}"
            )
        pairs = []
        for v, made in zip(old, new):
            if made is None:
                if fgraph.clients(v):
                    raise ArgumentError(
                        f"the rewrite {lopt} gave None for an output of {node} that is in use"
                    )
                continue
            if not isinstance(made, Variable):
                made = as_tensor_variable(made)
            pairs.append((v, made))
        return pairs, remove

    def add_requirements(self, fgraph):
        fgraph.attach_feature(ReplaceValidate())
        required = getattr(self.local_opt, "add_requirements", None)
        if required is not None:
            required(fgraph)


class TopoOptimizer(NavigatorOptimizer):
    """One walk over the nodes, inputs first or ('out_to_in') outputs first."""

    def __init__(self, local_opt, order="in_to_out", ignore_newtrees=False, failure_callback=None):
        if order not in ("out_to_in", "in_to_out"):
            raise ArgumentError(f"order is 'out_to_in' or 'in_to_out', not {order!r}")
        self.order = order
        NavigatorOptimizer.__init__(self, local_opt, ignore_newtrees, failure_callback)

    def apply(self, fgraph, start_from=None):
        began = time.perf_counter()
        todo = deque(
            fgraph.toposort()
            if start_from is None
            else [n for n in fgraph.toposort() if any(o in start_from for o in n.outputs)]
        )
        before, changed = len(fgraph.apply_nodes), 0
        current = [None]

        def importer(node):
            if node is not current[0]:
                todo.append(node)

        updater = self.attach_updater(fgraph, importer, None, name=getattr(self, "name", None))
        try:
            while todo:
                node = todo.pop() if self.order == "out_to_in" else todo.popleft()
                if node not in fgraph.apply_nodes:
                    continue
                current[0] = node
                changed += self.process_node(fgraph, node)
        finally:
            self.detach_updater(fgraph, updater)
        took = time.perf_counter() - began
        return self, changed, before, len(fgraph.apply_nodes), took, 0, type(self.local_opt)

    def __str__(self):
        return getattr(self, "__name__", "<TopoOptimizer instance>")


def topogroup_optimizer(order, *local_opts, **kwargs):
    """A TopoOptimizer of several local rewrites."""
    if len(local_opts) > 1:
        local_opts = [LocalOptGroup(*local_opts)]
    name = kwargs.pop("name", None) or str(local_opts[0])
    made = TopoOptimizer(local_opts[0], order=order, failure_callback=TopoOptimizer.warn_inplace,
                         **kwargs)  # fmt: skip
    made.__name__ = made.name = name
    return made


def in2out(*local_opts, **kwargs):
    """Local rewrites in one walk, inputs first."""
    return topogroup_optimizer("in_to_out", *local_opts, **kwargs)


def out2in(*local_opts, **kwargs):
    """Local rewrites in one walk, outputs first."""
    return topogroup_optimizer("out_to_in", *local_opts, **kwargs)


class OpKeyOptimizer(NavigatorOptimizer):
    """A local rewrite with an op_key, applied to the nodes of that op until there are no more."""

    def __init__(self, local_opt, ignore_newtrees=False, failure_callback=None):
        if not hasattr(local_opt, "op_key"):
            raise UsageError("OpKeyOptimizer takes a local rewrite with op_key()")
        NavigatorOptimizer.__init__(self, local_opt, ignore_newtrees, failure_callback)

    def apply(self, fgraph):
        key = self.local_opt.op_key()
        keys = key if isinstance(key, (list, tuple)) else [key]
        todo = deque(n for k in keys for n in fgraph.get_nodes(k))
        current = [None]

        def importer(node):
            if node is not current[0] and any(node.op == k for k in keys):
                todo.append(node)

        updater = self.attach_updater(fgraph, importer, None, name=getattr(self, "name", None))
        try:
            while todo:
                node = todo.pop()
                if node in fgraph.apply_nodes:
                    current[0] = node
                    self.process_node(fgraph, node)
        finally:
            self.detach_updater(fgraph, updater)

    def add_requirements(self, fgraph):
        super().add_requirements(fgraph)
        fgraph.attach_feature(NodeFinder())


class ChangeTracker(Feature):
    """Whether anything changed since `reset`."""

    def __init__(self):
        self.changed = False

    def on_import(self, fgraph, node, reason):
        self.changed = True

    def on_change_input(self, fgraph, node, i, r, new_r, reason=None):
        self.changed = True

    def reset(self):
        """Forget."""
        self.changed = False

    def on_attach(self, fgraph):
        fgraph.change_tracker = self

    def on_detach(self, fgraph):
        fgraph.__dict__.pop("change_tracker", None)


class EquilibriumOptimizer(NavigatorOptimizer):
    """Rewrites, local and global, applied over and over until a round changes nothing.

    max_use_ratio: how often each may apply, for every node of the graph; beyond it, it is left out
    with a warning, for two rewrites may undo each other for ever.
    """

    def __init__(self, optimizers, failure_callback=None, ignore_newtrees=True,
                 tracks_on_change_inputs=False, max_use_ratio=None, final_optimizers=None,
                 cleanup_optimizers=None):  # fmt: skip
        super().__init__(None, ignore_newtrees, failure_callback)
        self.local_optimizers = [o for o in optimizers if isinstance(o, LocalOptimizer)]
        self.global_optimizers = [o for o in optimizers if not isinstance(o, LocalOptimizer)]
        self.final_optimizers = list(final_optimizers or ())
        self.cleanup_optimizers = list(cleanup_optimizers or ())
        if max_use_ratio is None:
            raise RefusedError("max_use_ratio says how often a rewrite may apply: give it")
        self.max_use_ratio = max_use_ratio

    def get_local_optimizers(self):
        return list(self.local_optimizers)

    def add_requirements(self, fgraph):
        super().add_requirements(fgraph)
        for one in (*self.local_optimizers, *self.global_optimizers, *self.final_optimizers,
                    *self.cleanup_optimizers):  # fmt: skip
            required = getattr(one, "add_requirements", None)
            if required is not None:
                required(fgraph)

    def apply(self, fgraph, start_from=None):
        tracker = ChangeTracker()
        fgraph.attach_feature(tracker)
        used, worn = {}, set()
        limit = max(len(fgraph.apply_nodes), 1) * self.max_use_ratio
        try:
            changed = True
            while changed:
                changed = self._globally(fgraph, self.global_optimizers, tracker)
                changed |= self._locally(fgraph, used, worn, limit)
                changed |= self._globally(fgraph, self.cleanup_optimizers, tracker)
                if not changed:
                    changed = self._globally(fgraph, self.final_optimizers, tracker)
        finally:
            fgraph.remove_feature(tracker)
        if worn:
            print(
                f"EquilibriumOptimizer stopped {', '.join(map(str, worn))}, applied more than "
                f"{limit:g} times: two rewrites may undo each other, or the flag "
                "optdb.max_use_ratio is too small",
                file=sys.stderr,
            )
        return self, used, None

    def _globally(self, fgraph, rewrites, tracker):
        changed = False
        for one in rewrites:
            tracker.reset()
            if isinstance(one, LocalOptimizer):
                one = TopoOptimizer(one)
            one.optimize(fgraph)
            changed |= tracker.changed
        return changed

    def _locally(self, fgraph, used, worn, limit):
        """One round of the local rewrites over all nodes, outputs first; whether one applied."""
        changed = False
        todo, current = deque(fgraph.toposort()), [None]

        def importer(node):
            if node is not current[0]:
                todo.append(node)

        updater = self.attach_updater(fgraph, importer, None, name=getattr(self, "name", None))
        try:
            while todo:
                node = current[0] = todo.pop()
                for one in self.local_optimizers:
                    if node not in fgraph.apply_nodes:
                        break
                    if one in worn or not is_tracked(one, node):
                        continue
                    if self.process_node(fgraph, node, one):
                        changed = True
                        used[one] = used.get(one, 0) + 1
                        if used[one] > limit:
                            worn.add(one)
        finally:
            self.detach_updater(fgraph, updater)
        return changed


def __getattr__(name):
    import importlib  # no name of this module

    if name in ("theano", "logging"):  # programs take them from here
        return importlib.import_module(place("") if name == "theano" else name)
    return _absent_of("theano.gof.opt")(name)
