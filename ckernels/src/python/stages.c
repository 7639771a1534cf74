/* stages.c: Stage, the base of those of runtime/staged.py: compiled pieces of a graph with NumPy
   between them, from the first to the last without Python.

   Values lie in slots, numbered as they are made along the way of a call: inputs and variables first.
   A stage calls its piece, hands on what later ones need, and gives its cuts to NumPy; places of
   what is true in a mask are found here. Which stage comes next the sizes of known slots say: those
   of classes that were learned, as in classes.c. For others `follow` of the owner is asked. */
#include "python/python.h"

#include <stdlib.h>

enum { FEW = 32 };               /* slots, and operands, that are held without malloc */
enum { MOST_CLASSES = 64 };      /* that a stage remembers */
enum { UNKNOWN = -1 };           /* a size that is a symbol of its class: 2 or more */
enum { RESULT, SLOT, OBJECT };   /* where an operand of a cut comes from */
enum { CALLED, PLACES };         /* how a cut is computed */

typedef struct ck_stage ck_stage;

typedef struct class {           /* sizes of known slots that lead to one stage */
    struct class *next;          /* used less recently */
    PyArrayObject *tables[4];    /* sizes or UNKNOWN; code, args and assumptions: see sizes.c */
    int64_t *symbols, *room;
    ck_stage *following;
} class;

typedef struct { Py_ssize_t n, *at; } numbers;

typedef struct {
    int from;
    Py_ssize_t index;
    PyObject *more;              /* the object, or what makes a view of a slot, or NULL */
} operand;

typedef struct {
    int how;
    Py_ssize_t n, made;          /* of operands and results */
    Py_ssize_t axis;             /* PLACES: of the operand before, which the mask fits; -1: of none */
    PyObject *plain, *whole;     /* plain(*arrays), or None; whole(list of arrays): with checks */
    PyObject *dtypes;
} cut;

struct ck_stage {
    PyObject_HEAD
    PyObject *owner, *kept;      /* `kept` is the tuple whose objects are borrowed here */
    PyObject *function;
    numbers read, known, dead;
    Py_ssize_t before, handed;   /* slots before this stage; results that are handed on */
    Py_ssize_t n_operands, n_cuts;
    operand *operands;
    cut *cuts;
    class *classes;
};

/* ---- making ---- */
static int parse_numbers(PyObject *tuple, numbers *out)
{
    out->n = PyTuple_GET_SIZE(tuple);
    out->at = calloc(out->n + 1, sizeof *out->at);
    for (Py_ssize_t i = 0; out->at && i < out->n; i++)
        out->at[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, i));
    return out->at && !PyErr_Occurred() ? 0 : -1;
}

static int parse_operand(PyObject *one, operand *to)
{
    PyObject *more;
    if (!PyArg_ParseTuple(one, "inO", &to->from, &to->index, &more))
        return -1;
    to->more = more == Py_None ? NULL : more;
    return to->from < RESULT || to->from > OBJECT || (to->from == OBJECT && !to->more) ? -1 : 0;
}

static int parse_cut(PyObject *one, cut *to)
{
    if (!PyArg_ParseTuple(one, "innOOO!", &to->how, &to->n, &to->axis, &to->plain, &to->whole,
                          &PyTuple_Type, &to->dtypes))
        return -1;
    to->made = PyTuple_GET_SIZE(to->dtypes);
    return to->n < 1 || (to->how == PLACES && to->axis >= 0 && to->n != 2) ? -1 : 0;
}

static void forget(class *c)
{
    while (c) {
        class *next = c->next;
        for (int k = 0; k < 4; k++)
            Py_XDECREF((PyObject *)c->tables[k]);
        Py_XDECREF((PyObject *)c->following);
        free(c->symbols);
        free(c->room);
        free(c);
        c = next;
    }
}

