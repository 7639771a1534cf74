"""Function: the callable behind `K.function`, in one of three ways of running.

Compiled: a C callable bound to a Program. Staged: shapes depend on data, so the graph runs in pieces with
NumPy between them. Reference: NumPy throughout, where there is no compiler or it was asked for. All three
coerce arguments, apply updates after the outputs and offer `stats`, `source` and `copy`.
"""
import threading
import warnings
import weakref

import numpy as np

from .. import reference
from ..compiler import CompilerMissing
from ..config import config
from ..errors import (
    ArgumentError,
    CKernelsWarning,
    CompileError,
    DTypeError,
    IndexOutOfBounds,
    ShapeError,
    UsageError,
    with_line,
)
from ..graph.shapes import show
from ..graph.walk import rebuild, toposort
from .program import Program, bind_reference, concretise, unknown

try:
    from .. import _runtime
except ImportError:                                         # installed without a compiler
    _runtime = None

_warned = False


def Function(inputs, outputs, updates=(), single=False, name=None, mode=None, defaults=None,
             downcast=None, positional_only=False, **options):
    """The callable for a graph.

    inputs: placeholder Nodes; outputs: Nodes; updates: [(variable Node, new value Node)]; single:
    return the one output itself; defaults: {input index: array}; downcast: None casts floats down as
    Keras did, False refuses lossy casts, True allows all. mode: "compiled", "fast_compile",
    "reference" or "debug".
    """
    spec = Spec(list(inputs), list(outputs), list(updates), single, name, mode or config.mode,
                dict(defaults or {}), downcast, positional_only)
    return spec.callable()


