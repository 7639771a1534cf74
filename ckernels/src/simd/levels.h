/* levels.h: includes TEMPLATE once for each instruction set and type, the baseline first. What it
   defines has SUFFIX at the end of its name: `kernel_base_f32`, `kernel_avx2_f64` and so on. Set are
   REAL, INTEGER (as wide), WORDS (of them in 16 bytes), BYTES (of a vector register), SUFFIX and
   TARGET (an attribute or nothing); a template undefines them at its end. */
#define REAL float
#define INTEGER int32_t
#define WORDS 4
#define BYTES 16
#define SUFFIX base_f32
#define TARGET
#include TEMPLATE
#define REAL double
#define INTEGER int64_t
#define WORDS 2
#define BYTES 16
#define SUFFIX base_f64
#define TARGET
#include TEMPLATE

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define CK_X86 1
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")))
#define REAL float
#define INTEGER int32_t
#define WORDS 4
#define BYTES 32
#define SUFFIX avx2_f32
#define TARGET AVX2
#include TEMPLATE
#define REAL double
#define INTEGER int64_t
#define WORDS 2
#define BYTES 32
#define SUFFIX avx2_f64
#define TARGET AVX2
#include TEMPLATE
#define REAL float
#define INTEGER int32_t
#define WORDS 4
#define BYTES 64
#define SUFFIX avx512_f32
#define TARGET AVX512
#include TEMPLATE
#define REAL double
#define INTEGER int64_t
#define WORDS 2
#define BYTES 64
#define SUFFIX avx512_f64
#define TARGET AVX512
#include TEMPLATE
#endif
#undef TEMPLATE
