"""Complex tensors as pairs: values beside NumPy, signs of zeros, what stays whole, gradients."""

import numpy as np
import pytest

from ckernels import ops
from ckernels.autodiff import reverse
from ckernels.graph.node import constant, make, new_uid
from ckernels.graph.walk import toposort
from ckernels.numpy import rows
from ckernels.numpy.promote import NUMPY
from ckernels.ops import reference
from ckernels.rewrite import optimise, pairs
from ckernels.runtime.function import make_function

RNG = np.random.default_rng(0)
EDGES = np.array([complex(a, b) for a in (-1.0, -0.0, 0.0, 2.0, -3.0) for b in (0.0, -0.0, 1.5)])
GRID = RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4))


def placeholder(dtype, shape):
    attrs = {"uid": new_uid(), "dtype": dtype, "shape": shape, "name": None}
    return make("placeholder", (), attrs)


def compiled(build, *arrays):
    """(value of a graph of inputs, names of the ops that compute with complex tensors in it)."""
    inputs = [placeholder(a.dtype.name, a.shape) for a in arrays]
    node = build(*inputs)
    left = {n.op.name for n in toposort(optimise([node])) if n.op.kind in ("elementwise", "reduce")
            and any(x.dtype.startswith("complex") for x in (n, *n.inputs))}  # fmt: skip
    return make_function(inputs, [node], downcast=False)(*arrays)[0], left


def ufunc(function, *fixed):
    return lambda *xs: rows.ufunc(NUMPY, function, *xs, *fixed)


def same(got, want, zeros=True):
    """zeros: whether their signs are those of NumPy's too."""
    assert got.dtype == want.dtype and got.shape == want.shape
    eps = 4e-15 if want.dtype.name in ("complex128", "float64") else 2e-6
    np.testing.assert_allclose(got, want, rtol=eps, atol=eps / 100)
    for part in (np.real, np.imag) if zeros else ():
        there = ~np.isnan(part(want))
        np.testing.assert_array_equal(np.signbit(part(got))[there], np.signbit(part(want))[there])


UNARY = [np.negative, np.conjugate, np.exp, np.log, np.sqrt, np.square, np.reciprocal, np.absolute,
         np.sin, np.cos, np.sinh, np.cosh, np.isfinite, np.isnan, np.isinf]  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_functions_of_one_operand(function, dtype):
    for z in (GRID, EDGES):
        z = z.astype(dtype)
        with np.errstate(all="ignore"):
            want = function(z)
        got, left = compiled(ufunc(function), z)
        finite = np.isfinite(want)
        trigonometric = function in (np.sin, np.cos, np.sinh, np.cosh, np.exp, np.log)
        same(np.where(finite, got, 0), np.where(finite, want, 0), not trigonometric)
        np.testing.assert_array_equal(np.isfinite(got), finite)
        assert not left


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("function", [np.add, np.subtract, np.multiply, np.true_divide, np.equal,
                                      np.not_equal], ids=lambda f: f.__name__)  # fmt: skip
def test_functions_of_two_operands(function, dtype):
    z, w = EDGES.astype(dtype), EDGES[::-1].astype(dtype)
    for args, fixed in (((z, w), ()), ((z[:, None], w), ()), ((z, w.real.copy()), ()), ((z,), (2,)),
                        ((z,), (2.5,)), ((z,), (1j,)), ((z,), (np.int8(3),))):  # fmt: skip
        with np.errstate(all="ignore"):
            want = function(*args, *fixed)
        got, left = compiled(ufunc(function, *fixed), *args)
        finite = np.isfinite(want)
        # A rest that cancels is rounded by one operation; of products ours are rounded, both.
        exact = function not in (np.true_divide, np.multiply)
        same(np.where(finite, got, 0), np.where(finite, want, 0), exact)
        assert not left


