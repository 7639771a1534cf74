/* row program: one outer index per unit of the range */
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    int64_t *const y2 = p[1];
    const int64_t n = d[0];
    for (int64_t r = lo; r < hi; r++) {
        const int64_t r0 = r;
        const float *const a0 = x0 + r0 * d[2];
        int64_t *const a2 = y2 + r0 * d[3];
        float a_1 = -__builtin_inff();
        int bad_1 = 0;
        int64_t w_1 = 0;
        if (n > 0) {
            const float p_1 = ck_max_at_f32(&a0[0], n, &w_1);
            a_1 = p_1 > a_1 ? p_1 : a_1;
            bad_1 |= p_1 != p_1;
        }
        int32_t a_4 = (int32_t)2147483647;
        if (w_1 < n) {
            const int64_t j_4 = w_1;
            const int32_t v2 = (int32_t)(j_4);
            a_4 = v2;
        }
        const int32_t v4 = (int32_t)a_4;
        const int64_t v5 = (int64_t)v4;
        a2[0] = v5;
    }
    return 0;
}
