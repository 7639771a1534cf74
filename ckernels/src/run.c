/* run.c: walk the instructions of a plan. Without the GIL when the plan is worth it; with it
   again for each PYCALL. Knows frames, not arguments or updates: those are executor.c's. */
#include "python.h"

#include <time.h>

typedef struct {
    ck_plan *plan;
    ck_frame *frame;
    PyThreadState *released;     /* non-NULL while this run is without the GIL */
} runner;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The object that keeps the memory behind a row alive. */
static PyObject *owner_of(runner *r, const ck_row *row)
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

static PyObject *view_of(runner *r, const ck_view *v, int writeable)
{
    int flags = writeable ? NPY_ARRAY_WRITEABLE : 0;
    Py_INCREF(v->descr);
    PyObject *a = PyArray_NewFromDescr(
        &PyArray_Type, v->descr, v->nd, (npy_intp *)v->shape, (npy_intp *)v->strides,
        r->frame->table[v->slot], flags, NULL);
    if (!a)
        return NULL;
    PyObject *owner = owner_of(r, r->plan->rows + v->slot);
    if (PyArray_SetBaseObject((PyArrayObject *)a, Py_NewRef(owner)) < 0)
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

static inline int step(runner *r, const ck_instr *in)
{
    void *const *p = r->frame->table + in->ptr;
    const int64_t *dims = r->plan->dims + in->dims;
    if (in->kind == CK_KERNEL) {
        if (in->n < 2 * in->grain || in->n <= in->block)
            return in->n ? in->fn(p, dims, 0, in->n) : CK_OK;
        return ck_parallel_for(in->fn, p, dims, in->n, in->block, in->grain);
    }
    if (in->kind == CK_GEMM)
        return ck_gemm(p, dims, in->fn);
    return call_python(r, r->plan->pycalls + (intptr_t)in->fn);
}

/* Several threads may be in the same plan: the counters are atomic. */
static int timed_step(runner *r, const ck_instr *in)
{
    int64_t *row = r->plan->profile + 2 * (in - r->plan->instrs), start = now();
    int code = step(r, in);
    __atomic_fetch_add(row, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(row + 1, now() - start, __ATOMIC_RELAXED);
    return code;
}

/* Run the plan in a filled frame: CK_OK, or a code and the tag of the instruction that returned
   it. With CK_EPYTHON from a PYCALL the Python error is set. */
int ck_run(ck_plan *plan, ck_frame *frame, int64_t *tag, int profile)
{
    runner r = {plan, frame, NULL};
    int code = CK_OK;
    if (profile && !plan->profile) {
        plan->profile = PyMem_Calloc(plan->n_instrs + 1, 2 * sizeof(int64_t));
        profile = plan->profile != NULL;
    }
    if (plan->long_run)
        r.released = PyEval_SaveThread();
    const ck_instr *in = plan->instrs, *end = in + plan->n_instrs;
    for (; in < end && code == CK_OK; in++)
        code = profile ? timed_step(&r, in) : step(&r, in);
    if (code != CK_OK)
        *tag = in[-1].tag;
    if (r.released)
        PyEval_RestoreThread(r.released);
    return code;
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
