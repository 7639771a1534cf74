/* row program: one outer index per unit of the range */
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    float *const y1 = p[1];
    const int64_t n = d[0];
    for (int64_t r = lo; r < hi; r++) {
        const int64_t r0 = r;
        const float *const a0 = x0 + r0 * d[3];
        float *const a1 = y1 + r0 * d[5];
        double a_1 = 0;
        for (int64_t q = 0; q < d[2]; q++) {
            const int64_t q_0 = q;
            const float *const b0 = a0 + q_0 * d[4];
            #pragma omp simd reduction(+:a_1)
            for (int64_t j = 0; j < n; j++) {
                const float v0 = b0[j];
                a_1 += v0;
            }
        }
        const float v1 = (float)a_1;
        a1[0] = v1;
    }
    return 0;
}
