"""SnapshotFunction: for calls beside threads that give variables other shapes while a plan is made.

The variables are read once and handed over as inputs, so no plan depends on what others write.
Other calls do not do so, as inputs cannot be updated in place: new values are copied once more.
"""

from contextlib import contextmanager

from ..base.native import runtime
from ..graph.node import placeholder
from ..graph.walk import rebuild
from .common import FunctionBase, apply_updates
from .state import snapshot


class SnapshotFunction(FunctionBase):
    """Computes what its spec asks for from the variables as they are when a call begins."""

    def __init__(self, spec):
        super().__init__(spec)
        self.stores = [n.attrs["store"] for n in spec.cells]
        values = [value_of(n) for n in spec.cells]
        roots = rebuild(spec.roots(), dict(zip(spec.cells, values)))
        self.function = spec.plain(roots, inputs=spec.inputs + values).callable()

    def __call__(self, *arrays):
        with held(self.stores if self.updates else ()):
            values = self.function(*arrays, *snapshot(self.stores))
            count = len(self.outputs)
            apply_updates(self.updates, values[count:])
        return values[0] if self.spec.single else values[:count]


def value_of(variable):
    """A placeholder for the values of a variable."""
    return placeholder(variable.dtype, variable.shape, variable.name)


@contextmanager
def held(stores):
    """A context in which no other function updates these variables: it waits for those that do."""
    cells = tuple(store.cell for store in stores)
    runtime.hold(cells, True)
    try:
        yield
    finally:
        runtime.hold(cells, False)
