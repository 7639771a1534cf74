/* saturate.c: floats as integers, for each instruction set: fractions are dropped, what is beyond
   the integers becomes the nearest of them, NaN 0. */
#include "simd/simd.h"

typedef struct {
    void (*row[2][4])(const void *x, int64_t n, void *out);     /* [signed][log2 of the width] */
} ck_saturate_kernels;

#define TEMPLATE "simd/saturate.h"
#include "simd/each.h"

CK_DISPATCH(static, ck_saturate_kernels, kernels_of)

void ck_saturate(int dtype, const void *x, int64_t n, int is_signed, int log, void *out)
{
    kernels_of(dtype)->row[is_signed][log](x, n, out);
}
