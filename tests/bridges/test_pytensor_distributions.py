"""PyMC's distributions through the bridge: log-densities, their gradients, logcdf and icdf."""

import numpy as np
import pytest

pytest.importorskip("pytensor", reason="needs PyTensor: pip install ckernels[pytensor]")
pm = pytest.importorskip("pymc", reason="needs PyMC: pip install pymc")
import pytensor  # noqa: E402
import pytensor.tensor as pt  # noqa: E402

import ckernels.pytensor as bridge  # noqa: E402

REAL = np.array([-3.2, -1.0, -0.1, 0.0, 0.3, 1.0, 2.7])
POSITIVE = np.array([-1.0, 0.0, 0.02, 0.4, 1.0, 3.5, 20.0])
UNIT = np.array([-0.5, 0.0, 0.03, 0.4, 0.99, 1.0, 1.5])
COUNTS = np.array([-1, 0, 1, 2, 5, 9, 30])
SIMPLEX = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8], [0.4, 0.5, 0.1]])
MATRIX = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.5]])
VECTORS = np.array([[0.1, -0.4, 2.0], [1.0, 0.0, 0.3]])
TALLY = np.array([[1, 2, 3], [0, 0, 6], [2, 2, 1]])
CUTS = np.array([-1.0, 0.5, 2.0])
MU_SIGMA = {"mu": 0.4, "sigma": 1.3}

CASES = {
    "AsymmetricLaplace": ({"kappa": 1.4, "mu": 0.2, "b": 0.8}, REAL),
    "Bernoulli": ({"p": 0.3}, COUNTS),
    "Beta": ({"alpha": 2.1, "beta": 0.7}, UNIT),
    "BetaBinomial": ({"alpha": 2.1, "beta": 0.7, "n": 9}, COUNTS),
    "Binomial": ({"n": 9, "p": 0.3}, COUNTS),
    "Categorical": ({"p": np.array([0.1, 0.2, 0.3, 0.4])}, COUNTS),
    "Cauchy": ({"alpha": 0.2, "beta": 1.1}, REAL),
    "ChiSquared": ({"nu": 3.3}, POSITIVE),
    "DiracDelta": ({"c": 2}, COUNTS),
    "Dirichlet": ({"a": np.array([0.7, 2.0, 3.0])}, SIMPLEX),
    "DirichletMultinomial": ({"n": 6, "a": np.array([0.7, 2.0, 3.0])}, TALLY),
    "DiscreteUniform": ({"lower": 0, "upper": 7}, COUNTS),
    "DiscreteWeibull": ({"q": 0.7, "beta": 1.4}, COUNTS),
    "ExGaussian": ({**MU_SIGMA, "nu": 0.6}, REAL),
    "Exponential": ({"lam": 1.7}, POSITIVE),
    "Flat": ({}, REAL),
    "Gamma": ({"alpha": 2.3, "beta": 0.6}, POSITIVE),
    "Geometric": ({"p": 0.3}, COUNTS),
    "Gumbel": ({"mu": 0.2, "beta": 1.1}, REAL),
    "HalfCauchy": ({"beta": 1.2}, POSITIVE),
    "HalfFlat": ({}, POSITIVE),
    "HalfNormal": ({"sigma": 1.2}, POSITIVE),
    "HalfStudentT": ({"nu": 3.1, "sigma": 1.2}, POSITIVE),
    "HurdleGamma": ({"psi": 0.6, "alpha": 2.3, "beta": 0.6}, POSITIVE),
    "HurdleLogNormal": ({"psi": 0.6, **MU_SIGMA}, POSITIVE),
    "HurdleNegativeBinomial": ({"psi": 0.6, "mu": 2.2, "alpha": 1.4}, COUNTS),
    "HurdlePoisson": ({"psi": 0.6, "mu": 2.2}, COUNTS),
    "HyperGeometric": ({"N": 30, "k": 12, "n": 8}, COUNTS),
    "InverseGamma": ({"alpha": 2.3, "beta": 0.6}, POSITIVE),
    "Kumaraswamy": ({"a": 2.3, "b": 0.6}, UNIT),
    "Laplace": ({"mu": 0.2, "b": 1.1}, REAL),
    "LogNormal": (MU_SIGMA, POSITIVE),
    "Logistic": ({"mu": 0.2, "s": 1.1}, REAL),
    "LogitNormal": (MU_SIGMA, UNIT),
    "MatrixNormal": (
        {"mu": np.zeros((2, 3)), "rowcov": MATRIX[:2, :2], "colcov": MATRIX},
        VECTORS,
    ),
    "Moyal": (MU_SIGMA, REAL),
    "Multinomial": ({"n": 6, "p": np.array([0.2, 0.3, 0.5])}, TALLY),
    "MvNormal": ({"mu": np.array([0.1, 0.2, 0.3]), "cov": MATRIX}, VECTORS),
    "MvStudentT": ({"nu": 3.2, "mu": np.array([0.1, 0.2, 0.3]), "scale": MATRIX}, VECTORS),
    "NegativeBinomial": ({"mu": 2.2, "alpha": 1.4}, COUNTS),
    "Normal": (MU_SIGMA, REAL),
    "OrderedLogistic": ({"eta": np.full(7, 0.3), "cutpoints": CUTS, "compute_p": False}, COUNTS),
    "OrderedProbit": ({"eta": np.full(7, 0.3), "cutpoints": CUTS, "compute_p": False}, COUNTS),
    "Pareto": ({"alpha": 2.3, "m": 0.3}, POSITIVE),
    "Poisson": ({"mu": 2.2}, COUNTS),
    "Rice": ({"nu": 0.8, "sigma": 1.2}, POSITIVE),
    "SkewNormal": ({**MU_SIGMA, "alpha": 0.9}, REAL),
    "SkewStudentT": ({**MU_SIGMA, "a": 2.2, "b": 1.6}, REAL),
    "StudentT": ({"nu": 3.1, **MU_SIGMA}, REAL),
    "Triangular": ({"lower": -2.0, "c": 0.3, "upper": 2.0}, REAL),
    "TruncatedNormal": ({**MU_SIGMA, "lower": -2.0, "upper": 2.0}, REAL),
    "Uniform": ({"lower": -2.0, "upper": 2.0}, REAL),
    "VonMises": ({"mu": 0.2, "kappa": 1.4}, REAL),
    "Wald": ({"mu": 1.2, "lam": 0.9, "alpha": 0.1}, POSITIVE),
    "Weibull": ({"alpha": 1.3, "beta": 0.8}, POSITIVE),
    "Wishart": ({"nu": 5, "V": MATRIX}, MATRIX),
    "ZeroInflatedBinomial": ({"psi": 0.6, "n": 9, "p": 0.3}, COUNTS),
    "ZeroInflatedNegativeBinomial": ({"psi": 0.6, "mu": 2.2, "alpha": 1.4}, COUNTS),
    "ZeroInflatedPoisson": ({"psi": 0.6, "mu": 2.2}, COUNTS),
    "ZeroSumNormal": ({"sigma": 1.2, "shape": (3,)}, VECTORS - VECTORS.mean(1, keepdims=True)),
}
FIXED = ("shape", "compute_p", "n")  # no variables
# What runs in Python: inverses of functions
IN_PYTHON = ("Betaincinv", "Gammaincinv")
# icdf by root finding, or the difference of large numbers: what two libraries of functions agree on
LOOSE = {"BetaBinomial": 1e-8, "SkewStudentT": 1e-8, "HyperGeometric": 1e-8}


