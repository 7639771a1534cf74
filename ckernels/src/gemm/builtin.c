/* builtin.c: the gemm that is always there: blocked, packed, one thread.

   The blocking is Goto's (ACM TOMS 34, 2008): a block of B (KC x NC) in L3, a block of A (MC x
   KC) in L2, a sliver of B (KC x NR) in L1, a tile of C in registers. The micro-kernel is
   plain C on vectors, compiled for several instruction sets and chosen at run time, so the
   runtime itself needs no -march. Any strides work, zero and negative ones too. */
#include "ckernels.h"

#include <string.h>

enum {
    BY_COLUMNS = 256 << 10,            /* bytes of a matrix whose columns are summed up in registers */
    PART_BYTES = 24 << 10              /* of a vector beside a matrix: it stays in L1 */
};

typedef struct {
    void (*tile)(int64_t k, const void *a, int64_t arow, int64_t ak, const void *b, int64_t bk,
                 const char *next, void *c, int64_t ldc, int rows, int cols, double alpha,
                 double beta);
    void (*pack_a)(const void *x, int64_t count, int64_t k, int64_t stride, int64_t kstride,
                   void *out);
    void (*pack_b)(const void *x, int64_t count, int64_t k, int64_t stride, int64_t kstride,
                   void *out);
    int (*tall)(int rows);             /* rows of A a tile of so many rows reads */
    void (*dots)(const void *matrix, int64_t ld, int64_t rows, int64_t len, const void *x, void *y);
    void (*sums)(const void *matrix, int64_t ld, int64_t rows, int64_t len, const void *x, void *y);
    void (*blend)(const void *y, int64_t n, double alpha, double beta, void *c, int64_t stride);
    void (*by_elements)(const void *a, int64_t arow, int64_t ak, int64_t rows, int64_t k,
                        const void *b, void *y, int width);
    void (*by_lanes)(const void *a, int64_t ak, int64_t rows, int64_t k, const void *b, void *room,
                     void *y, int width);
    void (*by_rows)(const void *a, int64_t lda, int64_t rows, int64_t k, const void *b,
                    int64_t line, void *y, int width);
    void (*few_out)(const void *y, int width, int64_t rows, int n, double alpha, double beta,
                    void *c, int64_t ldc);
    int mr, nr, lanes, size;
} kernel;

#define TEMPLATE "gemm/microkernel.h"
#include "simd/each.h"

CK_DISPATCH(static, kernel, choose)

/* Block sizes, and up to which n (m) A (B) is read where it lies. Measured on Zen 5: KC 192 to
   512 within 4 %; NC 512 keeps the block of B in a 1 MB L2. B of up to DIRECT_BYTES is not packed
   for DIRECT_TALL rows either, GFLOP/s packed and not: (32, 128) @ (128, 512) 169 and 213, (100,
   784) @ (784, 500) 181 and 205, (400, 128) @ (128, 512) 197 and 223; but (100, 1024) @ (1024,
   1024) 145 and 128. Not so on Sapphire Rapids, where only a B that fits in L1 is read for more
   than FEW_TALL rows: (32, 128) @ (128, 512) 71 and 73, but (64, 128) @ (128, 512) 78 and 72, (128,
   784) @ (784, 512) 104 and 85, 512^3 85 and 67. Where a team packs B, long blocks touch C seldom: 1024^3 float32, GFLOP/s on
   one and two threads, 4096 bytes of k by 132 rows 218 and 427, 1024 by 192 rows 194 and 333. A
   large B of few rows of A (thin) comes from memory: it is read as it lies, THIN_K of its rows at a
   time over columns whose C stays in L2. (8, 30000) @ (30000, 2000), one thread, ms, OpenBLAS, by
   slivers of KC, and so: float32 34, 40, 17; float64 52, 116, 32. */
enum {
    KC = 288, MC = 192, NC = 512, NC_SHARED = 1024, DIRECT_N = 128, DIRECT_M = 24,
    DIRECT_TALL = 512, DIRECT_BYTES = 2 << 20, FEW_TALL = 48, FEW_BYTES = 32 << 10,
    SHARED_BYTES = 64 << 20, THIN_K = 8, THIN_BYTES = 256 << 10,
    DEEP_BYTES = 4096, MC_DEEP = 132, PAGE = 4096
};

