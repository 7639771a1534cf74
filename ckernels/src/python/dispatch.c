/* dispatch.c: Dispatch, the base of `ck.jit(f)`: from the arguments of a call to the compiled
   function of the last trace, without Python.

   A trace is remembered with what it was made for: kinds of the leaves (arguments, then values of
   names), and objects that names must still have. A call that fits goes to the compiled function; any
   other one, or one that fails there, to the method `called`, which knows all the rest. */
#include "python/python.h"

#include <stdlib.h>

typedef struct {                 /* what a leaf must be: an array, or exactly of a Python type */
    PyArray_Descr *descr;        /* NULL: of `type` */
    PyTypeObject *type;
    int nd, contiguous;
    npy_intp shape[CK_MAXDIMS];  /* -1: any size above `small`, up to LARGE */
} leaf_kind;

typedef struct { PyObject *holder, *name, *value; } reading;     /* holder: a dict, or an object */

typedef struct { Py_ssize_t place; int scalar; } part;     /* a result: its number in the list */

typedef struct {                 /* a trace; held by the Dispatch and by calls that are under way */
    Py_ssize_t held, n_args, n_leaves, n_used, n_fixed, n_free;
    PyObject *compiled, *kept;   /* kept: the tuple whose objects are borrowed here */
    leaf_kind *leaves;
    Py_ssize_t *used;            /* numbers of the leaves that the compiled function takes */
    reading *fixed, *free;
    npy_intp small;
    Py_ssize_t n_parts;
    part *parts;                 /* of the result; of no dimensions is a NumPy scalar if it says so */
    int guarded, several;        /* the first array says whether the trace holds; a tuple of parts */
} trace;

typedef struct {
    PyObject_HEAD
    trace *last;
} ck_dispatch;

static void trace_drop(trace *t)
{
    if (!t || --t->held)
        return;
    Py_XDECREF(t->compiled);
    Py_XDECREF(t->kept);
    free(t->leaves);
    free(t->used);
    free(t->parts);
    free(t->fixed);
    free(t->free);
    free(t);
}

/* ---- a call ---- */
#define LARGE 2147483647  /* as in jit/trace.py */

static int leaf_fits(const leaf_kind *kind, PyObject *x, npy_intp small)
{
    if (!kind->descr)
        return Py_TYPE(x) == kind->type;
    if (!PyArray_CheckExact(x))
        return 0;
    PyArrayObject *a = (PyArrayObject *)x;
    if (PyArray_DESCR(a) != kind->descr || PyArray_NDIM(a) != kind->nd
        || !PyArray_IS_C_CONTIGUOUS(a) != !kind->contiguous)
        return 0;
    for (int i = 0; i < kind->nd; i++) {
        npy_intp d = PyArray_DIM(a, i);
        if (kind->shape[i] < 0 ? d <= small || d > LARGE : d != kind->shape[i])
            return 0;
    }
    return 1;
}

/* The object that a name has now, borrowed from its holder; NULL without an error if it has none. */
static PyObject *read_name(const reading *r)
{
    PyObject *found;
    if (PyDict_Check(r->holder)) {
        found = PyDict_GetItemWithError(r->holder, r->name);
    } else {
        found = PyObject_GetAttr(r->holder, r->name);
        Py_XDECREF(found);       /* the holder has it, and nothing runs before it is used */
    }
    if (!found)
        PyErr_Clear();
    return found;
}

/* A leaf as an array: Python's numbers, which the function takes as float64 and int64, with none. */
static PyObject *as_array(PyObject *x)
{
    int is_float = PyFloat_CheckExact(x);
    if (!is_float && !PyLong_CheckExact(x))
        return Py_NewRef(x);
    double real = is_float ? PyFloat_AsDouble(x) : 0;
    long long whole = is_float ? 0 : PyLong_AsLongLong(x);
    if (PyErr_Occurred())
        return NULL;
    PyObject *a = PyArray_SimpleNew(0, NULL, is_float ? NPY_DOUBLE : NPY_INT64);
    if (a && is_float)
        *(double *)PyArray_DATA((PyArrayObject *)a) = real;
    else if (a)
        *(int64_t *)PyArray_DATA((PyArrayObject *)a) = whole;
    return a;
}

/* A part of the result; NULL with an error. */
static PyObject *part_of(const part *p, PyObject *found)
{
    PyObject *x = PyList_GetItem(found, p->place);
    Py_XINCREF(x);
    return x && p->scalar ? PyArray_Return((PyArrayObject *)x) : x;
}

/* The result, from the list of arrays that the function gave; NULL without an error where the trace
   does not hold for this call. */
