/* conv.c: convolution and the gradient of its image, which is a convolution of the result by
   phases of the stride.

   A task is a band of pixels of the result. What it reads is copied once, with its padding, to
   the thread's scratch, or read where it lies when nothing is missing; then register tiles of
   pixels by channels run over it, panel by panel of the kernel. The epilogue follows while the
   band is in cache. Tasks depend on the shapes alone, so results do not depend on the number of
   threads.

   Windows of 3 x 3 one pixel apart with many channels go by squares of 2 x 2 results, with 16
   products where 36 are defined (winograd.h): an error is then in proportion to the largest number
   of a window, not to each of them. A band in which a result is not finite is done again as it is
   defined: inf stays inf, and what would overflow on the way does not. */
#include "image/native.h"
#include "simd/simd.h"

#include <stdatomic.h>
#include <string.h>

enum {
    BAND_BYTES = 512 * 1024,       /* of what a task reads: it has to stay in L2 */
    MOST_PIXELS = 1024, LEAST_PIXELS = 96,
    TASKS = 64,                    /* wanted: enough for many threads */
    TASK_WORK = 400000,            /* multiply-adds, at least, of a task */
    PANEL_BYTES = 768 * 1024,      /* of a kernel's panel that is read at once */
    IN_PLACE = 128,                /* channels up to which a kernel is read where it lies */
    SHORT = 64, AHEAD = 48,        /* steps of a short sum; pixels between prefetch and store */
    LATER = 4,                     /* lines prefetched with each tile for a later task */
    PLACES = 16, SQUARES_BYTES = 768 * 1024,       /* of a square; of the windows of a block */
    MOST_SQUARES = 72, GROUP = 2,  /* of a block; panels that share rows of V in L1 */
    LEAST_CHANNELS = 16, MOST_WEIGHTS = 1 << 20,
    TURNED = 700                   /* products less for each weight: a kernel is worth turning */
};

typedef struct {
    const ck_tile *tile;
    ck_windows w;
    int64_t groups, in, out;       /* channels of one group */
    int64_t strides[6];            /* of the kernel: d, h, w, step of a sum, column, group */
    int64_t taps[3], all_taps, steps;          /* of the kernel; steps: of the longest sum */
    int packed;
    int64_t blocks, group_width;   /* column panels of a group; their columns in memory */
    int64_t splits, tasks;         /* a band may be several tasks, for panels each */
    const ck_winograd *winograd;   /* NULL: as it is defined */
    int64_t squares, places_at;    /* squares of a block; bytes of the kernel before its places */
    int64_t weight_bytes, slot_bytes, slots;
    char *scratch;
    const char *kernel;
    char *result;
    ck_fn epilogue;
    int64_t unit;
    void *const *p;
    const ck_window_dims *d;
    _Atomic int64_t next, slot;
} conv;

/* ---- the plan: everything that follows from the dims ---- */

static void read_dims(conv *c, const ck_window_dims *d)
{
    int back = d->op == CK_CONV_INPUT_GRAD;
    const int64_t *s = d->second;
    c->tile = ck_tile_of(d->dtype != 0);
    c->w = ck_windows_of(d, back);
    c->groups = d->groups;
    c->in = (back ? d->out : d->channels) / c->groups;
    c->out = (back ? d->channels : d->out) / c->groups;
    c->all_taps = 1;
    for (int k = 0; k < 3; k++) {
        c->taps[k] = c->w.axis[k].kernel;
        c->all_taps *= c->taps[k];
        c->strides[k] = s[k];
    }
    c->strides[3] = s[back ? 4 : 3], c->strides[4] = s[back ? 3 : 4];
    c->strides[5] = d->out / c->groups * s[4];
    c->slots = d->slots, c->unit = d->unit;
    c->d = d;
}

static void choose_tasks(conv *c)
{
    const ck_axis *a = c->w.axis;
    double work = (double)c->steps * c->out * c->groups;           /* of a pixel */
    for (int k = 0; k < 3; k++)
        work /= (double)a[k].out_step;
    int64_t all = c->w.batch * a[0].out * a[1].out * a[2].out;
    int64_t least = ck_min(MOST_PIXELS, ck_max(LEAST_PIXELS, (int64_t)(TASK_WORK / (work + 1))));
    ck_choose_bands(&c->w, ck_max(least, ck_min(MOST_PIXELS, all / TASKS)), BAND_BYTES,
                    c->winograd ? 2 : 1);
    c->splits = 1;
    while (c->w.bands * c->splits < TASKS / 4 && c->splits * 2 <= c->groups * c->blocks
           && work * c->w.pixels / (c->splits * 2) > TASK_WORK)
        c->splits *= 2;
    c->tasks = c->w.bands * c->splits;
}

