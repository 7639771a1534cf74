"""FunctionGraph: a graph between inputs and outputs, with clients, replacing and toposort.

`f.maker.fgraph` is one, of the graph as it was written; the engine's own graph is in `f.explain()`.
Features watch it change (toolbox.py); rewrites of users change it (opt.py).
"""

from ...base.errors import ArgumentError, UsageError
from ..base.exceptions import MissingInputError  # noqa: F401
from ..base.names import absent_of as _absent_of
from ..base.utils import object2
from .apply import Constant, apply_order, as_string, clone, clone_get_equiv


class InconsistencyError(Exception):
    """A graph that contradicts itself."""


class AlreadyThere(Exception):
    """A feature that a graph has already."""


class FunctionGraph(object2):
    """The graph of `outputs` as functions of `inputs`; a copy unless clone=False."""

    def __init__(self, inputs, outputs, features=None, clone=True, update_mapping=None):
        if clone:
            inputs, outputs = _clone(inputs, outputs)
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.update_mapping, self._features = update_mapping or {}, []
        self.changed = False
        self.execute_callbacks_time, self.execute_callbacks_times = 0, {}
        self.apply_nodes, self.variables, self._clients = set(), set(), {}
        for feature in features or ():
            self.attach_feature(feature)
        for v in self.inputs:
            if v.owner is not None:
                raise ArgumentError(f"{v} is made by {v.owner}: inputs of a graph have no owner")
            self._adopt(v)
        for k, v in enumerate(self.outputs):
            self._import(v, "init")
            self._clients[v].append(("output", k))

    def _adopt(self, v):
        if v not in self._clients:
            self._clients[v] = []
            self.variables.add(v)
        v.clients, v.fgraph = self._clients[v], self

    def _import(self, variable, reason):
        """Take in `variable` and all it is made of that is not here yet."""
        for node in apply_order([variable], {id(v) for v in self._clients}):
            if node in self.apply_nodes:
                continue
            for v in node.inputs:
                if v not in self._clients and v.owner is None and not self._allowed(v):
                    raise MissingInputError(
                        f"{node} needs {v}, which is no input of this graph", variable=v
                    )
            node.fgraph, node.deps = self, {}
            self.apply_nodes.add(node)
            for v in (*node.outputs, *node.inputs):
                self._adopt(v)
            for k, v in enumerate(node.inputs):
                self._clients[v].append((node, k))
            self.execute_callbacks("on_import", node, reason=reason)
        self._adopt(variable)

    def _allowed(self, v):
        """Whether a variable nobody made may stand in the graph without being an input."""
        return isinstance(v, Constant) or hasattr(v, "get_value") or hasattr(v, "container")

    def _prune(self, variable, reason):
        """Drop what made `variable`, where nothing uses that any more."""
        todo = [variable]
        while todo:
            v = todo.pop()
            if self._clients.get(v):
                continue
            node = v.owner
            if node is None or v in self.inputs:
                if v not in self.inputs:
                    self._forget(v)
                continue
            if node not in self.apply_nodes or any(self._clients.get(o) for o in node.outputs):
                continue
            self.apply_nodes.discard(node)
            self.execute_callbacks("on_prune", node, reason)
            for o in node.outputs:
                self._forget(o)
            for k, x in enumerate(node.inputs):
                self._clients[x].remove((node, k))
                todo.append(x)

    def _forget(self, v):
        self._clients.pop(v, None)
        self.variables.discard(v)
        v.__dict__.pop("fgraph", None)

    def clients(self, v):
        """Where `v` is used: [(Apply or 'output', place)]."""
        return self._clients[v]

    @property
    def clients_of(self):
        """{variable: [(Apply or 'output', place)]}."""
        return self._clients

    def toposort(self):
        """The Apply nodes, inputs first."""
        return apply_order(self.outputs, {id(v) for v in self.inputs})

    def replace(self, r, new_r, reason=None, verbose=None):
        """Put `new_r` in the place of `r`."""
        if r is new_r or r not in self._clients:
            return
        if r.type != new_r.type and not getattr(r.type, "is_super", lambda t: False)(new_r.type):
            try:
                new_r = r.type.filter_variable(new_r)
            except TypeError as problem:
                raise UsageError(
                    f"{new_r} of type {new_r.type} cannot stand for {r} of type {r.type}"
                    + (f" (by {reason})" if reason else "")
                ) from problem
        self._import(new_r, reason)
        for node, k in list(self._clients[r]):
            if self._depends(new_r, node, r):
                continue
            self.change_input(node, k, new_r, reason)

    def _depends(self, new_r, node, r):
        """Whether `new_r` is made through this very use of `r`: replacing there makes a circle."""
        return node != "output" and any(n is node for n in apply_order([new_r]))

    def replace_all(self, pairs, reason=None):
        """`replace` of several pairs."""
        for r, new_r in pairs:
            self.replace(r, new_r, reason=reason)

    def change_input(self, node, i, new_r, reason=None):
        """Input `i` of `node` (an index of outputs for 'output') becomes `new_r`."""
        r = self.outputs[i] if node == "output" else node.inputs[i]
        if r is new_r:
            return
        self._import(new_r, reason)
        (self.outputs if node == "output" else node.inputs)[i] = new_r
        self.changed = True  # its variables stand for nodes of the engine as it was
        self._clients[r].remove((node, i))
        self._clients[new_r].append((node, i))
        self.execute_callbacks("on_change_input", node, i, r, new_r, reason=reason)
        self._prune(r, reason)

    def attach_feature(self, feature):
        """Let `feature` know of changes: on_attach, on_import, on_change_input, on_prune, ..."""
        if feature in self._features:
            return
        attach = getattr(feature, "on_attach", None)
        if attach is not None:
            try:
                attach(self)
            except AlreadyThere:
                return
        self._features.append(feature)

    def remove_feature(self, feature):
        """Let `feature` go."""
        if feature in self._features:
            self._features.remove(feature)
            detach = getattr(feature, "on_detach", None)
            if detach is not None:
                detach(self)

    def execute_callbacks(self, name, *args, **kwargs):
        """Call method `name` of all features."""
        for feature in self._features:
            method = getattr(feature, name, None)
            if method is not None:
                method(self, *args, **kwargs)

    def collect_callbacks(self, name, *args):
        """{feature: what its method `name` gives}."""
        return {f: getattr(f, name)(*args) for f in self._features if hasattr(f, name)}

    def check_integrity(self):
        """InconsistencyError where a node or variable does not fit the graph."""
        for node in self.toposort():
            if any(o.owner is not node for o in node.outputs):
                raise InconsistencyError(f"an output of {node} has another owner")
            for k, v in enumerate(node.inputs):
                if (node, k) not in self._clients.get(v, ()):
                    raise InconsistencyError(f"{v} does not know {node}, which uses it")

    def clone(self, check_integrity=True, attach_feature=True):
        """A copy."""
        return self.clone_get_equiv(check_integrity, attach_feature)[0]

    def clone_get_equiv(self, check_integrity=True, attach_feature=True):
        """(a copy, {variable or Apply: its copy})."""
        equiv = clone_get_equiv(self.inputs, self.outputs)
        made = FunctionGraph(
            [equiv[v] for v in self.inputs], [equiv[v] for v in self.outputs], clone=False
        )
        for feature in self._features if attach_feature else ():
            made.attach_feature(feature)
        return made, equiv

    def __contains__(self, item):
        return item in self.apply_nodes or item in self.variables

    def __str__(self):
        return f"[{', '.join(as_string(self.inputs, self.outputs))}]"

    __repr__ = __str__


def lower_again(fgraph):
    """Give all variables of a graph that was changed their nodes of the engine anew."""
    fgraph.changed = False
    for apply in fgraph.toposort():
        apply.op._lower(apply)


def _clone(inputs, outputs):
    return clone(inputs, outputs)


__getattr__ = _absent_of("theano.gof.fg")
