/* native.h: what the runtime's own kernels (convolution and pooling) share: axes of sliding
   windows, the register tile, copies of parts of images.

   An image is (batch, depth, height, width, channels); one and two spatial axes are the case of
   leading axes of size 1. Operands may have any strides, results are contiguous. */
#ifndef CK_NATIVE_H
#define CK_NATIVE_H

#include "ckernels.h"

enum { CK_CONV_POINTERS = 4 };            /* two operands, the result, scratch */
enum { CK_PLANE_TAPS = 16 };              /* rows and columns of a kernel of planes, at most */

static inline int64_t ck_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t ck_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t ck_ceil_div(int64_t a, int64_t b)               /* b > 0, any a */
{
    return a / b + (a % b > 0);
}
static inline int64_t ck_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}
static inline int64_t ck_round_up(int64_t n, int64_t to) { return ck_ceil_div(n, to) * to; }

/* ---- windows.c ---- */

/* One axis of a convolution, forwards or (back) as the gradient of its image, which is a
   convolution of the result: output i = q * out_step + p reads inputs q * in_step + first + j *
   step. For each of the out_step phases p the taps are others. */
typedef struct {
    int64_t in, out, in_step, out_step, kernel, stride, dilation, low;
    int back;
} ck_axis;

typedef struct {
    int64_t taps;              /* of the window that meet this phase */
    int64_t first, step;       /* where they read, relative to q * in_step */
    int64_t kernel, kernel_step;        /* which tap of the kernel each one is */
    int64_t before;            /* taps of all phases before this one */
} ck_phase;

ck_axis ck_axis_of(const ck_axis_dims *d, int back);
ck_phase ck_phase_of(const ck_axis *a, int64_t p);
int64_t ck_phase_with(const ck_axis *a, int64_t k);        /* the phase whose taps include k */
typedef struct { int64_t first, last; } ck_clip;           /* taps [first, last) */
ck_clip ck_clip_of(const ck_axis *a, const ck_phase *f, int64_t q);
void ck_axis_reads(const ck_axis *a, int64_t lo, int64_t hi, int64_t *first, int64_t *last);
int64_t ck_axis_span(const ck_axis *a, int64_t outputs);

/* narrow.c: copies of `count` (2 to 4) numbers side by side, n times, to as many lines `ld` apart,
   and of lines `col` apart to numbers side by side. */
typedef struct {
    void (*apart)(int count, const void *x, int64_t n, void *out, int64_t ld);
    void (*beside)(int count, const void *x, int64_t col, int64_t n, void *out);
} ck_narrow;

const ck_narrow *ck_narrow_of(int64_t size);                /* of numbers of so many bytes */

/* out[r, c] = x[r * row + c * col], rows of out `ld` apart; size: bytes of an element. */
void ck_copy_matrix(int64_t size, const void *x, int64_t row, int64_t col, int64_t rows,
                    int64_t cols, void *out, int64_t ld);

/* Part of an image, zeros outside of it: depths first[0] + j * depth_step (j < depths), rows
   first[1]... and columns first[2]... are copied to out (depths, rows, cols, channels). */
typedef struct {
    int64_t size, strides[5], sizes[3], channels;
} ck_image;
void ck_copy_box(const ck_image *x, const char *image, const int64_t first[3], int64_t depth_step,
                 const int64_t counts[3], char *out);

/* ---- bands.c ---- */

/* Windows over images: who reads where, and how the pixels of the result are cut into bands:
   several planes, or rows of one, or a part of one row. */
typedef struct {
    ck_axis axis[3];
    ck_image x;
    const char *image;
    int64_t batch;
    int64_t planes, rows, cols, pixels;        /* of a band */
    int64_t plane_bands, row_bands, col_bands, bands;
    int64_t bytes;                             /* that a band reads, at most */
} ck_windows;

/* Planes are numbered through all images. Pixel (q, r) of a plane reads at ck_plane_at() + (q *
   in_step + the phase's first - first[1]) * row + (the same for r) * col, depths are `depth`
   apart; all in elements of x. */
typedef struct {
    int64_t plane0, plane1, row0, row1, col0, col1;
    const char *x;
    int64_t first[3], depth, row, col;
    int copied;
} ck_band;

ck_windows ck_windows_of(const ck_window_dims *d, int back);
/* Whether windows are 2 x 2 pixels side by side of one channel, whose rows are contiguous. */
int ck_are_2x2(const ck_windows *w);
void ck_merge_axes(ck_windows *w, int64_t *other);
/* step: rows and columns of a band are a multiple of it, where others follow */
void ck_choose_bands(ck_windows *w, int64_t pixels, int64_t bytes, int64_t step);
ck_band ck_band_of(const ck_windows *w, int64_t i);
void ck_fetch(const ck_windows *w, ck_band *b, char *space);
/* Bytes in which lies what band i reads, to be prefetched; none where it is far apart. */
typedef struct { const char *from, *end; } ck_source;
ck_source ck_source_of(const ck_windows *w, int64_t i);
int64_t ck_plane_at(const ck_windows *w, const ck_band *b, int64_t plane);

/* ---- tile.c ---- */

/* A stretch of a sum: `length` steps that start at these offsets of x and w. */
typedef struct { int64_t x, w, length; } ck_run;

