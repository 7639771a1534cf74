/* partial reduction: one chunk per unit of the range */
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    double *const y1 = p[1];
    const int64_t chunk = d[1], total = d[0];
    for (int64_t r = lo; r < hi; r++) {
        const int64_t first = r * chunk;
        const int64_t last = first + chunk < total ? first + chunk : total;
        const int64_t n = last - first;
        const int64_t s0 = CK_SIDE_BY_SIDE(n, 4 * CK_LANES, 8 * CK_LANES);
        const float *const a0 = x0 + first;
        double a_2 = 0;
        if (s0 > 0) {
            double s_2[4 * CK_LANES] = {0};
            for (int64_t b = 0; b < s0; b += 4 * CK_LANES) {
                #pragma GCC unroll 4
                for (int64_t q = b; q < b + 4 * CK_LANES; q += 16) {
                    __builtin_prefetch(a0 + q + 2048);
                }
                #pragma GCC unroll 4
                for (int64_t q = 0; q < 4 * CK_LANES; q += CK_LANES) {
                    #pragma GCC ivdep
                    for (int64_t u = q; u < q + CK_LANES; u++) {
                        const float v0 = a0[b + u];
                        const float v1 = v0 * v0;
                        s_2[u] += v1;
                    }
                }
            }
            #pragma omp simd reduction(+:a_2)
            for (int64_t q = 0; q < 4 * CK_LANES; q++) {
                a_2 += s_2[q];
            }
        }
        if (s0 < n) {
            #pragma omp simd reduction(+:a_2)
            for (int64_t j = s0; j < n; j++) {
                const float v0 = a0[j];
                const float v1 = v0 * v0;
                a_2 += v1;
            }
        }
        const double v2 = (double)a_2;
        y1[r] = v2;
    }
    return 0;
}

/* row program: one outer index per unit of the range */
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const double *const x0 = p[0];
    float *const y1 = p[1];
    const int64_t n = d[0];
    const int64_t s0 = CK_SIDE_BY_SIDE(n, 2 * CK_LANES, 4 * CK_LANES);
    for (int64_t r = lo; r < hi; r++) {
        double a_1 = 0;
        if (s0 > 0) {
            double s_1[2 * CK_LANES] = {0};
            for (int64_t b = 0; b < s0; b += 2 * CK_LANES) {
                #pragma GCC unroll 4
                for (int64_t q = 0; q < 2 * CK_LANES; q += CK_LANES / 2) {
                    #pragma GCC ivdep
                    for (int64_t u = q; u < q + CK_LANES / 2; u++) {
                        const double v0 = x0[b + u];
                        s_1[u] += v0;
                    }
                }
            }
            #pragma omp simd reduction(+:a_1)
            for (int64_t q = 0; q < 2 * CK_LANES; q++) {
                a_1 += s_1[q];
            }
        }
        if (s0 < n) {
            #pragma omp simd reduction(+:a_1)
            for (int64_t j = s0; j < n; j++) {
                const double v0 = x0[j];
                a_1 += v0;
            }
        }
        const double v1 = (double)a_1;
        const float v2 = (float)v1;
        y1[0] = v2;
    }
    return 0;
}
