/* module.c: the extension module ckernels._runtime: its types, and the few functions about the
   whole process: threads, BLAS, the memory pool. */
#define CK_IMPORTS_NUMPY
#include "python/python.h"

#include "order/order.h"

enum { TEXT = 512 };

/* ---- threads ---- */
static PyObject *set_num_threads(PyObject *module, PyObject *value)
{
    (void)module;
    if (value == Py_None)
        return PyLong_FromLong(ck_set_num_threads(0));
    long n = PyLong_AsLong(value);
    if (n == -1 && PyErr_Occurred())
        return NULL;
    if (n < 1 || n > 65536)
        return PyErr_Format(PyExc_ValueError, "the number of threads must be at least 1 (or None "
                            "for the default), not %ld", n);
    return PyLong_FromLong(ck_set_num_threads((int)n));
}

static PyObject *get_num_threads(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(ck_get_num_threads());
}

static PyObject *threads_info(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    char rule[TEXT] = "";
    ck_threads_rule(rule, sizeof(rule));
    return Py_BuildValue("{s:i,s:s}", "threads", ck_get_num_threads(), "rule", rule);
}

/* ---- BLAS ---- */
static PyObject *blas_info(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    char name[TEXT] = "";
    Py_BEGIN_ALLOW_THREADS              /* the first time libraries are searched and opened */
    ck_blas_name(name, sizeof(name));
    Py_END_ALLOW_THREADS
    return Py_BuildValue("{s:s,s:s}", "name", name, "builtin", ck_builtin_name());
}

/* A str or path-like as a file name for `use`; None gives NULL where that is allowed. */
static int with_path(PyObject *value, int none_allowed, int (*use)(const char *))
{
    if (value == Py_None && none_allowed)
        return use(NULL);
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(value, &bytes))
        return -1;
    int code = use(PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    return code;
}

static PyObject *blas_use(PyObject *module, PyObject *path)
{
    (void)module;
    int code = with_path(path, 1, ck_blas_use);
    if (PyErr_Occurred())
        return NULL;
    if (code != CK_OK)
        return PyErr_Format(PyExc_ValueError, "%R is no usable BLAS: it cannot be loaded or has no "
                            "gemm of a known name", path);
    return blas_info(module, NULL);
}

static int hint(const char *path)
{
    ck_blas_hint(path);
    return CK_OK;
}

