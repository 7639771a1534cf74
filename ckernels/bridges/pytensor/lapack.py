"""Factors that LAPACK alone decides, by its functions as SciPy has them: Schur forms, of one matrix
and of two (QZ), and QR factors with columns exchanged or as reflections.

Workspaces are asked for once for each size. Axes before the last two are a batch.
"""

import functools

import numpy as np

from ...graph.node import item, make
from ...graph.op import Op
from ...ops.decompose import square_only

COMPLEX = {"float32": "complex64", "float64": "complex128"}
INSIDE = {  # whether eigenvalues a / b are to come first; b is 0 for infinite ones
    "lhp": lambda a, b: (b != 0) & (_ratio(a, b).real < 0),
    "rhp": lambda a, b: (b != 0) & (_ratio(a, b).real > 0),
    "iuc": lambda a, b: (b != 0) & (np.abs(_ratio(a, b)) < 1),
    "ouc": lambda a, b: np.where(b == 0, a != 0, np.abs(_ratio(a, b)) > 1),
}
CHOSEN = {  # the same of the eigenvalues of one matrix, where LAPACK asks about each
    "lhp": lambda z: z.real < 0,
    "rhp": lambda z: z.real >= 0,
    "iuc": lambda z: abs(z) <= 1,
    "ouc": lambda z: abs(z) > 1,
    "": lambda z: False,
}


def _ratio(a, b):
    return a / np.where(b == 0, 1, b)


@functools.cache
def lapack(name, dtype):
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs((name,), dtype=np.dtype(dtype))[0]


@functools.cache
def workspace(name, dtype, *shapes, **options):
    """The size of the workspace that a function of LAPACK is fastest with."""
    asked = lapack(name, dtype)
    ordered = {"gees": (_unsorted,), "gges": (_unsorted,)}.get(name, ())
    *_, work, _ = asked(*ordered, *[np.zeros(s, dtype) for s in shapes], lwork=-1, **options)
    return max(1, int(work[0].real))


def _unsorted(*eigenvalue):
    return False


def _wide(dtype, attrs):
    """The dtype of the factors."""
    return COMPLEX[dtype] if attrs["complex"] else dtype


# --- Schur forms --------------------------------------------------------------------------------


def _infer_schur(attrs, x):
    square_only("schur")(x)
    return [(_wide(x.dtype, attrs), x.shape)] * 2


def _schur(attrs, x):
    if not x.size or not np.isfinite(x).all():
        return np.full_like(x, np.nan), np.full_like(x, np.nan)
    chosen = CHOSEN[attrs["sort"]]

    def first(re, im=0.0):
        return chosen(re + 1j * im if im else re)

    lwork = workspace("gees", x.dtype, x.shape)
    made = lapack("gees", x.dtype)(first, x, lwork=lwork, sort_t=int(bool(attrs["sort"])))
    failed = made[-1] != 0
    return [np.full_like(x, np.nan) if failed else f for f in (made[0], made[-3])]


Op("schur", "opaque", _infer_schur, lambda attrs, x: _each(_schur, attrs, x), ulp=1e4, cost=300,
   doc="(t, z) with x = z t z^H, z unitary; attrs: complex, sort (a word or '').")  # fmt: skip


def schur(x, output, sort):
    made = make("schur", (x,), {"complex": output == "complex", "sort": sort or ""})
    return [item(made, k) for k in range(2)]


# --- of two matrices ----------------------------------------------------------------------------


def _infer_qz(attrs, a, b):
    square_only("qz")(a)
    square_only("qz")(b)
    wide = _wide(a.dtype, attrs)
    values = [(COMPLEX.get(wide, wide), a.shape[:-1]), (wide, a.shape[:-1])]
    return [(wide, a.shape), (wide, b.shape), *values, (wide, a.shape), (wide, a.shape)]


def _qz(attrs, a, b):
    """(forms of a and b, eigenvalues as numerators and denominators, q, z); NaN where it fails."""
    kind = a.dtype
    lwork = workspace("gges", kind, a.shape, b.shape)
    aa, bb, _, *values, q, z, _, failed = lapack("gges", kind)(
        _unsorted, a, b, lwork=lwork, sort_t=0
    )
    if attrs["sort"] and not failed:
        first = INSIDE[attrs["sort"]](*_eigenvalues(values))
        lwork = 1 if kind.kind == "c" else 4 * len(a) + 16
        aa, bb, *values, q, z, _, _, _, _, failed = lapack("tgsen", kind)(
            first, aa, bb, q, z, ijob=0, lwork=lwork, liwork=1
        )
    found = aa, bb, *_eigenvalues(values), q, z
    return [np.full_like(f, np.nan) for f in found] if failed else found


