/* neon.h: NEON of aarch64, which each of them has: 32 registers of 16 bytes. A product may take one
   lane of a register, so several numbers of an operand are loaded at once. A tile of a product is
   24 sums, 2 registers of B and 3 of A; one of a convolution 16 sums, and 8 registers of the kernel
   hold so many steps as there are lanes in one of the image. See base.h. */
#define SET neon
#define BYTES 16
#define TARGET
#define BY_LANE 1
#define GEMM_ROWS 12
#define TILE_ROWS 8
#define TILE_STEPS LANES
