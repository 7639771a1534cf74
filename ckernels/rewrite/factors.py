"""Products and quotients as lists of factors: x * exp(t) / exp(t) is x, e / (1 + e) a sigmoid.

A tree of mul, true_div, neg and square is read as factors above and below a fraction bar, pairs of
factors are replaced until none fits, and the tree is built anew only if something was. Only factors
that are never 0 before rounding cancel: x / y * y is NaN where y is 0, as in NumPy.
"""

import numpy as np

from ..base import dtypes
from ..graph.node import make
from ..graph.op import having
from ..graph.sizes import Longest, surely
from ..ops.composite import extent
from .engine import Family, behind_views, fit, number, opened, scalar, seen_by
from .places import FUNCTIONS, maximum_axes, reduced_axes
from .views import RESHAPING, reshaped, undone, viewed, without_lead

family = Family("factors")
MAX_FACTORS = 12  # longer products are read in parts, which keeps long chains linear
COMBINES = {
    "exp",
    "add",
    "sub",
    "advanced_inc",
    "inc_slice",
    "set_slice",
    "scatter_add",
    "put_along_axis_add",
}  # fmt: skip
REAL = ("float32", "float64", "float16", "bfloat16")


class Fraction:
    """coef * prod(above) / prod(below). events: replacements so far; removed: divisors of them."""

    __slots__ = ("coef", "above", "below", "events", "removed")

    def __init__(self, coef=1.0, above=(), below=()):
        self.coef, self.above, self.below = coef, list(above), list(below)
        self.events = self.removed = 0

    def size(self):
        return len(self.above) + len(self.below)

    def times(self, other):
        """The product with another fraction, not yet simplified."""
        return Fraction(self.coef * other.coef, self.above + other.above, self.below + other.below)


def read(node, limit=MAX_FACTORS):
    """The Fraction that `node` is."""
    fraction = Fraction()
    todo = [(node, False)]
    while todo:
        n, under = todo.pop()
        if n.op.name in SEEN:
            n = inside(n)
        name = n.op.name
        if name in ("mul", "true_div", "square") and fraction.size() + len(todo) < limit:
            a, b = n.inputs if name != "square" else n.inputs * 2
            todo += [(b, under != (name == "true_div")), (a, under)]
        elif name == "neg":
            fraction.coef = -fraction.coef
            todo.append((n.inputs[0], under))
        elif name == "reciprocal":
            todo.append((n.inputs[0], not under))
        elif number(n) is not None and n.ndim == 0 and (number(n) or not under):
            fraction.coef = fraction.coef / number(n) if under else fraction.coef * number(n)
        else:
            (fraction.below if under else fraction.above).append(n)
    return fraction


# --- factors behind views -------------------------------------------------------------------------

SEEN = (set(having("view")) | set(having("gathers"))) - {"broadcast_to"}
OPENS = {"mul", "true_div", "neg", "square", "reciprocal", "add", "sub"} | FUNCTIONS


def inside(n, depth=3):
    """view(f(x)) as f(view(x)): so factors behind views and gathers are seen. Else `n` itself."""
    x = n.inputs[0]
    if x.op.name in SEEN:
        x = inside(x, depth)
    if x.op.name not in OPENS or not depth or x.ndim != n.inputs[0].ndim:
        return n  # a view of x needs the axes of size 1 that x came without
    inputs = []
    for i in x.inputs:
        new = shown(n, i, x)
        if new is None:
            return n
        deeper = new.op.name in SEEN and x.op.name not in FUNCTIONS
        inputs.append(inside(new, depth - 1) if deeper else new)
    return make(x.op, inputs)


def shown(view, i, x):
    """The operand `i` of `x` as an operand of view(x); None when the view cannot be taken of it."""
    if i.ndim == 0:
        return i
    if view.op.name not in RESHAPING:
        if surely(i.shape, x.shape):
            return viewed(view.op.name, i, view.attrs, *view.inputs[1:])
        return _shown_broadcast(view, i, x)
    if i.op.name == "neg":
        new = shown(view, i.inputs[0], x)
        return None if new is None else make("neg", (new,))
    shape = view.shape
    if not surely(i.shape, x.shape):
        if view.op.name == "reshape" or i.ndim != x.ndim:
            return None
        if view.op.name == "squeeze":
            shape = tuple(d for k, d in enumerate(i.shape) if k not in view.attrs["axes"])
        else:
            sizes = iter(i.shape)
            shape = tuple(1 if k in view.attrs["axes"] else next(sizes) for k in range(view.ndim))
    while i.op.name in RESHAPING:
        i = i.inputs[0]
    return without_lead(reshaped(i, shape))


