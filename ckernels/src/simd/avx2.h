/* avx2.h: AVX2 with FMA: 16 registers of 32 bytes, 12 of them sums of a tile. See base.h. */
#define SET avx2
#define BYTES 32
#define TARGET __attribute__((target("avx2,fma")))
#define BY_LANE 0
#define GEMM_ROWS 6
#define TILE_ROWS 6
#define TILE_STEPS 1
