"""The expressions, as numexpr reads them, with the dtypes of their names. They and the sizes were
chosen before any was timed."""

import re
from typing import NamedTuple

import numpy as np

SIZES = (10, 1_000, 100_000, 1_000_000, 10_000_000)
FUNCTIONS = ("sin", "cos", "exp", "log", "log1p", "expm1", "sqrt", "arctan2", "where", "sum", "abs")


class Expression(NamedTuple):
    """text: what is computed; kinds: {name: dtype}, "number" for one of Python's."""

    name: str
    text: str
    kinds: dict

    def source(self, name="f"):
        """A function of Python's over `np`."""
        text = re.sub(rf"\b({'|'.join(FUNCTIONS)})\(", r"np.\1(", self.text)
        return f"def {name}({', '.join(self.kinds)}):\n    return {text}\n"

    def function(self, space):
        """It, of NumPy or of what has NumPy's names."""
        names = {"np": space}
        exec(compile(self.source(), f"<{self.name}>", "exec"), names)
        return names["f"]

    def arguments(self, size):
        """An array for each name, of numbers from 0.1 to 3, or a number."""
        rng, made = np.random.default_rng(7), {}
        for name, kind in self.kinds.items():
            if kind == "number":
                made[name] = 0.75
            elif kind[0] == "c":
                made[name] = (rng.uniform(-1, 1, size) + 1j * rng.uniform(-1, 1, size)).astype(kind)
            elif kind[0] in "iu":
                made[name] = rng.integers(0, 200, size).astype(kind)
            else:
                made[name] = rng.uniform(0.1, 3, size).astype(kind)
        return made


def of(names, kind, **others):
    return {**dict.fromkeys(names.split(), kind), **others}


ALL = [
    Expression("linear", "2*a + 3*b", of("a b", "f8")),
    Expression("square of a sum", "a**2 + b**2 + 2*a*b", of("a b", "f8")),
    Expression("polynomial", "0.25*x**3 + 0.75*x**2 - 1.5*x - 2", of("x", "f8")),
    Expression("waves", "sin(a)**2 + cos(b)*a", of("a b", "f8")),
    Expression("columns", "a + b*c - d/e", of("a b c d e", "f8")),
    Expression("query", "(a > 1) & (b < 0.5) | (c >= 2)", of("a b c", "f8")),
    Expression("query of two dtypes", "where((i > 100) & (x < 1.5), x*i, -x)",
               of("x", "f8", i="i4")),
    Expression("hash", "(i*7 + j) % 97 < 48", of("i j", "i8")),
    Expression("grey", "(r*77 + g*150 + b*29) >> 8", of("r g b", "i4")),
    Expression("vegetation", "(nir - red) / (nir + red + 1)", of("nir red", "f4")),
    Expression("leaky", "where(x > 1, x, x*s)", of("x", "f4", s="f4")),
    Expression("sigmoid", "1 / (1 + exp(-(w*x + b)))", of("w x b", "f4")),
    Expression("squared error", "sum((a - b)**2)", of("a b", "f4")),
    Expression("discounted", "sum(exp(-r*t)*p)", of("t p", "f8", r="number")),
    Expression("d1 of an option", "(log(s/k) + (r + v*v/2)*t) / (v*sqrt(t))",
               of("s k v t", "f8", r="number")),
    Expression("normal density", "exp(-(x - m)**2 / (2*s*s)) / (2.5066282746310002*s)",
               of("x", "f8", m="number", s="number")),
    Expression("black body", "2*v**3 / expm1(v/t)", of("v t", "f8")),
    Expression("pair potential", "4*e*((s/r)**12 - (s/r)**6)",
               of("r", "f8", e="number", s="number")),
    Expression("great circle", "sin((b - a)/2)**2 + cos(a)*cos(b)*sin((d - c)/2)**2",
               of("a b c d", "f8")),
    Expression("complex step", "z*z + c", of("z c", "c16")),
]  # fmt: skip
