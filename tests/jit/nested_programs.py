"""NumPy programs made at random: arrays in dicts, tuples, lists and objects, functions that call
one another and write what they are given, closures, branches on data and on numbers, loops over
what holds arrays. What test_nested_programs.py runs; arguments are of any dtype, of 0 to 3 axes."""

import random

import numpy as np

from .random_programs import COMPLEX, REAL, WHOLE, copied, values

HEAD = """import numpy as np
from dataclasses import dataclass

G = 3


@dataclass
class Pair:
    u: object
    v: object = None

    def moved(self, by):
        self.u = self.u + by
        return self

    @property
    def both(self):
        return self.u, self.v


"""
VIEWS = ["{}", "{}", "{}.T", "{}[::-1]", "{}[1:]", "{}[::2]", "{}.reshape(-1)", "{}[None]",
         "np.atleast_1d({})", "{}[..., ::-1]", "{}[0]", "{}[..., 0]", "np.ravel({})", "{}.real",
         "np.squeeze({})", "np.atleast_2d({}).T[::-1]"]  # fmt: skip
NUMBERS = ["0", "1", "2", "-1", "0.5", "k", "G", "True", "np.int8(3)", "np.float32(1.5)", "1j"]
UNARY = ["-{}", "abs({})", "np.square({})", "np.sort({}, axis=-1)", "({}).copy()", "np.isnan({})",
         "np.cumsum({}, axis=-1)", "({}).astype('f4')", "({}).astype('i2')", "np.zeros_like({})",
         "np.sign({})", "np.conj({})", "np.array({})", "np.clip({}, 0, 2)", "np.diff({})",
         "np.concatenate([{0}, {0}])", "np.stack([{0}, {0}])"]  # fmt: skip
BINARY = ["{} + {}", "{} - {}", "{} * {}", "np.maximum({}, {})", "{} > {}", "{} == {}", "{} & {}",
          "np.where({0} > 1, {0}, {1})", "np.minimum({}, {})"]  # fmt: skip
SUMS = ["{}.sum()", "{}.max()", "{}.min(0)", "{}.sum(-1)", "{}.any()", "{}.all(0)", "{}.argmax()",
        "np.count_nonzero({})", "np.array_equal({}, a)"]  # fmt: skip
TESTS = ["{}.sum() > {}", "{}.any()", "{}.size", "k > 1", "{}.ndim == {}", "{}.dtype.kind in 'iu'",
         "{} is a", "isinstance({}, np.ndarray)", "not {}.all()", "G in {}",
         "np.array_equal({}, a)"]  # fmt: skip
KEYS = ["...", "0", "-1", "1:", "::2", "::-1", "(..., 0)", "[0, 1]", "k", "slice(k, None)"]
# parameters: (what holds arrays in the function, arguments of a call, results)
HELPERS = {
    "x, y": (["x", "y"], "{}, {}", ["x", "y[::-1]", "(x, y)", "Pair(y, x)"]),
    "d": (["d['p']", "d['q']"], "{{'p': {}, 'q': {}}}", ["d['p']", "{**d, 'r': d['q']}"]),
    "o": (["o.u", "o.v"], "Pair({}, {})", ["o", "o.both", "o.moved(1)", "Pair(o.v, o)"]),
    "*x, w=1": (["x[0]", "x[1]"], "{}, {}, w=2", ["x", "x[0] * w", "(*x, w)"]),
    "L": (["L[0]", "L[-1]"], "[{}, {}]", ["L", "L[::-1]", "L + [L[0]]"]),
}


