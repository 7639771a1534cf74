/* lookup.c: from argument shapes to a plan: the last one, one of the cached ones, one filled in
   from a class of shapes that is known, or a new one from bind.

   The key lists, per input, its shape and 0 if C-contiguous, else 1 and its byte strides, to which
   2 is added where its elements may lie at any byte; per
   variable, its layout (a hash of dtype and shape). Equal keys mean that a plan's pointers are
   good, so nothing is checked on a hit. No function here is long without a GIL: other threads
   may add or drop plans only during bind. */
#include "python/python.h"

/* Compare without building a key. A key is a prefix code, so a mismatch stops before its end. */
static inline int matches(const ck_function *fn, PyArrayObject *const *arrays, const int64_t *key)
{
    for (Py_ssize_t i = 0; i < fn->n_inputs; i++) {
        PyArrayObject *a = arrays[i];
        int nd = fn->inputs[i].nd;
        const npy_intp *dims = PyArray_DIMS(a), *strides = PyArray_STRIDES(a);
        for (int j = 0; j < nd; j++)
            if (*key++ != dims[j])
                return 0;
        int strided = !PyArray_IS_C_CONTIGUOUS(a);
        if (*key++ != strided + 2 * !PyArray_ISALIGNED(a))
            return 0;
        for (int j = 0; strided && j < nd; j++)
            if (*key++ != strides[j])
                return 0;
    }
    for (Py_ssize_t i = 0; i < fn->n_cells; i++)
        if (*key++ != fn->cells[i]->layout)
            return 0;
    return 1;
}

static Py_ssize_t write_key(const ck_function *fn, PyArrayObject *const *arrays, int64_t *key)
{
    int64_t *start = key;
    for (Py_ssize_t i = 0; i < fn->n_inputs; i++) {
        PyArrayObject *a = arrays[i];
        int nd = fn->inputs[i].nd;
        for (int j = 0; j < nd; j++)
            *key++ = PyArray_DIM(a, j);
        int strided = !PyArray_IS_C_CONTIGUOUS(a);
        *key++ = strided + 2 * !PyArray_ISALIGNED(a);
        for (int j = 0; strided && j < nd; j++)
            *key++ = PyArray_STRIDE(a, j);
    }
    for (Py_ssize_t i = 0; i < fn->n_cells; i++)
        *key++ = fn->cells[i]->layout;
    return key - start;
}

