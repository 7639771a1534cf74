"""NumPy programs made at random: masks, views that are written, loops with breaks, choices of data,
whole and complex numbers; and arguments of any dtype, layout and size, which may share memory.

What test_random_programs.py runs. A program may be wrong: then NumPy's error is what is asked for.
"""

import random

import numpy as np

UNARY = ["np.sin({})", "np.exp({} * 0.1)", "np.abs({})", "-{}", "np.sqrt(np.abs({}))",
         "np.square({})", "np.floor({} * 1)", "np.conj({})", "np.sign({})", "({}).copy()",
         "np.real({})", "np.isfinite({})", "np.invert({})", "np.cbrt({})", "np.cumsum({})",
         "np.sort({})", "np.roll({}, 1)", "np.zeros_like({})", "({})[::-1]",
         "({}).astype('i2')", "({}).astype('f4')", "np.ravel({})"]  # fmt: skip
BINARY = ["{} + {}", "{} - {}", "{} * {}", "np.maximum({}, {})", "np.minimum({}, {})", "{} // {}",
          "{} / (np.abs({}) + 1)", "np.hypot({}, {})", "{} % {}", "{} > {}", "{} == {}", "{} & {}",
          "{} ^ {}", "np.fmax({}, {})", "np.copysign({}, {})", "np.logaddexp({}, {})"]  # fmt: skip
NUMBERS = [
    "2",
    "1",
    "3",
    "k",
    "True",
    "np.int8(3)",
    "len(x)",
    "-1",
    "0.5",
    "0.1",
    "300",
    "np.float32(1.5)",
]
SCALARS = [
    ".sum()",
    ".max()",
    ".min()",
    ".mean()",
    ".argmax()",
    ".any()",
    "[0]",
    "[-1]",
    "[..., 0]",
]
PARTS = ["1:", ":-1", "::2", "::-1", "...", "-3:", "::-2", "1:-1"]
PAIRS = [("1:", ":-1"), (":-1", "1:"), ("::-1", ":"), ("2:", ":-2"), ("::2", "::2")]
STORES = ["+=", "-=", "*=", "="]
ROWS = [
    "[0]",
    "[:, 0]",
    ".T[0]",
    "[-1]",
    "[::-1, -1]",
    ".reshape(-1)",
    "[1:]",
    ".T",
    "[:, 1:]",
    "[..., -1]",
]


class Writer:
    """The source of a function of vectors x and y, a matrix z, a mask m and a number k."""

    def __init__(self, seed):
        self.draw, self.lines, self.made = random.Random(seed), [], 0
        self.vectors, self.matrices = ["x", "y"], ["z"]
        self.scalars, self.masks = ["k"], ["m"]
        self.numbers = NUMBERS[:7] if seed % 4 == 3 else NUMBERS

    def one(self, *some):
        return self.draw.choice(some)

    def vector(self, depth=2):
        way, name = self.draw.random(), self.draw.choice(self.vectors)
        if depth == 0 or way < 0.3:
            return name
        if way < 0.5:
            return self.draw.choice(UNARY).format(self.vector(depth - 1))
        if way < 0.75:
            other = self.one(self.vector(depth - 1), self.number())
            return f"({self.draw.choice(BINARY).format(self.vector(depth - 1), other)})"
        if way < 0.85:
            return f"np.where({self.mask()}, {self.vector(depth - 1)}, {self.number()})"
        if way < 0.93:
            return (
                f"{self.draw.choice(self.matrices)}{self.one('[:, 0]', '.sum(1)', '.max(axis=1)')}"
            )
        return f"{name}[np.arange(len(x)) // 2]"

    def mask(self):
        way = self.draw.random()
        if way < 0.2:
            return self.draw.choice(self.masks)
        if way < 0.8:
            return f"({self.vector(1)} {self.one('>', '<', '>=', '!=')} {self.number()})"
        return f"({self.mask()} {self.one('&', '|', '^')} {self.mask()})"

    def number(self):
        return (
            self.one(*self.numbers) if self.draw.random() < 0.8 else self.draw.choice(self.scalars)
        )

    def scalar(self):
        return f"{self.draw.choice(self.vectors)}{self.draw.choice(SCALARS)}"

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def named(self, names, text):
        names.append(f"v{self.made}")
        self.made += 1
        self.line(1, f"{names[-1]} = {text}")

    def statement(self, depth=1):
        way, store = self.draw.random(), self.draw.choice(STORES)
        v, w, z = (self.draw.choice(n) for n in (self.vectors, self.vectors, self.matrices))
        if depth == 1 and way < 0.25:
            names, text = self.one(
                (self.vectors, self.vector()), (self.scalars, self.scalar()),
                (self.masks, self.mask()), (self.matrices, f"({z} * {self.vector(1)}[:, None])"),
            )  # fmt: skip
            self.named(names, text)
        elif way < 0.35:
            self.line(depth, f"{v}[{self.draw.choice(PARTS)}] {store} {self.number()}")
        elif way < 0.45:
            a, b = self.draw.choice(PAIRS)
            self.line(depth, f"{v}[{a}] {store} {w}[{b}]")
        elif way < 0.58:
            mask = self.mask()
            new = self.one(self.number(), f"{self.vector(1)}[{mask}]")
            self.line(depth, f"{v}[{mask}] {store} {new}")
        elif way < 0.68:
            part = self.one(f"{v}[{self.draw.choice(PARTS)}]", f"{v}[{self.mask()}]",
                            z + self.draw.choice(ROWS))  # fmt: skip
            self.line(depth, f"p = q = {part}")
            self.line(depth, f"p {self.one('+=', '*=')} {self.one(self.number(), 'q')}")
        elif way < 0.74:
            self.line(
                depth, f"{z}[{self.one(':, 0', ':, -1', f'{z} > 1')}] {store} {self.number()}"
            )
        elif way < 0.79:
            self.line(depth, f"np.{self.one('add', 'multiply')}({v}, {self.vector(1)}, out={w})")
        elif way < 0.82:
            self.line(depth, f"np.add.at({v}, np.arange(len(x)) // 2, {self.number()})")
        elif way < 0.9 and depth < 3:
            test = self.one(f"{self.scalar()} > {self.number()}", f"len(x) > {self.one(1, 8, 9)}")
            self.line(depth, f"if {test}:")
            self.statement(depth + 1)
            if self.draw.random() < 0.5:
                self.line(depth, "else:")
                self.statement(depth + 1)
        elif depth == 1:
            self.loop()
        else:
            self.line(depth, f"{v}[...] = {w}")

    def loop(self):
        v, w, total = (
            self.draw.choice(self.vectors),
            self.draw.choice(self.vectors),
            f"s{self.made}",
        )
        self.made += 1
        self.line(1, f"{total} = {self.one('0', '0.0', '1', 'np.float32(0)', v + '[0]')}")
        self.line(
            1, f"for i in range({self.one('len(x)', '1, len(x)', 'len(x) - 1, -1, -1', '5')}):"
        )
        for _ in range(self.draw.randint(1, 3)):
            way, element = self.draw.random(), f"{v}[i]"
            if way < 0.3:
                self.line(2, f"{total} {self.draw.choice(STORES)} {element}")
            elif way < 0.5:
                self.line(2, f"{w}[{self.one('i', 'i - 1', '0')}] {self.one('=', '+=')} {total}")
            elif way < 0.75:
                test = self.one(f"{element} > {self.number()}", f"{total} > 3")
                self.line(2, f"if {test}:")
                self.line(3, self.one("break", "continue", f"{total} += 1", f"{total} = {element}"))
            elif way < 0.85:
                self.line(2, f"{w}[{self.mask()}] {self.one('=', '+=')} {total}")
            else:
                self.line(2, f"{total} = {self.one('max', 'min')}(abs({total}) - 1, {element})")
        self.scalars.append(total)

    def source(self):
        for _ in range(self.draw.randint(3, 7)):
            self.statement()
        some = self.vectors[-3:] + self.scalars[-2:] + self.matrices[-1:] + self.masks[-1:]
        return "\n".join(["import numpy as np", "", "", "def f(x, y, z, m, k):", *self.lines,
                          f"    return {', '.join(dict.fromkeys(some))}", ""])  # fmt: skip


