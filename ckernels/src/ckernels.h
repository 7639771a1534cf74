/* ckernels.h: what the C runtime's files share: the kernel ABI, threads, BLAS, gemm and
   memory.

   No Python here: only files that include python/python.h know the interpreter, so
   everything below runs without the GIL and may be called from many threads at once. Functions
   return CK_OK or one of the codes; Python turns a code into a sentence. */
#ifndef CKERNELS_H
#define CKERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "plan/records.h"

#define CK_ABI 1

/* A kernel: the range [lo, hi) of its domain. p: operands, dims: sizes and strides (in
   elements). */
typedef int (*ck_fn)(void *const *p, const int64_t *dims, int64_t lo, int64_t hi);

/* Return codes. */
enum { CK_OK = 0, CK_EINDEX = 1, CK_EMEMORY = 2, CK_EPYTHON = 3, CK_EVALUE = 4 };

/* Instruction kinds. */
enum {
    CK_KERNEL = 0, CK_GEMM = 1, CK_PYCALL = 2, CK_SCAN = 3, CK_IF = 4, CK_NATIVE = 5,
    CK_TOLD = 6                  /* inside of a scan whose kernel does the same: for its tag alone */
};

/* One instruction of a plan, 8 x int64. ptr: index of its first pointer in the frame's pointer
   table; dims: index of its first int64 in the plan's dims; range [0, n); chunks start at
   multiples of block; grain: the least range worth a thread (n < 2*grain runs serially in the
   caller). tag: for messages. */
typedef struct {
    int64_t kind, tag;
    ck_fn fn;
    int64_t ptr, dims, n, block, grain;
} ck_instr;

/* ---- scans and branches: instructions that others follow ----

   CK_SCAN runs the n instructions after it once per step; its dims are a ck_scan, then so many
   slides, moves, finals and traces. Step t is row t of sequences and results; j counts the steps
   run: t = j, or rows - 1 - j in reverse. Before each step, pointers of the body are moved; all
   fields named after a pointer are rows of the plan's pointer table (-1: none), strides are bytes.
   CK_IF: p[0] is a bool: where it is true the next n instructions run, else the `block` after. */
typedef struct {
    int64_t rows, limit;         /* most rows there are; most steps that run, -1: all */
    int64_t reverse;
    int64_t stepped;             /* fn of the scan takes the steps of its range; its dims are behind
                                    the traces, its first pointer is to what it tells (below) */
    int64_t count;               /* int64: only rows before this one run */
    int64_t flag;                /* bool, written by the body: true ends the scan */
    int64_t executed;            /* int64, written: how many steps ran */
    int64_t slides, moves, finals, traces;
    int64_t width, part;         /* part > 0: each step treats `width` rows apart, and every `part`
                                    of them take the steps by themselves (apart.c) */
    int64_t stretch;             /* steps they, or fn, take until the scan polls for signals */
} ck_scan;

typedef struct { int64_t slot, from, stride; } ck_slide;      /* slot = from + t * stride */

/* With x = j or t (x_by_t) and y likewise: slot = x < until ? a + (x & a_mask) * a_stride
   : b + ((y - shift) & b_mask) * b_stride. Masks make rings of 2**k rows; -1 is no ring. */
typedef struct {
    int64_t slot, x_by_t, until, a, a_stride, a_mask;
    int64_t y_by_t, shift, b, b_stride, b_mask;
} ck_move;

/* After the scan: bytes at `from` (as the last step left it), or at `first` when none ran. */
typedef struct { int64_t to, from, first, bytes; } ck_final;
typedef struct { int64_t slot, bytes; } ck_trace;             /* rows not run become zeros */

/* What the kernel of a scan is told, and tells: how many rows there are; at which step it is,
   whether the flag ended the scan there; where it failed the instruction of the body, from 0, how
   many scans inside of this one were at work, and their steps, the innermost first; a function of
   its argument that looks for signals, for scans inside that may never end, and its argument. */
enum { CK_ROWS, CK_DONE, CK_ENDED, CK_FAILED, CK_INNER, CK_STEPS, CK_POLL = CK_STEPS + 8, CK_RUNNER,
       CK_TELLS };

enum {
    CK_SCAN_WORDS = sizeof(ck_scan) / 8, CK_SLIDE_WORDS = sizeof(ck_slide) / 8,
    CK_MOVE_WORDS = sizeof(ck_move) / 8, CK_FINAL_WORDS = sizeof(ck_final) / 8,
    CK_TRACE_WORDS = sizeof(ck_trace) / 8
};

