/* arrays.c: fresh arrays for outputs and variables, cheap when small and recycled when big.

   A big output on fresh mmap pages costs more in page faults than the kernel that fills it, so
   from CK_BIG bytes on the memory comes from the pool (arena.c) and goes back to it when the
   array dies. */
#include "python/python.h"

static void buffer_dealloc(PyObject *self)
{
    ck_buffer *b = (ck_buffer *)self;
    if (b->data)
        ck_free(b->data, b->bytes);
    ck_delete(self);
}

static PyType_Slot buffer_slots[] = {
    {Py_tp_doc, (void *)
     "Owner of pool memory: the base of big arrays. Gives the memory back when it dies."},
    {Py_tp_dealloc, buffer_dealloc},
    {0, NULL},
};

PyType_Spec ck_buffer_spec = {
    .name = "ckernels._runtime.Buffer",
    .basicsize = sizeof(ck_buffer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = buffer_slots,
};

/* near: it may be larger than asked for, and then is sooner one that was used before. */
ck_buffer *ck_buffer_new(int64_t bytes, int near)
{
    size_t size = bytes;
    ck_buffer *b = PyObject_New(ck_buffer, ck_buffer_type);
    if (!b)
        return NULL;
    b->data = near ? ck_alloc_near(bytes, &size) : ck_alloc(bytes);
    b->bytes = size;
    if (!b->data) {
        Py_DECREF(b);
        return (ck_buffer *)PyErr_NoMemory();
    }
    return b;
}

/* Strides of a dense array whose axes lie in the order of `spec`. */
static npy_intp *strides_of(const ck_spec *spec, npy_intp *strides)
{
    npy_intp step = PyDataType_ELSIZE(spec->descr);
    for (int i = spec->nd - 1; i >= 0; i--) {
        strides[spec->order[i]] = step;
        if (spec->shape[spec->order[i]] > 1)
            step *= spec->shape[spec->order[i]];
    }
    return strides;
}

/* An uninitialised dense array. */
PyArrayObject *ck_fresh(const ck_spec *spec)
{
    PyArray_Descr *descr = (PyArray_Descr *)Py_NewRef((PyObject *)spec->descr);
    npy_intp *dims = (npy_intp *)spec->shape, room[CK_MAXDIMS];      /* NumPy only reads them */
    npy_intp *strides = spec->permuted ? strides_of(spec, room) : NULL;
    if (spec->bytes < CK_BIG)
        return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, descr, spec->nd, dims, strides,
                                                     NULL, 0, NULL);
    ck_buffer *b = ck_buffer_new(spec->bytes, 0);
    if (!b) {
        Py_DECREF(descr);
        return NULL;
    }
    PyArrayObject *a = (PyArrayObject *)PyArray_NewFromDescr(
        &PyArray_Type, descr, spec->nd, dims, strides, b->data, NPY_ARRAY_CARRAY, NULL);
    if (!a) {
        Py_DECREF(b);
        return NULL;
    }
    if (PyArray_SetBaseObject(a, (PyObject *)b) < 0) {      /* takes b, also on failure */
        Py_DECREF(a);
        return NULL;
    }
    return a;
}

/* The one descriptor of a numeric dtype (anything np.dtype() takes), native byte order; a dtype that
   another package registered (bfloat16) is one that dtypes.py has let in. On Linux NumPy has two type numbers for int64: everything here uses the one np.int64 has. */
PyArray_Descr *ck_native_descr(PyObject *dtype)
{
    PyArray_Descr *d = NULL;
    if (!PyArray_DescrConverter(dtype, &d))
        return NULL;
    int num = d->type_num;
    if (num == NPY_LONGLONG)
        num = NPY_INT64;
    if (num == NPY_ULONGLONG)
        num = NPY_UINT64;
    int known = (num >= NPY_BOOL && num <= NPY_DOUBLE) || num == NPY_HALF || num == NPY_CFLOAT
                || num == NPY_CDOUBLE || PyTypeNum_ISUSERDEF(num);
    if (!known)
        PyErr_Format(PyExc_TypeError, "dtype %R has no compiled form: use a bool, integer, "
                     "float or complex dtype", (PyObject *)d);
    Py_DECREF(d);
    return known ? PyArray_DescrFromType(num) : NULL;
}

