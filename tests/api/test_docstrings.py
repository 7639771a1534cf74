"""Docstrings in NumPy's style: each public function has one that says all of its signature.

A docstring of that style has a row for each parameter, in their order, each with its type and a
sentence, what is returned, and an example.
"""

import inspect
import re

import pytest

import ckernels as K
from build_tools import reference
from ckernels.jit.function import PUBLIC as PUBLIC_OF_JIT
from ckernels.runtime.common import FunctionBase

PUBLIC = {n: getattr(K, n) for n in sorted(K.__all__) if callable(getattr(K, n))}
PUBLIC |= {f"jit.{n}": getattr(K.jit, n) for n in K.jit.__all__}
CLASSES = {"Tensor": K.Tensor, "Function": FunctionBase, "Jitted": type(K.jit(abs))}
METHODS = {
    f"{title}.{name}": inspect.getattr_static(cls, name)
    for title, cls in CLASSES.items()
    for name in (PUBLIC_OF_JIT if title == "Jitted" else dir(cls))
    if name[0] != "_" and inspect.isfunction(inspect.getattr_static(cls, name))
}
ORDER = ["", "Parameters", "Returns", "Raises", "Warns", "Notes", "Examples"]


def parameters(function):
    """Names of the parameters as a docstring writes them: *args, **kwargs."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = inspect.signature(function).parameters.values()
    names = [stars.get(p.kind, "") + p.name for p in found if p.name[0] != "_"]
    return names[1:] if names[:1] == ["self"] else names


def lacks(function):
    """What is not as NumPy's style has it, in words."""
    found = dict(reference.sections(function.__doc__))
    if list(found) != [heading for heading in ORDER if heading in found]:
        yield f"sections in the order {list(found)}"
    if not re.search(r"[.:]$", found[""].partition("\n\n")[0]):
        yield "no sentence at the beginning"
    said = reference.items(found.get("Parameters", ""))
    named = [name for names, _, _ in said for name in names.split(", ")]
    if named != parameters(function):
        yield f"parameters {named} for {parameters(function)}"
    if not inspect.isclass(function) and not reference.items(found.get("Returns", "")):
        yield "nothing about what is returned"
    for heading in ("Parameters", "Returns", "Raises"):
        for names, kind, text in reference.items(found.get(heading, "")):
            if not text or heading == "Parameters" and not kind:
                yield f"no type or no text for {names}"
    if ">>>" not in found.get("Examples", ""):
        yield "no example"


@pytest.mark.parametrize("name", PUBLIC)
def test_a_docstring_says_all_of_its_signature(name):
    assert not list(lacks(PUBLIC[name]))


@pytest.mark.parametrize("name", METHODS)
def test_so_do_those_of_methods(name):
    assert not list(lacks(METHODS[name]))


def good(x, y=0):
    """What it does.

    Parameters
    ----------
    x, y : tensor
        Both.

    Returns
    -------
    Tensor
        Their sum.

    Examples
    --------
    >>> 1
    1
    """


@pytest.mark.parametrize(
    "old, new, missing",
    [
        ("x, y : tensor", "x : tensor", "parameters"),
        ("x, y : tensor", "y, x : tensor", "parameters"),
        ("x, y : tensor", "x, y", "no type"),
        ("    Both.\n", "", "no text"),
        ("    Their sum.\n", "", "no text"),
        ("Returns\n-------", "Raises\n------", "returned"),
        (">>> 1", "none", "no example"),
        ("Parameters\n----------", "Parameters:", "parameters"),
        ("What it does.", "What it does", "no sentence"),
    ],
)
def test_near_misses(old, new, missing, monkeypatch):
    assert list(lacks(good)) == []
    text = inspect.getdoc(good)  # Python 3.13 takes the indentation away by itself
    assert old in text
    monkeypatch.setattr(good, "__doc__", text.replace(old, new, 1))
    assert any(missing in said for said in lacks(good))
