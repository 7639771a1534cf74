/* dispatch.c: Dispatch, the base of `ck.jit(f)`: from the arguments of a call to the compiled
   functions of a trace, without Python.

   A few traces are remembered, each with what it was made for: the nesting of arguments and values of names, as
   jit/trees.py describes it, kinds of their leaves, and objects that names must still have. Compiled
   truth values lead to one of its ends, as jit/branches.py has them. A call that fits goes there, or
   to the callable to which calls of its kind are left; any other one, or one that fails before it wrote anything, to the method `called`, which knows all the
   rest; one for which the trace does not hold to `missed`, and where what it stores would reach
   memory of two arguments, or none, to `shared`. */
#include "python/python.h"

#include <stdlib.h>

typedef struct {                 /* what a leaf must be: an array, or exactly of a type */
    PyArray_Descr *descr;        /* NULL: of `type` */
    PyTypeObject *type;
    PyObject *value;             /* the one number that it must be, or NULL */
    int nd, contiguous;
    npy_intp shape[CK_MAXDIMS];  /* -1: any size above `small`, up to LARGE */
} leaf_kind;

typedef struct { PyObject *holder, *name, *value; } reading;     /* holder: a dict, or an object */

typedef struct { Py_ssize_t n, *at; } numbers;

enum { LEAF, VIEW, STATIC, CONSTANT, NUMBER, MAYBE, SCALAR, ARRAY, PART };   /* as in HOWS */

typedef struct {                 /* how one result is made */
    int how;
    Py_ssize_t place, owner;     /* number of an array or leaf; ARRAY, PART: the part that owns it */
    int copied;                  /* the owner is a copy, since another has the array */
    PyObject *more;              /* an object, a type, (place, type), or lenses ((make, places)...) */
} part;

typedef struct node {            /* a truth value that chooses the next node, or an end */
    PyObject *function;          /* compiled, or a callable; NULL: an end that computes nothing */
    PyObject *left;              /* what is called with the arguments as they are, or NULL */
    numbers used;                /* of the leaves that the function takes */
    int ends;
    struct node *next[2];        /* NULL: a path that is Python's */
    int guarded;                 /* the first array says whether the trace holds */
    numbers mutated, arrays;     /* (leaf, place) in turns; the leaves that are arrays */
    Py_ssize_t n_parts;
    part *parts;
    PyObject *described;         /* the nesting of the result */
} node;

typedef struct trace {           /* a trace; held by the Dispatch and by calls that are under way */
    struct trace *next;          /* called less recently */
    Py_ssize_t held, n_leaves, n_fixed, n_free;
    PyObject *kept;              /* the tuple whose objects are borrowed here */
    PyObject *described, *kinds; /* what tells it from others: the nesting, kinds of its leaves */
    PyObject *args, *kwargs, *names;     /* the nestings of each */
    leaf_kind *leaves;
    reading *fixed, *free;
    npy_intp small;
    node *first;
} trace;

typedef struct {
    PyObject_HEAD
    trace *last;
} ck_dispatch;

enum { MOST_TRACES = 4 };        /* that are tried before Python looks for one */

static void node_free(node *n)
{
    if (!n)
        return;
    node_free(n->next[0]);
    node_free(n->next[1]);
    free(n->used.at);
    free(n->mutated.at);
    free(n->arrays.at);
    free(n->parts);
    free(n);
}

static void trace_drop(trace *t)
{
    if (!t || --t->held)
        return;
    Py_XDECREF(t->kept);
    node_free(t->first);
    free(t->leaves);
    free(t->fixed);
    free(t->free);
    free(t);
}

/* ---- whether a call fits ---- */
#define LARGE 2147483647  /* as in jit/trace.py */

typedef struct {                 /* a call under way */
    const trace *t;
    PyObject *leaves[CK_MAXDIMS];        /* owned */
    Py_ssize_t n;
} call;

/* Whether a number is the one that a trace was made for: 0.0 is not -0.0. */
static int same_number(PyObject *x, PyObject *value)
{
    if (x == value)
        return 1;
    if (PyFloat_CheckExact(x)) {
        double a = PyFloat_AsDouble(x), b = PyFloat_AsDouble(value);
        return !memcmp(&a, &b, sizeof a);
    }
    return PyLong_CheckExact(x) && PyObject_RichCompareBool(x, value, Py_EQ) > 0;
}

/* Of numbers there is one object for each dtype; of dates, texts and records there are many. */
static int same_dtype(PyArray_Descr *a, PyArray_Descr *b)
{
    return a == b || (a->type_num == b->type_num && PyArray_EquivTypes(a, b));
}

