/* elementwise over short rows as one */
__attribute__((optimize("no-tree-pre")))
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    const float *const x1 = p[1];
    float *const y2 = p[2];
    const int64_t n = d[0], length = n * d[3];
    float s1[576];
    float t1[512];
    const int64_t step = 512 / n * n;
    int64_t row = lo / length, j = lo % length;
    int64_t r1 = row % d[2]; row /= d[2];
    int64_t r0 = row;
    while (lo < hi) {
        const int64_t end = length - j < hi - lo ? length : j + hi - lo;
        const float *const a0 = x0 + r0 * d[4] + r1 * d[5];
        const float *const a1 = x1 + r0 * d[7] + r1 * d[8];
        float *const a2 = y2 + r0 * d[10] + r1 * d[11];
        const int64_t first = j % n;
        for (int64_t b = j; b < end; b += step) {
            const int64_t count = end - b < step ? end - b : step;
            const int64_t q = b / n, rows = (first + count + n - 1) / n;
            if (d[9] == 1) {
                #pragma GCC ivdep
                for (int64_t c = 0; c < rows; c++) {
                    const float v1 = a1[q + c];
                    s1[c] = v1;
                }
            }
            else {
                #pragma GCC ivdep
                for (int64_t c = 0; c < rows; c++) {
                    const float v1 = a1[(q + c) * d[9]];
                    s1[c] = v1;
                }
            }
            ck_repeat_f32(t1, s1, n, first, count);
            const float *const b0 = a0 + b;
            float *const b2 = a2 + b;
            #pragma GCC ivdep
            for (int64_t i = 0; i < count; i++) {
                const float v0 = b0[i];
                const float v1 = t1[i];
                const float v2 = v0 * v1;
                b2[i] = v2;
            }
        }
        lo += end - j; j = 0;
        if (++r1 == d[2]) { r1 = 0; r0++; }
    }
    return 0;
}
