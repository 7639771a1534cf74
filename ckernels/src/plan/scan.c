/* scan.c: what makes the scans of a plan legal, and which memory their moving pointers reach.

   A scan moves slots of the pointer table from step to step. Here every slot learns by which scan
   it is moved, from which other slots, and how many bytes around those it gets to, so that check.c
   can see whether an operand stays inside its buffer at every step. */
#include "python/python.h"

static int bad(const char *what, Py_ssize_t i)
{
    PyErr_Format(PyExc_ValueError, "bad plan: %s %zd", what, i);
    return -1;
}

/* Instructions of a scan or branch lie within those of the one around it. */
static int check_nesting(const ck_plan *plan, Py_ssize_t i, Py_ssize_t end, int depth)
{
    while (i < end) {
        const ck_instr *in = plan->instrs + i;
        int nests = in->kind == CK_SCAN || in->kind == CK_IF;
        Py_ssize_t room = end - i - 1;
        if (nests && (in->n < 0 || in->n > room
                      || (in->kind == CK_IF && (in->block < 0 || in->block > room - in->n))))
            return bad("more instructions than there are in instruction", i);
        if (nests && depth > 64)
            return bad("too many scans in each other in instruction", i);
        Py_ssize_t middle = i + 1 + (nests ? in->n : 0), next = i + 1 + ck_inner(in);
        if (check_nesting(plan, i + 1, middle, depth + 1) < 0
            || check_nesting(plan, middle, next, depth + 1) < 0)
            return -1;
        i = next;
    }
    return 0;
}

/* Rows apart: only instructions whose range can be cut where rows begin. */
static int check_apart(const ck_plan *plan, const ck_scan *l, const ck_instr *in, Py_ssize_t i)
{
    int fine = l->part > 0 && l->width > 0 && l->stretch > 0 && !l->stepped && l->flag < 0;
    for (int64_t k = 1; fine && k <= in->n; k++) {
        const ck_instr *at = in + k;
        if (at->kind == CK_GEMM && at->dims >= 0 && plan->n_dims - at->dims >= CK_GEMM_WORDS) {
            const ck_gemm_dims *d = (const ck_gemm_dims *)(plan->dims + at->dims);
            fine = d->m == l->width && d->n > 0 && d->k > 0 && d->batch == 1;
        }
        else
            fine = at->kind == CK_KERNEL && at->n % l->width == 0;
    }
    return fine ? 0 : bad("no rows apart in the body of scan instruction", i);
}

static int check_head(const ck_plan *plan, const ck_instr *in, Py_ssize_t i)
{
    Py_ssize_t left = plan->n_dims - in->dims;
    if (in->dims < 0 || left < CK_SCAN_WORDS)
        return bad("dims out of range in scan instruction", i);
    const ck_scan *l = (const ck_scan *)(plan->dims + in->dims);
    const int64_t counts[] = {l->slides, l->moves, l->finals, l->traces};
    const int64_t words[] = {CK_SLIDE_WORDS, CK_MOVE_WORDS, CK_FINAL_WORDS, CK_TRACE_WORDS};
    left -= CK_SCAN_WORDS;
    for (int k = 0; k < 4; k++) {
        if (counts[k] < 0 || counts[k] > left / words[k])
            return bad("dims out of range in scan instruction", i);
        left -= counts[k] * words[k];
    }
    if (l->stepped && (!in->fn || l->stretch < 1))
        return bad("no kernel takes the steps of scan instruction", i);
    if (l->part && check_apart(plan, l, in, i) < 0)
        return -1;
    return l->rows < 1 ? bad("no rows in scan instruction", i) : 0;
}

/* Let the scan at i move `slot`: nobody else does. */
static int claim(ck_plan *plan, int64_t slot, Py_ssize_t i)
{
    if (slot < 0 || slot >= plan->n_rows || plan->sources[slot].scan >= 0)
        return bad("pointer out of range or moved twice in scan instruction", i);
    plan->sources[slot] = (ck_source){.scan = i, .from = {-1, -1}};
    return 0;
}

