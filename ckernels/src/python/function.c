/* function.c: the type around executor.c's call path: construction, methods, garbage collection. */
#include "python/python.h"

static int parse_inputs(ck_function *fn, PyObject *list)
{
    Py_ssize_t n = PyList_GET_SIZE(list);
    fn->inputs = PyMem_Calloc(n + 1, sizeof(ck_input));
    if (!fn->inputs) {
        PyErr_NoMemory();
        return -1;
    }
    for (fn->n_inputs = n; n > 0; n--) {
        ck_input *in = fn->inputs + fn->n_inputs - n;
        PyObject *dtype, *item = PyList_GetItem(list, fn->n_inputs - n);
        if (!item)
            return -1;
        if (!PyTuple_Check(item)) {
            PyErr_SetString(PyExc_TypeError, "inputs is a list of (dtype, ndim)");
            return -1;
        }
        if (!PyArg_ParseTuple(item, "Oi", &dtype, &in->nd) || !(in->descr = ck_native_descr(dtype)))
            return -1;
        if (in->nd < 0 || in->nd > CK_MAXDIMS) {
            PyErr_Format(PyExc_ValueError, "an input has 0 to %d dimensions, not %d", CK_MAXDIMS,
                         in->nd);
            return -1;
        }
        fn->key_size += 2 * in->nd + 1;
    }
    return 0;
}

static int parse_cells(ck_function *fn, PyObject *list)
{
    fn->cell_tuple = PySequence_Tuple(list);
    if (!fn->cell_tuple)
        return -1;
    Py_ssize_t n = PyTuple_GET_SIZE(fn->cell_tuple);
    fn->cells = PyMem_Calloc(n + 1, sizeof(ck_cell *));
    fn->layouts = PyMem_Calloc(n + 1, sizeof(int64_t));
    fn->updates = PyMem_Calloc(n + 1, 1);
    fn->flexible = PyMem_Calloc(n + 1, 1);
    if (!fn->cells || !fn->layouts || !fn->updates || !fn->flexible) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        ck_cell *cell = (ck_cell *)PyTuple_GET_ITEM(fn->cell_tuple, i);
        if (!PyObject_TypeCheck((PyObject *)cell, ck_cell_type)) {
            PyErr_Format(PyExc_TypeError, "cells[%zd] is no Cell", i);
            return -1;
        }
        for (Py_ssize_t j = 0; j < i; j++)
            if (fn->cells[j] == cell) {
                PyErr_Format(PyExc_ValueError, "cells[%zd] and cells[%zd] are the same", j, i);
                return -1;
            }
        fn->cells[i] = cell;
        fn->layouts[i] = cell->layout;
    }
    fn->n_cells = n;
    fn->key_size += n;
    return 0;
}

/* Set flags[i] for every index in the list. */
static int parse_indices(PyObject *list, const char *name, Py_ssize_t n, char *flags)
{
    PyObject *seq = PySequence_Fast(list, "updated and flexible are lists of indices");
    if (!seq)
        return -1;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(seq) && !PyErr_Occurred(); i++) {
        Py_ssize_t k = PyNumber_AsSsize_t(PySequence_Fast_GET_ITEM(seq, i), PyExc_OverflowError);
        if (k >= 0 && k < n)
            flags[k] = 1;
        else if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%s: there is no cell %zd", name, k);
    }
    Py_DECREF(seq);
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"bind", "coerce", "fail", "inputs", "cells", "updated", "single",
                            "flexible", "positional_only", NULL};
    PyObject *bind, *coerce, *fail, *inputs, *cells, *updated, *flexible;
    int single, positional_only = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO!OOpO|p:Function", names, &bind, &coerce,
                                     &fail, &PyList_Type, &inputs, &cells, &updated, &single,
                                     &flexible, &positional_only))
        return NULL;
    if (!PyCallable_Check(bind) || !PyCallable_Check(coerce) || !PyCallable_Check(fail)) {
        PyErr_SetString(PyExc_TypeError, "bind, coerce and fail must be callable");
        return NULL;
    }
    ck_function *fn = (ck_function *)PyType_GenericAlloc(type, 0);
    if (!fn)
        return NULL;
    fn->vectorcall = ck_call;
    fn->bind = Py_NewRef(bind);
    fn->coerce = Py_NewRef(coerce);
    fn->fail = Py_NewRef(fail);
    fn->single = (char)single;
    fn->positional_only = (char)positional_only;
    if (parse_inputs(fn, inputs) < 0 || parse_cells(fn, cells) < 0
        || parse_indices(updated, "updated", fn->n_cells, fn->updates) < 0
        || parse_indices(flexible, "flexible", fn->n_cells, fn->flexible) < 0)
        Py_CLEAR(fn);
    for (Py_ssize_t i = 0; fn && i < fn->n_cells; i++)
        if (fn->updates[i])
            fn->n_locked = fn->n_cells;      /* reads take part in the order of updates too */
    return (PyObject *)fn;
}

