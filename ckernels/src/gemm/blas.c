/* blas.c: which BLAS does the gemms: a table of function pointers filled at the first use.

   Order: what ck_blas_use() named, CKERNELS_BLAS, the hint (scipy-openblas32), an OpenBLAS
   already in the process (NumPy's wheel brings one), system libraries, the built-in gemm.
   Nothing links against BLAS. A library is trusted only after a small gemm gave the right
   numbers. Each call runs on the calling thread alone: parallelism is gemm.c's business, and
   two pools of spinning threads cost more than either gains.

   A library that was not named must also be faster than the built-in gemm. Reference BLAS
   (libblas.so.3) never is. OpenBLAS runs its AVX2 kernels on AMD's CPUs; there the built-in
   AVX-512 gemm is 1.9 times as fast (Zen 5, 1024^3 float32, one thread: 210 against 117
   GFLOP/s). Where it runs those for Intel's AVX-512, the built-in gemm is still 1.0 to 2 times as
   fast, but for products of few rows: (m, 512) @ (512, 128), us, built in and OpenBLAS: m = 4: 3.9
   and 3.1; 8: 5.0, 5.9; 32: 19, 32; 400: 248, 333; by a transposed matrix 8: 11.3, 5.8; 16: 17,
   12; 32: 26, 48; (16, 128) @ (512, 128)^T 16, 36. On Sapphire Rapids the same: float32, one
   thread, GFLOP/s built in and OpenBLAS, 1024^3 89 and 60, (128, 784) @ (784, 512) 104 and 72, 512^3
   84 and 66, (32768, 64) @ (64, 128) 67 and 57, (16, 512) @ (512, 512) 63 and 63; but OpenBLAS has
   kernels for small products, us: 64^3 7.6 and 6.8, 80^3 13.7 and 12.2, (32, 64) @ (64, 128) 8.1
   and 7.4, by a transposed matrix 64^3 8.7 and 11.9. With AVX2 on AMD's (Zen 4 that hides
   AVX-512), one thread, 260 shapes of 8 to 5,000 each, NN, NT, TN, TT, the built-in gemm takes 0.945
   of OpenBLAS's time in the mean (float32) and 0.892 (float64), small products 0.90 and 0.86; the
   worst (24, 256) @ (256, 50) TN 1.32, (8, 5000) @ (5000, 50) 1.28, (5000, 2048) @ (2048, 50) TT 1.16
   and 1.24. Besides, OpenBLAS loses 4 to 12 % in panels, each of which packs both matrices. */
#include "ckernels.h"
#include "simd/simd.h"
#include "system/system.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GEMM(real, integer)                                                                      \
    void (*)(int, int, int, integer, integer, integer, real, const real *, integer, const real *, \
             integer, real, real *, integer)

enum { SMALL = 700000 };              /* multiply-adds: products of fewer are never cut */

struct ck_blas {
    void *sgemm, *dgemm;              /* NULL: built-in */
    int wide;                         /* its integers have 64 bits */
    int (*get_threads)(void);         /* NULL: it is our own copy, set to one thread for good */
    void (*set_threads)(int);
    int (*set_local)(int);            /* for the calling thread only, returns the old number */
    int few;                          /* only for products of few rows */
    int small;                        /* and for small ones */
    int reads_turned;                 /* the built-in gemm is faster where it reads A^T as it lies */
    char name[256], core[32];         /* core: the CPU OpenBLAS chose kernels for */
};

static const ck_blas builtin;
static _Atomic(const ck_blas *) current;
static ck_mutex resolving = CK_MUTEX;
static char *hint;

/* ---- looking up symbols ---- */

static const char *const prefixes[] = {"scipy_", ""}, *const suffixes[] = {"64_", ""};

/* <prefix>name<suffix>; openblas_get_num_threads64_ and the like carry both, too. */
static void *symbol(void *lib, const char *prefix, const char *name, const char *suffix)
{
    char text[128];
    snprintf(text, sizeof text, "%s%s%s", prefix, name, suffix);
    return ck_symbol(lib, text);
}

static void *any_symbol(void *lib, const char *name)
{
    void *found = NULL;
    for (int i = 0; i < 4 && !found; i++)
        found = symbol(lib, prefixes[i / 2], name, suffixes[i % 2]);
    return found;
}

static int find_gemm(void *lib, ck_blas *blas)
{
    for (int i = 0; i < 4; i++) {
        blas->sgemm = symbol(lib, prefixes[i / 2], "cblas_sgemm", suffixes[i % 2]);
        blas->dgemm = symbol(lib, prefixes[i / 2], "cblas_dgemm", suffixes[i % 2]);
        blas->wide = *suffixes[i % 2] != 0;
        if (blas->sgemm && blas->dgemm)
            return 1;
    }
    return 0;
}