static int leaf_fits(const leaf_kind *kind, PyObject *x, npy_intp small)
{
    if (!kind->descr)
        return Py_TYPE(x) == kind->type && (!kind->value || same_number(x, kind->value));
    if (!PyArray_CheckExact(x))
        return 0;
    PyArrayObject *a = (PyArrayObject *)x;
    if (!same_dtype(PyArray_DESCR(a), kind->descr) || PyArray_NDIM(a) != kind->nd
        || !PyArray_IS_C_CONTIGUOUS(a) != !kind->contiguous)
        return 0;
    for (int i = 0; i < kind->nd; i++) {
        npy_intp d = PyArray_DIM(a, i);
        if (kind->shape[i] < 0 ? d <= small || d > LARGE : d != kind->shape[i])
            return 0;
    }
    return 1;
}

/* Whether two objects of one type are equal, of types whose comparison runs no Python. */
static int equal(PyObject *a, PyObject *b)
{
    if (a == b)
        return 1;
    if (Py_TYPE(a) != Py_TYPE(b))
        return 0;
    if (PyUnicode_CheckExact(a) || PyBytes_CheckExact(a) || PyLong_CheckExact(a))
        return PyObject_RichCompareBool(a, b, Py_EQ) > 0;
    return 0;
}

static int slice_fits(PyObject *parts, PyObject *x)
{
    static const char *const names[] = {"start", "stop", "step"};
    int same = 1;
    for (int i = 0; same && i < 3; i++) {
        PyObject *one = PyObject_GetAttrString(x, names[i]);
        same = one && equal(one, PyTuple_GET_ITEM(parts, i));
        Py_XDECREF(one);
    }
    return same;
}

static int tree_fits(call *c, PyObject *described, PyObject *x);

/* Entries in their order: names and, where `typed`, their types. */
static int dict_fits(call *c, PyObject *keys, int typed, PyObject *parts, PyObject *dict)
{
    Py_ssize_t at = 0, i = 0, n = PyTuple_GET_SIZE(keys);
    PyObject *key, *value;
    if (PyDict_Size(dict) != n)
        return 0;
    for (; i < n && PyDict_Next(dict, &at, &key, &value); i++) {
        PyObject *wanted = PyTuple_GET_ITEM(keys, i);
        if (!equal(key, typed ? PyTuple_GET_ITEM(wanted, 1) : wanted))
            return 0;
        Py_INCREF(value);
        int fits = tree_fits(c, PyTuple_GET_ITEM(parts, i), value);
        Py_DECREF(value);
        if (!fits)
            return 0;
    }
    return i == n;
}

static int items_fit(call *c, PyObject *parts, PyObject *x)
{
    int tuple = PyTuple_Check(x);
    Py_ssize_t n = PyTuple_GET_SIZE(parts);
    if ((tuple ? PyTuple_GET_SIZE(x) : PyList_GET_SIZE(x)) != n)
        return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *one = tuple ? PyTuple_GET_ITEM(x, i) : PyList_GetItem(x, i);
        Py_XINCREF(one);
        int fits = one && tree_fits(c, PyTuple_GET_ITEM(parts, i), one);
        Py_XDECREF(one);
        if (!fits)
            return 0;
    }
    return 1;
}

static int object_fits(call *c, PyObject *described, PyObject *x)
{
    PyObject *dict = PyObject_GenericGetDict(x, NULL);
    int fits = dict && PyDict_CheckExact(dict)
               && dict_fits(c, PyTuple_GET_ITEM(described, 2), 0, PyTuple_GET_ITEM(described, 3), dict);
    Py_XDECREF(dict);
    return fits;
}

/* Whether an argument is nested as `described`; its leaves are added to those of the call. Nothing in
   here but a collection of garbage runs Python. */
static int tree_fits(call *c, PyObject *described, PyObject *x)
{
    if (PyUnicode_Check(described)) {
        if (c->n >= c->t->n_leaves || !leaf_fits(c->t->leaves + c->n, x, c->t->small))
            return 0;
        c->leaves[c->n++] = Py_NewRef(x);
        return 1;
    }
    PyObject *kind = PyTuple_GET_ITEM(described, 0), *more = PyTuple_GET_ITEM(described, 1);
    if (PyUnicode_Check(kind)) {
        if ((PyObject *)Py_TYPE(x) != more)
            return 0;
        PyObject *value = PyTuple_GET_ITEM(described, 2);
        return PySlice_Check(x) ? slice_fits(value, x) : equal(x, value);
    }
    if (kind == (PyObject *)&PyBaseObject_Type)
        return (PyObject *)Py_TYPE(x) == more && object_fits(c, described, x);
    if ((PyObject *)Py_TYPE(x) != kind)
        return 0;
    return PyDict_CheckExact(x) ? dict_fits(c, more, 1, PyTuple_GET_ITEM(described, 2), x)
                                : items_fit(c, more, x);
}

/* The object that a name has now; NULL without an error if it has none. */
static PyObject *read_name(const reading *r)
{
    PyObject *found = PyDict_Check(r->holder) ? PyDict_GetItemWithError(r->holder, r->name)
                                              : PyObject_GetAttr(r->holder, r->name);
    if (PyDict_Check(r->holder))
        Py_XINCREF(found);
    if (!found)
        PyErr_Clear();
    return found;
}