static int function_traverse(PyObject *self, visitproc visit, void *arg)
{
    ck_function *fn = (ck_function *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(fn->bind);
    Py_VISIT(fn->coerce);
    Py_VISIT(fn->fail);
    Py_VISIT(fn->info);
    Py_VISIT(fn->keywords);
    Py_VISIT(fn->rescue);
    Py_VISIT(fn->cell_tuple);
    Py_VISIT(fn->classes);
    for (int i = 0; i < fn->n_entries; i++)
        Py_VISIT(fn->entries[i]->plan);
    return 0;
}

/* The cells stay: they hold arrays only, and dealloc frees them. */
static int function_clear(PyObject *self)
{
    ck_function *fn = (ck_function *)self;
    Py_CLEAR(fn->bind);
    Py_CLEAR(fn->coerce);
    Py_CLEAR(fn->fail);
    Py_CLEAR(fn->info);
    Py_CLEAR(fn->keywords);
    Py_CLEAR(fn->rescue);
    ck_drop_plans(fn);
    return 0;
}

static void function_dealloc(PyObject *self)
{
    ck_function *fn = (ck_function *)self;
    PyObject_GC_UnTrack(self);
    if (fn->weakrefs)
        PyObject_ClearWeakRefs(self);
    function_clear(self);
    for (Py_ssize_t i = 0; i < fn->n_inputs; i++)
        Py_XDECREF(fn->inputs[i].descr);
    Py_XDECREF(fn->cell_tuple);
    PyMem_Free(fn->inputs);
    PyMem_Free(fn->cells);
    PyMem_Free(fn->layouts);
    PyMem_Free(fn->updates);
    PyMem_Free(fn->flexible);
    ck_delete(self);
}

static PyObject *function_clear_plans(PyObject *self, PyObject *unused)
{
    (void)unused;
    ck_drop_plans((ck_function *)self);
    Py_RETURN_NONE;
}

static PyObject *function_learn(PyObject *self, PyObject *found)
{
    ck_function *fn = (ck_function *)self;
    if (!PyObject_TypeCheck(found, ck_class_type)) {
        PyErr_Format(PyExc_TypeError, "learn takes a Class, not %R", (PyObject *)Py_TYPE(found));
        return NULL;
    }
    if ((!fn->classes && !(fn->classes = PyList_New(0))) || PyList_Insert(fn->classes, 0, found) < 0)
        return NULL;
    Py_ssize_t n = PyList_GET_SIZE(fn->classes);
    if (n > CK_CLASSES && PyList_SetSlice(fn->classes, CK_CLASSES, n, NULL) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *function_profile(PyObject *self, PyObject *on)
{
    int yes = PyObject_IsTrue(on);
    if (yes < 0)
        return NULL;
    ((ck_function *)self)->profile = (char)yes;
    Py_RETURN_NONE;
}

/* What `rows` makes of a plan, which lives until then though a collection may run Python. */
static PyObject *rows_of(ck_plan *plan, PyObject *(*rows)(ck_plan *))
{
    Py_INCREF(plan);
    PyObject *found = rows(plan);
    Py_DECREF(plan);
    return found;
}

static PyObject *function_profile_data(PyObject *self, PyObject *unused)
{
    ck_function *fn = (ck_function *)self;
    (void)unused;
    return fn->last ? rows_of(fn->last->plan, ck_profile_rows) : PyList_New(0);
}

static PyObject *function_span_data(PyObject *self, PyObject *unused)
{
    ck_function *fn = (ck_function *)self;
    (void)unused;
    return fn->last ? rows_of(fn->last->plan, ck_span_rows) : Py_BuildValue("([]i)", 0);
}

static PyObject *function_plans(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(((ck_function *)self)->n_entries);
}

static PyObject *function_peak(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(((ck_function *)self)->peak);
}

/* With the name and the inputs, as the maker of the function writes it. */
static PyObject *function_repr(PyObject *self)
{
    ck_function *fn = (ck_function *)self;
    if (fn->info && fn->info != Py_None)
        return PyObject_Repr(fn->info);
    return PyUnicode_FromFormat("<compiled function of %zd inputs and %zd variables, %d plans>",
                                fn->n_inputs, fn->n_cells, fn->n_entries);
}

/* What users have: the names that the maker of the function lists. */
static PyObject *function_dir(PyObject *self, PyObject *unused)
{
    PyObject *info = ((ck_function *)self)->info;
    (void)unused;
    return PyObject_Dir(info && info != Py_None ? info : (PyObject *)Py_TYPE(self));
}

/* Attributes the C type does not have are those of `info`: stats(), source() of its maker. */
static PyObject *function_getattro(PyObject *self, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr(self, name);
    PyObject *info = ((ck_function *)self)->info;
    if (found || !info || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return found;
    PyErr_Clear();
    if (Py_EnterRecursiveCall(" while looking in a function's info"))
        return NULL;
    Py_INCREF(info);             /* Python code behind an attribute may replace it */
    found = PyObject_GetAttr(info, name);
    Py_DECREF(info);
    Py_LeaveRecursiveCall();
    return found;
}

/* address(...) is info.c_function(self, ...): unlike other attributes it holds the function. */
static PyObject *function_address(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *info = ((ck_function *)self)->info, *result = NULL;
    PyObject *make = info ? PyObject_GetAttrString(info, "c_function") : NULL;
    PyObject *first = make ? PyTuple_Pack(1, self) : NULL;
    PyObject *all = first ? PySequence_Concat(first, args) : NULL;
    if (all)
        result = PyObject_Call(make, all, kwargs);
    else if (!info)
        PyErr_SetString(PyExc_AttributeError, "address");
    Py_XDECREF(make);
    Py_XDECREF(first);
    Py_XDECREF(all);
    return result;
}

/* f(*args, **kwargs) from code that does not know vectorcall. */
static PyObject *function_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t n = PyTuple_GET_SIZE(args), named = kwargs ? PyDict_Size(kwargs) : 0, at = 0, i = n;
    PyObject **all = PyMem_Calloc(n + named + 1, sizeof(*all)), *names = PyTuple_New(named);
    PyObject *key, *value, *result = NULL;
    if (!all)
        PyErr_NoMemory();
    for (Py_ssize_t j = 0; all && j < n; j++)
        all[j] = PyTuple_GET_ITEM(args, j);
    while (all && names && named && PyDict_Next(kwargs, &at, &key, &value)) {
        PyTuple_SET_ITEM(names, i - n, Py_NewRef(key));
        all[i++] = value;
    }
    if (all && names)
        result = ck_call(self, all, n, names);
    Py_XDECREF(names);
    PyMem_Free(all);
    return result;
}

/* What base/given.py makes of an argument; it raises a UsageError that says what it has to be. */
static PyObject *as_given(const char *kind, PyObject *given, const char *what)
{
    PyObject *module = PyImport_ImportModule("ckernels.base.given");
    PyObject *found = module ? PyObject_CallMethod(module, kind, "Os", given, what) : NULL;
    Py_XDECREF(module);
    return found;
}

/* An iterator over the rows of `over` or over one of them. */
static PyObject *walk(PyObject *given, const char *what)
{
    PyObject *found = PyObject_GetIter(given);
    if (found || !PyErr_ExceptionMatches(PyExc_TypeError))
        return found;
    PyErr_Clear();
    return as_given("walked", given, what);
}

/* f(*row) of one row. */
static PyObject *call_row(PyObject *self, PyObject *row)
{
    PyObject *items = PyErr_CheckSignals() ? NULL : PyTuple_Check(row) || PyList_Check(row)
        ? Py_NewRef(row) : walk(row, "each row of over");
    PyObject *args = items ? PySequence_Tuple(items) : NULL;
    Py_XDECREF(items);
    PyObject *result = NULL, *all[CK_MAXDIMS];
    Py_ssize_t n = args ? PyTuple_GET_SIZE(args) : 0;
    for (Py_ssize_t i = 0; i < n && n <= CK_MAXDIMS; i++)
        all[i] = PyTuple_GET_ITEM(args, i);
    if (args)
        result = n <= CK_MAXDIMS ? ck_call(self, all, n, NULL) : function_call(self, args, NULL);
    Py_XDECREF(args);
    return result;
}

/* f(*row) for each row in turn: a list of the results, or the last one alone. */
static PyObject *function_over(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"rows", "last", NULL};
    PyObject *given, *row, *found, *alone = Py_False;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:over", names, &given, &alone))
        return NULL;
    int last = alone == Py_True;
    if (!PyBool_Check(alone)) {
        found = as_given("flag", alone, "last");
        last = found ? PyObject_IsTrue(found) : -1;
        Py_XDECREF(found);
        if (last < 0)
            return NULL;
    }
    PyObject *rows = walk(given, "rows of over");
    PyObject *results = last ? Py_NewRef(Py_None) : PyList_New(0);
    while (rows && results && (row = PyIter_Next(rows))) {
        found = call_row(self, row);
        Py_DECREF(row);
        if (last || !found) {
            Py_DECREF(results);
            results = found;
            continue;
        }
        if (PyList_Append(results, found) < 0)
            Py_CLEAR(results);
        Py_DECREF(found);
    }
    Py_XDECREF(rows);
    if (PyErr_Occurred())
        Py_CLEAR(results);
    return results;
}

/* The list `cells[i]` of a tuple, of at least one item. */
static PyObject *list_of(PyObject *cells, Py_ssize_t i)
{
    PyObject *list = PyTuple_GET_ITEM(cells, i);
    if (PyList_Check(list) && PyList_GET_SIZE(list) > 0)
        return list;
    PyErr_SetString(PyExc_TypeError, "through takes tuples of lists that are not empty");
    return NULL;
}

/* Whether the first items of lists are arrays of the very bytes of `arrays`, all in C order. */
static int are_known(PyObject *cells, PyObject *arrays)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arrays); i++) {
        PyObject *list = list_of(cells, i), *known = PyTuple_GET_ITEM(arrays, i);
        PyObject *value = list ? PyList_GET_ITEM(list, 0) : NULL;
        if (!value)
            return -1;
        PyArrayObject *a = (PyArrayObject *)value, *b = (PyArrayObject *)known;
        if (!PyArray_CheckExact(value) || !PyArray_CheckExact(known)
            || PyArray_DESCR(a) != PyArray_DESCR(b) || !PyArray_IS_C_CONTIGUOUS(a)
            || !PyArray_IS_C_CONTIGUOUS(b) || PyArray_NDIM(a) != PyArray_NDIM(b)
            || !PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a))
            || memcmp(PyArray_DATA(a), PyArray_DATA(b), PyArray_NBYTES(b)))
            return 0;
    }
    return 1;
}

