/* fits.c: whether a call fits a trace: the nesting of its arguments, its leaves, objects of names. */
#include "python/dispatch.h"

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

/* Whether sums of two such ints have 64 bits: jit.branches.is_narrow. */
static int is_narrow(PyObject *x)
{
    int beyond = 0;
    long long value = PyLong_AsLongLongAndOverflow(x, &beyond);
    return !beyond && -(1LL << 62) < value && value < 1LL << 62;
}

static int leaf_fits(const leaf_kind *kind, PyObject *x, npy_intp small)
{
    if (!kind->descr && Py_TYPE(x) != kind->type)
        return 0;
    if (!kind->descr)
        return kind->value ? same_number(x, kind->value) : !PyLong_CheckExact(x) || is_narrow(x);
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

/* Whether the leaves that a trace takes for parts of others are such. */
static int parts_fit(const call *c)
{
    for (Py_ssize_t i = 0; i < c->n; i++) {
        const leaf_kind *kind = c->t->leaves + i;
        if (!kind->placed)
            continue;
        PyArrayObject *a = (PyArrayObject *)c->leaves[i], *home = (PyArrayObject *)c->leaves[kind->home];
        if (PyArray_BYTES(a) - PyArray_BYTES(home) != kind->offset
            || PyArray_ISWRITEABLE(a) != PyArray_ISWRITEABLE(home))
            return 0;
        for (int k = 0; k < kind->nd; k++)
            if (PyArray_STRIDE(a, k) != kind->strides[k])
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
    PyObject *dict = PyObject_GenericGetDict(x, NULL), *outer = c->object;
    c->object = x;
    int fits = dict && PyDict_CheckExact(dict)
               && dict_fits(c, PyTuple_GET_ITEM(described, 2), 0, PyTuple_GET_ITEM(described, 3), dict);
    c->object = outer;
    Py_XDECREF(dict);
    return fits;
}

/* Whether an attribute is a method of the object that has it, with this function. */
static int method_fits(const call *c, PyObject *function, PyObject *x)
{
    PyObject *of = PyObject_GetAttrString(x, "__self__"), *now = PyObject_GetAttrString(x, "__func__");
    int fits = of && of == c->object && now == function;
    Py_XDECREF(of);
    Py_XDECREF(now);
    return fits;
}

/* Whether a list, a dict or an object is met for the first time, where that matters. */
static int met_once(call *c, PyObject *x)
{
    if (!c->t->puts)
        return 1;
    for (int i = 0; i < c->n_holders; i++)
        if (c->holders[i] == x)
            return 0;
    if (c->n_holders == MOST_HOLDERS)
        return 0;
    c->holders[c->n_holders++] = x;
    return 1;
}

/* Whether what is static is a list that is only appended to: a subclass of list stands for it. */
static int is_tail(PyObject *type)
{
    return PyType_Check(type) && PyType_IsSubtype((PyTypeObject *)type, &PyList_Type);
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
    if (PyUnicode_Check(kind) && is_tail(more))
        return PyList_CheckExact(x) && met_once(c, x);
    if (PyUnicode_Check(kind)) {
        if ((PyObject *)Py_TYPE(x) != more)
            return 0;
        PyObject *value = PyTuple_GET_ITEM(described, 2);
        if (PySlice_Check(x))
            return slice_fits(value, x);
        return (PyObject *)Py_TYPE(value) == more ? equal(x, value) : method_fits(c, value, x);
    }
    if (kind == (PyObject *)&PyBaseObject_Type)
        return (PyObject *)Py_TYPE(x) == more && met_once(c, x) && object_fits(c, described, x);
    if ((PyObject *)Py_TYPE(x) != kind || (!PyTuple_Check(x) && !met_once(c, x)))
        return 0;
    return PyDict_CheckExact(x) ? dict_fits(c, more, 1, PyTuple_GET_ITEM(described, 2), x)
                                : items_fit(c, more, x);
}

PyObject *ck_read_name(const reading *r)
{
    PyObject *found = PyDict_Check(r->holder) ? PyDict_GetItemWithError(r->holder, r->name)
                                              : PyObject_GetAttr(r->holder, r->name);
    if (PyDict_Check(r->holder))
        Py_XINCREF(found);
    if (!found)
        PyErr_Clear();
    return found;
}

/* Whether a class has the names and values that it had, in their order; Ellipsis is any value. */
static int class_is(const reading *r)
{
    Py_ssize_t at = 0, i = 0;
    PyObject *key, *value, *dict = PyObject_GenericGetDict(r->holder, NULL);
    int same = dict && PyDict_CheckExact(dict) && PyDict_Size(dict) == r->n_held;
    for (; same && i < r->n_held && PyDict_Next(dict, &at, &key, &value); i++) {
        PyObject *was = r->held[2 * i + 1];
        same = key == r->held[2 * i] && (value == was || was == Py_Ellipsis);
    }
    if (!dict)
        PyErr_Clear();
    Py_XDECREF(dict);
    return same;
}

static int is_as_it_was(const reading *r)
{
    if (r->held)
        return class_is(r);
    PyObject *now = ck_read_name(r);
    Py_XDECREF(now);
    return now == r->value;
}

int ck_call_fits(call *c)
{
    const trace *t = c->t;
    PyObject *args = c->args, *kwargs = c->kwargs;
    int fits = 1;
    for (Py_ssize_t i = 0; fits && i < t->n_fixed; i++)
        fits = is_as_it_was(t->fixed + i);
    fits = fits && items_fit(c, PyTuple_GET_ITEM(t->args, 1), args);
    if (fits && (kwargs ? PyDict_Size(kwargs) : 0) != PyTuple_GET_SIZE(PyTuple_GET_ITEM(t->kwargs, 1)))
        return 0;
    fits = fits && (!kwargs || tree_fits(c, t->kwargs, kwargs));
    for (Py_ssize_t i = 0; fits && i < t->n_free; i++) {
        PyObject *now = ck_read_name(t->free + i);
        fits = now && tree_fits(c, PyTuple_GET_ITEM(PyTuple_GET_ITEM(t->names, 1), i), now);
        Py_XDECREF(now);
    }
    return fits && c->n == t->n_leaves && parts_fit(c);
}