/* `slot` gets to rows first to last around `from`, which is fixed in the scan at i. */
static int reach(ck_plan *plan, int64_t slot, int side, int64_t from, int64_t stride, int64_t first,
                 int64_t last, Py_ssize_t i)
{
    ck_source *s = plan->sources + slot;
    int64_t a, b;
    if (from < 0 || from >= plan->n_rows || plan->sources[from].scan >= i)
        return bad("a pointer moves from one that is out of range or moves in scan instruction", i);
    if (__builtin_mul_overflow(first, stride, &a) || __builtin_mul_overflow(last, stride, &b))
        return bad("stride out of range in scan instruction", i);
    s->from[side] = from;
    s->low[side] = a < b ? a : b;
    s->high[side] = a < b ? b : a;
    return 0;
}

static int reach_move(ck_plan *plan, const ck_scan *l, const ck_move *m, Py_ssize_t i)
{
    if ((m->x_by_t | 1) != 1 || (m->y_by_t | 1) != 1 || m->a_mask < -1 || m->b_mask < -1)
        return bad("bad move in scan instruction", i);
    int64_t most = l->rows - 1, last = (m->until < l->rows ? m->until : l->rows) - 1;
    if (m->until > 0 && reach(plan, m->slot, 0, m->a, m->a_stride, 0,
                              m->a_mask >= 0 && m->a_mask < last ? m->a_mask : last, i) < 0)
        return -1;
    if (m->until >= l->rows)
        return 0;
    int64_t until = m->until > 0 ? m->until : 0, first = until;
    last = most;
    if (m->x_by_t != m->y_by_t && l->reverse) {          /* t and j add up to rows - 1 or less */
        first = 0;
        last = most - until;
    }
    if (m->b_mask >= 0)
        first = 0, last = m->b_mask;
    else if (__builtin_sub_overflow(first, m->shift, &first)
             || __builtin_sub_overflow(last, m->shift, &last))
        return bad("bad move in scan instruction", i);
    return reach(plan, m->slot, 1, m->b, m->b_stride, first, last, i);
}

/* Every slot that the scan at i moves. */
static int claim_all(ck_plan *plan, const ck_scan_parts *l, Py_ssize_t i)
{
    for (const ck_slide *s = l->slides; s < (const ck_slide *)l->moves; s++)
        if (claim(plan, s->slot, i) < 0)
            return -1;
    for (const ck_move *m = l->moves; m < (const ck_move *)l->finals; m++)
        if (claim(plan, m->slot, i) < 0)
            return -1;
    return 0;
}

static int reach_all(ck_plan *plan, const ck_scan_parts *l, Py_ssize_t i)
{
    for (const ck_slide *s = l->slides; s < (const ck_slide *)l->moves; s++)
        if (reach(plan, s->slot, 0, s->from, s->stride, 0, l->head->rows - 1, i) < 0)
            return -1;
    for (const ck_move *m = l->moves; m < (const ck_move *)l->finals; m++)
        if (reach_move(plan, l->head, m, i) < 0)
            return -1;
    return 0;
}

/* Nesting, dims, and the sources of all slots. Slots are claimed by all scans before any looks from
   where they move: from there always leads to a scan before this one, so it ends. */
int ck_scan_check(ck_plan *plan)
{
    if (check_nesting(plan, 0, plan->n_instrs, 0) < 0)
        return -1;
    for (int pass = 0; pass < 2; pass++)
        for (Py_ssize_t i = 0; i < plan->n_instrs; i++) {
            const ck_instr *in = plan->instrs + i;
            if (in->kind != CK_SCAN)
                continue;
            if (check_head(plan, in, i) < 0)
                return -1;
            if (!plan->sources) {
                plan->sources = PyMem_Malloc((plan->n_rows + 1) * sizeof(ck_source));
                if (!plan->sources) {
                    PyErr_NoMemory();
                    return -1;
                }
                for (Py_ssize_t slot = 0; slot < plan->n_rows; slot++)
                    plan->sources[slot] = (ck_source){.scan = -1, .from = {-1, -1}};
            }
            const ck_scan_parts l = ck_scan_of(plan->dims + in->dims);
            if ((pass ? reach_all : claim_all)(plan, &l, i) < 0)
                return -1;
        }
    return 0;
}
