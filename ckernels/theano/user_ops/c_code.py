"""The C of an op: the translation unit around `c_code`, and the thunk that calls it.

What users write for Theano is C++ over Python's and NumPy's C API: variables are `PyArrayObject *`,
an error is a Python exception and %(fail)s. So it gets just that: a shared object with the headers
of both, called with the GIL held; the engine's plan waits for it as for any Python op. A body over
plain pointers, without the GIL and inside loops, is K.c_op.
"""

import ctypes
import functools
import inspect
import os
import re
import sys
import sysconfig

import numpy as np

from ...base.errors import CompileError, CompilerMissing, OwnCodeError
from ...compiler.foreign import Foreign, offer, provide
from ..base.config import config
from ..classes.op import Op
from .clinker import asked, listed

HEAD = """\
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <math.h>
#include <string.h>
#ifndef PyInt_Check /* names of Python 2 that bodies still use */
#define PyInt_Check PyLong_Check
#define PyInt_AsLong PyLong_AsLong
#define PyInt_AS_LONG PyLong_AsLong
#define PyInt_FromLong PyLong_FromLong
#define PyNumber_Int PyNumber_Long
#define PyString_Check PyUnicode_Check
#define PyString_FromString PyUnicode_FromString
#define PyString_AsString PyUnicode_AsUTF8
#endif
"""
TAIL = """\
extern "C" int ck_module(void) {{
    if (_import_array() < 0) return -1;
    {init}
    return 0;
}}
extern "C" void *ck_new(PyObject *params) {{
    ck_node *made = new ck_node();
    if (made->init(params)) {{ delete made; return NULL; }}
    return made;
}}
extern "C" int ck_run(void *node, PyObject *cells) {{ return ((ck_node *)node)->run(cells); }}
extern "C" void ck_free(void *node) {{ ((ck_node *)node)->cleanup(); delete (ck_node *)node; }}
"""
OFFERED = {name: f"ck_{name}" for name in ("module", "new", "run", "free")}
NAME = "node_0"  # what is appended to the names of an apply: each has a unit of its own
UNSAID = (
    "if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "
    '"the C code of an op failed without saying why");'
)


class NoC(Exception):
    """An op cannot run in C here: a type without C, or no compiler."""


def has_c(op):
    """Whether an op has C code of its own."""
    return type(op).c_code is not Op.c_code or "c_code" in op.__dict__


# ---- the text --------------------------------------------------------------------------------


def _piece(text, label):
    """A user's text, whose lines compilers count from 1 under `label`."""
    if not text.strip():
        return ""
    return f'#line 1 "{label}"\n{text}\n#line 1 "around"\n'


def _checked(method, check):
    """A method of a type that older types write without `check_input`."""
    if "check_input" in inspect.signature(method).parameters:
        return functools.partial(method, check_input=check)
    return method


