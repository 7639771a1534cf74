"""PyMC through the bridge: log-densities against PyTensor's Python mode, and nutpie."""

import ctypes
import functools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor", reason="needs PyTensor: pip install ckernels[pytensor]")
pm = pytest.importorskip("pymc", reason="needs PyMC: pip install pymc")
import ckernels.pytensor as bridge  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from benchmarks.pymc_models import MODELS  # noqa: E402

QUICK = ("eight_schools", "poisson_groups", "ar1_scan")


def both(model):
    """[log-density and gradient in one vector, a row for each of two points] of ours and of
    PyTensor's Python mode; our function."""
    size = sum(np.size(v) for v in model.initial_point().values())
    points = np.random.default_rng(7).normal(size=(2, size)) * [[0.3], [1.0]]
    found, ours = [], None
    for mode in ("CKERNELS", "FAST_COMPILE"):
        function = model.logp_dlogp_function(ravel_inputs=True, mode=mode)
        function.set_extra_values({})
        compiled = function._pytensor_function
        rows = [np.concatenate([np.ravel(x) for x in compiled(point)]) for point in points]
        found.append(np.array(rows))
        ours = compiled if mode == "CKERNELS" else ours
    return *found, ours


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in MODELS],
)
def test_log_density_and_gradient(name):
    got, want, function = both(MODELS[name](pm))
    assert np.isfinite(want).all() and (want[0] != want[1]).any()
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=0, equal_nan=False)
    assert bridge.report(function) == []


def test_minibatches_are_those_of_pytensor():
    data = np.arange(40.0)
    found = []
    for mode in ("CKERNELS", "FAST_COMPILE"):
        with pm.Model() as model:
            batch = pm.Minibatch(data, batch_size=5)
            pm.Normal("y", pm.Normal("mu"), 10, observed=batch, total_size=40)
        (value,) = model.value_vars
        f = pm.pytensorf.compile([value], [model.logp(), batch], mode=mode, random_seed=5)
        found.append([f(0.5) for _ in range(6)])
    for (got, ours), (want, theirs) in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_allclose(got, want, rtol=1e-13)
    assert len({float(want) for want, _ in found[1]}) == 6


