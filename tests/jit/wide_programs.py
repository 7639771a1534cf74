"""NumPy programs made at random, of every function that ckernels.numpy has: calls in one another,
methods and ufuncs' methods, stores by functions and by views that overlap, loops over elements and
lists that grow; of sizes where kernels change their ways. What test_wide_programs.py runs."""

import re

import numpy as np

import ckernels.numpy as knp

from . import nested_programs
from .random_programs import COMPLEX, REAL, WHOLE, laid, values
from .test_layouts import FUNCTIONS, drawn

# Functions of NumPy that are not drawn: pattern of the name, why.
LEFT_OUT = {
    "set.*|seterr.*|printoptions|get.*": "state of NumPy, not of a program",
    "load.*|save.*|from.*|genfromtxt|show_.*|frompyfunc": "files, and objects of Python",
    "empty": "elements that nobody wrote",
    "partition|argpartition": "the order inside of the parts is no promise of NumPy's",
    "array2string|array_(repr|str)|base_repr|binary_repr|format_.*": "the last digits of a text",
    "bmat|asmatrix|nested_iters|einsum_path|.*busday.*|datetime.*|isnat": "no arrays of ours",
    "searchsorted|digitize": "of arrays that are not sorted NumPy promises nothing",
    "roots|polyfit|corrcoef|poly|cov|polydiv": "quotients of what rounding leaves of 0",
    "shares_memory|may_share_memory": "compared for all results",
}  # fmt: skip
WIDE = [n for n in FUNCTIONS if hasattr(knp, n) and not re.fullmatch("|".join(LEFT_OUT), n)]
METHODS = ["sum()", "sum(0)", "mean(-1)", "prod()", "std()", "var(0)", "max(0)", "min()",
           "argmin()", "any(-1)", "all()", "cumsum()", "cumprod(0)", "round(1)", "clip(0, 2)",
           "dot({})", "take([0, -1])", "repeat(2)", "trace()", "diagonal()", "flatten()",
           "swapaxes(0, -1)",
           "astype('i4')", "astype('f')", "argsort(kind='stable')", "conj()",
           "nonzero()[0]", "squeeze()", "compress([True, False])", "choose([{}, 2])",
           "ravel()", "T", "real", "imag", "nbytes", "copy()", "reshape(-1)"]  # fmt: skip
UFUNCS = ["add", "multiply", "maximum", "minimum", "logical_or", "logical_and", "subtract", "hypot",
          "bitwise_xor", "fmax", "logaddexp", "gcd"]  # fmt: skip
OF_UFUNCS = ["reduce({})", "reduce({}, axis=None)", "accumulate({})", "outer({}, {})",
             "reduce({}, keepdims=True)", "reduceat({}, [0, 1])", "reduceat({}, [1, 0], axis=-1)",
             "reduce({0}, where={0} > 0, initial=1)"]  # fmt: skip
STORES = ["np.copyto({0}, {1}, casting='unsafe')", "np.putmask({0}, {0} > 1, {1})",
          "np.copyto({0}, {1}, where={0} > 0)", "np.place({0}, {0} > 0, [1, 2])",
          "np.put({0}, [0, -1], {1})", "np.fill_diagonal({0}, 2)", "{0}.sort()", "{0}[::-1] = {0}",
          "np.put_along_axis({0}, np.argsort({0}, -1, kind='stable'), {1}, -1)",
          "np.{2}.at({0}, [0, 0, -1], {1})", "np.{2}.at({0}, {0} > 1, 2)", "{0}[1:] += {0}[:-1]",
          "np.{2}({0}, {1}, out={0})", "np.{2}({0}, {1}, out={0}, where={0} > 0)",
          "{0}[:-1], {0}[1:] = {0}[1:], {0}[:-1]", "{0}[{0} > 1] *= 2", "{0}.T[...] = {1}",
          "{0}[{0} > 0] = {1}[{0} > 0]", "{0}[..., ::2] = {1}[..., 1::2]", "{0}[[0, -1]] += {1}[0]",
          "{0}[0], {0}[-1] = {0}[-1], {0}[0]",
          "{0}.reshape(-1)[1:] = {0}.ravel()[:-1]"]  # fmt: skip
TURNS = ["{t} = {t} + {v}[i]", "{t} = {t} * 0.5 - {v}[i]", "{w}[i] = {t}", "{w}[i] += {v}[-i - 1]",
         "{w}[i - 1] = {w}[i] * 2", "{t} = max({t}, {v}[i])", "{w}[i:] += {v}[i]",
         "{t} = {t} + i if {v}[i] > 1 else {t}", "{w}[:i] = {t}", "{t} = {v}[i]"]  # fmt: skip
