/* channels.h: what depthwise convolution and pooling do for the channels of a few pixels, for one
   type and one instruction set; channels.c includes it for each.

   Set before: what each.h sets. Channels are side by side, so every step is a vector of them: full
   registers first, then 16 bytes at a time, then one by one: widths.h is included for each. */
#define FEW ((int)(16 / sizeof(REAL)))
#include "image/widths.h"
#undef WIDTH
#undef WIDTH_BYTES
#define WIDTH few
#define WIDTH_BYTES 16
#include "simd/vector.h"
#include "image/widths.h"
#undef WIDTH
#undef WIDTH_BYTES
#define WIDTH one
#define WIDTH_BYTES sizeof(REAL)
#include "simd/vector.h"
#include "image/widths.h"
#undef WIDTH
#undef WIDTH_BYTES
#define WIDTH wide
#define WIDTH_BYTES BYTES

/* All taps of windows of `wide` columns, a constant; beside: columns are a pixel apart, so that
   neighbouring windows share what is loaded. */
INLINE void NAME(narrow)(
    const int op, const int tall, const int wide, const int beside, const ck_taps *t,
    const REAL *x, const REAL *w, REAL *out)
{
    vec sum[6];
    const REAL start = op == CK_OF_MAX ? -(REAL)INFINITY : 0;
    const int64_t pixel = t->x_pixel, column = beside ? pixel : t->x[2];
#pragma GCC unroll 8
    for (int i = 0; i < tall; i++)
        sum[i] = vbroadcast(start);
    for (int64_t d = 0; d < t->count[0]; d++) {
        const REAL *a = x + d * t->x[0], *b = w + d * t->w[0];
        for (int64_t h = t->count[1]; h > 0; h--, a += t->x[1], b += t->w[1])
#pragma GCC unroll 8
            for (int k = 0; k < wide; k++) {
                vec factor = {0};
                if (op == CK_OF_PRODUCTS)
                    factor = vload(b + k * t->w[2]);
                NAME(tap_wide)(op, tall, sum, a + k * column, pixel, factor);
            }
    }
#pragma GCC unroll 8
    for (int i = 0; i < tall; i++)
        vstore(out + i * t->out_pixel, sum[i]);
}

/* Functions for all channels, or whole vectors of them, of one tile: small enough for the compiler
   to keep everything in registers. */
#define ANY(op, tall)                                                                             \
    APART void NAME(any_##op##_##tall)(                                                           \
        const ck_taps *t, const REAL *x, const REAL *w, REAL *out, int64_t c)                     \
    {                                                                                             \
        for (; c + LANES <= t->channels; c += LANES)                                              \
            NAME(window_wide)(op, tall, t, x + c, w + c, out + c);                                \
        for (; c + FEW <= t->channels; c += FEW)                                                  \
            NAME(window_few)(op, tall, t, x + c, w + c, out + c);                                 \
        for (; c < t->channels; c++)                                                              \
            NAME(window_one)(op, tall, t, x + c, w + c, out + c);                                 \
    }
#define NARROW(op, wide, beside)                                                                  \
    APART void NAME(narrow_##op##_##wide##_##beside)(                                             \
        const ck_taps *t, const REAL *x, const REAL *w, REAL *out)                                \
    {                                                                                             \
        for (int64_t c = 0; c + LANES <= t->channels; c += LANES)                                 \
            NAME(narrow)(op, 6, wide, beside, t, x + c, w + c, out + c);                          \
    }

