"""Loops of one element (PyTensor's ScalarLoop): by hand, and in gradients by parameters."""

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor", reason="needs PyTensor: pip install ckernels[pytensor]")
import pytensor.scalar as ps  # noqa: E402
import pytensor.tensor as pt  # noqa: E402
from pytensor.scalar.loop import ScalarLoop  # noqa: E402
from pytensor.tensor.elemwise import Elemwise  # noqa: E402

import ckernels.pytensor as bridge  # noqa: E402
from ckernels.bridges.pytensor.translations import scalar  # noqa: E402

COUNTS = np.array([0, 1, 2, 7, 20, -3], "int32")
STARTS = np.array([1.0, 3.0, 0.5, 2.0, 1.5, 4.0])


def halves(until=True):
    """x -> x / 2 + c and a count of the steps, until x is below 1."""
    x, n, c = ps.float64("x"), ps.int16("n"), ps.float64("c")
    new = x / 2 + c
    stop = new < 1 if until else None
    return ScalarLoop([x, n], [new, ps.cast(n + 1, "int16")], [c], until=stop)


def by_hand(counts, starts, c, until=True):
    rows = []
    for n, x in zip(counts, starts):
        done, steps = False, 0
        for _ in range(n):
            x, steps = x / 2 + c, steps + 1
            done = x < 1
            if until and done:
                break
        rows.append((x, steps, done))
    x, steps, done = zip(*rows) if rows else ((), (), ())
    return np.array(x), np.array(steps, "int16"), np.array(done, bool)


def compiled(inputs, outputs):
    found = pytensor.function(inputs, outputs, mode="CKERNELS")
    assert bridge.report(found) == []
    return found


@pytest.fixture(params=["in C", "together"])
def way(request, monkeypatch):
    """Elements by themselves in C, or all in the steps of a scan, as where there is no compiler."""
    if request.param == "together":
        monkeypatch.setattr(scalar, "_each", lambda *args: None)


@pytest.mark.parametrize("size", [0, 1, 6])
def test_each_element_ends_by_itself(size, way):
    n, x, c = pt.ivector("n"), pt.dvector("x"), pt.dscalar("c")
    outs = Elemwise(halves())(n, x, np.int16(0), c)
    found = compiled([n, x, c], outs)
    for add in (0.25, 0.75):
        for got, want in zip(
            found(COUNTS[:size], STARTS[:size], add), by_hand(COUNTS[:size], STARTS[:size], add)
        ):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


def test_a_number_of_steps_that_is_known(way):
    x = pt.dvector("x")
    found = compiled([x], Elemwise(halves(until=False))(5, x, np.int16(0), 0.25))
    want = by_hand(np.full(6, 5), STARTS, 0.25, until=False)
    for got, value in zip(found(STARTS), want):
        np.testing.assert_array_equal(got, value)


@pytest.mark.parametrize("until", [False, True])
@pytest.mark.parametrize("steps", [0, 3, 20])
def test_a_loop_of_one_state(steps, until, way):
    n, x, y = ps.int64("n"), ps.float64("x"), pt.dvector("y")
    op = ScalarLoop([x], [x + 1], until=x + 1 >= 10 if until else None)
    found = compiled([n, x], op(n, x))
    theirs = pytensor.function([n, x], op(n, x), mode="FAST_COMPILE")
    np.testing.assert_array_equal(found(steps, 1.0), theirs(steps, 1.0))
    outs = Elemwise(op)(n, y)
    got = compiled([n, y], outs)(steps, STARTS)
    got = got[0] if until else got
    want = np.minimum(STARTS + steps, np.ceil(10 - STARTS) + STARTS) if until else STARTS + steps
    np.testing.assert_array_equal(got, want)


def test_constants_broadcast_and_scalars_have_no_axes(way):
    n, x, c = pt.iscalar("n"), pt.dscalar("x"), pt.dmatrix("c")
    outs = Elemwise(halves())(n, x, np.int16(0), c)
    got = compiled([n, x, c], outs)(20, 8.0, np.array([[0.1, 0.2, 0.3]]))
    want = [by_hand([20], [8.0], c) for c in (0.1, 0.2, 0.3)]
    for k, array in enumerate(got):
        np.testing.assert_array_equal(array, [[row[k][0] for row in want]])
    m, z, b = ps.int32("m"), ps.float64("z"), ps.float64("b")
    got = compiled([m, z, b], halves()(m, z, ps.constant(np.int16(0)), b))(20, 8.0, 0.25)
    for value, array in zip(got, by_hand([20], [8.0], 0.25)):
        assert np.shape(value) == () and value == array[0]


ORDERS = np.array([1e-8, 1e-3, 0.3, 1, 2.5, 10, 77, 300])
PLACES = np.array([0, 1e-10, 1e-3, 0.2, 0.9, 1, 3, 11, 80, 310, np.inf, -1])
SHAPES = np.array([0.01, 0.3, 1, 2.5, 10, 77])
PARTS = np.array([0, 1e-6, 0.1, 0.5, 0.8, 0.999, 1, 1.5])
FUNCTIONS = {
    "gammainc": (pt.gammainc, (ORDERS, PLACES), 1),
    "gammaincc": (pt.gammaincc, (ORDERS, PLACES), 1),
    "betainc": (pt.betainc, (SHAPES, SHAPES[1:4], PARTS), 2),
    "hyp2f1": (
        pt.hyp2f1,
        (
            np.array([-2, 0.5, 1.3]),
            np.array([0.7, 3]),
            np.array([2.2, 4]),
            np.array([-0.6, 0, 0.7]),
        ),
        3,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_by_parameters(name, way):
    function, axes, by = FUNCTIONS[name]
    values = [v.ravel() for v in np.meshgrid(*axes)]
    args = [pt.dvector() for _ in values]
    slopes = pytensor.grad(function(*args).sum(), args[:by])
    ours = compiled(args, slopes)
    theirs = pytensor.function(args, slopes, mode="FAST_COMPILE")
    with np.errstate(all="ignore"):
        for got, want in zip(ours(*values), theirs(*values)):
            assert np.isfinite(want).sum() > want.size // 2
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-280)
        for got in ours(*[v[:0] for v in values]):
            assert got.shape == (0,)