/* ---- one call ---- */

static void call(const ck_blas *blas, int dtype, const ck_gemm_shape *s, const void *a,
                 const void *b, void *c)
{
    enum { ROWS = 101, PLAIN = 111, TRANSPOSED = 112 };
    int ta = s->trans_a ? TRANSPOSED : PLAIN, tb = s->trans_b ? TRANSPOSED : PLAIN;
    float falpha = (float)s->alpha, fbeta = (float)s->beta;
    int m = (int)s->m, n = (int)s->n, k = (int)s->k;
    int lda = (int)s->lda, ldb = (int)s->ldb, ldc = (int)s->ldc;
    if (dtype == 0 && blas->wide)
        ((GEMM(float, int64_t))blas->sgemm)(ROWS, ta, tb, s->m, s->n, s->k, falpha, a, s->lda, b,
                                            s->ldb, fbeta, c, s->ldc);
    else if (dtype == 0)
        ((GEMM(float, int))blas->sgemm)(ROWS, ta, tb, m, n, k, falpha, a, lda, b, ldb, fbeta,
                                        c, ldc);
    else if (blas->wide)
        ((GEMM(double, int64_t))blas->dgemm)(ROWS, ta, tb, s->m, s->n, s->k, s->alpha, a, s->lda,
                                             b, s->ldb, s->beta, c, s->ldc);
    else
        ((GEMM(double, int))blas->dgemm)(ROWS, ta, tb, m, n, k, s->alpha, a, lda, b, ldb,
                                         s->beta, c, ldc);
}

/* Make a leading dimension one that CBLAS accepts: it is meaningless when there is one row. 0:
   impossible. */
static int tidy(int64_t *ld, int64_t rows, int64_t cols)
{
    if (*ld < cols && rows <= 1)
        *ld = cols;
    return *ld >= cols && *ld >= 1;
}

/* Whether the built-in gemm takes panels of this shape whatever their rows: from 16 on. */
int ck_blas_is_builtin(const ck_blas *blas, const ck_gemm_shape *s)
{
    return !blas->sgemm || (blas->few && (s->m >= 16 || s->thin));
}

/* Whether a product is A^T @ B of few columns each, the last vector of B's more than half full. Zen 3,
   one thread, us, by OpenBLAS's kernels for Haswell and built in, k = 20,000: float32 2 x 8 51 and
   29, 8 x 8 73 and 60, 16 x 16 195 and 123, 6 x 64 500 and 219; float64 4 x 4 57 and 31, 16 x 16 410
   and 332. In a grid of m from 2 to 16, these n up to 64 and k of 200 and 3,000 it takes 0.66 of the
   time (float32 0.34 to 0.96, float64 mostly below 1 and up to 1.30 at m = 8), without float64 of
   m = 5, 9, 13: those take up to 1.21. Of emptier vectors it is up to 4 times as long. */
static int is_turned(int dtype, const ck_gemm_shape *s)
{
    enum { MOST_ROWS = 16, MOST_COLS = 64, LEAST_K = 64 };
    int lanes = dtype ? 4 : 8, left = (int)(s->n % lanes);
    return s->trans_a && !s->trans_b && s->whole && s->m <= MOST_ROWS && s->n <= MOST_COLS
           && s->k >= LEAST_K && (left == 0 || left > lanes / 2) && !(dtype && s->m % 4 == 1);
}

/* Whether a library is left what it is good at, where the built-in gemm does most. */
static int wanted(const ck_blas *blas, int dtype, const ck_gemm_shape *s)
{
    if ((blas->few && s->thin) || (blas->reads_turned && is_turned(dtype, s)))
        return 0;
    if (!blas->few || s->m < (s->trans_b ? 16 : 8))
        return 1;
    return blas->small && s->whole && !s->trans_b && s->m * s->n * s->k < SMALL;
}

/* Whether a library may get a product of this shape, or a panel of it of at least `rows` rows. */
int ck_blas_may_call(const ck_blas *blas, int dtype, const ck_gemm_shape *s, int64_t rows)
{
    if (!blas->sgemm || s->m <= 1 || s->n <= 1 || s->k <= 0)
        return 0;
    ck_gemm_shape least = *s;
    least.m = rows;                       /* the whole where it is not cut: then only is it small */
    return wanted(blas, dtype, &least);
}

