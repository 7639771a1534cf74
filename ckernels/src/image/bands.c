/* bands.c: the pixels of a result in bands that fit in cache, and what each of them reads: copied
   with its padding to a thread's scratch, or pointed to where nothing is missing. */
#include "image/native.h"

#include <string.h>

/* The windows of the dims of a convolution. */
ck_windows ck_windows_of(const ck_window_dims *d, int back)
{
    ck_windows w = {.batch = d->batch};
    w.x.size = d->dtype ? sizeof(double) : sizeof(float);
    w.x.channels = back ? d->out : d->channels;
    memcpy(w.x.strides, d->first, sizeof w.x.strides);
    for (int k = 0; k < 3; k++) {
        w.axis[k] = ck_axis_of(d->axes + k, back);
        w.x.sizes[k] = w.axis[k].in;
    }
    return w;
}

int ck_are_2x2(const ck_windows *w)
{
    const ck_axis *a = w->axis;
    int fours = a->in == 1 && a->out == 1 && a->kernel == 1 && !a->low && w->x.channels == 1
                && w->x.strides[3] == 1;
    for (int k = 1; k < 3; k++)
        fours &= a[k].kernel == 2 && a[k].stride == 2 && a[k].dilation == 1 && !a[k].low
                 && a[k].out <= a[k].in / 2;
    return fours;
}

/* A kernel of one element that moves over all of the image: all pixels are one row. `other`:
   strides of the result when it is an operand too, or NULL. */
void ck_merge_axes(ck_windows *w, int64_t *other)
{
    int64_t *s = w->x.strides, count = w->batch, stride = s[0], second = other ? other[0] : 0;
    for (int k = 0; k < 3; k++) {
        const ck_axis *a = w->axis + k;
        if (a->kernel != 1 || a->stride != 1 || a->low || a->in != a->out || a->in < 1)
            return;
        if (a->in == 1)
            continue;
        if (count != 1 && (stride != a->in * s[k + 1]
                           || (other && second != a->in * other[k + 1])))
            return;
        stride = s[k + 1], count *= a->in;
        second = other ? other[k + 1] : 0;
    }
    w->batch = 1;
    s[0] = s[1] = s[2] = 0, s[3] = stride;
    if (other)
        other[0] = other[1] = other[2] = 0, other[3] = second;
    for (int k = 0; k < 3; k++)
        w->axis[k].in = w->axis[k].out = w->x.sizes[k] = k == 2 ? count : 1;
}

/* ---- sizes of bands ---- */

/* About equal parts of at most `most`, multiples of `step`. */
static int64_t part_of(int64_t n, int64_t most, int64_t step)
{
    int64_t parts = ck_ceil_div(n, ck_max(1, most));
    return ck_max(1, ck_min(n, ck_round_up(ck_ceil_div(n, ck_max(1, parts)), step)));
}

static int64_t elements_of(const ck_windows *w)
{
    const ck_axis *a = w->axis;
    return w->planes * a[0].kernel * ck_axis_span(a + 1, w->rows) * ck_axis_span(a + 2, w->cols)
           * w->x.channels;
}

void ck_choose_bands(ck_windows *w, int64_t pixels, int64_t bytes, int64_t step)
{
    const ck_axis *a = w->axis;
    const int64_t tall = ck_max(step, a[1].out_step), wide = ck_max(step, a[2].out_step);
    int64_t all = w->batch * a[0].out, plane = a[1].out * a[2].out;
    w->planes = 1, w->rows = ck_max(1, a[1].out), w->cols = ck_max(1, a[2].out);
    if (plane * 2 <= pixels && a[0].out_step == 1)
        w->planes = part_of(all, pixels / ck_max(1, plane), 1);
    else if (plane > pixels && a[2].out <= pixels)
        w->rows = part_of(a[1].out, pixels / a[2].out, tall);
    else if (plane > pixels)
        w->rows = ck_min(step, w->rows), w->cols = part_of(a[2].out, pixels, wide);
    while (elements_of(w) * w->x.size > bytes) {
        int64_t *most = w->planes > 1 ? &w->planes : w->rows > tall ? &w->rows : &w->cols;
        if (most == &w->cols && w->cols <= ck_max(32, wide))
            break;
        *most = ck_ceil_div(*most, 2);
        if (most != &w->planes)
            *most = ck_round_up(*most, step);
    }
    w->plane_bands = ck_ceil_div(all, w->planes);
    w->row_bands = ck_ceil_div(a[1].out, w->rows);
    w->col_bands = ck_ceil_div(a[2].out, w->cols);
    w->bands = w->plane_bands * w->row_bands * w->col_bands;
    w->pixels = w->planes * w->rows * w->cols;
    w->bytes = ck_round_up(elements_of(w) * w->x.size, 64);
}

