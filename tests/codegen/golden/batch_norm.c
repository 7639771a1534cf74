/* column program: one column per unit of the range */
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    const float *const x1 = p[1];
    const float *const x2 = p[2];
    const float *const x3 = p[3];
    float *const y4 = p[4];
    const int64_t n = d[0];
    double a_1[256];
    float s3[256];
    double a_6[256];
    float s10[256];
    int64_t row = lo / n, j0 = lo % n;
    while (lo < hi) {
        int64_t w = n - j0 < hi - lo ? n - j0 : hi - lo; if (w > 256) w = 256;
        const float *const a0 = x0 + j0;
        const float *const a2 = x2 + j0;
        const float *const a3 = x3 + j0;
        float *const a4 = y4 + j0;
        const float v2 = x1[0];
        #pragma GCC ivdep
        for (int64_t c = 0; c < w; c++) {
            a_1[c] = 0;
        }
        int64_t q0 = 0;
        for (; q0 + 8 <= d[1]; q0 += 8) {
            const float *const b0_0 = a0 + (q0 + 0) * d[2];
            float *const b4_0 = a4 + (q0 + 0) * d[3];
            const float *const b0_1 = a0 + (q0 + 1) * d[2];
            float *const b4_1 = a4 + (q0 + 1) * d[3];
            const float *const b0_2 = a0 + (q0 + 2) * d[2];
            float *const b4_2 = a4 + (q0 + 2) * d[3];
            const float *const b0_3 = a0 + (q0 + 3) * d[2];
            float *const b4_3 = a4 + (q0 + 3) * d[3];
            const float *const b0_4 = a0 + (q0 + 4) * d[2];
            float *const b4_4 = a4 + (q0 + 4) * d[3];
            const float *const b0_5 = a0 + (q0 + 5) * d[2];
            float *const b4_5 = a4 + (q0 + 5) * d[3];
            const float *const b0_6 = a0 + (q0 + 6) * d[2];
            float *const b4_6 = a4 + (q0 + 6) * d[3];
            const float *const b0_7 = a0 + (q0 + 7) * d[2];
            float *const b4_7 = a4 + (q0 + 7) * d[3];
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
        for (; q0 < d[1]; q0++) {
            const int64_t q_0 = q0;
            const float *const b0 = a0 + q_0 * d[2];
            float *const b4 = a4 + q_0 * d[3];
            #pragma GCC ivdep
            for (int64_t c = 0; c < w; c++) {
                const float v0 = b0[c];
                a_1[c] += v0;
            }
        }
        #pragma GCC ivdep
        for (int64_t c = 0; c < w; c++) {
            const float v1 = (float)a_1[c];
            const float v3 = v1 / v2;
            s3[c] = v3;
            a_6[c] = 0;
        }
        int64_t q1 = 0;
        for (; q1 + 8 <= d[1]; q1 += 8) {
            const float *const b0_0 = a0 + (q1 + 0) * d[2];
            float *const b4_0 = a4 + (q1 + 0) * d[3];
            const float *const b0_1 = a0 + (q1 + 1) * d[2];
            float *const b4_1 = a4 + (q1 + 1) * d[3];
            const float *const b0_2 = a0 + (q1 + 2) * d[2];
            float *const b4_2 = a4 + (q1 + 2) * d[3];
            const float *const b0_3 = a0 + (q1 + 3) * d[2];
            float *const b4_3 = a4 + (q1 + 3) * d[3];
            const float *const b0_4 = a0 + (q1 + 4) * d[2];
            float *const b4_4 = a4 + (q1 + 4) * d[3];
            const float *const b0_5 = a0 + (q1 + 5) * d[2];
            float *const b4_5 = a4 + (q1 + 5) * d[3];
            const float *const b0_6 = a0 + (q1 + 6) * d[2];
            float *const b4_6 = a4 + (q1 + 6) * d[3];
            const float *const b0_7 = a0 + (q1 + 7) * d[2];
            float *const b4_7 = a4 + (q1 + 7) * d[3];
            #pragma GCC ivdep
            for (int64_t c = 0; c < w; c++) {
                const float v0_0 = b0_0[c];
                const float v4_0 = v0_0 - s3[c];
                const float v5_0 = v4_0 * v4_0;
                const float v0_1 = b0_1[c];
                const float v4_1 = v0_1 - s3[c];
                const float v5_1 = v4_1 * v4_1;
                const float v0_2 = b0_2[c];
                const float v4_2 = v0_2 - s3[c];
                const float v5_2 = v4_2 * v4_2;
                const float v0_3 = b0_3[c];
                const float v4_3 = v0_3 - s3[c];
                const float v5_3 = v4_3 * v4_3;
                const float v0_4 = b0_4[c];
                const float v4_4 = v0_4 - s3[c];
                const float v5_4 = v4_4 * v4_4;
                const float v0_5 = b0_5[c];
                const float v4_5 = v0_5 - s3[c];
                const float v5_5 = v4_5 * v4_5;
                const float v0_6 = b0_6[c];
                const float v4_6 = v0_6 - s3[c];
                const float v5_6 = v4_6 * v4_6;
                const float v0_7 = b0_7[c];
                const float v4_7 = v0_7 - s3[c];
                const float v5_7 = v4_7 * v4_7;
                a_6[c] += (((v5_0 + v5_1) + (v5_2 + v5_3)) + ((v5_4 + v5_5) + (v5_6 + v5_7)));
            }
        }
        for (; q1 < d[1]; q1++) {
            const int64_t q_0 = q1;
            const float *const b0 = a0 + q_0 * d[2];
            float *const b4 = a4 + q_0 * d[3];
            #pragma GCC ivdep
            for (int64_t c = 0; c < w; c++) {
                const float v0 = b0[c];
                const float v4 = v0 - s3[c];
                const float v5 = v4 * v4;
                a_6[c] += v5;
            }
        }
        #pragma GCC ivdep
        for (int64_t c = 0; c < w; c++) {
            const float v6 = (float)a_6[c];
            const float v7 = v6 / v2;
            const float v9 = v7 + (1e-05f);
            const float v10 = 1.0f / __builtin_sqrtf(v9);
            s10[c] = v10;
        }
        for (int64_t q = 0; q < d[1]; q++) {
            const int64_t q_0 = q;
            const float *const b0 = a0 + q_0 * d[2];
            float *const b4 = a4 + q_0 * d[3];
            #pragma GCC ivdep
            for (int64_t c = 0; c < w; c++) {
                const float v0 = b0[c];
                const float v4 = v0 - s3[c];
                const float v11 = v4 * s10[c];
                const float v12 = a2[c];
                const float v13 = v11 * v12;
                const float v14 = a3[c];
                const float v15 = v13 + v14;
                b4[c] = v15;
            }
        }
        lo += w; j0 += w;
        if (j0 == n) { j0 = 0; row++; }
    }
    return 0;
}
