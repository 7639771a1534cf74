/* run.c: walk the instructions of a plan, scans and branches among them. Without the GIL when the
   plan is worth it; with it again for each PYCALL, and now and then to see whether Ctrl-C was
   pressed. Knows frames, not arguments or updates: those are executor.c's. */
#include "python/python.h"


#define POLL_NS 50000000         /* how long a scan runs before it looks for signals */

typedef struct {
    ck_plan *plan;
    ck_frame *frame;
    PyThreadState *released;     /* non-NULL while this run is without the GIL */
    int profile, bare;           /* bare: nobody here has, or ever takes, the GIL */
    ck_failure *failed;
    int inner;                   /* scans and branches around: only what is in none has a span */
    int64_t beat, beats;         /* steps until the clock is read; from one reading to the next */
    int64_t read, polled;        /* when it was read, when signals were looked for; 0: never */
} runner;

static PyObject *owner_of_row(runner *r, const ck_row *row)
{
    Py_ssize_t i = row->index;
    switch (row->space) {
    case CK_ARENA:
        return (PyObject *)r->frame->arena;
    case CK_CONSTANT:
        return PyTuple_GET_ITEM(r->plan->constants, i);
    case CK_NEXT:
        i += r->plan->n_outputs;     /* fall through */
    case CK_OUTPUT:
        i += r->plan->n_cells;       /* fall through */
    case CK_CELL:
        i += r->plan->n_inputs;      /* fall through */
    default:
        return (PyObject *)r->frame->object[i];
    }
}

/* A new reference to what keeps the memory behind a slot alive: wherever a scan moves it. */
static PyObject *owner_of(runner *r, Py_ssize_t slot)
{
    const ck_source *source = r->plan->sources ? r->plan->sources + slot : NULL;
    if (!source || source->scan < 0)
        return Py_NewRef(owner_of_row(r, r->plan->rows + slot));
    if (source->from[0] < 0 || source->from[1] < 0)
        return owner_of(r, source->from[source->from[0] < 0]);
    PyObject *a = owner_of(r, source->from[0]), *b = owner_of(r, source->from[1]);
    PyObject *both = a && b ? PyTuple_Pack(2, a, b) : NULL;
    Py_XDECREF(a);
    Py_XDECREF(b);
    return both;
}

static PyObject *view_of(runner *r, const ck_view *v, int writeable)
{
    int flags = writeable ? NPY_ARRAY_WRITEABLE : 0;
    Py_INCREF(v->descr);
    PyObject *a = PyArray_NewFromDescr(
        &PyArray_Type, v->descr, v->nd, (npy_intp *)v->shape, (npy_intp *)v->strides,
        r->frame->table[v->slot], flags, NULL);
    if (!a)
        return NULL;
    PyObject *owner = owner_of(r, v->slot);
    if (!owner || PyArray_SetBaseObject((PyArrayObject *)a, owner) < 0)
        Py_CLEAR(a);
    return a;
}

static PyObject *views_of(runner *r, const ck_view *views, Py_ssize_t n, int writeable)
{
    PyObject *list = PyList_New(n);
    for (Py_ssize_t i = 0; list && i < n; i++) {
        PyObject *a = view_of(r, views + i, writeable);
        if (a)
            PyList_SET_ITEM(list, i, a);
        else
            Py_CLEAR(list);
    }
    return list;
}

static int call_python(runner *r, const ck_pycall *call)
{
    if (r->released)
        PyEval_RestoreThread(r->released);
    PyObject *result = NULL, *outputs = NULL;
    PyObject *inputs = views_of(r, call->views, call->nin, 0);
    if (inputs)
        outputs = views_of(r, call->views + call->nin, call->nout, 1);
    if (outputs && !call->callable)
        PyErr_SetString(PyExc_RuntimeError, "this plan was taken apart by the garbage collector");
    else if (outputs)
        result = PyObject_CallFunctionObjArgs(call->callable, inputs, outputs, NULL);
    Py_XDECREF(inputs);
    Py_XDECREF(outputs);
    Py_XDECREF(result);
    if (r->released)
        r->released = PyEval_SaveThread();
    return result ? CK_OK : CK_EPYTHON;
}

