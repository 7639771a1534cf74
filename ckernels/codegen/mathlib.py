"""The math library of generated C: which snippets of templates/math*.h.in a kernel needs.

A snippet starts at a comment `/* @snippet name: what */`: one C function or macro of that name.
Between `/* @foreach A B: x y; z w */` and `/* @end */` snippets repeat, $A and $B replaced by each
row (`_` stands for nothing). Reads the templates once; knows nothing of graphs or kernels.
"""

import functools
import pathlib
import re

TEMPLATES = pathlib.Path(__file__).parent.parent / "templates"

# Largest errors of ck_<name>_<S>, in units of the last place of the exact result, where there is
# FMA hardware (without it up to 1 ulp more). gammaln, betaln, digamma, j0, j1, ndtri_exp: absolute
# below 1, because of their roots.
ULP = {
    "exp": {"f32": 0.8, "f64": 0.9},
    "exp_shifted": {"f32": 1.05, "f64": 1.1},
    "exp2": {"f32": 1.0, "f64": 0.95},
    "expm1": {"f32": 1.45, "f64": 1.9},
    "log": {"f32": 0.95, "f64": 1.0},
    "log2": {"f32": 1.1, "f64": 1.0},
    "log10": {"f32": 1.0, "f64": 1.0},
    "log1p": {"f32": 1.5, "f64": 1.5},
    "log1mexp": {"f32": 1.85, "f64": 1.8},
    "softplus": {"f32": 1.85, "f64": 1.8},
    "sigmoid": {"f32": 1.5, "f64": 1.6},
    "tanh": {"f32": 2.5, "f64": 1.6},
    "sinh": {"f32": 2.2, "f64": 2.4},
    "cosh": {"f32": 1.6, "f64": 1.7},
    "sin": {"f32": 1.6, "f64": 0.8},
    "cos": {"f32": 1.6, "f64": 0.8},
    "tan": {"f32": 3.3, "f64": 2.1},
    "asin": {"f32": 1.65, "f64": 1.7},
    "acos": {"f32": 1.15, "f64": 1.2},
    "atan": {"f32": 1.9, "f64": 1.9},
    "atan2": {"f32": 1.5, "f64": 1.9},
    "asinh": {"f32": 1.8, "f64": 1.8},
    "acosh": {"f32": 2.1, "f64": 1.9},
    "atanh": {"f32": 1.7, "f64": 2.1},
    "erf": {"f32": 1.15, "f64": 0.8},
    "erfc": {"f32": 4.7, "f64": 2.2},
    "erfinv": {"f32": 3.9, "f64": 1.9},
    "erfcinv": {"f32": 0.55, "f64": 1.9},
    "rsqrt": {"f32": 1.55, "f64": 1.7},
    "pow": {"f32": 3.2, "f64": 0.8},
    "gammaln": {"f32": 0.55, "f64": 3.0},
    "gamma": {"f32": 0.55, "f64": 6.0},
    "digamma": {"f32": 0.55, "f64": 5.0},
    "i0": {"f32": 0.55, "f64": 5.0},
    "i1": {"f32": 0.55, "f64": 6.0},
    "i0e": {"f32": 0.55, "f64": 4.0},
    "i1e": {"f32": 0.55, "f64": 4.0},
    "j0": {"f32": 0.55, "f64": 1.0},
    "j1": {"f32": 0.55, "f64": 1.0},
    "erfcx": {"f32": 0.55, "f64": 3.8},
    "log_ndtr": {"f32": 0.55, "f64": 2.5},
    "ndtri_exp": {"f32": 0.55, "f64": 3.0},
    "betaln": {"f32": 0.55, "f64": 8.0},
}  # fmt: skip

# of which there is another version for one number that a loop waits for: ck_<value>_alone_f64
ALONE = {"exp": "exp", "exp_below": "exp", "exp_shifted": "exp", "expm1": "expm1",
         "sigmoid": "sigmoid", "tanh": "tanh"}  # fmt: skip

_MARK = re.compile(r"/\* @(snippet|foreach|end)\b *(.*?) *\*/\n", re.S)
OF_ROWS = re.compile(r"\bck_(max|min|place)_(of|at)_\w+")  # what math_rows.h.in has
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
                pairs = sorted(zip(columns, row), key=lambda pair: -len(pair[0]))  # $TOP before $T
                for column, value in pairs:
                    value = "" if value == "_" else value
                    name, c = name.replace(f"${column}", value), c.replace(f"${column}", value)
                yield name, c


@functools.lru_cache(maxsize=1)
def _library():
    """{name: text} of all snippets."""
    pairs = [
        pair
        for path in sorted(TEMPLATES.glob("math*.h.in"))
        for pair in _snippets_of(path.read_text(encoding="utf-8"))
    ]
    library = dict(pairs)
    if len(library) != len(pairs):
        raise ValueError("two snippets of one name in templates/math*.h.in")
    return library


@functools.cache
def _closure(name):
    """Names of the snippets that `name` needs, itself last."""
    library, found = _library(), {}
    for other in sorted(set(_NAME.findall(library[name])) - {name}):
        if other in library:
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
    return tuple(library[name] for name in found)


def snippets(c_text):
    """Texts of all snippets whose names occur in `c_text` and of those they need, needed first."""
    return _texts(tuple(sorted(set(_NAME.findall(c_text)))))