static int call_fits(call *c, PyObject *args, PyObject *kwargs)
{
    const trace *t = c->t;
    int fits = 1;
    for (Py_ssize_t i = 0; fits && i < t->n_fixed; i++) {
        PyObject *now = read_name(t->fixed + i);
        fits = now == t->fixed[i].value;
        Py_XDECREF(now);
    }
    fits = fits && items_fit(c, PyTuple_GET_ITEM(t->args, 1), args);
    if (fits && (kwargs ? PyDict_Size(kwargs) : 0) != PyTuple_GET_SIZE(PyTuple_GET_ITEM(t->kwargs, 1)))
        return 0;
    fits = fits && (!kwargs || tree_fits(c, t->kwargs, kwargs));
    for (Py_ssize_t i = 0; fits && i < t->n_free; i++) {
        PyObject *now = read_name(t->free + i);
        fits = now && tree_fits(c, PyTuple_GET_ITEM(PyTuple_GET_ITEM(t->names, 1), i), now);
        Py_XDECREF(now);
    }
    return fits && c->n == t->n_leaves;
}

/* ---- a call ---- */

/* A leaf as an array: Python's numbers, which the function takes as float64 and int64, with none. */
static PyObject *as_array(PyObject *x)
{
    int is_float = PyFloat_CheckExact(x);
    if (!is_float && !PyLong_CheckExact(x))
        return PyArray_Check(x) ? Py_NewRef(x) : PyArray_FromScalar(x, NULL);
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

/* What a function of Python's gives, as a list of arrays. */
static PyObject *list_of_arrays(PyObject *function, PyObject *const *args, Py_ssize_t n)
{
    PyObject *packed = PyTuple_New(n);
    for (Py_ssize_t i = 0; packed && i < n; i++)
        PyTuple_SET_ITEM(packed, i, Py_NewRef(args[i]));
    PyObject *found = packed ? PyObject_Call(function, packed, NULL) : NULL;
    Py_XDECREF(packed);
    int arrays = found && PyList_CheckExact(found);
    for (Py_ssize_t i = 0; arrays && i < PyList_GET_SIZE(found); i++)
        arrays = PyArray_Check(PyList_GET_ITEM(found, i));
    if (found && !arrays) {
        PyErr_Format(PyExc_TypeError, "%R gave no list of arrays", function);
        Py_CLEAR(found);
    }
    return found;
}

/* The list of arrays that the function of a node gives. */
static PyObject *computed(const node *at, PyObject *const *leaves)
{
    if (!at->function)
        return PyList_New(0);
    PyObject *used[CK_MAXDIMS], *found = NULL;
    Py_ssize_t n = 0;
    while (n < at->used.n && (used[n] = as_array(leaves[at->used.at[n]])))
        n++;
    if (n == at->used.n)
        found = PyObject_TypeCheck(at->function, ck_function_type)
                    ? ck_call(at->function, used, n, NULL)
                    : list_of_arrays(at->function, used, n);
    while (n)
        Py_DECREF(used[--n]);
    return found;
}

/* The bytes of an array as [low, high) from its first element; none of an empty one. */
static void extent(PyArrayObject *a, char **low, char **high)
{
    *low = *high = PyArray_BYTES(a);
    if (!PyArray_SIZE(a))
        return;
    *high += PyArray_ITEMSIZE(a);
    for (int i = 0; i < PyArray_NDIM(a); i++) {
        npy_intp reach = PyArray_STRIDE(a, i) * (PyArray_DIM(a, i) - 1);
        *(reach < 0 ? low : high) += reach;
    }
}

/* Whether what is written back reaches one argument each, and may be written. */
static int writable(const node *at, PyObject *const *leaves)
{
    for (Py_ssize_t i = 0; i < at->mutated.n; i += 2) {
        Py_ssize_t own = at->mutated.at[i];
        PyArrayObject *a = (PyArrayObject *)leaves[own];
        char *low, *high, *l, *h;
        if (!PyArray_ISWRITEABLE(a))
            return 0;
        for (int axis = 0; axis < PyArray_NDIM(a); axis++)
            if (!PyArray_STRIDE(a, axis) && PyArray_DIM(a, axis) > 1 && PyArray_SIZE(a))
                return 0;
        extent(a, &low, &high);
        for (Py_ssize_t j = 0; j < at->arrays.n; j++) {
            if (at->arrays.at[j] == own)
                continue;
            extent((PyArrayObject *)leaves[at->arrays.at[j]], &l, &h);
            if (low < high && l < h && low < h && l < high)
                return 0;
        }
    }
    return 1;
}

/* A view, or a view of one: each lens is a callable and the places of arrays that it takes too. */
static PyObject *through(PyObject *array, PyObject *lenses, PyObject *found)
{
    PyObject *x = Py_NewRef(array);
    for (Py_ssize_t i = 0; x && i < PyTuple_GET_SIZE(lenses); i++) {
        PyObject *places = PyTuple_GET_ITEM(PyTuple_GET_ITEM(lenses, i), 1);
        Py_ssize_t n = PyTuple_GET_SIZE(places);
        PyObject *args = PyTuple_New(n + 1);
        for (Py_ssize_t j = 0; args && j < n; j++) {
            PyObject *one = PyList_GetItem(found, PyLong_AsSsize_t(PyTuple_GET_ITEM(places, j)));
            if (one)
                PyTuple_SET_ITEM(args, j + 1, Py_NewRef(one));
            else
                Py_CLEAR(args);
        }
        if (args)
            PyTuple_SET_ITEM(args, 0, x);
        else
            Py_DECREF(x);
        x = args ? PyObject_Call(PyTuple_GET_ITEM(PyTuple_GET_ITEM(lenses, i), 0), args, NULL) : NULL;
        Py_XDECREF(args);
    }
    return x;
}

static PyObject *python_number(PyObject *kind, PyObject *array)
{
    PyArrayObject *a = (PyArrayObject *)array;
    int one = !PyArray_NDIM(a);
    if (one && kind == (PyObject *)&PyFloat_Type && PyArray_TYPE(a) == NPY_DOUBLE)
        return PyFloat_FromDouble(*(double *)PyArray_DATA(a));
    if (one && kind == (PyObject *)&PyLong_Type && PyArray_TYPE(a) == NPY_INT64)
        return PyLong_FromLongLong(*(int64_t *)PyArray_DATA(a));
    return PyObject_CallFunctionObjArgs(kind, array, NULL);
}

/* One result. owners: the arrays, by the number of the part that owns each. */
static PyObject *made(const part *p, const call *c, PyObject *found, PyObject **owners, Py_ssize_t i)
{
    if (p->how == STATIC)
        return Py_NewRef(p->more);
    if (p->how == CONSTANT)
        return PyArray_NewCopy((PyArrayObject *)p->more, NPY_CORDER);
    if (p->how == LEAF)
        return Py_NewRef(c->leaves[p->place]);
    if (p->how == VIEW)
        return through(c->leaves[p->place], p->more, found);
    PyObject *x = PyList_GetItem(found, p->place);       /* borrowed from the list, which is ours */
    if (!x)
        return NULL;
    if (p->how == NUMBER)
        return python_number(p->more, x);
    if (p->how == ARRAY || p->how == PART) {
        if (p->owner == i)
            owners[i] = p->copied ? PyArray_NewCopy((PyArrayObject *)x, NPY_CORDER) : Py_NewRef(x);
        x = owners[p->owner];
        return !x ? NULL : p->how == ARRAY ? Py_NewRef(x) : through(x, p->more, found);
    }
    PyObject *value = PyArray_Return((PyArrayObject *)Py_NewRef(x));
    if (p->how == SCALAR || !value)
        return value;
    PyObject *flag = PyList_GetItem(found, PyLong_AsSsize_t(PyTuple_GET_ITEM(p->more, 0)));
    int python = flag ? PyObject_IsTrue(flag) : -1;
    if (!python)
        return value;
    x = python < 0 ? NULL : PyObject_CallFunctionObjArgs(PyTuple_GET_ITEM(p->more, 1), value, NULL);
    Py_DECREF(value);
    return x;
}

typedef struct { PyObject **values; Py_ssize_t n; } results;       /* those that are left */

static PyObject *put_together(PyObject *described, results *from);

static PyObject *dict_together(PyObject *keys, int typed, PyObject *parts, PyObject *into,
                               results *from)
{
    for (Py_ssize_t i = 0; into && i < PyTuple_GET_SIZE(keys); i++) {
        PyObject *key = PyTuple_GET_ITEM(keys, i);
        PyObject *x = put_together(PyTuple_GET_ITEM(parts, i), from);
        if (!x || PyDict_SetItem(into, typed ? PyTuple_GET_ITEM(key, 1) : key, x) < 0)
            Py_CLEAR(into);
        Py_XDECREF(x);
    }
    return into;
}

static PyObject *items_together(PyObject *kind, PyObject *parts, results *from)
{
    Py_ssize_t n = PyTuple_GET_SIZE(parts);
    PyObject *items = PyTuple_New(n);
    for (Py_ssize_t i = 0; items && i < n; i++) {
        PyObject *x = put_together(PyTuple_GET_ITEM(parts, i), from);
        if (x)
            PyTuple_SET_ITEM(items, i, x);
        else
            Py_CLEAR(items);
    }
    if (!items || kind == (PyObject *)&PyTuple_Type)
        return items;
    PyObject *x = kind == (PyObject *)&PyList_Type ? PySequence_List(items)
                                                   : PyObject_Call(kind, items, NULL);
    Py_DECREF(items);
    return x;
}

static PyObject *object_together(PyObject *described, results *from)
{
    PyObject *x = PyObject_CallMethod((PyObject *)&PyBaseObject_Type, "__new__", "O",
                                      PyTuple_GET_ITEM(described, 1));
    PyObject *dict = x ? PyObject_GenericGetDict(x, NULL) : NULL;
    PyObject *full = dict ? dict_together(PyTuple_GET_ITEM(described, 2), 0,
                                          PyTuple_GET_ITEM(described, 3), dict, from) : NULL;
    Py_XDECREF(full);
    if (!full)
        Py_CLEAR(x);
    return x;
}

/* The results nested as described, whose references move there. */
static PyObject *put_together(PyObject *described, results *from)
{
    if (PyUnicode_Check(described)) {
        PyObject *x = *from->values;
        *from->values++ = NULL;
        from->n--;
        return x;
    }
    PyObject *kind = PyTuple_GET_ITEM(described, 0), *more = PyTuple_GET_ITEM(described, 1);
    if (PyUnicode_Check(kind)) {
        PyObject *value = PyTuple_GET_ITEM(described, 2);
        return more != (PyObject *)&PySlice_Type ? Py_NewRef(value)
            : PySlice_New(PyTuple_GET_ITEM(value, 0), PyTuple_GET_ITEM(value, 1),
                          PyTuple_GET_ITEM(value, 2));
    }
    if (kind == (PyObject *)&PyDict_Type)
        return dict_together(more, 1, PyTuple_GET_ITEM(described, 2), PyDict_New(), from);
    if (kind == (PyObject *)&PyBaseObject_Type)
        return object_together(described, from);
    return items_together(kind, more, from);
}

/* What the first array of a list says; -1 with an error. */
static int truth(PyObject *found)
{
    PyObject *first = PyList_GetItem(found, 0);
    if (first && PyArray_CheckExact(first) && PyArray_TYPE((PyArrayObject *)first) == NPY_BOOL
        && PyArray_NDIM((PyArrayObject *)first) == 0)
        return *(npy_bool *)PyArray_DATA((PyArrayObject *)first);
    return first ? PyObject_IsTrue(first) : -1;
}

typedef enum { TRIED, MISSED, SHARED, WRITTEN } outcome;     /* why a call has no result */

/* Store into the arguments; WRITTEN once one may have changed. */
static int write_back(const node *at, const call *c, PyObject *found, outcome *out)
{
    for (Py_ssize_t i = 0; i < at->mutated.n; i += 2)
        if (!PyList_GetItem(found, at->mutated.at[i + 1]))
            return -1;
    for (Py_ssize_t i = 0; i < at->mutated.n; i += 2) {
        *out = WRITTEN;
        if (PyArray_CopyInto((PyArrayObject *)c->leaves[at->mutated.at[i]],
                             (PyArrayObject *)PyList_GetItem(found, at->mutated.at[i + 1])) < 0)
            return -1;
    }
    return 0;
}

enum { MOST_PARTS = 64 };

static PyObject *make_results(const node *at, const call *c, PyObject *found)
{
    PyObject *values[MOST_PARTS] = {NULL}, *owners[MOST_PARTS] = {NULL}, *result = NULL;
    Py_ssize_t n = 0;
    while (n < at->n_parts && (values[n] = made(at->parts + n, c, found, owners, n)))
        n++;
    if (n == at->n_parts)
        result = put_together(at->described, &(results){values, n});
    for (Py_ssize_t i = 0; i < at->n_parts; i++) {
        Py_XDECREF(values[i]);
        Py_XDECREF(owners[i]);
    }
    return result;
}

/* The result of an end; NULL without an error where the trace does not hold for this call. */
static PyObject *finish(const node *at, const call *c, outcome *out)
{
    if (at->mutated.n && !writable(at, c->leaves)) {
        *out = SHARED;
        return NULL;
    }
    PyObject *result = NULL, *found = computed(at, c->leaves);
    int holds = !found ? -1 : at->guarded ? truth(found) : 1;
    if (!holds)
        *out = MISSED;
    else if (holds > 0 && write_back(at, c, found, out) == 0)
        result = make_results(at, c, found);
    Py_XDECREF(found);
    return result;
}

/* The result of the trace that a call fits, or NULL; *left: what has it instead. */
static PyObject *run_trace(const call *c, outcome *out, PyObject **left)
{
    const node *at = c->t->first;
    while (at && !at->ends && !at->left) {
        PyObject *found = computed(at, c->leaves);
        int yes = found ? truth(found) : -1;
        Py_XDECREF(found);
        at = yes < 0 ? NULL : at->next[yes > 0];
    }
    if (at && at->left)
        *left = Py_NewRef(at->left);
    return at && at->ends ? finish(at, c, out) : NULL;
}

static void drop_leaves(call *c)
{
    while (c->n)
        Py_DECREF(c->leaves[--c->n]);
}

/* Take a trace out of those of a Dispatch; whether it was among them. */
static int take_out(ck_dispatch *self, const trace *t)
{
    trace **at = &self->last;
    while (*at && *at != t)
        at = &(*at)->next;
    if (!*at)
        return 0;
    *at = t->next;
    return 1;
}

/* The trace that a call fits, held, with the leaves of the call; or NULL. Python may run while one is
   compared: the list is walked anew if it changed. */
static trace *find_trace(ck_dispatch *self, PyObject *args, PyObject *kwargs, call *c)
{
    trace *t = self->last, *next;
    for (int i = 0; t && i < MOST_TRACES; i++, t = next) {
        t->held++;
        c->t = t;
        c->n = 0;
        if (call_fits(c, args, kwargs)) {
            if (t != self->last && take_out(self, t)) {
                t->next = self->last;
                self->last = t;
            }
            return t;
        }
        drop_leaves(c);
        PyErr_Clear();
        next = t->held > 1 ? t->next : NULL;     /* NULL: others forgot it meanwhile */
        trace_drop(t);
    }
    return NULL;
}

static PyObject *dispatch_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    call c;
    outcome out = TRIED;
    PyObject *left = NULL;
    trace *t = find_trace((ck_dispatch *)self, args, kwargs, &c);
    if (t) {
        PyObject *result = run_trace(&c, &out, &left);
        drop_leaves(&c);
        trace_drop(t);
        if (result || out == WRITTEN
            || (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)))
            return result;
        PyErr_Clear();           /* `called` finds the same problem and says what to do */
    }
    static const char *const others[] = {"called", "missed", "shared", "called"};
    PyObject *called = left ? left : PyObject_GetAttrString(self, others[out]);
    PyObject *result = called ? PyObject_Call(called, args, kwargs) : NULL;
    Py_XDECREF(called);
    return result;
}

