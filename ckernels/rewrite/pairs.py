"""Complex tensors as pairs of real ones: kernels know real numbers alone.

Each op of complex tensors that has a formula here becomes ops of their parts, which fuse like any;
`real_part` and `imag_part` show the parts of what lies in memory as complex numbers, `complex_of`
puts them back together. What has no formula takes and gives complex tensors, and NumPy runs it.
The formulas are NumPy's own for products and quotients, and C's for infinities elsewhere.
"""

import numpy as np

from .. import ops
from ..base import dtypes
from ..graph.node import constant, make
from ..graph.op import Op
from ..graph.shapes import known_same
from ..graph.walk import toposort

PARTS = {"complex64": "float32", "complex128": "float64"}


def _part(attrs, z):
    return PARTS[z.dtype], z.shape


for _name, _oracle, _doc in (
    ("real_part", np.real, "The real part of a tensor in memory, as a view."),
    ("imag_part", np.imag, "The imaginary part of a tensor in memory, as a view."),
):
    Op(_name, "opaque", _part, lambda attrs, z, oracle=_oracle: np.array(oracle(z)), doc=_doc)


Op("zero_part", "elementwise", lambda attrs, x: (x.dtype, x.shape),
   lambda attrs, x: np.zeros_like(x), None, "0", ulp=0,
   doc="Zeros like x that no rule takes for zeros: x + 0 and 0 - x are not x and -x where x is -0, "
   "and the sign of a zero says on which side of a branch cut a number lies.")  # fmt: skip


class Pair:
    """The parts of a complex node. whole: the node itself, where it lies in memory as such."""

    __slots__ = ("a", "b", "whole")

    def __init__(self, a, b, whole=None):
        self.a, self.b, self.whole = a, b, whole

    @property
    def node(self):
        """As one complex node."""
        if self.whole is None:
            self.whole = make("complex_of", (self.a, self.b))
        return self.whole

    def of_shape(self, shape):
        """With parts of this shape: a part that is one number may lack axes. Of a size that is open
        the other part knows."""
        for name, other in ("ab", "ba"):
            part, whole = getattr(self, name), getattr(self, other)
            if part.ndim == len(shape) and known_same(part.shape, shape):
                continue
            by_other = None in shape and known_same(whole.shape, shape)
            setattr(self, name, ops.broadcast_like(part, whole) if by_other
                    else ops.broadcast_to(part, list(shape)))  # fmt: skip
        return self


def in_memory(node):
    """The Pair of a complex node that an input, a constant or NumPy gives."""
    if node.value is not None:
        return Pair(constant(node.value.real.copy()), constant(node.value.imag.copy()), node)
    return Pair(make("real_part", (node,)), make("imag_part", (node,)), node)


def _like(x, value):
    return constant(np.asarray(value, dtype=x.dtype), x.dtype)


def _is_zero(node):
    """Whether a part is a constant zero, broadcast or not."""
    while node.op.kind == "movement":
        node = node.inputs[0]
    return node.value is not None and not node.value.any()


def _alive(x, y):
    """`x` with zeros that rules leave alone, in the shape of the parts of `y`."""
    if _is_constant(y):
        return x
    return Pair(*[make("zero_part", (y.a,)) if _is_zero(p) else p for p in (x.a, x.b)], x.whole)


def _is_constant(x):
    return x.whole is not None and x.whole.value is not None


def _binary(build):
    """A formula of two operands, of which real numbers have zeros for imaginary parts."""
    return lambda x, y: build(_alive(x, y), _alive(y, x))


# ---- arithmetic ---------------------------------------------------------------------------------


def _mul(x, y):
    return Pair(ops.sub(ops.mul(x.a, y.a), ops.mul(x.b, y.b)),
                ops.add(ops.mul(x.a, y.b), ops.mul(x.b, y.a)))  # fmt: skip


def _matmul(x, y):
    """[a, b] by [c, -d] and by [d, c], one above the other."""
    left = ops.concatenate([x.a, x.b], -1)
    return Pair(*[ops.matmul(left, ops.concatenate(parts, -2))
                  for parts in ([y.a, ops.neg(y.b)], [y.b, y.a])])  # fmt: skip


