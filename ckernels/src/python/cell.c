/* cell.c: the storage of one variable, and the locks that make updates atomic.

   A value is an immutable ndarray by convention: setting or updating a variable swaps in another
   array, so what a user or a running call holds never changes. The old array becomes the spare
   when nobody refers to it, and the next update writes there (double buffering). */
#include "python/python.h"

/* ---- locks ----
   Owners are marked under the GIL, all cells of a call at once or none, so calls that hold
   nothing while they wait cannot deadlock and an uncontended lock costs a store. Only nested
   calls (from a PYCALL) wait while holding; for them the chain owner -> what the owner waits for
   -> its owner ... is searched. */
typedef struct waiter {
    unsigned long thread;
    ck_cell *cell;
    struct waiter *next;
} waiter;

static waiter *waiters;
static int generation = 1;               /* forks seen: an owner from before a fork is gone */
static ck_mutex gate = CK_MUTEX;
static ck_condition released = CK_CONDITION;

static void after_fork_in_child(void)
{
    generation++;
    waiters = NULL;
    ck_mutex_init(&gate);
    ck_condition_init(&released);
}

int ck_cells_ready(void)
{
    static int done = 0;
    if (!done && ck_at_fork(NULL, NULL, after_fork_in_child) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "no hook for forks could be registered");
        return -1;
    }
    done = 1;
    return 0;
}

/* The first cell another thread holds, or NULL. *nested: a cell this thread is updating already. */
static ck_cell *find_busy(ck_cell *const *cells, const char *updates, Py_ssize_t n,
                          unsigned long self, int *nested)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        ck_cell *c = cells[i];
        if (!c->owner)
            continue;
        if (c->owner == self) {
            *nested |= updates[i] && c->updating;
            continue;
        }
        if (c->generation == generation)
            return c;
        c->owner = 0;                    /* its thread did not survive the fork */
        c->depth = c->updating = 0;
    }
    return NULL;
}

static int would_deadlock(const ck_cell *cell, unsigned long self)
{
    unsigned long thread = cell->owner;
    for (int hops = 0; thread && thread != self && hops < 1000; hops++) {
        const waiter *w = waiters;
        while (w && w->thread != thread)
            w = w->next;
        if (!w)
            return 0;
        thread = w->cell->owner;
    }
    return thread == self;
}

/* Sleep until the cell may be free (or 50 ms passed: then signals get their turn). */
static int wait_for(ck_cell *cell, unsigned long self)
{
    if (would_deadlock(cell, self)) {
        PyErr_SetString(PyExc_RuntimeError, "two functions with updates wait for each other: "
                        "each was called from inside the other's Python operation");
        return -1;
    }
    waiter me = {self, cell, waiters};
    waiters = &me;
    Py_BEGIN_ALLOW_THREADS
    ck_mutex_lock(&gate);
    if (__atomic_load_n(&cell->owner, __ATOMIC_ACQUIRE))
        ck_condition_wait_ms(&released, &gate, 50);
    ck_mutex_unlock(&gate);
    Py_END_ALLOW_THREADS
    waiter **link = &waiters;
    while (*link && *link != &me)
        link = &(*link)->next;
    if (*link)
        *link = me.next;
    return PyErr_CheckSignals();
}

static int64_t patience = 30LL * 1000 * 1000 * 1000;        /* ns of waiting, then a warning */

PyObject *ck_cells_patience(PyObject *module, PyObject *seconds)
{
    (void)module;
    double before = patience / 1e9, now = PyFloat_AsDouble(seconds);
    if (PyErr_Occurred())
        return NULL;
    patience = (int64_t)(now * 1e9);
    return PyFloat_FromDouble(before);
}

