/* narrow.h: what narrow.c does with words of one width, for one instruction set. WORD and SUFFIX are
   set, and what each.h gives. The count is a constant in each loop, which the compiler then turns
   into shuffles: 65,536 pixels of three bytes 10 us, 69 one by one. */

#undef INDEPENDENT
#if defined(__clang__)
#define INDEPENDENT            /* clang has no such word; `restrict` says most of it */
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

INLINE void NAME(few_apart)(const int count, const WORD *restrict x, int64_t n, WORD *restrict out,
                            int64_t ld)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < count; k++)
            out[k * ld + i] = x[count * i + k];
}

INLINE void NAME(few_beside)(const int count, const WORD *restrict x, int64_t col, int64_t n,
                             WORD *restrict out)
{
    INDEPENDENT
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < count; k++)
            out[count * i + k] = x[k * col + i];
}

APART void NAME(apart)(int count, const void *x, int64_t n, void *out, int64_t ld)
{
    if (count == 2)
        NAME(few_apart)(2, x, n, out, ld);
    else if (count == 3)
        NAME(few_apart)(3, x, n, out, ld);
    else
        NAME(few_apart)(4, x, n, out, ld);
}

APART void NAME(beside)(int count, const void *x, int64_t col, int64_t n, void *out)
{
    if (count == 2)
        NAME(few_beside)(2, x, col, n, out);
    else if (count == 3)
        NAME(few_beside)(3, x, col, n, out);
    else
        NAME(few_beside)(4, x, col, n, out);
}

static const ck_narrow NAME(kernel) = {NAME(apart), NAME(beside)};
