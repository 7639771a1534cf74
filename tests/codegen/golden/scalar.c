/* elementwise over a flat range */
__attribute__((optimize("no-tree-pre")))
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    const float *const x1 = p[1];
    float *const y2 = p[2];
    const float v0 = x0[0];
    const float v1 = ck_exp_f32(v0);
    #pragma GCC ivdep
    for (int64_t i = lo; i < hi; i++) {
        const float v2 = x1[i];
        const float v3 = v1 * v2;
        y2[i] = v3;
    }
    return 0;
}