/* Warn once a call has waited for long; *since: when it began to, 0: not yet, -1: warned. */
static int impatient(int64_t *since)
{
    if (!*since)
        *since = ck_now();
    if (*since < 0 || ck_now() - *since < patience)
        return 0;
    *since = -1;
    PyObject *errors = PyImport_ImportModule("ckernels.base.errors");
    PyObject *kind = errors ? PyObject_GetAttrString(errors, "CKernelsWarning") : NULL;
    int done = kind ? PyErr_WarnFormat(kind, 1, "this call has waited for %d s for a variable that "
        "a call in another thread is updating, and waits on. A call holds the variables that it "
        "updates until it ends: if a Python operation (py_op) of that call waits for this thread, "
        "both wait for ever", (int)(patience / 1000000000)) : -1;
    Py_XDECREF(kind);
    Py_XDECREF(errors);
    return done;
}

/* 1: all cells are held. 0: had to wait, nothing is held, values may have changed: look at them
   again and come back. -1: exception. *since: 0 at first. */
int ck_lock(ck_cell *const *cells, const char *updates, Py_ssize_t n, int64_t *since)
{
    unsigned long self = PyThread_get_thread_ident();
    int nested = 0;
    ck_cell *busy = find_busy(cells, updates, n, self, &nested);
    if (nested) {
        PyErr_SetString(PyExc_RuntimeError, "a function that updates a variable was called again "
                        "from inside its own run (through a Python operation): the nested update "
                        "would be lost");
        return -1;
    }
    if (busy)
        return impatient(since) < 0 || wait_for(busy, self) < 0 ? -1 : 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        __atomic_store_n(&cells[i]->owner, self, __ATOMIC_RELAXED);
        cells[i]->generation = generation;
        cells[i]->depth++;
        cells[i]->updating += updates[i];
    }
    return 1;
}

void ck_unlock(ck_cell *const *cells, const char *updates, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        cells[i]->updating -= updates[i];
        if (--cells[i]->depth == 0)
            __atomic_store_n(&cells[i]->owner, 0, __ATOMIC_RELEASE);
    }
    if (waiters) {
        ck_mutex_lock(&gate);
        ck_condition_wake(&released);
        ck_mutex_unlock(&gate);
    }
}

/* ---- values ---- */
static int same_layout(PyArrayObject *a, const ck_spec *spec)
{
    return PyArray_TYPE(a) == spec->descr->type_num && PyArray_NDIM(a) == spec->nd
           && PyArray_IS_C_CONTIGUOUS(a) && PyArray_ISWRITEABLE(a)
           && PyArray_CompareLists(PyArray_DIMS(a), spec->shape, spec->nd);
}

/* Whether nobody else can reach it: a view holds its base, and weak references count too. */
static int unshared(PyArrayObject *a)
{
    return Py_REFCNT(a) == 1 && !((PyArrayObject_fields *)a)->weakreflist;
}

/* A buffer for the cell's new value: the spare when it fits, else fresh. */
PyArrayObject *ck_cell_next(ck_cell *cell, const ck_spec *spec)
{
    PyArrayObject *spare = cell->spare;
    if (spare && unshared(spare) && same_layout(spare, spec)) {
        cell->spare = NULL;
        return spare;
    }
    return ck_fresh(spec);
}

/* A buffer that begins as the cell's value: the value itself where nobody but the caller, who holds
   it `held` times, can reach it, else a copy. */
PyArrayObject *ck_cell_kept(ck_cell *cell, const ck_spec *spec, int held)
{
    PyArrayObject *old = cell->array;
    int alone = Py_REFCNT(old) == 1 + held && !((PyArrayObject_fields *)old)->weakreflist;
    if (alone && same_layout(old, spec))
        return (PyArrayObject *)Py_NewRef((PyObject *)old);
    PyArrayObject *next = ck_cell_next(cell, spec);
    if (next)
        memcpy(PyArray_DATA(next), PyArray_DATA(old), spec->bytes);
    return next;
}

/* Make `value` (stolen) the cell's value; returns the old one (owned). */
PyArrayObject *ck_cell_swap(ck_cell *cell, PyArrayObject *value, int64_t layout)
{
    PyArrayObject *old = cell->array;
    cell->array = value;
    cell->changes += cell->layout != layout;
    cell->layout = layout;
    return old;
}

/* Take an array that is no cell's value any more (stolen): as the spare if nobody else can
   reach it. */
