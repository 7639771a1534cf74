"""Steps of shape_programs.py that move: shapes, indices, what data decide, draws and updates."""

import re

import numpy as np

import ckernels as K

from .shape_values import Value

ITEMS = (0, 0, -1, 5)
STATES = 3  # elements of the variable that updates change


class Moving:
    """Needs what Program has: pick, chance, of, add, leaf, size, terms, and its lists."""

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
            fixed = not re.search("[a-z]", re.sub("max|min", "", d))  # no input says it
            at = 0 if fixed else self.pick(ITEMS)
            self.positive.append(f"max({d}-{at if at > 0 else 0},0)")
            return at, None
        return {
            "from": (slice(1, None), f"max({d}-1,0)"),
            "to": (slice(None, -2), f"max({d}-2,0)"),
            "odd": (slice(1, None, 2), f"({d}//2)"),
            "back": (slice(None, None, -1), d),
            "first": (slice(3), f"min({d},3)"),
        }[kind]

    def join(self):
        """Concatenated with what fits but along one axis, or stacked."""
        x = self.of(ndim=1)
        if x is None:
            return
        axis = self.pick(range(len(x.dims)))
        fit = [
            v
            for v in self.pool
            if v.kind == "f"
            and len(v.dims) == len(x.dims)
            and all(a == b for k, (a, b) in enumerate(zip(v.dims, x.dims)) if k != axis)
        ]
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
            counted = K.scan(
                lambda r, h: (h + r, K.until(K.greater(h + r, 2.0))),
                sequences=[rows],
                outputs_info=[K.cast(0, self.dtype)],
            )[0]
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
