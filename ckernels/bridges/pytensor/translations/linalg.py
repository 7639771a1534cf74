"""Linear algebra, alone or under Blockwise: the ops here take axes before the last two as a batch.

What ckernels has as an op of its own is translated, what LAPACK alone decides is in lapack.py;
of complex matrices PyTensor's perform is called. Where there is no factor or no solution
PyTensor gives NaN, and so do these.
"""

import numpy as np

from .... import ops
from ....autodiff.batch import NoBatchRule, batched
from ....autodiff.spectra import from_eigenvalues
from ....graph.node import Node, make
from ....ops.decompose import eye_like
from .. import lapack
from ..checks import agreed
from ..registry import TRANSLATIONS, Untranslated, find, is_a, translates
from . import tridiagonal

WHOLE = (None, None, 1)
BATCHED = {
    "LUFactor",
    "PivotToPermutations",
    "Cholesky",
    "MatrixInverse",
    "Det",
    "Dot",
    "Dot22",
    "SolveTriangular",
    "CholeskySolve",
    "Solve",
    "LU",
    "SLogDet",
    "SVD",
    "MatrixPinv",
    "Eigvalsh",
    "Expm",
    "QR",
    "TRSYL",
    "SolveSylvester",
    "Eig",
    "Schur",
    "QZ",
}


@translates("Blockwise")
def blockwise(context, op, node, inputs):
    core = op.core_op
    name = type(core).__name__
    if name not in BATCHED or is_of_three_diagonals(core):
        return unbatched(context, op, node, inputs)
    inputs = agreed(node, inputs, [len(sig) for sig in op.inputs_sig])
    if name in ("Dot", "Dot22"):
        return ops.matmul(*[ops.cast(x, node.outputs[0].type.dtype) for x in inputs])
    return find(TRANSLATIONS, core)(context, core, node, inputs)


def is_of_three_diagonals(core):
    return getattr(core, "assume_a", None) == "tridiagonal"


def unbatched(context, op, node, inputs):
    """The translation of the core op; for a batch, of all of it at once, by the batch rules that
    Jacobians use.
    """
    if node.outputs[0].type.ndim == len(op.outputs_sig[0]):
        return find(TRANSLATIONS, op.core_op)(context, op.core_op, node, inputs)
    core = op._create_dummy_core_node(node.inputs)
    row = find(TRANSLATIONS, op.core_op)
    ranks = [len(sig) for sig in op.inputs_sig]

    def translated(values):
        found = row(context, op.core_op, core, values)
        return found if isinstance(found, list) else [found]

    try:
        return _for_all(translated, agreed(node, inputs, ranks), ranks)
    except NoBatchRule as problem:
        raise Untranslated(f"a batch of {problem}") from None


def _for_all(translated, inputs, ranks):
    """`translated(inputs)` with the axes before the last `ranks` as a batch, one after another.

    The graph is first made for sums over the batch, which have the shape of one element of it;
    then `batched` puts the whole batch in their place.
    """
    if all(x.ndim == rank for x, rank in zip(inputs, ranks)):
        return translated(inputs)
    wide, inner = {}, []
    for x in inputs:
        if x.shape[0] == 1:
            inner.append(ops.to_node(x.value[0]) if x.value is not None else ops.squeeze(x, 0))
        else:
            inner.append(ops.cast(ops.sum(x, (0,)), x.dtype))
            wide[inner[-1]] = x
    outs = _for_all(translated, inner, ranks)
    if not wide:
        return [ops.expand(x, (0,)) for x in outs]
    return batched(outs, wide, fixed=[x.uid for x in inputs])


def _real(node, x):
    """`x` in the dtype of the results that are no indices."""
    dtype = next(v.type.dtype for v in node.outputs if not v.type.dtype.startswith("int"))
    if dtype.startswith("complex"):
        raise Untranslated("complex matrices")
    return ops.cast(x, dtype)


def _floats(node, inputs):
    """Real matrices in the precision of the results, which may be complex."""
    if any(x.dtype.startswith("complex") for x in inputs):
        raise Untranslated("complex matrices")
    dtype = node.outputs[0].type.dtype
    dtype = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    return [ops.cast(x, dtype) for x in inputs]


@translates("MatrixInverse")
def inverse(context, op, node, inputs):
    return ops.inverse(_real(node, inputs[0]))


