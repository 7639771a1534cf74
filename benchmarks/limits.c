/* What the hardware allows: the loops a C programmer would write by hand for each workload.
   Built by limits.py with gcc -O3 -march=native -ffast-math -fopenmp, in a process of its own. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define FOR _Pragma("omp parallel for simd schedule(static) if(n > 20000)") for (int64_t i = 0; i < n; i++)

void light_f32(const float *x, const float *y, const float *z, const float *w, float *out, int64_t n) {
    FOR out[i] = 1.5f * x[i] + 0.5f * y[i] - z[i] * w[i];
}

void heavy_f32(const float *x, const float *y, float *out, int64_t n) {
    FOR out[i] = tanhf(x[i]) * expf(y[i]) + 1 / (1 + expf(y[i] - x[i])) - log1pf(x[i] * x[i]);
}

void heavy_f64(const double *x, const double *y, double *out, int64_t n) {
    FOR out[i] = tanh(x[i]) * exp(y[i]) + 1 / (1 + exp(y[i] - x[i])) - log1p(x[i] * x[i]);
}

/* Call and put; the same arithmetic as workloads/black_scholes.py. */
void black_scholes_f64(const double *s, const double *k, const double *t, double *call, double *put, int64_t n) {
    const double r = 0.03, v = 0.2, h = 0.7071067811865476;
    FOR {
        double root = v * sqrt(t[i]);
        double d1 = (log(s[i] / k[i]) + (r + v * v / 2) * t[i]) / root, d2 = d1 - root;
        double later = k[i] * exp(-r * t[i]);
        double c = s[i] * (0.5 + 0.5 * erf(d1 * h)) - later * (0.5 + 0.5 * erf(d2 * h));
        call[i] = c;
        put[i] = c - s[i] + later;
    }
}

float read_f32(const float *x, int64_t n) {
    float total = 0;
    #pragma omp parallel for simd schedule(static) reduction(+ : total)
    for (int64_t i = 0; i < n; i++) total += x[i];
    return total;
}

/* Reads n, writes n: the traffic of a fused row program whose row stays in cache. */
void copy_f32(const float *x, float *out, int64_t n) {
    FOR out[i] = 2 * x[i];
}

/* Reads 2n, writes 2n: forward and backward in one pass. */
void copy2_f32(const float *x, const float *g, float *y, float *dx, int64_t n) {
    FOR { float a = x[i], b = g[i]; y[i] = a + b; dx[i] = a - b; }
}

/* out[i, j] = x[j, i] + y[i, j], in 16 x 16 tiles so that both sides use whole cache lines. */
void transposed_add_f32(const float *x, const float *y, float *out, int64_t n) {
    enum { B = 16 };
    #pragma omp parallel for schedule(static)
    for (int64_t i0 = 0; i0 < n; i0 += B)
        for (int64_t j0 = 0; j0 < n; j0 += B) {
            float tile[B][B];
            for (int64_t j = 0; j < B; j++)
                for (int64_t i = 0; i < B; i++) tile[i][j] = x[(j0 + j) * n + i0 + i];
            for (int64_t i = 0; i < B; i++)
                for (int64_t j = 0; j < B; j++)
                    out[(i0 + i) * n + j0 + j] = tile[i][j] + y[(i0 + i) * n + j0 + j];
        }
}

void row_add_f32(const float *x, const float *row, float *out, int64_t n) {
    #pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) out[i * n + j] = x[i * n + j] + row[j];
}

void column_add_f32(const float *x, const float *column, float *out, int64_t n) {
    #pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) out[i * n + j] = x[i * n + j] + column[i];
}

void gather_f32(const float *table, const int64_t *ids, float *out, int64_t n, int64_t width) {
    #pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) memcpy(out + i * width, table + ids[i] * width, width * sizeof *out);
}

/* Zeroes the gradient, then adds; each thread owns a range of columns, so no two write one float. */
void scatter_add_f32(const float *g, const int64_t *ids, float *out, int64_t n, int64_t rows, int64_t width) {
    #pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++) memset(out + i * width, 0, width * sizeof *out);
    #pragma omp parallel for schedule(static)
    for (int64_t half = 0; half < 2; half++)
        for (int64_t i = 0; i < n; i++) {
            float *to = out + ids[i] * width + half * (width / 2);
            const float *from = g + i * width + half * (width / 2);
            for (int64_t j = 0; j < width / 2; j++) to[j] += from[j];
        }
}
