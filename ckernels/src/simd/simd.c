/* simd.c: which instruction set this CPU has, of those the kernels are compiled for. CPUID is asked
   here: __builtin_cpu_supports reads a table that belongs to the compiler's library, and Zig's says
   no to everything. */
#include "simd/simd.h"

#ifndef CK_MAX_SIMD
#define CK_MAX_SIMD CK_AVX512          /* tests build the runtime with less to reach every kernel */
#endif

#ifdef CK_X86
#include <cpuid.h>

#ifdef CK_WITHOUT_AVX2
enum { HAS_AVX2 = 0 };
#else
enum { HAS_AVX2 = CK_MAX_SIMD >= CK_AVX2 };
#endif
#ifdef CK_WITHOUT_AVX512
enum { HAS_AVX512 = 0 };
#else
enum { HAS_AVX512 = CK_MAX_SIMD >= CK_AVX512 };
#endif
enum { SET = 3, AMD = 4, BF16 = 8, KNOWN = 16 };         /* SET: the bits of CK_BASE .. CK_AVX512 */
enum { YMM = 0x06, ZMM = 0xe6 };                         /* registers that the system keeps */

static int set_of_cpu(unsigned features)                 /* of leaf 1, ecx */
{
    const unsigned avx512 = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
    unsigned a, b, c, d, kept, upper;
    if (!(features & bit_OSXSAVE) || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return CK_BASE;
    __asm__ volatile("xgetbv" : "=a"(kept), "=d"(upper) : "c"(0));
    if (HAS_AVX512 && (kept & ZMM) == ZMM && (b & avx512) == avx512)
        return CK_AVX512;
    if (HAS_AVX2 && (kept & YMM) == YMM && b & bit_AVX2 && features & bit_FMA)
        return CK_AVX2;
    return CK_BASE;
}

static int asked(void)
{
    unsigned a, b, c, d;
    int found = KNOWN;
    if (__get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx && c == signature_AMD_ecx)
        found |= AMD;
    if (__get_cpuid(1, &a, &b, &c, &d))
        found |= set_of_cpu(c);
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && a & bit_AVX512BF16)
        found |= BF16;
    return found;
}

static int cpu(void)                                     /* two that ask at once find the same */
{
    static int known;
    int found = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!found)
        __atomic_store_n(&known, found = asked(), __ATOMIC_RELAXED);
    return found;
}
#else
enum { SET = 0, AMD = 0, BF16 = 0 };
static int cpu(void) { return CK_BASE; }
#endif

/* CK_BASE on other CPUs than x86-64, where there is one set and nothing to ask. */
int ck_simd(void) { return cpu() & SET; }

/* Whether there are kernels for it: a runtime that was compiled for one CPU has none for a lesser. */
int ck_has_kernels(void)
{
#if defined(CK_X86) && defined(CK_WITHOUT_BASE)
    return ck_simd() != CK_BASE;
#else
    return 1;
#endif
}

int ck_is_amd(void) { return (cpu() & AMD) != 0; }
int ck_has_bf16(void) { return (cpu() & BF16) != 0; }
