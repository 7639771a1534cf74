"""Pictures of graphs and of compiled functions, and explanations of compiled functions in words."""

import os

from ..base import given
from ..base.errors import ArgumentError, NotSupported
from ..graph.printing import nodes_of


def draw(what, path=None):
    """A picture of a compiled function, of two of them, or of tensors: the text of an HTML page.

    Parameters
    ----------
    what : function, list of two functions, Tensor or list of Tensor
        A function is shown as kernels, after rewriting and as written (before its first call only
        as written), a tensor as written. Of two functions made with `profile=True` the profiles
        stand side by side. Of a function under `jit` its newest trace is shown.
    path : str or Path, optional
        A file to write instead: .html or .svg; .png and .pdf where cairosvg is installed.

    Returns
    -------
    str
        The page, which shows itself in a notebook; or `path`.

    Raises
    ------
    ArgumentError
        For other kinds of files.
    NotSupported
        For .png and .pdf without cairosvg.

    Notes
    -----
    The page needs no network. Large graphs are folded by the functions and lines of your program; a
    double click unfolds. Drag to move, turn the wheel to zoom, search (Enter walks the hits), click
    a box for its line, its operations and its C; arrow keys, +, -, / and Escape do the same. With
    `K.function(..., profile=True)` kernels are coloured by the time they take, and a timeline shows
    what each thread did in the last call. What lies where in memory during a call is a chart of its
    own.

    Examples
    --------
    >>> x = K.placeholder((None, 3), name="x")
    >>> K.draw(K.tanh(x) * 2).startswith("<!DOCTYPE html>")
    True
    """
    from ..runtime import drawing, picture  # start-up: few programs draw

    if isinstance(what, (list, tuple)) and len(what) == 2:
        what = [of_trace(one) for one in what]
    what = of_trace(what)
    if isinstance(what, (list, tuple)) and len(what) == 2 and all(map(compiled, what)):
        subject = tuple(what)
    else:
        subject = what if compiled(what) else nodes_of(what)
    if path is None:
        return drawing.page(subject, "graph")
    path = given.path(path, "path")
    kind = os.path.splitext(path)[1].lower()
    if kind in (".html", ".htm"):
        text = drawing.page(subject, os.path.basename(path))
    elif kind in (".svg", ".png", ".pdf"):
        text = drawing.svg(picture.views(subject[0] if isinstance(subject, tuple) else subject)[0])
    else:
        raise ArgumentError(f"draw writes .html, .svg, .png and .pdf files, not {path!r}")
    if kind in (".png", ".pdf"):
        converted(text, path, kind)
    else:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    return path


def of_trace(what):
    """Of a function under jit what its newest trace is compiled to; anything else as it is."""
    if not hasattr(type(what), "newest"):
        return what
    found = what.newest()
    if found is None:
        raise ArgumentError(f"{what!r} has no trace that computes anything: call it first, and see "
                            "its report()")  # fmt: skip
    return found


def compiled(what):
    """Whether this is a function, not tensors."""
    return hasattr(getattr(what, "info", what), "spec")


def converted(svg, path, kind):
    """Write the text of an SVG as a .png or .pdf file."""
    try:
        import cairosvg
    except (ImportError, OSError) as problem:  # OSError: the package without the library cairo
        raise NotSupported(
            f"{kind} files need cairosvg and the library cairo: pip install cairosvg; .html and "
            ".svg need nothing"
        ) from problem
    write = cairosvg.svg2png if kind == ".png" else cairosvg.svg2pdf
    write(bytestring=svg.encode(), write_to=path, background_color="white")


def explain(function):
    """How a function was compiled, as a text: `function.explain(rewrites=True)`.

    Parameters
    ----------
    function : ckernels.typing.Function
        What K.function returned, or `ck.jit`, after a call.

    Returns
    -------
    str
        First the rewrites of its graph, with the lines of your program that they changed; then what
        each instruction of the last plan computes, and why it does not compute more.

    Raises
    ------
    ArgumentError
        For anything else.

    Examples
    --------
    >>> x = K.placeholder((3,), name="x")
    >>> f = K.function([x], K.log(1 + K.exp(x)))
    >>> _ = f([[0, 1, 2]])
    >>> print(K.explain(f).partition("  ")[0])
    log_of_one_plus_exp: log(add) is now softplus(x)
    """
    if not hasattr(function, "explain"):
        raise ArgumentError(f"explain takes what K.function or ck.jit returns, not {function!r}")
    return function.explain(rewrites=True)
