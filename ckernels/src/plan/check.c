/* check.c: what makes a plan legal. Everything that can be known is checked when the plan is
   made (ValueError then, no crash later); sizes of inputs and variables when a function adopts
   it. What a kernel itself does with its pointers is codegen's promise and cannot be seen here. */
#include "python/python.h"

#include <stdlib.h>

#define UNKNOWN ((int64_t)1 << 62)
enum { GEMM_POINTERS = 3, GEMM_WORDS = CK_GEMM_WORDS };

static int bad(const char *what, Py_ssize_t i)
{
    PyErr_Format(PyExc_ValueError, "bad plan: %s %zd", what, i);
    return -1;
}

/* Bytes an array spans around its data pointer (strides may be negative). */
static ck_extent extent_of(PyArrayObject *a)
{
    ck_extent e = {0, PyArray_ITEMSIZE(a)};
    for (int i = 0; i < PyArray_NDIM(a); i++) {
        int64_t reach = (PyArray_DIM(a, i) - 1) * (int64_t)PyArray_STRIDE(a, i);
        *(reach < 0 ? &e.low : &e.high) += reach;
    }
    return PyArray_SIZE(a) ? e : (ck_extent){0, 0};
}

typedef struct {                 /* what is known: plan alone, or with arrays */
    const ck_plan *plan;
    PyArrayObject *const *inputs;
    ck_cell *const *cells;
} known;

static ck_extent region(const known *k, const ck_row *row)
{
    switch (row->space) {
    case CK_ARENA:
        return (ck_extent){0, k->plan->arena};
    case CK_INPUT:
        return k->inputs ? extent_of(k->inputs[row->index]) : (ck_extent){-UNKNOWN, UNKNOWN};
    case CK_CELL:
        return k->cells ? extent_of(k->cells[row->index]->array) : (ck_extent){-UNKNOWN, UNKNOWN};
    case CK_OUTPUT:
        return (ck_extent){0, k->plan->outputs[row->index].bytes};
    case CK_NEXT:
        return (ck_extent){0, k->plan->updates[row->index].bytes};
    default:
        return extent_of((PyArrayObject *)PyTuple_GET_ITEM(k->plan->constants, row->index));
    }
}

/* Whether instruction i may use a slot: no scan moves it, or one that i is in. */
static int in_scope(const ck_plan *plan, Py_ssize_t slot, Py_ssize_t i)
{
    Py_ssize_t scan = plan->sources ? plan->sources[slot].scan : -1;
    return scan < 0 || (scan <= i && i <= scan + plan->instrs[scan].n);
}

/* Whether bytes [low, high) around a slot lie in its region: in both, at every step, where a scan
   moves the slot. */
static int covers(const known *k, Py_ssize_t slot, int64_t low, int64_t high)
{
    const ck_source *s = k->plan->sources ? k->plan->sources + slot : NULL;
    if (!s || s->scan < 0) {
        ck_extent e = region(k, k->plan->rows + slot);
        int64_t at = k->plan->rows[slot].offset;
        return !__builtin_add_overflow(low, at, &low) && !__builtin_add_overflow(high, at, &high)
               && e.low <= low && high <= e.high;
    }
    for (int side = 0; side < 2; side++) {
        int64_t first, last;
        if (s->from[side] >= 0
            && (__builtin_add_overflow(low, s->low[side], &first)
                || __builtin_add_overflow(high, s->high[side], &last)
                || !covers(k, s->from[side], first, last)))
            return 0;
    }
    return 1;
}

