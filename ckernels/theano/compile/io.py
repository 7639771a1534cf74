"""In and Out: inputs and outputs of functions with options."""

from ...base.errors import UsageError
from ..base.exceptions import RefusedError
from ..base.names import absent_of as _absent_of
from ..graph.apply import Variable


class SymbolicInput:
    """An input: its variable, its name, and what updates it after a call."""

    def __init__(
        self,
        variable,
        name=None,
        update=None,
        mutable=None,
        strict=False,
        allow_downcast=None,
        autoname=True,
        implicit=False,
    ):
        if implicit is None:
            raise RefusedError("implicit is True or False")
        self.variable = variable
        self.name = variable.name if autoname and name is None else name
        if self.name is not None and not isinstance(self.name, str):
            raise UsageError(f"the name of an input is a string, not {self.name!r}")
        self.update = update
        if update is not None and variable.type != getattr(update, "type", variable.type):
            raise UsageError(
                "Variable in input has different type from its update: "
                f"{variable} has type {variable.type}, but {update} has type "
                f"{update.type}"
            )
        self.mutable = update is not None if mutable is None else mutable
        self.strict, self.allow_downcast, self.implicit = strict, allow_downcast, implicit

    def __str__(self):
        if self.update:
            return f"In({self.variable} -> {self.update})"
        return f"In({self.variable})"

    __repr__ = __str__


class In(SymbolicInput):
    """An input with a default `value`, an `update` after each call, a name of its own.

    implicit: it cannot be passed, only read and set by name; so by default where the value is a
    container.
    """

    def __init__(
        self,
        variable,
        name=None,
        value=None,
        update=None,
        mutable=None,
        strict=False,
        allow_downcast=None,
        autoname=True,
        implicit=None,
        borrow=None,
        shared=False,
    ):
        from ..handles.sharedvar import (  # programs would see the name here
            Container,
            SharedVariable,
        )

        if borrow is None:
            borrow = bool(mutable)
        elif mutable and not borrow:
            raise RefusedError(
                f"the input {variable} (name={name}) was given mutable=True and "
                "borrow=False: what may be overwritten is borrowed, so leave one "
                "of them out"
            )
        self.borrow = borrow
        if isinstance(value, SharedVariable):
            value, implicit, shared = value, True if implicit is None else implicit, True
        if implicit is None:
            implicit = isinstance(value, Container)
        self.shared = shared
        if update is not None:
            from ..handles.variables import as_tensor_variable  # programs would see the name here

            if not isinstance(update, Variable):
                update = as_tensor_variable(update)
            if getattr(update, "node", None) is not None and update.type != variable.type:
                update = variable.type.filter_variable(update)
        super().__init__(
            variable, name, update, mutable, strict, allow_downcast, autoname, implicit
        )
        self.value = value
        if implicit and value is None:
            raise UsageError(
                f"the input {variable} is implicit, so no call can set it: give it a value"
            )


class SymbolicOutput:
    """An output; borrow is accepted: results are fresh arrays."""

    def __init__(self, variable, borrow=False):
        self.variable, self.borrow = variable, borrow

    def __str__(self):
        return f"Out({self.variable}, {self.borrow})"

    __repr__ = __str__


Out = SymbolicOutput


class Param(In):
    """`In`, under its old name."""

    def __init__(
        self,
        variable,
        default=None,
        name=None,
        mutable=False,
        strict=False,
        allow_downcast=None,
        implicit=None,
        borrow=None,
    ):
        super().__init__(
            variable,
            name=name,
            value=default,
            mutable=mutable,
            strict=strict,
            allow_downcast=allow_downcast,
            implicit=implicit or False,
            borrow=borrow,
        )


__getattr__ = _absent_of("theano.compile.io")
