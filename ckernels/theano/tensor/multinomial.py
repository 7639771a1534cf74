"""theano.sandbox.multinomial: classes drawn with uniform numbers that the caller has.

Row i of `pvals` takes unis[c * rows + i] for its draw c: the class whose cumulated probability, in
float64, is the first above it.
"""

import warnings

from ... import ops
from ...base.errors import NotSupported
from ..base.names import absent_of as _absent_of
from ..classes.op import KernelOp
from ..handles.variables import as_tensor_variable


def _chosen(pvals, unis, n, replace, strict=False):
    """Indices (rows of pvals, n); with strict the number of classes where none is above."""
    rows = ops.reshape(unis, ops.shape_vector([n, ops.size_of(pvals, 0)]))
    return ops.mrg_choice(pvals, rows, replace, strict)


def _counts(pvals, unis, n):
    classes = ops.arange(0, ops.size_of(pvals, 1), 1, "int64")
    hot = ops.eq(ops.expand(_chosen(pvals, unis, n, True, strict=True), (2,)), classes)
    return ops.sum(ops.cast(hot, "int64"), 1)


class MultinomialFromUniform(KernelOp):
    """How often each class of a row comes up in n draws, in `odtype`; "auto": that of `pvals`."""

    __props__ = ("odtype",)

    def __init__(self, odtype):
        KernelOp.__init__(self, _counts, type(self).__name__)
        self.odtype = odtype

    def make_node(self, pvals, unis, n=1):
        pvals, unis, n = (as_tensor_variable(x) for x in (pvals, unis, n))
        for x, what, ndim in ((pvals, "pvals", 2), (unis, "unis", 1), (n, "n", 0)):
            if x.ndim != ndim:
                raise NotSupported(f"{what} ndim should be {ndim}, not {x.ndim}")
        return self.on([pvals, unis, n])

    def _nodes(self, nodes):
        pvals, unis, n = nodes
        found = self.build(pvals, unis, ops.cast(n, "int64"), **self.attrs)
        return ops.cast(found, self._dtype(pvals))

    def _dtype(self, pvals):
        return pvals.dtype if self.odtype == "auto" else self.odtype

    def __eq__(self, other):
        return KernelOp.__eq__(self, other) and self.odtype == other.odtype

    __hash__ = KernelOp.__hash__

    def __str__(self):
        return f"{type(self).__name__}{{{self.odtype}}}"

    def __reduce__(self):
        return type(self), (self.odtype, *self.attrs.values())


class ChoiceFromUniform(MultinomialFromUniform):
    """The classes of n draws of each row, (rows, n), in `odtype`; "auto": int64.

    Without `replace` a class that was drawn has the probability 0 from then on.
    """

    __props__ = ("odtype", "replace")

    def __init__(self, odtype, replace=False):
        KernelOp.__init__(self, _chosen, type(self).__name__, replace=bool(replace))
        self.odtype, self.replace = odtype, replace

    def _dtype(self, pvals):
        return "int64" if self.odtype == "auto" else self.odtype


class MultinomialWOReplacementFromUniform(ChoiceFromUniform):
    """The older name of ChoiceFromUniform."""

    def __init__(self, odtype, replace=False):
        warnings.warn(
            "MultinomialWOReplacementFromUniform is deprecated, use ChoiceFromUniform",
            DeprecationWarning,
            stacklevel=2,
        )
        ChoiceFromUniform.__init__(self, odtype, replace)


__getattr__ = _absent_of("theano.sandbox.multinomial")
