/* dispatch.h: the traces that a Dispatch remembers, and a call under way; for dispatch.c, traces.c,
   fits.c and results.c alone. */
#ifndef CK_DISPATCH_H
#define CK_DISPATCH_H

#include "python/python.h"

#define LARGE 2147483647         /* as in jit/trace.py */

enum { MOST_PARTS = 64 };        /* results of one trace */

typedef struct {                 /* what a leaf must be: an array, or exactly of a type */
    PyArray_Descr *descr;        /* NULL: of `type` */
    PyTypeObject *type;
    PyObject *value;             /* the one number that it must be, or NULL */
    int nd, contiguous, placed;  /* placed: it lies at `offset` bytes of the leaf `home`, by `strides` */
    npy_intp shape[CK_MAXDIMS];  /* -1: any size above `small`, up to LARGE */
    npy_intp strides[CK_MAXDIMS];
    Py_ssize_t home, offset;
} leaf_kind;

typedef struct {                 /* a name and its object */
    PyObject *holder;            /* a dict or an object */
    PyObject *name, *value;
    PyObject **held;             /* of a class: all its names and values in turns; else NULL */
    Py_ssize_t n_held;
} reading;

typedef struct { Py_ssize_t n, *at; } numbers;

enum { LEAF, VIEW, STATIC, CONSTANT, NUMBER, MAYBE, SCALAR, ARRAY, PART };   /* as in HOWS */

typedef struct {                 /* how one result is made */
    int how;
    Py_ssize_t place, owner;     /* number of an array or leaf; ARRAY, PART: the part that owns it */
    int copied;                  /* the owner is a copy, since another has the array */
    PyObject *more;              /* an object, a type, (place, type), or lenses ((make, places)...) */
} part;

typedef struct node {            /* a truth value that chooses the next node, or an end */
    PyObject *function;          /* compiled, or a callable; NULL: an end that computes nothing */
    PyObject *left;              /* what is called with the arguments as they are, or NULL */
    numbers used;                /* of the leaves that the function takes */
    int ends;
    struct node *next[2];        /* NULL: a path that is Python's */
    int guarded;                 /* the first array says whether the trace holds */
    int puts;                    /* the result is put into what the call was given, by its method `put` */
    numbers mutated, arrays;     /* (leaf, place) in turns; the leaves that are arrays */
    Py_ssize_t n_parts;
    part *parts;
    PyObject *described;         /* the nesting of the result */
} node;

typedef struct trace {           /* a trace; held by the Dispatch and by calls that are under way */
    struct trace *next;          /* called less recently */
    Py_ssize_t held, n_leaves, n_fixed, n_free;
    PyObject *kept;              /* the tuple whose objects are borrowed here */
    PyObject *described, *kinds; /* what tells it from others: the nesting, kinds of its leaves */
    PyObject *args, *kwargs, *names;     /* the nestings of each */
    leaf_kind *leaves;
    int placed;                  /* whether it matters where some of them lie */
    int puts;                    /* no list, dict or object may be in two places of a call */
    reading *fixed, *free;
    npy_intp small;
    node *first;
} trace;

enum { MOST_HOLDERS = 64 };      /* lists, dicts and objects of a call that are told apart */

typedef struct {                 /* a call under way */
    const trace *t;
    PyObject *args, *kwargs;     /* as they were given; kwargs: or NULL */
    PyObject *holders[MOST_HOLDERS];     /* met so far, where t->puts */
    int n_holders;
    PyObject *object;            /* borrowed: whose attributes are compared */
    PyObject *leaves[CK_MAXDIMS];        /* owned */
    Py_ssize_t n;
} call;

typedef enum { TRIED, MISSED, SHARED, WRITTEN } outcome;     /* why a call has no result */

/* ---- traces.c: what is remembered ---- */
/* A trace of the arguments of `remember`, held once; NULL with an error. */
trace *ck_trace_parse(PyObject *args);
void ck_trace_drop(trace *t);

/* ---- fits.c ---- */
/* Whether a call fits c->t; the leaves that were met are the caller's to drop. */
int ck_call_fits(call *c);
/* The object that a name has now; NULL without an error if it has none. */
PyObject *ck_read_name(const reading *r);

/* ---- results.c ---- */
/* The result of the trace that a call fits, or NULL; *left: what has it instead. */
PyObject *ck_run_trace(const call *c, outcome *out, PyObject **left);

#endif
