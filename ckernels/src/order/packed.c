/* packed.c: the order of keys: each is packed into one word with its place behind it, and words
   are sorted. Equal keys stay in their order, since then places decide. */
#include "order/sorts.h"

enum {
    LONG_RUN = 16,             /* keys whose upper bits are equal: more are sorted by all bits */
    MORE = 13                  /* bits beyond those of n that tell most of n keys apart */
};

static void range_of(const uint64_t *keys, int64_t n, uint64_t *low, uint64_t *high)
{
    *low = UINT64_MAX, *high = 0;
    for (int64_t i = 0; i < n; i++) {
        *low = keys[i] < *low ? keys[i] : *low;
        *high = keys[i] > *high ? keys[i] : *high;
    }
}

/* Puts runs of words whose upper bits are equal into the order of their keys. 0: one is long. */
static int mend(const uint64_t *keys, uint64_t *a, int64_t n, int bits)
{
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    for (int64_t i = 1; i < n; i++) {
        uint64_t x = a[i], key = keys[x & mask];
        int64_t j = i;
        for (; j > 0 && a[j - 1] >> bits == x >> bits && keys[a[j - 1] & mask] > key; j--) {
            if (i - j > LONG_RUN)
                return 0;
            a[j] = a[j - 1];
        }
        a[j] = x;
    }
    return 1;
}

/* By the lower bits of all keys first, then by their upper ones, which leaves that order. */
static uint64_t *in_two(const uint64_t *keys, int64_t n, uint64_t *a, uint64_t *b, uint64_t low,
                        int wide, int bits)
{
    const int half = wide / 2;
    const uint64_t mask = ((uint64_t)1 << bits) - 1, lower = ((uint64_t)1 << half) - 1;
    for (int64_t i = 0; i < n; i++)
        a[i] = ((keys[i] - low) & lower) << bits | (uint64_t)i;
    uint64_t *found = ck_radix64(a, b, n, bits, bits + half);
    uint64_t *other = found == a ? b : a;
    for (int64_t i = 0; i < n; i++)
        found[i] = (keys[found[i] & mask] - low) >> half << bits | (found[i] & mask);
    return ck_radix64(found, other, n, bits, bits + wide - half);
}

uint64_t *ck_order_of(const uint64_t *keys, int64_t n, uint64_t *a, uint64_t *b, uint64_t *mask)
{
    uint64_t low, high;
    range_of(keys, n, &low, &high);
    const int bits = ck_bits_of(n > 1 ? (uint64_t)n - 1 : 1), wide = ck_bits_of(high - low);
    const int fit = wide + bits > 64 ? wide + bits - 64 : 0, few = wide - (bits + MORE + 7) / 8 * 8;
    const int over = few > fit && few >= 16 && !ck_crowded64(keys, n, few) ? few : fit;
    *mask = ((uint64_t)1 << bits) - 1;
    if (n <= ck_sorter_takes(2) && wide + bits <= 32) {          /* half the words, twice the speed */
        uint32_t *half = (uint32_t *)b, *more = half + n;
        for (int64_t i = 0; i < n; i++)
            half[i] = (uint32_t)((keys[i] - low) << bits | (uint64_t)i);
        half = ck_sort32(half, more, n, wide + bits);
        for (int64_t i = 0; i < n; i++)
            a[i] = half[i];
        return a;
    }
    for (int64_t i = 0; i < n; i++)
        a[i] = (keys[i] - low) >> over << bits | (uint64_t)i;
    uint64_t *found = n <= ck_sorter_takes(3) ? ck_sort64(a, b, n, 64)
                                    : ck_radix64(a, b, n, bits, bits + wide - over);
    if (over && !mend(keys, found, n, bits))
        found = in_two(keys, n, a, b, low, wide, bits);
    return found;
}
