/* gemm.c: C = alpha * op(A) @ op(B) + beta * C by panels of single-threaded BLAS calls, and
   the epilogue.

   C is cut into panels; each is one BLAS call on one thread of our team, and the epilogue
   follows while the rows are in cache. The grid depends on the shape alone: BLAS picks other
   kernels for other panel heights, so only a fixed grid gives the same bits for any number of
   threads. */
#include "ckernels.h"

#include <stdatomic.h>
#include <string.h>

enum { MAX_COUNTED = 64 };               /* row panels that can be cut into columns as well */

typedef struct {
    ck_gemm_shape shape;
    int dtype;
    int64_t batch, sa, sb, sc, size;
    int64_t rows, cols, row_panels, col_panels;    /* the grid: panel size, and how many */
    int64_t tasks, per_task;             /* per_task: batch items of a task when they are not cut */
    _Atomic int64_t next;                /* the first task nobody has taken */
    const char *a, *b;
    char *c;
    const ck_blas *blas;
    ck_fn epilogue;
    int64_t unit;
    void *const *p;
    const int64_t *dims;
    atomic_int left[MAX_COUNTED];        /* column panels still missing, per row panel */
} gemm;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t at_least(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

static int finish(const gemm *g, int64_t first, int64_t last)
{
    if (!g->epilogue)
        return CK_OK;
    return g->epilogue(g->p + 3, g->dims + CK_GEMM_DIMS, first * g->unit, last * g->unit);
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

/* A task of one panel: (item, row panel, column panel), the last fastest. Whoever makes the
   last column panel of some rows runs their epilogue. */
static int do_panel(gemm *g, int64_t task)
{
    int64_t line = task / g->col_panels, col = task % g->col_panels * g->cols;
    int64_t item = line / g->row_panels, row = line % g->row_panels * g->rows;
    int64_t row1 = at_most(row + g->rows, g->shape.m), col1 = at_most(col + g->cols, g->shape.n);
    int code = panel(g, item, row, row1, col, col1);
    if (code || (g->col_panels > 1 && atomic_fetch_sub(&g->left[line], 1) != 1))
        return code;
    return finish(g, item * g->shape.m + row, item * g->shape.m + row1);
}

/* What each thread runs: tasks until none is left, whichever range it was given. Another
   process on one of the cores then costs a panel, not half of the product. */
static int run(void *const *p, const int64_t *unused, int64_t lo, int64_t hi)
{
    gemm *g = (gemm *)p;
    (void)unused, (void)lo, (void)hi;
    int code = CK_OK;
    for (int64_t t; !code && (t = atomic_fetch_add(&g->next, 1)) < g->tasks;)
        code = g->row_panels * g->col_panels > 1 ? do_panel(g, t) : do_items(g, t);
    return code;
}

/* The grid. Measured on Zen 5 (2 cores, L2 1 MB), float32, one thread, us for the whole
   product in one call and in panels: 512: 1252, 2x2 1264, 4x4 1260, 16x1 1644; 1024: 10490,
   4x4 10920, 32x1 14550; with OpenBLAS 1024: 18990, 4x4 19680, 32x1 21850. So square panels
   cost 1 to 5 %, flat ones 15 to 40 %, and 16 square panels keep 16 threads busy. Fork and
   join take 0.5 us hot: a panel is worth at least 3 us. */
enum {
    PANEL_WORK = 350000,                 /* multiply-adds, 3.3 us at 210 GFLOP/s */
    ELEMENT_WORK = 4,                    /* what reading one element costs, in multiply-adds */
    MANY = 64, FEW = 16,                 /* most panels: of huge products, of the others */
    MIN_ROWS = 48, MIN_COLS = 64
};

static double cost(const ck_gemm_shape *s)
{
    double m = (double)s->m, n = (double)s->n, k = (double)s->k;
    double compute = m * n * k, memory = ELEMENT_WORK * (m * k + k * n + m * n);
    return compute > memory ? compute : memory;
}

static int64_t round_up(int64_t n, int64_t to) { return ceil_div(n, to) * to; }

/* Halve the longer side until there are enough panels. Powers of two suit most team sizes. */
static void choose_grid(gemm *g, double work)
{
    const ck_gemm_shape *s = &g->shape;
    int64_t most = work * g->batch > (double)PANEL_WORK * 8192 ? MANY : FEW, down = 1, across = 1;
    double wanted = work / PANEL_WORK;
    while (down * across * 2 <= wanted && down * across * g->batch < most) {
        int can_down = s->m / (down * 2) >= MIN_ROWS;
        int can_across = s->n / (across * 2) >= MIN_COLS && g->batch * down <= MAX_COUNTED;
        if (!can_down && !can_across)
            break;
        if (can_down && (!can_across || s->m / down * 2 >= s->n / across))
            down *= 2;
        else
            across *= 2;
    }
    int64_t rows = ceil_div(s->m, down), cols = ceil_div(s->n, across);
    g->rows = down == 1 ? s->m : round_up(rows, rows < 96 ? 4 : 12);    /* rows of a tile */
    g->cols = across == 1 ? s->n : round_up(cols, cols < 256 ? 16 : 32);
    g->row_panels = ceil_div(s->m, g->rows);
    g->col_panels = ceil_div(s->n, g->cols);
    if (g->col_panels > 1)
        for (int64_t i = 0; i < g->batch * g->row_panels; i++)
            atomic_init(&g->left[i], (int)g->col_panels);
}

static int multiply(gemm *g)
{
    double work = cost(&g->shape);
    choose_grid(g, work);
    int64_t panels = g->row_panels * g->col_panels;
    g->per_task = panels > 1 ? 1 : at_least(1, (int64_t)(PANEL_WORK / 4 / work));
    g->tasks = panels > 1 ? g->batch * panels : ceil_div(g->batch, g->per_task);
    atomic_init(&g->next, 0);
    int64_t grain = at_least(1, (int64_t)(g->tasks * (double)PANEL_WORK / (work * g->batch)));
    ck_blas_enter(g->blas);
    int code = ck_parallel_for(run, (void *const *)g, NULL, g->tasks, 1, grain);
    ck_blas_leave(g->blas);
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

static void begin(gemm *g, void *const *p, const int64_t *d, ck_fn epilogue)
{
    g->shape = (ck_gemm_shape){d[1], d[2], d[3], d[4] != 0, d[5] != 0, d[6], d[7], d[8],
                               bits_to_double(d[9]), bits_to_double(d[10])};
    g->dtype = d[0] != 0;
    g->size = g->dtype ? sizeof(double) : sizeof(float);
    g->batch = d[11];
    g->sa = d[12], g->sb = d[13], g->sc = d[14], g->unit = d[15];
    g->a = p[0], g->b = p[1], g->c = p[2];
    g->epilogue = epilogue;
    g->p = p, g->dims = d;
}

int ck_gemm(void *const *p, const int64_t *d, ck_fn epilogue)
{
    gemm g;
    begin(&g, p, d, epilogue);
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

int ck_gemm_rows(void *const *p, const int64_t *d, ck_fn epilogue, int64_t row0, int64_t row1)
{
    gemm g;
    begin(&g, p, d, epilogue);
    g.blas = ck_blas_get();
    int code = panel(&g, 0, row0, row1, 0, g.shape.n);
    return code ? code : finish(&g, row0, row1);
}