class Written:
    """The C++ of the unit of one Apply."""

    def __init__(self, node):
        self.node, self.op = node, node.op
        self.title = type(node.op).__name__
        self.inputs = [f"V{2 * k + 1}" for k in range(len(node.inputs))]
        self.outputs = [f"V{2 * (k + len(node.inputs)) + 1}" for k in range(len(node.outputs))]
        self.params = getattr(node.op, "params_type", None)
        self.check = bool(getattr(node.op, "check_input", True))
        variables = list(zip(self.inputs + self.outputs, (*node.inputs, *node.outputs)))
        self.variables = [(name, v.type) for name, v in variables]
        kinds = {id(t): t for _, t in self.variables}
        if self.params is not None:
            kinds[id(self.params)] = self.params
        self.sources, self.texts = [*kinds.values(), self.op], {}
        for kind in kinds.values():
            if asked(kind, "c_declare", "x", {"fail": ""}) is None:
                raise NoC(f"the type {kind} has no C")

    def asked(self, name, *args):
        """The text the op gives for method `name`, as lines under that name."""
        found = self.texts[name] = asked(self.op, name, *args) or ""
        return _piece(found, f"{self.title}.{name}") if found else ""

    def sub(self, label):
        """What bodies get as `sub` where failing means to go to `label`."""
        found = {"fail": f"{{ {UNSAID} __failure = 1; goto {label}; }}"}
        if self.params is not None:
            found["params"] = "ck_params"
        return found

    def text(self):
        parts = [HEAD]
        for name in dict.fromkeys(h for s in self.sources for h in listed(s, "c_headers")):
            quoted = name if name[:1] in '<"' else f'"{name}"' if name[:1] == "/" else f"<{name}>"
            parts.append(f"#include {quoted}\n" if "numpy/arrayobject" not in name else "")
        for source in self.sources:
            for text in listed(source, "c_support_code"):
                self.texts["c_support_code"] = text
                parts.append(_piece(text, f"{type(source).__name__}.c_support_code"))
        parts.append(self.asked("c_support_code_apply", self.node, NAME))
        parts.append(self.struct())
        init = [t for s in self.sources for t in listed(s, "c_init_code")]
        found = asked(self.op, "c_init_code_apply", self.node, NAME)
        init = "\n    ".join([*init, *([found] if found else [])])
        return "".join(dict.fromkeys(parts)) + TAIL.format(init=init) + offer(OFFERED)

    def struct(self):
        """The struct of a node: its params, its own members, init, run and cleanup."""
        fail = {"fail": f"{{ {UNSAID} return -1; }}"}
        declared = extracted = cleaned = ""
        if self.params is not None:
            declared = "PyObject *py_ck_params;\n" + self.params.c_declare("ck_params", fail)
            extracted = self.params.c_extract("ck_params", fail)
            cleaned = self.params.c_cleanup("ck_params", fail) + "\nPy_XDECREF(py_ck_params);"
            fail["params"] = "ck_params"
        return f"""
namespace {{
struct ck_node {{
{declared}
{self.asked("c_support_code_struct", self.node, NAME)}
int init(PyObject *py_given) {{
    {"py_ck_params = py_given; Py_XINCREF(py_given);" if self.params is not None else ""}
    {{ {extracted} }}
    {{
{self.asked("c_init_code_struct", self.node, NAME, fail)}
    }}
    (void)py_given;
    return 0;
}}
void cleanup(void) {{
{self.asked("c_cleanup_code_struct", self.node, NAME)}
{cleaned}
}}
int run(PyObject *cells) {{
int __failure = 0;
{self.nested(0)}
return __failure ? -1 : 0;
}}
}};
}}
"""

    def nested(self, k):
        """The block of variable `k`, around those of the ones behind it and the body."""
        if k == len(self.variables):
            return self.body()
        name, kind = self.variables[k]
        sub, out = self.sub(f"__label_{k}"), k >= len(self.inputs)
        read = kind.c_extract_out if out else kind.c_extract
        read, declare = _checked(read, self.check), _checked(kind.c_declare, self.check)
        sync = f"if (!__failure) {{\n{kind.c_sync(name, sub)}\n}}" if out else ""
        back = f"PyList_SetItem(cells, {k}, py_{name});" if out else f"Py_XDECREF(py_{name});"
        return f"""{{
PyObject *py_{name} = PyList_GET_ITEM(cells, {k});
Py_INCREF(py_{name});
{{
{declare(name, sub)}
{{
{read(name, sub)}
}}
{self.nested(k + 1)}
{{
{sync}
}}
__label_{k}:;
{{
{kind.c_cleanup(name, sub)}
}}
}}
{back}
}}"""

    def body(self):
        """`c_code` and its cleanup."""
        sub = self.sub("__label_code")
        args = (self.node, NAME, self.inputs, self.outputs, sub)
        return (
            f"{{\n{{\n{self.asked('c_code', *args)}\n}}\n__label_code:;\n"
            f"{{\n{self.asked('c_code_cleanup', *args)}\n}}\n}}"
        )

    def source(self):
        """The Foreign source to compile."""
        folders = [sysconfig.get_paths()["include"], np.get_include()]
        if not os.path.exists(os.path.join(folders[0], "Python.h")):
            raise NoC(
                f"there are no headers of Python ({folders[0]}/Python.h): install python3-dev"
            )
        gathered = {
            name: list(dict.fromkeys(x for s in self.sources for x in listed(s, name)))
            for name in ("c_header_dirs", "c_lib_dirs", "c_libraries", "c_compile_args",
                         "c_no_compile_args")
        }  # fmt: skip
        folders += gathered["c_header_dirs"]
        libraries = [f"-L{d}" for d in gathered["c_lib_dirs"]]
        libraries += [f"-Wl,-rpath,{d}" for d in gathered["c_lib_dirs"]]
        libraries += [f"-l{name}" for name in gathered["c_libraries"]]
        named = config._get("cxx")
        return Foreign(
            self.title,
            self.text(),
            (*(f"-I{d}" for d in folders), *gathered["c_compile_args"]),
            tuple(libraries),
            tuple(gathered["c_no_compile_args"]),
            f"{sys.version} {np.__version__}",
            "" if named == "g++" else named,
        )


