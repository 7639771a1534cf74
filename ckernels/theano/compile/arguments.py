"""What a call of a facade's function was given, by Theano's rules.

The engine's callable takes arrays that fit as they are; all else comes through here: lists are one
array, a conversion that could lose something is a TypeError, names are keywords.
"""

import numpy as np

from ...base.errors import ArgumentError, UsageError, user_line
from ...runtime.function import Spec
from ..base.exceptions import BroadcastError
from ..classes.scalar import Scalar
from ..handles.type import TensorType


class SpecOfTheano(Spec):
    """The engine's description of a function, with Theano's conversion of arguments."""

    types = ()  # a TensorType for each input
    strict = ()  # whether an input must be of its type already
    downcasts = ()  # for each input True, False or None
    keywords = {}  # {name: index of the input}
    trusting = False  # whether arguments that are no arrays of these types are refused
    title_name = None
    watch = None  # watch(spec) -> the callable, for modes that watch

    @classmethod
    def made(cls, types, strict, downcasts, keywords, watch=None, **options):
        self = cls(**options)
        self.watch = watch
        self.set_rules(types, strict, downcasts, keywords)
        return self

    def set_rules(self, types, strict, downcasts, keywords):
        self.types, self.strict = types, strict
        self.downcasts, self.keywords = downcasts, keywords

    def like(self, **changes):
        made = type(self)(**self.options(changes))
        if len(made.inputs) == len(self.types):
            made.set_rules(self.types, self.strict, self.downcasts, self.keywords)
        made.watch, made.trusting = self.watch, self.trusting
        return made

    def plain(self, outputs, **changes):
        made = super().plain(outputs, **changes)
        made.watch = None
        return made

    def callable(self):
        return super().callable() if self.watch is None else self.watch(self)

    def program(self):
        made = super().program()
        made.misfit = BroadcastError
        return made

    def coerce(self, i, arg):
        if i < 0:
            return self.arrange(*arg)
        if not self.types:
            return super().coerce(i, arg)
        if self.trusting and not self.types[i].is_valid_value(arg):
            raise ArgumentError(
                f"with trust_input the argument at index {i} is an array of {self.types[i]}, not "
                f"{type(arg).__name__} {arg!r}"[:300]
            )
        try:
            array = self.types[i].filter(
                arg, strict=self.strict[i], allow_downcast=self.downcasts[i]
            )
        except (TypeError, ValueError) as problem:
            name = self.inputs[i].name
            line = user_line()
            where = f" at {line[0]}:{line[1]}" if line else ""
            function = f' with name "{self.name}"' if self.name else ""
            problem.args = (
                f"Bad input {'argument ' + repr(name) if name else 'argument'} to theano "
                f"function{function}{where} at index {i} (0-based). ",
                *problem.args,
            )
            if not isinstance(problem, TypeError):
                raise
            raise
        if (
            not array.flags.aligned
            or not array.dtype.isnative
            or any(s % array.itemsize for s in array.strides)
        ):
            array = np.array(array, order="C", copy=True)
        return array if type(array) is np.ndarray else np.asarray(array)

    def arrange(self, args, kwargs):
        """Positional and keyword arguments and defaults in the order of the inputs."""
        if not self.types and self.inputs:
            return super().arrange(args, kwargs)
        given = dict(enumerate(args))
        if len(args) > len(self.inputs):
            raise UsageError(
                f"this function takes {len(self.inputs)} arguments at most, not {len(args)}"
            )
        for key, value in kwargs.items():
            i = self.keywords.get(key)
            if i is None:
                raise UsageError(
                    f"Unknown input or state: {key}. The function has "
                    f"{len(self.inputs)} named input(s) "
                    f"({', '.join(sorted(map(str, self.keywords)))})"
                )
            if i in given:
                raise UsageError(f"the input {key} was given twice, by position and by name")
            given[i] = value
        for i, value in self.defaults.items():
            given.setdefault(i, value)
        missing = [i for i in range(len(self.inputs)) if i not in given]
        if missing:
            names = ", ".join(self.inputs[i].name or f"input {i}" for i in missing)
            raise UsageError(f"Missing required input: {names}")
        return [self.coerce(i, given[i]) for i in range(len(self.inputs))]


def type_of_input(variable):
    """The type whose `filter` makes arrays of the values of an input."""
    found = variable.type
    return TensorType(found.dtype, ()) if isinstance(found, Scalar) else found
