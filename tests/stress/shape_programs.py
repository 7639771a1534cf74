"""Random programs in which no size is known: what test_shape_sequences.py calls with many shapes.

A program is written in K's functions over a few axes whose sizes come with each call. Next to each
tensor stands its shape as text over these axes ("a", "(a+b)", "min(a,n)"), so the test knows which
operands fit, which sizes a call may take and how much it will compute. Values are kept small, and
steps (comparisons, argmax) are taken of exact numbers only, as in tests/codegen/random_graphs.py.
"""

import numpy as np

import ckernels as K

from .shape_compute import Computing
from .shape_moves import Moving
from .shape_values import AXES, Leaf, Unfit, Value, both


class Program(Computing, Moving):
    """`inputs`, `outputs` and `updates` of a function; made again from the same seed, the same."""

    def __init__(self, seed, steps=None):
        self.rng = np.random.default_rng(seed)
        self.dtype = self.pick(["float64", "float32"])
        self.leaves, self.pool, self.log = [], [], []
        # texts of sizes that must not be 0, of multiplications, and of steps of scans
        self.positive, self.costs, self.trips = [], [], []
        self.bounds = {}  # {name of a size that data decide: text of the most it can be}
        self.lengths = []  # names of sizes that inputs say
        self.state, self.updates = None, []
        self.leaf(tuple(self.axis() for _ in range(self.pick([1, 2, 2, 3]))))
        count, tries = steps or int(self.rng.integers(4, 11)), 0
        while count > 0 and tries < 60:
            tries += 1
            before = len(self.pool)
            way = self.pick(WAYS)
            try:
                getattr(self, way)()
            except Unfit:
                continue
            if len(self.pool) > before:
                self.log.append(f"{way} -> {', '.join(self.pool[-1].dims)}")
                count -= 1
        self.outputs = self.choose_outputs()

    # ---- choosing -----------------------------------------------------------------------------

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def chance(self, p):
        return self.rng.random() < p

    def axis(self):
        """Mostly an axis, sometimes its twin that is 1 or as long, or a known size."""
        axis = self.pick(AXES)
        return self.pick([axis] * 6 + [axis + "_", self.pick(["1", "2", "5"])])

    def of(self, kinds="f", ndim=0, most=4, exact=False):
        """A value of the pool, likelier a late one; None when nothing fits."""
        fit = [
            v
            for v in self.pool
            if v.kind in kinds and ndim <= len(v.dims) <= most and (v.exact or not exact)
        ]
        if not fit:
            return None
        return self.pick(fit[-3:] if self.chance(0.6) else fit)

    def add(self, tensor, dims, exact=False):
        value = Value(tensor, tuple(dims), exact)
        if len(value.dims) <= 5:
            self.pool.append(value)
        return value

    def leaf(self, dims, kind="f"):
        """A new input; known sizes are declared half of the time."""
        if any("u" in d for d in dims):
            raise Unfit
        shape = tuple(int(d) if d.isdigit() and self.chance(0.5) else None for d in dims)
        dtype = {"f": self.dtype, "b": "bool"}.get(kind, self.pick(["int64", "int32"]))
        tensor = K.placeholder(shape, dtype=dtype)
        self.leaves.append(Leaf(tensor, tuple(dims), kind))
        self.log.append(f"input {kind} {', '.join(dims)}")
        return self.add(tensor, dims, exact=True)

    def length(self):
        """The name of a size that an input says, and its tensor."""
        if self.lengths and self.chance(0.5):
            return self.pick(self.lengths)
        name = f"n{len(self.lengths)}"
        tensor = K.placeholder((), dtype="int64")
        self.leaves.append(Leaf(tensor, (), name))
        self.lengths.append((name, tensor))
        return self.lengths[-1]

    def size(self, value, axis):
        """A size as users ask for it: the number where it is known, else a scalar tensor."""
        return int(value.dims[axis]) if value.dims[axis].isdigit() else K.shape(value.tensor)[axis]

    def mate(self, x):
        """(value that broadcasts with x, the dims of both together): of the pool, or a new input
        in which some axes are 1, or 1 or as long, or left out."""
        found = [(v, both(x.dims, v.dims)) for v in self.pool if v.kind == "f"]
        found = [pair for pair in found if pair[1]]
        if found and self.chance(0.6):
            return self.pick(found)
        dims = [self.narrower(d) for d in x.dims][int(self.rng.integers(len(x.dims) + 1)) :]
        return self.leaf(dims), x.dims

    def narrower(self, dim):
        """`dim`, or what may stand beside it."""
        return self.pick([dim] * 4 + ["1"] + [f"{dim}_" if dim in AXES else dim])

    def tamed(self, x, terms):
        """A sum of `terms` (a text) numbers brought back to small ones, and its tensor's text."""
        return K.tanh(x * 0.25) if self.chance(0.5) else x / terms

    def floats(self, x):
        return K.cast(x, self.dtype)

    # ---- the function -------------------------------------------------------------------------

    def choose_outputs(self):
        """Late values, and half of the time gradients of a function of one."""
        late = self.pool[-5:]
        chosen = [self.pool[-1]] + [self.pick(late) for _ in range(int(self.rng.integers(0, 3)))]
        outputs, self.dims = [v.tensor for v in chosen], [v.dims for v in chosen]
        ends = [v for v in late if v.kind == "f"]
        wrt = [leaf.tensor for leaf in self.leaves if leaf.kind == "f"]
        if ends and self.chance(0.5):
            end = ends[-1].tensor
            cost = K.sum(K.square(end)) * 0.25 + K.sum(K.tanh(end))
            wanted = [self.pick(wrt)] + ([self.pick(wrt)] if self.chance(0.4) else [])
            outputs += K.gradients(cost, wanted, disconnected="zero")
            self.log.append(f"gradients of {', '.join(ends[-1].dims)}")
        return outputs

    def function(self, mode=None):
        inputs = [leaf.tensor for leaf in self.leaves]
        return K.function(
            inputs, self.outputs, updates=self.updates, mode=mode, on_unused_input="ignore"
        )

    def describe(self):
        return "; ".join(self.log)


WAYS = (
    ["unary"] * 4
    + ["binary"] * 6
    + ["reduce"] * 5
    + ["norm", "product", "join", "cut"] * 2
    + ["choose", "running", "position", "gram", "batched", "turn", "expand", "merge", "widen"]
    + ["count", "look_up", "classes", "store", "images", "recurrence", "mask", "measured"]
    + ["draw", "remember", "cut", "recurrence"]
)
