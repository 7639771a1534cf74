"""Special functions, inverse hyperbolic functions, angles, and other elementwise names of NumPy.

The meaning and the C of each is in ops/special.py and ops/transcendental.py.
"""

from .. import ops
from .elementwise import binary, examples, pair, unary
from .operands import node_of, operand
from .tensor import Tensor

# --- gamma, error and Bessel functions --------------------------------------------------------

gamma = unary(
    ops.gamma, "gamma", "The gamma function; (n - 1)! of a whole n.", "[1.0, 5.0]", "[1.0, 24.0]"
)
gammaln = unary(
    ops.gammaln, "gammaln", "log(|gamma(x)|), without overflow.", "[1.0, 100.0]", "[0.0, 359.134]"
)
psi = unary(
    ops.digamma,
    "psi",
    "The digamma function: the derivative of gammaln.",
    "[1.0, 10.0]",
    "[-0.577, 2.252]",
)
tri_gamma = unary(
    ops.trigamma,
    "tri_gamma",
    "The trigamma function: the derivative of psi.",
    "[1.0, 10.0]",
    "[1.645, 0.105]",
)
erfinv = unary(
    ops.erfinv, "erfinv", "The inverse of erf, for x in [-1, 1].", "[0.0, 0.5]", "[0.0, 0.477]"
)
erfcinv = unary(
    ops.erfcinv, "erfcinv", "The inverse of erfc, for x in [0, 2].", "[1.0, 0.5]", "[0.0, 0.477]"
)
j0 = unary(
    ops.j0, "j0", "The Bessel function of the first kind of order 0.", "[0.0, 1.0]", "[1.0, 0.765]"
)
j1 = unary(
    ops.j1, "j1", "The Bessel function of the first kind of order 1.", "[0.0, 1.0]", "[0.0, 0.44]"
)
i0 = unary(
    ops.i0,
    "i0",
    "The modified Bessel function of the first kind of order 0.",
    "[0.0, 1.0]",
    "[1.0, 1.266]",
)
i1 = unary(
    ops.i1,
    "i1",
    "The modified Bessel function of the first kind of order 1.",
    "[0.0, 1.0]",
    "[0.0, 0.565]",
)


# --- logarithms of probabilities --------------------------------------------------------------

logaddexp = binary(
    ops.logaddexp,
    "logaddexp",
    "log(exp(x) + exp(y)) without overflow.",
    "[0.0, 1000.0]",
    "[0.0, 1000.0]",
    "[0.693, 1000.693]",
)
log1mexp = unary(
    ops.log1mexp,
    "log1mexp",
    "log(1 - exp(x)) for x <= 0, exact on both ends.",
    "[-1e-3, -1.0]",
    "[-6.908, -0.459]",
)


# --- functions of distributions ---------------------------------------------------------------

betaln = binary(
    ops.betaln,
    "betaln",
    "log(gamma(x) gamma(y) / gamma(x + y)), exact for large x.",
    "[1.0, 3.0]",
    "2.0",
    "[-0.693, -2.485]",
)
erfcx = unary(
    ops.erfcx,
    "erfcx",
    "exp(x * x) * erfc(x), which does not vanish for large x.",
    "[0.0, 100.0]",
    "[1.0, 0.006]",
)
ndtr = unary(
    ops.ndtr, "ndtr", "The distribution function of the normal law.", "[0.0, 1.0]", "[0.5, 0.841]"
)
log_ndtr = unary(
    ops.log_ndtr,
    "log_ndtr",
    "The logarithm of `ndtr`, exact in both tails.",
    "[0.0, -40.0]",
    "[-0.693, -804.608]",
)
ndtri_exp = unary(
    ops.ndtri_exp,
    "ndtri_exp",
    "The inverse of `log_ndtr`: the normal quantile of exp(x).",
    "[-0.693147, -804.608]",
    "[0.0, -40.0]",
)
SCIPY = "Through SciPy."
gammainc = binary(
    ops.gammainc,
    "gammainc",
    "The regularised lower incomplete gamma function P(x, y); no gradient by x. " + SCIPY,
    "[1.0, 2.0]",
    "1.0",
    "[0.632, 0.264]",
)
gammaincc = binary(
    ops.gammaincc,
    "gammaincc",
    "The regularised upper incomplete gamma function Q(x, y); no gradient by x. " + SCIPY,
    "[1.0, 2.0]",
    "1.0",
    "[0.368, 0.736]",
)
chi2sf = binary(
    ops.chi2sf,
    "chi2sf",
    "The probability that a chi-squared variable of y degrees of freedom exceeds x. " + SCIPY,
    "[1.0, 2.0]",
    "2.0",
    "[0.607, 0.368]",
)
owens_t = binary(
    ops.owens_t, "owens_t", "Owen's T function. " + SCIPY, "[0.0, 1.0]", "1.0", "[0.125, 0.067]"
)
i0e = unary(
    ops.i0e, "i0e", "exp(-|x|) i0(x), which does not overflow.", "[0.0, 1000.0]", "[1.0, 0.013]"
)
i1e = unary(
    ops.i1e, "i1e", "exp(-|x|) i1(x), which does not overflow.", "[0.0, 1000.0]", "[0.0, 0.013]"
)
ive = binary(
    ops.ive,
    "ive",
    "exp(-|y|) I(y), the modified Bessel function of order x. " + SCIPY,
    "[0.0, 2.0]",
    "1.0",
    "[0.466, 0.05]",
)
kve = binary(
    ops.kve,
    "kve",
    "exp(y) K(y), the modified Bessel function of order x. " + SCIPY,
    "[0.0, 2.0]",
    "1.0",
    "[1.144, 4.417]",
)


