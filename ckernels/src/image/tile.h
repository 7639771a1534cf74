/* tile.h: the register tile of the convolutions for one type and one instruction set; tile.c
   includes it for each.

   Set before: what levels.h sets, and STEPS. MR rows by two vectors of sums stay in
   registers. Each row reads x where it wants: pixels of several rows of an image, of several
   images, or elements of a kernel in a gradient, so nothing has to be copied into the shape of
   a matrix first. Their offsets are read from memory again and again, which the load units have
   room for (Zen 5: 229 GFLOP/s a core, 226 with fixed distances between rows). */
#define JOIN_(x, y) x##_##y
#define JOIN(x, y) JOIN_(x, y)
#define NAME(x) JOIN(x, SUFFIX)
#define LANES ((int)(BYTES / sizeof(REAL)))
#define NR (2 * LANES)
#if BYTES == 64
#define MR 12                  /* rows of the tile */
#define UNROLL STEPS           /* steps whose vectors of w are held at once */
#elif BYTES == 32
#define MR 6
#define UNROLL 1
#else
#define MR 4
#define UNROLL 1
#endif

typedef REAL NAME(vec) __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));

/* tall >= rows and wide * LANES >= cols are constants, so the loops unroll. */
TARGET static inline __attribute__((always_inline)) void NAME(sums)(
    const int tall, const int wide, int rows, int64_t runs, const ck_run *run, const REAL *x,
    const int64_t *from, const int64_t step, const REAL *w, int64_t wstep, REAL *c,
    const int64_t *at, int cols, int add)
{
    NAME(vec) sum[MR][2];
#pragma GCC unroll 16
    for (int i = 0; i < tall; i++)
#pragma GCC unroll 2
        for (int j = 0; j < wide; j++)
            sum[i][j] = (NAME(vec)){0};
    for (const ck_run *end = run + runs; run < end; run++) {
        const REAL *a = x + run->x, *b = w + run->w;
        int64_t left = run->length;
        for (; left >= UNROLL; left -= UNROLL, a += UNROLL * step, b += UNROLL * wstep) {
            NAME(vec) v[UNROLL][2];
            __asm__ volatile("" ::: "memory");         /* keep 12 pointers out of registers */
#pragma GCC unroll 4
            for (int u = 0; u < UNROLL; u++)
#pragma GCC unroll 2
                for (int j = 0; j < wide; j++)
                    v[u][j] = *(const NAME(vec) *)(b + u * wstep + j * LANES);
#pragma GCC unroll 16
            for (int i = 0; i < tall; i++) {
                const REAL *row = a + from[i];
#pragma GCC unroll 4
                for (int u = 0; u < UNROLL; u++)
#pragma GCC unroll 2
                    for (int j = 0; j < wide; j++)
                        sum[i][j] += row[u * step] * v[u][j];
            }
        }
        for (; left > 0; left--, a += step, b += wstep) {
            NAME(vec) v[2];
            __asm__ volatile("" ::: "memory");
#pragma GCC unroll 2
            for (int j = 0; j < wide; j++)
                v[j] = *(const NAME(vec) *)(b + j * LANES);
#pragma GCC unroll 16
            for (int i = 0; i < tall; i++)
#pragma GCC unroll 2
                for (int j = 0; j < wide; j++)
                    sum[i][j] += a[from[i]] * v[j];
        }
    }
    if (cols == wide * LANES) {
#pragma GCC unroll 16
        for (int i = 0; i < tall; i++)
            if (i < rows)
#pragma GCC unroll 2
                for (int j = 0; j < wide; j++) {
                    NAME(vec) *out = (NAME(vec) *)(c + at[i] + j * LANES);
                    if (add)
                        sum[i][j] += *out;
                    *out = sum[i][j];
                }
        return;
    }
    REAL edge[MR][NR];
#pragma GCC unroll 16
    for (int i = 0; i < tall; i++)
#pragma GCC unroll 2
        for (int j = 0; j < wide; j++)
            *(NAME(vec) *)(edge[i] + j * LANES) = sum[i][j];
    for (int i = 0; i < rows && i < tall; i++)
        for (int j = 0; j < cols && j < wide * LANES; j++)
            c[at[i] + j] = add ? c[at[i] + j] + edge[i][j] : edge[i][j];
}

#define TALL(n)                                                                                   \
    TARGET static __attribute__((noinline)) void NAME(tall_##n)(                                  \
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

#undef JOIN_
#undef JOIN
#undef NAME
#undef LANES
#undef NR
#undef TALL
#undef REAL
#undef INTEGER
#undef WORDS
#undef BYTES
#undef MR
#undef UNROLL
#undef SUFFIX
#undef TARGET
