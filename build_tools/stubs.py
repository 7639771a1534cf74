"""What editors and type checkers know of `import ckernels as K`: stubs, written from here.

`python -m build_tools.stubs` reads the signatures of what is public and writes
`ckernels/__init__.pyi`, `ckernels/errors.pyi`, `ckernels/jit/__init__.pyi`,
`ckernels/api/tensor.pyi` and those of the dialects in `ckernels/compat`; the types are in
`stub_types.py`, by the names of parameters and of functions. Stubs, since many functions are made
of ops by one line each, which no checker can follow.
"""

import ast
import importlib
import inspect
import re
import textwrap
from pathlib import Path

import ckernels as K
from build_tools import stub_types as types

PACKAGE = Path(__file__).resolve().parents[1] / "ckernels"
WIDTH = 96
DIALECTS = ("keras1", "keras2")


def typed(name, owner, parameter):
    """The annotation of a parameter; ValueError where the table has none."""
    key = parameter.name
    said_by = name if owner in DIALECTS else owner
    found = types.OF_FUNCTION.get(f"{said_by}.{key}") or types.OF_PARAMETER.get(key)
    if found is None and owner not in DIALECTS:
        raise ValueError(f"build_tools/stub_types.py has no type for {key} of {name}")
    found = found or "Any"
    optional = parameter.default is None and "None" not in found and found != "Any"
    return f"{found} | None" if optional else found


def parameter_text(name, owner, parameter):
    """`axis: int = -1`, as a stub writes it."""
    if parameter.name == "self":
        return "self"
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = f"{stars}{parameter.name}: {typed(name, owner, parameter)}"
    if parameter.default is not parameter.empty:
        value = parameter.default
        text += f' = "{value}"' if isinstance(value, str) else f" = {value!r}"
    return text


def first_sentence(function):
    """The first paragraph of a docstring: what an editor shows beside the signature."""
    text = inspect.cleandoc(function.__doc__ or "").partition("\n\n")[0]
    return " ".join(text.split())


def definition(name, function, owner, result, indent=""):
    """The lines of one function: `def name(...) -> result:` and its first sentence."""
    parameters = inspect.signature(function).parameters.values()
    parts = [parameter_text(name, owner, p) for p in parameters]
    line = f"{indent}def {name}({', '.join(parts)}) -> {result}:"
    if len(line) > WIDTH:
        inner = "".join(f"{indent}    {p},\n" for p in parts)
        line = f"{indent}def {name}(\n{inner}{indent}) -> {result}:"
    said = first_sentence(function).replace("\\", "\\\\")
    wrapped = textwrap.fill(
        f'"""{said}"""', WIDTH, initial_indent=f"{indent}    ", subsequent_indent=f"{indent}    "
    )
    return f"{line}\n{wrapped}\n"


def functions():
    """The text of all public functions, in the order of their names."""
    for name in sorted(K.__all__):
        function = getattr(K, name)
        if name in types.OVERLOADS:
            yield types.OVERLOADS[name].strip("\n") + "\n"
        elif inspect.isfunction(function):
            yield definition(name, function, name, types.RESULT.get(name, "Tensor"))


def classes():
    """`from .api.x import Name as Name` for each public class but those of tensors."""
    for name in sorted(K.__all__):
        value = getattr(K, name)
        if isinstance(value, type) and name not in ("Tensor", "Variable"):
            module = value.__module__.removeprefix("ckernels.")
            yield f"from .{module} import {name} as {name}\n"


def overloads(name, own=""):
    """The two forms of jit: of a function, and as a decorator with options."""
    return types.OVERLOADS_OF_JIT.format(name=name, own=own, said=first_sentence(K.jit.jit))


def transforms(decorator=""):
    """What `ck.jit` has beside itself: functions with annotations of their own."""
    for name in K.jit.__all__:
        function = getattr(K.jit, name)
        if name != "jit":
            signature = re.sub(
                r"\b(collections\.abc|typing)\.", "", f"{inspect.signature(function)}"
            )
            yield f"{decorator}def {name}{signature}:\n"
            yield f'    """{first_sentence(function)}"""\n'