@pytest.mark.parametrize("fixed", [1, 2j, 2.5, -1, 0.0])
def test_the_sides_of_branch_cuts(fixed):
    """Rules of real numbers would turn 0 - x into -x, and a root to the other side."""
    for build, want in (
        (lambda z: ops.sqrt(ops.sub(constant(fixed, "complex128"), z)), np.sqrt(fixed - EDGES)),
        (lambda z: ops.log(ops.add(ops.mul(z, fixed), 1e-9)), np.log(EDGES * fixed + 1e-9)),
        (lambda z: ops.sqrt(ops.sub(1, ops.mul(z, z))), np.sqrt(1 - EDGES * EDGES)),
    ):
        same(compiled(build, EDGES)[0], want, False)


def test_powers_reductions_views_and_joins():
    z = GRID
    for build, want in (
        (lambda z: ops.pow(z, 3), z**3), (lambda z: ops.sum(z, 0), z.sum(0)),
        (lambda z: ops.mean(ops.mul(z, z)), (z * z).mean()),
        (lambda z: ops.getitem(ops.transpose(ops.mul(z, 2)), slice(1, None)), (z * 2).T[1:]),
        (lambda z: ops.concatenate([z, ops.conj(z)], 1), np.concatenate([z, z.conj()], 1)),
        (lambda z: ops.where(ops.gt(ops.abs(z), 1), z, 0), np.where(abs(z) > 1, z, 0)),
        (lambda z: ops.cumsum(ops.neg(z), 1), np.cumsum(-z, 1)),
        (lambda z: ops.set_subtensor(z, (0,), ops.mul(z[1], 2)), np.r_[2 * z[1:2], z[1:]]),
        (lambda z: ops.add(ops.real(z), ops.imag(z)), z.real + z.imag),
        (lambda z: ops.mul(ops.matmul(z, ops.transpose(z)), 2), z @ z.T * 2),
        (lambda z: ops.cast(ops.add(z, 1), "complex64"), (z + 1).astype("complex64")),
        (lambda z: ops.cast(z, "bool"), z != 0),
        (lambda z: ops.fft(ops.mul(z, 1j), (-1,)), np.fft.fft(z * 1j)),
        (lambda z: ops.angle(z), np.angle(z)), (lambda z: ops.pow(z, 0.3), z**0.3),
        (lambda z: ops.pow(z, ops.mul(z, 2)), z ** (z * 2)),
    ):  # fmt: skip
        same(compiled(build, z)[0], want, False)


def test_layouts_and_no_elements():
    for z in (GRID[::-1, ::2], GRID.T, GRID[:0], np.array(1 - 2j), GRID[:, :1]):
        z = np.asarray(z)
        same(
            compiled(lambda z: ops.add(ops.exp(z), ops.conj(z)), z)[0], np.exp(z) + z.conj(), False
        )


def test_large_exponents_and_infinities():
    z = np.array([710 + 1.5707963j, 1e4 + 0j, complex(-np.inf, np.inf), -800 + 1j, 709.9 - 2j])
    with np.errstate(all="ignore"):
        want = np.exp(z)
    got = compiled(ops.exp, z)[0]
    for part in (np.real, np.imag):
        np.testing.assert_allclose(part(got)[[0, 3, 4]], part(want)[[0, 3, 4]], rtol=1e-12)
    assert got[1] == complex(np.inf, 0) and got[2] == 0


def test_graphs_without_arithmetic_stay_whole():
    z = placeholder("complex128", (3, 4))
    roots = [ops.transpose(z), ops.concatenate([z, z], 0), ops.fft(z, (-1,))]
    assert pairs.as_pairs(roots) is roots
    assert not pairs.wanted(toposort([ops.add(placeholder("float64", (3,)), 1.0)]))
    whole = pairs.as_pairs([ops.fft(ops.transpose(z), (-1,)), ops.abs(z)])[0]
    assert "complex_of" not in {n.op.name for n in toposort([whole])}  # it is taken as it lies


def test_what_is_left_to_numpy():
    z = placeholder("complex128", (4, 4))
    x = placeholder("float64", (4, 4))
    near = [ops.real(ops.mul(z, z)), ops.transpose(z), ops.pow(z, 3), ops.cast(x, "complex128"),
            ops.where(ops.eq(z, 0), z, 1), ops.sum(ops.abs(z)), ops.matmul(x, x),
            ops.matmul(z, z)]  # fmt: skip
    assert not pairs.left_to_numpy(near)
    for node in (ops.fft(z, (-1,)), ops.pow(z, 0.5), ops.tanh(z)):
        assert pairs.left_to_numpy([*near, ops.real(ops.add(node, 1))]), node


