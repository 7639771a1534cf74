/* executor.c: Function, the callable a user gets: arguments in, plan found, frame filled, plan
   run, variables replaced, fresh arrays out. A call with small arrays costs about as much as a
   NumPy ufunc's, so the usual path builds no tuples, parses nothing and keeps the GIL. */
#include "python/python.h"

enum { FEW = 16 };               /* inputs whose pointers fit on the stack */
enum { LOOSE = 1 << 15 };        /* bytes of an array from which kernels read unaligned elements */

/* ---- arguments ---- */
static void ck_replace(PyObject **at, PyObject *value)
{
    PyObject *old = *at;
    *at = value;
    Py_DECREF(old);
}

/* Whether strides are whole numbers of elements: complex numbers lie between those too, as in
   records. */
static int whole_steps(PyArrayObject *a)
{
    for (int i = 0; i < PyArray_NDIM(a); i++)
        if (PyArray_STRIDE(a, i) % PyArray_ITEMSIZE(a))
            return 0;
    return 1;
}

/* Whether kernels read an array that is not aligned as it is: not one so small that a copy costs
   nothing beside kernels of its own, nor one whose steps are no whole elements. */
static int is_read_loose(PyArrayObject *a)
{
    return PyArray_NBYTES(a) >= LOOSE && whole_steps(a);
}

static inline int fits(const ck_input *in, PyObject *arg)
{
    if (!PyArray_CheckExact(arg))
        return 0;
    PyArrayObject *a = (PyArrayObject *)arg;
    PyArray_Descr *d = PyArray_DESCR(a);
    return (d == in->descr || (d->type_num == in->descr->type_num && PyArray_ISNOTSWAPPED(a)))
           && PyArray_NDIM(a) == in->nd && (PyArray_ISALIGNED(a) || is_read_loose(a))
           && (!PyTypeNum_ISCOMPLEX(d->type_num) || whole_steps(a));
}

static void drop_arrays(PyArrayObject **arrays, Py_ssize_t n)
{
    while (n > 0)
        Py_DECREF(arrays[--n]);
}

/* What coerce returned as the array a kernel can read. Another number of the same dtype is fine. */
static PyArrayObject *accept(const ck_input *in, PyObject *value)
{
    if (!value || fits(in, value))
        return (PyArrayObject *)value;
    PyArrayObject *a = (PyArrayObject *)value, *good = NULL;
    if (!PyArray_Check(value) || !PyArray_EquivTypenums(PyArray_TYPE(a), in->descr->type_num)
        || PyArray_NDIM(a) != in->nd)
        PyErr_Format(PyExc_TypeError, "coerce must return an ndarray of dtype %S with %d "
                     "dimensions", (PyObject *)in->descr, in->nd);
    else {
        PyObject *native = PyArray_FromArray(
            a, NULL, NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_ENSUREARRAY);
        if (native) {
            Py_INCREF(in->descr);            /* PyArray_View takes it */
            good = (PyArrayObject *)PyArray_View((PyArrayObject *)native, in->descr, NULL);
        }
        Py_XDECREF(native);
    }
    Py_DECREF(value);
    if (good && !fits(in, (PyObject *)good)) {
        PyErr_SetString(PyExc_TypeError, "coerce returned an array that cannot be made native");
        Py_CLEAR(good);
    }
    return good;
}

/* Wrong count, or keywords: coerce(-1, (args, kwargs)) explains or returns all arrays. */
static PyObject *ask_for_all(PyObject *coerce, PyObject *args, PyObject *const *values,
                             PyObject *names)
{
    PyObject *kwargs = PyDict_New(), *all = NULL;
    for (Py_ssize_t i = 0; kwargs && names && i < PyTuple_GET_SIZE(names); i++)
        if (PyDict_SetItem(kwargs, PyTuple_GET_ITEM(names, i), values[i]) < 0)
            Py_CLEAR(kwargs);
    if (kwargs)
        all = PyObject_CallFunction(coerce, "i(OO)", -1, args, kwargs);
    Py_XDECREF(kwargs);
    if (!all)
        return NULL;
    PyObject *tuple = PySequence_Tuple(all);
    Py_DECREF(all);
    return tuple;
}

/* A copy of an array that only lies wrong in memory, from the pool; NULL without an error where
   more is to be done. */
