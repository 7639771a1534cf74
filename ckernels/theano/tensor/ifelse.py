"""ifelse: one of two branches, of which only the one that is taken is computed.

Where their sizes turn out to differ both are computed, and the one that is taken is copied.
"""

from ... import ops
from ...base.errors import ArgumentError, UsageError
from ..base.names import absent_of as _absent_of
from ..classes.meanings import upcast
from ..classes.op import KernelOp, Op
from ..graph.apply import Apply, Variable
from ..graph.type import DisconnectedType
from ..handles.variables import Handle, as_tensor_variable


class IfElse(KernelOp):
    """A scalar condition and two branches of `n_outs` tensors each."""

    def __init__(self, n_outs, as_view=False, gpu=False, name=None):
        KernelOp.__init__(self, _choose, name or "if", n_outs=int(n_outs))
        self.n_outs, self.as_view, self.gpu = int(n_outs), as_view, gpu

    def make_node(self, c, *args):
        c = as_tensor_variable(c)
        if c.ndim:
            raise UsageError(
                f"ifelse asks one number, 0 or not, but {c} has {c.ndim} dimensions: "
                "use switch to choose by element"
            )
        return KernelOp.make_node(self, c, *args)

    def __reduce__(self):
        return IfElse, (self.n_outs,)

    def __str__(self):
        return f"if{{{self.name}}}" if self.name != "if" else "if{}"


def _choose(c, *branches, n_outs):
    then, other = branches[:n_outs], branches[n_outs:]
    return [
        ops.choose(c, a, b, varied=None in a.shape or a.shape != b.shape)
        for a, b in zip(then, other)
    ]


class ObjectIfElse(Op):
    """A condition and two variables of one type that are no tensors."""

    __props__ = ()

    def make_node(self, condition, then, other):
        if then.type != other.type:
            raise UsageError(f"the branches of ifelse are {then.type} and {other.type}")
        return Apply(self, [as_tensor_variable(condition), then, other], [then.type()])

    def perform(self, node, inputs, storage, params=None):
        condition, then, other = inputs
        storage[0][0] = then if condition else other

    def connection_pattern(self, node):
        return [[False], [True], [True]]

    def grad(self, inputs, gradients):
        condition, then, other = inputs
        if not hasattr(then, "tensor_parts"):
            from ..gradient.functions import grad_not_implemented  # start-up: 3.3 ms

            why = "only tensors and sparse matrices flow back through ifelse"
            return [grad_not_implemented(self, k, x, why) for k, x in enumerate(inputs)]
        from ..sparse.functions import sp_zeros_like  # start-up: 3.7 ms

        (g,) = gradients
        return [
            DisconnectedType()(),
            self(condition, g, sp_zeros_like(then)),
            self(condition, sp_zeros_like(other), g),
        ]


def ifelse(condition, then_branch, else_branch, name=None):
    """`then_branch` if the scalar `condition` is not zero, else `else_branch`: tensors or lists.

    >>> import ckernels.compat.theano.tensor as T
    >>> from ckernels.compat.theano.ifelse import ifelse
    >>> x = T.dscalar("x")
    >>> ifelse(T.gt(x, 0), T.log(x), x - 1).eval({x: -1.0}).tolist()
    -2.0
    """
    many = isinstance(then_branch, (list, tuple))
    then = list(then_branch) if many else [then_branch]
    other = list(else_branch) if isinstance(else_branch, (list, tuple)) else [else_branch]
    if len(then) != len(other):
        raise ArgumentError(
            f"ifelse got {len(then)} values to take where the condition holds and "
            f"{len(other)} where not; both branches need the same number"
        )
    if any(isinstance(v, Variable) and not hasattr(v, "node") for v in (*then, *other)):
        chosen = [ObjectIfElse()(condition, a, b) for a, b in zip(then, other)]
        return chosen if many else chosen[0]
    then, other = zip(*(_alike(a, b) for a, b in zip(then, other)))
    found = IfElse(len(then), name=name)(condition, *then, *other)
    found = list(found) if isinstance(found, list) else [found]
    if isinstance(then_branch, tuple):
        return tuple(found)
    return found if many or isinstance(else_branch, (list, tuple)) else found[0]


def _alike(a, b):
    """Both branches of one dtype and one number of dimensions."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if not isinstance(a, Handle) or not isinstance(b, Handle):
        raise UsageError("the branches of ifelse are tensors")
    if a.ndim != b.ndim:
        raise UsageError(
            f"the branches of ifelse are {a.type} and {b.type}: give them the same "
            "number of dimensions"
        )
    if a.dtype != b.dtype:
        wide = upcast(a.dtype, b.dtype)
        if not (hasattr(a, "data") or hasattr(b, "data")):
            raise UsageError(
                f"the branches of ifelse are {a.type} and {b.type}: cast one so that "
                "their dtypes are equal"
            )
        a, b = a.astype(wide), b.astype(wide)
    return a, b


__getattr__ = _absent_of("theano.ifelse")
