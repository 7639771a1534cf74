"""Arguments: what a call was given, as one aligned array of the right dtype and rank per input.

The C callable takes arrays that already fit; lists, keywords, defaults and other dtypes come
through here. What cannot be made to fit raises an error before any state changes.
"""

from collections.abc import Mapping

import numpy as np

from ..base import dtypes
from ..base.errors import ArgumentError, DTypeError, ShapeError, UsageError, with_line
from ..graph.shapes import show

LIST = (
    ". A list is the list of all inputs: for one vector pass an array, "
    "f(np.array([1, 2, 3])), or a list in a list, f([[1, 2, 3]])"
)


class Arguments:
    """Inputs by their nodes: needs `inputs`, `defaults`, `downcast`, `positional_only`, `name`."""

    def label(self, i):
        return self.inputs[i].name or f"input {i}"

    def coerce(self, i, arg):
        """Input `i` as an aligned native array of its dtype and rank; -1: all of (args, kwargs)."""
        if i < 0:
            return self.arrange(*arg)
        node = self.inputs[i]
        array = self.as_array(i, arg, node)
        if array.ndim != node.ndim:
            raise with_line(
                ShapeError(
                    f"{self.label(i)} has {node.ndim} dimensions {show(node.shape)} and got an "
                    f"array of {array.ndim}, shape {show(array.shape)}"
                ),
                node,
            )
        if array.dtype.name != node.dtype:
            array = self.convert(i, array, node)
        if (
            not array.flags.aligned
            or not array.dtype.isnative
            or any(s % array.itemsize for s in array.strides)
        ):
            array = np.array(array, dtype=node.dtype, order="C", copy=True)
        return array if type(array) is np.ndarray else np.asarray(array)

    def as_array(self, i, arg, node):
        if arg is None:
            raise with_line(
                DTypeError(
                    f"{self.label(i)} got None; it needs an array of dtype "
                    f"{node.dtype} and shape {show(node.shape)}"
                ),
                node,
            )
        if hasattr(arg, "node"):
            raise with_line(
                DTypeError(
                    f"{self.label(i)} got a symbolic tensor; call the function "
                    "with arrays, or substitute tensors through givens"
                ),
                node,
            )
        if isinstance(arg, Mapping):
            raise with_line(
                UsageError(
                    f"{self.label(i)} got a dict; give inputs by name as keywords, "
                    f"f({self.inputs[0].name or 'x'}=array), or f(**values) with their names"
                ),
                node,
            )
        if dtypes.is_masked(arg):
            raise with_line(
                ArgumentError(
                    f"{self.label(i)} got a masked array with {int(np.ma.count_masked(arg))} of "
                    f"its {arg.size} elements masked; pass its filled(value), and the mask as an "
                    "input of its own where it matters"
                ),
                node,
            )
        try:
            array = np.asanyarray(arg)
        except ValueError as problem:
            raise with_line(
                ShapeError(
                    f"{self.label(i)} got a list whose rows differ in length; give an array of "
                    f"shape {show(node.shape)}"
                ),
                node,
            ) from problem
        if dtypes.kind(array.dtype) in "OUSVmM":
            raise with_line(
                DTypeError(
                    f"{self.label(i)} needs {node.dtype} and got an array of "
                    f"dtype {array.dtype}; convert it to numbers first"
                ),
                node,
            )
        return array

    def convert(self, i, array, node):
        """`array` cast to the input's dtype where the rules allow it."""
        source, target = array.dtype, np.dtype(node.dtype)
        given, wanted = dtypes.kind(source), dtypes.kind(target)
        with np.errstate(all="ignore"):
            if np.can_cast(source, target, "safe") or self.downcast:
                return array.astype(target)
            if given == "f" and wanted == "f" and self.downcast is None:
                return array.astype(target)
            real = given != "c" or wanted == "c"  # else NumPy warns and cuts
            cast = array.astype(target) if real else None
            lossless = real and np.array_equal(cast.astype(source), array)
        if lossless and (
            given in "iub"
            or wanted in "iu"
            and given == "f"
            and self.downcast is None
            and array.ndim == 0
        ):
            return cast
        if wanted == "f" and given in "iu" and self.downcast is None:
            return cast
        raise with_line(
            DTypeError(
                f"{self.label(i)} has dtype {node.dtype} and got an array of dtype {source.name}, "
                f"which would lose information; cast it with .astype({node.dtype!r}), or create "
                "the function with allow_input_downcast=True"
            ),
            node,
        )

    def arrange(self, args, kwargs):
        """Positional and keyword arguments and defaults in input order, each coerced."""
        if (
            len(args) == 1
            and isinstance(args[0], (list, tuple))
            and not kwargs
            and not self.positional_only
        ):
            args = tuple(args[0])
        given = dict(enumerate(args))
        names = {n.name: i for i, n in enumerate(self.inputs) if n.name}
        for key, value in kwargs.items():
            if key not in names:
                raise UsageError(
                    f"{self.title()} has no input named {key!r}; its inputs are "
                    f"{', '.join(self.label(i) for i in range(len(self.inputs)))}"
                )
            if names[key] in given:
                raise UsageError(f"{self.title()} got two values for input {key!r}")
            given[names[key]] = value
        for i, value in self.defaults.items():
            given.setdefault(i, value)
        wanted = range(len(self.inputs))
        missing = [self.label(i) for i in wanted if i not in given]
        if missing or len(given) > len(self.inputs):
            needed = len(self.inputs) - len(self.defaults)
            what = f"; missing: {', '.join(missing)}" if missing else ""
            count = len(self.inputs)
            raise UsageError(
                f"{self.title()} takes {count} input{'s' * (count != 1)}"
                + (f" ({needed} without default)" if self.defaults else "")
                + f" and got {len(args) + len(kwargs)}{what}"
                + (LIST if count == 1 < len(args) and not self.positional_only else "")
            )
        return [self.coerce(i, given[i]) for i in wanted]

    def title(self):
        return f"the function {self.name!r}" if self.name else "the function"