/* Look for signals every 50 ms or so: Ctrl-C ends a scan as it ends Python code. */
static int poll_signals(runner *r)
{
    int64_t t = ck_now(), since = t - r->read;
    if (since < POLL_NS / 16)
        r->beats = r->beats < 1 << 20 ? r->beats * 2 : r->beats;
    else if (since > POLL_NS / 2)
        r->beats = r->beats / 2 + 1;
    r->beat = r->beats;
    r->read = t;
    if (t - r->polled < POLL_NS)
        return CK_OK;
    r->polled = t;
    if (r->released)
        PyEval_RestoreThread(r->released);
    int code = PyErr_CheckSignals() ? CK_EPYTHON : CK_OK;
    if (r->released)
        r->released = PyEval_SaveThread();
    return code;
}

/* What is left to do after `done` of the first `count` rows ran. */
static void finish(const ck_scan_parts *l, char **table, int64_t count, int64_t done)
{
    const ck_scan *scan = l->head;
    for (const ck_final *f = l->finals; f < (const ck_final *)l->traces; f++)
        memmove(table[f->to], table[done ? f->from : f->first], f->bytes);
    int64_t low = scan->reverse ? count - done : 0, high = low + done;
    for (const ck_trace *z = l->traces; z < (const ck_trace *)l->end; z++) {
        memset(table[z->slot], 0, low * z->bytes);
        memset(table[z->slot] + high * z->bytes, 0, (scan->rows - high) * z->bytes);
    }
    if (scan->executed >= 0)
        memcpy(table[scan->executed], &done, sizeof done);
}

static int walk(runner *r, const ck_instr *in, const ck_instr *end);

static void note_step(ck_failure *failed, int64_t step)
{
    if (failed->depth < CK_DEPTH)
        failed->steps[failed->depth++] = step;
}

static int poll_inside(void *runner_)
{
    runner *r = runner_;
    return r->bare ? CK_OK : poll_signals(r);
}

/* A stretch of steps by the scan's own kernel; *done becomes the last of them, *ended whether it is
   the last of all. */
static int take_steps(runner *r, const ck_instr *in, const ck_scan_parts *l, int64_t count,
                      int64_t *done, int64_t most, int *ended)
{
    int64_t *told = r->frame->table[in->ptr];
    int64_t end = most - *done < l->head->stretch ? most : *done + l->head->stretch;
    told[CK_ROWS] = count;
    told[CK_ENDED] = 0;
    told[CK_POLL] = (int64_t)(intptr_t)poll_inside;
    told[CK_RUNNER] = (int64_t)(intptr_t)r;
    int code = in->fn(r->frame->table + in->ptr, l->end, *done, end);
    *done = told[CK_DONE] - (code == CK_OK);
    *ended = told[CK_ENDED] != 0;
    r->beat = 0;
    if (code == CK_OK || code == CK_EPYTHON)         /* a signal is of no instruction */
        return code;
    if (r->failed->tag < 0)
        r->failed->tag = in[1 + told[CK_FAILED]].tag;
    for (int64_t k = 0; k < told[CK_INNER]; k++)
        note_step(r->failed, told[CK_STEPS + k]);
    return code;
}

/* The same by a body that runs in parts. Where it fails, *done is the step. */
static int take_apart(runner *r, const ck_instr *in, int64_t count, int64_t *done, int64_t most)
{
    const ck_scan *scan = (const ck_scan *)(r->plan->dims + in->dims);
    int64_t end = most - *done < scan->stretch ? most : *done + scan->stretch;
    ck_stretch s = {in, r->plan->dims, r->frame->table, r->plan->n_rows, count, *done, end,
                    r->profile ? r->plan->profile + 2 * (in + 1 - r->plan->instrs) : NULL, 0};
    int code = ck_apart(&s);
    *done = code == CK_OK ? end - 1 : s.from;
    if (code != CK_OK && r->failed->tag < 0)
        r->failed->tag = in[1 + s.failed].tag;
    r->beat = 0;
    return code;
}

