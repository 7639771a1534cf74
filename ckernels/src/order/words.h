/* words.h: what order.c does with rows of words of one width, for one instruction set: elements
   become keys and keys elements, short rows are sorted side by side, the largest of a row found.
   WORD, WORD_BITS, SUFFIX are set, and what each.h gives. */

/* ---- keys ---- */

#define SIGN ((WORD)((WORD)1 << (WORD_BITS - 1)))
#define NONE ((WORD)~(WORD)0)                          /* the key of NaN */

INLINE WORD NAME(to_key)(WORD x, int class, WORD infinity, int fold)
{
    if (class == CK_UNSIGNED)
        return x;
    if (class == CK_SIGNED)
        return x ^ SIGN;
    WORD size = x & (WORD)~SIGN;
    WORD sign = (WORD)(0 - (x >> (WORD_BITS - 1)));    /* all bits, or none */
    sign = fold && !size ? 0 : sign;
    WORD key = (fold ? size | (sign & SIGN) : x) ^ (WORD)(sign | SIGN);
    return size > infinity ? NONE : key;
}

INLINE WORD NAME(from_key)(WORD key, int class, WORD infinity)
{
    if (class == CK_UNSIGNED)
        return key;
    if (class == CK_SIGNED)
        return key ^ SIGN;
    WORD positive = (WORD)(0 - (key >> (WORD_BITS - 1)));
    WORD x = key ^ (WORD)(~positive | SIGN);
    return key == NONE ? (WORD)(infinity | (infinity & (WORD)(0 - infinity)) >> 1) : x;
}

INLINE WORD NAME(infinity)(int class)
{
    return (WORD)(WORD_BITS == 64 ? 0x7ff0000000000000 : WORD_BITS == 32 ? 0x7f800000
                  : class == CK_HALF ? 0x7c00 : 0x7f80);
}

INLINE void NAME(read)(const WORD *from, int64_t step, int64_t n, int class, int fold, WORD *to)
{
    const WORD infinity = NAME(infinity)(class);
    if (class == CK_UNSIGNED)
        for (int64_t i = 0; i < n; i++)
            to[i] = from[i * step];
    else if (class == CK_SIGNED)
        for (int64_t i = 0; i < n; i++)
            to[i] = NAME(to_key)(from[i * step], CK_SIGNED, 0, 0);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = NAME(to_key)(from[i * step], CK_FLOAT, infinity, fold);
}

INLINE void NAME(write)(const WORD *from, int64_t n, int class, WORD add, int64_t step, WORD *to)
{
    const WORD infinity = NAME(infinity)(class);
    if (class == CK_UNSIGNED)
        for (int64_t i = 0; i < n; i++)
            to[i * step] = (WORD)(from[i] + add);
    else if (class == CK_SIGNED)
        for (int64_t i = 0; i < n; i++)
            to[i * step] = NAME(from_key)((WORD)(from[i] + add), CK_SIGNED, 0);
    else
        for (int64_t i = 0; i < n; i++)
            to[i * step] = NAME(from_key)((WORD)(from[i] + add), CK_FLOAT, infinity);
}

/* The keys of a row; loops of their own for elements side by side. */
APART void NAME(keys_of)(const ck_order_row *row, int64_t first, int64_t n, int fold, WORD *to)
{
    const WORD *from = (const WORD *)row->from + first * row->near;
    if (row->near == 1)
        NAME(read)(from, 1, n, row->class, fold, to);
    else
        NAME(read)(from, row->near, n, row->class, fold, to);
}

APART void NAME(elements_of)(const WORD *keys, const ck_order_row *row, WORD add)
{
    if (row->far == 1)
        NAME(write)(keys, row->n, row->class, add, 1, row->to);
    else
        NAME(write)(keys, row->n, row->class, add, row->far, row->to);
}

APART void NAME(keys)(const ck_order_row *row, uint64_t *keys)
{
    enum { AT_ONCE = 256 };
    WORD few[AT_ONCE];
    for (int64_t i = 0; i < row->n; i += AT_ONCE) {
        int64_t n = row->n - i < AT_ONCE ? row->n - i : AT_ONCE;
        NAME(keys_of)(row, i, n, 1, few);
        for (int64_t j = 0; j < n; j++)
            keys[i + j] = few[j];
    }
}

