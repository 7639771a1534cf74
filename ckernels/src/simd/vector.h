/* vector.h: vectors of WIDTH_BYTES of REAL for one instruction set, and what is done with them:
   all that kernels know of a CPU. Plain arithmetic on vectors is C's (GCC's vector types), so a set
   needs no intrinsics of its own. Names have WIDTH and SUFFIX at the end; the short ones below
   stand for those of the WIDTH at hand, which may be a whole register (wide), 16 bytes (few) or
   one element (one). */
#undef VEC
#undef LANES
#undef vec
#undef vbits
#undef vload
#undef vstore
#undef vbroadcast
#undef vfma
#undef vfma_lane
#undef vmax
#undef vsum
#define VEC(x) NAME(JOIN(x, WIDTH))
#define LANES ((int)(WIDTH_BYTES / sizeof(REAL)))
#define vec VEC(vec)
#define vbits VEC(bits)
#define vload VEC(load)
#define vstore VEC(store)
#define vbroadcast VEC(broadcast)
#define vfma VEC(fma)
#define vfma_lane VEC(fma_lane)
#define vmax VEC(max)
#define vsum VEC(sum)

typedef REAL vec __attribute__((vector_size(WIDTH_BYTES), aligned(sizeof(REAL)), may_alias));
typedef INTEGER vbits __attribute__((vector_size(WIDTH_BYTES), aligned(sizeof(REAL)), may_alias));

INLINE vec vload(const REAL *at) { return *(const vec *)at; }           /* any alignment */
INLINE void vstore(REAL *at, vec v) { *(vec *)at = v; }
INLINE vec vbroadcast(REAL x) { return x - (vec){0}; }                  /* x - 0 is x, -0 too */
INLINE vec vfma(vec sum, vec a, vec b) { return sum + a * b; }          /* contracted where it is */
INLINE vec vfma_lane(vec sum, vec a, vec b, int lane) { return sum + a * b[lane]; }

/* The greater one; v where it is NaN, and a NaN in max stays. */
INLINE vec vmax(vec max, vec v)
{
    vbits take = (v > max) | (v != v);
    return (vec)(((vbits)v & take) | ((vbits)max & ~take));
}

INLINE REAL vsum(vec v)
{
    REAL total = 0;
    for (int l = 0; l < LANES; l++)
        total += v[l];
    return total;
}