class Spec:
    """What was asked for; makes the callable and its copies."""

    def __init__(self, inputs, outputs, updates, single, name, mode, defaults, downcast, positional_only):
        self.inputs, self.outputs, self.updates = inputs, outputs, updates
        self.single, self.name, self.mode = single, name, mode
        self.defaults, self.downcast, self.positional_only = defaults, downcast, positional_only
        self.cells = [n for n in toposort(outputs + [new for _, new in updates])
                      if n.op.name == "variable"]
        for variable, _ in updates:
            if variable not in self.cells:
                self.cells.append(variable)

    def callable(self):
        if self.mode in ("reference", "debug") or _runtime is None:
            if _runtime is None and self.mode != "reference":
                warn_no_compiler("the C runtime of ckernels was not built")
            return ReferenceFunction(self)
        if self.data_decides_shapes():
            from .staged import StagedFunction
            return StagedFunction(self)
        return CompiledFunction(self).callable()

    def data_decides_shapes(self):
        """Whether some shape stays unknown even when all input shapes are known."""
        roots = self.outputs + [new for _, new in self.updates]
        if not unknown(roots):
            return False
        shapes = {n: tuple(3 if d is None else d for d in n.shape) for n in self.inputs}
        shapes.update({n: n.attrs["store"].get().shape for n in self.cells})
        try:
            return bool(unknown(concretise(roots, shapes)))
        except (ShapeError, IndexOutOfBounds, ValueError):
            return False

    # ---- arguments ----------------------------------------------------------------------------

    def label(self, i):
        return self.inputs[i].name or f"input {i}"

    def coerce(self, i, arg):
        """Input `i` as an aligned native array of its dtype and rank; for -1 all of (args, kwargs)."""
        if i < 0:
            return self.arrange(*arg)
        node = self.inputs[i]
        array = self.as_array(i, arg, node)
        if array.ndim != node.ndim:
            raise with_line(ShapeError(
                f"{self.label(i)} has {node.ndim} dimensions {show(node.shape)} and got an array of "
                f"{array.ndim}, shape {show(array.shape)}"), node)
        if array.dtype.name != node.dtype:
            array = self.convert(i, array, node)
        if not array.flags.aligned or not array.dtype.isnative or any(
                s % array.itemsize for s in array.strides):
            array = np.array(array, dtype=node.dtype, order="C", copy=True)
        return array if type(array) is np.ndarray else np.asarray(array)

    def as_array(self, i, arg, node):
        if arg is None:
            raise with_line(DTypeError(f"{self.label(i)} got None; it needs an array of dtype "
                                       f"{node.dtype} and shape {show(node.shape)}"), node)
        if hasattr(arg, "node"):
            raise with_line(DTypeError(f"{self.label(i)} got a symbolic tensor; call the function "
                                       "with arrays, or substitute tensors through givens"), node)
        try:
            array = np.asanyarray(arg)
        except ValueError as problem:
            raise with_line(ShapeError(
                f"{self.label(i)} got a list whose rows differ in length; give an array of shape "
                f"{show(node.shape)}"), node) from problem
        if array.dtype.kind in "OUSVmM":
            raise with_line(DTypeError(f"{self.label(i)} needs {node.dtype} and got an array of dtype "
                                       f"{array.dtype}; convert it to numbers first"), node)
        return array

    def convert(self, i, array, node):
        """`array` cast to the input's dtype where the rules allow it."""
        source, target = array.dtype, np.dtype(node.dtype)
        with np.errstate(all="ignore"):
            if np.can_cast(source, target, "safe") or self.downcast:
                return array.astype(target)
            if source.kind == "f" and target.kind == "f" and self.downcast is None:
                return array.astype(target)
            real = source.kind != "c" or target.kind == "c"     # else NumPy warns and cuts
            cast = array.astype(target) if real else None
            lossless = real and np.array_equal(cast.astype(source), array)
        if lossless and (source.kind in "iub" or target.kind in "iu" and source.kind == "f"
                         and self.downcast is None and array.ndim == 0):
            return cast
        if target.kind == "f" and source.kind in "iu" and self.downcast is None:
            return cast
        raise with_line(DTypeError(
            f"{self.label(i)} has dtype {node.dtype} and got an array of dtype {source.name}, which "
            f"would lose information; cast it with .astype({node.dtype!r}), or create the function "
            "with allow_input_downcast=True"), node)

    def arrange(self, args, kwargs):
        """Positional and keyword arguments and defaults in input order, each coerced."""
        if len(args) == 1 and isinstance(args[0], (list, tuple)) and not kwargs \
                and not self.positional_only:
            args = tuple(args[0])
        given = dict(enumerate(args))
        names = {n.name: i for i, n in enumerate(self.inputs) if n.name}
        for key, value in kwargs.items():
            if key not in names:
                raise UsageError(f"{self.title()} has no input named {key!r}; its inputs are "
                                f"{', '.join(self.label(i) for i in range(len(self.inputs)))}")
            if names[key] in given:
                raise UsageError(f"{self.title()} got two values for input {key!r}")
            given[names[key]] = value
        for i, value in self.defaults.items():
            given.setdefault(i, value)
        wanted = range(len(self.inputs))
        missing = [self.label(i) for i in wanted if i not in given]
        if missing or len(given) > len(self.inputs):
            needed = len(self.inputs) - len(self.defaults)
            what = f"; missing: {', '.join(missing)}" if missing else ""
            raise UsageError(f"{self.title()} takes {len(self.inputs)} inputs"
                            + (f" ({needed} without default)" if self.defaults else "")
                            + f" and got {len(args) + len(kwargs)}{what}")
        return [self.coerce(i, given[i]) for i in wanted]

    def title(self):
        return f"the function {self.name!r}" if self.name else "the function"

    def fail(self, code, node, arrays):
        """The exception for a kernel's return code: the reference interpreter finds the sentence."""
        if code == 2:
            return MemoryError(f"{self.title()} ran out of memory")
        try:
            env = dict(zip(self.inputs, arrays))
            reference.evaluate(self.outputs + [new for _, new in self.updates], env)
        except Exception as found:
            return found
        return with_line(IndexOutOfBounds("an index is out of bounds"), node) if node else \
            IndexOutOfBounds("an index is out of bounds")

    # ---- copies -------------------------------------------------------------------------------

    def copy(self, swap=None, delete_updates=False, name=None):
        """A function of the same graph on other variables (`swap`: {old: new}) or without updates.

        Kernels are shared; the original keeps its state (Theano's Function.copy).
        """
        replace = {}
        for old, new in (swap or {}).items():
            old, new = getattr(old, "node", old), getattr(new, "node", new)
            if old not in self.cells:
                raise ArgumentError("copy(swap=...): a variable to be swapped is not in the function")
            if old.dtype != new.dtype or old.ndim != new.ndim:
                raise DTypeError(f"copy(swap=...) cannot put a {new.dtype} variable of {new.ndim} "
                                 f"dimensions for a {old.dtype} one of {old.ndim}")
            replace[old] = new
        updates = [] if delete_updates else self.updates
        roots = rebuild(self.outputs + [new for _, new in updates], replace)
        outputs = roots[:len(self.outputs)]
        updates = [(replace.get(v, v), new) for (v, _), new in zip(updates, roots[len(outputs):])]
        return Spec(self.inputs, outputs, updates, self.single, name or self.name, self.mode,
                    self.defaults, self.downcast, self.positional_only).callable()


class Shared:
    """What users may ask of any function, whichever way it runs."""

    def __init__(self, spec):
        self.spec = spec
        self.name = spec.name
        self.inputs, self.outputs, self.updates = spec.inputs, spec.outputs, spec.updates

    def copy(self, swap=None, delete_updates=False, name=None):
        return self.spec.copy(swap, delete_updates, name)

    copy.__doc__ = Spec.copy.__doc__

    def __repr__(self):
        names = ", ".join(self.spec.label(i) for i in range(len(self.inputs)))
        return f"<ckernels function {self.name or ''}({names})>"

    def stats(self):
        """A dict of what was built: see `CompiledFunction.stats`; here nothing was compiled."""
        roots = self.outputs + [new for _, new in self.updates]
        return {"nodes": len(toposort(roots)), "instructions": 0, "kernels": [], "built": 0,
                "from_cache": 0, "compile_seconds": 0.0, "plans": 0, "peak_bytes": 0}

    def source(self):
        """The generated C; empty where none is generated."""
        return ""


