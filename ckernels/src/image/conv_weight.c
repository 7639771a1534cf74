/* conv_weight.c: the gradient of a convolution's kernel: for each of its taps and channels the
   sum over all pixels of what they read times the result's cotangent.

   The same register tile as in conv.c, the other way round: its rows are elements of the kernel,
   its sums run over the pixels of a band. Bands are dealt to a fixed number of chunks, each with
   sums of its own, which are added in order at the end. */
#include "image/native.h"

#include <stdatomic.h>
#include <string.h>

enum {
    BAND_BYTES = 256 * 1024,       /* of what a band reads of the image */
    PIXELS = 512,                  /* of a band */
    CHUNKS = 16, CHUNK_PIXELS = 256,           /* most chunks; least pixels of one */
    PARTIAL_BYTES = 8 * 1024 * 1024,           /* most, of the sums of all chunks */
    TASKS = 16, TASK_WORK = 1000000
};

typedef struct {
    const ck_tile *tile;
    ck_windows w;
    int64_t groups, in, out;       /* channels of one group */
    int64_t strides[5];            /* of the cotangent */
    int64_t taps, rows;            /* rows of the result: taps * in */
    int64_t blocks, group_width;   /* column panels of a group; columns of a copied cotangent */
    int copied;                    /* the cotangent has to be copied */
    int64_t chunks, splits;        /* tasks: chunks of bands times splits of the panels */
    int64_t partial_bytes, slot_bytes, slots;
    const char *cotangent;
    char *result, *scratch;
    _Atomic int64_t next, slot;
} weight;

/* ---- the plan ---- */

static void choose_tasks(weight *c)
{
    const ck_axis *a = c->w.axis;
    int64_t pixels = c->w.batch * a[0].out * a[1].out * a[2].out;
    int64_t bytes = c->rows * c->out * c->groups * c->w.x.size;
    double work = (double)pixels * c->rows * c->out * c->groups;
    ck_choose_bands(&c->w, PIXELS, BAND_BYTES, 1);
    int64_t wanted = work > (double)TASKS * TASK_WORK ? TASKS : 1 + (int64_t)(work / TASK_WORK);
    c->chunks = ck_min(ck_min(wanted, CHUNKS), ck_min(c->w.bands, pixels / CHUNK_PIXELS));
    c->chunks = ck_max(1, ck_min(c->chunks, PARTIAL_BYTES / ck_max(1, bytes)));
    c->splits = 1;
    while (c->chunks * c->splits < wanted && c->splits * 2 <= c->groups * c->blocks)
        c->splits *= 2;
    c->partial_bytes = c->chunks > 1 ? c->chunks * ck_round_up(bytes, 64) : 0;
}

static void plan(weight *c, const ck_window_dims *d)
{
    c->tile = ck_tile_of(d->dtype != 0);
    c->w = ck_windows_of(d, 0);
    c->groups = d->groups;
    c->in = d->channels / c->groups, c->out = d->out / c->groups;
    memcpy(c->strides, d->second, sizeof c->strides);
    c->taps = c->w.axis[0].kernel * c->w.axis[1].kernel * c->w.axis[2].kernel;
    ck_merge_axes(&c->w, c->strides);
    c->rows = c->taps * c->in;
    c->blocks = ck_ceil_div(c->out, c->tile->cols);
    c->group_width = ck_round_up(c->out, c->tile->lanes);
    c->copied = c->strides[4] != 1 || c->out % c->tile->lanes != 0;
    c->slots = d->slots;
    choose_tasks(c);
    int64_t panels = c->copied ? c->w.pixels * c->group_width * c->groups * c->w.x.size : 0;
    c->slot_bytes = ck_round_up(c->w.bytes + ck_round_up(panels, 64)
                                + 16 * (c->rows + c->tile->rows)
                                + (int64_t)sizeof(ck_run) * c->w.pixels, 64);
}

int64_t ck_conv_weight_scratch(const void *record)
{
    weight c;
    plan(&c, record);
    return c.partial_bytes + c.slots * c.slot_bytes;
}

/* ---- one band ---- */

/* What a band reads: its part of the image and of the cotangent (strides of planes, rows, columns
   in elements from g), and lists for the tiles. */
typedef struct {
    ck_band b;
    const char *g;
    int64_t plane, row, col;
    char *space;
    ck_run *runs;
    int64_t *from, *at;
} piece;

