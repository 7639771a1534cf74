/* dispatch.c: Dispatch, the base of `ck.jit(f)`: from the arguments of a call to the compiled
   functions of a trace, without Python.

   A few traces are remembered (traces.c), each with what it was made for: the nesting of arguments
   and values of names, as jit/trees.py describes it, kinds of their leaves, and objects that names
   must still have. Compiled truth values lead to one of its ends, as jit/branches.py has them. A call
   that fits (fits.c) goes there (results.c), or to the callable to which calls of its kind are left;
   any other one, or one that fails before it wrote anything, to the method `called`, which knows all
   the rest; one for which the trace does not hold to `missed`, and where what it stores would reach
   memory of two arguments, or none, to `shared`. */
#include "python/dispatch.h"

typedef struct {
    PyObject_HEAD
    trace *last;
} ck_dispatch;

enum { MOST_TRACES = 4 };        /* that are tried before Python looks for one */

static void drop_leaves(call *c)
{
    while (c->n)
        Py_DECREF(c->leaves[--c->n]);
}

/* Take a trace out of those of a Dispatch; whether it was among them. */
static int take_out(ck_dispatch *self, const trace *t)
{
    trace **at = &self->last;
    while (*at && *at != t)
        at = &(*at)->next;
    if (!*at)
        return 0;
    *at = t->next;
    return 1;
}

/* Of the traces whose leaves lie where they do beside one another, or of the others, the one that a
   call fits, held, with the leaves of the call; or NULL. Python may run while one is compared: the list
   is walked anew if it changed. */
static trace *find_among(ck_dispatch *self, int placed, call *c)
{
    trace *t = self->last, *next;
    for (int i = 0; t && i < MOST_TRACES; i++, t = next) {
        next = t->next;
        if (t->placed != placed)
            continue;
        t->held++;
        c->t = t;
        c->n = c->n_holders = 0;
        c->object = NULL;
        if (ck_call_fits(c)) {
            if (t != self->last && take_out(self, t)) {
                t->next = self->last;
                self->last = t;
            }
            return t;
        }
        drop_leaves(c);
        PyErr_Clear();
        next = t->held > 1 ? t->next : NULL;     /* NULL: others forgot it meanwhile */
        ck_trace_drop(t);
    }
    return NULL;
}

static trace *find_trace(ck_dispatch *self, call *c)
{
    trace *t = find_among(self, 1, c);
    return t ? t : find_among(self, 0, c);
}

static PyObject *dispatch_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    call c;
    outcome out = TRIED;
    PyObject *left = NULL;
    c.args = args;
    c.kwargs = kwargs;
    trace *t = find_trace((ck_dispatch *)self, &c);
    if (t) {
        PyObject *result = ck_run_trace(&c, &out, &left);
        drop_leaves(&c);
        ck_trace_drop(t);
        if (result || out == WRITTEN
            || (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)))
            return result;
        PyErr_Clear();           /* `called` finds the same problem and says what to do */
    }
    static const char *const others[] = {"called", "missed", "shared", "called"};
    PyObject *called = left ? left : PyObject_GetAttrString(self, others[out]);
    PyObject *result = called ? PyObject_Call(called, args, kwargs) : NULL;
    Py_XDECREF(called);
    return result;
}

/* Whether two traces are of the same calls; a comparison that fails says no. */
static int same_calls(const trace *a, const trace *b)
{
    int same = a->described == b->described ? PyObject_RichCompareBool(a->kinds, b->kinds, Py_EQ) : 0;
    if (same < 0)
        PyErr_Clear();
    return same > 0;
}

/* Drop the traces from `t` on. */
static void drop_all(trace *t)
{
    while (t) {
        trace *next = t->next;
        t->next = NULL;
        ck_trace_drop(t);
        t = next;
    }
}

static PyObject *dispatch_remember(PyObject *self, PyObject *args)
{
    ck_dispatch *d = (ck_dispatch *)self;
    trace *t = ck_trace_parse(args), *old = NULL, *last;
    if (!t)
        return NULL;
    for (trace *each = d->last; each && !old; each = each->next)
        if (same_calls(t, each))
            old = each;
    if (old && take_out(d, old))
        old->next = NULL;
    else
        old = NULL;
    t->next = d->last;
    d->last = last = t;
    for (int i = 1; last && i < MOST_TRACES; i++)
        last = last->next;
    trace *gone = last ? last->next : NULL;
    if (last)
        last->next = NULL;
    drop_all(gone);
    drop_all(old);
    Py_RETURN_NONE;
}

static PyObject *dispatch_forget(PyObject *self, PyObject *unused)
{
    trace *old = ((ck_dispatch *)self)->last;
    (void)unused;
    ((ck_dispatch *)self)->last = NULL;
    drop_all(old);
    Py_RETURN_NONE;
}

/* ---- the type ---- */
static int dispatch_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    for (trace *t = ((ck_dispatch *)self)->last; t; t = t->next)
        Py_VISIT(t->kept);
    return 0;
}

static int dispatch_clear(PyObject *self)
{
    trace *old = ((ck_dispatch *)self)->last;
    ((ck_dispatch *)self)->last = NULL;
    drop_all(old);
    return 0;
}

static void dispatch_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    dispatch_clear(self);
    ck_delete(self);
}

static PyMethodDef methods[] = {
    {"remember", dispatch_remember, METH_VARARGS,
     "remember(described, leaves, fixed, free, small, node): calls whose arguments and names are\n"
     "nested so, of such leaves, go to the compiled functions. described: of (args, kwargs, list of\n"
     "the values of `free`), by trees.flatten; leaves: of each its type, (type, number) or (dtype,\n"
     "shape with -1 for sizes above `small`, whether it is C-contiguous); fixed: (holder, name,\n"
     "object) that must hold; node: None for what is Python's; (callable,) that such calls are left\n"
     "to; a truth value (function of arrays that gives a list of them, numbers of the leaves that\n"
     "it takes, node if false, node if true); or an end (such a function or None, leaves, whether\n"
     "the first array says if the trace holds,\n"
     "(leaf, number of the array that is stored there, ...), leaves that are arrays, results (how,\n"
     "place, owner, copied, more), nesting)."},
    {"forget", dispatch_forget, METH_NOARGS, "forget(): all calls go to `called` again."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)"Dispatch(): calls compiled functions; subclasses have methods `called`, `missed` and `shared`."},
    {Py_tp_call, dispatch_call},
    {Py_tp_traverse, dispatch_traverse},
    {Py_tp_clear, dispatch_clear},
    {Py_tp_dealloc, dispatch_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec ck_dispatch_spec = {
    .name = "ckernels._runtime.Dispatch",
    .basicsize = sizeof(ck_dispatch),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
