"""Canonical movement ops: chains of views merged, views outside of elementwise chains.

Views travel towards the roots (f(view(x)) becomes view(f(x))), so that elementwise ops meet,
patterns see one another, and broadcasts happen last. All rules here are exact: they only say where
an element lies.
"""

import numpy as np

from ..base import dtypes
from ..graph.folding import fold_sizes, of_sizes
from ..graph.known import known
from ..graph.node import constant, make
from ..graph.op import REGISTRY, having
from ..graph.shapes import product
from ..graph.sizes import SizeRange, indices, surely
from ..ops.base import fits
from ..ops.filling import counted
from .engine import Family, Formula, Var, fit, scalar, shape_vector
from .engine import forms as f

family = Family("views")
x, y, z = Var("x"), Var("y"), Var("z")
axes, inner, perm, slices = Var("axes"), Var("inner"), Var("perm"), Var("slices")
RESHAPING, KEEP_OPERANDS = having("reshapes"), having("generator")
UNIFORM_LIMIT = 1 << 16  # elements up to which constants are looked at for being all the same


def rule(name, *formulas, doc=""):
    """A rule of formulas, tuples of (left, right, when), for all dtypes; its function."""
    made = [Formula(*parts, takes=lambda dtype: True, views=False) for parts in formulas]
    return family.formulas(name, *made, doc=doc)


def without(items, axes):
    """A tuple of something for each axis without `axes`."""
    return tuple(item for k, item in enumerate(items) if k not in axes)


# --- chains of reshape, expand, squeeze -----------------------------------------------------------


def reshaped(x, shape):
    """`x` in another shape of as many elements: by expand and squeeze if they do, or reshape."""
    if x.shape == shape:
        return x
    i = j = 0
    squeezes, expands = [], []
    while i < len(x.shape) or j < len(shape):
        if i < len(x.shape) and j < len(shape) and x.shape[i] == shape[j]:
            i, j = i + 1, j + 1
        elif i < len(x.shape) and x.shape[i] == 1:
            squeezes.append(i)
            i += 1
        elif j < len(shape) and shape[j] == 1:
            expands.append(j)
            j += 1
        else:
            return make("reshape", (x, shape_vector(shape)))
    if squeezes:
        x = make("squeeze", (x,), {"axes": tuple(squeezes)})
    return make("expand", (x,), {"axes": tuple(expands)}) if expands else x


@family.rule("reshape", "expand", "squeeze")
def merge_reshapes(node):
    """reshape, expand and squeeze of each other are one of them, or nothing.

    Code: a chain of any length is left at once, and what replaces it depends on two shapes alone.
    """
    x = behind_reshapes(node.inputs[0])
    if x.op.name == "broadcast_to" and x.inputs[0].ndim == 0:
        return fit(x.inputs[0], node.shape)
    return reshaped(x, node.shape)


# --- transposes -----------------------------------------------------------------------------------


def inner_perm(perm, axes):
    """How a transpose by `perm` orders the axes other than `axes`, which an expand puts in."""
    kept = [k for k in range(len(perm)) if k not in axes]
    return tuple(kept.index(p) for p in perm if p not in axes)


def expand_outside(x, axes, perm):
    """A transpose of an expand of `x` as an expand of a transpose, if that moves anything."""
    places = tuple(k for k, p in enumerate(perm) if p in axes)
    return make("expand", (turned(x, inner_perm(perm, axes)),), {"axes": places})


merge_transposes = rule(
    "merge_transposes",
    (f.transpose(x, perm=perm), x, lambda perm: perm == tuple(range(len(perm)))),
    (f.transpose(f.transpose(x, perm=inner), perm=perm),
     f.transpose(x, perm=lambda inner, perm: tuple(inner[p] for p in perm))),
    (f.transpose(f.expand(x, axes=axes), perm=perm), expand_outside),
)  # fmt: skip


# --- broadcasts -----------------------------------------------------------------------------------


