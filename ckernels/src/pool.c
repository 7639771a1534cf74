/* pool.c: windows whose channels do not mix: pooling, and convolution with one kernel per channel
   (depthwise), forwards and back to the image.

   Rows of the result are dealt to the threads. Most pixels of a row see a whole window and are
   done several at a time; those at the edges see what is left of theirs, so nothing is padded or
   copied. */
#include "native.h"

#include <string.h>

enum {
    BLOCK = 16384,                 /* elements of a result between epilogues */
    GRAIN = 65536                  /* taps of a task */
};

/* The columns of one phase: n pixels, of which [start, end) see whole windows. */
typedef struct {
    ck_phase f;
    int64_t n, start, end;
} columns;

typedef struct {
    ck_windows w;
    columns columns;               /* of the only phase, when there is one */
    const ck_channels *kernels;
    int what;
    int64_t strides[3];            /* of the kernel, when there is one */
    const char *kernel;
    char *result;
    ck_fn epilogue;
    void *const *p;                /* of the epilogue */
    const int64_t *d;
    int64_t unit;
} pool;

/* The taps of a row: those of its depth and height; offsets of the first in x and the kernel. */
typedef struct {
    ck_taps t;
    int64_t x, w;
} row_taps;

static void add_axis(const pool *c, row_taps *r, int k, const ck_phase *f, ck_clip taps, int64_t q)
{
    const ck_axis *a = c->w.axis + k;
    int64_t step = c->w.x.strides[k + 1];
    r->t.count[k] = taps.last - taps.first;
    r->t.x[k] = f->step * step;
    r->t.w[k] = f->kernel_step * c->strides[k];
    r->x += (q * a->in_step + f->first + taps.first * f->step) * step;
    r->w += (f->kernel + taps.first * f->kernel_step) * c->strides[k];
}

/* n pixels of one phase from its column q on. */
static void do_pixels(const pool *c, const row_taps *row, const ck_phase *f, int64_t q, int64_t n,
                      const char *image, char *out)
{
    row_taps r = *row;
    add_axis(c, &r, 2, f, ck_clip_of(c->w.axis + 2, f, q), q);
    int64_t size = c->w.x.size;
    c->kernels->slide(c->what, &r.t, image + r.x * size,
                      c->kernel ? c->kernel + r.w * size : image + r.x * size, out, n);
}

static columns columns_of(const ck_axis *a, int64_t phase)
{
    columns k = {ck_phase_of(a, phase), ck_ceil_div(a->out - phase, a->out_step), 0, 0};
    int64_t start = ck_ceil_div(-k.f.first, a->in_step);
    int64_t end = ck_floor_div(a->in - 1 - k.f.first - (k.f.taps - 1) * k.f.step, a->in_step) + 1;
    k.start = ck_min(k.n, ck_max(0, start));
    k.end = k.f.taps ? ck_min(k.n, ck_max(k.start, end)) : k.n;
    return k;
}

static void do_row(const pool *c, int64_t index)
{
    const ck_axis *a = c->w.axis;
    int64_t h = index % a[1].out, plane = index / a[1].out, depth = plane % a[0].out;
    int64_t channels = c->w.x.channels, size = c->w.x.size;
    const char *image = c->w.image + plane / a[0].out * c->w.x.strides[0] * size;
    row_taps r = {.t.channels = channels, .t.x_pixel = a[2].in_step * c->w.x.strides[3],
                  .t.out_pixel = a[2].out_step * channels};
    int64_t q[2] = {depth / a[0].out_step, h / a[1].out_step};
    int64_t p[2] = {depth % a[0].out_step, h % a[1].out_step};
    for (int k = 0; k < 2; k++) {
        ck_phase f = ck_phase_of(a + k, p[k]);
        add_axis(c, &r, k, &f, ck_clip_of(a + k, &f, q[k]), q[k]);
    }
    int64_t step = r.t.out_pixel * size;
    for (int64_t phase = 0; phase < ck_min(a[2].out_step, a[2].out); phase++) {
        columns k = a[2].out_step == 1 ? c->columns : columns_of(a + 2, phase);
        char *out = c->result + (index * a[2].out + phase) * channels * size;
        for (int64_t i = 0; i < k.start; i++)
            do_pixels(c, &r, &k.f, i, 1, image, out + i * step);
        if (k.end > k.start)
            do_pixels(c, &r, &k.f, k.start, k.end - k.start, image, out + k.start * step);
        for (int64_t i = k.end; i < k.n; i++)
            do_pixels(c, &r, &k.f, i, 1, image, out + i * step);
    }
}

static int rows(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    const pool *c = (const pool *)p;
    int64_t width = c->w.axis[2].out, block = 1 + BLOCK / (width * c->w.x.channels);
    (void)unused;
    for (int64_t first = lo; first < hi; first += block) {
        int64_t last = ck_min(hi, first + block);
        for (int64_t i = first; i < last; i++)
            do_row(c, i);
        if (c->epilogue) {
            int code = c->epilogue(c->p, c->d, first * width * c->unit, last * width * c->unit);
            if (code)
                return code;
        }
    }
    return CK_OK;
}

static int run(pool *c, const int64_t *d, ck_fn epilogue)
{
    const ck_axis *a = c->w.axis;
    c->kernels = ck_channels_of(d[CK_D_DTYPE] != 0);
    c->columns = columns_of(a + 2, 0);
    c->epilogue = epilogue, c->d = d + CK_CONV_DIMS, c->unit = d[CK_D_UNIT];
    int64_t all = c->w.batch * a[0].out * a[1].out, taps = 1;
    if (all <= 0 || a[2].out <= 0 || c->w.x.channels <= 0)
        return CK_OK;
    for (int k = 0; k < 3; k++)
        taps *= a[k].back ? ck_ceil_div(a[k].kernel, a[k].stride) : a[k].kernel;
    return ck_parallel_for(rows, (void *const *)c, NULL, all, 1,
                           1 + GRAIN / (taps * a[2].out * c->w.x.channels));
}

int ck_pool(void *const *p, const int64_t *d, ck_fn epilogue)
{
    pool c = {.w = ck_windows_of(d, d[CK_D_OP] == CK_POOL_SUM_GRAD)};
    c.what = d[CK_D_OP] == CK_POOL_MAX ? CK_OF_MAX : CK_OF_SUM;
    c.w.image = p[0], c.result = p[1], c.p = p + 2;
    return run(&c, d, epilogue);
}

int ck_depthwise(void *const *p, const int64_t *d, ck_fn epilogue)
{
    pool c = {.w = ck_windows_of(d, d[CK_D_OP] == CK_DEPTHWISE_INPUT_GRAD), .what = CK_OF_PRODUCTS};
    memcpy(c.strides, d + CK_D_SECOND, sizeof c.strides);
    c.w.image = p[0], c.kernel = p[1], c.result = p[2], c.p = p + 3;
    return run(&c, d, epilogue);
}
