/* elementwise over a flat range */
int kernel(void *const *p, const int64_t *d, int64_t lo, int64_t hi) {
    const float *const x0 = p[0];
    const float *const x1 = p[1];
    const float *const x2 = p[2];
    const float *const x3 = p[3];
    float *const y4 = p[4];
    float *const y5 = p[5];
    float *const y6 = p[6];
    #pragma GCC ivdep
    for (int64_t i = lo; i < hi; i++) {
        const float v0 = x0[i];
        const float v1 = __builtin_fabsf(v0);
        const float v3 = v1 * (0.999f);
        const float v4 = x1[i];
        const float v5 = v4 * v4;
        const float v7 = v5 * (0.001f);
        const float v8 = v3 + v7;
        const float v9 = __builtin_sqrtf(v8);
        const float v11 = v9 + (1e-08f);
        const float v12 = x2[i];
        const float v14 = v12 * (0.9f);
        const float v16 = v4 * (0.1f);
        const float v17 = v14 + v16;
        const float v19 = v17 * (0.01f);
        const float v20 = v19 / v11;
        const float v21 = x3[i];
        const float v22 = v21 - v20;
        y4[i] = v8;
        y5[i] = v17;
        y6[i] = v22;
    }
    return 0;
}
