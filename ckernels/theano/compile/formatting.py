"""theano.d3viz.formatting: graphs of pydot, with a node for each op and free variable."""

import os

import numpy as np

from ...base.errors import UsageError
from ..base.names import absent_of as _absent_of
from ..gradient.builders import OpFromGraph
from ..graph.apply import Apply, Constant, Variable
from ..graph.apply import inputs as inputs_of
from ..graph.fg import FunctionGraph
from ..handles.sharedvar import SharedVariable

try:
    import pydot as pd
except ImportError:  # no requirement of this package
    pd = None

pydot_imported = pd is not None
pydot_imported_msg = "" if pydot_imported else "pydot is not installed: `pip install pydot`"
NAMED = {(): "scalar", (False,): "vector", (False, True): "col", (True, False): "row",
         (False, False): "matrix"}  # fmt: skip
CHARACTERS = dict(complex64="c", complex128="z", float32="f", float64="d", int8="b", int16="w",
                  int32="i", int64="l")  # fmt: skip


class PyDotFormatter:
    """`PyDotFormatter()(f)`: the graph of a function, of variables, or of an Apply.

    compact: whether an output that has no name and is used stands for no edge of its own. The
    tables node_colors, apply_colors and shapes may be changed.
    """

    def __init__(self, compact=True):
        if not pydot_imported:
            raise ImportError(f"graphs of pydot need it, and {pydot_imported_msg}")
        self.compact = compact
        self.node_colors = {
            "input": "limegreen", "constant_input": "SpringGreen", "shared_input": "YellowGreen",
            "output": "dodgerblue", "unused": "lightgrey",
        }  # fmt: skip
        self.apply_colors = {
            "Scan": "yellow", "Shape": "cyan", "IfElse": "magenta", "Elemwise": "#FFAABB",
            "Subtensor": "#FFAAFF", "Alloc": "#FFAA22",
        }  # fmt: skip
        self.shapes = {"input": "box", "output": "box", "apply": "ellipse"}
        self.prefix = "n"  # of the names of nodes

    def __call__(self, fct, graph=None):
        """The nodes and edges of `fct`, put into `graph`, a pydot.Dot, or into a new one."""
        graph = pd.Dot() if graph is None else graph
        self.ids = {}
        profile, whole = getattr(fct, "profile", None), _graph_of(fct)
        for apply in whole.toposort():
            node = self._apply(apply, profile)
            graph.add_node(node)
            for k, x in enumerate(apply.inputs):
                if x.owner is None:
                    graph.add_node(self._variable(x, _kind_of(x), _kind_of(x)))
                graph.add_edge(self._edge_to(apply, k, x))
            for y in apply.outputs:
                last, used = y in whole.outputs, bool(whole.clients(y))
                if last or not used:
                    graph.add_node(self._variable(y, "output", "output" if used else "unused"))
                if last or not used or y.name or not self.compact:
                    ends = self._id(apply), self._id(y)
                    graph.add_edge(pd.Edge(*ends, label=type_to_str(y.type)))
            if isinstance(apply.op, OpFromGraph):
                self._inside(apply, node, graph)
        return graph

    def _id(self, thing):
        return self.ids.setdefault(thing, f"{self.prefix}{len(self.ids) + 1}")

    def _apply(self, apply, profile):
        label = apply_label(apply)
        color = next((c for name, c in self.apply_colors.items() if name in label), None)
        filled = dict(style="filled", fillcolor=color, type="colored") if color else {}
        return dict_to_pdnode(
            dict(name=self._id(apply), label=label, profile=apply_profile(apply, profile),
                 node_type="apply", apply_op=label, shape=self.shapes["apply"], **filled)
        )  # fmt: skip

    def _variable(self, v, kind, color):
        return dict_to_pdnode(
            dict(name=self._id(v), label=var_label(v), node_type=kind, dtype=type_to_str(v.type),
                 tag=var_tag(v), style="filled", fillcolor=self.node_colors[color],
                 shape=self.shapes["output" if kind == "output" else "input"])
        )  # fmt: skip

    def _edge_to(self, apply, k, x):
        """The edge from what makes `x` to the Apply that takes it as its input k."""
        label = f"{k} {type_to_str(x.type)}" if len(apply.inputs) > 1 else type_to_str(x.type)
        color = {}
        for table, name in (("view_map", self.node_colors["output"]), ("destroy_map", "red")):
            if any(k in places for places in (getattr(apply.op, table, None) or {}).values()):
                color.setdefault("color", name)
        source = self._id(x if x.owner is None else x.owner)
        return pd.Edge(source, self._id(apply), label=label, **color)

    def _inside(self, apply, node, graph):
        """The graph of an OpFromGraph as a cluster, and how its ends are called outside."""
        cluster, inner = pd.Cluster(self._id(apply)), type(self)(self.compact)
        inner.prefix = self._id(apply)
        whole = FunctionGraph(apply.op.inputs, apply.op.outputs)
        own, made = whole.inputs, whole.outputs
        inner(whole, cluster)
        graph.add_subgraph(cluster)
        pairs = {
            "subg_map_inputs": [[self._id(x), inner._id(v)] for x, v in zip(apply.inputs, own)],
            "subg_map_outputs": [[inner._id(v), self._id(y)] for y, v in zip(apply.outputs, made)],
        }
        node.get_attributes().update(
            subg=cluster.get_name(), **{name: str(found) for name, found in pairs.items()}
        )


