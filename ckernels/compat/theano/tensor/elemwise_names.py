"""The names of theano.tensor.elemwise."""

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
