"""Arrays through compiled functions: what NumPy has not, or slowly (convolution, pooling, CTC).

One function for each builder, its options, dtypes and shapes; the last few hundred are kept.
"""

import functools

import numpy as np

from ..api.function import function
from ..api.tensor import Tensor, placeholder_node
from .rows import wrapped
from .values import Symbolic, as_value, node_of

KEPT = 256  # functions, of some 100 kB each
_ARRAYS = frozenset((np.ndarray,))


def compiled(builder, *xs, open_sizes=False, **options):
    """builder(*nodes, **options) of traced values, or its value for arrays.

    builder: a function of a module (it is part of the key); options must be hashable. open_sizes:
    one function serves arrays of all sizes.
    """
    if not _ARRAYS.issuperset(map(type, xs)):
        xs = [as_value(x) for x in xs]
        if any(isinstance(x, Symbolic) for x in xs):
            return wrapped(builder(*map(node_of, xs), **options))
        xs = [np.asarray(x) for x in xs]
    key = tuple([(x.dtype, (None,) * x.ndim if open_sizes else x.shape) for x in xs])
    run, several = _function(builder, key, tuple(options.items()))
    found = run(*xs)
    return tuple(found) if several else found[0]


@functools.lru_cache(maxsize=KEPT)
def _function(builder, arrays, options):
    nodes = [placeholder_node(dtype.name, shape) for dtype, shape in arrays]
    result = builder(*nodes, **dict(options))
    several = isinstance(result, tuple | list)
    outputs = [Tensor(n) for n in (result if several else [result])]
    made = function([Tensor(n) for n in nodes], outputs, on_unused_input="ignore")
    return made, several
