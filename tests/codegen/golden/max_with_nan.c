/* row program: one outer index per unit of the range */
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    float *const y1 = p[1];
    const int64_t n = d[0];
    for (int64_t r = lo; r < hi; r++) {
        const int64_t r0 = r;
        const float *const a0 = x0 + r0 * d[2];
        float *const a1 = y1 + r0 * d[3];
        float a_1 = -__builtin_inff();
        int bad_1 = 0;
        const int64_t m0 = n < 16 ? n : n - n % 16;
        CK_SIMD_EXTREME(reduction(max:a_1) reduction(|:bad_1))
        for (int64_t j = 0; j < m0; j++) {
            const float v0 = a0[j];
            a_1 = v0 > a_1 ? v0 : a_1;
            bad_1 |= v0 != v0;
        }
        if (m0 < n) {
            CK_SIMD_EXTREME(reduction(max:a_1) reduction(|:bad_1))
            for (int64_t j = n - 16; j < n; j++) {
                const float v0 = a0[j];
                a_1 = v0 > a_1 ? v0 : a_1;
                bad_1 |= v0 != v0;
            }
        }
        const float v1 = bad_1 ? __builtin_nanf("") : (float)a_1;
        a1[0] = v1;
    }
    return 0;
}
