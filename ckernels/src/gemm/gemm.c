/* gemm.c: C = alpha * op(A) @ op(B) + beta * C by panels of single-threaded BLAS calls, and
   the epilogue.

   C is cut into panels; each is one BLAS call on one thread of our team, and the epilogue
   follows while the rows are in cache. The grid depends on the shape alone: BLAS picks other
   kernels for other panel heights, so only a fixed grid gives the same bits for any number of
   threads. For a big product by the built-in gemm the team packs B once, before the panels;
   whoever comes to the panels first waits for parts at work, which never wait themselves. */
#include "ckernels.h"

#include <stdatomic.h>
#include <string.h>

enum {
    HOMES = 8,                           /* parts of the tasks that threads start with */
    MAX_COUNTED = 64,                    /* row panels that can be cut into columns as well */
    PART = 128                           /* columns of B that a thread packs at a time */
};

typedef struct {
    ck_gemm_shape shape;
    int dtype;
    int64_t batch, sa, sb, sc, size;
    int64_t row_panels, col_panels;      /* the grid */
    int64_t tile, cols;                  /* rows and columns that stay together in a panel */
    int by_column;                       /* the panels of one column after another: B is large */
    int mirrored;                        /* A @ A^T: panels right of the diagonal are copied */
    int64_t tasks, per_task;             /* per_task: batch items of a task when they are not cut */
    _Atomic int64_t next[HOMES];         /* the first task nobody has taken, of each thread's own */
    int64_t homes;
    ck_packed shared;                    /* B packed by the team; no data: panels read B itself */
    int64_t packed, parts, groups;       /* its bytes; parts to pack, of them in a block of rows */
    _Atomic int64_t part, ready;         /* the first part nobody has taken; how many are done */
    const char *a, *b;
    char *c;
    const ck_blas *blas;
    ck_fn epilogue;
    int64_t unit;
    void *const *p;
    const ck_gemm_dims *dims;
    atomic_int left[MAX_COUNTED];        /* column panels still missing, per row panel */
} gemm;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t at_least(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

static int finish(const gemm *g, int64_t first, int64_t last)
{
    if (!g->epilogue)
        return CK_OK;
    return g->epilogue(g->p + 3, (const int64_t *)(g->dims + 1), first * g->unit, last * g->unit);
}

/* C[item, row0:row1, col0:col1] */
static int panel(const gemm *g, int64_t item, int64_t row0, int64_t row1, int64_t col0,
                 int64_t col1)
{
    ck_gemm_shape s = g->shape;
    int64_t a = item * g->sa + row0 * (s.trans_a ? 1 : s.lda);
    int64_t b = item * g->sb + col0 * (s.trans_b ? s.ldb : 1);
    int64_t c = item * g->sc + row0 * s.ldc + col0;
    s.m = row1 - row0;
    s.n = col1 - col0;
    if (g->shared.data)
        return ck_builtin_panel(g->dtype, &s, g->a + a * g->size, &g->shared, col0,
                                g->c + c * g->size);
    return ck_blas_gemm(g->blas, g->dtype, &s, g->a + a * g->size, g->b + b * g->size,
                        g->c + c * g->size);
}

/* A task of whole batch items. */
static int do_items(gemm *g, int64_t task)
{
    int64_t end = at_most((task + 1) * g->per_task, g->batch);
    for (int64_t item = task * g->per_task; item < end; item++) {
        int code = panel(g, item, 0, g->shape.m, 0, g->shape.n);
        if (!code)
            code = finish(g, item * g->shape.m, (item + 1) * g->shape.m);
        if (code)
            return code;
    }
    return CK_OK;
}

/* Where a panel starts: all are alike up to a tile, so that none is left over at the end. */
static int64_t bound(int64_t size, int64_t tile, int64_t panel, int64_t panels)
{
    return at_most(ceil_div(size, tile) * panel / panels * tile, size);
}

/* Columns [col0, col1) of C above the diagonal from those rows of C. */
static void mirror(const gemm *g, int64_t col0, int64_t col1)
{
    int64_t ld = g->shape.ldc;
    double *c = (double *)g->c;
    float *f = (float *)g->c;
    for (int64_t r = 0; r < col1; r++) {
        int64_t first = at_least(col0, r + 1);
        for (int64_t q = first; g->dtype && q < col1; q++)
            c[r * ld + q] = c[q * ld + r];
        for (int64_t q = first; !g->dtype && q < col1; q++)
            f[r * ld + q] = f[q * ld + r];
    }
}

/* A task of a product of a matrix with its own transpose: rows as far as their diagonal, the longest
   first. */
static int do_half(gemm *g, int64_t task)
{
    int64_t p = g->row_panels - 1 - task;
    int64_t row = bound(g->shape.m, g->tile, p, g->row_panels);
    int64_t row1 = bound(g->shape.m, g->tile, p + 1, g->row_panels);
    int code = panel(g, 0, row, row1, 0, row1);
    if (!code)
        mirror(g, row, row1);
    return code;
}

/* A task of one panel: (item, row panel, column panel), the last fastest. Whoever makes the
   last column panel of some rows runs their epilogue. */
static int do_panel(gemm *g, int64_t task)
{
    int64_t line = task / g->col_panels, q = task % g->col_panels;
    if (g->by_column)                    /* one item */
        line = task % g->row_panels, q = task / g->row_panels;
    int64_t item = line / g->row_panels, p = line % g->row_panels;
    int64_t row = bound(g->shape.m, g->tile, p, g->row_panels);
    int64_t row1 = bound(g->shape.m, g->tile, p + 1, g->row_panels);
    int64_t col = bound(g->shape.n, g->cols, q, g->col_panels);
    int64_t col1 = bound(g->shape.n, g->cols, q + 1, g->col_panels);
    int code = panel(g, item, row, row1, col, col1);
    if (code || (g->col_panels > 1 && atomic_fetch_sub(&g->left[line], 1) != 1))
        return code;
    return finish(g, item * g->shape.m + row, item * g->shape.m + row1);
}

/* Pack parts of B until none is left, then wait for those that others have at work. */
static void pack_shared(gemm *g)
{
    for (int64_t t; (t = atomic_fetch_add(&g->part, 1)) < g->parts;) {
        int64_t col = t % g->groups * PART;
        ck_builtin_pack(g->dtype, &g->shape, g->b, &g->shared, t / g->groups, col,
                        at_most(col + PART, g->shape.n));
        atomic_fetch_add_explicit(&g->ready, 1, memory_order_release);
    }
    for (int spin = 0; atomic_load_explicit(&g->ready, memory_order_acquire) < g->parts; spin++)
        if (spin > 1000)
            ck_yield();
}

/* What each thread runs: its own tasks, then what others left, whichever range it was given.
   Another process on one of the cores then costs a panel, not half of the product; and a thread
   sees the rows again that it wrote before (weights, their momentum): lines from another core's
   cache cost a training step a tenth. */
static int run(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    gemm *g = (gemm *)p;
    (void)unused, (void)lo, (void)hi;
    int code = CK_OK;
    if (g->shared.data)
        pack_shared(g);
    for (int64_t i = 0; i < g->homes; i++) {
        int64_t home = (ck_seat() + i) % g->homes, end = g->tasks * (home + 1) / g->homes;
        for (int64_t t; !code && (t = atomic_fetch_add(&g->next[home], 1)) < end;)
            code = g->mirrored ? do_half(g, t)
                   : g->row_panels * g->col_panels > 1 ? do_panel(g, t) : do_items(g, t);
    }
    return code;
}

/* The grid. Measured on Zen 5 (2 cores, L2 1 MB), float32, one thread, us for the whole
   product in one call and in panels: 512: 1252, 2x2 1264, 4x4 1260, 16x1 1644; 1024: 10490,
   4x4 10920, 32x1 14550; with OpenBLAS 1024: 18990, 4x4 19680, 32x1 21850. So square panels
   cost 1 to 5 %, flat ones 15 to 40 %, and 16 square panels keep 16 threads busy. Fork and
   join take 0.5 us hot: a panel is worth at least 3 us. */
enum {
    PANEL_WORK = 350000,                 /* multiply-adds, 3.3 us at 210 GFLOP/s */
    LANES = 32, FEW_COLS = 8,            /* fewer columns take as long, but for a vector */
    ELEMENT_WORK = 4,                    /* what reading one element costs, in multiply-adds */
    MANY = 64, FEW = 16,                 /* most panels: of huge products, of the others */
    MIN_ROWS = 48, MIN_COLS = 64,
    FEW_ROWS = 192, FEW_BYTES = 2 << 20, /* rows not cut: each part of B is read by one panel */
    SMALL_COLS = 512, SMALL_BYTES = 512 << 10,   /* of B: all panels may read all of it */
    SHARED_WORK = 100000000,             /* from where waiting for the parts is worth it */
    THIN_ROWS = 16, THIN_SIZE = 1 << 19, /* from so many elements of B on few rows are thin */
    HALF_ROWS = 64, HALF_K = 64, HALF_MOST = 16,  /* panels of a product that is mirrored */
    HALF_LEAST = 72, HALF_FEW = 4,       /* rows from which it is, in so many panels */
    SHARED_K = 192,                      /* below, writing C counts more */
    SHARED_ROWS = 264                    /* twice what the built-in gemm packs at a time */
};

static double cost(const ck_gemm_shape *s)
{
    double m = (double)s->m, k = (double)s->k;
    double n = (double)(s->m > 1 && s->n > 1 ? at_least(s->n, s->n > FEW_COLS ? LANES : FEW_COLS)
                                             : s->n);
    double compute = m * n * k, memory = ELEMENT_WORK * (m * k + k * n + m * n);
    return compute > memory ? compute : memory;
}

/* Halve the longer side until there are enough panels. Powers of two suit most team sizes. The
   step of an MLP (128 x 784-512-256, two threads): gradients of weights 382 and 139 us in square
   panels, 318 and 113 in rows; the layers 279 and 100 in square ones, 243 and 93 in columns. */
static void choose_grid(gemm *g, double work)
{
    const ck_gemm_shape *s = &g->shape;
    int64_t bytes = s->k * s->n * g->size;
    int builtin = ck_blas_is_builtin(g->blas, s);
    int few = s->m < FEW_ROWS && s->n >= 2 * MIN_COLS && bytes <= FEW_BYTES;
    int small = builtin && !s->trans_b && s->m >= s->n && s->n <= SMALL_COLS
                && bytes <= SMALL_BYTES;
    int64_t most = work * g->batch > (double)PANEL_WORK * 8192 ? MANY : FEW, down = 1, across = 1;
    double wanted = work / PANEL_WORK;
    if (builtin && (few || small))         /* the same bits from any grid */
        most = at_least(FEW / 2, at_most(FEW, 2 * (int64_t)ck_get_num_threads()));
    if (s->m == 1 || (builtin && s->thin))  /* too; wide panels read longer rows of B */
        most = ck_get_num_threads() > 1 ? 2 * (int64_t)ck_get_num_threads() : 1;
    while (down * across * 2 <= wanted && down * across * g->batch < most) {
        int can_down = s->m / (down * 2) >= (builtin && few ? FEW_ROWS : MIN_ROWS);
        int can_across = s->n / (across * 2) >= MIN_COLS && g->batch * down <= MAX_COUNTED;
        if (!can_down && !can_across)
            break;
        if (can_down && (!can_across || small || s->m / down * 2 >= s->n / across))
            down *= 2;
        else
            across *= 2;
    }
    int64_t cols = ceil_div(s->n, across);
    g->row_panels = down;
    g->tile = s->n <= FEW_COLS ? 16 : down >= 8 || s->m >= 96 * down ? 12 : 4;
    g->cols = cols < 256 ? 16 : 32;
    g->col_panels = across;
    g->by_column = g->batch == 1 && s->m < FEW_ROWS && bytes > FEW_BYTES;
}

/* The grid where the team packs B: rows first, so that each part of A is packed once, too. Every
   element is the same sum in any panel, so the grid may depend on the number of threads: two
   panels for each, so that a thread held up costs less than half. 0: B is not to be shared. */
static int choose_shared_grid(gemm *g, double work)
{
    const ck_gemm_shape *s = &g->shape;
    int64_t wanted = 2 * (int64_t)ck_get_num_threads(), most = (int64_t)(work / PANEL_WORK);
    int64_t down = at_least(at_most(wanted, most), ceil_div(s->m, SHARED_ROWS));
    down = at_most(down, s->m / MIN_ROWS);
    int64_t across = down < 2 || down >= wanted || down > MAX_COUNTED ? 1
                     : at_most(at_most(ceil_div(wanted, down), most / down), s->n / 128);
    g->row_panels = down;
    g->tile = s->m >= 96 * down ? 12 : 4;
    g->cols = 32;
    g->col_panels = at_least(across, 1);
    g->by_column = 0;
    return down > 1;
}

/* Where a matrix is multiplied by its own transpose, one half of C is that of the other. The
   covariance of 600 samples of 500 variables, float64, one thread: 6.6 ms whole, 4.6 so; of 100
   variables 271 us and 186, of 72 133 and 113 (AVX2). */
static int is_mirrored(const gemm *g)
{
    const ck_gemm_shape *s = &g->shape;
    return g->a == g->b && g->batch == 1 && s->m == s->n && s->trans_a != s->trans_b
           && s->lda == s->ldb && s->beta == 0 && s->m >= HALF_LEAST && s->k >= HALF_K;
}

/* Where B must be packed, by the team once instead of by each panel. */
static int share(gemm *g, double work)
{
    if (g->batch > 1 || g->shape.n == 1 || g->shape.k < SHARED_K || work < SHARED_WORK
        || !ck_blas_is_builtin(g->blas, &g->shape))
        return 0;
    g->packed = ck_builtin_packed(g->dtype, &g->shape, &g->shared);
    if (!g->packed || !choose_shared_grid(g, work))
        return 0;
    g->shared.data = ck_alloc((size_t)g->packed);
    g->groups = ceil_div(g->shape.n, PART);
    g->parts = g->groups * ceil_div(g->shape.k, g->shared.depth);
    atomic_init(&g->part, 0);
    atomic_init(&g->ready, 0);
    return g->shared.data != NULL;
}

static int finish_rows(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    (void)unused;
    return finish((const gemm *)p, lo, hi);
}

static int multiply(gemm *g)
{
    double work = cost(&g->shape);
    const ck_gemm_shape *s = &g->shape;
    g->shape.thin = !s->trans_b && s->m > 1 && s->m <= THIN_ROWS && s->n >= 2 * MIN_COLS
                    && s->k * s->n > THIN_SIZE;
    if (!share(g, work))
        choose_grid(g, work);
    g->mirrored = is_mirrored(g);
    if (g->mirrored)
        g->row_panels = at_most(at_least(s->m / HALF_ROWS, HALF_FEW), HALF_MOST),
        g->col_panels = 1, g->tile = 12;
    if (g->col_panels > 1)
        for (int64_t i = 0; i < g->batch * g->row_panels; i++)
            atomic_init(&g->left[i], (int)g->col_panels);
    int64_t panels = g->row_panels * g->col_panels;
    g->shape.whole = panels == 1;
    g->per_task = panels > 1 ? 1 : at_least(1, (int64_t)(PANEL_WORK / 4 / work));
    g->tasks = panels > 1 ? g->batch * panels : ceil_div(g->batch, g->per_task);
    g->homes = at_most(ck_get_num_threads(), HOMES);
    for (int64_t i = 0; i < g->homes; i++)
        atomic_init(&g->next[i], g->tasks * i / g->homes);
    int64_t grain = at_least(1, (int64_t)(g->tasks * (double)PANEL_WORK / (work * g->batch)));
    int64_t least = g->row_panels == 1 ? g->shape.m
                                       : g->shape.m / g->tile / g->row_panels * g->tile;
    int library = ck_blas_may_call(g->blas, g->dtype, &g->shape, least);
    if (library)
        ck_blas_enter(g->blas);
    int code = ck_parallel_for(run, (void *const *)g, NULL, g->tasks, 1, grain);
    if (library)
        ck_blas_leave(g->blas);
    if (g->shared.data)
        ck_free(g->shared.data, (size_t)g->packed);
    if (g->mirrored && !code && g->epilogue)
        code = ck_parallel_for(finish_rows, (void *const *)g, NULL, g->shape.m, 1,
                               at_least(1, 32768 / g->shape.n));
    return code;
}

/* Rows [lo, hi) of C (over all batch items): C = beta * C, then the epilogue. */
static int scale_rows(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    const gemm *g = (const gemm *)p;
    (void)unused;
    for (int64_t r = lo; r < hi; r++) {
        char *row = g->c + (r / g->shape.m * g->sc + r % g->shape.m * g->shape.ldc) * g->size;
        if (g->shape.beta == 0)
            memset(row, 0, (size_t)(g->shape.n * g->size));
        else if (g->dtype)
            for (int64_t j = 0; j < g->shape.n; j++)
                ((double *)row)[j] *= g->shape.beta;
        else
            for (int64_t j = 0; j < g->shape.n; j++)
                ((float *)row)[j] *= (float)g->shape.beta;
    }
    return finish(g, lo, hi);
}

static double bits_to_double(int64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void begin(gemm *g, void *const *p, const ck_gemm_dims *d, ck_fn epilogue)
{
    g->shape = (ck_gemm_shape){d->m, d->n, d->k, d->trans_a != 0, d->trans_b != 0, d->lda, d->ldb,
                               d->ldc, bits_to_double(d->alpha), bits_to_double(d->beta), 0, 0};
    g->dtype = d->dtype != 0;
    g->size = g->dtype ? sizeof(double) : sizeof(float);
    g->batch = d->batch;
    g->sa = d->step_a, g->sb = d->step_b, g->sc = d->step_c, g->unit = d->unit;
    g->a = p[0], g->b = p[1], g->c = p[2];
    g->epilogue = epilogue;
    g->p = p, g->dims = d;
    g->shared.data = NULL;
}

int ck_gemm(void *const *p, const void *record, ck_fn epilogue)
{
    gemm g;
    begin(&g, p, record, epilogue);
    int64_t rows = g.batch * g.shape.m;
    if (rows <= 0)
        return CK_OK;
    if (g.shape.n <= 0)
        return finish(&g, 0, rows);
    if (g.shape.k <= 0 || g.shape.alpha == 0)
        return ck_parallel_for(scale_rows, (void *const *)&g, NULL, rows, 1,
                               at_least(1, 32768 / g.shape.n));
    if (g.batch > 1 && g.sb == 0 && !g.shape.trans_a && g.sa == g.shape.m * g.shape.lda
        && g.sc == g.shape.m * g.shape.ldc) {           /* one tall matrix times one B */
        g.shape.m = rows;
        g.batch = 1;
    }
    g.blas = ck_blas_get();
    return multiply(&g);
}

int ck_gemm_rows(void *const *p, const void *record, ck_fn epilogue, int64_t row0, int64_t row1)
{
    gemm g;
    begin(&g, p, record, epilogue);
    ck_gemm_shape s = g.shape;
    s.m = row1 - row0;
    int64_t a = row0 * (s.trans_a ? 1 : s.lda), c = row0 * s.ldc;
    int code = CK_OK;
    if (s.m > 0 && s.n > 0)
        code = ck_builtin_rows(g.dtype, &s, g.a + a * g.size, g.b, g.c + c * g.size);
    return code ? code : finish(&g, row0, row1);
}