/* Whether a strided view at a slot stays inside its region. */
static int inside(const known *k, Py_ssize_t slot, int64_t itemsize, int nd, const npy_intp *shape,
                  const npy_intp *strides)
{
    int64_t low = 0, high = itemsize;
    for (int i = 0; i < nd; i++)
        if (shape[i] == 0)
            return 1;
    for (int i = 0; i < nd; i++) {
        int64_t reach;
        if (__builtin_mul_overflow((int64_t)shape[i] - 1, (int64_t)strides[i], &reach)
            || __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
            return 0;
    }
    return covers(k, slot, low, high);
}

static int check_rows(const known *k)
{
    const ck_plan *plan = k->plan;
    Py_ssize_t count[CK_SPACES] = {1, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, plan->n_outputs,
                                   plan->n_updates, PyTuple_GET_SIZE(plan->constants)};
    for (Py_ssize_t i = 0; i < plan->n_rows; i++) {
        ck_row *row = plan->rows + i;
        if (row->space < 0 || row->space >= CK_SPACES)
            return bad("unknown space in row of ptrs", i);
        if (row->space == CK_ARENA)
            row->index = 0;
        if (row->index < 0 || row->index >= count[row->space])
            return bad("index out of range in row of ptrs", i);
        ck_extent e = region(k, row);
        if (row->offset < e.low || row->offset > e.high)
            return bad("offset out of range in row of ptrs", i);
    }
    return 0;
}

/* Operand `which` of a gemm: `batch` matrices of rows x cols, leading dimension ld, inside its
   region? */
static int gemm_operand(const known *k, const ck_instr *in, const ck_gemm_dims *d, int which,
                        int64_t rows, int64_t cols)
{
    const int64_t lds[3] = {d->lda, d->ldb, d->ldc}, steps[3] = {d->step_a, d->step_b, d->step_c};
    int64_t item = d->dtype ? 8 : 4, ld = lds[which], step = steps[which], limit = UNKNOWN / 16;
    if (ld < (cols > 1 ? cols : 1) || ld > limit || step > limit || step < -limit)
        return 0;
    npy_intp shape[3] = {d->batch, rows, cols}, strides[3] = {step * item, ld * item, item};
    return in_scope(k->plan, in->ptr + which, in - k->plan->instrs)
           && inside(k, in->ptr + which, item, 3, shape, strides);
}

static int writable(const ck_plan *plan, Py_ssize_t slot)
{
    const ck_source *s = plan->sources ? plan->sources + slot : NULL;
    if (s && s->scan >= 0)
        return (s->from[0] < 0 || writable(plan, s->from[0]))
               && (s->from[1] < 0 || writable(plan, s->from[1]));
    int64_t space = plan->rows[slot].space;
    return space == CK_ARENA || space == CK_OUTPUT || space == CK_NEXT;
}

static int check_gemm(const known *k, const ck_instr *in, Py_ssize_t i)
{
    if (in->ptr + GEMM_POINTERS > k->plan->n_rows || in->dims + GEMM_WORDS > k->plan->n_dims)
        return bad("operands out of range in gemm instruction", i);
    const ck_gemm_dims *d = (const ck_gemm_dims *)(k->plan->dims + in->dims);
    int64_t m = d->m, n = d->n, kk = d->k;
    if ((d->dtype | 1) != 1 || (d->trans_a | 1) != 1 || (d->trans_b | 1) != 1)
        return bad("dtype or transposition is not 0 or 1 in gemm instruction", i);
    if (m < 0 || n < 0 || kk < 0 || d->batch < 0)
        return bad("negative size in gemm instruction", i);
    if (!writable(k->plan, in->ptr + 2))
        return bad("result is read-only memory in gemm instruction", i);
    if (!gemm_operand(k, in, d, 0, d->trans_a ? kk : m, d->trans_a ? m : kk)
        || !gemm_operand(k, in, d, 1, d->trans_b ? n : kk, d->trans_b ? kk : n)
        || !gemm_operand(k, in, d, 2, m, n))
        return bad("matrix reaches outside its buffer in gemm instruction", i);
    return 0;
}

static int check_pycall(const known *k, const ck_instr *in, Py_ssize_t i)
{
    int64_t which = (int64_t)(intptr_t)in->fn;
    if (which < 0 || which >= k->plan->n_pycalls)
        return bad("no such pycall in instruction", i);
    const ck_pycall *call = k->plan->pycalls + which;
    for (Py_ssize_t j = 0; j < call->nin + call->nout; j++) {
        const ck_view *v = call->views + j;
        if (v->slot < 0 || v->slot >= k->plan->n_rows || !in_scope(k->plan, v->slot, i))
            return bad("argument out of range in pycall instruction", i);
        if (j >= call->nin && !writable(k->plan, v->slot))
            return bad("output is read-only memory in pycall instruction", i);
        if (!inside(k, v->slot, PyDataType_ELSIZE(v->descr), v->nd, v->shape, v->strides))
            return bad("argument reaches outside its buffer in pycall instruction", i);
    }
    return 0;
}

/* A slot that the scan or branch i itself reads (writes): after a step, or outside of all. */
enum { READ = 0, WRITE = 1, STEP = 2 };
static int usable(const known *k, Py_ssize_t i, int64_t slot, int64_t bytes, int how)
{
    const ck_plan *plan = k->plan;
    if (slot < 0 || slot >= plan->n_rows || !in_scope(plan, slot, i)
        || (how != STEP && plan->sources && plan->sources[slot].scan == i))
        return 0;
    return (how != WRITE || writable(plan, slot)) && covers(k, slot, 0, bytes);
}

static int check_scan(const known *k, const ck_instr *in, Py_ssize_t i)
{
    const ck_scan_parts l = ck_scan_of(k->plan->dims + in->dims);
    const ck_scan *scan = l.head;
    int64_t bytes;
    if ((scan->count >= 0 && !usable(k, i, scan->count, 8, READ))
        || (scan->flag >= 0 && !usable(k, i, scan->flag, 1, STEP))
        || (scan->executed >= 0 && !usable(k, i, scan->executed, 8, WRITE)))
        return bad("count or flag out of range in scan instruction", i);
    if (scan->stepped && (in->ptr == k->plan->n_rows
                          || !usable(k, i, in->ptr, 8 * CK_TELLS, WRITE)))
        return bad("no room for what the kernel tells in scan instruction", i);
    for (const ck_final *f = l.finals; f < (const ck_final *)l.traces; f++)
        if (f->bytes < 0 || !usable(k, i, f->to, f->bytes, WRITE)
            || !usable(k, i, f->from, f->bytes, STEP) || !usable(k, i, f->first, f->bytes, READ))
            return bad("final value out of range in scan instruction", i);
    for (const ck_trace *z = l.traces; z < (const ck_trace *)l.end; z++)
        if (z->bytes < 0 || __builtin_mul_overflow(z->bytes, scan->rows, &bytes)
            || !usable(k, i, z->slot, bytes, WRITE))
            return bad("trace out of range in scan instruction", i);
    return 0;
}

static int check_native(const known *k, const ck_instr *in, Py_ssize_t i)
{
    if (in->dims + CK_NATIVE_WORDS > k->plan->n_dims)
        return bad("dims out of range in native instruction", i);
    const int64_t *d = k->plan->dims + in->dims;
    ck_operand o;
    int more = 1;
    for (int which = 0; (more = ck_native_operand(d, which, &o)) > 0; which++) {
        Py_ssize_t slot = in->ptr + which;
        if (slot >= k->plan->n_rows || !in_scope(k->plan, slot, i))
            return bad("operands out of range in native instruction", i);
        if (o.written && !writable(k->plan, slot))
            return bad("result is read-only memory in native instruction", i);
        if (o.low < o.high && !covers(k, slot, o.low, o.high))
            return bad("operand reaches outside its buffer in native instruction", i);
    }
    return more < 0 ? bad("impossible dims in native instruction", i) : 0;
}

static int check_instrs(const known *k)
{
    for (Py_ssize_t i = 0; i < k->plan->n_instrs; i++) {
        const ck_instr *in = k->plan->instrs + i;
        if (in->kind < CK_KERNEL || in->kind > CK_TOLD)
            return bad("unknown kind of instruction", i);
        if (in->ptr < 0 || in->ptr > k->plan->n_rows || in->dims < 0 || in->dims > k->plan->n_dims)
            return bad("pointers or dims out of range in instruction", i);
        if (in->kind == CK_KERNEL && (!in->fn || in->n < 0 || in->block < 1 || in->grain < 0))
            return bad("no function, negative range, or no block in instruction", i);
        if (in->kind == CK_GEMM && check_gemm(k, in, i) < 0)
            return -1;
        if (in->kind == CK_PYCALL && check_pycall(k, in, i) < 0)
            return -1;
        if (in->kind == CK_NATIVE && check_native(k, in, i) < 0)
            return -1;
        if (in->kind == CK_SCAN && check_scan(k, in, i) < 0)
            return -1;
        if (in->kind == CK_IF && (in->ptr == k->plan->n_rows || !usable(k, i, in->ptr, 1, READ)))
            return bad("no condition in branch instruction", i);
    }
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const Py_ssize_t x = *(const Py_ssize_t *)a, y = *(const Py_ssize_t *)b;
    return (x > y) - (x < y);
}

/* Each cell is updated once. They are sorted: to compare each with each took 0.2 ms for 480. */
static int check_updates(const ck_plan *plan)
{
    Py_ssize_t n = plan->n_updates, *cells = PyMem_Malloc((n + 1) * sizeof(*cells));
    if (!cells) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t j = 0; j < n; j++)
        cells[j] = plan->updates[j].cell;
    qsort(cells, n, sizeof(*cells), by_number);
    int good = 0;
    if (n && cells[0] < 0)
        good = bad("negative cell index in an update:", cells[0]);
    for (Py_ssize_t j = 1; !good && j < n; j++)
        if (cells[j] == cells[j - 1])
            good = bad("updated twice, cell", cells[j]);
    PyMem_Free(cells);
    return good;
}

