/* radix.h: sorts words of WORD, least digit first; included once for each width. What is of no
   instruction set: counting and moving words one by one. Stable in the bits that are sorted by. */
#define PASTE_(x, y) x##y
#define PASTE(x, y) PASTE_(x, y)

/* Sorts a by its bits [from, to), with n words of b for the way; returned is where they lie. */
static inline WORD *PASTE(ck_radix, WORD_BITS)(WORD *a, WORD *b, int64_t n, int from, int to)
{
    enum { BINS = 256, MOST = WORD_BITS / 8 };
    int64_t count[MOST][BINS];
    const int digits = (to - from + 7) / 8;
    memset(count, 0, sizeof count[0] * (size_t)digits);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < digits; k++)
            count[k][(a[i] >> (from + 8 * k)) & (BINS - 1)]++;
    for (int k = 0; k < digits; k++) {
        int64_t *at = count[k], sum = 0, most = 0;
        for (int i = 0; i < BINS; i++) {
            int64_t here = at[i];
            most = here > most ? here : most;
            at[i] = sum, sum += here;
        }
        if (most == n)
            continue;                                  /* one digit for all: they are in order */
        for (int64_t i = 0; i < n; i++)
            b[at[(a[i] >> (from + 8 * k)) & (BINS - 1)]++] = a[i];
        WORD *other = a;
        a = b, b = other;
    }
    return a;
}

/* Sorts whole words, of which all bits from `to` on are zero. Up to CK_LIBRARY words the library's
   sorts are ahead, in vectors: 1.0 ns an element for 256 words of 4 bytes, here 5.8; of 1,000
   words 5.4 and 5.0, of 10,000 14.4 and 4.6 (Zen 4 with AVX-512). Of 262,144 words 1.2 and 7.5
   where it has AVX-512 for long rows too (Sapphire Rapids): order.c measures that. */
static inline WORD *PASTE(ck_sort, WORD_BITS)(WORD *a, WORD *b, int64_t n, int to)
{
    enum { SHORT = 24 };
    if (n <= ck_sorter_takes(WORD_LOG) && n > SHORT / 4 && ck_sorters[WORD_LOG]
        && !ck_sorters[WORD_LOG](a, (intptr_t)n, NULL))
        return a;
    if (n > SHORT)
        return PASTE(ck_radix, WORD_BITS)(a, b, n, 0, to);
    for (int64_t i = 1; i < n; i++) {
        WORD x = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1] > x; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
    return a;
}

#undef PASTE_
#undef PASTE