void ck_cell_retire(ck_cell *cell, PyArrayObject *old)
{
    if (unshared(old) && PyArray_ISWRITEABLE(old)) {
        PyArrayObject *before = cell->spare;
        cell->spare = old;
        Py_XDECREF(before);
    }
    else
        Py_DECREF(old);
}

/* A copy of anything array-like as the cell keeps it. */
static PyArrayObject *copy_of(ck_cell *cell, PyObject *value, ck_spec *spec)
{
    PyArrayObject *from = (PyArrayObject *)PyArray_FROM_O(value), *to = NULL;
    if (!from)
        return NULL;
    spec->descr = ck_native_descr((PyObject *)PyArray_DESCR(from));
    spec->nd = PyArray_NDIM(from);
    if (spec->nd > CK_MAXDIMS)
        PyErr_Format(PyExc_ValueError, "at most %d dimensions work", CK_MAXDIMS);
    else if (spec->descr) {
        for (int i = 0; i < spec->nd; i++)          /* a 0-d array has no dims to copy from */
            spec->shape[i] = PyArray_DIM(from, i);
        spec->bytes = PyArray_NBYTES(from);
        spec->layout = ck_layout(spec->descr->type_num, spec->nd, spec->shape);
        to = ck_cell_next(cell, spec);
        if (to && PyArray_CopyInto(to, from) < 0)
            Py_CLEAR(to);
    }
    Py_XDECREF(spec->descr);
    Py_DECREF(from);
    return to;
}

static PyObject *cell_set(PyObject *self, PyObject *value)
{
    ck_cell *cell = (ck_cell *)self;
    ck_spec spec = {0};
    PyArrayObject *to = copy_of(cell, value, &spec);
    if (!to)
        return NULL;
    PyArrayObject *old = ck_cell_swap(cell, to, spec.layout);
    if (old)
        ck_cell_retire(cell, old);
    Py_RETURN_NONE;
}

/* ---- several variables at once, for functions that Python runs ---- */

/* The cells of a tuple, to be freed; NULL with an exception for anything else. */
static ck_cell **cells_of(PyObject *tuple)
{
    if (!PyTuple_Check(tuple)) {
        PyErr_SetString(PyExc_TypeError, "a tuple of Cells is needed");
        return NULL;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    ck_cell **cells = PyMem_Malloc((n + 1) * sizeof(*cells));
    if (!cells)
        return (ck_cell **)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n; i++) {
        cells[i] = (ck_cell *)PyTuple_GET_ITEM(tuple, i);
        if (!PyObject_TypeCheck((PyObject *)cells[i], ck_cell_type)) {
            PyErr_SetString(PyExc_TypeError, "a tuple of Cells is needed");
            PyMem_Free(cells);
            return NULL;
        }
    }
    return cells;
}

/* values(cells): the list is made first, for that may run the garbage collector and with it
   Python; then no other thread can write between two reads. */
PyObject *ck_cells_values(PyObject *module, PyObject *tuple)
{
    (void)module;
    ck_cell **cells = cells_of(tuple);
    Py_ssize_t n = cells ? PyTuple_GET_SIZE(tuple) : 0;
    PyObject *values = cells ? PyList_New(n) : NULL;
    for (Py_ssize_t i = 0; values && i < n; i++)
        PyList_SET_ITEM(values, i, Py_NewRef((PyObject *)cells[i]->array));
    PyMem_Free(cells);
    return values;
}

/* assign(cells, arrays): all copies are made first, then the values change at one moment. */
PyObject *ck_cells_assign(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *tuple, *arrays, *result = NULL;
    if (!PyArg_ParseTuple(args, "OO!:assign", &tuple, &PyTuple_Type, &arrays))
        return NULL;
    ck_cell **cells = cells_of(tuple);
    if (!cells)
        return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(tuple), made = 0;
    PyArrayObject **to = PyMem_Calloc(n + 1, sizeof(*to));
    int64_t *layouts = PyMem_Calloc(n + 1, sizeof(*layouts));
    if (!to || !layouts)
        PyErr_NoMemory();
    else if (PyTuple_GET_SIZE(arrays) != n)
        PyErr_SetString(PyExc_ValueError, "assign needs one array for each cell");
    else
        for (ck_spec spec = {0}; made < n; layouts[made++] = spec.layout)
            if (!(to[made] = copy_of(cells[made], PyTuple_GET_ITEM(arrays, made), &spec)))
                break;
    if (!PyErr_Occurred()) {
        for (Py_ssize_t i = 0; i < n; i++)
            to[i] = ck_cell_swap(cells[i], to[i], layouts[i]);
        for (Py_ssize_t i = 0; i < n; i++)
            ck_cell_retire(cells[i], to[i]);
        result = Py_NewRef(Py_None);
    }
    else
        for (Py_ssize_t i = 0; i < made; i++)
            Py_DECREF(to[i]);
    PyMem_Free(layouts);
    PyMem_Free(to);
    PyMem_Free(cells);
    return result;
}

