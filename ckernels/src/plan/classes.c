/* classes.c: classes of shapes that a function knows. A new set of shapes of one gets its plan here,
   without Python: the numbers of a plan that Python made, in which those that are expressions over
   the sizes of the inputs are put in anew.

   A Class holds what a Template of plan/template.py holds. Plans that call Python, and functions
   whose variables change their shapes, are left to Python. */
#include "python/python.h"

#include <stdlib.h>

/* The tables a class is made of, int64 all; `_AT` are flat positions in a table, `_ROWS` the sizes
   that go there. KIND says of each input: its dimensions, then for each axis the size, UNKNOWN (of
   a first axis 1 or more, of others 2 or more) or, where it was not declared, SMALL - size; then
   how it lies (LOOSE is added where its elements may lie at any byte) and, if it is not
   C-contiguous, each stride in elements, or ANY, and the order of its axes. SPECS: rows (0: of
   an output, 1: of an update; its number; axis; size). */
enum { KIND, CODE, ARGS, ASSUMED, INSTRS_AT, INSTRS_ROWS, ROWS, ROWS_AT, ROWS_ROWS, DIMS_AT,
       DIMS_ROWS, BYTES, BYTES_AT, BYTES_ROWS, STARTS, BELOW, SLOTS, SPECS, TABLES };
enum { UNKNOWN = -1, SMALL = -2 };
enum { STRIDED, CONTIGUOUS, DENSE, LOOSE = 4 };
enum { ANY = 9 };

typedef struct {
    PyObject_HEAD
    ck_plan *plan;               /* the one that Python made */
    PyArrayObject *tables[TABLES];
    PyObject *constants;         /* list of (index, sizes of its elements) */
    Py_ssize_t n_symbols;
} ck_class;

static const int64_t *data(const ck_class *c, int which)
{
    return PyArray_DATA(c->tables[which]);
}

static Py_ssize_t length(const ck_class *c, int which) { return PyArray_SIZE(c->tables[which]); }

/* ---- making ---- */

static int all_within(const int64_t *x, Py_ssize_t n, int64_t end)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (x[i] < 0 || x[i] >= end)
            return 0;
    return 1;
}

/* Whether positions and sizes of one table fit each other and the table. */
static int patches_fit(const ck_class *c, int at, Py_ssize_t end)
{
    return length(c, at) == length(c, at + 1) && all_within(data(c, at), length(c, at), end)
           && all_within(data(c, at + 1), length(c, at + 1), length(c, CODE) / 3);
}

static int specs_fit(const ck_class *c)
{
    const int64_t *s = data(c, SPECS), *end = s + length(c, SPECS);
    for (; s < end; s += 4) {
        Py_ssize_t n = s[0] ? c->plan->n_updates : c->plan->n_outputs;
        const ck_spec *specs = s[0] ? c->plan->updates : c->plan->outputs;
        if ((s[0] | 1) != 1 || s[1] < 0 || s[1] >= n || s[2] < 0 || s[2] >= specs[s[1]].nd
            || !all_within(s + 3, 1, length(c, CODE) / 3))
            return 0;
    }
    return 1;
}

static int slots_fit(const ck_class *c)
{
    const int64_t *s = data(c, SLOTS);
    for (Py_ssize_t i = 0; i < length(c, SLOTS); i += 2)
        if (s[i] < 0 || s[i] >= c->plan->n_rows || s[i + 1] < 0 || s[i + 1] >= length(c, BYTES))
            return 0;
    return length(c, STARTS) == length(c, BYTES) + 1;
}

static int constants_fit(const ck_class *c)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(c->constants); i++) {
        PyObject *pair = PyList_GET_ITEM(c->constants, i);
        Py_ssize_t index;
        PyArrayObject *rows;
        if (!PyTuple_Check(pair) || !PyArg_ParseTuple(pair, "nO!", &index, &PyArray_Type, &rows))
            return 0;
        if (index < 0 || index >= PyTuple_GET_SIZE(c->plan->constants)
            || PyArray_TYPE(rows) != NPY_INT64 || !PyArray_IS_C_CONTIGUOUS(rows)
            || !all_within(PyArray_DATA(rows), PyArray_SIZE(rows), length(c, CODE) / 3))
            return 0;
        PyObject *old = PyTuple_GET_ITEM(c->plan->constants, index);
        if (PyArray_SIZE((PyArrayObject *)old) != PyArray_SIZE(rows))
            return 0;
    }
    return 1;
}

