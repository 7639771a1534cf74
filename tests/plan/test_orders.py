"""Results lie as their large operands do, as NumPy's do; what needs C order has it: variables,
exports, addresses, reshaped tensors, operands of other kernels. Near misses of the rule."""

import itertools

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor

DTYPES = ("float32", "float64", "int32", "uint8", "bool", "float16")


def laid(x, perm):
    """`x` with its axes in memory in this order, the outermost first."""
    return np.ascontiguousarray(x.transpose(perm)).transpose(np.argsort(perm))


def values(shape, dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    found = rng.integers(0, 2 if dtype == "bool" else 50, shape)
    return np.asarray(found, dtype)


def given(ndim, dtype="float32", count=1):
    made = [K.placeholder((None,) * ndim, dtype=dtype) for _ in range(count)]
    return made if count > 1 else made[0]


def same(got, wanted):
    """Values, and strides but for axes of size 1."""
    np.testing.assert_array_equal(got, wanted)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    strides = zip(got.shape, got.strides, wanted.strides)
    assert wanted.size == 0 or all(n == 1 or s == t for n, s, t in strides)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 7), (1, 6), (6, 1), (0, 3), (300, 70), (2, 3, 4), (3, 1, 4)])
def test_elementwise_results_lie_as_their_operands_do(dtype, shape):
    x, y = given(len(shape), dtype, 2)
    f = K.function([x, y], [K.equal(x, y), K.cast(x, "float64"), K.where(K.equal(x, y), x, y)])
    a, b = values(shape, dtype, 1), values(shape, dtype, 2)
    for perm in itertools.permutations(range(len(shape))):
        p, q = laid(a, perm), laid(b, perm)
        wanted = p == q, p.astype("float64"), np.where(p == q, p, q)
        for got, want in zip(f(p, q), wanted):
            same(got, want)


