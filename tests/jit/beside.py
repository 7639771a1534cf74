"""A function under jit beside itself: results, their kinds and arguments are compared."""

import copy
import importlib.util
import warnings

import numpy as np
import pytest

import ckernels as ck
from ckernels.base.errors import CKernelsWarning


def flat(x):
    if isinstance(x, (tuple, list)):
        return [z for y in x for z in flat(y)]
    if isinstance(x, dict):
        return [z for y in x.values() for z in flat(y)]
    return flat(vars(x)) if hasattr(x, "__dict__") else [x]


def same(want, got):
    assert type(want) is type(got), (type(want), type(got))
    if isinstance(want, (np.ndarray, np.generic)):
        assert want.dtype == got.dtype and want.shape == got.shape
        eps = {"e": 1e-3, "f": 1e-5, "F": 1e-5}.get(want.dtype.char, 1e-11)
        np.testing.assert_allclose(got, want, rtol=eps, atol=eps)
    elif isinstance(want, float):
        assert got == pytest.approx(want, rel=1e-12, nan_ok=True)
    else:
        assert want == got


def check(function, *args, traced=True):
    """`function` jitted does what it does, three times over; whether without NumPy."""
    jitted = ck.jit(function)
    for _ in range(3):
        theirs, ours = copy.deepcopy(args), copy.deepcopy(args)
        with np.errstate(all="ignore"):
            want = function(*theirs)
            if traced:
                got = jitted(*ours)
            else:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", CKernelsWarning)
                    got = jitted(*ours)
        for a, b in zip(flat([want, theirs]), flat([got, ours]), strict=True):
            same(a, b)
    assert traced is None or (not jitted.report()["numpy"]) == traced, jitted.report()
    return jitted


def written(text, name, folder):
    """The function f of a program, as a module of this name in `folder`."""
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f
