/* row program: one outer index per unit of the range */
__attribute__((optimize("no-tree-pre")))
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    const float *const x1 = p[1];
    float *const y2 = p[2];
    const int64_t n = d[0];
    for (int64_t r = lo; r < hi; r++) {
        const int64_t r0 = r;
        const float *const a0 = x0 + r0 * d[2];
        const float *const a1 = x1 + r0 * d[3];
        float *const a2 = y2 + r0 * d[4];
        float a_1 = -__builtin_inff();
        int bad_1 = 0;
        if (0 < n) {
            const float p_1 = ck_max_of_f32(&a0[0], n - 0);
            a_1 = p_1 > a_1 ? p_1 : a_1;
            bad_1 |= p_1 != p_1;
        }
        const float v1 = bad_1 ? __builtin_nanf("") : (float)a_1;
        const float v3 = (-3.4028235e+38f) > v1 ? (-3.4028235e+38f) : v1;
        double a_6 = 0;
        for (int64_t b = 0; b < n; b += 512) {
            const int64_t e = b + 512 < n ? b + 512 : n;
            for (int64_t j = b; j < e; j += 16) {
                __builtin_prefetch(a0 + d[2] + j);
                __builtin_prefetch(a1 + j);
            }
            float p_6 = 0;
            const int64_t m1 = e < 16 ? e : e - (e - b) % 16;
            #pragma omp simd reduction(+:p_6)
            for (int64_t j = b; j < m1; j++) {
                const float v0 = a0[j];
                const float v4 = v0 - v3;
                const float v5 = ck_exp_shifted_f32(v4);
                p_6 += v5;
            }
            if (m1 < e) {
                #pragma omp simd reduction(+:p_6)
                for (int64_t j = e - 16; j < e; j++) {
                    const float v0 = a0[j];
                    const float v4 = v0 - v3;
                    const float v5 = ck_exp_shifted_f32(v4);
                    p_6 += (j >= m1 ? v5 : 0);
                }
            }
            a_6 += p_6;
        }
        const float v6 = (float)a_6;
        const float v7 = ck_log_f32(v6);
        double a_11 = 0;
        for (int64_t b = 0; b < n; b += 512) {
            const int64_t e = b + 512 < n ? b + 512 : n;
            float p_11 = 0;
            #pragma omp simd reduction(+:p_11)
            for (int64_t j = b; j < e; j++) {
                const float v0 = a0[j];
                const float v4 = v0 - v3;
                const float v8 = v4 - v7;
                const float v9 = a1[j];
                const float v10 = v8 * v9;
                p_11 += v10;
            }
            a_11 += p_11;
        }
        const float v11 = (float)a_11;
        const float v12 = -v11;
        a2[0] = v12;
    }
    return 0;
}
