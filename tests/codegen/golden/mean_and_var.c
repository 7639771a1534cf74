/* row program: one outer index per unit of the range */
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    const float *const x1 = p[1];
    float *const y2 = p[2];
    float *const y3 = p[3];
    const int64_t n = d[0];
    for (int64_t r = lo; r < hi; r++) {
        const int64_t r0 = r;
        const float *const a0 = x0 + r0 * d[2];
        float *const a2 = y2 + r0 * d[3];
        float *const a3 = y3 + r0 * d[4];
        const float v2 = x1[0];
        double a_1 = 0;
        for (int64_t b = 0; b < n; b += 512) {
            const int64_t e = b + 512 < n ? b + 512 : n;
            float p_1 = 0;
            #pragma omp simd reduction(+:p_1)
            for (int64_t j = b; j < e; j++) {
                const float v0 = a0[j];
                p_1 += v0;
            }
            a_1 += p_1;
        }
        const float v1 = (float)a_1;
        const float v3 = v1 / v2;
        double a_6 = 0;
        for (int64_t b = 0; b < n; b += 512) {
            const int64_t e = b + 512 < n ? b + 512 : n;
            for (int64_t j = b; j < e; j += 16) {
                __builtin_prefetch(a0 + d[2] + j);
            }
            float p_6 = 0;
            #pragma omp simd reduction(+:p_6)
            for (int64_t j = b; j < e; j++) {
                const float v0 = a0[j];
                const float v4 = v0 - v3;
                const float v5 = v4 * v4;
                p_6 += v5;
            }
            a_6 += p_6;
        }
        const float v6 = (float)a_6;
        const float v7 = v6 / v2;
        a2[0] = v3;
        a3[0] = v7;
    }
    return 0;
}
