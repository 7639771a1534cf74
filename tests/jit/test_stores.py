"""What may be stored into arrays under jit: elements, lists and numbers that fit or not, as the
NumPy at hand has it. It raises where NumPy raises and leaves what NumPy leaves."""

import warnings

import numpy as np
import pytest

import ckernels as ck
from ckernels.config import config

from .beside import same, written

KEYS = """b[0]|b[np.int64(0)]|b[np.array(0)]|b[(0,)]|b[0, ...]|b[..., 0]|m[0, 0]|m[0]|z[()]|z[...]
b[0:1]|b[[0]]|b[[0, 1]]|b[b > 5]|b[None, 0]|b[k]|m[k, 0]"""
STORES = """{} = x|{} += x|{} = [x]|{} = (x,)|{} = x[None]|{} = x.sum()|{} = [2.5]|{} = [[2.5]]
for i in range(3): {} = x|if k == 0: {} = x"""
METHODS = "b.fill(x)|b.fill([1.5])|b.put(0, x)|np.copyto(z, x)|z.fill(x)"
NUMBERS = """b[0] = 300|b[0] = -1|b[:] = 300|b[0:1] = [300]|b[1:] = [1, -1]|b[:] = [c[0], 300, 1]
b[[0]] = [300]|b[b > 5] = [300]|b.fill(-1)|b[0] = np.int64(300)|b[:] = np.float32(1e10)|b[0] = k
b[0] = c[0]|b[:] = c|b[0] = c[0] * 1.5|b[:] = [1.5, 2.5, 3.5]|b[0] = np.nan|b[0] = 1j|b[:] = []
b[0] = max(300, c[0])|b[0] = 300 if c[0] > 1 else c[1]|b[:] = [k, k, 1]|b[:] = (c[0], c[1], c[2])"""

RANGES = """arange(b[0])|arange(b[0], b[1])|arange(0, b[1])|arange(b[0], 9, b[1])|r_[b[0] : b[1]]
arange(b[0], dtype=b.dtype)|r_[0 : b[1]]|linspace(0, b[1], 3)"""


def split(text):
    return text.replace("\n", "|").split("|")


def after(function, args):
    """What a call leaves in its arguments, or the class of what it raises."""
    with warnings.catch_warnings(), config.change(mode="reference"), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            function(*args)
        except Exception as problem:
            return type(problem)
    return args


def compare(text, names, cases, folder):
    function = written(f"import numpy as np\ndef f({names}):\n    {text}\n", "f", folder)
    jitted = ck.jit(function)
    for args in cases:
        want, got = (after(f, [np.copy(a) if isinstance(a, np.ndarray) else a for a in args])
                     for f in (function, jitted))  # fmt: skip
        if isinstance(want, type) or isinstance(got, type):
            assert want is got, (text, args)
            continue
        for one, other in zip(want, got, strict=True):
            same(one, other)


def test_elements(tmp_path):
    items = (np.ones(1), np.ones((1, 1)), np.ones(2), np.float64(1), np.array(1.0), np.ones(0),
             np.ones(12))  # fmt: skip
    cases = [(np.arange(12.0), np.zeros((2, 2)), np.zeros(()), x, 0) for x in items]
    for text in [s.format(key) for key in split(KEYS) for s in split(STORES)] + split(METHODS):
        compare(text, "b, m, z, x, k", cases, tmp_path)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "float16", "bool"])
def test_numbers_that_fit_or_not(dtype, tmp_path):
    cases = [(np.array([1, 7, 9]).astype(dtype), np.array(c).astype(d), k)
             for c in ([1, 2, 3], [300, -5, 7]) for d in ("int64", "float64", "uint8")
             for k in (3, 300, -1, 2.5)]  # fmt: skip
    for text in split(NUMBERS):
        compare(text, "b, c, k", cases, tmp_path)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64", "int64", "float32"])
def test_ranges_of_scalars(dtype, tmp_path):
    calls = "arange(b[0])|arange(b[0], b[1])|arange(0, b[1])|arange(b[0], 9, b[1])|r_[b[0] : b[1]]"
    for call in [
        *split(calls),
        "arange(b[0], dtype=b.dtype)",
        "r_[0 : b[1]]",
        "linspace(0, b[1], 3)",
    ]:
        text = f"import numpy as np\ndef f(b):\n    return np.{call}\n"
        function, b = written(text, "f", tmp_path), np.array([2, 5], dtype)
        with config.change(mode="reference"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same(function(b), ck.jit(function)(b))


def haar(x):
    y, n = x.copy(), len(x)
    while n > 1:
        half = n // 2
        a, d = (y[:n:2] + y[1:n:2]) / 2, (y[:n:2] - y[1:n:2]) / 2
        y[:half] = a
        y[half:n] = d
        n = half
    return y


def halves_of_data(x, k):
    y, n = np.zeros_like(x), k[0]
    while n > 1:
        y[: n // 2] = x[n // 2 : n // 2 * 2]
        n = n // 2
    return y


def test_stores_in_slices_whose_lengths_turns_decide_are_turns_of_their_own():
    for n in (1, 2, 16, 64, 256):
        x = np.random.default_rng(n).normal(size=n)
        for each in (x, x.astype("float32")):
            jitted = ck.jit(haar, strict=True)
            for _ in range(2):
                same(haar(each), jitted(each))
    jitted, x = ck.jit(halves_of_data), np.arange(64.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in (64, 9, 1):
            same(halves_of_data(x, [k]), jitted(x, np.array([k])))