def only_leads(x, node):
    """Whether `node`, `x` broadcast, has as many elements: only axes of size 1 come before."""
    return surely(x.size, node.size) and surely(node.shape[node.ndim - x.ndim :], x.shape)


rule("merge_broadcasts",
     (f.broadcast_to(x, y), x, lambda x, node: surely(x.shape, node.shape)),
     (f.broadcast_to(f.broadcast_to(x, y), z), lambda x, node: fit(x, node.shape)),
     (f.broadcast_to(x, y), lambda x, node: of_shape(x, node.shape), only_leads),
     (f.broadcast_to(f.expand(x, axes=axes), y),
      lambda node: fit(without_lead(node.inputs[0]), node.shape), lambda axes: axes[0] == 0),
     doc="Of leading axes of size 1 too, and to the shape that is there.")  # fmt: skip


def behind_broadcast(x, node):
    """`x`, of which the view `node` shows a broadcast, with as many axes as that."""
    return reshaped(x, (1,) * (node.inputs[0].ndim - x.ndim) + x.shape)


def squeeze_inside(x, axes, node):
    short = behind_broadcast(x, node)
    return fit(reshaped(short, without(short.shape, axes)), node.shape)


rule("broadcast_outside",
     (f.transpose(f.broadcast_to(x, y), perm=perm),
      lambda x, perm, node: fit(turned(behind_broadcast(x, node), perm), node.shape)),
     (f.squeeze(f.broadcast_to(x, y), axes=axes), squeeze_inside),
     doc="transpose(broadcast_to(x)) is broadcast_to(transpose(x)); squeeze alike.")  # fmt: skip


# --- slices ---------------------------------------------------------------------------------------

WHOLE = ((None, None, 1), (None, None, None))
MET = ("add", "sub", "mul")  # ops of two operands that keep numbers rising evenly


def composed(x, inner, slices):
    """The slices by which `x` is cut at once, that is cut by `inner`, then by `slices`."""
    lines = [indices(a, d).within(b) for d, a, b in zip(x.shape, inner, slices)]
    return tuple(line.bounds(d) for line, d in zip(lines, x.shape))


def slice_inside(x, slices, node):
    """A slice of `x` broadcast as a broadcast of a slice: what is repeated stays whole."""
    wide = zip(x.shape, slices[len(slices) - x.ndim :])
    kept = tuple(WHOLE[0] if surely((d,), (1,)) else s for d, s in wide)
    return fit(make("slice", (x,), {"slices": kept}) if kept else x, node.shape)


merge_slices = rule(
    "merge_slices",
    (f.slice(x, slices=slices), x, lambda slices: all(s in WHOLE for s in slices)),
    (f.slice(f.slice(x, slices=inner), slices=slices), f.slice(x, slices=composed)),
    (f.slice(f.broadcast_to(x, y), slices=slices), slice_inside),
    (f.slice(f.expand(x, axes=axes), slices=slices),
     f.expand(f.slice(x, slices=lambda axes, slices: without(slices, axes)), axes=axes),
     lambda axes, node: all(surely((node.shape[k],), (1,)) for k in axes)),
)  # fmt: skip


@family.rule("take")
def take_of_size(node):
    """x[n // 2], of a place that sizes tell, is a slice: one plan serves other sizes too.

    Code: an index that does not exist stays, to be refused in the call.
    """
    x, index = node.inputs
    if index.ndim or not of_sizes(index):
        return None
    place, axis = index.attrs["value"].array.item(), node.attrs["axis"]
    size = x.shape[axis]
    place = place + size if place < 0 else place
    if not 0 <= place < size:
        return None
    cut = tuple((place, place + 1, 1) if k == axis else WHOLE[0] for k in range(x.ndim))
    return make("squeeze", (make("slice", (x,), {"slices": cut}),), {"axes": (axis,)})