/* The first instruction of those that write variables in place: they point where the new values
   are. A scan that holds one, or a call of Python behind it, could show a value half done. */
static int find_late(ck_plan *plan)
{
    plan->late = plan->n_instrs;
    for (Py_ssize_t i = plan->n_instrs - 1, end = plan->n_rows; i >= 0; i--) {
        const ck_instr *in = plan->instrs + i;
        for (Py_ssize_t slot = in->ptr; slot < end; slot++)
            if (plan->rows[slot].space == CK_NEXT && plan->updates[plan->rows[slot].index].kept)
                plan->late = i;
        end = in->ptr < end ? in->ptr : end;
    }
    for (Py_ssize_t i = plan->late; i < plan->n_instrs; i++) {
        int64_t kind = plan->instrs[i].kind;
        if (kind == CK_PYCALL || kind == CK_SCAN || kind == CK_IF)
            return bad("a variable is written in place before instruction", i);
    }
    for (Py_ssize_t i = 0; i < plan->late; i++)
        if (i + ck_inner(plan->instrs + i) >= plan->late)
            return bad("a variable is written in place inside of instruction", i);
    return 0;
}

/* Outputs that are written into inputs: these are C arrays that may be written, of the same type and
   shape; each takes one output. Behind the first instruction that writes there no Python runs. */
