"""Products as trees, as Theano's file sigm takes them apart: [negated, variable or list of trees].

Programs with rules of their own for sigmoids and exponentials build on these.
"""

import numpy as np

from ...base.errors import UsageError
from ..base.exceptions import NotScalarConstantError
from ..handles.constants import get_scalar_constant_value
from ..tensor.elementwise import add, exp, mul, neg, sigmoid


def _op(var):
    return None if var.owner is None else var.owner.op


def _number(var, only_process_constants=False):
    """The number that `var` is everywhere, or None."""
    try:
        return get_scalar_constant_value(var, only_process_constants=only_process_constants)
    except NotScalarConstantError:
        return None


def is_mul(var):
    """[x, y, ...] of a product x * y * ..., else None."""
    return var.owner.inputs if _op(var) == mul else None


def is_neg(var):
    """x of -x and of a product of x and -1, else None."""
    if _op(var) == neg:
        return var.owner.inputs[0]
    factors = is_mul(var) or []
    for k, factor in enumerate(factors):
        number = _number(factor)
        if number is not None and np.allclose(number, -1) and len(factors) > 1:
            rest = [*factors[:k], *factors[k + 1 :]]
            return rest[0] if len(rest) == 1 else mul(*rest)
    return None


def is_exp(var):
    """(False, x) of exp(x), (True, x) of -exp(x), else None."""
    inner = is_neg(var)
    negated, var = inner is not None, var if inner is None else inner
    return (negated, var.owner.inputs[0]) if _op(var) == exp else None


def is_1pexp(t, only_process_constants=True):
    """(False, x) of 1 + exp(x), else None. only_process_constants: the 1 is a constant itself,
    not something that is computed and known to be 1."""
    if _op(t) != add:
        return None
    numbers, rest = [], []
    for term in t.owner.inputs:
        number = _number(term, only_process_constants)
        (rest if number is None else numbers).append(term if number is None else number)
    if len(rest) != 1 or not numbers or _op(rest[0]) != exp:
        return None
    return (False, rest[0].owner.inputs[0]) if np.allclose(sum(numbers), 1) else None


def partition_num_or_denom(r, f):
    """(what `f` found in the factors of `r`, the other factors, whether those found are negated in
    all); f(factor) is (negated, found) or None."""
    found, rest, negated = [], [], False
    for factor in is_mul(r) or [r]:
        match = f(factor)
        if match is None:
            rest.append(factor)
        else:
            negated ^= match[0]
            found.append(match[1])
    return found, rest, negated


def parse_mul_tree(root):
    """The tree of the product that `root` is.

    >>> import ckernels.compat.theano.tensor as T
    >>> x, y = T.vectors("x", "y")
    >>> parse_mul_tree(-x * y)
    [False, [[True, x], [False, y]]]
    """
    factors = is_mul(root)
    if factors is not None:
        return [False, [parse_mul_tree(f) for f in factors]]
    inner = is_neg(root)
    if inner is None:
        return [False, root]
    negated, below = parse_mul_tree(inner)
    return [not negated, below]


def compute_mul(tree):
    """The variable that a tree stands for."""
    negated, below = tree
    if below is None:
        raise UsageError("this tree of a product has an empty leaf: call simplify_mul first")
    value = mul(*map(compute_mul, below)) if isinstance(below, list) else below
    return -value if negated else value


def simplify_mul(tree):
    """The tree without empty leaves, which stand for 1, and without products of one factor."""
    negated, below = tree
    if not isinstance(below, list):
        return tree
    kept = []
    for part in map(simplify_mul, below):
        if part[1] is None:
            negated ^= part[0]
        else:
            kept.append(part)
    if len(kept) == 1:
        kept[0][0] ^= negated
        return kept[0]
    return [negated, kept or None]


def replace_leaf(arg, leaves, new_leaves, op, neg):  # `neg`, as Theano names it
    """Move the first of `leaves`, pairs (argument, leaf of a tree), whose argument is `arg` to
    `new_leaves` and make it op(arg), negated where `neg`; whether there was one."""
    for k, (known, leaf) in enumerate(leaves):
        if known is arg:
            leaf[0] ^= neg
            leaf[1] = op(arg)
            new_leaves.append(leaves.pop(k))
            return True
    return False


def perform_sigm_times_exp(tree):
    """Make sigmoid(-x) of each sigmoid(x) and exp(-x) in a tree, in place; whether there was one.

    The leaf that is found first becomes the sigmoid, the other one is left empty.
    """
    seen = {(kind, sign): [] for kind in ("exp", "sigmoid") for sign in (False, True)}
    return _paired(tree, seen)


def _paired(tree, seen):
    negated, below = tree
    if isinstance(below, list):
        return any([_paired(part, seen) for part in below])
    found = is_exp(below)
    if found is not None:
        kind, other, (outer, inside) = "exp", "sigmoid", found
    elif _op(below) == sigmoid:
        kind, other, outer, inside = "sigmoid", "exp", False, below.owner.inputs[0]
    else:
        return False
    opposite = is_neg(inside)
    minus, arg = opposite is not None, inside if opposite is None else opposite
    # exp(x) and sigmoid(-x) give sigmoid(x): the sign is that of the exponential.
    sign = minus if kind == "exp" else not minus
    paired = replace_leaf(
        arg,
        seen[other, not minus],
        seen["sigmoid", sign],
        lambda x: sigmoid(-x if sign else x),
        negated ^ outer,
    )
    if paired:
        tree[:] = [False, None]
    else:
        seen[kind, minus].append((arg, tree))
    return paired
