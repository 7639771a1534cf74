"""The exceptions and warnings of ckernels; every sentence a user reads starts from one of these.

Each class also derives from the built-in a NumPy user would expect, so `except ValueError` around a
shape error works. This room imports nothing.
"""


class CKernelsError(Exception):
    """Base of every error ckernels raises on purpose."""


class ShapeError(CKernelsError, ValueError):
    """Shapes that do not fit together."""


class DTypeError(CKernelsError, TypeError):
    """dtypes that do not fit together, or that an operation does not know."""


class DisconnectedError(CKernelsError, ValueError):
    """A gradient was asked for with respect to something the cost does not depend on."""


class IndexOutOfBounds(CKernelsError, IndexError):
    """An index beyond the end of its axis."""


class ConfigError(CKernelsError, ValueError):
    """An unknown flag, or a value a flag does not take."""


class CacheError(CKernelsError):
    """The compiledir cannot be used as asked. Raised by tools only, never by a computation."""


class CompileError(CKernelsError):
    """The C compiler refused generated code, or did not finish; `source` is the kept file."""

    def __init__(self, message, source=None):
        super().__init__(message)
        self.source = source


class CompilerMissing(CKernelsError):
    """There is no C compiler that works; `install` says how to get one."""

    def __init__(self, message, install=""):
        super().__init__(f"{message}\n{install}" if install else message)
        self.install = install


class CKernelsWarning(UserWarning):
    """Warnings of ckernels, so that they can be filtered as one."""
