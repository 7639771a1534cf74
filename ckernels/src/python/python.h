/* python.h: what the files that know Python and NumPy share (executor, plan, cell, module and
   friends).

   Kernels, threads, BLAS and the pool never include this file. All the structs below are read
   and written with the GIL held; while a plan runs without it, only its frame (private to the
   call) is touched. */
#ifndef CK_PYTHON_H
#define CK_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL ck_numpy_api
#ifndef CK_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#if NPY_ABI_VERSION < 0x02000000         /* headers of NumPy 1: a binary for it alone */
static inline npy_intp PyDataType_ELSIZE(const PyArray_Descr *descr) { return descr->elsize; }
static inline PyArray_ArrFuncs *PyDataType_GetArrFuncs(const PyArray_Descr *descr)
{
    return descr->f;
}
#endif

#include <string.h>

#include "ckernels.h"
#include "system/system.h"

/* ---- the stable ABI ----
   All below is of the limited API of 3.10, so that one binary serves every later Python. Without
   its macros elements are taken by functions; vectorcall has been the same since 3.9, where types
   made from a spec could ask for it, though only 3.12 took its names into the limited API. */
#ifdef Py_LIMITED_API
#define PyTuple_GET_SIZE PyTuple_Size
#define PyTuple_GET_ITEM PyTuple_GetItem
#define PyTuple_SET_ITEM (void)PyTuple_SetItem
#define PyList_GET_SIZE PyList_Size
#define PyList_GET_ITEM PyList_GetItem
#define PyList_SET_ITEM (void)PyList_SetItem
#if Py_LIMITED_API + 0 < 0x030c0000
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
#define PyVectorcall_NARGS(n) ((Py_ssize_t)((n) & (SIZE_MAX >> 1)))
typedef PyObject *(*vectorcallfunc)(PyObject *, PyObject *const *, size_t, PyObject *);
#endif
#endif

