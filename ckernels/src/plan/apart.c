/* apart.c: scans whose body treats the rows of all its states apart, as the samples of a batch.

   The rows are cut into parts, and each part takes all steps by itself: no thread waits for another
   in between, and what a part works on stays in its caches from step to step. The parts do not
   depend on the number of threads, so neither do the results. Which scans may run so is decided
   where they are planned (plan/scan_by_rows.py). No Python here. */
#include "ckernels.h"
#include "system/system.h"

#include <stdatomic.h>
#include <string.h>

typedef struct {
    const ck_stretch *s;
    ck_scan_parts l;
    _Atomic int64_t failed;          /* (step, instruction, code) of the first failure */
} job;

enum { CODES = 8 };                  /* more than there are return codes */

static int run_rows(const job *g, void *const *table, const ck_instr *in, int64_t row0, int64_t row1)
{
    void *const *p = table + in->ptr;
    const int64_t *dims = g->s->dims + in->dims;
    if (in->kind == CK_GEMM)
        return ck_gemm_rows(p, dims, in->fn, row0, row1);
    int64_t unit = in->n / g->l.head->width;
    return unit ? in->fn(p, dims, row0 * unit, row1 * unit) : CK_OK;
}

static int timed(const job *g, void *const *table, int64_t k, int64_t row0, int64_t row1)
{
    int64_t *row = g->s->profile + 2 * k, start = ck_now();
    int code = run_rows(g, table, g->s->in + 1 + k, row0, row1);
    __atomic_fetch_add(row, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(row + 1, ck_now() - start, __ATOMIC_RELAXED);
    return code;
}

static void note(job *g, int64_t key)
{
    int64_t seen = atomic_load(&g->failed);
    while (key < seen && !atomic_compare_exchange_weak(&g->failed, &seen, key))
        ;
}

/* All steps of rows row0 to row1 in a table of their own. */
static void take(job *g, char **table, int64_t row0, int64_t row1)
{
    const ck_stretch *s = g->s;
    for (int64_t j = s->from; j < s->to; j++) {
        ck_scan_seek(&g->l, table, g->l.head->reverse ? s->count - 1 - j : j, j);
        for (int64_t k = 0; k < s->in->n; k++) {
            int64_t key = ((j - s->from) * s->in->n + k) * CODES;
            if (atomic_load_explicit(&g->failed, memory_order_relaxed) <= key)
                return;
            int code = s->profile ? timed(g, (void *const *)table, k, row0, row1)
                                  : run_rows(g, (void *const *)table, s->in + 1 + k, row0, row1);
            if (code) {
                note(g, key + code);
                return;
            }
        }
    }
}

static int take_parts(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    job *g = (job *)p;
    (void)unused;
    char *small[512], **table = small;
    size_t bytes = (size_t)g->s->slots * sizeof *table;
    if (bytes > sizeof small && !(table = ck_alloc(bytes)))
        return CK_EMEMORY;
    memcpy(table, g->s->table, bytes);
    const ck_scan *scan = g->l.head;
    for (int64_t i = lo; i < hi; i++) {
        int64_t end = (i + 1) * scan->part;
        take(g, table, i * scan->part, end < scan->width ? end : scan->width);
    }
    if (table != small)
        ck_free(table, bytes);
    return CK_OK;
}

int ck_apart(ck_stretch *s)
{
    job g = {.s = s, .l = ck_scan_of(s->dims + s->in->dims)};
    int64_t parts = (g.l.head->width - 1) / g.l.head->part + 1;
    atomic_init(&g.failed, INT64_MAX);
    int code = ck_parallel_for(take_parts, (void *const *)&g, NULL, parts, 1, 1);
    int64_t failed = atomic_load(&g.failed);
    if (code != CK_OK || failed == INT64_MAX)
        return code;
    s->from += failed / CODES / s->in->n;
    s->failed = failed / CODES % s->in->n;
    return (int)(failed % CODES);
}
