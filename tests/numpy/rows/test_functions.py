"""Rows of functions beside NumPy, over dtypes, axes, options and no elements."""

import numpy as np
import pytest
from test_ufuncs import compare

from ckernels.base.errors import NotSupported
from ckernels.numpy import rows
from ckernels.numpy.promote import NUMPY

RNG = np.random.default_rng(3)
M, N, V = RNG.normal(size=(4, 5)), RNG.normal(size=(5, 3)), RNG.normal(size=6)
S = M @ M.T + 4 * np.eye(4)
CUBE = RNG.normal(size=(2, 3, 4))
HOLES = np.where(M > 0.5, np.nan, M)
I8 = np.array([[100, 100, -3], [7, 0, 2]], "int8")
F32 = M.astype("float32")

# function, arguments, options
CASES = [
    *[(f, (x,), o) for f in (np.sum, np.prod, np.max, np.min, np.mean, np.std, np.var, np.ptp,
                             np.any, np.all, np.argmax, np.argmin)
      for x in (M, I8, F32, I8 > 5, CUBE) if not (f is np.ptp and x.dtype == bool)
      for o in ({}, {"axis": 0}, {"axis": -1, "keepdims": True})],
    (np.sum, (CUBE,), {"axis": (0, 2)}), (np.sum, (np.zeros((0, 3)),), {"axis": 0}),
    (np.sum, (I8,), {"dtype": "float32"}), (np.sum, (M,), {"where": M > 0, "initial": 2.0}),
    (np.max, (M,), {"where": M > 0, "initial": -1.0}), (np.mean, (M,), {"where": M > 0}),
    (np.var, (M,), {"ddof": 1, "axis": 0}), (np.std, (I8,), {"ddof": 1}),
    (np.count_nonzero, (I8,), {}), (np.count_nonzero, (I8,), {"axis": 1}),
    (np.average, (M,), {"axis": 0, "weights": np.arange(4.0)}), (np.average, (I8,), {}),
    *[(f, (HOLES,), {"axis": a}) for f in (np.nansum, np.nanmean, np.nanmax, np.nanmin, np.nanprod)
      for a in (None, 0, 1)],
    *[(f, (x,), {"axis": a}) for f in (np.cumsum, np.cumprod) for x in (M, I8, I8 > 5)
      for a in (None, 1)],
    *[(np.median, (x,), {"axis": a}) for x in (M, N, HOLES, I8) for a in (None, 0, 1)],
    *[(np.where, (I8 > 3, a, b), {}) for a in (I8, 2, 2.5) for b in (I8, 0, 1.5)],
    (np.clip, (I8, 0, 5), {}), (np.clip, (M, None, 0.2), {}), (np.clip, (F32, 0, 0.5), {}),
    (np.concatenate, ([I8, M[:2, :3]],), {}), (np.concatenate, ([I8, I8],), {"axis": None}),
    (np.stack, ([V, V],), {"axis": 1}), (np.vstack, ([V, V],), {}), (np.hstack, ([V, V],), {}),
    (np.hstack, ([M, M],), {}), (np.dstack, ([M, M],), {}), (np.dstack, ([V, V],), {}),
    (np.column_stack, ([V, V],), {}), (np.split, (V, 3), {}), (np.array_split, (V, 4), {}),
    (np.split, (M, [1, 3]), {"axis": 1}), (np.tile, (M, (2, 1)), {}), (np.tile, (V, (2, 2)), {}),
    (np.repeat, (M, 2), {}), (np.repeat, (M, 3), {"axis": 1}),
    *[(np.roll, (M, s), {"axis": a}) for s in (1, -2, 7) for a in (None, 0, 1)],
    (np.roll, (M, (1, 2)), {"axis": (0, 1)}), (np.flip, (M,), {}), (np.flip, (M, 1), {}),
    (np.fliplr, (M,), {}), (np.flipud, (M,), {}),
    *[(np.pad, (M, w), {"mode": m}) for w in (1, ((1, 2), (0, 3)))
      for m in ("constant", "edge", "reflect", "wrap", "symmetric")],
    (np.diff, (V,), {}), (np.diff, (M,), {"n": 2, "axis": 0}), (np.diff, (I8 > 5,), {}),
    (np.take, (M, [0, -1]), {"axis": 1}), (np.take, (V, 2), {}),
    (np.take_along_axis, (M, np.argsort(M, 1)), {"axis": 1}), (np.sort, (M,), {"axis": 0}),
    (np.sort, (I8,), {"axis": None}), (np.argsort, (I8,), {"kind": "stable"}),
    (np.real, (M,), {}), (np.imag, (M + 1j,), {}), (np.nan_to_num, (HOLES,), {"nan": 2.0}),
    *[(np.round, (M, d), {}) for d in (0, 2)], (np.round, (M * 100, -1), {}), (np.round, (I8,), {}),
    (np.isclose, (M, M + 1e-9), {}), (np.isclose, (HOLES, HOLES), {"equal_nan": True}),
    (np.allclose, (M, M + 1e-3), {}), (np.broadcast_to, (V, (3, 6)), {}),
    (np.append, (M, N), {}), (np.reshape, (M, (2, -1)), {}), (np.ravel, (M,), {}),
    (np.transpose, (CUBE, (2, 0, 1)), {}), (np.swapaxes, (CUBE, 0, 2), {}),
    (np.moveaxis, (CUBE, 0, -1), {}), (np.squeeze, (M[None],), {}),
    (np.expand_dims, (M, (0, 2)), {}),
    *[(f, (I8,), {}) for f in (np.zeros_like, np.ones_like)], (np.full_like, (I8, 2.7), {}),
    (np.zeros_like, (I8,), {"dtype": "float32"}), (np.zeros, ((2, 3),), {}), (np.ones, (3,), {}),
    (np.full, ((2,), 7), {}), (np.arange, (5,), {}), (np.arange, (1, 3, 0.5), {}),
    (np.linspace, (0, 1, 7), {}), (np.linspace, (0.5, 2, 4), {"endpoint": False}),
    (np.linspace, (M[0], 2, 4), {}), (np.linspace, (0, 1, 1), {}), (np.eye, (3,), {"k": 1}),
    (np.tril, (M,), {}), (np.triu, (M, 1), {}), (np.diag, (V,), {}), (np.diag, (M, 1), {}),
    (np.diagonal, (CUBE,), {"axis1": 1, "axis2": 2}), (np.meshgrid, (V, N[:, 0]), {}),
    (np.meshgrid, (V, N[:, 0]), {"indexing": "ij", "sparse": True}),
    (np.dot, (M, N), {}), (np.dot, (V, V), {}), (np.dot, (I8, I8.T), {}), (np.dot, (V, 2.0), {}),
    (np.dot, (I8, F32[:3]), {}), (np.inner, (M, M), {}), (np.vdot, (V, V), {}),
    (np.outer, (V, V), {}), (np.tensordot, (CUBE, CUBE), {"axes": ([1, 2], [1, 2])}),
    (np.trace, (M,), {}), (np.trace, (I8,), {}), (np.kron, (M, N), {}),
    *[(np.einsum, a, {}) for a in (("ij,jk->ik", M, N), ("ij,jk", M, N), ("ij->j", M),
                                   ("i,j->ij", V, V), ("ijk,ijl->il", CUBE, CUBE),
                                   ("ij,ij->", M, M), ("bij,bkj->bik", CUBE, CUBE),
                                   ("ij,jk,k->i", M, N, N[0]), ("ij->ji", M))],
    (np.linalg.solve, (S, M), {}), (np.linalg.solve, (S, M[:, 0]), {}), (np.linalg.inv, (S,), {}),
    (np.linalg.det, (S,), {}), (np.linalg.slogdet, (S,), {}), (np.linalg.cholesky, (S,), {}),
    (np.linalg.matrix_power, (S, 3), {}), (np.linalg.norm, (M,), {}), (np.linalg.norm, (V,), {}),
    (np.linalg.norm, (M,), {"axis": 1}), (np.linalg.norm, (V, 1), {}),
    (np.linalg.norm, (V, np.inf), {}), (np.linalg.norm, (M, 3), {"axis": 0, "keepdims": True}),
    *[(np.searchsorted, (np.sort(V), M), {"side": s}) for s in ("left", "right")],
    (np.trapezoid, (M,), {}), (np.trapezoid, (M,), {"x": np.arange(4.0) ** 2, "axis": 0}),
    (np.interp, (M, np.arange(6.0), V), {}), (np.interp, (0.5, [0, 1, 2], [5, 6, 8]), {}),
    (np.interp, (M, np.arange(6.0), V), {"left": -9.0, "right": 9.0}),
    (np.bincount, (np.array([1, 1, 3]),), {}), (np.bincount, ([0, 2], [0.5, 2.0]), {}),
    *[(np.convolve, (V, [1, 2, 3]), {"mode": m}) for m in ("full", "same", "valid")],
    (np.convolve, ([1, 2], V), {}), (np.cov, (M,), {}), (np.cov, (M,), {"rowvar": False}),
    (np.cov, (I8,), {"ddof": 0}), (np.histogram, (M,), {}), (np.histogram, (V, 4), {}),
    (np.histogram, (np.ones(4), 3), {}), (np.histogram, (V,), {"weights": np.arange(6.0)}),
    (np.histogram, (np.arange(11.0),), {"bins": 10}),
]  # fmt: skip


@pytest.mark.parametrize("function, args, options", CASES, ids=lambda c: getattr(c, "__name__", ""))
def test_functions_are_numpys(function, args, options):
    assert compare(function, *args, **options)


def test_every_row_is_compared():
    done = {function for function, _, _ in CASES}
    other = {np.nonzero, np.compress, np.empty_like, np.empty, np.identity, np.shape}
    missing = [f.__name__ for f in rows.FUNCTIONS if f not in done | other]
    assert not missing


def test_what_has_no_row_says_so():
    with pytest.raises(NotSupported, match="unique"):
        rows.call(NUMPY, np.unique, V)
    with pytest.raises(NotSupported, match="stable"):
        rows.call(NUMPY, np.argsort, V)