def betainc(a, b, x):
    """The regularised incomplete beta function I_x(a, b); no gradient by `a` and `b`.

    Parameters
    ----------
    a, b, x : tensor, array or number
        Of shapes that broadcast; elements are taken one by one.

    Returns
    -------
    Tensor
        Of the shape that all broadcast to.

    Raises
    ------
    ShapeError
        Where the shapes do not broadcast.

    Notes
    -----
    Through SciPy. The definition is 8.17.2 of the NIST Digital Library of Mathematical Functions.

    Examples
    --------
    >>> K.betainc(2.0, 2.0, np.array([0.5, 1.0])).eval()
    array([0.5, 1. ])
    """
    return Tensor(ops.betainc(operand(a), operand(b), operand(x)))


# --- hyperbolic functions and angles ----------------------------------------------------------

arcsinh = unary(ops.asinh, "arcsinh", "Inverse hyperbolic sine.", "[0.0, 1.0]", "[0.0, 0.881]")
arccosh = unary(ops.acosh, "arccosh", "Inverse hyperbolic cosine.", "[1.0, 2.0]", "[0.0, 1.317]")
arctanh = unary(ops.atanh, "arctanh", "Inverse hyperbolic tangent.", "[0.0, 0.5]", "[0.0, 0.549]")
arctan2 = binary(
    ops.atan2,
    "arctan2",
    "The angle of the point of ordinate x and abscissa y.",
    "[0.0, 1.0]",
    "[-1.0, 1.0]",
    "[3.142, 0.785]",
)
deg2rad = unary(ops.deg2rad, "deg2rad", "Degrees as radians.", "[0.0, 180.0]", "[0.0, 3.142]")
rad2deg = unary(ops.rad2deg, "rad2deg", "Radians as degrees.", "[0.0, 1.0]", "[0.0, 57.296]")
angle = unary(
    ops.angle,
    "angle",
    "The argument of a complex number; 0 or pi of a real one.",
    "[1.0, -1.0]",
    "[0.0, 3.142]",
)


# --- rounding and comparison ------------------------------------------------------------------

trunc = unary(
    ops.trunc,
    "trunc",
    "`x` without its fraction: the nearest integer toward 0.",
    "[-1.5, 1.5]",
    "[-1.0, 1.0]",
)
isfinite = unary(
    ops.isfinite,
    "isfinite",
    "Whether x is neither infinite nor NaN.",
    "[0.0, np.inf]",
    "[True, False]",
)
logical_xor = binary(
    ops.logical_xor,
    "logical_xor",
    "Whether exactly one of both is non-zero.",
    "[0.0, 1.0, 2.0]",
    "[0.0, 0.0, 1.0]",
    "[False, True, False]",
)


def isclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether |x - y| <= atol + rtol * |y|, elementwise.

    Parameters
    ----------
    x, y : tensor or array
        Of shapes that broadcast.
    rtol : float, default 1e-05
        What the distance may be as a part of |y|.
    atol : float, default 1e-08
        What it may be besides.
    equal_nan : bool, default False
        Whether NaN is close to NaN; else it is close to nothing.

    Returns
    -------
    Tensor
        bool, of the shape both broadcast to.

    Raises
    ------
    ShapeError
        Where the shapes do not broadcast.

    Notes
    -----
    Infinities are close to themselves only.

    Examples
    --------
    >>> K.isclose(np.array([1.0, 2.0]), np.array([1.0 + 1e-9, 2.1])).eval()
    array([ True, False])
    """
    return Tensor(ops.isclose(*pair(x, y), rtol, atol, equal_nan))


def real(x):
    """The real part of a tensor.

    Parameters
    ----------
    x : tensor or array
        Of any shape and dtype.

    Returns
    -------
    Tensor
        Of a complex tensor a real one, of half its width; of others `x` as it is.

    Examples
    --------
    >>> K.real(np.array([1 + 2j])).eval()
    array([1.])
    """
    return Tensor(ops.real(node_of(x)))


def imag(x):
    """The imaginary part of a complex tensor; zeros of a real one.

    Parameters
    ----------
    x : tensor, array or number
        Of any shape.

    Returns
    -------
    Tensor
        Of the shape of `x`, real: float32 of complex64, float64 of complex128.

    Examples
    --------
    >>> K.imag(np.array([1 + 2j])).eval()
    array([2.])
    """
    return Tensor(ops.imag(node_of(x)))


def conj(x):
    """The complex conjugate.

    Parameters
    ----------
    x : tensor, array or number
        Of any shape; what is real stays as it is.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`.

    Examples
    --------
    >>> K.conj(np.array([1 + 2j])).eval()
    array([1.-2.j])
    """
    return Tensor(ops.conj(node_of(x)))


__test__ = examples(globals())
