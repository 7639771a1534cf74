"""Loops, branches and graphs inside of graphs under the PyTensor bridge."""

import numpy as np
import pytest
from pytensor_support import RNG, X, Y, compiled, pt, pytensor, same, x, y


def test_scans_and_their_gradients():
    a, h0 = pt.dscalar("a"), pt.dscalar("h0")
    out = pytensor.scan(
        lambda x, h, a: pt.tanh(a * h + x),
        sequences=[y],
        outputs_info=[h0],
        non_sequences=[a],
        return_updates=False,
    )
    two = pytensor.scan(
        lambda x, h2, h1: x + 0.5 * h1 - 0.2 * h2,
        sequences=[y],
        outputs_info=[{"initial": pt.stack([h0, a]), "taps": [-2, -1]}],
        return_updates=False,
    )
    outs = [out, out[-1], *pt.grad(out.sum(), [a, h0, y]), two, *pt.grad(two[-1], [a, h0, y])]
    assert same([y, a, h0], outs, RNG.normal(size=7), 0.7, 0.1) == []


def test_only_the_last_state_of_a_scan_is_kept():
    x0, y0, n = pt.dvector("x0"), pt.dvector("y0"), pt.lscalar("n")
    xs, ys, ws = pytensor.scan(
        lambda x, y: (x * 0.5 + y, y + 1, x * 2),
        outputs_info=[x0, y0, None],
        n_steps=5,
        return_updates=False,
    )
    assert same([x0, y0], [xs, ys[-1], ws[-1]], Y, 2 * Y) == []
    states = pytensor.scan(lambda x: x * 2, outputs_info=[x0], n_steps=n, return_updates=False)
    buffer = states.owner.inputs[0]  # its first row is x0
    f, last = compiled([x0, n], [buffer, buffer[-1]]), compiled([x0, n], buffer[-1])
    # Rewritten by PyTensor 2.38, all its own modes take one step too many for none.
    theirs = pytensor.function(
        [x0, n], buffer[-1], mode=pytensor.compile.mode.Mode("py", "fast_run")
    )
    np.testing.assert_array_equal(last(Y, 0), theirs(Y, 0))
    for steps in (0, 1, 2):
        rows, row = f(Y, steps)
        np.testing.assert_array_equal(rows, [Y * 2**k for k in range(steps + 1)])
        np.testing.assert_array_equal(row, rows[-1])
        if steps:
            np.testing.assert_array_equal(last(Y, steps), row)


def test_a_scan_that_ends_early():
    from pytensor.scan.utils import until

    a = pt.dscalar("a")
    out = pytensor.scan(
        lambda h, a: (h * a, until(h > 40.0)),
        outputs_info=[pt.ones(())],
        non_sequences=[a],
        n_steps=30,
        return_updates=False,
    )
    assert same([a], [out, out[-1], pt.grad(out[-1], a)], 2.0) == []


def test_the_side_that_is_not_taken_is_not_computed():
    from pytensor.ifelse import ifelse

    c = pt.lscalar("c")
    broken = pytensor.raise_op.Assert("never")(x.sum(), pt.lt(x.sum(), -1e9))
    f = compiled([c, x], ifelse(c, x.sum(), broken))
    assert f(1, X) == pytest.approx(X.sum())
    with pytest.raises(AssertionError, match="never"):
        f(0, X)


def test_sides_of_different_shapes():
    from pytensor.ifelse import ifelse

    c = pt.lscalar("c")
    f = compiled([c, y], ifelse(c, y, y[:2]))
    assert f(1, Y).shape == (3,) and f(0, Y).shape == (2,)


def test_op_from_graph():
    from pytensor.compile.builders import OpFromGraph

    inner = OpFromGraph([x, y], [x + y, x * 2])
    assert same([x, y], inner(x, y), X, Y) == []


def test_a_graph_inside_that_draws_numbers():
    from pytensor.compile.builders import OpFromGraph

    rng = pytensor.shared(np.random.default_rng(5))
    later, draws = pt.random.normal(y, 2.0, rng=rng).owner.outputs
    inner = OpFromGraph([rng, y], [later, pt.exp(draws)])
    later, out = inner(rng, y)
    f, numpys = compiled([y], out, updates={rng: later}), np.random.default_rng(5)
    for _ in range(2):
        np.testing.assert_allclose(f(Y), np.exp(numpys.normal(Y, 2.0)), rtol=1e-14)
