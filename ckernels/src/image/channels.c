/* channels.c: the kernels of channels.h for three instruction sets and two types. */
#include "image/native.h"

#include <math.h>

/* Elements that reads and writes are asked for ahead: 4 KB of float. Pixels of several rows are
   too far apart for the prefetchers to follow: 0.7 ms against 1.0 (Zen 5, one thread, 32 images 32
   x 32 x 64, 3 x 3, tiles of six pixels). */
enum { AHEAD = 1024 };

#define TEMPLATE "image/channels.h"
#include "simd/levels.h"

const ck_channels *ck_channels_of(int dtype)
{
#ifdef CK_X86
    static const ck_channels *const table[3][2] = {
        {&kernel_base_f32, &kernel_base_f64}, {&kernel_avx2_f32, &kernel_avx2_f64},
        {&kernel_avx512_f32, &kernel_avx512_f64}};
    return table[ck_builtin_level()][dtype];
#else
    static const ck_channels *const table[2] = {&kernel_base_f32, &kernel_base_f64};
    return table[dtype];
#endif
}
