"""Attention: `K.scaled_dot_product_attention`. Its parts are those that users write by hand, which
the rewrites find; nothing here knows of blocks.
"""

from .. import ops
from ..base.errors import ArgumentError
from .nn import dropout as dropped
from .operands import node_of
from .tensor import Tensor


def scaled_dot_product_attention(
    query,
    key,
    value,
    mask=None,
    bias=None,
    is_causal=False,
    scale=None,
    dropout=0.0,
    seed=None,
):
    """softmax(query @ key.T * scale + bias) @ value over the last two axes (Vaswani et al. 2017).

    Parameters
    ----------
    query : tensor or array
        (.., n, d); integers become floats, here and in the next two.
    key, value : tensor or array
        (.., m, d) and (.., m, e). The axes before broadcast, and both may have fewer heads (axis
        -3) than query, each for a group of its heads.
    mask : tensor or array, optional
        bool, broadcast to (.., n, m), true where a key is seen.
    bias : tensor or array, optional
        Added to the scores.
    is_causal : bool, default False
        Row i sees keys up to i.
    scale : float or Tensor, optional
        A scalar, by default 1 / sqrt(d).
    dropout : float, default 0.0
        The part of the weights that is set to 0 at random; the others are divided by 1 - dropout.
    seed : int, optional
        Of the draws.

    Returns
    -------
    Tensor
        (.., n, e). A row that sees no key is 0, and so are its gradients.

    Raises
    ------
    ShapeError
        Where lengths or widths do not fit.
    DTypeError
        For a mask that is not bool.
    ArgumentError
        Unless 0 <= dropout < 1.

    Notes
    -----
    In float32 and float64 long scores are made by blocks and never stored, forwards and backwards,
    so that memory grows with the lengths and not with their product; so they are where `K.matmul`,
    `K.batch_dot` and `K.softmax` say the same. Sources: Milakov and Gimelshein 2018, Dao et al.
    2022. NaN in a key or value that a row does not see may reach the row or not.

    Examples
    --------
    >>> q, k = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[4.0, 0.0], [0.0, 4.0]])
    >>> K.scaled_dot_product_attention(q, k, np.array([[1.0], [3.0]]), is_causal=True).eval()
    array([[1.        ],
           [2.88838556]])
    """
    q, k, v = (node_of(x) for x in (query, key, value))
    mask, bias = (None if x is None else node_of(x) for x in (mask, bias))
    if not isinstance(is_causal, (bool, int)):
        raise ArgumentError(f"is_causal is True or False, not {is_causal!r}")
    return Tensor(
        ops.scaled_dot_product_attention(
            q,
            k,
            v,
            mask,
            bias,
            bool(is_causal),
            None if scale is None else node_of(scale),
            lambda weights: dropped(Tensor(weights), dropout, seed=seed).node,
        )
    )
