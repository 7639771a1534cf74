"""Products of bytes: exact as sums of integers are, whatever runs them; quantised layers."""

import keras
import numpy as np
import pytest
from keras import layers, ops

from ckernels.keras3 import jit

RNG = np.random.default_rng(2)
LOW = np.full((3, 2000), -128, "int8")  # the largest products there are: all of one sign


def drawn(*shape):
    return RNG.integers(-128, 128, shape).astype("int8")


@pytest.mark.parametrize(
    "a, b",
    [
        (drawn(3, 1), drawn(1, 4)),
        (drawn(5, 0), drawn(0, 2)),
        (drawn(0, 3), drawn(3, 2)),
        (LOW[:, :1023], LOW[:, :1023].T),
        (LOW[:, :1024], LOW[:, :1024].T),
        (LOW[:, :1025], LOW[:, :1025].T),
        (LOW, drawn(2000, 5)),
        (LOW[:, :1100], drawn(1100)),
        (drawn(2049), drawn(2049)),
        (drawn(2, 3, 1500), drawn(2, 1500, 4)),
        (drawn(2, 2**16 + 1), drawn(2**16 + 1, 3)),
        (drawn(2, 3, 7), drawn(2, 7, 4)),
        (drawn(2, 3, 7), drawn(7, 4)),
        (drawn(7), drawn(7, 4)),
        (drawn(4, 7), drawn(7)),
        (drawn(6, 3).T, drawn(12, 4)[::2]),
    ],
)
def test_bytes(a, b):
    wanted = np.matmul(a.astype("int64"), b.astype("int64"))
    for found in (ops.matmul(a, b), jit(ops.matmul)(a, b)):
        assert found.dtype == "int32"
        np.testing.assert_array_equal(found, wanted)


def test_an_open_axis_of_sums_and_an_overflow():
    step = jit(lambda a, b: ops.matmul(ops.transpose(a), b))  # the first axis is open
    for n in (3, 1500):
        a, b = drawn(n, 2), drawn(n, 3)
        np.testing.assert_array_equal(step(a, b), a.T.astype("int64") @ b.astype("int64"))
    a = np.full((1, 2**17 + 1), -128, "int8")
    wrapped = np.array([[(2**17 + 1) * 2**14]]).astype("int32")
    np.testing.assert_array_equal(ops.matmul(a, a.T), wrapped)
    np.testing.assert_array_equal(jit(ops.matmul)(a, a.T), wrapped)


@pytest.mark.parametrize(
    "subscripts, shapes",
    [
        ("ab,bc->ac", [(3, 1500), (1500, 2)]),
        ("abc,cd->abd", [(2, 3, 5), (5, 4)]),
        ("...c,cd->...d", [(2, 3, 5), (5, 4)]),
        ("ab,ab->", [(40, 50), (40, 50)]),
        ("abde,dec->cab", [(2, 3, 4, 50), (4, 50, 6)]),
        ("aecd,abcd->acbe", [(2, 3, 4, 50), (2, 6, 4, 50)]),
        ("abc,bd->ad", [(3, 4, 50), (4, 5)]),
        ("ij,kl", [(2, 3), (4, 5)]),
        ("ab,bc,cd->ad", [(2, 3), (3, 4), (4, 2)]),
        ("aab->b", [(3, 3, 2)]),
    ],
)
def test_einsum_of_bytes(subscripts, shapes):
    xs = [drawn(*s) for s in shapes]
    wanted = np.einsum(subscripts, *(x.astype("int64") for x in xs)).astype("int32")
    for found in (ops.einsum(subscripts, *xs), jit(lambda *v: ops.einsum(subscripts, *v))(*xs)):
        assert found.dtype == "int32"
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("subscripts, first, second", [
    ("ab,ab", (2, 3), (3, 2)), ("iab,iab->", (5, 6, 1), (5, 1, 7)), ("aa->a", (2, 3), None),
    ("iab,jab->ij", (2, 6, 1), (3, 1, 6)), ("iaa->i", (2, 2, 3), None)])  # fmt: skip
def test_letters_of_other_sizes(subscripts, first, second):
    """An axis of 1 is repeated, others are refused, though products of sizes may be equal."""
    xs = [drawn(*s).astype("float32") for s in (first, second) if s]
    step = jit(lambda *v: ops.einsum(subscripts, *v))
    try:
        wanted = np.einsum(subscripts, *xs)
    except ValueError:
        with pytest.raises(ValueError):
            step(*xs)
    else:
        np.testing.assert_allclose(step(*xs), wanted, rtol=1e-5)


def test_bytes_beside_others_are_no_bytes():
    a, b = drawn(3, 4), RNG.normal(size=(4, 2)).astype("float32")
    np.testing.assert_allclose(jit(ops.matmul)(a, b), a.astype("float32") @ b, rtol=1e-6)
    c = np.abs(a).astype("uint8")
    for product in (ops.matmul, jit(ops.matmul)):
        found = product(a, c.T)
        assert found.dtype == "int16"
        np.testing.assert_array_equal(found, (a.astype("int64") @ c.T).astype("int16"))


@pytest.mark.parametrize("mode", ["int8", "int4"])
def test_quantised_layers(mode):
    model = keras.Sequential(
        [
            keras.Input((6,), dtype="int32"),
            layers.Embedding(9, 16),
            layers.EinsumDense("abc,cd->abd", (6, 8), bias_axes="d", activation="relu"),
            layers.Flatten(),
            layers.Dense(4),
        ]
    )
    x = RNG.integers(0, 9, (5, 6))
    before = model.predict(x, verbose=0)
    model.quantize(mode)
    found = model.predict(x, verbose=0)
    np.testing.assert_allclose(found, model(x), rtol=1e-4, atol=1e-5)
    assert 0 < np.abs(found - before).max() < 0.25 * np.abs(before).max()