/* The end of an object of one of the types here, which are made from specs. */
static inline void ck_delete(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

#define CK_MAXDIMS 32            /* NPY_MAXDIMS of NumPy 1 */
#define CK_BIG (1 << 20)         /* outputs from here on come from the buffer pool */
#define CK_FRAMES 8              /* idle frames a plan keeps */
#define CK_PLANS 1024            /* plans a function keeps: at most so many, */
#define CK_PLAN_BYTES (64 << 20) /* and of more than this only the last used */
#define CK_CLASSES 64            /* classes of shapes that make plans without Python */
#define CK_RELEASE_NS 10000      /* letting go of the GIL costs ~75 ns: longer runs only */

/* ---- arrays.c: fresh arrays, and the object that owns pool memory ---- */
typedef struct {
    PyObject_HEAD
    void *data;
    int64_t bytes;
} ck_buffer;

/* dtype and shape known in advance: of an output, of the next value of a cell */
typedef struct {
    PyArray_Descr *descr;
    int nd;
    npy_intp shape[CK_MAXDIMS];
    int64_t bytes, layout;
    unsigned char order[CK_MAXDIMS];     /* outputs: the axes from outermost to innermost */
    char permuted;               /* they are in another order than C order; else `order` is unused */
    Py_ssize_t cell;             /* updates: which cell; outputs: the input in whose memory it is */
    int kept;                    /* it begins as the old value, written in place */
} ck_spec;

extern PyTypeObject *ck_buffer_type;
extern PyType_Spec ck_buffer_spec;
ck_buffer *ck_buffer_new(int64_t bytes, int near);
PyArrayObject *ck_fresh(const ck_spec *spec);
PyArray_Descr *ck_native_descr(PyObject *dtype);
int64_t ck_layout(int type_num, int nd, const npy_intp *shape);
int ck_parse_shape(PyObject *shape, npy_intp *out);
int64_t ck_count_bytes(int64_t itemsize, int nd, const npy_intp *shape);

/* ---- cell.c: variables and their locks ---- */
typedef struct {
    PyObject_HEAD
    PyObject *weakrefs;
    PyArrayObject *array;        /* the value; replaced, never written to */
    PyArrayObject *spare;        /* an old value nobody else refers to, or NULL */
    int64_t layout;              /* hash of dtype and shape, part of every function's key */
    int64_t changes;             /* how often the layout changed */
    unsigned long owner;         /* thread inside an updating function, 0: none */
    int depth, updating;         /* nested holds of that thread; how many of them update */
    int generation;              /* which fork the owner belongs to */
} ck_cell;

extern PyTypeObject *ck_cell_type;
extern PyType_Spec ck_cell_spec;
int ck_cells_ready(void);
int ck_lock(ck_cell *const *cells, const char *updates, Py_ssize_t n, int64_t *since);
void ck_unlock(ck_cell *const *cells, const char *updates, Py_ssize_t n);
PyObject *ck_cells_values(PyObject *module, PyObject *tuple);
PyObject *ck_cells_assign(PyObject *module, PyObject *args);
PyObject *ck_cells_hold(PyObject *module, PyObject *args);
PyObject *ck_cells_patience(PyObject *module, PyObject *seconds);
PyArrayObject *ck_cell_next(ck_cell *cell, const ck_spec *spec);
PyArrayObject *ck_cell_kept(ck_cell *cell, const ck_spec *spec, int held);
PyArrayObject *ck_cell_swap(ck_cell *cell, PyArrayObject *value, int64_t layout);
void ck_cell_retire(ck_cell *cell, PyArrayObject *old);

/* ---- plan.c: the compiled program for one set of shapes, and its frames ---- */
enum { CK_ARENA, CK_INPUT, CK_CELL, CK_OUTPUT, CK_NEXT, CK_CONSTANT, CK_SPACES };

typedef struct { int64_t space, index, offset; } ck_row;

typedef struct { Py_ssize_t slot, source; int64_t offset; } ck_patch;

typedef struct {                 /* an ndarray a PYCALL sees */
    Py_ssize_t slot;
    PyArray_Descr *descr;
    int nd;
    npy_intp shape[CK_MAXDIMS], strides[CK_MAXDIMS];
} ck_view;

typedef struct {
    PyObject *callable;
    Py_ssize_t nin, nout;
    ck_view *views;              /* nin inputs, then nout outputs */
} ck_pycall;

/* What a scan does to a slot of the pointer table; bytes around the slots a and b that it reaches
   there (-1: it never does). */
typedef struct {
    Py_ssize_t scan;             /* the instruction that moves the slot, -1: none */
    Py_ssize_t from[2];
    int64_t low[2], high[2];
} ck_source;

/* Where a run failed: the instruction, and the step of each scan around it, outermost last. */
enum { CK_DEPTH = 8 };
typedef struct {
    int64_t tag, steps[CK_DEPTH];
    int depth;
} ck_failure;

/* One call's pointers. base[i] / object[i] are the plan's sources: inputs, cells, outputs,
   nexts. */
typedef struct ck_frame {
    struct ck_frame *next;
    ck_buffer *arena;
    char **base;
    PyArrayObject **object;      /* inputs borrowed from the call, the rest owned */
    void **table;
} ck_frame;

typedef struct {
    PyObject_HEAD
    PyObject *weakrefs;
    ck_instr *instrs;
    ck_row *rows;
    int64_t *dims;
    ck_spec *outputs, *updates;
    ck_pycall *pycalls;
    ck_source *sources;          /* of each slot; NULL where there are no scans */
    PyObject *constants;         /* tuple of ndarrays */
    Py_ssize_t n_instrs, n_rows, n_dims, n_outputs, n_updates, n_pycalls;
    Py_ssize_t n_inputs, n_cells;                /* one more than the largest index used */
    Py_ssize_t n_sources;                        /* inputs + cells + outputs + updates */
    ck_patch *patches;           /* per call: n_patches; then n_arena when a frame gets its arena */
    Py_ssize_t n_patches, n_arena;
    int64_t arena;
    Py_ssize_t late;             /* from this instruction on variables are written in place */
    Py_ssize_t into;             /* and from this one on inputs are, by outputs that are kept */
    Py_ssize_t asked;            /* where this output, a bool, is true; -1: always */
    int long_run;                /* worth releasing the GIL */
    ck_frame *idle;
    int n_idle;
    int64_t *profile;            /* per instruction: calls, ns; NULL until asked for */
    ck_spans *spans;             /* of the last call that was watched, while no call runs, or NULL */
    PyObject *maker;             /* the plan this one was copied from, whose tags it has, or NULL */
    int fits;                    /* it was checked with the arrays of the call it was made for */
} ck_plan;

extern PyTypeObject *ck_plan_type;
extern PyType_Spec ck_plan_spec;
ck_frame *ck_frame_take(ck_plan *plan);
void ck_frame_give(ck_plan *plan, ck_frame *frame);
ck_plan *ck_plan_copy(ck_plan *from);
int ck_plan_ready(ck_plan *plan);

/* ---- check.c: a plan may only touch what it owns ---- */
typedef struct { int64_t low, high; } ck_extent;     /* bytes around the base pointer */
int ck_plan_check(ck_plan *plan);
int ck_scan_check(ck_plan *plan);                    /* scan.c: fills plan->sources */
int ck_plan_check_arrays(ck_plan *plan, PyArrayObject *const *inputs, ck_cell *const *cells);

/* ---- run.c: walk the instructions ---- */
int ck_run(ck_plan *plan, ck_frame *frame, ck_failure *failed, int profile);
int ck_run_into(ck_plan *plan, ck_frame *frame, ck_failure *failed, int profile);
int ck_run_late(ck_plan *plan, ck_frame *frame, ck_failure *failed, int profile);
int ck_run_bare(ck_plan *plan, ck_frame *frame);
PyObject *ck_profile_rows(ck_plan *plan);
PyObject *ck_span_rows(ck_plan *plan);

/* ---- sizes.c: plans for classes of shapes, filled in for one ---- */
PyObject *ck_sizes_fill(PyObject *module, PyObject *values);
PyObject *ck_arena_offsets(PyObject *module, PyObject *values);
PyObject *ck_arena_stack(PyObject *module, PyObject *values);
int ck_sizes_fit(const int64_t *code, Py_ssize_t n, const int64_t *args, Py_ssize_t n_args,
                 const int64_t *asks, Py_ssize_t n_asks, Py_ssize_t n_symbols);
int ck_sizes_evaluate(const int64_t *code, Py_ssize_t n, const int64_t *args, const int64_t *asks,
                      Py_ssize_t n_asks, const int64_t *symbols, int64_t *at);
int ck_arena_place(const int64_t *size, Py_ssize_t n, const int64_t *start, const int64_t *below,
                   Py_ssize_t count, int64_t *at, int64_t *top);

/* ---- arrays.c: floats in integers, see saturate.c ---- */
PyObject *ck_saturated(PyObject *module, PyObject *args);

/* ---- lookup.c: from arguments to a plan ---- */
typedef struct { PyArray_Descr *descr; int nd; } ck_input;

typedef struct {                 /* a cached plan; key: see lookup.c */
    ck_plan *plan;
    uint64_t hash, stamp;
    int64_t bytes;
    Py_ssize_t length;
    int64_t key[];
} ck_entry;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *weakrefs, *bind, *coerce, *fail, *info, *keywords, *rescue;
    ck_input *inputs;
    PyObject *cell_tuple;        /* owns what `cells` points at */
    ck_cell **cells;
    char *updates, *flexible;    /* per cell: replaced by a run; may change its shape */
    int64_t *layouts;            /* per cell: when the function was made */
    Py_ssize_t n_inputs, n_cells, n_locked, key_size;
    char single, positional_only, profile;
    char written;                /* the last call that failed may have changed inputs */
    ck_entry *last, **entries;
    uint64_t *hashes;            /* of the entries, side by side to be searched */
    int n_entries, room;
    int64_t plan_bytes;          /* of all entries */
    uint64_t clock;
    PyObject *classes;           /* list of those that were learned, latest first, or NULL */
    int64_t peak;                /* the largest arena of all plans */
} ck_function;