const char *ck_builtin_name(void)
{
#ifdef __aarch64__
    return "builtin (neon)";
#else
    static const char *const names[] = {"builtin", "builtin (avx2)", "builtin (avx512)"};
    return names[ck_simd()];
#endif
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* Element strides of op(A) (m, k) and op(B) (k, n), and the output. */
typedef struct {
    const char *a, *b;
    char *c;
    int64_t a_row, a_k, b_k, b_col, ldc;
    double alpha, beta;
} operands;

/* A block of A or B as the tiles read it: packed, or where it lies. */
typedef struct { const char *at; int64_t line, k, tile; int packed; } view;

/* c (m, n) = alpha * a (m, k) @ b (k, n) + beta * c, tile by tile. Where a tile would read
   past the end of an operand that is not packed, the edge is packed into `edge`. */
static void block(const kernel *f, const operands *o, view a, view b, char *c, int64_t m, int64_t n,
                  int64_t k, double beta, char *edge)
{
    for (int64_t j = 0; j < n; j += f->nr) {
        int cols = (int)least(n - j, f->nr);
        const char *bt = b.at + j * b.tile * f->size;
        int64_t bk = b.k;
        int full = cols <= f->nr / 2 ? f->nr / 2 : f->nr;
        if (!b.packed && cols < full) {
            f->pack_b(bt, cols, k, b.line, b.k, edge);
            bt = edge;
            bk = f->nr;
        }
        const char *next = b.packed ? bt + f->nr * k * f->size : NULL;
        int64_t step = k / 4 * 64, ahead = f->nr * k * f->size / (step + 1) + 1;
        for (int64_t i = 0; i < m; i += f->mr) {
            int rows = (int)least(m - i, f->mr);
            const char *at = a.at + i * a.tile * f->size;
            int64_t line = a.line, ak = a.k;
            if (!a.packed && f->tall(rows) != rows) {
                char *to = edge + f->nr * k * f->size;
                f->pack_a(at, rows, k, a.line, a.k, to);
                at = to;
                line = 1;
                ak = f->mr;
            }
            f->tile(k, at, line, ak, bt, bk, next ? next + i / f->mr % ahead * step : NULL,
                    c + (i * o->ldc + j) * f->size, o->ldc, rows, cols, o->alpha, beta);
        }
    }
}

/* Blocks of a sum of k terms, alike and of at most `most`. */
static int64_t even(int64_t k, int64_t most)
{
    int64_t blocks = (k + most - 1) / most;
    return round_up((k + blocks - 1) / blocks, 4);
}

/* Whether tiles read B where it lies, for m rows. */
static int reads_directly(const kernel *f, int64_t b_col, int64_t m, int64_t n, int64_t k)
{
    int64_t bytes = k * n * f->size, rows = bytes <= DIRECT_BYTES ? DIRECT_TALL : DIRECT_M;
    if (ck_simd() == CK_AVX512 && bytes > FEW_BYTES && rows > FEW_TALL && !ck_is_amd())
        rows = FEW_TALL;
    return b_col == 1 && m <= rows;
}

/* Whether columns of A, where A^T lies, are whole pages apart: they share few sets of L1. */
static int shares_sets(const kernel *f, const operands *o)
{
    return o->a_k * f->size % PAGE == 0;
}

/* Whether half of the vectors in rows of B lie across two lines of the cache. NumPy's arrays begin 16
   bytes behind such a line. (128, 784) @ (784, 512) float32 with AVX2, GFLOP/s: aligned 83, not so 67,
   packed 81. */
static int straddles(const kernel *f, const operands *o)
{
    int64_t bytes = f->lanes * f->size;
    return ck_simd() == CK_AVX2 && ((int64_t)(intptr_t)o->b | o->b_k * f->size) % bytes;
}

/* Where packed data goes, and the blocks: in elements. shared: B packed by a team, or NULL. */
typedef struct {
    int direct_a, direct_b;
    int64_t a, b, edge, mc, kc, nc, width;
    const char *shared;
} layout;

/* A block of A is read once per column tile, a block of B once per row tile: packing pays from
   the third tile on, or where the tiles could not read the operand at all. */
static layout plan(const kernel *f, const operands *o, int64_t m, int64_t n, int64_t k,
                   const ck_packed *shared, int thin)
{
    layout w = {.mc = MC, .kc = even(k, KC), .nc = NC};
    w.direct_a = (o->a_row == 1 || o->a_k == 1) && n <= DIRECT_N;
    if (o->a_k != 1 && n > f->nr && shares_sets(f, o))
        w.direct_a = 0;
    w.direct_b = reads_directly(f, o->b_col, m, n, k) && !(m > FEW_TALL && straddles(f, o));
    if (thin)
        w.kc = THIN_K, w.nc = round_up(THIN_BYTES / (m * f->size), f->nr), w.direct_b = 1;
    if (shared)
        w = (layout){.mc = shared->depth * f->size > KC * 4 ? MC_DEEP : MC, .kc = shared->depth,
                     .nc = NC_SHARED, .shared = shared->data, .width = shared->width,
                     .direct_a = w.direct_a, .direct_b = 1};
    int64_t kb = least(k, w.kc);
    if (!w.direct_a)
        w.a = round_up(least(m, w.mc), f->mr) * kb;
    if (!w.direct_b)
        w.b = round_up(least(n, NC), f->nr) * kb;
    w.edge = (f->nr + f->mr) * kb;
    return w;
}

static void blocked(const kernel *f, const operands *o, layout w, int64_t col0, int64_t m,
                    int64_t n, int64_t k, char *work)
{
    int size = f->size;
    char *packed_b = work + w.a * size, *edge = packed_b + w.b * size;
    for (int64_t jc = 0; jc < n; jc += w.nc) {
        int64_t nb = least(n - jc, w.nc);
        for (int64_t pc = 0; pc < k; pc += w.kc) {
            int64_t kb = least(k - pc, w.kc);
            const char *b = o->b + (pc * o->b_k + jc * o->b_col) * size;
            view vb = {b, o->b_col, o->b_k, o->b_col, 0};
            if (w.shared)
                vb = (view){w.shared + (pc * w.width + (col0 + jc) * kb) * size, 1, f->nr, kb, 1};
            else if (!w.direct_b) {
                f->pack_b(b, nb, kb, o->b_col, o->b_k, packed_b);
                vb = (view){packed_b, 1, f->nr, kb, 1};
            }
            for (int64_t ic = 0; ic < m; ic += w.mc) {
                int64_t mb = least(m - ic, w.mc);
                const char *a = o->a + (ic * o->a_row + pc * o->a_k) * size;
                view va = {a, o->a_row, o->a_k, o->a_row, 0};
                if (!w.direct_a) {
                    f->pack_a(a, mb, kb, o->a_row, o->a_k, work);
                    va = (view){work, 1, f->mr, kb, 1};
                }
                block(f, o, va, vb, o->c + (ic * o->ldc + jc) * size, mb, nb, kb,
                      pc ? 1.0 : o->beta, edge);
            }
        }
    }
}

/* ---- one row or one column: a matrix (k, n) or (n, k) times a vector ---- */

/* x (k), y (n): contiguous in work. line, along: strides of the matrix along n and along k. */
static int gemv(const kernel *f, const operands *o, const char *matrix, int64_t line, int64_t along,
                const char *x, int64_t xstride, int64_t n, int64_t k, int64_t cstride)
{
    int size = f->size, plain = o->alpha == 1 && o->beta == 0 && cstride == 1;
    char small[4096], *work = small;
    size_t bytes = (size_t)((plain ? 0 : n) + (xstride == 1 ? 0 : k)) * size;
    if (bytes > sizeof small && !(work = ck_alloc(bytes)))
        return CK_EMEMORY;
    char *y = plain ? o->c : work;
    if (xstride != 1) {
        char *copy = work + (plain ? 0 : n) * size;
        for (int64_t p = 0; p < k; p++)
            memcpy(copy + p * size, x + p * xstride * size, size);
        x = copy;
    }
    if (along == 1)
        f->dots(matrix, line, n, k, x, y);
    else
        f->sums(matrix, along, k, n, x, y);
    if (!plain)
        f->blend(y, n, o->alpha, o->beta, o->c, cstride);
    if (work != small)
        ck_free(work, bytes);
    return CK_OK;
}

/* 2 to 8 columns of C, of which tiles would fill a part of a vector. float32, one thread, Zen 4, us,
   as tiles, by NumPy's OpenBLAS, and so: (5000, 20) @ (20, 2) 39, 22, 21; (100000, 3) @ (3, 3) 288,
   133, 127; (1000, 300) @ (300, 2) 48, 19, 27, and transposed 98, 18, 31. */
enum { FEW_COLUMNS = 8, LONG_K = 32, FEW_BYTES_OF_ROWS = 16384 };

/* Of more columns than that, tiles take less: they are half a tile where they are a vector. */
static int are_few(const kernel *f, const operands *o, int64_t n, int64_t k)
{
    int64_t most = k < LONG_K ? f->lanes / 2 : f->lanes / 4 + 1;
    return n <= most && n <= FEW_COLUMNS && (o->a_row == 1 || o->a_k == 1);
}

static int few_columns(const kernel *f, const operands *o, int64_t m, int64_t n, int64_t k)
{
    int size = f->size, in_lanes = o->a_row == 1 && o->a_k != 1 && m >= f->lanes;
    int in_rows = !in_lanes && o->a_k == 1 && k >= LONG_K, piece = 16 / size;
    int64_t width = in_lanes || in_rows ? n + (n == 5 || n == 7) : round_up(n, piece);
    int64_t wide = round_up(n, piece), line = in_rows ? round_up(k, f->lanes) : 1;
    int64_t across = in_rows ? 1 : width, all = in_rows ? width * line : k * (width + wide);
    size_t bytes = (size_t)(all * size);
    _Alignas(64) char small[4096], y[FEW_BYTES_OF_ROWS], room[FEW_BYTES_OF_ROWS];
    char *columns = bytes <= sizeof small ? small : ck_alloc(bytes);
    if (!columns)
        return CK_EMEMORY;
    memset(columns, 0, bytes);
    char *again = columns + k * width * size;          /* B as the last rows of lanes read it */
    for (int64_t j = 0; j < n; j++)
        for (int64_t p = 0; p < k; p++) {
            const char *from = o->b + (p * o->b_k + j * o->b_col) * size;
            memcpy(columns + (p * across + j * line) * size, from, size);
            if (in_lanes)
                memcpy(again + (p * wide + j) * size, from, size);
        }
    int64_t most = FEW_BYTES_OF_ROWS / (FEW_COLUMNS * size), last = in_lanes ? m % f->lanes : 0;
    for (int64_t i = 0, rows; i < m; i += rows) {
        const char *a = o->a + i * o->a_row * size;
        char *c = o->c + i * o->ldc * size;
        int edge = in_lanes && i == m - last;
        int plain = o->alpha == 1 && o->beta == 0 && o->ldc == n && n == (edge ? wide : width);
        char *to = plain ? c : y;
        rows = least((edge ? m : m - last) - i, most);
        if (in_rows)
            f->by_rows(a, o->a_row, rows, k, columns, line, to, (int)width);
        else if (in_lanes && !edge)
            f->by_lanes(a, o->a_k, rows, k, columns, room, to, (int)width);
        else
            f->by_elements(a, o->a_row, o->a_k, rows, k, edge ? again : columns, to, (int)wide);
        if (!plain)
            f->few_out(y, (int)(edge ? wide : width), rows, (int)n, o->alpha, o->beta, c, o->ldc);
    }
    if (columns != small)
        ck_free(columns, bytes);
    return CK_OK;
}

static operands operands_of(const ck_gemm_shape *s, const void *a, const void *b, void *c)
{
    operands o = {a, b, c, s->lda, 1, s->ldb, 1, s->ldc, s->alpha, s->beta};
    if (s->trans_a)
        o.a_row = 1, o.a_k = s->lda;
    if (s->trans_b)
        o.b_k = 1, o.b_col = s->ldb;
    return o;
}

static int in_blocks(const kernel *f, const operands *o, int64_t m, int64_t n, int64_t k,
                     const ck_packed *shared, int64_t col0, int thin)
{
    layout w = plan(f, o, m, n, k, shared, thin);
    size_t bytes = (size_t)((w.a + w.b + w.edge) * f->size);
    _Alignas(64) char small[16384];
    char *work = bytes <= sizeof small ? small : ck_alloc(bytes);
    if (!work)
        return CK_EMEMORY;
    blocked(f, o, w, col0, m, n, k, work);
    if (work != small)
        ck_free(work, bytes);
    return CK_OK;
}

int ck_builtin_gemm(int dtype, const ck_gemm_shape *s, const void *a, const void *b, void *c)
{
    if (s->m <= 0 || s->n <= 0)
        return CK_OK;
    const kernel *f = choose(dtype);
    operands o = operands_of(s, a, b, c);
    if (s->k <= 0) {                       /* empty sums: C = beta * C */
        o.alpha = 0;
        view none = {NULL, 1, 1, 0, 1};
        block(f, &o, none, none, c, s->m, s->n, 0, s->beta, NULL);
        return CK_OK;
    }
    if (s->n == 1 && (o.a_row == 1 || o.a_k == 1))
        return gemv(f, &o, a, o.a_row, o.a_k, b, o.b_k, s->m, s->k, s->ldc);
    if (s->m == 1 && (o.b_col == 1 || o.b_k == 1))
        return gemv(f, &o, b, o.b_col, o.b_k, a, o.a_k, s->n, s->k, 1);
    if (are_few(f, &o, s->n, s->k) && !s->thin)
        return few_columns(f, &o, s->m, s->n, s->k);
    return in_blocks(f, &o, s->m, s->n, s->k, NULL, 0, s->thin);
}

/* The same for some rows of a product of several: each sum has one order, whichever rows come with
   its own. A single row is a block too, and no vector, which ck_builtin_gemm would make of it. */
int ck_builtin_rows(int dtype, const ck_gemm_shape *s, const void *a, const void *b, void *c)
{
    operands o = operands_of(s, a, b, c);
    if (s->n == 1 && (o.a_row == 1 || o.a_k == 1))
        return ck_builtin_gemm(dtype, s, a, b, c);
    return in_blocks(choose(dtype), &o, s->m, s->n, s->k, NULL, 0, 0);
}

/* ---- one right-hand matrix, packed once for a team ---- */

/* Blocks of `depth` rows one after the other, each of slivers of NR columns. */
int64_t ck_builtin_packed(int dtype, const ck_gemm_shape *s, ck_packed *out)
{
    const kernel *f = choose(dtype);
    out->width = round_up(s->n, f->nr);
    out->depth = even(s->k, ck_simd() == CK_AVX512 ? DEEP_BYTES / f->size : KC);
    out->data = NULL;
    int64_t bytes = out->width * s->k * f->size;
    int direct = reads_directly(f, s->trans_b ? 2 : 1, s->m, s->n, s->k);
    return direct || bytes > SHARED_BYTES ? 0 : bytes;
}

/* Pack columns [col0, col1) of the rows of block `block`; col0 is a multiple of 32. */
void ck_builtin_pack(int dtype, const ck_gemm_shape *s, const void *b, const ck_packed *to,
                     int64_t block, int64_t col0, int64_t col1)
{
    const kernel *f = choose(dtype);
    operands o = operands_of(s, NULL, b, NULL);
    int64_t pc = block * to->depth, kb = least(s->k - pc, to->depth);
    f->pack_b(o.b + (pc * o.b_k + col0 * o.b_col) * f->size, col1 - col0, kb, o.b_col, o.b_k,
              to->data + (pc * to->width + col0 * kb) * f->size);
}

int ck_builtin_panel(int dtype, const ck_gemm_shape *s, const void *a, const ck_packed *b,
                     int64_t col0, void *c)
{
    operands o = operands_of(s, a, NULL, c);
    return in_blocks(choose(dtype), &o, s->m, s->n, s->k, b, col0, 0);
}
