"""Functions made at random, exported: C without a warning that computes what was recorded, and a
library with the engine's own bits at every size up to a batch, call after call.

They have open and fixed sizes, several outputs, variables that are updated, scans over rows and
numbers, integers of all widths, bools, numbers without axes and empty parts.
"""

import importlib.util
import shutil

import numpy as np
import pytest

import ckernels as K
from ckernels.errors import NotSupported

from .build import GCC, build, run

pytestmark = pytest.mark.skipif(GCC is None, reason="there is no C compiler")
FLOATS, BATCH = ("float32", "float64"), 5
WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
UNARY = (K.tanh, K.sin, K.exp, K.abs, K.square, K.sigmoid, K.softplus, K.elu, K.relu, K.erf,
         K.expm1, K.arctan, lambda x: K.sqrt(K.abs(x)), lambda x: -x,
         lambda x: K.log(1 + K.square(x)), lambda x: K.clip(x, -0.5, 0.75))  # fmt: skip
BINARY = (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, K.maximum, K.minimum,
          lambda a, b: a / (2 + K.square(b)), lambda a, b: K.where(a > b, a, b),
          K.arctan2, K.logaddexp)  # fmt: skip
WIDTHS = (1, 3, 4, 7)


class Draw:
    """A function of random choices; `width` is that of all of its rows."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        # of float64s made of float32s a bound in units of the last place says nothing
        self.floats_of = FLOATS if self.rng.random() < 0.3 else (self.pick(*FLOATS),)
        self.width, self.open = self.pick(*WIDTHS), self.rng.random() < 0.6
        self.rows = None if self.open else int(self.rng.integers(1, 6))
        self.inputs, self.variables = [], []
        self.products = self.rng.random() < 0.04  # the runtime's own take seconds to compile
        self.x = self.tensor(self.real, self.rows, self.width)
        self.whole = self.tensor(self.pick(*WHOLE), self.rows, self.width)
        self.mask = self.tensor("bool", self.rows)
        self.number = self.tensor(self.pick(self.real, "int32"))
        self.row = self.tensor(self.real, self.width)

    def pick(self, *options):
        return options[self.rng.integers(len(options))]

    @property
    def real(self):
        return self.pick(*self.floats_of)

    def tensor(self, dtype, *shape):
        name = f"in{len(self.inputs)}"
        self.inputs.append(K.placeholder(shape, dtype=dtype, name=name))
        return self.inputs[-1]

    def weights(self, *shape, dtype=None):
        dtype = dtype or self.real
        value = self.values(dtype, shape)
        self.variables.append(K.variable(value, dtype=dtype, name=f"w{len(self.variables)}"))
        return self.variables[-1]

    def values(self, dtype, shape):
        kind = np.dtype(dtype).kind
        if kind == "b":
            return self.rng.random(shape) < 0.5
        if kind in "iu":
            ends = np.iinfo(dtype)
            wide = self.rng.random() < 0.2
            low, high = (ends.min, ends.max) if wide else (max(-9, ends.min), 9)
            return self.rng.integers(low, high, shape, dtype, endpoint=True)
        return np.asarray(self.rng.standard_normal(shape), dtype)

    def arrays(self, n):
        return [
            self.values(x.dtype, [n if d is None else d for d in K.int_shape(x)])
            for x in self.inputs
        ]

    # What tips at a number is asked of inputs alone: C99's functions round in another way.

    def floats(self, depth):
        """(rows, width) of floats."""
        if depth == 0:
            return self.pick(self.x, self.x, K.cast(self.whole, self.real),
                             self.row + self.x * 0.5)  # fmt: skip
        way = self.rng.random()
        if way < 0.25:
            return self.pick(*UNARY)(self.floats(depth - 1))
        if way < 0.45:
            other = self.pick(self.floats, self.floats, self.column)(depth - 1)
            return self.pick(*BINARY)(self.floats(depth - 1), other)
        y = self.floats(depth - 1)
        return self.pick(
            lambda: K.softmax(y), lambda: K.cumsum(y, self.pick(0, 1)), lambda: y[::-1],
            lambda: y[:, ::-1], lambda: K.where(self.marked(), y, 0.25 * y),
            lambda: self.product(y), lambda: self.product(y),
            lambda: K.transpose(K.transpose(y) + 1), lambda: self.loop(y), lambda: self.sums(y),
            lambda: K.gather(y, K.arange(K.shape(y)[0]) // 2),
            lambda: y * K.cast(self.number, self.real), lambda: self.stored(y),
            lambda: K.concatenate([y[:, 1:], y[:, :1]], 1),
            lambda: y - K.mean(y, self.pick(0, 1), keepdims=True), lambda: self.loop(y),
            lambda: K.reshape(K.reshape(y, (-1,)), (-1, self.width)), lambda: self.slope(y),
        )()  # fmt: skip

    def product(self, y):
        if self.products:
            return K.dot(y, self.weights(self.width, self.width)) * 0.3
        return y * self.weights(self.width)

    def column(self, depth):
        y = self.floats(depth)
        return K.expand_dims(self.pick(K.sum, K.max, K.mean, K.prod)(K.tanh(y), 1), 1)

    def marked(self):
        """(rows, width) of bools."""
        return self.pick(
            lambda: self.x > 0.5, lambda: K.round(self.x * 4) > self.whole,
            lambda: K.greater(self.whole, 2), lambda: K.sign(self.x) < K.floor(self.row),
            lambda: K.expand_dims(self.mask, 1) & (self.whole < 3),
            lambda: ~K.equal(self.whole, 1) | (self.whole > 4),
        )()  # fmt: skip

    def integers(self, depth):
        """(rows, width) of integers."""
        if depth == 0:
            return self.whole
        x = self.integers(depth - 1)
        y = K.cast(self.pick(self.whole, self.integers(depth - 1)), x.dtype)
        return self.pick(
            lambda: x + y, lambda: x * y, lambda: x - 3, lambda: -x, lambda: K.abs(x),
            lambda: K.maximum(x, y), lambda: x // 3, lambda: x % 5, lambda: ~x,
            lambda: K.cast(x, self.pick(*WHOLE)), lambda: K.cumsum(x, self.pick(0, 1)),
            lambda: K.where(self.marked(), x, y), lambda: x[::-1], lambda: K.square(x),
            lambda: K.cast(self.marked(), self.pick(*WHOLE)) + x,
        )()  # fmt: skip

    def stored(self, y):
        part = self.pick(y[:1] * 2, K.sum(y, 0), self.row)
        return self.pick(
            lambda: K.set_subtensor(y[:, :1], 1.5), lambda: K.inc_subtensor(y[::2], y[::2] * 0.5),
            lambda: K.inc_subtensor(y[0], K.sum(part) * 0.1),
            lambda: K.inc_subtensor(y[K.argmin(self.whole, 0)], 0.125),
        )()  # fmt: skip

    def sums(self, y):
        return y * self.pick(K.sum, K.max, K.std, K.logsumexp)(K.tanh(y), self.pick(0, 1), True)

    def slope(self, y):
        if y.dtype not in FLOATS:
            return y
        (found,) = K.gradients(K.sum(K.tanh(y) * y), [self.x], disconnected="zero")
        return found

    def loop(self, y):
        """A scan over the rows, over numbers, or a count of steps."""
        start = K.sum(y, 0) * 0.1
        ahead = self.pick(False, True)

        def step(r, h):
            return K.cast(K.tanh(self.pick(*BINARY)(r, h)), h.dtype)

        def counted(h):
            new = K.cast(K.sin(h) + 0.25, h.dtype)
            return (new, K.until(K.sum(new) > 1)) if ahead else new

        return self.pick(
            lambda: K.scan(step, y, start, go_backwards=ahead)[0],
            lambda: y * K.expand_dims(K.scan(step, y[:, 0], start[0], go_backwards=ahead)[0], 1),
            lambda: y + K.sum(K.scan(counted, outputs_info=start, n_steps=self.pick(0, 3))[0], 0),
            lambda: y + K.scan(counted, outputs_info=start, n_steps=self.pick(1, 4))[0][-1:],
        )()  # fmt: skip

    def outputs(self):
        y, k = self.floats(3), self.integers(3)
        every = [
            y, k, self.marked(), K.sum(K.square(y)), K.sum(k, self.pick(0, 1)), K.argmax(k, 1),
            y[1:], K.any(self.marked(), 0), K.max(k), K.mean(K.abs(self.floats(2)), 0), y[:, 2:],
            k[3:], K.cast(self.x[0, 0] > 0, "int8"), self.x, self.number * 2, K.shape(y)[0],
            self.floats(2),
        ]  # fmt: skip
        some = self.rng.permutation(len(every))[: self.rng.integers(1, 5)]
        return [every[i] for i in some]

    def updates(self):
        found = []
        for w in self.variables[:2]:
            new = self.pick(w * 0.5, w + K.sum(K.tanh(self.x)) * 0.01, -w, w[::-1] + 0.5)
            found.append((w, K.cast(new, w.dtype)))
        if self.rng.random() < 0.6:
            count = self.weights(dtype=self.pick("int32", "uint8", "float64"))
            found.append((count, K.cast(count + K.cast(1, count.dtype), count.dtype)))
        return found

    def function(self):
        outputs = self.outputs()
        return K.function(self.inputs, outputs, updates=self.updates(), on_unused_input="ignore")


def loaded(folder, name):
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Model()


def same_bits(want, got):
    want, got = np.asarray(want), np.asarray(got)
    assert (want.dtype, want.shape) == (got.dtype, got.shape)
    np.testing.assert_array_equal(got, want)
    if want.dtype.kind == "f":
        there = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[there], np.signbit(want)[there])


def check(seed, folder):
    """Whether a program could be exported, and was compared."""
    draw = Draw(seed)
    f, name = draw.function(), f"m{seed}"
    ulps = 64 if len(draw.floats_of) == 1 else 1 << 40
    before = [K.get_value(v) for v in draw.variables]
    with K.config.change(blas="builtin"):
        try:
            K.export({"go": f}, folder / "c", prefix=name, batch=BATCH, ulps=ulps)
        except NotSupported:
            return False
        assert "all as recorded" in run(build(folder / "c", name))
        K.export({"go": f}, folder / "shared", prefix=name, target="shared", batch=BATCH, ulps=0)
        for variable, value in zip(draw.variables, before):
            same_bits(value, K.get_value(variable))  # an export changes none
        model = loaded(folder / "shared", name)
        for n in [*range(1, BATCH + 1), 2] if draw.open else [1, 1]:
            arrays = draw.arrays(n)
            want, got = f(*arrays), model.go(*arrays)
            got = got if isinstance(got, (list, tuple)) else [got]
            for a, b in zip(want, got, strict=True):
                same_bits(a, b)
        for variable in draw.variables:
            if variable.name in model.state:
                same_bits(K.get_value(variable), model.state[variable.name])
    return True


@pytest.mark.rest
def test_random_exports(tmp_path):
    done = [check(seed, tmp_path / str(seed)) for seed in (1, 4, 9, 12)]
    assert sum(done) >= 3


@pytest.mark.slow
def test_many_random_exports(tmp_path, many, new_seed):
    for seed in range(new_seed, new_seed + many // 20):
        try:
            check(seed, tmp_path / "one")
        except Exception as problem:
            raise AssertionError(f"seed {seed}") from problem
        shutil.rmtree(tmp_path / "one")


def test_a_difference_is_found():
    x = np.array([1.0, np.nan])
    same_bits(x, x.copy())
    for other in (-x, x.astype("float32"), x[:1], np.array([1.0, 0.0]), x + 1e-15):
        with pytest.raises(AssertionError):
            same_bits(x, other)
    with pytest.raises(AssertionError):
        same_bits(np.zeros(1), -np.zeros(1))
