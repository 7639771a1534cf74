/* results.c: what a trace computes for a call that fits it, what it stores, and the nested result. */
#include "python/dispatch.h"

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
PyObject *ck_list_of_arrays(PyObject *function, PyObject *const *args, Py_ssize_t n)
{
    PyObject *packed = ck_tuple_of(args, n);
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

/* The list of arrays that the function of a node gives; WRITTEN where it failed while it wrote. */
static PyObject *computed(const node *at, PyObject *const *leaves, outcome *out)
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
                    : PyObject_TypeCheck(at->function, ck_stage_type)
                    ? ck_stage_call(at->function, used, n)
                    : ck_list_of_arrays(at->function, used, n);
    if (!found && at->function && PyObject_TypeCheck(at->function, ck_function_type)
        && ((ck_function *)at->function)->written) {
        ((ck_function *)at->function)->written = 0;
        *out = WRITTEN;
    }
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

/* Whether elements of an array may share memory with one another: from the axis of the smallest
   stride on, each has to step over all that those before it reach. */
static int is_folded(PyArrayObject *a)
{
    npy_intp reach = PyArray_ITEMSIZE(a), passed = 0;
    if (PyArray_IS_C_CONTIGUOUS(a) || !PyArray_SIZE(a))
        return 0;
    for (int turn = 0; turn < PyArray_NDIM(a); turn++) {
        npy_intp next = 0, reached = 0;
        for (int i = 0; i < PyArray_NDIM(a); i++) {
            npy_intp step = PyArray_STRIDE(a, i) < 0 ? -PyArray_STRIDE(a, i) : PyArray_STRIDE(a, i);
            if (PyArray_DIM(a, i) < 2)
                continue;
            if (!step || (step == next && step > passed))
                return 1;
            if (step > passed && (!next || step < next)) {
                next = step;
                reached = step * (PyArray_DIM(a, i) - 1);
            }
        }
        if (!next)
            return 0;
        if (next < reach)
            return 1;
        reach += reached;
        passed = next;
    }
    return 0;
}

/* Whether it is part of what a trace was made for where one leaf lies beside another. */
static int known(const leaf_kind *a, const leaf_kind *b)
{
    return a->placed && b->placed && a->home == b->home;
}

/* Whether what is written back reaches one argument each, and may be written. */
static int writable(const node *at, const leaf_kind *kinds, PyObject *const *leaves)
{
    for (Py_ssize_t i = 0; i < at->mutated.n; i += 2) {
        Py_ssize_t own = at->mutated.at[i];
        PyArrayObject *a = (PyArrayObject *)leaves[own];
        char *low, *high, *l, *h;
        if (!PyArray_ISWRITEABLE(a))
            return 0;
        if (is_folded(a))
            return 0;
        extent(a, &low, &high);
        for (Py_ssize_t j = 0; j < at->arrays.n; j++) {
            if (at->arrays.at[j] == own || known(kinds + own, kinds + at->arrays.at[j]))
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

typedef struct {                 /* those that are left */
    PyObject **values;
    Py_ssize_t n;
    PyObject *object;            /* borrowed: the one that is made */
} results;

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
    PyObject *dict = x ? PyObject_GenericGetDict(x, NULL) : NULL, *outer = from->object;
    from->object = x;
    PyObject *full = dict ? dict_together(PyTuple_GET_ITEM(described, 2), 0,
                                          PyTuple_GET_ITEM(described, 3), dict, from) : NULL;
    from->object = outer;
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
        if (more == (PyObject *)&PySlice_Type)
            return PySlice_New(PyTuple_GET_ITEM(value, 0), PyTuple_GET_ITEM(value, 1),
                               PyTuple_GET_ITEM(value, 2));
        return (PyObject *)Py_TYPE(value) == more ? Py_NewRef(value)
            : PyObject_CallFunctionObjArgs(more, value, from->object, NULL);   /* a method */
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

/* Store into the arguments; WRITTEN once one may have changed. */
static int write_back(const node *at, const call *c, PyObject *found, outcome *out)
{
    for (Py_ssize_t i = 0; i < at->mutated.n; i += 2)
        if (!PyList_GetItem(found, at->mutated.at[i + 1]))
            return -1;
    for (Py_ssize_t i = 0; i < at->mutated.n; i += 2) {
        PyObject *leaf = c->leaves[at->mutated.at[i]];
        PyObject *now = PyList_GetItem(found, at->mutated.at[i + 1]);
        *out = WRITTEN;
        if (now != leaf && PyArray_CopyInto((PyArrayObject *)leaf, (PyArrayObject *)now) < 0)
            return -1;
    }
    return 0;
}

static PyObject *make_results(const node *at, const call *c, PyObject *found)
{
    PyObject *values[MOST_PARTS] = {NULL}, *owners[MOST_PARTS] = {NULL}, *result = NULL;
    Py_ssize_t n = 0;
    while (n < at->n_parts && (values[n] = made(at->parts + n, c, found, owners, n)))
        n++;
    if (n == at->n_parts)
        result = put_together(at->described, &(results){values, n, NULL});
    for (Py_ssize_t i = 0; i < at->n_parts; i++) {
        Py_XDECREF(values[i]);
        Py_XDECREF(owners[i]);
    }
    return result;
}

/* What `put` of a result returns: it puts the rest into the arguments and the values of names. */
static PyObject *put(const call *c, PyObject *result, outcome *out)
{
    const trace *t = c->t;
    PyObject *names = PyList_New(t->n_free), *kwargs = c->kwargs ? Py_NewRef(c->kwargs) : PyDict_New();
    int whole = names && kwargs;
    for (Py_ssize_t i = 0; whole && i < t->n_free; i++) {
        PyObject *now = ck_read_name(t->free + i);
        whole = now != NULL;
        PyList_SetItem(names, i, now ? now : Py_NewRef(Py_None));
    }
    *out = WRITTEN;
    PyObject *found = NULL;
    if (whole)
        found = PyObject_CallMethod(result, "put", "((OOO))", c->args, kwargs, names);
    else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "a name that a call reads was deleted while it ran");
    Py_XDECREF(names);
    Py_XDECREF(kwargs);
    Py_DECREF(result);
    return found;
}

/* The result of an end; NULL without an error where the trace does not hold for this call. */
static PyObject *finish(const node *at, const call *c, outcome *out)
{
    if (at->mutated.n && !writable(at, c->t->leaves, c->leaves)) {
        *out = SHARED;
        return NULL;
    }
    PyObject *result = NULL, *found = computed(at, c->leaves, out);
    int holds = !found ? -1 : at->guarded ? truth(found) : 1;
    if (!holds)
        *out = MISSED;
    else if (holds > 0 && write_back(at, c, found, out) == 0)
        result = make_results(at, c, found);
    Py_XDECREF(found);
    return result && at->puts ? put(c, result, out) : result;
}

PyObject *ck_run_trace(const call *c, outcome *out, PyObject **left)
{
    const node *at = c->t->first;
    while (at && !at->ends && !at->left) {
        PyObject *found = computed(at, c->leaves, out);
        int yes = found ? truth(found) : -1;
        Py_XDECREF(found);
        at = yes < 0 ? NULL : at->next[yes > 0];
    }
    if (at && at->left)
        *left = Py_NewRef(at->left);
    return at && at->ends ? finish(at, c, out) : NULL;
}
