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

    query (.., n, d), key (.., m, d) and value (.., m, e) give (.., n, e); the axes before
    broadcast, and key and value may have fewer heads (axis -3) than query, each for a group of its
    heads. mask: bool, broadcast to (.., n, m), true where a key is seen; bias: added to the scores;
    is_causal: row i sees keys up to i. A row that sees no key is 0, and so are its gradients.
    scale: a number or scalar tensor, by default 1 / sqrt(d). dropout: the part of the weights that
    is set to 0 at random, the others are divided by 1 - dropout; seed: of the draws.

    Integers become floats. ShapeError where lengths or widths do not fit, DTypeError for a mask
    that is not bool. In float32 and float64 long scores are made by blocks and never stored,
    forwards and backwards, so that memory grows with the lengths and not with their product; so
    they are where `K.matmul`, `K.batch_dot` and `K.softmax` say the same. Sources: Milakov and
    Gimelshein 2018, Dao et al. 2022. NaN in a key or value that a row does not see may reach the
    row or not.

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
