"""The flags as a module: `from ckernels.config import FLAGS, config`.

`ckernels.config` itself is the flags, which hide this module. The table and how each flag is read
are in `base/config.py`.
"""

from .base.config import FLAGS, UnknownFlag, config

__all__ = ["FLAGS", "UnknownFlag", "config"]