static PyObject *realigned(const ck_input *in, PyObject *arg)
{
    PyArrayObject *a = (PyArrayObject *)arg;
    if (!PyArray_CheckExact(arg) || PyArray_TYPE(a) != in->descr->type_num
        || !PyArray_ISNOTSWAPPED(a) || PyArray_NDIM(a) != in->nd)
        return NULL;
    ck_spec spec = {.descr = in->descr, .nd = in->nd, .bytes = PyArray_NBYTES(a)};
    for (int axis = 0; axis < in->nd; axis++)
        spec.shape[axis] = PyArray_DIM(a, axis);
    PyArrayObject *copy = ck_fresh(&spec);
    if (copy && PyArray_CopyInto(copy, a) < 0)
        Py_CLEAR(copy);
    return (PyObject *)copy;
}

/* The unusual way: `args` (a private tuple) through coerce, one by one. */
static int coerce_each(ck_function *fn, PyObject *coerce, PyObject *args, PyArrayObject **arrays,
                       int asked)
{
    if (PyTuple_GET_SIZE(args) != fn->n_inputs) {
        PyErr_Format(PyExc_TypeError, "coerce must return %zd arrays", fn->n_inputs);
        return -1;
    }
    for (Py_ssize_t i = 0; i < fn->n_inputs; i++) {
        PyObject *value = Py_NewRef(PyTuple_GET_ITEM(args, i));
        if (!asked && !fits(fn->inputs + i, value)) {
            PyObject *copy = realigned(fn->inputs + i, value);
            if (!copy && !PyErr_Occurred())
                copy = PyObject_CallFunction(coerce, "nO", i, value);
            ck_replace(&value, copy);
        }
        arrays[i] = accept(fn->inputs + i, value);
        if (!arrays[i]) {
            drop_arrays(arrays, i);
            return -1;
        }
    }
    return 0;
}

static int gather_slowly(ck_function *fn, PyObject *args, PyObject *const *values, PyObject *names,
                         PyArrayObject **arrays)
{
    if (!args || ck_gone(fn->coerce)) {
        Py_XDECREF(args);
        return -1;
    }
    PyObject *coerce = Py_NewRef(fn->coerce);
    int asked = (names && PyTuple_GET_SIZE(names)) || PyTuple_GET_SIZE(args) != fn->n_inputs;
    if (asked)
        ck_replace(&args, ask_for_all(coerce, args, values, names));
    int code = args ? coerce_each(fn, coerce, args, arrays, asked) : -1;
    Py_XDECREF(args);
    Py_DECREF(coerce);
    return code;
}

static inline PyObject *nth(PyObject *list, int tuple, PyObject *const *args, Py_ssize_t i)
{
    return !list ? args[i] : tuple ? PyTuple_GET_ITEM(list, i) : PyList_GET_ITEM(list, i);
}

/* Owned references to the input arrays. One list or tuple alone is the list of inputs. */
static int gather(ck_function *fn, PyObject *const *args, Py_ssize_t n, PyObject *names,
                  PyArrayObject **arrays)
{
    PyObject *list = NULL;
    int keywords = names && PyTuple_GET_SIZE(names), tuple = 0;
    if (n == 1 && !keywords && !fn->positional_only
        && (PyList_Check(args[0]) || (tuple = PyTuple_Check(args[0])))) {
        list = args[0];
        n = tuple ? PyTuple_GET_SIZE(list) : PyList_GET_SIZE(list);
    }
    Py_ssize_t i = 0;
    if (n == fn->n_inputs && !keywords)
        for (PyObject *item; i < n && fits(fn->inputs + i, item = nth(list, tuple, args, i)); i++)
            arrays[i] = (PyArrayObject *)Py_NewRef(item);
    if (i == fn->n_inputs && n == i && !keywords)
        return 0;
    drop_arrays(arrays, i);
    /* Python code runs from here on and could change the list: work on a copy */
    PyObject *copy = PyTuple_New(n);
    for (i = 0; copy && i < n; i++)
        PyTuple_SET_ITEM(copy, i, Py_NewRef(nth(list, tuple, args, i)));
    return gather_slowly(fn, copy, list ? NULL : args + n, names, arrays);
}

