/* widths.h: what depthwise convolution and pooling do for one vector of channels, for one width of
   vectors, one type and one instruction set; channels.h includes it for each width. */

/* One tap of `tall` pixels, which are `step` apart. */
INLINE void VEC(tap)(const int op, const int tall, vec *sum, const REAL *a, int64_t step,
                     vec factor)
{
#pragma GCC unroll 8
    for (int i = 0; i < tall; i++) {
        vec v = vload(a + i * step);
        if (op == CK_OF_PRODUCTS)
            sum[i] = vfma(sum[i], v, factor);
        else if (op == CK_OF_SUM)
            sum[i] += v;
        else
            sum[i] = vmax(sum[i], v);
    }
}

/* All taps of `tall` pixels. Sums are added up in stretches of 64, so that large windows stay
   accurate. */
INLINE void VEC(window)(const int op, const int tall, const ck_taps *t, const REAL *x,
                        const REAL *w, REAL *out)
{
    enum { STRETCH = 64 };
    vec total[6], sum[6];
    const REAL start = op == CK_OF_MAX ? -(REAL)INFINITY : 0;
#pragma GCC unroll 8
    for (int i = 0; i < tall; i++)
        total[i] = sum[i] = vbroadcast(start);
    for (int64_t d = 0; d < t->count[0]; d++)
        for (int64_t h = 0; h < t->count[1]; h++)
            for (int64_t first = 0; first < t->count[2]; first += STRETCH) {
                int64_t left = ck_min(STRETCH, t->count[2] - first);
                const REAL *a = x + d * t->x[0] + h * t->x[1] + first * t->x[2];
                const REAL *b = w + d * t->w[0] + h * t->w[1] + first * t->w[2];
                for (; left > 0; left--, a += t->x[2], b += t->w[2]) {
                    vec factor = {0};
                    if (op == CK_OF_PRODUCTS)
                        factor = vload(b);
                    VEC(tap)(op, tall, sum, a, t->x_pixel, factor);
                }
#pragma GCC unroll 8
                for (int i = 0; i < tall && op != CK_OF_MAX; i++) {
                    total[i] += sum[i];
                    sum[i] = (vec){0};
                }
            }
#pragma GCC unroll 8
    for (int i = 0; i < tall; i++)
        vstore(out + i * t->out_pixel, op == CK_OF_MAX ? sum[i] : total[i]);
}

/* out[c] += sum over i < n of x[i * xstep + c] * g[i * gstep + c], from c on while vectors are
   whole; the first c that is left. */
INLINE int64_t VEC(dot)(int64_t c, int64_t channels, int64_t n, const REAL *x, int64_t xstep,
                        const REAL *g, int64_t gstep, REAL *out)
{
    for (; c + LANES <= channels; c += LANES) {
        const REAL *a = x + c, *b = g + c;
        vec sum[4] = {{0}};
        int64_t i = 0;
        for (; i + 4 <= n; i += 4, a += 4 * xstep, b += 4 * gstep)
            for (int j = 0; j < 4; j++)
                sum[j] = vfma(sum[j], vload(a + j * xstep), vload(b + j * gstep));
        for (; i < n; i++, a += xstep, b += gstep)
            sum[0] = vfma(sum[0], vload(a), vload(b));
        vstore(out + c, vload(out + c) + ((sum[0] + sum[1]) + (sum[2] + sum[3])));
    }
    return c;
}

/* The first element of a window that equals its maximum y (NaN equals NaN): `to` there gets g, or
   (take) `to` of the window gets what `g` holds there. add: what is there already counts too. From
   channel c on while vectors are whole; the first c that is left. */
INLINE int64_t VEC(first)(int64_t c, const ck_taps *t, const REAL *x, const REAL *y, const REAL *g,
                          REAL *out, const int take, const int add)
{
    for (; c + LANES <= t->channels; c += LANES) {
        vec m = vload(y + c), given = {0}, taken = {0};
        vbits left = ~(vbits){0}, is_nan = m != m;
        if (!take)
            given = vload(g + c);
        for (int64_t d = 0; d < t->count[0]; d++)
            for (int64_t h = 0; h < t->count[1]; h++)
                for (int64_t k = 0; k < t->count[2]; k++) {
                    int64_t at = d * t->x[0] + h * t->x[1] + k * t->x[2] + c;
                    int64_t to_at = d * t->w[0] + h * t->w[1] + k * t->w[2] + c;
                    vec v = vload(x + at);
                    vbits hit = left & ((v == m) | (is_nan & (v != v)));
                    left &= ~hit;
                    if (take)
                        taken = (vec)((vbits)taken | ((vbits)vload(g + to_at) & hit));
                    else {
                        vec got = (vec)((vbits)given & hit);
                        if (add)
                            got += vload(out + to_at);
                        vstore(out + to_at, got);
                    }
                }
        if (take)
            vstore(out + c, taken);
    }
    return c;
}