/* ---- what is remembered ---- */
static int wrong(const char *what)
{
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "remember: %s", what);
    return -1;
}

/* A tuple of n objects (-1: of any number). */
static int is_tuple(PyObject *x, Py_ssize_t n)
{
    return PyTuple_Check(x) && (n < 0 || PyTuple_GET_SIZE(x) == n);
}

/* How many leaves a description has; -1 for what is none. */
static Py_ssize_t count_leaves(PyObject *described)
{
    if (PyUnicode_Check(described))
        return 1;
    Py_ssize_t size = PyTuple_Check(described) ? PyTuple_GET_SIZE(described) : 0, sum = 0;
    if (size < 2 || size > 4)
        return -1;
    PyObject *kind = PyTuple_GET_ITEM(described, 0), *more = PyTuple_GET_ITEM(described, 1);
    PyObject *last = PyTuple_GET_ITEM(described, size - 1);
    if (PyUnicode_Check(kind))
        return size == 3 && PyType_Check(more)
               && (more != (PyObject *)&PySlice_Type || is_tuple(last, 3)) ? 0 : -1;
    int is_dict = kind == (PyObject *)&PyDict_Type, plain = kind == (PyObject *)&PyBaseObject_Type;
    if (!PyType_Check(kind) || size != 2 + is_dict + 2 * plain || !PyTuple_Check(last))
        return -1;
    if (!is_dict && !plain && kind != (PyObject *)&PyList_Type
        && !PyType_IsSubtype((PyTypeObject *)kind, &PyTuple_Type))
        return -1;
    PyObject *keys = is_dict ? more : plain ? PyTuple_GET_ITEM(described, 2) : last;
    if (!is_tuple(keys, PyTuple_GET_SIZE(last)) || (plain && !PyType_Check(more)))
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(last); i++) {
        Py_ssize_t n = count_leaves(PyTuple_GET_ITEM(last, i));
        if (n < 0 || (is_dict && !is_tuple(PyTuple_GET_ITEM(keys, i), 2)))
            return -1;
        sum += n;
    }
    return sum;
}

