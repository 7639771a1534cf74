/* depthwise.c: the gradient of the kernel of a depthwise convolution: for each tap and channel
   the sum over all pixels of the image times the cotangent. Rows are dealt to a fixed number of
   chunks with sums of their own, which are added in order. */
#include "image/native.h"

#include <string.h>

enum {
    CHUNKS = 32, CHUNK_WORK = 100000, PARTIAL_BYTES = 4 * 1024 * 1024,
    SUM_BLOCK = 256, TAPS_BLOCK = 16           /* pixels added up before they join the sums */
};

typedef struct {
    ck_windows w;
    const ck_channels *kernels;
    int64_t strides[5];            /* of the cotangent */
    int64_t taps, rows, chunks, bytes;         /* bytes: of the sums of a chunk */
    const char *g;
    char *result, *sums;
} depthwise;

static void plan(depthwise *c, const ck_window_dims *d)
{
    c->w = ck_windows_of(d, 0);
    c->kernels = ck_channels_of(d->dtype != 0);
    memcpy(c->strides, d->second, sizeof c->strides);
    const ck_axis *a = c->w.axis;
    c->taps = a[0].kernel * a[1].kernel * a[2].kernel;
    c->rows = c->w.batch * a[0].out * a[1].out;
    c->bytes = ck_round_up(c->taps * c->w.x.channels * c->w.x.size, 64);
    double work = (double)c->rows * a[2].out * c->w.x.channels * c->taps;
    c->chunks = work < (double)CHUNKS * CHUNK_WORK ? (int64_t)(work / CHUNK_WORK) : CHUNKS;
    c->chunks = ck_min(ck_min(c->chunks, c->rows), PARTIAL_BYTES / ck_max(1, c->bytes));
    c->chunks = ck_max(1, c->chunks);
}

int64_t ck_depthwise_weight_scratch(const void *record)
{
    depthwise c;
    plan(&c, record);
    return c.chunks > 1 ? c.chunks * c.bytes : 0;
}

/* Where a row of the result reads: the image at the first tap of the row's windows and its column
   0, the cotangent; taps of the depth and height of the window that are inside. */
typedef struct {
    const char *x, *g;
    ck_clip taps[2];
} row;

static row row_of(const depthwise *c, int64_t index)
{
    const ck_axis *a = c->w.axis;
    const int64_t *s = c->w.x.strides;
    int64_t plane = index / a[1].out, image = plane / a[0].out, at = image * s[0];
    int64_t q[2] = {plane % a[0].out, index % a[1].out};
    row r = {.g = c->g + (image * c->strides[0] + q[0] * c->strides[1] + q[1] * c->strides[2])
                         * c->w.x.size};
    for (int k = 0; k < 2; k++) {
        ck_phase f = ck_phase_of(a + k, 0);
        r.taps[k] = ck_clip_of(a + k, &f, q[k]);
        at += (q[k] * a[k].stride - a[k].low) * s[k + 1];
    }
    r.x = c->w.image + (at - a[2].low * s[3]) * c->w.x.size;
    return r;
}

/* Columns [lo, hi) of a row for one tap. */
static void do_tap(const depthwise *c, const row *r, const int64_t tap[3], int64_t lo, int64_t hi,
                   int64_t channel, char *sums)
{
    const ck_axis *a = c->w.axis;
    int64_t size = c->w.x.size, step = a[2].stride * c->w.x.strides[3], at = lo * step + channel;
    for (int k = 0; k < 3; k++)
        at += tap[k] * a[k].dilation * c->w.x.strides[k + 1];
    int64_t to = ((tap[0] * a[1].kernel + tap[1]) * a[2].kernel + tap[2]) * c->w.x.channels;
    for (; lo < hi; lo += SUM_BLOCK, at += SUM_BLOCK * step)
        c->kernels->dot(c->w.x.channels - channel, ck_min(SUM_BLOCK, hi - lo), r->x + at * size,
                        step, r->g + (lo * c->strides[3] + channel) * size, c->strides[3],
                        sums + (to + channel) * size);
}

/* Columns [lo, hi), which see whole windows, for `rows` rows of taps from `tap` on; returns how
   many channels that did. */