static PyObject *stage_take(PyObject *self, PyObject *args)
{
    ck_stage *s = (ck_stage *)self;
    PyObject *owner, *function, *read, *known, *dead, *operands, *cuts;
    if (s->kept) {
        PyErr_SetString(PyExc_ValueError, "a stage takes what it does once");
        return NULL;
    }
    s->kept = Py_NewRef(args);
    if (!PyArg_ParseTuple(args, "OOO!O!O!nnO!O!", &owner, &function, &PyTuple_Type, &read,
                          &PyTuple_Type, &known, &PyTuple_Type, &dead, &s->before, &s->handed,
                          &PyTuple_Type, &operands, &PyTuple_Type, &cuts))
        return NULL;
    s->owner = owner;
    s->function = function == Py_None ? NULL : function;
    s->n_operands = PyTuple_GET_SIZE(operands);
    s->n_cuts = PyTuple_GET_SIZE(cuts);
    s->operands = calloc(s->n_operands + 1, sizeof *s->operands);
    s->cuts = calloc(s->n_cuts + 1, sizeof *s->cuts);
    int bad = !s->operands || !s->cuts || parse_numbers(read, &s->read) < 0
              || parse_numbers(known, &s->known) < 0 || parse_numbers(dead, &s->dead) < 0;
    for (Py_ssize_t i = 0; !bad && i < s->n_operands; i++)
        bad = parse_operand(PyTuple_GET_ITEM(operands, i), s->operands + i) < 0;
    Py_ssize_t n = 0;
    for (Py_ssize_t i = 0; !bad && i < s->n_cuts; i++) {
        bad = parse_cut(PyTuple_GET_ITEM(cuts, i), s->cuts + i) < 0;
        n += s->cuts[i].n;
    }
    if (!bad && n == s->n_operands)
        Py_RETURN_NONE;
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "a stage is not well formed");
    return NULL;
}

static PyObject *stage_learn(PyObject *self, PyObject *args)
{
    ck_stage *s = (ck_stage *)self;
    PyObject *given[4], *following;
    if (!PyArg_ParseTuple(args, "OOOOO!:learn", given, given + 1, given + 2, given + 3,
                          (PyObject *)Py_TYPE(self), &following))
        return NULL;
    class *c = calloc(1, sizeof *c);
    if (!c)
        return PyErr_NoMemory();
    int good = 1;
    const int nd[4] = {1, 2, 1, 2};
    for (int k = 0; good && k < 4; k++)
        good = (c->tables[k] = (PyArrayObject *)PyArray_FROMANY(given[k], NPY_INT64, nd[k], nd[k],
                                                                NPY_ARRAY_IN_ARRAY)) != NULL;
    if (good) {
        PyArrayObject **t = c->tables;
        const int64_t *sizes = PyArray_DATA(t[0]);
        Py_ssize_t unknown = 0;
        for (Py_ssize_t i = 0; i < PyArray_SIZE(t[0]); i++)
            unknown += sizes[i] == UNKNOWN;
        c->symbols = calloc(unknown + 1, sizeof *c->symbols);
        c->room = calloc(PyArray_DIM(t[1], 0) + 1, sizeof *c->room);
        good = c->symbols && c->room && PyArray_DIM(t[1], 1) == 3 && PyArray_DIM(t[3], 1) == 2
               && ck_sizes_fit(PyArray_DATA(t[1]), PyArray_DIM(t[1], 0), PyArray_DATA(t[2]),
                               PyArray_DIM(t[2], 0), PyArray_DATA(t[3]), PyArray_DIM(t[3], 0), unknown);
    }
    c->following = (ck_stage *)Py_NewRef(following);
    if (!good) {
        forget(c);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "the sizes of a stage are not well formed");
        return NULL;
    }
    c->next = s->classes;
    s->classes = c;
    for (int i = 1; c && i < MOST_CLASSES; i++)
        c = c->next;
    if (c) {
        class *gone = c->next;
        c->next = NULL;
        forget(gone);
    }
    Py_RETURN_NONE;
}

