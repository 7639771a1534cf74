/* windows.c: where sliding windows read, and copies of the part of an image they read. */
#include "image/native.h"
#include "simd/simd.h"

#include <string.h>

/* ---- axes ---- */

ck_axis ck_axis_of(const ck_axis_dims *d, int back)
{
    ck_axis a = {d->size, d->result, d->stride, 1, d->kernel, d->stride, d->dilation, d->low, back};
    if (back)
        a.in = d->result, a.out = d->size, a.in_step = 1, a.out_step = d->stride;
    return a;
}

static int64_t divisor(int64_t a, int64_t b)
{
    for (int64_t r; b; a = b, b = r)
        r = a % b;
    return a;
}

/* Tap k of the kernel leads from result r to the image at r * stride + k * dilation - low:
   backwards, only positions of this phase meet it. */
int64_t ck_phase_with(const ck_axis *a, int64_t k)
{
    if (!a->back)
        return 0;
    int64_t p = (k * a->dilation - a->low) % a->stride;
    return p < 0 ? p + a->stride : p;
}

ck_phase ck_phase_of(const ck_axis *a, int64_t p)
{
    if (!a->back)
        return (ck_phase){a->kernel, -a->low, a->dilation, 0, 1, 0};
    int64_t common = divisor(a->stride, a->dilation);
    ck_phase f = {.kernel_step = -(a->stride / common), .step = a->dilation / common};
    for (int64_t k = 0; k < a->kernel; k++) {      /* the last tap first: reads go forwards */
        int64_t phase = ck_phase_with(a, k);
        f.before += phase < p;
        f.taps += phase == p;
        if (phase == p)
            f.kernel = k;
    }
    if (f.taps)
        f.first = (p + a->low - f.kernel * a->dilation) / a->stride;
    return f;
}

/* Outputs [lo, hi) read inputs [first, last), some of them maybe outside of the image. */
void ck_axis_reads(const ck_axis *a, int64_t lo, int64_t hi, int64_t *first, int64_t *last)
{
    int64_t reach = (a->kernel - 1) * a->dilation;
    if (a->back) {
        *first = ck_ceil_div(lo + a->low - reach, a->stride);
        *last = ck_floor_div(hi - 1 + a->low, a->stride) + 1;
    }
    else {
        *first = lo * a->stride - a->low;
        *last = (hi - 1) * a->stride - a->low + reach + 1;
    }
}

/* At most so many inputs are read by that many neighbouring outputs. */
int64_t ck_axis_span(const ck_axis *a, int64_t outputs)
{
    int64_t reach = (a->kernel - 1) * a->dilation;
    return a->back ? (outputs - 1 + reach) / a->stride + 1 : (outputs - 1) * a->stride + reach + 1;
}

/* The taps of the window of output q (of a phase) that are inside of the image. */
ck_clip ck_clip_of(const ck_axis *a, const ck_phase *f, int64_t q)
{
    int64_t base = q * a->in_step + f->first;
    if (!f->taps)
        return (ck_clip){0, 0};
    ck_clip c = {ck_max(0, ck_ceil_div(-base, f->step)),
                 ck_min(f->taps, ck_ceil_div(a->in - base, f->step))};
    c.last = ck_max(c.first, c.last);
    return c;
}

/* ---- copies ---- */

/* n lines of 1 < size < 16 bytes, each as two words, which may overlap; they lie 16 bytes apart */
static void put_few(char *out, int64_t far, const char *x, int64_t size, int64_t n)
{
#define PUT(WORD)                                                                                 \
    for (int64_t i = 0; i < n; i++, out += far, x += 16) {                                        \
        memcpy(out, x, WORD);                                                                     \
        memcpy(out + size - WORD, x + size - WORD, WORD);                                         \
    }
    if (size >= 8)
        PUT(8)
    else if (size >= 4)
        PUT(4)
    else
        PUT(2)
#undef PUT
}

/* out[r, c] = x[c, r] by squares. Lines far apart share few places in L1 and in the TLB: of the
   operand whose lines are further apart S lines are touched at a time, 512 bytes of each. Measured
   on Zen 5, 8 MB of images 32 x 32 x 64 either way: 0.9 ms; with 64 bytes 0.9 and 1.9 ms. */
