/* transpose.c: copies that turn rows into columns: a batch of matrices whose rows lie one way in
   the operand and the other way in the result. Loops would read or write one element per cache
   line. */
#include "image/native.h"

enum { ROWS = 64, COLS = 512, GRAIN = 16384 };         /* of a block; elements worth a thread */

typedef struct {
    const ck_transpose_dims *d;
    const char *x;
    char *out;
    int64_t size, tall, across, blocks;    /* rows of a block; blocks of columns; all of a matrix */
} transpose;

static int run(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    const transpose *t = (const transpose *)p;
    const ck_transpose_dims *d = t->d;
    const int64_t *n = d->sizes;
    (void)unused;
    for (int64_t i = lo; i < hi; i++) {
        int64_t item = i / t->blocks, block = i % t->blocks, x = 0, out = 0;
        for (int k = 2; k >= 0; item /= n[k], k--) {
            x += item % n[k] * d->near[k];
            out += item % n[k] * d->far[k];
        }
        int64_t row = block / t->across * t->tall, col = block % t->across * COLS;
        x += row * d->near[3] + col * d->near[4];
        out += row * d->far[3] + col;
        ck_copy_matrix(t->size, t->x + x * t->size, d->near[3], d->near[4],
                       ck_min(t->tall, n[3] - row), ck_min(COLS, n[4] - col), t->out + out * t->size,
                       d->far[3]);
    }
    return CK_OK;
}

int ck_transpose(void *const *p, const void *record, ck_fn epilogue)
{
    const ck_transpose_dims *d = record;
    const int64_t *n = d->sizes;
    transpose t = {d, p[0], p[1], (int64_t)1 << d->dtype, 0, ck_ceil_div(n[4], COLS), 0};
    (void)epilogue;
    if (!n[0] || !n[1] || !n[2] || !n[3] || !n[4])
        return CK_OK;
    t.tall = ck_max(ROWS, ROWS * COLS / n[4]);             /* of narrow matrices more rows */
    t.blocks = t.across * ck_ceil_div(n[3], t.tall);
    int64_t each = ck_min(t.tall, n[3]) * ck_min(COLS, n[4]);
    return ck_parallel_for(run, (void *const *)&t, NULL, n[0] * n[1] * n[2] * t.blocks, 1,
                           1 + GRAIN / each);
}
