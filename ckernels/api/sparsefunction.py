"""Functions with sparse inputs and outputs: SciPy matrices outside, four dense tensors each inside.

The number of stored entries is a size like any other, and each size has a plan. So that not every
minibatch needs a new plan, numbers of entries after the first few are rounded up (by at most an
eighth, or to a multiple of 8) and zeros fill the rest. This is done where the entries are read only
by kernels that know where the rows end.
"""

import numpy as np

from ..base.config import config
from ..base.errors import ArgumentError, CKernelsWarning, ShapeError, UsageError, with_line
from ..base.warned import warn_user
from ..graph.op import having
from ..graph.shapes import show
from ..graph.walk import toposort
from .parted import first_parted
from .sparsetensor import (
    SparseTensor,
    SparseVariable,
    arrays_of,
    assembled,
    compressed,
    empty,
    is_input,
)
from .tensor import Tensor

EXACT = 4  # the first numbers of entries, which are not rounded up
PADDED = having("padding")


def expanded(pairs):
    """Pairs of sparse tensors as pairs of their parts."""
    out = []
    for old, new in pairs.items() if isinstance(pairs, dict) else pairs or ():
        if not isinstance(old, SparseTensor) and not isinstance(new, SparseTensor):
            out.append((old, new))
            continue
        if (
            not (isinstance(old, SparseTensor) and isinstance(new, SparseTensor))
            or old.format != new.format
        ):
            raise UsageError(f"{old!r} is replaced by {new!r}: both must be sparse, of one format")
        out += [(a, b) for a, b in zip(handles(old), handles(new))][:3]
        if not isinstance(old, SparseVariable):
            out.append((Tensor(old.extent), Tensor(new.extent)))
    return out


def handles(x):
    return x.data, x.indices, x.indptr, Tensor(x.extent)


def sparse_function(build, inputs, outputs, options):
    """The callable; `build` is `K.function` for the parts."""
    single = not isinstance(outputs, (list, tuple)) and outputs is not None
    wanted = [outputs] if single else list(outputs or ())
    for i, one in enumerate(inputs):
        if isinstance(one, SparseTensor) and not is_input(one):
            raise UsageError(
                f"input {i} of the function is the sparse expression {one!r}; sparse "
                "inputs are placeholders: K.placeholder(shape, sparse=True)"
            )
    flat_in = [p for x in inputs for p in (handles(x) if isinstance(x, SparseTensor) else (x,))]
    flat_out = [p for x in wanted for p in (handles(x) if isinstance(x, SparseTensor) else (x,))]
    for key in ("updates", "givens"):
        if first_parted(options[key]) is not None:
            options[key] = expanded(options[key])
    unused = options["on_unused_input"] or config.on_unused_input
    if any(isinstance(x, SparseTensor) for x in inputs):
        options["on_unused_input"] = "ignore"  # of four parts some are often not needed
    inner = build(flat_in, flat_out, **options)
    function = SparseFunction(inner, list(inputs), wanted, single)
    function.report_unused(unused)
    return function


