"""Small things the graph is made of: a place for notes, traces, and what MethodNotDefined means."""

import sys
import traceback

from ...base.errors import user_frame
from .names import absent_of as _absent_of


class object2:  # noqa: N801 (Theano's name)
    """object; it exists because Theano has it."""

    __slots__ = ("__dict__", "__weakref__")


class scratchpad:  # noqa: N801
    """A place for attributes of any kind."""

    def clear(self):
        """Drop all attributes."""
        self.__dict__.clear()

    def __update__(self, other):
        self.__dict__.update(other.__dict__)
        return self

    def __str__(self):
        return f"scratchpad{self.__dict__}"

    __repr__ = __str__

    def info(self):
        """Print what is noted."""
        print(f"<theano.gof.utils.scratchpad instance at {id(self)}>")
        for item in self.__dict__.items():
            print(f"  {item[0]}: {item[1]}")


class MethodNotDefined(Exception):
    """An Op has no such method; what asked for it has another way."""


class TestValueError(Exception):
    """A variable has no test value, in the words of Theano-PyMC."""

    __test__ = False  # of no use to a runner of tests


class AssignmentToAttributesError(Exception):
    pass


def hashtype(self):
    """The hash of an op without parameters: that of its class."""
    return hash(type(self).__name__) ^ hash(type(self).__module__)


class _Undefined:
    def __repr__(self):
        return "<undefined>"


undef = _Undefined()


def add_tag_trace(thing, user_line=None):
    """Note in `thing.tag.trace` where the user made it: a list of lists of frames."""
    from .config import config  # a name that programs would see here

    limit = config._get("traceback.limit") if user_line is None else user_line
    frame = user_frame()[0]
    if frame is not None and limit:
        stack = traceback.extract_stack(frame, None if limit < 0 else limit)
        for row in stack:
            if getattr(row, "_code", None) is not None:  # Python 3.14's, and code is not pickled
                row._code = None
        thing.tag.trace = [stack]
    return thing


def simple_extract_stack(f=None, limit=None, skips=()):
    """`traceback.extract_stack`, leaving out files whose name holds one of `skips`."""
    stack = traceback.extract_stack(f or user_frame()[0] or sys._getframe(1), limit)
    return [s for s in stack if not any(k in s[0] for k in skips)]


def deprecated(filename, msg=""):
    """A decorator that prints once that a function is on its way out."""

    def _deprecated(f):
        printed = []

        def g(*args, **kwargs):
            if not printed:
                print(f"WARNING: {filename}.{f.__name__} deprecated. {msg}")
                printed.append(True)
            return f(*args, **kwargs)

        return g

    return _deprecated


def uniq(seq):
    """The different ones of `seq`, in their order."""
    return list(dict.fromkeys(seq))


def difference(seq1, seq2):
    """What is in `seq1` and not in `seq2`."""
    other = list(seq2)
    return [x for x in seq1 if x not in other]


def to_return_values(values):
    """The one value of a list of one, else the list."""
    return values[0] if len(values) == 1 else values


def from_return_values(values):
    """A list of what may be one value or several."""
    return list(values) if isinstance(values, (list, tuple)) else [values]


def flatten(a):
    """A flat list of nested lists, tuples and sets."""
    if isinstance(a, (tuple, list, set)):
        return [y for x in a for y in flatten(x)]
    return [a]


def hash_from_code(msg):
    """The MD5 of text or bytes, as hex digits."""
    import hashlib  # start-up: 3.4 ms

    return hashlib.md5(msg.encode() if isinstance(msg, str) else msg).hexdigest()


def give_variables_names(variables):
    """Names for all `variables`, unlike each other."""
    names = [v.name for v in variables]
    variables = uniq(variables)
    used = set()
    for k, v in enumerate(variables):
        name = v.name
        if name is None or name in used or names.count(name) > 1:
            name = f"{name or ''}_{k}"
        while name in used:
            name = f"{name}_"
        v.name = name
        used.add(name)


def remove(predicate, coll):
    """What of `coll` does not fulfil `predicate`."""
    return [x for x in coll if not predicate(x)]


def copy_tag(tag):
    """A copy of the notes on a variable."""
    made = scratchpad()
    made.__dict__.update(tag.__dict__)
    return made


__getattr__ = _absent_of("theano.gof.utils")
