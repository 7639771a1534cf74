/* elementwise over a flat range */
__attribute__((optimize("no-tree-pre")))
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    float *const y1 = p[1];
    #pragma GCC ivdep
    for (int64_t i = lo; i < hi; i++) {
        const float v0 = x0[i];
        const float v1 = ck_exp_f32(v0);
        y1[i] = v1;
    }
    return 0;
}

/* elementwise over short rows as one */
__attribute__((optimize("no-tree-pre")))
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    const float *const x1 = p[1];
    const float *const x2 = p[2];
    float *const y3 = p[3];
    const int64_t n = d[0], length = n * d[1];
    float t1[577];
    float s3[576];
    float t3[512];
    const int64_t step = 512 / n * n;
    int64_t row = lo / length, j = lo % length;
    while (lo < hi) {
        const int64_t end = length - j < hi - lo ? length : j + hi - lo;
        const int64_t first = j % n;
        #pragma GCC ivdep
        for (int64_t c = 0; c < n; c++) {
            const float v1 = x1[c];
            t1[c] = v1;
        }
        const int64_t far = first + (end - j < step ? end - j : step);
        for (int64_t c = n; c < far; c *= 2) __builtin_memcpy(t1 + c, t1, (size_t)(c < far - c ? c : far - c) * sizeof *t1);
        for (int64_t b = j; b < end; b += step) {
            const int64_t count = end - b < step ? end - b : step;
            const int64_t q = b / n, rows = (first + count + n - 1) / n;
            if (d[3] == 1) {
                #pragma GCC ivdep
                for (int64_t c = 0; c < rows; c++) {
                    const float v3 = x2[q + c];
                    s3[c] = v3;
                }
            }
            else {
                #pragma GCC ivdep
                for (int64_t c = 0; c < rows; c++) {
                    const float v3 = x2[(q + c) * d[3]];
                    s3[c] = v3;
                }
            }
            ck_repeat_f32(t3, s3, n, first, count);
            const float *const b0 = x0 + b;
            float *const b3 = y3 + b;
            #pragma GCC ivdep
            for (int64_t i = 0; i < count; i++) {
                const float v0 = b0[i];
                const float v1 = t1[first + i];
                const float v2 = v0 - v1;
                const float v3 = t3[i];
                const float v4 = v2 * v3;
                b3[i] = v4;
            }
        }
        lo += end - j; row++; j = 0;
    }
    return 0;
}
