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
        if (0 < n) {
            const float p_1 = ck_max_of_f32(&a0[0], n - 0);
            a_1 = p_1 > a_1 ? p_1 : a_1;
            bad_1 |= p_1 != p_1;
        }
        const float v1 = bad_1 ? __builtin_nanf("") : (float)a_1;
        a1[0] = v1;
    }
    return 0;
}
