"""The linker: PyTensor's graph to a callable, with PyTensor's storage and PyTensor's exceptions.

Shared variables are inputs and updates are outputs, as in PyTensor's other linkers: arrays are
passed by reference, nothing is copied in or out. Fusion, work in place and BLAS are left to
ckernels, so PyTensor's rewrites for them are excluded.
"""

import numpy as np
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.fg import FunctionGraph
from pytensor.link.basic import JITLinker
from pytensor.link.utils import raise_with_op

from ...base.errors import (
    DTypeError,
    IndexOutOfBounds,
    LinearAlgebraError,
    OutOfMemory,
    ShapeError,
)
from . import translations  # noqa: F401  (fills the registry)
from .convert import is_tensor
from .perform import Raised, is_scalar
from .pieces import Pieces
from .registry import is_a

EXCLUDED = ("cxx_only", "BlasOpt", "inplace", "fusion", "local_careduce_fusion",
            "scan_reduce_trace_prealloc", "scan_save_mem_prealloc",
            "reuse_lu_decomposition_multiple_solves",
            "scan_split_non_sequence_lu_decomposition_solve")  # fmt: skip
SQUEEZE = "Attempting to squeeze axes with size not equal to one: "
PLAIN = {ShapeError: ValueError, DTypeError: TypeError, IndexOutOfBounds: IndexError,
         LinearAlgebraError: np.linalg.LinAlgError, OutOfMemory: MemoryError}  # fmt: skip


MASK = 4096  # elements up to which a mask is taken as known
CHANGES = 2  # after how many nothing is known any more


class CKernelsLinker(JITLinker):
    """Compiles a whole FunctionGraph with ckernels.

    `python_calls` of the linker of a function lists the apply nodes that run in Python; see
    `ckernels.pytensor.report`.
    """

    incompatible_rewrites = EXCLUDED

    current = None  # where values are taken as known: the function for their present ones

    def fgraph_convert(self, fgraph, order, input_storage, output_storage, storage_map, **kwargs):
        self.known, self.mistaken = Known(fgraph, storage_map), set()
        run = self.translated(fgraph)
        return self.watching(fgraph, run) if self.known.values else run

    def translated(self, fgraph, lazy=True):
        """The function of pieces that are made of the graph now, in `pieces` from here on."""
        self.pieces = Pieces(fgraph, lazy, self.known.values, self.mistaken)
        run = self.pieces.callable()
        if self.pieces.performed:
            run = self.correcting(fgraph, run, lazy)
        return self.choosing(fgraph, run) if self.pieces.converter.chooses and lazy else run

    def correcting(self, fgraph, run, lazy):
        """`run`; pieces cut at an op once its infer_shape was wrong: others never look at it."""
        before = len(self.mistaken)

        def call(*inputs):
            nonlocal run
            try:
                return run(*inputs)
            except ShapeError:
                if len(self.mistaken) == before:
                    raise
            run = self.translated(fgraph, lazy)
            return run(*inputs)

        return call

    def choosing(self, fgraph, run):
        """`run`; once the sides of a choice differ in shape, pieces that compute both."""

        def call(*inputs):
            nonlocal run
            try:
                return run(*inputs)
            except ShapeError as problem:
                if "two sides of ifelse" not in str(problem) or not self.pieces.converter.lazy:
                    raise
            run = self.translated(fgraph, lazy=False)
            return run(*inputs)

        return call

    def watching(self, fgraph, run):
        """`run`; pieces made anew where a value that was taken as known is another one now."""

        def current():
            nonlocal run
            if not self.known.hold():
                self.known.renew()
                run = self.translated(fgraph, self.pieces.converter.lazy)
            return run

        self.current = current
        return lambda *inputs: current()(*inputs)

    def jit_compile(self, fn):
        return fn

    def create_thunk_inputs(self, storage_map):
        return [storage_map[n] for n in self.fgraph.inputs]

    @property
    def python_calls(self):
        pieces = getattr(self, "pieces", None)
        return [] if pieces is None else pieces.performed

    def create_jitable_thunk(self, compute_map, order, input_storage, output_storage, storage_map):
        fgraph = self.fgraph
        run = self.fgraph_convert(fgraph, order, input_storage, output_storage, storage_map)
        taken = self.create_thunk_inputs(storage_map)
        given = [storage_map[n] for n in fgraph.outputs]
        scalars = [storage_map[n] for n in fgraph.outputs if is_scalar(n)]
        nodes = [o.owner for o in fgraph.outputs if o.owner is not None][:1]
        direct = None if scalars else self.direct(taken, given)

        def thunk():
            nonlocal direct
            try:
                if direct is not None:
                    through, arguments = direct
                    results = through(*arguments)
                    if results is not None:
                        return results
                results = run(*[x[0] for x in taken])
            except Exception as problem:
                if isinstance(problem, ShapeError) and not self.pieces.converter.chooses:
                    problem = broken(fgraph, [x[0] for x in taken]) or problem
                fail(fgraph, problem, nodes, thunk)
            for storage, value in zip(given, results):
                storage[0] = value
            for storage in scalars:
                storage[0] = storage[0][()]
            if direct is not None:  # a known value has changed, so there are other pieces
                direct = self.direct(taken, given)
            return [storage[0] for storage in given]

        thunk.inputs, thunk.outputs, thunk.lazy = taken, given, False
        return [thunk], nodes, run

    def direct(self, taken, given):
        """(C that reads a call's arguments from lists, puts its results into lists and asks whether
        known values still hold; its arguments), or None where a call takes Python between.
        """
        pieces = self.pieces
        compiled = pieces.directly
        if compiled is None or pieces.performed or pieces.converter.chooses:
            return None
        function, arrays = compiled
        cells, values = self.known.cells
        return function.through, ((*taken, *([x] for x in arrays)), tuple(given), cells, values)

    def __getstate__(self):
        made = ("pieces", "known", "mistaken", "current")
        return {k: v for k, v in self.__dict__.items() if k not in made}


