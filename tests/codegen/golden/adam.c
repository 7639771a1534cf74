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
        const float v1 = x0[i];
        const float v2 = (0.9f) * v1;
        const float v4 = x1[i];
        const float v5 = (0.1f) * v4;
        const float v6 = v2 + v5;
        const float v8 = (0.01f) * v6;
        const float v9 = x2[i];
        const float v10 = __builtin_fabsf(v9);
        const float v12 = (0.999f) * v10;
        const float v13 = v4 * v4;
        const float v15 = (0.001f) * v13;
        const float v16 = v12 + v15;
        const float v17 = __builtin_sqrtf(v16);
        const float v19 = (1e-08f) + v17;
        const float v20 = v8 / v19;
        const float v21 = x3[i];
        const float v22 = v21 - v20;
        y4[i] = v6;
        y5[i] = v16;
        y6[i] = v22;
    }
    return 0;
}