/* Whether the kernel can be read where it lies: whole vectors of columns side by side. */
static int readable(const conv *c)
{
    const int64_t *s = c->strides;
    const ck_axis *a = c->w.axis;
    int64_t pixels = c->w.batch * a[0].out * a[1].out * a[2].out;
    return !a[0].back && s[4] == 1 && c->out % c->tile->lanes == 0
           && (c->out * c->groups <= IN_PLACE || pixels < 256)
           && (c->in == 1 || s[3] == c->out * c->groups) && s[2] == c->in * s[3]
           && s[1] == c->taps[2] * s[2] && s[0] == c->taps[1] * s[1];
}

/* Whether windows go by squares. Turning an image and squares costs in proportion to the channels
   that come in and go out, products to both together, 9 for a pixel as defined and 16 for a square;
   the kernel is turned in each call. As defined and by squares, AVX2, one thread, ms: 128 pixels of
   256 channels 1.91 and 1.73, 196 of 128 0.73 and 0.61, 200 of 512, rows of 5, 14.0 and 16.1, 392 of
   512, rows of 7, 25.9 and 22.5, 400 of 256 5.96 and 3.74, 512 of 128 1.74 and 1.23, 800 of 64 0.69
   and 0.48. */
static int by_squares(const conv *c)
{
    const ck_axis *a = c->w.axis;
    const int64_t images = c->w.batch * a[0].out, pixels = images * a[1].out * a[2].out;
    const int64_t squared = images * ck_round_up(a[1].out, 2) * ck_round_up(a[2].out, 2);
    for (int k = 0; k < 3; k++)
        if (a[k].stride != 1 || a[k].dilation != 1 || a[k].kernel != (k ? 3 : 1))
            return 0;
    return c->groups == 1 && ck_min(c->in, c->out) >= c->tile->lanes
           && c->in * c->out >= LEAST_CHANNELS * (c->in + c->out)
           && c->in * c->out <= MOST_WEIGHTS
           && 2 * squared <= 3 * pixels && 9 * pixels - 4 * squared >= TURNED;
}

static int64_t plane_of(const conv *c, int64_t width)  /* 64 bytes more: other places in L1 */
{
    return c->squares * width + 64 / c->w.x.size;
}

/* Scratch of a thread for squares: their lists, V and M. */
static int64_t squares_bytes(const conv *c)
{
    int64_t rows = c->w.planes * ck_ceil_div(c->w.rows, 2) * ck_ceil_div(c->w.cols, 2);
    return rows * (int64_t)sizeof(ck_square) + 16 * (c->squares + c->tile->rows)
           + PLACES * (plane_of(c, c->in) + plane_of(c, GROUP * c->tile->cols)) * c->w.x.size + 64;
}

static void plan(conv *c, const ck_window_dims *d)
{
    read_dims(c, d);
    ck_merge_axes(&c->w, NULL);
    c->winograd = by_squares(c) ? ck_winograd_of(d->dtype != 0) : NULL;
    c->steps = c->all_taps * c->in;
    c->blocks = ck_ceil_div(c->out, c->tile->cols);
    c->group_width = ck_round_up(c->out, c->tile->lanes);
    choose_tasks(c);
    c->packed = c->winograd || !readable(c);
    int64_t size = c->w.x.size;
    c->weight_bytes = c->packed ? ck_round_up(c->steps * c->group_width * c->groups * size, 64) : 0;
    c->slot_bytes = ck_round_up(c->w.bytes + 16 * (c->w.pixels + c->tile->rows)
                                + (int64_t)sizeof(ck_run) * c->all_taps, 64);
    if (!c->winograd)
        return;
    int64_t most = SQUARES_BYTES / (PLACES * c->in * size) / c->tile->rows * c->tile->rows;
    c->squares = ck_max(c->tile->rows, ck_min(MOST_SQUARES, most));
    c->places_at = c->weight_bytes;
    c->weight_bytes += ck_round_up(PLACES * c->in * c->group_width * size, 64);
    c->slot_bytes += ck_round_up(squares_bytes(c), 64);
}

