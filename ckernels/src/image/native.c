/* native.c: the native instructions: which function runs one, what its operands span, how much
   scratch it needs. All that follows from its dims, so plans can be checked before they run. */
#include "image/native.h"

enum { X, W, Y };                  /* shapes: of an image, a kernel, a result */

typedef struct {
    int (*run)(void *const *p, const int64_t *d, ck_fn epilogue);
    int64_t (*scratch)(const int64_t *d);              /* NULL: none */
    int operands, kinds[3], result;
} native;

_Static_assert((int)CK_CONV_DIMS == (int)CK_NATIVE_DIMS, "dims of native instructions");

static const native natives[CK_NATIVES] = {
    [CK_CONV] = {ck_conv, ck_conv_scratch, 2, {X, W}, Y},
    [CK_CONV_INPUT_GRAD] = {ck_conv, ck_conv_scratch, 2, {Y, W}, X},
    [CK_CONV_WEIGHT_GRAD] = {ck_conv_weight, ck_conv_weight_scratch, 2, {X, Y}, W},
    [CK_DEPTHWISE] = {ck_depthwise, NULL, 2, {X, W}, Y},
    [CK_DEPTHWISE_INPUT_GRAD] = {ck_depthwise, NULL, 2, {Y, W}, X},
    [CK_DEPTHWISE_WEIGHT_GRAD] = {ck_depthwise_weight, ck_depthwise_weight_scratch, 2, {X, Y}, W},
    [CK_POOL_MAX] = {ck_pool, NULL, 1, {X}, Y},
    [CK_POOL_SUM] = {ck_pool, NULL, 1, {X}, Y},
    [CK_POOL_SUM_GRAD] = {ck_pool, NULL, 1, {Y}, X},
    [CK_POOL_MAX_GRAD] = {ck_pool_max_back, NULL, 3, {X, Y, Y}, X},
    [CK_POOL_MAX_TAKE] = {ck_pool_max_back, NULL, 3, {X, Y, X}, Y},
    [CK_TRANSPOSE] = {ck_transpose, NULL, 1, {X}, Y},
    [CK_PLANES] = {ck_planes, ck_planes_scratch, 2, {X, W}, Y},
    [CK_PLANES_INPUT_GRAD] = {ck_planes, ck_planes_scratch, 2, {Y, W}, X},
    [CK_PLANES_WEIGHT_GRAD] = {ck_planes, ck_planes_scratch, 2, {X, Y}, W},
};

int ck_native(void *const *p, const int64_t *d, ck_fn epilogue)
{
    return natives[d[CK_D_OP]].run(p, d, epilogue);
}

/* Pointers of the instruction before those of its epilogue. */
static int pointers(const native *n) { return n->operands + 1 + (n->scratch != NULL); }

/* ---- checks ---- */

/* Most elements of an operand and of what one pixel's neighbourhood reads, so that no size or
   offset computed from them overflows. */
#define MOST ((int64_t)1 << 52)
#define MOST_READ ((int64_t)1 << 38)
#define MOST_STEP ((int64_t)1 << 31)

static int product(int64_t *total, int64_t n, int64_t most)
{
    return n <= most && !__builtin_mul_overflow(*total, ck_max(1, n), total) && *total <= most;
}

static int sane_axis(const int64_t *a)
{
    for (int i = 0; i < CK_A_DIMS; i++) {
        int least = i == CK_A_KERNEL || i == CK_A_STRIDE || i == CK_A_DILATION;
        if (a[i] < least || a[i] > MOST_STEP)
            return 0;
    }
    return 1;
}

/* Planes take steps of a pixel and small kernels. */
static int sane_planes(const int64_t *a)
{
    int fits = a[CK_A_SIZE] == 1 && a[CK_A_RESULT] == 1 && a[CK_A_KERNEL] == 1 && !a[CK_A_LOW];
    for (int k = 0; k < 3; k++, a += CK_A_DIMS)
        fits &= a[CK_A_STRIDE] == 1 && a[CK_A_DILATION] == 1 && a[CK_A_KERNEL] <= CK_PLANE_TAPS;
    return fits;
}

/* Only the columns of the result have to be contiguous, and it lies behind its pointer. */
static int sane_transposition(const int64_t *d)
{
    int64_t all = 1;
    for (int k = 0; k < 5; k++)
        if (d[CK_T_BATCH + k] < 0 || !product(&all, d[CK_T_BATCH + k], MOST)
            || d[CK_T_TO + k] < 0)
            return 0;
    return (d[CK_D_DTYPE] | 1) == 1 && d[CK_T_TO + 4] == 1;
}

