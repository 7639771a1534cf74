"""theano.misc.may_share_memory: whether arrays or sparse matrices have memory in common."""

import numpy as np

from ....api.operands import is_sparse_matrix
from ....base.errors import UsageError
from ...base.names import absent_of as _absent_of


def may_share_memory(a, b, raise_other_type=True):
    """Whether `a` and `b` may have memory in common; of what is neither TypeError, or False."""
    parts = [_arrays(x) for x in (a, b)]
    if None in parts:
        if raise_other_type:
            raise UsageError(
                "arrays and scipy.sparse matrices may share memory; got "
                f"{type(a).__name__} and {type(b).__name__}"
            )
        return False
    return any(np.may_share_memory(x, y) for x in parts[0] for y in parts[1])


def _arrays(x):
    if isinstance(x, np.ndarray):
        return [x]
    return [x.data, x.indices, x.indptr] if is_sparse_matrix(x) else None


__getattr__ = _absent_of("theano.misc.may_share_memory")
