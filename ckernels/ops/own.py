"""Operations that users write: a Python function, or a body of C, in the middle of a graph.

What was given stands in an `Own` in attrs["own"], compared by identity. Compiling C is not done
here: a C body comes with a function that runs it on arrays (api/own.py makes it).
"""

import os

import numpy as np

from ..base.errors import ArgumentError, CKernelsError, DisconnectedError, DTypeError, ShapeError
from ..graph.node import item, make
from ..graph.op import Op
from ..graph.shapes import show
from .base import cast, to_node

__all__ = ["own_op"]


class Own:
    """One operation of a user's.

    name       for messages; where: (file, line) of the user's function, or None
    run        run(*arrays) -> an array, or several
    types      (dtype, static shape or the number of the operand it is shaped like), one per result
    sizes      sizes(*shapes of operands) -> the shape, or shapes, or None
    slopes     slopes(node, cotangents) -> a node or None for each operand, or None: no gradient
    several    whether the results come as a tuple, also a single one
    kernel     the C kernel, for the lowering, or None
    """

    def __init__(self, name, run, types, several, sizes=None, slopes=None, where=None, kernel=None):
        self.name, self.run, self.types, self.several = name, run, tuple(types), several
        self.sizes, self.slopes, self.where, self.kernel = sizes, slopes, where, kernel

    def __repr__(self):
        return self.name

    def __str__(self):
        at = f" ({os.path.basename(self.where[0])}:{self.where[1]})" if self.where else ""
        return f"{self.name}{at}"

    def shapes(self, given):
        """The shapes of the results for the shapes of the operands; None where not known."""
        declared = [given[shape] if type(shape) is int else shape for _, shape in self.types]
        if self.sizes is None:
            return declared
        known = all(d is not None for shape in given for d in shape)
        try:
            found = self.sizes(*given)
        except Exception as problem:
            if not known and isinstance(problem, TypeError):  # arithmetic with None
                return declared
            raise ArgumentError(
                f"infer_shape of {self} failed for shapes {', '.join(map(show, given))}: {problem}"
            ) from problem
        return self.merged(declared, found if self.several else [found])

    def merged(self, declared, found):
        """What infer_shape gave, checked against what was declared."""
        if len(found) != len(declared):
            raise ArgumentError(
                f"infer_shape of {self} gave {len(found)} shapes for {len(declared)} results"
            )
        out = []
        for want, have in zip(declared, map(tuple, found)):
            if len(want) != len(have) or any(
                None not in (a, b) and a != b for a, b in zip(want, have)
            ):
                raise ShapeError(
                    f"infer_shape of {self} gave {show(have)} for a result that was "
                    f"declared as {show(want)}"
                )
            out.append(tuple(a if b is None else b for a, b in zip(want, have)))
        return out


def _infer(attrs, *inputs):
    own = attrs["own"]
    found = [
        (dtype, shape)
        for (dtype, _), shape in zip(own.types, own.shapes([i.shape for i in inputs]))
    ]
    return found if own.several else found[0]


def _run(attrs, *arrays):
    own = attrs["own"]
    try:
        result = own.run(*(np.array(a) for a in arrays))  # the user may keep or change them
    except CKernelsError:
        raise
    except Exception as problem:
        problem.by_user = True
        if hasattr(problem, "add_note"):
            shown = ", ".join(f"{a.dtype.name} {show(a.shape)}" for a in arrays)
            problem.add_note(f"raised by {own}, an operation of the user's, for {shown}")
        raise
    results = result if own.several else (result,)
    if not isinstance(results, (tuple, list)) or len(results) != len(own.types):
        raise ArgumentError(
            f"{own} must return {len(own.types)} arrays, one for each of its "
            f"results, and returned {type(result).__name__}"
            + (f" of {len(result)}" if isinstance(result, (tuple, list)) else "")
        )
    shapes = own.shapes([a.shape for a in arrays])
    typed = tuple(
        _checked(own, k, r, dtype, shape)
        for k, (r, (dtype, _), shape) in enumerate(zip(results, own.types, shapes))
    )
    return typed if own.several else typed[0]


def _checked(own, k, result, dtype, shape):
    """Result number `k` as an array of the dtype and shape that were declared."""
    which = f"result {k} of {own}" if len(own.types) > 1 else f"the result of {own}"
    array = np.asarray(result)
    if array.dtype.name != dtype and not np.can_cast(array.dtype, dtype, "same_kind"):
        raise DTypeError(f"{which} has dtype {array.dtype} and was declared as {dtype}")
    if array.ndim != len(shape) or any(d not in (None, n) for d, n in zip(shape, array.shape)):
        raise ShapeError(f"{which} has shape {show(array.shape)}, and {show(shape)} was declared")
    return array.astype(dtype, copy=False)


def _grad(node, g):
    own = node.attrs["own"]
    if own.slopes is None:
        raise DisconnectedError(
            f"{own} has no gradient, but the cost depends on what was asked "
            "for through it: give it one by gradient=, or K.stop_gradient"
        )
    found = own.slopes(node, g if own.several else [g])
    out = []
    for k, (part, x) in enumerate(zip(found, node.inputs)):
        if part is not None and (
            part.ndim != x.ndim
            or any(None not in (a, b) and a != b for a, b in zip(part.shape, x.shape))
        ):
            raise ShapeError(
                f"the gradient of {own} has shape {show(part.shape)} for operand {k}, "
                f"whose shape is {show(x.shape)}"
            )
        out.append(part if part is None else cast(part, x.dtype))
    return out


Op(
    "py_op",
    "opaque",
    _infer,
    _run,
    _grad,
    cost=1000,
    doc="A Python function of the user's, attrs['own'].",
)
Op("c_op", "opaque", _infer, _run, _grad, cost=10, doc="A body of C of the user's, attrs['own'].")


def own_op(kind, own, inputs):
    """The node, or a tuple of nodes, of the user's operation `own`; kind: py_op or c_op."""
    node = make(kind, [to_node(i, own.name) for i in inputs], {"own": own})
    if not own.several:
        return node
    return tuple(item(node, k) for k in range(len(own.types)))