static int parse_leaf(PyObject *kind, leaf_kind *leaf)
{
    PyObject *descr, *shape;
    if (PyType_Check(kind)) {
        leaf->type = (PyTypeObject *)kind;
        return 0;
    }
    if (is_tuple(kind, 2) && PyType_Check(PyTuple_GET_ITEM(kind, 0))) {
        leaf->type = (PyTypeObject *)PyTuple_GET_ITEM(kind, 0);
        leaf->value = PyTuple_GET_ITEM(kind, 1);
        return Py_TYPE(leaf->value) == leaf->type ? 0 : wrong("a number is (type, value of it)");
    }
    if (!PyTuple_Check(kind))
        return wrong("a leaf is a type, (type, value) or (dtype, shape, contiguous)");
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
        if (!is_tuple(one, 2 + valued))
            return wrong("a name is (holder, name[, object])");
        out[i].holder = PyTuple_GET_ITEM(one, 0);
        out[i].name = PyTuple_GET_ITEM(one, 1);
        out[i].value = valued ? PyTuple_GET_ITEM(one, 2) : NULL;
    }
    return 0;
}

/* A tuple of numbers of leaves, each `step`-th below n; with `arrays`, of leaves that are arrays. */
static int parse_numbers(const trace *t, PyObject *tuple, numbers *out, int step, int arrays)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) % step)
        return wrong("numbers of leaves are a tuple");
    out->n = PyTuple_GET_SIZE(tuple);
    out->at = calloc(out->n + 1, sizeof *out->at);
    for (Py_ssize_t i = 0; out->at && i < out->n; i++) {
        Py_ssize_t x = out->at[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, i));
        if (i % step == 0 && (x < 0 || x >= t->n_leaves || (arrays && !t->leaves[x].descr)))
            return -1;
    }
    return out->at && !PyErr_Occurred() && (arrays || out->n <= CK_MAXDIMS) ? 0 : -1;
}