/* Put results into the first items of lists. */
static int put_first(PyObject *cells, PyObject *results)
{
    Py_ssize_t n = PyTuple_GET_SIZE(cells);
    if (!PyList_Check(results) || PyList_GET_SIZE(results) != n) {
        PyErr_Format(PyExc_TypeError, "through takes %zd lists for the results of a function that "
                     "gives another number", n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *list = list_of(cells, i);
        if (!list || PyList_SetItem(list, 0, Py_NewRef(PyList_GET_ITEM(results, i))) < 0)
            return -1;
    }
    return 0;
}

static PyObject *function_through(PyObject *self, PyObject *args)
{
    PyObject *given, *taken, *cells = NULL, *arrays = NULL, *few[CK_MAXDIMS], *result = NULL;
    if (!PyArg_ParseTuple(args, "O!O!|O!O!:through", &PyTuple_Type, &given, &PyTuple_Type, &taken,
                          &PyTuple_Type, &cells, &PyTuple_Type, &arrays))
        return NULL;
    if (arrays && PyTuple_GET_SIZE(arrays) != PyTuple_GET_SIZE(cells))
        return PyErr_Format(PyExc_ValueError, "through takes as many arrays as lists of them");
    int known = arrays ? are_known(cells, arrays) : 1;
    if (known <= 0)
        return known < 0 ? NULL : Py_NewRef(Py_None);
    Py_ssize_t n = PyTuple_GET_SIZE(given), i = 0;
    PyObject **all = n <= CK_MAXDIMS ? few : PyMem_Malloc(n * sizeof(*all));
    if (!all)
        return PyErr_NoMemory();
    for (PyObject *list; i < n && (list = list_of(given, i)); i++)
        all[i] = Py_NewRef(PyList_GET_ITEM(list, 0));
    if (i == n)
        result = ck_call(self, all, n, NULL);
    while (i > 0)
        Py_DECREF(all[--i]);
    if (all != few)
        PyMem_Free(all);
    if (result && put_first(taken, result) < 0)
        Py_CLEAR(result);
    return result;
}

static PyMethodDef function_methods[] = {
    {"address", (PyCFunction)(void (*)(void))function_address, METH_VARARGS | METH_KEYWORDS,
     "address($self, /, signature, *arrays, bound=None)\n--\n\n"
     "A C function pointer of this function for fixed shapes, without Python or GIL.\n\n"
     "signature: the C type, such as 'double (double, void *)', with the entry's user_data last.\n"
     "arrays: examples of the inputs that callers give; none where all shapes are declared.\n"
     "bound: {name or index: array}, inputs that stay what they are."},
    {"__dir__", function_dir, METH_NOARGS, "__dir__() -> the names that users have."},
    {"clear", function_clear_plans, METH_NOARGS,
     "clear(): drop all plans; the next call binds again."},
    {"learn", function_learn, METH_O,
     "learn(class): make plans for its shapes without bind from now on."},
    {"over", (PyCFunction)(void (*)(void))function_over, METH_VARARGS | METH_KEYWORDS,
     "over($self, /, rows, last=False)\n--\n\n"
     "f(*row) for each row of arguments in turn, by a loop in C: a list of the results, or with\n"
     "last=True the last one alone (None for no rows). An error ends it; updates before it stay."},
    {"profile", function_profile, METH_O,
     "profile(on): count calls and time of every instruction."},
    {"profile_data", function_profile_data, METH_NOARGS,
     "profile_data() -> list of (tag, calls, ns) of the plan used last."},
    {"span_data", function_span_data, METH_NOARGS,
     "span_data() -> ([(tag, thread, from, to in ns)], how many are missing) of the last call."},
    {"through", function_through, METH_VARARGS,
     "through(given, results, cells=(), arrays=()) -> f(*[c[0] for c in given]), whose results are\n"
     "put into c[0] of each list of `results`. None, and nothing is done, where c[0] of a list of\n"
     "`cells` is not what its array is, byte for byte."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef function_attributes[] = {
    {"plans", function_plans, NULL, "How many plans (one per combination of shapes) there are.",
     NULL},
    {"peak_bytes", function_peak, NULL, "The largest arena of all plans so far.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef function_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ck_function, weakrefs), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ck_function, vectorcall), READONLY, NULL},
    {"info", T_OBJECT, offsetof(ck_function, info), 0,
     "Any object, for the maker of the function: its attributes show up here."},
    {"keywords", T_OBJECT, offsetof(ck_function, keywords), 0,
     "None, or keywords(function, args, kwargs): what a call with keywords does."},
    {"rescue", T_OBJECT, offsetof(ck_function, rescue), 0,
     "None, or rescue(*arrays): what gives the results, or another error, where a call failed."},
    {"written", T_BOOL, offsetof(ck_function, written), 0,
     "Whether the last call that failed may have changed arrays that it writes into."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot function_slots[] = {
    {Py_tp_doc, (void *)
     "Function(bind, coerce, fail, inputs, cells, updated, single, flexible,\n"
     "         positional_only=False)\n--\n\n"
     "A compiled function, made by K.function: f(a, b), f([a, b]) or f(x=a, y=b) computes\n"
     "its outputs as new arrays and then applies its updates.\n\n"
     "  f.over(rows)       a list of f(*row) for each row; last=True: the last result alone\n"
     "  f.steps()          what it does, one line per instruction of the last call\n"
     "  f.explain()        the same with the lines of the program, and why it does no more\n"
     "  f.stats()          what was built: kernels, plans, bytes, seconds in the compiler\n"
     "  f.source()         the generated C\n"
     "  f.profile_table()  the time of each instruction, with K.function(..., profile=True)\n"
     "  f.timeline()       which thread did what when in the last call, with profile=True\n"
     "  f.assumptions()    what the plan takes for granted of sizes\n"
     "  f.copy(...)        the same on other variables, or without updates\n"
     "  f.address(...)     a C function pointer, for fixed shapes\n"
     "  f.name, f.inputs, f.outputs, f.updates, f.optimised    what it was made of\n\n"
     "The rest belongs to the engine, which makes functions by:\n"
     "bind(arrays) -> Plan for these shapes. coerce(i, value) -> ndarray for input i;\n"
     "coerce(-1, (args, kwargs)) -> list of all. fail(code, tag, arrays) -> exception.\n"
     "inputs: list of (dtype, ndim). cells: list of Cell. updated, flexible: indices of cells\n"
     "that runs replace, that may change their shape. single: return the one output, no list."},
    {Py_tp_new, function_new},
    {Py_tp_dealloc, function_dealloc},
    {Py_tp_traverse, function_traverse},
    {Py_tp_clear, function_clear},
    {Py_tp_methods, function_methods},
    {Py_tp_getset, function_attributes},
    {Py_tp_members, function_members},
    {Py_tp_repr, function_repr},
    {Py_tp_getattro, function_getattro},
    {Py_tp_call, function_call},
    {0, NULL},
};

PyType_Spec ck_function_spec = {
    .name = "ckernels._runtime.Function",
    .basicsize = sizeof(ck_function),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = function_slots,
};
