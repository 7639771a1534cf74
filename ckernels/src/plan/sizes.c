/* sizes.c: a plan for a class of shapes filled in for one set of them: sizes from their
   expressions, whether its assumptions hold, and where its buffers lie. Called when shapes are new
   to a function, never on the way of a call whose plan is known. */
#include "python/python.h"
#include <stdlib.h>

enum { ALIGN = 64 };

/* Operations of a written class, as in graph/sizes.py. Row i of the code is (operation, a, b) and
   defines size i from earlier ones: CONSTANT a; SYMBOL number a; SCRATCH: bytes that a native
   instruction needs whose dims are the sizes args[a .. a + b). */
enum { CONSTANT, SYMBOL, ADD, MULTIPLY, FLOOR_DIVIDE, MODULO, GREATEST, SMALLEST, SCRATCH };
enum { SAME, OTHER, AT_LEAST };  /* as 0, than 0, 0: rows (kind, size) of the assumptions */

typedef struct { int64_t op, a, b; } term;
typedef struct { int64_t kind, size; } assumption;

static int64_t floor_divide(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

/* Size number i; 0 where it does not fit in an int64 or divides by zero. */
static int evaluate(const term *t, const int64_t *args, const int64_t *symbols, int64_t *at,
                    int64_t i)
{
    int64_t *to = at + i, a, b, q;
    if (t->op == CONSTANT || t->op == SYMBOL) {
        *to = t->op == SYMBOL ? symbols[t->a] : t->a;
        return 1;
    }
    if (t->op == SCRATCH) {
        int64_t dims[CK_NATIVE_DIMS];
        for (int k = 0; k < CK_NATIVE_DIMS; k++)
            dims[k] = at[args[t->a + k]];
        *to = ck_native_scratch(dims);
        return *to >= 0;
    }
    a = at[t->a], b = at[t->b];
    switch (t->op) {
    case ADD:
        return !__builtin_add_overflow(a, b, to);
    case MULTIPLY:
        return !__builtin_mul_overflow(a, b, to);
    case FLOOR_DIVIDE:
    case MODULO:
        if (b == 0 || (a == INT64_MIN && b == -1))
            return 0;
        q = floor_divide(a, b);
        *to = t->op == MODULO ? a - q * b : q;
        return 1;
    case GREATEST:
        *to = a > b ? a : b;
        return 1;
    default:
        *to = a < b ? a : b;
        return 1;
    }
}

static int holds(assumption x, const int64_t *at)
{
    int64_t v = at[x.size];
    return x.kind == SAME ? v == 0 : x.kind == OTHER ? v != 0 : v >= 0;
}

/* Whether a class was written by us: every row refers to earlier ones, symbols and args that are
   there. */
static int well_formed(const term *code, Py_ssize_t n, const int64_t *args, Py_ssize_t n_args,
                       const assumption *asks, Py_ssize_t n_asks, Py_ssize_t n_symbols)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        term t = code[i];
        if (t.op < CONSTANT || t.op > SCRATCH || (t.op == SYMBOL && (t.a < 0 || t.a >= n_symbols)))
            return 0;
        if (t.op == SCRATCH) {
            if (t.b != CK_NATIVE_DIMS || t.a < 0 || t.a > n_args - t.b)
                return 0;
            for (int64_t k = 0; k < t.b; k++)
                if (args[t.a + k] < 0 || args[t.a + k] >= i)
                    return 0;
        }
        else if (t.op >= ADD && (t.a < 0 || t.a >= i || t.b < 0 || t.b >= i))
            return 0;
    }
    for (Py_ssize_t i = 0; i < n_asks; i++)
        if (asks[i].size < 0 || asks[i].size >= n || asks[i].kind < SAME || asks[i].kind > AT_LEAST)
            return 0;
    return 1;
}

/* A C-contiguous int64 array of `nd` dimensions, the last of `width` (0: any). */
static PyArrayObject *table(PyObject *value, int nd, npy_intp width)
{
    PyArrayObject *a = (PyArrayObject *)PyArray_FROMANY(value, NPY_INT64, nd, nd,
                                                        NPY_ARRAY_IN_ARRAY);
    if (a && width && PyArray_DIM(a, nd - 1) != width) {
        Py_DECREF(a);
        PyErr_SetString(PyExc_ValueError, "an int64 table of another width was expected");
        return NULL;
    }
    return a;
}

static PyObject *filled(PyArrayObject *code, PyArrayObject *args, PyArrayObject *asks,
                        PyArrayObject *symbols)
{
    Py_ssize_t n = PyArray_DIM(code, 0), n_asks = PyArray_DIM(asks, 0);
    const term *terms = PyArray_DATA(code);
    const assumption *assumed = PyArray_DATA(asks);
    if (!well_formed(terms, n, PyArray_DATA(args), PyArray_DIM(args, 0), assumed, n_asks,
                     PyArray_DIM(symbols, 0))) {
        PyErr_SetString(PyExc_ValueError, "the sizes of a plan are not well formed");
        return NULL;
    }
    npy_intp dims[1] = {n};
    PyObject *made = PyArray_SimpleNew(1, dims, NPY_INT64);
    if (!made)
        return NULL;
    int64_t *at = PyArray_DATA((PyArrayObject *)made);
    int good = 1;
    for (Py_ssize_t i = 0; good && i < n; i++)
        good = evaluate(terms + i, PyArray_DATA(args), PyArray_DATA(symbols), at, i);
    for (Py_ssize_t i = 0; good && i < n_asks; i++)
        good = holds(assumed[i], at);
    if (!good) {
        Py_DECREF(made);
        Py_RETURN_NONE;
    }
    return made;
}