class CompiledFunction(Shared):
    """Owns the Program; `fast` is the C callable handed to the user."""

    def __init__(self, spec):
        super().__init__(spec)
        self.program = Program(spec.inputs, spec.outputs, spec.updates, spec.cells)

    def callable(self):
        """The C callable; it owns this object, which only knows it weakly."""
        spec = self.spec
        index = {id(n): i for i, n in enumerate(spec.cells)}
        fast = _runtime.Function(
            bind=self.bind, coerce=spec.coerce, fail=self.fail,
            inputs=[(n.dtype, n.ndim) for n in spec.inputs],
            cells=[n.attrs["store"].cell for n in spec.cells],
            updated=[index[id(v)] for v, _ in spec.updates], single=spec.single,
            flexible=[i for i, n in enumerate(spec.cells) if None in n.shape],
            positional_only=spec.positional_only)
        fast.info = self
        self._fast = weakref.ref(fast)
        return fast

    def bind(self, arrays):
        try:
            return self.program.bind(arrays)
        except (CompilerMissing, CompileError) as problem:
            if config.on_compile_error == "raise":
                raise
            warn_no_compiler(str(problem))
            return bind_reference(self.program, arrays)

    def fail(self, code, tag, arrays):
        steps = self.program.steps
        node = steps[tag].node if 0 <= tag < len(steps) else None
        return self.spec.fail(code, node, arrays)

    def stats(self):
        """What was built so far.

        nodes: of the last planned graph; instructions: of the last plan; kernels: dicts with name,
        key, path, inputs, outputs; built, from_cache: kernels compiled and loaded; compile_seconds:
        wall time in the compiler; plans: shape sets known; peak_bytes: largest arena.
        """
        program, kernels = self.program, self.program.kernels
        return {
            "nodes": program.nodes, "instructions": len(program.steps),
            "kernels": [{"name": r.name, "key": r.key, "path": r.path, "form": r.kernel.form,
                         "inputs": sum(o.role == "in" for o in r.kernel.operands),
                         "outputs": sum(o.role == "out" for o in r.kernel.operands)}
                        for r in kernels.records.values()],
            "built": kernels.built, "from_cache": kernels.from_cache,
            "compile_seconds": kernels.seconds, "plans": self._fast().plans,
            "peak_bytes": program.peak_bytes}

    def source(self):
        """The C of all kernels of this function, after its first call."""
        return "\n".join(r.text for r in self.program.kernels.records.values())

    def steps(self):
        """One line per instruction of the last plan, in order."""
        return [f"{k}: {s.name}" for k, s in enumerate(self.program.steps)]


class ReferenceFunction(Shared):
    """Runs the graph in NumPy. Slow and right; needs no compiler."""

    def __init__(self, spec):
        super().__init__(spec)
        self.lock = threading.RLock()

    def __call__(self, *args, **kwargs):
        spec = self.spec
        arrays = spec.arrange(args, kwargs)
        for node, array in zip(spec.inputs, arrays):
            Program.check_shape(node, array)
        env = dict(zip(spec.inputs, arrays))
        with self.lock:
            roots = spec.outputs + [new for _, new in spec.updates]
            values = reference.evaluate(roots, env)
            new_values = values[len(spec.outputs):]
            apply_updates(spec.updates, new_values)
        return finish(values[:len(spec.outputs)], spec)


def apply_updates(updates, values):
    """Check all new values, then store them: all or none."""
    for (variable, new), value in zip(updates, values):
        if len(variable.shape) != value.ndim or any(
                a not in (None, b) for a, b in zip(variable.shape, value.shape)):
            raise with_line(ShapeError(f"the update of {variable.name or 'a variable'} has shape "
                                       f"{show(value.shape)}, the variable has "
                                       f"{show(variable.shape)}"), new)
    for (variable, _), value in zip(updates, values):
        variable.attrs["store"].set(np.asarray(value, dtype=variable.dtype))


def finish(values, spec):
    outputs = [np.array(v, dtype=n.dtype, order="C", copy=True)
               for v, n in zip(values, spec.outputs)]
    return outputs[0] if spec.single else outputs


def warn_no_compiler(reason):
    """One warning per process when compiled mode is out of reach."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(f"ckernels runs through NumPy, slowly: {reason}. Install a C compiler (for "
                      "example `apt-get install gcc` or `xcode-select --install`) and run "
                      "`ckernels doctor`.", CKernelsWarning, stacklevel=3)
