"""Which loops walk the rows of a product as they lie, and which almost do."""

from types import SimpleNamespace

import numpy as np
import pytest

import ckernels as K
from ckernels.codegen.dims import LaunchDims, Strides
from ckernels.codegen.ir import Kernel, Operand
from ckernels.plan.epilogue import walks_rows
from ckernels.plan.instructions import KernelCall

ROWS, N, C = 3, 4, ("tmp", 0)
PRODUCT = SimpleNamespace(rows=ROWS, columns=N, writes=[C])


def loop(form, count, n, runs=(), steps=((1, (), ()),), offset=0):
    """A loop over `count` with the operand C, whose strides are `steps`."""
    outer = len(steps[0][1])
    operands = tuple(Operand("in", "float32", "n", outer=bool(s[1]), run=bool(s[2])) for s in steps)
    kernel = Kernel(form, outer, len(runs), operands)
    dims = LaunchDims(n, (count,) if outer else (), runs, None, tuple(Strides(*s) for s in steps))
    pointers = [(C, offset), *((("in", k), 0) for k in range(1, len(steps)))]
    return KernelCall(
        name="loop", kernel=kernel, n=count, dims=dims.words(operands), pointers=pointers
    )


@pytest.mark.parametrize(
    "made",
    [
        dict(form="flat", count=ROWS * N, n=ROWS * N),
        dict(form="rows", count=ROWS, n=N, steps=((1, (N,), ()),)),
        dict(form="columns", count=ROWS, n=ROWS, runs=(N,), steps=((N, (), (1,)),)),
    ],
    ids=lambda made: made["form"],
)
def test_a_loop_over_all_rows_of_c_walks_them(made):
    assert walks_rows(PRODUCT, loop(**made))


@pytest.mark.parametrize(
    "made",
    [
        dict(form="flat", count=ROWS * N - 1, n=ROWS * N - 1),
        dict(form="flat", count=ROWS * N, n=ROWS * N, offset=4),
        dict(form="flat", count=ROWS * N, n=ROWS * N, steps=((2, (), ()),)),
        dict(form="rows", count=ROWS - 1, n=N, steps=((1, (N,), ()),)),
        dict(form="rows", count=ROWS, n=N - 1, steps=((1, (N,), ()),)),
        dict(form="rows", count=ROWS, n=N, steps=((1, (2 * N,), ()),)),
        dict(form="rows", count=ROWS, n=N, runs=(2,), steps=((1, (N,), (N,)),)),
        dict(form="columns", count=ROWS, n=ROWS - 1, runs=(N,), steps=((N, (), (1,)),)),
        dict(form="columns", count=ROWS, n=ROWS, runs=(N - 1,), steps=((N, (), (1,)),)),
        dict(form="columns", count=ROWS, n=ROWS, runs=(N,), steps=((1, (), (N,)),)),
        dict(form="columns", count=ROWS, n=ROWS, runs=(N,), steps=((N, (), (1,)),), offset=4),
    ],
    ids=lambda made: "-".join(map(str, made.values())),
)
def test_what_almost_walks_them_does_not(made):
    assert not walks_rows(PRODUCT, loop(**made))


def test_an_only_row_lies_anywhere():
    one = SimpleNamespace(rows=1, columns=N, writes=[C])
    assert walks_rows(one, loop("rows", 1, N, steps=((1, (99,), ()),)))


def test_a_loop_that_does_not_read_c_walks_nothing():
    made = loop("flat", ROWS * N, ROWS * N)
    assert not walks_rows(SimpleNamespace(rows=ROWS, columns=N, writes=[("tmp", 1)]), made)


@pytest.mark.parametrize("turned", [False, True])
def test_a_loop_does_not_write_over_what_the_product_reads(turned):
    """The panels behind need all of it; where the loop runs alone it writes over its operand."""
    x, w = K.placeholder((300, 300), dtype="float64"), K.placeholder((300, 300), dtype="float64")
    e = K.sin(x)
    product = K.dot(K.transpose(e), w) if turned else K.dot(w, e)
    f = K.function([x, w], K.dot(K.tanh(product) + e, w))
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(300, 300)), rng.normal(size=(300, 300)) / 17
    s = np.sin(a)
    np.testing.assert_allclose(f(a, b), (np.tanh(s.T @ b if turned else b @ s) + s) @ b, atol=1e-9)
    assert "then" in f.steps()[1]
