/* saturate.h: floats as integers, for one type and one instruction set; saturate.c includes it for
   each. Numbers that do not fit become one that does before they are converted. */

#undef ROW
#undef NARROW
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

/* Through vectors of int32_t. MOST is a REAL, or what is beyond it is mended afterwards. */
#define NARROW(name, TYPE, LEAST, MOST)                                                           \
    ROW(JOIN(name, rest), TYPE, LEAST, MOST)                                                      \
    typedef TYPE NAME(JOIN(name, v)) __attribute__((vector_size(sizeof(TYPE) * LANES),            \
                                                    aligned(sizeof(TYPE)), may_alias));           \
    TARGET static void NAME(name)(const void *from, int64_t n, void *to)                          \
    {                                                                                             \
        const REAL *x = from;                                                                     \
        TYPE *out = to;                                                                           \
        const vec least = vbroadcast((REAL)LEAST), most = vbroadcast((REAL)MOST);                 \
        int64_t i = 0;                                                                            \
        for (; i + LANES <= n; i += LANES) {                                                      \
            vec v = vload(x + i);                                                                 \
            const vbits beyond = (vbits)(v >= most);                                              \
            v = (vec)((vbits)v & (vbits)(v == v));                                                \
            v = NAME(cut)((vbits)(v > least), v, least);                                          \
            v = NAME(cut)(beyond, FITS(MOST) ? most : (vec){0}, v);                               \
            NAME(words) whole = __builtin_convertvector(v, NAME(words));                          \
            if (!FITS(MOST))                                                                      \
                whole = NAME(mended)(whole, beyond);                                              \
            *(NAME(JOIN(name, v)) *)(out + i) =                                                   \
                __builtin_convertvector(whole, NAME(JOIN(name, v)));                              \
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
ROW(i64, int64_t, INT64_MIN, INT64_MAX)
ROW(u32, uint32_t, 0, UINT32_MAX)
ROW(u64, uint64_t, 0, UINT64_MAX)

static const ck_saturate_kernels NAME(kernel) = {{
    {NAME(u8), NAME(u16), NAME(u32), NAME(u64)},
    {NAME(i8), NAME(i16), NAME(i32), NAME(i64)},
}};