/* ---- classes.c: plans of classes of shapes that are known ---- */
extern PyTypeObject *ck_class_type;
extern PyType_Spec ck_class_spec;
ck_plan *ck_plan_of_class(ck_function *fn, PyArrayObject *const *arrays);

ck_plan *ck_find_plan(ck_function *fn, PyArrayObject *const *arrays, PyObject **instead);
void ck_drop_plans(ck_function *fn);
int ck_gone(PyObject *hook);

/* ---- executor.c and function.c ---- */
PyObject *ck_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names);
/* A new tuple of these. */
PyObject *ck_tuple_of(PyObject *const *values, Py_ssize_t n);
extern PyTypeObject *ck_function_type;
extern PyType_Spec ck_function_spec;

/* ---- cfunction.c: a plan as a C function pointer ---- */
extern PyTypeObject *ck_raw_type;
extern PyType_Spec ck_raw_spec;

/* ---- dispatch.c: what `ck.jit` returns ---- */
extern PyTypeObject *ck_dispatch_type;
extern PyType_Spec ck_dispatch_spec;
PyObject *ck_list_of_arrays(PyObject *function, PyObject *const *args, Py_ssize_t n);    /* results.c */

/* ---- stages.c: pieces of a function with NumPy between them ---- */
extern PyTypeObject *ck_stage_type;
extern PyType_Spec ck_stage_spec;
PyObject *ck_stage_call(PyObject *self, PyObject *const *args, Py_ssize_t n);

/* ---- direct.c: to ufuncs without Python ---- */
extern PyTypeObject *ck_direct_type;
extern PyType_Spec ck_direct_spec;

#endif
