/* narrow.c: two, three or four numbers side by side (the channels of a pixel) become as many lines,
   and lines become numbers side by side. */
#include "image/native.h"

#define TEMPLATE "image/narrow.h"
#define EACH "order/each_word.h"
#include "simd/each.h"

#undef CK_TYPES
#define CK_TYPES(set)                                                                             \
    {&kernel_##set##_u8, &kernel_##set##_u16, &kernel_##set##_u32, &kernel_##set##_u64}

const ck_narrow *ck_narrow_of(int64_t size)
{
    static const ck_narrow *const kernels[][4] = {CK_SETS};
    return kernels[ck_simd()][size == 8 ? 3 : size / 2];
}
