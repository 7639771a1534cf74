"""What ops and types may say of their C, and the C of tensors, numbers and Python objects.

A type writes how a C variable is declared, read from a Python object, turned into one again and let
go. c_code.py puts these together with the code of an op.
"""

from ...base.errors import NotSupported
from ..base import utils


class CLinkerObject:
    """The methods by which an op or a type asks for headers, libraries, flags, helpers.

    A method that is not defined raises MethodNotDefined, which means: nothing.
    """

    def _not_defined(self, name):
        raise utils.MethodNotDefined(name, type(self), type(self).__name__)

    def c_headers(self):
        """Headers to include: '<math.h>' or 'mine.h'."""
        self._not_defined("c_headers")

    def c_header_dirs(self):
        """Directories to look for them in."""
        self._not_defined("c_header_dirs")

    def c_libraries(self):
        """Libraries to link with, without 'lib' and ending."""
        self._not_defined("c_libraries")

    def c_lib_dirs(self):
        """Directories to look for them in."""
        self._not_defined("c_lib_dirs")

    def c_support_code(self):
        """C++ at file level: functions and structs, text or a list of texts."""
        self._not_defined("c_support_code")

    def c_compile_args(self):
        """Flags for the compiler."""
        self._not_defined("c_compile_args")

    def c_no_compile_args(self):
        """Flags that the compiler must not get."""
        self._not_defined("c_no_compile_args")

    def c_init_code(self):
        """Statements to run once, when the code is loaded: a list of texts."""
        self._not_defined("c_init_code")

    def c_code_cache_version(self):
        """A version of the C. The whole text is part of its name in the compiledir here, so that
        code that changed is never taken for old code, whatever this says."""
        return ()


class CLinkerOp(CLinkerObject):
    """The C side of an op: `c_code`, and what may go with it."""

    def c_code(self, node, name, inputs, outputs, sub):
        """Statements that set the variables called `outputs` from those called `inputs`."""
        self._not_defined("c_code")

    def c_code_cleanup(self, node, name, inputs, outputs, sub):
        """Statements to run after c_code, also after a failure."""
        self._not_defined("c_code_cleanup")

    def c_support_code_apply(self, node, name):
        """C++ at file level that depends on the node."""
        self._not_defined("c_support_code_apply")

    def c_init_code_apply(self, node, name):
        """Statements to run once when the code is loaded, that depend on the node."""
        self._not_defined("c_init_code_apply")

    def c_support_code_struct(self, node, name):
        """Members of the struct that is made once for a node."""
        self._not_defined("c_support_code_struct")

    def c_init_code_struct(self, node, name, sub):
        """Statements that fill in that struct."""
        self._not_defined("c_init_code_struct")

    def c_cleanup_code_struct(self, node, name):
        """Statements for when the struct goes."""
        self._not_defined("c_cleanup_code_struct")

    def c_code_cache_version_apply(self, node):
        return self.c_code_cache_version()


class CLinkerType(CLinkerObject):
    """The C side of a type."""

    ctype = None

    def c_element_type(self):
        """The C type of an element, for types of several."""
        self._not_defined("c_element_type")

    def c_is_simple(self):
        return False

    def c_literal(self, data):
        """`data` as an expression of C."""
        self._not_defined("c_literal")

    def c_declare(self, name, sub, check_input=True):
        """The declaration of the variable `name`."""
        self._not_defined("c_declare")

    def c_init(self, name, sub):
        """Statements that give the variable a value when there is none to read."""
        self._not_defined("c_init")

    def c_extract(self, name, sub, check_input=True):
        """Statements that read the variable from the Python object `py_<name>`."""
        self._not_defined("c_extract")

    def c_extract_out(self, name, sub, check_input=True):
        """`c_extract` for an output, whose object may be None."""
        return (
            f"if (py_{name} == Py_None) {{\n{self.c_init(name, sub)}\n}} else {{\n"
            f"{self.c_extract(name, sub, check_input)}\n}}"
        )

    def c_sync(self, name, sub):
        """Statements that make `py_<name>` the value of the variable."""
        self._not_defined("c_sync")

    def c_cleanup(self, name, sub):
        """Statements that let go of what the variable holds."""
        self._not_defined("c_cleanup")


