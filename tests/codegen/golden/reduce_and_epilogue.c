/* row program: one outer index per unit of the range */
__attribute__((optimize("no-tree-pre")))
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    const float *const x1 = p[1];
    float *const y2 = p[2];
    const int64_t n = d[0];
    for (int64_t r = lo; r < hi; r++) {
        const int64_t r0 = r;
        const float *const a0 = x0 + r0 * d[2];
        const float *const a1 = x1 + r0 * d[3];
        float *const a2 = y2 + r0 * d[4];
        const float v2 = a1[0];
        double a_1 = 0;
        #pragma omp simd reduction(+:a_1)
        for (int64_t j = 0; j < n; j++) {
            const float v0 = a0[j];
            a_1 += v0;
        }
        const float v1 = (float)a_1;
        const float v3 = v1 + v2;
        const float v4 = ck_tanh_f32(v3);
        a2[0] = v4;
    }
    return 0;
}
