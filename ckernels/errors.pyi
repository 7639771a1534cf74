"""Types of the exceptions and warnings. Written by `python -m build_tools.stubs`."""

from .base.errors import ArgumentError as ArgumentError
from .base.errors import CKernelsError as CKernelsError
from .base.errors import CKernelsWarning as CKernelsWarning
from .base.errors import CacheError as CacheError
from .base.errors import CompileError as CompileError
from .base.errors import CompilerMissing as CompilerMissing
from .base.errors import ConfigError as ConfigError
from .base.errors import DTypeError as DTypeError
from .base.errors import DebugModeError as DebugModeError
from .base.errors import DisconnectedError as DisconnectedError
from .base.errors import IndexOutOfBounds as IndexOutOfBounds
from .base.errors import KernelsMissing as KernelsMissing
from .base.errors import KeyShapeError as KeyShapeError
from .base.errors import LinearAlgebraError as LinearAlgebraError
from .base.errors import MissingName as MissingName
from .base.errors import NonFiniteError as NonFiniteError
from .base.errors import NotSupported as NotSupported
from .base.errors import OutOfMemory as OutOfMemory
from .base.errors import OwnCodeError as OwnCodeError
from .base.errors import ShapeError as ShapeError
from .base.errors import UsageError as UsageError