def _eigenvalues(values):
    """(numerators, complex; denominators) of what LAPACK gives for them."""
    if len(values) == 2:
        return values
    re, im, below = values
    return (re + 1j * im).astype(COMPLEX[im.dtype.name]), below


Op("qz", "opaque", _infer_qz, lambda attrs, a, b: _each(_qz, attrs, a, b), ulp=1e4, cost=300,
   doc="(s, t, alpha, beta, q, z) with a = q s z^H and b = q t z^H; attrs as schur.")  # fmt: skip


def qz(a, b, output, sort):
    made = make("qz", (a, b), {"complex": output == "complex", "sort": sort or ""})
    return [item(made, k) for k in range(6)]


# --- QR -----------------------------------------------------------------------------------------


def _infer_qr(attrs, x):
    *batch, m, n = x.shape
    k = None if None in (m, n) else min(m, n)
    rows, columns = (k, k) if attrs["mode"] == "economic" else (m, m)
    if attrs["mode"] == "raw":
        factors = [(x.dtype, (*batch, m, n)), (x.dtype, (*batch, k)), (x.dtype, (*batch, k, n))]
    else:
        factors = [(x.dtype, (*batch, m, columns)), (x.dtype, (*batch, rows, n))]
    return [*factors, ("int32", (*batch, n))] if attrs["pivoting"] else factors


def _qr(attrs, x):
    """([q, r] or [reflections, their sizes, r], and the order of the columns if they may move)."""
    (m, n), kind = x.shape, x.dtype
    k = min(m, n)
    name = "geqp3" if attrs["pivoting"] else "geqrf"
    packed, *order, sizes, _, _ = lapack(name, kind)(x, lwork=workspace(name, kind, x.shape))
    order = [order[0] - 1] if order else []
    upper = np.triu(packed[:k] if attrs["mode"] in ("economic", "raw") else packed)
    if attrs["mode"] == "raw":
        return [packed, sizes, upper, *order]
    reflections = packed[:, :k]
    if attrs["mode"] == "full" and m > n:
        reflections = np.empty((m, m), kind)
        reflections[:, :n] = packed
    elif attrs["mode"] == "r":
        return [np.zeros((m, m), kind), upper, *order]
    lwork = workspace("orgqr", kind, reflections.shape, sizes.shape)
    return [lapack("orgqr", kind)(reflections, sizes, lwork=lwork)[0], upper, *order]


Op("packed_qr", "opaque", _infer_qr, lambda attrs, x: _each(_qr, attrs, x), ulp=1e4, cost=300,
   doc="attrs: mode (full, economic, r, raw), pivoting; see `_qr`.")  # fmt: skip


def qr(x, mode, pivoting):
    made = make("packed_qr", (x,), {"mode": mode, "pivoting": pivoting})
    found = [item(made, k) for k in range(len(made.outs))]
    return found[1:] if mode == "r" else found


# --- batches ------------------------------------------------------------------------------------


def _each(fn, attrs, *matrices):
    """`fn` of each matrix, or pair of them, in the dtype of the factors."""
    kind = matrices[0].dtype
    if attrs.get("complex"):
        kind = COMPLEX[kind.name]
        matrices = [x.astype(kind) for x in matrices]
    if matrices[0].ndim == 2:
        return tuple(fn(attrs, *matrices))
    batch = np.broadcast_shapes(*[x.shape[:-2] for x in matrices])
    matrices = [np.broadcast_to(x, batch + x.shape[-2:]) for x in matrices]
    places = list(np.ndindex(batch))
    found = [fn(attrs, *[x[place] for x in matrices]) for place in places]
    if not found:
        one = fn(attrs, *[np.zeros(x.shape[-2:], kind) for x in matrices])
        return tuple(np.empty(batch + f.shape, f.dtype) for f in one)
    return tuple(np.stack(parts).reshape(batch + parts[0].shape) for parts in zip(*found))
