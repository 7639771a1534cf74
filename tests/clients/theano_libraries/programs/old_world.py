"""Names that Python and NumPy have dropped since 2017, given back, and ckernels as theano.

A plugin of pytest (`-p old_world`) for libraries written for Theano. Nothing here is about
ckernels: what a library asks of Theano it gets from the front end alone.
"""

import collections
import collections.abc
import inspect
import sys
import time
import unittest

import numpy as np

NUMBERS = {"float": float, "int": int, "bool": bool, "object": object, "complex": complex,
           "str": str, "unicode": str}  # fmt: skip
Tester = type("Tester", (), {"test": None})  # of numpy.testing
ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")


def getargspec(function):
    """inspect.getargspec of Python before 3.11."""
    full = inspect.getfullargspec(function)
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)


def give_back():
    """Put the old names into their modules, where they are absent."""
    old = [(collections, name, getattr(collections.abc, name)) for name in collections.abc.__all__]
    old += [(np, name, kind) for name, kind in NUMBERS.items()]
    old += [
        (inspect, "getargspec", getargspec),
        (inspect, "ArgSpec", ArgSpec),
        (time, "clock", time.perf_counter),
        (np, "asscalar", lambda a: a.item()),
        (np.testing, "Tester", Tester),
    ]
    for owner, name, value in old:
        if name not in vars(owner):
            setattr(owner, name, value)
    try:
        import yaml
    except ImportError:
        return
    load = yaml.load
    yaml.load = lambda stream, Loader=yaml.UnsafeLoader: load(stream, Loader)  # noqa: N803


def install():
    """Old names, and ckernels as the module theano; theano.compat.six was there before 1.0."""
    import six.moves

    import ckernels.compat.theano

    give_back()
    ckernels.compat.theano.install()
    import theano.compat

    theano.compat.six = six
    sys.modules["theano.compat.six"], sys.modules["theano.compat.six.moves"] = six, six.moves


install()  # before any conftest of a library is read


def pytest_runtest_setup(item):
    """nose set up plain classes by their setUp; pytest does so for those of unittest alone."""
    kind = getattr(item, "cls", None)
    if kind is not None and not issubclass(kind, unittest.TestCase) and hasattr(kind, "setUp"):
        item.instance.setUp()
