"""Products that np.einsum names, drawn at random, under jit and in ckernels.numpy: NumPy's numbers,
dtypes, shapes and errors.

Letters come again in one operand and in others, with sizes of 0 and of 1 (which NumPy repeats) and
of another number (which it refuses); with an ellipsis, without an output, as lists of numbers, of
any dtypes together.
"""

import warnings
from functools import partial

import numpy as np
import pytest

import ckernels as ck
import ckernels.numpy as cnp

LETTERS = "abcde"
DTYPES = ["float64", "float64", "float32", "int64", "int8", "uint16", "bool", "complex64",
          "complex128", "float16"]  # fmt: skip


class Draw:
    """subscripts: of np.einsum; terms: of each operand; arrays."""

    def __init__(self, seed):
        self.r = r = np.random.default_rng(seed)
        count = int(r.choice([1, 1, 2, 2, 2, 3, 4]))
        letters = LETTERS[: int(r.integers(1, 6))]
        sizes = dict(zip(letters, r.choice([0, 1, 2, 3, 3, 4, 5, 9], len(letters))))
        dotted = r.random() < 0.3
        self.terms = []
        for _ in range(count):
            term = list(r.choice(list(letters), int(r.integers(0, 4))))
            if dotted and r.random() < 0.7:
                term.insert(int(r.integers(len(term) + 1)), "...")
            self.terms.append(term)
        used = sorted({t for term in self.terms for t in term} - {"..."})
        self.output = None
        if r.random() < 0.7:
            self.output = [str(t) for t in r.permutation(used)[: int(r.integers(0, len(used) + 1))]]
            if any("..." in term for term in self.terms) and r.random() < 0.9:
                self.output.insert(int(r.integers(len(self.output) + 1)), "...")
        more = r.choice([1, 2, 3], int(r.integers(0, 3)))
        dtypes = r.choice(DTYPES, count if r.random() < 0.4 else 1)
        self.arrays = []
        for k, term in enumerate(self.terms):
            shape = []
            for t in term:
                if t == "...":
                    shape += [1 if r.random() < 0.2 else s for s in more[r.integers(3) :]]
                else:
                    shape.append(
                        1 if r.random() < 0.05 else sizes[t] + (r.random() < 0.02)
                    )  # another one
            self.arrays.append(self.array(shape, dtypes[k % len(dtypes)]))

    def array(self, shape, dtype):
        r = self.r
        x = r.integers(0, 5, shape)
        if np.dtype(dtype).kind in "fc":
            x = x + r.normal(size=shape)
        x = np.asarray(x * (1 + 0.5j) if np.dtype(dtype).kind == "c" else x).astype(dtype)
        if x.ndim > 1 and r.random() < 0.3:
            x = np.asfortranarray(x)
        return x[::-1] if x.ndim and r.random() < 0.2 else x

    def call(self):
        """(function of a module, the arrays and options; the options; how it is written)."""
        options = {}
        if self.r.random() < 0.3:
            options["optimize"] = [True, False, "greedy", "optimal"][self.r.integers(4)]
        if self.r.random() < 0.2:  # lists of numbers
            numbers = {t: k for k, t in enumerate(LETTERS)} | {"...": Ellipsis}
            lists = [[numbers[t] for t in term] for term in self.terms]
            output = [] if self.output is None else [[numbers[t] for t in self.output]]

            def call(module, *arrays, **options):
                pairs = [x for pair in zip(arrays, lists) for x in pair]
                return module.einsum(*pairs, *output, **options)

            return call, options, (lists, output)
        text = ",".join("".join(term) for term in self.terms)
        text += "" if self.output is None else "->" + "".join(self.output)
        return lambda m, *arrays, **options: m.einsum(text, *arrays, **options), options, text


def outcome(function, *arrays):
    try:
        return np.asarray(function(*arrays))
    except Exception as problem:
        return problem


def alike(want, got):
    if isinstance(want, Exception) or isinstance(got, Exception):
        return isinstance(got, (ValueError, TypeError)) and isinstance(
            want, (ValueError, TypeError)
        )
    if want.dtype != got.dtype or want.shape != got.shape:
        return False
    if want.dtype.kind in "biu":
        return np.array_equal(want, got)
    eps = 200 * np.finfo(want.dtype).eps
    return np.allclose(want, got, eps, eps * (1 + np.abs(want).max(initial=0)), equal_nan=True)


def check(seed):
    """Whether NumPy gives a result."""
    d = Draw(seed)
    call, options, text = d.call()
    wants = [outcome(partial(call, np, **o), *d.arrays) for o in (options, {})]
    ways = {
        "jit": lambda *a: ck.jit(lambda *b: call(np, *b, **options))(*a),
        "numpy": lambda *a: np.asarray(call(cnp, *map(cnp.asarray, a), **options)),
    }
    for way, function in ways.items():
        got = outcome(function, *d.arrays)
        shown = [(a.shape, a.dtype.name) for a in d.arrays]
        told = (
            f"seed {seed}, {way}: {text} {options} of {shown}: {got!r:.300}, not {wants[0]!r:.300}"
        )
        assert any(alike(want, got) for want in wants), told
    return not isinstance(wants[0], Exception)


def run(seeds):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return sum(map(check, seeds))


def test_random_products():
    with ck.config.change(mode="reference"):
        assert run(range(60)) > 40


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["reference", "compiled"])
def test_many_random_products(many, new_seed, mode):
    with ck.config.change(mode=mode):
        run(range(new_seed, new_seed + many // (5 if mode == "reference" else 20)))