/* ---- which stage comes next ---- */
static int is_of(const ck_stage *s, class *c, PyObject *const *slots)
{
    const int64_t *size = PyArray_DATA(c->tables[0]), *end = size + PyArray_SIZE(c->tables[0]);
    Py_ssize_t symbols = 0;
    for (Py_ssize_t i = 0; i < s->known.n; i++) {
        PyArrayObject *a = (PyArrayObject *)slots[s->known.at[i]];
        if (end - size < PyArray_NDIM(a))
            return 0;
        for (int axis = 0; axis < PyArray_NDIM(a); axis++, size++) {
            npy_intp n = PyArray_DIM(a, axis);
            if (*size == UNKNOWN ? n < 2 : n != *size)
                return 0;
            if (*size == UNKNOWN)
                c->symbols[symbols++] = n;
        }
    }
    PyArrayObject **t = c->tables;
    return size == end
           && ck_sizes_evaluate(PyArray_DATA(t[1]), PyArray_DIM(t[1], 0), PyArray_DATA(t[2]),
                                PyArray_DATA(t[3]), PyArray_DIM(t[3], 0), c->symbols, c->room);
}

static ck_stage *asked(ck_stage *first, ck_stage *s, PyObject *const *slots, Py_ssize_t n)
{
    PyObject *list = PyList_New(n), *found = NULL;
    for (Py_ssize_t i = 0; list && i < n; i++)
        PyList_SET_ITEM(list, i, Py_NewRef(slots[i] ? slots[i] : Py_None));
    if (list)
        found = PyObject_CallMethod(first->owner, "follow", "OO", (PyObject *)s, list);
    Py_XDECREF(list);
    if (found && !PyObject_TypeCheck(found, ck_stage_type)) {
        PyErr_SetString(PyExc_TypeError, "follow gave no stage");
        Py_CLEAR(found);
    }
    return (ck_stage *)found;
}

/* The stage after one, held; n: slots that there are. */
static ck_stage *next_of(ck_stage *first, ck_stage *s, PyObject *const *slots, Py_ssize_t n)
{
    for (class **at = &s->classes, *c; (c = *at); at = &c->next)
        if (is_of(s, c, slots)) {
            *at = c->next;
            c->next = s->classes;
            s->classes = c;
            return (ck_stage *)Py_NewRef((PyObject *)c->following);
        }
    return asked(first, s, slots, n);
}

/* ---- what a cut makes ---- */
/* Of eight bytes those that are not 0, as bytes of 1. */
static inline uint64_t eight(const npy_bool *m)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7f;
    uint64_t w;
    memcpy(&w, m, 8);
    return ((((w & low) + low) | w) & ~low) >> 7;
}

static npy_intp count_true(const npy_bool *m, npy_intp n)
{
    npy_intp count = 0, i = 0;
    for (; i + 8 <= n; i += 8)
        count += (eight(m + i) * 0x0101010101010101) >> 56;
    for (; i < n; i++)
        count += m[i] != 0;
    return count;
}

/* Write places of what is true of a row into `last`, from number `at` on; bounded, for another thread
   may change the mask meanwhile. */
static npy_intp row_places(const npy_bool *mask, npy_intp n, int64_t *last, npy_intp at, npy_intp end)
{
    npy_intp i = 0;
    for (; i + 8 <= n && at + 8 <= end; i += 8) {
        uint64_t w = eight(mask + i);
        for (int k = 0; w && k < 8; k++, w >>= 8) {
            last[at] = i + k;
            at += w & 1;
        }
    }
    for (; i < n && at < end; i++) {
        last[at] = i;
        at += mask[i] != 0;
    }
    return at;
}

