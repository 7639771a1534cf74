"""Ops of the compile package: as_op, DeepCopyOp, ViewOp."""

from ... import ops
from ...base.errors import ArgumentError, UsageError
from ..base.names import absent_of as _absent_of
from ..classes.op import KernelOp, Op


class FromFunctionOp(Op):
    """A Python function of arrays as an Op; see `as_op`."""

    def __init__(self, fn, itypes, otypes, infer_shape=None):
        self.__fn, self.itypes, self.otypes = fn, itypes, otypes
        self.__infer_shape = infer_shape
        if infer_shape is not None:
            self.infer_shape = self._infer_shape

    def __eq__(self, other):
        return type(self) is type(other) and self.__fn == other.__fn

    def __hash__(self):
        return hash(type(self)) ^ hash(self.__fn)

    def __str__(self):
        return f"FromFunctionOp{{{self.__fn.__name__}}}"

    def perform(self, node, inputs, outputs):
        found = self.__fn(*inputs)
        found = found if isinstance(found, (list, tuple)) else (found,)
        if len(found) != len(outputs):
            raise ArgumentError(f"{self} gave {len(found)} results for {len(outputs)} outputs")
        for cell, value in zip(outputs, found):
            cell[0] = value

    def __reduce__(self):
        import importlib  # no name of this module

        module = self.__fn.__module__
        name = self.__fn.__name__
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            found = None
        if isinstance(found, FromFunctionOp):
            return load_back, (module, name)
        return FromFunctionOp, (self.__fn, self.itypes, self.otypes, self.__infer_shape)

    def _infer_shape(self, node, input_shapes):
        return self.__infer_shape(node, input_shapes)


def load_back(mod, name):
    """The FromFunctionOp called `name` in a module."""
    import importlib  # no name of this module

    return getattr(importlib.import_module(mod), name)


def as_op(itypes, otypes, infer_shape=None):
    """A decorator that makes a function of arrays an Op with these types of inputs and outputs.

    >>> import ckernels.compat.theano as theano
    >>> import ckernels.compat.theano.tensor as T
    >>> @theano.as_op(itypes=[T.dmatrix, T.dmatrix], otypes=[T.dmatrix])
    ... def numpy_dot(a, b):
    ...     return a.dot(b)
    >>> x = T.dmatrix()
    >>> theano.function([x], numpy_dot(x, x))([[2.0]]).tolist()
    [[4.0]]
    """
    itypes = list(itypes) if isinstance(itypes, (list, tuple)) else [itypes]
    otypes = list(otypes) if isinstance(otypes, (list, tuple)) else [otypes]
    if any(not hasattr(t, "filter") for t in itypes):
        raise UsageError(f"itypes are types such as T.dmatrix, one for each input, not {itypes}")
    if any(not hasattr(t, "filter") for t in otypes):
        raise UsageError(f"otypes are types such as T.dmatrix, one for each output, not {otypes}")

    def make_op(fn):
        return FromFunctionOp(fn, itypes, otypes, infer_shape)

    return make_op


def _copied(x):
    return ops.identity(x)


class DeepCopyOp(KernelOp):
    """A copy of a value."""

    def __init__(self):
        KernelOp.__init__(self, _copied, "DeepCopyOp")


class ViewOp(KernelOp):
    """A view of a value."""

    def __init__(self):
        KernelOp.__init__(self, _copied, "ViewOp")


class OutputGuard(ViewOp):
    """What keeps an output from being written to."""


deep_copy_op, view_op = DeepCopyOp(), ViewOp()


C_CODE = {}  # (function below, type of variables): what was registered  # fmt: skip


def _registering(name, what):
    def register(type, code, version=(), *more, **options):
        C_CODE[name, type] = (code, version, *more)

    register.__name__ = name
    register.__doc__ = (
        f"Note the C that {what} variables of `type` in Theano; here Python does so for types "
        "of users."
    )
    return register


register_view_op_c_code = _registering("register_view_op_c_code", "views")
register_deep_copy_op_c_code = _registering("register_deep_copy_op_c_code", "copies")
register_shape_c_code = _registering("register_shape_c_code", "asks the shape of")
register_shape_i_c_code = _registering("register_shape_i_c_code", "asks one size of")
register_specify_shape_c_code = _registering("register_specify_shape_c_code", "checks the shape of")
register_rebroadcast_c_code = _registering("register_rebroadcast_c_code", "marks the axes of")


__getattr__ = _absent_of("theano.compile.ops")
