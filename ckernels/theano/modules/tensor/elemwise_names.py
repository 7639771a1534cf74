"""The names of theano.tensor.elemwise."""

from ..names import absent_of as _absent_of
from .elementwise import DimShuffle, Elemwise  # noqa: F401
from .products import Dot  # noqa: F401
from .reductions import (  # noqa: F401
    All,
    Any,
    CAReduce,
    CAReduceDtype,
    Prod,
    ProdWithoutZeros,
    Sum,
)

__getattr__ = _absent_of("theano.tensor.elemwise_names")
