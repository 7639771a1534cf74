"""Formulas that recognisers know, each with one or two things about it changed.

A recogniser must take x / sum(exp(x)) only where both x are one: so operands, axes, numbers and ops
of well-known formulas and of their gradients are exchanged at random. What comes out is computed in
float32 and compared with the same graph in float64: no rewrite may be far worse than the formula as
it stands. Not for graphs at large: those are in tests/codegen/random_graphs.py.
"""

import numpy as np

from ckernels import ops
from ckernels.autodiff.reverse import grad
from ckernels.base.errors import CKernelsError
from ckernels.graph.node import constant, make
from ckernels.graph.walk import rebuild, toposort
from ckernels.ops.reference import evaluate

from .helpers import placeholder

EXACT = {"abs", "broadcast_like", "concatenate", "expand", "max", "maximum", "min", "minimum",
         "neg", "relu", "set_slice", "sign", "slice", "squeeze", "transpose", "where"}  # fmt: skip
SHAPES = [(4, 4), (4, 4), (3, 5), (1, 4), (6,)]


def kept(op, x, axis=-1):
    return op(x, axis, keepdims=True)


def softmax(x, axis=-1):
    e = ops.exp(x - kept(ops.max, x, axis))
    return e / kept(ops.sum, e, axis)


def naive_softmax(x, y):
    return ops.exp(x) / kept(ops.sum, ops.exp(x))


def logsumexp(x, y):
    top = kept(ops.max, x)
    return ops.log(kept(ops.sum, ops.exp(x - top))) + top


def sigmoid_entropy(x, y):
    p = 1 / (1 + ops.exp(-x))
    return -y * ops.log(p) - (1 - y) * ops.log(1 - p)


def layer_norm(x, y):
    off = x - kept(ops.mean, x)
    return off / ops.sqrt(kept(ops.mean, ops.square(off)) + 1e-3) * y


def variance(x, y):
    return kept(ops.mean, ops.square(x)) - ops.square(kept(ops.mean, x)) + y


def gelu(x, y):
    return 0.5 * x * (1 + ops.erf(x * 0.5**0.5)) + y


def gelu_by_tanh(x, y):
    return 0.5 * x * (1 + ops.tanh(0.797885 * (x + 0.044715 * x * x * x)))


def tanh_by_exps(x, y):
    return (ops.exp(x) - ops.exp(-x)) / (ops.exp(x) + ops.exp(-x))


def products(x, y):
    return ops.dot(ops.transpose(x), y) if x.ndim == 2 else kept(ops.sum, x * y)


def distances(x, y):
    return kept(ops.sum, ops.square(x - y)) + kept(ops.sum, x * y) * 2


def cosine(x, y):
    norms = ops.sqrt(kept(ops.sum, ops.square(x)) * kept(ops.sum, ops.square(y)))
    return kept(ops.sum, x * y) / norms


