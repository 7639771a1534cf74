"""The PyTensor bridge: values and gradients of single ops, pickles, the mode by name."""

import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
from pytensor_support import RNG, X, Y, bridge, compiled, pt, pytensor, same, x, y


def test_elementwise_and_reductions():
    outs = [
        pt.tanh(x) * y,
        pt.exp(x).sum(axis=0),
        pt.switch(x > 0, x, -y).max(axis=1),
        pt.log1p(x**2).prod(),
        pt.erf(x),
        pt.gammaln(abs(x) + 1),
        pt.clip(x, -1, 0.5),
        pt.isnan(x).any(),
        x.mean(),
        x.var(axis=0),
        pt.round(x, "half_away_from_zero"),
    ]
    assert same([x, y], outs, X, Y) == []


def test_integers_and_bools_keep_their_meaning():
    i, b = pt.ivector("i"), pt.bvector("b")
    values = np.array([-7, 5, 0, 9], "int32"), np.array([2, -3, 4, 5], "int8")
    outs = [
        i // b,
        i % b,
        i / b,
        i + b,
        pt.cast(i, "int8"),
        ~(i > b),
        (i > b) & (b > 0),
        pt.sum(b),
        pt.sum(i > 0),
        pt.prod(i, dtype="int64"),
        -i,
        abs(b),
        i ^ b,
    ]
    assert same([i, b], outs, *values, exact=True) == []


def test_shapes():
    n = pt.lscalar("n")
    outs = [
        x.T,
        x.reshape((-1,)),
        x[:, None, :],
        pt.concatenate([x, x * 2], axis=1),
        pt.stack([y, y]),
        pt.tile(y, (2, 1)),
        pt.arange(n) * 1.0,
        pt.eye(3),
        pt.diag(y),
        pt.zeros((n, 2)),
        x.shape,
        pt.cumsum(x, axis=1),
        *pt.split(x, splits_size=[1, 2], n_splits=2, axis=1),
        pt.sort(y),
        pt.argsort(y),
        x.argmax(axis=1),
    ]
    assert same([x, y, n], outs, X, Y, 5) == []


def test_indexing_and_its_gradient():
    i, k = pt.lvector("i"), pt.lscalar("k")
    outs = [
        x[i],
        x[1:, ::2],
        x[:k],
        x[k],
        x[i, i % 3],
        x[x > 0],
        pt.set_subtensor(x[i], 1.0),
        pt.inc_subtensor(x[i], 2.0),
        pt.set_subtensor(x[x > 0], 0.0),
        pt.grad((x[i] ** 2).sum(), x),
        pt.inc_subtensor(x[1:3], y),
    ]
    assert same([x, y, i, k], outs, X, Y, [0, 2, 2], 1) == []


def test_products_and_softmax():
    a = pt.dtensor3("a")
    outs = [
        x @ y,
        x.T @ x,
        pt.outer(y, y),
        a @ x.T,
        pt.special.softmax(x, axis=-1),
        pt.special.log_softmax(x, axis=0),
        pt.logsumexp(x, axis=1),
        pt.grad(pt.special.softmax(x, axis=-1)[:, 0].sum(), x),
    ]
    assert same([x, y, a], outs, X, Y, RNG.normal(size=(2, 5, 3))) == []


def test_a_matrix_without_a_cholesky_factor_gives_nan_as_pytensor_does():
    f = compiled([x], pt.linalg.cholesky(x))
    assert np.isnan(f(-np.eye(3))).all()


def test_float32_stays_float32():
    z = pt.fmatrix("z")
    out = compiled([z], pt.exp(z) @ z.T + 1)(X.astype("float32"))
    assert out.dtype == "float32"


def test_large_constants_are_arguments_and_not_text():
    table = RNG.normal(size=(200, 100))
    f = compiled([y], y[0] + pt.as_tensor(table))
    np.testing.assert_allclose(f(Y), Y[0] + table)
    assert len(f.maker.linker.pieces.converter.large) == 1
    f = compiled([y], y[0] + pt.as_tensor(table[:2]))
    assert len(f.maker.linker.pieces.converter.large) == 0  # the near miss


def test_a_large_constant_and_its_transpose_are_one_argument():
    table, z = RNG.normal(size=(400, 200)), pt.dvector("z")
    turned = ((table.T, 1), (table.T + 1, 2), (table[:200].T, 2), (table[::2].T, 2))
    for other, count in turned:
        f = compiled([y, z], [pt.dot(pt.as_tensor(table), y), pt.dot(pt.as_tensor(other), z)])
        left, right = RNG.normal(size=200), RNG.normal(size=other.shape[1])
        got = f(left, right)
        np.testing.assert_allclose(got[0], table @ left)
        np.testing.assert_allclose(got[1], other @ right)
        assert len(f.maker.linker.pieces.converter.large) == count


