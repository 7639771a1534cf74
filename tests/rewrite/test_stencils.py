"""Slices of cheap arithmetic are computed where they are read: pipelines of stencils are one loop.

Numbers are NumPy's. What is one loop is told by what slices are taken of after rewriting: of
leaves alone, or of something that is stored.
"""

import random

import numpy as np
import pytest

import ckernels as ck
from ckernels import ops
from ckernels.graph.walk import toposort
from ckernels.ops.reference import evaluate
from ckernels.rewrite import optimise

from .helpers import placeholder

NUMBERS = {"rtol": 1e-13, "atol": 1e-12}


def checked(program, *shapes, dtype="float64"):
    """The ops of which slices are read in `program`, optimised; its numbers are NumPy's."""
    leaves = [placeholder(dtype, s) for s in shapes]
    y = program(*leaves)
    new = optimise([y])[0]
    rng = np.random.default_rng(5)
    env = {x: (rng.normal(size=x.shape) * 9).astype(dtype) for x in leaves}
    expected, found = evaluate([y, new], env)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_allclose(found, expected, **NUMBERS)
    return {n.inputs[0].op.name for n in toposort([new]) if n.op.name == "slice"}


def difference(x):
    return x[1:] - x[:-1]


def laplacian(x):
    return 4.0 * x[1:-1, 1:-1] - x[2:, 1:-1] - x[:-2, 1:-1] - x[1:-1, 2:] - x[1:-1, :-2]


LEAF = {"placeholder"}


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("n", [2, 3, 9])
def test_differences_of_differences(dtype, n):
    def program(x):
        d = ops.abs(x[1:] * x[:-1]) if dtype == "bool" else difference(x)
        return d[1:] * d[:-1]

    assert checked(program, (n, 3), dtype=dtype) <= LEAF


@pytest.mark.parametrize("shape", [(3, 3), (4, 9), (7, 3), (12, 13)])
def test_fluxes_of_a_laplacian(shape):
    def program(x):
        lap = laplacian(x)
        across, along = difference(lap), difference(ops.transpose(lap))
        return ops.sum(across * across) + ops.sum(along)

    checked(program, shape)

    def fluxes(x):
        lap = laplacian(x)
        flux = lap[1:] - lap[:-1]
        flux = ops.where(flux * (x[2:-1, 1:-1] - x[1:-2, 1:-1]) > 0.0, 0.0, flux)
        return flux[1:] - flux[:-1]

    if shape[0] > 3:
        assert checked(fluxes, shape) <= LEAF


@pytest.mark.parametrize(
    "program",
    [
        lambda x: ops.sum((x * 2.0)[::2]) + (x * 2.0)[0, 0],
        lambda x: ops.exp(x)[1:3] + 1.0,  # once, whatever it costs
        lambda x: (x + 1.0)[::-1] * 2.0,
        lambda x: (x + 1.0)[3:1:-1, ::2] * x[:2, ::2],
        lambda x: (x + x[:1])[1:] * 2.0,  # a row for all rows
        lambda x: (x + x[:, 2:3])[1:, 1:] * 2.0,
        lambda x: (x + x[1])[1:, :2] * 2.0,  # an axis fewer
        lambda x: ops.sum((x[:1] * 2.0 + x[1:2])[1:] * x[:1]),  # none of one
        lambda x: (x - ops.mean(x, 1, keepdims=True))[1:] * 3.0,
        lambda x: ops.cast((x * 2.0)[1:], "float32") + ops.cast((x * 2.0)[:-1], "float32"),
    ],
)
def test_slices_of_all_kinds(program):
    def of_rows(x):
        y = program(x)
        return y if y.ndim else ops.expand(y, (0,))

    checked(of_rows, (5, 4))


@pytest.mark.parametrize(
    "program, stored",
    [
        # Read as a whole, too: it is stored anyway.
        (lambda x: ops.max(x * 2.0, 0) * ((x * 2.0)[1:] - (x * 2.0)[:-1]), "mul"),
        # Costly, and read twice.
        (lambda x: ops.exp(x)[1:] - ops.exp(x)[:-1], "exp"),
        # More slices than are worth it.
        (lambda x: sum((x * x)[k : k + 4] * float(k + 1) for k in range(1, 12)), "square"),
        # What is read is no loop.
        (lambda x: ops.concatenate([(x * 2.0)[3:], (x * 2.0)[:3]], 0), "mul"),
        (lambda x: ops.matmul((x * 2.0)[1:], ops.transpose((x * 2.0)[:-1])), "mul"),
        # The epilogue of a product.
        (lambda x: difference(ops.maximum(ops.matmul(x, ops.transpose(x)), 0.0)), "maximum"),
        (lambda x: difference(2.0 * ops.maximum(ops.matmul(x, ops.transpose(x)), 0.0)), "mul"),
        # What is sorted.
        (lambda x: difference(ops.sort(x, 1) * 2.0), "mul"),
    ],
)
def test_near_misses_are_stored_once(program, stored):
    assert stored in checked(program, (15, 4))


def test_a_slice_that_is_a_result_is_stored():
    x = placeholder("float64", (9,))
    y = x * 2.0
    first, second = optimise([y[1:], y[:-1] + 1.0])
    assert first.op.name == "slice" and second.inputs[0].inputs[0] is first.inputs[0]