class CPointer:
    """The C of types whose variables are a Python object: `TYPE *name` with a reference held."""

    c_object = "PyObject"

    def c_declare(self, name, sub, check_input=True):
        return f"{self.c_object} *{name};"

    def c_init(self, name, sub):
        return f"{name} = NULL;"

    def c_extract(self, name, sub, check_input=True):
        return f"{name} = ({self.c_object} *)py_{name};\nPy_XINCREF({name});"

    def c_sync(self, name, sub):
        return (
            f"Py_XDECREF(py_{name});\n"
            f"py_{name} = {name} ? (PyObject *){name} : Py_None;\nPy_INCREF(py_{name});"
        )

    def c_cleanup(self, name, sub):
        return f"Py_XDECREF({name});\n{name} = NULL;"


def _number(dtype):
    """(C type, constant) of NumPy for a dtype."""
    return f"npy_{dtype}", f"NPY_{dtype.upper()}"


class CTensor(CPointer):
    """The C of tensors: `PyArrayObject *name`, and `dtype_name` for the type of an element."""

    c_object = "PyArrayObject"

    def c_element_type(self):
        """The C type of an element."""
        return f"npy_{self.dtype}"

    def c_declare(self, name, sub, check_input=True):
        kept = f"\ntypedef npy_{self.dtype} dtype_{name};" if check_input else ""
        return super().c_declare(name, sub) + kept

    def c_extract(self, name, sub, check_input=True):
        if not check_input:
            return super().c_extract(name, sub)
        ctype, number = _number(self.dtype)
        return f"""\
{name} = NULL;
if (!PyArray_Check(py_{name}) || PyArray_TYPE((PyArrayObject *)py_{name}) != {number}) {{
    PyErr_SetString(PyExc_TypeError, "an array of {self.dtype} is needed");
    {sub["fail"]}
}}
{super().c_extract(name, sub)}"""

    def c_headers(self):
        return []


class CNumber:
    """The C of single numbers: `npy_float64 name`, and `dtype_name` for its type."""

    def c_element_type(self):
        return f"npy_{self.dtype}"

    def c_is_simple(self):
        return True

    def c_literal(self, data):
        if "complex" in self.dtype:
            raise NotSupported("a complex number has no literal in C")
        return f"((npy_{self.dtype}){data!r})" if self.dtype != "bool" else str(int(data))

    def c_declare(self, name, sub, check_input=True):
        kept = f"\ntypedef npy_{self.dtype} dtype_{name};" if check_input else ""
        return f"npy_{self.dtype} {name};{kept}"

    def c_init(self, name, sub):
        return f"memset(&{name}, 0, sizeof {name});"

    def c_extract(self, name, sub, check_input=True):
        ctype, number = _number(self.dtype)
        return f"""\
{{
    PyObject *held_{name} = PyArray_FROM_OT(py_{name}, {number});
    if (!held_{name}) {sub["fail"]}
    memcpy(&{name}, PyArray_DATA((PyArrayObject *)held_{name}), sizeof {name});
    Py_DECREF(held_{name});
}}"""

    def c_sync(self, name, sub):
        ctype, number = _number(self.dtype)
        return f"""\
{{
    PyArray_Descr *kind_{name} = PyArray_DescrFromType({number});
    Py_XDECREF(py_{name});
    py_{name} = PyArray_Scalar(&{name}, kind_{name}, NULL);
    Py_XDECREF(kind_{name});
    if (!py_{name}) {{ py_{name} = Py_None; Py_INCREF(py_{name}); }}
}}"""

    def c_cleanup(self, name, sub):
        return ""


def asked(thing, name, *args):
    """What method `name` gives; None where it is not there or not defined."""
    method = getattr(thing, name, None)
    if method is None:
        return None
    try:
        return method(*args)
    except utils.MethodNotDefined:
        return None


def listed(thing, name, *args):
    """What method `name` gives as a list: one text is a list of one."""
    found = asked(thing, name, *args)
    if found is None:
        return []
    return [found] if isinstance(found, str) else list(found)
