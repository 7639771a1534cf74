/* cfunction.c: CFunction, a C function pointer to a plan of fixed shapes: no Python, no GIL.

   The functions at the end have the signatures that callers know (SciPy, ndimage, samplers); all
   take the CFunction as their last argument, `user_data`. Any number of threads may be inside: each
   call takes a frame of its own, idle ones wait in a list. What a call needs besides its pointers
   was fixed when the CFunction was made: shapes, bound inputs, the values of variables. */
#include "python/python.h"

#include <math.h>
#include <stdlib.h>

typedef struct raw_frame {
    struct raw_frame *next;
    void *arena;
    ck_frame frame;
} raw_frame;

typedef struct {
    PyObject_HEAD
    ck_plan *plan;
    PyObject *keep;              /* tuple: what `fixed` points into */
    char **fixed;                /* per source of the plan: its memory, NULL where a call gives it */
    Py_ssize_t n_inputs, n_free; /* of the function; of them those that a call gives, in order */
    Py_ssize_t *free;            /* their indices */
    int64_t *sizes;              /* elements of each free input */
    ck_mutex lock;
    raw_frame *idle;
} ck_raw;

/* ---- frames ---- */
static raw_frame *frame_new(const ck_plan *plan)
{
    raw_frame *f = calloc(1, sizeof *f + sizeof(void *) * (plan->n_sources + plan->n_rows + 2));
    if (!f || !(f->arena = ck_alloc(plan->arena ? plan->arena : 64))) {
        free(f);
        return NULL;
    }
    f->frame.base = (char **)(f + 1);
    f->frame.table = (void **)(f->frame.base + plan->n_sources);
    for (Py_ssize_t i = 0; i < plan->n_rows; i++)
        if (plan->rows[i].space == CK_CONSTANT) {
            PyObject *a = PyTuple_GET_ITEM(plan->constants, plan->rows[i].index);
            f->frame.table[i] = PyArray_BYTES((PyArrayObject *)a) + plan->rows[i].offset;
        }
    for (Py_ssize_t i = 0; i < plan->n_arena; i++) {
        const ck_patch *patch = plan->patches + plan->n_patches + i;
        f->frame.table[patch->slot] = (char *)f->arena + patch->offset;
    }
    return f;
}

static raw_frame *frame_take(ck_raw *e)
{
    ck_mutex_lock(&e->lock);
    raw_frame *f = e->idle;
    if (f)
        e->idle = f->next;
    ck_mutex_unlock(&e->lock);
    return f ? f : frame_new(e->plan);
}

static void frame_give(ck_raw *e, raw_frame *f)
{
    ck_mutex_lock(&e->lock);
    f->next = e->idle;
    e->idle = f;
    ck_mutex_unlock(&e->lock);
}

/* ---- one run: pointers of the free inputs and of all outputs ---- */
static int run(ck_raw *e, void *const *inputs, void *const *outputs)
{
    const ck_plan *plan = e->plan;
    raw_frame *f = frame_take(e);
    if (!f)
        return CK_EMEMORY;
    char **base = f->frame.base;
    memcpy(base, e->fixed, plan->n_sources * sizeof *base);
    for (Py_ssize_t k = 0; k < e->n_free; k++)
        if (e->free[k] < plan->n_inputs)
            base[e->free[k]] = inputs[k];
    for (Py_ssize_t i = 0; i < plan->n_outputs; i++)
        base[plan->n_inputs + plan->n_cells + i] = outputs[i];
    for (const ck_patch *p = plan->patches, *end = p + plan->n_patches; p < end; p++)
        f->frame.table[p->slot] = base[p->source] + p->offset;
    int code = ck_run_bare(e->plan, &f->frame);
    frame_give(e, f);
    return code;
}

/* ---- signatures ---- */
static int64_t call_pointers(void *const *inputs, void *const *outputs, void *entry)
{
    return run(entry, inputs, outputs);
}

static double call_number(double x, void *entry)
{
    double y;
    void *in[] = {&x}, *out[] = {&y};
    return run(entry, in, out) == CK_OK ? y : NAN;
}

enum { MOST = 64 };              /* numbers that may come one by one */