def test_the_pass_is_left_out_by_name():
    x = placeholder("float64", (9,))
    y = difference(difference(x))
    kinds = [
        {n.inputs[0].op.name for n in toposort(optimise([y], exclude=out)) if n.op.name == "slice"}
        for out in ({"stencils"}, set())
    ]
    assert kinds == [{"placeholder", "sub"}, {"placeholder"}]


# --- under jit, compiled ----------------------------------------------------------------------


def hdiff(field, rate):
    """Horizontal diffusion with limited fluxes."""
    lap = 4.0 * field[1:-1, 1:-1] - (
        field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
    )
    down = lap[1:, 1:-1] - lap[:-1, 1:-1]
    down = np.where(down * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0, down)
    right = lap[1:-1, 1:] - lap[1:-1, :-1]
    right = np.where(right * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0, right)
    return field[2:-2, 2:-2] - rate * (down[1:] - down[:-1] + right[:, 1:] - right[:, :-1])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_horizontal_diffusion_is_one_loop(dtype):
    f = ck.jit(hdiff)
    rng = np.random.default_rng(0)
    for shape in [(9, 8), (5, 5), (40, 37), (4, 9), (31, 6, 5), (12, 11, 33)]:
        field = rng.normal(size=shape).astype(dtype)
        expected, found = (
            hdiff(field, dtype == "float32" or 0.3),
            f(field, dtype == "float32" or 0.3),
        )
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-4 if dtype == "float32" else 1e-11,
                                   atol=1e-4 if dtype == "float32" else 1e-12)  # fmt: skip
    assert "moves its elements" not in f.explain()


def test_second_derivatives_through_pipelines():
    def energy(x):
        d = x[1:] - x[:-1]
        return (np.tanh(d[1:] * d[:-1]) * d[1:] ** 2).sum()

    x = np.random.default_rng(1).normal(size=7)
    hessian = ck.jit.hessian(energy)(x)
    gradient = ck.jit.grad(energy)
    for k in range(7):
        e = np.zeros(7)
        e[k] = 1e-5
        np.testing.assert_allclose(
            hessian[k], (gradient(x + e) - gradient(x - e)) / 2e-5, atol=1e-7
        )
        slope = (energy(x + e) - energy(x - e)) / 2e-5
        np.testing.assert_allclose(gradient(x)[k], slope, atol=1e-7)


def test_within_loops_and_in_place():
    def steps(u, v, n):
        for _ in range(n):
            flux = u[1:] * u[:-1]
            v[1:-1] = u[1:-1] - 0.1 * (flux[1:] - flux[:-1])
            smooth = 0.5 * (v[1:] + v[:-1])
            u[1:-1] = 0.5 * (smooth[1:] + smooth[:-1])
        return u.sum()

    f = ck.jit(steps)
    for m, n in [(3, 4), (17, 40), (2, 3), (64, 0), (1, 2)]:
        u = np.random.default_rng(m).normal(size=m)
        ours, theirs = [u.copy(), u[::-1].copy()], [u.copy(), u[::-1].copy()]
        np.testing.assert_allclose(f(*ours, n), steps(*theirs, n), **NUMBERS)
        for a, b in zip(ours, theirs):
            np.testing.assert_allclose(a, b, **NUMBERS)


def drawn(draw, depth):
    """The source of a random pipeline of slices and arithmetic over x and y, rank 2."""
    lines, names = [], ["x", "y"]
    for k in range(depth):
        a, b = draw.choice(names), draw.choice(names)
        cut = [
            draw.choice([":", "1:", ":-1", "::2", "::-1", "1:-1", "2:", "-3:"]) for _ in range(4)
        ]
        op = draw.choice(["+", "-", "*"])
        lines.append(
            f"    v{k} = fitted(np, {a}[{cut[0]}, {cut[1]}], {b}[{cut[2]}, {cut[3]}], '{op}')"
        )
        if draw.random() < 0.3:
            lines.append(f"    v{k} = np.where(v{k} > 0.5, v{k}, np.maximum(v{k}, -2.0))")
        names = [*names[-3:], f"v{k}"]
    return "\n".join(["def f(x, y):", *lines, f"    return v{depth - 1}, v{depth - 2}.sum(0)"])


def fitted(np, a, b, op):
    """a op b of the rows and columns that both have."""
    m, n = min(a.shape[0], b.shape[0]), min(a.shape[1], b.shape[1])
    a, b = a[:m, :n], b[:m, :n]
    return a + b if op == "+" else a - b if op == "-" else a * b


@pytest.mark.sampled(0)
@pytest.mark.parametrize("seed", range(25))
def test_random_pipelines(seed):
    draw = random.Random(seed)
    space = {"np": np, "fitted": fitted}
    exec(drawn(draw, draw.randint(3, 9)), space)
    f = ck.jit(space["f"])
    for shape in [(9, 12), (3, 2), (20, 5), (0, 4), (1, 1)]:
        x, y = np.random.default_rng(seed).uniform(-1, 1, (2, *shape))
        for found, expected in zip(f(x, y), space["f"](x, y)):
            assert found.shape == expected.shape and found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, **NUMBERS)
