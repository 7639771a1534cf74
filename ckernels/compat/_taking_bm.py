"""How natural_bm comes to run on ckernels: its module theano_backend is not read but replaced.

natural_bm keeps floatx, intx and epsilon in `natural_bm.backend.common` and sets them from
~/.natural_bm/natural_bm.json before it imports its backend. What they are then becomes ckernels'
values, and from there on its functions are those of `ckernels.compat.natural_bm`.
"""

import functools
import os
import sys
import urllib.request  # noqa: F401  its datasets import urllib alone, as old Pythons let them

from ..base.errors import add_library
from . import _modern, _replacing

PLACE = "natural_bm.backend.theano_backend"
SETTINGS = ("epsilon", "floatx", "intx")
SHARED = (*SETTINGS, *(f"set_{name}" for name in SETTINGS), "cast_to_floatx")


def install(ours):
    """See `natural_bm.install`, whose module is `ours`."""
    _replacing.put(PLACE, functools.partial(_fill, ours), "ckernels.compat.natural_bm")
    os.environ["NATURAL_BM_BACKEND"] = "theano"  # natural_bm.json may name its NumPy backend
    _modern.put_back()
    _modern.when_imported("h5py", _modern.mend_h5py)
    _modern.mend_scipy_misc(_with_logsumexp)
    _modern.when_imported("natural_bm.backend.common", _plain_epsilon)


def _with_logsumexp(misc):
    """scipy.misc with logsumexp, which SciPy 1.3 keeps in scipy.special alone."""
    if not hasattr(misc, "logsumexp"):
        from scipy.special import logsumexp  # start-up

        misc.logsumexp = logsumexp


def _plain_epsilon(common):
    """Its epsilon as a Python float, which natural_bm.json takes when a first start writes it."""
    common.set_epsilon(float(common.epsilon()))


def _fill(ours):
    """The names of the module `ours`, once natural_bm's settings and its are one."""
    common = sys.modules["natural_bm.backend.common"]
    for name in SETTINGS:
        getattr(ours, f"set_{name}")(getattr(common, name)())
    for name in SHARED:
        setattr(common, name, getattr(ours, name))
    add_library(os.path.dirname(os.path.dirname(common.__file__)), str)
    sys.stderr.write("(ckernels.compat.natural_bm in its place)\n")
    return _replacing.names_of(ours, "backend", "install")
