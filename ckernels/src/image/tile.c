/* tile.c: the register tile of the convolutions, for three instruction sets and two types. */
#include "image/native.h"

#ifdef __SANITIZE_ADDRESS__
#define STEPS 1                        /* four times the checks take minutes to compile */
#else
#define STEPS 4
#endif

#define TEMPLATE "image/tile.h"
#include "simd/levels.h"

const ck_tile *ck_tile_of(int dtype)
{
#ifdef CK_X86
    static const ck_tile *const table[3][2] = {{&kernel_base_f32, &kernel_base_f64},
                                               {&kernel_avx2_f32, &kernel_avx2_f64},
                                               {&kernel_avx512_f32, &kernel_avx512_f64}};
    return table[ck_builtin_level()][dtype];
#else
    static const ck_tile *const table[2] = {&kernel_base_f32, &kernel_base_f64};
    return table[dtype];
#endif
}
