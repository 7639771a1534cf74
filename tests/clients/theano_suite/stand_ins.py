"""What Theano 1.0.5's own tests need beside theano: nose, old names of NumPy, and absent names.

A name that ckernels does not have becomes a class that raises where a test uses it, so that this
test fails alone and not the whole file with it. Imported by the conftest that run.py writes.
"""

import collections
import collections.abc
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import pathlib
import re
import sys
import types
import unittest

import numpy as np
import numpy.testing


class AbsentNameError(NotImplementedError):
    """A name of Theano that is not here was used."""


class Absent(type):
    """The class of what stands for absent names."""

    def __call__(cls, *args, **kwargs):
        if cls.__dict__.get("absent"):
            raise AbsentNameError(f"{cls.__name__} is absent")
        return super().__call__(*args, **kwargs)

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(name)


def absent(name):
    """A class that stands for the absent `name`."""
    return Absent(name, (), {"absent": True})


def opened(module):
    """`module`, whose absent names are stand-ins."""
    own = module.__dict__.get("__getattr__")

    def find(name):
        if name == "__all__" and own is not None:
            return own(name)
        if name.startswith("__"):
            raise AttributeError(name)
        if own is not None:
            try:
                return own(name)
            except AttributeError:
                pass
        return absent(name)

    module.__getattr__ = find
    return module


class AbsentModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules below theano that are not here: empty ones, of absent names."""

    def find_spec(self, name, path=None, target=None):
        if not name.startswith("theano.") or ".tests" in name:
            return None
        try:
            found = self.facade.find_spec(name, path, target)
        except ModuleNotFoundError:
            found = None
        return found or importlib.machinery.ModuleSpec(name, self, is_package=True)

    def __init__(self, facade):
        self.facade = facade  # the finder of theano.install()

    def create_module(self, spec):
        return opened(types.ModuleType(spec.name))

    def exec_module(self, module):
        pass


class FlatTests(importlib.abc.MetaPathFinder):
    """Finds theano.a.tests.test_b as the file a__test_b.py of a folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def find_spec(self, name, path=None, target=None):
        found = re.fullmatch(r"theano\.(?:(.*)\.)?tests(?:\.(test_\w+))?", name)
        if not found or name == "theano.tests":
            return None
        if found[2] is None:
            return importlib.util.spec_from_loader(name, loader=None, is_package=True)
        file = self.folder / f"{(found[1] or '').replace('.', '_')}__{found[2]}.py"
        return importlib.util.spec_from_file_location(name, file) if file.exists() else None


def old_numpy():
    """Names that NumPy had in 2020."""
    for name, value in {
        "float": float,
        "int": int,
        "bool": bool,
        "object": object,
        "complex": complex,
        "product": np.prod,
        "float_": np.float64,
        "complex_": np.complex128,
        "alltrue": np.all,
        "Inf": np.inf,
        "NaN": np.nan,
        "row_stack": np.vstack,
    }.items():
        if name not in vars(np):
            setattr(np, name, value)
    if "find_common_type" not in vars(np):
        np.find_common_type = lambda arrays, scalars: np.result_type(*arrays, *scalars)
    for name in ("ceil", "floor", "trunc"):  # of integers, they were floats
        old = functools.partial(
            lambda f, x, **options: f(x.astype(np.result_type(x, np.float16)), **options),
            getattr(np, name),
        )
        old.nin = old.nout = 1
        setattr(np, f"old_{name}", old)
    if not hasattr(np, "MAXDIMS"):
        np.MAXDIMS = 64
    if not hasattr(np.linalg, "linalg"):
        np.linalg.linalg = np.linalg
    unique = np.unique  # whose inverse had one axis

    @functools.wraps(unique)
    def flat(ar, return_index=False, return_inverse=False, *args, **kwargs):
        found = unique(ar, return_index, return_inverse, *args, **kwargs)
        if return_inverse:
            place = 1 + bool(return_index)
            found = (*found[:place], found[place].reshape(-1), *found[place + 1 :])
        return found

    np.unique = flat
    casts = {"__getitem__": lambda self, dtype: lambda x: np.asarray(x).astype(dtype)}
    np.cast = type("Casts", (), casts)()
    if not hasattr(numpy.testing, "dec"):
        plain = staticmethod(lambda *args, **kwargs: lambda f: f)
        numpy.testing.dec = type("dec", (), {"knownfailureif": plain, "skipif": plain})


def dtype_of(kind):
    """The dtype of a class of NumPy's numbers, abstract ones included, which had one in 2020."""
    plain = {np.number: float, np.inexact: float, np.floating: float, np.integer: np.int64,
             np.signedinteger: np.int64, np.unsignedinteger: np.uint64,
             np.complexfloating: complex}  # fmt: skip
    return np.dtype(plain.get(kind, kind))


