"""Arrays of no elements through every K function: as NumPy has it, and compiled as in reference."""

import itertools
import math

import numpy as np
import pytest

import ckernels as K
from ckernels.base.errors import CKernelsError

from .empty_cases import CASES, NO_TENSORS

MODES = ("reference", "compiled")


def test_every_function_has_a_case():
    public = {n for n in dir(K) if not n.startswith("_")}
    assert public - NO_TENSORS <= {c[0] for c in CASES}, public - NO_TENSORS - {c[0] for c in CASES}


def sizes_of(shapes, most, others=(3, 1)):
    """{letter: size} with letters of size 0, the rest one of `others`; at most `most` of them."""
    letters = sorted({c for s in shapes for c in s if c.isalpha()})
    found = []
    for count in range(1, len(letters) + 1):
        for zero in itertools.combinations(letters, count):
            for rest in others:
                found.append({c: 0 if c in zero else rest for c in letters})
    return [dict(t) for t in dict.fromkeys(tuple(f.items()) for f in found)][:most]


def arrays_of(shapes, dtypes, sizes):
    rng = np.random.default_rng(0)
    made = []
    for shape, dtype in zip(shapes, dtypes):
        dims = [sizes.get(c) if c.isalpha() else int(c) for c in shape]
        if "d" in shape and dims and shape in ("3do", "4do"):  # unshared kernels: places, taps
            dims[1] = sizes.get("c", 1) * (2 if shape == "3do" else 4)
        if dtype == "float32":
            made.append(rng.uniform(0.1, 0.9, dims).astype(dtype))
        else:
            made.append(np.ones(dims, dtype) if math.prod(dims) else np.zeros(dims, dtype))
    return made


def outcome(build, arrays, static, mode):
    """The arrays that come out (a gradient with them), or the class of error that is ours."""
    try:
        leaves = [
            K.placeholder(a.shape if static else (None,) * a.ndim, dtype=a.dtype.name)
            for a in arrays
        ]
        out = build(*leaves)
        outs = list(out) if isinstance(out, (list, tuple)) else [out]
        floats = [x for x in leaves if K.dtype(x) == "float32"]
        if K.dtype(outs[0]).startswith("float") and floats:
            cost = K.sum(K.square(outs[0]))
            outs += K.gradients(cost, floats, disconnected="zero")
        f = K.function(leaves, outs, mode=mode)
        return [np.asarray(r) for r in f(*arrays)]
    except (CKernelsError, np.linalg.LinAlgError, NotImplementedError) as problem:
        return type(problem)


def compare(name, build, shapes, dtypes, like, sizes):
    arrays = arrays_of(shapes, dtypes, sizes)
    with np.errstate(all="ignore"):
        for static in (False, True):
            reference, compiled = (outcome(build, arrays, static, mode) for mode in MODES)
            where = f"{name} of {[a.shape for a in arrays]}{' (static)' * static}"
            if isinstance(reference, type) or isinstance(compiled, type):
                assert reference is compiled, (where, reference, compiled)
                continue
            for a, b in zip(reference, compiled):
                assert a.shape == b.shape and a.dtype == b.dtype, (where, a.shape, b.shape)
                np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6, err_msg=where)
            if like is not None:
                check_numpy(where, reference[0], like, arrays)


def check_numpy(where, got, like, arrays):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = np.asarray(like(*arrays))
    assert got.shape == want.shape, (where, got.shape, want.shape)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=where)


NAMES = sorted({c[0] for c in CASES})


def run(name, most, others=(3, 1)):
    for case in CASES:
        if case[0] == name:
            for sizes in sizes_of(case[2], most, others):
                compare(*case, sizes)


QUICK = ("sum", "dot", "gather", "conv2d", "pool2d", "softmax", "scan", "concatenate")


@pytest.mark.parametrize("name", QUICK)
def test_empty_arrays(name):
    run(name, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_empty_arrays_of_every_function(name):
    """10,000 cases over all names, each with and without static sizes, in both modes."""
    run(name, 80, (3, 1, 2, 5, 17))