class Known:
    """Shared values that shapes follow from: sizes of PyMC's named dims, and masks. They are taken
    as known, so that plans are made for them, and `hold` says before each call whether they still
    are what they were. Where they change again and again, nothing is known any more.
    """

    def __init__(self, fgraph, storage_map):
        updates = getattr(fgraph, "update_mapping", None) or {}
        updated = {fgraph.inputs[k] for k in updates.values()}
        self.storage = {
            variable: storage_map[variable]
            for variable in fgraph.inputs
            if isinstance(variable, SharedVariable)
            and variable not in updated
            and shapes_follow(variable, storage_map[variable][0])
        }
        self.changes = 0
        self.take()

    def take(self):
        self.values = {v: np.array(storage[0]) for v, storage in self.storage.items()}
        self.checks = [
            (self.storage[v], array.shape, array.tobytes()) for v, array in self.values.items()
        ]

    @property
    def cells(self):
        """The lists in which known values stand, and these values: for `through`."""
        return tuple(self.storage.values()), tuple(self.values[v] for v in self.storage)

    def hold(self):
        for storage, shape, content in self.checks:
            value = storage[0]
            if value.shape != shape or value.tobytes() != content:
                return False
        return True

    def renew(self):
        self.changes += 1
        if self.changes > CHANGES:
            self.storage = {}
        self.take()


def shapes_follow(variable, value):
    """Whether a shared value is a size or a mask, of few elements."""
    if not is_tensor(variable) or not isinstance(value, np.ndarray | np.generic):
        return False
    if variable.type.ndim == 0:
        return value.dtype.kind in "iu"
    return value.dtype.kind == "b" and value.size <= MASK


def broken(fgraph, inputs):
    """What the first CheckAndRaise of the graph that does not hold raises, or None.

    ckernels finds shapes that do not fit before anything runs; in PyTensor a check in front of them
    raises first, with the user's message.
    """
    for node in fgraph.toposort():
        if not is_a(node.op, "CheckAndRaise"):
            continue
        try:
            conditions = FunctionGraph(fgraph.inputs, node.inputs[1:], clone=True)
            held = all(Pieces(conditions).callable()(*inputs))
        except Exception:
            continue  # the conditions cannot be computed either
        if not held:
            return Raised(node.op.exc_type(node.op.msg), node)
    return None


def fail(fgraph, problem, nodes, thunk):
    """Raise what PyTensor would: its class, with the apply node in the message."""
    if isinstance(problem, Raised):
        error, node = problem.error, problem.node
    else:
        error, node = plain(problem), nodes[0] if nodes else None
    if node is None:
        raise error
    raise_with_op(fgraph, node, thunk, exc_info=(type(error), error, problem.__traceback__))


def plain(problem):
    """An error of ckernels as the exception of PyTensor or NumPy that it stands for."""
    for kind, other in PLAIN.items():
        if type(problem) is kind:
            text = str(problem)
            return other(SQUEEZE + text if text.startswith("cannot squeeze") else text)
    return problem