static uint64_t hash_key(const int64_t *key, Py_ssize_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (Py_ssize_t i = 0; i < n; i++) {
        h = (h ^ (uint64_t)key[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

static void make_last(ck_function *fn, ck_entry *entry)
{
    entry->stamp = ++fn->clock;              /* hits on the last plan are not stamped one by one */
    fn->last = entry;
}

static ck_plan *look_up(ck_function *fn, const int64_t *key, Py_ssize_t length, uint64_t hash)
{
    for (int i = 0; i < fn->n_entries; i++) {
        if (fn->hashes[i] != hash)
            continue;
        ck_entry *e = fn->entries[i];
        if (e->length == length && !memcmp(e->key, key, length * sizeof(*key))) {
            make_last(fn, e);
            return (ck_plan *)Py_NewRef((PyObject *)e->plan);
        }
    }
    return NULL;
}

static void entry_free(ck_entry *entry)
{
    if (entry)
        Py_DECREF(entry->plan);
    PyMem_Free(entry);
}

/* What a plan holds on to: its tables and, where it does not go back to the pool, its arena. */
static int64_t bytes_of(const ck_plan *plan)
{
    int64_t rows = sizeof(ck_row) + sizeof(ck_patch) + sizeof(void *);
    return plan->n_instrs * (int64_t)sizeof(ck_instr) + plan->n_rows * rows + plan->n_dims * 8
           + (plan->arena < CK_BIG ? plan->arena : 0);
}

static int make_room(ck_function *fn)
{
    if (fn->n_entries < fn->room)
        return 0;
    int room = fn->room ? 2 * fn->room : 8;
    ck_entry **entries = PyMem_Realloc(fn->entries, room * sizeof(*entries));
    if (entries)
        fn->entries = entries;
    uint64_t *hashes = entries ? PyMem_Realloc(fn->hashes, room * sizeof(*hashes)) : NULL;
    if (!hashes) {
        PyErr_NoMemory();
        return -1;
    }
    fn->hashes = hashes;
    fn->room = room;
    return 0;
}

/* Take out the entry that was used least recently, but for `kept`. */
static ck_entry *take_oldest(ck_function *fn, const ck_entry *kept)
{
    int oldest = -1;
    for (int i = 0; i < fn->n_entries; i++)
        if (fn->entries[i] != kept
            && (oldest < 0 || fn->entries[i]->stamp < fn->entries[oldest]->stamp))
            oldest = i;
    if (oldest < 0)
        return NULL;
    ck_entry *gone = fn->entries[oldest];
    fn->n_entries--;
    fn->entries[oldest] = fn->entries[fn->n_entries];
    fn->hashes[oldest] = fn->hashes[fn->n_entries];
    fn->plan_bytes -= gone->bytes;
    return gone;
}

/* Keep a plan; the least recently used ones go when there is no place. Each is freed only once the
   table is whole: that may run Python. */
static int remember(ck_function *fn, ck_plan *plan, const int64_t *key, Py_ssize_t length,
                    uint64_t hash)
{
    ck_entry *e = PyMem_Malloc(sizeof(ck_entry) + length * sizeof(*key));
    if (!e) {
        PyErr_NoMemory();
        return -1;
    }
    if (make_room(fn) < 0) {
        PyMem_Free(e);
        return -1;
    }
    e->plan = (ck_plan *)Py_NewRef((PyObject *)plan);
    e->hash = hash;
    e->bytes = bytes_of(plan);
    e->length = length;
    memcpy(e->key, key, length * sizeof(*key));
    make_last(fn, e);
    fn->hashes[fn->n_entries] = hash;
    fn->entries[fn->n_entries++] = e;
    fn->plan_bytes += e->bytes;
    if (plan->arena > fn->peak)
        fn->peak = plan->arena;
    while (fn->n_entries > CK_PLANS || (fn->plan_bytes > CK_PLAN_BYTES && fn->n_entries > 1)) {
        ck_entry *gone = take_oldest(fn, fn->last);
        if (!gone)
            break;
        entry_free(gone);
    }
    return 0;
}

void ck_drop_plans(ck_function *fn)
{
    ck_entry **gone = fn->entries;
    int n = fn->n_entries;
    PyObject *classes = fn->classes;
    fn->classes = NULL;
    PyMem_Free(fn->hashes);
    fn->entries = NULL;
    fn->hashes = NULL;
    fn->n_entries = fn->room = 0;
    fn->plan_bytes = 0;
    fn->last = NULL;
    for (int i = 0; i < n; i++)
        entry_free(gone[i]);
    PyMem_Free(gone);
    Py_XDECREF(classes);
}

/* ---- new plans ---- */

/* Whether the garbage collector took the function apart (only seen by finalisers of a dying
   cycle). */
int ck_gone(PyObject *hook)
{
    if (!hook)
        PyErr_SetString(PyExc_RuntimeError,
                        "this function was taken apart by the garbage collector");
    return !hook;
}

static int64_t layout_changes(const ck_function *fn)
{
    int64_t sum = 0;
    for (Py_ssize_t i = 0; i < fn->n_cells; i++)
        sum += fn->cells[i]->changes;
    return sum;
}

/* Variables keep dtype and shape unless declared flexible; what bind makes of others is its own. */
static int check_variables(const ck_function *fn)
{
    for (Py_ssize_t i = 0; i < fn->n_cells; i++)
        if (!fn->flexible[i] && fn->cells[i]->layout != fn->layouts[i]) {
            PyErr_Format(PyExc_ValueError, "variable %zd changed its shape or dtype (now %R): the "
                         "function was made for a fixed one", i, (PyObject *)fn->cells[i]);
            return -1;
        }
    return 0;
}

static int check_plan(const ck_function *fn, ck_plan *plan, PyArrayObject *const *arrays)
{
    if (!PyObject_TypeCheck((PyObject *)plan, ck_plan_type)) {
        PyErr_Format(PyExc_TypeError, "bind must return a Plan, not %R",
                     (PyObject *)Py_TYPE(plan));
        return -1;
    }
    if (plan->n_inputs > fn->n_inputs || plan->n_cells > fn->n_cells
        || (fn->single && plan->n_outputs != 1)) {
        PyErr_SetString(PyExc_ValueError, "the plan uses more inputs or variables than the "
                        "function has, or does not have the one output of a single=True function");
        return -1;
    }
    for (Py_ssize_t j = 0; j < plan->n_updates; j++) {
        Py_ssize_t cell = plan->updates[j].cell;
        if (cell >= fn->n_cells || !fn->updates[cell]) {
            PyErr_Format(PyExc_ValueError, "the plan updates variable %zd, the function does not",
                         cell);
            return -1;
        }
        if (!fn->flexible[cell] && plan->updates[j].layout != fn->layouts[cell]) {
            PyErr_Format(PyExc_ValueError, "the plan gives variable %zd another shape or dtype, "
                         "but it is not flexible", cell);
            return -1;
        }
    }
    int fits = plan->fits;       /* once: a plan of a class was checked when it was made */
    plan->fits = 0;
    return fits ? 0 : ck_plan_check_arrays(plan, arrays, fn->cells);
}

static ck_plan *bind(ck_function *fn, PyArrayObject *const *arrays)
{
    if (ck_gone(fn->bind) || check_variables(fn) < 0)
        return NULL;
    ck_plan *known = ck_plan_of_class(fn, arrays);
    if (known)
        return known;
    PyObject *list = PyList_New(fn->n_inputs), *hook = Py_NewRef(fn->bind), *plan = NULL;
    for (Py_ssize_t i = 0; list && i < fn->n_inputs; i++)
        PyList_SET_ITEM(list, i, Py_NewRef((PyObject *)arrays[i]));
    if (list)
        plan = PyObject_CallFunctionObjArgs(hook, list, NULL);
    Py_XDECREF(list);
    Py_DECREF(hook);
    return (ck_plan *)plan;
}

/* Another thread may give a flexible variable a new shape while Python binds: then the plan may
   be for either shape, so it is thrown away. Where Python sees the change it gives a callable
   instead; what it cannot see, a shape that changed and changed back, does not happen for ever. */
static ck_plan *find_or_bind(ck_function *fn, PyArrayObject *const *arrays, int64_t *key,
                             PyObject **instead)
{
    while (PyErr_CheckSignals() == 0) {
        int64_t changes = layout_changes(fn);
        Py_ssize_t length = write_key(fn, arrays, key);
        uint64_t hash = hash_key(key, length);
        ck_plan *plan = look_up(fn, key, length, hash);
        if (plan || !(plan = bind(fn, arrays)))
            return plan;
        if (!PyObject_TypeCheck((PyObject *)plan, ck_plan_type)
            && PyCallable_Check((PyObject *)plan)) {
            *instead = (PyObject *)plan;
            return NULL;
        }
        if (layout_changes(fn) == changes) {
            ck_plan *known = look_up(fn, key, length, hash);    /* of a thread that was faster */
            if (known) {
                Py_DECREF(plan);
                return known;
            }
            if (check_plan(fn, plan, arrays) < 0 || remember(fn, plan, key, length, hash) < 0)
                Py_CLEAR(plan);
            return plan;
        }
        Py_DECREF(plan);
    }
    return NULL;
}

/* The plan for these arrays and the variables as they are now; a new reference. NULL with
   `instead` set: bind gave a callable, which computes what no plan can. */
ck_plan *ck_find_plan(ck_function *fn, PyArrayObject *const *arrays, PyObject **instead)
{
    *instead = NULL;
    if (fn->last && matches(fn, arrays, fn->last->key))
        return (ck_plan *)Py_NewRef((PyObject *)fn->last->plan);
    int64_t *key = PyMem_Malloc((fn->key_size + 1) * sizeof(*key));
    if (!key)
        return (ck_plan *)PyErr_NoMemory();
    ck_plan *plan = find_or_bind(fn, arrays, key, instead);
    PyMem_Free(key);
    return plan;
}
