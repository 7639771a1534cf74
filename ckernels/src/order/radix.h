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

static inline void PASTE(ck_insert, WORD_BITS)(WORD *a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        WORD x = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1] > x; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

/* Whether n words, as samples show them, often lie closer than a fourth of 1 << from. */
static inline int PASTE(ck_crowded, WORD_BITS)(const WORD *a, int64_t n, int from)
{
    enum { SAMPLES = 32, MANY = 4 };
    WORD some[SAMPLES];
    const int64_t step = n / SAMPLES;
    int close = 0;
    for (int i = 0; i < SAMPLES; i++)
        some[i] = a[i * step];
    PASTE(ck_insert, WORD_BITS)(some, SAMPLES);
    for (int i = 1; i < SAMPLES; i++) {
        WORD gap = (WORD)(some[i] - some[i - 1]);
        close += gap && (uint64_t)(gap >> from) < 4 * (uint64_t)step;
    }
    return close > MANY;
}

/* Sorts by its bits [0, to). Of many bits the upper ones come first, as many as tell most of n words
   apart: 262,144 words of 64 bits take four passes for eight. Whether runs of words that agree in
   these are in order is seen in one look; those that are not are sorted by themselves. */
static inline WORD *PASTE(ck_upper, WORD_BITS)(WORD *a, WORD *b, int64_t n, int to)
{
    enum { MORE = 13, SHORT = 24 };
    const int upper = (64 - __builtin_clzll((uint64_t)n | 1) + MORE + 7) / 8 * 8, from = to - upper;
    if (from < 16 || PASTE(ck_crowded, WORD_BITS)(a, n, from))
        return PASTE(ck_radix, WORD_BITS)(a, b, n, 0, to);
    WORD *found = PASTE(ck_radix, WORD_BITS)(a, b, n, from, to), *other = found == a ? b : a;
    for (int64_t i = 1, mended = 0; i < n; i++) {
        if (found[i - 1] <= found[i])
            continue;
        int64_t low = i - 1, high = i + 1;
        while (low > 0 && found[low - 1] >> from == found[i] >> from)
            low--;
        while (high < n && found[high] >> from == found[i] >> from)
            high++;
        mended += high - low;
        if (high - low > SHORT || mended > n / 4)
            return PASTE(ck_radix, WORD_BITS)(found, other, n, 0, to);
        PASTE(ck_insert, WORD_BITS)(found + low, high - low);
        i = high;
    }
    return found;
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
        return PASTE(ck_upper, WORD_BITS)(a, b, n, to);
    PASTE(ck_insert, WORD_BITS)(a, n);
    return a;
}

#undef PASTE_
#undef PASTE
