"""The interpreter: env, variables, several outputs, freeing, deep graphs, errors with lines."""

import weakref

import numpy as np
import pytest

from ckernels import ops
from ckernels.base.errors import CKernelsError, IndexOutOfBounds, ShapeError
from ckernels.graph.node import item, make
from ckernels.graph.op import REGISTRY, Op
from ckernels.ops import spectra
from ckernels.ops.control import CheckError
from ckernels.ops.reference import QUIET, apply_oracle, evaluate
from ops.agree import leaf


def test_env_may_cut_the_graph():
    x, y = leaf((2,)), leaf((2,))
    z = ops.add(x, y)
    got = evaluate([ops.mul(z, 2), z], {z: np.ones(2)})
    np.testing.assert_array_equal(got, [[2, 2], [1, 1]])
    assert evaluate([], {}) == []


class Store:
    def get(self):
        return np.arange(3.0)


def test_variables_read_their_store():
    v = make("variable", (), {"store": Store(), "dtype": "float64", "shape": (3,), "name": "v"})
    np.testing.assert_array_equal(evaluate([ops.mul(v, 2), v])[0], [0, 2, 4])
    np.testing.assert_array_equal(evaluate([ops.mul(v, 2)], {v: np.ones(3)})[0], [2, 2, 2])


def test_several_outputs_and_the_same_twice():
    x = leaf((3, 2))
    u, s, v = ops.svd(x)
    value = np.arange(6.0).reshape(3, 2)
    a, b, c = evaluate([s, s, ops.matmul(ops.mul(u, s), v)], {x: value})
    np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(c, value, atol=1e-12)
    (whole,) = evaluate([s.inputs[0]], {x: value})
    assert len(whole) == 3
    (first,) = evaluate([item(s.inputs[0], 0)], {s.inputs[0]: (1, 2, 3)})
    assert first == 1


def test_deep_graphs():
    x = y = leaf(())
    for _ in range(5000):
        y = ops.add(ops.mul(y, 0.5), 1.0)
    assert abs(evaluate([y], {x: 0.0})[0] - 2) < 1e-12


class Tracked(np.ndarray):
    """An array that can be asked whether it is still there."""


def test_intermediates_are_freed():
    made, most = [], []

    def run(attrs, a):
        out = (np.asarray(a) + 1).view(Tracked)
        made.append(weakref.ref(out))
        most.append(sum(r() is not None for r in made))
        return out

    op = Op("tracked_for_test", "opaque", lambda a, x: (x.dtype, x.shape), run)
    try:
        x = y = leaf((3,))
        for k in range(50):
            y = make(op, (y,), {"k": k})
        (got,) = evaluate([y], {x: np.zeros(3)})
    finally:
        del REGISTRY["tracked_for_test"]
    assert got[0] == 50 and len(made) == 50 and max(most) <= 2


def test_composites_without_an_oracle_are_lowered():
    op = Op(
        "twice_for_test",
        "composite",
        lambda a, x: (x.dtype, x.shape),
        lower=lambda node: ops.add(
            node.inputs[0], ops.broadcast_to(ops.sum(node.inputs[0]), tuple(node.inputs[0].shape))
        ),
    )
    try:
        x = leaf((None,))
        (got,) = evaluate([make(op, (x,))], {x: np.array([1.0, 2])})
    finally:
        del REGISTRY["twice_for_test"]
    np.testing.assert_array_equal(got, [4, 5])


def test_errors_carry_the_line():
    x, i = leaf((None,), name="x"), leaf((2,), "int64")
    bad = ops.take(x, i)  # the line in the error
    with pytest.raises(IndexOutOfBounds, match="index 5 is out of bounds") as caught:
        evaluate([ops.mul(bad, 2)], {x: np.zeros(3), i: np.array([0, 5])})
    assert "test_reference.py" in str(caught.value) and "# the line in the error" in str(
        caught.value
    )
    total = ops.add(x, leaf((None,)))
    with pytest.raises(ShapeError, match=r"add of float64 \(3,\), float64 \(2,\)") as caught:
        evaluate([total], dict(zip(total.inputs, (np.zeros(3), np.zeros(2)))))
    assert "made at" in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 15


def test_wrong_and_missing_inputs():
    x = leaf((2, None), name="rates")
    with pytest.raises(
        ShapeError, match=r"rates has shape \(2, \?\) and was given an array of shape \(3, 4\)"
    ):
        evaluate([ops.neg(x)], {x: np.zeros((3, 4))})
    with pytest.raises(CKernelsError, match="rates .* has no value"):
        evaluate([ops.neg(x)], {})


def test_print_and_check(capsys):
    x = leaf((None,))
    y = ops.print_(ops.mul(x, 2), "twice:")
    evaluate([ops.add(y, 1)], {x: np.array([1.0, 2])})
    assert capsys.readouterr().out == "twice: [2. 4.]\n"
    z = ops.check(x, ops.gt(x, 0), ops.lt(x, 9), message="x must be in (0, 9)")
    np.testing.assert_array_equal(evaluate([z], {x: np.array([1.0])})[0], [1.0])
    with pytest.raises(
        CheckError, match=r"check failed: x must be in \(0, 9\) \(condition 2 of 2\)"
    ):
        evaluate([z], {x: np.array([9.0])})


def odd(dtype, shape=(64,)):
    """NaN, infinities, both zeros and the largest and smallest numbers in turn."""
    most = np.finfo(dtype).max
    return np.resize([np.nan, np.inf, -np.inf, -0.0, 0.0, most, -most, most, 5e-324], shape).astype(
        dtype
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("module", ["scipy", "numpy"])
def test_ops_whose_warnings_stay_on_warn_of_no_value(dtype, module, monkeypatch):
    if module == "numpy":
        monkeypatch.setattr(spectra, "library", lambda: np.fft)
    with np.errstate(all="ignore"):
        x, table = odd(dtype), odd(dtype, (8, 9))
        z = x + 1j * x[::-1]
    size, counts = np.array(7), np.array([2, 0, 1])
    cases = {
        "nonzero": [((x,), {}), ((table,), {})],
        "mask_indices": [((x, x > 0), {"axis": 0}), ((table, table > 0), {"axis": 0})],
        "repeat_index": [((counts, np.array(3)), {})],
        "broadcast_to": [((x[0], np.array([3])), {}), ((x, np.array([2, 64])), {})],
        "dynamic_slice": [((x, size), {"template": ((("s", 0), None, 1),)})],
        "argsort": [((x,), {"axis": 0}), ((table,), {"axis": 1}), ((z,), {"axis": 0})],
        "numpy_argsort": [((x,), {"axis": 0}), ((table,), {"axis": 0}), ((z,), {"axis": 0})],
        "numpy_partition": [((x,), {"axis": 0, "kth": (5, 9)}), ((z,), {"axis": 0, "kth": (5,)})],
        "fft": [((z,), {"axes": (-1,), "inverse": i}) for i in (False, True)],
        "rfft_half": [((x,), {"axes": (-1,)}), ((table,), {"axes": (-2, -1)})],
        "irfft_half": [((z,), {"axes": (-1,), "size": 126})],
    }
    assert set(cases) | {"pytensor_perform"} == QUIET  # which sees to that itself: tests/bridges
    with np.errstate(all="raise"):
        for name, calls in cases.items():
            for arrays, attrs in calls:
                node = make(name, [leaf(a.shape, a.dtype.name) for a in arrays], attrs)
                apply_oracle(node, list(arrays))