def numbers(dtype, *shape):
    return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_products_are_two_of_real_matrices(dtype):
    n = numbers
    for a, b in (
        (n(dtype, 5, 3), n(dtype, 3, 7)), (n(dtype, 40, 64), n(dtype, 64, 33)),
        (n(dtype, 3, 8).T, n(dtype, 9, 6)[::3, ::2]), (n(dtype, 2, 0), n(dtype, 0, 3)),
        (n(dtype, 1, 6), n(dtype, 6, 1)), (n(dtype, 4, 1, 2, 3), n(dtype, 5, 3, 2)),
        (n(dtype, 0, 3), n(dtype, 3, 4)),
    ):  # fmt: skip
        got, _ = compiled(ops.matmul, a, b)
        want = a.astype("complex128") @ b.astype("complex128")
        assert got.dtype == dtype
        eps = 1e-14 if dtype == "complex128" else 5e-6
        np.testing.assert_allclose(got, want, rtol=0, atol=eps * max(a.shape[-1], 1))
        parts = compiled(lambda a, b: ops.abs(ops.matmul(a, ops.conj(b))), a, b)[0]
        np.testing.assert_allclose(parts, abs(a @ b.conj()), rtol=0, atol=eps * 99)


def test_products_with_real_matrices_and_infinities():
    z = numbers("complex128", 3, 3)
    z[0, 0] = np.inf
    x = np.eye(3)
    for a, b in ((z, x), (x, z)):
        with np.errstate(all="ignore"):
            want = (a[:, :, None] * b.astype(complex)).sum(1)  # BLAS scales by 1 + 0j besides
        build = lambda a, b: ops.matmul(ops.cast(a, "complex128"), ops.cast(b, "complex128"))
        got = compiled(build, a, b)[0]
        np.testing.assert_array_equal(np.isnan(got.real), np.isnan(want.real))
        np.testing.assert_array_equal(np.isnan(got.imag), np.isnan(want.imag))
        there = np.isfinite(want)
        np.testing.assert_allclose(got[there], want[there])


def test_gradients_are_those_of_the_parts():
    z = placeholder("complex128", (3, 4))
    cost = ops.sum(ops.square(ops.abs(ops.add(ops.exp(ops.mul(z, 1j)), ops.true_div(z, 2 + 1j)))))
    slope = reverse.grad(cost, [z])[0]
    got = make_function([z], [slope], downcast=False)(GRID)[0]
    want = np.zeros_like(GRID)
    for place in np.ndindex(GRID.shape):
        for unit in (1, 1j):
            step = np.zeros_like(GRID)
            step[place] = 1e-6 * unit
            up, down = (reference.evaluate([cost], {z: GRID + s})[0] for s in (step, -step))
            want[place] += unit * (up - down) / 2e-6
    np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-8)


def test_first_and_second_derivatives_of_products():
    z, w = placeholder("complex128", (3, 4)), numbers("complex128", 4, 2)
    given = constant(w, "complex128")

    def cost_of(z):
        return ops.sum(ops.square(ops.square(ops.abs(ops.matmul(z, given)))))

    slope = reverse.grad(cost_of(z), [z])[0]
    again = reverse.grad(ops.sum(ops.add(ops.square(ops.real(slope)), ops.imag(slope))), [z])[0]
    first, second = make_function([z], [slope, again], downcast=False)(GRID)

    def slopes(at):
        return reference.evaluate([slope], {z: at})[0]

    for got, of in (
        (first, lambda at: reference.evaluate([cost_of(z)], {z: at})[0]),
        (second, lambda at: (slopes(at).real ** 2 + slopes(at).imag).sum()),
    ):
        want = np.zeros_like(GRID)
        for place in np.ndindex(GRID.shape):
            for unit in (1, 1j):
                step = np.zeros_like(GRID)
                step[place] = 1e-5 * unit
                want[place] += unit * (of(GRID + step) - of(GRID - step)) / 2e-5
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6 * abs(want).max())
