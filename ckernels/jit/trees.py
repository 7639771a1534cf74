"""Nested arguments and results as flat leaves: tuples, lists, dicts, None, dataclasses, named
tuples and plain objects by their attributes. What stays is a description that is equal for equal
nestings, to be put together again around other leaves.
"""

import enum
import sys
import types
from dataclasses import dataclass

import numpy as np

from ..base.errors import NotSupported
from .tails import Tail


@dataclass(frozen=True)
class Same:
    """In a result, the list, dict or object that a call was given, at a path of it."""

    path: tuple


DEEPEST = 32  # levels of nesting; beyond it is a circle
STATIC = (str, bytes, bool, int, float, complex, type(None), type, types.FunctionType,
          types.BuiltinFunctionType, slice, types.ModuleType, np.dtype, range, enum.Enum,
          np.ufunc, type(Ellipsis),
          types.MethodDescriptorType, type(NotImplemented), Same)  # fmt: skip
LEAF = "leaf"


class Static:
    """An argument that `static` names. What `flatten` takes apart is so here too: numbers and
    arrays in it are inputs, each call's own. What is of another kind and compares by its value is
    part of the key: a frozenset, a fraction, a date. Equal values whose texts differ are two."""

    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        same = type(self.value) is type(other.value) and self.value == other.value
        return same and repr(self.value) == repr(other.value)

    def described(self, is_leaf, leaves, depth):
        before, kind = len(leaves), type(self.value)
        try:
            return object, Static, ("value",), (flatten(self.value, is_leaf, leaves, depth),)
        except NotSupported:
            if kind.__hash__ in (None, object.__hash__) or kind.__eq__ is object.__eq__:
                raise
            del leaves[before:]
            return "static", Static, self


def flatten(tree, is_leaf, leaves, depth=0, tails=None):
    """The description of `tree`; its leaves, as is_leaf tells, are appended to `leaves`. tails: of
    a call, {id of a list of which only the end matters: its path}, from which those that were met
    go.

    An object whose state cannot be read (a generator, a file) is a leaf of a call, and elsewhere
    NotSupported.
    """
    if is_leaf(tree):
        leaves.append(tree)
        return LEAF
    if depth > DEEPEST:
        raise NotSupported("an argument that holds itself, or is nested too deep")
    kind = type(tree)
    if kind is Static:
        return tree.described(is_leaf, leaves, depth)
    if kind is list and tails and id(tree) in tails:
        if tails[id(tree)] is None:
            raise NotSupported("a list that it appends to stands in two places")
        path, tails[id(tree)] = tails[id(tree)], None
        return ("static", Tail, path)
    if hasattr(kind, "given_as"):
        tree, kind = tree.given_as, type(tree.given_as)
    if isinstance(tree, STATIC) or is_jitted(tree):
        if kind is types.FunctionType:
            tree = getattr(tree, "given_as", tree)
        elif isinstance(tree, type):
            tree = vars(tree).get("traced_from", tree)
        return ("static", type(tree), _hashable(tree))
    kind = getattr(kind, "traced_from", kind)
    if kind in (tuple, list) or is_named(kind):
        return (kind, tuple([flatten(t, is_leaf, leaves, depth + 1, tails) for t in tree]))
    if kind is dict:
        parts = tuple([flatten(t, is_leaf, leaves, depth + 1, tails) for t in tree.values()])
        return (dict, tuple([(type(k), k) for k in tree]), parts)
    if callable(tree) and kind.__module__ == "numpy":
        return ("static", kind, tree)
    if is_plain(kind) and not (tails is not None and of_python(kind)):
        parts = vars(tree)
        found = tuple([
            method_of(t, tree, kind) or flatten(t, is_leaf, leaves, depth + 1, tails)
            for t in parts.values()
        ])  # fmt: skip
        return (object, kind, tuple(parts), found)
    if tails is not None:
        leaves.append(tree)
        return LEAF
    raise NotSupported(f"an argument of type {kind.__name__}, whose state cannot be traced")


def method_of(value, holder, kind):
    """The description of an attribute that is a method of its own object, or None. kind: the class
    of the object, or that for which its class stands in a trace."""
    if type(value) is not types.MethodType or value.__self__ is not holder:
        return None
    function = getattr(value.__func__, "given_as", value.__func__)
    found = getattr(kind, function.__name__, None)
    return ("static", types.MethodType, function) if found is function else None


