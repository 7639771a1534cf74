"""Rows of functions beside NumPy, over dtypes, axes, options and no elements."""

import numpy as np
import pytest
from test_ufuncs import compare, results, same

from ckernels.base.errors import NotSupported
from ckernels.graph.node import Node
from ckernels.numpy import late, rows
from ckernels.numpy.promote import NUMPY
from ckernels.ops import reference

RNG = np.random.default_rng(3)
M, N, V = RNG.normal(size=(4, 5)), RNG.normal(size=(5, 3)), RNG.normal(size=6)
S = M @ M.T + 4 * np.eye(4)
CUBE = RNG.normal(size=(2, 3, 4))
HOLES = np.where(M > 0.5, np.nan, M)
I8 = np.array([[100, 100, -3], [7, 0, 2]], "int8")
F32 = M.astype("float32")
TIES = RNG.integers(0, 3, (40, 33)).astype("float64")

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
    (np.roll, (M, (1, 2)), {"axis": (0, 1)}), (np.roll, (M, (1, -7)), {}), (np.roll, (M, ()), {}),
    (np.roll, (M, 3), {"axis": (0, 1)}), (np.roll, (M, [2, 1]), {"axis": 0}),
    (np.flip, (M,), {}), (np.flip, (M, 1), {}),
    (np.fliplr, (M,), {}), (np.flipud, (M,), {}),
    *[(np.pad, (M, w), {"mode": m}) for w in (1, ((1, 2), (0, 3)), 4, ((9, 0), (0, 11)))
      for m in ("constant", "edge", "reflect", "wrap", "symmetric")],
    (np.diff, (V,), {}), (np.diff, (M,), {"n": 2, "axis": 0}), (np.diff, (I8 > 5,), {}),
    (np.take, (M, [0, -1]), {"axis": 1}), (np.take, (V, 2), {}),
    (np.take_along_axis, (M, np.argsort(M, 1)), {"axis": 1}), (np.sort, (M,), {"axis": 0}),
    (np.sort, (I8,), {"axis": None}), (np.argsort, (I8,), {"kind": "stable"}),
    *[(np.argsort, (x,), {"axis": a}) for x in (I8, M, HOLES, TIES, I8 > 5) for a in (0, -1, None)],
    *[(f, (TIES, k), {"axis": a}) for a in (0, -1, None) for f, k in
      ((np.partition, 3), (np.partition, (1, -2)), (np.argpartition, (1, -2)))],
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


