"""theano.gof.compilelock: the lock on the compiledir, which is safe without one.

Kernels are published by one rename, so there is nothing to hold or to wait for; what programs call
is here and does nothing.
"""

import contextlib

from ..base.names import absent_of as _absent_of


@contextlib.contextmanager
def lock_ctx(lock_dir=None, keep_lock=False, **kw):
    """A block that would hold the lock."""
    yield


def get_lock(lock_dir=None, **kw):
    """Nothing to wait for."""


def release_lock():
    """Nothing is held."""


def set_lock_status(use_lock):
    """Accepted: there is no lock to switch off."""


def force_unlock():
    """Nothing to remove."""


__getattr__ = _absent_of("theano.gof.compilelock")
