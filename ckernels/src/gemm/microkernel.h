/* microkernel.h: one tile of C for one type and one instruction set; builtin.c includes it for
   each.

   Set before: what each.h sets. A tile is MR rows by two vectors: its sums stay in registers over
   the whole k loop. */
#define MR GEMM_ROWS                      /* rows of the tile */
#define NR (2 * LANES)                    /* columns */
#define AHEAD (BYTES != 32)               /* see sums_of_tile */

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
   and a line of what is read next (from `next` on, into L2) in every fourth step. AVX2 has 16
   registers, which four steps at once overflow: 1024^3, GFLOP/s with and without, float32 74 and 81,
   float64 27 and 39. */
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
    for (int i = 0; i < rows && i < tall; i++) {
        for (int j = 0; beta != 0 && j < cols && j < wide * LANES; j++)
            edge[i][j] += c[i * ldc + j] * beta;
        NAME(copy)(c + i * ldc, edge[i], cols);
    }
}

#define CALL(ahead, tall, wide, arow, ak)                                                         \
    NAME(sums_of_tile)(ahead, tall, wide, k, a, arow, ak, b, bk, next, c, ldc, rows, cols,        \
                       (REAL)alpha, (REAL)beta)
#define VARIANT(tall, wide)                                                                       \
    if (AHEAD && arow == 1 && tall == MR && wide > 1 && next)                                              \
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

#if DOUBLE
#define SQUARE ck_square_f64
#else
#define SQUARE ck_square_f32
#endif

/* out[p, l] = x[l, p]: in 16-byte squares where x has contiguous lines, of four rows of out all before
   the next. The last square reads lines again that are done. */
TARGET static inline void NAME(transpose)(const REAL *x, int lines, int64_t k, int64_t stride,
                                          int64_t kstride, int width, REAL *out)
{
    enum { S = 16 / sizeof(REAL) };
    int64_t p = 0;
    if (kstride == 1 && lines >= S)
        for (; p + S <= k; p += S) {
            const REAL *from = x + p;
            REAL *to = out + p * width;
            for (int l = 0; l + S <= lines; l += S)
                SQUARE(from + l * stride, stride, to + l, width);
            if (lines % S)
                SQUARE(from + (lines - S) * stride, stride, to + lines - S, width);
        }
    for (; p < k; p++)
        for (int l = 0; l < lines; l++)
            out[p * width + l] = x[l * stride + p * kstride];
}

/* out (tiles, k, width) = x (count, k) with strides; missing lines of the last tile are zeros. Of rows
   of k that lie one after the other some go through all tiles: a tile is seldom as wide as a line of
   the cache. */
