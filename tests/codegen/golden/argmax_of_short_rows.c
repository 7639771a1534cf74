/* column program: one column per unit of the range */
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    int64_t *const y2 = p[1];
    const int64_t step0 = d[2];
    const int64_t n = d[0];
    float a_1[256];
    int32_t a_4[256];
    int64_t row = lo / n, j0 = lo % n;
    while (lo < hi) {
        int64_t w = n - j0 < hi - lo ? n - j0 : hi - lo; if (w > 256) w = 256;
        const float *const a0 = x0 + j0 * step0;
        int64_t *const a2 = y2 + j0;
        #pragma GCC ivdep
        for (int64_t c = 0; c < w; c++) {
            a_1[c] = -__builtin_inff();
            a_4[c] = (int32_t)2147483647;
        }
        int64_t q0 = 0;
        for (; q0 + 8 <= d[1]; q0 += 8) {
            const float *const b0_0 = a0 + (q0 + 0) * d[3];
            const int64_t b1_0 = (q0 + 0) * d[4];
            const float *const b0_1 = a0 + (q0 + 1) * d[3];
            const int64_t b1_1 = (q0 + 1) * d[4];
            const float *const b0_2 = a0 + (q0 + 2) * d[3];
            const int64_t b1_2 = (q0 + 2) * d[4];
            const float *const b0_3 = a0 + (q0 + 3) * d[3];
            const int64_t b1_3 = (q0 + 3) * d[4];
            const float *const b0_4 = a0 + (q0 + 4) * d[3];
            const int64_t b1_4 = (q0 + 4) * d[4];
            const float *const b0_5 = a0 + (q0 + 5) * d[3];
            const int64_t b1_5 = (q0 + 5) * d[4];
            const float *const b0_6 = a0 + (q0 + 6) * d[3];
            const int64_t b1_6 = (q0 + 6) * d[4];
            const float *const b0_7 = a0 + (q0 + 7) * d[3];
            const int64_t b1_7 = (q0 + 7) * d[4];
            {
                float o_1[256];
                int32_t o_4[256];
                int32_t odd = 0;
                #pragma omp simd reduction(|:odd)
                for (int64_t c = 0; c < w; c++) {
                    const float v0_0 = b0_0[c * step0];
                    const int32_t v2_0 = (int32_t)b1_0;
                    const float v0_1 = b0_1[c * step0];
                    const int32_t v2_1 = (int32_t)b1_1;
                    const float v0_2 = b0_2[c * step0];
                    const int32_t v2_2 = (int32_t)b1_2;
                    const float v0_3 = b0_3[c * step0];
                    const int32_t v2_3 = (int32_t)b1_3;
                    const float v0_4 = b0_4[c * step0];
                    const int32_t v2_4 = (int32_t)b1_4;
                    const float v0_5 = b0_5[c * step0];
                    const int32_t v2_5 = (int32_t)b1_5;
                    const float v0_6 = b0_6[c * step0];
                    const int32_t v2_6 = (int32_t)b1_6;
                    const float v0_7 = b0_7[c * step0];
                    const int32_t v2_7 = (int32_t)b1_7;
                    float t_1 = a_1[c];
                    int32_t t_4 = a_4[c];
                    o_1[c] = t_1; o_4[c] = t_4;
                    odd |= !(v0_0 <= v0_1 || v0_0 > v0_1);
                    odd |= !(v0_2 <= v0_3 || v0_2 > v0_3);
                    odd |= !(v0_4 <= v0_5 || v0_4 > v0_5);
                    odd |= !(v0_6 <= v0_7 || v0_6 > v0_7);
                    const _Bool k0_1 = v0_0 > t_1;
                    t_1 = k0_1 ? v0_0 : t_1;
                    t_4 = k0_1 ? v2_0 : t_4;
                    const _Bool k1_1 = v0_1 > t_1;
                    t_1 = k1_1 ? v0_1 : t_1;
                    t_4 = k1_1 ? v2_1 : t_4;
                    const _Bool k2_1 = v0_2 > t_1;
                    t_1 = k2_1 ? v0_2 : t_1;
                    t_4 = k2_1 ? v2_2 : t_4;
                    const _Bool k3_1 = v0_3 > t_1;
                    t_1 = k3_1 ? v0_3 : t_1;
                    t_4 = k3_1 ? v2_3 : t_4;
                    const _Bool k4_1 = v0_4 > t_1;
                    t_1 = k4_1 ? v0_4 : t_1;
                    t_4 = k4_1 ? v2_4 : t_4;
                    const _Bool k5_1 = v0_5 > t_1;
                    t_1 = k5_1 ? v0_5 : t_1;
                    t_4 = k5_1 ? v2_5 : t_4;
                    const _Bool k6_1 = v0_6 > t_1;
                    t_1 = k6_1 ? v0_6 : t_1;
                    t_4 = k6_1 ? v2_6 : t_4;
                    const _Bool k7_1 = v0_7 > t_1;
                    t_1 = k7_1 ? v0_7 : t_1;
                    t_4 = k7_1 ? v2_7 : t_4;
                    a_1[c] = t_1; a_4[c] = t_4;
                }
                if (odd) {
                    #pragma GCC ivdep
                    for (int64_t c = 0; c < w; c++) {
                        a_1[c] = o_1[c];
                        a_4[c] = o_4[c];
                    }
                    #pragma GCC ivdep
                    for (int64_t c = 0; c < w; c++) {
                        const float v0_0 = b0_0[c * step0];
                        const int32_t v2_0 = (int32_t)b1_0;
                        const float v0_1 = b0_1[c * step0];
                        const int32_t v2_1 = (int32_t)b1_1;
                        const float v0_2 = b0_2[c * step0];
                        const int32_t v2_2 = (int32_t)b1_2;
                        const float v0_3 = b0_3[c * step0];
                        const int32_t v2_3 = (int32_t)b1_3;
                        const float v0_4 = b0_4[c * step0];
                        const int32_t v2_4 = (int32_t)b1_4;
                        const float v0_5 = b0_5[c * step0];
                        const int32_t v2_5 = (int32_t)b1_5;
                        const float v0_6 = b0_6[c * step0];
                        const int32_t v2_6 = (int32_t)b1_6;
                        const float v0_7 = b0_7[c * step0];
                        const int32_t v2_7 = (int32_t)b1_7;
                        float t_1 = a_1[c];
                        int32_t t_4 = a_4[c];
                        const _Bool k0_1 = v0_0 > t_1 || (v0_0 != v0_0 && t_1 == t_1);
                        t_1 = k0_1 ? v0_0 : t_1;
                        t_4 = k0_1 ? v2_0 : t_4;
                        const _Bool k1_1 = v0_1 > t_1 || (v0_1 != v0_1 && t_1 == t_1);
                        t_1 = k1_1 ? v0_1 : t_1;
                        t_4 = k1_1 ? v2_1 : t_4;
                        const _Bool k2_1 = v0_2 > t_1 || (v0_2 != v0_2 && t_1 == t_1);
                        t_1 = k2_1 ? v0_2 : t_1;
                        t_4 = k2_1 ? v2_2 : t_4;
                        const _Bool k3_1 = v0_3 > t_1 || (v0_3 != v0_3 && t_1 == t_1);
                        t_1 = k3_1 ? v0_3 : t_1;
                        t_4 = k3_1 ? v2_3 : t_4;
                        const _Bool k4_1 = v0_4 > t_1 || (v0_4 != v0_4 && t_1 == t_1);
                        t_1 = k4_1 ? v0_4 : t_1;
                        t_4 = k4_1 ? v2_4 : t_4;
                        const _Bool k5_1 = v0_5 > t_1 || (v0_5 != v0_5 && t_1 == t_1);
                        t_1 = k5_1 ? v0_5 : t_1;
                        t_4 = k5_1 ? v2_5 : t_4;
                        const _Bool k6_1 = v0_6 > t_1 || (v0_6 != v0_6 && t_1 == t_1);
                        t_1 = k6_1 ? v0_6 : t_1;
                        t_4 = k6_1 ? v2_6 : t_4;
                        const _Bool k7_1 = v0_7 > t_1 || (v0_7 != v0_7 && t_1 == t_1);
                        t_1 = k7_1 ? v0_7 : t_1;
                        t_4 = k7_1 ? v2_7 : t_4;
                        a_1[c] = t_1; a_4[c] = t_4;
                    }
                }
            }
        }
        for (; q0 < d[1]; q0++) {
            const int64_t q_0 = q0;
            const float *const b0 = a0 + q_0 * d[3];
            const int64_t b1 = q_0 * d[4];
            #pragma GCC ivdep
            for (int64_t c = 0; c < w; c++) {
                const float v0 = b0[c * step0];
                const int32_t v2 = (int32_t)b1;
                float t_1 = a_1[c];
                int32_t t_4 = a_4[c];
                const _Bool k0_1 = v0 > t_1 || (v0 != v0 && t_1 == t_1);
                t_1 = k0_1 ? v0 : t_1;
                t_4 = k0_1 ? v2 : t_4;
                a_1[c] = t_1; a_4[c] = t_4;
            }
        }
        {
            const int64_t q_0 = 0;
            const float *const b0 = a0 + q_0 * d[3];
            const int64_t b1 = q_0 * d[4];
            const int32_t v2 = (int32_t)b1;
            for (int64_t c = 0; c < w; c++) if (a_4[c] == (int32_t)2147483647) a_4[c] = v2;
        }
        #pragma GCC ivdep
        for (int64_t c = 0; c < w; c++) {
            const int32_t v4 = (int32_t)a_4[c];
            const int64_t v5 = (int64_t)v4;
            a2[c] = v5;
        }
        lo += w; j0 += w;
        if (j0 == n) { j0 = 0; row++; }
    }
    return 0;
}