static int64_t do_taps(const depthwise *c, const row *r, const int64_t tap[2], int64_t rows,
                       int64_t lo, int64_t hi, char *sums)
{
    const ck_axis *a = c->w.axis;
    const int64_t *s = c->w.x.strides;
    int64_t size = c->w.x.size, channels = c->w.x.channels, done = 0;
    ck_taps t = {.count = {1, rows, a[2].kernel}, .x_pixel = a[2].stride * s[3],
                 .x = {0, a[1].dilation * s[2], a[2].dilation * s[3]},
                 .w = {0, a[2].kernel * channels, channels}, .out_pixel = c->strides[3],
                 .channels = channels};
    const char *x = r->x + (tap[0] * a[0].dilation * s[1] + tap[1] * t.x[1]) * size;
    char *to = sums + (tap[0] * a[1].kernel + tap[1]) * t.w[1] * size;
    for (; lo < hi; lo += TAPS_BLOCK)
        done = c->kernels->dots(&t, ck_min(TAPS_BLOCK, hi - lo), x + lo * t.x_pixel * size,
                                r->g + lo * c->strides[3] * size, to);
    return done;
}

/* Add what a row of the result contributes: most columns for several taps at once, channels that
   are left and columns at the edges tap by tap. */
static void do_row(const depthwise *c, int64_t index, char *sums)
{
    const ck_axis *a = c->w.axis + 2;
    row r = row_of(c, index);
    int64_t reach = (a->kernel - 1) * a->dilation;
    int64_t lo = ck_min(a->out, ck_max(0, ck_ceil_div(a->low, a->stride)));
    int64_t hi = ck_max(lo, ck_min(a->out, ck_ceil_div(a->in - reach + a->low, a->stride)));
    int64_t tap[3] = {r.taps[0].first}, height = r.taps[1].last - r.taps[1].first;
    int64_t rows = height == 3 ? 3 : 1;
    for (; tap[0] < r.taps[0].last; tap[0]++)
        for (tap[1] = r.taps[1].first; tap[1] < r.taps[1].last;) {
            int64_t done = do_taps(c, &r, tap, rows, lo, hi, sums);
            for (int64_t end = tap[1] + rows; tap[1] < end; tap[1]++)
                for (tap[2] = 0; tap[2] < a->kernel; tap[2]++) {
                    int64_t at = tap[2] * a->dilation - a->low;        /* where column 0 reads */
                    int64_t first = ck_max(0, ck_ceil_div(-at, a->stride));
                    int64_t last = ck_min(a->out, ck_ceil_div(a->in - at, a->stride));
                    do_tap(c, &r, tap, first, ck_min(last, lo), 0, sums);
                    if (done < c->w.x.channels)
                        do_tap(c, &r, tap, ck_max(first, lo), ck_min(last, hi), done, sums);
                    do_tap(c, &r, tap, ck_max(first, hi), last, 0, sums);
                }
        }
}

static char *sums_of(const depthwise *c, int64_t chunk)
{
    return c->chunks > 1 ? c->sums + chunk * c->bytes : c->result;
}

static int run(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    const depthwise *c = (const depthwise *)p;
    (void)unused;
    for (int64_t chunk = lo; chunk < hi; chunk++) {
        char *sums = sums_of(c, chunk);
        memset(sums, 0, (size_t)(c->taps * c->w.x.channels * c->w.x.size));
        int64_t last = c->rows * (chunk + 1) / c->chunks;
        for (int64_t row = c->rows * chunk / c->chunks; row < last; row++)
            do_row(c, row, sums);
    }
    return CK_OK;
}

int ck_depthwise_weight(void *const *p, const void *record, ck_fn epilogue)
{
    const ck_window_dims *d = record;
    depthwise c;
    plan(&c, d);
    c.w.image = p[0], c.g = p[1], c.result = p[2], c.sums = p[3];
    int64_t elements = c.taps * c.w.x.channels;
    if (elements <= 0)
        return CK_OK;
    int code = ck_parallel_for(run, (void *const *)&c, NULL, c.chunks, 1, 1);
    if (code)
        return code;
    if (c.chunks > 1)
        ck_add_chunks(c.w.x.size, c.chunks, c.bytes, c.sums, c.result, elements);
    return epilogue ? epilogue(p + 4, (const int64_t *)(d + 1), 0, c.taps * d->unit) : CK_OK;
}
