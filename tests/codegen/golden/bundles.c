/* column program over bundles: one bundle of columns per unit of the range */
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    const float *const x1 = p[1];
    float *const y2 = p[2];
    const int64_t n = d[0], m = d[3], most = 256 / m;
    double a_1[256];
    float s3[256];
    int64_t row = lo / n, first = lo % n;
    while (lo < hi) {
        int64_t bundles = n - first < hi - lo ? n - first : hi - lo; if (bundles > most) bundles = most;
        const int64_t j0 = first * m, w = bundles * m;
        const int64_t r0 = row;
        const float *const a0 = x0 + r0 * d[4] + j0;
        float *const a2 = y2 + r0 * d[6] + j0;
        const float v2 = x1[0];
        #pragma GCC ivdep
        for (int64_t c = 0; c < w; c++) {
            a_1[c] = 0;
        }
        int64_t q0 = 0;
        for (; q0 + 8 <= d[2]; q0 += 8) {
            const float *const b0_0 = a0 + (q0 + 0) * d[5];
            const float *const b0_1 = a0 + (q0 + 1) * d[5];
            const float *const b0_2 = a0 + (q0 + 2) * d[5];
            const float *const b0_3 = a0 + (q0 + 3) * d[5];
            const float *const b0_4 = a0 + (q0 + 4) * d[5];
            const float *const b0_5 = a0 + (q0 + 5) * d[5];
            const float *const b0_6 = a0 + (q0 + 6) * d[5];
            const float *const b0_7 = a0 + (q0 + 7) * d[5];
            #pragma GCC ivdep
            for (int64_t c = 0; c < w; c++) {
                const float v0_0 = b0_0[c];
                const float v0_1 = b0_1[c];
                const float v0_2 = b0_2[c];
                const float v0_3 = b0_3[c];
                const float v0_4 = b0_4[c];
                const float v0_5 = b0_5[c];
                const float v0_6 = b0_6[c];
                const float v0_7 = b0_7[c];
                a_1[c] += (((v0_0 + v0_1) + (v0_2 + v0_3)) + ((v0_4 + v0_5) + (v0_6 + v0_7)));
            }
        }
        for (; q0 < d[2]; q0++) {
            const int64_t q_0 = q0;
            const float *const b0 = a0 + q_0 * d[5];
            float *const b2 = a2 + q_0 * d[7];
            #pragma GCC ivdep
            for (int64_t c = 0; c < w; c++) {
                const float v0 = b0[c];
                a_1[c] += v0;
            }
        }
        for (int64_t c = 0; c < w; c += m) {
            double t_1 = a_1[c];
            for (int64_t k = c + 1; k < c + m; k++) {
                t_1 += a_1[k];
            }
            for (int64_t k = c; k < c + m; k++) {
                a_1[k] = t_1;
            }
        }
        #pragma GCC ivdep
        for (int64_t c = 0; c < w; c++) {
            const float v1 = (float)a_1[c];
            const float v3 = v1 / v2;
            s3[c] = v3;
        }
        for (int64_t q = 0; q < d[2]; q++) {
            const int64_t q_0 = q;
            const float *const b0 = a0 + q_0 * d[5];
            float *const b2 = a2 + q_0 * d[7];
            #pragma GCC ivdep
            for (int64_t c = 0; c < w; c++) {
                const float v0 = b0[c];
                const float v4 = v0 - s3[c];
                b2[c] = v4;
            }
        }
        lo += bundles; first += bundles;
        if (first == n) { first = 0; row++; }
    }
    return 0;
}
