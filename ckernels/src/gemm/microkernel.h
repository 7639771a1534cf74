/* microkernel.h: one tile of C for one type and one instruction set; builtin.c includes it for
   each.

   Set before: what each.h sets. A tile is MR rows by two vectors: its sums stay in registers over
   the whole k loop. */
#define MR GEMM_ROWS                      /* rows of the tile */
#define NR (2 * LANES)                    /* columns */

/* sum[i, :] += a[i * arow] * b: one step of a tile. */
INLINE void NAME(step)(int tall, int wide, vec sum[MR][2], const REAL *a, int64_t arow,
                       const REAL *b)
{
    vec b0 = vload(b), b1 = b0;
    if (wide > 1)
        b1 = vload(b + LANES);
    if (BY_LANE && arow == 1 && tall % LANES == 0) {
#pragma GCC unroll 16
        for (int i = 0; i < tall; i += LANES) {
            vec some = vload(a + i);
#pragma GCC unroll 4
            for (int l = 0; l < LANES; l++) {
                sum[i + l][0] = vfma_lane(sum[i + l][0], b0, some, l);
                if (wide > 1)
                    sum[i + l][1] = vfma_lane(sum[i + l][1], b1, some, l);
            }
        }
        return;
    }
#pragma GCC unroll 16
    for (int i = 0; i < tall; i++) {
        sum[i][0] = vfma(sum[i][0], vbroadcast(a[i * arow]), b0);
        if (wide > 1)
            sum[i][1] = vfma(sum[i][1], vbroadcast(a[i * arow]), b1);
    }
}

/* One tile: c[0:rows, 0:cols] = alpha * (a @ b) + beta * c. a[i, p] is a[i*arow + p*ak], b[p,
   j] is b[p*bk + j]; tall >= rows and wide * LANES >= cols are constants, so the loops unroll
   and the sums stay in registers. Reads tall rows of a and wide vectors of b: the caller gives
   padded memory for edges. ahead: both are packed; C is prefetched before the sums start,
   and a line of what is read next (from `next` on, into L2) in every fourth step. */
INLINE void NAME(sums_of_tile)(
    const int ahead, int tall, int wide, int64_t k, const REAL *a, int64_t arow, int64_t ak,
    const REAL *b, int64_t bk, const char *next, REAL *c, int64_t ldc, int rows, int cols,
    REAL alpha, REAL beta)
{
    vec sum[MR][2];
#pragma GCC unroll 16
    for (int i = 0; i < tall; i++)
#pragma GCC unroll 2
        for (int j = 0; j < wide; j++) {
            sum[i][j] = (vec){0};
            if (ahead && i < rows)
                ck_prefetch_written(c + i * ldc + j * LANES);
        }
    int64_t p = 0;
    for (; ahead && p + 4 <= k; p += 4, next += 64) {
        ck_prefetch_later(next);
#pragma GCC unroll 4
        for (int u = 0; u < 4; u++, a += ak, b += bk)
            NAME(step)(tall, wide, sum, a, arow, b);
    }
    for (; p < k; p++, a += ak, b += bk)
        NAME(step)(tall, wide, sum, a, arow, b);
    REAL edge[MR][NR];
    if (cols == wide * LANES) {
#pragma GCC unroll 16
        for (int i = 0; i < tall; i++)
            if (i < rows)
#pragma GCC unroll 2
                for (int j = 0; j < wide; j++) {
                    REAL *out = c + i * ldc + j * LANES;
                    vec r = sum[i][j] * vbroadcast(alpha);
                    if (beta != 0)                     /* beta == 0 must not read C */
                        r = vfma(r, vload(out), vbroadcast(beta));
                    vstore(out, r);
                }
        return;
    }
#pragma GCC unroll 16
    for (int i = 0; i < tall; i++)
#pragma GCC unroll 2
        for (int j = 0; j < wide; j++)
            vstore(edge[i] + j * LANES, sum[i][j] * vbroadcast(alpha));
    for (int i = 0; i < rows && i < tall; i++)
        for (int j = 0; j < cols && j < wide * LANES; j++)
            c[i * ldc + j] = beta == 0 ? edge[i][j] : edge[i][j] + c[i * ldc + j] * beta;
}

