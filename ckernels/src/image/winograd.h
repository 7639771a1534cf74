/* winograd.h: windows of 3 x 3 by squares of 2 x 2 results, for one type and one instruction set;
   winograd.c includes it for each.

   Set before: what each.h sets. Winograd's F(2 x 2, 3 x 3), whose tiles are these squares: a
   square's 4 x 4 pixels d and the kernel g are turned into 4 x 4 numbers for each channel,
   V = B' d B and U = G g G'; sums over channels of products of the two, place by place, are M; the
   square is A' M A. In one dimension

       V = (d0 - d2, d1 + d2, d2 - d1, d1 - d3)
       U = (g0, (g0 + g1 + g2) / 2, (g0 - g1 + g2) / 2, g2)
       results = (M0 + M1 + M2, M1 - M2 - M3)

   so that 16 products stand for 36. The places lie in planes, one after the other. */

#undef BLOCK
#define BLOCK (8 * LANES)

/* The four numbers of one dimension from three, `step` vectors apart. */
INLINE void NAME(turned)(const vec *g, int step, vec half, vec *u)
{
    const vec sum = g[0] + g[2 * step], middle = g[step];
    u[0] = g[0], u[1] = (sum + middle) * half, u[2] = (sum - middle) * half, u[3] = g[2 * step];
}

/* 16 planes of U from the 9 planes of a kernel, n numbers each. By blocks: numbers at one place of
   the planes fall into the same few lines of the cache. */
TARGET static void NAME(kernel_places)(const void *kernel, int64_t n, void *places)
{
    REAL from[9][BLOCK], to[16][BLOCK];
    const vec half = vbroadcast((REAL)0.5);
    memset(from, 0, sizeof from);
    for (int64_t at = 0; at < n; at += BLOCK) {
        const size_t bytes = sizeof(REAL) * (size_t)ck_min(BLOCK, n - at);
        for (int p = 0; p < 9; p++)
            memcpy(from[p], (const REAL *)kernel + p * n + at, bytes);
        for (int i = 0; i < BLOCK; i += LANES) {
            vec g[9], rows[12], u[4];
#pragma GCC unroll 9
            for (int p = 0; p < 9; p++)
                g[p] = vload(from[p] + i);
#pragma GCC unroll 3
            for (int k = 0; k < 3; k++) {
                NAME(turned)(g + k, 3, half, u);
                rows[k] = u[0], rows[3 + k] = u[1], rows[6 + k] = u[2], rows[9 + k] = u[3];
            }
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++) {
                NAME(turned)(rows + 3 * r, 1, half, u);
#pragma GCC unroll 4
                for (int p = 0; p < 4; p++)
                    vstore(to[4 * r + p] + i, u[p]);
            }
        }
        for (int p = 0; p < 16; p++)
            memcpy((REAL *)places + p * n + at, to[p], bytes);
    }
}

/* Channels [c, c + LANES) of the V of one square. A square of one row or column repeats the last
   pixels that its windows read: what becomes of the others is never stored. */
INLINE void NAME(square_in)(const ck_square *s, const REAL *x, int64_t row, int64_t col, REAL *v,
                            int64_t plane)
{
    vec rows[4][4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        const REAL *at = x + ck_min(k, s->cols + 1) * col;
        vec d0 = vload(at), d1 = vload(at + row), d2 = vload(at + 2 * row);
        vec d3 = vload(at + (s->rows + 1) * row);
        rows[0][k] = d0 - d2, rows[1][k] = d1 + d2, rows[2][k] = d2 - d1, rows[3][k] = d1 - d3;
    }
#pragma GCC unroll 4
    for (int r = 0; r < 4; r++, v += 4 * plane) {
        vec *d = rows[r];
        vstore(v, d[0] - d[2]);
        vstore(v + plane, d[1] + d[2]);
        vstore(v + 2 * plane, d[2] - d[1]);
        vstore(v + 3 * plane, d[1] - d[3]);
    }
}

TARGET static void NAME(image_places)(const ck_square *squares, int64_t n, const void *image,
                                      int64_t row, int64_t col, int64_t channels, void *places,
                                      int64_t plane)
{
    for (int64_t c = 0; c < channels; c += LANES) {
        int64_t at = ck_min(c, channels - LANES);              /* the last ones overlap */
        for (int64_t i = 0; i < n; i++)
            NAME(square_in)(squares + i, (const REAL *)image + squares[i].from + at, row, col,
                            (REAL *)places + i * channels + at, plane);
    }
}

/* Squares of the result, `cols` channels of it, from planes of M with `width` numbers for each
   square. Says whether all are finite. */
TARGET static int NAME(squares)(const ck_square *squares, int64_t n, const void *places,
                                int64_t plane, int64_t width, void *result, int64_t row,
                                int64_t col, int64_t cols)
{
    vec none = {0};
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < cols; c += LANES) {
            const ck_square *s = squares + i;
            const REAL *m = (const REAL *)places + i * width + c;
            vec rows[2][4];
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) {
                vec a = vload(m + k * plane), b = vload(m + (4 + k) * plane);
                vec d = vload(m + (8 + k) * plane), e = vload(m + (12 + k) * plane);
                rows[0][k] = a + b + d, rows[1][k] = b - d - e;
            }
#pragma GCC unroll 2
            for (int r = 0; r < 2; r++) {
                vec *a = rows[r], out[2] = {a[0] + a[1] + a[2], a[1] - a[2] - a[3]};
#pragma GCC unroll 2
                for (int k = 0; k < 2; k++) {
                    if (r >= s->rows || k >= s->cols)
                        continue;
                    REAL *to = (REAL *)result + s->at + r * row + k * col + c;
                    if (c + LANES <= cols) {
                        none += out[k] * 0;
                        vstore(to, out[k]);
                        continue;
                    }
                    for (int64_t l = 0; l < cols - c; l++)
                        none[0] += out[k][l] * 0, to[l] = out[k][l];
                }
            }
        }
    return vsum(none) == 0;
}

static const ck_winograd NAME(kernel) = {
    NAME(kernel_places), NAME(image_places), NAME(squares),
};