static PyObject *put_together(const trace *t, PyObject *found)
{
    if (t->guarded && !*(npy_bool *)PyArray_DATA((PyArrayObject *)PyList_GET_ITEM(found, 0)))
        return NULL;
    if (!t->several)
        return part_of(t->parts, found);
    PyObject *result = PyTuple_New(t->n_parts);
    for (Py_ssize_t i = 0; result && i < t->n_parts; i++) {
        PyObject *x = part_of(t->parts + i, found);
        if (x)
            PyTuple_SET_ITEM(result, i, x);
        else
            Py_CLEAR(result);
    }
    return result;
}

/* The result of the remembered trace, or NULL: without an error, where the call does not fit. */
static PyObject *call_last(trace *t, PyObject *args)
{
    PyObject *leaves[CK_MAXDIMS], *used[CK_MAXDIMS];
    for (Py_ssize_t i = 0; i < t->n_fixed; i++)
        if (read_name(t->fixed + i) != t->fixed[i].value)
            return NULL;
    for (Py_ssize_t i = 0; i < t->n_leaves; i++) {
        leaves[i] = i < t->n_args ? PyTuple_GET_ITEM(args, i) : read_name(t->free + i - t->n_args);
        if (!leaves[i] || !leaf_fits(t->leaves + i, leaves[i], t->small))
            return NULL;
    }
    Py_ssize_t n = 0;
    while (n < t->n_used && (used[n] = as_array(leaves[t->used[n]])))
        n++;
    PyObject *result = NULL, *found = n < t->n_used ? NULL : ck_call(t->compiled, used, n, NULL);
    while (n)
        Py_DECREF(used[--n]);
    if (found) {
        result = put_together(t, found);
        Py_DECREF(found);
    }
    return result;
}

static PyObject *dispatch_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    trace *t = ((ck_dispatch *)self)->last;
    if (t && PyTuple_GET_SIZE(args) == t->n_args && (!kwargs || !PyDict_Size(kwargs))) {
        t->held++;
        PyObject *result = call_last(t, args);
        trace_drop(t);
        if (result || (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)))
            return result;
        PyErr_Clear();           /* `called` finds the same problem and says what to do */
    }
    PyObject *called = PyObject_GetAttrString(self, "called");
    PyObject *result = called ? PyObject_Call(called, args, kwargs) : NULL;
    Py_XDECREF(called);
    return result;
}

/* ---- what is remembered ---- */
static int parse_leaf(PyObject *kind, leaf_kind *leaf)
{
    PyObject *descr, *shape;
    if (PyType_Check(kind)) {
        leaf->type = (PyTypeObject *)kind;
        return 0;
    }
    if (!PyTuple_Check(kind)) {
        PyErr_SetString(PyExc_TypeError, "remember: a leaf is a type or (dtype, shape, contiguous)");
        return -1;
    }
    if (!PyArg_ParseTuple(kind, "O!O!p", &PyArrayDescr_Type, &descr, &PyTuple_Type, &shape,
                          &leaf->contiguous))
        return -1;
    leaf->descr = (PyArray_Descr *)descr;
    leaf->nd = (int)PyTuple_GET_SIZE(shape);
    for (int i = 0; i < leaf->nd && i < CK_MAXDIMS; i++)
        leaf->shape[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
    return leaf->nd > CK_MAXDIMS || PyErr_Occurred() ? -1 : 0;
}

static int parse_readings(PyObject *tuple, reading *out, int valued)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *one = PyTuple_GET_ITEM(tuple, i);
        if (!PyTuple_Check(one) || PyTuple_GET_SIZE(one) != 2 + valued) {
            PyErr_SetString(PyExc_TypeError, "remember: a name is (holder, name[, object])");
            return -1;
        }
        out[i].holder = PyTuple_GET_ITEM(one, 0);
        out[i].name = PyTuple_GET_ITEM(one, 1);
        out[i].value = valued ? PyTuple_GET_ITEM(one, 2) : NULL;
    }
    return 0;
}

/* True or False: one result, and whether it is a scalar; else (guarded, several, (place, scalar)...) */
static int parse_results(PyObject *results, trace *t)
{
    int tuple = PyTuple_Check(results);
    t->n_parts = tuple ? PyTuple_GET_SIZE(results) - 2 : 1;
    t->parts = calloc(t->n_parts > 0 ? t->n_parts : 1, sizeof *t->parts);
    if (!t->parts || t->n_parts < 0)
        return -1;
    if (!tuple) {
        t->parts->scalar = PyObject_IsTrue(results);
        return t->parts->scalar;
    }
    t->guarded = PyObject_IsTrue(PyTuple_GET_ITEM(results, 0));
    t->several = PyObject_IsTrue(PyTuple_GET_ITEM(results, 1));
    for (Py_ssize_t i = 0; i < t->n_parts; i++) {
        PyObject *one = PyTuple_GET_ITEM(results, i + 2);
        if (!PyTuple_Check(one)) {
            PyErr_SetString(PyExc_TypeError, "remember: a result is (place, whether a scalar)");
            return -1;
        }
        if (!PyArg_ParseTuple(one, "np", &t->parts[i].place, &t->parts[i].scalar))
            return -1;
    }
    return t->n_parts || t->several ? 0 : -1;
}

