"""Types for parameters of C ops: enumerations of constants, and pointers that Python passes on."""

import ctypes
import re

from ...base.errors import ArgumentError, NotSupported, UsageError
from ..base.names import absent_of as _absent_of
from ..graph.apply import Constant
from ..graph.type import Type

FLOATS = ("float", "double", "npy_float", "npy_float32", "npy_float64")


class EnumType(Type):
    """Constants by name, in Python as attributes and in C as macros.

    NAME=value, or NAME=(alias, value): an alias is another name, for Python alone. The parameter
    itself is of the C type `ctype`; `cname` names functions for this enumeration.

    >>> from ckernels.compat.theano.gof import EnumType
    >>> color = EnumType(RED=("red", 1), BLUE=2)
    >>> color.RED, color.fromalias("red"), color.filter("BLUE")
    (1, 1, 2)
    """

    is_enum = True
    _default_ctype = "double"

    def __init__(self, **constants):
        self.ctype = constants.pop("ctype", self._default_ctype)
        self.cname = constants.pop("cname", self.ctype.replace(" ", "_"))
        self.aliases, values = {}, {}
        for name, given in constants.items():
            alias = None
            if isinstance(given, (tuple, list)):
                if len(given) != 2 or not any(isinstance(g, str) for g in given):
                    raise UsageError(f"{name} is a value, or a pair of an alias and a value", given)
                alias, given = given if isinstance(given[0], str) else reversed(given)
            if not re.fullmatch(r"[A-Z][A-Z0-9_]*", name):
                raise AttributeError(
                    f"{name!r} names no constant: capital letters, digits and _ do"
                )
            if isinstance(given, bool):
                given = int(given)
            if not isinstance(given, (int, float)):
                raise UsageError(f"the constant {name} is a number, not {given!r}")
            if alias is not None:
                if alias in self.aliases or alias in constants:
                    raise UsageError(
                        f"the alias {alias!r} is the name of a constant, or stands for two"
                    )
                self.aliases[alias] = name
            values[name] = given
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_ ]*", self.ctype):
            raise UsageError(f"{self.ctype!r} is no type of C")
        if not re.fullmatch(r"[A-Za-z_]\w*", self.cname):
            raise ArgumentError(f"{self.cname!r} is no name in C")
        self._values = values

    def __getattr__(self, name):
        values = self.__dict__.get("_values", {})
        if name in values:
            return values[name]
        raise AttributeError(f"{type(self).__name__} has no constant {name}")

    def __setattr__(self, name, value):
        if "_values" in self.__dict__:
            raise NotSupported("the constants of an enumeration stay as they are")
        object.__setattr__(self, name, value)

    def __iter__(self):
        return iter(sorted(self._values.items()))

    items = lambda self: list(self)  # noqa: E731

    def __repr__(self):
        shown = ", ".join(f"{name}:{value}" for name, value in self)
        return f"{type(self).__name__}<{self.ctype}>({shown})"

    __str__ = __repr__

    def __eq__(self, other):
        return type(self) is type(other) and self._key() == other._key()

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((type(self).__name__, self._key()))

    def _key(self):
        return self.ctype, self.cname, tuple(self), tuple(sorted(self.aliases.items()))

    def fromalias(self, alias):
        """The value of the constant with this alias, or else of this name."""
        return (
            self._values[self.aliases.get(alias, alias)] if self._knows(alias) else self._no(alias)
        )

    def _knows(self, alias):
        return self.aliases.get(alias, alias) in self._values

    def _no(self, alias):
        raise AttributeError(f"no constant of {self} is called {alias!r}")

    def has_alias(self, alias):
        """Whether a constant has this alias."""
        return alias in self.aliases

    def get_aliases(self):
        """All aliases, sorted."""
        return tuple(sorted(self.aliases))

    # ---- values ---------------------------------------------------------------------------------

    def filter(self, data, strict=False, allow_downcast=None):
        """`data` as a value: of a constant, or by its name or alias where strict is False."""
        if not strict and isinstance(data, bool):
            data = int(data)
        if isinstance(data, str) and not strict and self._knows(data):
            return self.fromalias(data)
        if isinstance(data, str) or data not in self._values.values():
            raise ArgumentError(f"{data!r} is no value of {self}")
        return data

    def values_eq(self, a, b):
        return a == b

    def values_eq_approx(self, a, b):
        return float(a) == float(b)

    # ---- C --------------------------------------------------------------------------------------

    def c_support_code(self):
        return "".join(f"#define {k} {v!r}\n" for k, v in self) + self.c_to_string()

    def c_to_string(self):
        """C++ of `theano_enum_to_string_CNAME(value, text)`."""
        cases = "".join(
            f'    if (value == {name}) {{ strcpy(out, "{name}"); return 0; }}\n' for name, _ in self
        )
        return (
            f"static inline int theano_enum_to_string_{self.cname}({self.ctype} value, char *out) "
            f"{{\n{cases}"
            '    PyErr_SetString(PyExc_ValueError, "no constant of this enumeration");\n'
            "    return -1;\n}\n"
        )

    def c_declare(self, name, sub, check_input=True):
        return f"{self.ctype} {name};"

    def c_init(self, name, sub):
        return f"{name} = 0;"

    def c_extract(self, name, sub, check_input=True):
        read = "PyFloat_AsDouble" if self.ctype in FLOATS else "PyLong_AsLongLong"
        return (
            f"{name} = ({self.ctype}){read}(py_{name});\nif (PyErr_Occurred()) {{ {sub['fail']} }}"
        )

    def c_cleanup(self, name, sub):
        return ""

    c_sync = c_cleanup

    def c_code_cache_version(self):
        return (1, self._key())


