/* attention_grad.c: gradients of attention, by tiles of scores that are made again (Dao et al. 2022).

   A task has some of the keys and meets all rows: slopes of its keys and values add up in place.
   Those of queries add up over keys: each task has sums of its own, which are added in order at the
   end, so that no bit depends on who was first. How keys are cut follows from the sizes alone. */
#include "attention/attention.h"

#include <math.h>
#include <string.h>

enum { TASKS = 16, MOST_PARTS = 8 };

typedef struct {
    ck_attention_work w;
    const char *out, *sums, *g;
    char *dq, *dk, *dv, *parts_of_dq;  /* the last, by part; dq itself where there is one */
    int64_t blocks, parts;             /* of keys; tasks for one of the batch */
    int64_t elements;                  /* of dq */
} backward;

typedef struct {
    ck_item item;
    char *p, *slope, *dq;
    uint8_t *keep;
} tile;

/* A number that the way there left of a row: 2 * row: its greatest score; and the next. */
static double sum_of(const backward *b, int64_t i)
{
    return b->w.size == 8 ? ((const double *)b->sums)[i] : (double)((const float *)b->sums)[i];
}

/* Whether some of the rows have a weight for keys that they do not see: NaN where they see none. */
static int see_hidden(const backward *b, const tile *t, int64_t row0, int64_t row1)
{
    int hidden = 0;
    for (int64_t r = row0; r < row1; r++) {
        double most = sum_of(b, 2 * (t->item.item * b->w.d->rows + r));
        hidden |= most == -INFINITY || ck_sees_hidden(&b->w, most);
    }
    return hidden;
}

/* Scores of n keys in t->p become weights. */
static void weights(const backward *b, const tile *t, int64_t row0, int64_t row1, int64_t n)
{
    for (int64_t r = row0; r < row1; r++) {
        const int64_t line = t->item.item * b->w.d->rows + r;
        b->w.row->exponentials(t->p + (r - row0) * n * b->w.size, n, sum_of(b, 2 * line),
                               sum_of(b, 2 * line + 1));
    }
}

/* Of rows [row0, row1) by keys [key0, key1): slopes of scores in t->slope, where it holds those of
   weights. Hidden scores have no slope. */
static void slopes(const backward *b, const tile *t, int64_t row0, int64_t row1, int64_t key0,
                   int64_t key1)
{
    const ck_attention_dims *d = b->w.d;
    const ck_scores *row = b->w.row;
    const int64_t n = key1 - key0, size = b->w.size, values = d->values;
    const int hidden = see_hidden(b, t, row0, row1);
    for (int64_t r = row0; r < row1; r++) {
        const int64_t line = t->item.item * d->rows + r;
        const char *p = t->p + (r - row0) * n * size;
        char *slope = t->slope + (r - row0) * n * size;
        double delta = row->dot(b->out + line * values * size, b->g + line * values * size, values);
        row->slope(p, slope, n, delta);
        if (!hidden)
            continue;
        if (t->item.mask)
            row->hide(slope, n, t->item.mask + r * d->mask[2] + key0 * d->mask[3], d->mask[3], 0);
        int64_t seen = ck_max(0, ck_min(n, ck_seen(d, r) - key0));
        row->set(slope + seen * size, n - seen, 0);
    }
}

static int do_tile(const backward *b, const tile *t, int64_t row0, int64_t row1, int64_t key0,
                   int64_t key1)
{
    const ck_attention_dims *d = b->w.d;
    const ck_attention_work *w = &b->w;
    const int64_t rows = row1 - row0, n = key1 - key0, size = w->size, item = t->item.item;
    const char *g = b->g + (item * d->rows + row0) * d->values * size;
    const char *q = t->item.q + row0 * d->q[2] * size, *k = t->item.k + key0 * d->k[2] * size;
    char *dk = b->dk + (item * d->keys + key0) * d->width * size;
    char *dv = b->dv + (item * d->keys + key0) * d->values * size;
    int code = ck_score(w, &t->item, row0, row1, key0, key1, t->p);
    if (!code && !d->only)
        code = ck_product(w, rows, n, d->values, g, 0, d->values, t->item.v + key0 * d->v[2] * size, 1,
                          d->v[2], 0, t->slope, n);
    if (code)
        return code;
    if (d->has & CK_HAS_DRAW && !d->only)
        ck_drop(w, &t->item, row0, row1, key0, key1, t->slope, t->keep);
    weights(b, t, row0, row1, n);
    if (!d->only)
        slopes(b, t, row0, row1, key0, key1);
    if (d->has & CK_HAS_DRAW)
        ck_drop(w, &t->item, row0, row1, key0, key1, t->p, t->keep);
    code = ck_product(w, n, d->values, rows, t->p, 1, n, g, 0, d->values, 1, dv, d->values);
    if (code || d->only)
        return code;
    code = ck_product(w, n, d->width, rows, t->slope, 1, n, q, 0, d->q[2], 1, dk, d->width);
    return code ? code : ck_product(w, rows, d->width, n, t->slope, 0, n, k, 0, d->k[2], 1,
                                    t->dq + row0 * d->width * size, d->width);
}