/* Counts the symbols; 0 where KIND is none. */
static int kind_fits(ck_class *c)
{
    const int64_t *k = data(c, KIND), *end = k + length(c, KIND);
    c->n_symbols = 0;
    while (k < end) {
        int64_t nd = *k++;
        if (nd < 0 || nd >= end - k)
            return 0;
        for (int64_t i = 0; i < nd; i++)
            c->n_symbols += *k++ == UNKNOWN;
        int64_t lies = *k++ & ~LOOSE, words = lies == DENSE ? nd : lies == STRIDED ? 2 * nd : 0;
        if (lies < STRIDED || lies > DENSE || words > end - k)
            return 0;
        for (int64_t i = 0; i < words; i++, k++)
            if (lies == STRIDED && i < nd)
                c->n_symbols += *k == ANY;
            else if ((*k < 0 ? ~*k : *k) >= nd)
                return 0;
    }
    return 1;
}

static int fits(ck_class *c)
{
    return c->plan->n_pycalls == 0 && length(c, CODE) % 3 == 0 && length(c, ASSUMED) % 2 == 0
           && length(c, SLOTS) % 2 == 0 && length(c, SPECS) % 4 == 0
           && length(c, ROWS) == 3 * c->plan->n_rows && kind_fits(c)
           && ck_sizes_fit(data(c, CODE), length(c, CODE) / 3, data(c, ARGS), length(c, ARGS),
                           data(c, ASSUMED), length(c, ASSUMED) / 2, c->n_symbols)
           && patches_fit(c, INSTRS_AT, 8 * c->plan->n_instrs)
           && patches_fit(c, ROWS_AT, 3 * c->plan->n_rows)
           && patches_fit(c, DIMS_AT, c->plan->n_dims)
           && patches_fit(c, BYTES_AT, length(c, BYTES)) && slots_fit(c) && specs_fit(c)
           && constants_fit(c);
}

static PyObject *class_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *plan, *tables, *constants;
    if (kwargs && PyDict_Size(kwargs)) {
        PyErr_SetString(PyExc_TypeError, "Class has no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O!O!O!:Class", ck_plan_type, &plan, &PyTuple_Type, &tables,
                          &PyList_Type, &constants))
        return NULL;
    ck_class *c = (ck_class *)PyType_GenericAlloc(type, 0);
    if (!c)
        return NULL;
    c->plan = (ck_plan *)Py_NewRef(plan);
    c->constants = PyList_GetSlice(constants, 0, PyList_GET_SIZE(constants));
    int good = c->constants && PyTuple_GET_SIZE(tables) == TABLES;
    for (int i = 0; good && i < TABLES; i++) {
        c->tables[i] = (PyArrayObject *)PyArray_FROMANY(PyTuple_GET_ITEM(tables, i), NPY_INT64, 1,
                                                        2, NPY_ARRAY_IN_ARRAY | NPY_ARRAY_ENSURECOPY);
        good = c->tables[i] != NULL;
    }
    if (!good || !fits(c)) {
        if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_SetString(PyExc_ValueError, "the tables of a class of shapes do not fit each other");
        Py_CLEAR(c);
    }
    return (PyObject *)c;
}

static void class_dealloc(PyObject *self)
{
    ck_class *c = (ck_class *)self;
    for (int i = 0; i < TABLES; i++)
        Py_XDECREF(c->tables[i]);
    Py_XDECREF(c->constants);
    Py_XDECREF(c->plan);
    ck_delete(self);
}

static PyType_Slot class_slots[] = {
    {Py_tp_doc, (void *)
     "Class(plan, tables, constants)\n--\n\n"
     "A plan and what to change in it for other shapes of its class; see classes.c, and\n"
     "Template.learned of plan/template.py, which makes it."},
    {Py_tp_new, class_new},
    {Py_tp_dealloc, class_dealloc},
    {0, NULL},
};

PyType_Spec ck_class_spec = {
    .name = "ckernels._runtime.Class",
    .basicsize = sizeof(ck_class),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = class_slots,
};

/* ---- using ---- */

/* A stride in bytes; that of an axis of size 1 says nothing and counts as 0. */
static int64_t stride_of(PyArrayObject *a, int64_t axis)
{
    return PyArray_DIM(a, axis) == 1 ? 0 : PyArray_STRIDE(a, axis);
}

/* Whether an array is dense in this order of its axes (~k for axis k), whichever way they run. */
static int is_dense(PyArrayObject *a, const int64_t *order)
{
    int64_t step = PyArray_ITEMSIZE(a);
    for (int i = PyArray_NDIM(a) - 1; i >= 0; i--) {
        int64_t axis = order[i] < 0 ? ~order[i] : order[i], n = PyArray_DIM(a, axis);
        if (llabs(stride_of(a, axis)) != (n == 1 ? 0 : step))
            return 0;
        step *= n;
    }
    return 1;
}

/* Whether the axes run backwards that an order says. */
static int runs_so(PyArrayObject *a, const int64_t *order)
{
    for (int i = 0; i < PyArray_NDIM(a); i++) {
        int64_t stride = stride_of(a, order[i] < 0 ? ~order[i] : order[i]);
        if (order[i] < 0 ? stride > 0 : stride < 0)
            return 0;
    }
    return 1;
}