def compiled_pair(name):
    """({what: of ours}, {what: of PyTensor's Python mode}, what ran in Python)."""
    given, value = CASES[name]
    inputs, parameters = [], {}
    for key, number in given.items():
        if key in FIXED:
            parameters[key] = number
            continue
        inputs.append(pt.as_tensor(np.asarray(number)).type(key))
        parameters[key] = inputs[-1]
    x = pt.as_tensor(value).type("value")
    drawn = getattr(pm, name).dist(**parameters)
    parts = {"logp": pm.logp(drawn, x)}
    for what, argument in (("logcdf", x), ("icdf", pt.as_tensor(np.linspace(0.03, 0.97, 7)))):
        try:
            parts[what] = getattr(pm, what)(drawn, argument)
        except (NotImplementedError, ValueError, TypeError):  # it has none, or of scalars alone
            pass
    wanted = [v for v in (x, *inputs) if v.dtype == "float64"]
    density = pt.where(pt.isfinite(parts["logp"]), parts["logp"], 0).sum()
    try:
        slopes = pytensor.grad(density, wanted, disconnected_inputs="ignore") if wanted else []
    except NotImplementedError:
        slopes = []
    parts.update((f"slope in {v}", g) for v, g in zip(wanted, slopes))
    values = [value, *(np.asarray(v) for k, v in given.items() if k not in FIXED)]
    found = []
    for mode in ("CKERNELS", "FAST_COMPILE"):
        ours = pytensor.function([x, *inputs], list(parts.values()), mode=mode,
                                 on_unused_input="ignore")  # fmt: skip
        found.append(dict(zip(parts, ours(*values))))
        if mode == "CKERNELS":
            python = bridge.report(ours)
    return *found, python


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_distribution(name):
    with np.errstate(all="ignore"):
        got, want, python = compiled_pair(name)
    assert np.isfinite(want["logp"]).any()
    for what, value in want.items():
        np.testing.assert_allclose(
            got[what], value, rtol=LOOSE.get(name, 1e-10), atol=1e-13, err_msg=what
        )
    assert all(op.startswith(IN_PYTHON) for op, _ in python), python