def _shown_broadcast(view, i, x):
    """The same for an operand that is broadcast to x: a view along what is repeated is nothing."""
    lead = x.ndim - i.ndim
    own = (1,) * lead + i.shape
    if view.op.name == "transpose":
        return without_lead(viewed("transpose", reshaped(i, own), view.attrs))
    repeated = [surely(n, 1) and not surely(d, 1) for n, d in zip(own, x.shape)]
    if not all(out or surely(n, d) for out, n, d in zip(repeated, own, x.shape)):
        return None
    if view.op.name == "slice":
        pairs = zip(view.attrs["slices"][lead:], repeated[lead:])
        slices = tuple((None, None, 1) if out else s for s, out in pairs)
        return viewed("slice", i, {"slices": slices})
    if view.op.name == "take" and repeated[view.attrs["axis"]]:
        return i if view.ndim == x.ndim or view.attrs["axis"] < lead else None
    return None


# --- what may cancel ------------------------------------------------------------------------------

POSITIVE, NOT_NEGATIVE = having("positive"), having("not_negative")
KEEP_SIGN = having("keeps_sign")


def positive(n, depth=4):
    """Whether `n` is above 0 and finite for all finite operands, were it not for rounding: where it
    is 0 or inf all the same, that is what cancelling mends."""
    value, name = number(n), n.op.name
    if value is not None:
        return 0 < value < float("inf")
    if name in POSITIVE or not depth:
        return name in POSITIVE
    if name in ("mul", "true_div", "minimum"):
        return all(positive(i, depth - 1) for i in n.inputs)
    if name == "maximum":
        return any(positive(i, depth - 1) for i in n.inputs)
    if name == "add":
        return any(
            positive(a, depth - 1) and (b.op.name in NOT_NEGATIVE or positive(b, depth - 1))
            for a, b in (n.inputs, n.inputs[::-1])
        )
    full = n.op.kind != "reduce" or all(d != 0 for d in n.inputs[0].shape)
    return name in KEEP_SIGN and full and positive(n.inputs[0], depth - 1)


# --- what pairs of factors become -----------------------------------------------------------------


def negated(t):
    """-t in canonical form."""
    name = t.op.name
    if name == "neg":
        return t.inputs[0]
    if name in RESHAPING:
        return reshaped(negated(t.inputs[0]), t.shape)
    if name == "sub":
        return make("sub", (t.inputs[1], t.inputs[0]))
    if name in ("mul", "true_div"):
        for k, i in enumerate(t.inputs):
            if number(i) is not None and i.ndim == 0:
                pair = list(t.inputs)
                pair[k] = scalar(-i.value, i.dtype)
                return make(name, pair)
    if number(t) is not None:
        return scalar(-t.value, t.dtype)
    return make("neg", (t,))


def without_maximum(t, axes):
    """x where t is x - max(x) over `axes`, else t: softmax takes the maximum off itself."""
    if (
        t.op.name == "sub"
        and surely(t.inputs[0].shape, t.shape)
        and maximum_axes(t.inputs[1], t.inputs[0]) == axes
    ):
        return t.inputs[0]
    return t


def softmax_of(t, axes):
    """softmax of `t` over `axes`."""
    t = without_maximum(t, axes)
    if len(axes) == 1:
        return make("softmax", (t,), {"axis": axes[0]})
    total = make("expand", (make("logsumexp", (t,), {"axes": axes}),), {"axes": axes})
    return make("exp", (make("sub", (t, total)),))


def _below_alone(n):
    """What a single divisor becomes as a factor: 1 / (1 + exp(t)) is sigmoid(-t)."""
    if n.op.name == "add":
        for one, e in (n.inputs, n.inputs[::-1]):
            e = opened(e, "exp")
            if e.op.name == "exp" and number(one) == 1:
                return make("sigmoid", (negated(e.inputs[0]),))
    return None