def _graph_of(fct):
    if hasattr(fct, "maker"):
        return fct.maker.fgraph
    if isinstance(fct, FunctionGraph):
        return fct
    outputs = fct.outputs if isinstance(fct, Apply) else fct
    outputs = [outputs] if isinstance(outputs, Variable) else list(outputs)
    if not all(isinstance(v, Variable) for v in outputs):
        raise UsageError("a function, an Apply or variables are drawn", fct)
    return FunctionGraph(inputs_of(outputs), outputs)


def _kind_of(v):
    if isinstance(v, Constant):
        return "constant_input"
    return "shared_input" if isinstance(v, SharedVariable) else "input"


def var_label(var, precision=3):
    """The name of a variable, the first line of a constant, or a type."""
    if var.name is not None:
        return var.name
    if not isinstance(var, Constant):
        return type_to_str(var.type)
    text = np.array2string(np.atleast_1d(var.data), precision=precision).split("\n")[0]
    return text.strip("[]") if np.ndim(var.data) == 0 else text


def var_tag(var):
    """[file, line, text of the line] where a variable was made, or None."""
    trace = getattr(var.tag, "trace", None)
    if not trace or not trace[0]:
        return None
    line = trace[0] if isinstance(trace[0][0], str) else trace[0][-1]
    if len(line) != 4:
        return None
    return [os.path.basename(line[0]).strip("<>"), line[1], (line[3] or "").encode()]


def apply_label(node):
    """The class of an op."""
    return type(node.op).__name__


def apply_profile(node, profile):
    """[seconds of an Apply, seconds of all calls], or None where nothing was measured."""
    if not profile or not getattr(profile, "fct_call_time", 0):
        return None
    return [getattr(profile, "apply_time", {}).get(node, 0), profile.fct_call_time]


def broadcastable_to_str(b):
    """'scalar', 'vector', 'row', 'col', 'matrix', or nothing."""
    return NAMED.get(tuple(b), "")


def dtype_to_char(dtype):
    """The letter of a dtype, X for one without."""
    return CHARACTERS.get(dtype, "X")


def type_to_str(t):
    """'dmatrix' and the like; the dtype of what has more axes."""
    if not hasattr(t, "broadcastable"):
        return str(t)
    shape = broadcastable_to_str(t.broadcastable)
    return dtype_to_char(t.dtype) + shape if shape else str(t.dtype)


def dict_to_pdnode(d):
    """A node of pydot with these attributes, without those that are None."""
    texts = {
        k: "\t".join(map(str, v)) if isinstance(v, list) else str(v)
        for k, v in d.items()
        if v is not None
    }
    return pd.Node(**{k: v.replace('"', "'") for k, v in texts.items()})


__getattr__ = _absent_of("theano.d3viz.formatting")
