/* plan.c: Plan, the program for one set of shapes: instructions, where each pointer points, and
   the frames (pointer table + arena) its calls run in. Parsing is here, what makes a plan legal
   in check.c, walking it in run.c. A plan never changes after it was made, except for its idle
   frames and profile counters. */
#include "python/python.h"

/* ---- parsing ----
   Every parser returns 0, or -1 with an exception; plan_dealloc frees what was parsed so far. */

/* `value` as a private C array of rows of `width` int64. */
static int parse_table(PyObject *value, const char *name, npy_intp width, void *out,
                       Py_ssize_t *rows)
{
    PyArrayObject *a = (PyArrayObject *)PyArray_FROMANY(value, NPY_INT64, 1, 2, NPY_ARRAY_IN_ARRAY);
    if (!a)
        return -1;
    int empty = PyArray_SIZE(a) == 0;
    int nd = width == 1 ? 1 : 2;
    int fits = PyArray_NDIM(a) == nd && (nd == 1 || PyArray_DIM(a, 1) == width);
    int failed = !empty && !fits;
    if (failed)
        PyErr_Format(PyExc_ValueError, "%s must be an int64 array of rows of %zd", name,
                     (Py_ssize_t)width);
    else {
        *rows = empty ? 0 : PyArray_DIM(a, 0);
        void *copy = PyMem_Malloc(PyArray_NBYTES(a) + 8);
        if (copy)
            memcpy(copy, PyArray_DATA(a), PyArray_NBYTES(a));
        else
            PyErr_NoMemory();
        *(void **)out = copy;
        failed = !copy;
    }
    Py_DECREF(a);
    return failed ? -1 : 0;
}

/* The order of the axes of an output in memory: each of them once. */
static int parse_order(PyObject *order, ck_spec *spec)
{
    npy_intp axes[CK_MAXDIMS];
    char seen[CK_MAXDIMS] = {0};
    int n = ck_parse_shape(order, axes);
    if (n < 0)
        return -1;
    for (int i = 0; i < n; i++)
        if (n != spec->nd || axes[i] >= n || seen[axes[i]]++) {
            PyErr_Format(PyExc_ValueError, "%R is no order of %d axes", order, spec->nd);
            return -1;
        }
        else
            spec->order[i] = (unsigned char)axes[i];
    spec->permuted = 1;
    return 0;
}

static int parse_spec(PyObject *item, int with_cell, ck_spec *spec)
{
    PyObject *dtype, *shape, *order = NULL;
    spec->cell = -1;
    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "outputs and updates are lists of tuples");
        return -1;
    }
    if (with_cell ? !PyArg_ParseTuple(item, "nOO", &spec->cell, &dtype, &shape)
                  : !PyArg_ParseTuple(item, "OO|On", &dtype, &shape, &order, &spec->cell))
        return -1;
    if (!with_cell && spec->cell >= 0)
        spec->kept = 1;
    if (with_cell && spec->cell < 0)
        spec->kept = 1, spec->cell = ~spec->cell;
    spec->descr = ck_native_descr(dtype);
    if (!spec->descr)
        return -1;
    spec->nd = ck_parse_shape(shape, spec->shape);
    if (spec->nd < 0 || (order && order != Py_None && parse_order(order, spec) < 0))
        return -1;
    spec->bytes = ck_count_bytes(PyDataType_ELSIZE(spec->descr), spec->nd, spec->shape);
    spec->layout = ck_layout(spec->descr->type_num, spec->nd, spec->shape);
    return spec->bytes < 0 ? -1 : 0;
}

static int parse_specs(PyObject *list, int with_cell, ck_spec **out, Py_ssize_t *count)
{
    PyObject *seq = PySequence_Fast(list, "outputs and updates must be lists");
    if (!seq)
        return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(seq), i = 0;
    *out = PyMem_Calloc(n + 1, sizeof(ck_spec));
    if (!*out)
        PyErr_NoMemory();
    else
        for (*count = n; i < n; i++)
            if (parse_spec(PySequence_Fast_GET_ITEM(seq, i), with_cell, *out + i) < 0)
                break;
    Py_DECREF(seq);
    return *out && i == n ? 0 : -1;
}