def is_jitted(value):
    """Whether it is a function under jit or a transform of one. Its class tells: other objects may
    answer to any name."""
    return hasattr(type(value), "traced_function")


def _hashable(tree):
    if isinstance(tree, slice):
        return (tree.start, tree.stop, tree.step)
    return tree


def of_python(kind):
    """Whether a class is of a module of Python: its objects have a state of their own, as loggers
    and threads."""
    top = kind.__module__.partition(".")[0]
    return top in sys.stdlib_module_names and top not in ("__main__", "argparse")


def is_named(kind):
    """Whether objects of a class are named tuples."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def is_plain(kind):
    """Whether objects of a class are their attributes: written in Python, with no slots, and no
    state that a base class in C keeps."""
    if kind.__module__.partition(".")[0] in ("builtins", "functools", "numpy"):
        return False
    of_python = 1 << 9
    return bool(kind.__dictoffset__) and all(
        c.__flags__ & of_python and not vars(c).get("__slots__") for c in kind.__mro__[:-1]
    )


def functions_of(description):
    """The functions of Python's that a tree has, those under jit among them, and the classes of
    what it has."""
    if description == LEAF:
        return
    if description[0] != "static":
        kind = description[1] if description[0] is object else description[0]
        if description[0] is object or is_named(kind):
            yield kind
        for part in description[-1]:
            yield from functions_of(part)
    elif is_function(description):
        yield description[2]
    elif isinstance(description[2], enum.Enum):
        yield type(description[2])


def is_function(description):
    """Whether what is static is a function or a class."""
    kind = description[1]
    return kind is types.FunctionType or issubclass(kind, type) or hasattr(kind, "traced_function")


def containers(tree, description, path=()):
    """(path, list, dict or object) of a tree, by its description."""
    if description == LEAF or description[0] in ("static", Static) or Static in description:
        return
    if description[0] is not tuple and not issubclass(description[0], tuple):
        yield path, tree
    for key, part, described in parts_of(tree, description):
        yield from containers(part, described, (*path, key))


def leaves_in(description):
    """How many leaves a description has."""
    if description == LEAF:
        return 1
    return 0 if description[0] == "static" else sum(map(leaves_in, description[-1]))


def parts_of(tree, description):
    """(key, part, its description) of a tree that is as the description says, but for attributes
    that objects got since."""
    kind = description[0]
    if kind is dict:
        return [(k, tree[k], d) for (_, k), d in zip(description[1], description[2])]
    if kind is object:
        held = vars(tree)
        return [(k, held[k], d) for k, d in zip(description[2], description[3])]
    return [(k, part, d) for k, (part, d) in enumerate(zip(tree, description[1]))]


def keyed(tree):
    """A dict, list or tuple itself, the attributes of an object: what has the parts of a tree by
    their keys."""
    return tree if isinstance(tree, (dict, list, tuple)) else vars(tree)


def at(tree, path):
    """What a tree has at a path."""
    for key in path:
        tree = keyed(tree)[key]
    return tree


def put_together(description, leaves, build=None):
    """The tree of a description, with the next ones of the iterator `leaves`. build: what makes
    classes and functions anew."""
    if description == LEAF:
        return next(leaves)
    kind = description[0]
    if kind == "static":
        found = description[2]
        if build is not None and is_function(description):
            return build.given(found)
        if description[1] is Tail:
            return Tail(found, build.on_read)
        found = slice(*found) if description[1] is slice else found
        return found if build is None else build.held(found)
    if kind is dict:
        keys = [k for _, k in description[1]]
        return dict(zip(keys, [put_together(d, leaves, build) for d in description[2]]))
    if kind is object:
        kind = description[1]
        made = object.__new__(kind if build is None else build.of_class(kind))
        values = [getattr(made, d[2].__name__) if d[1] is types.MethodType
                  else put_together(d, leaves, build) for d in description[3]]  # fmt: skip
        vars(made).update(zip(description[2], values))
        return made
    parts = [put_together(d, leaves, build) for d in description[1]]
    if is_named(kind):
        return (kind if build is None else build.of_named(kind))(*parts)
    return kind(parts)