static int run_loop(runner *r, const ck_instr *in)
{
    const ck_scan_parts l = ck_scan_of(r->plan->dims + in->dims);
    const ck_scan *scan = l.head;
    char **table = (char **)r->frame->table;
    int64_t count = scan->rows, done = 0;
    int ended = 0;
    if (scan->count >= 0)
        memcpy(&count, table[scan->count], sizeof count);
    count = count < 0 ? 0 : count > scan->rows ? scan->rows : count;
    const int64_t most = scan->limit >= 0 && scan->limit < count ? scan->limit : count;
    while (done < most) {
        if (!scan->stepped)
            ck_scan_seek(&l, table, scan->reverse ? count - 1 - done : done, done);
        int code = scan->stepped ? take_steps(r, in, &l, count, &done, most, &ended)
                 : scan->part    ? take_apart(r, in, count, &done, most)
                                 : walk(r, in + 1, in + 1 + in->n);
        if (code == CK_OK && !r->bare && --r->beat <= 0)
            code = poll_signals(r);
        if (code != CK_OK) {
            note_step(r->failed, scan->reverse ? count - 1 - done : done);
            return code;
        }
        done++;
        if (ended || (!scan->stepped && scan->flag >= 0 && *table[scan->flag]))
            break;
    }
    if ((scan->stepped || scan->part) && done)   /* what is read after the last step */
        ck_scan_seek(&l, table, scan->reverse ? count - done : done - 1, done - 1);
    finish(&l, table, count, done);
    return CK_OK;
}

static int run_if(runner *r, const ck_instr *in)
{
    const ck_instr *then = in + 1, *other = then + in->n;
    return *(const char *)r->frame->table[in->ptr] ? walk(r, then, other)
                                                   : walk(r, other, other + in->block);
}

static int run_around(runner *r, const ck_instr *in)
{
    r->inner++;
    int code = in->kind == CK_SCAN ? run_loop(r, in) : run_if(r, in);
    r->inner--;
    return code;
}

static inline int step(runner *r, const ck_instr *in)
{
    void *const *p = r->frame->table + in->ptr;
    const int64_t *dims = r->plan->dims + in->dims;
    switch (in->kind) {
    case CK_KERNEL:
        if (in->n < 2 * in->grain || in->n <= in->block)
            return in->n ? in->fn(p, dims, 0, in->n) : CK_OK;
        return ck_parallel_for(in->fn, p, dims, in->n, in->block, in->grain);
    case CK_GEMM:
        return ck_gemm(p, dims, in->fn);
    case CK_NATIVE:
        return ck_native(p, dims, in->fn);
    case CK_SCAN:
    case CK_IF:
        return run_around(r, in);
    default:
        return call_python(r, r->plan->pycalls + (intptr_t)in->fn);
    }
}