def _square(x):
    twice = ops.mul(x.a, x.b)
    return Pair(ops.sub(ops.square(x.a), ops.square(x.b)), ops.add(twice, twice))


def _div(x, y):
    """By Smith's method, as NumPy: the smaller part of the divisor is divided by the larger one."""
    flat = ops.ge(ops.abs(y.a), ops.abs(y.b))
    large, small = ops.where(flat, y.a, y.b), ops.where(flat, y.b, y.a)
    ratio = ops.true_div(small, large)
    scale = ops.reciprocal(ops.add(large, ops.mul(small, ratio)))
    a = ops.mul(_crossed(flat, ops.add(x.a, ops.mul(x.b, ratio)),
                         ops.add(ops.mul(x.a, ratio), x.b)), scale)  # fmt: skip
    b = ops.mul(_crossed(flat, ops.sub(x.b, ops.mul(x.a, ratio)),
                         ops.sub(ops.mul(x.b, ratio), x.a)), scale)  # fmt: skip
    zero = ops.logical_and(ops.eq(y.a, 0), ops.eq(y.b, 0))
    size = ops.abs(y.a)
    return Pair(ops.where(zero, ops.true_div(x.a, size), a),
                ops.where(zero, ops.true_div(x.b, size), b))  # fmt: skip


def _crossed(flat, one, other):
    return ops.where(flat, one, other)


def _reciprocal(x):
    return _div(Pair(_like(x.a, 1), _like(x.a, 0)), x)


def hypot(a, b):
    """The root of the sum of squares, without overflow."""
    a, b = ops.abs(a), ops.abs(b)
    top, low = ops.maximum(a, b), ops.minimum(a, b)
    ratio = ops.true_div(low, ops.where(ops.eq(top, 0), _like(a, 1), top))
    root = ops.mul(top, ops.sqrt(ops.add(ops.square(ratio), _like(a, 1))))
    infinite = ops.logical_or(ops.isinf(a), ops.isinf(b))
    return ops.where(infinite, _like(a, np.inf), root)


def _exp(x):
    """In two finite factors where exp of the real part would be beyond the largest number, so that
    a product with the sine of 0 is 0. (Selects are few: gcc makes branches of more.)"""
    limit, most = (88.0, 170.0) if x.a.dtype == "float32" else (709.0, 1400.0)
    a = ops.minimum(x.a, _like(x.a, most))
    far = ops.gt(a, _like(a, limit))
    size = ops.exp(ops.where(far, ops.mul(a, _like(a, 0.5)), a))
    again = ops.where(far, size, _like(size, 1))
    gone = ops.eq(x.a, _like(x.a, -np.inf))  # then an infinite angle is of no account
    angle = ops.where(gone, _like(x.b, 0), x.b)
    return Pair(*[ops.mul(ops.mul(size, f(angle)), again) for f in (ops.cos, ops.sin)])


def _log(x):
    """The logarithm of the size, near 1 of what it differs from 1 by; the angle."""
    a, b = ops.abs(x.a), ops.abs(x.b)
    top, low = ops.maximum(a, b), ops.minimum(a, b)
    size = hypot(x.a, x.b)
    near = ops.logical_and(ops.lt(size, _like(size, 1.5)), ops.gt(size, _like(size, 0.7)))
    off = ops.add(ops.mul(ops.sub(top, _like(top, 1)), ops.add(top, _like(top, 1))),
                  ops.square(low))  # fmt: skip
    close = ops.mul(ops.log1p(off), _like(off, 0.5))
    return Pair(ops.where(near, close, ops.log(size)), ops.atan2(x.b, x.a))


