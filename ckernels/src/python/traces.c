/* traces.c: a trace as `Dispatch.remember` is told it, checked once so that calls need not. */
#include "python/dispatch.h"

#include <stdlib.h>

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

void ck_trace_drop(trace *t)
{
    if (!t || --t->held)
        return;
    Py_XDECREF(t->kept);
    node_free(t->first);
    free(t->leaves);
    for (Py_ssize_t i = 0; t->fixed && i < t->n_fixed; i++)
        free(t->fixed[i].held);
    free(t->fixed);
    free(t->free);
    free(t);
}

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

static int parse_leaf(PyObject *kind, Py_ssize_t n_leaves, leaf_kind *leaf)
{
    PyObject *descr, *shape, *strides = NULL;
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
        return wrong("a leaf is a type, (type, value) or (dtype, shape, contiguous[, home, offset, "
                     "strides])");
    if (!PyArg_ParseTuple(kind, "O!O!p|nnO!", &PyArrayDescr_Type, &descr, &PyTuple_Type, &shape,
                          &leaf->contiguous, &leaf->home, &leaf->offset, &PyTuple_Type, &strides))
        return -1;
    leaf->descr = (PyArray_Descr *)descr;
    leaf->nd = (int)PyTuple_GET_SIZE(shape);
    leaf->placed = strides != NULL;
    if (strides && (PyTuple_GET_SIZE(strides) != leaf->nd || leaf->home < 0 || leaf->home >= n_leaves))
        return -1;
    for (int i = 0; i < leaf->nd && i < CK_MAXDIMS; i++) {
        leaf->shape[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
        leaf->strides[i] = strides ? PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, i)) : 0;
    }
    return leaf->nd > CK_MAXDIMS || PyErr_Occurred() ? -1 : 0;
}

/* All that a class had when it was traced, from tuples of names and of values. */
static int parse_class(reading *r)
{
    r->n_held = PyTuple_GET_SIZE(r->name);
    if (!r->value || !is_tuple(r->value, r->n_held))
        return wrong("what a class has is (class, names, values)");
    r->held = calloc(2 * r->n_held + 1, sizeof *r->held);
    for (Py_ssize_t i = 0; r->held && i < r->n_held; i++) {
        r->held[2 * i] = PyTuple_GET_ITEM(r->name, i);
        r->held[2 * i + 1] = PyTuple_GET_ITEM(r->value, i);
    }
    return r->held ? 0 : -1;
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
        if (PyTuple_Check(out[i].name) && parse_class(out + i) < 0)
            return -1;
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
    at->puts = PyObject_IsTrue(PyTuple_GET_ITEM(given, 7));
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
    if (!is_tuple(given, 1) && !is_tuple(given, 4) && !is_tuple(given, 8))
        return wrong("a node is None, (callable,), a truth value of 4 or an end of 8");
    node *at = *out = calloc(1, sizeof *at);
    if (!at)
        return -1;
    PyObject *function = PyTuple_GET_ITEM(given, 0);
    if (PyTuple_GET_SIZE(given) == 1) {
        at->left = function;
        return PyCallable_Check(function) ? 0 : wrong("calls are left to a callable");
    }
    at->function = function == Py_None ? NULL : function;
    if (at->function && !PyCallable_Check(function)
        && !PyObject_TypeCheck(function, ck_stage_type))
        return wrong("a compiled function is a callable");
    if (parse_numbers(t, PyTuple_GET_ITEM(given, 1), &at->used, 1, 0) < 0)
        return -1;
    if (PyTuple_GET_SIZE(given) == 8)
        return parse_end(t, given, at);
    if (parse_node(t, PyTuple_GET_ITEM(given, 2), at->next) < 0)
        return -1;
    return parse_node(t, PyTuple_GET_ITEM(given, 3), at->next + 1);
}

/* Whether an end of these paths puts its result into what a call was given. */
static int any_puts(const node *at)
{
    return at && (at->puts || any_puts(at->next[0]) || any_puts(at->next[1]));
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

trace *ck_trace_parse(PyObject *args)
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
        bad = parse_leaf(PyTuple_GET_ITEM(leaves, i), t->n_leaves, t->leaves + i) < 0;
    for (Py_ssize_t i = 0; !bad && i < t->n_leaves; i++) {
        t->placed |= t->leaves[i].placed;
        bad = t->leaves[i].placed && !t->leaves[t->leaves[i].home].descr;
    }
    bad = bad || parse_readings(fixed, t->fixed, 1) < 0 || parse_readings(free_names, t->free, 0) < 0
          || parse_trees(t, described) < 0 || parse_node(t, first, &t->first) < 0;
    t->puts = any_puts(t->first);
    if (!bad)
        return t;
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "remember: too many leaves, a nesting that is none, or a "
                        "number outside of them");
    ck_trace_drop(t);
    return NULL;
}