FORMULAS = {
    "softmax": lambda x, y: softmax(x) * y,
    "softmax of columns": lambda x, y: softmax(x, 0),
    "naive softmax": naive_softmax,
    "log of softmax": lambda x, y: y * ops.log(softmax(x)),
    "log of node": lambda x, y: y * ops.log(ops.softmax(x)) - ops.softmax(y),
    "log_softmax": lambda x, y: x - logsumexp(x, y),
    "logsumexp": logsumexp,
    "log of sums": lambda x, y: ops.log(kept(ops.sum, ops.exp(x))) + ops.log(
        kept(ops.mean, ops.exp(y))),
    "logaddexp": lambda x, y: ops.log(ops.exp(x) + ops.exp(y)),
    "logdiffexp": lambda x, y: ops.log(ops.exp(ops.maximum(x, y) + 1) - ops.exp(x)),
    "sigmoid": lambda x, y: y / (1 + ops.exp(-x)),
    "quotient": lambda x, y: ops.exp(x) / (1 + ops.exp(x)) * (1 - ops.sigmoid(y)),
    "power": lambda x, y: (1 + ops.exp(-x)) ** -1 * y**2,
    "two sigmoids": lambda x, y: ops.exp(x) / (ops.exp(x) + ops.exp(y)),
    "sigmoid entropy": sigmoid_entropy,
    "softplus": lambda x, y: ops.log(1 + ops.exp(x)) + ops.log1p(ops.exp(-y)),
    "log1mexp": lambda x, y: ops.log(1 - ops.exp(-ops.abs(x) - 0.1)) * y,
    "expm1": lambda x, y: (ops.exp(x) - 1) / (ops.square(y) + 1),
    "layer_norm": layer_norm,
    "variance": variance,
    "var": lambda x, y: (x - kept(ops.mean, x)) / ops.sqrt(kept(ops.var, x) + 1e-3) + y,
    "gelu": gelu,
    "gelu by tanh": gelu_by_tanh,
    "tanh by exps": tanh_by_exps,
    "silu": lambda x, y: x * ops.sigmoid(x) + y * (1 - ops.sigmoid(x)),
    "elu": lambda x, y: ops.where(ops.gt(x, 0), x, ops.exp(x) - 1) + ops.relu(y),
    "norm": lambda x, y: x / ops.sqrt(kept(ops.sum, ops.square(x))) * y,
    "abs": lambda x, y: ops.sqrt(ops.square(x)) + ops.square(ops.sqrt(ops.abs(y))),
    "products": products,
    "sum of products": lambda x, y: kept(ops.sum, 3 * x * y) + kept(ops.sum, x / 2),
    "cancelling": lambda x, y: x / ops.exp(y) * ops.exp(y) + (y / ops.exp(x) + 1) * ops.exp(x),
    "distances": distances,
    "cosine": cosine,
    "renormalised": lambda x, y: ops.softmax(x) / kept(ops.sum, ops.softmax(x)) * y,
    "entropy": lambda x, y: kept(ops.sum, ops.softmax(x) * ops.log(ops.softmax(x))) + y,
    "clipped": lambda x, y: ops.log(ops.clip(softmax(x), 1e-7, 1.0)) * y,
    "log of power": lambda x, y: ops.log(ops.square(x) + 1) + ops.log(ops.abs(y) ** 3.0),
    "softmax entropy": lambda x, y: kept(ops.sum, ops.softmax(y) * (x - logsumexp(x, y))),
    "factors": lambda x, y: (2 * x) * (3 * y) - x * (y * 0.5) + x * y,
    "reversed": lambda x, y: ops.log(softmax(x)[::-1]) * y + ops.log(ops.sigmoid(y)[..., ::-1]),
    "reversed quotient": lambda x, y: ops.exp(x)[::-1] / (1 + ops.exp(x)[::-1]) * y,
    "turned": lambda x, y: ops.transpose(ops.log(1 + ops.transpose(ops.exp(x)))) - y,
    "sum of reversed": lambda x, y: ops.log(kept(ops.sum, ops.exp(x)[..., ::-1])) + y,
    "softmax of reversed": lambda x, y: ops.exp(x)[..., ::-1] / kept(ops.sum, ops.exp(x)) * y,
    "softmax of turned": lambda x, y: ops.transpose(
        ops.transpose(ops.exp(x)) / kept(ops.sum, ops.transpose(ops.exp(x)), 0)) * y,
    "softmax of a part": lambda x, y: ops.exp(x)[..., :0:-1] / kept(
        ops.sum, ops.exp(x)[..., :0:-1]) * y[..., :1],
    "slices": lambda x, y: ops.log(ops.sigmoid(x)[1:]) - ops.log(1 - ops.sigmoid(y)[:-1]),
    "parts": lambda x, y: ops.concatenate([x[:2], y[2:]], 0) * x[::-1],
}  # fmt: skip

KIN = [("max", "min", "sum", "prod", "mean"), ("exp", "exp2", "expm1", "sinh"), ("sub", "add"),
       ("mul", "true_div", "maximum"), ("sigmoid", "tanh", "softplus"), ("sqrt", "abs", "square"),
       ("log", "log1p", "log2"), ("erf", "erfc"), ("softmax", "log_softmax"), ("gt", "lt", "ge"),
       ("minimum", "maximum"), ("sin", "cos")]  # fmt: skip
