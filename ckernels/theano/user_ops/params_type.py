"""ParamsType: several parameters of an op as one object, in Python and as a struct of C."""

import hashlib
import re

import numpy as np

from ...base.errors import ArgumentError, CKernelsError, NotSupported, UsageError
from ..base.names import absent_of as _absent_of
from ..base.utils import MethodNotDefined
from ..graph.type import Type
from .clinker import listed

C_WORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const "
    "const_cast constexpr continue decltype default delete do double dynamic_cast else enum "
    "explicit export extern false float for friend goto if inline int long mutable namespace new "
    "noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast return short signed sizeof static static_assert static_cast struct switch "
    "template this thread_local throw true try typedef typeid typename union unsigned using "
    "virtual void volatile wchar_t while xor xor_eq".split()
)


class Params(dict):
    """The values of a ParamsType, as attributes."""

    def __init__(self, params_type, **values):
        if not isinstance(params_type, ParamsType):
            raise UsageError(f"Params need a ParamsType, not {params_type!r}")
        for field in params_type.fields:
            if field not in values:
                raise UsageError(f"the parameter {field!r} has no value: {sorted(values)} have")
        dict.__init__(self, values)
        self.__dict__["__params_type__"] = params_type

    def __repr__(self):
        shown = ", ".join(f"{k}:{type(self[k]).__name__}:{self[k]}" for k in sorted(self))
        return f"Params({shown})"

    def __getattr__(self, name):
        if name not in self:
            raise AttributeError(f"there is no parameter {name!r}")
        return self[name]

    def _fixed(self, *args):
        raise NotSupported("the values of Params stay as they are")

    __setattr__ = __setitem__ = __delattr__ = __delitem__ = _fixed

    def _signature(self):
        kinds = self.__params_type__
        return tuple(
            _signature(kind, self[field]) for field, kind in zip(kinds.fields, kinds.types)
        )

    def __hash__(self):
        return hash((self.__params_type__, self._signature()))

    def __eq__(self, other):
        return (
            type(self) is type(other)
            and self.__params_type__ == other.__params_type__
            and all(
                kind.values_eq(self[field], other[field])
                for field, kind in zip(self.__params_type__.fields, self.__params_type__.types)
            )
        )

    def __ne__(self, other):
        return not self == other


def _signature(kind, data):
    """What equal values of a type have in common, hashable."""
    if isinstance(data, np.ndarray):
        return kind, data.dtype.name, data.shape, data.tobytes()
    try:
        hash(data)
    except TypeError:
        return kind, type(data).__name__
    return kind, data