static int check_into(ck_plan *plan)
{
    Py_ssize_t kept = 0, n = plan->n_outputs;
    for (Py_ssize_t j = 0; j < n; j++) {
        if (!plan->outputs[j].kept)
            continue;
        kept++;
        if (plan->outputs[j].permuted)
            return bad("an input has axes in C order, not so output", j);
        for (Py_ssize_t k = 0; k < j; k++)
            if (plan->outputs[k].kept && plan->outputs[k].cell == plan->outputs[j].cell)
                return bad("two outputs in the memory of input", plan->outputs[j].cell);
        if (plan->outputs[j].cell >= plan->n_inputs)
            plan->n_inputs = plan->outputs[j].cell + 1;
    }
    if (!kept)
        plan->into = plan->n_instrs;
    if (plan->into < 0 || plan->into > plan->n_instrs || (kept && plan->n_updates))
        return bad("no place from which inputs are written:", plan->into);
    if (plan->asked >= n || (plan->asked >= 0 && (plan->outputs[plan->asked].kept
                                                  || plan->outputs[plan->asked].bytes != 1)))
        return bad("no truth value in output", plan->asked);
    for (Py_ssize_t i = 0; i < plan->n_instrs; i++)
        if ((i >= plan->into && plan->instrs[i].kind == CK_PYCALL)
            || (i < plan->into && i + ck_inner(plan->instrs + i) >= plan->into))
            return bad("an input is written around instruction", i);
    return 0;
}

/* The plan alone. Also counts the inputs and cells it uses. One that was copied from another has
   the updates of that; its instructions are checked with the arrays it is made for. */
int ck_plan_check(ck_plan *plan)
{
    known k = {plan, NULL, NULL};
    if (plan->arena < 0)
        return bad("negative arena of bytes", (Py_ssize_t)plan->arena);
    if (check_rows(&k) < 0 || ck_scan_check(plan) < 0
        || (!plan->maker && (check_instrs(&k) < 0 || check_updates(plan) < 0
                             || find_late(plan) < 0)))
        return -1;
    for (Py_ssize_t i = 0; i < plan->n_rows; i++) {
        Py_ssize_t index = plan->rows[i].index + 1;
        if (plan->rows[i].space == CK_INPUT && index > plan->n_inputs)
            plan->n_inputs = index;
        if (plan->rows[i].space == CK_CELL && index > plan->n_cells)
            plan->n_cells = index;
    }
    return check_into(plan);
}

/* The plan with the inputs and variables it was made for (counts were compared by the caller). */
int ck_plan_check_arrays(ck_plan *plan, PyArrayObject *const *inputs, ck_cell *const *cells)
{
    known k = {plan, inputs, cells};
    return check_rows(&k) < 0 ? -1 : check_instrs(&k);
}