def old_scipy():
    """Functions of small integers had float32 results in the SciPy of 2020, as in Theano; and
    scipy.linalg had kron."""
    import scipy.linalg
    import scipy.special

    if not hasattr(scipy.linalg, "kron"):
        blocks = np.multiply.outer  # laid side by side along the first two axes
        scipy.linalg.kron = lambda a, b: np.concatenate(np.concatenate(blocks(a, b), 1), 1)

    def of_small(function):
        @functools.wraps(function)
        def computed(x, *args, **kwargs):
            small = str(getattr(x, "dtype", "")) in ("int8", "uint8", "int16", "uint16", "bool")
            found = function(x, *args, **kwargs)
            return found.astype("float32") if small else found

        return computed

    for name in ("erf", "erfc", "erfcx", "erfinv", "erfcinv", "gamma", "gammaln", "psi", "j0",
                 "j1", "i0", "i1"):  # fmt: skip
        setattr(scipy.special, name, of_small(getattr(scipy.special, name)))
    polygamma, second = scipy.special.polygamma, of_small(lambda x, n: polygamma(n, x))
    scipy.special.polygamma = lambda n, x: second(x, n)


def old_python():
    """Names that Python's libraries had then."""
    for name in ("Iterable", "Sequence", "Mapping", "Callable"):
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
    if not hasattr(inspect, "getargspec"):
        inspect.getargspec = inspect.getfullargspec


def nose():
    """The names of nose that the tests import."""
    case = unittest.TestCase()

    def raises(*errors):
        def decorate(test):
            @functools.wraps(test)
            def checked(*args, **kwargs):
                with case.assertRaises(errors):
                    test(*args, **kwargs)

            return checked

        return decorate

    tools = {
        "assert_raises": case.assertRaises,
        "assert_equal": case.assertEqual,
        "assert_equals": case.assertEqual,
        "assert_true": case.assertTrue,
        "assert_raises_regexp": case.assertRaisesRegex,
        "raises": raises,
    }
    from ckernels.compat.theano.tests.unittest_tools import attr

    rows = {
        "nose": {},
        "nose.tools": tools,
        "nose.plugins": {},
        "nose.plugins.skip": {"SkipTest": unittest.SkipTest},
        "nose.plugins.attrib": {"attr": attr},
    }
    for name, names in rows.items():
        module = sys.modules[name] = types.ModuleType(name)
        module.__path__ = []
        vars(module).update(names)


def tools_of_tests():
    """What Theano's own tests find in unittest_tools; questions about rewrites say nothing."""
    from parameterized import parameterized

    import ckernels.compat.theano.tensor as tensor
    from ckernels.compat.theano.tests import unittest_tools as tools

    def named(function, number, param):
        return f"{function.__name__}_{parameterized.to_safe_name('_'.join(map(str, param.args)))}"

    def close(a, b, rtol=None, atol=None):
        narrow = "float32" in (str(getattr(a, "dtype", "")), str(getattr(b, "dtype", "")))
        return np.allclose(
            a, b, rtol=rtol or (1e-4 if narrow else 1e-5), atol=atol or (1e-5 if narrow else 1e-8)
        )

    tools.SkipTest, tools.parameterized, tools.custom_name_func = (
        unittest.SkipTest,
        parameterized,
        named,
    )
    tools.assert_raises, tensor._allclose = sys.modules["nose.tools"].assert_raises, close
    import scipy.sparse

    import ckernels.compat.theano.sparse as sparse

    sparse._mtypes = [scipy.sparse.csc_matrix, scipy.sparse.csr_matrix]
    for kind in ("", "0", "1", "N", "Class", "Class1", "ClassN"):
        setattr(
            tools.TestOptimizationMixin,
            f"assertFunctionContains{kind}",
            lambda self, *args, **kwargs: None,
        )


def all_of(generator):
    """One test of a generator of tests: functions, or (function, *arguments)."""

    @functools.wraps(generator)
    def test(*args):
        for asked in generator(*args):
            function, *given = (asked,) if callable(asked) else asked
            function(*given)

    return test


def mark(items, inside):
    """Note for each test the function that defines it (FILE:line), and whether it is of behaviour:
    whether the text of that function has nothing of the pattern `inside`."""
    for item in items:
        function = inspect.unwrap(getattr(item.obj, "__func__", item.obj))
        place = pathlib.Path(function.__code__.co_filename)
        text = inspect.getsource(function)
        where = f"{place.stem}:{function.__code__.co_firstlineno}"
        item.user_properties.append(("function", where))
        item.user_properties.append(("behaviour", str(re.search(inside, text) is None)))


def install(folder):
    """Everything, and the facade as theano."""
    old_numpy()
    old_scipy()
    old_python()
    nose()
    import ckernels.compat.theano as theano

    theano.install()
    sys.meta_path.insert(0, AbsentModules(sys.meta_path[0]))
    sys.meta_path.append(FlatTests(folder))
    from ckernels.theano.base.names import PLACES, place

    for tail in PLACES:
        opened(importlib.import_module(place(tail)))
    opened(theano)
    tools_of_tests()
