/* row program: one outer index per unit of the range */
__attribute__((optimize("no-tree-pre")))
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    const float *const x1 = p[1];
    float *const y2 = p[2];
    const int64_t n = d[0];
    const int64_t s0 = CK_SIDE_BY_SIDE(n, 4 * CK_LANES, 2048);
    for (int64_t r = lo; r < hi; r++) {
        const int64_t r0 = r;
        const float *const a0 = x0 + r0 * d[2];
        const float *const a1 = x1 + r0 * d[3];
        float *const a2 = y2 + r0 * d[4];
        const float v2 = a1[0];
        double a_1 = 0;
        if (s0 > 0) {
            double s_1[4 * CK_LANES] = {0};
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
                        s_1[u] += v0;
                    }
                }
            }
            #pragma omp simd reduction(+:a_1)
            for (int64_t q = 0; q < 4 * CK_LANES; q++) {
                a_1 += s_1[q];
            }
        }
        if (s0 < n) {
            #pragma omp simd reduction(+:a_1)
            for (int64_t j = s0; j < n; j++) {
                const float v0 = a0[j];
                a_1 += v0;
            }
        }
        const float v1 = (float)a_1;
        const float v3 = v1 + v2;
        const float v4 = ck_tanh_f32(v3);
        a2[0] = v4;
    }
    return 0;
}
