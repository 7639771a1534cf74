"""Tail: what stands for a list that calls append to and that they do not read: `self.history`.

Such a list is no part of what a trace is made for, so that calls with a longer one have the same.
What a call appends is appended at its end; a trace that reads the list in any way is made anew,
over all that the list has.
"""

from .trace import Counts

APPEND = "append"  # the key under which something is left in a list, behind what it has
READS = """add array bool contains delitem eq ge getitem gt iadd imul iter le len lt mul ne radd
repr reversed rmul setitem""".split()
READS = [f"__{name}__" for name in READS]
READS += ["clear", "copy", "count", "index", "insert", "pop", "remove", "reverse", "sort"]


class Described(Counts):
    """A list is to be described in another way: as a Tail, or by all that it has."""


class Tail(list):
    """Of a list at `path` in what a function is given, what is appended to it. on_read: called with
    the path when something else is done with it."""

    __slots__ = ("path", "on_read")
    __hash__ = None

    def __init__(self, path, on_read):
        self.path, self.on_read = path, on_read

    @property
    def given_as(self):
        """Nothing: asked for where it is part of a result or of something else."""
        self.on_read(self.path)

    def appended(self):
        """The items so far."""
        return list.__getitem__(self, slice(None))

    def hold(self, items):
        """Let these be the items."""
        list.__setitem__(self, slice(None), items)


def _reading(name):
    def method(self, *args, **kwargs):
        self.on_read(self.path)

    method.__name__ = name
    return method


for _name in READS:
    setattr(Tail, _name, _reading(_name))