def _sqrt(x):
    """The root of half the sum of size and real part, taken where nothing cancels."""
    size = ops.add(ops.mul(ops.abs(x.a), _like(x.a, 0.5)),
                   ops.mul(hypot(x.a, x.b), _like(x.a, 0.5)))  # fmt: skip
    root = ops.sqrt(size)
    other = ops.true_div(ops.mul(ops.abs(x.b), _like(root, 0.5)),
                         ops.where(ops.eq(root, 0), _like(root, 1), root))  # fmt: skip
    right = ops.ge(x.a, 0)
    a, b = ops.where(right, root, other), ops.where(right, other, root)
    b = ops.where(ops.signbit(x.b), ops.neg(b), b)
    endless = ops.isinf(x.b)
    a = ops.where(endless, _like(a, np.inf), a)
    return Pair(a, ops.where(endless, x.b, b))


def _pow(x, y):
    """A power that is a whole number of the graph, by products; None for another."""
    if y.whole is None or y.whole.value is None or y.whole.value.size != 1:
        return None
    exponent = complex(y.whole.value.ravel()[0])
    n = int(exponent.real)
    if exponent.imag or n != exponent.real or not 1 <= n <= 8 or y.whole.ndim:
        return None
    found = None
    while n:
        if n & 1:
            found = x if found is None else _mul(found, x)
        x, n = _square(x) if n > 1 else x, n >> 1
    return found


def _each(name):
    """An op of each part."""
    build = getattr(ops, name)
    return lambda *xs: Pair(build(*[x.a for x in xs]), build(*[x.b for x in xs]))


FORMULAS = {
    "add": _binary(_each("add")), "sub": _binary(_each("sub")), "mul": _binary(_mul),
    "matmul": _matmul,
    "true_div": _binary(_div), "reciprocal": _reciprocal, "square": _square, "pow": _pow,
    **{name: _each(name) for name in ("neg", "identity", "stop_gradient")},
    "conj": lambda x: Pair(x.a, ops.neg(x.b)), "exp": _exp, "log": _log, "sqrt": _sqrt,
    "sin": lambda x: Pair(ops.mul(ops.sin(x.a), ops.cosh(x.b)),
                          ops.mul(ops.cos(x.a), ops.sinh(x.b))),
    "cos": lambda x: Pair(ops.mul(ops.cos(x.a), ops.cosh(x.b)),
                          ops.neg(ops.mul(ops.sin(x.a), ops.sinh(x.b)))),
    "sinh": lambda x: Pair(ops.mul(ops.sinh(x.a), ops.cos(x.b)),
                           ops.mul(ops.cosh(x.a), ops.sin(x.b))),
    "cosh": lambda x: Pair(ops.mul(ops.cosh(x.a), ops.cos(x.b)),
                           ops.mul(ops.sinh(x.a), ops.sin(x.b))),
}  # fmt: skip
# real results of complex operands
REAL = {
    "real": lambda x: x.a, "imag": lambda x: x.b, "abs": lambda x: hypot(x.a, x.b),
    "angle": lambda x: ops.atan2(x.b, x.a),
    "eq": lambda x, y: ops.logical_and(ops.eq(x.a, y.a), ops.eq(x.b, y.b)),
    "ne": lambda x, y: ops.logical_or(ops.ne(x.a, y.a), ops.ne(x.b, y.b)),
    "isnan": lambda x: ops.logical_or(ops.isnan(x.a), ops.isnan(x.b)),
    "isinf": lambda x: ops.logical_or(ops.isinf(x.a), ops.isinf(x.b)),
    "isfinite": lambda x: ops.logical_and(ops.isfinite(x.a), ops.isfinite(x.b)),
}  # fmt: skip
# ops that treat parts alike: the op itself, of each part, with real operands as they are
ALIKE = {"reshape", "expand", "squeeze", "transpose", "broadcast_to", "slice", "sum", "mean",
         "sliding_windows", "concatenate", "set_slice", "inc_slice", "diagonal", "diagonal_place",
         "take", "where", "masked", "scatter_add", "take_along_axis", "put_along_axis_add",
         "advanced_take", "advanced_set", "advanced_inc", "cumsum", "broadcast_like", "unbroadcast",
         "diag_matrix", "tril", "triu"}  # fmt: skip
# what is left of complex tensors in a graph of pairs
KERNELS = {"real_part", "imag_part", "complex_of", "placeholder", "variable", "constant", "item",
           "shape", "count", *ALIKE}  # fmt: skip