/* One pixel: four vectors of channels at a time, so that sums do not wait for each other. */
INLINE int64_t NAME(single)(
    const int op, const ck_taps *t, const REAL *x, const REAL *w, REAL *out)
{
    const REAL start = op == CK_OF_MAX ? -(REAL)INFINITY : 0;
    int64_t c = 0;
    for (; c + 4 * LANES <= t->channels; c += 4 * LANES) {
        vec sum[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            sum[i] = vbroadcast(start);
        for (int64_t d = 0; d < t->count[0]; d++)
            for (int64_t h = 0; h < t->count[1]; h++) {
                const REAL *a = x + d * t->x[0] + h * t->x[1] + c;
                const REAL *b = w + d * t->w[0] + h * t->w[1] + c;
                for (int64_t k = t->count[2]; k > 0; k--, a += t->x[2], b += t->w[2]) {
#pragma GCC unroll 4
                    for (int i = 0; i < 4; i++) {
                        vec factor = {0};
                        if (op == CK_OF_PRODUCTS)
                            factor = vload(b + i * LANES);
                        NAME(tap_wide)(op, 1, sum + i, a + i * LANES, 0, factor);
                    }
                }
            }
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            vstore(out + c + i * LANES, sum[i]);
    }
    return c;
}

/* Products of windows of 3 x 3 that overlap, of four pixels of each of two rows: most of what is
   loaded serves six sums, and the kernel stays in registers. Sums are taken in the order of
   `narrow`. What is read and written `ahead` pixels further is prefetched. */
INLINE void NAME(nine)(
    const ck_taps *t, const REAL *x, const REAL *w, REAL *out, int64_t out_row, int64_t ahead)
{
    enum { PIXELS = 4 };
    vec sum[2][PIXELS], factor[3][3];
#pragma GCC unroll 4
    for (int h = 0; h < 3; h++)
#pragma GCC unroll 4
        for (int k = 0; k < 3; k++)
            factor[h][k] = vload(w + h * t->w[1] + k * t->w[2]);
#pragma GCC unroll 4
    for (int i = 0; i < PIXELS; i++)
        sum[0][i] = sum[1][i] = (vec){0};
#pragma GCC unroll 4
    for (int r = 0; r < 4; r++) {
        const REAL *a = x + r * t->x[1];
        vec v[PIXELS + 2];
#pragma GCC unroll 8
        for (int i = 0; i < PIXELS + 2; i++)
            v[i] = vload(a + i * t->x_pixel);
#pragma GCC unroll 4
        for (int i = 0; i < PIXELS && r > 1; i++)
            ck_prefetch(a + (i + ahead) * t->x_pixel);
#pragma GCC unroll 4
        for (int k = 0; k < 3; k++)
#pragma GCC unroll 4
            for (int i = 0; i < PIXELS; i++) {
                if (r < 3)
                    sum[0][i] = vfma(sum[0][i], v[i + k], factor[r][k]);
                if (r > 0)
                    sum[1][i] = vfma(sum[1][i], v[i + k], factor[r - 1][k]);
            }
    }
#pragma GCC unroll 4
    for (int i = 0; i < PIXELS; i++)
#pragma GCC unroll 2
        for (int r = 0; r < 2; r++) {
            REAL *to = out + r * out_row + i * t->out_pixel;
            ck_prefetch_written(to + ahead * t->out_pixel);
            vstore(to, sum[r][i]);
        }
}

TARGET static int64_t NAME(two_rows)(const ck_taps *t, const void *x, const void *w, void *out,
                                     int64_t out_row, int64_t n)
{
    int64_t ahead = ck_max(4, AHEAD / ck_max(1, t->x_pixel));
    int64_t whole = t->channels / LANES * LANES;
    for (int64_t i = 0; i < n; i += 4) {
        int64_t at = ck_min(i, n - 4);
        const REAL *a = (const REAL *)x + at * t->x_pixel;
        REAL *to = (REAL *)out + at * t->out_pixel;
        for (int64_t c = 0; c < whole; c += LANES)
            NAME(nine)(t, a + c, (const REAL *)w + c, to + c, out_row, ahead);
    }
    return whole;
}

/* Tiles of six pixels share what they load of w; the last one overlaps the one before rather than
   leave pixels. Maxima have nothing to share: pixel by pixel they read memory in order. */
#define SLIDE(op)                                                                                 \
    ANY(op, 6)                                                                                    \
    ANY(op, 1)                                                                                    \
    NARROW(op, 1, 0)                                                                              \
    NARROW(op, 2, 0)                                                                              \
    NARROW(op, 3, 0)                                                                              \
    NARROW(op, 3, 1)                                                                              \
    NARROW(op, 5, 1)                                                                              \
    TARGET static void NAME(slide_##op)(const ck_taps *t, const REAL *x, const REAL *w,           \
                                        REAL *out, int64_t n)                                     \
    {                                                                                             \
        void (*tile)(const ck_taps *, const REAL *, const REAL *, REAL *) = NULL;                 \
        if (t->count[2] == 3)                                                                     \
            tile = t->x[2] == t->x_pixel ? NAME(narrow_##op##_3_1) : NAME(narrow_##op##_3_0);     \
        else if (t->count[2] == 5 && t->x[2] == t->x_pixel)                                       \
            tile = NAME(narrow_##op##_5_1);                                                       \
        else if (t->count[2] == 1 || t->count[2] == 2)                                            \
            tile = t->count[2] == 1 ? NAME(narrow_##op##_1_0) : NAME(narrow_##op##_2_0);          \
        const int64_t whole = tile ? t->channels / LANES * LANES : 0;                             \
        int64_t i = 0;                                                                            \
        const int64_t ahead = ck_max(6, AHEAD / ck_max(1, t->x_pixel));                           \
        const int64_t below = (t->count[1] - 1) * t->x[1];                                        \
        const int several = n >= 6 && (op != CK_OF_MAX || t->channels < 4 * LANES);               \
        for (; several && i < n; i += 6) {                                                        \
            int64_t at = ck_min(i, n - 6);                                                        \
            const REAL *a = x + at * t->x_pixel;                                                  \
            REAL *to = out + at * t->out_pixel;                                                   \
            for (int k = 0; op == CK_OF_PRODUCTS && k < 6; k++)                                   \
                for (int64_t c = 0; c < t->channels; c += 64 / sizeof(REAL)) {                    \
                    ck_prefetch(a + below + (ahead + k) * t->x_pixel + c);                        \
                    ck_prefetch_written(to + (ahead + k) * t->out_pixel + c);                     \
                }                                                                                 \
            if (tile)                                                                             \
                tile(t, a, w, to);                                                                \
            if (whole < t->channels)                                                              \
                NAME(any_##op##_6)(t, a, w, to, whole);                                           \
        }                                                                                         \
        for (; i < n; i++) {                                                                      \
            const REAL *a = x + i * t->x_pixel;                                                   \
            REAL *to = out + i * t->out_pixel;                                                    \
            int64_t c = NAME(single)(op, t, a, w, to);                                            \
            if (c < t->channels)                                                                  \
                NAME(any_##op##_1)(t, a, w, to, c);                                               \
        }                                                                                         \
    }
SLIDE(CK_OF_MAX)
SLIDE(CK_OF_SUM)
SLIDE(CK_OF_PRODUCTS)

static void NAME(slide)(int op, const ck_taps *t, const void *x, const void *w, void *out,
                        int64_t n)
{
    if (op == CK_OF_MAX)
        NAME(slide_CK_OF_MAX)(t, x, w, out, n);
    else if (op == CK_OF_SUM)
        NAME(slide_CK_OF_SUM)(t, x, w, out, n);
    else
        NAME(slide_CK_OF_PRODUCTS)(t, x, w, out, n);
}

/* out[c] += sum over i < n of x[i * xstep + c] * g[i * gstep + c] */
TARGET static void NAME(dot)(int64_t channels, int64_t n, const void *px, int64_t xstep,
                             const void *pg, int64_t gstep, void *pout)
{
    int64_t c = NAME(dot_wide)(0, channels, n, px, xstep, pg, gstep, pout);
    c = NAME(dot_few)(c, channels, n, px, xstep, pg, gstep, pout);
    NAME(dot_one)(c, channels, n, px, xstep, pg, gstep, pout);
}

/* The same for taps of `rows` by `wide`, constants: as many sums at once. */
INLINE void NAME(taps)(
    const int rows, const int wide, const ck_taps *t, int64_t n, const REAL *x, const REAL *g,
    REAL *out)
{
    const int64_t ahead = ck_max(4, AHEAD / ck_max(1, t->x_pixel));
    const REAL *below = x + (rows - 1) * t->x[1] + (wide - 1) * t->x[2];
    for (int64_t c = 0; c + LANES <= t->channels; c += LANES) {
        vec sum[9];
#pragma GCC unroll 16
        for (int k = 0; k < rows * wide; k++)
            sum[k] = (vec){0};
        for (int64_t i = 0; i < n; i++) {
            const REAL *a = x + i * t->x_pixel + c;
            vec factor = vload(g + i * t->out_pixel + c);
            ck_prefetch(below + (i + ahead) * t->x_pixel + c);
            ck_prefetch(g + (i + ahead) * t->out_pixel + c);
#pragma GCC unroll 4
            for (int h = 0; h < rows; h++)
#pragma GCC unroll 8
                for (int k = 0; k < wide; k++)
                    sum[h * wide + k] = vfma(sum[h * wide + k],
                                             vload(a + h * t->x[1] + k * t->x[2]), factor);
        }
#pragma GCC unroll 4
        for (int h = 0; h < rows; h++)
#pragma GCC unroll 8
            for (int k = 0; k < wide; k++) {
                REAL *to = out + h * t->w[1] + k * t->w[2] + c;
                vstore(to, vload(to) + sum[h * wide + k]);
            }
    }
}

TARGET static int64_t NAME(dots)(const ck_taps *t, int64_t n, const void *x, const void *g,
                                 void *out)
{
    const int64_t rows = t->count[1], wide = t->count[2];
    if (rows == 3 && wide == 3)
        NAME(taps)(3, 3, t, n, x, g, out);
    else if (rows == 1 && wide == 3)
        NAME(taps)(1, 3, t, n, x, g, out);
    else if (rows == 1 && wide == 5)
        NAME(taps)(1, 5, t, n, x, g, out);
    else
        return 0;
    return t->channels / LANES * LANES;
}

/* What widths.h has for a window's first maximum, for all channels. */
INLINE void NAME(first)(
    const ck_taps *t, const REAL *x, const REAL *y, const REAL *g, REAL *out, const int take,
    const int add)
{
    int64_t c = NAME(first_wide)(0, t, x, y, g, out, take, add);
    c = NAME(first_few)(c, t, x, y, g, out, take, add);
    NAME(first_one)(c, t, x, y, g, out, take, add);
}

TARGET static void NAME(give)(const ck_taps *t, const void *x, const void *y, const void *g,
                              void *out, int add)
{
    if (add)
        NAME(first)(t, x, y, g, out, 0, 1);
    else
        NAME(first)(t, x, y, g, out, 0, 0);
}

TARGET static void NAME(take)(const ck_taps *t, const void *x, const void *y, const void *g,
                              void *out)
{
    NAME(first)(t, x, y, g, out, 1, 0);
}

/* Neighbours in a row: the compiler takes every other one of a vector. */
TARGET static void NAME(max_2x2)(const void *px, int64_t pitch, void *py, int64_t rows,
                                 int64_t cols)
{
    const REAL *a = px;
    REAL *y = py;
    for (int64_t r = 0; r < rows; r++, a += 2 * pitch, y += cols)
        for (int64_t i = 0; i < cols; i++) {
            const REAL v[4] = {a[2 * i], a[2 * i + 1], a[pitch + 2 * i], a[pitch + 2 * i + 1]};
            REAL most = v[0];
            for (int k = 1; k < 4; k++)
                most = ((v[k] > most) | (v[k] != v[k])) ? v[k] : most;
            y[i] = most;
        }
}

TARGET static void NAME(give_2x2)(const void *px, int64_t pitch, const void *py, const void *pg,
                                  void *pout, int64_t rows, int64_t cols)
{
    const REAL *a = px, *y = py, *g = pg;
    REAL *restrict out = pout;
    for (int64_t r = 0; r < rows; r++, a += 2 * pitch, y += cols, g += cols, out += 2 * pitch)
        for (int64_t i = 0; i < cols; i++) {
            const REAL v[4] = {a[2 * i], a[2 * i + 1], a[pitch + 2 * i], a[pitch + 2 * i + 1]};
            const REAL most = y[i], given = g[i];
            REAL put[4];
            INTEGER left = -1;
            for (int k = 0; k < 4; k++) {
                INTEGER hit = left & -((v[k] == most) | ((v[k] != v[k]) & (most != most)));
                left &= ~hit;
                put[k] = hit ? given : 0;
            }
            out[2 * i] = put[0], out[2 * i + 1] = put[1];
            out[pitch + 2 * i] = put[2], out[pitch + 2 * i + 1] = put[3];
        }
}

static const ck_channels NAME(kernel) = {NAME(slide), NAME(two_rows), NAME(dot), NAME(dots),
                                         NAME(give), NAME(take), NAME(max_2x2), NAME(give_2x2)};

#undef FEW
#undef ANY
#undef NARROW
#undef SLIDE
