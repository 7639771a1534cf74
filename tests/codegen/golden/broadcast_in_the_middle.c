/* elementwise over a flat range */
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    const float *const x1 = p[1];
    float *const y2 = p[2];
    const int64_t n = d[0];
    int64_t row = lo / n, j = lo % n;
    int64_t r2 = row % d[3]; row /= d[3];
    int64_t r1 = row % d[2]; row /= d[2];
    int64_t r0 = row;
    while (lo < hi) {
        const int64_t end = n - j < hi - lo ? n : j + hi - lo;
        const float *const a0 = x0 + r0 * d[4] + r1 * d[5] + r2 * d[6];
        const float *const a1 = x1 + r0 * d[7] + r1 * d[8] + r2 * d[9];
        float *const a2 = y2 + r0 * d[10] + r1 * d[11] + r2 * d[12];
        const float v1 = a1[0];
        #pragma GCC ivdep
        for (int64_t i = j; i < end; i++) {
            const float v0 = a0[i];
            const float v2 = v0 * v1;
            a2[i] = v2;
        }
        lo += end - j; j = 0;
        if (++r2 == d[3]) { r2 = 0; if (++r1 == d[2]) { r1 = 0; r0++; } }
    }
    return 0;
}