def _over(a, b):
    """What a / b becomes, or None."""
    name = a.op.name
    if name == "exp":
        t = a.inputs[0]
        axes = reduced_axes(b, "sum", a)
        if axes:
            return softmax_of(t, axes)
        axes = reduced_axes(b, "mean", a)
        if axes:
            return make("mul", (softmax_of(t, axes), extent(a, axes, a.dtype)))
        if b.op.name == "add":
            for mine, other in (b.inputs, b.inputs[::-1]):
                mine, other = opened(mine, "exp"), opened(other, "exp")
                if mine is a and other.op.name == "exp":
                    return make("sigmoid", (make("sub", (t, other.inputs[0])),))
    elif name == "softmax":
        if reduced_axes(b, "sum", a) == (a.attrs["axis"],):
            return a
    elif name == "sigmoid" and b.op.name == "sigmoid":
        if b.inputs[0] is negated(a.inputs[0]):
            return make("exp", a.inputs)
    return None


def _with(a, b):
    """What a * b becomes, or None: exp(t) * sigmoid(-t) is sigmoid(t); see `_scattered` too."""
    if a.op.name == "exp":
        if b.op.name == "sigmoid" and b.inputs[0] is negated(a.inputs[0]):
            return make("sigmoid", a.inputs)
        return None
    return _scattered(a, b)


# How the ops that add values into zeros are undone: scatter -> (gather, position of the values).
SCATTERS = {
    "advanced_inc": ("advanced_take", 1),
    "inc_slice": ("slice", 1),
    "set_slice": ("slice", 1),
    "scatter_add": ("take", 2),
    "put_along_axis_add": ("take_along_axis", 2),
}  # fmt: skip


def scattered_values(n):
    """The Fraction of what a scatter puts into zeros, if all of it is seen; else None."""
    if not scatters(n):
        return None
    n = behind_views(n)[0]
    at = SCATTERS[n.op.name]
    into = n.inputs[0]
    if at[1] == 1 and number(into.inputs[0] if into.op.name == "broadcast_to" else into) != 0:
        return None
    values = n.inputs[at[1]]
    return read(values.inputs[0] if values.op.name == "broadcast_to" else values)


def scatters(n):
    """Whether `n` is a scatter, or one behind views that show all of it."""
    base, chain = behind_views(n)
    return base.op.name in SCATTERS and (not chain or chain[0].op.name in SEEN)


def _scattered(a, p):
    """scatter(v / gather(p)) * p is scatter(v): the gradient of log(p[index]) times p.

    The same where v and gather(p) have other factors that meet, as in exp(t)[index] / exp(t).
    """
    return into_scatter(a, p, _divided)


def _divided(f, dtype):
    simplify(f)
    return write(f, dtype) if f.removed else None


def into_scatter(a, p, combine):
    """scatter(v) * p as scatter(v * gather(p)) where `combine`(that Fraction, its dtype) gives a
    better product; else None. Where the scatter is behind views, p is seen through their inverses.
    """
    values = scattered_values(a)
    if values is None or not surely(p.shape, a.shape) or not positive(p):
        return None
    a, chain = behind_views(a)
    for view in chain:
        p = undone(view, p)
        if p is None:
            return None
    gather, at = SCATTERS[a.op.name]
    rest = a.inputs[at + 1 :] if at == 1 else a.inputs[1:at]
    parts = [k for k, n in enumerate(values.below) if _part_of(n, p, a)]
    if parts:
        del values.below[parts[0]]
        new = write(values, a.dtype)
    else:
        new = combine(values.times(read(viewed(gather, p, a.attrs, *rest))), a.dtype)
    if new is None:
        return None
    inputs = list(a.inputs)
    inputs[at] = fit(new, inputs[at].shape)
    return seen_by(chain, make(a.op, inputs, a.attrs))


def _part_of(n, p, scatter):
    """Whether `n` is the slice of `p` that `scatter` writes: p[2] also checks that it exists."""
    return (
        n.op.name == "slice"
        and n.inputs[0] is p
        and n.attrs["slices"] == scatter.attrs.get("slices")
    )


def simplify(f):
    """Replace factors of the Fraction in place until nothing fits."""
    while _simplify_once(f):
        f.events += 1
    return f


def _simplify_once(f):
    for k, n in enumerate(f.below):
        new = _below_alone(n)
        if new is not None:
            del f.below[k]
            f.above.append(new)
            f.removed += 1
            return True
    for k, n in enumerate(f.below):
        for j, m in enumerate(f.above):
            if n is m:
                if not positive(n):
                    continue
                del f.below[k], f.above[j]
                f.removed += 1
                return True
            new = _over(m, n)
            if new is not None:
                del f.below[k]
                f.above[j] = new
                f.removed += 1
                return True
    for k, a in enumerate(f.above):
        if a.op.name != "exp" and not scatters(a):
            continue
        for j, b in enumerate(f.above):
            if a.op.name == b.op.name == "exp" and b.inputs[0] is negated(a.inputs[0]):
                f.above = [n for i, n in enumerate(f.above) if i not in (j, k)]
                f.removed += 1
                return True
            new = _with(a, b) if j != k else None
            if new is not None:
                f.above[j] = new
                del f.above[k]
                f.removed += 1
                return True
    return False


