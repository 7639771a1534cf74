"""What all functions have in common, whichever way they run: what users may ask, how updates end.

Calls and plans are in function.py, debug.py, staged.py and steady.py.
"""

import numpy as np

from ..base import given, locks
from ..base.errors import MissingName, NotSupported, ShapeError, with_line
from ..graph.shapes import show
from ..graph.walk import toposort
from .state import exchange

updating = locks.rlock()  # interpreted calls that update variables come one after the other


PUBLIC = (  # what users have; the rest is the engine's
    "address", "assumptions", "copy", "explain", "inputs", "name", "optimised", "outputs",
    "over", "profile_table", "source", "stats", "steps", "timeline", "updates",
)  # fmt: skip


class FunctionBase:
    """What users may ask of any function, whichever way it runs."""

    def __init__(self, spec):
        self.spec = spec
        self.name = spec.name
        self.inputs, self.outputs, self.updates = spec.inputs, spec.outputs, spec.updates

    def copy(self, swap=None, delete_updates=False, name=None):
        """A function of the same graph on other variables (`swap`: {old: new}) or without updates.

        Kernels are shared; the original keeps its state (Theano's Function.copy).
        """
        return self.spec.copy(swap, delete_updates, name)

    def __reduce__(self):
        return pickled(self)

    def __dir__(self):
        return sorted([*PUBLIC, *(n for n in object.__dir__(self) if n[:2] == "__")])

    def __getattr__(self, name):
        if name[0] == "_":  # asked by libraries
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise MissingName(f"a compiled function has no attribute {name!r}", name, PUBLIC)

    def __repr__(self):
        names = ", ".join(self.spec.label(i) for i in range(len(self.inputs)))
        return f"<ckernels function {self.name or ''}({names})>"

    def stats(self):
        """A dict of what was built: see `CompiledFunction.stats`; here nothing was compiled."""
        roots = self.outputs + [new for _, new in self.updates]
        return {
            "nodes": len(toposort(roots)),
            "instructions": 0,
            "kernels": [],
            "built": 0,
            "from_cache": 0,
            "compile_seconds": 0.0,
            "plans": 0,
            "classes": 0,
            "peak_bytes": 0,
        }

    @property
    def optimised(self):
        """Outputs and new values as rewritten for the last shapes; [] before the first call."""
        return self.program.optimised

    def profile_table(self):
        """What each instruction took, for functions made with profile=True; `print` it.

        A list of rows (name, calls, ms, percent, line); without any where nothing was measured,
        which it then says.
        """
        from .profile import Profile  # start-up

        return Profile(self.name or "function", [], self.spec.profile)

    def timeline(self):
        """Which thread did what when in the last call, for functions made with profile=True.

        A list of spans (name, thread, start, end, line, step), in ms since the call began; thread 0
        is the caller. Inside of scans and branches only what other threads do is told apart. At
        most 4,096 spans are kept; `K.draw` shows them as a picture.
        """
        from .timeline import Timeline  # start-up

        return Timeline(self.name or "function", [], on=self.spec.profile)

    def explain(self, rewrites=False):
        """A text: what each instruction of the last plan computes, and why it does not do more.

        Each instruction (the lines of `steps`) is followed by the user's lines it computes and by
        what it reads from others, with the reason why it does not compute that itself. rewrites:
        begin with the rewrites of the graph, in the order in which they were made.
        """
        from .explain import explain  # start-up

        return explain(self.program, rewrites)

    def _repr_html_(self):
        """For notebooks: the steps of the last plan and a small picture."""
        from .pages import summary  # start-up

        return summary(self)

    def over(self, rows, last=False):
        """f(*row) for each row of arguments in turn: a list, or with `last` the last result alone.

        The same as calls in a loop; of a compiled function the loop is one in C. An error ends it:
        what calls before it updated stays updated. None for no rows where the last is asked for.
        """
        last = given.flag(last, "last")
        found = None if last else []
        for row in given.walked(rows, "rows of over"):
            got = self(*given.walked(row, "each row of over"))
            if last:
                found = got
            else:
                found.append(got)
        return found

    def source(self):
        """The generated C; empty where none is generated."""
        return ""

    def address(self, signature, *arrays, bound=None):
        """Refused: only a compiled function in one piece has a C function."""
        raise NotSupported(
            f"{self!r} has no C function: it runs in Python, in whole or between its pieces"
        )

    def assumptions(self):
        """What the last plan assumes of sizes; nothing where there is none."""
        return []

    def steps(self):
        """One line per instruction of the last plan; none where all runs in NumPy."""
        return []


def pickled(function):
    """What pickle and copy keep of a function: what was asked for, from which it is made anew."""
    return _again, (function.info.spec if hasattr(function, "info") else function.spec,)


def _again(spec):
    return spec.callable()


def apply_updates(updates, values):
    """Check all new values, then store them: all or none."""
    for (variable, new), value in zip(updates, values):
        if len(variable.shape) != value.ndim or any(
            a not in (None, b) for a, b in zip(variable.shape, value.shape)
        ):
            raise with_line(
                ShapeError(
                    f"the update of {variable.name or 'a variable'} has shape "
                    f"{show(value.shape)}, the variable has "
                    f"{show(variable.shape)}"
                ),
                new,
            )
    exchange(
        [variable.attrs["store"] for variable, _ in updates],
        [np.asarray(value, dtype=variable.dtype) for (variable, _), value in zip(updates, values)],
    )


def finish(values, spec):
    outputs = [
        np.array(v, dtype=n.dtype, order="C", copy=True) for v, n in zip(values, spec.outputs)
    ]
    return outputs[0] if spec.single else outputs