class EnumList(EnumType):
    """An EnumType whose constants have the values 0, 1, ... in the order given.

    NAME, or (NAME, alias).
    """

    _default_ctype = "int"

    def __init__(self, *names, **options):
        if not options.keys() <= {"ctype", "cname"}:
            raise UsageError("EnumList takes names, ctype and cname", options)
        found = {}
        for k, one in enumerate(names):
            name, alias = (one, None) if isinstance(one, str) else one
            if name in found:
                raise AttributeError(f"{name} is given twice")
            found[name] = k if alias is None else (alias, k)
        super().__init__(**found, **options)


class CEnumType(EnumList):
    """An EnumList whose constants have, in C, the values that a header gives them."""

    def c_support_code(self):
        return self.c_to_string()

    def c_extract(self, name, sub, check_input=True):
        cases = "\n".join(f"case {value}: {name} = {key}; break;" for key, value in self)
        return (
            f"switch (PyLong_AsLong(py_{name})) {{\n{cases}\n"
            'default: PyErr_SetString(PyExc_ValueError, "no constant of this enumeration"); '
            f"{sub['fail']}\n}}"
        )


class CDataType(Type):
    """A pointer of C, `ctype` with its *, that Python passes on unseen, as a capsule.

    freefunc: the C function that frees it.
    """

    def __init__(self, ctype, freefunc=None, headers=(), header_dirs=(), libraries=(), lib_dirs=(),
                 compile_args=(), extra_support_code="", version=None):  # fmt: skip
        if not isinstance(ctype, str):
            raise UsageError(f"ctype is the name of a type of C, not {ctype!r}")
        self.ctype, self.freefunc, self.version = ctype, freefunc, version
        self.headers, self.header_dirs = tuple(headers), tuple(header_dirs)
        self.libraries, self.lib_dirs = tuple(libraries), tuple(lib_dirs)
        self.compile_args, self.extra_support_code = tuple(compile_args), extra_support_code

    def _key(self):
        return tuple(sorted((k, v) for k, v in self.__dict__.items()))

    def __eq__(self, other):
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self):
        return hash((type(self), self.ctype, self.freefunc, self.version))

    @property
    def Constant(self):  # noqa: N802 (Theano's name)
        return CDataTypeConstant

    def filter(self, data, strict=False, allow_downcast=None):
        if data is not None and type(data).__name__ != "PyCapsule":
            raise UsageError(f"CDataType holds a PyCapsule or None, not {type(data).__name__}")
        return data

    def make_value(self, ptr):
        """A capsule around an address; nothing frees what it points to."""
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
        return make(ptr, None, None)

    c_headers = lambda self: list(self.headers)  # noqa: E731
    c_header_dirs = lambda self: list(self.header_dirs)  # noqa: E731
    c_libraries = lambda self: list(self.libraries)  # noqa: E731
    c_lib_dirs = lambda self: list(self.lib_dirs)  # noqa: E731
    c_compile_args = lambda self: list(self.compile_args)  # noqa: E731

    def c_support_code(self):
        return [
            self.extra_support_code,
            "static void ck_capsule_free(PyObject *capsule) {\n"
            "    void (*release)(void *) = (void (*)(void *))PyCapsule_GetContext(capsule);\n"
            "    void *held = PyCapsule_GetPointer(capsule, NULL);\n"
            "    if (release && held) release(held);\n}\n",
        ]

    def c_declare(self, name, sub, check_input=True):
        return f"{self.ctype} {name};"

    def c_init(self, name, sub):
        return f"{name} = NULL;"

    def c_extract(self, name, sub, check_input=True):
        return (
            f"{name} = ({self.ctype})PyCapsule_GetPointer(py_{name}, NULL);\n"
            f"if (!{name}) {{ {sub['fail']} }}"
        )

    def c_sync(self, name, sub):
        free = f"(void *){self.freefunc}" if self.freefunc else "NULL"
        return (
            f"Py_XDECREF(py_{name});\n"
            f"if ({name}) py_{name} = PyCapsule_New((void *){name}, NULL, ck_capsule_free);\n"
            f"else {{ py_{name} = Py_None; Py_INCREF(py_{name}); }}\n"
            f"if (!py_{name}) {{ {sub['fail']} }}\n"
            f"if ({name}) PyCapsule_SetContext(py_{name}, {free});"
        )

    def c_cleanup(self, name, sub):
        return ""

    def c_code_cache_version(self):
        return (3, self.version)

    def __str__(self):
        return f"CDataType{{{self.ctype}}}"


class CDataTypeConstant(Constant):
    """A constant pointer."""

    def merge_signature(self):
        return id(self.data)

    def signature(self):
        return self.type, id(self.data)


__getattr__ = _absent_of("theano.gof.type")
