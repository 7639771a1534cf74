"""How SciPy's functions are reached in a trace, and calls without traced arguments."""

import subprocess
import sys

import numpy as np
import pytest

import ckernels as ck

pytest.importorskip("scipy")
import scipy  # noqa: E402
import scipy.linalg  # noqa: E402
from scipy import special as special_functions  # noqa: E402
from scipy import stats  # noqa: E402
from scipy.special import logsumexp  # noqa: E402
from scipy.stats import norm  # noqa: E402

X = np.linspace(0.1, 0.9, 9)
WANT = np.log(np.sum(np.exp(X)))


def test_by_each_way_to_a_function():
    def inside(x):
        from scipy.special import logsumexp as inner

        return inner(x)

    for f in (lambda x: logsumexp(x), lambda x: special_functions.logsumexp(x),
              lambda x: scipy.special.logsumexp(x), inside,
              lambda x, of=logsumexp: of(x)):  # fmt: skip
        assert ck.jit(f, strict=True)(X) == pytest.approx(WANT, rel=1e-13)
    for f in (lambda x: norm.logpdf(x).sum(), lambda x: stats.norm.logpdf(x).sum()):
        want = (-0.5 * X**2 - 0.5 * np.log(2 * np.pi)).sum()
        assert ck.jit(f, strict=True)(X) == pytest.approx(want, rel=1e-13)


def test_without_traced_arguments_it_is_scipys():
    def f(x):
        factor = scipy.linalg.cholesky([[1.5, 0.5], [0.5, 1.5]], lower=True)
        return x * factor[1, 0] + norm.ppf(0.975) + scipy.linalg.lu([[1.5, 0.5], [0.5, 2]])[2][0, 0]

    np.testing.assert_allclose(ck.jit(f, strict=True)(X), f(X), rtol=1e-13)


def test_a_name_that_the_program_sets_anew():
    holder = {"f": logsumexp}
    jitted = ck.jit(lambda x: holder["f"](x))
    assert jitted(X) == pytest.approx(WANT, rel=1e-13)
    holder["f"] = np.sum
    assert jitted(X) == pytest.approx(X.sum(), rel=1e-13)


def test_nothing_imports_scipy():
    code = ("import sys, numpy as np, ckernels as ck\n"
            "assert ck.jit(lambda x: x + 1)(np.ones(3)).sum() == 6\n"
            "assert not [m for m in sys.modules if m.startswith('scipy')]\n")  # fmt: skip
    subprocess.run([sys.executable, "-c", code], check=True)
