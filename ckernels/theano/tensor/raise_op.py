"""Assert: a tensor that is computed only if conditions hold."""

from ... import ops
from ..base.exceptions import RefusedError
from ..base.names import absent_of as _absent_of
from ..classes.op import KernelOp
from ..handles.variables import as_tensor_variable


def _check(x, *conditions, message, error=""):
    return ops.check(x, *conditions, message=message, error=error)


def valued(x, message, *conditions, error="value"):
    """`x`; a call in which a scalar condition is false raises a ValueError, or an IndexError for
    error="index"."""
    conditions = [as_tensor_variable(c) for c in conditions]
    return KernelOp(_check, "Check", message=message, error=error)(x, *conditions)


class Assert(KernelOp):
    """`Assert(msg)(x, cond, ...)` is x; AssertionError with `msg` if a condition is false."""

    def __init__(self, msg="Theano Assert failed!"):
        KernelOp.__init__(self, _check, "Assert", message=msg)
        self.msg = msg

    def make_node(self, value, *conds):
        conds = [as_tensor_variable(c) for c in conds]
        if any(c.ndim for c in conds):
            raise RefusedError("the conditions of Assert are scalars")
        return KernelOp.make_node(self, value, *conds)

    def __call__(self, value, *conds, **kwargs):
        return self.make_node(value, *conds).outputs[0]

    def __str__(self):
        return f"Assert{{msg='{self.msg}'}}"

    def __reduce__(self):
        return Assert, (self.msg,)


assert_op = Assert()
assert_ = Assert()


__getattr__ = _absent_of("theano.raise_op")
