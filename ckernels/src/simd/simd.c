/* simd.c: which instruction set this CPU has, of those the kernels are compiled for. */
#include "simd/simd.h"

#ifndef CK_MAX_SIMD
#define CK_MAX_SIMD CK_AVX512          /* tests build the runtime with less to reach every kernel */
#endif

/* CK_BASE on other CPUs than x86-64, where there is one set and nothing to ask. */
int ck_simd(void)
{
#ifdef CK_X86
    __builtin_cpu_init();
    if (CK_MAX_SIMD >= CK_AVX512 && __builtin_cpu_supports("avx512f")
        && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512bw"))
        return CK_AVX512;
    if (CK_MAX_SIMD >= CK_AVX2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return CK_AVX2;
#endif
    return CK_BASE;
}

int ck_is_amd(void)
{
#ifdef CK_X86
    __builtin_cpu_init();
    return __builtin_cpu_is("amd");
#else
    return 0;
#endif
}
