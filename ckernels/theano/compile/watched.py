"""Functions of the modes that watch: NanGuardMode and MonitorMode.

A guarded function is the compiled one with a look at inputs, outputs and new values before any
variable changes; only where something is wrong does NumPy find the node it began at. A monitored
one runs in NumPy, node by node, with the user's functions called before and after each.
"""

import numpy as np

from ...base import dtypes
from ...base.errors import with_line
from ...base.warned import warn_user
from ...graph.node import item
from ...graph.walk import toposort
from ...ops.reference import apply_oracle, evaluate
from ...runtime.common import FunctionBase, apply_updates, finish, updating
from ...runtime.debug import Guarded, span, title
from ...runtime.state import snapshot
from ..base.config import config
from ..base.exceptions import NanGuardError
from ..graph.walks import handle_of

BIG = 1e10  # Theano's


class NanGuard(Guarded):
    """The compiled function, with NaN, inf and big numbers as errors as its mode says."""

    def __init__(self, spec, mode):
        self.mode = mode
        super().__init__(spec)

    def prepared(self):
        return self.spec.plain(self.roots, profile=self.spec.profile).callable()

    def checked(self, arrays):
        cells = snapshot(self.stores)
        leaves = [*self.spec.inputs, *self.spec.cells]
        for leaf, array in zip(leaves, [*arrays, *cells]):
            self.judge(leaf, array, "an input of the graph")
        results = [np.asarray(r) for r in self.function(*arrays)]
        if any(map(self.found, results)):
            self.trace(dict(zip(leaves, [*arrays, *cells])), results)
        return results

    def found(self, array):
        """The words for what is wrong with an array, or "": only floats are ever wrong."""
        array, mode = np.asarray(array), self.mode
        if not array.size or not dtypes.is_inexact(array.dtype.name):
            return ""
        with np.errstate(all="ignore"):
            wrong = [
                (mode.nan_is_error and np.isnan(array).any(), "NaN detected"),
                (mode.inf_is_error and np.isinf(array).any(), "Inf detected"),
                (mode.big_is_error and (np.abs(array) > BIG).any(), "Big value detected"),
            ]
        return ", ".join(words for bad, words in wrong if bad)

    def trace(self, env, results):
        """Report the first node, as written, with a wrong value; else the result as compiled."""
        values = dict(env)
        for node, value in walked(self.roots, values):
            for part in value if node.outs is not None else [value]:
                if self.judge(node, part, "a node"):
                    return
        for root, result in zip(self.roots, results):
            if self.judge(root, result, "a result"):
                return

    def judge(self, node, array, what):
        """Raise, warn or stop where the value of a node is wrong; whether it was."""
        words = self.found(array)
        if not words:
            return False
        problem = with_line(
            NanGuardError(f"{words}: NanGuardMode stopped at {what}, {title(node)}, {span(array)}"),
            node,
        )
        action = config._get("NanGuardMode.action")
        if action == "raise":
            raise problem
        if action == "warn":
            warn_user(str(problem))
        else:
            import pdb  # start-up: 5 ms

            print(problem)
            pdb.set_trace()
        return True


class Thunk:
    """What a function of MonitorMode is handed to look at: `inputs` and `outputs`, lists of
    one-element lists; calling it computes the outputs."""

    lazy = False

    def __init__(self, node, values):
        self.node, self.inputs = node, [[v] for v in values]
        self.outputs = [[None] for _ in (node.outs or [None])]

    def __call__(self):
        found = apply_oracle(self.node, [cell[0] for cell in self.inputs])
        for cell, value in zip(self.outputs, found if self.node.outs is not None else [found]):
            cell[0] = value

    def value(self):
        """What the node came to, as NumPy's interpreter keeps it."""
        values = [np.asarray(cell[0]) for cell in self.outputs]
        return tuple(values) if self.node.outs is not None else values[0]


class Monitored(FunctionBase):
    """The function in NumPy, node by node, with pre_func and post_func of its mode around each."""

    def __init__(self, spec, mode):
        super().__init__(spec)
        self.mode = mode
        self.roots = spec.outputs + [new for _, new in spec.updates]
        self.stores = [n.attrs["store"] for n in spec.cells]
        self.applies = {}

    def __call__(self, *args, **kwargs):
        spec = self.spec
        arrays = spec.arrange(args, kwargs)
        with updating:
            values = dict(zip([*spec.inputs, *spec.cells], [*arrays, *snapshot(self.stores)]))
            for _ in walked(self.roots, values, self.around):
                pass
            found = [values[root] for root in self.roots]
            apply_updates(spec.updates, found[len(spec.outputs) :])
        return finish(found[: len(spec.outputs)], spec)

    def around(self, place, node, values):
        """The value of a node, between the user's functions."""
        thunk = Thunk(node, values)
        if node.op.name in ("item", "choose"):  # they only hand on what others computed
            thunk()
            return thunk.value()
        apply = self.apply_of(node)
        if self.mode.pre_func is not None:
            self.mode.pre_func(place, apply, thunk)
        thunk()
        if self.mode.post_func is not None:
            self.mode.post_func(place, apply, thunk)
        return thunk.value()

    def apply_of(self, node):
        """The Apply that shows a node of the engine."""
        found = self.applies.get(node)
        if found is None:
            shown = node if node.outs is None else item(node, 0)
            found = self.applies[node] = handle_of(shown, {}).owner
        return found


class Wrapped(Monitored):
    """The function in NumPy, node by node, each computed by the wrapper of the mode's linker."""

    def around(self, place, node, values):
        linker = self.mode.linker
        thunks = [Thunk(node, values) for _ in linker.linkers]
        if node.op.name in ("item", "choose"):
            thunks[0]()
        else:
            linker.wrapper(place, self.apply_of(node), *thunks)
        return thunks[0].value()


def _computed(place, node, values):
    return apply_oracle(node, values)


def walked(roots, values, compute=_computed):
    """Yield (node, value) in the order of computation; `values` {node: value} is filled in.

    compute(place, node, values of its inputs) -> value. Of each choice only the side that is taken
    is computed.
    """
    places = {node: k for k, node in enumerate(n for n in toposort(roots) if n.op.kind != "leaf")}
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        if node in values:
            stack.pop()
            continue
        if node.op.kind == "leaf":
            values[node] = evaluate([node])[0]
            continue
        needed = node.inputs
        if node.op.name == "choose":
            needed = (
                needed[:1] if needed[0] not in values else (needed[1 if values[needed[0]] else 2],)
            )
        missing = [i for i in needed if i not in values]
        if missing:
            stack.extend(reversed(missing))
        elif node.op.name != "choose":
            values[node] = compute(places[node], node, [values[i] for i in needed])
            yield node, values[node]
        elif needed[0] is not node.inputs[0]:
            values[node] = values[needed[0]]
