"""scipy.special's functions of arrays, scipy.linalg, and numpy.linalg.lstsq, over NumPy.

Each takes the arguments of SciPy's function that it serves; a call with others is SciPy's.
"""

import numpy as np

from .parts import (
    assure,
    by_factor,
    exponential,
    least_squares,
    matrix,
    numbers,
    triangular,
    unserved,
)

# ---- scipy.special -------------------------------------------------------------------------------


def logsumexp(a, axis=None, b=None, keepdims=False):
    if a.dtype.kind == "c":
        unserved("logsumexp of complex numbers")
    most = np.max(a, axis=axis, keepdims=True)
    most = np.where(np.isfinite(most), most, 0)
    parts = np.exp(a - most)
    if b is not None:
        parts = np.where(b == 0, 0, b * parts)
    total = np.log(np.sum(parts, axis=axis, keepdims=True)) + most
    return total if keepdims else np.squeeze(total, axis)[()]


def softmax(x, axis=None):
    parts = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return parts / np.sum(parts, axis=axis, keepdims=True)


def log_softmax(x, axis=None):
    most = np.max(x, axis=axis, keepdims=True)
    moved = x - np.where(np.isfinite(most), most, 0)
    return moved - np.log(np.sum(np.exp(moved), axis=axis, keepdims=True))


# ---- scipy.linalg --------------------------------------------------------------------------------


def solve(a, b, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None,
          transposed=False):  # fmt: skip
    if assume_a not in (None, "gen", "general"):
        unserved(f"assume_a={assume_a!r}")
    a, b = matrix(a, True, check_finite), numbers(b, check_finite)
    if b.ndim not in (1, 2):
        unserved("solve with batches")
    return np.linalg.solve(a.T if transposed else a, b)


def inv(a, overwrite_a=False, check_finite=True):
    return np.linalg.inv(matrix(a, True, check_finite))


def det(a, overwrite_a=False, check_finite=True):
    return np.linalg.det(matrix(a, True, check_finite))


def cholesky(a, lower=False, overwrite_a=False, check_finite=True):
    a = matrix(a, True, check_finite)
    return np.linalg.cholesky(a) if lower else np.linalg.cholesky(a.T).T


def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    a = matrix(a, True, check_finite)
    factor = cholesky(a, lower, False, False)
    if lower:
        return factor + np.triu(a, 1), True
    return factor + np.tril(a, -1), False


def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    c, lower = c_and_lower
    c, b = matrix(c, True, check_finite), numbers(b, check_finite)
    return by_factor(c, b, lower)


def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False,
                     check_finite=True):  # fmt: skip
    a, b = matrix(a, True, check_finite), numbers(b, check_finite)
    if b.ndim not in (1, 2):
        unserved("solve_triangular with batches")
    return triangular(a, b, lower, trans, unit_diagonal)


def expm(A):
    return exponential(matrix(A, True, False))


def norm(a, ord=None, axis=None, keepdims=False, check_finite=True):
    return np.linalg.norm(numbers(a, check_finite), ord, axis, keepdims)


def eigh(a, lower=True, eigvals_only=False, overwrite_a=False, check_finite=True):
    a = matrix(a, True, check_finite)
    if eigvals_only:
        return np.linalg.eigvalsh(a, "L" if lower else "U")
    values, vectors = np.linalg.eigh(a, "L" if lower else "U")
    return values, vectors


def eigvalsh(a, lower=True, overwrite_a=False, check_finite=True):
    return np.linalg.eigvalsh(matrix(a, True, check_finite), "L" if lower else "U")


def svd(a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True):
    a = matrix(a, False, check_finite)
    if not compute_uv:
        return np.linalg.svd(a, compute_uv=False)
    u, s, vh = np.linalg.svd(a, full_matrices)
    return u, s, vh


def svdvals(a, overwrite_a=False, check_finite=True):
    return np.linalg.svd(matrix(a, False, check_finite), compute_uv=False)


def qr(a, overwrite_a=False, lwork=None, mode="full", check_finite=True):
    if mode not in ("full", "economic"):
        unserved(f"qr with mode={mode!r}")
    q, r = np.linalg.qr(matrix(a, False, check_finite), "complete" if mode == "full" else "reduced")
    return q, r


def toeplitz(c, r=None):
    if np.ndim(c) > 1 or r is not None and np.ndim(r) > 1:
        unserved("toeplitz of batches")
    c = np.reshape(c, -1)
    r = np.conj(c) if r is None else np.reshape(r, -1)
    places = np.arange(len(c))[:, None] - np.arange(len(r))[None, :]
    both = np.concatenate([r[:0:-1], c])
    return both[places + (len(r) - 1)]


def block_diag(*arrs):
    if not arrs:
        unserved("block_diag of nothing")
    arrs = [np.atleast_2d(a) for a in arrs]
    columns = sum([a.shape[1] for a in arrs])
    rows, before = [], 0
    for a in arrs:
        rows.append(np.pad(a, ((0, 0), (before, columns - before - a.shape[1]))))
        before = before + a.shape[1]
    return np.concatenate(rows)


# ---- numpy.linalg --------------------------------------------------------------------------------


def lstsq(a, b, rcond=None):
    """For matrices of full rank, as only data say how many residuals others have."""
    if np.ndim(a) != 2 or np.ndim(b) not in (1, 2):
        unserved("lstsq of such arguments")
    a, b = numbers(a, False), numbers(b, False)
    m, n = a.shape
    if not m or not n:
        unserved("lstsq of no elements")
    x, rank = least_squares(a, b, rcond)
    assure(rank == min(m, n))
    rest = np.atleast_1d(np.sum((b - a @ x) ** 2, axis=0)) if m > n else np.zeros(0, x.dtype)
    return x, rest, np.int32(min(m, n)), np.linalg.svd(a, compute_uv=False)