int64_t ck_conv_scratch(const void *record)
{
    conv c;
    plan(&c, record);
    return c.weight_bytes + c.slots * c.slot_bytes;
}

/* ---- the kernel in panels ---- */

/* Where the panel of a group and block of columns starts, in columns of all groups. */
static int64_t panel_at(const conv *c, int64_t group, int64_t block)
{
    return group * c->group_width + block * c->tile->cols;
}

static int64_t panel_width(const conv *c, int64_t block)
{
    return ck_min(c->tile->cols, c->group_width - block * c->tile->cols);
}

/* Taps lie phase after phase, those of a phase row-major. */
typedef struct { ck_phase f[3]; int64_t start; } phases;

static phases phases_of(const conv *c, const int64_t p[3])
{
    phases s;
    for (int k = 0; k < 3; k++)
        s.f[k] = ck_phase_of(c->w.axis + k, p[k]);
    const ck_phase *f = s.f;
    s.start = f[0].before * c->taps[1] * c->taps[2]
              + f[0].taps * (f[1].before * c->taps[2] + f[1].taps * f[2].before);
    return s;
}

/* Tap `tap` of the kernel for columns of one panel, from the strides it has to a dense panel. */
static void pack_tap(const conv *c, int64_t panel, int64_t tap)
{
    int64_t group = panel / c->blocks, block = panel % c->blocks, size = c->w.x.size;
    int64_t k[3] = {tap / (c->taps[1] * c->taps[2]), tap / c->taps[2] % c->taps[1],
                    tap % c->taps[2]}, p[3], j[3];
    for (int i = 0; i < 3; i++)
        p[i] = ck_phase_with(c->w.axis + i, k[i]);
    phases s = phases_of(c, p);
    for (int i = 0; i < 3; i++)
        j[i] = (k[i] - s.f[i].kernel) / s.f[i].kernel_step;
    int64_t at = s.start + (j[0] * s.f[1].taps + j[1]) * s.f[2].taps + j[2];
    int64_t width = panel_width(c, block), column = block * c->tile->cols;
    int64_t cols = ck_min(width, c->out - column);
    const char *from = c->kernel + (k[0] * c->strides[0] + k[1] * c->strides[1]
                                    + k[2] * c->strides[2] + group * c->strides[5]
                                    + column * c->strides[4]) * size;
    char *to = c->scratch + (panel_at(c, group, block) * c->steps + at * c->in * width) * size;
    if (cols < width)
        memset(to, 0, (size_t)(c->in * width * size));
    ck_copy_matrix(size, from, c->strides[3], c->strides[4], c->in, cols, to, width);
}

static int pack(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    const conv *c = (const conv *)p;
    (void)unused;
    for (int64_t i = lo; i < hi; i++)
        pack_tap(c, i / c->all_taps, i % c->all_taps);
    return CK_OK;
}

/* Panels of a dense kernel by squares: 16 planes of each from its 9. */
static int turn(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    const conv *c = (const conv *)p;
    int64_t size = c->w.x.size;
    (void)unused;
    for (int64_t block = lo; block < hi; block++) {
        int64_t at = panel_at(c, 0, block) * size;
        c->winograd->kernel(c->scratch + at * c->steps, c->in * panel_width(c, block),
                            c->scratch + c->places_at + at * PLACES * c->in);
    }
    return CK_OK;
}

/* ---- one task ---- */

/* A band, panels [panel0, panel1) of the kernel, and lists for the tiles. */
typedef struct {
    ck_band b;
    int64_t panel0, panel1;
    ck_run *runs;
    int64_t *from, *at;
    ck_source later;              /* what a later task copies, as far as it is not prefetched */
} task;

