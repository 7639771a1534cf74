"""Gradients of eigenvalues and eigenvectors, found in the graphs that PyTensor makes of them.

Since PyTensor 3.3 the gradient of `eigh` is a graph with a division by differences of eigenvalues,
which has no value where two of them are equal, and noise where they nearly are. Ours has the limit
there. The graph is found before PyTensor rewrites it, by comparing it with what the op's `pullback`
makes of variables that stand for any cotangents.
"""

from pytensor.compile.builders import OpFromGraph
from pytensor.compile.mode import optdb
from pytensor.graph.basic import Constant
from pytensor.graph.rewriting.basic import GraphRewriter
from pytensor.tensor.type_other import NoneTypeT

from .registry import is_a

NAME, TAG = "gradients_of_eigh", "ckernels"


class EighGrad(OpFromGraph):
    """The cotangent of the matrix, from (matrix, w, v, cotangents of w and v)."""

    def __init__(self, *args, lower=True, **kwargs):
        self.lower = lower
        super().__init__(*args, **kwargs)


class GradientsOfEigh(GraphRewriter):
    """Puts an EighGrad in the place of each graph that is the gradient of an Eigh."""

    def add_requirements(self, fgraph):
        pass

    def apply(self, fgraph):
        order = fgraph.toposort()
        for node in order:
            core = getattr(node.op, "core_op", node.op)
            if is_a(core, "Eigh") and hasattr(core, "pullback") and _plain(node):
                self.replace_gradients(fgraph, node, core, order)

    def replace_gradients(self, fgraph, node, core, order):
        (a, *_), (w, v) = node.inputs, node.outputs
        cotangents = [w.type("gw"), v.type("gv")]
        wanted = node.op.pullback(node.inputs, node.outputs, cotangents)[0]
        if wanted.owner is None or is_a(wanted.owner.op, "EighGrad"):
            return
        for other in order:
            if other.op != wanted.owner.op:
                continue
            found = dict.fromkeys(cotangents)
            if not same(other.outputs[0], wanted, found) or None in found.values():
                continue
            inner = EighGrad([a, w, v, *cotangents], [wanted], lower=core.lower)
            value = inner(a, w, v, *found.values())
            fgraph.replace(other.outputs[0], value, reason=NAME, import_missing=True)


def _plain(node):
    """Whether the eigenvalues are real ones of one matrix."""
    others = [x for x in node.inputs[1:] if not isinstance(x.type, NoneTypeT)]
    return not others and all(
        x.type.dtype.startswith("float") for x in (*node.inputs[:1], *node.outputs)
    )


def same(variable, wanted, found):
    """Whether `variable` is the graph `wanted`. Keys of `found` stand for any variable: it becomes
    their value, the same one wherever they occur."""
    if wanted in found:
        if found[wanted] is None and wanted.type.ndim == variable.type.ndim:
            found[wanted] = variable
        return found[wanted] is variable
    if variable is wanted:
        return True
    if isinstance(wanted, Constant):
        return isinstance(variable, Constant) and variable.signature() == wanted.signature()
    one, other = variable.owner, wanted.owner
    if one is None or other is None or one.op != other.op or len(one.inputs) != len(other.inputs):
        return False
    if one.outputs.index(variable) != other.outputs.index(wanted):
        return False
    return all(same(x, y, found) for x, y in zip(one.inputs, other.inputs))


optdb.register(NAME, GradientsOfEigh(), TAG, position=0.05)  # after the merge of equal nodes
