"""OrderedUpdates: what scan returns second, a dict of shared variables and their new values."""

from collections import OrderedDict

from ...base.errors import ArgumentError, UsageError
from ..base.names import absent_of as _absent_of
from ..handles.sharedvar import SharedVariable


class OrderedUpdates(OrderedDict):
    """A dict whose keys are shared variables; two different values for one key are an error."""

    def __init__(self, *key, **kwargs):
        self.disabled = False
        super().__init__(*key, **kwargs)
        for k in self:
            if not isinstance(k, SharedVariable):
                raise UsageError("only a shared variable can be updated; this key is none", k)

    def __setitem__(self, key, value):
        if not isinstance(key, SharedVariable):
            raise UsageError("only a shared variable can be updated; this key is none", key)
        if getattr(self, "disabled", False):
            raise ArgumentError("This OrderedUpdates was disabled.")
        if (
            hasattr(value, "type")
            and getattr(value, "node", None) is not None
            and value.dtype != key.dtype
        ):
            raise UsageError(f"the update of {key} has dtype {value.dtype}, not {key.dtype}")
        super().__setitem__(key, value)

    def update(self, other=None):
        if other is None:
            return
        for key, value in dict(other).items():
            if key in self and self[key] != value:
                raise KeyError("Collision", key)
            self[key] = value

    def __add__(self, other):
        made = OrderedUpdates()
        made.update(self)
        made.update(other)
        return made

    def __radd__(self, other):
        made = OrderedUpdates()
        made.update(other)
        made.update(self)
        return made


Updates = OrderedUpdates


__getattr__ = _absent_of("theano.updates")
