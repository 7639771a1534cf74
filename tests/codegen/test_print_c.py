"""Every elementwise op and reduction, compiled, against its oracle: all dtypes, layouts, edges.

Rows are compiled in batches: each one is an output of one function per dtype, kept apart from its
neighbours by inputs of its own shape, so that a wrong op shows as itself.
"""

import numpy as np
import pytest

from ckernels import ops  # noqa: F401
from ckernels.base import dtypes
from ckernels.base.errors import DTypeError
from ckernels.graph.node import make, new_uid
from ckernels.graph.op import REGISTRY
from ckernels.runtime.function import make_function

REAL = [d for d in dtypes.ITEMSIZE if not dtypes.is_complex(d) and dtypes.available(d)]
OF_EACH_KIND = ["bool", "uint8", "int32", "float16", "float32"]
ELEMENTWISE = [
    op
    for op in REGISTRY.values()
    if op.kind == "elementwise" and op.c is not None and op.name not in ("cast",)
]
REDUCE = ["sum", "prod", "max", "min", "any", "all", "argmax", "argmin"]
# In float64 the oracles of these are as inexact as the C: near zeros of the function only the
# absolute error means something, and far out their series end. The math tests use mpmath.
ROUGH = {"erf", "erfc", "erfinv", "erfcinv", "gamma", "gammaln", "digamma", "i0", "i1", "j0", "j1",
         "betaln", "erfcx", "log_ndtr", "ndtri_exp"}  # fmt: skip


def leaf(ndim, dtype):
    return make(
        "placeholder", (), {"uid": new_uid(), "dtype": dtype, "shape": (None,) * ndim, "name": None}
    )


def operand_count(op):
    return {"where": 3, "clip": 3, "gap_limit": 3}.get(op.name) or max(
        (k + 1 for k in range(3) if f"{{{k}}}" in c_of(op, op_dtype(op))), default=0
    )


def op_dtype(op):
    return next(d for d in ("float64", "int64", "bool") if accepts(op, d))


def c_of(op, dtype):
    return op.c({"dtype": dtype}, dtype) if callable(op.c) else op.c


def node_of(op, dtype, ndim=1):
    """The op applied to fresh leaves of `dtype`, and those leaves."""
    leaves = [leaf(ndim, dtype) for _ in range(operand_count(op))]
    if op.name == "where":
        leaves[0] = leaf(ndim, "bool")
    return make(op, leaves), leaves


def accepts(op, dtype):
    """Whether the op has C for `dtype`."""
    for count in (1, 2, 3):
        leaves = [leaf(1, "bool" if op.name == "where" and k == 0 else dtype) for k in range(count)]
        try:
            make(op, leaves)
            return c_of(op, dtype) is not None
        except (DTypeError, TypeError, KeyError, ValueError, IndexError):
            continue
    return False