typedef struct {                 /* a scan's dims taken apart */
    const ck_scan *head;
    const ck_slide *slides;
    const ck_move *moves;
    const ck_final *finals;
    const ck_trace *traces;
    const int64_t *end;
} ck_scan_parts;

static inline ck_scan_parts ck_scan_of(const int64_t *dims)
{
    ck_scan_parts l = {(const ck_scan *)dims, NULL, NULL, NULL, NULL, NULL};
    l.slides = (const ck_slide *)(dims + CK_SCAN_WORDS);
    l.moves = (const ck_move *)(l.slides + l.head->slides);
    l.finals = (const ck_final *)(l.moves + l.head->moves);
    l.traces = (const ck_trace *)(l.finals + l.head->finals);
    l.end = (const int64_t *)(l.traces + l.head->traces);
    return l;
}

/* Point the body's slots at step j, which is row t. */
static inline void ck_scan_seek(const ck_scan_parts *l, char **table, int64_t t, int64_t j)
{
    const int64_t at[2] = {j, t};
    for (const ck_slide *s = l->slides; s < (const ck_slide *)l->moves; s++)
        table[s->slot] = table[s->from] + t * s->stride;
    for (const ck_move *m = l->moves; m < (const ck_move *)l->finals; m++) {
        int64_t x = at[m->x_by_t], y = at[m->y_by_t] - m->shift;
        table[m->slot] = x < m->until ? table[m->a] + (x & m->a_mask) * m->a_stride
                                      : table[m->b] + (y & m->b_mask) * m->b_stride;
    }
}

/* ---- apart.c: steps [from, to) of a scan whose parts run by themselves ---- */
typedef struct {
    const ck_instr *in;          /* the scan */
    const int64_t *dims;         /* of the plan */
    void *const *table;          /* slots that do not move are read from here */
    int64_t slots, count;        /* count: rows there are; in reverse the first step is the last */
    int64_t from, to;
    int64_t *profile;            /* of the body's instructions: calls, ns; or NULL */
    int64_t failed;              /* the instruction of the body that failed, if any did: at `from` */
} ck_stretch;
int ck_apart(ck_stretch *s);

/* How many instructions belong to this one: the body of a scan, the sides of a branch. */
static inline int64_t ck_inner(const ck_instr *in)
{
    return in->kind == CK_SCAN ? in->n : in->kind == CK_IF ? in->n + in->block : 0;
}

/* ---- parallel.c: the only parallel region of the runtime ---- */
int ck_parallel_for(ck_fn fn, void *const *p, const int64_t *dims, int64_t n, int64_t block,
                    int64_t grain);
void ck_yield(void);                          /* let another thread have this cpu */
int ck_seat(void);                            /* the calling thread's place in the team; 0: none */
int ck_get_num_threads(void);
int ck_set_num_threads(int n);                /* n < 1: the default; returns the old one */
int ck_threads_rule(char *text, size_t size); /* which rule decided, e.g. "cpu affinity (2)" */
double ck_cgroup_cpus(const char *self_cgroup, const char *mount);   /* cpu quota; 0: none */

/* ---- spans.c: who worked when in a call that is watched ---- */
enum { CK_SPANS = 4096 };        /* kept of one call: 128 kB */
typedef struct { int64_t at, seat, from, to; } ck_span;   /* at: an instruction, -1: a part of one */
typedef struct ck_spans ck_spans;
ck_spans *ck_spans_new(void);                 /* NULL: no memory */
void ck_spans_free(ck_spans *spans);
void ck_spans_clear(ck_spans *spans);         /* a call begins: times count from now on */
ck_spans *ck_watch(ck_spans *spans);          /* what this thread does from here on, NULL: nothing;
                                                 returns what it was before */
ck_spans *ck_watched(void);
void ck_span_add(ck_spans *spans, int64_t at, int64_t from);         /* up to now, in this thread */
int64_t ck_spans_count(const ck_spans *spans, int64_t *lost);        /* lost: beyond CK_SPANS */
ck_span ck_spans_get(const ck_spans *spans, int64_t i);              /* ns since the call began */

/* ---- gemm.c ---- C = alpha * op(A) @ op(B) + beta * C, as a ck_gemm_dims says. p[0] = A, p[1] =
   B, p[2] = C. epilogue (or NULL): after rows [r0, r1) of C (counted over batch*m) are final,
   epilogue(p + 3, dims behind the record, r0*unit, r1*unit) runs once in the thread that finished
   them. m, n, k and batch may be 0. beta == 0 never reads C. The result does not depend on the
   number of threads. */
