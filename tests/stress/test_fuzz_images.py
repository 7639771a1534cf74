"""Random shapes and damaged data, compiled, against the oracles: what one refuses the other does.

Convolutions of all kinds, transposed and unshared ones, resizing, CTC and sparse rows; `make
sanitize` runs the short form under AddressSanitizer and UBSan. Convolutions and pools against
loops are in test_conv_shapes.py.
"""

import numpy as np
import pytest

import ckernels as K
from ckernels import ops
from ckernels.autodiff import reverse
from ckernels.base.errors import CKernelsError
from ckernels.ops import ctc, sparse, sparseproduct
from ckernels.runtime.function import make_function

LONG = 600
FORMATS = ("channels_last", "channels_first")
TOLERANCE = {"float16": 2e-2, "float32": 1e-3, "float64": 1e-9}


def leaf(array, known=False):
    """A placeholder for an array, of open shape or its own."""
    shape = array.shape if known else (None,) * array.ndim
    return K.placeholder(shape, dtype=array.dtype.name).node


def outcome(leaves, outputs, arrays, mode):
    """Arrays, or the class of the error."""
    try:
        function = make_function(leaves, outputs, mode=mode, positional_only=True, downcast=False)
        return function(*arrays)
    except CKernelsError as problem:
        return type(problem)


def agree(build, arrays, slopes=(), known=False, faults=1):
    """build(*leaves) and the gradients of its first result by the leaves `slopes`, both ways.

    faults: how many of the operands may be wrong; of several either way may report another one.
    """
    leaves = [leaf(a, known) for a in arrays]
    try:
        outputs = build(*leaves)
    except CKernelsError:
        return False
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    if slopes:
        total = ops.sum(ops.cast(ops.square(outputs[0]), "float64"))
        outputs += reverse.grad(total, [leaves[k] for k in slopes])
    want, got = (outcome(leaves, outputs, arrays, mode) for mode in ("reference", "compiled"))
    if isinstance(want, type) or isinstance(got, type):
        both = isinstance(want, type) and isinstance(got, type)
        assert want == got or both and faults > 1, (want, got)
        return False
    for a, b in zip(got, want):
        assert a.shape == b.shape and a.dtype == b.dtype
        rtol = TOLERANCE.get(a.dtype.name, 0)
        scale = np.abs(b[np.isfinite(b)]).max(initial=0) if rtol else 0
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * (1 + scale))
    return True


# ---- images -------------------------------------------------------------------------------------


def some(rng, *shape, dtype):
    return rng.normal(size=shape).astype(dtype)


def padding(rng, n):
    words = ["valid", "same", "full", "half", "causal"]
    kinds = [str(rng.choice(words)), int(rng.integers(3)), tuple(map(int, rng.integers(0, 4, 2)))]
    return tuple(kinds[rng.integers(3)] for _ in range(n))


def geometry(rng):
    """(axes, batch, sizes of an image, of a kernel, dtype)"""
    n = int(rng.integers(1, 4))
    sizes = tuple(map(int, rng.integers(0, (14, 9, 6)[n - 1], n)))
    kernel = tuple(map(int, rng.integers(1, 5, n)))
    dtype = str(rng.choice(["float32", "float32", "float64", "float16"]))
    return n, int(rng.integers(0, 4)), sizes, kernel, dtype


def turned(x, data_format):
    return x if data_format == "channels_last" else np.ascontiguousarray(np.moveaxis(x, -1, 1))


def convolution(rng):
    n, batch, sizes, kernel, dtype = geometry(rng)
    groups = int(rng.choice([1, 1, 2, 3, 8]))
    each, out = int(rng.integers(1, 3)), groups * int(rng.integers(1, 4))
    form = str(rng.choice(FORMATS))
    options = {
        "strides": tuple(map(int, rng.integers(1, 4, n))),
        "padding": padding(rng, n),
        "dilation_rate": tuple(map(int, rng.integers(1, 4, n))),
        "groups": groups,
        "data_format": form,
        "flip": bool(rng.integers(2)),
    }
    x = turned(some(rng, batch, *sizes, groups * each, dtype=dtype), form)
    w = some(rng, *kernel, each, out, dtype=dtype)
    if rng.random() < 0.3:
        options.pop("padding")
        x = turned(some(rng, batch, *sizes, out, dtype=dtype), form)
        return agree(
            lambda a, b: K.conv_transpose(K.Tensor(a), K.Tensor(b), **options).node, [x, w], (0, 1)
        )
    return agree(lambda a, b: K.conv(K.Tensor(a), K.Tensor(b), **options).node, [x, w], (0, 1))


