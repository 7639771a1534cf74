/* partial column reduction: one chunk of rows per unit of the range */
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    double *const y1 = p[1];
    const int64_t n = d[0], chunk = d[2];
    const int64_t rows = 1, total = d[1];
    double a_1[1024];
    for (int64_t r = lo; r < hi; r++) {
        const int64_t first = r * chunk;
        const int64_t last = first + chunk < total ? first + chunk : total;
        for (int64_t row = 0; row < rows; row++) {
            for (int64_t j0 = 0; j0 < n; j0 += 1024) {
                const int64_t w = n - j0 < 1024 ? n - j0 : 1024;
                const float *const a0 = x0 + j0;
                #pragma GCC ivdep
                for (int64_t c = 0; c < w; c++) {
                    a_1[c] = 0;
                }
                int64_t q0 = first;
                for (; q0 + 8 <= last; q0 += 8) {
                    const float *const b0_0 = a0 + (q0 + 0) * d[3];
                    const float *const b0_1 = a0 + (q0 + 1) * d[3];
                    const float *const b0_2 = a0 + (q0 + 2) * d[3];
                    const float *const b0_3 = a0 + (q0 + 3) * d[3];
                    const float *const b0_4 = a0 + (q0 + 4) * d[3];
                    const float *const b0_5 = a0 + (q0 + 5) * d[3];
                    const float *const b0_6 = a0 + (q0 + 6) * d[3];
                    const float *const b0_7 = a0 + (q0 + 7) * d[3];
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
                for (; q0 < last; q0++) {
                    const int64_t q_0 = q0;
                    const float *const b0 = a0 + q_0 * d[3];
                    #pragma GCC ivdep
                    for (int64_t c = 0; c < w; c++) {
                        const float v0 = b0[c];
                        a_1[c] += v0;
                    }
                }
                #pragma GCC ivdep
                for (int64_t c = 0; c < w; c++) {
                    const double v1 = (double)a_1[c];
                    y1[(r * rows + row) * n + j0 + c] = v1;
                }
            }
        }
    }
    return 0;
}

/* column program: one column per unit of the range */
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const double *const x0 = p[0];
    float *const y1 = p[1];
    const int64_t n = d[0];
    double a_1[256];
    const int64_t most = d[1] == 1 ? n : 256;
    int64_t row = lo / n, j0 = lo % n;
    while (lo < hi) {
        int64_t w = n - j0 < hi - lo ? n - j0 : hi - lo; if (w > most) w = most;
        const double *const a0 = x0 + j0;
        float *const a1 = y1 + j0;
        if (d[1] == 1) {
            const int64_t q_0 = 0;
            const double *const b0 = a0 + q_0 * d[2];
            #pragma GCC ivdep
            for (int64_t c = 0; c < w; c++) {
                const double v0 = b0[c];
                double a_1 = 0;
                a_1 += v0;
                const double v1 = (double)a_1;
                const float v2 = (float)v1;
                a1[c] = v2;
            }
        }
        else {
            #pragma GCC ivdep
            for (int64_t c = 0; c < w; c++) {
                a_1[c] = 0;
            }
            int64_t q0 = 0;
            for (; q0 + 8 <= d[1]; q0 += 8) {
                const double *const b0_0 = a0 + (q0 + 0) * d[2];
                const double *const b0_1 = a0 + (q0 + 1) * d[2];
                const double *const b0_2 = a0 + (q0 + 2) * d[2];
                const double *const b0_3 = a0 + (q0 + 3) * d[2];
                const double *const b0_4 = a0 + (q0 + 4) * d[2];
                const double *const b0_5 = a0 + (q0 + 5) * d[2];
                const double *const b0_6 = a0 + (q0 + 6) * d[2];
                const double *const b0_7 = a0 + (q0 + 7) * d[2];
                #pragma GCC ivdep
                for (int64_t c = 0; c < w; c++) {
                    const double v0_0 = b0_0[c];
                    const double v0_1 = b0_1[c];
                    const double v0_2 = b0_2[c];
                    const double v0_3 = b0_3[c];
                    const double v0_4 = b0_4[c];
                    const double v0_5 = b0_5[c];
                    const double v0_6 = b0_6[c];
                    const double v0_7 = b0_7[c];
                    double t_1 = a_1[c];
                    t_1 += v0_0;
                    t_1 += v0_1;
                    t_1 += v0_2;
                    t_1 += v0_3;
                    t_1 += v0_4;
                    t_1 += v0_5;
                    t_1 += v0_6;
                    t_1 += v0_7;
                    a_1[c] = t_1;
                }
            }
            for (; q0 < d[1]; q0++) {
                const int64_t q_0 = q0;
                const double *const b0 = a0 + q_0 * d[2];
                #pragma GCC ivdep
                for (int64_t c = 0; c < w; c++) {
                    const double v0 = b0[c];
                    a_1[c] += v0;
                }
            }
            #pragma GCC ivdep
            for (int64_t c = 0; c < w; c++) {
                const double v1 = (double)a_1[c];
                const float v2 = (float)v1;
                a1[c] = v2;
            }
        }
        lo += w; j0 += w;
        if (j0 == n) { j0 = 0; row++; }
    }
    return 0;
}