PROGRAMS = {  # what a user writes, and NumPy's
    "add": (lambda x, y: x + y, lambda x, y: x + y),
    "greater": (lambda x, y: K.greater(x, y), lambda x, y: x > y),
    "clip": (lambda x, y: K.clip(x, 3, 9), lambda x, y: x.clip(3, 9)),
    "turned": (lambda x, y: K.transpose(x) + K.transpose(y), lambda x, y: x.T + y.T),
    "behind": (lambda x, y: K.transpose(x * y), lambda x, y: (x * y).T),
    "cut": (lambda x, y: x[1:] * 2, lambda x, y: x[1:] * 2),
    "joined": (lambda x, y: K.concatenate([x, y], 1), lambda x, y: np.concatenate([x, y], 1)),
    "numbers": (lambda x, y: x * 2 + 1, lambda x, y: x * 2 + 1),
    "chain": (lambda x, y: K.sqrt(x * y) - y, lambda x, y: np.sqrt(x * y) - y),
    "sum 0": (lambda x, y: K.sum(x + y, 0), lambda x, y: (x + y).sum(0)),
    "sum 1": (lambda x, y: K.sum(x, 1), lambda x, y: x.sum(1)),
    "max 2": (lambda x, y: K.max(x, 2), lambda x, y: x.max(2)),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("perm", [(0, 1, 2), (2, 1, 0), (0, 2, 1), (1, 0, 2), (2, 0, 1), (1, 2, 0)])
def test_programs_lie_as_numpy_lays_them(name, perm):
    x, y = given(3, "float64", 2)
    build, wanted = PROGRAMS[name]
    p, q = (laid(values((4, 5, 6), "float64", k), perm) for k in (1, 2))
    got, want = K.function([x, y], build(x, y))(p, q), wanted(p, q)
    np.testing.assert_allclose(got, want, 1e-14)
    assert got.strides == want.strides


def test_complex_numbers():
    """They run in NumPy, into C order; views of them are right all the same."""
    x = given(2, "complex64")
    a = values((4, 5), "complex64") + 1j * values((4, 5), "float32", 1)
    f = K.function([x], [x * x, K.transpose(x * 2), K.transpose(x)[1:] + x[:4, :4]])
    for perm in ((0, 1), (1, 0)):
        for got, want in zip(f(laid(a, perm)), (a * a, (a * 2).T, a.T[1:] + a[:4, :4])):
            np.testing.assert_array_equal(got, want)


def test_strides_of_axes_of_one_do_not_count():
    """Also not one of 0, which elsewhere says that elements are seen again."""
    x, a = given(3, "float64"), laid(values((4, 1, 5), "float64"), (2, 1, 0))
    b = np.lib.stride_tricks.as_strided(a, a.shape, (a.strides[0], 0, a.strides[2]))
    for c in (b, b[..., ::2]):  # dense, and with gaps
        same(K.function([x], x * 2)(c), c * 2)
        assert (c * 2).strides[0] < (c * 2).strides[2]


@pytest.mark.parametrize("perm", [(1, 0), (0, 1)])
def test_near_misses_lie_in_c_order(perm):
    """One operand in another order, none of full size, one seen many times."""
    x, y = given(2, "float64", 2)
    a, b = values((6, 7), "float64", 1), values((6, 7), "float64", 2)
    same(K.function([x, y], x + y)(laid(a, (1, 0)), b), np.ascontiguousarray(a + b))
    row, column = laid(a[:1], (1, 0)), laid(a[:, :1], (1, 0))
    same(K.function([x, y], x * y)(row, column), np.ascontiguousarray(row * column))
    wide = np.broadcast_to(a[0], (6, 7))  # strides of 0
    same(K.function([x], x + 1)(wide), wide + 1)
    wide = np.broadcast_to(a[:, :1], (6, 7))
    np.testing.assert_array_equal(K.function([x], x + 1)(wide), wide + 1)
    same(K.function([x], K.transpose(x))(laid(a, perm)), np.ascontiguousarray(a.T))
    same(K.function([x], K.transpose(x[1:]))(laid(a, perm)), np.ascontiguousarray(a[1:].T))
    same(K.function([x], K.transpose(x)[1:])(laid(a, perm)), np.ascontiguousarray(a.T[1:]))


def test_what_a_product_reads_lies_in_any_order_where_it_is_a_matrix():
    x, w = given(2, "float64", 2)
    f = K.function([x, w], [K.exp(x), K.dot(K.exp(x), w)])
    a, b = values((6, 7), "float64", 1) / 50, values((7, 5), "float64", 2)
    for p in (a, laid(a, (1, 0))):
        wide, got = f(p, b)
        np.testing.assert_allclose(got, np.exp(a) @ b, 1e-13)
        assert wide.strides == p.strides
    x = given(3, "float64")
    f = K.function([x, w], [K.exp(x), K.dot(K.exp(x), w)])
    a = values((2, 6, 7), "float64", 1) / 50
    wide, got = f(laid(a, (2, 1, 0)), b)
    np.testing.assert_allclose(got, np.exp(a) @ b, 1e-13)
    assert wide.flags.c_contiguous


def test_small_operands_do_not_decide():
    x, y = given(2, "float64", 2)
    f = K.function([x, y], [x + y, K.maximum(y, x) * y])
    a = laid(values((60, 70), "float64", 1), (1, 0))
    for small in (values((1, 70), "float64"), values((60, 1), "float64"), np.ones((1, 1))):
        for got, want in zip(f(a, small), (a + small, np.maximum(small, a) * small)):
            same(got, want)
            assert got.flags.f_contiguous


def test_both_transposed_is_one_flat_loop():
    x, y = given(2, "float32", 2)
    for build in (lambda: K.transpose(x) + K.transpose(y), lambda: x + y):
        f = K.function([x, y], build())
        a = laid(values((40, 50)), (1, 0))
        f(a, a)
        assert "flat range" in f.source() and "row" not in f.source()


def test_a_result_may_show_what_was_computed_turned():
    """No copy: the transpose of a product, of a sum, with axes of 1 more and less."""
    x, w = given(2, "float64", 2)
    h = K.dot(x, w)
    f = K.function([x, w], [K.transpose(h), h])
    a, b = values((5, 3), "float64", 1), values((3, 4), "float64", 2)
    turned, straight = f(a, b)
    same(turned, (a @ b).T)
    same(straight, a @ b)
    g = K.function([x], K.expand_dims(K.transpose(K.exp(x)), 1))
    result = g(a)
    np.testing.assert_allclose(result, np.exp(a).T[:, None], 1e-15)
    assert len(g.steps()) == 1 and result[:, 0].flags.f_contiguous
    s = K.function([x], K.transpose(K.reshape(K.exp(x), (3, 5))))
    np.testing.assert_allclose(s(laid(a, (1, 0))), np.exp(a).reshape(3, 5).T, 1e-15)
    r = K.function([x], K.reshape(K.transpose(K.exp(x)), (5, 3)))
    np.testing.assert_allclose(r(a), np.exp(a).T.reshape(5, 3), 1e-15)
    np.testing.assert_allclose(r(laid(a, (1, 0))), np.exp(a).T.reshape(5, 3), 1e-15)


def test_what_is_reshaped_lies_in_c_order_at_once():
    x = given(3, "float64")
    f = K.function([x], K.reshape(K.sqrt(x), (-1, 4)))
    a = values((2, 3, 4), "float64")
    for perm in itertools.permutations(range(3)):
        same(f(laid(a, perm)), np.sqrt(a).reshape(-1, 4))
        assert len(f.steps()) == 1


READERS = {
    "sort": lambda h: K.sort(h, 1), "cumsum": lambda h: K.cumsum(h, 0),
    "gather": lambda h: K.gather(h, [2, 0]), "batch_dot": lambda h: K.batch_dot(h, h),
    "inverse": lambda h: K.inverse(h + 50 * np.eye(6)), "softmax": lambda h: K.softmax(h),
    "conv1d": lambda h: K.conv1d(h, np.ones((2, 6, 3))), "stack": lambda h: K.stack([h, h]),
    "roll": lambda h: K.roll(h, 1, 2), "repeat": lambda h: K.repeat_elements(h, 2, 1),
    "tile": lambda h: K.tile(h, (1, 2, 1)), "argmax": lambda h: K.argmax(h, 0),
    "pad": lambda h: K.temporal_padding(h, (1, 2)), "reverse": lambda h: K.reverse(h, 1),
    "flatten": lambda h: K.flatten(h), "moments": lambda h: K.var(h, (0, 2)),
}  # fmt: skip


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", READERS)
def test_operands_of_other_ops(name):
    """Sorts, running sums, gathers, products of batches, LAPACK read any order."""
    x = given(3, "float64")
    h, build = K.sqrt(x), READERS[name]
    f = K.function([x], [build(h), K.transpose(build(x)) + 1])
    g = K.function([x], build(K.permute_dimensions(h, (0, 2, 1))))
    a = values((6, 6, 6), "float64")
    wanted, turned = f(a), g(a)
    for perm in itertools.permutations(range(3)):
        for got, want in zip([*f(laid(a, perm)), g(laid(a, perm))], [*wanted, turned]):
            np.testing.assert_allclose(got, want, 1e-12)


def test_variables_lie_in_c_order():
    x = given(2, "float64")
    v = K.variable(np.zeros((3, 4)), dtype="float64")
    w = K.variable(np.zeros((4, 3)), dtype="float64")
    new = v + x
    f = K.function([x], [new, K.transpose(new)], updates=[(v, new), (w, K.transpose(new * x))])
    a = laid(values((3, 4), "float64"), (1, 0))
    for k in (1, 2, 3):
        straight, turned = f(a)
        np.testing.assert_array_equal(straight, k * a)
        np.testing.assert_array_equal(turned, k * a.T)
        for variable, want in ((v, k * a), (w, (k * a * a).T)):
            assert K.get_value(variable).flags.c_contiguous
            np.testing.assert_array_equal(K.get_value(variable), want)


def test_stores_in_place_keep_the_order():
    x = given(2, "float64")
    y = K.exp(x)
    f = K.function(
        [x], [K.set_subtensor(y[1:3], 7.0), K.transpose(K.inc_subtensor((x * 2)[0], 1.0))]
    )
    a = values((5, 6), "float64") / 50
    for perm in ((0, 1), (1, 0)):
        set_, inc = f(laid(a, perm))
        want = np.exp(a)
        want[1:3] = 7
        np.testing.assert_allclose(set_, want, 1e-15)
        want = 2 * a
        want[0] += 1
        np.testing.assert_allclose(inc, want.T, 1e-15)


def test_scans_and_branches_inside():
    x = given(2, "float64")
    steps = K.foldl(lambda s, row: s + K.transpose(K.transpose(row) * 2), K.exp(x))
    chosen = K.ifelse(K.sum(x) > 0, x * 2, x + 1)
    f = K.function([x], [steps, chosen, K.transpose(chosen) + 1])
    a = values((5, 6), "float64") / 50
    wanted = [np.exp(a)[0] + 2 * np.exp(a)[1:].sum(0), a * 2, (a * 2).T + 1]
    for perm in ((0, 1), (1, 0)):
        for got, want in zip(f(laid(a, perm)), wanted):
            np.testing.assert_allclose(got, want, 1e-14)


def test_large_results_from_the_pool():
    x = given(3, "float32")
    f = K.function([x], [x + 1, K.permute_dimensions(x * 2, (0, 2, 1))])
    a = values((20, 130, 210))
    for perm in itertools.permutations(range(3)):
        b = laid(a, perm)
        one, other = f(b)
        same(one, b + 1)
        same(other, (b * 2).transpose(0, 2, 1))


def test_addresses_are_of_c_order():
    x = K.placeholder((3, 4), dtype="float64")
    f = K.function([x], K.transpose(K.exp(x)))
    a = values((3, 4), "float64") / 50
    assert f(a).flags.f_contiguous
    entry = f.address("int64_t (void **, void **, void *)", a)
    import ctypes

    out = np.zeros((4, 3))
    pointers = [(ctypes.c_void_p * 1)(z.ctypes.data) for z in (a, out)]
    assert entry.ctypes()(*pointers, entry.user_data) == 0
    np.testing.assert_allclose(out, np.exp(a).T, 1e-15)


def test_the_next_process_gets_the_same_order(tmp_path):
    """A stored plan says the order of its results."""
    x = given(2, "float64")
    a = laid(values((5, 6), "float64"), (1, 0))
    for _ in range(2):  # the second function reads the plan of the first
        f = K.function([x], [K.transpose(x) * 3 + 4, x - 2.5])
        for got, want in zip(f(a), (a.T * 3 + 4, a - 2.5)):
            same(got, want)


def test_gradients_of_transposed_arrays():
    x = given(2, "float64")
    f = K.function([x], K.gradients(K.sum(K.square(K.transpose(x)) * K.transpose(K.exp(x))), x))
    a = values((5, 6), "float64") / 50
    for perm in ((0, 1), (1, 0)):
        (got,) = f(laid(a, perm))
        np.testing.assert_allclose(got, (2 * a + a * a) * np.exp(a), 1e-13)


# ---- random programs ----------------------------------------------------------------------------


class RandomProgram:
    """Steps over tensors of up to three axes, said once for K and once for NumPy."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        shape = tuple(self.rng.integers(1, 6, 3))
        self.arrays = [values(shape, "float64", k) / 50 for k in range(2)]
        self.inputs = given(3, "float64", 2)
        self.pairs = list(zip(self.inputs, self.arrays))
        for _ in range(self.rng.integers(3, 9)):
            self.pairs.append(self.step(*self.pairs[self.rng.integers(len(self.pairs))]))

    def like(self, a):
        """Another pair of this shape, or the number 2."""
        found = [p for p in self.pairs if p[1].shape == a.shape]
        return found[self.rng.integers(len(found))] if found else (2.0, 2.0)

    def step(self, x, a):
        rng, axis = self.rng, int(self.rng.integers(max(1, a.ndim)))
        y, b = self.like(a)
        choices = [lambda: (x * 2 + y, a * 2 + b), lambda: (K.maximum(x, y), np.maximum(a, b))]
        if a.ndim:
            perm = tuple(int(k) for k in rng.permutation(a.ndim))
            key = tuple(slice(None, None, int(s)) for s in rng.choice([1, -1, 2], a.ndim))
            turn = (
                (lambda: (K.permute_dimensions(x, perm), a.transpose(perm)))
                if a.ndim > 1
                else (lambda: (x + 1, a + 1))
            )
            choices += [
                turn, turn, lambda: (x[key], a[key]), lambda: (K.sum(x, axis), a.sum(axis)),
                lambda: (K.max(x, axis, keepdims=True), a.max(axis, keepdims=True)),
                lambda: (K.reshape(x, (-1,)), a.reshape(-1)),
                lambda: (x - K.mean(x, axis, keepdims=True), a - a.mean(axis, keepdims=True)),
                lambda: (K.set_subtensor(x[:1], 3.0), np.concatenate([a[:1] * 0 + 3, a[1:]])),
            ]  # fmt: skip
            if isinstance(b, np.ndarray):
                choices.append(lambda: (K.concatenate([x, y], axis), np.concatenate([a, b], axis)))
        return choices[rng.integers(len(choices))]()


@pytest.mark.sampled(0)
@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed):
    """Any tensor of a program may be a result, or the next value of a variable; any layout."""
    program = RandomProgram(seed)
    rng, made = program.rng, program.pairs[2:]
    updates, kept = [], []
    for x, a in made[-2:]:
        variable = K.variable(np.zeros(a.shape), dtype="float64")
        updates.append((variable, x))
        kept.append((variable, a))
    f = K.function(program.inputs, [x for x, _ in made], updates=updates)
    for _ in range(4):
        laid_arrays = []
        for a in program.arrays:
            b = laid(a, tuple(rng.permutation(3)))
            if rng.integers(2):
                b = np.repeat(b, 2, int(rng.integers(3)))
                b = b[
                    tuple(slice(None, None, 2 if n != m else 1) for n, m in zip(b.shape, a.shape))
                ]
            laid_arrays.append(b)
        for got, (_, want) in zip(f(*laid_arrays), made):
            np.testing.assert_allclose(got, want, 1e-13)
        for variable, want in kept:
            np.testing.assert_allclose(K.get_value(variable), want, 1e-13)
            assert K.get_value(variable).flags.c_contiguous


def of_no_order():
    """Tensors whose elements follow from their index alone, so that no operand says an order."""
    line = Tensor(ops.iota((2, 3, 4), 1))
    draws = K.random_uniform((2, 3, 4), seed=3), K.random_normal((2, 3, 4), seed=4)
    return [line, Tensor(ops.iota((2, 3, 4), 2, "float32")) * 0.5, *draws, draws[0] + line]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("perm", [(1, 2, 0), (2, 1, 0), (0, 2, 1), (2, 0, 1)])
@pytest.mark.parametrize("mode", ["compiled", "fast_compile"])
def test_turned_results_of_no_order_are_turned(mode, perm):
    for at in range(5):
        x = of_no_order()[at]
        turned = K.permute_dimensions(x, perm)
        kept = K.variable(np.zeros(turned.shape), dtype=x.dtype)
        both = K.function([], [turned, x * 1], [(kept, turned)], mode=mode)
        alone = K.function([], K.permute_dimensions(of_no_order()[at], perm), mode=mode)
        wide = K.function([], K.expand_dims(K.permute_dimensions(of_no_order()[at], perm), 0))
        found, whole = both()
        for got in (found, K.get_value(kept), alone(), wide()[0]):
            np.testing.assert_array_equal(got, np.transpose(whole, perm))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("turn", [np.transpose, lambda x: x[:, :1]])
def test_numbers_have_no_order(axis, turn):
    """What is joined of numbers lies in C order, though an input does not."""
    x, numbers = given(2), [K.placeholder((), dtype="float32") for _ in range(3)]
    ones = [K.reshape(n, (1, 1)) for n in numbers] + [K.expand_dims(K.expand_dims(numbers[0], 0))]
    f = K.function([x, *numbers], [K.concatenate(ones, axis), K.transpose(x)])
    array = turn(values((4, 3)))
    joined, turned = f(array, 1, 2, 3)
    same(joined, np.array([1, 2, 3, 1], "f").reshape((4, 1) if axis == 0 else (1, 4)))
    np.testing.assert_array_equal(turned, array.T)


def test_numbers_stored_into_rows_of_one():
    x, v = given(2), K.placeholder((), dtype="float32")
    rows = x
    for i in range(4):
        rows = K.set_subtensor(rows[i], v)
    same(K.function([x, v], rows)(values((4, 3))[:, :1], 5), np.full((4, 1), 5, "f"))