#define TRANSPOSE(REAL, S, SQUARE)                                                                \
    static void squares_##REAL(const REAL *x, int64_t col, int64_t rows, int64_t cols,            \
                               REAL *out, int64_t ld)                                             \
    {                                                                                             \
        enum { LINE = 512 / sizeof(REAL) };                                                       \
        int far = col > ld;                                                                       \
        for (int64_t r0 = 0; r0 < rows; r0 += far ? LINE : rows)                                  \
            for (int64_t c0 = 0; c0 < cols; c0 += far ? cols : LINE) {                            \
                int64_t r1 = far ? ck_min(rows, r0 + LINE) : rows;                                \
                int64_t c1 = far ? cols : ck_min(cols, c0 + LINE);                                \
                for (int64_t i = far ? c0 : r0; i < (far ? c1 : r1); i += S)                      \
                    for (int64_t j = far ? r0 : c0; j < (far ? r1 : c1); j += S) {                \
                        int64_t r = far ? j : i, c = far ? i : j;                                 \
                        SQUARE(x + c * col + r, col, out + r * ld + c, ld);                       \
                    }                                                                             \
            }                                                                                     \
    }                                                                                             \
    static void gather_##REAL(const REAL *x, int64_t row, int64_t col, int64_t rows,              \
                              int64_t cols, REAL *out, int64_t ld)                                \
    {                                                                                             \
        for (int64_t r = 0; r < rows; r++)                                                        \
            for (int64_t c = 0; c < cols; c++)                                                    \
                out[r * ld + c] = x[r * row + c * col];                                           \
    }                                                                                             \
    static inline __attribute__((always_inline)) void few_##REAL(                                 \
        const int count, const REAL *x, int64_t near, int64_t far, int64_t n, REAL *out,          \
        int64_t out_near, int64_t out_far)                                                        \
    {                                                                                             \
        for (int64_t i = 0; i < n; i++)                                                           \
            for (int k = 0; k < count; k++)                                                       \
                out[i * out_far + k * out_near] = x[i * far + k * near];                          \
    }                                                                                             \
    /* n times `count` < S elements */                                                            \
    static void edge_##REAL(int64_t count, const REAL *x, int64_t near, int64_t far, int64_t n,   \
                            REAL *out, int64_t out_near, int64_t out_far)                         \
    {                                                                                             \
        if (count == 1)                                                                           \
            few_##REAL(1, x, near, far, n, out, out_near, out_far);                               \
        else if (count > 1 && count < 5 && near == 1 && far == count)                             \
            ck_narrow_of(sizeof(REAL))->apart((int)count, x, n, out, out_near);                   \
        else if (count > 1 && count < 5 && out_near == 1 && out_far == count)                     \
            ck_narrow_of(sizeof(REAL))->beside((int)count, x, near, n, out);                      \
        else if (count == 2)                                                                      \
            few_##REAL(2, x, near, far, n, out, out_near, out_far);                               \
        else if (count == 3)                                                                      \
            few_##REAL(3, x, near, far, n, out, out_near, out_far);                               \
        else                                                                                      \
            for (int64_t k = 0; k < count; k++)                                                   \
                few_##REAL(1, x + k * near, near, far, n, out + k * out_near, out_near, out_far); \
    }                                                                                             \
    /* count < S rows of the result: squares whose other rows, which are read too, are not kept */\
    static void rows_##REAL(int64_t count, const REAL *x, int64_t col, int64_t n, REAL *out,      \
                            int64_t ld)                                                           \
    {                                                                                             \
        REAL kept[S * S];                                                                         \
        int64_t i = 0;                                                                            \
        const int apart = count > 1 && (col > count || (count > 4 && col == count));               \
        for (; apart && (n - i - S) * col >= S - count; i += S) {                                 \
            SQUARE(x + i * col, col, kept, S);                                                    \
            for (int64_t k = 0; k < count; k++)                                                   \
                memcpy(out + k * ld + i, kept + k * S, S * sizeof(REAL));                         \
        }                                                                                         \
        edge_##REAL(count, x + i * col, 1, col, n - i, out + i, ld, 1);                           \
    }                                                                                             \
    /* count < S columns of it: squares of which some lines are there; three are faster alone */  \
    static void cols_##REAL(int64_t count, const REAL *x, int64_t col, int64_t n, REAL *out,      \
                            int64_t ld)                                                           \
    {                                                                                             \
        enum { MANY = 8 };                                                                        \
        REAL lines[S * S] = {0}, kept[MANY * S * S];                                              \
        int64_t i = 0, all;                                                                       \
        for (; count > (ld == count ? 4 : 3) && i + S <= n; i += all) {                           \
            all = ck_min((n - i) / S, MANY) * S;                                                  \
            for (int64_t q = 0; q < all; q += S) {                                                \
                for (int64_t k = 0; k < count; k++)                                               \
                    memcpy(lines + k * S, x + k * col + i + q, S * sizeof(REAL));                 \
                SQUARE(lines, S, kept + q * S, S);                                                \
            }                                                                                     \
            put_few((char *)(out + i * ld), ld * (int64_t)sizeof(REAL), (const char *)kept,       \
                    count * (int64_t)sizeof(REAL), all);                                          \
        }                                                                                         \
        edge_##REAL(count, x + i, col, 1, n - i, out + i * ld, 1, ld);                            \
    }                                                                                             \
    static void transpose_##REAL(const REAL *x, int64_t col, int64_t rows, int64_t cols,          \
                                 REAL *out, int64_t ld)                                           \
    {                                                                                             \
        int64_t r = rows - rows % S, c = cols - cols % S;                                         \
        squares_##REAL(x, col, r, c, out, ld);                                                    \
        cols_##REAL(cols - c, x + c * col, col, r, out + c, ld);                                  \
        rows_##REAL(rows - r, x + r, col, cols, out + r * ld, ld);                                \
    }                                                                                             \
    static void copy_##REAL(const REAL *x, int64_t row, int64_t col, int64_t rows, int64_t cols,  \
                            REAL *out, int64_t ld)                                                \
    {                                                                                             \
        if (row == 1)                                                                             \
            transpose_##REAL(x, col, rows, cols, out, ld);                                        \
        else                                                                                      \
            gather_##REAL(x, row, col, rows, cols, out, ld);                                      \
    }
