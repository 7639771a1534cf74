/* channels.c: the kernels of channels.h for three instruction sets and two types. */
#include "native.h"

#include <math.h>

/* Elements that reads and writes are asked for ahead: 4 KB of float. Pixels of several rows are
   too far apart for the prefetchers to follow: 0.7 ms against 1.0 (Zen 5, one thread, 32 images 32
   x 32 x 64, 3 x 3, tiles of six pixels). */
enum { AHEAD = 1024 };

#define REAL float
#define INTEGER int32_t
#define BYTES 16
#define SUFFIX base_f32
#define TARGET
#include "channels.h"
#define REAL double
#define INTEGER int64_t
#define BYTES 16
#define SUFFIX base_f64
#define TARGET
#include "channels.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define CK_X86 1
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")))
#define REAL float
#define INTEGER int32_t
#define BYTES 32
#define SUFFIX avx2_f32
#define TARGET AVX2
#include "channels.h"
#define REAL double
#define INTEGER int64_t
#define BYTES 32
#define SUFFIX avx2_f64
#define TARGET AVX2
#include "channels.h"
#define REAL float
#define INTEGER int32_t
#define BYTES 64
#define SUFFIX avx512_f32
#define TARGET AVX512
#include "channels.h"
#define REAL double
#define INTEGER int64_t
#define BYTES 64
#define SUFFIX avx512_f64
#define TARGET AVX512
#include "channels.h"
#endif

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
