/* pool_max.c: the gradient of max pooling, which gives each window's cotangent to its first
   maximum, and that gradient's own, which takes what lies there.

   Windows may overlap, so a task is all windows of an image, for some of its channels. Operands
   are contiguous: the image x, the maxima y, the cotangent (of y, or of x). */
#include "image/native.h"

#include <string.h>

enum { UNITS = 16, LEAST_CHANNELS = 16, GRAIN = 32768 };

typedef struct {
    ck_windows w;
    const ck_channels *kernels;
    int take, add, clear;          /* clear: some of the image is in no window, or in several */
    int fours;                     /* windows are 2 x 2 pixels of one channel */
    int64_t parts;                 /* of the channels */
    const char *y, *g;
    char *result;
} pool;

/* All windows of one row, channels [c0, c1). */
static void do_row(const pool *c, int64_t image, const int64_t q[2], int64_t c0, int64_t c1)
{
    const ck_axis *a = c->w.axis;
    const int64_t *s = c->w.x.strides;
    int64_t size = c->w.x.size, channels = c->w.x.channels, start = image * s[0] + c0;
    ck_taps t = {.channels = c1 - c0};
    for (int k = 0; k < 3; k++)
        t.x[k] = t.w[k] = s[k + 1];
    for (int k = 0; k < 2; k++) {
        ck_phase f = ck_phase_of(a + k, 0);
        ck_clip taps = ck_clip_of(a + k, &f, q[k]);
        t.count[k] = taps.last - taps.first;
        start += (q[k] * a[k].in_step + f.first + taps.first) * s[k + 1];
    }
    ck_phase f = ck_phase_of(a + 2, 0);
    for (int64_t r = 0; r < a[2].out; r++) {
        ck_clip taps = ck_clip_of(a + 2, &f, r);
        t.count[2] = taps.last - taps.first;
        int64_t x = (start + (r * a[2].in_step + f.first + taps.first) * s[3]) * size;
        int64_t y = ((((image * a[0].out + q[0]) * a[1].out + q[1]) * a[2].out + r) * channels + c0)
                    * size;
        if (c->take)
            c->kernels->take(&t, c->w.image + x, c->y + y, c->g + x, c->result + y);
        else
            c->kernels->give(&t, c->w.image + x, c->y + y, c->g + y, c->result + x, c->add);
    }
}

static void do_fours(const pool *c, int64_t image)
{
    const ck_axis *a = c->w.axis;
    const int64_t *s = c->w.x.strides;
    int64_t size = c->w.x.size, x = image * s[0] * size, y = image * a[1].out * a[2].out * size;
    c->kernels->give_2x2(c->w.image + x, s[2], c->y + y, c->g + y, c->result + x, a[1].out,
                         a[2].out);
}

static void clear(const pool *c, int64_t image, int64_t c0, int64_t c1)
{
    int64_t pixels = c->w.x.sizes[0] * c->w.x.sizes[1] * c->w.x.sizes[2];
    int64_t size = c->w.x.size, step = c->w.x.channels;
    char *out = c->result + (image * pixels * step + c0) * size;
    if (c1 - c0 == step)
        memset(out, 0, (size_t)(pixels * step * size));
    else
        for (int64_t i = 0; i < pixels; i++)
            memset(out + i * step * size, 0, (size_t)((c1 - c0) * size));
}

static int units(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    const pool *c = (const pool *)p;
    const ck_axis *a = c->w.axis;
    int64_t channels = c->w.x.channels;
    (void)unused;
    for (int64_t i = lo; i < hi; i++) {
        int64_t image = i / c->parts, part = i % c->parts, q[2];
        int64_t width = ck_round_up(ck_ceil_div(channels, c->parts), LEAST_CHANNELS);
        int64_t c0 = ck_min(channels, part * width), c1 = ck_min(channels, c0 + width);
        if (c->clear)
            clear(c, image, c0, c1);
        if (c->fours)
            do_fours(c, image);
        for (q[0] = 0; !c->fours && c1 > c0 && q[0] < a[0].out; q[0]++)
            for (q[1] = 0; q[1] < a[1].out; q[1]++)
                do_row(c, image, q, c0, c1);
    }
    return CK_OK;
}

int ck_pool_max_back(void *const *p, const void *record, ck_fn epilogue)
{
    const ck_window_dims *d = record;
    pool c = {.w = ck_windows_of(d, 0), .take = d->op == CK_POOL_MAX_TAKE};
    const ck_axis *a = c.w.axis;
    int64_t work = c.w.x.channels;
    c.kernels = ck_channels_of(d->dtype != 0);
    for (int k = 0; k < 3; k++) {
        c.add |= a[k].stride < a[k].kernel;
        c.clear |= a[k].stride > a[k].kernel || a[k].low || a[k].out * a[k].stride < a[k].in;
        work *= ck_max(a[k].out, a[k].in);
    }
    c.clear = !c.take && (c.clear || c.add);
    c.fours = !c.take && ck_are_2x2(&c.w);
    c.w.image = p[0], c.y = p[1], c.g = p[2], c.result = p[3];
    if (c.w.batch <= 0 || work <= 0)
        return CK_OK;
    c.parts = ck_min(ck_ceil_div(UNITS, c.w.batch), ck_ceil_div(c.w.x.channels, LEAST_CHANNELS));
    int code = ck_parallel_for(units, (void *const *)&c, NULL, c.w.batch * c.parts, 1,
                               1 + GRAIN * c.parts / work);
    if (code || !epilogue)
        return code;
    const int64_t *size = c.w.x.sizes;
    int64_t pixels = c.take ? a[0].out * a[1].out * a[2].out : size[0] * size[1] * size[2];
    return epilogue(p + 4, (const int64_t *)(d + 1), 0, c.w.batch * pixels * d->unit);
}
