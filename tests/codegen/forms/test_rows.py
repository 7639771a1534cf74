"""Row programs: what the second loop over a row asks for, and that it computes the same."""

import numpy as np
import pytest

from ckernels import ops
from ckernels.reference import evaluate
from ckernels.runtime.function import make_function

from ..planned import leaf

RNG = np.random.default_rng(3)


def run(build, x):
    """(result, lines of C that prefetch) of build(leaf) on x; the result is checked."""
    s = leaf((None,) * x.ndim, x.dtype.name)
    root = build(s)
    function = make_function([s], [root], positional_only=True)
    (got,) = function(x)
    np.testing.assert_allclose(got, evaluate([root], {s: x})[0], rtol=2e-4, atol=2e-5)
    return [line.strip() for line in function.info.source().split("\n") if "_prefetch" in line]


def normalised(x):
    off = x - ops.mean(x, 1, keepdims=True)
    return off / ops.sqrt(ops.mean(ops.square(off), 1, keepdims=True) + 1e-5)


def softmax(x):
    return ops.softmax(x, 1)


def shaped(rows, columns):
    return RNG.standard_normal((rows, columns), dtype="float32")


def test_long_rows_from_memory_ask_for_what_comes_next():
    asked = run(normalised, shaped(700, 800))
    assert [line.endswith(", 1);") for line in asked] == [False, True]  # the next row; the result


@pytest.mark.parametrize("shape", [(64, 768), (40000, 16), (9, 4097)], ids=str)
def test_rows_in_cache_short_ones_and_very_long_ones_do_not(shape):
    assert not run(normalised, shaped(*shape))


@pytest.mark.parametrize("shape", [(2, 2), (3, 7), (5, 513), (6, 1025)], ids=str)
def test_exponentials_always_do(shape):
    assert len(run(softmax, shaped(*shape))) == 2


def test_only_what_lies_side_by_side_is_asked_for():
    assert all("a0" not in line for line in run(lambda x: softmax(x[:, ::2]), shaped(20, 40)))
    assert not run(lambda x: ops.sum(ops.exp(x - 1), 1), shaped(20, 40))  # one loop


# ---- the vector that ends with the row ----


LONG = [
    *range(14, 35),
    47,
    48,
    49,
    100,
    511,
    512,
    513,
    520,
    528,
    1000,
    1023,
    1024,
    1025,
    4097,
    5000,
]
RESTS = {
    "softmax": softmax,
    "sum": lambda x: ops.sum(ops.exp(x), 1),
    "product": lambda x: ops.prod(ops.exp(x / 100), 1),
    "maximum": lambda x: ops.max(x, 1),
    "minimum": lambda x: ops.min(ops.tanh(x), 1),
    "of conditions": lambda x: ops.any(ops.exp(x) > 9, 1),
    "together": lambda x: (
        ops.tanh(x) - ops.max(x, 1, keepdims=True) * ops.sum(ops.exp(x), 1)[:, None]
    ),
    "argmax": lambda x: ops.argmax(ops.tanh(x), 1),
    "spread": lambda x: ops.sum(ops.square(ops.sin(x - ops.mean(ops.cos(x), 1)[:, None])), 1),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", RESTS)
def test_rows_of_all_lengths(name, dtype):
    """Whatever is left behind the last whole vector counts once, with NaN and infinities in it."""
    x = leaf((None, None), dtype)
    root = RESTS[name](x)
    f = make_function([x], [root], positional_only=True)
    for columns in LONG:
        a = shaped(6, columns).astype(dtype)
        a[1, -1], a[2, -17:-14], a[3, -1], a[4, -2] = 4, np.nan, np.inf, -np.inf
        a[5] = 1
        with np.errstate(all="ignore"):
            (want,) = evaluate([root], {x: a.astype("float64")})
            got = f(a)[0]
        rtol = 2e-5 if dtype == "float32" else 1e-11
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol, err_msg=str(columns))


def test_rests_of_pieces_of_a_row():
    """Axes that do not lie as one: each piece has a rest of its own."""
    x = leaf((None, None, None))
    root = ops.softmax(ops.reshape(x, (-1,)))[:1] + ops.sum(ops.exp(x), (0, 2))[:1]
    both = [ops.sum(ops.exp(x), (0, 2)), ops.max(x, (0, 2)), root]
    f = make_function([x], both, positional_only=True)
    for shape in ((3, 4, 17), (2, 40, 33), (5, 3, 100), (4, 2, 16), (1, 1, 31)):
        a = RNG.standard_normal(shape, dtype="float32")
        for array in (a, np.repeat(a, 2, 2)[:, :, ::2], np.asfortranarray(a)):
            for got, want in zip(f(array), evaluate(both, {x: array})):
                np.testing.assert_allclose(got, want, rtol=1e-5)


def test_only_dear_loops_and_extremes_take_the_rest_as_a_vector():
    def ends(build):
        s = leaf((None, None))
        f = make_function([s], [build(s)], positional_only=True)
        f(shaped(40, 20))
        return f.info.source().count("- 16; j <")

    assert ends(softmax) == 2
    assert ends(lambda x: ops.sum(ops.square(x), 1)) == 0
    assert ends(normalised) == 0
    assert ends(lambda x: ops.max(x, 1)) == 1
