/* elementwise over a flat range */
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    const float *const x1 = p[1];
    const float *const x2 = p[2];
    float *const y3 = p[3];
    float *const y4 = p[4];
    #pragma GCC ivdep
    for (int64_t i = lo; i < hi; i++) {
        const float v0 = x0[i];
        const float v2 = v0 * (0.9f);
        const float v3 = x1[i];
        const float v5 = v3 * (0.01f);
        const float v6 = v2 == v5 ? v2 - v2 : v2 - v5;
        const float v7 = x2[i];
        const float v8 = v6 + v7;
        y3[i] = v6;
        y4[i] = v8;
    }
    return 0;
}
