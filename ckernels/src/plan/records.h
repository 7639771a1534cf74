/* records.h: what the dims of gemm and native instructions say, word by word: the one place that
   does. ckernels/plan/records.py is generated from this file by `python -m build_tools.records`.

   Every field is an int64, since sizes of a class of shapes are filled in word by word. The dims
   of an epilogue follow the record of its instruction. */
#ifndef CK_RECORDS_H
#define CK_RECORDS_H

#include <stdint.h>

/* C = alpha * op(A) @ op(B) + beta * C, row-major; strides are in elements. */
typedef struct {
    int64_t dtype;                      /* 0 float32, 1 float64 */
    int64_t m, n, k;
    int64_t trans_a, trans_b;           /* 0 or 1 */
    int64_t lda, ldb, ldc;
    int64_t alpha, beta;                /* bits of a double */
    int64_t batch;                      /* how many matrices */
    int64_t step_a, step_b, step_c;     /* from one to the next; 0 allowed for A and B */
    int64_t unit;                       /* range of the epilogue for a row */
} ck_gemm_dims;

/* The first word of a native instruction: which one it is. */
enum {
    CK_CONV, CK_CONV_INPUT_GRAD, CK_CONV_WEIGHT_GRAD,
    CK_DEPTHWISE, CK_DEPTHWISE_INPUT_GRAD, CK_DEPTHWISE_WEIGHT_GRAD,
    CK_POOL_MAX, CK_POOL_SUM, CK_POOL_SUM_GRAD, CK_POOL_MAX_GRAD, CK_POOL_MAX_TAKE,
    CK_TRANSPOSE, CK_PLANES, CK_PLANES_INPUT_GRAD, CK_PLANES_WEIGHT_GRAD,
    CK_ORDER, CK_ATTENTION, CK_ATTENTION_GRAD, CK_REPEAT, CK_NATIVES
};

/* One axis of an image and of the windows over it. */
typedef struct {
    int64_t size, result, kernel, stride, dilation;
    int64_t low;                        /* padding before the first element */
} ck_axis_dims;

/* The native instructions of images. Images are (n, d, h, w, c), kernels (d, h, w, c,
   o); strides are in elements. */
typedef struct {
    int64_t op;
    int64_t dtype;                      /* 0 float32, 1 float64 */
    int64_t batch, channels, out, groups;
    ck_axis_dims axes[3];
    int64_t first[5];                   /* strides of the first operand */
    int64_t second[5];                  /* of the second: a kernel or a result */
    int64_t slots;                      /* threads that have scratch of their own */
    int64_t unit;                       /* range of the epilogue for a pixel */
} ck_window_dims;

/* A batch of matrices whose rows become columns: three sizes of the batch, rows and columns of the
   result, whose columns are contiguous. Repeat has columns 0 or 1 apart in the operand. */
typedef struct {
    int64_t op;
    int64_t dtype;                      /* 0 elements of 1 byte, 1 of 2, 2 of 4, 3 of 8 */
    int64_t sizes[5], near[5], far[5];  /* near: strides of the operand, far: of the result */
    int64_t none[19];                   /* native instructions are of one length */
} ck_transpose_dims;

/* Rows in order, along an axis of `length` elements `step` apart; the rows lie by three sizes and
   strides. There are `count` results of each row, `apart`. */
typedef struct {
    int64_t op;
    int64_t width;                      /* 0 elements of 1 byte, 1 of 2, 2 of 4, 3 of 8 */
    int64_t kind;                       /* 0 unsigned, 1 signed, 2 float16, 3 bfloat16, 4 float */
    int64_t what;                       /* 0 values, 1 places, 2 first places of equal indices */
    int64_t falling;                    /* 1: places in falling order */
    int64_t length, count;
    int64_t size;                       /* of the axis that indices point to; otherwise 0 */
    int64_t step, apart;
    int64_t sizes[3], near[3], far[3];  /* near: strides of the operand, far: of the result */
    int64_t slots;                      /* threads that have scratch of their own */
    int64_t none[16];                   /* native instructions are of one length */
} ck_order_dims;

/* softmax(q @ k.T + bias, hidden scores set to `fill`) @ v. Strides are in elements: of two sizes
   of the batch, of rows, and of keys where there are four. */
typedef struct {
    int64_t op;
    int64_t dtype;                      /* 0 float32, 1 float64 */
    int64_t outer, inner;               /* sizes of the batch */
    int64_t rows, keys, width, values;  /* width: numbers of a query and a key; values: of a value */
    int64_t q[3], k[3], v[3];
    int64_t bias[4], mask[4];
    int64_t has;                        /* 1: a bias, 2: a mask (bool), 4: weights are drawn */
    int64_t causal;                     /* row r sees keys up to r + causal */
    int64_t fill;                       /* bits of a double */
    int64_t zero;                       /* 1: a row that sees no key gives 0 */
    int64_t keep;                       /* of 2^24 draws so many keep a weight */
    int64_t only;                       /* 1: the gradient by values alone */
    int64_t none[5];                    /* native instructions are of one length */
} ck_attention_dims;

enum {
    CK_GEMM_WORDS = sizeof(ck_gemm_dims) / sizeof(int64_t),
    CK_NATIVE_WORDS = sizeof(ck_window_dims) / sizeof(int64_t)
};
_Static_assert(sizeof(ck_transpose_dims) == sizeof(ck_window_dims), "one length");
_Static_assert(sizeof(ck_order_dims) == sizeof(ck_window_dims), "one length");
_Static_assert(sizeof(ck_attention_dims) == sizeof(ck_window_dims), "one length");

#endif
