"""The math library of generated C: which snippets of templates/math*.h.in a kernel needs.

A snippet starts at a comment `/* @snippet name: what */` and is one C function or macro called `name`.
Between `/* @foreach A B: x y; z w */` and `/* @end */` snippets are repeated with $A, $B replaced by
each row (`_` stands for nothing). Reads the templates once; knows nothing of graphs or kernels.
"""
import functools
import pathlib
import re

TEMPLATES = pathlib.Path(__file__).parent.parent / "templates"

# Largest errors of ck_<name>_<S>, in units of the last place of the exact result.
ULP = {
    "exp": {"f32": 0, "f64": 0},
    "exp2": {"f32": 0, "f64": 0},
    "expm1": {"f32": 0, "f64": 0},
    "log": {"f32": 0, "f64": 0},
    "log2": {"f32": 0, "f64": 0},
    "log10": {"f32": 0, "f64": 0},
    "log1p": {"f32": 0, "f64": 0},
    "log1mexp": {"f32": 0, "f64": 0},
    "softplus": {"f32": 0, "f64": 0},
    "sigmoid": {"f32": 0, "f64": 0},
    "tanh": {"f32": 0, "f64": 0},
    "sinh": {"f32": 0, "f64": 0},
    "cosh": {"f32": 0, "f64": 0},
    "sin": {"f32": 0, "f64": 0},
    "cos": {"f32": 0, "f64": 0},
    "tan": {"f32": 0, "f64": 0},
    "asin": {"f32": 0, "f64": 0},
    "acos": {"f32": 0, "f64": 0},
    "atan": {"f32": 0, "f64": 0},
    "atan2": {"f32": 0, "f64": 0},
    "asinh": {"f32": 0, "f64": 0},
    "acosh": {"f32": 0, "f64": 0},
    "atanh": {"f32": 0, "f64": 0},
    "erf": {"f32": 0, "f64": 0},
    "erfc": {"f32": 0, "f64": 0},
    "erfinv": {"f32": 0, "f64": 0},
    "erfcinv": {"f32": 0, "f64": 0},
    "rsqrt": {"f32": 0, "f64": 0},
    "cbrt": {"f32": 0, "f64": 0},
    "pow": {"f32": 0, "f64": 0},
    "gammaln": {"f32": 0, "f64": 0},
    "gamma": {"f32": 0, "f64": 0},
    "digamma": {"f32": 0, "f64": 0},
    "i0": {"f32": 0, "f64": 0},
    "i1": {"f32": 0, "f64": 0},
    "j0": {"f32": 0, "f64": 0},
    "j1": {"f32": 0, "f64": 0},
}

_MARK = re.compile(r"/\* @(snippet|foreach|end)\b *(.*?) *\*/\n", re.S)
_NAME = re.compile(r"\b(?:ck|CK)_\w+")


def _snippets_of(text):
    """(name, text) of each snippet of a template."""
    columns, rows = (), ((),)
    parts = _MARK.split(text)[1:]
    for kind, note, body in zip(parts[::3], parts[1::3], parts[2::3]):
        if kind == "end":
            columns, rows = (), ((),)
        elif kind == "foreach":
            head, table = note.split(":", 1)
            columns, rows = head.split(), [row.split() for row in table.split(";")]
        else:
            for row in rows:
                name, c = re.split(r"[:\s]", note, maxsplit=1)[0], body.strip() + "\n"
                for column, value in zip(columns, row):
                    value = "" if value == "_" else value
                    name, c = name.replace(f"${column}", value), c.replace(f"${column}", value)
                yield name, c


@functools.lru_cache(maxsize=1)
def _library():
    """{name: (order, text, names of the snippets it uses itself)}."""
    pairs = [pair for path in sorted(TEMPLATES.glob("math*.h.in"))
             for pair in _snippets_of(path.read_text(encoding="utf-8"))]
    known = {name for name, _ in pairs}
    if len(known) != len(pairs):
        raise ValueError("two snippets of one name in templates/math*.h.in")
    return {name: (text, (set(_NAME.findall(text)) & known) - {name}) for name, text in pairs}


@functools.lru_cache(maxsize=None)
def _closure(name):
    """Names of the snippets that `name` needs, itself last."""
    found = {}
    for other in sorted(_library()[name][1]):
        found.update(dict.fromkeys(_closure(other)))
    return (*found, name)


def names():
    """The names of all snippets."""
    return tuple(_library())


@functools.lru_cache(maxsize=1024)
def _texts(used):
    library, found = _library(), {}
    for name in used:
        if name in library:
            found.update(dict.fromkeys(_closure(name)))
    return tuple(library[name][0] for name in found)


def snippets(c_text):
    """Texts of all snippets whose names occur in `c_text` and of those they need, needed first."""
    return _texts(tuple(sorted(set(_NAME.findall(c_text)))))