R = RNG
C, I = RNG.normal(size=(2, 3, 4)), np.array([[3, 1, 2], [0, 2, 1]])
H, b, i8 = HOLES, M > 0, I8
MORE = [
    (np.angle, (M+1j*M,), {}), (np.angle, (V,), {"deg": True}),
    (np.apply_over_axes, (np.sum, C, (0,2)), {}), (np.argwhere, (b,), {}),
    (np.around, (M, 1), {}), (np.array_equal, (M, M), {}), (np.array_equiv, (M, M), {}),
    (np.astype, (M, "int8"), {}), (np.block, ([[M,M],[M,M]],), {}),
    (np.broadcast_arrays, (M, V[:5]), {}), (np.choose, (I, [i8,i8*2,i8+1,i8]), {}),
    (np.corrcoef, (M,), {}), (np.correlate, (V, V[:3]), {}),
    (np.correlate, (V, V[:3], "full"), {}),
    *[(np.correlate, (V[:n], V[:m] * z, mode), {}) for n in (1, 3, 4) for m in (4, 5)
      for z in (1, 1j) for mode in ("full", "same", "valid")], (np.cross, (C[0].T, C[1].T), {}),
    (np.cross, (M[:,:3], M[:,1:4]), {}), (np.cumulative_prod, (V,), {}),
    (np.cumulative_sum, (V,), {"include_initial": True}), (np.cumulative_sum, (M,), {"axis": 1}),
    (np.delete, (V, 2), {}), (np.delete, (M, [0,2]), {"axis": 1}),
    (np.delete, (V, slice(0,3)), {}), (np.diag_indices_from, (S,), {}), (np.diagflat, (V,), {}),
    (np.digitize, (M, np.array([-1.,0,1])), {}), (np.dsplit, (C, 2), {}),
    (np.hsplit, (M, [1,3]), {}), (np.vsplit, (M, 2), {}), (np.ediff1d, (V,), {}),
    (np.ediff1d, (V,), {"to_begin": np.array([1.,2])}), (np.extract, (b, M), {}),
    (np.fix, (M*3,), {}), (np.flatnonzero, (b,), {}), (np.geomspace, (1., 8., 4), {}),
    (np.logspace, (0., M[0], 4), {}), (np.gradient, (V,), {}), (np.gradient, (M,), {"axis": 0}),
    (np.gradient, (M,), {}), (np.gradient, (V, 2.0), {"edge_order": 2}),
    (np.gradient, (V, np.cumsum(V**2)), {"edge_order": 2}),
    (np.gradient, (M, *map(np.arange, M.shape)), {}),
    (np.histogram2d, (V, V), {}), (np.histogramdd, (M,), {}), (np.histogram_bin_edges, (V,), {}),
    (np.i0, (V,), {}), (np.insert, (V, 2, 9.), {}), (np.insert, (M, [1,2], 5.), {"axis": 1}),
    (np.intersect1d, (I, I), {}), (np.iscomplex, (M+1j*b,), {}), (np.isreal, (M+1j*b,), {}),
    (np.isin, (I, [1,2]), {}), (np.isneginf, (H,), {}), (np.isposinf, (H,), {}),
    (np.ix_, ([0,1], [1]), {}), (np.lexsort, ((V,V),), {}),
    (np.lib.stride_tricks.sliding_window_view, (V, 3), {}), (np.linalg.cond, (S,), {}),
    (np.linalg.cross, (C[0].T, C[1].T), {}), (np.linalg.diagonal, (C,), {}),
    (np.linalg.eigh, (S,), {}), (np.linalg.eigvalsh, (S,), {}), (np.linalg.matmul, (M, M.T), {}),
    (np.linalg.matrix_norm, (M,), {}), (np.linalg.matrix_norm, (C,), {"ord": 1}),
    (np.linalg.matrix_norm, (C,), {"ord": 2}), (np.linalg.matrix_rank, (M,), {}),
    (np.linalg.matrix_transpose, (C,), {}), (np.linalg.multi_dot, ([M,M.T,M],), {}),
    (np.linalg.outer, (V, V), {}), (np.linalg.pinv, (M,), {}), (np.linalg.qr, (M,), {}),
    (np.linalg.svd, (M,), {"full_matrices": False}), (np.linalg.svdvals, (M,), {}),
    (np.linalg.tensordot, (M, M), {}), (np.linalg.tensorinv, (R.normal(size=(4,2,2)), 1), {}),
    (np.linalg.tensorsolve, (R.normal(size=(4,2,2)), R.normal(size=4)), {}),
    (np.linalg.trace, (C,), {}), (np.linalg.vecdot, (M, M), {}),
    (np.linalg.vector_norm, (M,), {}), (np.linalg.vector_norm, (M,), {"axis": 0, "ord": 3}),
    (np.linalg.norm, (M, "nuc"), {}), (np.linalg.norm, (M, 2), {}), (np.linalg.norm, (M, 1), {}),
    (np.linalg.norm, (C, np.inf), {"axis": (0,1)}), (np.matrix_transpose, (C,), {}),
    (np.nanargmax, (H,), {}), (np.nanargmax, (H,), {"axis": 0}),
    (np.nanargmin, (H,), {"axis": 0}), (np.nancumprod, (H,), {}),
    (np.nancumsum, (H,), {"axis": 1}), (np.nanmedian, (H,), {}),
    (np.nanmedian, (H,), {"axis": 0}), (np.nanpercentile, (H, 30), {}),
    (np.nanquantile, (H, .3), {"axis": 1}), (np.nanstd, (H,), {}), (np.nanvar, (H,), {"axis": 0}),
    (np.packbits, (b,), {"axis": 1}), (np.unpackbits, (i8.view("uint8"),), {}),
    (np.percentile, (M, [10,50]), {}), (np.percentile, (M, 30), {"axis": 0}),
    (np.quantile, (M, .25), {"axis": 1, "keepdims": True}),
    (np.quantile, (V, .25), {"method": "nearest"}), (np.poly, (V[:3],), {}),
    (np.polyadd, (V, V[:3]), {}), (np.polyder, (V,), {}), (np.polyint, (V,), {}),
    (np.polysub, (V, V[:3]), {}), (np.polyval, (V, M), {}),
    (np.ravel_multi_index, ((I[0],I[1]), (4,4)), {}), (np.unravel_index, (I, (2,2)), {}),
    (np.resize, (V, (3,4)), {}), (np.rollaxis, (C, 2), {}), (np.rot90, (M,), {}),
    (np.rot90, (C, 2, (1,2)), {}), (np.select, ([V < 0,V > 1], [V,V * 2], 7.), {}),
    (np.setdiff1d, (I, [1]), {}), (np.setxor1d, (I, [1]), {}), (np.union1d, (I, [7]), {}),
    (np.sinc, (V,), {}), (np.sinc, (np.arange(3.),), {}), (np.sort_complex, (V,), {}),
    (np.tri, (3,), {}), (np.tril_indices_from, (S,), {}), (np.triu_indices_from, (S, 1), {}),
    (np.unique, (I,), {}), (np.unique_all, (I,), {}), (np.unique_counts, (I,), {}),
    (np.unique_inverse, (I,), {}), (np.unstack, (C,), {}), (np.unstack, (C,), {"axis": 1}),
    (np.unwrap, (V * 4,), {}), (np.vander, (V, 3), {}), (np.amax, (M,), {}),
    (np.amin, (M,), {"axis": 0}), (np.nancumsum, (i8,), {}), (np.median, (M,), {"axis": (0,1)}),
    (np.diff, (V,), {"prepend": 0.}), (np.average, (M,), {"axis": 0, "returned": True}),
    (np.cov, (M, M), {}), (np.cov, (V, V * V), {}), (np.cov, (V,), {}),
    (np.cov, (M + 1j * M[::-1],), {}), (np.cov, (M,), {"fweights": [1, 0, 2, 3, 1]}),
    (np.cov, (M,), {"aweights": V[:5] ** 2, "ddof": 0}), (np.cov, (V, V[::-1]), {"rowvar": False}),
    (np.cov, (M,), {"aweights": V[:4] ** 2, "fweights": [1, 0, 2, 3], "rowvar": False}),
    (np.cov, (M[:, :0],), {}), (np.cov, (M[:, :1],), {}),
    (np.meshgrid, (V, V), {"sparse": True}), (np.select, ([V[0] < 9], [V[0]]), {}),
    (np.trapezoid, (M, M), {}), (np.isclose, (M+1j, M+1j), {}),
    (np.round, (i8, -1), {}), (np.histogram, (V, 4), {"range": (-1,1)}),
    (np.histogram, (V, np.array([-1.,0,1])), {}), (np.histogram, (V.astype("f4"),), {}),
    (np.linspace, (0, 1, 5), {"retstep": True}), (np.kron, (V, V), {}),
    (np.repeat, (V, [1,2,3,1,1,1]), {}), (np.convolve, (M.ravel(), np.tile(V,20)), {}),
    (np.median, (M,), {"keepdims": True}), (np.einsum, ("ii->i", S), {}),
    (np.einsum, ("...j,j", C, V[:4]), {}), (np.linalg.norm, (M+1j,), {}), (np.tile, (V, 2), {}),
    (np.std, (M,), {"where": b}), (np.var, (M+1j,), {}),
    *[(f, (M,), {}) for f in (np.array, np.asarray, np.asanyarray, np.ascontiguousarray,
                              np.asfortranarray)],
    (np.array, (I, "float32"), {"ndmin": 3}), (np.result_type, (M, i8, 2), {}),
    (np.can_cast, ("int8", "int16"), {}), (np.common_type, (M, F32), {}),
    (np.min_scalar_type, (M,), {}), (np.tri, (3, 4, 1), {}),
    (np.histogram, (M.ravel(), 7), {"range": (-1.0, 1.0), "density": True}),
    (np.histogram, (I, 3), {}), (np.histogram, (F32, 5), {"weights": M}),
    (np.isin, (I, np.arange(20)), {"invert": True}), (np.isin, (M, M[0]), {}),
    (np.median, (F32,), {"axis": 0, "keepdims": True}), (np.var, (M,), {"where": b, "ddof": 1}),
    (np.kron, (M, V), {}), (np.einsum, ("...ij,...jk->...ik", C, C.mT), {}),
    (np.linalg.norm, (M + 1j * M,), {}), (np.fft.fft, (V, 4), {}), (np.fft.fft, (I, 5, 0), {}),
    (np.fft.irfftn, (C[:, :, :3] + 1j, (2, 5)), {"axes": (0, 2)}),
    (np.unpackbits, (np.array([[3], [250]], "uint8"),), {"axis": 1, "bitorder": "little"}),
    *[(getattr(np.fft, n), (C,), {}) for n in "fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn fft "
      "ifft rfft irfft hfft ihfft fftshift ifftshift".split()],
    (np.polyfit, (np.arange(6.0), V, 2), {}), (np.polyfit, (V, np.outer(V, V), 1), {}),
    (np.insert, (M, 0, np.arange(4.0)), {"axis": 1}), (np.round, (i8, -1), {}),
    *[(np.roll, (x, s), {"axis": a}) for x in (M, np.zeros((0, 5)))
      for s in (np.array([9, -2]), (np.array(1), -np.array(3))) for a in (None, 1, (0, 1), (1, 1))],
]  # fmt: skip


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("function, args, options", CASES, ids=lambda c: getattr(c, "__name__", ""))
def test_functions_are_numpys(function, args, options):
    assert compare(function, *args, **options)


