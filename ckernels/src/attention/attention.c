/* attention.c: attention by tiles of scores, with a running maximum and sum of each row (Milakov and
   Gimelshein 2018), so that memory grows with the length and not with its square.

   A task is a tile of rows, all keys of which it meets in order. Besides the result each row gives
   its greatest score and the logarithm of the sum of its exponentials as measured from there, from
   which the way back makes the weights again. */
#include "attention/attention.h"

#include <math.h>
#include <string.h>

typedef struct {
    ck_attention_work w;
    char *out, *sums;
} forward;

/* What a task works on: its rows, and of each the greatest score and the sum of exponentials. */
typedef struct {
    ck_item item;
    int64_t row0, row1;
    double *most, *sum;
    char *scores, *out;
    uint8_t *keep;
} tile;

static void begin(const tile *t, const forward *f)
{
    for (int64_t r = 0; r < t->row1 - t->row0; r++)
        t->most[r] = -INFINITY, t->sum[r] = 0;
    memset(t->out, 0, (size_t)((t->row1 - t->row0) * f->w.d->values * f->w.size));
}

/* Scores of a row become weights, as measured from its greatest score so far; what was summed up
   before is measured from there as well. */
static void soften(const forward *f, const tile *t, int64_t r, int64_t n)
{
    const ck_scores *row = f->w.row;
    const int64_t values = f->w.d->values, size = f->w.size;
    char *s = t->scores + r * n * size;
    double before = t->most[r], top = row->top(s, n), most = top <= before ? before : top;
    if (most == -INFINITY) {                               /* nothing is seen yet */
        row->set(s, n, 0);
        return;
    }
    double sum = row->exponentials(s, n, most, 0);
    if (most != before && before != -INFINITY) {
        double factor = exp(before - most);
        t->sum[r] *= factor;
        row->scale(t->out + r * values * size, values, factor);
    }
    t->most[r] = most;
    t->sum[r] += sum;
}

/* The keys [from, to), some at a time. */
static int meet(const forward *f, const tile *t, int64_t from, int64_t to)
{
    const ck_attention_dims *d = f->w.d;
    const int64_t rows = t->row1 - t->row0;
    for (int64_t key = from, end; key < to; key = end) {
        end = ck_min(to, key + CK_KEYS);
        int code = ck_score(&f->w, &t->item, t->row0, t->row1, key, end, t->scores);
        for (int64_t r = 0; r < rows && !code; r++)
            soften(f, t, r, end - key);
        if (!code && d->has & CK_HAS_DRAW)
            ck_drop(&f->w, &t->item, t->row0, t->row1, key, end, t->scores, t->keep);
        if (!code)
            code = ck_product(&f->w, rows, d->values, end - key, t->scores, 0, end - key,
                              t->item.v + key * d->v[2] * f->w.size, 0, d->v[2], 1, t->out, d->values);
        if (code)
            return code;
    }
    return CK_OK;
}

/* A row that saw no key: 0 where that is asked for or where there are none, otherwise NaN. */
static void finish(const forward *f, const tile *t)
{
    const ck_attention_dims *d = f->w.d;
    const int zero = d->zero || !d->keys;
    for (int64_t r = 0; r < t->row1 - t->row0; r++) {
        double sum = t->sum[r], most = t->most[r];
        char *sums = f->sums + 2 * (t->item.item * d->rows + t->row0 + r) * f->w.size;
        if (sum == 0 && zero)
            sum = 1, most = INFINITY;
        f->w.row->scale(t->out + r * d->values * f->w.size, d->values, 1 / sum);
        if (sum == 0)
            f->w.row->set(t->out + r * d->values * f->w.size, d->values, NAN);
        f->w.row->set(sums, 1, most);
        f->w.row->set(sums + f->w.size, 1, log(sum));
    }
}

static int do_tile(const forward *f, int64_t task, char *work)
{
    const ck_attention_dims *d = f->w.d;
    const int64_t item = task / f->w.tiles, at = f->w.tiles - 1 - task % f->w.tiles;   /* long first */
    tile t = {.item = ck_item_of(&f->w, item), .row0 = at * f->w.tall, .scores = work};
    t.row1 = ck_min(d->rows, t.row0 + f->w.tall);
    t.most = (double *)(work + f->w.tall * CK_KEYS * f->w.size);
    t.sum = t.most + f->w.tall;
    t.keep = (uint8_t *)(t.sum + f->w.tall);
    t.out = f->out + (item * d->rows + t.row0) * d->values * f->w.size;
    begin(&t, f);
    const int64_t seen = ck_seen(d, t.row1 - 1);
    int code = meet(f, &t, 0, seen), hidden = 0;
    for (int64_t r = 0; r < t.row1 - t.row0; r++)
        hidden |= ck_sees_hidden(&f->w, t.most[r]);
    if (!code && hidden)
        code = meet(f, &t, seen, d->keys);
    finish(f, &t);
    return code;
}

static int run(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    const forward *f = (const forward *)p;
    const size_t bytes = (size_t)(f->w.tall * (CK_KEYS * f->w.size + 16) + CK_KEYS);
    char *work = ck_alloc(bytes);
    int code = work ? CK_OK : CK_EMEMORY;
    (void)unused;
    for (int64_t task = lo; task < hi && !code; task++)
        code = do_tile(f, task, work);
    if (work)
        ck_free(work, bytes);
    return code;
}

int ck_attention(void *const *p, const void *record, ck_fn epilogue)
{
    const ck_attention_dims *d = record;
    forward f = {ck_attention_of(d, p, CK_BYTES), p[6], p[7]};
    (void)epilogue;
    int64_t each = ck_min(f.w.tall, d->rows) * d->keys * (d->width + d->values + 8) * CK_PS_FLOP;
    return ck_parallel_for(run, (void *const *)&f, NULL, f.w.batch * f.w.tiles, 1,
                           1 + CK_PS_FORK / (each + 1));
}