def _pivots(x):
    """(the sign of the determinant, the sizes of the pivots) of each matrix."""
    made = make("lu", (x,), {"plain": True})
    pivots = ops.diagonal(_rows(made, 0, -2), 0, -2, -1)
    swaps = ops.squeeze(_rows(made, -2, -1), -2)
    stays = ops.eq(ops.add(swaps, 1), ops.cumsum(ops.ones_like(swaps), -1))
    return ops.prod(ops.mul(ops.sign(pivots), ops.where(stays, 1, -1)), -1), ops.abs(pivots)


@translates("Det")
def det(context, op, node, inputs):
    sign, sizes = _pivots(_real(node, inputs[0]))
    return ops.where(ops.eq(sign, 0), 0, ops.mul(sign, ops.prod(sizes, -1)))


@translates("SLogDet")
def slogdet(context, op, node, inputs):
    sign, sizes = _pivots(_real(node, inputs[0]))
    return [sign, ops.sum(ops.log(sizes), -1)]


@translates("Expm")
def expm(context, op, node, inputs):
    return ops.expm(_real(node, inputs[0]))


@translates("QR")
def qr(context, op, node, inputs):
    if op.pivoting or op.mode == "raw":
        return lapack.qr(_real(node, inputs[0]), op.mode, op.pivoting)
    q, r = ops.qr(_real(node, inputs[0]), "reduced" if op.mode == "economic" else "complete")
    return r if op.mode == "r" else [q, r]


@translates("Schur")
def schur(context, op, node, inputs):
    return lapack.schur(_floats(node, inputs)[0], op.output, op.sort)


@translates("QZ")
def qz(context, op, node, inputs):
    output = "complex" if op.complex_output else "real"
    found = lapack.qz(*_floats(node, inputs), output, op.sort)
    return found if op.return_eigenvalues else found[:2] + found[4:]


@translates("MatrixPinv")
def pinv(context, op, node, inputs):
    if op.hermitian:
        raise Untranslated("the pseudo-inverse of a symmetric matrix")
    return ops.pinv(_real(node, inputs[0]))


@translates("SVD")
def svd(context, op, node, inputs):
    found = ops.svd(_real(node, inputs[0]), op.full_matrices, op.compute_uv)
    return list(found) if op.compute_uv else found


@translates("TensorInv")
def tensorinv(context, op, node, inputs):
    return ops.tensorinv(_real(node, inputs[0]), op.ind)


@translates("TensorSolve")
def tensorsolve(context, op, node, inputs):
    return ops.tensorsolve(*[_real(node, x) for x in inputs], op.axes)


@translates("Cholesky")
def cholesky(context, op, node, inputs):
    if getattr(op, "on_error", "nan") == "raise":  # PyTensor 3.0 raises, unless told not to
        attrs = {}
    else:
        attrs = {"nan": True}
    x = _real(node, inputs[0])
    if op.lower:
        return make("cholesky", (x,), attrs)
    return _turned(make("cholesky", (_turned(x),), attrs))


def _turned(x):
    return ops.swapaxes(x, -1, -2)


@translates("LUFactor")
def lu_factor(context, op, node, inputs):
    made = make("lu", (_real(node, inputs[0]),))
    return [_rows(made, 0, -2), ops.squeeze(_rows(made, -2, -1), -2)]


def _rows(x, first, end):
    return ops.slice_(x, [WHOLE] * (x.ndim - 2) + [(first, end, 1)])


@translates("PivotToPermutations")
def permutation(context, op, node, inputs):
    """The order of rows that the factors were made with."""
    x = inputs[0]
    while x.op.name in ("cast", "squeeze", "slice"):
        x = x.inputs[0]
    if x.op.name != "lu":
        raise Untranslated("exchanges of rows")
    order = _order(x)
    return order if op.inverse else ops.argsort(order, -1)


def _order(made):
    """Which row of the matrix each row of its factors is."""
    return ops.cast(ops.squeeze(_rows(made, -1, None), -2), "int64")


@translates("LU")
def lu(context, op, node, inputs):
    """Factors of singular matrices too: a pivot of 0 is one."""
    x = _real(node, inputs[0])
    made = make("lu", (x,), {"plain": True})
    factors = _rows(made, 0, -2)
    lower, upper = ops.add(ops.tril(factors, -1), eye_like(x)), ops.triu(factors)
    back = ops.argsort(_order(made), -1)
    if op.p_indices:
        return [back, lower, upper]
    back = ops.expand(back, (back.ndim,))
    if op.permute_l:
        return [ops.take_along_axis(lower, back, -2), upper]
    columns = ops.cumsum(ops.ones_like(back), -2)
    return [ops.cast(ops.eq(ops.add(back, 1), _turned(columns)), x.dtype), lower, upper]


