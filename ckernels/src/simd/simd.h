/* simd.h: what kernels for several instruction sets share. Such kernels are templates: each.h
   includes one for every set this computer may have and for both types, vector.h gives it vectors,
   and CK_DISPATCH chooses at run time. One set is one header: base.h, avx2.h, avx512.h, neon.h. */
#ifndef CK_SIMD_H
#define CK_SIMD_H

#include "ckernels.h"

#define CK_TYPES(set) {&kernel_##set##_f32, &kernel_##set##_f64}
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define CK_X86 1                       /* a runtime for the CPU that built it has its best set alone */
#ifdef CK_WITHOUT_BASE
#define CK_TYPES_BASE {0}
#else
#define CK_TYPES_BASE CK_TYPES(base)
#endif
#ifdef CK_WITHOUT_AVX2
#define CK_TYPES_AVX2 {0}
#else
#define CK_TYPES_AVX2 CK_TYPES(avx2)
#endif
#ifdef CK_WITHOUT_AVX512
#define CK_TYPES_AVX512 {0}
#else
#define CK_TYPES_AVX512 CK_TYPES(avx512)
#endif
#define CK_SETS CK_TYPES_BASE, CK_TYPES_AVX2, CK_TYPES_AVX512      /* in the order of ck_simd */
#elif defined(__aarch64__)
#define CK_SETS CK_TYPES(neon)
#else
#define CK_SETS CK_TYPES(base)
#endif

/* Defines `function(dtype)`: the kernels of a template, which calls them `kernel`, for this CPU.
   scope: static or nothing. */
#define CK_DISPATCH(scope, type, function)                                                        \
    scope const type *function(int dtype)                                                         \
    {                                                                                             \
        static const type *const kernels[][2] = {CK_SETS};                                        \
        return kernels[ck_simd()][dtype];                                                         \
    }

/* ---- prefetch: to be read, to be written, to be read later (into L2) ---- */
static inline __attribute__((always_inline)) void ck_prefetch(const void *at)
{
    __builtin_prefetch(at);
}
static inline __attribute__((always_inline)) void ck_prefetch_written(const void *at)
{
    __builtin_prefetch(at, 1);
}
static inline __attribute__((always_inline)) void ck_prefetch_later(const void *at)
{
    __builtin_prefetch(at, 0, 2);
}

/* ---- squares of 16 bytes by as many lines: out = transposed x, lines `stride` and `ld` apart ---- */
typedef uint8_t ck_octets __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint16_t ck_halves __attribute__((vector_size(16), aligned(2), may_alias));
typedef float ck_quad __attribute__((vector_size(16), aligned(4), may_alias));
typedef double ck_pair __attribute__((vector_size(16), aligned(8), may_alias));

#ifdef __clang__
#define CK_QUAD(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define CK_PAIR(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define CK_OCTETS(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define CK_HALVES(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define CK_SHUFFLE(lanes, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int32_t ck_quad_lanes __attribute__((vector_size(16)));
typedef int64_t ck_pair_lanes __attribute__((vector_size(16)));
#define CK_QUAD(a, b, ...) __builtin_shuffle(a, b, (ck_quad_lanes){__VA_ARGS__})
#define CK_PAIR(a, b, ...) __builtin_shuffle(a, b, (ck_pair_lanes){__VA_ARGS__})
#define CK_OCTETS(a, b, ...) __builtin_shuffle(a, b, (ck_octets){__VA_ARGS__})
#define CK_HALVES(a, b, ...) __builtin_shuffle(a, b, (ck_halves){__VA_ARGS__})
#define CK_SHUFFLE(lanes, a, b, ...) __builtin_shuffle(a, b, (lanes){__VA_ARGS__})
#endif

static inline __attribute__((always_inline)) void ck_square_f32(const float *x, int64_t stride,
                                                                float *out, int64_t ld)
{
    ck_quad a = *(const ck_quad *)x, b = *(const ck_quad *)(x + stride);
    ck_quad c = *(const ck_quad *)(x + 2 * stride), d = *(const ck_quad *)(x + 3 * stride);
    ck_quad ab0 = CK_QUAD(a, b, 0, 4, 1, 5), ab1 = CK_QUAD(a, b, 2, 6, 3, 7);
    ck_quad cd0 = CK_QUAD(c, d, 0, 4, 1, 5), cd1 = CK_QUAD(c, d, 2, 6, 3, 7);
    *(ck_quad *)out = CK_QUAD(ab0, cd0, 0, 1, 4, 5);
    *(ck_quad *)(out + ld) = CK_QUAD(ab0, cd0, 2, 3, 6, 7);
    *(ck_quad *)(out + 2 * ld) = CK_QUAD(ab1, cd1, 0, 1, 4, 5);
    *(ck_quad *)(out + 3 * ld) = CK_QUAD(ab1, cd1, 2, 3, 6, 7);
}

static inline __attribute__((always_inline)) void ck_square_f64(const double *x, int64_t stride,
                                                                double *out, int64_t ld)
{
    ck_pair a = *(const ck_pair *)x, b = *(const ck_pair *)(x + stride);
    *(ck_pair *)out = CK_PAIR(a, b, 0, 2);
    *(ck_pair *)(out + ld) = CK_PAIR(a, b, 1, 3);
}

/* Each round interleaves the first half of the lines with the second. */
static inline __attribute__((always_inline)) void ck_square_u8(const uint8_t *x, int64_t stride,
                                                               uint8_t *out, int64_t ld)
{
    ck_octets v[16], w[16];
    for (int i = 0; i < 16; i++)
        v[i] = *(const ck_octets *)(x + i * stride);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 8; i++) {
            w[2 * i] = CK_OCTETS(v[i], v[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22,
                                 7, 23);
            w[2 * i + 1] = CK_OCTETS(v[i], v[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                     14, 30, 15, 31);
        }
        for (int i = 0; i < 16; i++)
            v[i] = w[i];
    }
    for (int i = 0; i < 16; i++)
        *(ck_octets *)(out + i * ld) = v[i];
}

static inline __attribute__((always_inline)) void ck_square_u16(const uint16_t *x, int64_t stride,
                                                                uint16_t *out, int64_t ld)
{
    ck_halves v[8], w[8];
    for (int i = 0; i < 8; i++)
        v[i] = *(const ck_halves *)(x + i * stride);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            w[2 * i] = CK_HALVES(v[i], v[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
            w[2 * i + 1] = CK_HALVES(v[i], v[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        }
        for (int i = 0; i < 8; i++)
            v[i] = w[i];
    }
    for (int i = 0; i < 8; i++)
        *(ck_halves *)(out + i * ld) = v[i];
}

#endif
