"""From handles to one closed graph of the engine: givens, inner inputs, states, default updates.

A replaced handle means itself: where it is no leaf, the graph as written above it is made anew with
a stand-in (graph/walks.py); leaves have nodes of their own and are replaced in the engine's graph.
"""

from ...api.function import with_defaults
from ...base.errors import ArgumentError
from ...base.warned import warn_user
from ...graph.walk import leaves, rebuild, toposort
from ...ops.scan_ends import scan_updates
from ..base.exceptions import MissingInputError, UnusedInputError
from ..graph.apply import Constant, ancestors, clone
from ..graph.apply import inputs as leaf_variables
from ..graph.fg import FunctionGraph, lower_again
from ..graph.walks import is_leaf, mentioned_by, replayed
from ..user_ops.perform import prepared


class Lowered:
    """The closed graph: inputs (nodes), outputs (nodes), updates [(node of variable, node)]."""

    fgraph = None  # the graph after rewrites of users, where there are any

    def __init__(self, inputs, outputs, updates, replace, no_defaults=(), rewrites=None):
        """inputs: variables; outputs: variables; updates: {shared: variable}; replace: {v: v};
        rewrites: an Optimizer of rewrites/opt.py for the graph as written, or None."""
        self.variables, self.replace = list(inputs), dict(replace)
        stand_ins = {}
        self.inputs = []
        for x in inputs:
            if is_leaf(x) and x.node.op.name == "placeholder":
                self.inputs.append(x.node)
            else:
                fresh = x.type(x.name)
                stand_ins[x] = fresh
                self.inputs.append(fresh.node)
        self.given, self.stand_ins = dict(self.replace), stand_ins
        self.written = list(outputs) + list(updates.values())
        if rewrites is None:
            roots = self.substituted(self.written)
        else:
            roots = self.rewritten(self.written, rewrites)
        self.outputs = roots[: len(outputs)]
        self.updates = list(zip([v.node for v in updates], roots[len(outputs) :]))
        self.shared = {v.node: v for v in updates}
        self.add_defaults(no_defaults)
        self.share_cells()
        self.close()

    def substituted(self, variables):
        """The nodes of variables with all replacements put in at once, then the inputs."""
        nodes = None
        for table in (self.given, self.stand_ins):
            if not table:
                continue
            inner = {
                k: v
                for k, v in table.items()
                if not is_leaf(k) or (k.ndim, k.dtype) != (v.ndim, v.dtype)
            }
            if inner:
                if nodes is not None:
                    variables = self.handles(variables, nodes)
                variables, nodes = replayed(list(variables), table), None
            else:
                current = [v.node for v in variables] if nodes is None else nodes
                nodes = rebuild(current, {k.node: v.node for k, v in table.items()})
        return [v.node for v in variables] if nodes is None else nodes

    def rewritten(self, variables, rewrites):
        """The nodes of variables with all replacements put in, then rewrites of users applied."""
        for table in (self.given, self.stand_ins):
            variables = replayed(list(variables), table) if table else variables
        inputs = [self.stand_ins.get(x, x) for x in self.variables]
        self.fgraph = rewritten(inputs, variables, rewrites)
        return [v.node for v in self.fgraph.outputs]

    def handles(self, variables, nodes):
        """Variables on `nodes` that came of `variables` by replacing leaves."""
        return replayed(list(variables), self.given)

    def add_defaults(self, excluded):
        """Collect default updates of the shared variables in use, and of those these use."""
        if excluded is True:
            return
        skip = {v.node for v in excluded or ()}
        updated = {node for node, _ in self.updates}
        handles = self.shared_handles()
        todo = self.outputs + [new for _, new in self.updates]
        while todo:
            found = {}
            for leaf in leaves(todo, "variable"):
                new = self.default_of(leaf, handles)
                if new is not None and leaf not in updated and leaf not in skip:
                    found[leaf] = new
            updated.update(found)
            looped = scan_updates(toposort(todo)) if found else {}
            todo = [
                looped[v] if v in looped else self.node_of_default(new) for v, new in found.items()
            ]
            self.updates.extend(zip(found, todo))

    def node_of_default(self, new):
        return (
            self.substituted([new])[0]
            if hasattr(new, "node")
            else rebuild([new], {k.node: v.node for k, v in self.given.items() if is_leaf(k)})[0]
        )

    def default_of(self, leaf, handles):
        """The default update of the handles on a variable node that the graph holds."""
        known = handles.get(leaf)
        if known:
            return next((h.default_update for h in known if h.default_update is not None), None)
        return leaf.attrs["store"].default_update

    def shared_handles(self):
        """{variable node: the shared variables on it that the graph as written holds}."""
        roots = [*self.written, *self.given.values()]
        if all(
            n.attrs["store"].default_update is None
            for n in leaves(self.outputs + [new for _, new in self.updates], "variable")
        ):
            return {}
        found = {}
        for v in ancestors(roots):
            node = getattr(v, "node", None)
            if node is not None and node.op.name == "variable" and hasattr(v, "container"):
                found.setdefault(node, []).append(v)
        return found

    def share_cells(self):
        """Let variables on one storage be one variable of the engine: the first that was met."""
        roots = self.outputs + [new for _, new in self.updates]
        first, other = {}, {}
        for v in [*leaves(roots, "variable"), *(v for v, _ in self.updates)]:
            kept = first.setdefault(id(v.attrs["store"]), v)
            if kept is not v:
                other[v] = kept
        if not other:
            return
        roots = rebuild(roots, other)
        self.outputs = roots[: len(self.outputs)]
        self.updates = [
            (other.get(v, v), new) for (v, _), new in zip(self.updates, roots[len(self.outputs) :])
        ]
        if len({v for v, _ in self.updates}) < len(self.updates):
            raise ArgumentError(
                "two updates would write to one storage: the shared variables are made of one "
                "container, of which one can be updated"
            )

    def close(self):
        """Fill in placeholders with a default (the learning phase of K) that are no inputs."""
        placeholders = leaves(self.outputs + [new for _, new in self.updates], "placeholder")
        self.outputs, self.updates = with_defaults(
            placeholders, self.inputs, self.outputs, self.updates
        )

    def prepare(self, way):
        """Compile the C of users' Ops, or with way="py" have them run by `perform`."""
        roots = prepared(self.outputs + [new for _, new in self.updates], way)
        count = len(self.outputs)
        self.outputs = roots[:count]
        self.updates = list(zip([v for v, _ in self.updates], roots[count:]))

    def check(self, on_unused):
        """MissingInputError for an input that was not given; what `on_unused` says about others."""
        used = set(leaves(self.outputs + [new for _, new in self.updates], "placeholder"))
        self._check_unused(used, on_unused)
        for node in used:
            if node not in self.inputs:
                raise MissingInputError(
                    f"the outputs need {node.name or node}, which is not among the inputs and has "
                    "no value: add it to the inputs or to givens (the flag "
                    "exception_verbosity='high' shows more)",
                    variable=node,
                )

    def _check_unused(self, used, on_unused):
        unused = [k for k, n in enumerate(self.inputs) if n not in used]
        if not unused or on_unused == "ignore":
            return
        mentioned = mentioned_by([*self.written, *self.given.values()], set(self.stand_ins))
        wrong = [self.variables[k] for k in unused if id(self.variables[k]) not in mentioned]
        if not wrong:
            return
        report_unused(wrong[0], self.variables.index(wrong[0]), on_unused)


