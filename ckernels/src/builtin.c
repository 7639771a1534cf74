/* builtin.c: the gemm that is always there: blocked, packed, one thread.

   The blocking is Goto's (ACM TOMS 34, 2008): a block of B (KC x NC) in L3, a block of A (MC x KC) in L2, a
   sliver of B (KC x NR) in L1, a tile of C in registers. The micro-kernel is plain C on GCC vectors, compiled
   for three instruction sets and chosen at run time, so the runtime itself needs no -march.
   Any strides work, zero and negative ones too. */
#include "ckernels.h"

#include <string.h>

typedef struct {
    void (*tile)(int64_t k, const void *a, const void *b, void *c, int64_t ldc, int rows, int cols,
                 double alpha, double beta);
    void (*pack_a)(const void *x, int64_t count, int64_t k, int64_t stride, int64_t kstride, void *out);
    void (*pack_b)(const void *x, int64_t count, int64_t k, int64_t stride, int64_t kstride, void *out);
    int mr, nr, size;
} kernel;

#define REAL float
#define BYTES 16
#define MR 4
#define SUFFIX base_f32
#define TARGET
#include "microkernel.h"
#define REAL double
#define BYTES 16
#define MR 4
#define SUFFIX base_f64
#define TARGET
#include "microkernel.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define CK_X86 1
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")))
#define REAL float
#define BYTES 32
#define MR 6
#define SUFFIX avx2_f32
#define TARGET AVX2
#include "microkernel.h"
#define REAL double
#define BYTES 32
#define MR 6
#define SUFFIX avx2_f64
#define TARGET AVX2
#include "microkernel.h"
#define REAL float
#define BYTES 64
#define MR 12
#define SUFFIX avx512_f32
#define TARGET AVX512
#include "microkernel.h"
#define REAL double
#define BYTES 64
#define MR 12
#define SUFFIX avx512_f64
#define TARGET AVX512
#include "microkernel.h"
#endif

enum { KC = 256, MC = 192, NC = 2048 };

/* 0: baseline, 1: AVX2 + FMA, 2: AVX-512 */
static int level(void)
{
#ifdef CK_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
        && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return 1;
#endif
    return 0;
}

static const kernel *choose(int dtype)
{
#ifdef CK_X86
    static const kernel *const table[3][2] = {{&kernel_base_f32, &kernel_base_f64},
                                              {&kernel_avx2_f32, &kernel_avx2_f64},
                                              {&kernel_avx512_f32, &kernel_avx512_f64}};
    return table[level()][dtype];
#else
    static const kernel *const table[2] = {&kernel_base_f32, &kernel_base_f64};
    return table[dtype];
#endif
}

const char *ck_builtin_name(void)
{
    static const char *const names[] = {"builtin", "builtin (avx2)", "builtin (avx512)"};
    return names[level()];
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* Element strides of op(A) (m, k) and op(B) (k, n), and the output. */
typedef struct {
    const char *a, *b;
    char *c;
    int64_t a_row, a_k, b_k, b_col, ldc;
    double alpha, beta;
} operands;

/* c (m, n) += packed a (m, k) @ packed b (k, n), tile by tile. */
static void block(const kernel *f, const operands *o, const char *a, const char *b, char *c, int64_t m,
                  int64_t n, int64_t k, double beta)
{
    for (int64_t j = 0; j < n; j += f->nr)
        for (int64_t i = 0; i < m; i += f->mr)
            f->tile(k, a + i * k * f->size, b + j * k * f->size, c + (i * o->ldc + j) * f->size,
                    o->ldc, (int)least(m - i, f->mr), (int)least(n - j, f->nr), o->alpha, beta);
}

static void blocked(const kernel *f, const operands *o, int64_t m, int64_t n, int64_t k, char *work)
{
    int size = f->size;
    char *packed_b = work + round_up(MC, f->mr) * KC * size;
    for (int64_t jc = 0; jc < n; jc += NC) {
        int64_t nb = least(n - jc, NC);
        for (int64_t pc = 0; pc < k; pc += KC) {
            int64_t kb = least(k - pc, KC);
            f->pack_b(o->b + (pc * o->b_k + jc * o->b_col) * size, nb, kb, o->b_col, o->b_k, packed_b);
            for (int64_t ic = 0; ic < m; ic += MC) {
                int64_t mb = least(m - ic, MC);
                f->pack_a(o->a + (ic * o->a_row + pc * o->a_k) * size, mb, kb, o->a_row, o->a_k, work);
                block(f, o, work, packed_b, o->c + (ic * o->ldc + jc) * size, mb, nb, kb,
                      pc ? 1.0 : o->beta);
            }
        }
    }
}

int ck_builtin_gemm(int dtype, const ck_gemm_shape *s, const void *a, const void *b, void *c)
{
    if (s->m <= 0 || s->n <= 0)
        return CK_OK;
    const kernel *f = choose(dtype);
    operands o = {a, b, c, s->trans_a ? 1 : s->lda, s->trans_a ? s->lda : 1, s->trans_b ? 1 : s->ldb,
                  s->trans_b ? s->ldb : 1, s->ldc, s->alpha, s->beta};
    if (s->k <= 0) {                       /* empty sums: C = beta * C */
        o.alpha = 0;
        block(f, &o, NULL, NULL, c, s->m, s->n, 0, s->beta);
        return CK_OK;
    }
    int64_t kb = least(s->k, KC);
    size_t bytes = (size_t)((round_up(MC, f->mr) * KC + kb * round_up(least(s->n, NC), f->nr)) * f->size);
    char *work = ck_alloc(bytes);
    if (!work)
        return CK_EMEMORY;
    blocked(f, &o, s->m, s->n, s->k, work);
    ck_free(work, bytes);
    return CK_OK;
}
