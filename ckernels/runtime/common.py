"""What all functions have in common, whichever way they run: what users may ask, how updates end.

Calls and plans are in function.py, debug.py, staged.py and snapshots.py.
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
# what K has for functions, and other libraries' functions have as methods
ELSEWHERE = {
    "export": "K.export(f, folder) writes it as C",
    "save": "K.export(f, folder) writes it as C; pickle.dump(f, file) keeps it for Python",
    "draw": "K.draw(f, path) is its picture",
    "profile": "K.function(..., profile=True), then f.profile_table()",
    "grad": "K.gradients(y, [x]) has the gradient before K.function compiles it",
    "lower": "f.source() is its C",
}


class FunctionBase:
    """What users may ask of any function, whichever way it runs."""

    def __init__(self, spec):
        self.spec = spec
        self.name = spec.name
        self.inputs, self.outputs, self.updates = spec.inputs, spec.outputs, spec.updates

    def copy(self, swap=None, delete_updates=False, name=None):
        """A function of the same graph on other variables, or without updates.

        Kernels are shared; the original keeps its state (Theano's Function.copy).

        Parameters
        ----------
        swap : dict, optional
            {variable: the one in its place}, of equal dtype and number of dimensions.
        delete_updates : bool, default False
            Whether the copy leaves variables as they are.
        name : str, optional
            Its name; by default this one's.

        Returns
        -------
        Function
            Of the same inputs and outputs.

        Raises
        ------
        ArgumentError
            Where a variable to be swapped is not in the function.
        DTypeError
            Where its substitute has another dtype or number of dimensions.

        Examples
        --------
        >>> w, other = K.variable(1.0), K.variable(10.0)
        >>> count = K.function([], [w], updates=[(w, w + 1)])
        >>> count.copy(swap={w: other})([])
        [array(10., dtype=float32)]
        """
        return self.spec.copy(swap, delete_updates, name)

    def __reduce__(self):
        return pickled(self)

    def __dir__(self):
        return sorted([*PUBLIC, *(n for n in object.__dir__(self) if n[:2] == "__")])

    def __getattr__(self, name):
        if name[0] == "_":  # asked by libraries
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        sentence = f"a compiled function has no attribute {name!r}"
        if name in ELSEWHERE:
            raise MissingName(f"{sentence}; {ELSEWHERE[name]}")
        raise MissingName(sentence, name, PUBLIC)

    def __repr__(self):
        names = ", ".join(self.spec.label(i) for i in range(len(self.inputs)))
        return f"<ckernels function {self.name or ''}({names})>"

    def stats(self):
        """What was built so far.

        Returns
        -------
        dict
            nodes: of the last planned graph; instructions: of the last plan; kernels: dicts with
            name, key, path, source (the file that holds the C), inputs, outputs; built, from_cache:
            kernels compiled and loaded; compile_seconds: wall time in the compiler; plans: sets of
            shapes known; classes: of shapes, from which plans are filled in; peak_bytes: the
            largest arena, in bytes. Where all runs in NumPy only `nodes` is more than 0.

        Examples
        --------
        >>> x = K.placeholder((None,))
        >>> f = K.function([x], K.exp(x) + 1)
        >>> f(np.zeros(1))
        array([2.], dtype=float32)
        >>> f.stats()["plans"]
        1
        """
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
        """What each instruction took, for functions made with profile=True.

        Returns
        -------
        list of tuple
            Rows (name, calls, ms, percent, line); `print` shows it as a table. Without rows where
            nothing was measured, which it then says.

        Examples
        --------
        >>> x = K.placeholder((None,))
        >>> f = K.function([x], K.exp(x) + 1, profile=True)
        >>> f(np.zeros(1))
        array([2.], dtype=float32)
        >>> [calls for name, calls, ms, percent, line in f.profile_table()]
        [1]
        """
        from .profile import Profile  # start-up

        return Profile(self.name or "function", [], self.spec.profile)

    def timeline(self):
        """Which thread did what when in the last call, for functions made with profile=True.

        Returns
        -------
        list of tuple
            Spans (name, thread, start, end, line, step), in ms since the call began; thread 0 is
            the caller. At most 4,096 are kept. `print` shows them, `K.draw` makes a picture of
            them. Inside of scans and branches only what other threads do is told apart.

        Examples
        --------
        >>> x = K.placeholder((None,))
        >>> f = K.function([x], K.exp(x) + 1, profile=True)
        >>> f(np.zeros(1))
        array([2.], dtype=float32)
        >>> [span[1] for span in f.timeline()]
        [0]
        """
        from .timeline import Timeline  # start-up

        return Timeline(self.name or "function", [], on=self.spec.profile)

    def explain(self, rewrites=False):
        """What each instruction of the last plan computes, and why it does not do more.

        Parameters
        ----------
        rewrites : bool, default False
            Whether to begin with the rewrites of the graph, in the order in which they were made.

        Returns
        -------
        str
            For each instruction (the lines of `steps`) the user's lines that it computes, and what
            it reads from others, with the reason why it does not compute that itself.

        Examples
        --------
        >>> x = K.placeholder((None,))
        >>> f = K.function([x], K.exp(x) + 1)
        >>> f(np.zeros(1))
        array([2.], dtype=float32)
        >>> f.explain().splitlines()[0]
        '0: exp+add'
        """
        from .explain import explain  # start-up

        return explain(self.program, rewrites)

    def _repr_html_(self):
        """For notebooks: the steps of the last plan and a small picture."""
        from .drawing import summary  # start-up

        return summary(self)

    def over(self, rows, last=False):
        """f(*row) for each row of arguments in turn.

        The same as calls in a loop; of a compiled function the loop is one in C. An error ends it:
        what calls before it updated stays updated.

        Parameters
        ----------
        rows : iterable
            The rows of arguments.
        last : bool, default False
            Whether to keep the last result alone.

        Returns
        -------
        list
            A result for each row; with `last` the last one, None for no rows.

        Raises
        ------
        CKernelsError
            What a call raises.

        Examples
        --------
        >>> x = K.placeholder(())
        >>> f = K.function([x], 2 * x)
        >>> [float(y) for y in f.over([(1.0,), (2.0,)])]
        [2.0, 4.0]
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
        """The generated C of all kernels, after the first call.

        Returns
        -------
        str
            Empty where none is generated.

        Examples
        --------
        >>> x = K.placeholder((None,))
        >>> f = K.function([x], K.exp(x) + 1)
        >>> f(np.zeros(1))
        array([2.], dtype=float32)
        >>> "for (" in f.source()
        True
        """
        return ""

    def address(self, signature, *arrays, bound=None):
        """A C function pointer of this function for fixed shapes, without Python or GIL.

        Variables keep the values they have now.

        Parameters
        ----------
        signature : str
            The C type, such as 'double (double, void *)'; its last argument is the entry's
            `user_data`.
        *arrays : array
            Examples of the inputs that callers give, for their shapes; none where all are declared.
        bound : dict, optional
            {name or index: array}, inputs that stay what they are.

        Returns
        -------
        CFunction
            With `address`, `user_data`, and `scipy()` for functions of SciPy.

        Raises
        ------
        NotSupported
            Where the plan calls Python, updates variables or depends on data, and for a function
            that is not compiled in one piece.

        Examples
        --------
        >>> x = K.placeholder((), dtype="float64", name="x")
        >>> square = K.function([x], x * x)
        >>> import scipy.integrate
        >>> entry = square.address("double (double, void *)")
        >>> round(scipy.integrate.quad(entry.scipy(), 0, 3)[0], 6)
        9.0
        """
        raise NotSupported(
            f"{self!r} has no C function: it runs in Python, in whole or between its pieces"
        )

    def assumptions(self):
        """What the plan of the last call assumes of the sizes of the inputs.

        Returns
        -------
        list of str
            Shapes for which all of it holds are served by the same plan. "(this size only)" marks
            where a bare number was taken out of a size; the user's line says where.

        Examples
        --------
        >>> x = K.placeholder((None,))
        >>> f = K.function([x], K.exp(x) + 1)
        >>> f.assumptions()
        []
        """
        return []

    def steps(self):
        """What the last plan does.

        Returns
        -------
        list of str
            A line for each instruction, in order; those of scans are indented. None where all runs
            in NumPy.

        Examples
        --------
        >>> x = K.placeholder((None,))
        >>> f = K.function([x], K.exp(x) + 1)
        >>> f(np.zeros(1))
        array([2.], dtype=float32)
        >>> len(f.steps())
        1
        """
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
