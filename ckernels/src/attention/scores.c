/* scores.c: tiles of scores: products, then bias, mask and draws, row by row. */
#include "attention/attention.h"

#include <math.h>
#include <string.h>

#define TEMPLATE "attention/scores.h"
#include "simd/each.h"

CK_DISPATCH(, ck_scores, ck_scores_of)

ck_attention_work ck_attention_of(const ck_attention_dims *d, void *const *p, int64_t bytes)
{
    ck_attention_work w = {.d = d, .row = ck_scores_of((int)d->dtype), .size = d->dtype ? 8 : 4};
    w.batch = d->outer * d->inner;
    w.tall = ck_max(12, bytes / (CK_KEYS * w.size) / 12 * 12);
    w.tiles = ck_ceil_div(d->rows, w.tall);
    w.q = p[0], w.k = p[1], w.v = p[2], w.bias = p[3], w.mask = p[4], w.state = p[5];
    memcpy(&w.fill, &d->fill, sizeof w.fill);
    return w;
}

static int64_t place(const ck_attention_dims *d, int64_t item, const int64_t *strides)
{
    return item / d->inner * strides[0] + item % d->inner * strides[1];
}

ck_item ck_item_of(const ck_attention_work *w, int64_t item)
{
    const ck_attention_dims *d = w->d;
    return (ck_item){w->q + place(d, item, d->q) * w->size, w->k + place(d, item, d->k) * w->size,
                     w->v + place(d, item, d->v) * w->size,
                     d->has & CK_HAS_BIAS ? w->bias + place(d, item, d->bias) * w->size : NULL,
                     d->has & CK_HAS_MASK ? w->mask + place(d, item, d->mask) : NULL, item};
}

int64_t ck_seen(const ck_attention_dims *d, int64_t row)
{
    return ck_max(0, ck_min(d->keys, row + d->causal + 1));
}

int ck_sees_hidden(const ck_attention_work *w, double most)
{
    return w->fill > -INFINITY && most - w->fill < (w->d->dtype ? 750 : 110);
}

int ck_product(const ck_attention_work *w, int64_t m, int64_t n, int64_t k, const char *a, int ta,
               int64_t lda, const char *b, int tb, int64_t ldb, int add, char *c, int64_t ldc)
{
    ck_gemm_shape s = {.m = m, .n = n, .k = k, .trans_a = ta, .trans_b = tb, .lda = lda, .ldb = ldb,
                       .ldc = ldc, .alpha = 1, .beta = add};
    return ck_builtin_gemm((int)w->d->dtype, &s, a, b, c);
}

int ck_score(const ck_attention_work *w, const ck_item *i, int64_t row0, int64_t row1, int64_t key0,
             int64_t key1, char *s)
{
    const ck_attention_dims *d = w->d;
    const int64_t n = key1 - key0, size = w->size;
    int code = ck_product(w, row1 - row0, n, d->width, i->q + row0 * d->q[2] * size, 0, d->q[2],
                          i->k + key0 * d->k[2] * size, 1, d->k[2], 0, s, n);
    for (int64_t r = row0; r < row1 && !code; r++, s += n * size) {
        if (i->bias)
            w->row->add(s, n, i->bias + (r * d->bias[2] + key0 * d->bias[3]) * size, d->bias[3]);
        if (i->mask)
            w->row->hide(s, n, i->mask + r * d->mask[2] + key0 * d->mask[3], d->mask[3], w->fill);
        int64_t seen = ck_max(0, ck_min(n, ck_seen(d, r) - key0));
        w->row->set(s + seen * size, n - seen, w->fill);
    }
    return code;
}

void ck_drop(const ck_attention_work *w, const ck_item *i, int64_t row0, int64_t row1, int64_t key0,
             int64_t key1, char *s, uint8_t *keep)
{
    const ck_attention_dims *d = w->d;
    const int64_t n = key1 - key0;
    for (int64_t r = row0; r < row1; r++, s += n * w->size) {
        w->row->draw(keep, n, (i->item * d->rows + r) * d->keys + key0, w->state, d->keep);
        w->row->hide(s, n, keep, 1, 0);
    }
}