/* Whether a class knows a stride: -1, 0 and 1, and steps up to 4 of the innermost axis. */
static int is_plain(PyArrayObject *a, const int64_t *order, int64_t axis)
{
    int inner = PyArray_NDIM(a) - 1;
    while (inner > 0 && !stride_of(a, order[inner]))
        inner--;
    int64_t size = PyArray_ITEMSIZE(a), stride = stride_of(a, axis);
    return stride >= -size && stride <= (axis == order[inner] ? 4 : 1) * size;
}

/* Whether the strides of an array are of these classes and its axes in this order: those of size 1
   first, then by size of their strides, then by number. Writes the strides that are symbols. */
static int is_strided(PyArrayObject *a, const int64_t *k, int64_t **symbols)
{
    int nd = PyArray_NDIM(a);
    int64_t size = PyArray_ITEMSIZE(a);
    const int64_t *order = k + nd;
    for (int j = 0; j < nd; j++) {
        int64_t stride = stride_of(a, j);
        if (stride % size || (k[j] == ANY ? is_plain(a, order, j) : stride != k[j] * size))
            return 0;
        if (k[j] == ANY)
            *(*symbols)++ = stride / size;
    }
    for (int i = 0; i + 1 < nd; i++) {
        int64_t one = order[i], next = order[i + 1];
        int wide = PyArray_DIM(a, one) != 1, next_wide = PyArray_DIM(a, next) != 1;
        int64_t far = llabs(stride_of(a, one)), near = llabs(stride_of(a, next));
        if (wide != next_wide ? wide : far != near ? far < near : one > next)
            return 0;
    }
    return !is_dense(a, order);          /* which is a class of its own */
}

/* Write the symbols of these shapes; 0 where they are of another kind. */
static int read_symbols(const ck_class *c, const ck_function *fn, PyArrayObject *const *arrays,
                        int64_t *symbols)
{
    const int64_t *k = data(c, KIND), *end = k + length(c, KIND);
    for (Py_ssize_t i = 0; i < fn->n_inputs; i++) {
        PyArrayObject *a = arrays[i];
        int nd = PyArray_NDIM(a);
        if (k == end || *k++ != nd)
            return 0;
        for (int j = 0; j < nd; j++) {
            int64_t want = *k++, n = PyArray_DIM(a, j);
            if (want == UNKNOWN ? n < 1 + (j > 0) : n != (want <= SMALL ? SMALL - want : want))
                return 0;
            if (want == UNKNOWN)
                *symbols++ = n;
        }
        int64_t lies = *k & ~LOOSE;
        if (!(*k++ & LOOSE) != !!PyArray_ISALIGNED(a)
            || (lies == CONTIGUOUS) != !!PyArray_IS_C_CONTIGUOUS(a))
            return 0;
        if (lies == DENSE ? !is_dense(a, k) || !runs_so(a, k)
                          : lies == STRIDED && !is_strided(a, k, &symbols))
            return 0;
        k += lies == DENSE ? nd : lies == STRIDED ? 2 * nd : 0;
    }
    return k == end;
}

static void patch(const ck_class *c, int at, void *table, const int64_t *sizes)
{
    const int64_t *to = data(c, at), *row = data(c, at + 1);
    for (Py_ssize_t i = 0; i < length(c, at); i++)
        ((int64_t *)table)[to[i]] = sizes[row[i]];
}

/* Where the buffers of `plan` lie; 0 where they do not fit. `at`: room for all twice. */
static int place(const ck_class *c, ck_plan *plan, const int64_t *sizes, int64_t *at)
{
    Py_ssize_t n = length(c, BYTES);
    int64_t *bytes = at + n;
    memcpy(bytes, data(c, BYTES), n * sizeof(*bytes));
    patch(c, BYTES_AT, bytes, sizes);
    if (!ck_arena_place(bytes, n, data(c, STARTS), data(c, BELOW), length(c, BELOW), at,
                        &plan->arena))
        return 0;
    const int64_t *slot = data(c, SLOTS);
    for (Py_ssize_t i = 0; i < length(c, SLOTS); i += 2)
        plan->rows[slot[i]].offset += at[slot[i + 1]];
    return 1;
}

static int resize_specs(const ck_class *c, ck_plan *plan, const int64_t *sizes)
{
    const int64_t *s = data(c, SPECS), *end = s + length(c, SPECS);
    for (; s < end; s += 4) {
        ck_spec *spec = (s[0] ? plan->updates : plan->outputs) + s[1];
        if (sizes[s[3]] < 0)
            return 0;
        spec->shape[s[2]] = sizes[s[3]];
        if (s + 4 < end && s[4] == s[0] && s[5] == s[1])
            continue;                    /* further axes of the same */
        spec->bytes = ck_count_bytes(PyDataType_ELSIZE(spec->descr), spec->nd, spec->shape);
        spec->layout = ck_layout(spec->descr->type_num, spec->nd, spec->shape);
        if (spec->bytes < 0)
            return 0;
    }
    return 1;
}

