"""keras.ops' products: dot, matmul, einsum, outer and their kin."""

from functools import partial

import numpy as np

from ... import ops
from ...base.errors import ShapeError
from ..casts import FLOAT, result_type
from ..direct import quiet
from ..eager import compiled
from ..rows import dtype_of, either, floating, operands, promoted
from ..values import OPERATORS, Symbolic, cast, convert_to_tensor, has_traced, node_of


def _pair(x1, x2):
    x1, x2 = convert_to_tensor(x1), convert_to_tensor(x2)
    dtype = result_type(x1.dtype, x2.dtype)
    return cast(x1, dtype), cast(x2, dtype), dtype


def _product(name, eager, graph):
    """A product in the promoted dtype; bools are multiplied as integers and are bools again."""

    def function(x1, x2):
        x1, x2, dtype = _pair(x1, x2)
        if dtype == "bool":
            x1, x2 = cast(x1, "int32"), cast(x2, "int32")
        return cast(either(eager, graph, x1, x2), dtype)

    function.__name__, function.__doc__ = name, f"keras.ops.{name} of arrays and traced values."
    return function


def matmul(x1, x2):
    x1, x2 = convert_to_tensor(x1), convert_to_tensor(x2)
    if dtype_of(x1) == "int8" and dtype_of(x2) == "int8":
        return _matmul_of_bytes(x1, x2)
    dtype = result_type(x1.dtype, x2.dtype)
    inner = "int32" if dtype == "bool" else dtype
    return cast(either(np.matmul, ops.matmul, cast(x1, inner), cast(x2, inner)), dtype)


# Of batches of matrices: products of bytes are integers that floats hold exactly, in any order of
# sums, and products of floats run in BLAS, where those of int32 take 40 times as long.
EXACT = 2**24 // (128 * 128)  # products of two int8 numbers whose sum float32 holds, at worst
PARTS = 64


def _holding(terms):
    """The float dtype that holds sums of so many products of int8 numbers; None: nobody knows."""
    return "float32" if terms is not None and terms <= EXACT else "float64"


