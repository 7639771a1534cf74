/* microkernel.h: one tile of C for one type and one instruction set; builtin.c includes it for each.

   Set before: REAL, BYTES (of a vector register), MR (rows of the tile), SUFFIX, TARGET (attribute or
   nothing). A tile is MR rows by two vectors: its sums stay in registers over the whole k loop. */
#define JOIN_(x, y) x##_##y
#define JOIN(x, y) JOIN_(x, y)
#define NAME(x) JOIN(x, SUFFIX)
#define LANES ((int)(BYTES / sizeof(REAL)))
#define NR (2 * LANES)

typedef REAL NAME(vec) __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));

/* c[0:rows, 0:cols] = alpha * (a @ b) + beta * c; a packed (k, MR), b packed (k, NR). */
TARGET static void NAME(tile)(int64_t k, const void *pa, const void *pb, void *pc, int64_t ldc,
                              int rows, int cols, double alpha, double beta)
{
    const REAL *a = pa, *b = pb;
    NAME(vec) sum[MR][2];
#pragma GCC unroll 16
    for (int i = 0; i < MR; i++)
        sum[i][0] = sum[i][1] = (NAME(vec)){0};
    for (int64_t p = 0; p < k; p++, a += MR, b += NR) {
        NAME(vec) b0 = *(const NAME(vec) *)b, b1 = *(const NAME(vec) *)(b + LANES);
#pragma GCC unroll 16
        for (int i = 0; i < MR; i++) {
            sum[i][0] += a[i] * b0;
            sum[i][1] += a[i] * b1;
        }
    }
    REAL *c = pc, scale = (REAL)alpha, keep = (REAL)beta;
    if (rows == MR && cols == NR) {
#pragma GCC unroll 16
        for (int i = 0; i < MR; i++) {
            NAME(vec) *c0 = (NAME(vec) *)(c + i * ldc), *c1 = (NAME(vec) *)(c + i * ldc + LANES);
            NAME(vec) r0 = sum[i][0] * scale, r1 = sum[i][1] * scale;
            if (keep != 0) {                       /* beta == 0 must not read C */
                r0 += *c0 * keep;
                r1 += *c1 * keep;
            }
            *c0 = r0;
            *c1 = r1;
        }
        return;
    }
    REAL edge[MR][NR];
    memcpy(edge, sum, sizeof edge);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            REAL r = edge[i][j] * scale;
            c[i * ldc + j] = keep == 0 ? r : r + c[i * ldc + j] * keep;
        }
}

/* out (tiles, k, width) = x (count, k) with strides; missing lines of the last tile are zeros. */
TARGET static void NAME(pack)(const REAL *x, int64_t count, int64_t k, int64_t stride, int64_t kstride,
                              int width, REAL *out)
{
    for (int64_t i = 0; i < count; i += width, out += k * width) {
        const REAL *from = x + i * stride;
        int lines = count - i < width ? (int)(count - i) : width;
        if (lines < width)
            memset(out, 0, sizeof(REAL) * (size_t)(k * width));
        if (stride == 1 && lines == width)
            for (int64_t p = 0; p < k; p++)
                memcpy(out + p * width, from + p * kstride, sizeof(REAL) * (size_t)width);
        else
            for (int l = 0; l < lines; l++)
                for (int64_t p = 0; p < k; p++)
                    out[p * width + l] = from[l * stride + p * kstride];
    }
}

TARGET static void NAME(pack_a)(const void *x, int64_t count, int64_t k, int64_t stride,
                                int64_t kstride, void *out)
{
    NAME(pack)(x, count, k, stride, kstride, MR, out);
}

TARGET static void NAME(pack_b)(const void *x, int64_t count, int64_t k, int64_t stride,
                                int64_t kstride, void *out)
{
    NAME(pack)(x, count, k, stride, kstride, NR, out);
}

static const kernel NAME(kernel) = {NAME(tile), NAME(pack_a), NAME(pack_b), MR, NR, sizeof(REAL)};

#undef JOIN_
#undef JOIN
#undef NAME
#undef LANES
#undef NR
#undef REAL
#undef BYTES
#undef MR
#undef SUFFIX
#undef TARGET