# --- building -------------------------------------------------------------------------------------


def write(f, dtype):
    """The tree of a Fraction: scalars by themselves, then small factors before large ones, and of
    one size those above the bar first: in x * (s / t) the rows s are divided, which costs less than
    to divide x * s, and x * s may be beyond all floats where the quotient is 1."""
    above, below = ([n for n in part if n.ndim] for part in (f.above, f.below))
    result, waiting = None, []
    for n, under in smallest_first(above, below):
        if under:
            waiting.append(n)
            continue
        if result is not None:
            result = make("mul", (_over_all(result, waiting), n))
            waiting = []
        else:
            result = n
    factor = _scalars(f, dtype)
    if result is None:
        result = scalar(1, dtype) if factor is None else factor
    elif factor is not None:
        result = make("mul", (result, factor))
    result = _over_all(result, waiting)
    return make("neg", (result,)) if f.coef < 0 else result


def _over_all(result, divisors):
    for n in divisors:
        result = make("true_div", (result, n))
    return result


def smallest_first(above, below):
    """(factor, whether it is below the bar) of all, those above first where sizes are equal."""
    found = [(n, under) for part, under in ((below, True), (above, False)) for n in part]
    found.sort(key=lambda pair: (not pair[1], -pair[0].uid))
    return sorted(found, key=lambda pair: Longest(pair[0].size))[::-1]


def _scalars(f, dtype):
    """The product of the 0-d factors and |coef|; None when it is 1."""
    result = scalar(abs(f.coef), dtype) if abs(f.coef) != 1 else None
    for n in f.above:
        if not n.ndim:
            result = n if result is None else make("mul", (n, result))
    for n in f.below:
        if not n.ndim:
            one = scalar(1, dtype) if result is None else result
            result = make("true_div", (one, n))
    return result


def _in_range(coef, dtype):
    info = dtypes.finfo(dtype)
    return coef == 0 or not np.isfinite(coef) or info.tiny <= abs(coef) <= info.max


@family.rule("mul", "true_div")
def collect(node):
    """Factors that cancel or combine, through products and quotients.

    x * exp(t) / exp(t) becomes x where exp(t) is rounded to 0 or inf too; x * y / y stays. Code:
    any pair of up to MAX_FACTORS factors, wherever they stand.
    """
    if node.dtype not in REAL:
        return None
    f = read(node)
    if not f.below and not any(n.op.name in COMBINES or scatters(n) for n in f.above):
        return None
    simplify(f)
    return write(f, node.dtype) if f.events and _in_range(f.coef, node.dtype) else None


@family.rule("sub", "add")
def common_factor(node):
    """u - u * sigmoid(t) is u * sigmoid(-t): the gradient of a quotient like e / (1 + e).

    Code: u is a product of any factors, in any order on the two sides.
    """
    a, b = node.inputs
    if node.dtype not in REAL or not (_product(a) or _product(b)):
        return None
    one, two = read(a), read(b)
    if node.op.name == "sub":
        two.coef = -two.coef
    for u, v in ((one, two), (two, one)):
        t = _extra_sigmoid(u, v)
        if t is not None:
            u.above.append(make("sigmoid", (negated(t),)))
            return write(u, node.dtype)
    return None


def _product(node):
    return node.op.name in ("mul", "true_div")


def _extra_sigmoid(u, v):
    """t where v = -u * sigmoid(t), factor by factor; else None."""
    if v.coef != -u.coef or len(v.above) != len(u.above) + 1 or len(u.below) != len(v.below):
        return None
    more = {}
    for n in v.above:
        more[n] = more.get(n, 0) + 1
    for n in u.above:
        more[n] = more.get(n, 0) - 1
    left = [n for n, count in more.items() if count]
    if len(left) != 1 or more[left[0]] != 1 or left[0].op.name != "sigmoid":
        return None
    return (
        left[0].inputs[0]
        if sorted(n.uid for n in u.below) == sorted(n.uid for n in v.below)
        else None
    )
