"""FunctionGraph: a graph between inputs and outputs, with clients, replacing and toposort.

`f.maker.fgraph` is one, of the graph as it was written; the engine's own graph is in `f.explain()`.
"""

from ..exceptions import MissingInputError  # noqa: F401
from ..names import absent_of as _absent_of
from .graph import apply_order, clone
from .utils import object2


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
        for feature in features or ():
            self.attach_feature(feature)

    @property
    def apply_nodes(self):
        """The Apply nodes."""
        return set(self.toposort())

    @property
    def variables(self):
        """All variables."""
        return (
            {v for n in self.toposort() for v in (*n.inputs, *n.outputs)}
            | set(self.inputs)
            | set(self.outputs)
        )

    @property
    def clients_of(self):
        """{variable: [(Apply or 'output', place)]}."""
        found = {v: [] for v in self.variables}
        for node in self.toposort():
            for k, v in enumerate(node.inputs):
                found[v].append((node, k))
        for k, v in enumerate(self.outputs):
            found[v].append(("output", k))
        return found

    def clients(self, v):
        """Where `v` is used."""
        return self.clients_of[v]

    def toposort(self):
        """The Apply nodes, inputs first."""
        return apply_order(self.outputs, {id(v) for v in self.inputs})

    def replace(self, r, new_r, reason=None, verbose=None):
        """Put `new_r` in the place of `r`."""
        if r.type != new_r.type and not getattr(r.type, "is_super", lambda t: False)(new_r.type):
            new_r = r.type.filter_variable(new_r)
        for node in self.toposort():
            for k, v in enumerate(node.inputs):
                if v is r:
                    self.change_input(node, k, new_r, reason)
        self.outputs = [new_r if v is r else v for v in self.outputs]

    def replace_all(self, pairs, reason=None):
        """`replace` of several pairs."""
        for r, new_r in pairs:
            self.replace(r, new_r, reason=reason)

    def change_input(self, node, i, new_r, reason=None):
        """Input `i` of `node` (an index of outputs for 'output') becomes `new_r`."""
        if node == "output":
            r, self.outputs[i] = self.outputs[i], new_r
        else:
            r, node.inputs[i] = node.inputs[i], new_r
        self.execute_callbacks("on_change_input", node, i, r, new_r, reason=reason)

    def attach_feature(self, feature):
        """Let `feature` know of changes: on_attach, on_change_input, ..."""
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

    def check_integrity(self):
        """InconsistencyError where a node or variable does not fit the graph."""
        for node in self.toposort():
            if any(o.owner is not node for o in node.outputs):
                raise InconsistencyError(f"an output of {node} has another owner")

    def clone(self, check_integrity=True):
        """A copy."""
        return FunctionGraph(self.inputs, self.outputs)

    def __str__(self):
        from .graph import as_string

        return f"[{', '.join(as_string(self.inputs, self.outputs))}]"

    __repr__ = __str__


def _clone(inputs, outputs):
    return clone(inputs, outputs)


__getattr__ = _absent_of("theano.gof.fg")