int ck_gemm(void *const *p, const void *record, ck_fn epilogue);
int ck_gemm_rows(void *const *p, const void *record, ck_fn epilogue, int64_t row0, int64_t row1);
                     /* these rows only, in this thread, by the built-in gemm: a library may add up
                        another number of rows in another order; batch 1, k > 0 */

/* ---- native.c: convolution and pooling ---- record: a ck_window_dims or ck_transpose_dims.
   Operands come first, then the result, then scratch where it is needed. The epilogue runs as for
   gemm, on pixels of the result; its dims and pointers follow. */
typedef struct { int64_t low, high; int written; } ck_operand;         /* bytes around a pointer */
int ck_native(void *const *p, const void *record, ck_fn epilogue);
int ck_native_operand(const void *record, int which, ck_operand *out);   /* 0: no more, -1: bad */
int64_t ck_native_scratch(const void *record);                         /* bytes; -1: bad dims */

/* ---- builtin.c: the gemm that is always there ---- */
typedef struct {
    int64_t m, n, k;
    int trans_a, trans_b;
    int64_t lda, ldb, ldc;
    double alpha, beta;
    int whole;                    /* no panel of a larger product */
    int thin;                     /* few rows by a large B, which is read from memory as it lies */
} ck_gemm_shape;

int ck_builtin_gemm(int dtype, const ck_gemm_shape *s, const void *a, const void *b, void *c);
int ck_builtin_rows(int dtype, const ck_gemm_shape *s, const void *a, const void *b, void *c);
/* B as the built-in gemm reads it, so that a team packs it once: bytes of `data` (to be given),
   then blocks of `depth` rows, any columns from a multiple of 32 on; panels of C want col0 of
   the same kind (their shape, a and c are the panel's own). */
typedef struct { char *data; int64_t width, depth; } ck_packed;
int64_t ck_builtin_packed(int dtype, const ck_gemm_shape *s, ck_packed *out);
void ck_builtin_pack(int dtype, const ck_gemm_shape *s, const void *b, const ck_packed *to,
                     int64_t block, int64_t col0, int64_t col1);
int ck_builtin_panel(int dtype, const ck_gemm_shape *s, const void *a, const ck_packed *b,
                     int64_t col0, void *c);
const char *ck_builtin_name(void);

/* ---- simd.c: the instruction set of this CPU ---- */
enum { CK_BASE, CK_AVX2, CK_AVX512 };         /* on other CPUs than x86-64 CK_BASE */
int ck_simd(void);
int ck_has_kernels(void);                     /* 0: this runtime is for another CPU */
int ck_is_amd(void);
int ck_has_bf16(void);                        /* products of bfloat16, with AVX-512 */

/* ---- saturate.c: n floats as integers of 1 << log bytes, cut at their ends; NaN is 0 ---- */
void ck_saturate(int dtype, const void *x, int64_t n, int is_signed, int log, void *out);

/* ---- blas.c: function pointers, resolved at the first gemm ---- */
typedef struct ck_blas ck_blas;
const ck_blas *ck_blas_get(void);
int ck_blas_gemm(const ck_blas *blas, int dtype, const ck_gemm_shape *s, const void *a,
                 const void *b, void *c);
int ck_blas_may_call(const ck_blas *blas, int dtype, const ck_gemm_shape *s, int64_t rows);
int ck_blas_is_builtin(const ck_blas *blas, const ck_gemm_shape *s);
void ck_blas_enter(const ck_blas *blas);      /* until leave BLAS uses one thread a call */
void ck_blas_leave(const ck_blas *blas);
int ck_blas_use(const char *path);            /* path, "builtin", or NULL: search again */
void ck_blas_hint(const char *path);          /* worth trying, e.g. scipy-openblas32's */
int ck_blas_name(char *text, size_t size);    /* resolves when nothing has yet */

/* ---- arena.c: 64-byte aligned memory, big buffers recycled ---- */
void *ck_alloc(size_t bytes);                 /* NULL when there is none; 0 bytes: a pointer */
void *ck_alloc_near(size_t bytes, size_t *size);    /* at least bytes; *size: for ck_free */
void ck_free(void *data, size_t bytes);       /* bytes as asked for */
void ck_pool_trim(void);                      /* give all idle buffers back to the system */
int64_t ck_pool_bytes(void);                  /* idle bytes in the pool */
void ck_pool_limit(int64_t bytes);            /* what it may hold; 0: nothing */

#endif