static trace *parse(PyObject *args)
{
    PyObject *compiled, *leaves, *used, *fixed, *free_names, *results;
    Py_ssize_t small;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!nO", ck_function_type, &compiled, &PyTuple_Type, &leaves,
                          &PyTuple_Type, &used, &PyTuple_Type, &fixed, &PyTuple_Type, &free_names,
                          &small, &results))
        return NULL;
    trace *t = calloc(1, sizeof *t);
    if (!t)
        return (trace *)PyErr_NoMemory();
    t->held = 1;
    t->compiled = Py_NewRef(compiled);
    t->kept = Py_NewRef(args);
    t->small = small;
    t->n_leaves = PyTuple_GET_SIZE(leaves);
    t->n_used = PyTuple_GET_SIZE(used);
    t->n_fixed = PyTuple_GET_SIZE(fixed);
    t->n_free = PyTuple_GET_SIZE(free_names);
    t->n_args = t->n_leaves - t->n_free;
    t->leaves = calloc(t->n_leaves + 1, sizeof *t->leaves);
    t->used = calloc(t->n_used + 1, sizeof *t->used);
    t->fixed = calloc(t->n_fixed + 1, sizeof *t->fixed);
    t->free = calloc(t->n_free + 1, sizeof *t->free);
    int bad = parse_results(results, t) < 0 || !t->leaves || !t->used || !t->fixed || !t->free || t->n_leaves > CK_MAXDIMS
              || t->n_used > CK_MAXDIMS || t->n_args < 0;
    for (Py_ssize_t i = 0; !bad && i < t->n_leaves; i++)
        bad = parse_leaf(PyTuple_GET_ITEM(leaves, i), t->leaves + i) < 0;
    for (Py_ssize_t i = 0; !bad && i < t->n_used; i++) {
        t->used[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(used, i));
        bad = t->used[i] < 0 || t->used[i] >= t->n_leaves;
    }
    bad = bad || parse_readings(fixed, t->fixed, 1) < 0 || parse_readings(free_names, t->free, 0) < 0;
    if (!bad)
        return t;
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "remember: too many leaves, or a number outside of them");
    trace_drop(t);
    return NULL;
}

static PyObject *dispatch_remember(PyObject *self, PyObject *args)
{
    trace *t = parse(args), *old = ((ck_dispatch *)self)->last;
    if (!t)
        return NULL;
    ((ck_dispatch *)self)->last = t;
    trace_drop(old);
    Py_RETURN_NONE;
}

static PyObject *dispatch_forget(PyObject *self, PyObject *unused)
{
    trace *old = ((ck_dispatch *)self)->last;
    (void)unused;
    ((ck_dispatch *)self)->last = NULL;
    trace_drop(old);
    Py_RETURN_NONE;
}

/* ---- the type ---- */
static int dispatch_traverse(PyObject *self, visitproc visit, void *arg)
{
    trace *t = ((ck_dispatch *)self)->last;
    Py_VISIT(Py_TYPE(self));
    if (t) {
        Py_VISIT(t->compiled);
        Py_VISIT(t->kept);
    }
    return 0;
}

static int dispatch_clear(PyObject *self)
{
    trace *old = ((ck_dispatch *)self)->last;
    ((ck_dispatch *)self)->last = NULL;
    trace_drop(old);
    return 0;
}

static void dispatch_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    dispatch_clear(self);
    ck_delete(self);
}

static PyMethodDef methods[] = {
    {"remember", dispatch_remember, METH_VARARGS,
     "remember(function, leaves, used, fixed, free, small, results): calls whose arguments are such\n"
     "leaves go to the compiled function. leaves: of each argument, then of each name in `free`, its\n"
     "type or (dtype, shape with -1 for sizes above `small`, whether it is C-contiguous); used:\n"
     "numbers of those that the function takes; fixed: (holder, name, object) that must hold;\n"
     "results: whether the one result is a scalar, or (whether the first array says if the trace\n"
     "holds, whether the result is a tuple, (number of an array, whether a scalar), ...)."},
    {"forget", dispatch_forget, METH_NOARGS, "forget(): all calls go to `called` again."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)"Dispatch(): calls compiled functions; subclasses have a method `called`."},
    {Py_tp_call, dispatch_call},
    {Py_tp_traverse, dispatch_traverse},
    {Py_tp_clear, dispatch_clear},
    {Py_tp_dealloc, dispatch_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec ck_dispatch_spec = {
    .name = "ckernels._runtime.Dispatch",
    .basicsize = sizeof(ck_dispatch),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