/* hold(cells, whether): take the place of a function with updates in their order, or leave it. */
PyObject *ck_cells_hold(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *tuple;
    int whether, held = 0;
    int64_t since = 0;
    if (!PyArg_ParseTuple(args, "Op:hold", &tuple, &whether))
        return NULL;
    ck_cell **cells = cells_of(tuple);
    Py_ssize_t n = cells ? PyTuple_GET_SIZE(tuple) : 0;
    char *updates = cells ? PyMem_Calloc(n + 1, 1) : NULL;
    if (cells && !updates)
        PyErr_NoMemory();
    if (updates && whether)
        while ((held = ck_lock(cells, updates, n, &since)) == 0)
            ;
    if (updates && !whether)
        ck_unlock(cells, updates, n);
    PyMem_Free(updates);
    PyMem_Free(cells);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *cell_get(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_NewRef((PyObject *)((ck_cell *)self)->array);
}

/* ---- the type ---- */
static PyObject *cell_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"array", NULL};
    PyObject *value;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Cell", names, &value))
        return NULL;
    ck_cell *cell = (ck_cell *)PyType_GenericAlloc(type, 0);
    if (!cell)
        return NULL;
    PyObject *done = cell_set((PyObject *)cell, value);
    Py_XDECREF(done);
    if (!done)
        Py_CLEAR(cell);
    return (PyObject *)cell;
}

static int cell_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((ck_cell *)self)->array);
    Py_VISIT(((ck_cell *)self)->spare);
    return 0;
}

static void cell_dealloc(PyObject *self)
{
    ck_cell *cell = (ck_cell *)self;
    PyObject_GC_UnTrack(self);
    if (cell->weakrefs)
        PyObject_ClearWeakRefs(self);
    Py_XDECREF(cell->array);
    Py_XDECREF(cell->spare);
    ck_delete(self);
}

static PyObject *cell_repr(PyObject *self)
{
    PyArrayObject *a = ((ck_cell *)self)->array;
    PyObject *shape = PyObject_GetAttrString((PyObject *)a, "shape");
    if (!shape)
        return NULL;
    PyObject *text = PyUnicode_FromFormat("<Cell %S %S>", PyArray_DESCR(a), shape);
    Py_DECREF(shape);
    return text;
}

static PyMethodDef cell_methods[] = {
    {"get", cell_get, METH_NOARGS,
     "get() -> ndarray: the current value. Treat it as read-only; it never changes later."},
    {"set", cell_set, METH_O,
     "set(array): copy `array` in as the new value. Old values stay intact."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef cell_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ck_cell, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot cell_slots[] = {
    {Py_tp_doc, (void *)
     "Cell(array)\n--\n\nStorage of one variable: a C-contiguous, aligned, native copy of\n"
     "`array`. Functions read it and replace it atomically; arrays handed out by get() are\n"
     "never written to."},
    {Py_tp_new, cell_new},
    {Py_tp_dealloc, cell_dealloc},
    {Py_tp_traverse, cell_traverse},
    {Py_tp_methods, cell_methods},
    {Py_tp_repr, cell_repr},
    {Py_tp_members, cell_members},
    {0, NULL},
};

PyType_Spec ck_cell_spec = {
    .name = "ckernels._runtime.Cell",
    .basicsize = sizeof(ck_cell),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = cell_slots,
};