static void write_places(PyArrayObject *mask, int64_t **to, npy_intp count)
{
    const int nd = PyArray_NDIM(mask);
    const npy_intp width = PyArray_DIM(mask, nd - 1);
    const npy_bool *row = PyArray_DATA(mask), *end = row + PyArray_SIZE(mask);
    npy_intp outer[CK_MAXDIMS] = {0}, at = 0;
    for (; row < end && at < count; row += width) {
        npy_intp first = at;
        at = row_places(row, width, to[nd - 1], at, count);
        for (int axis = 0; axis < nd - 1; axis++)
            for (npy_intp k = first; k < at; k++)
                to[axis][k] = outer[axis];
        for (int axis = nd - 2; axis >= 0 && ++outer[axis] == PyArray_DIM(mask, axis); axis--)
            outer[axis] = 0;
    }
    for (int axis = 0; axis < nd; axis++)
        memset(to[axis] + at, 0, (count - at) * sizeof **to);
}

/* The places of what is true in a mask, a vector for each axis, in slots; 0 where that is not what
   is asked for, -1 with an error. */
static int places(const cut *c, PyObject *const *values, PyObject **slots)
{
    PyArrayObject *mask = (PyArrayObject *)values[c->n - 1];
    const int nd = PyArray_NDIM(mask);
    if (PyArray_TYPE(mask) != NPY_BOOL || nd < 1 || nd != c->made || !PyArray_IS_C_CONTIGUOUS(mask))
        return 0;
    if (c->axis >= 0) {
        PyArrayObject *x = (PyArrayObject *)values[0];
        for (int axis = 0; axis < nd; axis++)
            if (c->axis + axis >= PyArray_NDIM(x)
                || PyArray_DIM(x, c->axis + axis) != PyArray_DIM(mask, axis))
                return 0;
    }
    npy_intp count = count_true(PyArray_DATA(mask), PyArray_SIZE(mask));
    int64_t *to[CK_MAXDIMS];
    for (int axis = 0; axis < nd; axis++) {
        slots[axis] = PyArray_SimpleNew(1, &count, NPY_INT64);
        if (!slots[axis])
            return -1;
        to[axis] = PyArray_DATA((PyArrayObject *)slots[axis]);
    }
    write_places(mask, to, count);
    return 1;
}

static PyObject *call_plain(PyObject *function, PyObject *const *values, Py_ssize_t n)
{
    PyObject *packed = ck_tuple_of(values, n);
    PyObject *found = packed ? PyObject_Call(function, packed, NULL) : NULL;
    Py_XDECREF(packed);
    return found;
}

static PyObject *call_whole(PyObject *function, PyObject *const *values, Py_ssize_t n)
{
    PyObject *list = PyList_New(n);
    for (Py_ssize_t i = 0; list && i < n; i++)
        PyList_SET_ITEM(list, i, Py_NewRef(values[i]));
    PyObject *found = list ? PyObject_CallFunctionObjArgs(function, list, NULL) : NULL;
    Py_XDECREF(list);
    return found;
}

/* What a cut makes, in slots. */
static int compute(const cut *c, PyObject *const *values, PyObject **slots)
{
    int done = c->how == PLACES ? places(c, values, slots) : 0;
    if (done)
        return done;
    PyObject *found = c->plain != Py_None ? call_plain(c->plain, values, c->n) : NULL;
    if (!found && (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_Exception))) {
        PyErr_Clear();           /* the one with checks finds the same problem, and says it well */
        found = call_whole(c->whole, values, c->n);
    }
    PyObject *parts = !found || PyTuple_Check(found) ? Py_XNewRef(found)
                      : PyList_Check(found) ? PySequence_Tuple(found) : PyTuple_Pack(1, found);
    Py_XDECREF(found);
    if (parts && PyTuple_GET_SIZE(parts) != c->made)
        PyErr_SetString(PyExc_ValueError, "NumPy made another number of arrays");
    else if (parts)
        done = 1;
    for (Py_ssize_t i = 0; done && i < c->made; i++) {
        PyObject *one = PyTuple_GET_ITEM(parts, i), *dtype = PyTuple_GET_ITEM(c->dtypes, i);
        if (PyArray_CheckExact(one) && (PyObject *)PyArray_DESCR((PyArrayObject *)one) == dtype)
            slots[i] = Py_NewRef(one);
        else
            slots[i] = PyArray_FromAny(one, (PyArray_Descr *)Py_NewRef(dtype), 0, 0,
                                       NPY_ARRAY_FORCECAST | NPY_ARRAY_ENSUREARRAY, NULL);
        done = slots[i] != NULL;
    }
    Py_XDECREF(parts);
    return done ? 1 : -1;
}