static void fetch_cotangent(const weight *c, piece *t)
{
    const int64_t *s = c->strides;
    const ck_band *b = &t->b;
    int64_t depth = c->w.axis[0].out, size = c->w.x.size;
    const char *first = c->cotangent + (b->row0 * s[2] + b->col0 * s[3]) * size;
    t->plane = 0, t->row = s[2], t->col = s[3], t->g = first;
    if (!c->copied)
        return;
    char *to = t->space;
    t->g = to;
    t->col = c->group_width * c->groups;
    t->row = (b->col1 - b->col0) * t->col, t->plane = (b->row1 - b->row0) * t->row;
    memset(to, 0, (size_t)((b->plane1 - b->plane0) * t->plane * size));
    for (int64_t plane = b->plane0; plane < b->plane1; plane++)
        for (int64_t q = 0; q < b->row1 - b->row0; q++, to += t->row * size)
            for (int64_t group = 0; group < c->groups; group++)
                ck_copy_matrix(size, first + (plane / depth * s[0] + plane % depth * s[1]
                                              + q * s[2] + group * c->out * s[4]) * size,
                               s[3], s[4], b->col1 - b->col0, c->out,
                               to + group * c->group_width * size, t->col);
}

/* Where each element of the kernel reads, in the first group, and where it is in the result. */
static void list_rows(const weight *c, const piece *t)
{
    const ck_axis *a = c->w.axis;
    const ck_band *b = &t->b;
    int64_t n = 0, columns = c->out * c->groups;
    for (int64_t i = 0; i < a[0].kernel; i++)
        for (int64_t j = 0; j < a[1].kernel; j++)
            for (int64_t k = 0; k < a[2].kernel; k++) {
                int64_t from = i * b->depth + j * a[1].dilation * b->row
                               + k * a[2].dilation * b->col;
                for (int64_t channel = 0; channel < c->in; channel++, n++)
                    t->from[n] = from + channel, t->at[n] = n * columns;
            }
    for (int i = 0; n && i < c->tile->rows; i++)          /* what tiles read beyond the end */
        t->from[n + i] = t->from[n - 1], t->at[n + i] = t->at[n - 1];
}

/* The pixels as runs along their longest axis that has a step: columns, rows where there is one
   column. Returns how many; the steps of x and of the cotangent. */
static int64_t list_runs(const weight *c, const piece *t, int64_t *step, int64_t *gstep)
{
    const ck_axis *h = c->w.axis + 1, *w = c->w.axis + 2;
    const ck_band *b = &t->b;
    int64_t depth = c->w.axis[0].out, n = 0, rows = b->row1 - b->row0, cols = b->col1 - b->col0;
    int upright = cols == 1 && rows > 1;
    *step = upright ? h->in_step * b->row : w->in_step * b->col;
    *gstep = upright ? t->row : t->col;
    int64_t x0 = (b->row0 * h->in_step - h->low - b->first[1]) * b->row
                 + (b->col0 * w->in_step - w->low - b->first[2]) * b->col;
    for (int64_t plane = b->plane0; plane < b->plane1; plane++) {
        int64_t x = ck_plane_at(&c->w, b, plane) + x0;
        int64_t g = c->copied ? (plane - b->plane0) * t->plane
                              : plane / depth * c->strides[0] + plane % depth * c->strides[1];
        if (upright)
            t->runs[n++] = (ck_run){x, g, rows};
        for (int64_t q = 0; !upright && q < rows; q++)
            t->runs[n++] = (ck_run){x + q * h->in_step * b->row, g + q * t->row, cols};
    }
    return n;
}