/* c[at[i] + j] (+)= sum over all steps s of x[from[i] + x_s] * w[w_s + j], for i < rows and j <
   cols; x_s grows by `step` within a run, w_s by `wstep`. `from` and `at` are read up to the
   height of the tile, w up to its width. */
typedef void (*ck_tile_fn)(int rows, int64_t runs, const ck_run *run, const void *x,
                           const int64_t *from, int64_t step, const void *w, int64_t wstep,
                           void *c, const int64_t *at, int cols, int add);
typedef struct { ck_tile_fn tile; int rows, cols, lanes, size; } ck_tile;
const ck_tile *ck_tile_of(int dtype);

/* ---- winograd.c ---- */

/* 2 x 2 pixels of a result: where their windows start in x, where they go, how many are there. */
typedef struct { int64_t from, at, rows, cols; } ck_square;

typedef struct {
    /* 16 planes of a kernel from its 9, n numbers each */
    void (*kernel)(const void *kernel, int64_t n, void *places);
    /* 16 planes of the windows of n squares, (n, channels) each, `plane` numbers apart; there are
       as many channels as a vector has lanes, at least */
    void (*image)(const ck_square *squares, int64_t n, const void *image, int64_t row, int64_t col,
                  int64_t channels, void *places, int64_t plane);
    /* n squares from 16 planes of sums, (n, width) each; whether all results are finite */
    int (*result)(const ck_square *squares, int64_t n, const void *places, int64_t plane,
                  int64_t width, void *result, int64_t row, int64_t col, int64_t cols);
} ck_winograd;
const ck_winograd *ck_winograd_of(int dtype);

/* ---- channels.c ---- */

enum { CK_OF_MAX, CK_OF_SUM, CK_OF_PRODUCTS };

/* The taps of a window: how many per axis, and what a step of each moves in x and in w (or
   whatever else moves with x); what the next pixel moves in x and in the result. */
typedef struct {
    int64_t count[3], x[3], w[3], x_pixel, out_pixel, channels;
} ck_taps;

typedef struct {
    /* n pixels: the maximum, the sum, or the sum of products with w, of their windows */
    void (*slide)(int op, const ck_taps *t, const void *x, const void *w, void *out, int64_t n);
    /* Products with all of a kernel of 3 x 3, of n >= 4 pixels of a row and of those of the next,
       which is t->x[1] further in x and out_row in the result. Does whole vectors of channels and
       says how many that are. */
    int64_t (*two_rows)(const ck_taps *t, const void *x, const void *w, void *out, int64_t out_row,
                        int64_t n);
    /* out[c] += sum over i < n of x[i * xstep + c] * g[i * gstep + c] */
    void (*dot)(int64_t channels, int64_t n, const void *x, int64_t xstep, const void *g,
                int64_t gstep, void *out);
    /* The same for all taps of a window, t->w apart in out; t->out_pixel is the step of g. Does
       whole vectors of channels and says how many that are: 0 for most windows. */
    int64_t (*dots)(const ck_taps *t, int64_t n, const void *x, const void *g, void *out);
    /* g to the first maximum of a window in out, whose taps are t->w apart */
    void (*give)(const ck_taps *t, const void *x, const void *y, const void *g, void *out, int add);
    /* what g, whose taps are t->w apart, holds at the first maximum */
    void (*take)(const ck_taps *t, const void *x, const void *y, const void *g, void *out);
    /* maxima of 2 x 2 pixels of one channel, `rows` by `cols` of them; rows of x are `pitch` apart */
    void (*max_2x2)(const void *x, int64_t pitch, void *y, int64_t rows, int64_t cols);
    /* and `give` for them; rows of out are as far apart as those of x */
    void (*give_2x2)(const void *x, int64_t pitch, const void *y, const void *g, void *out,
                     int64_t rows, int64_t cols);
} ck_channels;
const ck_channels *ck_channels_of(int dtype);

/* ---- conv.c, conv_weight.c ---- */
int ck_conv(void *const *p, const void *record, ck_fn epilogue);
int64_t ck_conv_scratch(const void *record);
int ck_conv_weight(void *const *p, const void *record, ck_fn epilogue);
int64_t ck_conv_weight_scratch(const void *record);

/* ---- pool.c, pool_max.c, depthwise.c, transpose.c, planes.c ---- */
int ck_pool(void *const *p, const void *record, ck_fn epilogue);
int ck_depthwise(void *const *p, const void *record, ck_fn epilogue);
int ck_transpose(void *const *p, const void *record, ck_fn epilogue);
int ck_repeat(void *const *p, const void *record, ck_fn epilogue);
int ck_planes(void *const *p, const void *record, ck_fn epilogue);
int64_t ck_planes_scratch(const void *record);
int ck_pool_max_back(void *const *p, const void *record, ck_fn epilogue);
int ck_depthwise_weight(void *const *p, const void *record, ck_fn epilogue);
int64_t ck_depthwise_weight_scratch(const void *record);
/* ---- order/order.c ---- */
int ck_order(void *const *p, const void *record, ck_fn epilogue);
int64_t ck_order_scratch(const void *record);

void ck_add_chunks(int64_t size, int64_t chunks, int64_t stride, const char *sums, char *result,
                   int64_t elements);

#endif