/* Run `in`, counted as `at`. Several threads may be in the same plan: the counters are atomic. */
static int timed(runner *r, const ck_instr *at, const ck_instr *in)
{
    int64_t *row = r->plan->profile + 2 * (at - r->plan->instrs), start = ck_now();
    int code = step(r, in);
    if (!r->inner && ck_watched())
        ck_span_add(ck_watched(), at - r->plan->instrs, start);
    __atomic_fetch_add(row, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(row + 1, ck_now() - start, __ATOMIC_RELAXED);
    return code;
}

static int walk(runner *r, const ck_instr *in, const ck_instr *end)
{
    while (in < end) {
        int code = r->profile ? timed(r, in, in) : step(r, in);
        if (code != CK_OK) {
            if (r->failed->tag < 0)
                r->failed->tag = in->tag;
            return code;
        }
        in += 1 + ck_inner(in);
    }
    return CK_OK;
}

/* Take the spans of a plan that is watched: no other call writes there until they are given back. */
static ck_spans *take_spans(ck_plan *plan, int anew)
{
    ck_spans *spans = plan->spans;
    plan->spans = NULL;
    if (anew && !spans)
        spans = ck_spans_new();
    else if (anew)
        ck_spans_clear(spans);
    return ck_watch(spans);
}

static void give_spans(ck_plan *plan, ck_spans *before)
{
    ck_spans *spans = ck_watch(before);
    ck_spans_free(spans ? plan->spans : NULL);
    plan->spans = spans ? spans : plan->spans;
}

/* Walk from `first` to `end`: CK_OK, or a code and the place that returned it. With CK_EPYTHON from a
   PYCALL the Python error is set. */
static int walk_part(runner *r, Py_ssize_t first, Py_ssize_t end, int release)
{
    ck_plan *plan = r->plan;
    r->beat = r->beats = 1;
    if (plan->sources)
        r->read = r->polled = ck_now();
    ck_spans *before = r->profile ? take_spans(plan, first == 0) : NULL;
    if (release)
        r->released = PyEval_SaveThread();
    int code = walk(r, plan->instrs + first, plan->instrs + end);
    if (r->released)
        PyEval_RestoreThread(r->released);
    if (r->profile)
        give_spans(plan, before);
    return code;
}

/* Run the plan in a filled frame, up to what writes inputs or variables. */
int ck_run(ck_plan *plan, ck_frame *frame, ck_failure *failed, int profile)
{
    if (profile && !plan->profile)
        plan->profile = PyMem_Calloc(plan->n_instrs + 1, 2 * sizeof(int64_t));
    runner r = {.plan = plan, .frame = frame, .failed = failed, .profile = profile && plan->profile};
    failed->tag = -1;
    return walk_part(&r, 0, plan->late < plan->into ? plan->late : plan->into, plan->long_run);
}

/* What writes into inputs: nothing in it can fail, but a signal may end a scan. */
int ck_run_into(ck_plan *plan, ck_frame *frame, ck_failure *failed, int profile)
{
    runner r = {.plan = plan, .frame = frame, .failed = failed, .profile = profile && plan->profile};
    failed->tag = -1;
    return walk_part(&r, plan->into, plan->n_instrs, plan->long_run);
}

/* What writes variables in place: with the GIL held, and nothing in it can fail. */
int ck_run_late(ck_plan *plan, ck_frame *frame, ck_failure *failed, int profile)
{
    runner r = {.plan = plan, .frame = frame, .failed = failed, .profile = profile && plan->profile};
    return walk_part(&r, plan->late, plan->n_instrs, 0);
}

/* The same in a thread that Python may know nothing of: for plans without PYCALLs. */
int ck_run_bare(ck_plan *plan, ck_frame *frame)
{
    ck_failure failed = {.tag = -1, .depth = 0};
    runner r = {.plan = plan, .frame = frame, .failed = &failed, .bare = 1};
    return walk(&r, plan->instrs, plan->instrs + plan->n_instrs);
}

/* [(tag, calls, ns)] summed over instructions of equal tag, in order of first appearance. */
PyObject *ck_profile_rows(ck_plan *plan)
{
    PyObject *sums = PyDict_New(), *rows = NULL;
    for (Py_ssize_t i = 0; sums && plan->profile && i < plan->n_instrs; i++) {
        long long calls = plan->profile[2 * i], ns = plan->profile[2 * i + 1];
        PyObject *key = PyLong_FromLongLong(plan->instrs[i].tag), *row = NULL;
        PyObject *before = key ? PyDict_GetItemWithError(sums, key) : NULL;
        if (before) {
            calls += PyLong_AsLongLong(PyTuple_GET_ITEM(before, 1));
            ns += PyLong_AsLongLong(PyTuple_GET_ITEM(before, 2));
        }
        if (key && !PyErr_Occurred())
            row = Py_BuildValue("OLL", key, calls, ns);
        if (!row || PyDict_SetItem(sums, key, row) < 0)
            Py_CLEAR(sums);
        Py_XDECREF(key);
        Py_XDECREF(row);
    }
    if (sums)
        rows = PyDict_Values(sums);
    Py_XDECREF(sums);
    return rows;
}

/* ([(tag, seat, from, to)], how many found no room) of the last call; tag -1: a part of the
   instruction around it. Python may run here, in a collection, and call or drop the plan: the spans
   are taken from it meanwhile, and given back unless those of a later call are there. */
PyObject *ck_span_rows(ck_plan *plan)
{
    ck_spans *spans = plan->spans;
    plan->spans = NULL;
    int64_t lost = 0, count = spans ? ck_spans_count(spans, &lost) : 0;
    PyObject *rows = PyList_New(count);
    for (int64_t i = 0; rows && i < count; i++) {
        ck_span s = ck_spans_get(spans, i);
        long long tag = s.at < 0 ? -1 : plan->instrs[s.at].tag;
        PyObject *row = Py_BuildValue("LLLL", tag, (long long)s.seat, (long long)s.from,
                                      (long long)s.to);
        if (row)
            PyList_SET_ITEM(rows, i, row);
        else
            Py_CLEAR(rows);
    }
    ck_spans_free(plan->spans ? spans : NULL);
    plan->spans = plan->spans ? plan->spans : spans;
    return rows ? Py_BuildValue("NL", rows, (long long)lost) : NULL;
}