static int parse_view(PyObject *item, ck_view *view)
{
    PyObject *dtype, *shape, *strides;
    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "inputs and outputs of a pycall are lists of tuples");
        return -1;
    }
    if (!PyArg_ParseTuple(item, "nOOO", &view->slot, &dtype, &shape, &strides))
        return -1;
    view->descr = ck_native_descr(dtype);
    if (!view->descr || (view->nd = ck_parse_shape(shape, view->shape)) < 0)
        return -1;
    PyObject *seq = PySequence_Fast(strides, "strides must be a sequence of ints");
    if (!seq)
        return -1;
    if (PySequence_Fast_GET_SIZE(seq) != view->nd)
        PyErr_SetString(PyExc_ValueError,
                        "shape and strides of a pycall argument differ in length");
    for (int i = 0; i < view->nd && !PyErr_Occurred(); i++) {
        PyObject *stride = PySequence_Fast_GET_ITEM(seq, i);
        view->strides[i] = PyNumber_AsSsize_t(stride, PyExc_OverflowError);
    }
    Py_DECREF(seq);
    return PyErr_Occurred() ? -1 : 0;
}

static int parse_pycall(PyObject *item, ck_pycall *call)
{
    PyObject *callable, *inputs, *outputs;
    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "pycalls is a list of (callable, inputs, outputs)");
        return -1;
    }
    if (!PyArg_ParseTuple(item, "OO!O!", &callable, &PyList_Type, &inputs, &PyList_Type, &outputs))
        return -1;
    if (!PyCallable_Check(callable)) {
        PyErr_Format(PyExc_TypeError, "a pycall needs a callable, got %R", callable);
        return -1;
    }
    call->nin = PyList_GET_SIZE(inputs);
    call->nout = PyList_GET_SIZE(outputs);
    call->views = PyMem_Calloc(call->nin + call->nout + 1, sizeof(ck_view));
    if (!call->views) {
        PyErr_NoMemory();
        return -1;
    }
    call->callable = Py_NewRef(callable);
    for (Py_ssize_t i = 0; i < call->nin + call->nout; i++) {
        PyObject *view = i < call->nin ? PyList_GetItem(inputs, i)
                                       : PyList_GetItem(outputs, i - call->nin);
        if (!view || parse_view(view, call->views + i) < 0)
            return -1;
    }
    return 0;
}

static int parse_pycalls(ck_plan *plan, PyObject *list)
{
    PyObject *seq = PySequence_Fast(list, "pycalls must be a list");
    if (!seq)
        return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(seq), i = 0;
    plan->pycalls = PyMem_Calloc(n + 1, sizeof(ck_pycall));
    if (!plan->pycalls)
        PyErr_NoMemory();
    else
        for (plan->n_pycalls = n; i < n; i++)
            if (parse_pycall(PySequence_Fast_GET_ITEM(seq, i), plan->pycalls + i) < 0)
                break;
    Py_DECREF(seq);
    return plan->pycalls && i == n ? 0 : -1;
}

static int parse_constants(ck_plan *plan, PyObject *list)
{
    plan->constants = PySequence_Tuple(list);
    if (!plan->constants)
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(plan->constants); i++) {
        PyArrayObject *a = (PyArrayObject *)PyTuple_GET_ITEM(plan->constants, i);
        if (!PyArray_Check(a) || !PyArray_ISCARRAY_RO(a) || PyDataType_REFCHK(PyArray_DESCR(a))) {
            PyErr_Format(PyExc_ValueError, "constant %zd is not a C-contiguous native ndarray", i);
            return -1;
        }
    }
    return 0;
}

