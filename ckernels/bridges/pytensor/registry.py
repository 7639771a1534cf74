"""The registry of translations: one function per PyTensor op, found by the names of its classes.

Names, not classes, so that ops of several PyTensor versions have translations, and nothing of
PyTensor is imported for an op that no graph has. A translation is called with (context, op, apply
node, values of its inputs) and returns the value of its output, or a list of them. Values are nodes
of ckernels; for slices and None they are Python's own.
"""

TRANSLATIONS = {}
SCALARS = {}


class Untranslated(Exception):
    """An op, or this use of it, has no translation: PyTensor's own `perform` computes it."""


class Between(Untranslated):
    """`perform` computes it, and must do so between plans: it checks what a plan takes as given."""


def translates(*names):
    """Declare the translation of the ops of these class names."""

    def add(fn):
        TRANSLATIONS.update(dict.fromkeys(names, fn))
        return fn

    return add


def translates_scalar(*names):
    """Declare the translation of scalar ops: fn(op, operands, dtype of the result)."""

    def add(fn):
        SCALARS.update(dict.fromkeys(names, fn))
        return fn

    return add


def is_a(op, *names):
    """Whether the class of `op`, or a base of it, has one of these names."""
    return any(kind.__name__ in names for kind in type(op).__mro__)


def find(table, op):
    """The translation of `op`; Untranslated where there is none."""
    for kind in type(op).__mro__:
        if kind.__name__ in table:
            return table[kind.__name__]
    raise Untranslated(type(op).__name__)