/* Whether sizes are sane. Windows may lie anywhere: what is outside of the image is not read. */
static int sane(const int64_t *d)
{
    int64_t image = 1, kernel = 1, result = 1, read = 1, groups = d[CK_D_GROUPS];
    int64_t channels = d[CK_D_CHANNELS], out = d[CK_D_OUT], batch = d[CK_D_BATCH];
    if (d[CK_D_OP] == CK_TRANSPOSE)
        return sane_transposition(d);
    if (d[CK_D_OP] < 0 || d[CK_D_OP] >= CK_NATIVES || (d[CK_D_DTYPE] | 1) != 1 || groups < 1
        || batch < 0 || channels < 0 || out < 0 || channels % groups || out % groups
        || d[CK_D_SLOTS] < 1 || d[CK_D_SLOTS] > 1024 || d[CK_D_UNIT] < 0)
        return 0;
    if (d[CK_D_OP] >= CK_DEPTHWISE && (groups != ck_max(1, channels) || out != channels))
        return 0;
    if (d[CK_D_OP] >= CK_PLANES && !sane_planes(d + CK_D_AXES))
        return 0;
    for (int k = 0; k < 3; k++) {
        const int64_t *a = d + CK_D_AXES + k * CK_A_DIMS;
        if (!sane_axis(a) || !product(&image, a[CK_A_SIZE], MOST)
            || !product(&kernel, a[CK_A_KERNEL], MOST) || !product(&result, a[CK_A_RESULT], MOST)
            || !product(&read, k ? a[CK_A_RESULT] * a[CK_A_STRIDE]
                                   + a[CK_A_KERNEL] * a[CK_A_DILATION] : a[CK_A_KERNEL], MOST_READ))
            return 0;
    }
    return product(&image, batch, MOST) && product(&image, channels, MOST)
           && product(&kernel, channels, MOST) && product(&kernel, out, MOST)
           && product(&result, batch, MOST) && product(&result, out, MOST)
           && product(&read, ck_max(channels, out), MOST_READ);
}

/* The shape of an image, kernel or result, five axes. */
static void shape_of(const int64_t *d, int kind, int64_t shape[5])
{
    int which = kind == X ? CK_A_SIZE : kind == Y ? CK_A_RESULT : CK_A_KERNEL, first = kind != W;
    for (int k = 0; k < 3; k++)
        shape[first + k] = d[CK_D_AXES + k * CK_A_DIMS + which];
    if (kind == W)
        shape[3] = d[CK_D_CHANNELS] / d[CK_D_GROUPS], shape[4] = d[CK_D_OUT];
    else
        shape[0] = d[CK_D_BATCH], shape[4] = d[kind == X ? CK_D_CHANNELS : CK_D_OUT];
}

/* Bytes [low, high) around the pointer that an operand of this shape spans. 0: too many. */
static int span_of(const int64_t *shape, const int64_t *strides, int64_t size, ck_operand *out)
{
    out->low = 0, out->high = size;
    for (int k = 0; k < 5; k++)
        if (!shape[k]) {
            out->high = 0;
            return 1;
        }
    for (int k = 0; k < 5; k++) {
        int64_t reach, *side = strides[k] < 0 ? &out->low : &out->high;
        if (strides[k] > INT64_MAX / 64 || strides[k] < INT64_MIN / 64
            || __builtin_mul_overflow(shape[k] - 1, strides[k] * size, &reach)
            || __builtin_add_overflow(*side, reach, side))
            return 0;
    }
    return 1;
}

static void dense(const int64_t shape[5], int64_t strides[5])
{
    int64_t step = 1;
    for (int k = 4; k >= 0; k--)
        strides[k] = step, step *= shape[k] ? shape[k] : 1;
}

int ck_native_operand(const int64_t *d, int which, ck_operand *out)
{
    int64_t size = d[CK_D_DTYPE] ? 8 : 4, shape[5], strides[5];
    if (which == 0 && !sane(d))
        return -1;
    const native *n = natives + d[CK_D_OP];
    if (which >= pointers(n))
        return 0;
    *out = (ck_operand){0, 0, which >= n->operands};
    if (which > n->operands) {
        out->high = n->scratch(d);
        return out->high < 0 ? -1 : 1;
    }
    if (d[CK_D_OP] == CK_TRANSPOSE)
        return span_of(d + CK_T_BATCH, d + (which ? CK_T_TO : CK_T_FROM), size, out) ? 1 : -1;
    shape_of(d, which == n->operands ? n->result : n->kinds[which], shape);
    dense(shape, strides);
    const int64_t *given = which == 0 ? d + CK_D_FIRST : d + CK_D_SECOND;
    int any = n->operands < 3 && which < n->operands;
    int empty = 0;
    for (int k = 0; k < 5; k++)
        empty |= !shape[k];
    int planes = d[CK_D_OP] >= CK_PLANES, beside = planes ? 3 : 4;
    int fixed = planes ? any && n->kinds[which] != W : any && d[CK_D_OP] >= CK_DEPTHWISE;
    if (fixed && !empty && shape[beside] > 1 && given[beside] != 1)
        return -1;                     /* channels (of planes: columns) have to be side by side */
    for (int k = 0; n->operands == 3 && which == 0 && k < 5; k++)
        if (given[k] != strides[k] && shape[k] > 1 && !empty)
            return -1;                             /* and these operands contiguous */
    return span_of(shape, any ? given : strides, size, out) ? 1 : -1;
}

int64_t ck_native_scratch(const int64_t *d)
{
    if (!sane(d))
        return -1;
    return natives[d[CK_D_OP]].scratch ? natives[d[CK_D_OP]].scratch(d) : 0;
}