class Writer:
    """The source of a function of arrays a, b, c and a whole number k, with what it calls."""

    def __init__(self, seed, args):
        self.draw, self.args, self.made = random.Random(seed), args, 0
        self.places, self.functions = ["a", "b", "c"], []

    def one(self, *some):
        return self.draw.choice(some)

    def place(self):
        return self.draw.choice(self.places)

    def view(self):
        return self.draw.choice(VIEWS).format(self.place())

    def name(self, letter="v"):
        self.made += 1
        return f"{letter}{self.made}"

    def value(self, depth=2):
        way = self.draw.random()
        if depth == 0 or way < 0.3:
            return self.view()
        if way < 0.55:
            return self.draw.choice(UNARY).format(self.value(depth - 1))
        if way < 0.8:
            other = self.one(self.value(depth - 1), self.draw.choice(NUMBERS))
            return f"({self.draw.choice(BINARY).format(self.value(depth - 1), other)})"
        if way < 0.93:
            return self.draw.choice(SUMS).format(self.view())
        return f"({self.value(depth - 1)} if {self.test()} else {self.value(depth - 1)})"

    def test(self):
        return self.draw.choice(TESTS).format(self.place(), self.one(0, 1, 2))

    def store(self, x=None):
        x, key = x or self.place(), self.draw.choice(KEYS)
        return self.one(
            f"{x}[{key}] = {self.value(1)}",
            f"{x}[{key}] {self.one('+=', '-=', '*=', '&=')} {self.value(1)}",
            f"{x} {self.one('+=', '*=', '-=')} {self.value(1)}",
            f"{x}[{x} > {self.one(0, 1)}] = {self.one(0, -1, 7)}",
            f"np.add({self.view()}, {self.view()}, out={x}, casting='unsafe')",
            f"{self.draw.choice(VIEWS).format(x)}.fill({self.one(0, 3)})",
        )

    def line(self):
        x, y = self.place(), self.place()
        call = self.call() if self.functions else self.store()
        return self.one(self.store(), self.store(), f"{x} = np.asarray({self.value()})",
                        f"{x}, {y} = {y}, {x}", call)  # fmt: skip

    def call(self):
        name, kind = self.draw.choice(self.functions)
        return f"{self.name()} = {name}({HELPERS[kind][1].format(self.view(), self.view())})"

    def helper(self):
        kind, name = self.draw.choice(list(HELPERS)), self.name("h")
        inside, _, results = HELPERS[kind]
        own = Writer(self.draw.random(), ())
        own.places, own.functions, own.made = inside, self.functions[:], 100 * self.made
        lines = [own.line(), f"if {own.test()}:", "    " + own.line()]
        lines = [*lines, "return " + self.draw.choice(results)]
        text = "\n".join("    " + one for one in lines).replace(" k", " G").replace("(k", "(G")
        text = text.replace("[k]", "[G]").replace(" is a", " is None").replace(", a)", ", 0)")
        self.functions.append((name, kind))
        return f"def {name}({kind}):\n{text}\n\n\n"

    def statement(self):
        """(lines, places that they make)."""
        way, n, x, y = self.draw.random(), self.name(), self.view(), self.view()
        if way < 0.5:
            return self.one(
                ([f"{n} = np.asarray({self.value(3)})"], [n]),
                ([f"{n} = {x}"], [n]),
                ([f"{n} = {{'p': {x}, 'q': [{y}, 2]}}"], [f"{n}['p']"]),
                ([f"{n} = ({x}, [{y}, k])"], [f"{n}[0]", f"{n}[1][0]"]),
                ([f"{n} = Pair({x}, {y})"], [f"{n}.u", f"{n}.v"]),
                ([f"{n} = [{x}, {y}]"], [f"{n}[0]", f"{n}[-1]"]),
            )
        if way < 0.62:
            more = ["else:", "    " + self.line()] if self.draw.random() < 0.5 else []
            return [f"if {self.test()}:", "    " + self.line(), *more], []
        if way < 0.75:
            loop = self.one("range(k + 1)", "range(3)", f"enumerate([{x}, {y}])",
                            f"zip([{x}, {y}], 'uv')", f"[{x}, {y}]")  # fmt: skip
            names = "i, z" if loop[0] == "e" else "z, i" if loop[0] == "z" else "i"
            into = "z" if "z" in names else None
            return [f"for {names} in {loop}:", "    " + self.store(into), "    " + self.line()], []
        if way < 0.92:
            return self.one(
                ([f"def g{n}(x, y=2):", f"    return x * y + {self.one('k', 'a')}",
                  f"{n} = g{n}({x})"], [n]),
                ([f"t{n} = 0", f"def g{n}(x):", f"    nonlocal t{n}", f"    t{n} = t{n} + x.sum()",
                  f"    return x * t{n}", f"{n} = [g{n}({x}), g{n}({y})]"], [f"{n}[0]", f"{n}[1]"]),
                ([f"{n} = [x + 1 for x in ({x}, {y}) if {self.one('x.size', 'k')}]"], []),
                ([f"{n} = {{s: x * 2 for s, x in zip('uv', [{x}, {y}])}}"], [f"{n}['u']"]),
                ([f"{n} = sorted([{x}, {y}], key=lambda x: {self.one('x.size', 'x.sum()')})"], []),
                ([f"{n}, *r{n} = [{x}, {y}, {x}]"], [n]),
            )  # fmt: skip
        return [self.line()], []

    def runs(self, lines):
        """What is there after these lines in NumPy, or None."""
        body = "\n".join("    " + line for line in lines)
        found = {}
        try:
            exec(f"{self.head}def f(a, b, c, k):\n{body}\n    return locals()\n", found)
            return {**found, **found["f"](*copied(self.args))}
        except Exception:
            return None

    def source(self):
        self.head = HEAD
        for _ in range(self.draw.randint(0, 2)):
            self.head += self.helper()
        kept, goal = ["pass"], self.draw.randint(2, 6)
        for _ in range(30):
            lines, made = self.statement()
            there = self.runs([*kept, *lines])
            if there is None or len(kept) > 3 * goal:
                continue
            more = [m for m in made if isinstance(eval(m, there), np.ndarray)]
            found = [eval(p, there) for p in self.places + more]
            if all(getattr(x, "size", 999) < 300 and x.dtype.kind in "biufc" for x in found):
                kept, self.places = kept + lines, self.places + more
        some = ", ".join(self.draw.sample(self.places, 3))
        result = self.one("{}", "[{}, k]", "{{'r': [{}], 's': (k, None)}}", "Pair([{}], k)")
        lines = [*kept, f"return {result.format(some)}"]
        body = "\n".join("    " + line for line in lines)
        return f"{self.head}def f(a, b, c, k):\n{body}\n"


SHAPES = [(), (1,), (4,), (9,), (3, 4), (4, 3), (1, 4), (4, 1), (2, 3, 2), (0,), (0, 3), (5, 5)]


def array(rng):
    """Of any dtype and shape, in one of the ways in which it may lie in memory."""
    shape = SHAPES[rng.integers(len(SHAPES))]
    dtype = rng.choice([*REAL, *COMPLEX, *WHOLE, "bool", "float16"])
    wide = values(rng, tuple(2 * n + 1 for n in shape), dtype)
    whole = tuple(slice(0, n) for n in shape)
    way = rng.integers(6) if shape else 0
    if way == 1:
        return wide[tuple(slice(0, 2 * n, 2) for n in shape)]
    if way == 2:
        return wide[whole][(slice(None, None, -1),) * len(shape)]
    return np.asfortranarray(wide[whole]) if way == 3 else np.array(wide[whole])


def arguments(seed):
    rng = np.random.default_rng(seed)
    a, b, c = (array(rng) for _ in range(3))
    way = rng.integers(8)
    if way == 0:
        b = a
    elif way == 1 and a.ndim:
        b, c = a[1:], a[:-1]
    elif way == 2:
        b = a.T
    return [a, b, c, int(rng.integers(4))]
