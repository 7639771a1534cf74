"""What the array API standard 2024.12 asks for beyond NumPy's own names and signatures.

Each takes NumPy's arguments too. Where NumPy and the standard contradict one another (`inf // 2`),
the namespace is NumPy's.
"""

import numpy as np

from .arrays import Array, call


def sort(a, axis=-1, kind=None, order=None, *, stable=None, descending=False):
    """A sorted copy of `a` along an axis, rising unless `descending`."""
    found = call(np.sort, (a, axis), {"kind": kind, "order": order, "stable": stable})
    return call(np.flip, (found, axis), {}) if descending else found


def argsort(a, axis=-1, kind=None, order=None, *, stable=None, descending=False):
    """The places that sort `a` along an axis; equal elements stay in order where it is stable.

    It is stable unless `kind` names another way, as the standard has it.
    """
    options = {"kind": kind, "order": order, "stable": stable}
    if kind is None and stable is None:
        options["stable"] = True
    if not descending:
        return call(np.argsort, (a, axis), options)
    turned = call(np.flip, (a, axis), {})  # equal elements: last first, until they are turned
    places = call(np.flip, (call(np.argsort, (turned, axis), options), axis), {})
    return call(np.subtract, (np.shape(places)[axis] - 1, places), {})


def clip(a, /, min=None, max=None, out=None, *, a_min=None, a_max=None, **options):
    """`a` with elements below `min` and above `max` moved there; either may be None.

    The dtype is that of `a`: a float limit of an array of integers is rounded inwards by NumPy's
    rules of promotion only where the standard allows it.
    """
    if (min is not None and a_min is not None) or (max is not None and a_max is not None):
        raise TypeError("clip takes min or a_min, and max or a_max, not both")
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    if out is not None:
        options["out"] = out
    return call(np.clip, (a, low, high), options)


def broadcast_arrays(*arrays):
    """The arrays in their common shape, as a list."""
    return list(call(np.broadcast_arrays, arrays, {}))


def meshgrid(*arrays, indexing="xy", copy=True, sparse=False):
    """Grids of coordinates, as a list."""
    options = {"indexing": indexing, "copy": copy, "sparse": sparse}
    return list(call(np.meshgrid, arrays, options))


class finfo:  # noqa: N801 (NumPy's name)
    """Limits of a float dtype as Python floats: bits, eps, max, min, smallest_normal, dtype; and
    NumPy's further ones."""

    def __init__(self, type, /):
        self.numpy = found = np.finfo(type.dtype if isinstance(type, Array) else type)
        self.bits, self.dtype = int(found.bits), found.dtype
        for name in ("eps", "max", "min", "smallest_normal"):
            setattr(self, name, float(getattr(found, name)))

    def __getattr__(self, name):
        if name == "numpy":
            raise AttributeError(name)
        return getattr(self.numpy, name)

    def __repr__(self):
        return repr(self.numpy)


def _frequencies(function):
    def frequencies(n, d=1.0, device=None, *, dtype=None):
        found = call(function, (n, d), {"device": device})
        return found if dtype is None else found.astype(dtype)

    frequencies.__name__, frequencies.__doc__ = function.__name__, function.__doc__
    return frequencies


# {module of NumPy: {name: what it is here}}
OF = {
    np: {f.__name__: f for f in (sort, argsort, clip, broadcast_arrays, meshgrid, finfo)},
    np.fft: {f.__name__: _frequencies(f) for f in (np.fft.fftfreq, np.fft.rfftfreq)},
}
