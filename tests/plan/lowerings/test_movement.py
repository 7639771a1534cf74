"""Layouts as memory: which are one and the same."""

from dataclasses import replace

import numpy as np
import pytest
from ops.agree import leaf

from ckernels import ops
from ckernels.codegen.layout import Layout
from ckernels.graph.node import constant, make
from ckernels.plan.instructions import PYCALL
from ckernels.plan.lowerings.movement import lies_in, narrow
from ckernels.runtime.function import make_function

HERE = Layout(("tmp", 0), (3, 1, 4), (4, 4, 1), "float32", 2)


def test_axes_of_size_1_lie_anywhere():
    assert lies_in(HERE, HERE) and lies_in(HERE, replace(HERE, strides=(4, 99, 1)))


@pytest.mark.parametrize(
    "there",
    [
        dict(strides=(4, 4, 3)),
        dict(strides=(1, 4, 1)),
        dict(strides=(1, 4, 3)),
        dict(offset=0),
        dict(buffer=("tmp", 1)),
    ],
)
def test_another_place_or_order_is_not_the_same(there):
    assert not lies_in(HERE, replace(HERE, **there))


def test_only_indices_that_are_widened_are_read_as_they_are():
    x = leaf((5,), "int8")
    values = ops.cast(x, "int64")
    for dtype, to, bare in (
        ("int16", "int64", True),
        ("uint32", "int64", True),
        ("int64", "int32", False),  # what wraps around is another index
        ("uint64", "int64", False),
        ("bool", "int64", False),
    ):
        i = leaf((3,), dtype)
        node = make("take", (values, ops.cast(i, to)), {"axis": 0})
        read = narrow(node).inputs
        assert read == (values, i if bare else ops.cast(i, to)), (dtype, to)
    assert narrow(ops.neg(values)) is ops.neg(values)


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32", "int16"])
def test_parts_of_numbers_and_of_complex_ones(dtype):
    """A loop moves those that are in C; NumPy the complex ones, wherever they lie."""
    rng = np.random.default_rng(2)
    a = (10 * rng.normal(size=(6, 5))).astype(dtype) * np.array(2, dtype)
    b, at = a[:3, ::-1], np.array([2, 0, 2])
    if np.dtype(dtype).kind == "c":
        a.imag, b = rng.normal(size=a.shape), a[:3, ::-1]
    x, y = leaf((None, None), dtype), leaf((None, None), dtype)
    built = [
        ops.pad(x, ((1, 2), (0, 3))),
        make("diagonal", (x,), {"axes": (0, 1), "offset": -1}),
        make("diagonal", (x,), {"axes": (1, 0), "offset": 2}),
        ops.scatter_add(x, constant(at), y, 0),
        make("again", (x, constant(at))),
    ]
    summed = np.zeros_like(a)
    np.add.at(summed, at, b)
    wants = [np.pad(a, ((1, 2), (0, 3))), a.diagonal(-1), a.diagonal(-2), summed, a]
    f = make_function([x, y], built)
    for u, v in (
        (a, b),
        (np.asfortranarray(a), b),
        (np.repeat(a, 2, 0)[::2], np.ascontiguousarray(b)),
    ):
        for got, want in zip(f(u, v), wants):
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-6)
    in_c = all(i.kind != PYCALL for i in f.info.program.instructions)
    assert in_c == (np.dtype(dtype).kind != "c")
    for got, shape in zip(f(a[:, :0], b[:, :0]), ((9, 3), (0,), (0,), (6, 0), (6, 0))):
        assert got.shape == shape


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float16", "float32", "float64"])
@pytest.mark.parametrize("count", [2, 3, 4, 5, 17])
def test_stacks_are_numpys_bit_by_bit(dtype, count):
    rng = np.random.default_rng(count)
    x = [leaf((None, None), dtype) for _ in range(count)]
    given = [rng.integers(0, 2, (6, 35)).astype(dtype) for _ in x]
    if dtype.startswith("float"):
        given[0][1, :4] = np.nan, -0.0, np.inf, -np.nan
    for axis in (0, 1, 2):
        f = make_function(x, [ops.stack(x, axis)], positional_only=True, downcast=False)
        for part in (np.s_[:, :], np.s_[:, ::-2], np.s_[::2, 1:], np.s_[:0], np.s_[:1, :1]):
            arrays = [a[part] for a in given]
            got, want = f(*arrays)[0], np.stack(arrays, axis)
            assert got.dtype == want.dtype and got.tobytes() == want.tobytes()


def test_what_is_stacked_is_computed_where_it_belongs():
    """Not what somebody else reads, nor what is stacked twice."""
    a = np.random.default_rng(1).normal(size=(5, 33)).astype("float32")
    e = np.exp(a)
    x = leaf((None, None))
    y, z = ops.exp(x), x * x
    for outputs, want, steps in (
        ([ops.stack([y, z], 2)], [np.stack([e, a * a], 2)], 1),
        ([ops.stack([y, z], 0)], [np.stack([e, a * a])], 1),
        ([ops.stack([y, x], 2)], [np.stack([e, a], 2)], 2),
        ([ops.stack([y, y], 2)], [np.stack([e, e], 2)], 2),
        ([ops.stack([y, z], 2), y], [np.stack([e, a * a], 2), e], 2),
        ([ops.stack([y, z], 1), ops.sum(y, 0)], [np.stack([e, a * a], 1), e.sum(0)], 2),
    ):
        f = make_function([x], outputs, positional_only=True)
        for got, one in zip(f(a), want):
            np.testing.assert_allclose(got, one, rtol=1e-6)
        assert len(f.steps()) == steps, f.steps()


def test_parts_of_complex_numbers_are_computed_where_they_belong():
    """Not what somebody else reads, nor what is both parts."""
    a = np.random.default_rng(1).normal(size=(5, 33))
    e, s = np.exp(a), np.sin(a)
    x = leaf((None, None), "float64")
    y, z = ops.exp(x), ops.sin(x)
    for outputs, want, steps in (
        ([make("complex_of", (y, z))], [e + 1j * s], 1),
        ([make("complex_of", (y, y))], [e + 1j * e], 3),
        ([make("complex_of", (y, z)), ops.cumsum(y, 1)], [e + 1j * s, e.cumsum(1)], 3),
        ([make("complex_of", (y, z)), z], [e + 1j * s, s], 2),
    ):
        f = make_function([x], outputs, positional_only=True, downcast=False)
        for got, one in zip(f(a), want):
            np.testing.assert_allclose(got, one, rtol=1e-12)
        assert len(f.steps()) == steps, f.steps()


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("key", [(2, 1), (1, 9), (9, 1), (-9, 1), (1, -9), (9, 9)])
def test_each_index_of_a_place_has_to_exist(key, add):
    x, y = leaf((None, None)), leaf(())
    f = make_function([x, y], [(ops.inc_subtensor if add else ops.set_subtensor)(x, key, y)])
    for shape in ((12, 12), (3, 4), (12, 4), (3, 12)):
        a = np.arange(float(np.prod(shape))).reshape(shape)
        want = a.copy()
        try:
            want[key] = want[key] * add + 7
        except IndexError:
            with pytest.raises(IndexError):
                f(a, 7.0)
        else:
            np.testing.assert_array_equal(f(a, 7.0)[0], want)
