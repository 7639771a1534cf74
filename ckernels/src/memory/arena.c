/* arena.c: 64-byte aligned memory; big buffers are recycled.

   Fresh pages from the system cost more than most kernels that fill them (a page fault per 4
   kB), so from 128 kB on a freed buffer waits in a pool for the next request of its size class.
   The C library keeps such memory too, but not where it is told to give it back at once, as in
   every worker of Dask: a product of matrices then spent a tenth of its time in page faults.
   From 4 MB on buffers ask for huge pages. The pool holds at most what the flag `pool` says, 512 MB
   unless it is set, and gives up what was not used for longest. */
#include "ckernels.h"
#include "system/system.h"

#include <string.h>

#define BIG ((size_t)1 << 17)
#define HUGE_FROM ((size_t)4 << 20)
#define HUGE_PAGE ((size_t)2 << 20)
#define POOL_CAP ((size_t)512 << 20)
#define POOL_SLOTS 512

#define NEAR 4                            /* times larger or smaller: still the same buffer */

typedef struct { char *data; size_t size; } buffer;

static buffer pool[POOL_SLOTS];           /* oldest first */
static int pooled;
static size_t pool_bytes;
static size_t pool_cap = POOL_CAP;
static ck_mutex lock = CK_MUTEX;
static ck_once fork_once = CK_ONCE;

static void before_fork(void) { ck_mutex_lock(&lock); }
static void after_fork(void) { ck_mutex_unlock(&lock); }
static void register_fork(void) { ck_at_fork(before_fork, after_fork, after_fork); }

/* The size really reserved: eight classes per power of two, so at most 1/8 is wasted. */
static size_t class_of(size_t bytes)
{
    size_t step = BIG / 8;
    while (step * 16 <= bytes && step <= SIZE_MAX / 32)
        step *= 2;
    return (bytes + step - 1) / step * step;
}

/* Whether buffers of these sizes have pages of one kind. */
static int same_pages(size_t a, size_t b) { return (a < HUGE_FROM) == (b < HUGE_FROM); }

/* The size of the pages that a buffer asks for; 0: any. */
static size_t huge_of(size_t size) { return size >= HUGE_FROM ? HUGE_PAGE : 0; }

static char *map(size_t size) { return ck_pages(size, huge_of(size)); }

/* Remove entry i; the caller holds the lock. */
static buffer take(int i)
{
    buffer b = pool[i];
    pooled--;
    memmove(pool + i, pool + i + 1, (size_t)(pooled - i) * sizeof *pool);
    pool_bytes -= b.size;
    return b;
}

/* The buffer of the pool that serves best for `size` bytes: of that size, the smallest of larger
   ones, the largest of smaller ones. None where all are too different; no data: there is none. */
static buffer nearest(size_t size)
{
    int best = -1;
    ck_mutex_lock(&lock);
    for (int i = pooled - 1; i >= 0; i--) {
        size_t have = pool[i].size, so_far = best < 0 ? 0 : pool[best].size;
        if (have > NEAR * size || size > NEAR * have || (have < size && !same_pages(have, size)))
            continue;
        if (best < 0 || (so_far < size ? have > so_far : have >= size && have < so_far))
            best = i;
    }
    buffer b = {NULL, 0};
    if (best >= 0)
        b = take(best);
    ck_mutex_unlock(&lock);
    return b;
}

/* Memory for at least `bytes`, whose true size is what ck_free has to get. Changing sizes of a
   batch want an arena of a new size each time: 8 huge pages cost 5 ms, a step of a small net. */
void *ck_alloc_near(size_t bytes, size_t *size)
{
    *size = bytes;
    if (bytes < BIG || bytes > (size_t)PTRDIFF_MAX / NEAR)
        return ck_alloc(bytes);
    size_t wanted = class_of(bytes);
    buffer b = nearest(wanted);
    if (!b.data)
        return ck_alloc(bytes);
    *size = b.size < wanted ? wanted : b.size;
    char *data = b.size < wanted ? ck_pages_grow(b.data, b.size, wanted, huge_of(wanted)) : b.data;
    if (data)
        return data;
    ck_free(b.data, b.size);
    *size = bytes;
    return ck_alloc(bytes);
}

static char *recycled(size_t size)
{
    char *data = NULL;
    ck_mutex_lock(&lock);
    for (int i = pooled - 1; i >= 0 && !data; i--)     /* the last one freed is the warmest */
        if (pool[i].size == size)
            data = take(i).data;
    ck_mutex_unlock(&lock);
    return data;
}

void *ck_alloc(size_t bytes)
{
    if (bytes > (size_t)PTRDIFF_MAX - HUGE_PAGE)
        return NULL;
    if (bytes < BIG)
        return ck_aligned(64, bytes ? bytes : 1);
    ck_do_once(&fork_once, register_fork);
    size_t size = class_of(bytes);
    char *data = recycled(size);
    if (!data)
        data = map(size);
    if (!data) {
        ck_pool_trim();
        data = map(size);
    }
    return data;
}

void ck_free(void *data, size_t bytes)
{
    if (!data)
        return;
    if (bytes < BIG) {
        ck_aligned_free(data);
        return;
    }
    buffer mine = {data, class_of(bytes)}, old;
    int done = 0;
    do {                                  /* unmapping is slow: never under the lock */
        ck_mutex_lock(&lock);
        old.data = NULL;
        if (mine.size > pool_cap) {
            old = mine;
            done = 1;
        } else if (pooled == POOL_SLOTS || pool_bytes + mine.size > pool_cap)
            old = take(0);
        else {
            pool[pooled++] = mine;
            pool_bytes += mine.size;
            done = 1;
        }
        ck_mutex_unlock(&lock);
        if (old.data)
            ck_pages_free(old.data, old.size);
    } while (!done);
}

void ck_pool_limit(int64_t bytes)
{
    ck_mutex_lock(&lock);
    pool_cap = (size_t)bytes;
    int full = pool_bytes > pool_cap;
    ck_mutex_unlock(&lock);
    if (full)
        ck_pool_trim();
}

void ck_pool_trim(void)
{
    buffer old;
    do {
        ck_mutex_lock(&lock);
        old.data = NULL;
        if (pooled)
            old = take(pooled - 1);
        ck_mutex_unlock(&lock);
        if (old.data)
            ck_pages_free(old.data, old.size);
    } while (old.data);
}

int64_t ck_pool_bytes(void)
{
    ck_mutex_lock(&lock);
    int64_t bytes = (int64_t)pool_bytes;
    ck_mutex_unlock(&lock);
    return bytes;
}