/* ---- where pointers come from ---- */

/* Count the sources and split the rows: constants are fixed, the arena is fixed per frame, the
   rest is patched per call from frame->base. Runs after ck_plan_check saw that indices are sane. */
static int make_patches(ck_plan *plan)
{
    plan->patches = PyMem_Calloc(plan->n_rows + 1, sizeof(ck_patch));
    if (!plan->patches) {
        PyErr_NoMemory();
        return -1;
    }
    Py_ssize_t first[CK_SPACES] = {0};
    first[CK_CELL] = plan->n_inputs;
    first[CK_OUTPUT] = first[CK_CELL] + plan->n_cells;
    first[CK_NEXT] = first[CK_OUTPUT] + plan->n_outputs;
    plan->n_sources = first[CK_NEXT] + plan->n_updates;
    for (int arena = 0; arena < 2; arena++)
        for (Py_ssize_t i = 0; i < plan->n_rows; i++) {
            ck_row row = plan->rows[i];
            if (row.space == CK_CONSTANT || (row.space == CK_ARENA) != arena)
                continue;
            ck_patch *patch = plan->patches + plan->n_patches + plan->n_arena;
            *patch = (ck_patch){i, first[row.space] + row.index, row.offset};
            *(arena ? &plan->n_arena : &plan->n_patches) += 1;
        }
    return 0;
}

static ck_frame *frame_new(ck_plan *plan)
{
    Py_ssize_t n = plan->n_sources;
    ck_frame *f = PyMem_Calloc(1, sizeof(ck_frame) + sizeof(void *) * (2 * n + plan->n_rows));
    if (!f)
        return (ck_frame *)PyErr_NoMemory();
    f->base = (char **)(f + 1);
    f->object = (PyArrayObject **)(f->base + n);
    f->table = (void **)(f->object + n);
    for (Py_ssize_t i = 0; i < plan->n_rows; i++)
        if (plan->rows[i].space == CK_CONSTANT) {
            PyObject *a = PyTuple_GET_ITEM(plan->constants, plan->rows[i].index);
            f->table[i] = PyArray_BYTES((PyArrayObject *)a) + plan->rows[i].offset;
        }
    return f;
}

static void frame_free(ck_frame *f)
{
    Py_XDECREF(f->arena);
    PyMem_Free(f);
}

static int frame_arena(ck_plan *plan, ck_frame *f)
{
    f->arena = ck_buffer_new(plan->arena ? plan->arena : 64, 1);
    if (!f->arena)
        return -1;
    for (Py_ssize_t i = 0; i < plan->n_arena; i++) {
        ck_patch *patch = plan->patches + plan->n_patches + i;
        f->table[patch->slot] = (char *)f->arena->data + patch->offset;
    }
    return 0;
}

/* A frame for one call: an idle one, or a new one. Its objects are all NULL. */
ck_frame *ck_frame_take(ck_plan *plan)
{
    ck_frame *f = plan->idle;
    if (f) {
        plan->idle = f->next;
        plan->n_idle--;
    }
    else if (!(f = frame_new(plan)))
        return NULL;
    if (plan->n_arena && !f->arena && frame_arena(plan, f) < 0) {
        frame_free(f);
        return NULL;
    }
    return f;
}

/* Give a frame back. A PYCALL may have kept a view of its arena: then the view keeps it, we take
   another. Big arenas go back to the pool, where all plans can have them. */
void ck_frame_give(ck_plan *plan, ck_frame *f)
{
    if (f->arena && (plan->arena >= CK_BIG || Py_REFCNT(f->arena) > 1))
        Py_CLEAR(f->arena);
    if (plan->n_idle >= CK_FRAMES) {
        frame_free(f);
        return;
    }
    f->next = plan->idle;
    plan->idle = f;
    plan->n_idle++;
}

/* ---- plans of other shapes ---- */

