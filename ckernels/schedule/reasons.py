"""Why two things do not share a loop: a sentence about a value and a loop, worded when printed."""

from ..graph.node import Node
from ..graph.printing import location
from ..graph.shapes import show


class Reason:
    """`text` with what it is about: nodes, shapes and numbers.

    It is a sentence about "it", a value, and "this loop", which reads the value from memory.
    Between two loops it is about "them", and "it" is a tensor that both read.
    """

    __slots__ = ("text", "about")

    def __init__(self, text, *about):
        self.text, self.about = text, about

    def __str__(self):
        return self.text.format(*map(_shown, self.about))

    def __repr__(self):
        return f"Reason({str(self)!r})"


def why_not(join, questions):
    """The first Reason that one of the questions has against what would share a loop, or None."""
    return next((reason for ask in questions if (reason := ask(join)) is not None), None)


def _shown(x):
    if isinstance(x, Node):
        where = location(x.line)
        return f"{x.op.name} ({where})" if where else x.op.name
    return show(x) if isinstance(x, (tuple, list)) else str(x)
