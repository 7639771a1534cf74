"""Random programs in which no size is known: what test_shape_sequences.py calls with many shapes.

A program is written in K's functions over a few axes whose sizes come with each call. Next to each
tensor stands its shape as text over these axes ("a", "(a+b)", "min(a,n)"), so the test knows which
operands fit, which sizes a call may take and how much it will compute. Values are kept small, and
steps (comparisons, argmax) are taken of exact numbers only, as in tests/codegen/random_graphs.py.
"""

from typing import NamedTuple

import numpy as np

import ckernels as K

AXES = ("a", "b", "c")
ITEMS = (0, 0, -1, 5)
STATES = 3  # elements of the variable that updates change


def size_of(text, sizes):
    """The size that `text` means in a call."""
    return int(text) if text.isdigit() else eval(text, {"min": min, "max": max}, sizes)


class Unfit(Exception):
    """A step needs an input of a size that data decide: it is left out."""


class Value(NamedTuple):
    """A tensor, the texts of its sizes, whether its numbers are exact."""

    tensor: object
    dims: tuple
    exact: bool = False

    @property
    def kind(self):
        return np.dtype(K.dtype(self.tensor)).kind


class Leaf(NamedTuple):
    """An input; `kind` of its data: "f" quarters in [-2, 2], "i" 0..6, "b", or "n0", a length."""

    tensor: object
    dims: tuple
    kind: str


