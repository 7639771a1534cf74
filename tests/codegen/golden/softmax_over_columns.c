/* column program: one column per unit of the range */
__attribute__((optimize("no-tree-pre")))
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    float *const y1 = p[1];
    const int64_t n = d[0];
    float a_1[256];
    uint8_t bad_1[256];
    float s3[256];
    double a_6[256];
    float s7[256];
    int64_t row = lo / n, j0 = lo % n;
    while (lo < hi) {
        int64_t w = n - j0 < hi - lo ? n - j0 : hi - lo; if (w > 256) w = 256;
        const float *const a0 = x0 + j0;
        float *const a1 = y1 + j0;
        #pragma GCC ivdep
        for (int64_t c = 0; c < w; c++) {
            a_1[c] = -__builtin_inff();
            bad_1[c] = 0;
        }
        int64_t q0 = 0;
        for (; q0 + 8 <= d[1]; q0 += 8) {
            const float *const b0_0 = a0 + (q0 + 0) * d[2];
            const float *const b0_1 = a0 + (q0 + 1) * d[2];
            const float *const b0_2 = a0 + (q0 + 2) * d[2];
            const float *const b0_3 = a0 + (q0 + 3) * d[2];
            const float *const b0_4 = a0 + (q0 + 4) * d[2];
            const float *const b0_5 = a0 + (q0 + 5) * d[2];
            const float *const b0_6 = a0 + (q0 + 6) * d[2];
            const float *const b0_7 = a0 + (q0 + 7) * d[2];
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
                float t_1 = a_1[c];
                t_1 = v0_0 > t_1 ? v0_0 : t_1;
                t_1 = v0_1 > t_1 ? v0_1 : t_1;
                t_1 = v0_2 > t_1 ? v0_2 : t_1;
                t_1 = v0_3 > t_1 ? v0_3 : t_1;
                t_1 = v0_4 > t_1 ? v0_4 : t_1;
                t_1 = v0_5 > t_1 ? v0_5 : t_1;
                t_1 = v0_6 > t_1 ? v0_6 : t_1;
                t_1 = v0_7 > t_1 ? v0_7 : t_1;
                a_1[c] = t_1;
                bad_1[c] |= (v0_0 != v0_0) | (v0_1 != v0_1) | (v0_2 != v0_2) | (v0_3 != v0_3) | (v0_4 != v0_4) | (v0_5 != v0_5) | (v0_6 != v0_6) | (v0_7 != v0_7);
            }
        }
        for (; q0 < d[1]; q0++) {
            const int64_t q_0 = q0;
            const float *const b0 = a0 + q_0 * d[2];
            float *const b1 = a1 + q_0 * d[3];
            #pragma GCC ivdep
            for (int64_t c = 0; c < w; c++) {
                const float v0 = b0[c];
                a_1[c] = v0 > a_1[c] ? v0 : a_1[c];
                bad_1[c] |= (v0 != v0);
            }
        }
        #pragma GCC ivdep
        for (int64_t c = 0; c < w; c++) {
            const float v1 = bad_1[c] ? __builtin_nanf("") : (float)a_1[c];
            const float v3 = (-3.4028235e+38f) > v1 ? (-3.4028235e+38f) : v1;
            s3[c] = v3;
            a_6[c] = 0;
        }
        for (int64_t q = 0; q < d[1]; q++) {
            const int64_t q_0 = q;
            const float *const b0 = a0 + q_0 * d[2];
            float *const b1 = a1 + q_0 * d[3];
            #pragma GCC ivdep
            for (int64_t c = 0; c < w; c++) {
                const float v0 = b0[c];
                const float v4 = v0 - s3[c];
                const float v5 = ck_exp_shifted_f32(v4);
                a_6[c] += v5;
            }
        }
        #pragma GCC ivdep
        for (int64_t c = 0; c < w; c++) {
            const float v6 = (float)a_6[c];
            const float v7 = 1.0f / v6;
            s7[c] = v7;
        }
        for (int64_t q = 0; q < d[1]; q++) {
            const int64_t q_0 = q;
            const float *const b0 = a0 + q_0 * d[2];
            float *const b1 = a1 + q_0 * d[3];
            #pragma GCC ivdep
            for (int64_t c = 0; c < w; c++) {
                const float v0 = b0[c];
                const float v4 = v0 - s3[c];
                const float v5 = ck_exp_shifted_f32(v4);
                const float v8 = v5 * s7[c];
                b1[c] = v8;
            }
        }
        lo += w; j0 += w;
        if (j0 == n) { j0 = 0; row++; }
    }
    return 0;
}
