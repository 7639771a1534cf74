"""ck_gemm against NumPy: shapes, strides, transposes, alpha and beta, batches, epilogues, threads.

Runs everything twice: with the OpenBLAS inside NumPy's wheel and with the built-in gemm.
"""

import glob
import os
import threading

import numpy as np
import pytest
from codegen.pages import guarded

from src import native
from src.native import bits, dims, ffi, pointers

NUMPY_BLAS = glob.glob(os.path.join(os.path.dirname(np.__file__), "..", "numpy.libs", "*openblas*"))
LIBRARIES = ["builtin"] + [os.path.abspath(p) for p in NUMPY_BLAS[:1]]


@pytest.fixture(params=LIBRARIES, ids=os.path.basename)
def lib(request):
    library = native.load()
    assert library.ck_blas_use(request.param.encode()) == 0
    yield library
    library.ck_set_num_threads(0)
    library.ck_blas_use(ffi.NULL)


NORMAL = np.random.default_rng(0).standard_normal(1_400_003)  # drawing takes longer than products


def stored(rng, batch, rows, cols, dtype, pad):
    """A batch of matrices with `pad` unused elements after each row, and the view without them."""
    shape = batch, rows, cols + pad
    places = np.arange(np.prod(shape)).reshape(shape) + rng.integers(NORMAL.size)
    whole = NORMAL.take(places, mode="wrap").astype(dtype)
    return whole, whole[:, :, :cols]


def multiply(
    lib,
    rng,
    m,
    n,
    k,
    dtype,
    ta=0,
    tb=0,
    alpha=1.0,
    beta=0.0,
    batch=1,
    pad=0,
    shared=(),
    epilogue=False,
):
    """Run ck_gemm on random data: (C, expected C, counts of the epilogue, unused C intact)."""
    a, av = stored(rng, 1 if "a" in shared else batch, *((k, m) if ta else (m, k)), dtype, pad)
    b, bv = stored(rng, 1 if "b" in shared else batch, *((n, k) if tb else (k, n)), dtype, pad)
    c, cv = stored(rng, batch, m, n, dtype, pad)
    if beta == 0:
        cv[...] = np.nan
    before, counts = c.copy(), np.zeros(batch * m + 1, np.int64)
    bias = rng.standard_normal(n + 1).astype(np.float32)
    op_a = (av.swapaxes(1, 2) if ta else av).astype(np.float64)
    op_b = (bv.swapaxes(1, 2) if tb else bv).astype(np.float64)
    want = alpha * (op_a @ op_b) + np.zeros((batch, 1, 1))
    if beta != 0:
        want = want + beta * cv.astype(np.float64)
    strides = [
        0 if name in shared else x.shape[1] * x.shape[2] for name, x in zip("abc", (a, b, c))
    ]
    lds = [x.shape[2] for x in (a, b, c)]
    d = dims(
        int(dtype == np.float64),
        m,
        n,
        k,
        ta,
        tb,
        *lds,
        bits(alpha),
        bits(beta),
        batch,
        *strides,
        1,
        n,
        c.shape[2],
    )
    wants_relu = epilogue and dtype == np.float32
    p = pointers(a, b, c, counts, c if wants_relu else None, bias)
    assert lib.ck_gemm(p, d, lib.epilogue if epilogue else ffi.NULL) == 0
    if wants_relu:
        want = np.maximum(want + bias[:n], 0)
    intact = np.array_equal(c[:, :, n:], before[:, :, n:])
    return cv, want, counts[: batch * m], intact


def check(c, want, k, dtype):
    """Rounding of a k-term sum of standard normals: |error| <= k eps |a||b|."""
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(c, want, rtol=32 * eps, atol=32 * eps * (k + 1))


