"""The exceptions of Theano under their names; each is one of ckernels's families too.

So `except ValueError`, `except theano.gradient.DisconnectedInputError` and
`except ckernels.errors.CKernelsError` all catch what they name.
"""

from ...base.errors import (
    ArgumentError,
    CKernelsError,
    DisconnectedError,
    DTypeError,
    NonFiniteError,
    NotSupported,
    ShapeError,
    UsageError,
)


class MissingInputError(ArgumentError):
    """A function needs an input that was not among its inputs."""

    def __init__(self, *args, **kwargs):
        self.variable = kwargs.pop("variable", None)
        super().__init__(*args, **kwargs)


class UnusedInputError(ArgumentError):
    """An input that no output or update needs."""


class RefusedError(CKernelsError, AssertionError):
    """What a function of Theano asserts of its arguments does not hold."""


class GivensError(CKernelsError, RuntimeError):
    """givens that would replace an input."""


class AliasedMemoryError(CKernelsError):
    """Two inputs share memory that a function would write to."""


class DisconnectedInputError(DisconnectedError):
    """A gradient by something the cost does not depend on."""


class NullTypeGradError(UsageError):
    """A gradient that is undefined or not implemented was reached."""


class NotScalarConstantError(CKernelsError):
    """A variable is not known to be one constant number; raised often, so it asks for no line."""

    about_programs = False


class EmptyConstantError(NotScalarConstantError):
    """A constant without elements has no scalar value."""


class AsTensorError(DTypeError):
    """What cannot become a tensor."""


class TensorShapeError(ShapeError):
    """Shapes that do not fit."""


class ShapeMismatchError(ShapeError):
    """Shapes that do not fit."""


class BroadcastError(ShapeError, TypeError):
    """An array whose size is not 1 along an axis that its input calls broadcastable."""


class NanGuardError(NonFiniteError, AssertionError):
    """NanGuardMode found a number that its switches call an error."""


class DebugModeError(CKernelsError):
    """DebugMode found something wrong; the classes below say what."""


class BadThunkOutput(DebugModeError):
    """Two ways to compute one node differ."""


class BadOptimization(DebugModeError):
    """A rewrite changed a value."""


class BadDestroyMap(DebugModeError):
    """An op wrote to an input that its destroy_map does not name."""


class BadViewMap(DebugModeError):
    """An output shares memory with an input that neither view_map nor destroy_map names."""


class StochasticOrder(DebugModeError):
    """The order of computation was another one the second time."""


class InvalidValueError(DebugModeError):
    """A value is none of its variable's type."""


class NotSupportedHere(NotSupported, TypeError):
    """A part of Theano that ckernels does not have, with what to use instead."""
