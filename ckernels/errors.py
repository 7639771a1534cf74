"""The exceptions and warnings of ckernels, for `except ckernels.errors.ShapeError` and its kin.

This file only names them: what they say, and how they find the user's line, is in `base/errors.py`.
"""

from .base import errors as _errors

__all__ = [
    name
    for name, value in vars(_errors).items()
    if isinstance(value, type)
    and issubclass(value, (_errors.CKernelsError, _errors.CKernelsWarning))
]
for _name in __all__:
    globals()[_name] = getattr(_errors, _name)