/* The pixels of one phase: where each reads and where its channels go; returns how many. */
static int64_t list_pixels(const conv *c, const task *t, const ck_phase *f, int64_t ph, int64_t pw)
{
    const ck_axis *h = c->w.axis + 1, *w = c->w.axis + 2;
    const ck_band *b = &t->b;
    int64_t q0 = ck_max(0, ck_ceil_div(b->row0 - ph, h->out_step));
    int64_t r0 = ck_max(0, ck_ceil_div(b->col0 - pw, w->out_step));
    int64_t q1 = ck_ceil_div(b->row1 - ph, h->out_step);
    int64_t r1 = ck_ceil_div(b->col1 - pw, w->out_step);
    int64_t n = 0, channels = c->out * c->groups, step = w->in_step * b->col;
    for (int64_t plane = b->plane0; plane < b->plane1; plane++)
        for (int64_t q = q0; q < q1; q++) {
            int64_t from = ck_plane_at(&c->w, b, plane)
                           + (q * h->in_step + f[1].first - b->first[1]) * b->row
                           + (r0 * w->in_step + f[2].first - b->first[2]) * b->col;
            int64_t row = plane * h->out + q * h->out_step + ph;
            int64_t at = (row * w->out + r0 * w->out_step + pw) * channels;
            for (int64_t r = r0; r < r1; r++, n++, from += step, at += w->out_step * channels)
                t->from[n] = from, t->at[n] = at;
        }
    for (int i = 0; n && i < c->tile->rows; i++)          /* what tiles read beyond the end */
        t->from[n + i] = t->from[n - 1], t->at[n + i] = t->at[n - 1];
    return n;
}

/* The runs of the sums of one phase. Taps side by side in a row are one run when all channels
   take part in it; `wstep`: elements between steps of the panel. */
static int64_t list_runs(const conv *c, const task *t, const phases *s, int64_t wstep)
{
    const ck_phase *f = s->f;
    const ck_band *b = &t->b;
    int64_t n = 0, at = s->start;
    int whole = c->groups == 1
                && (f[2].taps == 1 || (f[2].step == 1 && b->col == c->w.x.channels));
    int64_t together = whole ? f[2].taps : 1;
    for (int64_t i = 0; i < f[0].taps; i++)
        for (int64_t j = 0; j < f[1].taps; j++)
            for (int64_t k = 0; k < f[2].taps; k += together, at += together)
                t->runs[n++] = (ck_run){
                    i * b->depth + j * f[1].step * b->row + k * f[2].step * b->col,
                    at * c->in * wstep, together * c->in};
    return n;
}

/* Prefetch what pixels [first, last) of the list will write, and some of what a later task copies.
   With short sums the time goes into what misses the caches: 1.41 ms against 1.90, and 1.28 with
   the copies (Zen 5, one thread, 32 images 64 x 64 x 3, 3 x 3, 32 channels). With long ones it only
   costs. */
static void prefetch(const conv *c, task *t, int64_t column, int64_t first, int64_t last)
{
    for (int k = 0; k < LATER && t->later.from < t->later.end; k++, t->later.from += 64)
        ck_prefetch(t->later.from);
    int64_t size = c->w.x.size, bytes = ck_min(c->tile->cols, c->out) * size;
    for (int64_t i = first; i < last; i++)
        for (int64_t at = 0; at < bytes; at += 64)
            ck_prefetch_written(c->result + (t->at[i] + column) * size + at);
}

/* All tiles of one panel over n pixels; long sums in several parts. */
static void run_panel(const conv *c, task *t, int64_t panel, const phases *s, int64_t n)
{
    int64_t group = panel / c->blocks, block = panel % c->blocks, size = c->w.x.size;
    int64_t column = group * c->out + block * c->tile->cols;
    int cols = (int)ck_min(c->tile->cols, c->out - block * c->tile->cols);
    int64_t wstep = c->packed ? panel_width(c, block) : c->out * c->groups;
    const char *w = c->packed ? c->scratch + panel_at(c, group, block) * c->steps * size
                              : c->kernel + column * size;
    const char *x = t->b.x + group * c->in * size;
    int64_t runs = list_runs(c, t, s, wstep), most = PANEL_BYTES / (c->tile->cols * size);
    for (int64_t first = 0, last; first < runs || first == 0; first = ck_max(last, 1)) {
        int64_t steps = 0;
        for (last = first; last < runs && (last == first || steps + t->runs[last].length <= most);)
            steps += t->runs[last++].length;
        for (int64_t i = 0; i < n; i += c->tile->rows) {
            if (c->steps <= SHORT)
                prefetch(c, t, column, i + AHEAD, ck_min(n, i + AHEAD + c->tile->rows));
            c->tile->tile((int)ck_min(n - i, c->tile->rows), last - first, t->runs + first, x,
                          t->from + i, 1, w, wstep, c->result + column * size, t->at + i, cols,
                          first > 0);
        }
    }
}

