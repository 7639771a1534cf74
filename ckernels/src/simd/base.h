/* base.h: the instruction set every CPU of a kind has: vectors of 16 bytes, SSE2 on x86-64 and
   elsewhere what the compiler makes of them, plain arithmetic if need be. */
#define SET base
#define BYTES 16                       /* of a vector register */
#define TARGET                         /* attribute of functions that use the set */
#define BY_LANE 0                      /* whether a product takes one lane of a register */
#define GEMM_ROWS 4                    /* of a tile of two vectors, for products of matrices */
#define TILE_ROWS 4                    /* the same for convolutions */
#define TILE_STEPS 1                   /* steps whose vectors a convolution holds at once */
