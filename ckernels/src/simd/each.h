/* each.h: includes TEMPLATE once for each instruction set and type. What it defines has SUFFIX at
   the end of its name, by NAME(): `kernel_base_f32`, `kernel_avx2_f64` and so on. Set are what the
   header of the set says, and by each_type.h REAL, INTEGER (as wide), DOUBLE (0 or 1), SUFFIX and
   what vector.h defines. INLINE functions end up in their callers, APART functions do not, so that
   a loop has all registers. */
#include "simd/simd.h"

#ifndef EACH
#define EACH "simd/each_type.h"        /* includes it for each type of one instruction set */
#endif

#define JOIN_(x, y) x##_##y
#define JOIN(x, y) JOIN_(x, y)
#define NAME(x) JOIN(x, SUFFIX)
#define INLINE TARGET static inline __attribute__((always_inline))
#define APART TARGET static __attribute__((noinline))

#ifdef __aarch64__
#include "simd/neon.h"
#include EACH
#elif !defined(CK_X86) || !defined(CK_WITHOUT_BASE)
#include "simd/base.h"
#include EACH
#endif
#if defined(CK_X86) && !defined(CK_WITHOUT_AVX2)
#include "simd/avx2.h"
#include EACH
#endif
#if defined(CK_X86) && !defined(CK_WITHOUT_AVX512)
#include "simd/avx512.h"
#include EACH
#endif

#undef JOIN_
#undef JOIN
#undef NAME
#undef INLINE
#undef APART
#undef TEMPLATE
#undef EACH