/* n numbers: one vector, or so many scalars. */
static double call_numbers(int n, double *x, void *entry)
{
    ck_raw *e = entry;
    void *in[MOST], *out[1];
    double y;
    out[0] = &y;
    in[0] = x;
    if (n > MOST || (e->n_free == 1 ? e->sizes[0] != n : e->n_free != n))
        return NAN;
    for (int i = 1; e->n_free > 1 && i < n; i++)
        in[i] = x + i;
    return run(e, in, out) == CK_OK ? y : NAN;
}

/* scipy.ndimage's filters: 1 is success. */
static int call_filter(double *buffer, intptr_t n, double *result, void *entry)
{
    ck_raw *e = entry;
    void *in[] = {buffer}, *out[] = {result};
    return e->sizes[0] == n && run(e, in, out) == CK_OK;
}

/* Samplers: a log-density and its gradient. 0 is success, 3 a slope, 4 a log-density that is no
   finite number, 1 all else. */
static int64_t call_logp(uint64_t n, double *x, double *gradient, double *logp, void *entry)
{
    ck_raw *e = entry;
    void *in[] = {x}, *out[] = {logp, gradient};
    if ((uint64_t)e->sizes[0] != n || run(e, in, out) != CK_OK)
        return 1;
    if (!isfinite(*logp))
        return 4;
    for (uint64_t i = 0; i < n; i++)
        if (!isfinite(gradient[i]))
            return 3;
    return 0;
}

/* Samplers: a vector of all that is kept of a point. */
static int64_t call_expand(uint64_t n, uint64_t kept, double *x, double *result, void *entry)
{
    ck_raw *e = entry;
    void *in[] = {x}, *out[] = {result};
    (void)kept;
    return (uint64_t)e->sizes[0] == n ? run(e, in, out) : CK_EVALUE;
}

static PyObject *raw_address(PyObject *self, PyObject *value)
{
    (void)self;
    static void *const functions[] = {(void *)call_pointers, (void *)call_number,
                                      (void *)call_numbers, (void *)call_filter, (void *)call_logp,
                                      (void *)call_expand};
    Py_ssize_t k = PyNumber_AsSsize_t(value, PyExc_IndexError);
    if (k < 0 || k >= (Py_ssize_t)(sizeof functions / sizeof *functions))
        return PyErr_Format(PyExc_IndexError, "there is no signature %zd", k);
    return PyLong_FromVoidPtr(functions[k]);
}

/* ---- making one ---- */
static int refuse(ck_plan *plan)
{
    if (plan->n_pycalls)
        PyErr_Format(PyExc_ValueError, "the plan calls Python %zd times", plan->n_pycalls);
    else if (plan->n_updates)
        PyErr_SetString(PyExc_ValueError, "the plan updates variables");
    return PyErr_Occurred() ? -1 : 0;
}

/* Where the fixed sources lie; `keep` holds what they are in. */
static int fix(ck_raw *e, ck_function *fn, PyObject *arrays, const char *is_free)
{
    const ck_plan *plan = e->plan;
    e->fixed = PyMem_Calloc(plan->n_sources + 1, sizeof *e->fixed);
    e->keep = PyTuple_New(1 + plan->n_cells);
    if (!e->fixed || !e->keep)
        return -1;
    PyTuple_SET_ITEM(e->keep, 0, Py_NewRef(arrays));
    for (Py_ssize_t i = 0; i < plan->n_inputs; i++)
        if (!is_free[i])
            e->fixed[i] = PyArray_BYTES((PyArrayObject *)PyTuple_GET_ITEM(arrays, i));
    for (Py_ssize_t i = 0; i < plan->n_cells; i++) {
        PyObject *value = (PyObject *)fn->cells[i]->array;
        PyTuple_SET_ITEM(e->keep, 1 + i, Py_NewRef(value));
        e->fixed[plan->n_inputs + i] = PyArray_BYTES((PyArrayObject *)value);
    }
    return 0;
}

