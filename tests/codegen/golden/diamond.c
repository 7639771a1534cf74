/* elementwise over a flat range */
__attribute__((optimize("no-tree-pre")))
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    float *const y1 = p[1];
    #pragma GCC ivdep
    for (int64_t i = lo; i < hi; i++) {
        const float v0 = x0[i];
        const float v1 = ck_exp_f32(v0);
        const float v2 = ck_tanh_f32(v1);
        const float v3 = ck_sin_f32(v1);
        const float v4 = v2 + v3;
        y1[i] = v4;
    }
    return 0;
}