TRANSPOSE(uint8_t, 16, ck_square_u8)
TRANSPOSE(uint16_t, 8, ck_square_u16)
TRANSPOSE(float, 4, ck_square_f32)
TRANSPOSE(double, 2, ck_square_f64)

void ck_copy_matrix(int64_t size, const void *x, int64_t row, int64_t col, int64_t rows,
                    int64_t cols, void *out, int64_t ld)
{
    if (rows <= 0 || cols <= 0)
        return;
    if (cols == 1)
        col = 1;
    if (col == 1 && ((row == cols && ld == cols) || rows == 1))
        memcpy(out, x, (size_t)(rows * cols * size));
    else if (col == 1 && cols * size >= 32)
        for (int64_t r = 0; r < rows; r++)
            memcpy((char *)out + r * ld * size, (const char *)x + r * row * size,
                   (size_t)(cols * size));
    else if (size == 1)
        copy_uint8_t(x, row, col, rows, cols, out, ld);
    else if (size == 2)
        copy_uint16_t(x, row, col, rows, cols, out, ld);
    else if (size == 4)
        copy_float(x, row, col, rows, cols, out, ld);
    else
        copy_double(x, row, col, rows, cols, out, ld);
}

/* One row of an image, columns [first, first + count), to out (count, channels). */
static void copy_row(const ck_image *x, const char *row, int64_t first, int64_t count, char *out)
{
    int64_t left = ck_min(ck_max(0, -first), count);
    int64_t end = ck_max(left, ck_min(count, x->sizes[2] - first)), pixel = x->channels * x->size;
    memset(out, 0, (size_t)(left * pixel));
    if (end > left)
        ck_copy_matrix(x->size, row + (first + left) * x->strides[3] * x->size, x->strides[3],
                       x->strides[4], end - left, x->channels, out + left * pixel, x->channels);
    memset(out + end * pixel, 0, (size_t)((count - end) * pixel));
}

void ck_copy_box(const ck_image *x, const char *image, const int64_t first[3], int64_t depth_step,
                 const int64_t counts[3], char *out)
{
    int64_t row_bytes = counts[2] * x->channels * x->size;
    for (int64_t j = 0; j < counts[0]; j++) {
        int64_t depth = first[0] + j * depth_step;
        int inside = depth >= 0 && depth < x->sizes[0];
        const char *plane = image + (inside ? depth * x->strides[1] * x->size : 0);
        for (int64_t h = first[1]; h < first[1] + counts[1]; h++, out += row_bytes)
            if (inside && h >= 0 && h < x->sizes[1])
                copy_row(x, plane + h * x->strides[2] * x->size, first[2], counts[2], out);
            else
                memset(out, 0, (size_t)row_bytes);
    }
}