int ck_blas_gemm(const ck_blas *blas, int dtype, const ck_gemm_shape *shape, const void *a,
                 const void *b, void *c)
{
    ck_gemm_shape s = *shape;
    if (s.m <= 0 || s.n <= 0)
        return CK_OK;
    int fits = blas->sgemm && s.k > 0 && s.m > 1 && s.n > 1
               && (s.trans_a ? tidy(&s.lda, s.k, s.m) : tidy(&s.lda, s.m, s.k))
               && (s.trans_b ? tidy(&s.ldb, s.n, s.k) : tidy(&s.ldb, s.k, s.n)) 
               && tidy(&s.ldc, s.m, s.n);
    if (fits && !blas->wide)
        fits = s.m <= INT32_MAX && s.n <= INT32_MAX && s.k <= INT32_MAX && s.lda <= INT32_MAX
               && s.ldb <= INT32_MAX && s.ldc <= INT32_MAX;
    if (!fits || !wanted(blas, dtype, &s))
        return ck_builtin_gemm(dtype, shape, a, b, c);
    int old = blas->set_local ? blas->set_local(1) : 0;
    call(blas, dtype, &s, a, b, c);
    if (blas->set_local)
        blas->set_local(old);
    return CK_OK;
}

/* ---- trust: small integers, so every right answer is exact; C starts as NaN and must not be
   read ---- */

static int self_test(const ck_blas *blas)
{
    const ck_gemm_shape s = {5, 7, 3, 0, 1, 4, 3, 8, 2.0, 0.0, 1, 0};
    float a[20], b[21], c[40];
    double da[20], db[21], dc[40];
    for (int i = 0; i < 20; i++)
        da[i] = a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < 21; i++)
        db[i] = b[i] = (float)(i % 5 - 1);
    for (int i = 0; i < 40; i++)
        dc[i] = c[i] = NAN;
    call(blas, 0, &s, a, b, c);
    call(blas, 1, &s, da, db, dc);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 7; j++) {
            float want = 0;
            for (int p = 0; p < 3; p++)
                want += 2 * a[i * 4 + p] * b[j * 3 + p];
            if (c[i * 8 + j] != want || dc[i * 8 + j] != want)
                return 0;
        }
    return isnan(c[7]) && isnan(dc[39]);
}

/* ---- candidates ---- */

static void take_thread_control(void *lib, ck_blas *blas, int shared)
{
    int (*kind)(void) = (int (*)(void))any_symbol(lib, "openblas_get_parallel");
    void (*mkl)(int) = (void (*)(int))ck_symbol(lib, "MKL_Set_Num_Threads");
    blas->set_threads = (void (*)(int))any_symbol(lib, "openblas_set_num_threads");
    blas->get_threads = (int (*)(void))any_symbol(lib, "openblas_get_num_threads");
    if (kind && kind() == 2)          /* only OpenBLAS on OpenMP keeps the number per thread */
        blas->set_local = (int (*)(int))ck_symbol(lib, "openblas_set_num_threads_local");
    if (mkl)
        blas->set_local = (int (*)(int))ck_symbol(lib, "MKL_Set_Num_Threads_Local");
    if (!blas->set_threads || blas->set_local)
        blas->get_threads = NULL;
    if (!shared && blas->get_threads) {
        blas->set_threads(1);
        blas->get_threads = NULL;
    }
}

static void describe(void *lib, ck_blas *blas, const char *path)
{
    char *(*config)(void) = (char *(*)(void))any_symbol(lib, "openblas_get_config");
    const char *text = config ? config() : "";
    snprintf(blas->name, sizeof blas->name, "%s%s%s", ck_file_of(path), *text ? ": " : "",
             text);
    char *(*core)(void) = (char *(*)(void))any_symbol(lib, "openblas_get_corename");
    snprintf(blas->core, sizeof blas->core, "%s", core ? core() : "");
    if (strstr(text, "USE64BITINT"))
        blas->wide = 1;
}

/* Open, check and describe one library; NULL when it will not do. It stays open for good. */
static ck_blas *try_library(const char *path, int mapped_only)
{
    void *lib = ck_library(path, 1);
    int shared = lib != NULL;
    if (!lib && !mapped_only)
        lib = ck_library(path, 0);
    if (!lib)
        return NULL;
    ck_blas *blas = calloc(1, sizeof *blas);
    if (blas && find_gemm(lib, blas)) {
        take_thread_control(lib, blas, shared);
        describe(lib, blas, path);
        if (self_test(blas))
            return blas;
    }
    free(blas);
    ck_library_close(lib);
    return NULL;
}

typedef struct { char path[4096]; int rank; } mapped;

/* NumPy's copy first, then any other OpenBLAS, then BLIS and MKL. */
static void look(const char *path, void *data)
{
    mapped *best = data;
    const char *file = ck_file_of(path);
    int rank = strstr(file, "openblas") ? (strstr(path, "numpy.libs") ? 3 : 2)
               : strstr(file, "libmkl_rt") || strstr(file, "libblis") ? 1 : 0;
    if (rank > best->rank && strlen(path) < sizeof best->path) {
        strcpy(best->path, path);
        best->rank = rank;
    }
}

