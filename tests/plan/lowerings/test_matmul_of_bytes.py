"""Products of matrices of bytes are those of int32, of every size and layout."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.autodiff.batch import batched
from ckernels.base.errors import DTypeError, ShapeError
from ckernels.config import config
from ckernels.ops.base import to_node
from ckernels.plan.instructions import PYCALL
from ckernels.plan.lowerings.matmul_of_bytes import TALL, WIDE

RNG = np.random.default_rng(5)


def compiled(after=lambda y: y, ndim=2):
    a, b = (K.placeholder((None,) * n, dtype="int8") for n in (ndim, 2))
    return K.function([a, b], Tensor(after(ops.matmul_of_bytes(a.node, b.node))))


def bytes_of(*shape):
    return RNG.integers(-128, 128, shape, "int8")


def product(a, b):
    return np.matmul(a.astype("int32"), b.astype("int32"))


@pytest.fixture
def two_threads():
    before = K.get_num_threads()
    K.set_num_threads(2)
    yield
    K.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("arch", ["native", "generic"])  # with vectors and without
def test_sizes_around_those_of_blocks(arch):
    with config.change(arch=arch):
        f = compiled()
        for m in (0, 1, 2, 3, 4, 5, 6, 7, 13, TALL + 1, 2 * TALL + 3):
            for k in (0, 1, 7, 8, 9, 17, 256, 257, 515):
                for n in (0, 1, 15, 16, 17, WIDE - 1, WIDE, WIDE + 33):
                    a, b = bytes_of(m, k), bytes_of(k, n)
                    np.testing.assert_array_equal(f(a, b), product(a, b))
        a, b = bytes_of(2, 30), bytes_of(30, 1024 + WIDE + 7)  # more than one run of columns
        np.testing.assert_array_equal(f(a, b), product(a, b))
    assert all(i.kind != PYCALL for i in f.info.program.instructions)


@pytest.mark.parametrize("rows", [1, 4])
def test_the_ends_of_bytes_and_sums_beyond_32_bits(rows):
    f = compiled()
    for k in (2, 8, 16 * 2**13, 20 * 2**13):
        a, b = np.full((rows, k), -128, "int8"), np.full((k, 3), -128, "int8")
        b[:, 1] = 127
        np.testing.assert_array_equal(f(a, b), product(a, b))


@pytest.mark.parametrize("rows", [2, 9])
def test_layouts(rows):
    a, b, f = bytes_of(20, rows * 2).T, bytes_of(40, 70), compiled()
    for x in (a[::2], a[::-2], np.asfortranarray(a[1::2])):
        for y in (b[::2], b[:20, ::-1], b[19::-1], bytes_of(70, 20).T, b[::2, 5:6]):
            np.testing.assert_array_equal(f(x, y), product(x, y))
    x, y = bytes_of(rows, 20), bytes_of(20, 70)
    for after in (
        lambda n: ops.concatenate([n, n], 1),  # a part of a larger result
        lambda n: ops.transpose(ops.concatenate([ops.transpose(n), ops.transpose(n)], 0)),
        lambda n: ops.transpose(n),
    ):
        want = K.eval(Tensor(after(to_node(product(x, y)))))
        np.testing.assert_array_equal(compiled(after)(x, y), want)


def test_many_matrices_by_one_and_by_one_each():
    a, b = bytes_of(3, 4, 20), bytes_of(20, 30)
    np.testing.assert_array_equal(compiled(ndim=3)(a, b), product(a, b))
    for which in ((True, False), (False, True), (True, True)):
        arrays = [bytes_of(*(3,) * wide, *s) for wide, s in zip(which, ((4, 20), (20, 30)))]
        wide = [K.placeholder(x.shape, dtype="int8") for x in arrays]
        one = [K.placeholder(x.shape[-2:], dtype="int8").node if many else w.node
               for x, w, many in zip(arrays, wide, which)]  # fmt: skip
        made = ops.matmul_of_bytes(*one)
        (found,) = batched([made], {o: w.node for o, w, many in zip(one, wide, which) if many})
        np.testing.assert_array_equal(K.function(wide, Tensor(found))(*arrays), product(*arrays))


def test_what_is_refused():
    a = K.placeholder((2, 3), dtype="int8").node
    with pytest.raises(DTypeError, match="needs int8"):
        ops.matmul_of_bytes(a, K.placeholder((3, 4), dtype="int16").node)
    with pytest.raises(ShapeError, match="3 columns against 4 rows"):
        ops.matmul_of_bytes(a, K.placeholder((4, 4), dtype="int8").node)
    with pytest.raises(ShapeError, match="matmul_of_bytes of shapes"):
        ops.matmul_of_bytes(a, K.placeholder((3,), dtype="int8").node)