ck_band ck_band_of(const ck_windows *w, int64_t i)
{
    ck_band b = {.col0 = i % w->col_bands * w->cols};
    i /= w->col_bands;
    b.row0 = i % w->row_bands * w->rows, b.plane0 = i / w->row_bands * w->planes;
    b.plane1 = ck_min(b.plane0 + w->planes, w->batch * w->axis[0].out);
    b.row1 = ck_min(b.row0 + w->rows, w->axis[1].out);
    b.col1 = ck_min(b.col0 + w->cols, w->axis[2].out);
    return b;
}

/* ---- what a band reads ---- */

static int inside(int64_t first, int64_t last, int64_t size) { return first >= 0 && last <= size; }

/* Whether all that the band reads is there, side by side where one run reads several taps. */
static int in_place(const ck_windows *w, const ck_band *b, const int64_t last[3])
{
    const ck_image *x = &w->x;
    if (x->strides[4] != 1 && x->channels != 1)
        return 0;
    if (x->strides[3] != x->channels && w->axis[2].kernel > 1 && x->channels * x->size < 64)
        return 0;
    int64_t depth = b->plane0 % w->axis[0].out, first, end;
    ck_axis_reads(w->axis, depth, depth + 1, &first, &end);
    if (b->plane1 - b->plane0 > 1)
        ck_axis_reads(w->axis, 0, w->axis[0].out, &first, &end);
    return inside(first, end, x->sizes[0]) && inside(b->first[1], last[1], x->sizes[1])
           && inside(b->first[2], last[2], x->sizes[2]);
}

static const char *image_at(const ck_windows *w, int64_t plane)
{
    return w->image + plane / w->axis[0].out * w->x.strides[0] * w->x.size;
}

/* Where the depths of a plane are read: the first one, and how far apart they are. */
static ck_phase depths(const ck_windows *w, int64_t plane)
{
    int64_t depth = plane % w->axis[0].out, step = w->axis[0].out_step;
    ck_phase f = ck_phase_of(w->axis, depth % step);
    f.first += depth / step * w->axis[0].in_step;
    return f;
}

void ck_fetch(const ck_windows *w, ck_band *b, char *space)
{
    int64_t last[3] = {0};
    ck_axis_reads(w->axis + 1, b->row0, b->row1, b->first + 1, last + 1);
    ck_axis_reads(w->axis + 2, b->col0, b->col1, b->first + 2, last + 2);
    b->copied = !in_place(w, b, last);
    if (!b->copied) {
        b->x = image_at(w, b->plane0);
        b->depth = depths(w, b->plane0).step * w->x.strides[1];
        b->row = w->x.strides[2], b->col = w->x.strides[3];
        b->first[1] = b->first[2] = 0;
        return;
    }
    int64_t counts[3] = {w->axis[0].kernel, ck_max(last[1] - b->first[1], 0),
                         ck_max(last[2] - b->first[2], 0)};
    b->x = space;
    b->col = w->x.channels, b->row = counts[2] * b->col, b->depth = counts[1] * b->row;
    for (int64_t plane = b->plane0; plane < b->plane1; plane++) {
        ck_phase f = depths(w, plane);
        int64_t used[3] = {f.taps, counts[1], counts[2]};
        b->first[0] = f.first;
        ck_copy_box(&w->x, image_at(w, plane), b->first, f.step, used, space);
        space += counts[0] * b->depth * w->x.size;
    }
}

int64_t ck_plane_at(const ck_windows *w, const ck_band *b, int64_t plane)
{
    if (b->copied)
        return (plane - b->plane0) * w->axis[0].kernel * b->depth;
    return (plane / w->axis[0].out - b->plane0 / w->axis[0].out) * w->x.strides[0]
           + depths(w, plane).first * w->x.strides[1];
}

ck_source ck_source_of(const ck_windows *w, int64_t i)
{
    ck_source s = {NULL, NULL};
    if (i >= w->bands)
        return s;
    ck_band b = ck_band_of(w, i);
    int64_t first, last, row = w->x.strides[2] * w->x.size;
    ck_axis_reads(w->axis + 1, b.row0, b.row1, &first, &last);
    const char *from = image_at(w, b.plane0) + ck_max(first, 0) * row;
    const char *end = image_at(w, b.plane1 - 1) + ck_min(last, w->x.sizes[1]) * row;
    if (end - from <= 2 * w->bytes)
        s.from = from, s.end = end;
    return s;
}