/* ---- a call ---- */
typedef struct { PyObject **at, *few[FEW]; Py_ssize_t n, room; } row;    /* owned, or NULL */

static int make_room(row *r, Py_ssize_t n)
{
    if (n > r->room) {
        PyObject **new = calloc(2 * n, sizeof *new);
        if (!new) {
            PyErr_NoMemory();
            return -1;
        }
        memcpy(new, r->at, r->n * sizeof *new);
        if (r->at != r->few)
            free(r->at);
        r->at = new;
        r->room = 2 * n;
    }
    for (; r->n < n; r->n++)
        r->at[r->n] = NULL;
    return 0;
}

static void drop(row *r)
{
    while (r->n)
        Py_XDECREF(r->at[--r->n]);
    if (r->at != r->few)
        free(r->at);
}

static row empty(void) { return (row){.room = FEW}; }

static PyObject *run_piece(const ck_stage *s, const row *slots)
{
    row args = empty();
    PyObject *found = NULL;
    args.at = args.few;
    if (make_room(&args, s->read.n) == 0) {
        for (Py_ssize_t i = 0; i < s->read.n; i++)
            args.at[i] = Py_NewRef(slots->at[s->read.at[i]]);
        found = PyObject_TypeCheck(s->function, ck_function_type)
                    ? ck_call(s->function, args.at, args.n, NULL)
                    : ck_list_of_arrays(s->function, args.at, args.n);
    }
    drop(&args);
    return found;
}

static PyObject *operand_of(const operand *o, const row *slots, PyObject *found)
{
    if (o->from == RESULT)
        return found ? Py_XNewRef(PyList_GetItem(found, o->index)) : NULL;
    if (o->from == OBJECT)
        return Py_NewRef(o->more);
    PyObject *x = slots->at[o->index];
    return o->more ? PyObject_CallFunctionObjArgs(o->more, x, NULL) : Py_NewRef(x);
}

/* Everything that a stage does; the list of results of the last one, None of others. */
static PyObject *run_stage(const ck_stage *s, row *slots)
{
    PyObject *found = s->function ? run_piece(s, slots) : NULL, *done = NULL;
    if (s->function && !found)
        return NULL;
    if (!s->n_cuts)
        return found ? found : PyList_New(0);
    Py_ssize_t made = 0, n = found ? PyList_GET_SIZE(found) : 0;
    for (Py_ssize_t i = 0; i < s->n_cuts; i++)
        made += s->cuts[i].made;
    row values = empty();
    values.at = values.few;
    if (s->handed > n)
        PyErr_SetString(PyExc_ValueError, "a piece gave fewer arrays than are handed on");
    else if (make_room(slots, s->before + s->handed + made) == 0
             && make_room(&values, s->n_operands) == 0)
        done = Py_None;
    for (Py_ssize_t i = 0; done && i < s->handed; i++)
        slots->at[s->before + i] = Py_NewRef(PyList_GET_ITEM(found, n - s->handed + i));
    for (Py_ssize_t i = 0; done && i < s->n_operands; i++)
        if (!(values.at[i] = operand_of(s->operands + i, slots, found)))
            done = NULL;
    PyObject **from = values.at, **to = slots->at + s->before + s->handed;
    for (const cut *c = s->cuts; done && c < s->cuts + s->n_cuts; from += c->n, to += c->made, c++)
        if (compute(c, from, to) < 0)
            done = NULL;
    drop(&values);
    Py_XDECREF(found);
    for (Py_ssize_t i = 0; done && i < s->dead.n; i++)
        Py_CLEAR(slots->at[s->dead.at[i]]);
    return Py_XNewRef(done);
}