#define CALL(ahead, tall, wide, arow, ak)                                                         \
    NAME(sums_of_tile)(ahead, tall, wide, k, a, arow, ak, b, bk, next, c, ldc, rows, cols,        \
                       (REAL)alpha, (REAL)beta)
#define VARIANT(tall, wide)                                                                       \
    if (arow == 1 && tall == MR && wide > 1 && next)                                              \
        CALL(1, tall, wide, 1, ak);                                                               \
    else if (arow == 1)                                                                           \
        CALL(0, tall, wide, 1, ak);                                                               \
    else                                                                                          \
        CALL(0, tall, wide, arow, 1)

/* Pick the smallest unrolled tile that holds rows x cols. arow or ak is 1. */
#define TALL(n)                                                                                   \
    APART void NAME(tall_##n)(                                                                    \
        int64_t k, const REAL *a, int64_t arow, int64_t ak, const REAL *b, int64_t bk,            \
        const char *next, REAL *c, int64_t ldc, int rows, int cols, double alpha, double beta)   \
    {                                                                                             \
        if (cols <= LANES) {                                                                      \
            VARIANT(n, 1);                                                                        \
        }                                                                                         \
        else {                                                                                    \
            VARIANT(n, 2);                                                                        \
        }                                                                                         \
    }

TALL(1)
TALL(2)
TALL(4)
#if MR > 4
TALL(6)
#endif
#if MR > 8
TALL(8)
TALL(12)
#endif

static int NAME(tall)(int rows)
{
    return rows <= 2 ? rows : rows <= 4 ? 4 : rows <= 6 || MR == 6 ? 6 : rows <= 8 ? 8 : 12;
}

TARGET static void NAME(tile)(int64_t k, const void *a, int64_t arow, int64_t ak, const void *b,
                              int64_t bk, const char *next, void *c, int64_t ldc, int rows,
                              int cols, double alpha, double beta)
{
    switch (NAME(tall)(rows)) {
    case 1: NAME(tall_1)(k, a, arow, ak, b, bk, next, c, ldc, rows, cols, alpha, beta); break;
    case 2: NAME(tall_2)(k, a, arow, ak, b, bk, next, c, ldc, rows, cols, alpha, beta); break;
    case 4: NAME(tall_4)(k, a, arow, ak, b, bk, next, c, ldc, rows, cols, alpha, beta); break;
#if MR > 4
    case 6: NAME(tall_6)(k, a, arow, ak, b, bk, next, c, ldc, rows, cols, alpha, beta); break;
#endif
#if MR > 8
    case 8: NAME(tall_8)(k, a, arow, ak, b, bk, next, c, ldc, rows, cols, alpha, beta); break;
    case 12: NAME(tall_12)(k, a, arow, ak, b, bk, next, c, ldc, rows, cols, alpha, beta); break;
#endif
    }
}

/* Copy the n elements of a short row in two overlapping pieces of one fixed size. */
TARGET static inline void NAME(copy)(REAL *out, const REAL *from, int n)
{
#define PIECES(size)                                                                              \
    if (n >= (size)) {                                                                            \
        REAL last[size];                                                                          \
        memcpy(last, from + n - (size), sizeof last);                                             \
        memcpy(out, from, sizeof last);                                                           \
        memcpy(out + n - (size), last, sizeof last);                                              \
        return;                                                                                   \
    }
    PIECES(16)
    PIECES(8)
    PIECES(4)
    PIECES(2)
#undef PIECES
    out[0] = from[0];
}

#if DOUBLE
#define SQUARE ck_square_f64
#else
#define SQUARE ck_square_f32
#endif