/* ---- rows by themselves ---- */

#if WORD_BITS == 8
/* How often each number occurs says where it stands. Four counts of each, since one would wait for
   itself where a number repeats. */
APART void NAME(sort)(const ck_order_row *row)
{
    int64_t count[256][4];
    WORD *keys = (WORD *)row->scratch, *to = keys, low = NONE, high = 0;
    NAME(keys_of)(row, 0, row->n, 0, keys);
    for (int64_t i = 0; i < row->n; i++) {
        low = keys[i] < low ? keys[i] : low;
        high = keys[i] > high ? keys[i] : high;
    }
    for (int k = 0; k <= high - low; k++)
        memset(count[k], 0, sizeof count[k]);
    for (int64_t i = 0; i < row->n; i++)
        count[keys[i] - low][i & 3]++;
    for (int k = 0; k <= high - low; k++) {
        int64_t n = count[k][0] + count[k][1] + count[k][2] + count[k][3];
        memset(to, low + k, (size_t)n);
        to += n;
    }
    NAME(elements_of)(keys, row, 0);
}
#else
APART void NAME(sort)(const ck_order_row *row)
{
    WORD *a = (WORD *)row->scratch, *b = a + row->n, low = NONE, high = 0;
    if (row->n <= ck_sorter_takes(WORD_LOG) && ck_sorters[WORD_LOG]) {
        a = row->far == 1 ? row->to : a;
        NAME(keys_of)(row, 0, row->n, 0, a);
        ck_sorters[WORD_LOG](a, (intptr_t)row->n, NULL);
        if (a != row->to || row->class != CK_UNSIGNED)
            NAME(elements_of)(a, row, 0);
        return;
    }
    NAME(keys_of)(row, 0, row->n, 0, a);
    for (int64_t i = 0; i < row->n; i++) {
        low = a[i] < low ? a[i] : low;
        high = a[i] > high ? a[i] : high;
    }
    for (int64_t i = 0; i < row->n; i++)
        a[i] = (WORD)(a[i] - low);
    WORD *found = SORT(a, b, row->n, ck_bits_of((WORD)(high - low)));
    NAME(elements_of)(found, row, low);
}
#endif

/* ---- short rows side by side: Batcher's network by odd and even merges, a row in each lane ---- */

enum { NAME(LANE) = BYTES / sizeof(WORD), NAME(LONGEST) = WORD_BITS == 8 ? 64 : 256 / WORD_BITS };

INLINE void NAME(exchange)(WORD *a, WORD *b)
{
    for (int l = 0; l < NAME(LANE); l++) {
        WORD x = a[l], y = b[l];
        a[l] = x < y ? x : y;
        b[l] = x < y ? y : x;
    }
}

INLINE void NAME(network)(WORD *v, int n)
{
    enum { L = NAME(LANE) };
    for (int p = 1, twice = 1; p < n; p *= 2, twice++)
        for (int k = p; k; k /= 2)
            for (int j = k % p; j + k < n; j += 2 * k)
                for (int i = j; i < j + k && i + k < n; i++)
                    if (i >> twice == (i + k) >> twice)
                        NAME(exchange)(v + i * L, v + (i + k) * L);
}

/* Rows of n <= most elements; lanes without a row repeat the last one. */
INLINE void NAME(gather)(const ck_order_row *row, const char *const *from, int64_t rows, int64_t n,
                         const int64_t most, WORD *v)
{
    if (n > most)
        __builtin_unreachable();            /* gcc warns of writes behind v without it */
    for (int64_t r = 0; r < NAME(LANE); r++) {
        const WORD *x = (const WORD *)from[r < rows ? r : rows - 1];
        for (int64_t i = 0; i < n; i++)
            v[i * NAME(LANE) + r] = x[i * row->near];
    }
}