REAL = ["float64", "float64", "float32"]
WHOLE = ["int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64"]
COMPLEX = ["complex128", "complex64"]


def values(rng, shape, dtype):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu":
        ends = np.iinfo(dtype) if rng.random() < 0.15 else None
        if ends is not None:
            return rng.integers(ends.min, ends.max, shape, dtype, endpoint=True)
        return rng.integers(-4 if kind == "i" else 0, 6, shape).astype(dtype)
    found = rng.normal(size=shape) * 2
    found = np.round(found) if rng.random() < 0.3 else found
    found = (found + 1j * rng.normal(size=shape) if kind == "c" else found).astype(dtype)
    if found.size and rng.random() < 0.12:
        found.flat[0] = rng.choice([np.nan, np.inf, -np.inf])
    return found


def laid(rng, array):
    """The same elements, in one of the ways in which they may lie in memory."""
    way = rng.integers(12)
    if way == 0:
        return np.ascontiguousarray(array[::-1])[::-1]
    if way == 1:
        return np.repeat(array, 2, 0)[::2]
    if way == 2 and array.size:
        where = np.zeros(array.nbytes + 1, "uint8")[1:].view(array.dtype).reshape(array.shape)
        where[...] = array
        return where
    if way == 3 and len(array):
        return np.broadcast_to(array[:1], array.shape)
    return np.asfortranarray(array) if way == 4 else array


def arguments(seed, size):
    """Of one set of dtypes for each seed. Some share memory."""
    rng = np.random.default_rng(seed)
    some = [REAL, REAL, REAL + COMPLEX + WHOLE + ["bool"], WHOLE][seed % 4]
    dtypes, width = rng.choice(some, 3), int(rng.choice([1, 2, 3, 8, 9]))
    k, shared = [1, 2, 1, 0.5, np.int64(1), np.float32(2)][rng.integers(6)], rng.random()
    rng = np.random.default_rng([seed, size])
    shapes = zip([size, size, (size, width)], dtypes)
    x, y, z = (laid(rng, values(rng, *each)) for each in shapes)
    if shared < 0.05:
        y = x
    elif shared < 0.1:
        x, y = (both := values(rng, size + 1, dtypes[0]))[1:], both[:-1]
    elif shared < 0.15:
        y = z[:, 0]
    return [x, y, z, rng.random(size) < 0.5, k]


def copied(args, noise=0.0):
    """Arguments that lie as these do and share what they share; noise: of floats, in epsilons."""
    bases, found = {}, []
    for x in args:
        if not isinstance(x, np.ndarray):
            found.append(x)
            continue
        base = x
        while isinstance(base.base, np.ndarray):
            base = base.base
        if id(base) not in bases:
            bases[id(base)] = np.frombuffer(bytearray(base.tobytes("A") or b"0"), "uint8"), base
        memory, base = bases[id(base)]
        place = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        new = np.ndarray(x.shape, x.dtype, memory.data, place if x.size else 0, x.strides)
        if noise and x.dtype.kind in "fc" and 0 not in x.strides:
            signs = np.resize([1, -1, -1], x.shape)
            new[...] = new * (1 + signs * noise * np.finfo(x.dtype).eps).astype(new.real.dtype)
        new.flags.writeable = x.flags.writeable
        found.append(new)
    return found
