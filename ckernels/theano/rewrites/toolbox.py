"""Features of a FunctionGraph: what watches it change, and what gives it methods."""

import sys

from ...base.errors import CKernelsError, UsageError
from ..base.names import absent_of as _absent_of
from ..graph import apply as graph
from ..graph.fg import AlreadyThere, InconsistencyError  # noqa: F401


class ReplacementDidntRemovedError(Exception):
    """A replacement left what it was to remove."""


class Feature:
    """What a FunctionGraph calls when it changes; the methods do nothing here."""

    def on_attach(self, fgraph):
        """The feature was added. AlreadyThere refuses that quietly."""

    def on_detach(self, fgraph):
        """The feature was taken away."""

    def on_import(self, fgraph, node, reason):
        """An Apply came in."""

    def on_prune(self, fgraph, node, reason):
        """An Apply went."""

    def on_change_input(self, fgraph, node, i, r, new_r, reason=None):
        """Input `i` of `node` was `r` and is `new_r`."""

    def orderings(self, fgraph):
        """{Apply: Applys that must come before it}."""
        return {}


class Bookkeeper(Feature):
    """A feature that is told of what is there when it is added, and taken away."""

    def on_attach(self, fgraph):
        for node in graph.io_toposort(fgraph.inputs, fgraph.outputs):
            self.on_import(fgraph, node, "on_attach")

    def on_detach(self, fgraph):
        for node in graph.io_toposort(fgraph.inputs, fgraph.outputs):
            self.on_prune(fgraph, node, "Bookkeeper.detach")


def _publish(feature, fgraph, **methods):
    """Give a graph methods; AlreadyThere where it has them."""
    if any(hasattr(fgraph, name) for name in methods):
        raise AlreadyThere(f"{type(feature).__name__} is there already, or clashes with another")
    for name, method in methods.items():
        setattr(fgraph, name, method)


class History(Feature):
    """`fgraph.checkpoint()` and `fgraph.revert(checkpoint)`."""

    pickle_rm_attr = ["checkpoint", "revert"]

    def __init__(self):
        self.changes = {}

    def on_attach(self, fgraph):
        _publish(self, fgraph, checkpoint=lambda: self._mark(fgraph), revert=self._revert(fgraph))
        self.changes[fgraph] = []

    def on_detach(self, fgraph):
        del fgraph.checkpoint, fgraph.revert, self.changes[fgraph]

    def on_change_input(self, fgraph, node, i, r, new_r, reason=None):
        held = self.changes[fgraph]
        if held is not None:
            held.append((node, i, r))

    def _mark(self, fgraph):
        return len(self.changes[fgraph])

    def _revert(self, fgraph):
        def revert(checkpoint):
            """Undo all changes since the checkpoint."""
            held, self.changes[fgraph] = self.changes[fgraph], None
            try:
                while len(held) > checkpoint:
                    node, i, r = held.pop()
                    fgraph.change_input(node, i, r, reason="revert")
            finally:
                self.changes[fgraph] = held

        return revert


class Validator(Feature):
    """`fgraph.validate()`: all features with a `validate` may object by an exception."""

    pickle_rm_attr = ["validate", "consistent"]

    def on_attach(self, fgraph):
        def validate():
            fgraph.check_integrity()
            for feature in fgraph._features:
                method = getattr(feature, "validate", None)
                if method is not None:
                    method(fgraph)

        def consistent():
            try:
                validate()
                return True
            except Exception:
                return False

        _publish(self, fgraph, validate=validate, consistent=consistent)

    def on_detach(self, fgraph):
        del fgraph.validate, fgraph.consistent


