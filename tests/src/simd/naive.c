/* naive.c: products and native instructions beside loops that do nothing but what they mean, for a
   CPU this computer is not: test_simd.py compiles it and runs it in an emulator. Operands are small
   integers, so every sum is exact in any order and results must be equal, not close. */
#include "image/native.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t ck_now(void) { return 0; }     /* for the sorts, which are not asked here */

static int failures, cases;
static uint32_t state = 1;

static int64_t small(void)                     /* -3 .. 3 */
{
    state = state * 1664525u + 1013904223u;
    return (int64_t)(state >> 16) % 7 - 3;
}

static void *memory(int64_t n, int dtype, int filled)
{
    void *data = malloc((size_t)(n + 1) * 8);
    for (int64_t i = 0; i < n; i++) {
        double v = filled ? (double)small() : 99;
        if (dtype)
            ((double *)data)[i] = v;
        else
            ((float *)data)[i] = (float)v;
    }
    return data;
}

static double at(const void *data, int dtype, int64_t i)
{
    return dtype ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static void compare(const char *what, const void *got, const double *wanted, int64_t n, int dtype)
{
    cases++;
    for (int64_t i = 0; i < n; i++)
        if (at(got, dtype, i) != wanted[i]) {
            printf("%s dtype %d: element %d is %g, not %g\n", what, dtype, (int)i,
                   at(got, dtype, i), wanted[i]);
            failures++;
            return;
        }
}

/* ---- products ---- */

static int64_t bits(double x)
{
    int64_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

static void product(int dtype, int64_t m, int64_t n, int64_t k, int ta, int tb, double beta)
{
    void *a = memory(m * k, dtype, 1), *b = memory(k * n, dtype, 1), *c = memory(m * n, dtype, 1);
    double *wanted = malloc((size_t)(m * n + 1) * sizeof *wanted);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum += at(a, dtype, ta ? p * m + i : i * k + p)
                       * at(b, dtype, tb ? j * k + p : p * n + j);
            wanted[i * n + j] = 2 * sum + beta * at(c, dtype, i * n + j);
        }
    ck_gemm_dims d = {.dtype = dtype, .m = m, .n = n, .k = k, .trans_a = ta, .trans_b = tb,
                      .lda = ta ? m : k, .ldb = tb ? k : n, .ldc = n, .alpha = bits(2),
                      .beta = bits(beta), .batch = 1};
    char what[96];
    snprintf(what, sizeof what, "gemm %d %d %d %d%d", (int)m, (int)n, (int)k, ta, tb);
    void *const p[] = {a, b, c};
    if (ck_gemm(p, &d, NULL))
        failures++;
    compare(what, c, wanted, m * n, dtype);
    free(a), free(b), free(c), free(wanted);
}

/* ---- windows ---- */

enum { IMAGE, KERNEL, RESULT };

typedef struct { int64_t shape[5], strides[5], n; } box;

/* first: channels in front of the rows and columns of an image. */
static box box_of(const ck_window_dims *d, int kind, int first)
{
    box b = {.n = 1};
    for (int k = 0; k < 3; k++) {
        const ck_axis_dims *a = d->axes + k;
        b.shape[k + (kind != KERNEL)] = kind == IMAGE ? a->size
                                        : kind == RESULT ? a->result : a->kernel;
    }
    if (kind == KERNEL)
        b.shape[3] = d->channels / d->groups, b.shape[4] = d->out;
    else
        b.shape[0] = d->batch, b.shape[4] = kind == IMAGE ? d->channels : d->out;
    static const int orders[2][5] = {{4, 3, 2, 1, 0}, {3, 2, 1, 4, 0}};
    for (int i = 0; i < 5; i++) {
        int k = orders[first && kind != KERNEL][i];
        b.strides[k] = b.n;
        b.n *= b.shape[k];
    }
    return b;
}

static int64_t offset(const box *b, int64_t i, int64_t j, int64_t k, int64_t l, int64_t m)
{
    const int64_t *s = b->strides;
    return i * s[0] + j * s[1] + k * s[2] + l * s[3] + m * s[4];
}

/* Everything a window meets, one element of the image with one of the result at a time. parts: the
   image, the kernel and the result, of which one is `to`. */
static void loops(const ck_window_dims *d, const box *boxes, void *const *parts, int to,
                  double *sums)
{
    const ck_axis_dims *a = d->axes;
    int dtype = (int)d->dtype, most = d->op == CK_POOL_MAX;
    int pools = d->op >= CK_POOL_MAX && d->op <= CK_POOL_SUM_GRAD;
    int64_t in = d->channels / d->groups, out = pools ? 1 : d->out / d->groups, n[3], q[3], k[3];
    for (int64_t i = 0; i < boxes[to].n; i++)
        sums[i] = most ? -1e30 : 0;
    for (int64_t item = 0; item < d->batch; item++)
        for (q[0] = 0; q[0] < a[0].result; q[0]++)
        for (q[1] = 0; q[1] < a[1].result; q[1]++)
        for (q[2] = 0; q[2] < a[2].result; q[2]++)
            for (k[0] = 0; k[0] < a[0].kernel; k[0]++)
            for (k[1] = 0; k[1] < a[1].kernel; k[1]++)
            for (k[2] = 0; k[2] < a[2].kernel; k[2]++) {
                int inside = 1;
                for (int i = 0; i < 3; i++) {
                    n[i] = q[i] * a[i].stride + k[i] * a[i].dilation - a[i].low;
                    inside &= n[i] >= 0 && n[i] < a[i].size;
                }
                for (int64_t g = 0; inside && g < d->groups; g++)
                    for (int64_t c = 0; c < in; c++)
                        for (int64_t o = 0; o < out; o++) {
                            int64_t places[3] = {
                                offset(boxes, item, n[0], n[1], n[2], g * in + c),
                                offset(boxes + 1, k[0], k[1], k[2], c, g * out + o),
                                offset(boxes + 2, item, q[0], q[1], q[2], g * out + o)};
                            double value = 1;
                            for (int i = 0; i < 3; i++)
                                if (i != to && !(pools && i == KERNEL))
                                    value *= at(parts[i], dtype, places[i]);
                            double *sum = sums + places[to];
                            *sum = most ? (value > *sum ? value : *sum) : *sum + value;
                        }
            }
}

static void window(ck_window_dims d)
{
    static const char *const names[] = {"conv", "input grad", "weight grad"};
    int pools = d.op >= CK_POOL_MAX, planes = d.op >= CK_PLANES, dtype = (int)d.dtype;
    int which = (int)(planes ? d.op - CK_PLANES : pools ? d.op == CK_POOL_SUM_GRAD : d.op % 3);
    int to = which == 0 ? RESULT : which == 1 ? IMAGE : KERNEL;
    int first = which == 1 ? RESULT : IMAGE, second = which == 2 ? RESULT : KERNEL;
    box boxes[3];
    void *parts[3];
    for (int kind = 0; kind < 3; kind++) {
        boxes[kind] = box_of(&d, kind, planes);
        parts[kind] = memory(boxes[kind].n, dtype, kind != to);
    }
    memcpy(d.first, boxes[first].strides, sizeof d.first);
    memcpy(d.second, boxes[second].strides, sizeof d.second);
    double *wanted = malloc((size_t)(boxes[to].n + 1) * sizeof *wanted);
    loops(&d, boxes, parts, to, wanted);
    char what[160];
    snprintf(what, sizeof what, "%s (op %d), batch %d, channels %d to %d in %d groups",
             names[which], (int)d.op, (int)d.batch, (int)d.channels, (int)d.out, (int)d.groups);
    int64_t bytes = ck_native_scratch(&d);
    void *scratch = ck_alloc((size_t)(bytes < 0 ? 0 : bytes));
    void *const conv[] = {parts[first], parts[second], parts[to], scratch};
    void *const pool[] = {parts[first], parts[to], scratch};
    if (bytes < 0 || ck_native(pools && !planes ? pool : conv, &d, NULL)) {
        printf("%s: refused\n", what);
        failures++;
    }
    compare(what, parts[to], wanted, boxes[to].n, dtype);
    for (int kind = 0; kind < 3; kind++)
        free(parts[kind]);
    free(wanted), ck_free(scratch, (size_t)(bytes < 0 ? 0 : bytes));
}

static ck_axis_dims axis(int64_t size, int64_t kernel, int64_t stride, int64_t dilation)
{
    int64_t low = kernel / 2, reach = (kernel - 1) * dilation + 1;
    int64_t result = size + 2 * low < reach ? 0 : (size + 2 * low - reach) / stride + 1;
    return (ck_axis_dims){size, result, kernel, stride, dilation, low};
}

static void windows(int dtype, int64_t in, int64_t out, int64_t groups, int64_t height,
                    int64_t width, int64_t kernel, int64_t stride, int64_t dilation)
{
    ck_window_dims d = {.dtype = dtype, .batch = 2, .channels = in, .out = out, .groups = groups,
                        .slots = 1};
    d.axes[0] = (ck_axis_dims){1, 1, 1, 1, 1, 0};
    d.axes[1] = axis(height, kernel, stride, dilation);
    d.axes[2] = axis(width, kernel, stride, dilation);
    int depthwise = groups == in && in == out && in > 1;
    for (d.op = CK_CONV; d.op <= CK_CONV_WEIGHT_GRAD; d.op++)
        window(d);
    for (; depthwise && d.op <= CK_POOL_SUM_GRAD; d.op++)
        if (d.op < CK_POOL_MAX || dilation == 1)
            window(d);
    int planes = depthwise && stride == 1 && dilation == 1;
    for (d.op = CK_PLANES; planes && d.op <= CK_PLANES_WEIGHT_GRAD; d.op++)
        window(d);
}

int main(void)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 24, 33};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    for (int dtype = 0; dtype < 2; dtype++) {
        for (int i = 0; i < SIZES; i++)
            for (int j = 0; j < SIZES; j++)
                for (int t = 0; t < 4; t++)
                    product(dtype, sizes[i], sizes[j], sizes[(i + 5 * j) % SIZES], t & 1, t >> 1,
                            (i + j) % 2);
        product(dtype, 130, 150, 310, 0, 0, 0);
        product(dtype, 530, 140, 40, 1, 1, 1);
        for (int64_t c = 1; c <= 19; c += 3) {
            windows(dtype, c, 20 - c, 1, 7, 9, 3, 1, 1);
            windows(dtype, c, c, c, 9, 13, 3, 1, 1);
            windows(dtype, c, c, c, 9, 6, 5, 1, 1);
            windows(dtype, c, c, c, 8, 9, 2, 2, 1);
        }
        windows(dtype, 6, 4, 2, 6, 8, 3, 2, 1);
        windows(dtype, 5, 33, 1, 6, 8, 3, 1, 2);
        windows(dtype, 40, 16, 1, 5, 5, 1, 1, 1);
    }
    printf("%s: %d cases, %d failures\n", ck_builtin_name(), cases, failures);
    return failures != 0;
}