/* Whether a plan is legal; fills in what follows from its tables. */
int ck_plan_ready(ck_plan *plan)
{
    return ck_plan_check(plan) < 0 || make_patches(plan) < 0 ? -1 : 0;
}

static void *copied(const void *from, size_t bytes)
{
    void *to = PyMem_Malloc(bytes + 8);
    return to ? memcpy(to, from, bytes) : PyErr_NoMemory();
}

static ck_spec *copied_specs(const ck_spec *from, Py_ssize_t n)
{
    ck_spec *to = copied(from, n * sizeof(*from));
    for (Py_ssize_t i = 0; to && i < n; i++)
        Py_INCREF(to[i].descr);
    return to;
}

/* A plan that calls no Python with tables of its own that say the same; the caller changes numbers
   in them and asks ck_plan_ready. */
ck_plan *ck_plan_copy(ck_plan *from)
{
    ck_plan *plan = (ck_plan *)PyType_GenericAlloc(ck_plan_type, 0);
    if (!plan)
        return NULL;
    plan->arena = from->arena;
    plan->long_run = from->long_run;
    plan->constants = Py_NewRef(from->constants);
    plan->maker = Py_NewRef((PyObject *)from);
    if ((plan->outputs = copied_specs(from->outputs, from->n_outputs)))
        plan->n_outputs = from->n_outputs;
    if ((plan->updates = copied_specs(from->updates, from->n_updates)))
        plan->n_updates = from->n_updates;
    plan->n_instrs = from->n_instrs;
    plan->late = from->late;
    plan->into = from->into;
    plan->asked = from->asked;
    plan->n_rows = from->n_rows;
    plan->n_dims = from->n_dims;
    plan->instrs = copied(from->instrs, from->n_instrs * sizeof(ck_instr));
    plan->rows = copied(from->rows, from->n_rows * sizeof(ck_row));
    plan->dims = copied(from->dims, from->n_dims * sizeof(int64_t));
    if (!plan->outputs || !plan->updates || !plan->instrs || !plan->rows || !plan->dims)
        Py_CLEAR(plan);
    return plan;
}

/* ---- the type ---- */
static PyObject *plan_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"instrs", "ptrs", "dims", "arena", "constants", "outputs", "updates",
                            "pycalls", "work", "into", "asked", NULL};
    PyObject *instrs, *rows, *dims, *constants, *outputs, *updates, *pycalls;
    long long arena;
    Py_ssize_t into = -1, asked = -1;
    double work;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOLOOOOd|nn:Plan", names, &instrs, &rows, &dims,
                                     &arena, &constants, &outputs, &updates, &pycalls, &work, &into,
                                     &asked))
        return NULL;
    ck_plan *plan = (ck_plan *)PyType_GenericAlloc(type, 0);
    if (!plan)
        return NULL;
    plan->arena = arena;
    plan->long_run = work > CK_RELEASE_NS;
    plan->into = into;
    plan->asked = asked;
    if (parse_table(instrs, "instrs", 8, &plan->instrs, &plan->n_instrs) < 0
        || parse_table(rows, "ptrs", 3, &plan->rows, &plan->n_rows) < 0
        || parse_table(dims, "dims", 1, &plan->dims, &plan->n_dims) < 0
        || parse_constants(plan, constants) < 0
        || parse_specs(outputs, 0, &plan->outputs, &plan->n_outputs) < 0
        || parse_specs(updates, 1, &plan->updates, &plan->n_updates) < 0
        || parse_pycalls(plan, pycalls) < 0 || ck_plan_ready(plan) < 0)
        Py_CLEAR(plan);
    return (PyObject *)plan;
}

