/* native.c: the native instructions: which function runs one, what its operands span, how much
   scratch it needs. All that follows from its dims, so plans can be checked before they run. */
#include "image/native.h"
#include "attention/attention.h"

enum { X, W, Y };                  /* shapes: of an image, a kernel, a result */

typedef struct {
    int (*run)(void *const *p, const void *record, ck_fn epilogue);
    int64_t (*scratch)(const void *record);            /* NULL: none */
    int operands, kinds[3], result;
} native;

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
    [CK_ORDER] = {ck_order, ck_order_scratch, 1, {X}, Y},
    [CK_ATTENTION] = {.run = ck_attention},
    [CK_ATTENTION_GRAD] = {.run = ck_attention_grad},
    [CK_REPEAT] = {ck_repeat, NULL, 1, {X}, Y},
};

int ck_native(void *const *p, const void *record, ck_fn epilogue)
{
    return natives[*(const int64_t *)record].run(p, record, epilogue);
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

static int sane_axis(const ck_axis_dims *a)
{
    const int64_t from_zero[] = {a->size, a->result, a->low};
    const int64_t from_one[] = {a->kernel, a->stride, a->dilation};
    for (int i = 0; i < 3; i++)
        if (from_zero[i] < 0 || from_zero[i] > MOST_STEP || from_one[i] < 1
            || from_one[i] > MOST_STEP)
            return 0;
    return 1;
}

/* Planes take steps of a pixel and small kernels. */
static int sane_planes(const ck_axis_dims *a)
{
    int fits = a->size == 1 && a->result == 1 && a->kernel == 1 && !a->low;
    for (int k = 0; k < 3; k++)
        fits &= a[k].stride == 1 && a[k].dilation == 1 && a[k].kernel <= CK_PLANE_TAPS;
    return fits;
}

/* Only the columns of the result have to be contiguous, and it lies behind its pointer. */
static int sane_transposition(const ck_transpose_dims *d)
{
    int64_t all = 1;
    for (int k = 0; k < 5; k++)
        if (d->sizes[k] < 0 || !product(&all, d->sizes[k], MOST) || d->far[k] < 0)
            return 0;
    return d->dtype >= 0 && d->dtype < 4 && d->far[4] == 1
           && (d->op == CK_TRANSPOSE || (d->near[4] | 1) == 1);
}

/* Kinds of elements have their widths; places are counted in the low 31 bits of a word. */
static int sane_order(const ck_order_dims *d)
{
    static const int widths[] = {15, 15, 2, 2, 12};        /* bits: of each kind, those it may have */
    int64_t all = 1;
    for (int k = 0; k < 3; k++)
        if (d->sizes[k] < 0 || !product(&all, d->sizes[k], MOST))
            return 0;
    return d->kind >= 0 && d->kind < 5 && d->width >= 0 && d->width < 4
           && widths[d->kind] >> d->width & 1 && d->what >= 0 && d->what <= 3 && (d->falling | 1) == 1
           && d->length >= 0 && d->length <= INT32_MAX && product(&all, d->length, MOST)
           && d->count >= 0 && d->count <= d->length && (d->what & 1 || d->count == d->length)
           && (d->what != 3 || !d->falling || d->count <= d->length / 2)
           && d->size >= 0 && (d->what != 2 || d->kind < 2)
           && d->slots >= 1 && d->slots <= 1024;
}

static int is_copy(const ck_window_dims *d)
{
    return d->op == CK_TRANSPOSE || d->op == CK_REPEAT;
}

/* Whether sizes are sane. Windows may lie anywhere: what is outside of the image is not read. */
static int sane(const void *record)
{
    const ck_window_dims *d = record;
    int64_t image = 1, kernel = 1, result = 1, read = 1, groups = d->groups;
    int64_t channels = d->channels, out = d->out, batch = d->batch;
    if (is_copy(d))
        return sane_transposition(record);
    if (d->op == CK_ORDER)
        return sane_order(record);
    if (d->op == CK_ATTENTION || d->op == CK_ATTENTION_GRAD)
        return ck_sane_attention(record);
    if (d->op < 0 || d->op >= CK_NATIVES || (d->dtype | 1) != 1 || groups < 1
        || batch < 0 || channels < 0 || out < 0 || channels % groups || out % groups
        || d->slots < 1 || d->slots > 1024 || d->unit < 0)
        return 0;
    if (d->op >= CK_DEPTHWISE && (groups != ck_max(1, channels) || out != channels))
        return 0;
    if (d->op >= CK_PLANES && !sane_planes(d->axes))
        return 0;
    for (int k = 0; k < 3; k++) {
        const ck_axis_dims *a = d->axes + k;
        if (!sane_axis(a) || !product(&image, a->size, MOST)
            || !product(&kernel, a->kernel, MOST) || !product(&result, a->result, MOST)
            || !product(&read, k ? a->result * a->stride
                                   + a->kernel * a->dilation : a->kernel, MOST_READ))
            return 0;
    }
    return product(&image, batch, MOST) && product(&image, channels, MOST)
           && product(&kernel, channels, MOST) && product(&kernel, out, MOST)
           && product(&result, batch, MOST) && product(&result, out, MOST)
           && product(&read, ck_max(channels, out), MOST_READ);
}

/* The shape of an image, kernel or result, five axes. */
static void shape_of(const ck_window_dims *d, int kind, int64_t shape[5])
{
    for (int k = 0; k < 3; k++) {
        const ck_axis_dims *a = d->axes + k;
        shape[k + (kind != W)] = kind == X ? a->size : kind == Y ? a->result : a->kernel;
    }
    if (kind == W)
        shape[3] = d->channels / d->groups, shape[4] = d->out;
    else
        shape[0] = d->batch, shape[4] = kind == X ? d->channels : d->out;
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

/* Rows and their results. */
static int span_of_order(const ck_order_dims *d, int result, ck_operand *out)
{
    const int64_t *rows = result ? d->far : d->near, size = result && d->what ? 8 : 1 << d->width;
    const int64_t line = result && d->what == 1 ? d->count : d->length;
    int64_t shape[5] = {d->sizes[0], d->sizes[1], d->sizes[2], line, 1};
    int64_t strides[5] = {rows[0], rows[1], rows[2], result ? d->apart : d->step, 1};
    return span_of(shape, strides, size, out) ? 1 : -1;
}

int ck_native_operand(const void *record, int which, ck_operand *out)
{
    const ck_window_dims *d = record;
    const ck_transpose_dims *t = record;
    int64_t size = d->dtype ? 8 : 4, shape[5], strides[5];
    if (which == 0 && !sane(d))
        return -1;
    if (d->op == CK_ATTENTION || d->op == CK_ATTENTION_GRAD)
        return ck_attention_operand(record, which, out);
    const native *n = natives + d->op;
    if (which >= pointers(n))
        return 0;
    *out = (ck_operand){0, 0, which >= n->operands};
    if (which > n->operands) {
        out->high = n->scratch(d);
        return out->high < 0 ? -1 : 1;
    }
    if (d->op == CK_ORDER)
        return span_of_order(record, which, out);
    if (is_copy(d))
        return span_of(t->sizes, which ? t->far : t->near, (int64_t)1 << t->dtype, out) ? 1 : -1;
    shape_of(d, which == n->operands ? n->result : n->kinds[which], shape);
    dense(shape, strides);
    const int64_t *given = which == 0 ? d->first : d->second;
    int any = n->operands < 3 && which < n->operands;
    int empty = 0;
    for (int k = 0; k < 5; k++)
        empty |= !shape[k];
    int planes = d->op >= CK_PLANES, beside = planes ? 3 : 4;
    int fixed = planes ? any && n->kinds[which] != W : any && d->op >= CK_DEPTHWISE;
    if (fixed && !empty && shape[beside] > 1 && given[beside] != 1)
        return -1;                     /* channels (of planes: columns) have to be side by side */
    for (int k = 0; n->operands == 3 && which == 0 && k < 5; k++)
        if (given[k] != strides[k] && shape[k] > 1 && !empty)
            return -1;                             /* and these operands contiguous */
    return span_of(shape, any ? given : strides, size, out) ? 1 : -1;
}

int64_t ck_native_scratch(const void *record)
{
    const ck_window_dims *d = record;
    if (!sane(d))
        return -1;
    return natives[d->op].scratch ? natives[d->op].scratch(d) : 0;
}
