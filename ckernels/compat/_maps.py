"""K.map_fn as Keras 2 has it: over several tensors, and with several results.

Keras hands `elems` to its backend, and the two backends differ: TensorFlow's calls `fn` with one
argument, a tuple of rows, Theano's with a row of each tensor. Which one a function is written for
is read from its signature. The loop itself is ckernels' own.
"""

import inspect

from ..api.scan import as_tensor
from ..api.scan import map_fn as native
from ..base import given
from ..base.errors import ArgumentError, UsageError


def map_fn(fn, elems, name=None, dtype=None):
    """`fn` of each element along the first axis of `elems`, stacked.

    elems: a tensor, or a tuple or list of tensors of one length. `fn` then gets one argument, a
    tuple or list of rows, as from TensorFlow; one that cannot be called so, but with as many
    arguments as there are tensors, gets them apart, as from Theano. What it returns, a tensor, or a
    tuple or list of them, is what the result is; dtype: of it, or one for each of several.
    UsageError for an `fn` that can be called in neither way, ArgumentError for as many dtypes as
    there are not results, or for no results.

    >>> from ckernels.compat import keras2 as K
    >>> x = K.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> K.eval(K.map_fn(lambda rows: K.sum(rows[0] * rows[1]), (x, x), dtype="float32"))
    array([ 5., 25.], dtype=float32)
    """
    given.function(fn, "the first argument of map_fn")
    many = isinstance(elems, (list, tuple))
    together = _arguments(fn, len(elems) if many else 1) == 1 and many
    structure = []

    def step(*rows):
        y = fn(_like(elems, rows)) if together else fn(*rows)
        structure[:] = [y]
        return _typed(y, dtype)

    found = native(step, elems, name)
    if not isinstance(structure[0], (list, tuple)):
        return found
    return _like(structure[0], found if isinstance(found, (list, tuple)) else [found])


def _arguments(fn, count):
    """1, or `count`: how many arguments `fn` is to be called with."""
    for n in (1, count):
        if _takes(fn, n):
            return n
    ways = "one argument" if count == 1 else f"one argument, nor with {count}"
    raise UsageError(f"the function of map_fn cannot be called with {ways}: rows of elems")


def _takes(fn, count):
    """Whether `fn` can be called with `count` arguments: yes, where it has no signature."""
    try:
        inspect.signature(fn).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # a callable without a signature
        pass
    return True


def _like(structure, values):
    """`values` as a list, tuple or named tuple, as `structure` is one."""
    return getattr(type(structure), "_make", type(structure))(values)


def _typed(y, dtype):
    if not isinstance(y, (list, tuple)):
        return as_tensor(y, dtype)
    if not y:
        raise ArgumentError("the function of map_fn returned no results")
    dtypes = dtype if isinstance(dtype, (list, tuple)) else [dtype] * len(y)
    if len(dtypes) != len(y):
        raise ArgumentError(f"map_fn has {len(dtypes)} dtypes for {len(y)} results")
    return [as_tensor(one, kind) for one, kind in zip(y, dtypes)]