/* Add what a band contributes to panels [first, last) of the sums. */
static void do_band(const weight *c, int64_t band, int64_t first, int64_t last, char *space,
                    char *sums, int add)
{
    int64_t size = c->w.x.size, step, gstep;
    piece t = {.b = ck_band_of(&c->w, band), .space = space + c->w.bytes};
    int64_t panels = c->copied ? c->w.pixels * c->group_width * c->groups * size : 0;
    t.runs = (ck_run *)(t.space + ck_round_up(panels, 64));
    t.from = (int64_t *)(t.runs + c->w.pixels);
    t.at = t.from + c->rows + c->tile->rows;
    ck_fetch(&c->w, &t.b, space);
    fetch_cotangent(c, &t);
    list_rows(c, &t);
    int64_t runs = list_runs(c, &t, &step, &gstep);
    for (int64_t panel = first; panel < last; panel++) {
        int64_t group = panel / c->blocks, column = panel % c->blocks * c->tile->cols;
        int cols = (int)ck_min(c->tile->cols, c->out - column);
        const char *x = t.b.x + group * c->in * size;
        const char *g = t.g + (group * (c->copied ? c->group_width : c->out) + column) * size;
        char *to = sums + (group * c->out + column) * size;
        for (int64_t i = 0; i < c->rows; i += c->tile->rows)
            c->tile->tile((int)ck_min(c->rows - i, c->tile->rows), runs, t.runs, x, t.from + i,
                          step, g, gstep, to, t.at + i, cols, add);
    }
}

static char *sums_of(const weight *c, int64_t chunk)
{
    return c->chunks > 1 ? c->scratch + c->partial_bytes / c->chunks * chunk : c->result;
}

static int run(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    weight *c = (weight *)p;
    int64_t panels = c->groups * c->blocks;
    (void)unused, (void)lo, (void)hi;
    char *space = NULL;
    for (int64_t t; (t = atomic_fetch_add(&c->next, 1)) < c->chunks * c->splits;) {
        if (!space)
            space = c->scratch + c->partial_bytes + atomic_fetch_add(&c->slot, 1) * c->slot_bytes;
        int64_t chunk = t / c->splits, split = t % c->splits;
        int64_t first = c->w.bands * chunk / c->chunks, end = c->w.bands * (chunk + 1) / c->chunks;
        for (int64_t band = first; band < end; band++)
            do_band(c, band, panels * split / c->splits, panels * (split + 1) / c->splits, space,
                    sums_of(c, chunk), band > first);
    }
    return CK_OK;
}

/* ---- the sum of the chunks ---- */

typedef struct {
    int64_t size, chunks, stride;
    const char *sums;
    char *result;
} total;

#define ADD(REAL)                                                                                 \
    static void add_##REAL(REAL *out, const REAL *a, const REAL *b, int64_t n)                    \
    {                                                                                             \
        for (int64_t i = 0; i < n; i++)                                                           \
            out[i] = a[i] + b[i];                                                                 \
    }
ADD(float)
ADD(double)

static int add_range(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    const total *t = (const total *)p;
    int64_t at = lo * t->size;
    char *out = t->result + at;
    (void)unused;
    for (int64_t chunk = 1; chunk < t->chunks; chunk++) {
        const char *a = chunk == 1 ? t->sums + at : out, *b = t->sums + chunk * t->stride + at;
        if (t->size == sizeof(float))
            add_float((float *)out, (const float *)a, (const float *)b, hi - lo);
        else
            add_double((double *)out, (const double *)a, (const double *)b, hi - lo);
    }
    return CK_OK;
}

/* result = the sum of `chunks` > 1 rows of elements, `stride` bytes apart, in their order. */
void ck_add_chunks(int64_t size, int64_t chunks, int64_t stride, const char *sums, char *result,
                   int64_t elements)
{
    total t = {size, chunks, stride, sums, result};
    ck_parallel_for(add_range, (void *const *)&t, NULL, elements, 4096, 16384);
}

int ck_conv_weight(void *const *p, const void *record, ck_fn epilogue)
{
    const ck_window_dims *d = record;
    weight c;
    plan(&c, d);
    c.w.image = p[0], c.cotangent = p[1], c.result = p[2], c.scratch = p[3];
    int64_t elements = c.rows * c.out * c.groups;
    if (elements <= 0)
        return CK_OK;
    if (!c.w.bands)
        memset(c.result, 0, (size_t)(elements * c.w.x.size));
    atomic_init(&c.next, 0);
    atomic_init(&c.slot, 0);
    int code = ck_parallel_for(run, (void *const *)&c, NULL, ck_min(c.chunks * c.splits, c.slots),
                               1, 1);
    if (code)
        return code;
    if (c.chunks > 1)
        ck_add_chunks(c.w.x.size, c.chunks, c.partial_bytes / c.chunks, c.scratch, c.result,
                      elements);
    return epilogue ? epilogue(p + CK_CONV_POINTERS, (const int64_t *)(d + 1), 0, c.rows * d->unit)
                    : CK_OK;
}