/* ---- one run ---- */

/* The input that an output is written into, as that output. */
static PyArrayObject *taken_over(const ck_spec *s, PyArrayObject *a)
{
    if (PyArray_ISCARRAY(a) && PyArray_TYPE(a) == s->descr->type_num && PyArray_NBYTES(a) == s->bytes)
        return (PyArrayObject *)Py_NewRef((PyObject *)a);
    PyErr_SetString(PyExc_ValueError, "an array that is written to is read-only, or lies in another "
                    "way than the one that the function was planned for");
    return NULL;
}

/* Point the frame at this call's arrays: inputs, variables, fresh outputs, new values. */
static int fill(ck_function *fn, ck_plan *plan, ck_frame *f, PyArrayObject *const *arrays)
{
    PyArrayObject **object = f->object;
    char **base = f->base;
    for (Py_ssize_t i = 0; i < plan->n_inputs; i++, object++)
        *base++ = PyArray_BYTES(*object = arrays[i]);
    for (Py_ssize_t i = 0; i < plan->n_cells; i++, object++) {
        *object = (PyArrayObject *)Py_NewRef((PyObject *)fn->cells[i]->array);
        *base++ = PyArray_BYTES(*object);
    }
    for (Py_ssize_t i = 0; i < plan->n_outputs; i++, object++) {
        const ck_spec *s = plan->outputs + i;
        *object = s->kept ? taken_over(s, arrays[s->cell]) : ck_fresh(s);
        if (!*object)
            return -1;
        *base++ = PyArray_BYTES(*object);
    }
    for (Py_ssize_t i = 0; i < plan->n_updates; i++, object++) {
        const ck_spec *s = plan->updates + i;
        if (s->kept)                         /* not yet: see `settle` */
            *base++ = PyArray_BYTES(fn->cells[s->cell]->array);
        else if ((*object = ck_cell_next(fn->cells[s->cell], s)))
            *base++ = PyArray_BYTES(*object);
        else
            return -1;
    }
    for (const ck_patch *p = plan->patches, *end = p + plan->n_patches; p < end; p++)
        f->table[p->slot] = f->base[p->source] + p->offset;
    return 0;
}

/* Variables that are written in place are decided on now, with the GIL held until they are
   written: nobody sees them half done, and what somebody took hold of meanwhile is copied. */
static int settle(ck_function *fn, ck_plan *plan, ck_frame *f)
{
    const Py_ssize_t first = plan->n_sources - plan->n_updates;
    for (Py_ssize_t j = 0; j < plan->n_updates; j++) {
        const ck_spec *s = plan->updates + j;
        if (!s->kept)
            continue;
        PyArrayObject *to = ck_cell_kept(fn->cells[s->cell], s, s->cell < plan->n_cells);
        if (!to)
            return -1;
        f->object[first + j] = to;
        f->base[first + j] = PyArray_BYTES(to);
    }
    for (const ck_patch *p = plan->patches, *end = p + plan->n_patches; p < end; p++)
        if (p->source >= first)
            f->table[p->slot] = f->base[p->source] + p->offset;
    return 0;
}

/* All new values at once (nothing here can fail); the frame keeps the old ones, to be retired. */
static void commit(ck_function *fn, ck_plan *plan, ck_frame *f)
{
    PyArrayObject **next = f->object + plan->n_sources - plan->n_updates;
    for (Py_ssize_t j = 0; j < plan->n_updates; j++) {
        const ck_spec *s = plan->updates + j;
        next[j] = ck_cell_swap(fn->cells[s->cell], next[j], s->layout);
    }
}

/* Let go of everything the frame refers to, and give it back. */
static void release(ck_function *fn, ck_plan *plan, ck_frame *f)
{
    PyArrayObject **object = f->object + plan->n_inputs;
    for (Py_ssize_t i = 0; i < plan->n_cells + plan->n_outputs; i++, object++)
        Py_CLEAR(*object);
    for (Py_ssize_t j = 0; j < plan->n_updates; j++, object++) {
        PyArrayObject *unused = *object;
        *object = NULL;
        if (unused)
            ck_cell_retire(fn->cells[plan->updates[j].cell], unused);
    }
    ck_frame_give(plan, f);
}