def depthwise(rng):
    _, batch, sizes, kernel, dtype = geometry(rng)
    sizes, kernel = (*sizes, 7, 5)[:2], (*kernel, 2, 3)[:2]
    channels, many = int(rng.integers(1, 40)), int(rng.integers(1, 4))
    form, padded = str(rng.choice(FORMATS)), str(rng.choice(["same", "valid"]))
    strides, dilation = (int(rng.integers(1, 4)) for _ in range(2))
    x = turned(some(rng, batch, *sizes, channels, dtype=dtype), form)
    w = some(rng, *kernel, channels, many, dtype=dtype)
    return agree(
        lambda a, b: (
            K.depthwise_conv2d(K.Tensor(a), K.Tensor(b), strides, padded, form, dilation).node
        ),
        [x, w],
        (0, 1),
        known=True,
    )


def local(rng):
    n, batch, sizes, kernel, dtype = geometry(rng)
    n, strides = min(n, 2), tuple(map(int, rng.integers(1, 4, n)))[:2]
    sizes, kernel = sizes[:n], kernel[:n]
    results = tuple(max(0, (s - k) // t + 1) for s, k, t in zip(sizes, kernel, strides))
    form = str(rng.choice(FORMATS))
    x = turned(some(rng, batch, *sizes, 2, dtype=dtype), form)
    w = some(rng, int(np.prod(results)), 2 * int(np.prod(kernel)), 3, dtype=dtype)
    if n == 1:
        return agree(
            lambda a, b: K.local_conv1d(K.Tensor(a), K.Tensor(b), kernel, strides, form).node,
            [x, w],
            (0, 1),
        )
    return agree(
        lambda a, b: K.local_conv2d(K.Tensor(a), K.Tensor(b), kernel, strides, results, form).node,
        [x, w],
        (0, 1),
    )


def resizing(rng):
    _, batch, sizes, _, dtype = geometry(rng)
    form, how = str(rng.choice(FORMATS)), str(rng.choice(["nearest", "bilinear"]))
    up, across = (int(rng.integers(1, 6)) for _ in range(2))
    x = turned(some(rng, batch, *(*sizes, 3, 2)[:2], int(rng.integers(0, 20)), dtype=dtype), form)
    return agree(lambda a: K.resize_images(K.Tensor(a), up, across, form, how).node, [x], (0,))


# ---- CTC ----------------------------------------------------------------------------------------


def connectionist(rng):
    """Lengths, labels and probabilities of which some make no sense."""
    n, steps, classes, most = (
        int(rng.integers(low, high)) for low, high in ((0, 5), (0, 9), (1, 6), (0, 5))
    )
    dtype = str(rng.choice(["float32", "float64"]))
    y = rng.dirichlet(np.ones(classes), (n, steps)).reshape(n, steps, classes).astype(dtype)
    wild = rng.random() < 0.3
    labels = rng.integers(-1 if wild else 0, classes + wild, (n, most))
    used = rng.integers(-1 if wild else 0, steps + 1 + wild, n)
    held = rng.integers(-1 if wild else 0, most + 1 + wild, n)
    if rng.random() < 0.5 and not wild:
        held = np.minimum(held, np.maximum(used // 2, 0))
    if rng.random() < 0.1 and y.size:
        y.flat[rng.integers(y.size)] = rng.choice([np.nan, np.inf, -1, 0])
    blank = int(rng.integers(-1, classes))
    agree(
        lambda p, a, b, c: ops.cast(ctc.ctc_cost(p, a, b, c, blank=blank, epsilon=1e-7), "float64"),
        [y, labels, used, held],
        (0,),
    )
    agree(lambda a, b: list(ctc.ctc_collapse(a, b)), [labels, held])
    width = int(rng.integers(1, 6))
    paths = int(rng.integers(1, width + 1))
    if np.isfinite(y).all():
        agree(lambda p, b: list(ctc.ctc_beam(p, b, width, paths, 1e-7)), [y, used])
    return True


# ---- sparse -------------------------------------------------------------------------------------


def rows_of(rng, rows, columns, dtype, damaged):
    """(data, indices, indptr, extent), indices in any order and twice, with padding behind."""
    held = rng.integers(0, 5, rows) if columns else np.zeros(rows, int)
    indptr = np.append(0, held.cumsum())
    count = int(indptr[-1]) + int(rng.integers(0, 3))
    kind = str(rng.choice(["int32", "int64"]))
    indices = rng.integers(0, max(columns, 1), count)
    if damaged and count:
        indices[rng.integers(count)] = rng.choice([-1, columns, 2**31 - 1, -(2**31)])
    if rng.random() < 0.5 and damaged:
        indptr[rng.integers(len(indptr))] += rng.choice([-3, -1, 1, 3, 2**31 - 9])
        indptr = np.clip(indptr, -(2**31), 2**31 - 1)
    if rng.random() < 0.2 and damaged:
        indptr = indptr[:-1]
    data = (4 * some(rng, count, dtype="float64")).astype(dtype)
    return data, indices.astype(kind), indptr.astype(kind), np.empty((rows, columns, 0), bool)


def compressed(rng):
    m, k, n = (int(rng.integers(0, 9)) for _ in range(3))
    dtype = str(rng.choice(["float32", "float64", "float16", "int32"]))
    broken = rng.random(2) < 0.25
    a, b = rows_of(rng, m, k, dtype, broken[0]), rows_of(rng, k, n, dtype, broken[1])
    y, z = ((4 * some(rng, s, n, dtype="float64")).astype(dtype) for s in (k, m))
    slopes = (0, 4) if dtype.startswith("float") else ()
    agree(sparse.csr_dot, [*a, y], slopes)
    agree(lambda *p: sparse.csr_dot(*p, back=True), [*a, z], slopes)
    agree(sparse.csr_sample, [*a[1:], z, y])
    agree(sparse.csr_dense, a, slopes[:1])
    agree(lambda *p: [sparse.csr_rows(*p), *sparse.csr_order(*p)], a[1:])
    agree(lambda *p: list(sparse.csr_merge(*p)), a[1:])
    both = [*a[1:], *b[1:]]
    agree(lambda *p: list(sparseproduct.csr_product_places(p[:3], p[3:])), both, faults=sum(broken))
    broken = [*broken, rng.random() < 0.1]
    third = [*a, *b, *rows_of(rng, m, n, dtype, broken[2])[1:]]

    def product(*p):
        return sparseproduct.csr_product(p[:4], p[4:8], p[8:])

    agree(product, third, slopes, faults=sum(broken))
    return True


KINDS = {convolution: 60, depthwise: 30, local: 30, resizing: 30, connectionist: 40, compressed: 16}


def run(check, seeds):
    with K.config.change(on_unused_input="ignore"):
        done = 0
        for seed in seeds:
            try:
                done += check(np.random.default_rng(seed))
            except BaseException:
                print(check.__name__, "seed", seed)
                raise
        print(check.__name__, done, "of", len(seeds))
        assert done > len(seeds) // 4  # the rest are errors in both


@pytest.mark.sampled(0)
@pytest.mark.parametrize("check", KINDS, ids=lambda check: check.__name__)
def test_fuzz(check):
    run(check, range(KINDS[check]))


@pytest.mark.slow
@pytest.mark.parametrize("check", KINDS, ids=lambda check: check.__name__)
def test_long_fuzz(check):
    run(check, range(KINDS[check], LONG))
