"""Discrete Fourier transforms of real tensors, through NumPy."""

from .. import ops
from .operands import node_of
from .tensor import Tensor


def rfft(x, ndim=1, norm=None):
    """The Fourier transform of a real tensor over its last axes.

    Parameters
    ----------
    x : tensor or array
        Real, (..., n).
    ndim : int, default 1
        How many axes.
    norm : {None, "no_norm", "ortho"}, optional
        None or "no_norm": nothing is divided; "ortho": by the root of the number of elements.

    Returns
    -------
    Tensor
        (..., n // 2 + 1, 2): of the last of the axes only the frequencies that are no mirror images
        are kept; real and imaginary parts are a new last axis of size 2.

    Raises
    ------
    ArgumentError
        For a norm that does not exist.
    ShapeError
        Where `x` has fewer axes than `ndim`.

    Examples
    --------
    >>> K.rfft(np.array([1.0, 0.0, 0.0, 0.0])).eval()
    array([[1., 0.],
           [1., 0.],
           [1., 0.]])
    """
    return Tensor(ops.rfft(node_of(x), ndim, norm))


def irfft(x, ndim=1, norm=None, is_odd=False):
    """The real tensor of a spectrum as `rfft` makes it, over `ndim` axes.

    Parameters
    ----------
    x : tensor or array
        (..., 2): in the last axis the real and the imaginary part; of the last size of the result
        only the frequencies from 0 to half of it.
    ndim : int, default 1
        How many axes.
    norm : {None, "ortho", "no_norm"}, optional
        None divides by the number of elements, "ortho" by its root, "no_norm" not at all.
    is_odd : bool, default False
        Whether the last axis of the result has an odd size.

    Returns
    -------
    Tensor
        Real, without the axis of the pairs.

    Raises
    ------
    ShapeError
        For more axes than there are.
    ArgumentError
        For another norm.

    Examples
    --------
    >>> K.irfft(K.rfft(np.array([1.0, 2.0, 3.0])), is_odd=True).eval().round(6)
    array([1., 2., 3.])
    """
    return Tensor(ops.irfft(node_of(x), ndim, norm, is_odd))