def samples(dtype, rng, n=301):
    """`n` numbers with the edges of the dtype among them."""
    if dtype == "bool":
        return rng.integers(0, 2, n).astype(bool)
    if dtypes.is_float(dtype):
        info = dtypes.finfo(dtype)
        edges = [
            0.0,
            -0.0,
            1,
            -1,
            0.5,
            -2.5,
            np.inf,
            -np.inf,
            np.nan,
            info.max,
            info.min,
            info.tiny,
            -info.tiny,
            info.smallest_subnormal,
            -info.smallest_subnormal * 9,
            7,
            65.5,
            -3,
            2,
        ]
        with np.errstate(all="ignore"):
            tail = rng.normal(size=n - len(edges))
            tail *= np.exp(rng.normal(size=tail.size) * 2)
            return np.concatenate([np.array(edges, dtype), tail.astype(dtype)])
    info = np.iinfo(dtype)
    small = rng.integers(-9 if info.min else 0, 70, n // 2).astype(dtype)
    wild = rng.integers(info.min, info.max, n - n // 2 - 4, dtype=dtype, endpoint=True)
    edges = np.array([info.min, info.max, 0, 1], dtype)
    return rng.permutation(np.concatenate([small, wild, edges]))


def ulps(got, want):
    """How many floats lie between two arrays; NaN and NaN are 0 apart, NaN and a number 2**62."""
    kind = {2: np.uint16, 4: np.uint32, 8: np.uint64}[got.dtype.itemsize]
    a, b = (np.ascontiguousarray(v).view(kind).astype(np.uint64) for v in (got, want))
    top = np.uint64(1) << np.uint64(8 * got.dtype.itemsize - 1)
    a, b = (np.where(v < top, v + top, top - (v - top)) for v in (a, b))  # in order of value
    apart = np.where(a > b, a - b, b - a).astype(np.float64)
    nan = np.isnan(got) | np.isnan(want)
    return np.where(nan, np.where(np.isnan(got) & np.isnan(want), 0, 2.0**62), apart)


def check(what, op, node, got, want, arrays=()):
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, what
    if not dtypes.is_float(node.dtype):
        np.testing.assert_array_equal(got, want, err_msg=what)
        return
    limit, apart = op.ulp, ulps(got, want)
    if node.dtype == "float64" and limit:
        limit += 3  # the oracle is a float64 computation itself
        if op.name in ROUGH:
            with np.errstate(all="ignore"):
                size = np.abs(arrays[0])
                rough = (np.abs(got - want) < 1e-14 + 1e-13 * np.abs(want)) | (size < 1e-300)
                apart[rough | (size > 1e6)] = 0
    at = np.flatnonzero(apart > limit)[:5]
    shown = [a.ravel()[at].tolist() for a in arrays if a.size == got.size]
    assert not at.size, f"{what} of {shown}: {got.ravel()[at]}, not {want.ravel()[at]}"


def run_batch(batch):
    """batch: [(what, op, node, leaves, arrays)]: one function; all ops that fail are told."""
    leaves = [n for b in batch for n in b[3]]
    arrays = [a for b in batch for a in b[4]]
    function = make_function(leaves, [b[2] for b in batch], positional_only=True, downcast=False)
    failures = []
    for (what, op, node, _, given), got in zip(batch, function(*arrays)):
        want = op.oracle(node.attrs, *given)
        try:
            check(what, op, node, got, want, given)
        except AssertionError as problem:
            failures.append(str(problem))
    assert not failures, f"{len(failures)} of {len(batch)}:\n" + "\n".join(failures)[:6000]


@pytest.mark.sampled(1, dtype=OF_EACH_KIND)
@pytest.mark.parametrize("dtype", REAL)
def test_elementwise_rows(dtype):
    rng, batch = np.random.default_rng(5), []
    for op in ELEMENTWISE:
        if accepts(op, dtype) and operand_count(op):
            node, leaves = node_of(op, dtype)
            arrays = [samples(n.dtype, rng) for n in leaves]
            for k, a in enumerate(arrays[1:]):
                if len(arrays[-1]) == len(a):
                    arrays[k + 1] = rng.permutation(a)
            batch.append((f"{op.name} {dtype}", op, node, leaves, arrays))
    run_batch(batch)


@pytest.mark.sampled(1, dtype=OF_EACH_KIND)
@pytest.mark.parametrize("dtype", REAL)
def test_casts(dtype):
    rng, batch, op = np.random.default_rng(6), [], REGISTRY["cast"]
    for to in REAL:
        x = leaf(1, dtype)
        array = samples(dtype, rng)
        if dtypes.is_float(dtype) and to in dtypes.INTEGERS:
            info = np.iinfo(to)  # what lies outside converts as the machine likes
            with np.errstate(all="ignore"):
                wide = array.astype("float64")
                fits = (wide > max(info.min, -(2.0**63)) - 0.5) & (wide < float(info.max) * 0.99)
            array = np.where(fits, array, 1).astype(dtype)
        batch.append((f"{dtype} to {to}", op, make(op, (x,), {"dtype": to}), [x], [array]))
    run_batch(batch)


def layouts(array):
    """The same (6, 10) numbers in memory in other ways, and others by their side."""
    wide = np.zeros((12, 30), array.dtype)
    wide[1::2, ::3] = array
    yield "contiguous", array
    yield "transposed", np.array(array.T, order="C").T
    yield "reversed", np.array(array[::-1, ::-1])[::-1, ::-1]
    yield "strided", wide[1::2, ::3]
    yield "broadcast rows", np.broadcast_to(array[:1], array.shape)
    yield "broadcast columns", np.broadcast_to(array[:, :1], array.shape)
    yield "one number", np.broadcast_to(array[:1, :1], array.shape)
    yield "reversed rows", np.array(array[:, ::-1])[:, ::-1]


PICKED = ["add", "where", "tanh", "floor_div", "maximum", "logical_not", "abs"]


@pytest.mark.parametrize("name", PICKED)
def test_layouts_of_elementwise(name):
    rng, batch, op = np.random.default_rng(7), [], REGISTRY[name]
    dtype = {"logical_not": "bool", "floor_div": "int32"}.get(name, "float32")
    kinds = [k for k, _ in layouts(np.zeros((6, 10)))]
    for first in range(len(kinds)):
        node, leaves = node_of(op, dtype, 2)
        arrays = []
        for k, n in enumerate(leaves):
            ways = list(layouts(samples(n.dtype, rng, 60).reshape(6, 10)))
            arrays.append(ways[(first + k) % len(kinds)][1])
        batch.append((f"{name} of {kinds[first]}", op, node, leaves, arrays))
    run_batch(batch)


@pytest.mark.parametrize(
    "shape",
    [
        (),
        (0,),
        (1,),
        (1, 1),
        (3, 0),
        (0, 3),
        (1, 7),
        (7, 1),
        (2, 3, 4),
        (2, 1, 3, 1, 2),
        (257,),
        (5, 0, 2),
    ],
)
def test_shapes_of_elementwise(shape):
    rng, batch = np.random.default_rng(8), []
    for name, dtype in (
        ("add", "float32"),
        ("where", "float64"),
        ("exp", "float32"),
        ("lt", "int16"),
        ("neg", "float16"),
    ):
        op = REGISTRY[name]
        node, leaves = node_of(op, dtype, len(shape))
        arrays = [np.resize(samples(n.dtype, rng), shape) for n in leaves]
        batch.append((f"{name} {shape}", op, node, leaves, arrays))
    run_batch(batch)


def test_doubles_become_halves_with_one_rounding():
    """By way of a float, a number just above the middle of two halves became the lower one."""
    steps = np.float64(2) ** np.arange(-24, 15)
    middles = np.concatenate([steps * (1 + 2.0**-11), steps * (1 + 3 * 2.0**-11)])
    near = np.concatenate([middles * (1 + off) for off in (0, 2.0**-40, -(2.0**-40))])
    array = np.concatenate([near, -near, [np.inf, -np.inf, np.nan, 65519.99999999, 65520.0]])
    op, x = REGISTRY["cast"], leaf(1, "float64")
    run_batch([("cast", op, make(op, (x,), {"dtype": "float16"}), [x], [array])])


def reduction_case(name, dtype, array, axes):
    op = REGISTRY[name]
    x = leaf(array.ndim, dtype)
    return (
        f"{name} {dtype} {array.shape} over {axes}",
        op,
        make(op, (x,), {"axes": axes}),
        [x],
        [array],
    )


def reducible(name, dtype):
    return (name in ("any", "all")) <= (dtype == "bool") and not (
        name in ("sum", "prod") and dtype not in ("int64", "uint64", *dtypes.FLOATS)
    )


def moderate(name, dtype, rng, shape):
    """Numbers whose sum and product stay finite."""
    n = int(np.prod(shape))
    if dtype == "bool":
        return rng.integers(0, 8, n).astype(bool).reshape(shape)
    if dtypes.is_float(dtype):
        x = rng.normal(size=n) if name != "prod" else np.exp(rng.normal(size=n) * 0.05)
        return np.round(x * 64).astype(dtype).reshape(shape) / np.dtype(dtype).type(64)
    return samples(dtype, rng, max(n, 10))[:n].reshape(shape)


AXES = [((7,), (0,)), ((1,), (0,)), ((4, 5), (0,)), ((4, 5), (1,)), ((4, 5), (0, 1)),
        ((3, 4, 5), (1,)), ((3, 4, 5), (0, 2)), ((3, 4, 5), (1, 2)), ((3, 1, 5), (1,)),
        ((3, 0, 5), (2,)), ((2, 300), (0,)), ((2, 3, 2, 3), (0, 2)), ((600, 3), (0,))]  # fmt: skip


@pytest.mark.sampled(1, dtype=OF_EACH_KIND)
@pytest.mark.parametrize("dtype", REAL)
def test_reductions(dtype):
    rng, batch = np.random.default_rng(9), []
    for name in REDUCE:
        if not reducible(name, dtype):
            continue
        for shape, axes in AXES:
            if name.startswith("arg") and 1 < len(axes) < len(shape):
                continue
            if name in ("max", "min", "argmax", "argmin") and 0 in [shape[a] for a in axes]:
                continue
            if dtype != "float64" and len(shape) == 3 and len(axes) == 2:
                continue
            batch.append(reduction_case(name, dtype, moderate(name, dtype, rng, shape), axes))
    run_batch(batch)


@pytest.mark.parametrize("name", ["sum", "prod", "any", "all"])
def test_reductions_of_nothing(name):
    dtype = "bool" if name in ("any", "all") else "float32"
    run_batch(
        [
            reduction_case(name, dtype, np.zeros(shape, dtype), axes)
            for shape, axes in (
                ((0,), (0,)),
                ((3, 0), (1,)),
                ((0, 3), (0,)),
                ((0, 3), (0, 1)),
                ((2, 0, 3), (1, 2)),
                ((0, 3), (1,)),
            )
        ]
    )


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "sum"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_reductions_of_special_numbers(name, dtype):
    """NaN wins, the first of equals is taken, infinities of both signs make NaN."""
    rng, batch = np.random.default_rng(10), []
    for shape, axis in (((40, 30), 1), ((40, 30), 0), ((1200,), 0), ((40000,), 0), ((3000, 5), 0)):
        for special in ([np.nan], [np.inf], [-np.inf], [np.inf, np.nan], [2.0, 2.0], [-0.0, 0.0]):
            array = np.round(rng.normal(size=shape)).clip(-1, 1).astype(dtype)
            for value in special:
                at = rng.integers(0, array.size, 5)
                array.flat[at] = value
            batch.append(reduction_case(name, dtype, array, (axis,)))
        fill = np.full(shape, -np.inf if name in ("max", "argmax") else np.inf, dtype)
        batch.append(reduction_case(name, dtype, fill, (axis,)))
    run_batch(batch)


@pytest.mark.parametrize("name", ["sum", "max", "argmin"])
def test_layouts_of_reductions(name):
    rng, batch = np.random.default_rng(11), []
    base = moderate(name, "float64", rng, (6, 10))
    for axes in ((0,), (1,), (0, 1)):
        batch += [reduction_case(name, "float64", array, axes) for _, array in layouts(base)]
    run_batch(batch)


def test_float32_sums_are_exact_to_the_last_bit():
    """Accumulation in double: a million tenths are right to half an ulp."""
    array = np.full(1_000_003, 0.1, "float32")
    x = leaf(1, "float32")
    total = make_function([x], [ops.sum(x)], single=True)(array)
    assert total == np.float32(array.astype("float64").sum())