class ReplaceValidate(History, Validator):
    """`fgraph.replace_validate(r, new)`: replaced, or as before where something objects."""

    pickle_rm_attr = [*History.pickle_rm_attr, *Validator.pickle_rm_attr, "replace_validate",
                      "replace_all_validate", "replace_all_validate_remove"]  # fmt: skip

    def on_attach(self, fgraph):
        if hasattr(fgraph, "replace_validate"):
            raise AlreadyThere("ReplaceValidate is there already")
        History.on_attach(self, fgraph)
        if not hasattr(fgraph, "validate"):
            Validator.on_attach(self, fgraph)

        def replace_all_validate(replacements, reason=None, verbose=None):
            before = fgraph.checkpoint()
            try:
                for r, new_r in replacements:
                    fgraph.replace(r, new_r, reason=reason)
                fgraph.validate()
            except Exception:
                fgraph.revert(before)
                raise

        def replace_validate(r, new_r, reason=None):
            replace_all_validate([(r, new_r)], reason)

        def replace_all_validate_remove(replacements, remove, reason=None, warn=True):
            before = fgraph.checkpoint()
            replace_all_validate(replacements, reason)
            if any(node in fgraph.apply_nodes for node in remove):
                fgraph.revert(before)
                if warn:
                    print(f"{reason} left nodes that it was to remove: undone", file=sys.stderr)
                raise ReplacementDidntRemovedError()

        fgraph.replace_validate, fgraph.replace_all_validate = (
            replace_validate,
            replace_all_validate,
        )
        fgraph.replace_all_validate_remove = replace_all_validate_remove

    def on_detach(self, fgraph):
        History.on_detach(self, fgraph)
        Validator.on_detach(self, fgraph)
        del fgraph.replace_validate, fgraph.replace_all_validate
        del fgraph.replace_all_validate_remove


class NodeFinder(Bookkeeper):
    """`fgraph.get_nodes(op)`: the Applys of an op."""

    pickle_rm_attr = ["get_nodes"]

    def __init__(self):
        self.fgraph, self.found = None, {}

    def on_attach(self, fgraph):
        if self.fgraph is not None:
            raise CKernelsError("this NodeFinder watches another graph already")
        _publish(self, fgraph, get_nodes=self.query)
        self.fgraph = fgraph
        Bookkeeper.on_attach(self, fgraph)

    def on_detach(self, fgraph):
        if self.fgraph is not fgraph:
            raise CKernelsError("this NodeFinder watches another graph")
        self.fgraph = None
        del fgraph.get_nodes
        Bookkeeper.on_detach(self, fgraph)

    def on_import(self, fgraph, node, reason):
        try:
            self.found.setdefault(node.op, []).append(node)
        except TypeError:  # an op that cannot be hashed cannot be found
            pass

    def on_prune(self, fgraph, node, reason=None):
        try:
            held = self.found[node.op]
        except (TypeError, KeyError):
            return
        held.remove(node)
        if not held:
            del self.found[node.op]

    def query(self, op):
        """The Applys of `op`, inputs first."""
        try:
            held = list(self.found.get(op, ()))
        except TypeError:
            raise UsageError(f"{op} cannot be looked up: it is not hashable") from None
        order = {node: k for k, node in enumerate(self.fgraph.toposort())}
        return sorted(held, key=lambda node: order.get(node, 0))


class PrintListener(Feature):
    """Prints each change."""

    def __init__(self, active=True):
        self.active = active

    def _say(self, *words):
        if self.active:
            print(*words)

    def on_attach(self, fgraph):
        self._say("-- attaching to: ", fgraph)

    def on_detach(self, fgraph):
        self._say("-- detaching from: ", fgraph)

    def on_import(self, fgraph, node, reason):
        self._say(f"-- importing: {node}, reason: {reason}")

    def on_prune(self, fgraph, node, reason):
        self._say(f"-- pruning: {node}, reason: {reason}")

    def on_change_input(self, fgraph, node, i, r, new_r, reason=None):
        self._say(f"-- changing ({node}.inputs[{i}]) from {r} to {new_r}")


class PreserveNames(Feature):
    """What replaces a named variable takes its name."""

    def on_change_input(self, fgraph, node, i, r, new_r, reason=None):
        if r.name is not None and new_r.name is None:
            new_r.name = r.name


class PreserveVariableAttributes(Feature):
    """What replaces a variable takes the marks of its tag for NanGuardMode."""

    def on_change_input(self, fgraph, node, i, r, new_r, reason=None):
        if r.name is not None and new_r.name is None:
            new_r.name = r.name
        mark = getattr(r.tag, "nan_guard_mode_check", False)
        if mark and not getattr(new_r.tag, "nan_guard_mode_check", False):
            new_r.tag.nan_guard_mode_check = mark


class NoOutputFromInplace(Feature):
    """Objects to outputs made by ops that write to their inputs."""

    def validate(self, fgraph):
        for out in list(fgraph.outputs):
            owner = out.owner
            if owner is not None and getattr(owner.op, "destroy_map", {}).get(out.index):
                raise InconsistencyError(f"the output {out} is made by an op that works in place")


__getattr__ = _absent_of("theano.gof.toolbox")
