/* elementwise over short rows as one */
__attribute__((optimize("no-tree-pre")))
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    const float *const x1 = p[1];
    float *const y2 = p[2];
    const int64_t n = d[0], length = n * d[1];
    float s1[576];
    float t1[512];
    const int64_t step = 512 / n * n;
    int64_t row = lo / length, j = lo % length;
    while (lo < hi) {
        const int64_t end = length - j < hi - lo ? length : j + hi - lo;
        const int64_t first = j % n;
        for (int64_t b = j; b < end; b += step) {
            const int64_t count = end - b < step ? end - b : step;
            const int64_t q = b / n, rows = (first + count + n - 1) / n;
            if (d[3] == 1) {
                #pragma GCC ivdep
                for (int64_t c = 0; c < rows; c++) {
                    const float v1 = x1[q + c];
                    s1[c] = v1;
                }
            }
            else {
                #pragma GCC ivdep
                for (int64_t c = 0; c < rows; c++) {
                    const float v1 = x1[(q + c) * d[3]];
                    s1[c] = v1;
                }
            }
            ck_repeat_f32(t1, s1, n, first, count);
            const float *const b0 = x0 + b;
            float *const b2 = y2 + b;
            #pragma GCC ivdep
            for (int64_t i = 0; i < count; i++) {
                const float v0 = b0[i];
                const float v1 = t1[i];
                const float v2 = v0 * v1;
                b2[i] = v2;
            }
        }
        lo += end - j; row++; j = 0;
    }
    return 0;
}