def steps_of(x):
    """(first, steps along the axes) of whole numbers that rise evenly; None of others."""
    name, axes = x.op.name, x.attrs.get("axes", ())
    if x.dtype not in ("int32", "int64"):
        return None
    if x.ndim == 0:
        first = known(x)
        return (first, ()) if type(first) is int else None
    if name == "iota":
        return 0, tuple(int(k == x.attrs["axis"]) for k in range(x.ndim))
    if x.value is not None and x.ndim == 1 and 1 < x.size <= UNIFORM_LIMIT:
        step = x.value[1] - x.value[0]
        return (int(x.value[0]), (int(step),)) if np.all(np.diff(x.value) == step) else None
    if name not in ("add", "sub", "mul", "cast", "expand", "broadcast_to"):
        return None
    a, b = [along(i, x, axes) for i in (x.inputs[0], x.inputs[-1 if name in MET else 0])]
    if a is None or b is None:
        return None
    if name == "mul":
        (by, still), (first, steps) = (b, a) if any(a[1]) else (a, b)
        return None if any(still) else (by * first, tuple(by * s for s in steps))
    sign = {"add": 1, "sub": -1}.get(name, 0)
    return a[0] + sign * b[0], tuple(s + sign * t for s, t in zip(a[1], b[1]))


def along(x, node, axes):
    """steps_of(x) along the axes of `node`, which has `axes` that x lacks, or broadcasts it."""
    found, lead = steps_of(x), node.ndim - x.ndim
    if found is None:
        return None
    own = [k for k in range(node.ndim) if k not in (axes or range(lead))]
    steps = [0] * node.ndim
    for k, n, step in zip(own, x.shape, found[1]):
        if step and not surely(n, node.shape[k]) and not surely(n, 1):
            return None
        steps[k] = step if surely(n, node.shape[k]) else 0
    return found[0], tuple(steps)


@family.rule("take")
def take_of_steps(node):
    """x[160 * arange(n)[:, None] + arange(400)] is a view of windows, x[2 * arange(n)] a slice.

    Code: indices are added up in any way; that each exists is asked of sizes.
    """
    (x, index), axis = node.inputs, node.attrs["axis"]
    found = steps_of(index) if 0 < index.ndim < 3 and index.value is None else None
    if found is None or found[0] < 0 or min(found[1]) < 1 or None in (*index.shape, x.shape[axis]):
        return None
    lines = [SizeRange(0, n, step) for n, step in zip(index.shape, found[1])]
    near = next((k for k in (-1, 0) if type(index.shape[k]) is int), None)
    if index.ndim == 2 and near is None or not all(n > 0 for n in index.shape):
        return None
    last = found[0] + sum(line.end - 1 for line in lines)
    if not last < x.shape[axis] or not last < 1 << 31:
        return None
    whole, order = [WHOLE[0]] * x.ndim, list(range(x.ndim))
    if index.ndim == 2:  # windows, which come last: of some, and of each some elements
        window = lines.pop(near)
        x = make("sliding_windows", (x,), {"axis": axis, "size": window.end})
        whole.append(window.bounds(window.end))
        order.insert(axis + (near == -1), len(order))
    whole[axis] = lines[0].moved(found[0]).bounds(x.shape[axis])
    return turned(make("slice", (x,), {"slices": tuple(whole)}), tuple(order))


# --- views that lose nothing ----------------------------------------------------------------------


def inverse(perm):
    back = [0] * len(perm)
    for k, p in enumerate(perm):
        back[p] = k
    return tuple(back)


def turned(x, perm):
    """transpose(x, perm); `x` itself when that moves nothing."""
    return x if perm == tuple(range(len(perm))) else make("transpose", (x,), {"perm": perm})


def reverses(view):
    """The axes along which a slice shows all elements in reverse; None where it leaves some out."""
    axes = []
    for axis, (bounds, n) in enumerate(zip(view.attrs["slices"], view.inputs[0].shape)):
        line = indices(bounds, n)
        if not surely((line.count,), (n,)) or abs(line.step) != 1:
            return None
        if line.step < 0:
            axes.append(axis)
    return tuple(axes)


