/* scores.h: what is done with rows of scores, for one type and one instruction set; scores.c includes
   it for each. Set before: what each.h sets. */

typedef uint8_t NAME(bytes) __attribute__((vector_size(BYTES / sizeof(REAL)), aligned(1), may_alias));
typedef uint32_t NAME(word) __attribute__((vector_size(BYTES), aligned(4), may_alias));

INLINE vec NAME(choose)(vbits which, vec yes, vec no)
{
    return (vec)(((vbits)yes & which) | ((vbits)no & ~which));
}

/* exp(x), within 2 ulp of results that are normal numbers; smaller ones are 0. NaN stays. The
   polynomial is Taylor's: |r| is at most log(2) / 2. */
INLINE vec NAME(exp)(vec x)
{
#if DOUBLE
    const REAL magic = 0x1.8p52, high = 0x1.62e42fee00000p-1, low = 0x1.a39ef35793c76p-33, least = -708;
    enum { SHIFT = 52, DEGREE = 13 };
#else
    const REAL magic = 0x1.8p23f, high = 0x1.63p-1f, low = -0x1.bd0106p-13f, least = -87;
    enum { SHIFT = 23, DEGREE = 7 };
#endif
    static const REAL terms[] = {1, 1, 1 / (REAL)2, 1 / (REAL)6, 1 / (REAL)24, 1 / (REAL)120,
                                 1 / (REAL)720, 1 / (REAL)5040, 1 / (REAL)40320, 1 / (REAL)362880,
                                 1 / (REAL)3628800, 1 / (REAL)39916800, 1 / (REAL)479001600,
                                 1 / (REAL)6227020800};
    vec t = vfma(vbroadcast(magic), x, vbroadcast((REAL)1.4426950408889634));
    vec n = t - vbroadcast(magic);
    vec r = vfma(vfma(x, n, vbroadcast(-high)), n, vbroadcast(-low));
    vec y = vbroadcast(terms[DEGREE]);
#pragma GCC unroll 16
    for (int i = DEGREE - 1; i >= 0; i--)
        y = vfma(vbroadcast(terms[i]), y, r);
    y = (vec)((vbits)y + ((vbits)t << SHIFT));
    y = NAME(choose)((vbits)(x < vbroadcast(least)), (vec){0}, y);
    return NAME(choose)((vbits)(x != x), x, y);
}

/* The numbers of a last vector, the rest of it `else_`. */
INLINE vec NAME(some)(const REAL *at, int64_t n, REAL else_)
{
    vec v = vbroadcast(else_);
    for (int64_t i = 0; i < n; i++)
        v[i] = at[i];
    return v;
}

INLINE void NAME(put)(REAL *at, int64_t n, vec v)
{
    for (int64_t i = 0; i < n; i++)
        at[i] = v[i];
}

/* x[i] += bias[i * step]. */
TARGET static void NAME(add)(void *px, int64_t n, const void *pbias, int64_t step)
{
    REAL *x = px;
    const REAL *bias = pbias;
    if (step == 1)
        for (int64_t i = 0; i < n; i++)
            x[i] += bias[i];
    else
        for (int64_t i = 0; i < n; i++)
            x[i] += bias[i * step];
}

/* x[i] = mask[i * step] ? x[i] : fill. */
TARGET static void NAME(hide)(void *px, int64_t n, const uint8_t *mask, int64_t step, double fill)
{
    REAL *x = px;
    int64_t i = 0;
    if (step == 1)
        for (; i + LANES <= n; i += LANES) {
            NAME(bytes) seen;
            memcpy(&seen, mask + i, sizeof seen);
            vbits which = __builtin_convertvector(seen, vbits) != 0;
            vstore(x + i, NAME(choose)(which, vload(x + i), vbroadcast((REAL)fill)));
        }
    for (; i < n; i++)
        x[i] = mask[i * step] ? x[i] : (REAL)fill;
}

TARGET static void NAME(set)(void *px, int64_t n, double value)
{
    REAL *x = px;
    for (int64_t i = 0; i < n; i++)
        x[i] = (REAL)value;
}

TARGET static void NAME(scale)(void *px, int64_t n, double by)
{
    REAL *x = px, factor = (REAL)by;
    for (int64_t i = 0; i < n; i++)
        x[i] *= factor;
}