static int plan_traverse(PyObject *self, visitproc visit, void *arg)
{
    ck_plan *plan = (ck_plan *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(plan->constants);
    Py_VISIT(plan->maker);
    for (Py_ssize_t i = 0; i < plan->n_pycalls; i++)
        Py_VISIT(plan->pycalls[i].callable);
    return 0;
}

/* Only callables can close a cycle; the entries stay, run.c refuses to call an empty one. */
static int plan_clear(PyObject *self)
{
    ck_plan *plan = (ck_plan *)self;
    for (Py_ssize_t i = 0; i < plan->n_pycalls; i++)
        Py_CLEAR(plan->pycalls[i].callable);
    return 0;
}

static void plan_dealloc(PyObject *self)
{
    ck_plan *plan = (ck_plan *)self;
    PyObject_GC_UnTrack(self);
    if (plan->weakrefs)
        PyObject_ClearWeakRefs(self);
    plan_clear(self);
    for (ck_frame *f = plan->idle, *next; f; f = next) {
        next = f->next;
        frame_free(f);
    }
    for (Py_ssize_t i = 0; i < plan->n_pycalls; i++) {
        ck_pycall *call = plan->pycalls + i;
        for (Py_ssize_t j = 0; call->views && j < call->nin + call->nout; j++)
            Py_XDECREF(call->views[j].descr);
        PyMem_Free(call->views);
    }
    for (Py_ssize_t i = 0; i < plan->n_outputs; i++)
        Py_XDECREF(plan->outputs[i].descr);
    for (Py_ssize_t i = 0; i < plan->n_updates; i++)
        Py_XDECREF(plan->updates[i].descr);
    Py_XDECREF(plan->constants);
    Py_XDECREF(plan->maker);
    void *blocks[] = {plan->instrs, plan->rows, plan->dims, plan->outputs, plan->updates,
                      plan->pycalls, plan->patches, plan->profile, plan->sources};
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
        PyMem_Free(blocks[i]);
    ck_spans_free(plan->spans);
    ck_delete(self);
}

static PyObject *plan_repr(PyObject *self)
{
    ck_plan *plan = (ck_plan *)self;
    return PyUnicode_FromFormat("<Plan of %zd instructions, arena of %lld bytes>", plan->n_instrs,
                                (long long)plan->arena);
}

static PyMemberDef plan_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ck_plan, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot plan_slots[] = {
    {Py_tp_doc, (void *)
     "Plan(instrs, ptrs, dims, arena, constants, outputs, updates, pycalls, work, into=-1,\n"
     "     asked=-1)\n--\n\n"
     "The program of a function for one set of shapes.\n\n"
     "instrs: int64 (n, 8), rows laid out as ck_instr of ckernels.h.\n"
     "ptrs: int64 (m, 3), rows (space, index, byte offset); spaces: 0 arena, 1 input, 2 cell,\n"
     "3 output, 4 next value of update j, 5 constant.\n"
     "dims: int64 vector. arena: bytes. constants: list of C-contiguous ndarrays.\n"
     "outputs: list of (dtype, shape) or (dtype, shape, order): the axes in memory, outermost\n"
     "first, or None; a fourth element is the input that the output is written into: only\n"
     "instructions from `into` on do that, which cannot fail and run where the output `asked`\n"
     "is true. updates: list of (cell index, dtype, shape);\n"
     "~index where the new value begins as the old one: the instructions from the first that\n"
     "points there are the last ones, cannot fail and write in place if nobody holds the value.\n"
     "pycalls: list of (callable, inputs, outputs), both lists of (row of ptrs, dtype, shape,\n"
     "byte strides). work: estimated ns of one run; above 10000 the GIL is released."},
    {Py_tp_new, plan_new},
    {Py_tp_dealloc, plan_dealloc},
    {Py_tp_traverse, plan_traverse},
    {Py_tp_clear, plan_clear},
    {Py_tp_repr, plan_repr},
    {Py_tp_members, plan_members},
    {0, NULL},
};

PyType_Spec ck_plan_spec = {
    .name = "ckernels._runtime.Plan",
    .basicsize = sizeof(ck_plan),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = plan_slots,
};