/* 64 well-mixed bits of dtype and shape: two layouts of one variable collide with chance 2^-64. */
int64_t ck_layout(int type_num, int nd, const npy_intp *shape)
{
    uint64_t h = 0x9e3779b97f4a7c15u * (uint64_t)(type_num * 64 + nd + 1);
    for (int i = 0; i < nd; i++) {
        h ^= (uint64_t)shape[i];
        h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
        h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
        h ^= h >> 31;
    }
    return (int64_t)h;
}

/* A sequence of non-negative ints -> out[CK_MAXDIMS]; its length, or -1. */
int ck_parse_shape(PyObject *shape, npy_intp *out)
{
    PyObject *seq = PySequence_Fast(shape, "a shape must be a sequence of ints");
    if (!seq)
        return -1;
    Py_ssize_t nd = PySequence_Fast_GET_SIZE(seq);
    if (nd > CK_MAXDIMS)
        PyErr_Format(PyExc_ValueError, "shape has %zd dimensions, at most %d work", nd, CK_MAXDIMS);
    for (Py_ssize_t i = 0; i < nd && !PyErr_Occurred(); i++) {
        out[i] = PyNumber_AsSsize_t(PySequence_Fast_GET_ITEM(seq, i), PyExc_OverflowError);
        if (out[i] < 0 && !PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "shape %R has a negative length", shape);
    }
    Py_DECREF(seq);
    return PyErr_Occurred() ? -1 : (int)nd;
}

/* Bytes of a contiguous array; -1 with MemoryError when they do not fit in an address. */
int64_t ck_count_bytes(int64_t itemsize, int nd, const npy_intp *shape)
{
    int64_t bytes = itemsize, empty = 0;
    for (int i = 0; i < nd; i++) {
        empty |= shape[i] == 0;
        if (__builtin_mul_overflow(bytes, shape[i] ? (int64_t)shape[i] : 1, &bytes)) {
            PyErr_SetString(PyExc_MemoryError, "shape is too large");
            return -1;
        }
    }
    return empty ? 0 : bytes;
}

/* The array in an integer dtype, cut at its ends: C leaves open what other floats become. */
PyObject *ck_saturated(PyObject *module, PyObject *args)
{
    PyArrayObject *x;
    int number;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!i:saturated", &PyArray_Type, &x, &number))
        return NULL;
    const int from = PyArray_TYPE(x);
    PyArray_Descr *descr = PyArray_DescrFromType(number);
    if (!descr)
        return NULL;
    if ((from != NPY_FLOAT && from != NPY_DOUBLE) || (descr->kind != 'i' && descr->kind != 'u')) {
        PyErr_Format(PyExc_TypeError, "saturated makes integers of float32 and float64, not %R of "
                     "%R", descr, PyArray_DESCR(x));
        Py_DECREF(descr);
        return NULL;
    }
    const int is_signed = descr->kind == 'i', fortran = PyArray_ISFARRAY_RO(x);
    const int log = __builtin_ctz((unsigned)PyDataType_ELSIZE(descr));
    PyArrayObject *in = (PyArrayObject *)PyArray_FROM_OF(
        (PyObject *)x, (fortran ? NPY_ARRAY_FARRAY_RO : NPY_ARRAY_CARRAY_RO) | NPY_ARRAY_NOTSWAPPED);
    PyArrayObject *out = NULL;
    if (!in)
        Py_DECREF(descr);
    else if ((out = (PyArrayObject *)PyArray_Empty(PyArray_NDIM(x), PyArray_DIMS(x), descr, fortran)))
        ck_saturate(from == NPY_DOUBLE, PyArray_DATA(in), PyArray_SIZE(x), is_signed, log,
                    PyArray_DATA(out));
    Py_XDECREF(in);
    return (PyObject *)out;
}
