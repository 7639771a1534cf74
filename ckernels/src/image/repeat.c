/* repeat.c: copies that write elements or short rows more than once: repeats, tiles, what is
   broadcast as a copy. Loops would load and store elements of a byte one by one. */
#include "image/native.h"
#include <string.h>

enum { GRAIN = 1 << 15, PIECE = 1 << 12, LONG = 256 };     /* bytes: of a thread, a unit, a memcpy */

typedef struct {
    const ck_transpose_dims *d;
    const char *x;
    char *out;
    int64_t size, tall, wide;              /* of an element; rows of a unit, of axes 2 and 3 */
} repeat;

/* Each of `count` elements, `times`. A store writes more than an element takes, and the elements
   after it write over that: so the last ones are written one by one. Up to `lanes` elements in a
   word are a product: x * 0x010101. */
#define EACH(TYPE, NAME)                                                                          \
static void NAME(const TYPE *x, int64_t step, int64_t count, int64_t times, TYPE *out)            \
{                                                                                                 \
    enum { LANES = 16 / sizeof(TYPE), HALF = LANES / 2 };                                         \
    typedef TYPE vec __attribute__((vector_size(16)));                                            \
    const int64_t lanes = times <= HALF ? HALF : LANES;                                           \
    const int64_t whole = count - ck_ceil_div(ck_round_up(times, lanes), ck_max(1, times));       \
    int64_t i = 0;                                                                                \
    const uint64_t ones = UINT64_MAX / (TYPE)-1;                                                  \
    for (; times <= HALF && i <= whole; i++, x += step, out += times) {              \
        const uint64_t word = *x * ones;                                                          \
        __builtin_memcpy(out, &word, sizeof word);                                                \
    }                                                                                             \
    for (; i < count; i++, x += step, out += times) {                                             \
        const vec v = (vec){0} + *x;                                                              \
        if (i <= whole)                                                                           \
            for (int64_t k = 0; k < times; k += LANES)                                            \
                __builtin_memcpy(out + k, &v, sizeof v);                                          \
        else                                                                                      \
            for (int64_t k = 0; k < times; k++)                                                   \
                out[k] = *x;                                                                      \
    }                                                                                             \
}
EACH(uint8_t, each_1)
EACH(uint16_t, each_2)
EACH(uint32_t, each_4)
EACH(uint64_t, each_8)

static void each(int64_t size, const char *x, int64_t step, int64_t count, int64_t times, char *out)
{
    if (size == 1)
        each_1((const uint8_t *)x, step, count, times, (uint8_t *)out);
    else if (size == 2)
        each_2((const uint16_t *)x, step, count, times, (uint16_t *)out);
    else if (size == 4)
        each_4((const uint32_t *)x, step, count, times, (uint32_t *)out);
    else
        each_8((const uint64_t *)x, step, count, times, (uint64_t *)out);
}

/* The rows of a unit: two axes of them, and where they lie. */
typedef struct { int64_t n[2], near[2], far[2]; } row_axes;

/* Rows of `bytes`, of which `wide` are moved at a time: the last ones may be moved twice. */
static inline void move_rows(const row_axes *r, const char *restrict x, int64_t bytes,
                             char *restrict out, const int wide, const int twice)
{
    for (int64_t i = 0; i < r->n[0]; i++, x += r->near[0], out += r->far[0])
        for (int64_t j = 0; j < r->n[1]; j++) {
            const char *from = x + j * r->near[1];
            char *to = out + j * r->far[1];
            for (int64_t k = 0; k < (twice ? wide : bytes - wide); k += wide)
                __builtin_memcpy(to + k, from + k, wide);
            __builtin_memcpy(to + bytes - wide, from + bytes - wide, wide);
        }
}

static void rows(const row_axes *r, const char *x, int64_t bytes, char *out)
{
    if (bytes >= LONG)
        for (int64_t i = 0; i < r->n[0]; i++)
            for (int64_t j = 0; j < r->n[1]; j++)
                memcpy(out + i * r->far[0] + j * r->far[1], x + i * r->near[0] + j * r->near[1],
                       (size_t)bytes);
    else if (bytes > 32)
        move_rows(r, x, bytes, out, 16, 0);
    else if (bytes >= 16)
        move_rows(r, x, bytes, out, 16, 1);
    else if (bytes >= 8)
        move_rows(r, x, bytes, out, 8, 1);
    else if (bytes >= 4)
        move_rows(r, x, bytes, out, 4, 1);
    else if (bytes >= 2)
        move_rows(r, x, bytes, out, 2, 1);
    else
        move_rows(r, x, bytes, out, 1, 1);
}

/* Elements, where those of axis 3 are neighbours in the result, or with a gap after each. */
static void elements(const row_axes *r, int64_t size, const char *x, int64_t times, char *out)
{
    const int dense = r->far[1] == times * size;
    const int64_t calls = dense ? 1 : r->n[1], count = dense ? r->n[1] : 1;
    for (int64_t i = 0; i < r->n[0]; i++)
        for (int64_t j = 0; j < calls; j++)
            each(size, x + i * r->near[0] + j * r->near[1], r->near[1] / size, count, times,
                 out + i * r->far[0] + j * r->far[1]);
}

/* The rows from (row, col) of axes 2 and 3, whose first element is at x and out. */
static void unit(const repeat *t, int64_t x, int64_t out, int64_t row, int64_t col)
{
    const ck_transpose_dims *d = t->d;
    const int64_t *n = d->sizes, *near = d->near, *far = d->far, size = t->size;
    const char *from = t->x + (x + row * near[2] + col * near[3]) * size;
    char *to = t->out + (out + row * far[2] + col * far[3]) * size;
    const row_axes r = {{ck_min(t->tall, n[2] - row), ck_min(t->wide, n[3] - col)},
                        {near[2] * size, near[3] * size}, {far[2] * size, far[3] * size}};
    if (near[4] == 1)
        rows(&r, from, n[4] * size, to);
    else
        elements(&r, size, from, n[4], to);
}

static int run(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    const repeat *t = (const repeat *)p;
    const int64_t *n = t->d->sizes, *near = t->d->near, *far = t->d->far;
    const int64_t pieces = ck_ceil_div(n[3], t->wide), units = ck_ceil_div(n[2], t->tall) * pieces;
    (void)unused;
    for (int64_t i = lo; i < hi; i++) {
        int64_t item = i / units, first = item / n[1], second = item % n[1], k = i % units;
        unit(t, first * near[0] + second * near[1], first * far[0] + second * far[1],
             k / pieces * t->tall, k % pieces * t->wide);
    }
    return CK_OK;
}

int ck_repeat(void *const *p, const void *record, ck_fn epilogue)
{
    const ck_transpose_dims *d = record;
    const int64_t *n = d->sizes;
    repeat t = {d, p[0], p[1], (int64_t)1 << d->dtype, 0, 0};
    (void)epilogue;
    if (!n[0] || !n[1] || !n[2] || !n[3] || !n[4])
        return CK_OK;
    t.wide = ck_min(n[3], ck_max(1, PIECE / (n[4] * t.size)));
    t.tall = ck_min(n[2], ck_max(1, PIECE / (t.wide * n[4] * t.size)));
    int64_t units = ck_ceil_div(n[2], t.tall) * ck_ceil_div(n[3], t.wide);
    return ck_parallel_for(run, (void *const *)&t, NULL, n[0] * n[1] * units, 1,
                           1 + GRAIN / (t.tall * t.wide * n[4] * t.size));
}
