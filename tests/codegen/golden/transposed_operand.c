/* elementwise over 32 x 32 tiles */
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    const float *const x1 = p[1];
    float *const y2 = p[2];
    const int64_t step1 = d[3];
    const int64_t n = d[0];
    for (int64_t r0 = lo; r0 < hi; r0 += 32) {
        const int64_t r1 = r0 + 32 < hi ? r0 + 32 : hi;
        for (int64_t c0 = 0; c0 < n; c0 += 32) {
            const int64_t c1 = c0 + 32 < n ? c0 + 32 : n;
            for (int64_t r = r0; r < r1; r++) {
                const float *const a0 = x0 + r * d[2];
                const float *const a1 = x1 + r * d[4];
                float *const a2 = y2 + r * d[5];
                #pragma GCC ivdep
                for (int64_t i = c0; i < c1; i++) {
                    const float v0 = a0[i];
                    const float v1 = a1[i * step1];
                    const float v2 = v0 + v1;
                    a2[i] = v2;
                }
            }
        }
    }
    return 0;
}