/* Every `parts`-th block of keys of one of the batch. */
static int do_part(const backward *b, int64_t task, char *work)
{
    const ck_attention_dims *d = b->w.d;
    const int64_t item = task / b->parts, part = task % b->parts, size = b->w.size;
    const int64_t tile_bytes = b->w.tall * CK_KEYS * size, matrix = d->rows * d->width * size;
    tile t = {ck_item_of(&b->w, item), work, work + tile_bytes,
              d->only ? NULL : b->parts_of_dq + part * b->elements * size + item * matrix,
              (uint8_t *)work + 2 * tile_bytes};
    if (!d->only)
        memset(t.dq, 0, (size_t)matrix);
    for (int64_t block = part; block < b->blocks; block += b->parts) {
        const int64_t key0 = block * CK_KEYS, key1 = ck_min(d->keys, key0 + CK_KEYS);
        if (!d->only)
            memset(b->dk + (item * d->keys + key0) * d->width * size, 0,
                   (size_t)((key1 - key0) * d->width * size));
        memset(b->dv + (item * d->keys + key0) * d->values * size, 0,
               (size_t)((key1 - key0) * d->values * size));
        for (int64_t row0 = 0; row0 < d->rows; row0 += b->w.tall) {
            const int64_t row1 = ck_min(d->rows, row0 + b->w.tall);
            if (ck_seen(d, row1 - 1) <= key0 && !see_hidden(b, &t, row0, row1))
                continue;
            int code = do_tile(b, &t, row0, row1, key0, key1);
            if (code)
                return code;
        }
    }
    return CK_OK;
}

static int run(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    const backward *b = (const backward *)p;
    const size_t bytes = (size_t)(2 * b->w.tall * CK_KEYS * b->w.size + CK_KEYS);
    char *work = ck_alloc(bytes);
    int code = work ? CK_OK : CK_EMEMORY;
    (void)unused;
    for (int64_t task = lo; task < hi && !code; task++)
        code = do_part(b, task, work);
    if (work)
        ck_free(work, bytes);
    return code;
}

static int add_up(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    const backward *b = (const backward *)p;
    const int64_t size = b->w.size, bytes = (hi - lo) * size;
    (void)unused;
    memcpy(b->dq + lo * size, b->parts_of_dq + lo * size, (size_t)bytes);
    for (int64_t part = 1; part < b->parts; part++)
        b->w.row->add(b->dq + lo * size, hi - lo, b->parts_of_dq + (part * b->elements + lo) * size, 1);
    return CK_OK;
}

int ck_attention_grad(void *const *p, const void *record, ck_fn epilogue)
{
    const ck_attention_dims *d = record;
    backward b = {ck_attention_of(d, p, CK_BYTES / 2), p[6], p[7], p[8], p[9], p[10], p[11], p[9],
                  .blocks = ck_ceil_div(d->keys, CK_KEYS), .parts = 1};
    (void)epilogue;
    b.elements = b.w.batch * d->rows * d->width;
    if (b.w.batch)
        b.parts = d->only ? ck_max(1, b.blocks)                /* which have no sums in common */
                : ck_max(1, ck_min(ck_min(b.blocks, MOST_PARTS), ck_ceil_div(TASKS, b.w.batch)));
    const size_t bytes = (size_t)(b.parts * b.elements * b.w.size);
    const int summed = b.parts > 1 && !d->only;
    if (summed && !(b.parts_of_dq = ck_alloc(bytes)))
        return CK_EMEMORY;
    int64_t each = d->rows * d->keys / b.parts * (3 * d->width + 2 * d->values + 16) * CK_PS_FLOP;
    int code = ck_parallel_for(run, (void *const *)&b, NULL, b.w.batch * b.parts, 1,
                               1 + CK_PS_FORK / (each + 1));
    if (summed) {
        if (!code)
            code = ck_parallel_for(add_up, (void *const *)&b, NULL, b.elements, 1024, 1 << 16);
        ck_free(b.parts_of_dq, bytes);
    }
    return code;
}