# ---- the thunk -------------------------------------------------------------------------------


class Thunk:
    """The compiled code of one Apply: call it with arrays and the list of cells of outputs."""

    def __init__(self, node):
        if not config._get("cxx"):
            raise NoC("the flag cxx is empty: there is no compiler")
        self.node, written = node, Written(node)
        try:
            found = provide(written.source())
        except CompilerMissing as problem:
            raise NoC(str(problem)) from problem
        except CompileError as problem:
            raise OwnCodeError(complaint(written, str(problem)), problem.source) from None
        kind = ctypes.PYFUNCTYPE
        if kind(ctypes.c_int)(found["module"])():
            raise ImportError("the NumPy C API cannot be used here")
        self.call = kind(ctypes.c_int, ctypes.c_void_p, ctypes.py_object)(found["run"])
        self.free = kind(None, ctypes.c_void_p)(found["free"])
        params = None
        if written.params is not None:
            params = written.params.filter(node.op.get_params(node))
        make = kind(ctypes.c_void_p, ctypes.py_object)(found["new"])
        self.handle = make(params)
        if not self.handle:
            raise RuntimeError(f"the struct of {node.op} could not be made")

    def __call__(self, inputs, storage):
        cells = [*inputs, *(None for _ in storage)]
        self.call(self.handle, cells)
        for k, cell in enumerate(storage):
            cell[0] = cells[len(inputs) + k]

    def __del__(self):
        if getattr(self, "handle", None):
            self.free(self.handle)


# ---- what the compiler says ------------------------------------------------------------------


def complaint(written, text):
    """The sentence for what the compiler said about the C of an op: the user's file and line."""
    said = text.splitlines()[0].partition(f"failed on {written.title}: ")[2]
    found = re.match(r"([\w.]+\.c_\w+):(\d+):(?:\d+:)? *(.*)", said)
    if found is None:
        file = re.match(r"(/.+?):(\d+):(?:\d+:)? *(.*)", said)
        if file and os.path.exists(file[1]):
            return (
                f"the C of {written.title} does not compile: {file[3]}{_shown(file[1], file[2])}"
                f"\n  at {file[1]}:{file[2]}"
            )
        return f"the C of {written.title} does not compile: {said or text}"
    method, line = found[1].rpartition(".")[2], int(found[2])
    where, shown = _place(written, method, line)
    return (
        f"the text of {found[1]} does not compile, its line {line}: {found[3]}"
        + (f"\n    {shown.strip()}" if shown else "")
        + (f"\n  at {where}" if where else "")
    )


def _shown(path, line):
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().split("\n")
    k = int(line) - 1
    return f"\n    {lines[k].strip()}" if 0 <= k < len(lines) else ""


def _place(written, method, line):
    """("file:line", the line as text) of the user's source that wrote a line of C."""
    lines = written.texts.get(method, "").split("\n")
    shown = lines[line - 1] if 0 < line <= len(lines) else ""
    function = getattr(type(written.op), method, None)
    try:
        path = inspect.getsourcefile(function)
        rows, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return "", shown
    matches = [k for k, row in enumerate(rows) if shown.strip() and _writes(row, shown)]
    return f"{path}:{first + (matches[0] if len(matches) == 1 else 0)}", shown


def _writes(row, written):
    """Whether a line of Python with holes such as %(x)s may have written this line of C."""
    parts = re.split(r"%\(\w+\)[a-z]|\{[\w.!]+\}|%[sdi]", row.strip().replace("%%", "%"))
    if not "".join(parts).strip():
        return False
    return re.fullmatch(".*".join(map(re.escape, parts)), written.strip()) is not None
