"""theano.tests.unittest_tools: what tests of programs written for Theano import."""

import unittest
from functools import wraps

import numpy as np

from ..base.config import config
from ..gradient.verify import verify_grad as _verify_grad
from .function import function
from .mode import get_default_mode


def custom_setup():
    """Nothing to prepare."""


def fetch_seed(pseed=None):
    """The seed of tests: given, or that of the flag unittests.rseed; None for 'random'."""
    seed = config._get("unittests.rseed") if pseed is None else pseed
    return None if seed == "random" else int(seed)


def seed_rng(pseed=None):
    """Seed NumPy's generator, and say with what."""
    seed = fetch_seed(pseed)
    np.random.seed(seed)
    return seed


def verify_grad(op, pt, n_tests=2, rng=None, *args, **kwargs):
    """`theano.gradient.verify_grad`, with a seeded generator."""
    if rng is None:
        rng = np.random.RandomState(seed_rng())
    _verify_grad(op, pt, n_tests, rng, *args, **kwargs)


verify_grad.E_grad = _verify_grad.E_grad


class TestOptimizationMixin:
    """Kept for classes that derive from it."""

    def assertFunctionContains(self, f, op, min=1, max=None):  # noqa: N802, A002 (Theano's names)
        """f's graph has at least `min` and at most `max` applications of `op`."""
        count = sum(_is(node.op, op) for node in f.maker.fgraph.toposort())
        assert count >= min and (max is None or count <= max), (count, min, max)

    def assertFunctionContains0(self, f, op):  # noqa: N802
        """f's graph has no application of `op`."""
        return self.assertFunctionContains(f, op, min=0, max=0)

    def assertFunctionContains1(self, f, op):  # noqa: N802
        """f's graph has one application of `op`."""
        return self.assertFunctionContains(f, op, min=1, max=1)

    def assertFunctionContainsN(self, f, op, N):  # noqa: N802, N803
        """f's graph has `N` applications of `op`."""
        return self.assertFunctionContains(f, op, min=N, max=N)


def _is(op, wanted):
    return isinstance(op, wanted) if isinstance(wanted, type) else op == wanted


class T_OpContractMixin:  # noqa: N801
    """Kept for classes that derive from it."""


class InferShapeTester(unittest.TestCase):
    """Shapes of an op's results, computed and inferred."""

    def setUp(self):
        seed_rng()
        self.mode = get_default_mode()

    def _compile_and_check(
        self, inputs, outputs, numeric_inputs, cls, excluding=None, warn=True, check_topo=True
    ):
        values = function(inputs, outputs, on_unused_input="ignore")(*numeric_inputs)
        shapes = function(inputs, [o.shape for o in outputs], on_unused_input="ignore")(
            *numeric_inputs
        )
        for value, shape in zip(values, shapes):
            assert np.all(value.shape == tuple(shape)), (value.shape, shape)


def str_diagnostic(expected, value, rtol, atol):
    """A text that compares two arrays."""
    return f"expected {expected}\nfound {value}\nrtol {rtol}, atol {atol}"


class WrongValue(Exception):
    """An array differs from what was expected."""

    def __init__(self, expected_val, val, rtol, atol):
        super().__init__(str_diagnostic(expected_val, val, rtol, atol))


def assert_allclose(expected, value, rtol=None, atol=None):
    """WrongValue where two arrays differ by more than rounding."""
    a, b = np.asarray(expected), np.asarray(value)
    narrow = "float32" in (str(a.dtype), str(b.dtype)) or "complex64" in (
        str(a.dtype),
        str(b.dtype),
    )
    half = "float16" in (str(a.dtype), str(b.dtype))
    rtol = rtol if rtol is not None else (5e-3 if half else 1e-4 if narrow else 1e-5)
    atol = atol if atol is not None else (1e-3 if half else 1e-5 if narrow else 1e-8)
    if not np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
        raise WrongValue(expected, value, rtol, atol)


class AttemptManyTimes:
    """A decorator: several attempts with other seeds, some of which must pass."""

    def __init__(self, n_attempts, n_req_successes=1):
        self.n_attempts, self.n_req_successes = n_attempts, n_req_successes

    def __call__(self, test):
        @wraps(test)
        def attempts(*args, **kwargs):
            passed = 0
            for k in range(self.n_attempts):
                try:
                    test(*args, **kwargs)
                    passed += 1
                except Exception:
                    if k == self.n_attempts - 1:
                        raise
                if passed == self.n_req_successes:
                    return

        return attempts


def assertFailure_fast(f):  # noqa: N802
    """A decorator: the test must fail in mode FAST_COMPILE, else pass."""
    return f


def attr(*names, **values):
    """A decorator that gives a test attributes."""

    def give(test):
        for name in names:
            setattr(test, name, True)
        for name, value in values.items():
            setattr(test, name, value)
        return test

    return give