ENDS = ["if {v}[i] > 2:\n    break", "if {v}[i] > {t}:\n    continue", "if i == k:\n    break"]
FIRST = ["0", "0.0", "{v}[0]", "np.float32(1)", "k"]
RANGES = ["len({v})", "k", "{w}.size", "len({v}) - 1, -1, -1", "1, len({w})"]
GROWN = ["{v}[i]", "{v}[i] * 2 + i", "{t}", "i", "{v}[i] > 1", "{w}[i:i + 2]", "{v} * i",
         "{v}[::-1]", "np.sum({v}[i])", "{t} * {v}[i]"]  # fmt: skip
JOINED = ["np.array({})", "np.asarray({})", "np.stack({}, -1)", "np.concatenate({})", "np.sum({})",
          "np.vstack({})", "np.array({})[::-1]", "np.array({} + [1])", "np.mean({}, 0)",
          "np.max({}, 0)", "np.array({}).T"]  # fmt: skip


class Writer(nested_programs.Writer):
    """The source of a function of arrays a, b, c and a whole number k."""

    def __init__(self, seed, args):
        super().__init__(seed, args)
        self.rng = np.random.default_rng(seed)

    def value(self, depth=2):
        if depth == 0 or self.draw.random() < 0.4:
            return super().value(depth)
        one, two = self.value(depth - 1), self.value(depth - 1)
        way = self.draw.random()
        if way < 0.2:
            return f"{self.view()}.{self.draw.choice(METHODS).format(one)}"
        if way < 0.35:
            return f"np.{self.one(*UFUNCS)}.{self.one(*OF_UFUNCS).format(one, two)}"
        operands = iter([one, two])
        call = drawn(WIDE[self.rng.integers(len(WIDE))], self.rng)
        return "np." + re.sub(r"\bx\b", lambda _: next(operands, None) or self.view(), call)

    def store(self, x=None):
        if self.draw.random() < 0.4:
            return super().store(x)
        place = x or self.view()
        return self.one(*STORES).format(place, self.value(1), self.one(*UFUNCS))

    def turns(self):
        """A loop over elements, which may append to a list, and the place that this makes."""
        total, grown = self.name("t"), self.name("g")
        names = dict(t=total, v=self.view(), w=self.place())

        def filled(some):
            return self.one(*some).format(**names)

        body = [filled(TURNS) for _ in range(self.draw.randint(1, 3))]
        if self.draw.random() < 0.3:
            at = self.draw.randint(0, len(body))
            body[at:at] = filled(ENDS).split("\n")
        before, after = [f"{total} = {filled(FIRST)}"], []
        if self.draw.random() < 0.5:
            before.append(f"{grown} = []")
            more = f"{grown}.append({filled(GROWN)})"
            body += self.one([more], [more], [f"if {names['v']}[i] > 0:", "    " + more])
            after = [f"{grown}a = np.asarray({self.one(*JOINED).format(grown)})"]
        loop = [f"for i in range({filled(RANGES)}):", *("    " + line for line in body)]
        return [*before, *loop, *after], [f"{grown}a"] if after else []

    def statement(self):
        way = self.draw.random()
        if way < 0.25:
            name = self.name()
            return [f"{name} = {self.value(3)}"], [name]
        if way < 0.45:
            return self.turns()
        return super().statement() if way < 0.75 else ([self.store()], [])


SIZES = [0, 1, 2, 3, 5, 7, 8, 9, 17, 63, 64, 65]
SHAPES = [
    lambda n, m: (n,),
    lambda n, m: (min(n, 9), min(m, 8)),
    lambda n, m: (min(n, 3), 2, m % 5),
]


def arguments(seed):
    """Of as many axes for one first seed, mostly of shapes that fit one another and have elements,
    at times of one memory."""
    shape, some = (
        SHAPES[np.random.default_rng([seed[0], 5]).choice(3, p=[0.6, 0.3, 0.1])],
        [REAL, REAL, WHOLE, [*REAL, *WHOLE, *COMPLEX, "bool", "float16"]][seed[0] % 4],
    )
    rng = np.random.default_rng(seed)
    sizes = shape(*(int(n) for n in rng.choice(SIZES if rng.random() < 0.5 else SIZES[3:], 2)))

    def array():
        own = tuple(1 if rng.random() < 0.05 else n for n in sizes)
        made = values(rng, () if rng.random() < 0.03 else own, rng.choice(some))
        return laid(rng, made) if made.ndim else made

    a, b, c = (array() for _ in range(3))
    if (way := rng.random()) < 0.03:
        b = a
    elif way < 0.08 and a.ndim:
        b, c = a[1:], a[:-1]
    elif way < 0.1:
        b = a.T
    return [a, b, c, int(rng.integers(5))]
