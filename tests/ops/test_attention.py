"""The ops of attention: C by tiles against their oracles, over shapes, masks, draws, threads."""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.api.tensor import Tensor
from ckernels.base.errors import ShapeError
from ckernels.graph.node import item, make
from ckernels.graph.walk import rebuild

from .agree import leaf

NO_DRAWS = {"causal": None, "fill": float("-inf"), "zero": False, "keep": 0}


def case(dtype, batch, n, m, d, e, has=(), seed=0, **attrs):
    """(inputs, their arrays, the four results) of attention and its gradients."""
    rng = np.random.default_rng(seed)
    attrs = {"has": tuple(has), **NO_DRAWS, **attrs}
    arrays = [rng.standard_normal((*batch, *s)).astype(dtype) for s in ((n, d), (m, d), (m, e))]
    if "bias" in has:
        arrays.append(rng.standard_normal((n, m)).astype(dtype))
    if "mask" in has:
        mask = rng.random((*batch, 1, m)) < 0.6
        mask[..., :1] = True
        arrays.append(mask)
    if "state" in has:
        arrays.append(np.array([3, 1, 4]))
    arrays.append(rng.standard_normal((*batch, n, e)).astype(dtype))
    return built(arrays, attrs)


def built(arrays, attrs):
    inputs = [K.placeholder(shape=(None,) * a.ndim, dtype=str(a.dtype)) for a in arrays]
    nodes = tuple(t.node for t in inputs[:-1])
    ahead = make("attention", nodes, attrs)
    back = make("attention_grad", (*nodes, item(ahead, 0), item(ahead, 1), inputs[-1].node), attrs)
    outputs = [item(ahead, 0), *(item(back, k) for k in range(3))]
    return inputs, arrays, [Tensor(x) for x in outputs]


def agree(inputs, arrays, outputs, ulps=64):
    """Compiled against the oracle in float64: errors in ulps of the largest element."""
    got = K.function(inputs, outputs)(arrays)
    wide = [a.astype("float64") if a.dtype.kind == "f" else a for a in arrays]
    attrs = next(t.node.inputs[0].attrs for t in outputs)
    want = K.function(*built(wide, attrs)[::2], mode="reference")(wide)
    for a, b in zip(got, want):
        assert a.shape == b.shape and np.array_equal(np.isnan(a), np.isnan(b))
        largest = np.nanmax(np.abs(b), initial=1)
        assert np.nanmax(np.abs(a - b), initial=0) <= ulps * np.finfo(a.dtype).eps * largest


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (2, 1, 3, 2)])
@pytest.mark.parametrize("has", [(), ("bias",), ("mask",), ("bias", "mask", "state"), ("state",)])
def test_tiles_compute_what_the_oracle_does(dtype, batch, has):
    agree(*case(dtype, batch, 70, 300, 9, 11, has, keep=int(0.7 * 2**24)))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "sizes",
    [(0, 3, 2, 2), (3, 0, 2, 2), (1, 1, 1, 1), (1, 600, 0, 3), (5, 5, 2, 0), (257, 513, 3, 33)],
)
@pytest.mark.parametrize("how", [{}, {"causal": 0}, {"causal": -2, "zero": True}, {"zero": True}])
def test_sizes_at_the_edges(sizes, how):
    for dtype in ("float32", "float64"):
        agree(*case(dtype, (2,), *sizes, **how))


@pytest.mark.parametrize("fill", [float("-inf"), -1e9, 0.0, 2.5])
@pytest.mark.parametrize("causal", [None, 0, 7, -90, -1000, 1000])
def test_hidden_scores_are_the_number_they_are_set_to(fill, causal):
    """Rows that see nothing, by time alone: NaN for -inf, else all keys alike."""
    agree(*case("float64", (2,), 130, 290, 4, 5, fill=fill, causal=causal))
    agree(*case("float32", (2,), 130, 290, 4, 5, ("mask",), fill=fill, causal=causal))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_numbers_that_are_none(value, which):
    inputs, arrays, outputs = case("float32", (2,), 40, 300, 4, 3)
    arrays[which][1, 2, 1] = value
    with np.errstate(all="ignore"):
        agree(inputs, arrays, outputs)