APART void NAME(sort_lanes)(const ck_order_row *row, const char *const *from, char *const *to,
                            int64_t rows)
{
    enum { L = NAME(LANE) };
    WORD v[NAME(LONGEST) * L] __attribute__((aligned(64)));
    const int64_t n = row->n;
    NAME(gather)(row, from, rows, n, NAME(LONGEST), v);
    NAME(read)(v, 1, n * L, row->class, 0, v);
    NAME(network)(v, (int)n);
    NAME(write)(v, n * L, row->class, 0, 1, v);
    for (int64_t r = 0; r < rows; r++) {
        WORD *y = (WORD *)to[r];
        for (int64_t i = 0; i < n; i++)
            y[i * row->far] = v[i * L + r];
    }
}

/* The place of each element in order is how many come before it: all pairs are compared. */
APART void NAME(places_lanes)(const ck_order_row *row, const char *const *from, char *const *to,
                              int64_t rows)
{
    enum { L = NAME(LANE) };
    WORD v[CK_RANKED * L] __attribute__((aligned(64)));
    WORD rank[CK_RANKED * L] __attribute__((aligned(64)));
    const int n = (int)row->n;
    NAME(gather)(row, from, rows, n, CK_RANKED, v);
    NAME(read)(v, 1, n * L, row->class, 1, v);
    for (int i = 0; i < n * L; i++) {
        v[i] ^= row->falling ? NONE : 0;
        rank[i] = 0;
    }
    for (int j = 1; j < n; j++)
        for (int i = 0; i < j; i++)
            for (int l = 0; l < L; l++) {
                WORD first = v[i * L + l] <= v[j * L + l];
                rank[j * L + l] += first;
                rank[i * L + l] += first ^ 1;
            }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < n; i++)
            if ((int64_t)rank[i * L + r] < row->count)
                ((int64_t *)to[r])[(int64_t)rank[i * L + r] * row->far] = i;
}

/* ---- the first of a row in order ---- */

/* What has been found: keys with their places. They are put in order, and all but `most` dropped,
   whenever there is room for no more; keys from `edge` on come too late. */
typedef struct {
    uint64_t *keys, *places, *a, *b;
    int64_t count;
} NAME(found);

INLINE void NAME(tidy)(NAME(found) *f, int64_t most)
{
    uint64_t mask, *order = ck_order_of(f->keys, f->count, f->a, f->b, &mask);
    uint64_t *other = order == f->a ? f->b : f->a;
    if (f->count > most)
        f->count = most;
    for (int64_t i = 0; i < f->count; i++) {
        uint64_t at = order[i] & mask;
        order[i] = f->keys[at], other[i] = f->places[at];
    }
    for (int64_t i = 0; i < f->count; i++)
        f->keys[i] = order[i], f->places[i] = other[i];
}

APART void NAME(first)(const ck_order_row *row)
{
    enum { AT_ONCE = 64 };
    const int64_t most = row->count, room = 2 * most + CK_SPARE;
    const WORD flip = row->falling ? NONE : 0;
    uint64_t *words = (uint64_t *)row->scratch;
    NAME(found) f = {words, words + room, words + 2 * room, words + 3 * room, 0};
    WORD few[AT_ONCE], edge = NONE;
    int full = 0;
    for (int64_t i = 0; i < row->n; i += AT_ONCE) {
        const int64_t n = row->n - i < AT_ONCE ? row->n - i : AT_ONCE;
        WORD lowest = NONE;
        NAME(keys_of)(row, i, n, 1, few);
        for (int64_t j = 0; j < n; j++) {
            few[j] ^= flip;
            lowest = few[j] < lowest ? few[j] : lowest;
        }
        if (full && lowest >= edge)
            continue;
        for (int64_t j = 0; j < n; j++) {
            if (full && few[j] >= edge)
                continue;
            f.keys[f.count] = few[j], f.places[f.count++] = (uint64_t)(i + j);
            if (f.count == room) {
                NAME(tidy)(&f, most);
                edge = (WORD)f.keys[most - 1], full = 1;
            }
        }
    }
    NAME(tidy)(&f, most);
    for (int64_t i = 0; i < most; i++)
        ((int64_t *)row->to)[i * row->far] = (int64_t)f.places[i];
}

static const ck_order_kernels NAME(kernel) = {
    NAME(sort), NAME(sort_lanes), NAME(places_lanes), NAME(keys), NAME(first), NAME(LANE), NAME(LONGEST)
};

#undef SIGN
#undef NONE