class ParamsType(Type):
    """Types by name: `op.params_type = ParamsType(a=dmatrix, b=Scalar("float64"))`.

    An op with attributes a and b has its values from there; in C they are params->a, params->b. The
    constants of enumerations among the types are attributes of the ParamsType.
    """

    def __init__(self, **types):
        if not types:
            raise ArgumentError("a ParamsType needs at least one parameter")
        for name, kind in types.items():
            if not re.fullmatch(r"[A-Za-z_]\w*", name) or name in C_WORDS:
                raise AttributeError(f"{name!r} cannot name a field of a struct in C")
            if not isinstance(kind, Type):
                raise UsageError(f"the parameter {name!r} needs a type, not {kind!r}")
        self.length = len(types)
        self.fields = tuple(sorted(types))
        self.types = tuple(types[f] for f in self.fields)
        self._constants, self._aliases = {}, {}
        for kind in self.types:
            for name, value in kind if hasattr(kind, "is_enum") else ():
                if name in self._constants:
                    raise AttributeError(f"two enumerations have the constant {name}")
                if name in types:
                    raise AttributeError(f"a field and a constant are called {name}")
                self._constants[name] = value
            for alias in kind.get_aliases() if hasattr(kind, "is_enum") else ():
                if alias in self._aliases:
                    raise AttributeError(f"two enumerations have the alias {alias!r}")
                if alias in self._constants and self._constants[alias] != kind.fromalias(alias):
                    raise AttributeError(f"{alias!r} is an alias and a constant")
                self._aliases[alias] = kind.fromalias(alias)
        text = repr([(f, type(t).__name__, str(t)) for f, t in zip(self.fields, self.types)])
        digest = hashlib.sha256(text.encode()).hexdigest()[:20]
        self.name = f"_Params_{digest}_{self.length}"

    def __getattr__(self, name):
        constants = self.__dict__.get("_constants", {})
        if name in constants:
            return constants[name]
        raise AttributeError(f"ParamsType has no constant {name!r}")

    def __repr__(self):
        shown = ", ".join(f"{f}:{t}" for f, t in zip(self.fields, self.types))
        return f"ParamsType<{shown}>"

    __str__ = __repr__

    def __eq__(self, other):
        return (
            type(self) is type(other) and self.fields == other.fields and self.types == other.types
        )

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((type(self), self.fields, self.types))

    def has_type(self, theano_type):
        """Whether a parameter is of this type."""
        return theano_type in self.types

    def get_type(self, field_name):
        """The type of a parameter."""
        return self.types[self.fields.index(field_name)]

    def get_field(self, theano_type):
        """The name of the first parameter of this type, by the alphabet."""
        return self.fields[self.types.index(theano_type)]

    def get_enum(self, key):
        """The value of a constant of the enumerations."""
        if key not in self._constants:
            raise CKernelsError(f"no enumeration of this ParamsType has the constant {key!r}")
        return self._constants[key]

    def enum_from_alias(self, alias):
        """The value of the constant with this alias, or else of this name."""
        return self._aliases[alias] if alias in self._aliases else self.get_enum(alias)

    def extended(self, **types):
        """A ParamsType with these parameters too."""
        return type(self)(**{**dict(zip(self.fields, self.types)), **types})

    def get_params(self, *objects, node=None, **values):
        """The Params made of attributes of objects and of values: later ones win."""
        found = {}
        for one in objects:
            for field in self.fields:
                try:
                    found[field] = getattr(one, field)
                except AttributeError:
                    pass
        found.update((k, v) for k, v in values.items() if k in self.fields)
        return self.filter(Params(self, **found), strict=False, allow_downcast=True)

    # ---- values ---------------------------------------------------------------------------------

    def filter(self, data, strict=False, allow_downcast=None):
        """`data`, Params with each value of its type."""
        if strict and not isinstance(data, Params):
            raise UsageError(f"Params are needed, not {type(data).__name__}")
        held = {}
        for field, kind in zip(self.fields, self.types):
            try:
                given = getattr(data, field) if isinstance(data, Params) else data[field]
            except (KeyError, TypeError, AttributeError):
                given = getattr(data, field)
            held[field] = kind.filter(given, strict, allow_downcast)
        return data if strict else Params(self, **held)

    def values_eq(self, a, b):
        return all(t.values_eq(a[f], b[f]) for f, t in zip(self.fields, self.types))

    def values_eq_approx(self, a, b):
        return all(t.values_eq_approx(a[f], b[f]) for f, t in zip(self.fields, self.types))

    # ---- C --------------------------------------------------------------------------------------

    def _gathered(self, name):
        return list(dict.fromkeys(x for t in self.types for x in listed(t, name)))

    c_headers = lambda self: self._gathered("c_headers")  # noqa: E731
    c_header_dirs = lambda self: self._gathered("c_header_dirs")  # noqa: E731
    c_libraries = lambda self: self._gathered("c_libraries")  # noqa: E731
    c_lib_dirs = lambda self: self._gathered("c_lib_dirs")  # noqa: E731
    c_compile_args = lambda self: self._gathered("c_compile_args")  # noqa: E731
    c_no_compile_args = lambda self: self._gathered("c_no_compile_args")  # noqa: E731
    c_init_code = lambda self: self._gathered("c_init_code")  # noqa: E731

    def c_support_code(self):
        sub = {
            "fail": '{ if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a parameter of '
            'an op could not be read"); return -1; }'
        }
        declared = "\n".join(t.c_declare(f, sub) for f, t in zip(self.fields, self.types))
        readers = "\n".join(
            f"int read_{f}(PyObject *py_{f}) {{\n{t.c_extract(f, sub)}\nreturn 0;\n}}"
            for f, t in zip(self.fields, self.types)
        )
        reads = "\n".join(
            f'held = PyObject_GetAttrString(from, "{f}");\n'
            f"if (!held || read_{f}(held)) {{ Py_XDECREF(held); return -1; }}\nPy_DECREF(held);"
            for f in self.fields
        )
        cleanups = "\n".join(t.c_cleanup(f, sub) for f, t in zip(self.fields, self.types))
        struct = f"""
#ifndef CK_{self.name}
#define CK_{self.name}
struct {self.name} {{
{declared}
{readers}
int read(PyObject *from) {{
PyObject *held;
{reads}
return 0;
}}
void clean(void) {{
{cleanups}
}}
}};
#endif
"""
        return [*self._gathered("c_support_code"), struct]

    def c_declare(self, name, sub, check_input=True):
        return f"struct {self.name} {name}_held; struct {self.name} *{name};"

    def c_init(self, name, sub):
        return f"{name} = NULL;"

    def c_extract(self, name, sub, check_input=True):
        return (
            f"memset((void *)&{name}_held, 0, sizeof {name}_held);\n{name} = &{name}_held;\n"
            f"if ({name}->read(py_{name})) {{ {name} = NULL; {sub['fail']} }}"
        )

    def c_sync(self, name, sub):
        raise MethodNotDefined("c_sync")

    def c_cleanup(self, name, sub):
        return f"if ({name}) {name}->clean();"

    def c_code_cache_version(self):
        return (1, self.fields)


__getattr__ = _absent_of("theano.gof.params_type")
