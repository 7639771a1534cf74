"""OrderedDict and names of Python 2, for programs that import them."""

import builtins  # noqa: F401
from collections import OrderedDict, defaultdict  # noqa: F401
from io import BytesIO, StringIO  # noqa: F401

from ..base.names import absent_of as _absent_of

PY3 = True
izip, imap, xrange, exc_message = zip, map, range, str


def operator_div(a, b):
    """a / b."""
    return a // b if isinstance(a, int) else a / b


def decode(x):
    """Text of bytes."""
    return x.decode("latin-1") if isinstance(x, bytes) else x


def get_unbound_function(unbound):
    """The function of a method of a class, which is itself."""
    return unbound


cmp = lambda a, b: (a > b) - (a < b)


__getattr__ = _absent_of("theano.compat")