def undone(view, x):
    """The tensor of which `view` shows `x`; None where it shows less than all elements."""
    source = view.inputs[0]
    if view.op.name in RESHAPING:
        return reshaped(behind_reshapes(x), source.shape)
    if view.op.name == "transpose":
        return viewed("transpose", x, {"perm": inverse(view.attrs["perm"])})
    if view.op.name == "slice" and reverses(view) is not None:
        return viewed("slice", x, view.attrs)
    return None


def viewed(op, x, attrs, *more):
    """The view or gather `op` of `x`, merged with those that `x` is; signs outside."""
    if x.op.name == "neg":
        return make("neg", (viewed(op, x.inputs[0], attrs, *more),))
    node = make(op, (x,) + more, attrs)
    merge = MERGES.get(op)
    merged = merge(node) if merge else None
    return node if merged is None else merged


MERGES = {"slice": merge_slices, "transpose": merge_transposes}


# --- operands of elementwise ops ------------------------------------------------------------------


def uniform(node):
    """The 0-d constant that all elements of a constant equal bit for bit, else None."""
    array = node.attrs["value"].array
    if not 0 < array.size <= UNIFORM_LIMIT:
        return None
    first = array.ravel()[:1]
    if array.size > 1 and array.tobytes() != first.tobytes() * array.size:
        return None
    return constant(first.reshape(()), sized=node.attrs["value"].sized)


def without_lead(x):
    """`x` without size-1 axes that an expand put before all others."""
    if x.op.name != "expand":
        return x
    axes = x.attrs["axes"]
    lead = 0
    while lead < len(axes) and axes[lead] == lead:
        lead += 1
    if not lead:
        return x
    rest = tuple(a - lead for a in axes[lead:])
    base = x.inputs[0]
    return make("expand", (base,), {"axes": rest}) if rest else base


def bare(x):
    """The smallest operand that broadcasts to what `x` broadcasts to."""
    name = x.op.name
    if name == "constant" and x.ndim:
        short = uniform(x)
        return x if short is None else short
    if name == "broadcast_to":
        return bare(x.inputs[0])
    return without_lead(x)


def of_shape(node, shape):
    """`node` with leading size-1 axes or broadcast so that it has `shape`."""
    lead = len(shape) - node.ndim
    if lead > 0 and shape[lead:] == node.shape and all(d == 1 for d in shape[:lead]):
        return make("expand", (node,), {"axes": tuple(range(lead))})
    return fit(node, shape)


@family.rule("[elementwise]")
def bare_operands(node):
    """f(broadcast(x), y) is broadcast(f(x, y)): nothing is computed twice, constants are 0-d.

    Code: f is any elementwise op, of any number of operands.
    """
    for i in node.inputs:
        if i.op.name in ("broadcast_to", "expand") or (i.op.name == "constant" and i.shape):
            break
    else:
        return None
    if node.op.name in KEEP_OPERANDS:
        return None
    inputs = tuple(bare(i) for i in node.inputs)
    if inputs == node.inputs:
        return None
    return of_shape(make(node.op, inputs, node.attrs), node.shape)


def free(node, depth=2):
    """Whether a view of `node` costs nothing: of a leaf, or of a little arithmetic on leaves."""
    while node.op.kind == "movement":
        node = node.inputs[0]
    return node.op.kind == "leaf" or (
        depth > 0 and node.op.kind == "elementwise" and all(free(i, depth - 1) for i in node.inputs)
    )


def view_in(operand):
    """The reshape, expand or squeeze that `operand` is, perhaps with a sign; else None."""
    if operand.op.name == "neg":
        operand = operand.inputs[0]
    return operand if operand.op.name in RESHAPING else None