static int parse_lenses(PyObject *lenses)
{
    if (!PyTuple_Check(lenses))
        return wrong("lenses are a tuple");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(lenses); i++) {
        PyObject *one = PyTuple_GET_ITEM(lenses, i);
        if (!is_tuple(one, 2) || !PyTuple_Check(PyTuple_GET_ITEM(one, 1)))
            return wrong("a lens is (callable, places)");
    }
    return 0;
}

static int parse_part(const trace *t, PyObject *one, Py_ssize_t number, part *p)
{
    if (!PyTuple_Check(one))
        return wrong("a result is (how, place, owner, copied, more)");
    if (!PyArg_ParseTuple(one, "innpO", &p->how, &p->place, &p->owner, &p->copied, &p->more))
        return -1;
    if (p->how < LEAF || p->how > PART || p->owner < 0 || p->owner > number)
        return -1;
    if ((p->how == LEAF || p->how == VIEW)
        && (p->place < 0 || p->place >= t->n_leaves || (p->how == VIEW && !t->leaves[p->place].descr)))
        return -1;
    if (p->how == CONSTANT && !PyArray_Check(p->more))
        return wrong("a constant is an array");
    if (p->how == MAYBE && !is_tuple(p->more, 2))
        return wrong("more of a number that may be Python's is (place, type)");
    return p->how == VIEW || p->how == PART ? parse_lenses(p->more) : 0;
}