static PyObject *take_outputs(ck_function *fn, ck_plan *plan, ck_frame *f)
{
    PyArrayObject **object = f->object + plan->n_inputs + plan->n_cells;
    PyObject *result = fn->single ? (PyObject *)object[0] : PyList_New(plan->n_outputs);
    if (fn->single)
        object[0] = NULL;
    for (Py_ssize_t i = 0; result && !fn->single && i < plan->n_outputs; i++) {
        PyList_SET_ITEM(result, i, (PyObject *)object[i]);
        object[i] = NULL;
    }
    return result;
}

/* The exception that is set, taken off, or NULL. */
static PyObject *take_exception(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value && traceback)
        PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
}

/* The steps of the scans around a failed instruction, outermost first. */
static PyObject *steps_of(const ck_failure *failed)
{
    PyObject *steps = PyTuple_New(failed->depth);
    for (int i = 0; steps && i < failed->depth; i++) {
        PyObject *step = PyLong_FromLongLong(failed->steps[failed->depth - 1 - i]);
        if (step)
            PyTuple_SET_ITEM(steps, i, step);
        else
            Py_CLEAR(steps);
    }
    return steps;
}

/* A kernel returned a code: fail(code, tag, inputs) returns the exception, or raises itself.
   Inside of a scan it is fail(code, tag, inputs, steps, exception or None). */
static void raise_failure(ck_function *fn, int code, const ck_failure *failed,
                          PyArrayObject *const *arrays)
{
    PyObject *cause = take_exception();
    if (ck_gone(fn->fail)) {
        Py_XDECREF(cause);
        return;
    }
    PyObject *hook = Py_NewRef(fn->fail), *list = PyList_New(fn->n_inputs), *error = NULL;
    long long tag = failed->tag;
    for (Py_ssize_t i = 0; list && i < fn->n_inputs; i++)
        PyList_SET_ITEM(list, i, Py_NewRef((PyObject *)arrays[i]));
    if (list && !failed->depth)
        error = PyObject_CallFunction(hook, "iLO", code, tag, list);
    else if (list)
        error = PyObject_CallFunction(hook, "iLONO", code, tag, list, steps_of(failed),
                                      cause ? cause : Py_None);
    if (error && PyExceptionInstance_Check(error))
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    else if (error)
        PyErr_Format(PyExc_RuntimeError, "kernel failed with code %d at instruction tag %lld", code,
                     tag);
    Py_XDECREF(cause);
    Py_XDECREF(error);
    Py_XDECREF(list);
    Py_DECREF(hook);
}

/* Write into inputs, where the output that is asked says so; *code: as of run_held. */
static void write_into(ck_function *fn, ck_plan *plan, ck_frame *f, int *code, ck_failure *failed)
{
    const Py_ssize_t first = plan->n_inputs + plan->n_cells;
    if (plan->asked >= 0 && !*f->base[first + plan->asked])
        return;
    *code = ck_run_into(plan, f, failed, fn->profile);
    if (*code != CK_OK)
        fn->written = 1;
}

/* Run with locks held. *code tells a kernel's failure from a Python exception (CK_EPYTHON). */
static PyObject *run_held(ck_function *fn, ck_plan *plan, PyArrayObject *const *arrays, int *code,
                          ck_failure *failed)
{
    ck_frame *frame = ck_frame_take(plan);
    if (!frame)
        return NULL;
    PyObject *result = NULL;
    if (fill(fn, plan, frame, arrays) == 0)
        *code = ck_run(plan, frame, failed, fn->profile);
    if (*code == CK_OK && plan->late < plan->n_instrs && settle(fn, plan, frame) < 0)
        *code = CK_EPYTHON;
    if (*code == CK_OK && (result = take_outputs(fn, plan, frame))) {
        if (plan->late < plan->n_instrs)
            ck_run_late(plan, frame, failed, fn->profile);
        if (plan->into < plan->n_instrs)
            write_into(fn, plan, frame, code, failed);
        if (*code != CK_OK)
            Py_CLEAR(result);
        commit(fn, plan, frame);
    }
    release(fn, plan, frame);
    return result;
}

PyObject *ck_tuple_of(PyObject *const *values, Py_ssize_t n)
{
    PyObject *tuple = PyTuple_New(n);
    for (Py_ssize_t i = 0; tuple && i < n; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(values[i]));
    return tuple;
}

