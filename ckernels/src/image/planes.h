/* planes.h: depthwise convolution of planes (channels first), for one type and one instruction
   set; planes.c includes it for each.

   Set before: what each.h sets. Vectors are neighbours in a row. Rows of x are `pitch` apart and go
   on for a vector behind the last one. */

/* `tall` rows of a vector each; `high` by `wide`: taps. */
INLINE void NAME(column)(
    const int tall, const int64_t high, const int64_t wide, const REAL *x, int64_t pitch,
    const REAL *w, REAL *out, int64_t out_pitch, int64_t cols)
{
    vec sum[4];
#pragma GCC unroll 4
    for (int i = 0; i < tall; i++)
        sum[i] = (vec){0};
#pragma GCC unroll 4
    for (int64_t h = 0; h < high; h++)
#pragma GCC unroll 4
        for (int64_t k = 0; k < wide; k++) {
            const REAL factor = w[h * wide + k];
#pragma GCC unroll 4
            for (int i = 0; i < tall; i++)
                sum[i] = vfma(sum[i], vload(x + (h + i) * pitch + k), vbroadcast(factor));
        }
#pragma GCC unroll 4
    for (int i = 0; i < tall; i++)
        if (cols >= LANES)
            vstore(out + i * out_pitch, sum[i]);
        else
            memcpy(out + i * out_pitch, sum + i, (size_t)cols * sizeof(REAL));
}

/* All columns of `tall` rows; the last vector overlaps the one before. */
#define SWEEP(tall, high, wide)                                                                   \
    for (int64_t c = 0; c < p->cols; c += LANES) {                                                \
        int64_t at = ck_max(0, ck_min(c, p->cols - LANES));                                       \
        NAME(column)(tall, high, wide, x + at, p->pitch, w, out + at, p->other, p->cols);         \
    }
TARGET static void NAME(rows)(const ck_plane *p, const void *px, const void *pw, void *pout)
{
    const REAL *x = px, *w = pw;
    REAL *out = pout;
    int64_t r = 0;
    for (; r + 4 <= p->rows; r += 4, x += 4 * p->pitch, out += 4 * p->other)
        if (p->high == 3 && p->wide == 3) {
            SWEEP(4, 3, 3)
        }
        else
            SWEEP(4, p->high, p->wide)
    for (; r < p->rows; r++, x += p->pitch, out += p->other)
        SWEEP(1, p->high, p->wide)
}

/* Add the sums of x times g of `high` by `wide` taps to out, lane by lane. What is behind the last
   column takes no part, whatever it is. */
INLINE void NAME(products)(
    const int high, const int wide, const ck_plane *p, const REAL *x, const REAL *g, REAL *out)
{
    vec sum[9];
    const int64_t rest = p->cols % LANES;
    INTEGER ones[LANES] = {0};
    memset(ones, 255, (size_t)rest * sizeof(INTEGER));
    const vbits inside = *(const vbits *)ones;
#pragma GCC unroll 16
    for (int k = 0; k < high * wide; k++)
        sum[k] = (vec){0};
    for (int64_t r = 0; r < p->rows; r++, x += p->pitch, g += p->other) {
        int64_t c = 0;
        for (; c + LANES <= p->cols; c += LANES) {
            vec v = vload(g + c);
#pragma GCC unroll 4
            for (int h = 0; h < high; h++)
#pragma GCC unroll 4
                for (int k = 0; k < wide; k++)
                    sum[h * wide + k] = vfma(sum[h * wide + k], vload(x + h * p->pitch + c + k), v);
        }
        if (rest) {
            vec v = {0};
            memcpy(&v, g + c, (size_t)rest * sizeof(REAL));
#pragma GCC unroll 4
            for (int h = 0; h < high; h++)
#pragma GCC unroll 4
                for (int k = 0; k < wide; k++) {
                    vec u = (vec)((vbits)vload(x + h * p->pitch + c + k) & inside);
                    sum[h * wide + k] = vfma(sum[h * wide + k], u, v);
                }
        }
    }
#pragma GCC unroll 4
    for (int h = 0; h < high; h++)
#pragma GCC unroll 4
        for (int k = 0; k < wide; k++) {
            REAL *to = out + (h * p->wide + k) * LANES;
            vstore(to, vload(to) + sum[h * wide + k]);
        }
}

TARGET static void NAME(dots)(const ck_plane *p, const void *px, const void *g, void *pout)
{
    const REAL *x = px;
    REAL *out = pout;
    if (p->high == 3 && p->wide == 3) {
        NAME(products)(3, 3, p, x, g, out);
        return;
    }
    for (int64_t h = 0; h < p->high; h++) {
        int64_t k = 0;
        for (; k + 3 <= p->wide; k += 3)
            NAME(products)(1, 3, p, x + h * p->pitch + k, g, out + (h * p->wide + k) * LANES);
        for (; k < p->wide; k++)
            NAME(products)(1, 1, p, x + h * p->pitch + k, g, out + (h * p->wide + k) * LANES);
    }
}

static const ck_plane_kernels NAME(kernel) = {NAME(rows), NAME(dots), LANES};

#undef SWEEP