def inputs(x, env):
    """An argument with inputs of a graph in the place of arrays; env: {input: array}."""
    if isinstance(x, np.ndarray):
        node, _ = late.leaf(x)
        env[node] = x
        return node
    return type(x)(inputs(i, env) for i in x) if type(x) in (list, tuple) else x


def values(found, env):
    if isinstance(found, (tuple, list)):
        return [values(f, env) for f in found]
    return reference.evaluate([found], env)[0] if isinstance(found, Node) else np.asarray(found)


def alike(got, want):
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            alike(g, w)
    elif isinstance(want, np.dtype):
        assert got == want
    else:
        same(got, want)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("function, args, options", MORE, ids=lambda c: getattr(c, "__name__", ""))
def test_functions_of_inputs_are_numpys(function, args, options):
    want, env = results(function, *args, **options), {}
    given = [inputs(a, env) for a in args], {k: inputs(v, env) for k, v in options.items()}
    found = rows.call(NUMPY, function, *given[0], **given[1])
    if hasattr(want, "_fields"):
        assert found._fields == want._fields
    alike(values(found, env) if not isinstance(found, np.dtype) else found, want)


def test_every_row_is_compared():
    done = {function for function, _, _ in (*CASES, *MORE)}
    other = {
        np.nonzero,
        np.compress,
        np.empty_like,
        np.empty,
        np.identity,
        np.shape,
        np.unique_values,
        *(getattr(np.lib.scimath, n) for n in np.lib.scimath.__all__),
    }
    missing = [f.__name__ for f in rows.FUNCTIONS if f not in done | other]
    assert not missing


def test_what_has_no_row_says_so():
    with pytest.raises(NotSupported, match="trim_zeros"):
        rows.call(NUMPY, np.trim_zeros, V)
    for shift, axis in ((((1, 2), (3, 4)), (0, 1)), ((1, 2, 3), (0, 1)), (M.astype(int), None)):
        with pytest.raises(NotSupported, match="of roll"):
            rows.call(NUMPY, np.roll, M, shift, axis)
    with pytest.raises(NotSupported, match="heaps"):
        rows.call(NUMPY, np.argsort, V, kind="heapsort")
