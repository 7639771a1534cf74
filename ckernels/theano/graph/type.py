"""Type: what a variable holds; and Generic, which holds any Python object.

Tensors are in tensor/type.py. A user's Type needs `filter`; calling a type makes a variable.
"""

from ...base.errors import ArgumentError, UsageError
from ..base import utils
from ..base.exceptions import RefusedError
from ..base.names import absent_of as _absent_of
from ..user_ops.clinker import CLinkerType, CPointer
from .apply import Constant, Variable


class PureType:
    """What filters values and makes variables."""

    Variable, Constant = Variable, Constant

    def filter(self, data, strict=False, allow_downcast=None):
        """`data` as a value of this type, or TypeError."""
        raise utils.MethodNotDefined("filter", type(self), self.__class__.__name__)

    def filter_inplace(self, value, storage, strict=False, allow_downcast=None):
        raise utils.MethodNotDefined("filter_inplace", type(self), self.__class__.__name__)

    def filter_variable(self, other, allow_convert=True):
        """`other` as a variable of this type, or TypeError."""
        if not isinstance(other, Variable):
            other = self.Constant(type=self, data=other)
        if other.type != self and allow_convert:
            converted = self.convert_variable(other)
            if converted is not None:
                return converted
        if other.type != self:
            raise UsageError(
                f"{other} has the type {other.type} where {self} is needed, and does "
                "not turn into it by itself; convert it first"
            )
        return other

    def convert_variable(self, var):
        """`var` if it is of this type, else None: what types may refine."""
        return var if self == var.type else None

    def is_valid_value(self, a):
        """Whether `filter` would take `a` as it is."""
        try:
            self.filter(a, strict=True)
            return True
        except (TypeError, ValueError):
            return False

    def value_validity_msg(self, a):
        return "none"

    def make_variable(self, name=None):
        """A new variable of this type."""
        return self.Variable(self, name=name)

    def make_constant(self, value, name=None):
        """A constant of this type."""
        return self.Constant(type=self, data=value, name=name)

    def __call__(self, name=None):
        return utils.add_tag_trace(self.make_variable(name))

    def values_eq(self, a, b):
        """Whether two values are equal."""
        return a == b

    def values_eq_approx(self, a, b):
        """Whether two values are equal up to rounding."""
        return self.values_eq(a, b)

    def get_shape_info(self, obj):
        return None

    def get_size(self, shape_info):
        return 0

    def may_share_memory(self, a, b):
        return a is b


class Type(utils.object2, PureType, CLinkerType):
    """What users derive their types from."""


class SingletonType(Type):
    """A type of which there is one instance."""

    _instance = None

    def __new__(cls):
        if cls.__dict__.get("_instance") is None:
            cls._instance = Type.__new__(cls)
        return cls._instance

    def __str__(self):
        return type(self).__name__


class Generic(CPointer, SingletonType):
    """Any Python object."""

    def filter(self, data, strict=False, allow_downcast=None):
        return data

    def is_valid_value(self, a):
        return True

    def __str__(self):
        return "<theano.gof.type.Generic>"

    __repr__ = __str__

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))


generic = Generic()


class NullType(Type):
    """The type of a gradient that does not exist; `why_null` says why."""

    def __init__(self, why_null="(no explanation given)"):
        self.why_null = why_null

    def filter(self, data, strict=False, allow_downcast=None):
        raise ArgumentError("a NullType marks a gradient that does not exist and takes no value")

    def filter_variable(self, other, allow_convert=True):
        raise ArgumentError("a NullType marks a gradient that does not exist; no variable fits it")

    def may_share_memory(self, a, b):
        return False

    def values_eq(self, a, b, force_same_dtype=True):
        raise ArgumentError("two gradients that do not exist (NullType) cannot be compared")

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))

    def __str__(self):
        return "NullType"


class DisconnectedType(Type):
    """The type of a gradient where nothing flows back."""

    def filter(self, data, strict=False, allow_downcast=None):
        raise RefusedError("DisconnectedType is a symbolic placeholder: there is no value")

    def fiter_variable(self, other):
        raise RefusedError("DisconnectedType is a symbolic placeholder: there is no value")

    def may_share_memory(self, a, b):
        return False

    def value_eq(self, a, b, force_same_dtype=True):
        raise RefusedError("DisconnectedType is a symbolic placeholder: there is no value")

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))

    def __str__(self):
        return "DisconnectedType"


__getattr__ = _absent_of(
    "theano.gof.type",
    {"user_ops.enums": "CDataType CDataTypeConstant EnumType EnumList CEnumType"},
)
