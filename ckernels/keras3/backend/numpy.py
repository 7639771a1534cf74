"""keras.ops.numpy: the functions of NumPy's names, from the files by subject."""

from keras.src.backend.common.backend_utils import vectorize_impl

from .core import vectorized_map
from .elementwise import *  # noqa: F403
from .products import *  # noqa: F403
from .reductions import *  # noqa: F403
from .shaping import *  # noqa: F403


def vectorize(pyfunc, *, excluded=None, signature=None):
    return vectorize_impl(pyfunc, vectorized_map, excluded=excluded, signature=signature)