static int parse_end(const trace *t, PyObject *given, node *at)
{
    PyObject *parts = PyTuple_GET_ITEM(given, 5);
    at->ends = 1;
    at->guarded = PyObject_IsTrue(PyTuple_GET_ITEM(given, 2));
    at->described = PyTuple_GET_ITEM(given, 6);
    if (parse_numbers(t, PyTuple_GET_ITEM(given, 3), &at->mutated, 2, 1) < 0
        || parse_numbers(t, PyTuple_GET_ITEM(given, 4), &at->arrays, 1, 1) < 0)
        return -1;
    if (!PyTuple_Check(parts))
        return wrong("results are a tuple");
    at->n_parts = PyTuple_GET_SIZE(parts);
    at->parts = calloc(at->n_parts + 1, sizeof *at->parts);
    if (!at->parts || at->n_parts > MOST_PARTS || count_leaves(at->described) != at->n_parts)
        return -1;
    for (Py_ssize_t i = 0; i < at->n_parts; i++)
        if (parse_part(t, PyTuple_GET_ITEM(parts, i), i, at->parts + i) < 0)
            return -1;
    return 0;
}

static int parse_node(const trace *t, PyObject *given, node **out)
{
    if (given == Py_None)
        return 0;
    if (!is_tuple(given, 1) && !is_tuple(given, 4) && !is_tuple(given, 7))
        return wrong("a node is None, (callable,), a truth value of 4 or an end of 7");
    node *at = *out = calloc(1, sizeof *at);
    if (!at)
        return -1;
    PyObject *function = PyTuple_GET_ITEM(given, 0);
    if (PyTuple_GET_SIZE(given) == 1) {
        at->left = function;
        return PyCallable_Check(function) ? 0 : wrong("calls are left to a callable");
    }
    at->function = function == Py_None ? NULL : function;
    if (at->function && !PyCallable_Check(function))
        return wrong("a compiled function is a callable");
    if (parse_numbers(t, PyTuple_GET_ITEM(given, 1), &at->used, 1, 0) < 0)
        return -1;
    if (PyTuple_GET_SIZE(given) == 7)
        return parse_end(t, given, at);
    if (parse_node(t, PyTuple_GET_ITEM(given, 2), at->next) < 0)
        return -1;
    return parse_node(t, PyTuple_GET_ITEM(given, 3), at->next + 1);
}

static int parse_trees(trace *t, PyObject *described)
{
    if (count_leaves(described) != t->n_leaves || !is_tuple(described, 2)
        || !is_tuple(PyTuple_GET_ITEM(described, 1), 3))
        return -1;
    PyObject *trees = PyTuple_GET_ITEM(described, 1);
    t->args = PyTuple_GET_ITEM(trees, 0);
    t->kwargs = PyTuple_GET_ITEM(trees, 1);
    t->names = PyTuple_GET_ITEM(trees, 2);
    if (!is_tuple(t->args, 2) || !is_tuple(t->kwargs, 3) || !is_tuple(t->names, 2)
        || PyTuple_GET_ITEM(t->args, 0) != (PyObject *)&PyTuple_Type
        || PyTuple_GET_ITEM(t->kwargs, 0) != (PyObject *)&PyDict_Type
        || PyTuple_GET_ITEM(t->names, 0) != (PyObject *)&PyList_Type)
        return -1;
    return PyTuple_GET_SIZE(PyTuple_GET_ITEM(t->names, 1)) == t->n_free ? 0 : -1;
}

