"""keras.ops.numpy: the functions of NumPy's names, from the files by subject."""

import functools

from keras.src.backend.common.backend_utils import vectorize_impl

from .core import vectorized_map
from .elementwise import *  # noqa: F403
from .products import *  # noqa: F403
from .reductions import *  # noqa: F403
from .shaping import *  # noqa: F403


def vectorize(pyfunc, *, excluded=None, signature=None):
    if not excluded:
        return vectorize_impl(pyfunc, _along_rows, signature=signature)

    @functools.wraps(pyfunc)
    def without_the_excluded(*args, **kwargs):
        rest = [a for i, a in enumerate(args) if i not in excluded]
        named = {k: kwargs.pop(k) for k in list(kwargs) if k in excluded}

        def of_the_rest(*rows, **more):
            rows = iter(rows)
            given = [a if i in excluded else next(rows) for i, a in enumerate(args)]
            return pyfunc(*given, **named, **more)

        return vectorize_impl(of_the_rest, _along_rows, signature=signature)(*rest, **kwargs)

    return without_the_excluded


def _along_rows(function, in_axes):
    """`function` of the rows of arguments whose entry is 0; the others are the same for all."""

    def mapped(*args):
        def of_rows(rows):
            rows = iter(rows)
            return function(*[a if axis is None else next(rows) for a, axis in zip(args, in_axes)])

        return vectorized_map(of_rows, [a for a, axis in zip(args, in_axes) if axis == 0])

    return mapped