static int choose(ck_raw *e, PyObject *arrays, PyObject *free_inputs, char *is_free)
{
    e->n_free = PyTuple_GET_SIZE(free_inputs);
    e->free = PyMem_Calloc(e->n_free + 1, sizeof *e->free);
    e->sizes = PyMem_Calloc(e->n_free + 1, sizeof *e->sizes);
    for (Py_ssize_t k = 0; e->free && e->sizes && k < e->n_free; k++) {
        Py_ssize_t i = PyNumber_AsSsize_t(PyTuple_GET_ITEM(free_inputs, k), PyExc_IndexError);
        if (i < 0 || i >= PyTuple_GET_SIZE(arrays)) {
            PyErr_SetString(PyExc_IndexError, "free names an input that is not there");
            return -1;
        }
        e->free[k] = i;
        e->sizes[k] = PyArray_SIZE((PyArrayObject *)PyTuple_GET_ITEM(arrays, i));
        is_free[i] = 1;
    }
    return e->free && e->sizes ? 0 : -1;
}

static int check_arrays(ck_function *fn, PyObject *arrays)
{
    for (Py_ssize_t i = 0; i < fn->n_inputs; i++) {
        PyObject *a = i < PyTuple_GET_SIZE(arrays) ? PyTuple_GET_ITEM(arrays, i) : NULL;
        if (!a || !PyArray_CheckExact(a) || !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)a)
            || PyArray_TYPE((PyArrayObject *)a) != fn->inputs[i].descr->type_num
            || PyArray_NDIM((PyArrayObject *)a) != fn->inputs[i].nd) {
            PyErr_Format(PyExc_TypeError, "input %zd must be a contiguous array of its dtype", i);
            return -1;
        }
    }
    return 0;
}

static PyObject *raw_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *function, *arrays, *free_inputs, *instead = NULL;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!O!O!:CFunction", ck_function_type, &function, &PyTuple_Type,
                          &arrays, &PyTuple_Type, &free_inputs))
        return NULL;
    ck_function *fn = (ck_function *)function;
    if (check_arrays(fn, arrays) < 0)
        return NULL;
    ck_raw *e = (ck_raw *)PyType_GenericAlloc(type, 0);
    char *is_free = PyMem_Calloc(fn->n_inputs + 1, 1);
    PyArrayObject **items = PyMem_Calloc(fn->n_inputs + 1, sizeof(*items));
    if (e)
        ck_mutex_init(&e->lock);
    if (e && is_free && items) {
        for (Py_ssize_t i = 0; i < fn->n_inputs; i++)
            items[i] = (PyArrayObject *)PyTuple_GET_ITEM(arrays, i);
        e->n_inputs = fn->n_inputs;
        e->plan = ck_find_plan(fn, items, &instead);
        if (instead && !PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "the function runs in pieces");
        if (!e->plan || refuse(e->plan) < 0 || choose(e, arrays, free_inputs, is_free) < 0
            || fix(e, fn, arrays, is_free) < 0)
            Py_CLEAR(e);
    }
    Py_XDECREF(instead);
    PyMem_Free(items);
    PyMem_Free(is_free);
    return (PyObject *)e;
}

static void raw_dealloc(PyObject *self)
{
    ck_raw *e = (ck_raw *)self;
    for (raw_frame *f = e->idle, *next; f; f = next) {
        next = f->next;
        ck_free(f->arena, e->plan->arena ? e->plan->arena : 64);
        free(f);
    }
    ck_mutex_destroy(&e->lock);
    PyMem_Free(e->fixed);
    PyMem_Free(e->free);
    PyMem_Free(e->sizes);
    Py_XDECREF(e->keep);
    Py_XDECREF(e->plan);
    ck_delete(self);
}

static PyMethodDef raw_methods[] = {
    {"address", raw_address, METH_O,
     "address(k) -> the C function of signature k (see runtime/cfunction.py); the address of the CFunction\n"
     "is its user_data."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot raw_slots[] = {
    {Py_tp_doc, (void *)
     "CFunction(function, arrays, free)\n--\n\n"
     "A plan of `function` for the shapes of `arrays` (a tuple of all inputs) as C functions;\n"
     "free: indices of the inputs that callers give, the others stay what they are."},
    {Py_tp_new, raw_new},
    {Py_tp_dealloc, raw_dealloc},
    {Py_tp_methods, raw_methods},
    {0, NULL},
};

PyType_Spec ck_raw_spec = {
    .name = "ckernels._runtime.CFunction",
    .basicsize = sizeof(ck_raw),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = raw_slots,
};
