/* equal.c: for each of many indices the first place with an equal one, by a table of places that
   were seen (open addressing). Negative indices count from the end of their axis. */
#include "order/order.h"

static int64_t bins_for(int64_t n)
{
    int64_t bins = 16;
    while (bins < 2 * n)
        bins *= 2;
    return bins;
}

int64_t ck_equal_scratch(int64_t n)
{
    return bins_for(n) * (int64_t)sizeof(int32_t) + n * (int64_t)sizeof(int64_t);
}

/* Element i as an index; unsigned ones too large for int64_t become negative ones of no axis. */
static int64_t index_of(const ck_order_row *row, int64_t i, int width, int64_t size)
{
    int64_t at = i * row->near, x;
    switch (2 * width + (row->class == CK_SIGNED)) {
    case 0: return ((const uint8_t *)row->from)[at];
    case 2: return ((const uint16_t *)row->from)[at];
    case 4: return ((const uint32_t *)row->from)[at];
    case 6: x = ((const int64_t *)row->from)[at]; return x < 0 ? INT64_MIN : x;
    case 1: x = ((const int8_t *)row->from)[at]; break;
    case 3: x = ((const int16_t *)row->from)[at]; break;
    case 5: x = ((const int32_t *)row->from)[at]; break;
    default: x = ((const int64_t *)row->from)[at];
    }
    return x < 0 ? x + size : x;
}

int ck_equal(const ck_order_row *row, int width, int64_t size)
{
    const int64_t n = row->n, bins = bins_for(n);
    int64_t *indices = (int64_t *)row->scratch, *to = row->to;
    int32_t *seen = (int32_t *)(indices + n);          /* one more than the place; 0: none */
    memset(seen, 0, (size_t)bins * sizeof *seen);
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = index_of(row, i, width, size);
        if (x < 0 || x >= size)
            return CK_EINDEX;
        uint64_t bin = (uint64_t)x * 0x9e3779b97f4a7c15u >> 20 & (uint64_t)(bins - 1);
        while (seen[bin] && indices[seen[bin] - 1] != x)
            bin = (bin + 1) & (uint64_t)(bins - 1);
        seen[bin] = seen[bin] ? seen[bin] : (int32_t)i + 1;
        indices[i] = x;
        to[i * row->far] = seen[bin] - 1;
    }
    return CK_OK;
}
