/* order.c: rows in order: sorted values, the places that sort, the first places in rising or
   falling order. Equal elements stay in their order, NaN comes last (falling: first). */
#include "order/sorts.h"

#include "image/native.h"
#include "system/system.h"

#define TEMPLATE "order/words.h"
#define EACH "order/each_word.h"
#include "simd/each.h"

#undef CK_TYPES
#define CK_TYPES(set)                                                                             \
    {&kernel_##set##_u8, &kernel_##set##_u16, &kernel_##set##_u32, &kernel_##set##_u64}

ck_sorter ck_sorters[4];
int64_t ck_sorter_limits[4] = {0, CK_LIBRARY, CK_LIBRARY, CK_LIBRARY};

/* Short rows are done in several turns of each thread, so that none waits long for a slow one. */
enum { TURNS = 4, SHORT_ROW = 4096 };
enum { MOST_LANES = 64, PS_SORT = 4000, PS_ORDER = 8000, PS_FORK = 4000000 };

typedef struct {
    const ck_order_dims *d;
    const ck_order_kernels *kernels;
    const char *x;
    char *out, *scratch;
    int64_t rows, tasks, size, result, slot_bytes;
} order;

static order of(const ck_order_dims *d)
{
    static const ck_order_kernels *const kernels[][4] = {CK_SETS};
    order o = {.d = d, .kernels = kernels[ck_simd()][d->width], .size = (int64_t)1 << d->width};
    o.rows = d->sizes[0] * d->sizes[1] * d->sizes[2];
    o.tasks = ck_min(o.rows, d->length <= SHORT_ROW ? TURNS * d->slots : d->slots);
    o.result = d->what == CK_SORT ? o.size : 8;
    o.slot_bytes = d->what == CK_EQUAL ? ck_equal_scratch(d->length)
                 : d->what == CK_SORT ? 2 * o.size * d->length
                 : 8 * ck_max(3 * d->length, 4 * (2 * d->count + CK_SPARE));
    o.slot_bytes = (o.slot_bytes + 63) / 64 * 64;
    return o;
}

int64_t ck_order_scratch(const void *record)
{
    order o = of(record);
    return o.tasks * o.slot_bytes;
}

/* Where row i begins. A division takes as long as sorting ten elements. */
static int64_t at(const ck_order_dims *d, int64_t i, const int64_t *strides)
{
    int64_t place = 0;
    for (int k = 2; k > 0; k--)
        if (i >= d->sizes[k]) {
            place += i % d->sizes[k] * strides[k];
            i /= d->sizes[k];
        }
        else
            return place + i * strides[k];
    return place + i * strides[0];
}

/* The places that put a row in order; of many only the first ones are looked for. */
static void places(const order *o, const ck_order_row *row)
{
    enum { FEW = 256, MUCH = 8 };
    const int64_t n = row->n;
    if (n > FEW && row->count < n / MUCH) {
        o->kernels->first(row);
        return;
    }
    uint64_t *keys = (uint64_t *)row->scratch, mask;
    o->kernels->keys(row, keys);
    for (int64_t i = 0; row->falling && i < n; i++)
        keys[i] = ~keys[i];
    const uint64_t *found = ck_order_of(keys, n, keys + n, keys + 2 * n, &mask);
    for (int64_t i = 0; i < row->count; i++)
        ((int64_t *)row->to)[i * row->far] = (int64_t)(found[i] & mask);
}

/* All places of a row: the first ones in front in their order, or the last ones behind (falling),
   and the others as they come. */
static void partition(const order *o, const ck_order_row *row)
{
    const int64_t n = row->n, far = row->far, end = row->falling ? n - row->count : n;
    int64_t *to = row->to, next = row->falling ? 0 : row->count;
    places(o, row);
    char *chosen = row->scratch;
    memset(chosen, 0, (size_t)n);
    for (int64_t i = 0; i < row->count; i++) {
        chosen[to[i * far]] = 1;
        if (row->falling)
            to[(n - 1 - i) * far] = to[i * far];
    }
    for (int64_t i = 0; next < end; i++) {
        to[next * far] = i;
        next += !chosen[i];
    }
}

static void lanes(const order *o, const ck_order_row *row, int64_t lo, int64_t hi)
{
    const char *from[MOST_LANES];
    char *to[MOST_LANES];
    for (int64_t i = lo; i < hi; i++) {
        from[i - lo] = o->x + at(o->d, i, o->d->near) * o->size;
        to[i - lo] = o->out + at(o->d, i, o->d->far) * o->result;
    }
    (o->d->what ? o->kernels->places_lanes : o->kernels->sort_lanes)(row, from, to, hi - lo);
}

static int run(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    const order *o = (const order *)p;
    const ck_order_dims *d = o->d;
    ck_order_row row = {NULL, NULL, d->length, d->count, d->step, d->apart, (int)d->kind,
                        (int)d->falling, o->scratch + lo * o->slot_bytes};
    const int64_t end = o->rows * hi / o->tasks;
    const int side_by_side = d->what != CK_EQUAL && d->what != CK_PARTITION
        && d->length <= (d->what ? CK_RANKED : o->kernels->longest);
    (void)unused;
    for (int64_t i = o->rows * lo / o->tasks, next; i < end; i = next) {
        next = side_by_side ? ck_min(end, i + o->kernels->lanes) : i + 1;
        if (side_by_side) {
            lanes(o, &row, i, next);
            continue;
        }
        row.from = o->x + at(d, i, d->near) * o->size;
        row.to = o->out + at(d, i, d->far) * o->result;
        if (d->what == CK_EQUAL && ck_equal(&row, (int)d->width, d->size) != CK_OK)
            return CK_EINDEX;
        if (d->what == CK_SORT)
            o->kernels->sort(&row);
        else if (d->what == CK_ARGSORT)
            places(o, &row);
        else if (d->what == CK_PARTITION)
            partition(o, &row);
    }
    return CK_OK;
}

/* The least of three times, in ns, that the library's sort or ours takes for n words. */
static int64_t time_of_sort(int log, int library, char *words, int64_t n)
{
    int64_t least = INT64_MAX;
    for (int turn = 0; turn < 3; turn++) {
        uint64_t x = 88172645463325252u;
        for (int64_t i = 0; i < n; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            if (log == 2)
                ((uint32_t *)words)[i] = (uint32_t)x;
            else
                ((uint64_t *)words)[i] = x;
        }
        char *other = words + 8 * n;
        int64_t start = ck_now();
        if (library && ck_sorters[log](words, (intptr_t)n, NULL))
            return INT64_MAX;
        if (!library && log == 2)
            ck_radix32((uint32_t *)words, (uint32_t *)other, n, 0, 32);
        if (!library && log == 3)
            ck_upper64((uint64_t *)words, (uint64_t *)other, n, 64);
        least = ck_min(least, ck_now() - start);
    }
    return least;
}

/* Once for words of a width, before long rows of it: whether the library takes these too. */
static void ask_library(int log)
{
    enum { WORDS = 4096 };
    static int asked[4];
    if (log < 2 || __atomic_load_n(&asked[log], __ATOMIC_ACQUIRE) || !ck_sorters[log])
        return;
    char *words = ck_aligned(64, 16 * WORDS);
    if (!words)
        return;
    int64_t its = time_of_sort(log, 1, words, WORDS), ours = time_of_sort(log, 0, words, WORDS);
    if (its < ours - ours / 8)
        __atomic_store_n(&ck_sorter_limits[log], INT64_MAX, __ATOMIC_RELAXED);
    __atomic_store_n(&asked[log], 1, __ATOMIC_RELEASE);
    ck_aligned_free(words);
}

int ck_order(void *const *p, const void *record, ck_fn epilogue)
{
    order o = of(record);
    const ck_order_dims *d = o.d;
    o.x = p[0], o.out = p[1], o.scratch = p[2];
    (void)epilogue;
    if (!o.rows || !d->length || !d->count)
        return CK_OK;
    if (d->length > CK_LIBRARY && d->what != CK_EQUAL) {
        ask_library(d->what == CK_SORT ? (int)d->width : 2);
        if (d->what != CK_SORT)
            ask_library(3);
    }
    int64_t each = o.rows / o.tasks * d->length * (d->what == CK_SORT ? PS_SORT : PS_ORDER);
    return ck_parallel_for(run, (void *const *)&o, NULL, o.tasks, 1, 1 + PS_FORK / (each + 1));
}
