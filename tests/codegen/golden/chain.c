/* elementwise over a flat range */
__attribute__((optimize("no-tree-pre")))
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    const float *const x1 = p[1];
    float *const y2 = p[2];
    #pragma GCC ivdep
    for (int64_t i = lo; i < hi; i++) {
        const float v0 = x0[i];
        const float v2 = v0 * (2.0f);
        const float v3 = x1[i];
        const float v4 = v2 + v3;
        const float v5 = ck_tanh_f32(v4);
        const float v6 = ck_exp_f32(v3);
        const float v7 = v5 - v6;
        y2[i] = v7;
    }
    return 0;
}
