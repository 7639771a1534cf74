"""K.scaled_dot_product_attention against NumPy in double: masks, heads, dropout, gradients."""

import numpy as np
import pytest

import ckernels as K
from ckernels.base.config import config
from ckernels.base.errors import ArgumentError, DTypeError, ShapeError
from ckernels.rewrite import attention
from ckernels.runtime import stored


def reference(q, k, v, mask=None, bias=0, is_causal=False, scale=None):
    q, k, v = (x.astype("float64") for x in (q, k, v))
    if q.ndim > 2 and k.shape[-3] != q.shape[-3]:
        k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    s = np.matmul(q, np.swapaxes(k, -1, -2)) * scale + bias
    seen = np.ones(s.shape, bool) if mask is None else np.broadcast_to(mask, s.shape)
    if is_causal:
        seen = seen & np.tri(*s.shape[-2:], dtype=bool)
    with np.errstate(all="ignore"):
        e = np.where(seen, np.exp(s - np.max(np.where(seen, s, -1e300), -1, keepdims=True)), 0)
        p = e / np.sum(e, -1, keepdims=True)
    return np.matmul(np.where(seen.any(-1, keepdims=True), p, 0), v)


def arrays_of(n, m, d=6, e=5, heads=4, of_keys=4, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    shapes = (2, heads, n, d), (2, of_keys, m, d), (2, of_keys, m, e)
    return [rng.standard_normal(s).astype(dtype) for s in shapes]


def placeholders(arrays):
    shapes = [(None, a.shape[1], None, a.shape[-1]) for a in arrays]
    return [K.placeholder(shape=s, dtype=str(a.dtype)) for s, a in zip(shapes, arrays)]


@pytest.fixture(params=["stored", "by blocks"])
def way(request, monkeypatch):
    """Whether scores are stored; both give the same."""
    monkeypatch.setattr(stored, "describe", lambda program: (None, ()))
    monkeypatch.setattr(attention, "LEAST", 0 if request.param == "by blocks" else 1 << 60)
    with config.change(mode="compiled"):
        yield request.param


def run(arrays, **how):
    xs = placeholders(arrays)
    f = K.function(xs, K.scaled_dot_product_attention(*xs, **how))
    return f(arrays), f


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype, ulps", [("float32", 24), ("float64", 24)])
@pytest.mark.parametrize("n, m", [(1, 1), (7, 5), (64, 300), (1, 33), (300, 1)])
@pytest.mark.parametrize("how", [{}, {"is_causal": True}, {"scale": 0.25}])
def test_equals_numpy(way, dtype, ulps, n, m, how):
    """Errors in ulps of 1, about the largest result."""
    arrays = arrays_of(n, m, dtype=dtype)
    got, f = run(arrays, **how)
    want = reference(*arrays, **how)
    assert got.dtype == dtype
    limit = ulps * np.finfo(dtype).eps * np.max(np.abs(want))
    np.testing.assert_allclose(got, want, rtol=0, atol=limit)
    assert any("attention" in s for s in f.steps()) == (way == "by blocks")


def test_no_rows_and_no_keys(way):
    for n, m in ((0, 3), (3, 0), (0, 0)):
        arrays = arrays_of(n, m)
        got, _ = run(arrays)
        assert got.shape == (2, 4, n, 5) and not got.any()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("shape", [(2, 1, 1, 9), (7, 9), (2, 4, 7, 9), (9,)])
@pytest.mark.parametrize("is_causal", [False, True])
def test_masks_that_hide_whole_rows_give_zeros_and_no_slope(way, shape, is_causal):
    arrays = arrays_of(7, 9)
    mask = np.random.default_rng(1).random(shape) < 0.5
    if shape == (9,):
        mask[:3] = False
    elif shape == (2, 1, 1, 9):
        mask[1] = False
    else:
        mask[..., 0, :] = False
    xs = placeholders(arrays)
    out = K.scaled_dot_product_attention(*xs, mask=mask, is_causal=is_causal)
    f = K.function(xs, [out, *K.gradients(K.sum(K.square(out)), xs)])
    got, *slopes = f(arrays)
    np.testing.assert_allclose(got, reference(*arrays, mask, 0, is_causal), atol=1e-14)
    seen = mask & (np.tri(7, 9, dtype=bool) | (not is_causal))
    hidden = ~np.broadcast_to(seen, (2, 4, 7, 9)).any(-1)
    assert not got[hidden].any() and not slopes[0][hidden].any()
    assert all(np.isfinite(s).all() for s in slopes)


@pytest.mark.parametrize("of_keys", [1, 2, 4])
def test_heads_of_keys_serve_groups_of_heads(way, of_keys):
    arrays = arrays_of(7, 9, of_keys=of_keys)
    mask = np.random.default_rng(2).random((2, 4, 7, 9)) < 0.7
    mask[..., 0] = True
    bias = np.random.default_rng(3).standard_normal((4, 7, 9))
    got, _ = run(arrays, mask=mask, bias=bias)
    wide = [arrays[0], *(np.repeat(a, 4 // of_keys, 1) for a in arrays[1:])]
    np.testing.assert_allclose(got, reference(*wide, mask, bias), atol=1e-14)


@pytest.mark.parametrize("how", [{}, {"is_causal": True}, {"mask": np.eye(5, 6, 1, dtype=bool)}])
def test_gradients_are_those_of_differences(way, how):
    arrays = arrays_of(5, 6, heads=2, of_keys=1)
    xs = placeholders(arrays)
    weight = np.random.default_rng(5).standard_normal((2, 2, 5, 5))
    out = K.sum(K.scaled_dot_product_attention(*xs, **how) * weight)
    f, slopes = K.function(xs, out), K.function(xs, K.gradients(out, xs))(arrays)
    rng = np.random.default_rng(6)
    for which, slope in enumerate(slopes):
        for _ in range(12):
            at, ends = tuple(rng.integers(0, arrays[which].shape)), []
            for step in (1e-5, -1e-5):
                moved = [a.copy() for a in arrays]
                moved[which][at] += step
                ends.append(f(moved))
            assert abs((ends[0] - ends[1]) / 2e-5 - slope[at]) < 1e-8


def test_dropout_keeps_a_part_and_the_same_on_the_way_back(way):
    arrays = arrays_of(40, 50, dtype="float32")
    xs = placeholders(arrays)
    out = K.scaled_dot_product_attention(*xs, dropout=0.25, seed=3)
    ones = K.scaled_dot_product_attention(
        xs[0], xs[1] * 0, K.ones_like(xs[2]), dropout=0.25, seed=3
    )
    f = K.function(xs, [out, ones, *K.gradients(K.sum(out), xs[2:])])
    got, kept, slope = f(arrays)
    assert 0.9 < kept.mean() < 1.1 and kept.std() > 0
    assert abs((slope * arrays[2]).sum() - got.sum()) < 1e-2  # linear in the values
    print(f.steps(), f.explain())
    assert any("attention" in s for s in f.steps()) == (way == "by blocks")


def test_batches_of_it_are_a_jacobian(way):
    arrays = [a[0, 0] for a in arrays_of(3, 4, d=2, e=2)]
    xs = [K.placeholder(shape=a.shape, dtype="float64") for a in arrays]
    out = K.scaled_dot_product_attention(*xs)
    got = K.function(xs, K.jacobian(out, xs[0]))(arrays)
    one = K.function(xs, K.gradients(out[1, 0], xs[:1]))(arrays)[0]
    np.testing.assert_allclose(got[1, 0], one, atol=1e-13)


def test_integers_and_one_matrix():
    q = np.array([[1, 0], [0, 1]])
    got = K.scaled_dot_product_attention(q, q, q).eval()
    np.testing.assert_allclose(got, reference(q, q, q), atol=1e-6)


def test_arguments_that_do_not_fit():
    q, k, v = (K.placeholder(shape=s) for s in ((2, 3, 4), (2, 5, 4), (2, 5, 6)))
    with pytest.raises(ShapeError, match="widths of query and key differ"):
        K.scaled_dot_product_attention(q, v, v)
    with pytest.raises(ShapeError, match="lengths of key and value differ"):
        K.scaled_dot_product_attention(q, k, q)
    with pytest.raises(ShapeError, match="needs a query"):
        K.scaled_dot_product_attention(K.placeholder(shape=(3,)), k, v)
    with pytest.raises(DTypeError, match="bool"):
        K.scaled_dot_product_attention(q, k, v, mask=K.placeholder(shape=(3, 5)))
    with pytest.raises(ArgumentError, match="is_causal"):
        K.scaled_dot_product_attention(q, k, v, is_causal="yes")
    with pytest.raises(ArgumentError, match="dropout"):
        K.scaled_dot_product_attention(q, k, v, dropout=1.5)