/* out[p, l] = x[l, p]: in 16-byte squares where x has contiguous lines. */
TARGET static inline void NAME(transpose)(const REAL *x, int lines, int64_t k, int64_t stride,
                                          int64_t kstride, int width, REAL *out)
{
    enum { S = 16 / sizeof(REAL) };
    int l = 0;
    for (; kstride == 1 && l + S <= lines; l += S) {
        const REAL *from = x + l * stride;
        REAL *to = out + l;
        int64_t p = 0;
        for (; p + S <= k; p += S)
            SQUARE(from + p, stride, to + p * width, width);
        for (; p < k; p++)
            for (int i = 0; i < S; i++)
                to[p * width + i] = from[i * stride + p];
    }
    for (; l < lines; l++)
        for (int64_t p = 0; p < k; p++)
            out[p * width + l] = x[l * stride + p * kstride];
}

/* out (tiles, k, width) = x (count, k) with strides; missing lines of the last tile are zeros. */
TARGET static void NAME(pack)(const REAL *x, int64_t count, int64_t k, int64_t stride,
                             int64_t kstride, int width, REAL *out)
{
    for (int64_t i = 0; i < count; i += width, out += k * width) {
        const REAL *from = x + i * stride;
        int lines = count - i < width ? (int)(count - i) : width;
        if (lines < width)
            memset(out, 0, sizeof(REAL) * (size_t)(k * width));
        if (stride == 1 && lines == width)
            for (int64_t p = 0; p < k; p++)
                memcpy(out + p * width, from + p * kstride, sizeof(REAL) * (size_t)width);
        else if (stride == 1 && lines <= 32)
            for (int64_t p = 0; p < k; p++)
                NAME(copy)(out + p * width, from + p * kstride, lines);
        else
            NAME(transpose)(from, lines, k, stride, kstride, width, out);
    }
}

TARGET static void NAME(pack_a)(const void *x, int64_t count, int64_t k, int64_t stride,
                                int64_t kstride, void *out)
{
    NAME(pack)(x, count, k, stride, kstride, MR, out);
}

TARGET static void NAME(pack_b)(const void *x, int64_t count, int64_t k, int64_t stride,
                                int64_t kstride, void *out)
{
    NAME(pack)(x, count, k, stride, kstride, NR, out);
}

/* y[i] (+)= matrix[i, :] @ x for up to `tall` rows: those beyond the last are the last again. */
INLINE void NAME(row_sums)(const REAL *matrix, int64_t ld, int64_t rows, int64_t len, const REAL *x,
                           REAL *y, int more, const int tall)
{
    const REAL *r[8];
    for (int q = 0; q < tall; q++)
        r[q] = matrix + (q < rows ? q : rows - 1) * ld;
    vec sum[8] = {{0}};
    int64_t j = 0;
    for (; j + LANES <= len; j += LANES)
#pragma GCC unroll 8
        for (int q = 0; q < tall; q++)
            sum[q] = vfma(sum[q], vload(r[q] + j), vload(x + j));
    for (int q = 0; q < tall && q < rows; q++) {
        REAL total = vsum(sum[q]);
        for (int64_t t = j; t < len; t++)
            total += r[q][t] * x[t];
        y[q] = more ? y[q] + total : total;
    }
}

/* y[i] = matrix[i, :] @ x, part by part: those of x stay in cache. float64 (5500, 5500), one thread,
   Zen 5, ms: four rows at a time 14.3, eight 10.7, eight by parts 10.1. */
TARGET static void NAME(dots)(const void *pmatrix, int64_t ld, int64_t rows, int64_t len,
                             const void *px, void *py)
{
    enum { PART = PART_BYTES / sizeof(REAL) };
    const REAL *matrix = pmatrix, *x = px;
    REAL *y = py;
    for (int64_t j = 0; j == 0 || j < len; j += PART) {
        int64_t wide = len - j < PART ? len - j : PART, i = 0;
        for (; rows - i > 4; i += 8)
            NAME(row_sums)(matrix + i * ld + j, ld, rows - i, wide, x + j, y + i, j > 0, 8);
        if (i < rows)
            NAME(row_sums)(matrix + i * ld + j, ld, rows - i, wide, x + j, y + i, j > 0, 4);
    }
}

