"""The table of rules: one row per PyTensor op, found by the names of the op's classes.

Names, not classes, so that rows exist for ops of several PyTensor versions and nothing of PyTensor
is imported for an op no graph has. A rule is called with (context, op, apply node, values of its
inputs) and returns the value of its output, or a list of them. Values are nodes of ckernels; for
slices and None they are Python's own.
"""

RULES = {}
SCALARS = {}


class NoRule(Exception):
    """An op, or this use of it, has no row: PyTensor's own `perform` computes it."""


class Between(NoRule):
    """`perform` computes it, and must do so between plans: it checks what a plan takes as given."""


def rule(*names):
    """Declare a row for the ops of these class names."""
    def add(fn):
        RULES.update(dict.fromkeys(names, fn))
        return fn
    return add


def scalar_rule(*names):
    """Declare a row for scalar ops: fn(op, operands, dtype of the result)."""
    def add(fn):
        SCALARS.update(dict.fromkeys(names, fn))
        return fn
    return add


def find(table, op):
    """The row for `op`, or NoRule."""
    for kind in type(op).__mro__:
        if kind.__name__ in table:
            return table[kind.__name__]
    raise NoRule(type(op).__name__)
