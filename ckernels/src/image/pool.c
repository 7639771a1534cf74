/* pool.c: windows whose channels do not mix: pooling, and convolution with one kernel per channel
   (depthwise), forwards and back to the image.

   Rows of the result are dealt to the threads. Most pixels of a row see a whole window and are
   done several at a time; those at the edges see what is left of theirs, so nothing is padded or
   copied. */
#include "image/native.h"

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
    int what, each, alone;         /* each: rows of a unit, at most; alone: before the pairs */
    int fours;                     /* maxima of 2 x 2 pixels of one channel */
    int64_t units;                 /* of a plane */
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

/* A row of the result: what its windows see, its image and where it goes. */
typedef struct {
    row_taps r;
    const char *image;
    char *out;
} row;

static row row_of(const pool *c, int64_t index)
{
    const ck_axis *a = c->w.axis;
    int64_t h = index % a[1].out, plane = index / a[1].out, depth = plane % a[0].out;
    int64_t channels = c->w.x.channels, size = c->w.x.size;
    row r = {.r.t = {.channels = channels, .x_pixel = a[2].in_step * c->w.x.strides[3],
                     .out_pixel = a[2].out_step * channels},
             .image = c->w.image + plane / a[0].out * c->w.x.strides[0] * size,
             .out = c->result + index * a[2].out * channels * size};
    int64_t q[2] = {depth / a[0].out_step, h / a[1].out_step};
    int64_t p[2] = {depth % a[0].out_step, h % a[1].out_step};
    for (int k = 0; k < 2; k++) {
        ck_phase f = ck_phase_of(a + k, p[k]);
        add_axis(c, &r.r, k, &f, ck_clip_of(a + k, &f, q[k]), q[k]);
    }
    return r;
}

/* The pixels of one phase whose windows are not whole, and (all) the others. */
static void do_phase(const pool *c, const row *r, const columns *k, int64_t phase, int all)
{
    char *out = r->out + phase * c->w.x.channels * c->w.x.size;
    int64_t step = r->r.t.out_pixel * c->w.x.size;
    for (int64_t i = 0; i < k->start; i++)
        do_pixels(c, &r->r, &k->f, i, 1, r->image, out + i * step);
    if (all && k->end > k->start)
        do_pixels(c, &r->r, &k->f, k->start, k->end - k->start, r->image, out + k->start * step);
    for (int64_t i = k->end; i < k->n; i++)
        do_pixels(c, &r->r, &k->f, i, 1, r->image, out + i * step);
}

static void do_row(const pool *c, const row *r)
{
    const ck_axis *a = c->w.axis + 2;
    for (int64_t phase = 0; phase < ck_min(a->out_step, a->out); phase++) {
        columns k = a->out_step == 1 ? c->columns : columns_of(a, phase);
        do_phase(c, r, &k, phase, 1);
    }
}

static void do_one_row(const pool *c, int64_t index)
{
    row r = row_of(c, index);
    do_row(c, &r);
}

/* This row and the next one, whose windows overlap. */
static void do_two_rows(const pool *c, int64_t index)
{
    row r = row_of(c, index), next = row_of(c, index + 1);
    const columns *k = &c->columns;
    int64_t size = c->w.x.size, n = k->end - k->start;
    if (r.r.t.count[1] < 3 || next.r.t.count[1] < 3 || n < 4) {
        do_row(c, &r);
        do_row(c, &next);
        return;
    }
    do_phase(c, &r, k, 0, 0);
    do_phase(c, &next, k, 0, 0);
    row_taps t = r.r;
    add_axis(c, &t, 2, &k->f, ck_clip_of(c->w.axis + 2, &k->f, k->start), k->start);
    const char *x = r.image + t.x * size, *w = c->kernel + t.w * size;
    char *out = r.out + k->start * t.t.out_pixel * size;
    int64_t done = c->kernels->two_rows(&t.t, x, w, out, (next.out - r.out) / size, n) * size;
    t.t.channels -= done / size;
    for (int i = 0; i < 2 && t.t.channels; i++, x += t.t.x[1] * size, out += next.out - r.out)
        c->kernels->slide(c->what, &t.t, x + done, w + done, out + done, n);
}