@family.rule("[elementwise]")
def views_outside(node):
    """f(view(x), view(y)) is view(f(x, y)) for equal views; operands they do not touch may stay.

    Leaves get the inverse view: f(view(x), leaf) is view(f(x, inverse_view(leaf))), also where
    their axes are the last ones that it makes, as scales of channels behind groups of them. Code: f
    is any elementwise op, of any number of operands.
    """
    views = [v for v in map(view_in, node.inputs) if v is not None]
    if not views or node.op.name in KEEP_OPERANDS or node.op.name == "neg":
        return None
    view = views[0] if len(views) == 1 else next((v for v in views if not free(v)), views[0])
    source, shape = view.inputs[0].shape, view.shape
    if len(shape) != len(node.shape):
        return None
    untouched = trailing(view, source, shape)
    whole = node.shape == shape and not free(view)
    inputs = []
    for i in node.inputs:
        v = view_in(i)
        if v is not None and (
            v.shape == shape and v.inputs[0].shape == source or same_view(v, view)
        ):
            base = v.inputs[0]
            inputs.append(base if v is i else make("neg", (base,)))
        elif i.ndim <= untouched:
            inputs.append(i)
        elif whole and i.shape == shape and free(i):
            inputs.append(reshaped(behind_reshapes(i), source))
        elif whole and free(i) and (part := split_alike(i.shape, source, shape)):
            inputs.append(reshaped(i, part))
        else:
            return None
    y = make(node.op, inputs, node.attrs)
    if view.op.name == "reshape":
        return make("reshape", (y, shape_vector(shape))) if y.shape == source else None
    if len(y.shape) != len(source):
        return None
    return make(view.op, (y,), view.attrs)


def same_view(v, view):
    """Whether two expands or squeezes do the same to tensors of one rank."""
    return (
        v is not None
        and v.op is view.op
        and v.op.name != "reshape"
        and v.ndim == view.ndim
        and v.attrs == view.attrs
    )


def behind_reshapes(x):
    while x.op.name in RESHAPING:
        x = x.inputs[0]
    return x


def trailing(view, source, shape):
    """How many of the last axes a reshape, expand or squeeze leaves alone."""
    if view.op.name == "expand":
        return len(shape) - 1 - max(view.attrs["axes"])
    if view.op.name == "squeeze":
        return len(source) - 1 - max(view.attrs["axes"])
    k = 0
    while k < min(len(source), len(shape)) and surely(source[-1 - k], shape[-1 - k]):
        k += 1
    return k


def split_alike(part, source, shape):
    """The last axes of `source` that a reshape to `shape` makes its last ones, of sizes `part`,
    behind axes that it leaves alone; () where there are none."""
    k = len(shape) - len(part)
    if part != shape[k:] or not surely(source[:k], shape[:k]):
        return ()
    return source[k:] if product(source[k:]) == product(part) else ()


INVERSE_DEPTH = 3


VIEWS_OF_NEG = (f.reshape(-x, y), f.expand(-x), f.squeeze(-x), f.transpose(-x), f.slice(-x))
rule("sign_outside",
     *((left, lambda x, node: make("neg", (again(node, x),))) for left in VIEWS_OF_NEG),
     doc="view(-x) is -view(x): signs go further out than views.")  # fmt: skip


@family.rule("reshape", "expand", "squeeze", "transpose", "slice")
def inverse_views_meet(node):
    """view(f(inverse_view(x), y)) is f(x, view(y)): a reshape around a few operations goes away.

    Code: f is any elementwise op, and the inverse view may be INVERSE_DEPTH of them further in.
    """
    x = node.inputs[0]
    if x.op.kind != "elementwise" or x.op.name in KEEP_OPERANDS:
        return None
    if node.op.name in RESHAPING:
        return pushed(node, x, INVERSE_DEPTH)
    if node.op.name == "slice":
        return None if reverses(node) is None else pushed(node, x, INVERSE_DEPTH, True, whole=True)
    # f(transpose(x), y) may stay while patterns look for f: see specialise.transposes_meet
    near = pushed(node, x, 1)
    return pushed(node, x, INVERSE_DEPTH, True, whole=True) if near is None else near