/* The greatest of n > 0 numbers, NaN where one is. */
TARGET static double NAME(top)(const void *px, int64_t n)
{
    const REAL *x = px;
    vec most = vbroadcast(-(REAL)INFINITY);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        most = vmax(most, vload(x + i));
    most = vmax(most, NAME(some)(x + i, n - i, -(REAL)INFINITY));
    REAL top = most[0];
    for (int l = 1; l < LANES; l++)
        top = most[l] > top || most[l] != most[l] ? most[l] : top;
    return top;
}

/* x = exp(x - less - then); the sum of all. Where the first is large, the second would be lost in it. */
TARGET static double NAME(exponentials)(void *px, int64_t n, double less, double then)
{
    REAL *x = px;
    vec sum = {0}, from = vbroadcast((REAL)less), more = vbroadcast((REAL)then);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec e = NAME(exp)(vload(x + i) - from - more);
        vstore(x + i, e);
        sum += e;
    }
    vec rest = NAME(exp)(NAME(some)(x + i, n - i, -(REAL)INFINITY) - from - more);
    NAME(put)(x + i, n - i, rest);
    double total = 0;
    for (int l = 0; l < LANES; l++)
        total += sum[l];
    for (int64_t l = 0; l < n - i; l++)
        total += rest[l];
    return total;
}

/* g = p * (g - delta) */
TARGET static void NAME(slope)(const void *pp, void *pg, int64_t n, double delta)
{
    const REAL *p = pp;
    REAL *g = pg, less = (REAL)delta;
    for (int64_t i = 0; i < n; i++)
        g[i] = p[i] * (g[i] - less);
}

TARGET static double NAME(dot)(const void *pa, const void *pb, int64_t n)
{
    const REAL *a = pa, *b = pb;
    vec sum = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        sum = vfma(sum, vload(a + i), vload(b + i));
    double total = 0;
    for (int l = 0; l < LANES; l++)
        total += sum[l];
    for (; i < n; i++)
        total += (double)a[i] * b[i];
    return total;
}

/* Threefry2x32-20 (Salmon et al. 2011), the first of its two words. */
#define ROUND(r)                                                                                  \
    x0 += x1;                                                                                     \
    x1 = (x1 << (r)) | (x1 >> (32 - (r)));                                                        \
    x1 ^= x0;
#define ROUNDS(a, b, c, d, first, second, count)                                                  \
    ROUND(a) ROUND(b) ROUND(c) ROUND(d)                                                           \
    x0 += first;                                                                                  \
    x1 += second + count##u;
INLINE NAME(word) NAME(cipher)(NAME(word) x0, uint32_t k0, uint32_t k1, uint32_t c1)
{
    const uint32_t k2 = 0x1BD11BDAu ^ k0 ^ k1;
    NAME(word) x1 = (NAME(word)){0} + (c1 + k1);
    x0 += k0;
    ROUNDS(13, 15, 26, 6, k1, k2, 1)
    ROUNDS(17, 29, 16, 24, k2, k0, 2)
    ROUNDS(13, 15, 26, 6, k0, k1, 3)
    ROUNDS(17, 29, 16, 24, k1, k2, 4)
    ROUNDS(13, 15, 26, 6, k2, k0, 5)
    return x0;
}
#undef ROUND
#undef ROUNDS

/* keep[i]: whether draw first + i of `state` (seed, stream, call) is below limit / 2^24. */
TARGET static void NAME(draw)(uint8_t *keep, int64_t n, int64_t first, const int64_t *state,
                             int64_t limit)
{
    enum { WORDS = BYTES / 4 };
    for (int64_t i = 0; i < n; i += WORDS) {
        NAME(word) at;
        uint64_t begin = (uint64_t)(first + i);
        for (int l = 0; l < WORDS; l++)
            at[l] = (uint32_t)begin + (uint32_t)l;
        uint32_t high = (uint32_t)(begin >> 32), next = (uint32_t)((begin + WORDS - 1) >> 32);
        uint32_t call = (uint32_t)state[2];
        NAME(word) r = NAME(cipher)(at, (uint32_t)state[0], (uint32_t)state[1],
                                    call ^ (high << 16 | high >> 16));
        NAME(word) later = r;
        if (next != high)
            later = NAME(cipher)(at, (uint32_t)state[0], (uint32_t)state[1],
                                 call ^ (next << 16 | next >> 16));
        for (int l = 0; l < WORDS && i + l < n; l++)
            keep[i + l] = (int64_t)((at[l] < (uint32_t)begin ? later[l] : r[l]) >> 8) < limit;
    }
}

static const ck_scores NAME(kernel) = {
    NAME(add), NAME(hide), NAME(set), NAME(scale), NAME(top), NAME(exponentials), NAME(slope),
    NAME(dot), NAME(draw),
};