/* ---- checks ---- */

enum { OUT = 6, SUMS, COTANGENT, FIRST_SLOPE };         /* pointers behind q, k, v, bias, mask, state */

int ck_sane_attention(const ck_attention_dims *d)
{
    const int64_t most = (int64_t)1 << 31, sizes[] = {d->outer, d->inner, d->rows, d->keys, d->width,
                                                      d->values};
    int64_t all = 1;
    for (int k = 0; k < 6; k++)
        if (sizes[k] < 0 || sizes[k] > most || __builtin_mul_overflow(all, ck_max(1, sizes[k]), &all))
            return 0;
    const int64_t *const strides[] = {d->q, d->k, d->v}, widths[] = {d->width, d->width, d->values};
    for (int k = 0; k < 3; k++)
        if (strides[k][2] < widths[k] || strides[k][2] > most)
            return 0;
    return (d->dtype | 1) == 1 && (d->only | 1) == 1 && !(d->has & ~7) && d->causal >= -most && d->causal <= most
           && d->keep >= 0;
}

/* Bytes around a pointer of what lies by four strides. */
static int span(const ck_attention_dims *d, const int64_t strides[4], int64_t lines, int64_t length,
                int64_t size, ck_operand *out)
{
    const int64_t shape[4] = {d->outer, d->inner, lines, length};
    out->low = 0, out->high = size;
    for (int k = 0; k < 4; k++)
        if (!shape[k])
            return out->high = 0, 1;
    for (int k = 0; k < 4; k++) {
        int64_t reach, *side = strides[k] < 0 ? &out->low : &out->high;
        if (__builtin_mul_overflow(shape[k] - 1, strides[k], &reach)
            || __builtin_mul_overflow(reach, size, &reach)
            || __builtin_add_overflow(*side, reach, side))
            return -1;
    }
    return 1;
}

static int contiguous(const ck_attention_dims *d, int64_t lines, int64_t length, int64_t size,
                      ck_operand *out)
{
    const int64_t strides[4] = {d->inner * lines * length, lines * length, length, 1};
    return span(d, strides, lines, length, size, out);
}

int ck_attention_operand(const ck_attention_dims *d, int which, ck_operand *out)
{
    const int64_t size = d->dtype ? 8 : 4, *const operands[] = {d->q, d->k, d->v};
    const int back = d->op == CK_ATTENTION_GRAD;
    if (which >= (back ? FIRST_SLOPE + 3 : COTANGENT))
        return 0;
    const int alone = back && d->only;
    *out = (ck_operand){0, 0, back ? which >= FIRST_SLOPE + 2 * alone : which >= OUT};
    if (alone && (which == 2 || which == OUT || which == FIRST_SLOPE || which == FIRST_SLOPE + 1))
        return 1;                                          /* neither read nor written */
    if (which < 3) {
        const int64_t *s = operands[which], strides[4] = {s[0], s[1], s[2], 1};
        return span(d, strides, which ? d->keys : d->rows, which == 2 ? d->values : d->width, size, out);
    }
    switch (which) {
    case 3: return d->has & CK_HAS_BIAS ? span(d, d->bias, d->rows, d->keys, size, out) : 1;
    case 4: return d->has & CK_HAS_MASK ? span(d, d->mask, d->rows, d->keys, 1, out) : 1;
    case 5: out->high = d->has & CK_HAS_DRAW ? 24 : 0; return 1;
    case SUMS: return contiguous(d, d->rows, 2, size, out);
    case OUT: case COTANGENT: return contiguous(d, d->rows, d->values, size, out);
    case FIRST_SLOPE: return contiguous(d, d->rows, d->width, size, out);
    case FIRST_SLOPE + 1: return contiguous(d, d->keys, d->width, size, out);
    default: return contiguous(d, d->keys, d->values, size, out);
    }
}