/* The list of results for the arrays in the first slots. */
static PyObject *run(ck_stage *first, PyObject *const *arrays, Py_ssize_t n)
{
    row slots = empty();
    slots.at = slots.few;
    ck_stage *s = (ck_stage *)Py_NewRef((PyObject *)first);
    PyObject *done = NULL;
    if (make_room(&slots, n) == 0) {
        for (Py_ssize_t i = 0; i < n; i++)
            slots.at[i] = Py_NewRef(arrays[i]);
        done = Py_None;
    }
    while (done == Py_None) {
        ck_stage *next = next_of(first, s, slots.at, slots.n);
        Py_DECREF((PyObject *)s);
        if (!(s = next))
            break;
        done = run_stage(s, &slots);
        if (done == Py_None)
            Py_DECREF(done);
    }
    if (done == Py_None)
        done = NULL;
    Py_XDECREF((PyObject *)s);
    drop(&slots);
    return done;
}

static PyObject *stage_run(PyObject *self, PyObject *list)
{
    if (!PyList_CheckExact(list)) {
        PyErr_SetString(PyExc_TypeError, "run takes a list of arrays");
        return NULL;
    }
    row args = empty();
    PyObject *found = NULL;
    args.at = args.few;
    Py_ssize_t n = PyList_GET_SIZE(list);
    if (make_room(&args, n) == 0) {
        for (Py_ssize_t i = 0; i < n; i++)
            args.at[i] = Py_NewRef(PyList_GET_ITEM(list, i));
        found = run((ck_stage *)self, args.at, n);
    }
    drop(&args);
    return found;
}

PyObject *ck_stage_call(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    const ck_stage *s = (ck_stage *)self;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!PyArray_CheckExact(args[i]) || !PyArray_ISALIGNED((PyArrayObject *)args[i]))
            return ck_list_of_arrays(s->owner, args, n);
    return run((ck_stage *)self, args, n);
}

/* ---- the type ---- */
static int stage_traverse(PyObject *self, visitproc visit, void *arg)
{
    const ck_stage *s = (ck_stage *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(s->kept);
    for (class *c = s->classes; c; c = c->next)
        Py_VISIT((PyObject *)c->following);
    return 0;
}

static int stage_clear(PyObject *self)
{
    class *gone = ((ck_stage *)self)->classes;
    ((ck_stage *)self)->classes = NULL;
    forget(gone);
    return 0;
}

static void stage_dealloc(PyObject *self)
{
    ck_stage *s = (ck_stage *)self;
    PyObject_GC_UnTrack(self);
    stage_clear(self);
    Py_XDECREF(s->kept);
    free(s->read.at);
    free(s->known.at);
    free(s->dead.at);
    free(s->operands);
    free(s->cuts);
    ck_delete(self);
}

static PyMethodDef methods[] = {
    {"take", stage_take, METH_VARARGS,
     "take(owner, piece or None, slots it reads, slots whose sizes say what comes next, slots that\n"
     "nobody reads any more, slots before, results that are handed on, operands of cuts (0: a\n"
     "result, 1: a slot or 2: an object, number, the object or what makes a view of the slot or\n"
     "None), cuts (0: called or 1: places of a mask, operands, axis, plain(*arrays) or None,\n"
     "whole(list of arrays), dtypes)): what it does. Without cuts it is the last."},
    {"learn", stage_learn, METH_VARARGS,
     "learn(sizes, code, args, assumed, stage): which one comes next where the known slots are of\n"
     "such sizes, -1 for those that are symbols; see sizes.c."},
    {"run", stage_run, METH_O, "run(list of arrays) -> list of arrays: this stage is the first."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)"Stage(): one of the pieces of a function between which NumPy computes."},
    {Py_tp_traverse, stage_traverse},
    {Py_tp_clear, stage_clear},
    {Py_tp_dealloc, stage_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec ck_stage_spec = {
    .name = "ckernels._runtime.Stage",
    .basicsize = sizeof(ck_stage),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