CHANGES = [
    ops.neg,
    ops.abs,
    lambda x: x * 2,
    lambda x: x + 1,
    lambda x: x[::-1],
    lambda x: x[..., ::-1],
    lambda x: ops.transpose(x) if x.shape == (4, 4) else x * 2,
]
NUMBERS = [lambda c: -c, lambda c: 2 * c, lambda c: c + 1, lambda c: c / 2, lambda c: 1 - c]


def divisors(root):
    return [n.inputs[1] for n in toposort([root]) if n.op.name in ("true_div", "masked_div")]


def is_noise(exact, rounded):
    """Whether a divisor is 0, or would be but for rounding: no quotient has a value then."""
    small = (np.abs(exact) < 1e-10) & (np.abs(rounded) < 1e-4)
    return bool((small & (np.abs(rounded - exact) >= 100 * np.abs(exact))).any())


class Case:
    """A formula with changes: its `root`, `leaves` and their arrays in float32."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.seed, self.name = seed, self.pick(list(FORMULAS))
        self.leaves = [placeholder("float32", self.pick(SHAPES), "x")]
        self.leaves.append(placeholder("float32", self.leaves[0].shape, "y"))
        root = FORMULAS[self.name](*self.leaves)
        if self.rng.random() < 0.4:
            wrt = self.pick(self.leaves)
            root = grad(ops.sum(ops.mul(root, constant(0.5, "float32"))), wrt, "zero")
        self.changes = []
        for _ in range(int(self.rng.integers(1, 3))):
            root = self.changed(root)
        self.root = root
        # Factors are taken in another order: with large numbers another product overflows first.
        self.wide = self.rng.random() < 0.3 and self.name != "cancelling"
        self.arrays = [self.numbers(n.shape) for n in self.leaves]

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def numbers(self, shape):
        """Small ones, or large ones and a large difference between tensors; rows that are equal."""
        scale = self.pick([1, 10, 60] if self.wide else [1, 1, 2, 0.01])
        array = self.rng.normal(size=shape) * scale
        array += self.pick([0, 3, 40, -90, 90] if self.wide else [0, 0, 3, -3])
        if self.rng.random() < 0.2:
            array = np.repeat(array[:1], shape[0], 0)
        return array.astype("float32")

    # ---- changes ------------------------------------------------------------------------------

    def changed(self, root):
        """`root` with one node changed; itself where no change was found that can be."""
        order = [n for n in toposort([root]) if n.inputs]
        for way in [self.pick(["input", "input", "op", "number", "axes"])] * 15 + ["input"] * 30:
            node = self.pick(order)
            try:
                new = getattr(self, way)(node, order)
                if new is None or new is node or new.dtype != node.dtype:
                    continue
                result = rebuild([root], {node: new})[0]
            except (CKernelsError, IndexError):
                continue
            if result.shape == root.shape:
                self.changes.append(f"{way} of {node.op.name}")
                return result
        return root

    def input(self, node, order):
        """Another tensor of that shape for an operand, or the operand changed a little."""
        k = int(self.rng.integers(len(node.inputs)))
        old = node.inputs[k]
        if not old.dtype.startswith("float"):
            return None
        fit = [
            n
            for n in order + self.leaves
            if n.shape == old.shape and n.dtype == old.dtype and n is not old
        ]
        other = self.pick(fit) if fit and self.rng.random() < 0.7 else self.pick(CHANGES)(old)
        inputs = list(node.inputs)
        inputs[k] = other
        return make(node.op, inputs, node.attrs)

    def op(self, node, order):
        """An op of the same kind."""
        kin = [name for row in KIN if node.op.name in row for name in row]
        return make(self.pick(kin), node.inputs, node.attrs) if kin else None

    def number(self, node, order):
        """Another number for a constant operand."""
        places = [
            k
            for k, n in enumerate(node.inputs)
            if n.value is not None and np.ndim(n.value) == 0 and n.dtype.startswith("float")
        ]
        if not places:
            return None
        inputs, k = list(node.inputs), self.pick(places)
        old = inputs[k]
        inputs[k] = constant(np.asarray(self.pick(NUMBERS)(float(old.value)), old.dtype))
        return make(node.op, inputs, node.attrs)

    def axes(self, node, order):
        """A reduction, or a view of it, along another axis (of a square)."""
        if node.attrs.get("axes") not in ((0,), (1,)):
            return None
        if max(node.inputs[0].ndim, node.ndim) < 2:
            return None
        return make(node.op, node.inputs, {**node.attrs, "axes": (1 - node.attrs["axes"][0],)})

    # ---- verdict ------------------------------------------------------------------------------

    def truth(self):
        """The graph in float64; how far that moves with the last digits of its inputs, or float32
        is off beside them, for at one point all may round well; and the graph in float32.
        """
        wide = self.widened()
        graphs = [self.root, *divisors(self.root)]

        def both(noise):
            """The graph in float64 and in float32, beside the inputs, and so its divisors."""
            arrays = [a * (1 + noise * self.rng.normal(size=a.shape)) for a in self.arrays]
            arrays = [a.astype("float32") if noise != 1e-7 else a for a in arrays]
            narrow = dict(zip(self.leaves, [a.astype("float32") for a in arrays]))
            env = {wide[n]: a.astype("float64") for n, a in zip(self.leaves, arrays)}
            return evaluate([wide[n] for n in graphs], env), evaluate(graphs, narrow)

        with np.errstate(all="ignore"):
            (want, *exact), (naive, *rounded) = both(0)
            if any(map(is_noise, exact, rounded)):
                want = np.full_like(want, np.nan)
            moved = np.abs(both(1e-7)[0][0] - want)
            for near, off in (both(1e-6) for _ in range(3)):
                moved = np.fmax(moved, np.abs(off[0] - near[0]))
            return want, moved, naive

    def widened(self, rounded=lambda n: n):
        """{node: the same in float64}, after `rounded` where float32 rounds."""
        wide = {n: placeholder("float64", n.shape) for n in self.leaves}
        for n in toposort([self.root]):
            if n.value is not None and n.dtype == "float32":
                wide[n] = constant(np.asarray(n.value, "float64"))
            elif n not in wide:
                named = {"dtype": "float64"} if n.attrs.get("dtype") == "float32" else {}
                made = make(n.op, [wide[i] for i in n.inputs], {**n.attrs, **named})
                wide[n] = made if n.op.name in EXACT or n.dtype != "float32" else rounded(made)
        return wide

    def shaken(self, want):
        """How far `want` moves with the last digits of what float32 rounds on the way: of a - sum(p
        * a) with equal a all inputs leave 0, and NumPy's order of summing may, another does not."""

        def rounded(n):
            return n * constant(1 + 2.0**-24 * self.rng.uniform(-1, 1, n.shape))

        moved = np.zeros_like(want)
        for _ in range(5):
            wide = self.widened(rounded)
            env = {wide[n]: a.astype("float64") for n, a in zip(self.leaves, self.arrays)}
            moved = np.fmax(moved, np.abs(evaluate([wide[self.root]], env)[0] - want))
        return moved

    def wrong(self, got):
        """A sentence about `got`, the value of a rewritten graph, or None.

        Of large numbers float64 knows too little (log(1 - sigmoid(40))): there, what is finite has
        to stay so. A softmax of inf may be NaN in the whole row.
        """
        want, moved, naive = self.truth()
        if got.shape != want.shape or got.dtype != naive.dtype:
            return f"{got.dtype} {got.shape}, not {naive.dtype} {want.shape}"
        with np.errstate(all="ignore"):
            # where the last digits of the inputs make it inf the value is a division by 0
            good = np.isfinite(want) & np.isfinite(naive) & np.isfinite(moved)
            good &= np.abs(want) < 1e30
            off = np.fmax(np.abs(naive - want), moved)[good].max(initial=0)
            scale = np.abs(want[good]).max(initial=0) * 1e-6
            near = 1e-5 * np.abs(want) + 1e-6 + 100 * off + scale
            good &= not self.wide or good.all()
            bad = good & ~(np.isfinite(got) if self.wide else np.abs(got - want) <= near)
            if bad.any() and not self.wide:
                bad &= np.abs(got - want) > near + 10 * self.shaken(want)
        if bad.any():
            at = tuple(np.argwhere(bad)[0])
            return (
                f"seed {self.seed}, {self.name}, {', '.join(self.changes)}: at {at} "
                f"{got[at]!r}, not {want[at]!r} (as written {naive[at]!r})"
            )
        return None
