/* direct.c: Direct, a function of one or two arrays that goes to a ufunc without Python where NumPy
   does with them what is wanted: arrays of one dtype among those named, or one of them and a Python
   number. All other calls, and those that fail there, go to `other`.

   Small arrays take as long as a frame of Python or two. A ufunc warns of overflow unless the
   context of the thread says otherwise: `silent` is one that does, and the ufunc runs in a copy. */
#include "python/python.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *dict, *eager, *other, *silent;
    PyObject *run;               /* the method `run` of a copy of `silent` that nobody is in, or NULL */
    uint32_t kept, few;          /* sets of NumPy's numbers of dtypes */
    int count, whole;
} ck_direct;

enum { FEW = 2048 };             /* elements of an array of the dtypes `few` */

static int among(uint32_t set, int number)
{
    return number < 32 && set >> number & 1;
}

/* Whether an array is of a dtype that the ufunc takes as it is. */
static int is_kept(const ck_direct *d, PyObject *x)
{
    if (Py_TYPE(x) != &PyArray_Type)
        return 0;
    PyArrayObject *a = (PyArrayObject *)x;
    const int number = PyArray_TYPE(a);
    return (among(d->kept, number) || (among(d->few, number) && PyArray_SIZE(a) <= FEW))
           && PyArray_ISNOTSWAPPED(a);
}

/* Whether a Python number takes the dtype of an array beside it. */
static int is_weak(const ck_direct *d, PyObject *x, PyObject *number)
{
    const int dtype = PyArray_TYPE((PyArrayObject *)x);
    if (PyTypeNum_ISFLOAT(dtype))
        return PyFloat_CheckExact(number) || PyLong_CheckExact(number);
    return d->whole && PyTypeNum_ISINTEGER(dtype) && PyLong_CheckExact(number);
}

static int fits(const ck_direct *d, PyObject *const *args)
{
    const int first = is_kept(d, args[0]);
    if (d->count == 1)
        return first;
    if (!is_kept(d, args[1]))
        return first && is_weak(d, args[0], args[1]);
    return first ? PyArray_TYPE((PyArrayObject *)args[0]) == PyArray_TYPE((PyArrayObject *)args[1])
                 : is_weak(d, args[1], args[0]);
}

static PyObject *copied_run(const ck_direct *d)
{
    PyObject *copy = PyObject_CallMethod(d->silent, "copy", NULL);
    PyObject *run = copy ? PyObject_GetAttrString(copy, "run") : NULL;
    Py_XDECREF(copy);
    return run;
}

/* A context can be entered once at a time: another thread's call meanwhile makes a copy. */
static PyObject *silently(ck_direct *d, PyObject *x, PyObject *y)
{
    PyObject *run = d->run ? d->run : copied_run(d);
    d->run = NULL;
    PyObject *found = run ? PyObject_CallFunctionObjArgs(run, d->eager, x, y, NULL) : NULL;
    if (d->run)
        Py_XDECREF(run);
    else
        d->run = run;
    return found;
}

static PyObject *others(const ck_direct *d, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    PyObject *keywords = NULL, *found = NULL, *given = ck_tuple_of(args, n);
    if (names && given && (keywords = PyDict_New()))
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names) && !PyErr_Occurred(); i++)
            PyDict_SetItem(keywords, PyTuple_GET_ITEM(names, i), args[n + i]);
    if (given && !PyErr_Occurred())
        found = PyObject_Call(d->other, given, keywords);
    Py_XDECREF(given);
    Py_XDECREF(keywords);
    return found;
}

static PyObject *direct_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                   PyObject *names)
{
    ck_direct *d = (ck_direct *)self;
    const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (names || n != d->count || !fits(d, args))
        return others(d, args, n, names);
    if (!d->eager)
        return Py_NewRef(args[0]);
    PyObject *second = n > 1 ? args[1] : NULL;
    PyObject *found = d->silent ? silently(d, args[0], second)
                                : PyObject_CallFunctionObjArgs(d->eager, args[0], second, NULL);
    if (found || !PyErr_ExceptionMatches(PyExc_Exception))
        return found;
    PyErr_Clear();
    return others(d, args, n, names);    /* which says with what shapes and dtypes it fails */
}

/* A call from code that does not know vectorcall. */
static PyObject *direct_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return PyObject_Call(((ck_direct *)self)->other, args, kwargs);
}

/* ---- the type ---- */
static int direct_traverse(PyObject *self, visitproc visit, void *arg)
{
    ck_direct *d = (ck_direct *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(d->dict);
    Py_VISIT(d->eager);
    Py_VISIT(d->other);
    Py_VISIT(d->silent);
    Py_VISIT(d->run);
    return 0;
}

static int direct_clear(PyObject *self)
{
    ck_direct *d = (ck_direct *)self;
    Py_CLEAR(d->dict);
    Py_CLEAR(d->eager);
    Py_CLEAR(d->other);
    Py_CLEAR(d->silent);
    Py_CLEAR(d->run);
    return 0;
}

static void direct_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    direct_clear(self);
    ck_delete(self);
}

static PyObject *none_is_null(PyObject *x)
{
    return x == Py_None ? NULL : Py_NewRef(x);
}

static PyObject *direct_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"eager", "other", "kept", "few", "count", "silent", "whole", NULL};
    PyObject *eager, *other, *silent;
    unsigned int kept, few;
    int count, whole;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOIIiOp:Direct", names, &eager, &other, &kept,
                                     &few, &count, &silent, &whole))
        return NULL;
    if (count < 1 || count > 2 || (eager == Py_None && count != 1)) {
        PyErr_SetString(PyExc_ValueError, "a Direct takes one array or two, and returns the one "
                        "where `eager` is None");
        return NULL;
    }
    ck_direct *d = (ck_direct *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!d)
        return NULL;
    d->vectorcall = direct_vectorcall;
    d->eager = none_is_null(eager);
    d->other = Py_NewRef(other);
    d->silent = none_is_null(silent);
    d->kept = kept, d->few = few, d->count = count, d->whole = whole;
    return (PyObject *)d;
}

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ck_direct, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(ck_direct, dict), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)
     "Direct(eager, other, kept, few, count, silent, whole): calls eager for `count` arrays of one\n"
     "dtype, or one and a Python number, else other. eager: None for the array itself; kept: the\n"
     "dtypes, bits of NumPy's numbers; few: of small arrays only; silent: None, or a context in which\n"
     "NumPy does not warn; whole: integer arrays stand beside ints."},
    {Py_tp_new, direct_new},
    {Py_tp_call, direct_call},
    {Py_tp_traverse, direct_traverse},
    {Py_tp_clear, direct_clear},
    {Py_tp_dealloc, direct_dealloc},
    {Py_tp_members, members},
    {0, NULL},
};

PyType_Spec ck_direct_spec = {
    .name = "ckernels._runtime.Direct",
    .basicsize = sizeof(ck_direct),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = slots,
};