static trace *parse(PyObject *args)
{
    PyObject *described, *leaves, *fixed, *free_names, *first;
    Py_ssize_t small;
    if (!PyArg_ParseTuple(args, "OO!O!O!nO", &described, &PyTuple_Type, &leaves, &PyTuple_Type,
                          &fixed, &PyTuple_Type, &free_names, &small, &first))
        return NULL;
    trace *t = calloc(1, sizeof *t);
    if (!t)
        return (trace *)PyErr_NoMemory();
    t->held = 1;
    t->kept = Py_NewRef(args);
    t->described = described;
    t->kinds = leaves;
    t->small = small;
    t->n_leaves = PyTuple_GET_SIZE(leaves);
    t->n_fixed = PyTuple_GET_SIZE(fixed);
    t->n_free = PyTuple_GET_SIZE(free_names);
    t->leaves = calloc(t->n_leaves + 1, sizeof *t->leaves);
    t->fixed = calloc(t->n_fixed + 1, sizeof *t->fixed);
    t->free = calloc(t->n_free + 1, sizeof *t->free);
    int bad = !t->leaves || !t->fixed || !t->free || t->n_leaves > CK_MAXDIMS;
    for (Py_ssize_t i = 0; !bad && i < t->n_leaves; i++)
        bad = parse_leaf(PyTuple_GET_ITEM(leaves, i), t->leaves + i) < 0;
    bad = bad || parse_readings(fixed, t->fixed, 1) < 0 || parse_readings(free_names, t->free, 0) < 0
          || parse_trees(t, described) < 0 || parse_node(t, first, &t->first) < 0;
    if (!bad)
        return t;
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "remember: too many leaves, a nesting that is none, or a "
                        "number outside of them");
    trace_drop(t);
    return NULL;
}

/* Whether two traces are of the same calls; a comparison that fails says no. */
static int same_calls(const trace *a, const trace *b)
{
    int same = a->described == b->described ? PyObject_RichCompareBool(a->kinds, b->kinds, Py_EQ) : 0;
    if (same < 0)
        PyErr_Clear();
    return same > 0;
}

/* Drop the traces from `t` on. */
static void drop_all(trace *t)
{
    while (t) {
        trace *next = t->next;
        t->next = NULL;
        trace_drop(t);
        t = next;
    }
}

static PyObject *dispatch_remember(PyObject *self, PyObject *args)
{
    ck_dispatch *d = (ck_dispatch *)self;
    trace *t = parse(args), *old = NULL, *last;
    if (!t)
        return NULL;
    for (trace *each = d->last; each && !old; each = each->next)
        if (same_calls(t, each))
            old = each;
    if (old && take_out(d, old))
        old->next = NULL;
    else
        old = NULL;
    t->next = d->last;
    d->last = last = t;
    for (int i = 1; last && i < MOST_TRACES; i++)
        last = last->next;
    trace *gone = last ? last->next : NULL;
    if (last)
        last->next = NULL;
    drop_all(gone);
    drop_all(old);
    Py_RETURN_NONE;
}

static PyObject *dispatch_forget(PyObject *self, PyObject *unused)
{
    trace *old = ((ck_dispatch *)self)->last;
    (void)unused;
    ((ck_dispatch *)self)->last = NULL;
    drop_all(old);
    Py_RETURN_NONE;
}

/* ---- the type ---- */
static int dispatch_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    for (trace *t = ((ck_dispatch *)self)->last; t; t = t->next)
        Py_VISIT(t->kept);
    return 0;
}

static int dispatch_clear(PyObject *self)
{
    trace *old = ((ck_dispatch *)self)->last;
    ((ck_dispatch *)self)->last = NULL;
    drop_all(old);
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
     "remember(described, leaves, fixed, free, small, node): calls whose arguments and names are\n"
     "nested so, of such leaves, go to the compiled functions. described: of (args, kwargs, list of\n"
     "the values of `free`), by trees.flatten; leaves: of each its type, (type, number) or (dtype,\n"
     "shape with -1 for sizes above `small`, whether it is C-contiguous); fixed: (holder, name,\n"
     "object) that must hold; node: None for what is Python's; (callable,) that such calls are left\n"
     "to; a truth value (function of arrays that gives a list of them, numbers of the leaves that\n"
     "it takes, node if false, node if true); or an end (such a function or None, leaves, whether\n"
     "the first array says if the trace holds,\n"
     "(leaf, number of the array that is stored there, ...), leaves that are arrays, results (how,\n"
     "place, owner, copied, more), nesting)."},
    {"forget", dispatch_forget, METH_NOARGS, "forget(): all calls go to `called` again."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)"Dispatch(): calls compiled functions; subclasses have methods `called`, `missed` and `shared`."},
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