class SparseFunction:
    """Takes SciPy matrices for sparse inputs and gives them for sparse outputs."""

    def __init__(self, inner, inputs, outputs, single):
        self.inner, self.sources, self.wanted, self.single = inner, inputs, outputs, single
        self.takes_sparse = any(isinstance(x, SparseTensor) for x in inputs)
        self.names = {x.name: x for x in inputs if isinstance(x, SparseTensor) and x.name}
        roots = inner.outputs + [new for _, new in inner.updates]
        self.seen = {
            id(x): set() for x in inputs if isinstance(x, SparseTensor) and self.paddable(x, roots)
        }

    def __reduce__(self):
        return SparseFunction, (self.inner, self.sources, self.wanted, self.single)

    def __dir__(self):
        return dir(self.inner)

    def __repr__(self):
        names = ", ".join(map(repr, self.sources))
        return f"<ckernels function {self.inner.name or ''}({names})>"

    def __getattr__(self, name):
        if name == "inner":  # not set yet: no function to ask
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __call__(self, *args, **kwargs):
        if self.takes_sparse:
            args, kwargs = self.flat(args, kwargs)
        found = iter(self.inner(*args, **kwargs))
        results = [
            self.matrix(x, found) if isinstance(x, SparseTensor) else next(found)
            for x in self.wanted
        ]
        return results[0] if self.single else results

    def flat(self, args, kwargs):
        """The arguments, with four arrays in the place of each sparse one."""
        if len(args) == 1 and isinstance(args[0], (list, tuple)) and not kwargs:
            args = args[0]
        flat = []
        for k, value in enumerate(args):
            source = self.sources[k] if k < len(self.sources) else None
            flat += self.parts(source, value) if isinstance(source, SparseTensor) else [value]
        for name in [n for n in kwargs if n in self.names]:
            source = self.names[name]
            for node, part in zip(source.parts, self.parts(source, kwargs.pop(name))):
                kwargs[node.name] = part
        return flat, kwargs

    def parts(self, source, value):
        """The arrays of a sparse argument."""
        data, indices, indptr, shape = plain(source, value) or self.converted(source, value)
        seen = self.seen.get(id(source))
        if seen is not None and len(data) not in seen and len(data):
            if len(seen) < EXACT:
                seen.add(len(data))
            else:
                data, indices = padded(data), padded(indices)
        return [data, indices, indptr, empty(shape)]

    @staticmethod
    def converted(source, value):
        """The arrays of any SciPy matrix, in the format and dtypes of `source`, checked."""
        what = f"the input {source!r}"
        try:
            matrix = compressed(value, source.format, what)
            if any(d not in (None, s) for d, s in zip(source.int_shape, matrix.shape)):
                raise ShapeError(
                    f"{what} was declared with shape {show(source.int_shape)} and got "
                    f"a sparse matrix of shape {show(matrix.shape)}"
                )
            return arrays_of(matrix, source.dtype, what)
        except Exception as problem:
            raise with_line(problem, source.extent) from problem.__cause__

    @staticmethod
    def matrix(x, found):
        data, indices, indptr, extent = (next(found) for _ in range(4))
        shape = extent.shape[:2]
        return assembled(
            x.format, data, indices, indptr, shape if x.format == "csr" else shape[::-1]
        )

    def paddable(self, x, roots):
        """Whether zeros behind the numbers of `x` change no result."""
        tainted = {x.data.node.uid, x.indices.node.uid}
        for node in toposort(roots):
            touched = [k for k, i in enumerate(node.inputs) if i.uid in tainted]
            if not touched:
                continue
            if node.op.kind == "elementwise" or node.op.name == "unbroadcast":
                fine = all(i.uid in tainted or i.size == 1 for i in node.inputs)
                fine = fine and (node.op.kind == "elementwise" or node.ndim == 1)
                result = True
            else:
                places, pads = PADDED.get(node.op.name, ((), ()))
                fine = all(k in places for k in touched) and node.outs is None
                result = any(k in pads for k in touched)
            if not fine:
                return False
            if result:
                tainted.add(node.uid)
        inside = {n.uid for y in self.wanted if isinstance(y, SparseTensor) for n in y.parts[:2]}
        return (
            not any(n.uid in tainted and n.uid not in inside for n in roots)
            and self.inner.spec.check != "nan"
        )

    def report_unused(self, action):
        """Warn, raise or neither (`action`) for inputs that nothing reads."""
        used = {
            n.uid for n in toposort(self.inner.outputs + [new for _, new in self.inner.updates])
        }
        for x in self.sources:
            nodes = x.parts if isinstance(x, SparseTensor) else [getattr(x, "variable", x).node]
            if action == "ignore" or any(n.uid in used for n in nodes):
                continue
            text = f"no output or update needs the input {x!r}; on_unused_input='ignore' accepts it"
            if action == "raise":
                raise ArgumentError(text)
            warn_user(text, CKernelsWarning)

    def copy(self, *args, **kwargs):
        """A function of the same graph on other variables; see the copy of any function."""
        return SparseFunction(
            self.inner.copy(*args, **kwargs), self.sources, self.wanted, self.single
        )


def plain(source, value):
    """The arrays of a matrix that has the format, the dtypes and the shape of `source`, or None."""
    data = getattr(value, "data", None)
    if type(data) is not np.ndarray or getattr(value, "format", None) != source.format:
        return None
    indices, indptr, shape, declared = value.indices, value.indptr, value.shape, source.int_shape
    if (
        data.dtype != source.number
        or indices.dtype != np.int32
        or indptr.dtype != np.int32
        or len(shape) != 2
        or declared[0] not in (None, shape[0])
        or declared[1] not in (None, shape[1])
    ):
        return None
    return data, indices, indptr, shape if source.format == "csr" else shape[::-1]


def capacity(count):
    """`count` rounded up: to one of eight sizes between powers of two, and a multiple of 8."""
    step = 1 << max(3, count.bit_length() - 4)
    return -(-count // step) * step


def padded(array):
    """`array` with zeros behind it."""
    out = np.zeros(capacity(len(array)), array.dtype)
    out[: len(array)] = array
    return out
