"""Complex values that loops carry, beside NumPy: arrays and scalars, both precisions, no turns, no
elements, loops in loops, early ends, gradients; what stays NumPy's."""

import numpy as np
import pytest

import ckernels as ck

from .beside import check
from .test_flow import scans

R = np.random.default_rng(11)
C = np.exp(1j * np.linspace(0, 6, 40)) * np.array([0.05, 0.1, 0.2, 0.24, 2.2, 3, 9])[:, None]
Z = R.normal(size=500) + 1j * R.normal(size=500)


def escape(c, turns):
    z = np.zeros_like(c)
    count = np.zeros(c.shape, "int64")
    for _ in range(turns):
        z = np.where(np.abs(z) < 2, z * z + c, z)
        count += np.abs(z) < 2
    return z, count


def masked(c, turns):
    n, z = np.zeros(c.shape, np.int64), np.zeros(c.shape, c.dtype)
    for k in range(turns):
        inside = np.less(abs(z), 2.0)
        n[inside] = k
        z[inside] = z[inside] ** 2 + c[inside]
    n[n == turns - 1] = 0
    return z, n


def filtered(x, pole):
    y = np.zeros_like(x)
    state = x[0] * 0
    for k in range(len(x)):
        state = pole * state + x[k]
        y[k] = state
    return y, state


def newton(z):
    step = z * 0 + 1
    while np.max(np.abs(step)) > 1e-12:
        step = (z**3 - 1) / (3 * z**2)
        z = z - step
    return z


def until_large(z):
    for k in range(600):  # noqa: B007
        z = z * z - 0.3
        if np.abs(z).sum() > 1e6:
            break
    return z, k


def rows_of_rows(x):
    for i in range(1, x.shape[0]):
        for j in range(1, x.shape[1]):
            x[i, j] = 0.5 * x[i - 1, j] + 0.25j * x[i, j - 1].conj()


def real_and_complex(x):
    power, turned = np.zeros(x.shape), x.copy()
    for k in range(450):
        turned *= np.exp(0.01j)
        power += turned.real * k + turned.imag
    return power, turned, np.angle(turned)


@pytest.mark.parametrize("function, args", [
    (escape, (C, 450)), (escape, (C.astype("complex64"), 450)), (escape, (C[::2, ::-3], 450)),
    (masked, (C, 450)), (filtered, (Z, 0.9 + 0.2j)), (filtered, (Z.astype("complex64"), 0.5)),
    (newton, (Z[:30] + 3,)), (until_large, (Z[:9] * 0.5,)), (until_large, (Z[:9] * 3,)),
    (rows_of_rows, (R.normal(size=(21, 23)) + 0j,)), (real_and_complex, (Z[:7],)),
    (real_and_complex, (Z[0],)),
])  # fmt: skip
def test_beside_numpy(function, args):
    assert scans(function, *args)


@pytest.mark.parametrize("shape", [(0,), (3, 0), ()])
def test_no_elements_and_none_but_one(shape):
    scans(escape, np.full(shape, 0.2 + 0.1j), 450)


def counted(z, x):
    for _ in range(int(x.sum())):
        z = z * (0.5 + 0.5j) + 1j
    return z


def test_turns_that_data_count_none_among_them():
    """Without a turn the result is the argument itself, which is NumPy's to return; not so where
    something is computed from it."""
    jitted, beyond = ck.jit(counted), ck.jit(lambda z, x: counted(z, x) + 1)
    for turns in (7, 0, 1, 500):
        x = np.array([turns, 0])
        found = jitted(Z, x)
        np.testing.assert_allclose(found, counted(Z, x), rtol=1e-12)
        assert (found is Z) == (turns == 0)
        np.testing.assert_allclose(beyond(Z, x), counted(Z, x) + 1, rtol=1e-12)
    assert list(jitted.report()["numpy"].values()) == [1] and not beyond.report()["numpy"]


def test_signs_of_zeros_and_what_is_not_finite():
    def turned(z):
        for _ in range(450):
            z = -z.conj()
        return z

    z = np.array([0.0, -0.0, np.inf, np.nan]) + np.zeros(4)
    z = np.concatenate([z + 0j, z.conj() + 0j, 1j * z.clip(-1, 1), np.array([-0.0 - 0j])])
    with np.errstate(all="ignore"):
        got, want = ck.jit(turned)(z), turned(z)
    np.testing.assert_array_equal(got, want)
    for part in ("real", "imag"):
        np.testing.assert_array_equal(*[np.signbit(getattr(x, part)) for x in (got, want)])


def cost(a, b):
    z, c = np.zeros(a.shape, "complex128"), a + 1j * b
    for _ in range(450):
        z = 0.4 * z * z + c * np.exp(-0.1 * z)
    return (np.abs(z) ** 2).sum() + z.imag.sum()


def test_gradients_of_a_real_cost():
    a, b = 0.2 * R.random(5), 0.2 * R.random(5)
    found = ck.jit.grad(cost, argnums=(0, 1))(a, b)
    for k, gradient in enumerate(found):
        for i in range(5):
            step = 1e-6 * np.eye(5)[i]
            up, down = [cost(*[x + s * step * (j == k) for j, x in enumerate((a, b))])
                        for s in (1, -1)]  # fmt: skip
            assert gradient[i] == pytest.approx((up - down) / 2e-6, rel=1e-6, abs=1e-8)


def split_steps(psi, x, turns):
    half = np.exp(-0.05j * x**2).astype(psi.dtype)
    for _ in range(turns):
        psi = half * np.fft.ifft(np.exp(0.1j * x) * np.fft.fft(half * psi))
    return np.abs(psi) ** 2, psi


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_transforms_of_powers_of_two_stay_in_the_loop(dtype):
    jitted = ck.jit(split_steps)
    for n in (16, 64, 1024):
        for z in (Z[:64].repeat(16)[:n], np.stack([Z, 2 * Z], 0).repeat(4, 1)[:, :n]):
            z, x = z.astype(dtype), np.linspace(-1, 1, n).astype(dtype).real
            for got, want in zip(jitted(z, x, 40), split_steps(z, x, 40)):
                assert got.dtype == want.dtype
                tolerance = 1e-4 if dtype == "complex64" else 1e-11
                np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    assert not jitted.report()["numpy"]


def test_transforms_of_other_sizes_are_numpys():
    check(split_steps, Z[:100], np.linspace(-1, 1, 100), 40, traced=False)
    check(split_steps, Z[:8], np.linspace(-1, 1, 8), 40, traced=False)


def test_products_of_matrices_in_turns():
    def powers(m):
        for _ in range(9):  # each doubles the error of a phase
            m = m @ m / np.abs(m @ m).max()
        return m

    check(powers, Z[:16].reshape(4, 4))


def propagated(x, steps):
    psi = np.exp(-(x**2) + 2j * x)
    half = np.exp(-0.5j * x**2)
    for _ in range(steps):
        psi = half * psi + 0.25j * x
    return psi


def test_one_trace_for_all_sizes_and_counts():
    """An imaginary number by an array has a part without axes, whose size is open."""
    jitted = ck.jit(propagated)
    for size, steps in ((20, 5), (31, 7), (64, 0), (9, 50)):
        x = np.linspace(-2, 2, size)
        np.testing.assert_allclose(jitted(x, steps), propagated(x, steps), rtol=1e-12)
    report = jitted.report()
    assert report["traces"] == 1 and not report["numpy"] and not report["pinned"]