def test_i0e_and_i1e_are_kernels():
    dist_math = pytest.importorskip("pymc.distributions.dist_math", reason="needs PyMC")
    are_kernels({"i0e": dist_math.i0e(y), "i1e": dist_math.i1e(y)})


def are_kernels(results):
    special = pytest.importorskip("scipy.special")
    f = compiled([y], list(results.values()))
    assert bridge.report(f) == []
    at = np.array([-800.0, -30, -2, -0.3])
    for got, name in zip(f(at), results):
        np.testing.assert_allclose(got, getattr(special, name)(at), rtol=1e-14)


@pytest.mark.skipif(not hasattr(pt, "ndtri_exp"), reason="this PyTensor has no ndtri_exp")
def test_ndtri_exp_is_a_kernel():
    are_kernels({"ndtri_exp": pt.ndtri_exp(y)})
    assert same([y], [pytensor.grad(pt.ndtri_exp(y).sum(), y)], np.array([-40.0, -2, -0.3])) == []


def test_compiled_functions_pickle():
    s = pytensor.shared(np.ones(3))
    f = compiled([x], pt.tanh(x) + s, updates=[(s, s * 2)])
    f(X)
    g = pickle.loads(pickle.dumps(f))
    np.testing.assert_allclose(g(X), np.tanh(X) + 2)


@pytest.mark.slow
def test_processes_that_load_a_compiled_function_compile_nothing(tmp_path):
    """As chains of PyMC do: the function travels as a pickle, its kernels by the compiledir."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    runs, wrapper = tmp_path / "runs", tmp_path / "cc"
    count = f'case "$*" in *" -c "*) echo run >> "{runs}";; esac'
    wrapper.write_text(f'#!/bin/sh\n{count}\nexec {compiler} "$@"\n')
    wrapper.chmod(0o755)
    program = tmp_path / "program.py"
    program.write_text(
        "import pathlib, pickle, sys, pytensor, pytensor.tensor as pt, ckernels.pytensor\n"
        "at, make = pathlib.Path(sys.argv[1]), len(sys.argv) > 2\n"
        "if make:\n"
        "    x = pt.dvector('x')\n"
        "    f = pytensor.function([x], pt.exp(x).sum() * x, mode='CKERNELS')\n"
        "    at.write_bytes(pickle.dumps(f))\n"
        "f = f if make else pickle.loads(at.read_bytes())\n"
        "print(f([0.0, 0.0, 1.0])[2])\n"
    )
    flags = f"cc={wrapper},compiledir={tmp_path / 'kernels'}"
    environment = {**os.environ, "CKERNELS_FLAGS": flags}

    def start(*more):
        command = [sys.executable, "-W", "ignore", str(program), str(tmp_path / "f"), *more]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    printed = [start("make").communicate()[0]]
    made = runs.read_text()
    printed += [child.communicate()[0] for child in [start(), start(), start(), start()]]
    assert [float(x) for x in printed] == pytest.approx([2 + np.e] * 5)
    assert made and runs.read_text() == made


def test_the_mode_by_name_and_as_the_default():
    before = pytensor.config.mode
    try:
        pytensor.config.mode = "CKERNELS"
        f = pytensor.function([y], y * 2)
    finally:
        pytensor.config.mode = before
    assert bridge.report(f) == []


def test_the_configuration_pickles_and_knows_the_mode():
    restored = pickle.loads(pickle.dumps(pytensor.config))
    with pytensor.config.change_flags(mode="CKERNELS"):
        assert pytensor.config.mode == "CKERNELS"
    restored.mode = "CKERNELS"
    assert restored.mode == "CKERNELS"
    with pytest.raises(ValueError):
        restored.mode = "NONE OF THESE"


def test_a_program_runs_as_it_is(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, pytensor, pytensor.tensor as pt\n"
        "v = pt.dvector('v')\n"
        "f = pytensor.function([v], v * 2)\n"
        "print(type(f.maker.linker).__name__, f([1.0, 2.0]), sys.argv[1:])\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "ckernels.pytensor", str(program), "--flag"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.split() == ["CKernelsLinker", "[2.", "4.]", "['--flag']"], done.stderr
