"""Random graphs with their values: each node is evaluated by its oracle as soon as it is made.

Knowing the values keeps the graphs honest: magnitudes stay small, and steps (comparisons, argmax,
rounding) are taken only of numbers that are exact, where no rounding can tip them.
"""

import numpy as np

from ckernels import ops
from ckernels.base.errors import ShapeError
from ckernels.graph.node import make, new_uid
from ckernels.graph.walk import toposort
from ckernels.ops.reference import evaluate

from .pages import guarded

LIMIT = 2000.0
SIZES = (1, 2, 3, 4, 5, 7, 8, 16, 17, 33)


class Case:
    """leaves: [(node, array)]; outputs: [node]; values: {uid: array}; exact: {uid: bool}."""

    def __init__(self, seed, dtype, nodes=None, largest=6000, nan=0.0):
        self.rng = np.random.default_rng(seed)
        self.seed, self.dtype, self.largest = seed, dtype, largest
        self.leaves, self.pool, self.values, self.exact = [], [], {}, {}
        self.biggest = 1.0
        self.dims = [int(d) for d in self.rng.choice(SIZES, 3)]
        for _ in range(int(self.rng.integers(1, 4))):
            self.leaf()
        count = nodes or int(self.rng.integers(5, 30))
        tries = 0
        while count > 0 and tries < 400:
            tries += 1
            before = len(self.pool)
            self.step()
            count -= len(self.pool) - before
        self.outputs = self.choose_outputs()

    # ---- choosing -----------------------------------------------------------------------------

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def chance(self, p):
        return self.rng.random() < p

    def shape(self):
        ndim = int(self.rng.choice([0, 1, 2, 2, 2, 3, 3, 4]))
        shape = [
            self.pick(self.dims + [1]) if self.chance(0.9) else self.pick(SIZES)
            for _ in range(ndim)
        ]
        while np.prod(shape) > self.largest:
            shape[int(np.argmax(shape))] = 2
        if self.chance(0.02) and shape:
            shape[-1] = 0
        return tuple(shape)

    def data(self, shape, dtype):
        """Multiples of 1/4 in [-4, 4]: sums and products of a few are exact in float32."""
        values = self.rng.integers(-16, 17, shape) / 4
        if dtype == "bool":
            return np.asarray(values > 0)
        if dtype.startswith(("int", "uint")):
            return np.asarray(values * 4).astype(dtype)
        return np.asarray(values, dtype)

    def leaf(self):
        shape = self.shape()
        dtype = self.dtype if self.chance(0.8) else self.pick(["bool", "int32", "int64", "uint8"])
        declared = tuple(None if self.chance(0.5) else d for d in shape)
        node = make(
            "placeholder", (), {"uid": new_uid(), "dtype": dtype, "shape": declared, "name": None}
        )
        array = self.arrange(self.data(shape, dtype))
        self.leaves.append((node, array))
        self.add(node, array, True)

    def arrange(self, array):
        """`array` in guarded memory, in some layout."""
        kind = self.pick(["plain", "plain", "perm", "step", "flip", "broadcast"])
        end = self.chance(0.5)
        if not array.ndim or not array.size or kind == "plain":
            return guarded(array, end)
        if kind == "perm":
            perm = self.rng.permutation(array.ndim)
            return guarded(array.transpose(perm), end).transpose(np.argsort(perm))
        if kind == "step":
            steps = [self.pick([1, 1, 2, 3]) for _ in array.shape]
            wide = np.zeros([s * (n - 1) + 1 for s, n in zip(steps, array.shape)], array.dtype)
            at = tuple(slice(None, None, s) for s in steps)
            wide[at] = array
            return guarded(wide, end)[at]
        axis = int(self.rng.integers(array.ndim))
        if kind == "flip":
            return np.flip(guarded(np.flip(array, axis), end), axis)
        first = guarded(np.take(array, [0], axis), end)
        return np.broadcast_to(first, array.shape)

    def add(self, node, array, exact):
        if node.uid in self.values:
            return
        self.values[node.uid] = array
        self.exact[node.uid] = exact
        self.pool.append(node)
        if array.size and array.dtype.kind == "f":
            self.biggest = max(self.biggest, float(np.abs(array).max()))

    def offer(self, node, exact):
        """Keep `node` if it is new, small and finite."""
        if node.uid in self.values or node.dtype is None:
            return
        env = {n: self.values[n.uid] for n in self.pool}
        try:
            array = evaluate([node], env)[0]
        except ShapeError:  # sizes that were unknown when the node was made
            return
        if array.size > self.largest or array.dtype.kind == "c":
            return
        if array.size and array.dtype.kind in "fiu":
            if not np.isfinite(array).all() or np.abs(array.astype(float)).max() > LIMIT:
                return
        self.add(node, np.array(array), exact)

    def of(self, kinds=None, exact=None, ndim=0, filled=False):
        """A random node of the pool, likelier a late one; None when nothing fits."""
        fit = [
            n
            for n in self.pool
            if (kinds is None or np.dtype(n.dtype).kind in kinds)
            and (not exact or self.exact[n.uid])
            and n.ndim >= ndim
            and (not filled or self.values[n.uid].size)
        ]
        if not fit:
            return None
        if self.chance(0.5):
            fit = fit[-4:]
        return self.pick(fit)

    def mate(self, x, kinds=None, exact=None):
        """A node that broadcasts with `x`; None when there is none (or no x)."""
        if x is None:
            return None
        shape = self.values[x.uid].shape
        fit = []
        for n in self.pool:
            if kinds is not None and np.dtype(n.dtype).kind not in kinds:
                continue
            if exact and not self.exact[n.uid]:
                continue
            try:
                wide = np.broadcast_shapes(shape, self.values[n.uid].shape)
            except ValueError:
                continue
            if np.prod(wide) <= self.largest:
                fit.append(n)
        return self.pick(fit) if fit else None

    # ---- steps --------------------------------------------------------------------------------

    def step(self):
        way = self.pick(
            ["unary"] * 3
            + ["binary"] * 5
            + ["reduce"] * 4
            + ["move"] * 5
            + ["where"]
            + ["composite"] * 2
            + ["matmul"] * 2
            + ["arg", "iota", "cast", "compare", "gather"]
        )
        getattr(self, way)()

    def unary(self):
        x = self.of("f")
        if x is None:
            return
        name = self.pick(
            [
                "tanh",
                "sigmoid",
                "neg",
                "abs",
                "square",
                "relu",
                "sin",
                "softplus",
                "floor",
                "sqrt1",
                "log1",
                "recip",
                "exp",
                "sign",
            ]
        )
        exact = self.exact[x.uid]
        if name in ("floor", "sign"):
            if exact:
                self.offer(getattr(ops, name)(x), True)
        elif name == "sqrt1":
            self.offer(ops.sqrt(ops.add(ops.square(x), 1)), False)
        elif name == "log1":
            self.offer(ops.log(ops.add(ops.square(x), 1)), False)
        elif name == "recip":
            self.offer(ops.true_div(x, ops.add(ops.square(x), 1)), False)
        elif name == "exp":
            self.offer(ops.exp(ops.minimum(x, 3.0)), False)
        else:
            self.offer(getattr(ops, name)(x), exact and name in ("neg", "abs", "relu"))

    def binary(self):
        x = self.of("fiu")
        y = self.mate(x, "fiu")
        if y is None:
            return
        name = self.pick(["add", "sub", "mul", "maximum", "minimum"])
        exact = self.exact[x.uid] and self.exact[y.uid] and name != "mul"
        if self.chance(0.15):
            y = self.pick([0.5, 2, 1.25, -1]) if x.dtype == self.dtype else 2
            exact = False
        self.offer(getattr(ops, name)(x, y), exact)

    def axes(self, x):
        axes = [a for a in range(x.ndim) if self.chance(0.5)]
        return axes or [int(self.rng.integers(x.ndim))]

    def reduce(self):
        x = self.of("fiub", ndim=1, filled=True)
        if x is None:
            return
        name = self.pick(["sum", "sum", "max", "min", "prod", "any", "all"])
        if name in ("any", "all"):
            x = self.of("b", ndim=1, filled=True)
            if x is None:
                return
        if name == "prod" and x.dtype == "float16":
            name = "max"
        elif name == "prod" and x.dtype[0] == "f":
            x = ops.add(ops.mul(ops.tanh(x), 0.1), 1.0)
        exact = self.exact.get(x.uid, False) and name not in ("sum", "prod")
        self.offer(getattr(ops, name)(x, self.axes(x), self.chance(0.4)), exact)

    def arg(self):
        x = self.of("fiu", exact=True, ndim=1, filled=True)
        if x is not None:
            axis = None if self.chance(0.3) else int(self.rng.integers(x.ndim))
            self.offer(
                getattr(ops, self.pick(["argmax", "argmin"]))(x, axis, self.chance(0.3)), True
            )

    def move(self):
        x = self.of()
        shape = self.values[x.uid].shape
        exact = self.exact[x.uid]
        kind = self.pick(
            ["expand", "squeeze", "transpose", "reshape", "slice", "broadcast", "flat"]
        )
        if kind == "expand" and x.ndim < 5:
            self.offer(ops.expand_dims(x, int(self.rng.integers(x.ndim + 1))), exact)
        elif kind == "squeeze":
            ones = [k for k, d in enumerate(shape) if d == 1]
            if ones:
                self.offer(ops.squeeze(x, [self.pick(ones)]), exact)
        elif kind == "transpose" and x.ndim > 1:
            self.offer(ops.transpose(x, self.rng.permutation(x.ndim)), exact)
        elif kind == "reshape" and shape:
            self.offer(ops.reshape(x, self.reshaped(shape)), exact)
        elif kind == "flat" and x.ndim > 1:
            self.offer(ops.flatten(x), exact)
        elif kind == "slice" and shape:
            self.offer(x[tuple(self.slice_of(d) for d in shape)], exact)
        elif kind == "broadcast":
            new = tuple(self.pick(self.dims) if d == 1 and self.chance(0.7) else d for d in shape)
            if self.chance(0.5) and len(new) < 4:
                new = (self.pick(self.dims),) + new
            if np.prod(new) <= self.largest:
                self.offer(ops.broadcast_to(x, new), exact)

    def gather(self):
        """Elements of a node at indices of a leaf of their own, some counted from the end."""
        x = self.of(ndim=1, filled=True)
        if x is None:
            return
        shape, axis = self.values[x.uid].shape, int(self.rng.integers(x.ndim))
        kind = self.pick(["take", "take", "along", "several"])
        count = self.pick(self.dims)
        size = {"along": (*shape[:axis], count, *shape[axis + 1 :]), "several": (count,)}.get(
            kind, self.pick([(count,), (count, 2), ()])
        )
        dtype = self.pick(["int64", "int32", "int8", "uint8"])
        low = 0 if dtype == "uint8" else -min(shape[axis], 100)
        at = self.rng.integers(low, min(shape[axis], 100), size).astype(dtype)
        index = make(
            "placeholder", (), {"uid": new_uid(), "dtype": dtype, "shape": at.shape, "name": None}
        )
        self.leaves.append((index, self.arrange(at)))
        self.values[index.uid] = self.leaves[-1][1]
        if kind == "take":
            found = ops.take(x, index, axis)
        elif kind == "along":
            found = ops.take_along_axis(x, index, axis)
        else:
            template = [":"] * x.ndim
            template[axis] = "a"
            found = ops.advanced_take(x, [index], [*template, "n"])
        self.pool.append(index)
        self.exact[index.uid] = True
        self.offer(found, self.exact[x.uid])

    def reshaped(self, shape):
        """Merge two neighbours or split one axis."""
        shape = list(shape)
        k = int(self.rng.integers(len(shape)))
        if self.chance(0.5) and k + 1 < len(shape):
            return shape[:k] + [shape[k] * shape[k + 1]] + shape[k + 2 :]
        divisors = [d for d in range(1, shape[k] + 1) if shape[k] % d == 0] or [1]
        d = self.pick(divisors)
        return shape[:k] + [d, shape[k] // d] + shape[k + 1 :]

    def slice_of(self, size):
        if self.chance(0.4):
            return slice(None)
        if self.chance(0.3):
            return slice(None, None, -1)
        if size and self.chance(0.2):
            return int(self.rng.integers(-size, size))
        start, stop = sorted(int(v) for v in self.rng.integers(0, size + 1, 2))
        return slice(start, stop, self.pick([1, 1, 2, 3]))

    def where(self):
        c = self.of("b")
        x = self.mate(c, "fiu")
        y = self.mate(x, np.dtype(x.dtype).kind if x is not None else None)
        if y is not None:
            try:
                self.offer(ops.where(c, x, y), self.exact[x.uid] and self.exact[y.uid])
            except ValueError:
                pass

    def compare(self):
        x = self.of("fiu", exact=True)
        y = self.mate(x, "fiu", exact=True)
        if y is not None:
            self.offer(getattr(ops, self.pick(["lt", "le", "eq", "ne", "gt"]))(x, y), True)

    def cast(self):
        x = self.of()
        to = self.pick(["float32", "float64", "int32", "bool", "int64", self.dtype, "float16"])
        if to[0] != "f" and not self.exact[x.uid]:
            return
        if to == "float16" and not self.exact[x.uid]:
            return
        self.offer(ops.cast(x, to), self.exact[x.uid])

    def iota(self):
        shape = self.shape()
        if shape:
            node = ops.iota(
                shape, int(self.rng.integers(len(shape))), self.pick(["int64", self.dtype])
            )
            self.offer(node, True)

    def composite(self):
        x = self.of("f", ndim=1, filled=True)
        if x is None:
            return
        name = self.pick(["softmax", "log_softmax", "mean", "var", "logsumexp"])
        if name.endswith("softmax"):
            self.offer(getattr(ops, name)(x, int(self.rng.integers(x.ndim))), False)
        else:
            self.offer(getattr(ops, name)(x, self.axes(x), self.chance(0.4)), False)

    def matmul(self):
        x = self.of("f", ndim=2)
        if x is None:
            return
        k = self.values[x.uid].shape[-1]
        fit = [
            n
            for n in self.pool
            if n.ndim >= 2 and n.dtype == x.dtype and k in self.values[n.uid].shape[-2:]
        ]
        if not fit:
            return
        y = self.pick(fit)
        if self.values[y.uid].shape[-2] != k:
            y = ops.swapaxes(y, -1, -2)
        try:
            product = ops.matmul(x, y)
        except ValueError:
            return
        except AttributeError:
            return
        self.offer(product, False)
        if product.uid in self.values and self.chance(0.6):
            b = self.mate(product, "f")
            if b is not None:
                self.offer(ops.tanh(ops.add(product, b)), False)

    def choose_outputs(self):
        late = self.pool[-6:]
        outputs = [self.pool[-1]]
        for _ in range(int(self.rng.integers(0, 4))):
            outputs.append(self.pick(self.pool if self.chance(0.4) else late))
        return outputs

    def tolerance(self):
        """For the narrowest float on the way (float16 is kept wider in registers)."""
        kinds = {n.dtype for n in toposort(self.outputs)}
        return 1e-2 if "float16" in kinds else 3e-4 if "float32" in kinds else 1e-9

    # ---- verdict ------------------------------------------------------------------------------

    def wrong(self, results):
        """A sentence about the first output that differs from its oracle, or None."""
        for k, (node, got) in enumerate(zip(self.outputs, results)):
            want = self.values[node.uid]
            if got.dtype.name != node.dtype or got.shape != want.shape:
                return f"output {k}: {got.dtype} {got.shape}, not {node.dtype} {want.shape}"
            if want.dtype.kind in "biu" or self.exact[node.uid]:
                same = np.array_equal(got, want)
                tol = 0
            else:
                tol = self.tolerance() * self.biggest
                same = np.allclose(got, want, rtol=0, atol=tol)
            if not same:
                off = np.flatnonzero(~np.isclose(got, want, rtol=0, atol=tol))[:4]
                return (
                    f"output {k} ({node.op.name} {node.shape}): at {off.tolist()} "
                    f"{got.ravel()[off].tolist()}, not {want.ravel()[off].tolist()}"
                )
        return None
