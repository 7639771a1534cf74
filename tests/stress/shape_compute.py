"""Steps of shape_programs.py that compute: elementwise, reductions, products, images and scans.

Each takes values of the pool that fit, makes inputs where none does, and adds its result with the
text of its sizes; where nothing fits it adds nothing.
"""

import ckernels as K

from .shape_values import AXES, both


class Computing:
    """Needs what Program has: pick, chance, of, mate, add, leaf, size, terms, and its lists."""

    # ---- elementwise --------------------------------------------------------------------------

    def unary(self):
        x = self.of()
        one = lambda t: K.square(t) + 1
        how = self.pick(
            [
                K.tanh,
                K.sigmoid,
                K.relu,
                K.abs,
                K.sin,
                K.softplus,
                lambda t: -t,
                lambda t: K.exp(K.minimum(t, 2)),
                lambda t: K.sqrt(one(t)),
                lambda t: 1 / one(t),
                lambda t: K.log(one(t)),
                lambda t: K.clip(t, -1, 1),
                lambda t: t * 0.5 + 1,
            ]
        )
        self.add(how(x.tensor), x.dims)

    def binary(self):
        x = self.of()
        y, dims = self.mate(x)
        how = self.pick(
            [
                lambda a, b: a + b,
                lambda a, b: a - b,
                lambda a, b: b - a * 0.5,
                K.maximum,
                lambda a, b: K.tanh(a) * K.tanh(b),
                K.minimum,
                lambda a, b: a / (K.square(b) + 1),
            ]
        )
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
        if name in ("max", "min", "logsumexp") and 0 in [K.int_shape(t)[a] for a in axes]:
            return  # refused when it is written
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
            # divided last: sums that come back to a value are equal; roundings would break the tie
            self.add(K.cumsum(x.tensor, axis=axis) / self.terms(x, [axis]), x.dims)

    def position(self):
        """argmax of exact numbers, as floats."""
        x = self.of(ndim=1, exact=True)
        if x is not None:
            axis = self.pick(range(len(x.dims)))
            position = self.pick([K.argmax, K.argmin])
            if K.int_shape(x.tensor)[axis] == 0:
                return  # refused when it is written
            self.positive.append(x.dims[axis])
            found = self.floats(position(x.tensor, axis=axis))
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
            t = K.conv2d(
                x, kernel, padding="same" if same else "valid", data_format="channels_last"
            )
            if not same:
                self.positive += [f"max({h}-2,0)", f"max({w}-2,0)"]
            dims = (batch, h, w, "3") if same else (batch, f"max({h}-2,0)", f"max({w}-2,0)", "3")
            self.costs.append("*".join([batch, h, w, "54"]))
            self.add(K.tanh(t) if self.chance(0.5) else t, dims)
        else:
            t = K.pool2d(
                x, (2, 2), (2, 2), data_format="channels_last", pool_mode=self.pick(["max", "avg"])
            )
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
        states = K.scan(
            step, sequences=[x.tensor], outputs_info=[first.tensor], go_backwards=self.chance(0.2)
        )[0]
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