/* `old` with these sizes as its elements. */
static PyObject *constant(PyArrayObject *old, PyArrayObject *rows, const int64_t *sizes)
{
    PyArrayObject *whole = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(old), PyArray_DIMS(old),
                                                              NPY_INT64);
    if (!whole)
        return NULL;
    const int64_t *row = PyArray_DATA(rows);
    for (Py_ssize_t i = 0; i < PyArray_SIZE(rows); i++)
        ((int64_t *)PyArray_DATA(whole))[i] = sizes[row[i]];
    PyObject *made = PyArray_CastToType(whole, (PyArray_Descr *)Py_NewRef(PyArray_DESCR(old)), 0);
    Py_DECREF(whole);
    return made;
}

static int renew_constants(const ck_class *c, ck_plan *plan, const int64_t *sizes)
{
    Py_ssize_t n = PyList_GET_SIZE(c->constants);
    PyObject *all = n ? PyTuple_GetSlice(plan->constants, 0, PY_SSIZE_T_MAX) : NULL;
    if (!n)
        return 0;
    if (all == plan->constants) {        /* CPython gives the same tuple for the whole */
        Py_DECREF(all);
        all = PyTuple_New(PyTuple_GET_SIZE(plan->constants));
        for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(all); i++)
            PyTuple_SET_ITEM(all, i, Py_NewRef(PyTuple_GET_ITEM(plan->constants, i)));
    }
    for (Py_ssize_t i = 0; all && i < n; i++) {
        PyObject *pair = PyList_GET_ITEM(c->constants, i);
        Py_ssize_t index = PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 0));
        PyObject *old = PyTuple_GET_ITEM(all, index);
        PyObject *made = constant((PyArrayObject *)old, (PyArrayObject *)PyTuple_GET_ITEM(pair, 1),
                                  sizes);
        if (!made || PyTuple_SetItem(all, index, made) < 0)       /* lets go of the old one */
            Py_CLEAR(all);
    }
    if (!all)
        return -1;
    PyObject *before = plan->constants;
    plan->constants = all;
    Py_DECREF(before);
    return 0;
}

/* The plan for the sizes of this class; NULL without an error where one does not fit. */
static ck_plan *plan_for(const ck_class *c, const int64_t *sizes, int64_t *room)
{
    ck_plan *plan = ck_plan_copy(c->plan);
    if (!plan)
        return NULL;
    memcpy(plan->rows, data(c, ROWS), plan->n_rows * sizeof(ck_row));
    patch(c, INSTRS_AT, plan->instrs, sizes);
    patch(c, ROWS_AT, plan->rows, sizes);
    patch(c, DIMS_AT, plan->dims, sizes);
    if (!place(c, plan, sizes, room) || !resize_specs(c, plan, sizes)
        || renew_constants(c, plan, sizes) < 0 || ck_plan_ready(plan) < 0)
        Py_CLEAR(plan);
    return plan;
}

/* The plan for these arrays where they are of a class that the function knows; else NULL, without
   an error: then Python finds one, or says what is wrong. */
ck_plan *ck_plan_of_class(ck_function *fn, PyArrayObject *const *arrays)
{
    PyObject *all = fn->classes ? PyList_AsTuple(fn->classes) : NULL;    /* finalisers may clear it */
    ck_plan *plan = NULL;
    for (Py_ssize_t i = 0; all && !plan && i < PyTuple_GET_SIZE(all); i++) {
        ck_class *c = (ck_class *)PyTuple_GET_ITEM(all, i);
        Py_ssize_t codes = length(c, CODE) / 3;
        int64_t *symbols = PyMem_Malloc((c->n_symbols + codes + 2 * length(c, BYTES) + 1)
                                        * sizeof(*symbols));
        if (!symbols)
            break;
        int64_t *sizes = symbols + c->n_symbols;
        if (read_symbols(c, fn, arrays, symbols)
            && ck_sizes_evaluate(data(c, CODE), codes, data(c, ARGS), data(c, ASSUMED),
                                 length(c, ASSUMED) / 2, symbols, sizes))
            plan = plan_for(c, sizes, sizes + codes);
        PyMem_Free(symbols);
        if (plan && (plan->n_inputs > fn->n_inputs || plan->n_cells > fn->n_cells
                     || ck_plan_check_arrays(plan, arrays, fn->cells) < 0))
            Py_CLEAR(plan);
        if (plan)
            plan->fits = 1;
        else
            PyErr_Clear();
    }
    Py_XDECREF(all);
    if (!plan)
        PyErr_Clear();
    return plan;
}