WANTED = {*FORMULAS, *REAL, "cast", "sum", "mean", "where"}


# ---- the walk -----------------------------------------------------------------------------------


def is_complex(node):
    return node.outs is None and dtypes.is_complex(node.dtype)


def wanted(order):
    """Whether an op of the graph computes with complex tensors that kernels could compute with."""
    return any(n.op.name in WANTED and any(is_complex(x) for x in (n, *n.inputs)) for n in order)


def as_pairs(roots):
    """`roots` with complex arithmetic as arithmetic of pairs."""
    order = toposort(roots)
    if not wanted(order):
        return roots
    pairs, plain = {}, {}  # {uid of a complex node: Pair}, {uid of another: node}

    def operand(node):
        return pairs[node.uid] if is_complex(node) else plain[node.uid]

    for node in order:
        found = _formula(node, [operand(x) for x in node.inputs])
        if found is None:
            inputs = [x.node if isinstance(x, Pair) else x for x in map(operand, node.inputs)]
            same = all(a is b for a, b in zip(inputs, node.inputs))
            new = node if same else make(node.op, inputs, node.attrs, like=node)
            found = in_memory(new) if is_complex(node) else new
        if isinstance(found, Pair):
            pairs[node.uid] = found.of_shape(node.shape)
        else:
            plain[node.uid] = found
    return [pairs[r.uid].node if is_complex(r) else plain[r.uid] for r in roots]


def left_to_numpy(roots, in_c=lambda node: False):
    """Whether an op of complex tensors has no formula, so that NumPy runs it. in_c: function (node)
    that knows of others that it does not run."""
    return any(
        n.op.name not in KERNELS and n.op.kind != "movement" and n.outs is None and not in_c(n)
        and any(is_complex(x) for x in (n, *n.inputs))
        for n in toposort(as_pairs(roots))
    )  # fmt: skip


def _formula(node, operands):
    """The Pair or node of an op by its formula; None where it has none, or needs none."""
    name = node.op.name
    some = any(isinstance(x, Pair) for x in operands)
    if name == "cast":
        return _cast(node, operands[0])
    if name == "complex_of":
        return Pair(*operands)
    if not some or node.outs is not None:
        return None
    if all(isinstance(x, Pair) for x in operands):
        if name in FORMULAS:
            return FORMULAS[name](*operands)
        if name in REAL:
            return REAL[name](*operands)
    if name in ("shape", "count"):
        return make(node.op, [x.a if isinstance(x, Pair) else x for x in operands], node.attrs)
    if name in ALIKE and is_complex(node):
        return _alike(node, operands)
    return None


def _alike(node, operands):
    """The op of each part. What only shows or joins complex memory stays as it is."""
    if node.op.name == "where" and isinstance(operands[0], Pair):
        operands = [_truth(operands[0]), *operands[1:]]
    in_place = all(x.whole is not None for x in operands if isinstance(x, Pair))
    whole = None
    if in_place and node.op.name not in ("sum", "mean", "where", "masked", "cumsum"):
        inputs = [x.whole if isinstance(x, Pair) else x for x in operands]
        whole = make(node.op, inputs, node.attrs)
        if node.op.kind != "movement":
            return in_memory(whole)
    parts = [[getattr(x, p) if isinstance(x, Pair) else x for x in operands] for p in "ab"]
    return Pair(*[make(node.op, p, node.attrs) for p in parts], whole)


def _truth(x):
    return ops.logical_or(ops.ne(x.a, 0), ops.ne(x.b, 0))


def _cast(node, x):
    """To another precision, from real numbers, or to bool."""
    if isinstance(x, Pair):
        if is_complex(node):
            part = PARTS[node.dtype]
            return Pair(ops.cast(x.a, part), ops.cast(x.b, part))
        if node.dtype == "bool":
            return _truth(x)
        return None
    if not is_complex(node) or x.value is not None:
        return None
    a = ops.cast(x, PARTS[node.dtype])
    return Pair(a, _like(a, 0))
