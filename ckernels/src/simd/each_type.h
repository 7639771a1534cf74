/* each_type.h: includes TEMPLATE for float and double, for the instruction set each.h chose. */
#define WIDTH wide
#define WIDTH_BYTES BYTES

#define REAL float
#define INTEGER int32_t
#define DOUBLE 0
#define SUFFIX JOIN(SET, f32)
#include "simd/vector.h"
#include TEMPLATE
#undef REAL
#undef INTEGER
#undef DOUBLE
#undef SUFFIX

#define REAL double
#define INTEGER int64_t
#define DOUBLE 1
#define SUFFIX JOIN(SET, f64)
#include "simd/vector.h"
#include TEMPLATE
#undef REAL
#undef INTEGER
#undef DOUBLE
#undef SUFFIX

#undef WIDTH
#undef WIDTH_BYTES
#undef SET
#undef BYTES
#undef TARGET
#undef BY_LANE
#undef GEMM_ROWS
#undef TILE_ROWS
#undef TILE_STEPS