def pushed(view, x, depth, leaves=False, whole=False):
    """`view` of the elementwise node `x` without the view, where an operand undoes it; else None.

    leaves: whether it is enough that the view of a leaf is undone, which costs nothing. whole:
    whether all operands must undo it.
    """
    for i in x.inputs:
        if i.shape and i.shape is not x.shape and not surely(i.shape, x.shape):
            return None
    undone, inputs = False, []
    for i in x.inputs:
        new = i
        if i.ndim or view.op.name == "expand":
            new = undo(view, i)
            if new is not None:
                undone = undone or leaves or not free(new)
            elif depth > 1 and i.op.kind == "elementwise" and i.op.name not in KEEP_OPERANDS:
                new = pushed(view, i, depth - 1, leaves, whole)
                undone = undone or new is not None
            if whole and new is None:
                return None
        inputs.append((i, new))
    if not undone:
        return None
    return make(x.op, [again(view, i) if new is None else new for i, new in inputs], x.attrs)


def again(view, x):
    """The view that `view` is, of `x`."""
    if not x.ndim:
        return x
    if view.op.name in ("transpose", "slice"):
        return make(view.op, (x,), view.attrs)
    return reshaped(x, view.shape)


def undo(view, x):
    """What `x` shows when `view` of it gives just that back, else None."""
    if view.op.name == "transpose":
        if x.op.name == "transpose":
            perm = tuple(x.attrs["perm"][p] for p in view.attrs["perm"])
            return x.inputs[0] if perm == tuple(range(len(perm))) else None
        return None
    if view.op.name == "slice":
        return x.inputs[0] if x.op.name == "slice" and reverses(x) == reverses(view) else None
    if x.op.name in RESHAPING and surely(x.inputs[0].shape, view.shape):
        return x.inputs[0]
    return None


# --- constants ------------------------------------------------------------------------------------

FOLD_ELEMENTS = 64


@family.rule("[elementwise]", "[reduce]", "[movement]")
def fold_constants(node):
    """An op on small constants is a constant. (Code: any op, by its meaning in NumPy.)"""
    if not node.inputs or node.op.name in KEEP_OPERANDS or node.op.oracle is None:
        return None
    for i in node.inputs:
        if i.op.name != "constant":
            return None
    if node.size > FOLD_ELEMENTS or node.op.name == "broadcast_to":
        return None
    if any(map(of_sizes, node.inputs)):
        found = fold_sizes(node)
        return None if found is node else found
    value = node.op.oracle(node.attrs, *(i.attrs["value"].array for i in node.inputs))
    sized = any(i.attrs["value"].sized for i in node.inputs)
    return constant(value.astype(node.dtype, copy=False).reshape(node.shape), sized=sized)


def zeros(dtype, shape):
    """Zeros as a broadcast scalar."""
    return fit(scalar(0, dtype), shape)


COMPOSITES = ("unbroadcast", "broadcast_like", "count")
COUNTED = {*dtypes.INTEGERS, "float32", "float64"}  # whose elements follow from an index at once
EXACT = 1 << 20  # first elements and steps up to this are numbers of float32, as their sums are


@family.rule(*COMPOSITES)
def shapes_known(node):
    """unbroadcast is a sum over known axes, broadcast_like a broadcast_to, count a number.

    Code: each op says itself what it is made of.
    """
    return REGISTRY[node.op.name].lower(node)


@family.rule("arange")
def arange_of_sizes(node):
    """start, start + step, .. of a length that is known: arithmetic on an index, not NumPy's.

    Code: numbers are read from its bounds, and those that do not fit stay for the op's error.
    """
    start, _, step = map(known, node.inputs)
    if node.shape[0] is None or not type(start) is type(step) is int or node.dtype not in COUNTED:
        return None
    if any(abs(n) > EXACT or not fits(n, node.dtype) for n in (start, step, start + step)):
        return None
    return counted(start, step, node.shape[0], node.dtype)