def report_unused(variable, index, on_unused):
    """What `on_unused` ('raise', 'warn', 'ignore') says about an input that nothing needs."""
    text = (
        f"no output or update needs the input at index {index}: {variable}.\nLeave it out of the "
        "inputs, or call function with on_unused_input='warn' or 'ignore'."
    )
    if on_unused == "warn":
        warn_user(text)
    elif on_unused == "raise":
        raise UnusedInputError(text)
    elif on_unused != "ignore":
        raise ArgumentError(f"on_unused_input is 'raise', 'warn' or 'ignore', not '{on_unused}'")


def rewritten(inputs, variables, rewrites):
    """The FunctionGraph of variables after rewrites of users, with nodes of the engine."""
    from ..rewrites.opt import MergeOptimizer  # start-up: 1.5 ms

    inputs, variables = clone(inputs, variables, copy_inputs=False)
    free = [v for v in leaf_variables(variables) if not _held(v) and v not in inputs]
    fgraph = FunctionGraph([*inputs, *free], variables, clone=False)
    MergeOptimizer().optimize(fgraph)
    rewrites.optimize(fgraph)
    lower_again(fgraph)
    return fgraph


def _held(v):
    """Whether a variable nobody made has a value of its own: a constant, or a shared one."""
    return isinstance(v, Constant) or hasattr(v, "container")