static PyObject *blas_hint(PyObject *module, PyObject *path)
{
    (void)module;
    with_path(path, 0, hint);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

/* ---- memory ---- */
static PyObject *pool_bytes(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLongLong(ck_pool_bytes());
}

static PyObject *pool_trim(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    Py_BEGIN_ALLOW_THREADS
    ck_pool_trim();
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *pool_limit(PyObject *module, PyObject *value)
{
    (void)module;
    long long bytes = PyLong_AsLongLong(value);
    if (bytes == -1 && PyErr_Occurred())
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    ck_pool_limit(bytes);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

/* ---- native instructions ---- */
static PyObject *native_scratch(PyObject *module, PyObject *value)
{
    (void)module;
    PyArrayObject *a = (PyArrayObject *)PyArray_FROMANY(value, NPY_INT64, 1, 1, NPY_ARRAY_IN_ARRAY);
    if (!a)
        return NULL;
    int64_t bytes = PyArray_SIZE(a) < CK_NATIVE_WORDS ? -1 : ck_native_scratch(PyArray_DATA(a));
    Py_DECREF(a);
    if (bytes < 0)
        return PyErr_Format(PyExc_ValueError, "no dims of a native instruction: %R", value);
    return PyLong_FromLongLong(bytes);
}

/* ---- the module ---- */
static PyMethodDef methods[] = {
    {"set_num_threads", set_num_threads, METH_O,
     "set_num_threads(n) -> the number before. None: the default (OMP_NUM_THREADS, affinity,\n"
     "cgroup quota)."},
    {"get_num_threads", get_num_threads, METH_NOARGS,
     "get_num_threads() -> threads a kernel may use."},
    {"threads_info", threads_info, METH_NOARGS,
     "threads_info() -> dict: threads, rule (what decided)."},
    {"blas_info", blas_info, METH_NOARGS,
     "blas_info() -> dict: name (the library in use), builtin (the built-in gemm's instructions)."},
    {"blas_use", blas_use, METH_O,
     "blas_use(path | 'builtin' | None) -> blas_info(). None searches again."},
    {"blas_hint", blas_hint, METH_O, "blas_hint(path): a BLAS library worth trying first."},
    {"values", ck_cells_values, METH_O,
     "values(cells) -> list of their arrays, all read at one moment. cells: a tuple."},
    {"assign", ck_cells_assign, METH_VARARGS,
     "assign(cells, arrays): copy the arrays in as new values, all at one moment. Two tuples."},
    {"patience", ck_cells_patience, METH_O,
     "patience(seconds) -> those before: how long a call waits for a variable until it warns."},
    {"hold", ck_cells_hold, METH_VARARGS,
     "hold(cells, True): wait for functions that update them, and have later ones wait, until\n"
     "hold(cells, False) in the same thread. Reading and set() wait for nobody."},
    {"pool_bytes", pool_bytes, METH_NOARGS, "pool_bytes() -> idle bytes kept for big arrays."},
    {"pool_limit", pool_limit, METH_O, "pool_limit(bytes): how much idle memory is kept."},
    {"pool_trim", pool_trim, METH_NOARGS, "pool_trim(): give idle memory back to the system."},
    {"native_scratch", native_scratch, METH_O,
     "native_scratch(dims) -> bytes of scratch that a native instruction with these dims needs."},
    {"saturated", ck_saturated, METH_VARARGS,
     "saturated(x, number) -> the float32 or float64 array x in an integer dtype of NumPy's number:\n"
     "what is beyond the integers becomes the nearest of them, NaN 0."},
    {"sizes", ck_sizes_fill, METH_VARARGS,
     "sizes(code, args, assumed, symbols) -> int64 vector of all sizes of a class of shapes for\n"
     "these values of its symbols; None where an assumption does not hold (see sizes.c)."},
    {"arena", ck_arena_offsets, METH_VARARGS,
     "arena(sizes, spans) -> offsets: each block in the first gap beside those before it that\n"
     "live at the same time; spans: rows (first, last)."},
    {"stack", ck_arena_stack, METH_VARARGS,
     "stack(sizes, starts, below) -> (offsets, bytes): each block on top of those named below it."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject *ck_buffer_type, *ck_cell_type, *ck_plan_type, *ck_class_type, *ck_function_type,
             *ck_raw_type, *ck_dispatch_type, *ck_stage_type, *ck_direct_type;

/* Types live as long as the process: a module that is imported again gets the same. */
static int add_type(PyObject *module, PyTypeObject **type, PyType_Spec *spec)
{
    if (!*type && !(*type = (PyTypeObject *)PyType_FromSpec(spec)))
        return -1;
    return module ? PyModule_AddType(module, *type) : 0;
}

/* NumPy's sorts of numbers know no interpreter, so that teams may call them: order/ does. */
static void lend_sorters(void)
{
    static const int words[] = {0, NPY_UINT16, NPY_UINT32, NPY_UINT64};
    for (int k = 1; k < 4; k++) {
        PyArray_Descr *descr = PyArray_DescrFromType(words[k]);
        PyArray_SortFunc *sorter = PyDataType_GetArrFuncs(descr)->sort[NPY_QUICKSORT];
        ck_sorters[k] = (ck_sorter)sorter;
        Py_DECREF(descr);
    }
}

/* Locks, the pool and the types are those of the process, and NumPy is of one interpreter too. */
static int fill(PyObject *module)
{
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        PyErr_SetString(PyExc_ImportError, "ckernels works in the main interpreter of a process "
                        "only, not in subinterpreters: start a process instead");
        return -1;
    }
    if (!ck_has_kernels()) {
        PyErr_SetString(PyExc_ImportError, "the C runtime of ckernels was built with "
                        "CKERNELS_NATIVE=1 for another CPU, whose instructions this one does not "
                        "have; without CKERNELS_NATIVE it is built for all CPUs");
        return -1;
    }
    import_array1(-1);
    lend_sorters();
    return ck_cells_ready() < 0 || add_type(NULL, &ck_buffer_type, &ck_buffer_spec) < 0
           || add_type(module, &ck_cell_type, &ck_cell_spec) < 0
           || add_type(module, &ck_plan_type, &ck_plan_spec) < 0
           || add_type(module, &ck_class_type, &ck_class_spec) < 0
           || add_type(module, &ck_function_type, &ck_function_spec) < 0
           || add_type(module, &ck_raw_type, &ck_raw_spec) < 0
           || add_type(module, &ck_dispatch_type, &ck_dispatch_spec) < 0
           || add_type(module, &ck_stage_type, &ck_stage_spec) < 0
           || add_type(module, &ck_direct_type, &ck_direct_spec) < 0
           || PyModule_AddIntConstant(module, "ABI", CK_ABI) < 0
           || PyModule_AddIntConstant(module, "GEMM_WORDS", CK_GEMM_WORDS) < 0
           || PyModule_AddIntConstant(module, "NATIVE_WORDS", CK_NATIVE_WORDS) < 0 ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill},
#if defined Py_mod_multiple_interpreters && !defined Py_LIMITED_API
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if defined Py_mod_gil && !defined Py_LIMITED_API
    {Py_mod_gil, Py_MOD_GIL_USED},         /* docs/packagers.md names what the GIL guards */
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "ckernels._runtime",
    .m_doc = "The C runtime: variables, plans, functions, threads, BLAS and the memory pool.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__runtime(void)
{
    return PyModuleDef_Init(&definition);
}