TARGET static inline void NAME(pack)(const REAL *x, int64_t count, int64_t k, int64_t stride,
                                     int64_t kstride, const int width, REAL *out)
{
    enum { SOME = 16 };
    int64_t whole = count - count % width;
    int left = (int)(count - whole);
    if (left && stride != 1)
        memset(out + whole * k, 0, sizeof(REAL) * (size_t)(k * width));
    for (int64_t q = 0; stride == 1 && q < k; q += SOME) {
        int64_t end = k - q < SOME ? k : q + SOME;
        for (int64_t i = 0; i < whole; i += width)
            for (int64_t p = q; p < end; p++)
                memcpy(out + i * k + p * width, x + i + p * kstride, sizeof(REAL) * (size_t)width);
        for (int64_t p = q; left && p < end; p++) {
            REAL *to = out + whole * k + p * width;
            NAME(copy)(to, x + whole + p * kstride, left);
            memset(to + left, 0, sizeof(REAL) * (size_t)(width - left));
        }
    }
    for (int64_t i = 0; stride != 1 && i < count; i += width)
        NAME(transpose)(x + i * stride, i < whole ? width : left, k, stride, kstride, width,
                        out + i * k);
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

/* Even lanes of a and then of b plus the odd ones: sums of neighbours, those of a first. */
#if BYTES >> (2 + DOUBLE) == 16
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#elif BYTES >> (2 + DOUBLE) == 8
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define ODD 1, 3, 5, 7, 9, 11, 13, 15
#elif BYTES >> (2 + DOUBLE) == 4
#define EVEN 0, 2, 4, 6
#define ODD 1, 3, 5, 7
#else
#define EVEN 0, 2
#define ODD 1, 3
#endif

INLINE void NAME(halve)(vec *sum, const int count)
{
#pragma GCC unroll 8
    for (int q = 0; q < count / 2; q++) {
        vec a = sum[2 * q], b = sum[2 * q + 1];
        sum[q] = CK_SHUFFLE(vbits, a, b, EVEN) + CK_SHUFFLE(vbits, a, b, ODD);
    }
}

/* Rows whose sums are added up at once: as many as a vector has lanes, and eight or more. */
#define SUMS (LANES > 8 ? LANES : 8)

/* The rest of a row behind whole vectors: which lanes it has, the vector there, and how many of the
   first rows may be read as if they had all lanes. */
typedef struct { vbits has; vec x; int64_t size, safe; } NAME(remainder);

/* Sums of matrix[i, :] @ x for SUMS rows, in SUMS / LANES vectors. A row has `whole` elements and
   then some of the lanes at rest, whose rows are `apart`. */
INLINE void NAME(row_sums)(const REAL *matrix, int64_t ld, int64_t whole, const REAL *x,
                           const REAL *rest, int64_t apart, NAME(remainder) r, vec *sum)
{
#pragma GCC unroll 16
    for (int q = 0; q < SUMS; q++)
        sum[q] = (vec){0};
    for (int64_t j = 0; j < whole; j += LANES)
#pragma GCC unroll 16
        for (int q = 0; q < SUMS; q++)
            sum[q] = vfma(sum[q], vload(matrix + q * ld + j), vload(x + j));
    if (r.size)
#pragma GCC unroll 16
        for (int q = 0; q < SUMS; q++)
            sum[q] = vfma(sum[q], (vec)((vbits)vload(rest + q * apart) & r.has), r.x);
    NAME(halve)(sum, SUMS);
    if (LANES > 2)
        NAME(halve)(sum, SUMS / 2);
    if (LANES > 4)
        NAME(halve)(sum, SUMS / 4);
    if (LANES > 8)
        NAME(halve)(sum, SUMS / 8);
}

/* The same for `rows` < SUMS of them, four at a time: each is the same sum in the same order. */
INLINE void NAME(few_row_sums)(const REAL *matrix, int64_t ld, int64_t rows, int64_t whole,
                               const REAL *x, NAME(remainder) r, REAL *out)
{
    for (int64_t i = 0; i < rows; i += 4) {
        const REAL *row[4];
        vec sum[4] = {{0}};
        for (int q = 0; q < 4; q++)
            row[q] = matrix + (i + q < rows ? i + q : rows - 1) * ld;
        for (int64_t j = 0; j < whole; j += LANES)
#pragma GCC unroll 4
            for (int q = 0; q < 4; q++)
                sum[q] = vfma(sum[q], vload(row[q] + j), vload(x + j));
        for (int q = 0; q < 4; q++) {
            REAL lane[SUMS] = {0};
            memcpy(lane, row[q] + whole, sizeof(REAL) * (size_t)r.size);
            if (r.size)
                sum[q] = vfma(sum[q], vload(lane), r.x);
            vstore(lane, sum[q]);
            for (int n = LANES / 2; n; n /= 2)
                for (int l = 0; l < n; l++)
                    lane[l] = lane[2 * l] + lane[2 * l + 1];
            out[i + q] = lane[0];
        }
    }
}

/* y[i] (+)= matrix[i, :] @ x. The last rows are among the last SUMS, some of which are done. */
INLINE void NAME(part_dots)(const REAL *matrix, int64_t ld, int64_t rows, int64_t whole,
                            const REAL *x, NAME(remainder) r, REAL *y, int more)
{
    for (int64_t i = 0; i < rows; i += SUMS) {
        int64_t first = rows < SUMS ? 0 : i + SUMS > rows ? rows - SUMS : i, apart = ld;
        const REAL *row = matrix + first * ld, *rest = row + whole;
        vec sum[SUMS];
        REAL room[SUMS * LANES], out[SUMS + 4];
        if (rows < SUMS)
            NAME(few_row_sums)(row, ld, rows, whole, x, r, out);
        else {
            if (r.size && first + SUMS > r.safe) {
                for (int q = 0; q < SUMS; q++)
                    memcpy(room + q * LANES, rest + q * ld, sizeof(REAL) * (size_t)r.size);
                rest = room, apart = LANES;
            }
            NAME(row_sums)(row, ld, whole, x, rest, apart, r, sum);
#pragma GCC unroll 4
            for (int q = 0; q < SUMS; q += LANES)
                vstore(out + q, sum[q / LANES]);
        }
        for (int64_t q = i; q < i + SUMS && q < rows; q++)
            y[q] = more ? y[q] + out[q - first] : out[q - first];
    }
}

/* y[i] = matrix[i, :] @ x, part by part: those of x stay in cache. float64 (5500, 5500), one thread,
   Zen 5, ms: four rows at a time 14.3, eight 10.7, eight by parts 10.1. (5000, 20) on Zen 4, us:
   lanes of a row one after the other 30, SUMS rows at once 11. */
TARGET static void NAME(dots)(const void *pmatrix, int64_t ld, int64_t rows, int64_t len,
                             const void *px, void *py)
{
    enum { PART = PART_BYTES / sizeof(REAL) };
    const REAL *matrix = pmatrix, *x = px;
    for (int64_t j = 0; j == 0 || j < len; j += PART) {
        int64_t wide = len - j < PART ? len - j : PART, whole = wide / LANES * LANES;
        int64_t beyond = len - j - whole - LANES;      /* of the last row, below 0: not there */
        NAME(remainder) r = {{0}, {0}, wide - whole, 0};
        REAL last[LANES] = {0};
        memcpy(last, x + j + whole, sizeof(REAL) * (size_t)r.size);
        r.x = vload(last);
        for (int l = 0; l < LANES; l++)
            r.has[l] = l < r.size ? -1 : 0;
        if (ld > 0)
            r.safe = rows - (beyond < 0 ? (ld - 1 - beyond) / ld : 0);
        NAME(part_dots)(matrix + j, ld, rows, whole, x + j, r, py, j > 0);
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

/* The same of up to `wide` vectors, the last of which may have fewer columns, with the rows by turns
   in several sets of sums: a sum waits for the one before it. */
INLINE void NAME(narrow_sums)(const REAL *matrix, int64_t ld, int64_t rows, int64_t len,
                              const REAL *x, REAL *y, const int wide, const int sets)
{
    vec sum[8] = {{0}};
    REAL room[8 * LANES], some[4];
    int64_t beyond = len - wide * LANES;   /* of the last row, below 0: not there */
    int64_t safe = ld <= 0 ? 0 : rows - (beyond < 0 ? (ld - 1 - beyond) / ld : 0);
    for (int64_t i = 0; i < rows; i += sets) {
        const REAL *from = matrix + i * ld, *by = x + i;
        int64_t apart = ld;
        if (i + sets > safe) {
            memset(room, 0, sizeof room);
            for (int r = 0; r < sets; r++) {
                some[r] = i + r < rows ? by[r] : 0;
                if (i + r < rows)
                    memcpy(room + r * wide * LANES, from + r * ld, sizeof(REAL) * (size_t)len);
            }
            from = room, by = some, apart = wide * LANES;
        }
#pragma GCC unroll 4
        for (int r = 0; r < sets; r++)
#pragma GCC unroll 8
            for (int q = 0; q < wide; q++)
                sum[r * wide + q] = vfma(sum[r * wide + q], vload(from + r * apart + q * LANES),
                                         vbroadcast(by[r]));
    }
#pragma GCC unroll 8
    for (int q = 0; q < wide; q++) {
        vec total = sum[q];
#pragma GCC unroll 4
        for (int r = 1; r < sets; r++)
            total += sum[r * wide + q];
        vstore(room + q * LANES, total);
    }
    memcpy(y, room, sizeof(REAL) * (size_t)len);
}

#define NARROW(wide, sets)                                                                        \
    APART void NAME(narrow_##wide##_##sets)(const REAL *matrix, int64_t ld, int64_t rows,         \
                                            int64_t len, const REAL *x, REAL *y)                  \
    {                                                                                             \
        NAME(narrow_sums)(matrix, ld, rows, len, x, y, wide, sets);                               \
    }

NARROW(1, 4)
NARROW(2, 4)
NARROW(3, 2)
NARROW(1, 1)
NARROW(2, 1)
NARROW(4, 1)
NARROW(8, 1)

/* y[:] = x @ matrix of at most 8 vectors, read once. float64 (5000, 20), one thread, Zen 4, us: by
   eight rows and the last columns singly 17.6, so 10. Only a matrix that is no panel of a wider one
   has several sets of sums: a sum is the same in panels of any width. */
TARGET static void NAME(narrow)(const REAL *matrix, int64_t ld, int64_t rows, int64_t len,
                                const REAL *x, REAL *y, int alone)
{
    int64_t wide = (len + LANES - 1) / LANES;
    void (*sums)(const REAL *, int64_t, int64_t, int64_t, const REAL *, REAL *) =
        wide > 4 ? NAME(narrow_8_1) : wide > 2 ? NAME(narrow_4_1)
        : wide > 1 ? NAME(narrow_2_1) : NAME(narrow_1_1);
    if (alone && wide <= 3)            /* panels of a row have 49 columns or more: see choose_grid */
        sums = wide == 3 ? NAME(narrow_3_2) : wide == 2 ? NAME(narrow_2_4) : NAME(narrow_1_4);
    sums(matrix, ld, rows, len, x, y);
}

/* y[:] = x @ matrix of whole vectors, eight rows at a time, so that the matrix is read as it lies,
   and y is read and written seldom. */
INLINE void NAME(part_sums)(const REAL *matrix, int64_t ld, int64_t rows, int64_t len, const REAL *x,
                            REAL *y)
{
    int64_t i = 0;
    memset(y, 0, sizeof(REAL) * (size_t)len);
    for (; i + 8 <= rows; i += 8) {
        const REAL *r = matrix + i * ld;
        for (int64_t j = 0; j < len; j += LANES) {
            vec sum = vload(y + j);
#pragma GCC unroll 8
            for (int q = 0; q < 8; q++)
                sum = vfma(sum, vload(r + q * ld + j), vbroadcast(x[i + q]));
            vstore(y + j, sum);
        }
    }
    for (; i < rows; i++)
        for (int64_t j = 0; j < len; j += LANES)
            vstore(y + j, vfma(vload(y + j), vload(matrix + i * ld + j), vbroadcast(x[i])));
}

/* y[:] = x @ matrix (rows, len). Of a small matrix some columns at a time: a step of a scan of 64
   units, one example, took 200 ns, and takes 130 (Zen 5). Of others some that stay in cache. */
TARGET static void NAME(sums)(const void *pmatrix, int64_t ld, int64_t rows, int64_t len,
                             const void *px, void *py)
{
    enum { PART = PART_BYTES / sizeof(REAL) };
    const REAL *x = px, *matrix = pmatrix;
    REAL *y = py;
    int64_t first = 0, whole = len / LANES * LANES;
    if (rows * len * (int64_t)sizeof(REAL) <= BY_COLUMNS) {
        for (; first + 8 * LANES <= len; first += 8 * LANES)
            NAME(column_sums)(matrix + first, ld, rows, x, y + first, 8);
        if (first && first + 4 * LANES <= len) {
            NAME(column_sums)(matrix + first, ld, rows, x, y + first, 4);
            first += 4 * LANES;
        }
    }
    for (; len - first > 8 * LANES; first += PART)
        NAME(part_sums)(matrix + first, ld, rows, whole - first < PART ? whole - first : PART, x,
                        y + first);
    first = first < whole ? first : whole;
    if (first < len)
        NAME(narrow)(matrix + first, ld, rows, len - first, x, y + first, !first);
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

/* ---- few columns of C: 2 to 8 ---- */

/* Sums y (rows, width) of rows of A by the columns of B, behind which there may be columns of zeros.
   Each way gives an element the same sum whatever comes with it. */

/* An element of A by a row of B (k, width) in pieces of 16 bytes. */
#define PIECE ((int)(16 / sizeof(REAL)))
typedef REAL NAME(piece) __attribute__((vector_size(16), aligned(sizeof(REAL)), may_alias));

INLINE void NAME(elements)(const REAL *a, int64_t arow, int64_t ak, int64_t rows, int64_t k,
                           const REAL *b, REAL *y, const int pieces)
{
    for (int64_t i = 0; i < rows; i += 4) {
        NAME(piece) sum[16] = {{0}};
        const REAL *row[4];
        for (int q = 0; q < 4; q++)
            row[q] = a + (i + q < rows ? i + q : rows - 1) * arow;
        for (int64_t p = 0; p < k; p++)
#pragma GCC unroll 4
            for (int q = 0; q < 4; q++) {
                NAME(piece) x = row[q][p * ak] - (NAME(piece)){0};
#pragma GCC unroll 4
                for (int v = 0; v < pieces; v++)
                    sum[q * pieces + v] +=
                        x * *(const NAME(piece) *)(b + (p * pieces + v) * PIECE);
            }
        for (int q = 0; q < 4 && i + q < rows; q++)
#pragma GCC unroll 4
            for (int v = 0; v < pieces; v++)
                *(NAME(piece) *)(y + ((i + q) * pieces + v) * PIECE) = sum[q * pieces + v];
    }
}

/* Columns of A as they lie, a row in each lane: the same sums, of `sets` vectors of rows. */
INLINE void NAME(some_lanes)(const REAL *a, int64_t ak, int64_t rows, int64_t k, const REAL *b,
                             REAL *room, int more, const int width, const int sets)
{
    vec sum[16];
#pragma GCC unroll 8
    for (int j = 0; j < width; j++)
#pragma GCC unroll 4
        for (int r = 0; r < sets; r++)
            sum[j * sets + r] = more ? vload(room + j * rows + r * LANES) : (vec){0};
    for (int64_t p = 0; p < k; p++)
#pragma GCC unroll 8
        for (int j = 0; j < width; j++)
#pragma GCC unroll 4
            for (int r = 0; r < sets; r++)
                sum[j * sets + r] = vfma(sum[j * sets + r], vload(a + p * ak + r * LANES),
                                         vbroadcast(b[p * width + j]));
#pragma GCC unroll 8
    for (int j = 0; j < width; j++)
#pragma GCC unroll 4
        for (int r = 0; r < sets; r++)
            vstore(room + j * rows + r * LANES, sum[j * sets + r]);
}

/* Between two parts of k the sums are in `room`, for the columns lie in as many pages. */
INLINE void NAME(lanes)(const REAL *a, int64_t ak, int64_t rows, int64_t k, const REAL *b,
                        REAL *room, const int width, const int sets)
{
    enum { PART_K = 16 };
    for (int64_t p = 0; p < k; p += PART_K, a += PART_K * ak, b += PART_K * width) {
        const int64_t part = k - p < PART_K ? k - p : PART_K;
        int64_t i = 0;
        for (; i + sets * LANES <= rows; i += sets * LANES)
            NAME(some_lanes)(a + i, ak, rows, part, b, room + i, p > 0, width, sets);
        for (; i < rows; i += LANES)
            NAME(some_lanes)(a + i, ak, rows, part, b, room + i, p > 0, width, 1);
    }
}

/* Long rows by columns of B, which lie one after the other (width, line) and end in zeros: some rows
   at a time, as many sums as the lanes of which are added up at once. */
#define DOTS (BYTES == 64 ? 16 : 8)

INLINE void NAME(long_rows)(const REAL *a, int64_t lda, int64_t rows, int64_t k, const REAL *b,
                            int64_t line, REAL *y, const int width)
{
    const int some = DOTS / width, rest = (int)(k % LANES);
    const int64_t whole = k - rest;
    const int64_t safe = lda < LANES ? 0 : rows - (whole + LANES + lda - 1) / lda;
    vbits has;
    for (int l = 0; l < LANES; l++)
        has[l] = l < rest ? -1 : 0;
    for (int64_t i = 0; i < rows; i += some) {
        vec sum[DOTS];
        REAL room[DOTS * LANES], out[DOTS];
        const REAL *row[DOTS], *ends[DOTS];
#pragma GCC unroll 16
        for (int q = 0; q < DOTS; q++)
            sum[q] = (vec){0};
#pragma GCC unroll 8
        for (int q = 0; q < some; q++) {
            row[q] = a + (i + q < rows ? i + q : rows - 1) * lda;
            ends[q] = row[q] + whole;
            if (rest && i + some > safe) {         /* a whole vector there may be beyond the end */
                vstore(room + q * LANES, (vec){0});
                ends[q] = memcpy(room + q * LANES, ends[q], sizeof(REAL) * (size_t)rest);
            }
        }
        for (int64_t p = 0; p < whole; p += LANES)
#pragma GCC unroll 8
            for (int q = 0; q < some; q++)
#pragma GCC unroll 8
                for (int j = 0; j < width; j++)
                    sum[q * width + j] = vfma(sum[q * width + j], vload(row[q] + p),
                                              vload(b + j * line + p));
        if (rest)
#pragma GCC unroll 8
            for (int q = 0; q < some; q++)
#pragma GCC unroll 8
                for (int j = 0; j < width; j++)
                    sum[q * width + j] = vfma(sum[q * width + j],
                                              (vec)((vbits)vload(ends[q]) & has),
                                              vload(b + j * line + whole));
        NAME(halve)(sum, DOTS);
        if (LANES > 2)
            NAME(halve)(sum, DOTS / 2);
        if (LANES > 4)
            NAME(halve)(sum, DOTS / 4);
        if (LANES > 8)
            NAME(halve)(sum, DOTS / 8);
#pragma GCC unroll 8
        for (int q = 0; q < DOTS; q += LANES)
            vstore(out + q, sum[q / LANES]);
        for (int q = 0; q < some * width && i + q / width < rows; q++)
            y[i * width + q] = out[q];
    }
}

#define FEW(width, sets)                                                                          \
    APART void NAME(lanes_##width)(const REAL *a, int64_t ak, int64_t rows, int64_t k,            \
                                   const REAL *b, REAL *room)                                     \
    {                                                                                             \
        NAME(lanes)(a, ak, rows, k, b, room, width, sets);                                        \
    }                                                                                             \
    APART void NAME(long_rows_##width)(const REAL *a, int64_t lda, int64_t rows, int64_t k,       \
                                       const REAL *b, int64_t line, REAL *y)                      \
    {                                                                                             \
        NAME(long_rows)(a, lda, rows, k, b, line, y, width);                                      \
    }

FEW(2, 4)
FEW(3, 4)
FEW(4, 4)
FEW(6, 2)
FEW(8, 2)

TARGET static void NAME(by_elements)(const void *a, int64_t arow, int64_t ak, int64_t rows,
                                     int64_t k, const void *b, void *y, int width)
{
    switch (width / PIECE) {
    case 1: NAME(elements)(a, arow, ak, rows, k, b, y, 1); break;
    case 2: NAME(elements)(a, arow, ak, rows, k, b, y, 2); break;
#if DOUBLE
    case 3: NAME(elements)(a, arow, ak, rows, k, b, y, 3); break;
    case 4: NAME(elements)(a, arow, ak, rows, k, b, y, 4); break;
#endif
    }
}

TARGET static void NAME(by_lanes)(const void *a, int64_t ak, int64_t rows, int64_t k, const void *b,
                                  void *room, void *y, int width)
{
    switch (width) {
    case 2: NAME(lanes_2)(a, ak, rows, k, b, room); break;
    case 3: NAME(lanes_3)(a, ak, rows, k, b, room); break;
    case 4: NAME(lanes_4)(a, ak, rows, k, b, room); break;
    case 6: NAME(lanes_6)(a, ak, rows, k, b, room); break;
    case 8: NAME(lanes_8)(a, ak, rows, k, b, room); break;
    }
    NAME(transpose)(room, width, rows, rows, 1, width, y);
}

TARGET static void NAME(by_rows)(const void *a, int64_t lda, int64_t rows, int64_t k, const void *b,
                                 int64_t line, void *y, int width)
{
    switch (width) {
    case 2: NAME(long_rows_2)(a, lda, rows, k, b, line, y); break;
    case 3: NAME(long_rows_3)(a, lda, rows, k, b, line, y); break;
    case 4: NAME(long_rows_4)(a, lda, rows, k, b, line, y); break;
    case 6: NAME(long_rows_6)(a, lda, rows, k, b, line, y); break;
    case 8: NAME(long_rows_8)(a, lda, rows, k, b, line, y); break;
    }
}

/* c (rows, n) = alpha * y (rows, width) + beta * c */
TARGET static void NAME(few_out)(const void *py, int width, int64_t rows, int n, double alpha,
                                 double beta, void *pc, int64_t ldc)
{
    const REAL *y = py;
    REAL *c = pc, scale = (REAL)alpha, keep = (REAL)beta;
    if (alpha != 1 || beta != 0)
        for (int64_t i = 0; i < rows; i++)
            for (int j = 0; j < n; j++)
                c[i * ldc + j] = beta == 0 ? y[i * width + j] * scale
                                           : y[i * width + j] * scale + c[i * ldc + j] * keep;
    else if (n == 2 || n == 3)
        for (int64_t i = 0; i < rows; i++)
            memcpy(c + i * ldc, y + i * width, 2 * sizeof(REAL)),
            c[i * ldc + n - 1] = y[i * width + n - 1];
    else
        for (int64_t i = 0; i < rows; i++)
            memcpy(c + i * ldc, y + i * width, 4 * sizeof(REAL)),
            memcpy(c + i * ldc + n - 4, y + i * width + n - 4, 4 * sizeof(REAL));
}

static const kernel NAME(kernel) = {
    NAME(tile), NAME(pack_a), NAME(pack_b), NAME(tall), NAME(dots), NAME(sums), NAME(blend),
    NAME(by_elements), NAME(by_lanes), NAME(by_rows), NAME(few_out), MR, NR, LANES, sizeof(REAL),
};

#undef MR
#undef NR
#undef AHEAD
#undef CALL
#undef VARIANT
#undef TALL
#undef SQUARE
#undef EVEN
#undef ODD
#undef SUMS
#undef NARROW
#undef PIECE
#undef DOTS
#undef FEW
