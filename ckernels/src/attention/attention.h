/* attention.h: what attention forwards and backwards share: tiles of scores.

   Scores are made a tile at a time, some rows by some keys, by the gemm that is always there; tiles
   are of fixed sizes, so that no bit depends on the number of threads. */
#ifndef CK_ATTENTION_H
#define CK_ATTENTION_H

#include "image/native.h"

/* What is done with n numbers of a row; real numbers are of the type of the scores. */
typedef struct {
    void (*add)(void *x, int64_t n, const void *bias, int64_t step);
    void (*hide)(void *x, int64_t n, const uint8_t *mask, int64_t step, double fill);
    void (*set)(void *x, int64_t n, double value);
    void (*scale)(void *x, int64_t n, double by);
    double (*top)(const void *x, int64_t n);
    double (*exponentials)(void *x, int64_t n, double less, double then);
    void (*slope)(const void *p, void *g, int64_t n, double delta);
    double (*dot)(const void *a, const void *b, int64_t n);
    void (*draw)(uint8_t *keep, int64_t n, int64_t first, const int64_t *state, int64_t limit);
} ck_scores;
const ck_scores *ck_scores_of(int dtype);

enum { CK_HAS_BIAS = 1, CK_HAS_MASK = 2, CK_HAS_DRAW = 4 };
enum { CK_KEYS = 256, CK_BYTES = 192 << 10, CK_PS_FLOP = 20, CK_PS_FORK = 4000000 };

/* One of the batch: its operands. */
typedef struct {
    const char *q, *k, *v, *bias;
    const uint8_t *mask;
    int64_t item;
} ck_item;

typedef struct {
    const ck_attention_dims *d;
    const ck_scores *row;
    int64_t size, batch, tall, tiles;      /* rows of a tile; tiles of rows */
    const char *q, *k, *v, *bias;
    const uint8_t *mask;
    const int64_t *state;
    double fill;
} ck_attention_work;

ck_attention_work ck_attention_of(const ck_attention_dims *d, void *const *p, int64_t bytes);
ck_item ck_item_of(const ck_attention_work *w, int64_t item);
/* Scores of rows [row0, row1) by keys [key0, key1), key1 - key0 apart, in `s`. */
int ck_score(const ck_attention_work *w, const ck_item *i, int64_t row0, int64_t row1, int64_t key0,
             int64_t key1, char *s);
/* s = what is not drawn set to 0, of the same rows and keys; keep: room for a byte for each key. */
void ck_drop(const ck_attention_work *w, const ck_item *i, int64_t row0, int64_t row1, int64_t key0,
             int64_t key1, char *s, uint8_t *keep);
/* c (m, n) (+)= op(a) @ op(b), with a and b as they lie; add: to what c holds. */
int ck_product(const ck_attention_work *w, int64_t m, int64_t n, int64_t k, const char *a, int ta,
               int64_t lda, const char *b, int tb, int64_t ldb, int add, char *c, int64_t ldc);
/* How many of the first keys row `row` may see, by its place alone. */
int64_t ck_seen(const ck_attention_dims *d, int64_t row);
/* Whether a row of this greatest score, or sum, gives hidden keys a weight that is not 0. */
int ck_sees_hidden(const ck_attention_work *w, double most);

int ck_attention(void *const *p, const void *record, ck_fn epilogue);
int ck_attention_grad(void *const *p, const void *record, ck_fn epilogue);
int ck_sane_attention(const ck_attention_dims *d);
int ck_attention_operand(const ck_attention_dims *d, int which, ck_operand *out);

#endif