static PyObject *invoke(ck_function *fn, PyArrayObject *const *arrays)
{
    PyObject *instead, *result;
    ck_plan *plan = ck_find_plan(fn, arrays, &instead);
    int64_t since = 0;
    for (int held = !fn->n_locked; plan && !held;) {
        held = ck_lock(fn->cells, fn->updates, fn->n_locked, &since);
        if (held <= 0)
            Py_CLEAR(plan);
        if (held == 0)                       /* waited: a variable may have another shape now */
            plan = ck_find_plan(fn, arrays, &instead);
    }
    if (instead) {
        PyObject *args = ck_tuple_of((PyObject *const *)arrays, fn->n_inputs);
        result = args ? PyObject_Call(instead, args, NULL) : NULL;
        Py_XDECREF(args);
        Py_DECREF(instead);
        return result;
    }
    if (!plan)
        return NULL;
    int code = CK_EPYTHON;
    ck_failure failed;
    failed.tag = failed.depth = 0;
    result = run_held(fn, plan, arrays, &code, &failed);
    if (fn->n_locked)
        ck_unlock(fn->cells, fn->updates, fn->n_locked);
    Py_DECREF(plan);
    if (!result && PyErr_Occurred() == PyExc_MemoryError) {     /* ours says which function, where */
        PyErr_Clear();
        code = CK_EMEMORY;
    }
    if (!result && (!PyErr_Occurred() || (failed.depth && PyErr_ExceptionMatches(PyExc_Exception))))
        raise_failure(fn, code, &failed, arrays);
    return result;
}

/* keywords(self, args, kwargs): a call with keywords of a function that has its own way with them. */
static PyObject *call_keywords(ck_function *fn, PyObject *const *args, Py_ssize_t n,
                               PyObject *names)
{
    PyObject *keywords = Py_NewRef(fn->keywords), *tuple = ck_tuple_of(args, n), *kwargs = PyDict_New();
    PyObject *result = NULL;
    int ready = tuple && kwargs;
    for (Py_ssize_t i = 0; ready && i < PyTuple_GET_SIZE(names); i++)
        ready = PyDict_SetItem(kwargs, PyTuple_GET_ITEM(names, i), args[n + i]) == 0;
    if (ready)
        result = PyObject_CallFunctionObjArgs(keywords, (PyObject *)fn, tuple, kwargs, NULL);
    Py_XDECREF(kwargs);
    Py_XDECREF(tuple);
    Py_DECREF(keywords);
    return result;
}

/* The results of rescue(*arrays) where a call failed; its error takes the place of the first. */
static PyObject *rescued(ck_function *fn, PyArrayObject **arrays)
{
    PyObject *rescue = Py_NewRef(fn->rescue), *tuple = NULL, *result = NULL;
    PyErr_Clear();
    if ((tuple = PyTuple_New(fn->n_inputs))) {
        for (Py_ssize_t i = 0; i < fn->n_inputs; i++)
            PyTuple_SET_ITEM(tuple, i, Py_NewRef((PyObject *)arrays[i]));
        result = PyObject_Call(rescue, tuple, NULL);
        Py_DECREF(tuple);
    }
    Py_DECREF(rescue);
    return result;
}

PyObject *ck_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    ck_function *fn = (ck_function *)self;
    PyArrayObject *few[FEW], **arrays = few;
    PyObject *result = NULL;
    if (names && PyTuple_GET_SIZE(names) && fn->keywords && fn->keywords != Py_None)
        return call_keywords(fn, args, PyVectorcall_NARGS(nargsf), names);
    if (fn->n_inputs > FEW && !(arrays = PyMem_Malloc(fn->n_inputs * sizeof(*arrays))))
        return PyErr_NoMemory();
    if (gather(fn, args, PyVectorcall_NARGS(nargsf), names, arrays) == 0) {
        result = invoke(fn, arrays);
        if (!result && fn->rescue && fn->rescue != Py_None && PyErr_ExceptionMatches(PyExc_Exception))
            result = rescued(fn, arrays);
        drop_arrays(arrays, fn->n_inputs);
    }
    if (arrays != few)
        PyMem_Free(arrays);
    return result;
}