/* Rows are units, or pairs of them when two can be done at once: the first of a plane is alone
   where it is at the edge, so that the pairs behind it see whole windows. */
static int64_t first_row(const pool *c, int64_t unit)
{
    if (c->each == 1)
        return unit;
    int64_t height = c->w.axis[1].out;
    return unit / c->units * height + ck_max(0, unit % c->units * 2 - c->alone);
}

static void do_fours(const pool *c, int64_t lo, int64_t hi)
{
    const int64_t *s = c->w.x.strides, height = c->w.axis[1].out, width = c->w.axis[2].out;
    const int64_t size = c->w.x.size;
    for (int64_t n; lo < hi; lo += n) {
        int64_t plane = lo / height, row = lo % height;
        n = ck_min(hi - lo, height - row);
        c->kernels->max_2x2(c->w.image + (plane * s[0] + 2 * row * s[2]) * size, s[2],
                            c->result + lo * width * size, n, width);
    }
}

static int rows(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    const pool *c = (const pool *)p;
    int64_t width = c->w.axis[2].out, block = 1 + BLOCK / (width * c->w.x.channels * c->each);
    (void)unused;
    for (int64_t first = lo; first < hi; first += block) {
        int64_t last = ck_min(hi, first + block);
        if (c->fours)
            do_fours(c, first, last);
        for (int64_t i = first; !c->fours && i < last; i++) {
            int64_t index = first_row(c, i);
            if (first_row(c, i + 1) - index == 2)
                do_two_rows(c, index);
            else
                do_one_row(c, index);
        }
        if (c->epilogue) {
            int code = c->epilogue(c->p, c->d, first_row(c, first) * width * c->unit,
                                   first_row(c, last) * width * c->unit);
            if (code)
                return code;
        }
    }
    return CK_OK;
}

/* Whether windows are 3 x 3 and a pixel apart. */
static int are_nine(const ck_axis *a)
{
    return a[0].kernel == 1 && a[1].kernel == 3 && a[2].kernel == 3 && a[1].stride == 1
           && a[2].stride == 1 && a[1].dilation == 1 && a[2].dilation == 1;
}

static int run(pool *c, const ck_window_dims *d, ck_fn epilogue)
{
    const ck_axis *a = c->w.axis;
    c->kernels = ck_channels_of(d->dtype != 0);
    c->columns = columns_of(a + 2, 0);
    c->epilogue = epilogue, c->d = (const int64_t *)(d + 1), c->unit = d->unit;
    c->each = c->what == CK_OF_PRODUCTS && are_nine(a) ? 2 : 1;
    c->fours = c->what == CK_OF_MAX && ck_are_2x2(&c->w);
    c->alone = a[1].low & 1;
    c->units = c->each == 2 ? ck_ceil_div(a[1].out + c->alone, 2) : a[1].out;
    int64_t all = c->w.batch * a[0].out * c->units, taps = 1;
    if (all <= 0 || a[2].out <= 0 || c->w.x.channels <= 0)
        return CK_OK;
    for (int k = 0; k < 3; k++)
        taps *= a[k].back ? ck_ceil_div(a[k].kernel, a[k].stride) : a[k].kernel;
    return ck_parallel_for(rows, (void *const *)c, NULL, all, 1,
                           1 + GRAIN / (taps * a[2].out * c->w.x.channels * c->each));
}

int ck_pool(void *const *p, const void *record, ck_fn epilogue)
{
    const ck_window_dims *d = record;
    pool c = {.w = ck_windows_of(d, d->op == CK_POOL_SUM_GRAD)};
    c.what = d->op == CK_POOL_MAX ? CK_OF_MAX : CK_OF_SUM;
    c.w.image = p[0], c.result = p[1], c.p = p + 2;
    return run(&c, d, epilogue);
}

int ck_depthwise(void *const *p, const void *record, ck_fn epilogue)
{
    const ck_window_dims *d = record;
    pool c = {.w = ck_windows_of(d, d->op == CK_DEPTHWISE_INPUT_GRAD), .what = CK_OF_PRODUCTS};
    memcpy(c.strides, d->second, sizeof c.strides);
    c.w.image = p[0], c.kernel = p[1], c.result = p[2], c.p = p + 3;
    return run(&c, d, epilogue);
}
