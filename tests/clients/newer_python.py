"""Stands in for CPython 3.12 and 3.13: runs a program in a Python that lacks what they removed.

    python tests/clients/newer_python.py program.py

Modules cannot be imported, attributes are deleted. Left are those that the standard library of an
older Python needs itself (re.TEMPLATE, importlib.abc.Traversable).
"""

import ast
import collections
import configparser
import email.message  # noqa: F401  that of Python 3.10 imports uu
import importlib.abc
import importlib.util
import inspect
import locale
import pkgutil
import re
import runpy
import sys
import unittest
import warnings

# From "Removed" in the pages "What's New In Python" of 3.10 to 3.14.
MODULES = set(
    "asynchat asyncore distutils imp smtpd "
    "aifc audioop cgi cgitb chunk crypt imghdr lib2to3 mailcap msilib nis nntplib ossaudiodev "
    "pipes sndhdr spwd sunau telnetlib uu xdrlib "
    "setuptools pkg_resources _distutils_hack".split()  # no longer in a new environment
)
ATTRIBUTES = {
    inspect: "getargspec ArgSpec formatargspec",
    collections: "Iterable Mapping MutableMapping Sequence Callable Hashable",
    configparser: "SafeConfigParser LegacyInterpolation",
    configparser.RawConfigParser: "readfp",
    unittest: "findTestCases makeSuite getTestCaseNames _TextTestResult",
    unittest.TestCase: "assertEquals assertNotEquals assertAlmostEquals assertNotAlmostEquals "
    "assertRegexpMatches assertRaisesRegexp assertNotRegexpMatches assert_ failUnless failIf",
    pkgutil: "ImpImporter ImpLoader find_loader get_loader",
    importlib: "find_loader",
    importlib.util: "set_package set_loader module_for_loader",
    importlib.abc.MetaPathFinder: "find_module",
    importlib.abc: "Finder",
    locale: "format resetlocale",
    re: "template",
    ast: "Num Str Bytes NameConstant Ellipsis",
}  # fmt: skip


class Removed(importlib.abc.MetaPathFinder):
    """Raises what an import of a module that does not exist raises."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def remove():
    """Make this process as poor as a newer Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for owner, names in ATTRIBUTES.items():
            for name in names.split():
                if name in vars(owner):
                    delattr(owner, name)
    for name in list(sys.modules):
        if name.partition(".")[0] in MODULES:
            del sys.modules[name]
    sys.meta_path.insert(0, Removed())


if __name__ == "__main__":
    remove()
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