PyObject *ck_sizes_fill(PyObject *module, PyObject *values)
{
    (void)module;
    PyObject *given[4];
    PyArrayObject *a[4] = {NULL};
    if (!PyArg_ParseTuple(values, "OOOO:sizes", given, given + 1, given + 2, given + 3))
        return NULL;
    const int nd[4] = {2, 1, 2, 1}, width[4] = {3, 0, 2, 0};
    PyObject *made = NULL;
    int k = 0;
    while (k < 4 && (a[k] = table(given[k], nd[k], width[k])))
        k++;
    if (k == 4)
        made = filled(a[0], a[1], a[2], a[3]);
    for (k = 0; k < 4; k++)
        Py_XDECREF(a[k]);
    return made;
}

/* ---- where buffers lie ---- */

typedef struct { int64_t size, first, last, at; } block;
typedef struct { int64_t low, high; } hole;

static int by_low(const void *a, const void *b)
{
    const hole *x = a, *y = b;
    return (x->low > y->low) - (x->low < y->low);
}

/* The first gap of `size` bytes beside the blocks placed so far that live at the same time. */
static int64_t first_fit(const block *placed, Py_ssize_t n, const block *b, hole *taken)
{
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (placed[i].first <= b->last && b->first <= placed[i].last)
            taken[count++] = (hole){placed[i].at, placed[i].at + placed[i].size};
    qsort(taken, count, sizeof(*taken), by_low);
    int64_t at = 0;
    for (Py_ssize_t i = 0; i < count && at + b->size > taken[i].low; i++)
        if (taken[i].high > at)
            at = taken[i].high;
    return at;
}

/* arena(sizes, spans) -> offsets of blocks in the order in which they are to be placed; spans: rows
   (first, last) of the positions at which each one matters. */
PyObject *ck_arena_offsets(PyObject *module, PyObject *values)
{
    (void)module;
    PyObject *given[2], *made = NULL;
    PyArrayObject *sizes = NULL, *spans = NULL;
    if (!PyArg_ParseTuple(values, "OO:arena", given, given + 1)
        || !(sizes = table(given[0], 1, 0)) || !(spans = table(given[1], 2, 2))) {
        Py_XDECREF(sizes);
        return NULL;
    }
    npy_intp n = PyArray_DIM(sizes, 0);
    block *blocks = PyMem_Malloc((n + 1) * sizeof(*blocks));
    hole *taken = PyMem_Malloc((n + 1) * sizeof(*taken));
    if (PyArray_DIM(spans, 0) != n)
        PyErr_SetString(PyExc_ValueError, "each block needs a size and a span");
    else if (!blocks || !taken)
        PyErr_NoMemory();
    else if ((made = PyArray_SimpleNew(1, &n, NPY_INT64))) {
        const int64_t *size = PyArray_DATA(sizes), *span = PyArray_DATA(spans);
        int64_t *at = PyArray_DATA((PyArrayObject *)made);
        for (npy_intp i = 0; i < n; i++) {
            blocks[i] = (block){size[i], span[2 * i], span[2 * i + 1], 0};
            at[i] = blocks[i].at = first_fit(blocks, i, blocks + i, taken);
        }
    }
    PyMem_Free(blocks);
    PyMem_Free(taken);
    Py_DECREF(sizes);
    Py_DECREF(spans);
    return made;
}

/* stack(sizes, starts, below) -> (offsets, bytes): block i lies on the highest of the blocks
   below[starts[i] .. starts[i + 1]), which come before it; sizes are rounded up to lines of the
   cache. None where the sum does not fit. */
PyObject *ck_arena_stack(PyObject *module, PyObject *values)
{
    (void)module;
    PyObject *given[3];
    PyArrayObject *a[3] = {NULL};
    if (!PyArg_ParseTuple(values, "OOO:stack", given, given + 1, given + 2))
        return NULL;
    PyObject *made = NULL;
    int k = 0;
    while (k < 3 && (a[k] = table(given[k], 1, 0)))
        k++;
    npy_intp n = k == 3 ? PyArray_DIM(a[0], 0) : 0;
    int good = k == 3 && PyArray_DIM(a[1], 0) == n + 1;
    if (k == 3 && !good)
        PyErr_SetString(PyExc_ValueError, "each block needs a size and a start");
    if (good && (made = PyArray_SimpleNew(1, &n, NPY_INT64))) {
        const int64_t *size = PyArray_DATA(a[0]), *start = PyArray_DATA(a[1]);
        const int64_t *below = PyArray_DATA(a[2]);
        int64_t *at = PyArray_DATA((PyArrayObject *)made), top = 0, end, count = PyArray_DIM(a[2], 0);
        for (npy_intp i = 0; good && i < n; i++) {
            at[i] = 0;
            good = start[i] >= 0 && start[i] <= start[i + 1] && start[i + 1] <= count
                   && size[i] >= 0 && size[i] < INT64_MAX / 4;
            for (int64_t e = start[i]; good && e < start[i + 1]; e++) {
                int64_t j = below[e];
                good = j >= 0 && j < i;
                if (good && (end = at[j] + (size[j] + ALIGN - 1) / ALIGN * ALIGN) > at[i])
                    at[i] = end;
            }
            good = good && at[i] < INT64_MAX / 4;
            if (good && (end = at[i] + (size[i] + ALIGN - 1) / ALIGN * ALIGN) > top)
                top = end;
        }
        PyObject *pair = good ? Py_BuildValue("NL", made, (long long)top) : Py_NewRef(Py_None);
        if (!good)
            Py_DECREF(made);
        made = pair;
    }
    for (k = 0; k < 3; k++)
        Py_XDECREF(a[k]);
    return made;
}