@pytest.mark.slow
@pytest.mark.parametrize("other", ["NUMBA", "FAST_COMPILE"])
def test_draws_of_nuts_are_those_of_other_modes(other):
    """The first to the bit; then last bits of the density grow with the steps of the tuning."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(6), 8)
    with pm.Model() as model:
        each = pm.Normal("each", pm.Normal("mu"), pm.HalfNormal("tau"), shape=6)
        data = rng.normal(rng.normal(size=6)[group], 0.7)
        pm.Normal("y", each[group], pm.HalfNormal("s"), observed=data)
    found = []
    for mode in ("CKERNELS", other):
        trace = pm.sample(
            0, tune=40, chains=2, cores=1, random_seed=11, progressbar=False, model=model,
            compute_convergence_checks=False, discard_tuned_samples=False,
            nuts_sampler="pymc", compile_kwargs={"mode": mode},
        )  # fmt: skip
        rows = trace.warmup_posterior if hasattr(trace, "warmup_posterior") else trace.posterior
        found.append({name: rows[name].values for name in ("mu", "tau", "s", "each")})
    ours, theirs = found
    for name, rows in ours.items():
        assert len(np.unique(rows[:, :, ...])) > 20
        np.testing.assert_allclose(rows[:, 0], theirs[name][:, 0], rtol=1e-14)
        np.testing.assert_allclose(rows, theirs[name], rtol=1e-7, atol=1e-7)


def test_nutpies_functions_are_raw_entries():
    pytest.importorskip("nutpie", reason="needs nutpie")
    compiled = bridge.compile_pymc_model(MODELS["eight_schools"](pm))
    entry = compiled.compiled_logp_func
    x, slope, logp = np.full(10, 0.1), np.empty(10), np.empty(())
    at = [a.ctypes.data for a in (x, slope, logp)]
    assert entry.ctypes()(10, *at, entry.user_data) == 0
    want, gradient = compiled.logp_func(x)
    assert logp == want and np.array_equal(slope, gradient)
    kept = np.empty(compiled.n_expanded)
    entry = compiled.compiled_expand_func
    assert entry.ctypes()(10, len(kept), x.ctypes.data, kept.ctypes.data, entry.user_data) == 0
    np.testing.assert_array_equal(kept, compiled.expand_func(x)[0])


def test_new_data_in_a_model_of_nutpie():
    pytest.importorskip("nutpie", reason="needs nutpie")
    with pm.Model() as model:
        data = pm.Data("data", np.zeros(4))
        pm.Normal("y", pm.Normal("mu", 0, 1), 1, observed=data)
    compiled = bridge.compile_pymc_model(model)
    other = compiled.with_data(data=np.full(4, 2.0))

    def slope(of):
        x, g, logp = np.zeros(1), np.empty(1), np.empty(())
        entry = of.compiled_logp_func
        entry.ctypes()(1, x.ctypes.data, g.ctypes.data, logp.ctypes.data, entry.user_data)
        return g[0]

    assert (slope(compiled), slope(other)) == (0.0, 8.0)
    with pytest.raises(KeyError, match="Unknown shared variable: nothing"):
        compiled.with_data(nothing=1.0)


@pytest.mark.slow
def test_a_model_with_python_in_it_is_a_callback():
    pytest.importorskip("nutpie", reason="needs nutpie")
    import pytensor.tensor as pt

    with pm.Model() as model:
        x = pm.Normal("x", 0, 1, shape=2)
        pm.Potential("p", pt.linalg.pinv(x[:, None] * x + pt.eye(2), hermitian=True).sum())
    with pytest.warns(bridge_warning(), match="calls Python for .*MatrixPinv"):
        compiled = bridge.compile_pymc_model(model)
    n = compiled.n_dim
    x, g, logp = np.zeros(n), np.empty(n), np.empty(())
    entry = compiled.compiled_logp_func
    assert entry.callback(n, x.ctypes.data, g.ctypes.data, logp.ctypes.data, None) == 0
    assert logp == pytest.approx(float(compiled.logp_func(x)[0]))
    assert isinstance(entry.address, int) and ctypes.c_void_p(entry.address)


def bridge_warning():
    from ckernels.base.errors import CKernelsWarning

    return CKernelsWarning


def test_the_programs_of_the_guide_run(monkeypatch):
    nutpie = pytest.importorskip("nutpie", reason="needs nutpie")
    page = ROOT / "docs" / "guide" / "pymc.md"
    blocks = re.findall(r"^```py\n(.*?)^```$", page.read_text(), re.M | re.S)
    few = {"draws": 50, "tune": 50, "chains": 2, "progressbar": False}
    monkeypatch.setattr(pm, "sample", functools.partial(pm.sample, **few, cores=1))
    compiled = functools.partial(nutpie.sample, draws=50, tune=50, progress_bar=False)
    monkeypatch.setattr(nutpie, "sample", compiled)
    x = pytensor.tensor.dvector("x")
    space, traces = {"pm": pm, "pytensor": pytensor, "nutpie": nutpie, "x": x, "y": x * 2}, []
    with pytensor.config.change_flags(mode=pytensor.config.mode):
        for block in blocks:
            if len(traces) != 1:  # nutpie takes no model that a posterior predictive was drawn of
                with pm.Model() as model:
                    pm.Normal("y", pm.Normal("mean"), observed=[1.0, 2.0, 4.0])
            space["model"] = model
            with model:
                exec(block, space)
            traces.append(space["trace"])
    assert len(blocks) == 3 and traces[0] is traces[1] is not traces[2]
    assert traces[0].posterior["mean"].shape == (2, 50)
    assert traces[2].posterior["mean"].shape == (4, 50)
    np.testing.assert_array_equal(space["f"]([1.0, 2.0]), [2.0, 4.0])


@pytest.mark.slow
def test_the_example_finds_what_was_put_in():
    pytest.importorskip("nutpie", reason="needs nutpie")
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "pymc_radon.py", "--draws", "200", "--nutpie"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0 and "Python calls: none" in done.stdout, done.stderr
