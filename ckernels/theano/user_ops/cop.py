"""COp: an op whose C stands in files of its own, in sections; and OpenMPOp.

`#section support_code` and its kin say which c_ method a part of a file belongs to. Parts that
depend on the node see macros: APPLY_SPECIFIC(name), DTYPE_INPUT_0, ..., FAIL, PARAMS.
"""

import hashlib
import inspect
import os
import re

import numpy as np

from ...base.errors import ArgumentError
from ..base.config import config
from ..base.names import absent_of as _absent_of
from ..base.utils import MethodNotDefined
from ..classes.op import Op

SECTIONS = (
    "init_code", "init_code_apply", "init_code_struct", "support_code", "support_code_apply",
    "support_code_struct", "cleanup_code_struct", "code", "code_cleanup",
)  # fmt: skip
MARK = re.compile(r"^#section ([A-Za-z0-9_]+)[ \t]*$", re.MULTILINE)
OLD = {"THEANO_SUPPORT_CODE_SECTION": "support_code",
       "THEANO_APPLY_CODE_SECTION": "support_code_apply"}  # fmt: skip


class COp(Op):
    """An op in C files with sections.

    func_files: a path or several, from the directory of the class; func_name: the function that
    computes, `int f(inputs..., outputs *..., params)`, which returns 0, or sets an exception.
    """

    section_re = MARK

    @classmethod
    def get_path(cls, f):
        """`f` as a path, from the directory of the class's file where it is not absolute."""
        if os.path.isabs(f):
            return f
        try:
            folder = os.path.dirname(os.path.abspath(inspect.getfile(cls)))
        except (OSError, TypeError):  # a class of the interactive interpreter
            folder = os.getcwd()
        return os.path.realpath(os.path.join(folder, f))

    def __init__(self, func_files, func_name=None):
        files = func_files if isinstance(func_files, (list, tuple)) else [func_files]
        self.func_name, self.func_codes = func_name, []
        self.func_files = [self.get_path(f) for f in files]
        self.code_sections = {}
        for path in self.func_files:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.func_codes.append(text)
            self._split(path, text)
        if func_name is not None:
            if {"op_code", "code"} & set(self.code_sections):
                raise ArgumentError("a func_name and a section `code` are two ways to compute")
            if {"op_code_cleanup", "code_cleanup"} & set(self.code_sections):
                raise ArgumentError("a func_name and a section `code_cleanup` do not go together")

    def _split(self, path, text):
        """Note the sections of a file, each with the line it begins at."""
        old = re.compile("|".join(rf"^.*{word}.*$" for word in OLD), re.MULTILINE)
        mark = MARK
        if not MARK.search(text) and old.search(text):
            mark = old
        pieces = list(mark.finditer(text))
        if (
            not pieces
            or text[: pieces[0].start()].strip()
            and mark is MARK
            and not _comment(text[: pieces[0].start()])
        ):
            raise ArgumentError(f"{path} holds C before its first #section")
        for k, found in enumerate(pieces):
            name = found[1] if mark is MARK else next(v for w, v in OLD.items() if w in found[0])
            if name not in SECTIONS and name not in self.extra_sections:
                raise ArgumentError(
                    f"{path}:{text.count(chr(10), 0, found.start()) + 1}: there is no section "
                    f"{name!r}; there are {', '.join(SECTIONS)}"
                )
            end = pieces[k + 1].start() if k + 1 < len(pieces) else len(text)
            line = text.count("\n", 0, found.end()) + 1
            body = f'#line {line} "{path}"\n{text[found.end() : end]}\n#line 1 "around"\n'
            self.code_sections[name] = self.code_sections.get(name, "") + body

    extra_sections = ()

    def c_code_cache_version(self):
        return (hashlib.sha256("\0".join(self.func_codes).encode()).hexdigest(),)

    def _section(self, name):
        if name not in self.code_sections:
            raise MethodNotDefined(f"c_{name}", type(self), type(self).__name__)
        return self.code_sections[name]

    def c_init_code(self):
        return [self._section("init_code")]

    def c_support_code(self):
        return self._section("support_code")

    def c_init_code_apply(self, node, name):
        return self._with_macros("init_code_apply", node, name)

    def c_support_code_apply(self, node, name):
        return self._with_macros("support_code_apply", node, name)

    def c_support_code_struct(self, node, name):
        return self._with_macros("support_code_struct", node, name)

    def c_cleanup_code_struct(self, node, name):
        return self._with_macros("cleanup_code_struct", node, name)

    def c_init_code_struct(self, node, name, sub):
        return self._with_macros("init_code_struct", node, name, self.get_sub_macros(sub))

    def c_code_cleanup(self, node, name, inputs, outputs, sub):
        macros = self.get_sub_macros(sub), self.get_io_macros(inputs, outputs)
        return self._with_macros("code_cleanup", node, name, *macros)

    def c_code(self, node, name, inp, out, sub):
        """A call of the function, or the section `code`."""
        macros = self.get_sub_macros(sub), self.get_io_macros(inp, out)
        if self.func_name is None:
            return self._with_macros("code", node, name, *macros)
        args = self.format_c_function_args(inp, out)
        if "params" in sub:
            args += f", {sub['params']}"
        call = f"{{\nif ({self.func_name}({args}) != 0) {{\n{sub['fail']}\n}}\n}}"
        return _around(call, self.get_c_macros(node, name), self.get_sub_macros(sub))

    def format_c_function_args(self, inp, out):
        """The arguments of the function; NULL for those of _cop_num_inputs that are not there."""
        given = [*inp, *["NULL"] * (getattr(self, "_cop_num_inputs", len(inp)) - len(inp))]
        made = [f"&{o}" for o in out]
        made += ["NULL"] * (getattr(self, "_cop_num_outputs", len(out)) - len(out))
        return ", ".join([*given, *made])

    # ---- macros ---------------------------------------------------------------------------------

    def _with_macros(self, section, node, name, *macros):
        return _around(self._section(section), self.get_c_macros(node, name), *macros)

    def get_c_macros(self, node, name, check_input=None):
        """(#define lines, #undef lines) of what depends on the node."""
        found = {"APPLY_SPECIFIC(str)": f"str##_{name}"}
        check = getattr(self, "check_input", True) if check_input is None else check_input
        for word, variables in (("INPUT", node.inputs), ("OUTPUT", node.outputs)):
            for k, v in enumerate(variables if check else ()):
                if not hasattr(v, "dtype"):
                    continue
                found[f"DTYPE_{word}_{k}"] = f"npy_{v.dtype}"
                found[f"TYPENUM_{word}_{k}"] = str(np.dtype(v.dtype).num)
                found[f"ITEMSIZE_{word}_{k}"] = str(np.dtype(v.dtype).itemsize)
        kind = getattr(self, "params_type", None)
        if kind is not None:
            struct = getattr(kind, "name", None) if hasattr(kind, "fields") else None
            found["PARAMS_TYPE"] = f"struct {struct}" if struct else _ctype(kind)
            for field, one in zip(getattr(kind, "fields", ()), getattr(kind, "types", ())):
                if hasattr(one, "c_element_type") and hasattr(one, "dtype"):
                    found[f"DTYPE_PARAM_{field}"] = one.c_element_type()
        return _macros(found)

    def get_sub_macros(self, sub):
        """FAIL and PARAMS."""
        found = {"FAIL": " ".join(sub["fail"].split("\n"))}
        if "params" in sub:
            found["PARAMS"] = sub["params"]
        return _macros(found)

    def get_io_macros(self, inputs, outputs):
        """INPUT_0, ..., OUTPUT_0, ...: the names of the variables."""
        found = {f"INPUT_{k}": name for k, name in enumerate(inputs)}
        return _macros({**found, **{f"OUTPUT_{k}": name for k, name in enumerate(outputs)}})


def _comment(text):
    """Whether a text is comments alone."""
    return not re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL).strip()


def _ctype(kind):
    """The C type of a params_type that is one value."""
    return getattr(kind, "ctype", None) or (
        f"npy_{kind.dtype}"
        if hasattr(kind, "dtype") and not hasattr(kind, "static")
        else "PyObject"
    )


def _macros(found):
    return (
        "".join(f"#define {name} {text}\n" for name, text in found.items()),
        "".join(f"#undef {name.partition('(')[0]}\n" for name in found),
    )


def _around(text, *macros):
    return "".join(d for d, _ in macros) + text + "\n" + "".join(u for _, u in macros)


class OpenMPOp(Op):
    """An op whose C may use OpenMP; the flag openmp, or openmp=, says whether it does."""

    def __init__(self, openmp=None):
        self.openmp = config._get("openmp") if openmp is None else openmp

    def c_compile_args(self):
        return ["-fopenmp"] if self.openmp else []

    def c_headers(self):
        return ["omp.h"] if self.openmp else []

    def update_self_openmp(self):
        """Whether OpenMP is used; Theano asked the compiler first."""
        self.openmp = bool(self.openmp)


__getattr__ = _absent_of("theano.gof.cop")