/* The squares of a band, row by row; returns how many. They start at even rows and columns of the
   result, whatever the band. */
static int64_t list_squares(const conv *c, const ck_band *b, ck_square *squares)
{
    const ck_axis *h = c->w.axis + 1, *w = c->w.axis + 2;
    int64_t n = 0;
    for (int64_t plane = b->plane0; plane < b->plane1; plane++)
        for (int64_t q = b->row0; q < b->row1; q += 2)
            for (int64_t r = b->col0; r < b->col1; r += 2) {
                int64_t row = q - b->first[1] + ck_phase_of(h, 0).first;
                int64_t col = r - b->first[2] + ck_phase_of(w, 0).first;
                squares[n++] = (ck_square){
                    ck_plane_at(&c->w, b, plane) + row * b->row + col * b->col,
                    ((plane * h->out + q) * w->out + r) * c->out,
                    ck_min(2, b->row1 - q), ck_min(2, b->col1 - r)};
            }
    return n;
}

/* Panels [panel, last) of n squares whose windows are in `v`; whether all results are finite. Rows
   of V that a tile has brought into L1 serve the next panel too. */
static int panels_of_squares(const conv *c, const ck_square *squares, int64_t n, int64_t panel,
                             int64_t last, const char *v, char *m, const int64_t *from, int64_t *at)
{
    int64_t size = c->w.x.size, column = panel * c->tile->cols;
    int64_t width = panel_at(c, 0, last - 1) + panel_width(c, last - 1) - column;
    const char *u = c->scratch + c->places_at;
    const ck_run run = {0, 0, c->in};
    char *to = m;
    for (int64_t i = 0; i < n; i++)
        at[i] = i * width;
    for (int64_t place = 0; place < PLACES; place++, v += plane_of(c, c->in) * size) {
        for (int64_t i = 0; i < n; i += c->tile->rows)
            for (int64_t p = panel; p < last; p++) {
                int64_t cols = panel_width(c, p), first = panel_at(c, 0, p);
                c->tile->tile((int)ck_min(n - i, c->tile->rows), 1, &run, v, from + i, 1,
                              u + (first * PLACES + place * cols) * c->in * size, cols,
                              to + (first - column) * size, at + i, (int)cols, 0);
            }
        to += plane_of(c, GROUP * c->tile->cols) * size;
    }
    return c->winograd->result(squares, n, m, plane_of(c, GROUP * c->tile->cols), width,
                               c->result + column * size, c->w.axis[2].out * c->out, c->out,
                               ck_min(width, c->out - column));
}

/* All squares of a task, block by block; whether all results are finite. */
static int run_squares(const conv *c, const task *t, char *space)
{
    ck_square *squares = (ck_square *)space;
    int64_t all = list_squares(c, &t->b, squares), size = c->w.x.size;
    int64_t *from = (int64_t *)(squares + all), *at = from + c->squares + c->tile->rows;
    char *v = (char *)(at + c->squares + c->tile->rows);
    char *m = v + PLACES * plane_of(c, c->in) * size;
    int64_t blocks = ck_max(1, ck_ceil_div(all, c->squares));
    int64_t most = ck_min(c->squares, ck_round_up(ck_ceil_div(all, blocks), c->tile->rows));
    int finite = 1;
    for (int64_t i = 0; i < all && finite; i += most) {
        int64_t n = ck_min(most, all - i);
        for (int64_t k = 0; k < n + c->tile->rows; k++)    /* tiles read beyond the end */
            from[k] = ck_min(k, n - 1) * c->in, at[k] = 0;
        c->winograd->image(squares + i, n, t->b.x, t->b.row, t->b.col, c->in, v,
                           plane_of(c, c->in));
        for (int64_t panel = t->panel0; panel < t->panel1 && finite; panel += GROUP)
            finite = panels_of_squares(c, squares + i, n, panel,
                                       ck_min(panel + GROUP, t->panel1), v, m, from, at);
    }
    return finite;
}

