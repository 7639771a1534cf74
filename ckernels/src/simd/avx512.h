/* avx512.h: AVX-512 with F, VL, DQ and BW: 32 registers of 64 bytes, 24 of them sums of a tile. An
   operand may be one number in memory, broadcast on the way. See base.h. */
#define SET avx512
#define BYTES 64
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")))
#define BY_LANE 0
#define GEMM_ROWS 12
#define TILE_ROWS 12
#ifdef __SANITIZE_ADDRESS__
#define TILE_STEPS 1                   /* four times the checks take minutes to compile */
#else
#define TILE_STEPS 4
#endif