def jit():
    """The text of ckernels/jit/__init__.pyi."""
    return types.JIT.lstrip("\n") + overloads("jit") + "".join(transforms())


def package():
    """The text of ckernels/__init__.pyi."""
    inside = {"overloads": overloads("__call__", "self, "),
              "transforms": "".join(transforms("@staticmethod\n"))}  # fmt: skip
    names = types.NAMES.format(**{k: textwrap.indent(v, "    ") for k, v in inside.items()})
    head = types.HEAD.lstrip("\n") + "".join(classes()) + names
    return head + "\n" + "\n".join(functions())


def dialect(name):
    """The text of ckernels/compat/NAME.pyi: functions of K by their names, others as they are."""
    module = importlib.import_module(f"ckernels.compat.{name}")
    same, own = [], []
    for public in sorted(n for n in dir(module) if n[0] != "_"):
        value = getattr(module, public)
        if value is getattr(K, public, None) and public in K.__all__:
            same.append(f"from .. import {public} as {public}\n")
        elif inspect.isfunction(value):
            result = types.OF_DIALECT.get(public) or types.RESULT.get(public, "Tensor")
            own.append(definition(public, value, name, result))
    head = types.DIALECT.lstrip("\n").format(name=name)
    first, _, rest = head.partition("from ..api")
    return first + "".join(same) + "from ..api" + rest + "\n" + "\n".join(own)


def theano():
    """The text of ckernels/compat/theano.pyi: parameters by their names, of any type."""
    found = [types.THEANO.lstrip("\n")]
    for module, results in types.OF_THEANO.items():
        functions = importlib.import_module(f"ckernels.theano.{module}")
        for name, result in results.items():
            signature = inspect.signature(getattr(functions, name))
            parts = [
                f"{p.name}: Any" + ("" if p.default is p.empty else " = ...")
                for p in signature.parameters.values()
            ]
            inner = "".join(f"    {part},\n" for part in parts)
            found.append(f"def {name}(\n{inner}) -> {result}: ...\n")
    return "\n".join(found)


def methods(cls, of, inherited=()):
    """The text of the methods and properties of a class, in the order of their names."""
    for name in sorted(n for n in dir(cls) if n[0] != "_" and n not in inherited):
        value = inspect.getattr_static(cls, name)
        result = types.RESULT.get(f"{of}.{name}", "Tensor")
        if isinstance(value, property):
            yield f"    @property\n    def {name}(self) -> {result}: ...\n"
            if value.fset:
                yield f"    @{name}.setter\n    def {name}(self, value: {result}) -> None: ...\n"
        else:
            yield definition(name, getattr(cls, name), of, result, "    ")


def tensors():
    """The text of ckernels/api/tensor.pyi."""
    operators = "".join(
        f"    def __{name}__(self, other: TensorLike) -> Tensor: ...\n"
        f"    def __r{name}__(self, other: TensorLike) -> Tensor: ...\n"
        for name in types.OPERATORS
    )
    compared = "".join(
        f"    def __{name}__(self, other: TensorLike) -> Tensor: ...\n" for name in types.COMPARED
    )
    inherited = dir(K.Tensor)
    return types.TENSOR.lstrip("\n").format(
        operators=operators,
        compared=compared,
        methods="\n".join(methods(K.Tensor, "Tensor")),
        of_variables="\n".join(methods(K.Variable, "Variable", inherited)),
    )


def exceptions():
    """The text of ckernels/errors.pyi."""
    names = "".join(f"from .base.errors import {n} as {n}\n" for n in sorted(K.errors.__all__))
    return types.ERRORS.lstrip("\n") + names


def stubs():
    """{path: text} of the files that are written from here."""
    found = {
        PACKAGE / "__init__.pyi": package(),
        PACKAGE / "errors.pyi": exceptions(),
        PACKAGE / "jit" / "__init__.pyi": jit(),
        PACKAGE / "api" / "tensor.pyi": tensors(),
        **{PACKAGE / "compat" / f"{name}.pyi": dialect(name) for name in DIALECTS},
        PACKAGE / "compat" / "theano.pyi": theano(),
    }
    for text in found.values():
        ast.parse(text)
    return found


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text)