@translates("Eigh")
def eigh(context, op, node, inputs):
    x, back = _symmetric(node, inputs, _is_lower(op))
    values, vectors = ops.eigh(x)
    return [values, vectors if back is None else _below(back, vectors, trans=True)]


@translates("Eigvalsh")
def eigvalsh(context, op, node, inputs):
    return ops.eigvalsh(_symmetric(node, inputs, op.lower)[0])


def _symmetric(node, inputs, lower):
    """(a matrix of which the lower triangle is read, None). Of a @ v = w * b @ v: (the matrix with
    the same eigenvalues, the factor of b that makes its eigenvectors those of the two)."""
    a, *others = [_real(node, x) for x in inputs if isinstance(x, Node)]
    if not others:
        return (a if lower else _turned(a)), None
    (b,) = others
    factor = make("cholesky", (b if lower else _turned(b),))
    half = _below(factor, ops.mirrored(a, lower))
    return _below(factor, _turned(half)), factor


def _below(factor, b, trans=False):
    """The solution of a system of the lower triangle `factor`, or of its transpose."""
    attrs = {"lower": True, "trans": trans, "unit": False, "vector": False}
    return make("solve_triangular", (factor, b), attrs)


def _is_lower(op):
    """Which triangle is read: `lower` says so since PyTensor 3.3, the letter UPLO before."""
    return op.lower if hasattr(op, "lower") else op.UPLO == "L"


@translates("EighGrad")
def eigh_gradient(context, op, node, inputs):
    """By our rule, which has the limit where eigenvalues are equal; PyTensor divides by zero."""
    _, *parts = [_real(node, x) for x in inputs]
    if _is_zero(node.inputs[4]):
        parts.pop()
    found = from_eigenvalues(*parts)
    return found if _is_lower(op) else _turned(found)


def _is_zero(variable):
    """Whether a variable of PyTensor is filled with a constant 0."""
    if variable.owner is not None and is_a(variable.owner.op, "Alloc"):
        variable = variable.owner.inputs[0]
    return hasattr(variable, "data") and not np.any(variable.data)


@translates("Eig")
def eig(context, op, node, inputs):
    return list(ops.eig(*_floats(node, inputs)))


@translates("Solve")
def solve(context, op, node, inputs):
    if is_of_three_diagonals(op):
        return tridiagonal.solution(*[_real(node, x) for x in inputs])
    if op.assume_a not in ("gen", "sym", "her"):
        raise Untranslated("systems of equations with few diagonals")
    a, b = [_real(node, x) for x in inputs]
    if op.assume_a != "gen":
        a = ops.mirrored(a, op.lower)
    vector = op.b_ndim == 1
    columns = vector and not a.ndim == b.ndim + 1 == 2
    b = ops.expand(b, (b.ndim,)) if columns else b
    x = make("solve", (a, b), {"vector": vector and not columns, "nan": True})
    return ops.squeeze(x, -1) if columns else x


@translates("SolveTriangular")
def solve_triangular(context, op, node, inputs):
    if getattr(op, "trans", 0) not in (0, "N"):
        raise Untranslated("the transpose of a triangle")
    a, b = [_real(node, x) for x in inputs]
    return _substituted(op, a, b, op.lower, False, bool(op.unit_diagonal))


def _substituted(op, a, b, lower, trans, unit=False):
    """The solution of a triangular system; b_ndim of the op says whether `b` is one of vectors."""
    vector = op.b_ndim == 1
    columns = vector and b.ndim > 1
    b = ops.expand(b, (b.ndim,)) if columns else b
    attrs = {"lower": bool(lower), "trans": trans, "unit": unit, "nan": True}
    x = make("solve_triangular", (a, b), {**attrs, "vector": vector and not columns})
    return ops.squeeze(x, -1) if columns else x


@translates("CholeskySolve", "CholSolve")
def cholesky_solve(context, op, node, inputs):
    c, b = [_real(node, x) for x in inputs]
    first = _substituted(op, c, b, op.lower, not op.lower)
    return _substituted(op, c, first, op.lower, bool(op.lower))


@translates("SolveSylvester", "TRSYL")
def sylvester(context, op, node, inputs):
    """Of any matrices: what a TRSYL gets in Schur form is one."""
    return make("sylvester", [_real(node, x) for x in inputs])
