/* tile.h: the register tile of the convolutions for one type and one instruction set; tile.c
   includes it for each.

   Set before: what each.h sets. MR rows by two vectors of sums stay in
   registers. Each row reads x where it wants: pixels of several rows of an image, of several
   images, or elements of a kernel in a gradient, so nothing has to be copied into the shape of
   a matrix first. Their offsets are read from memory again and again, which the load units have
   room for (Zen 5: 229 GFLOP/s a core, 226 with fixed distances between rows). */
#define MR TILE_ROWS                   /* rows of the tile */
#define NR (2 * LANES)

/* tall >= rows and wide * LANES >= cols are constants, so the loops unroll. */
INLINE void NAME(sums)(
    const int tall, const int wide, int rows, int64_t runs, const ck_run *run, const REAL *x,
    const int64_t *from, const int64_t step, const REAL *w, int64_t wstep, REAL *c,
    const int64_t *at, int cols, int add)
{
    vec sum[MR][2];
#pragma GCC unroll 16
    for (int i = 0; i < tall; i++)
#pragma GCC unroll 2
        for (int j = 0; j < wide; j++)
            sum[i][j] = (vec){0};
    for (const ck_run *end = run + runs; run < end; run++) {
        const REAL *a = x + run->x, *b = w + run->w;
        int64_t left = run->length;
        for (; left >= TILE_STEPS;
             left -= TILE_STEPS, a += TILE_STEPS * step, b += TILE_STEPS * wstep) {
            vec v[TILE_STEPS][2];
            __asm__ volatile("" ::: "memory");         /* keep 12 pointers out of registers */
#pragma GCC unroll 4
            for (int u = 0; u < TILE_STEPS; u++)
#pragma GCC unroll 2
                for (int j = 0; j < wide; j++)
                    v[u][j] = vload(b + u * wstep + j * LANES);
#pragma GCC unroll 16
            for (int i = 0; i < tall; i++) {
                const REAL *row = a + from[i];
                vec some = {0};
                if (BY_LANE && step == 1)
                    some = vload(row);
#pragma GCC unroll 4
                for (int u = 0; u < TILE_STEPS; u++)
#pragma GCC unroll 2
                    for (int j = 0; j < wide; j++)
                        if (BY_LANE && step == 1)
                            sum[i][j] = vfma_lane(sum[i][j], v[u][j], some, u);
                        else
                            sum[i][j] = vfma(sum[i][j], vbroadcast(row[u * step]), v[u][j]);
            }
        }
        for (; left > 0; left--, a += step, b += wstep) {
            vec v[2];
            __asm__ volatile("" ::: "memory");
#pragma GCC unroll 2
            for (int j = 0; j < wide; j++)
                v[j] = vload(b + j * LANES);
#pragma GCC unroll 16
            for (int i = 0; i < tall; i++)
#pragma GCC unroll 2
                for (int j = 0; j < wide; j++)
                    sum[i][j] = vfma(sum[i][j], vbroadcast(a[from[i]]), v[j]);
        }
    }
    if (cols == wide * LANES) {
#pragma GCC unroll 16
        for (int i = 0; i < tall; i++)
            if (i < rows)
#pragma GCC unroll 2
                for (int j = 0; j < wide; j++) {
                    REAL *out = c + at[i] + j * LANES;
                    if (add)
                        sum[i][j] += vload(out);
                    vstore(out, sum[i][j]);
                }
        return;
    }
    REAL edge[MR][NR];
#pragma GCC unroll 16
    for (int i = 0; i < tall; i++)
#pragma GCC unroll 2
        for (int j = 0; j < wide; j++)
            vstore(edge[i] + j * LANES, sum[i][j]);
    for (int i = 0; i < rows && i < tall; i++)
        for (int j = 0; j < cols && j < wide * LANES; j++)
            c[at[i] + j] = add ? c[at[i] + j] + edge[i][j] : edge[i][j];
}

#define TALL(n)                                                                                   \
    APART void NAME(tall_##n)(                                                                    \
        int rows, int64_t runs, const ck_run *run, const REAL *x, const int64_t *from,            \
        int64_t step, const REAL *w, int64_t wstep, REAL *c, const int64_t *at, int cols,         \
        int add)                                                                                  \
    {                                                                                             \
        if (cols > LANES) {                                                                       \
            if (step == 1)                                                                        \
                NAME(sums)(n, 2, rows, runs, run, x, from, 1, w, wstep, c, at, cols, add);        \
            else                                                                                  \
                NAME(sums)(n, 2, rows, runs, run, x, from, step, w, wstep, c, at, cols, add);     \
        }                                                                                         \
        else                                                                                      \
            NAME(sums)(n, 1, rows, runs, run, x, from, step, w, wstep, c, at, cols, add);         \
    }

TALL(1)
TALL(2)
TALL(4)
#if MR > 4
TALL(MR)
#endif
#if MR > 8
TALL(8)
#endif

static void NAME(tile)(int rows, int64_t runs, const ck_run *run, const void *x,
                       const int64_t *from, int64_t step, const void *w, int64_t wstep, void *c,
                       const int64_t *at, int cols, int add)
{
#define CALL(n) NAME(tall_##n)(rows, runs, run, x, from, step, w, wstep, c, at, cols, add)
    if (rows <= 1)
        CALL(1);
    else if (rows == 2)
        CALL(2);
    else if (rows <= 4)
        CALL(4);
#if MR > 8
    else if (rows <= 8)
        CALL(8);
#endif
#if MR > 4
    else
        CALL(MR);
#endif
#undef CALL
}

static const ck_tile NAME(kernel) = {NAME(tile), MR, NR, LANES, sizeof(REAL)};

#undef MR
#undef NR
#undef TALL
