"""The names of theano.tensor.elemwise."""

from ...base.names import absent_of as _absent_of
from ...tensor.elementwise import DimShuffle, Elemwise  # noqa: F401
from ...tensor.products import Dot  # noqa: F401
from ...tensor.reductions import (  # noqa: F401
    All,
    Any,
    CAReduce,
    CAReduceDtype,
    Prod,
    ProdWithoutZeros,
    Sum,
)

__getattr__ = _absent_of("theano.tensor.elemwise")