def test_large_scores_neither_overflow_nor_lose_their_order():
    inputs, arrays, outputs = case("float32", (), 20, 600, 4, 3)
    arrays[0] *= 1e4
    got = K.function(inputs, outputs)(arrays)[0]
    best = np.argmax(arrays[0].astype("float64") @ arrays[1].T.astype("float64"), -1)
    np.testing.assert_allclose(got, arrays[2][best], rtol=1e-6)


@pytest.mark.parametrize("has", [(), ("mask", "state")])
@pytest.mark.parametrize("batch", [(), (3, 8)])
def test_bits_are_equal_for_any_number_of_threads(has, batch):
    inputs, arrays, outputs = case("float32", batch, 300, 700, 16, 8, has, causal=5, keep=1 << 23)
    f, found = K.function(inputs, outputs), []
    before = K.get_num_threads()
    try:
        for threads in (1, 2, 4):
            K.set_num_threads(threads)
            found.append(b"".join(a.tobytes() for a in f(arrays)))
    finally:
        K.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("turn", [(0, 1, 3, 2), (1, 0, 2, 3), (0, 2, 1, 3)])
def test_operands_that_lie_otherwise(turn):
    """Rows whose numbers are not side by side, batches in another order, heads behind lengths."""
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal((2, 3, 40, 5)).astype("float32") for _ in range(4)]
    back = np.argsort(turn)
    inputs = [K.placeholder(shape=(None,) * 4) for _ in range(4)]
    nodes = [K.permute_dimensions(t, tuple(back)).node for t in inputs]
    attrs = {"has": (), **NO_DRAWS}
    ahead = make("attention", tuple(nodes[:3]), attrs)
    back_ = make("attention_grad", (*nodes[:3], item(ahead, 0), item(ahead, 1), nodes[3]), attrs)
    outputs = [Tensor(item(ahead, 0)), *(Tensor(item(back_, k)) for k in range(3))]
    got = K.function(inputs, outputs)([np.ascontiguousarray(a.transpose(turn)) for a in arrays])
    want = K.function(*built(arrays, attrs)[::2])(arrays)
    for a, b in zip(got, want):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("how", ["every other number", "backwards", "all rows alike"])
def test_rows_that_overlap_or_have_gaps(how, which):
    """Of one operand, or of the slopes: the numbers of its rows are not side by side in memory, or
    its rows are one."""
    inputs, arrays, outputs = case("float32", (2,), 40, 40, 5, 5, has=("state",), keep=1 << 23)
    given, views = list(arrays), [t.node for t in inputs]
    k = which if which < 3 else -1
    if how == "every other number":
        given[k] = np.repeat(arrays[k], 2, -1)
        views[k] = ops.getitem(views[k], (..., slice(None, None, 2)))
    elif how == "backwards":
        given[k] = arrays[k][..., ::-1].copy()
        views[k] = ops.getitem(views[k], (..., slice(None, None, -1)))
    else:
        arrays[k] = np.repeat(arrays[k][:, :1], 40, 1)
        given[k] = arrays[k][:, :1].copy()
        views[k] = ops.broadcast_like(views[k], inputs[0 if which else 1].node)
    given[3] = np.repeat(arrays[3], 2)
    views[3] = ops.getitem(views[3], slice(None, None, 2))
    changed = rebuild([t.node for t in outputs], dict(zip([t.node for t in inputs], views)))
    got = K.function(inputs, [Tensor(node) for node in changed])(given)
    for a, b in zip(got, K.function(inputs, outputs)(arrays)):
        assert np.array_equal(a, b)


def test_one_plan_serves_all_lengths():
    inputs, arrays, outputs = case("float32", (2,), 50, 60, 4, 4)
    f = K.function(inputs, outputs)
    f(arrays)
    for n, m in ((51, 60), (7, 900), (300, 2)):
        other = case("float32", (2,), n, m, 4, 4)
        for a, b in zip(f(other[1]), K.function(other[0], other[2])(other[1])):
            assert np.array_equal(a, b)
    assert f.stats()["classes"] == 1


def test_shapes_that_do_not_fit():
    x = [leaf(s) for s in ((3, 4), (5, 6), (5, 2))]
    with pytest.raises(ShapeError, match="queries"):
        make("attention", tuple(x), {"has": (), **NO_DRAWS})