/* y[:] of some vectors, which stay in registers: each sum is that of a tile, term by term. */
INLINE void NAME(column_sums)(const REAL *matrix, int64_t ld, int64_t rows, const REAL *x, REAL *y,
                              const int wide)
{
    vec sum[8] = {{0}};
    for (int64_t i = 0; i < rows; i++)
#pragma GCC unroll 8
        for (int q = 0; q < wide; q++)
            sum[q] = vfma(sum[q], vload(matrix + i * ld + q * LANES), vbroadcast(x[i]));
#pragma GCC unroll 8
    for (int q = 0; q < wide; q++)
        vstore(y + q * LANES, sum[q]);
}

/* y[:] = x @ matrix, eight rows at a time, so that the matrix is read as it lies, and y is read and
   written seldom. */
INLINE void NAME(part_sums)(const REAL *matrix, int64_t ld, int64_t rows, int64_t len, const REAL *x,
                            REAL *y)
{
    int64_t i = 0;
    memset(y, 0, sizeof(REAL) * (size_t)len);
    for (; i + 8 <= rows; i += 8) {
        const REAL *r = matrix + i * ld;
        int64_t j = 0;
        for (; j + LANES <= len; j += LANES) {
            vec sum = vload(y + j);
#pragma GCC unroll 8
            for (int q = 0; q < 8; q++)
                sum = vfma(sum, vload(r + q * ld + j), vbroadcast(x[i + q]));
            vstore(y + j, sum);
        }
        for (; j < len; j++)
            for (int q = 0; q < 8; q++)
                y[j] += r[q * ld + j] * x[i + q];
    }
    for (; i < rows; i++)
        for (int64_t j = 0; j < len; j++)
            y[j] += matrix[i * ld + j] * x[i];
}

/* y[:] = x @ matrix (rows, len). Of a small matrix some columns at a time: a step of a scan of 64
   units, one example, took 200 ns, and takes 130 (Zen 5). Of others some that stay in cache. */
TARGET static void NAME(sums)(const void *pmatrix, int64_t ld, int64_t rows, int64_t len,
                             const void *px, void *py)
{
    enum { PART = PART_BYTES / sizeof(REAL) };
    const REAL *x = px, *matrix = pmatrix;
    REAL *y = py;
    int64_t first = 0;
    if (rows * len * (int64_t)sizeof(REAL) <= BY_COLUMNS) {
        for (; first + 8 * LANES <= len; first += 8 * LANES)
            NAME(column_sums)(matrix + first, ld, rows, x, y + first, 8);
        for (; first + 4 * LANES <= len; first += 4 * LANES)
            NAME(column_sums)(matrix + first, ld, rows, x, y + first, 4);
        for (; first + LANES <= len; first += LANES)
            NAME(column_sums)(matrix + first, ld, rows, x, y + first, 1);
    }
    for (; first < len; first += PART)
        NAME(part_sums)(matrix + first, ld, rows, len - first < PART ? len - first : PART, x,
                        y + first);
}

/* c[i * stride] = alpha * y[i] + beta * c[i * stride] */
TARGET static void NAME(blend)(const void *py, int64_t n, double alpha, double beta, void *pc,
                               int64_t stride)
{
    const REAL *y = py;
    REAL *c = pc, scale = (REAL)alpha, keep = (REAL)beta;
    for (int64_t i = 0; i < n; i++)
        c[i * stride] = keep == 0 ? y[i] * scale : y[i] * scale + c[i * stride] * keep;
}

static const kernel NAME(kernel) = {
    NAME(tile), NAME(pack_a), NAME(pack_b), NAME(tall), NAME(dots), NAME(sums), NAME(blend), MR, NR,
    sizeof(REAL),
};

#undef MR
#undef NR
#undef CALL
#undef VARIANT
#undef TALL
#undef SQUARE
