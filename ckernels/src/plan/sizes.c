/* sizes.c: a plan for a class of shapes filled in for one set of them: sizes from their
   expressions, whether its assumptions hold, and where its buffers lie. Called when shapes are new
   to a function, never on the way of a call whose plan is known. */
#include "python/python.h"

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
        int64_t dims[CK_NATIVE_WORDS];
        for (int k = 0; k < CK_NATIVE_WORDS; k++)
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
   there. rows: n of (operation, a, b); asked: n_asks of (kind, size). */
int ck_sizes_fit(const int64_t *rows, Py_ssize_t n, const int64_t *args, Py_ssize_t n_args,
                 const int64_t *asked, Py_ssize_t n_asks, Py_ssize_t n_symbols)
{
    const term *code = (const term *)rows;
    const assumption *asks = (const assumption *)asked;
    for (Py_ssize_t i = 0; i < n; i++) {
        term t = code[i];
        if (t.op < CONSTANT || t.op > SCRATCH || (t.op == SYMBOL && (t.a < 0 || t.a >= n_symbols)))
            return 0;
        if (t.op == SCRATCH) {
            if (t.b != CK_NATIVE_WORDS || t.a < 0 || t.a > n_args - t.b)
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

/* All n sizes of a class, written to `at`; 0 where one cannot be or an assumption does not hold. */
int ck_sizes_evaluate(const int64_t *rows, Py_ssize_t n, const int64_t *args, const int64_t *asked,
                      Py_ssize_t n_asks, const int64_t *symbols, int64_t *at)
{
    const term *code = (const term *)rows;
    const assumption *asks = (const assumption *)asked;
    int good = 1;
    for (Py_ssize_t i = 0; good && i < n; i++)
        good = evaluate(code + i, args, symbols, at, i);
    for (Py_ssize_t i = 0; good && i < n_asks; i++)
        good = holds(asks[i], at);
    return good;
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
    if (!ck_sizes_fit(PyArray_DATA(code), n, PyArray_DATA(args), PyArray_DIM(args, 0),
                      PyArray_DATA(asks), n_asks, PyArray_DIM(symbols, 0))) {
        PyErr_SetString(PyExc_ValueError, "the sizes of a plan are not well formed");
        return NULL;
    }
    npy_intp dims[1] = {n};
    PyObject *made = PyArray_SimpleNew(1, dims, NPY_INT64);
    if (!made)
        return NULL;
    if (!ck_sizes_evaluate(PyArray_DATA(code), n, PyArray_DATA(args), PyArray_DATA(asks), n_asks,
                           PyArray_DATA(symbols), PyArray_DATA((PyArrayObject *)made))) {
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

typedef struct { int64_t low, high, first, last; } block;    /* bytes; when it matters */

/* The first gap of `size` bytes beside those of n placed blocks, in the order of their addresses,
   that live at the same time. */
static int64_t first_fit(const block *placed, Py_ssize_t n, int64_t size, int64_t first,
                         int64_t last)
{
    int64_t at = 0;
    for (const block *b = placed; b < placed + n; b++) {
        if (b->first > last || first > b->last)
            continue;
        if (at + size <= b->low)
            break;
        if (b->high > at)
            at = b->high;
    }
    return at;
}

/* Put a block among those in the order of their addresses. */
static void insert(block *placed, Py_ssize_t n, block made)
{
    Py_ssize_t low = 0, high = n;
    while (low < high) {
        Py_ssize_t middle = (low + high) / 2;
        if (placed[middle].low < made.low)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(placed + low + 1, placed + low, (n - low) * sizeof(*placed));
    placed[low] = made;
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
    if (PyArray_DIM(spans, 0) != n)
        PyErr_SetString(PyExc_ValueError, "each block needs a size and a span");
    else if (!blocks)
        PyErr_NoMemory();
    else if ((made = PyArray_SimpleNew(1, &n, NPY_INT64))) {
        const int64_t *size = PyArray_DATA(sizes), *span = PyArray_DATA(spans);
        int64_t *at = PyArray_DATA((PyArrayObject *)made);
        for (npy_intp i = 0; i < n; i++) {
            int64_t first = span[2 * i], last = span[2 * i + 1];
            at[i] = first_fit(blocks, i, size[i], first, last);
            insert(blocks, i, (block){at[i], at[i] + size[i], first, last});
        }
    }
    PyMem_Free(blocks);
    Py_DECREF(sizes);
    Py_DECREF(spans);
    return made;
}

/* Offsets of n blocks and the bytes of all; 0 where the sum does not fit, or a table makes no sense.
   Block i lies on the highest of the blocks below[start[i] .. start[i + 1]), which come before it. */
int ck_arena_place(const int64_t *size, Py_ssize_t n, const int64_t *start, const int64_t *below,
                   Py_ssize_t count, int64_t *at, int64_t *top)
{
    int64_t end;
    *top = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        at[i] = 0;
        if (start[i] < 0 || start[i] > start[i + 1] || start[i + 1] > count || size[i] < 0
            || size[i] >= INT64_MAX / 4)
            return 0;
        for (int64_t e = start[i]; e < start[i + 1]; e++) {
            int64_t j = below[e];
            if (j < 0 || j >= i)
                return 0;
            if ((end = at[j] + (size[j] + ALIGN - 1) / ALIGN * ALIGN) > at[i])
                at[i] = end;
        }
        if (at[i] >= INT64_MAX / 4)
            return 0;
        if ((end = at[i] + (size[i] + ALIGN - 1) / ALIGN * ALIGN) > *top)
            *top = end;
    }
    return 1;
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
        int64_t top;
        good = ck_arena_place(PyArray_DATA(a[0]), n, PyArray_DATA(a[1]), PyArray_DATA(a[2]),
                              PyArray_DIM(a[2], 0), PyArray_DATA((PyArrayObject *)made), &top);
        PyObject *pair = good ? Py_BuildValue("NL", made, (long long)top) : Py_NewRef(Py_None);
        if (!good)
            Py_DECREF(made);
        made = pair;
    }
    for (k = 0; k < 3; k++)
        Py_XDECREF(a[k]);
    return made;
}
