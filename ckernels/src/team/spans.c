/* spans.c: which thread worked when in a call that is watched, for pictures of it. Plain C, no Python.

   The caller of a plan says that it is watched; team.c hands that on with each job, so chunks are
   written down by the workers that took them. A job ends after all its chunks, so no worker writes
   into spans that a call has given back. */
#include "ckernels.h"
#include "system/system.h"

#include <stdatomic.h>
#include <stdlib.h>

struct ck_spans {
    int64_t begun;
    _Atomic int64_t count;           /* those that found no room included */
    ck_span row[CK_SPANS];
};

static _Thread_local ck_spans *watched;

ck_spans *ck_spans_new(void)
{
    ck_spans *spans = malloc(sizeof *spans);
    if (spans)
        ck_spans_clear(spans);
    return spans;
}

void ck_spans_free(ck_spans *spans)
{
    free(spans);
}

void ck_spans_clear(ck_spans *spans)
{
    atomic_store(&spans->count, 0);
    spans->begun = ck_now();
}

ck_spans *ck_watch(ck_spans *spans)
{
    ck_spans *before = watched;
    watched = spans;
    return before;
}

ck_spans *ck_watched(void)
{
    return watched;
}

void ck_span_add(ck_spans *spans, int64_t at, int64_t from)
{
    int64_t i = atomic_fetch_add(&spans->count, 1);
    if (i < CK_SPANS)
        spans->row[i] = (ck_span){at, ck_seat(), from - spans->begun, ck_now() - spans->begun};
}

int64_t ck_spans_count(const ck_spans *spans, int64_t *lost)
{
    int64_t count = atomic_load(&spans->count);
    *lost = count > CK_SPANS ? count - CK_SPANS : 0;
    return count - *lost;
}

ck_span ck_spans_get(const ck_spans *spans, int64_t i)
{
    return spans->row[i];
}