def _matmul_of_bytes(x1, x2):
    """By one matrix in integers; else longer sums in parts that float32 holds: float64 would move
    and compute twice as much."""
    if x2.ndim == 2 and x1.ndim > 1:
        return compiled(ops.matmul_of_bytes, x1, x2, open_sizes=True)
    terms = x1.shape[-1] if x1.ndim else 1
    count = -(-terms // EXACT) if terms and x1.ndim and x2.ndim else 1
    if count == 1 or count > PARTS:
        inner = _holding(terms)
        return _whole(either(np.matmul, ops.matmul, cast(x1, inner), cast(x2, inner)))
    a, b, size, found = cast(x1, "float32"), cast(x2, "float32"), -(-terms // count), None
    for i in range(0, terms, size):
        rows = b[i : i + size] if b.ndim == 1 else b[..., i : i + size, :]
        part = _whole(either(np.matmul, ops.matmul, a[..., i : i + size], rows))
        found = part if found is None else either(np.add, ops.add, found, part)
    return found


def _whole(found):
    """Integers in floats as int32; what is beyond wraps around, as sums of int32 do."""
    if dtype_of(found) == "float64":
        found = either(lambda a: a.astype("int64"), lambda n: ops.cast(n, "int64"), found)
    return either(lambda a: a.astype("int32"), lambda n: ops.cast(n, "int32"), found)


def _dot(a, b):
    """np.dot: the last axis of `a` against the last but one of `b`; numbers scale."""
    if not a.ndim or not b.ndim:
        return ops.mul(a, b)
    return ops.tensordot(a, b, axes=([a.ndim - 1], [b.ndim - 2 if b.ndim > 1 else 0]))


dot = _product("dot", np.dot, _dot)
inner = _product(
    "inner",
    np.inner,
    lambda a, b: (
        ops.mul(a, b)
        if not a.ndim or not b.ndim
        else ops.tensordot(a, b, axes=([a.ndim - 1], [b.ndim - 1]))
    ),
)
vdot = _product("vdot", np.vdot, lambda a, b: ops.sum(ops.mul(ops.flatten(a), ops.flatten(b))))
outer = _product(
    "outer",
    np.outer,
    lambda a, b: ops.mul(ops.expand_dims(ops.flatten(a), 1), ops.expand_dims(ops.flatten(b), 0)),
)
kron = _product("kron", np.kron, ops.kron)


def tensordot(x1, x2, axes=2):
    x1, x2, dtype = _pair(x1, x2)
    if not isinstance(axes, int):
        axes = tuple(tuple(a) if isinstance(a, list | tuple) else (a,) for a in axes)
    return either(
        lambda a, b: np.tensordot(a, b, axes),
        lambda a, b: ops.tensordot(
            a, b, axes if isinstance(axes, int) else [list(a) for a in axes]
        ),
        x1,
        x2,
    )


def cross(x1, x2, axisa=-1, axisb=-1, axisc=-1, axis=None):
    x1, x2, dtype = _pair(x1, x2)
    if axis is not None:
        axisa = axisb = axisc = axis
    if not has_traced(x1, x2):
        return _cross_of_arrays(x1, x2, axisa, axisb, axisc)
    a, b = ops.moveaxis(node_of(x1), axisa, -1), ops.moveaxis(node_of(x2), axisb, -1)
    a0, a1, a2 = _coordinates(a)
    b0, b1, b2 = _coordinates(b)
    z = ops.sub(ops.mul(a0, b1), ops.mul(a1, b0))
    if a2 is None and b2 is None:
        return Symbolic(z)
    zero = ops.zeros_like(a0)
    a2, b2 = zero if a2 is None else a2, zero if b2 is None else b2
    x = ops.sub(ops.mul(a1, b2), ops.mul(a2, b1))
    y = ops.sub(ops.mul(a2, b0), ops.mul(a0, b2))
    found = ops.stack([x, y, z], -1)
    return Symbolic(ops.moveaxis(found, -1, axisc))


def _coordinates(n):
    parts = [ops.getitem(n, (Ellipsis, i)) for i in range(n.shape[-1])]
    return parts if len(parts) == 3 else [*parts, None]


def _cross_of_arrays(a, b, axisa, axisb, axisc):
    """np.cross, with vectors of two coordinates, which NumPy is giving up."""
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    flat = a.shape[-1] == 2 and b.shape[-1] == 2
    wide = [
        np.concatenate([v, np.zeros((*v.shape[:-1], 3 - v.shape[-1]), v.dtype)], -1) for v in (a, b)
    ]
    found = np.cross(*wide)
    return found[..., 2] if flat else np.moveaxis(found, -1, axisc)


_slogdet = quiet(np.linalg.slogdet)


def slogdet(x):
    """The sign of the determinant and the log of its size."""
    if x.__class__ is np.ndarray and x.dtype is FLOAT:
        return tuple(_slogdet(x))
    x = convert_to_tensor(x)
    x = cast(x, floating(dtype_of(x)))
    return either(lambda a: tuple(_slogdet(a)), lambda n: tuple(ops.slogdet(n)), x)


def correlate(x1, x2, mode="valid"):
    """Products of one row with the other one at each shift."""
    dtype = promoted(*operands(x1, x2))
    if dtype == "int64":
        dtype = "float64"
    elif dtype not in ("bfloat16", "float16", "float64"):
        dtype = "float32"
    x1, x2 = convert_to_tensor(x1, dtype), convert_to_tensor(x2, dtype)
    return cast(
        either(lambda a, b: np.correlate(a, b, mode), partial(_shifted, mode), x1, x2), dtype
    )


def _shifted(mode, a, b):
    """np.correlate of nodes as a convolution, whose kernel is not turned; the longer is the row."""
    turned = None not in (*a.shape, *b.shape) and b.shape[0] > a.shape[0]
    row, kernel = (b, a) if turned else (a, b)
    n = kernel.shape[0]
    pads = {"valid": (0, 0), "full": (n - 1, n - 1), "same": (n // 2, n - 1 - n // 2)}[mode]
    found = ops.conv(ops.reshape(row, [1, -1, 1]), ops.reshape(kernel, [-1, 1, 1]), 1, (pads,))
    found = ops.flatten(found)
    return ops.flip(found, [0]) if turned else found


# ---- einsum --------------------------------------------------------------------------------------


def einsum(subscripts, *operands, **kwargs):
    xs = [convert_to_tensor(x) for x in operands]
    dtypes = {dtype_of(x) for x in xs}
    if dtypes == {"int8"}:
        if len(xs) == 2 and _of_matrices(*_labels(subscripts.replace(" ", ""), xs)):
            return compiled(_einsum_of_bytes, *xs, subscripts=subscripts.replace(" ", ""))
        if len(xs) == 2:
            inner = _holding(_terms(subscripts.replace(" ", ""), xs))
            return _whole(einsum(subscripts, *(cast(x, inner) for x in xs), **kwargs))
        dtypes = {"int32"}
    dtype = result_type(*dtypes)
    xs = [cast(x, dtype) for x in xs]
    if not has_traced(*xs):
        half = dtype in ("bfloat16", "float16")  # sums of halves are float32
        wide = [x.astype("float32") if half else x for x in xs]
        return np.einsum(subscripts, *wide, **kwargs).astype(dtype)
    return cast(Symbolic(_einsum(subscripts.replace(" ", ""), [node_of(x) for x in xs])), dtype)


def _of_matrices(labels, out):
    """Whether an einsum of two operands is one product of matrices, but for the order of axes."""
    a, b = (set(l) for l in labels)
    once = all(len(set(l)) == len(l) for l in labels)
    return once and bool(a & b) and not a & b & set(out) and (a | b) - (a & b) == set(out)


def _einsum_of_bytes(a, b, subscripts):
    return _einsum(subscripts, [a, b])


def _terms(subscripts, xs):
    """How many products each sum of an einsum has at most, None where an axis of them is open."""
    labels, out = _labels(subscripts, xs)
    sizes = {l: n for x, named in zip(xs, labels) for l, n in zip(named, x.shape)}
    summed = [n for l, n in sizes.items() if l not in out]
    return None if None in summed else int(np.prod(summed, dtype=np.int64))


def _einsum(subscripts, nodes):
    """Any einsum: operands are joined two at a time, each pair as one product of matrices."""
    labels, out = _labels(subscripts, nodes)
    terms = [_without_repeats(n, l) for n, l in zip(nodes, labels)]
    while len(terms) > 1:
        (a, la), (b, lb), *terms = terms
        later = set(out).union(*(l for _, l in terms))
        terms.insert(0, _joined_terms(a, la, b, lb, later))
    node, found = terms[0]
    gone = [i for i, l in enumerate(found) if l not in out]
    if gone:
        node, found = ops.sum(node, tuple(gone)), [l for l in found if l in out]
    return ops.transpose(node, [found.index(l) for l in out]) if found != out else node


def _labels(subscripts, nodes):
    """The labels of each operand and of the result; what `...` stands for are numbers."""
    left, arrow, right = subscripts.partition("->")
    inputs = left.split(",")
    named = sorted(c for c in set(left) - {",", "."} if left.count(c) == 1)
    labels, most = [], 0
    for text, node in zip(inputs, nodes):
        if "..." in text:
            before, _, after = text.partition("...")
            count = node.ndim - len(before) - len(after)
            most = max(most, count)
            labels.append([*before, *range(-count, 0), *after])
        else:
            labels.append(list(text))
    if not arrow:
        return labels, [*range(-most, 0), *named]
    before, dots, after = right.partition("...")
    return labels, [*before, *(range(-most, 0) if dots else ()), *after]


def _without_repeats(node, labels):
    """A label that stands twice in one operand takes the diagonal."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            sizes = [ops.size_of(node, i) for i in range(node.ndim)]
            sizes[first], sizes[second] = sizes[second], sizes[first]
            node = ops.broadcast_to(node, sizes)  # an error where they differ
            node = ops.diagonal(node, 0, first, second)
            del labels[second], labels[first]
            labels.append(label)
    return node, labels


def _joined_terms(a, la, b, lb, later):
    """Two operands as one: labels that are shared and not needed later are summed by a gemm."""
    a, la = _summed_out(a, la, set(lb) | later)
    b, lb = _summed_out(b, lb, set(la) | later)
    batch = [l for l in la if l in lb and l in later]
    shared = [l for l in la if l in lb and l not in later]
    rows, columns = [l for l in la if l not in lb], [l for l in lb if l not in la]
    a = ops.transpose(a, [la.index(l) for l in batch + rows + shared])
    b = ops.transpose(b, [lb.index(l) for l in batch + shared + columns])
    sizes = _sizes(a, batch + rows + shared, b, batch + shared + columns)
    first, second = len(batch + rows), len(batch)
    pairs = [(first + i, second + i) for i in range(len(shared))]
    a, b = ops.matched(*_repeated(a, b, pairs), pairs)
    if not shared and not (rows and columns):
        return _by_element(a, b, batch, rows, columns), batch + rows + columns
    a, b = _grouped(a, len(batch), len(rows)), _grouped(b, len(batch), len(shared))
    product = (ops.matmul_of_bytes if a.dtype == "int8" else ops.matmul)(a, b)
    found = batch + rows + columns
    return ops.reshape(product, [sizes[l] for l in found]), found


def _repeated(a, b, pairs):
    """Two operands, with what one axis of a pair has once as often as the other."""
    different = [(i, j) for i, j in pairs if a.shape[i] != b.shape[j]]
    mine, its = ([ops.size_of(x, i) for i in range(x.ndim)] for x in (a, b))
    for i, j in different:
        sizes = a.shape[i], b.shape[j]
        if None not in sizes and 1 not in sizes:
            raise ShapeError(f"einsum of axes of sizes {sizes[0]} and {sizes[1]} for one letter")
        if sizes[0] == 1:
            mine[i] = its[j]
        elif sizes[1] == 1:
            its[j] = mine[i]
    return (ops.broadcast_to(a, mine), ops.broadcast_to(b, its)) if different else (a, b)


def _summed_out(node, labels, kept):
    gone = tuple(i for i, l in enumerate(labels) if l not in kept)
    return (ops.sum(node, gone), [l for l in labels if l in kept]) if gone else (node, labels)


def _sizes(a, la, b, lb):
    found = {}
    for node, labels in ((b, lb), (a, la)):
        for axis, label in enumerate(labels):
            if not isinstance(found.get(label), int) or found[label] == 1:
                found[label] = ops.size_of(node, axis)
    return found


def _by_element(a, b, batch, rows, columns):
    """No sum: axes that one operand lacks are of size 1 there."""
    if columns:
        a = ops.reshape(a, [*(ops.size_of(a, i) for i in range(a.ndim)), *[1] * len(columns)])
    if rows:
        n = len(batch)
        b = ops.reshape(b, [*(ops.size_of(b, i) for i in range(n)), *[1] * len(rows)])
    return ops.mul(a, b)


def _grouped(node, batch, first):
    """(batch, first, second): axes joined so that one product of matrices does for all."""
    sizes = [ops.size_of(node, a) for a in range(node.ndim)]
    if node.ndim - batch - first == 1 and first == 1:
        return node
    last = 1
    for s in sizes[batch + first :]:
        last = s if isinstance(last, int) and last == 1 else ops.mul(last, s)
    middle = 1
    for s in sizes[batch : batch + first]:
        middle = s if isinstance(middle, int) and middle == 1 else ops.mul(middle, s)
    return ops.reshape(node, [*sizes[:batch], middle, last])


OPERATORS["matmul"] = matmul
