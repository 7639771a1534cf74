/* ckernels.h: what the C runtime's files share: the kernel ABI, threads, BLAS, gemm and
   memory.

   No Python here: only executor.c and its friends (python.h) know the interpreter, so
   everything below runs without the GIL and may be called from many threads at once. Functions
   return CK_OK or one of the codes; Python turns a code into a sentence. */
#ifndef CKERNELS_H
#define CKERNELS_H

#include <stddef.h>
#include <stdint.h>

#define CK_ABI 1

/* A kernel: the range [lo, hi) of its domain. p: operands, dims: sizes and strides (in
   elements). */
typedef int (*ck_fn)(void *const *p, const int64_t *dims, int64_t lo, int64_t hi);

/* Return codes. */
enum { CK_OK = 0, CK_EINDEX = 1, CK_EMEMORY = 2, CK_EPYTHON = 3, CK_EVALUE = 4 };

/* Instruction kinds. */
enum { CK_KERNEL = 0, CK_GEMM = 1, CK_PYCALL = 2 };

/* One instruction of a plan, 8 x int64. ptr: index of its first pointer in the frame's pointer
   table; dims: index of its first int64 in the plan's dims; range [0, n); chunks start at
   multiples of block; grain: the least range worth a thread (n < 2*grain runs serially in the
   caller). tag: for messages. */
typedef struct {
    int64_t kind, tag;
    ck_fn fn;
    int64_t ptr, dims, n, block, grain;
} ck_instr;

/* ---- parallel.c: the only parallel region of the runtime ---- */
int ck_parallel_for(ck_fn fn, void *const *p, const int64_t *dims, int64_t n, int64_t block,
                    int64_t grain);
int ck_get_num_threads(void);
int ck_set_num_threads(int n);                /* n < 1: the default; returns the old one */
int ck_threads_rule(char *text, size_t size); /* which rule decided, e.g. "cpu affinity (2)" */
double ck_cgroup_cpus(const char *self_cgroup, const char *mount);   /* cpu quota; 0: none */

/* ---- gemm.c ---- C = alpha * op(A) @ op(B) + beta * C, row-major. p[0] = A, p[1] = B, p[2] =
   C. d[0] dtype (0 float32, 1 float64), d[1] m, d[2] n, d[3] k, d[4] transA, d[5] transB, d[6]
   lda, d[7] ldb, d[8] ldc (elements), d[9] alpha, d[10] beta (bits of a double), d[11] batch,
   d[12] d[13] d[14] batch strides of A, B, C (elements; 0 allowed for A and B), d[15] epilogue
   unit. epilogue (or NULL): after rows [r0, r1) of C (counted over batch*m) are final,
   epilogue(p + 3, d + 16, r0*unit, r1*unit) runs once in the thread that finished them. m, n,
   k and batch may be 0. beta == 0 never reads C. The result does not depend on the number of
   threads. */
enum { CK_GEMM_DIMS = 16 };
int ck_gemm(void *const *p, const int64_t *d, ck_fn epilogue);

/* ---- builtin.c: the gemm that is always there ---- */
typedef struct {
    int64_t m, n, k;
    int trans_a, trans_b;
    int64_t lda, ldb, ldc;
    double alpha, beta;
} ck_gemm_shape;

int ck_builtin_gemm(int dtype, const ck_gemm_shape *s, const void *a, const void *b, void *c);
int ck_builtin_level(void);                   /* 0: baseline, 1: AVX2 + FMA, 2: AVX-512 */
const char *ck_builtin_name(void);

/* ---- blas.c: function pointers, resolved at the first gemm ---- */
typedef struct ck_blas ck_blas;
const ck_blas *ck_blas_get(void);
int ck_blas_gemm(const ck_blas *blas, int dtype, const ck_gemm_shape *s, const void *a,
                 const void *b, void *c);
void ck_blas_enter(const ck_blas *blas);      /* until leave BLAS uses one thread a call */
void ck_blas_leave(const ck_blas *blas);
int ck_blas_use(const char *path);            /* path, "builtin", or NULL: search again */
void ck_blas_hint(const char *path);          /* worth trying, e.g. scipy-openblas32's */
int ck_blas_name(char *text, size_t size);    /* resolves when nothing has yet */

/* ---- arena.c: 64-byte aligned memory, big buffers recycled ---- */
void *ck_alloc(size_t bytes);                 /* NULL when there is none; 0 bytes: a pointer */
void ck_free(void *data, size_t bytes);       /* bytes as asked for */
void ck_pool_trim(void);                      /* give all idle buffers back to the system */
int64_t ck_pool_bytes(void);                  /* idle bytes in the pool */

#endif