SHAPES = [
    (0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 1, 1), (1, 1, 0), (2, 3, 4), (5, 7, 3), (1, 17, 33),
    (17, 1, 33), (1, 513, 300), (513, 1, 300), (12, 32, 256), (13, 33, 257), (11, 31, 255),
    (6, 10, 64), (24, 24, 24), (25, 129, 40), (64, 64, 64), (65, 130, 300), (193, 70, 19),
    (100, 100, 100), (200, 520, 90), (3, 2100, 70), (700, 5, 300), (16, 1, 1), (1, 16, 1),
    (300, 300, 1), (90, 2, 200), (200, 3, 130), (9, 1100, 530), (16, 140, 4000), (11, 1, 7001),
    (1, 7001, 11), (37, 2, 3), (64, 3, 20), (33, 4, 40), (70, 5, 10), (130, 6, 33), (100, 7, 31),
    (90, 8, 21), (15, 2, 50), (530, 2, 33), (1030, 3, 17), (48, 4, 350), (7, 3, 64), (2, 8, 5),
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ta,tb", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_shapes_and_transposes(lib, dtype, ta, tb):
    """All ways of small ones; of large ones another way for each transpose."""
    rng, ways = np.random.default_rng(0), ((0, 1.0, 0.0), (3, -0.5, 1.0), (1, 2.0, 0.75))
    for at, (m, n, k) in enumerate(SHAPES):
        one = (at + ta + 2 * tb) % 3
        for pad, alpha, beta in ways if m * n * k < 100_000 else ways[one : one + 1]:
            c, want, _, intact = multiply(lib, rng, m, n, k, dtype, ta, tb, alpha, beta, pad=pad)
            assert intact, (m, n, k)
            check(c, want, k, dtype)


@pytest.mark.sampled(0)
@pytest.mark.parametrize("level", [0, 1])
def test_kernels_of_lesser_cpus(tmp_path, level):
    lesser = ffi.dlopen(native.build_for(level, tmp_path))
    assert lesser.ck_blas_use(b"builtin") == 0
    for dtype in (np.float32, np.float64):
        for ta in (0, 1):  # operands are packed by the same code for both
            test_shapes_and_transposes(lesser, dtype, ta, ta ^ (dtype == np.float32))
        for turned in (False, True):
            test_thin_matrix_by_a_vector(lesser, dtype, turned)
            test_few_columns(lesser, dtype, turned, 1 - turned)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shared", [(), ("a",), ("b",), ("a", "b")])
def test_batches(lib, dtype, shared):
    rng = np.random.default_rng(1)
    for batch, m, n, k in (
        (0, 2, 3, 4),
        (1, 3, 4, 5),
        (7, 5, 6, 4),
        (300, 8, 8, 8),
        (3, 120, 130, 64),
        (2, 1, 300, 40),
        (5, 6, 7, 0),
        (70, 64, 200, 64),
    ):
        for pad in (0, 2):
            c, want, counts, intact = multiply(
                lib,
                rng,
                m,
                n,
                k,
                dtype,
                beta=0.5 if pad else 0.0,
                batch=batch,
                pad=pad,
                shared=shared,
                epilogue=True,
            )
            assert intact and (counts == 1).all()
            check(c, want, k, dtype)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_epilogue_sees_final_rows_once(lib, threads):
    lib.ck_set_num_threads(threads)
    rng = np.random.default_rng(2)
    more = (400, 600, 200), (30, 4000, 100), (2000, 40, 64), (513, 257, 129), (700, 450, 400)
    for m, n, k in (*SHAPES, *more):
        c, want, counts, intact = multiply(lib, rng, m, n, k, np.float32, epilogue=True, pad=1)
        assert intact and (counts == 1).all(), (m, n, k)
        check(c, want, k, np.float32)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_for_any_number_of_threads(lib, dtype):
    for m, n, k in (
        (96, 96, 96),
        (130, 140, 150),
        (300, 300, 300),
        (40, 3000, 64),
        (3000, 17, 64),
        (1, 4000, 300),
        (4000, 1, 300),
        (300, 1, 5000),  # parts of a row
        (1, 128, 3000),  # columns in panels
        (1, 200, 3000),
        (1, 331, 2000),
        (3000, 3, 200),  # few columns
        (9001, 2, 200),
        (20011, 4, 9),
        (30001, 7, 20),
        (8, 2000, 600),  # thin
        (13, 515, 1030),
        (515, 513, 260),
        (700, 450, 400),  # B is packed by the team
    ):
        results = []
        for threads in (1, 2, 3, 5):
            lib.ck_set_num_threads(threads)
            results.append(multiply(lib, np.random.default_rng(3), m, n, k, dtype)[0].tobytes())
        assert len(set(results)) == 1, (m, n, k)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("turned", [0, 1])
def test_a_matrix_by_its_own_transpose(lib, dtype, turned):
    """One half of the result is the other; the epilogue sees each row once, when it is whole."""
    for m, k in ((71, 70), (72, 64), (72, 63), (100, 500), (191, 70), (250, 300), (500, 600)):
        rows, cols = (k, m) if turned else (m, k)
        a, view = stored(np.random.default_rng(5), 1, rows, cols, dtype, 3)
        x = view[0].astype(np.float64)
        want, results = x.T @ x if turned else x @ x.T, []
        for threads in (1, 2, 3):
            lib.ck_set_num_threads(threads)
            c, cv = stored(np.random.default_rng(6), 1, m, m, dtype, 2)
            beside, counts = c[:, :, m:].copy(), np.zeros(m + 1, np.int64)
            ld, one, double = cols + 3, bits(1.0), int(dtype == np.float64)
            d = dims(double, m, m, k, turned, 1 - turned, ld, ld, m + 2, one, bits(0.0), 1,
                     0, 0, 0, 1, m, m + 2)  # fmt: skip
            p = pointers(a, a, c, counts, None, None)
            assert lib.ck_gemm(p, d, lib.epilogue) == 0
            assert (counts[:m] == 1).all() and np.array_equal(c[:, :, m:], beside)
            check(cv[0], want, k, dtype)
            results.append(cv.tobytes())
        assert len(set(results)) == 1
        assert m == 71 or k == 63 or np.array_equal(cv[0], cv[0].T)


def vector_product(lib, a, x, turned, ld):
    """a @ x, or x @ a, of rows `ld` apart among NaN; memory ends with the matrix."""
    rows, cols = a.shape
    whole = np.full((rows - 1) * ld + cols, np.nan, a.dtype)
    np.lib.stride_tricks.as_strided(whole, a.shape, (ld * a.itemsize, a.itemsize))[...] = a
    out = np.full(cols if turned else rows, np.nan, a.dtype)
    m, n, k = (1, cols, rows) if turned else (rows, 1, cols)
    lds = (rows, ld, cols) if turned else (ld, 1, 1)
    d = dims(int(a.dtype == np.float64), m, n, k, 0, 0, *lds, bits(1.0), bits(0.0), 1, 0, 0, 0, 1,
             n, n)  # fmt: skip
    given = (x, whole) if turned else (whole, x)
    assert lib.ck_gemm(pointers(*given, out, None, None, None), d, ffi.NULL) == 0
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("turned", [False, True])
def test_thin_matrix_by_a_vector(lib, dtype, turned):
    """Nothing comes from beside a row; a sum is the same, whichever rows and paddings are there."""
    rng = np.random.default_rng(8)
    for rows in (2, 3, 5, 8, 9, 15, 16, 17, 33, 70):
        for cols in (2, 3, 4, 7, 8, 9, 15, 16, 17, 20, 31, 33, 64, 65, 129, 140, 600):
            a = rng.standard_normal((rows, cols)).astype(dtype)
            x = rng.standard_normal(rows if turned else cols).astype(dtype)
            a[rng.integers(rows), rng.integers(cols)] = rng.choice([np.nan, np.inf, 1])
            got = vector_product(lib, a, x, turned, cols)
            with np.errstate(invalid="ignore"):
                want = (a.T if turned else a).astype(np.float64) @ x
            check(got, want, len(x), dtype)
            assert np.array_equal(got, vector_product(lib, a, x, turned, cols + 3), equal_nan=True)
            if not turned:
                half = vector_product(lib, a[: rows // 2], x, turned, cols)
                assert np.array_equal(got[: rows // 2], half, equal_nan=True)


def few_columns(lib, a, b, ta, tb, pad):
    """a @ b of few columns from memory that ends with the matrices, rows `pad` apart among NaN."""

    def guarded_rows(x, pad):
        rows, cols = x.shape
        whole = guarded(np.full((rows - 1) * (cols + pad) + cols, np.nan, x.dtype))
        strides = ((cols + pad) * x.itemsize, x.itemsize)
        np.lib.stride_tricks.as_strided(whole, x.shape, strides)[...] = x
        return whole, cols + pad

    (m, k), n = a.shape, b.shape[1]
    stored_a, lda = guarded_rows(a.T if ta else a, pad)
    stored_b, ldb = guarded_rows(b.T if tb else b, pad)
    out = guarded(np.full((m, n), np.nan, a.dtype))
    d = dims(int(a.dtype == np.float64), m, n, k, ta, tb, lda, ldb, n, bits(1.0), bits(0.0), 1,
             0, 0, 0, 1, n, n)  # fmt: skip
    assert lib.ck_gemm(pointers(stored_a, stored_b, out, None, None, None), d, ffi.NULL) == 0
    return np.array(out)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ta,tb", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_few_columns(lib, dtype, ta, tb):
    """A sum is the same whichever rows, columns of zeros and paddings come with it; nothing is read
    or written beyond the matrices. (A library has its own ways for few rows.)"""
    assert lib.ck_blas_use(b"builtin") == 0
    rng = np.random.default_rng(9)
    for n in range(2, 9):
        for m in (2, 5, 15, 16, 17, 47, 65, 131):
            for k in (1, 2, 3, 7, 16, 17, 31, 32, 33, 47, 64, 130):
                a = rng.standard_normal((m, k)).astype(dtype)
                b = rng.standard_normal((k, n)).astype(dtype)
                a[rng.integers(m), rng.integers(k)] = rng.choice([np.nan, np.inf, 1])
                got = few_columns(lib, a, b, ta, tb, 0)
                with np.errstate(invalid="ignore"):
                    check(got, a.astype(np.float64) @ b.astype(np.float64), k, dtype)
                assert np.array_equal(got, few_columns(lib, a, b, ta, tb, 3), equal_nan=True)
                if m > 3:
                    half = few_columns(lib, a[: m // 2], b, ta, tb, 0)
                    assert np.array_equal(got[: m // 2], half, equal_nan=True)


def test_same_bits_in_a_batch(lib):
    results = []
    for threads in (1, 2, 3):
        lib.ck_set_num_threads(threads)
        rng = np.random.default_rng(3)
        results.append(multiply(lib, rng, 40, 50, 60, np.float32, batch=40)[0].tobytes())
    assert len(set(results)) == 1


def test_error_of_the_epilogue_comes_back(lib):
    c = np.zeros((300, 300), np.float32)
    d = dims(0, 300, 300, 300, 0, 0, 300, 300, 300, bits(1.0), bits(0.0), 1, 0, 0, 0, 1, 299, 2)
    for threads in (1, 2):
        lib.ck_set_num_threads(threads)
        assert lib.ck_gemm(pointers(c, c.copy(), c.copy()), d, lib.fail_at) == 2


def test_unit_scales_the_range_of_the_epilogue(lib):
    """With unit = n the epilogue gets elements, not rows."""
    a, b, c = (np.ones((5, 5), np.float32) for _ in range(3))
    counts = np.zeros(25, np.int64)
    d = dims(0, 5, 5, 5, 0, 0, 5, 5, 5, bits(1.0), bits(0.0), 1, 0, 0, 0, 5, 0, 0)
    assert lib.ck_gemm(pointers(a, b, c, counts, None, None), d, lib.epilogue) == 0
    assert (counts == 1).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 2, 13, 40])
def test_nan_and_inf_go_where_arithmetic_sends_them(lib, dtype, size):
    a, b = np.ones((size, size), dtype), np.ones((size, size), dtype)
    a[0, 0], b[-1, -1] = np.nan, np.inf
    c = np.full((size, size), np.nan, dtype)
    d = dims(
        int(dtype == np.float64),
        size,
        size,
        size,
        0,
        0,
        size,
        size,
        size,
        bits(1.0),
        bits(0.0),
        1,
        0,
        0,
        0,
        1,
    )
    assert lib.ck_gemm(pointers(a, b, c), d, ffi.NULL) == 0
    np.testing.assert_array_equal(c, a @ b)


def test_zero_strides_of_single_rows(lib):
    """A broadcast or one-row operand may come with a leading dimension BLAS would refuse."""
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((1, 6)), rng.standard_normal((6, 4))
    c = np.zeros((3, 4))
    d = dims(1, 3, 4, 6, 0, 0, 0, 4, 4, bits(1.0), bits(0.0), 1, 0, 0, 0, 1)  # lda = 0: equal rows
    assert lib.ck_gemm(pointers(a, b, c), d, ffi.NULL) == 0
    np.testing.assert_allclose(c, np.repeat(a, 3, 0) @ b, rtol=1e-12)


def test_many_callers(lib):
    bad = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for m, n, k in ((64, 64, 64), (150, 150, 150), (5, 300, 40)) * 5:
            c, want, counts, _ = multiply(lib, rng, m, n, k, np.float32, epilogue=True)
            if (counts != 1).any() or not np.allclose(c, want, atol=1e-3):
                bad.append((m, n, k))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not bad


@pytest.mark.parametrize("lib", ["builtin"], indirect=True)
def test_room_for_packed_operands_is_kept(lib):
    """Less than a megabyte too: the C library may be told to give it back after each product.
    More rows and terms than any CPU's tiles read where they lie."""
    lib.ck_set_num_threads(1)
    lib.ck_pool_trim()
    multiply(lib, np.random.default_rng(1), 1000, 260, 400, "float32")
    kept = lib.ck_pool_bytes()
    multiply(lib, np.random.default_rng(1), 1000, 260, 400, "float32")
    assert 1 << 17 <= kept < 1 << 20 and lib.ck_pool_bytes() == kept
    lib.ck_pool_trim()


def test_library_choice():
    lib = native.load()
    assert lib.ck_blas_use(b"/no/such/library.so") == 4
    assert lib.ck_blas_use(b"libm.so.6") == 4  # a library without gemm
    lib.ck_blas_use(b"builtin")
    assert native.text(lib.ck_blas_name).startswith("builtin")
    lib.ck_blas_use(ffi.NULL)
    show = "print(native.text(lib.ck_blas_name))"
    assert native.in_python(show, {"CKERNELS_BLAS": "builtin"}).startswith("builtin")
    if NUMPY_BLAS:
        named = {"CKERNELS_BLAS": os.path.abspath(NUMPY_BLAS[0])}
        assert "openblas" in native.in_python(show, named)


@pytest.mark.skipif(not NUMPY_BLAS, reason="this NumPy brings no OpenBLAS")
def test_the_users_blas_threads_are_put_back():
    """NumPy's OpenBLAS runs our panels on one thread each; then it has its own number again."""
    import ctypes

    blas = ctypes.CDLL(NUMPY_BLAS[0])
    names = [f"scipy_openblas_{{}}_num_threads{end}" for end in ("64_", "")]
    name = next((n for n in names if hasattr(blas, n.format("get"))), None)
    if name is None:
        pytest.skip("an OpenBLAS with other names")
    get, put = getattr(blas, name.format("get")), getattr(blas, name.format("set"))
    lib, before = native.load(), get()
    lib.ck_blas_use(os.path.abspath(NUMPY_BLAS[0]).encode())
    try:
        put(2)
        for m in (10, 200):
            multiply(lib, np.random.default_rng(5), m, m, m, np.float32)
            assert get() == 2
    finally:
        put(before)
        lib.ck_blas_use(ffi.NULL)


FORK = """
from src.gemm.test_gemm import multiply, check
lib.ck_set_num_threads(2)
def go():
    c, want, _, _ = multiply(lib, np.random.default_rng(0), 200, 200, 200, np.float32)
    check(c, want, 200, np.float32)
go()
for _ in range(5):
    pid = os.fork()
    if pid == 0:
        go()
        np.ones((300, 300)) @ np.ones((300, 300))
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    go()
"""


@pytest.mark.sampled(0)
@pytest.mark.parametrize("library", LIBRARIES, ids=os.path.basename)
def test_gemm_after_fork(library):
    native.in_python(FORK, {"CKERNELS_BLAS": library}, timeout=240)


@pytest.mark.skipif(not NUMPY_BLAS, reason="this NumPy brings no OpenBLAS")
def test_few_columns_of_a_transposed_matrix_are_built_in_with_avx2():
    """The library that was found gets what it is faster at, to the bit what it does when named: on
    AMD's CPUs products of fewer than 8 rows."""
    lib = native.load()
    few = "from 8 rows on" in native.text(lib.ck_blas_name)
    near = [(np.float32, 8, 12, 1), (np.float32, 3, 3, 1), (np.float32, 17, 16, 1),
            (np.float32, 8, 8, 0), (np.float64, 5, 8, 1), (np.float64, 4, 72, 1),
            (np.float64, 2, 2, 1)]  # fmt: skip
    made = [(np.float32, 8, 8, 1), (np.float32, 3, 6, 1), (np.float32, 16, 64, 1),
            (np.float64, 4, 3, 1), (np.float64, 16, 16, 1)]  # fmt: skip
    for cases, other in ((near, LIBRARIES[1]), (made, "builtin")):
        for dtype, m, n, ta in cases:
            results = []
            best = "builtin" if few and m >= 8 else other
            for name, threads in ((best.encode(), 1), (ffi.NULL, 1), (ffi.NULL, 3)):
                assert lib.ck_blas_use(name) == 0
                lib.ck_set_num_threads(threads)
                c, want, _, _ = multiply(lib, np.random.default_rng(3), m, n, 700, dtype, ta)
                check(c, want, 700, dtype)
                results.append(c.tobytes())
            lib.ck_set_num_threads(0)
            lib.ck_blas_use(ffi.NULL)
            assert results[1] == results[2]
            assert results[0] == results[1] or lib.ck_simd() != 1, (dtype, m, n)
