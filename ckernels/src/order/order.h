/* order.h: what the files of this room share: keys, whose order as unsigned words is that of the
   elements, and what sorts them. Keys of floats: NaN last, all of them one; -0 before 0, or with
   `fold` equal to it. */
#ifndef CK_ORDER_H
#define CK_ORDER_H

#include "ckernels.h"

#include <string.h>

enum { CK_UNSIGNED, CK_SIGNED, CK_HALF, CK_BFLOAT, CK_FLOAT };      /* classes of elements */
enum { CK_SORT, CK_ARGSORT, CK_EQUAL, CK_PARTITION };               /* what is asked for */
enum {
    CK_SPARE = 128,                    /* places found beyond those that are asked for */
    CK_LIBRARY = 512,                  /* words the library's sorts take on any machine */
    CK_RANKED = 10                     /* elements whose order is found by counting */
};

/* One row on its way: n elements `near` apart; count results `far` apart. */
typedef struct {
    const void *from;
    void *to;
    int64_t n, count, near, far;
    int class, falling;
    char *scratch;
} ck_order_row;

/* For words of one width and one instruction set. */
typedef struct {
    void (*sort)(const ck_order_row *row);                     /* values of a row */
    void (*sort_lanes)(const ck_order_row *row, const char *const *from, char *const *to,
                       int64_t rows);                          /* of `lanes` short rows at once */
    void (*places_lanes)(const ck_order_row *row, const char *const *from, char *const *to,
                         int64_t rows);                        /* their places in order */
    void (*keys)(const ck_order_row *row, uint64_t *keys);     /* folded */
    void (*first)(const ck_order_row *row);                    /* places of the first in order */
    int64_t lanes, longest;                                    /* rows at once, and how long */
} ck_order_kernels;

/* The library's sorts of unsigned words of 2, 4 and 8 bytes, or NULL: order.c has its own then. */
typedef int (*ck_sorter)(void *words, intptr_t n, void *unused);
extern ck_sorter ck_sorters[4];

/* Up to how many words of 2, 4 and 8 bytes they take here. Who sorts changes no result. */
extern int64_t ck_sorter_limits[4];

static inline int64_t ck_sorter_takes(int log)
{
    return __atomic_load_n(ck_sorter_limits + log, __ATOMIC_RELAXED);
}

/* packed.c: the order of n keys, equal ones as they come. a, b: n words each. Returned is one of
   them; its first n words are the places behind the mask that it sets. */
uint64_t *ck_order_of(const uint64_t *keys, int64_t n, uint64_t *a, uint64_t *b, uint64_t *mask);

/* equal.c: for each of n indices into an axis of `size` the first place with an equal one. */
int ck_equal(const ck_order_row *row, int width, int64_t size);
int64_t ck_equal_scratch(int64_t n);

#endif
