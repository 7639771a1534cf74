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

/* check: every element is an index into an axis of this size */
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const int64_t *const x = p[0];
    const int64_t n = d[0];
    const int64_t size = d[1];
    int64_t row = lo / n, j = lo % n, wrong = 0;
    while (lo < hi) {
        const int64_t end = n - j < hi - lo ? n : j + hi - lo;
        const int64_t *const from = x + 0;
        for (int64_t i = j; i < end; i++) {
            const int64_t k = from[i];
            wrong |= (uint64_t)(k < 0 ? k + size : k) >= (uint64_t)size;
        }
        lo += end - j; row++; j = 0;
    }
    return wrong ? CK_EINDEX : 0;
}

/* elementwise over a flat range */
__attribute__((optimize("no-tree-pre")))
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const int64_t *const x0 = p[0];
    const float *const x1 = p[1];
    float *const y2 = p[2];
    const int64_t size1_0 = d[3], far1_0 = d[4];
    const int64_t n = d[0];
    int64_t row = lo / n, j = lo % n;
    while (lo < hi) {
        const int64_t end = n - j < hi - lo ? n : j + hi - lo;
        const int64_t r0 = row;
        const int64_t *const a0 = x0 + r0 * d[2];
        const int64_t ek1_0 = a0[0] + (a0[0] < 0 ? size1_0 : 0);
        const int64_t k1_0 = ek1_0 >= 0 && ek1_0 < size1_0 ? ek1_0 : 0;
        const float *const a1 = x1 + k1_0 * far1_0;
        float *const a2 = y2 + r0 * d[5];
        #pragma GCC ivdep
        for (int64_t i = j; i < end; i++) {
            const float v1 = a1[i];
            const float v2 = ck_tanh_f32(v1);
            a2[i] = v2;
        }
        lo += end - j; row++; j = 0;
    }
    return 0;
}