static int finish(const conv *c, const ck_band *b)
{
    if (!c->epilogue || c->splits > 1)
        return CK_OK;
    const ck_axis *h = c->w.axis + 1, *w = c->w.axis + 2;
    int64_t lo = (b->plane0 * h->out + b->row0) * w->out + b->col0;
    int64_t hi = ((b->plane1 - 1) * h->out + b->row1 - 1) * w->out + b->col1;
    return c->epilogue(c->p + CK_CONV_POINTERS, (const int64_t *)(c->d + 1), lo * c->unit,
                       hi * c->unit);
}

static int do_task(const conv *c, int64_t number, char *space)
{
    int64_t split = number % c->splits, panels = c->groups * c->blocks;
    task t = {ck_band_of(&c->w, number / c->splits), panels * split / c->splits,
              panels * (split + 1) / c->splits, (ck_run *)(space + c->w.bytes), NULL, NULL, {NULL, NULL}};
    t.from = (int64_t *)(t.runs + c->all_taps);
    t.at = t.from + c->w.pixels + c->tile->rows;
    ck_fetch(&c->w, &t.b, space);
    if (c->steps <= SHORT && t.b.copied)               /* likely the next task of this thread */
        t.later = ck_source_of(&c->w, number / c->splits + c->slots);
    if (c->winograd && run_squares(c, &t, (char *)(t.at + c->w.pixels + c->tile->rows)))
        return finish(c, &t.b);
    const ck_axis *a = c->w.axis;
    int64_t p[3] = {t.b.plane0 % a[0].out % a[0].out_step, 0, 0};
    for (p[1] = 0; p[1] < ck_min(a[1].out_step, a[1].out); p[1]++)
        for (p[2] = 0; p[2] < ck_min(a[2].out_step, a[2].out); p[2]++) {
            phases s = phases_of(c, p);
            int64_t n = list_pixels(c, &t, s.f, p[1], p[2]);
            for (int64_t panel = t.panel0; n && panel < t.panel1; panel++)
                run_panel(c, &t, panel, &s, n);
        }
    return finish(c, &t.b);
}

/* What each thread runs: tasks until none is left, in scratch of its own. */
static int run(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    conv *c = (conv *)p;
    (void)unused, (void)lo, (void)hi;
    int code = CK_OK;
    char *space = NULL;
    for (int64_t t; !code && (t = atomic_fetch_add(&c->next, 1)) < c->tasks;) {
        if (!space)
            space = c->scratch + c->weight_bytes + atomic_fetch_add(&c->slot, 1) * c->slot_bytes;
        code = do_task(c, t, space);
    }
    return code;
}

static int epilogue_rows(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    const conv *c = (const conv *)p;
    (void)unused;
    return c->epilogue(c->p + CK_CONV_POINTERS, (const int64_t *)(c->d + 1), lo * c->unit,
                       hi * c->unit);
}

int ck_conv(void *const *p, const void *record, ck_fn epilogue)
{
    const ck_window_dims *d = record;
    conv c;
    plan(&c, d);
    c.w.image = p[0], c.kernel = p[1], c.result = p[2], c.scratch = p[3];
    c.epilogue = epilogue, c.p = p;
    int64_t pixels = c.w.batch * c.w.axis[0].out * c.w.axis[1].out * c.w.axis[2].out;
    if (pixels <= 0 || c.out <= 0)
        return CK_OK;
    if (c.packed && c.in)
        ck_parallel_for(pack, (void *const *)&c, NULL, c.groups * c.blocks * c.all_taps, 1,
                        1 + 16384 / (c.in * c.tile->cols));
    if (c.winograd)
        ck_parallel_for(turn, (void *const *)&c, NULL, c.blocks, 1,
                        1 + 4096 / (c.in * c.tile->cols));
    atomic_init(&c.next, 0);
    atomic_init(&c.slot, 0);
    int code = ck_parallel_for(run, (void *const *)&c, NULL, ck_min(c.tasks, c.slots), 1, 1);
    if (code || c.splits == 1 || !epilogue)
        return code;
    return ck_parallel_for(epilogue_rows, (void *const *)&c, NULL, pixels, 1,
                           1 + 32768 / (c.out * c.groups));
}
