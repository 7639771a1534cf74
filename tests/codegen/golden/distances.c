/* contraction: tiles of outputs share what they read */
__attribute__((optimize("no-tree-pre")))
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    const float *const x1 = p[1];
    float *const y2 = p[2];
    const int64_t step1 = d[6];
    const int64_t n = d[0], m = d[1], k = d[2];
    const int64_t part = d[3] > 0 ? d[3] : n + 1, parts = n / part + 1;
    float s0[128 * 64];
    float t1[64 * 2 * CK_LANES];
    double a_4[128 * 2 * CK_LANES];
    int64_t row = lo / m / parts, p0 = lo / m % parts, r0 = lo % m;
    while (lo < hi) {
        int64_t rows = m - r0 < hi - lo ? m - r0 : hi - lo; if (rows > 128) rows = 128;
        const float *const a0 = x0 + r0 * d[4];
        float *const a2 = y2 + r0 * d[8];
        const int64_t end = n - p0 * part < part ? n : (p0 + 1) * part;
        for (int64_t j = p0 * part; j < end; j += (2 * CK_LANES)) {
            const int64_t w = end - j < 2 * CK_LANES ? end - j : 2 * CK_LANES;
            for (int64_t c = 0; c < rows * 2 * CK_LANES; c++) a_4[c] = 0;
            for (int64_t q0 = 0; q0 < k; q0 += 64) {
                const int64_t depth = k - q0 < 64 ? k - q0 : 64;
                for (int64_t r = 0; r < rows; r++) {
                    #pragma GCC ivdep
                    for (int64_t q = 0; q < depth; q++) {
                        const float v0 = a0[r * d[4] + (q0 + q) * d[5]];
                        s0[r * (64) + q] = v0;
                    }
                }
                for (int64_t c = 0; c < w; c++) {
                    #pragma GCC ivdep
                    for (int64_t q = 0; q < depth; q++) {
                        const float v1 = x1[((j + c)) * step1 + (q0 + q) * d[7]];
                        t1[q * (2 * CK_LANES) + c] = v1;
                    }
                }
                for (int64_t q = 0; q < depth; q++) {
                    for (int64_t c = w; c < 2 * CK_LANES; c++) {
                        t1[q * (2 * CK_LANES) + c] = 0;
                    }
                }
                int64_t r = 0;
                for (; r + 8 <= rows; r += 8) {
                    #pragma GCC ivdep
                    for (int64_t c = 0; c < 2 * CK_LANES; c++) {
                        float p0_4 = 0, p1_4 = 0, p2_4 = 0, p3_4 = 0, p4_4 = 0, p5_4 = 0, p6_4 = 0, p7_4 = 0;
                        for (int64_t q = 0; q < depth; q++) {
                            const float v1 = t1[q * (2 * CK_LANES) + c];
                            {
                                const float v0 = s0[(r + 0) * 64 + q];
                                const float v2 = v0 - v1;
                                const float v3 = v2 * v2;
                                p0_4 += v3;
                            }
                            {
                                const float v0 = s0[(r + 1) * 64 + q];
                                const float v2 = v0 - v1;
                                const float v3 = v2 * v2;
                                p1_4 += v3;
                            }
                            {
                                const float v0 = s0[(r + 2) * 64 + q];
                                const float v2 = v0 - v1;
                                const float v3 = v2 * v2;
                                p2_4 += v3;
                            }
                            {
                                const float v0 = s0[(r + 3) * 64 + q];
                                const float v2 = v0 - v1;
                                const float v3 = v2 * v2;
                                p3_4 += v3;
                            }
                            {
                                const float v0 = s0[(r + 4) * 64 + q];
                                const float v2 = v0 - v1;
                                const float v3 = v2 * v2;
                                p4_4 += v3;
                            }
                            {
                                const float v0 = s0[(r + 5) * 64 + q];
                                const float v2 = v0 - v1;
                                const float v3 = v2 * v2;
                                p5_4 += v3;
                            }
                            {
                                const float v0 = s0[(r + 6) * 64 + q];
                                const float v2 = v0 - v1;
                                const float v3 = v2 * v2;
                                p6_4 += v3;
                            }
                            {
                                const float v0 = s0[(r + 7) * 64 + q];
                                const float v2 = v0 - v1;
                                const float v3 = v2 * v2;
                                p7_4 += v3;
                            }
                        }
                        a_4[(r + 0) * (2 * CK_LANES) + c] += p0_4;
                        a_4[(r + 1) * (2 * CK_LANES) + c] += p1_4;
                        a_4[(r + 2) * (2 * CK_LANES) + c] += p2_4;
                        a_4[(r + 3) * (2 * CK_LANES) + c] += p3_4;
                        a_4[(r + 4) * (2 * CK_LANES) + c] += p4_4;
                        a_4[(r + 5) * (2 * CK_LANES) + c] += p5_4;
                        a_4[(r + 6) * (2 * CK_LANES) + c] += p6_4;
                        a_4[(r + 7) * (2 * CK_LANES) + c] += p7_4;
                    }
                }
                for (; r < rows; r++) {
                    #pragma GCC ivdep
                    for (int64_t c = 0; c < 2 * CK_LANES; c++) {
                        float p0_4 = 0;
                        for (int64_t q = 0; q < depth; q++) {
                            const float v1 = t1[q * (2 * CK_LANES) + c];
                            {
                                const float v0 = s0[(r + 0) * 64 + q];
                                const float v2 = v0 - v1;
                                const float v3 = v2 * v2;
                                p0_4 += v3;
                            }
                        }
                        a_4[(r + 0) * (2 * CK_LANES) + c] += p0_4;
                    }
                }
            }
            for (int64_t r = 0; r < rows; r++) {
                #pragma GCC ivdep
                for (int64_t c = 0; c < w; c++) {
                    const float v4 = (float)a_4[r * (2 * CK_LANES) + c];
                    const float v5 = -v4;
                    const float v6 = ck_exp_below_f32(v5);
                    a2[r * d[8] + (j + c)] = v6;
                }
            }
        }
        lo += rows; r0 += rows;
        if (r0 == m) { r0 = 0; p0++; }
        if (p0 == parts) { p0 = 0; row++; }
    }
    return 0;
}