/* Whether OpenBLAS chose kernels for a lesser CPU than the one the built-in gemm uses in full. */
static int slower_than_builtin(const ck_blas *blas)
{
    static const char *const equals[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    if (!*blas->core || ck_simd() != CK_AVX512)
        return 0;
    for (size_t i = 0; i < sizeof equals / sizeof *equals; i++)
        if (!strcmp(blas->core, equals[i]))
            return 0;
    return 1;
}

/* Whether the built-in gemm is the faster one but for few rows: on AMD's CPUs from AVX2 on, and on
   Intel's since Sapphire Rapids (products of bfloat16 are how those are known). */
static int faster_builtin(void)
{
    return ck_is_amd() ? ck_simd() >= CK_AVX2 : ck_simd() == CK_AVX512 && ck_has_bf16();
}

static const ck_blas *search(void)
{
    static const char *const system[] = {"libopenblas.so.0", "libopenblas.so", "libmkl_rt.so.2",
                                         "libmkl_rt.so", "libblis.so.4", "libflexiblas.so.3"};
    const char *named = getenv("CKERNELS_BLAS");
    ck_blas *found = NULL;
    if (named && !strcmp(named, "builtin"))
        return &builtin;
    if (named && *named)
        found = try_library(named, 0);
    if (found)
        return found;
    if (hint)
        found = try_library(hint, 0);
    mapped best = {"", 0};
    if (!found) {
        ck_libraries(look, &best);
        if (best.rank)
            found = try_library(best.path, 1);
    }
    for (size_t i = 0; !found && i < sizeof system / sizeof *system; i++)
        found = try_library(system[i], 0);
    if (!found || slower_than_builtin(found))
        return &builtin;
    found->few = *found->core && faster_builtin();
    found->small = found->few && !ck_is_amd();
    found->reads_turned = *found->core && ck_simd() == CK_AVX2;
    return found;
}

/* ---- the current table ---- */

const ck_blas *ck_blas_get(void)
{
    const ck_blas *blas = atomic_load_explicit(&current, memory_order_acquire);
    if (blas)
        return blas;
    ck_mutex_lock(&resolving);
    blas = atomic_load(&current);
    if (!blas) {
        blas = search();
        atomic_store(&current, blas);
    }
    ck_mutex_unlock(&resolving);
    return blas;
}

/* CK_EVALUE when the library cannot be used; then nothing changes. Old tables stay valid: a
   gemm in another thread may still be using one. */
int ck_blas_use(const char *path)
{
    ck_mutex_lock(&resolving);
    const ck_blas *blas = !path ? search() : &builtin;
    if (path && strcmp(path, "builtin"))
        blas = try_library(path, 0);
    if (blas)
        atomic_store(&current, blas);
    ck_mutex_unlock(&resolving);
    return blas ? CK_OK : CK_EVALUE;
}

void ck_blas_hint(const char *path)
{
    ck_mutex_lock(&resolving);
    free(hint);
    hint = path ? strdup(path) : NULL;
    ck_mutex_unlock(&resolving);
}

int ck_blas_name(char *text, size_t size)
{
    const ck_blas *blas = ck_blas_get();
    return snprintf(text, size, "%s%s%s", blas->sgemm ? blas->name : "",
                    blas->few ? "; from 8 rows on " : "",
                    blas->few || !blas->sgemm ? ck_builtin_name() : "");
}

/* ---- one thread per call ---- The number of threads of NumPy's OpenBLAS belongs to the user:
   the first of our gemms at work sets it to one, the last one puts it back (unless somebody
   changed it meanwhile). */

static ck_mutex guard = CK_MUTEX;
static int users, saved, owed;

static void fork_prepare(void) { ck_mutex_lock(&guard); }
static void fork_parent(void) { ck_mutex_unlock(&guard); }
static void fork_child(void)
{
    users = 0;                  /* their threads are gone; the next leave pays what they owe */
    ck_mutex_unlock(&guard);
}
static void register_fork(void) { ck_at_fork(fork_prepare, fork_parent, fork_child); }

void ck_blas_enter(const ck_blas *blas)
{
    static ck_once once = CK_ONCE;
    if (!blas->get_threads)
        return;
    ck_do_once(&once, register_fork);
    ck_mutex_lock(&guard);
    if (users++ == 0) {
        if (!owed)
            saved = blas->get_threads();
        owed = 1;
        if (saved != 1)
            blas->set_threads(1);
    }
    ck_mutex_unlock(&guard);
}

void ck_blas_leave(const ck_blas *blas)
{
    if (!blas->get_threads)
        return;
    ck_mutex_lock(&guard);
    if (users > 0 && --users == 0) {
        if (saved != 1 && blas->get_threads() == 1)
            blas->set_threads(saved);
        owed = 0;
    }
    ck_mutex_unlock(&guard);
}
