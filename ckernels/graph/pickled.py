"""Nodes on their way to another process: pickles of graphs as flat tables, read through `make`.

A pickle holds only what the user wrote: ops by name, attributes, constants, lines. A leaf is
pickled by itself, so that all graphs of one pickle share it; other nodes are entries of a list, in
the order in which they were made. Where a pickle is read, nodes are inferred, checked and
hash-consed like any others. Placeholders become new ones; stores of variables pickle themselves.
"""

import copyreg

from ..base.errors import ArgumentError
from .node import Literal, Node, make, new_uid
from .op import REGISTRY
from .walk import toposort

FORMAT = 1  # of that list


class Graph:
    """The nodes `roots` as one object to pickle; equal nodes come back as one."""

    __slots__ = ("roots",)

    def __init__(self, roots):
        self.roots = list(roots)

    def __reduce__(self):
        order = sorted(toposort(self.roots), key=lambda node: (node.op.kind != "leaf", node.uid))
        place = {node.uid: k for k, node in enumerate(order)}
        leaves = [node for node in order if node.op.kind == "leaf"]
        rows = [
            (n.op.name, [place[i.uid] for i in n.inputs], n.attrs or None, n.line)
            for n in order[len(leaves) :]
        ]
        return _read, (FORMAT, leaves, rows, [place[n.uid] for n in self.roots])


def _read(version, leaves, rows, ends):
    """The Graph of a pickle."""
    if version != FORMAT:
        raise ArgumentError(
            f"a graph was pickled in format {version}, this version of ckernels reads {FORMAT}: "
            "pickle it with the version that is to read it"
        )
    nodes, numbers = list(leaves), {}
    for name, inputs, attrs, line in rows:
        if name not in REGISTRY:
            raise ArgumentError(
                f"a pickled graph has the op {name!r}, which is not known here: import what "
                "declares it, or use the version of ckernels that wrote the pickle"
            )
        nodes.append(make(name, [nodes[k] for k in inputs], _renumbered(attrs, numbers), line))
    return Graph([nodes[k] for k in ends])


def _renumbered(attrs, numbers):
    """`attrs` with a new uid in place of one of the other process; numbers: {old: new}."""
    if attrs and type(attrs.get("uid")) is int:
        uid = attrs["uid"]
        if uid not in numbers:
            numbers[uid] = new_uid()
        return {**attrs, "uid": numbers[uid]}
    return attrs


def _leaf(name, line, *attrs):
    return make(name, (), _renumbered(dict(attrs), {}), line)


def _root(graph):
    return graph.roots[0]


def _node(node):
    if node.op.kind == "leaf":
        # No dict: a variable whose default update reads it would be made before the dict is filled.
        return _leaf, (node.op.name, node.line, *node.attrs.items())
    return _root, (Graph([node]),)


copyreg.pickle(Node, _node)
copyreg.pickle(Literal, lambda literal: (Literal, (literal.array, literal.sized)))
