/* saturate.h: floats as integers, for one type and one instruction set; saturate.c includes it for
   each. Numbers that do not fit become one that does before they are converted. */

#undef ROW
#undef NARROW
#undef WIDE
#undef BLOCK
#define BLOCK 64
#undef FITS
#define FITS(most) (DOUBLE || (most) < INT32_MAX)               /* in a REAL, exactly */
#define ROW(name, TYPE, LEAST, MOST)                                                              \
    TARGET static void NAME(name)(const void *from, int64_t n, void *to)                          \
    {                                                                                             \
        const REAL *x = from, limit = (REAL)(MOST / 2 + 1) * 2;      /* MOST + 1, exactly */      \
        TYPE *out = to;                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                         \
            REAL v = x[i] == x[i] ? x[i] : 0;                                                     \
            v = v > (REAL)LEAST ? v : (REAL)LEAST;                                                \
            const int beyond = v >= limit;                                                        \
            const TYPE whole = (TYPE)(beyond ? 0 : v);                                            \
            out[i] = beyond ? MOST : whole;                                                       \
        }                                                                                         \
    }

/* Through int32_t, by blocks that stay in cache. MOST is a REAL, or what is beyond it is mended
   afterwards. */
#define NARROW(name, TYPE, LEAST, MOST)                                                           \
    ROW(JOIN(name, rest), TYPE, LEAST, MOST)                                                      \
    TARGET static void NAME(name)(const void *from, int64_t n, void *to)                          \
    {                                                                                             \
        const REAL *x = from;                                                                     \
        TYPE *out = to;                                                                           \
        const vec least = vbroadcast((REAL)LEAST), most = vbroadcast((REAL)MOST);                 \
        int32_t block[BLOCK];                                                                     \
        int64_t i = 0;                                                                            \
        for (; i + BLOCK <= n; i += BLOCK) {                                                      \
            int32_t *words = sizeof(TYPE) == 4 ? (int32_t *)(out + i) : block;                    \
            for (int k = 0; k < BLOCK; k += LANES) {                                              \
                vec v = vload(x + i + k);                                                         \
                const vbits beyond = (vbits)(v >= most);                                          \
                v = (vec)((vbits)v & (vbits)(v == v));                                            \
                v = NAME(cut)((vbits)(v > least), v, least);                                      \
                v = NAME(cut)(beyond, FITS(MOST) ? most : (vec){0}, v);                           \
                NAME(words) whole = __builtin_convertvector(v, NAME(words));                      \
                if (!FITS(MOST))                                                                  \
                    whole = NAME(mended)(whole, beyond);                                          \
                *(NAME(words) *)(words + k) = whole;                                              \
            }                                                                                     \
            for (int k = 0; sizeof(TYPE) < 4 && k < BLOCK; k++)                                   \
                out[i + k] = (TYPE)block[k];                                                      \
        }                                                                                         \
        NAME(JOIN(name, rest))(x + i, n - i, out + i);                                            \
    }

/* Blocks of numbers that int32_t holds go through it, others one by one. */
#define WIDE(name, TYPE, LEAST, MOST)                                                             \
    ROW(JOIN(name, rest), TYPE, LEAST, MOST)                                                      \
    TARGET static void NAME(name)(const void *from, int64_t n, void *to)                          \
    {                                                                                             \
        const REAL *x = from;                                                                     \
        TYPE *out = to;                                                                           \
        const vec least = vbroadcast((REAL)(LEAST < 0 ? INT32_MIN : -0.5)),                       \
                  most = vbroadcast((REAL)0x7fffff00);                                            \
        int64_t i = 0;                                                                            \
        for (; i + BLOCK <= n; i += BLOCK) {                                                      \
            int32_t block[BLOCK];                                                                 \
            vbits held = ~(vbits){0};                                                             \
            for (int k = 0; k < BLOCK; k += LANES) {                                              \
                const vec v = vload(x + i + k);                                                   \
                held &= (vbits)(v >= least) & (vbits)(v <= most);                                 \
                *(NAME(words) *)(block + k) = __builtin_convertvector(v, NAME(words));            \
            }                                                                                     \
            int all = 1;                                                                          \
            for (int k = 0; k < LANES; k++)                                                       \
                all &= held[k] != 0;                                                              \
            if (!all)                                                                             \
                NAME(JOIN(name, rest))(x + i, BLOCK, out + i);                                    \
            for (int k = 0; all && k < BLOCK; k++)                                                \
                out[i + k] = (TYPE)block[k];                                                      \
        }                                                                                         \
        NAME(JOIN(name, rest))(x + i, n - i, out + i);                                            \
    }

typedef int32_t NAME(words) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

INLINE vec NAME(cut)(vbits which, vec yes, vec no)
{
    return (vec)(((vbits)yes & which) | ((vbits)no & ~which));
}

INLINE NAME(words) NAME(mended)(NAME(words) whole, vbits beyond)
{
    const NAME(words) which = __builtin_convertvector(beyond, NAME(words));
    return (whole & ~which) | (INT32_MAX & which);
}

NARROW(i8, int8_t, INT8_MIN, INT8_MAX)
NARROW(i16, int16_t, INT16_MIN, INT16_MAX)
NARROW(i32, int32_t, INT32_MIN, INT32_MAX)
NARROW(u8, uint8_t, 0, UINT8_MAX)
NARROW(u16, uint16_t, 0, UINT16_MAX)
WIDE(i64, int64_t, INT64_MIN, INT64_MAX)
WIDE(u32, uint32_t, 0, UINT32_MAX)
WIDE(u64, uint64_t, 0, UINT64_MAX)

static const ck_saturate_kernels NAME(kernel) = {{
    {NAME(u8), NAME(u16), NAME(u32), NAME(u64)},
    {NAME(i8), NAME(i16), NAME(i32), NAME(i64)},
}};