class Program:
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
        fit = [v for v in self.pool
               if v.kind in kinds and ndim <= len(v.dims) <= most and (v.exact or not exact)]
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

    # ---- elementwise --------------------------------------------------------------------------

    def unary(self):
        x = self.of()
        one = lambda t: K.square(t) + 1
        how = self.pick([
            K.tanh, K.sigmoid, K.relu, K.abs, K.sin, K.softplus, lambda t: -t,
            lambda t: K.exp(K.minimum(t, 2)), lambda t: K.sqrt(one(t)), lambda t: 1 / one(t),
            lambda t: K.log(one(t)), lambda t: K.clip(t, -1, 1), lambda t: t * 0.5 + 1,
        ])  # fmt: skip
        self.add(how(x.tensor), x.dims)

    def binary(self):
        x = self.of()
        y, dims = self.mate(x)
        how = self.pick([
            lambda a, b: a + b, lambda a, b: a - b, lambda a, b: b - a * 0.5, K.maximum,
            lambda a, b: K.tanh(a) * K.tanh(b), K.minimum, lambda a, b: a / (K.square(b) + 1),
        ])  # fmt: skip
        self.add(how(x.tensor, y.tensor), dims)

    def choose(self):
        """Two tensors, chosen from by exact numbers."""
        x, c = self.of(), self.of(exact=True)
        dims = both(x.dims, c.dims)
        if dims:
            test = self.pick([K.greater, K.less_equal])(c.tensor, 0.5)
            # K.switch spreads a condition of fewer axes over the last ones, as Keras does
            how = K.switch if len(c.dims) >= len(x.dims) else K.where
            self.add(how(test, x.tensor, 0.5 * x.tensor + self.floats(test)), dims)

    # ---- reductions ---------------------------------------------------------------------------

    def reduce(self):
        x = self.of(ndim=1)
        if x is None:
            return
        axes = [a for a in range(len(x.dims)) if self.chance(0.5)] or [len(x.dims) - 1]
        kept = self.chance(0.4)
        dims = [("1" if k in axes else d) for k, d in enumerate(x.dims) if kept or k not in axes]
        name = self.pick(["sum", "sum", "mean", "max", "min", "var", "logsumexp", "square", "prod"])
        over = axes if len(axes) > 1 else axes[0]
        t = x.tensor
        if name == "sum" or name == "square":
            t = K.sum(t if name == "sum" else K.square(t), axis=over, keepdims=kept)
            t = K.tanh(t * 0.25) if self.chance(0.4) else t / self.terms(x, axes)
        elif name == "prod":
            t = K.prod(K.tanh(t) * 0.1 / self.terms(x, axes) + 1.0, axis=over, keepdims=kept)
        else:
            if name != "mean" or self.chance(0.8):
                self.positive += [x.dims[a] for a in axes]
            t = getattr(K, name)(t, axis=over, keepdims=kept)
        self.add(t, dims)

    def terms(self, x, axes):
        """1 + the number of elements along `axes`, as a tensor of the program's dtype."""
        count = 1
        for a in axes:
            count = count * self.size(x, a)
        return count + 1.0 if isinstance(count, int) else self.floats(count) + 1

    def norm(self):
        """softmax, or mean and variance of rows as layer and batch norm use them."""
        x = self.of(ndim=1)
        if x is None:
            return
        axis = self.pick(range(len(x.dims)))
        self.positive.append(x.dims[axis])
        if self.chance(0.5) and axis == len(x.dims) - 1:
            return self.add(self.pick([K.softmax, K.log_softmax])(x.tensor), x.dims)
        centred = x.tensor - K.mean(x.tensor, axis=axis, keepdims=True)
        deviation = K.sqrt(K.mean(K.square(centred), axis=axis, keepdims=True) + 0.25)
        return self.add(centred / deviation, x.dims)

    def running(self):
        x = self.of(ndim=1)
        if x is not None:
            axis = self.pick(range(len(x.dims)))
            terms = self.terms(x, [axis])
            self.add(K.cumsum(x.tensor / terms, axis=axis), x.dims)

    def position(self):
        """argmax of exact numbers, as floats."""
        x = self.of(ndim=1, exact=True)
        if x is not None:
            axis = self.pick(range(len(x.dims)))
            self.positive.append(x.dims[axis])
            found = self.floats(self.pick([K.argmax, K.argmin])(x.tensor, axis=axis))
            self.add(found / self.terms(x, [axis]), x.dims[:axis] + x.dims[axis + 1 :])

    # ---- products -----------------------------------------------------------------------------

    def product(self):
        """x @ y with y a new input, maybe bias and tanh."""
        x = self.of(ndim=1, most=3)
        if x is None:
            return
        n = self.axis()
        rows = x.dims[-1]
        if self.chance(0.7):
            right = self.leaf((rows, n)).tensor
        else:
            right = K.transpose(self.leaf((n, rows)).tensor)
        t = K.dot(x.tensor, right) if len(x.dims) > 1 else K.dot(K.expand_dims(x.tensor, 0), right)
        dims = (*x.dims[:-1], n) if len(x.dims) > 1 else ("1", n)
        self.costs.append("*".join([*dims, rows]))
        t = t / self.terms(x, [len(x.dims) - 1])
        if self.chance(0.5):
            t = K.tanh(t + self.leaf((n,)).tensor)
        self.add(t, dims)

    def gram(self):
        """x.T @ x or x @ x.T of a matrix, or of each of a batch."""
        x = self.of(ndim=2, most=3)
        if x is None:
            return
        first = self.chance(0.5)
        order = (*range(len(x.dims) - 2), len(x.dims) - 1, len(x.dims) - 2)
        turned = K.permute_dimensions(x.tensor, order)
        t = K.matmul(turned, x.tensor) if first else K.matmul(x.tensor, turned)
        kept, summed = (-1, -2) if first else (-2, -1)
        dims = (*x.dims[:-2], x.dims[kept], x.dims[kept])
        self.costs.append("*".join([*dims, x.dims[summed]]))
        self.add(t / self.terms(x, [summed % len(x.dims)]), dims)

    def batched(self):
        """Products within the samples of a batch."""
        x = self.of(ndim=3, most=3)
        if x is None:
            return
        n = self.axis()
        y = self.leaf((x.dims[0], x.dims[2], n))
        self.costs.append("*".join([*x.dims, n]))
        t = K.batch_dot(x.tensor, y.tensor) / self.terms(x, [2])
        self.add(t, (x.dims[0], x.dims[1], n))

    # ---- shapes -------------------------------------------------------------------------------

    def turn(self):
        x = self.of("fib", ndim=2)
        if x is not None:
            order = self.rng.permutation(len(x.dims)).tolist()
            self.add(K.permute_dimensions(x.tensor, order), [x.dims[k] for k in order], x.exact)

    def expand(self):
        x = self.of("fib", most=3)
        if x is not None:
            at = self.pick(range(len(x.dims) + 1))
            dims = [*x.dims[:at], "1", *x.dims[at:]]
            self.add(K.expand_dims(x.tensor, at), dims, x.exact)

    def merge(self):
        """Two neighbouring axes as one, by -1 or by arithmetic on sizes; maybe back again."""
        x = self.of("f", ndim=2)
        if x is None:
            return
        k = self.pick(range(len(x.dims) - 1))
        sizes = [self.size(x, a) for a in range(len(x.dims))]
        together = [*sizes[:k], sizes[k] * sizes[k + 1], *sizes[k + 2 :]]
        if self.chance(0.3):
            self.positive += [d for a, d in enumerate(x.dims) if a not in (k, k + 1)]
            together[k] = -1
        t = K.reshape(x.tensor, K.stack(together) if self.chance(0.2) else tuple(together))
        if self.chance(0.4):
            self.add(K.reshape(K.tanh(t), tuple(sizes)), x.dims)
        else:
            dims = [*x.dims[:k], f"({x.dims[k]}*{x.dims[k + 1]})", *x.dims[k + 2 :]]
            self.add(t, dims, x.exact)

    def cut(self):
        """Slices and items along one or two axes."""
        x = self.of("fib", ndim=1)
        if x is None:
            return
        key, dims = [slice(None)] * len(x.dims), list(x.dims)
        for axis in sorted({self.pick(range(len(x.dims))) for _ in range(2)}):
            key[axis], dims[axis] = self.part(x.dims[axis])
        self.add(x.tensor[tuple(key)], [d for d in dims if d is not None], x.exact)

    def part(self, d):
        """(an index for an axis of size `d`, the size of what it picks; None for an item)."""
        kind = self.pick(["from", "to", "odd", "back", "first", "some", "some", "item"])
        if kind == "some":  # by a size of another tensor, or one that an input says
            other = self.of("fib", ndim=1)
            if other is None or self.chance(0.5):
                name, size = self.length()
            else:
                at = self.pick(range(len(other.dims)))
                name, size = other.dims[at], self.size(other, at)
            if self.chance(0.4):
                return slice(size, None), f"max({d}-{name},0)"
            return slice(size), f"min({d},{name})"
        if kind == "item":
            at = 0 if d.isdigit() else self.pick(ITEMS)
            self.positive.append(f"max({d}-{at if at > 0 else 0},0)")
            return at, None
        return {
            "from": (slice(1, None), f"max({d}-1,0)"), "to": (slice(None, -2), f"max({d}-2,0)"),
            "odd": (slice(1, None, 2), f"({d}//2)"), "back": (slice(None, None, -1), d),
            "first": (slice(3), f"min({d},3)"),
        }[kind]  # fmt: skip

    def join(self):
        """Concatenated with what fits but along one axis, or stacked."""
        x = self.of(ndim=1)
        if x is None:
            return
        axis = self.pick(range(len(x.dims)))
        fit = [v for v in self.pool if v.kind == "f" and len(v.dims) == len(x.dims)
               and all(a == b for k, (a, b) in enumerate(zip(v.dims, x.dims)) if k != axis)]
        if self.chance(0.2):
            same = [v for v in fit if v.dims == x.dims]
            y = self.pick(same)
            dims = [*x.dims[:axis], "2", *x.dims[axis:]]
            self.add(K.stack([x.tensor, y.tensor], axis=axis), dims, x.exact and y.exact)
            return
        if len(fit) < 2 or self.chance(0.4):
            y = self.leaf([*x.dims[:axis], self.axis(), *x.dims[axis + 1 :]])
        else:
            y = self.pick(fit)
        dims = [*x.dims[:axis], f"({x.dims[axis]}+{y.dims[axis]})", *x.dims[axis + 1 :]]
        self.add(K.concatenate([x.tensor, y.tensor], axis=axis), dims, x.exact and y.exact)

    def widen(self):
        """Repeated, tiled, padded, or broadcast against zeros of another size."""
        x = self.of(ndim=1, most=3)
        if x is None:
            return
        axis = self.pick(range(len(x.dims)))
        dims = list(x.dims)
        kind = self.pick(["repeat", "tile", "zeros", "pad"])
        if kind == "repeat":
            dims[axis] = f"(2*{dims[axis]})"
            self.add(K.repeat_elements(x.tensor, 2, axis), dims, x.exact)
        elif kind == "tile":
            dims[axis] = f"(3*{dims[axis]})"
            times = tuple(3 if k == axis else 1 for k in range(len(dims)))
            self.add(K.tile(x.tensor, times), dims, x.exact)
        elif kind == "zeros":
            other = self.of("fib", ndim=1)
            first = self.size(other, 0)
            zeros = K.zeros((first, *[1] * len(dims)), dtype=self.dtype)
            self.add(zeros + K.expand_dims(x.tensor, 0), [other.dims[0], *dims], x.exact)
        elif len(dims) == 3:
            dims[1] = f"({dims[1]}+3)"
            self.add(K.temporal_padding(x.tensor, (1, 2)), dims, x.exact)

    # ---- indices ------------------------------------------------------------------------------

    def count(self):
        """0, 1, ... along an axis, as floats, beside the tensor the axis is of."""
        x = self.of("fib", ndim=1, most=3)
        if x is not None:
            numbers = self.floats(K.arange(self.size(x, 0)))
            self.add(numbers / self.terms(x, [0]), x.dims[:1])

    def look_up(self):
        """Rows picked by indices that an input gives, or by arithmetic on positions."""
        x = self.of(ndim=1, most=3)
        if x is None:
            return
        rows = x.dims[0]
        self.positive.append(rows)
        y = self.of("i", ndim=1, most=2, exact=True) if self.chance(0.4) else None
        if y is None and self.chance(0.6):
            y = self.leaf((self.axis(),) if self.chance(0.7) else (self.axis(), "2"), "i")
        elif y is None:
            n = self.of("fib", ndim=1) or x
            y = Value(K.arange(self.size(n, 0)) * 7, n.dims[:1], True)
        at = y.tensor % self.size(x, 0)
        self.add(K.gather(x.tensor, at), [*y.dims, *x.dims[1:]], x.exact)

    def classes(self):
        y = self.of("i", ndim=1, most=2, exact=True) or self.leaf((self.axis(),), "i")
        self.add(K.cast(K.one_hot(y.tensor % 5, 5), self.dtype), [*y.dims, "5"], True)

    def store(self):
        """Part of a tensor set, or added to."""
        x = self.of(ndim=1)
        if x is None:
            return
        how = self.pick([K.set_subtensor, K.inc_subtensor])
        if self.chance(0.5):
            part = x.tensor[self.length()[1] :]
        else:
            part = x.tensor[1:] if self.chance(0.5) else x.tensor[::2]
        self.add(how(part, 0.25), x.dims)

    # ---- images and scans ---------------------------------------------------------------------

    def images(self):
        """A convolution or a pool of a batch; the images too may be of any size."""
        batch = self.axis()
        known = self.chance(0.6)
        h, w = ("6", "5") if known else (self.pick(AXES), self.pick(["4", *AXES]))
        x = self.leaf((batch, h, w, "2")).tensor
        if self.chance(0.6):
            kernel = K.variable(self.rng.integers(-4, 5, (3, 3, 2, 3)) / 16, dtype=self.dtype)
            same = self.chance(0.5)
            t = K.conv2d(x, kernel, padding="same" if same else "valid",
                         data_format="channels_last")  # fmt: skip
            if not same:
                self.positive += [f"max({h}-2,0)", f"max({w}-2,0)"]
            dims = (batch, h, w, "3") if same else (batch, f"max({h}-2,0)", f"max({w}-2,0)", "3")
            self.costs.append("*".join([batch, h, w, "54"]))
            self.add(K.tanh(t) if self.chance(0.5) else t, dims)
        else:
            t = K.pool2d(x, (2, 2), (2, 2), data_format="channels_last",
                         pool_mode=self.pick(["max", "avg"]))  # fmt: skip
            self.positive += [f"({h}//2)", f"({w}//2)"]
            self.add(t, (batch, f"({h}//2)", f"({w}//2)", "2"))

    def recurrence(self):
        """A scan over the first axis: of rows, of a batch with a product, or of a batch's time."""
        kind = self.pick(["rows", "units", "time"])
        x = self.of(ndim=3 if kind == "time" else 1, most=3)
        if kind == "units":
            steps, batch = self.pick(AXES), self.axis()
            x, first = self.leaf((steps, batch, "3")), self.leaf((batch, "3"))
            w = K.variable(self.rng.integers(-4, 5, (3, 3)) / 8, dtype=self.dtype)
            step = lambda r, h: K.tanh(r * 0.5 + K.dot(h, w))
        elif x is None:
            return None
        elif kind == "time":
            return self.recurrence_in_time(x)
        else:
            first = self.leaf(x.dims[1:])
            step = lambda r, h: K.tanh(r * 0.5 + h * 0.75)
        self.trips.append(x.dims[0])
        states = K.scan(step, sequences=[x.tensor], outputs_info=[first.tensor],
                        go_backwards=self.chance(0.2))[0]  # fmt: skip
        if self.chance(0.4):
            self.positive.append(x.dims[0])
            return self.add(states[-1], x.dims[1:])
        return self.add(states, x.dims)

    def recurrence_in_time(self, x):
        """K.rnn over the second axis."""
        self.trips.append(x.dims[1])
        self.positive += [x.dims[0], x.dims[1]]
        first = self.leaf((x.dims[0], *x.dims[2:]))
        step = lambda r, states: (K.sin(r + states[0] * 0.5), [K.tanh(states[0] + r)])
        last, every, _ = K.rnn(step, x.tensor, [first.tensor])
        if self.chance(0.5):
            return self.add(last, (x.dims[0], *x.dims[2:]))
        return self.add(every, x.dims)

    # ---- what data decide ---------------------------------------------------------------------

    def data_size(self, most):
        """The name of a size that data decide."""
        name = f"u{len(self.bounds)}"
        self.bounds[name] = most
        return name

    def mask(self):
        """The elements (or rows) that pass a test."""
        x = self.of(ndim=1, most=3, exact=True)
        if x is None:
            return
        if self.chance(0.5) or len(x.dims) == 1:
            kept = x.tensor[K.greater(x.tensor, 0.5)]
            self.add(kept, [self.data_size("*".join(x.dims))], True)
        else:
            rows = K.greater(K.sum(x.tensor, axis=tuple(range(1, len(x.dims)))), 0)
            at = K.nonzero(rows)[0]
            self.add(K.gather(x.tensor, at), [self.data_size(x.dims[0]), *x.dims[1:]], True)

    def measured(self):
        """A slice whose end data decide, or one of two branches, or a scan that ends early."""
        x = self.of(ndim=1, most=3)
        test = self.of(exact=True)
        if x is None or test is None:
            return
        kind = self.pick(["slice", "branch", "until"])
        if kind == "slice":
            end = K.cast(K.sum(K.cast(K.greater(test.tensor, 0.5), "int64")), "int64")
            dim = self.data_size(f"min({x.dims[0]},{'*'.join(test.dims) or '1'})")
            self.add(x.tensor[:end], [dim, *x.dims[1:]], x.exact)
        elif kind == "branch":
            decide = K.greater(K.sum(test.tensor), 0)
            self.add(K.ifelse(decide, K.tanh(x.tensor), x.tensor * 0.5), x.dims)
        else:
            self.trips.append(test.dims[0] if test.dims else "1")
            rows = K.reshape(test.tensor, (-1,))
            self.trips[-1] = "*".join(test.dims) or "1"
            self.positive.append(self.trips[-1])
            counted = K.scan(lambda r, h: (h + r, K.until(K.greater(h + r, 2.0))),
                             sequences=[rows], outputs_info=[K.cast(0, self.dtype)])[0]  # fmt: skip
            self.add(counted, [self.data_size(self.trips[-1])], True)

    # ---- state --------------------------------------------------------------------------------

    def draw(self):
        x = self.of(ndim=1)
        if x is None:
            return
        seed = int(self.rng.integers(1000))
        kind = self.pick(["uniform", "dropout", "coin"])
        if kind == "uniform":
            shape = tuple(self.size(x, a) for a in range(len(x.dims)))
            t = x.tensor + K.random_uniform(shape, -1, 1, dtype=self.dtype, seed=seed)
        elif kind == "dropout":
            t = K.dropout(x.tensor, 0.3, seed=seed)
        else:
            p = 1 / (1 + K.square(x.tensor))
            t = x.tensor * K.random_binomial(K.shape(x.tensor), 0.5, self.dtype, seed=seed) + p
        self.add(t, x.dims)

    def remember(self):
        """An update of a variable by what a call computed."""
        x = self.of()
        if self.state is None and x is not None:
            self.state = K.variable(np.arange(STATES) / 4, dtype=self.dtype)
            self.add(self.state + 0.0, (str(STATES),))
            new = K.tanh(self.state * 0.5 + K.sum(K.tanh(x.tensor)) * 0.01)
            self.updates.append(K.update(self.state, new))

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
        return K.function(inputs, self.outputs, updates=self.updates, mode=mode,
                          on_unused_input="ignore")  # fmt: skip

    def describe(self):
        return "; ".join(self.log)


def both(x, y):
    """The dims of two tensors broadcast together, or None where they may not fit."""
    wide = max(len(x), len(y))
    found = []
    for a, b in zip(["1"] * (wide - len(x)) + list(x), ["1"] * (wide - len(y)) + list(y)):
        if a != b and b not in ("1", a + "_") and a not in ("1", b + "_"):
            return None
        found.append(b if a == "1" or a == b + "_" else a)
    return tuple(found)


WAYS = (
    ["unary"] * 4
    + ["binary"] * 6
    + ["reduce"] * 5
    + ["norm", "product", "join", "cut"] * 2
    + ["choose", "running", "position", "gram", "batched", "turn", "expand", "merge", "widen"]
    + ["count", "look_up", "classes", "store", "images", "recurrence", "mask", "measured"]
    + ["draw", "remember", "cut", "recurrence"]
)
