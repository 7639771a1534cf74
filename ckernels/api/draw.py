"""Pictures of graphs and of compiled functions, and explanations of compiled functions in words."""

import os

from ..base import given
from ..base.errors import ArgumentError
from ..graph.printing import nodes_of


def draw(what, path=None):
    """A picture of a compiled function, of a tensor or of several: the text of an HTML page.

    path: where to write a file instead, .html or .svg. The page needs no network. It shows a
    function as kernels, after rewriting and as written (before its first call only as written), a
    tensor as written. Drag to move, turn the wheel to zoom, search, click a box for its line, its
    operations and its C. With `K.function(..., profile=True)` kernels are coloured by the time they
    take.

    >>> x = K.placeholder((None, 3), name="x")
    >>> K.draw(K.tanh(x) * 2).startswith("<!DOCTYPE html>")
    True
    """
    from ..runtime import pages, picture  # start-up: few programs draw

    subject = what if hasattr(getattr(what, "info", what), "spec") else nodes_of(what)
    if path is None:
        return pages.page(subject, "graph")
    path = given.path(path, "path")
    kind = os.path.splitext(path)[1].lower()
    if kind not in (".html", ".htm", ".svg"):
        raise ArgumentError(f"draw writes .html and .svg files, not {path!r}")
    text = (
        pages.svg(picture.views(subject)[0])
        if kind == ".svg"
        else pages.page(subject, os.path.basename(path))
    )
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def explain(function):
    """How a function was compiled, as a text: `function.explain(rewrites=True)`.

    First the rewrites of its graph, with the lines of your program that they changed; then what
    each instruction of the last plan computes, and why it does not compute more.

    >>> x = K.placeholder((3,), name="x")
    >>> f = K.function([x], K.log(1 + K.exp(x)))
    >>> _ = f([[0, 1, 2]])
    >>> print(K.explain(f).partition("  ")[0])
    log_of_one_plus_exp: log(add) is now softplus(x)
    """
    if not hasattr(function, "explain"):
        raise ArgumentError(f"explain takes what K.function returns, not {function!r}")
    return function.explain(rewrites=True)
