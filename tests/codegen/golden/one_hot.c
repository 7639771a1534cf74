/* row program: one outer index per unit of the range */
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x1 = p[0];
    float *const y3 = p[1];
    const int64_t n = d[0];
    for (int64_t r = lo; r < hi; r++) {
        const int64_t r0 = r;
        const float *const a1 = x1 + r0 * d[2];
        float *const a3 = y3 + r0 * d[3];
        float a_2 = -__builtin_inff();
        int bad_2 = 0;
        int64_t w_2 = 0;
        if (n > 0) {
            const float p_2 = ck_max_at_f32(&a1[0], n, &w_2);
            a_2 = p_2 > a_2 ? p_2 : a_2;
            bad_2 |= p_2 != p_2;
        }
        int32_t a_5 = (int32_t)2147483647;
        if (w_2 < n) {
            const int64_t j_5 = w_2;
            const int32_t v3 = (int32_t)(j_5);
            a_5 = v3;
        }
        const int32_t v5 = (int32_t)a_5;
        const int64_t v6 = (int64_t)v5;
        #pragma GCC ivdep
        for (int64_t j = 0; j < n; j++) {
            const int64_t v0 = (int64_t)(j);
            const _Bool v7 = v0 == v6;
            const float v8 = v7 ? 1.0f : 0.0f;
            a3[j] = v8;
        }
    }
    return 0;
}
