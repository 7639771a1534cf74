/* each_word.h: includes TEMPLATE for unsigned words of 1, 2, 4 and 8 bytes, for the instruction set
   each.h chose. */
#define WORD uint8_t
#define WORD_BITS 8
#define SUFFIX JOIN(SET, u8)
#include TEMPLATE
#undef WORD
#undef WORD_BITS
#undef SUFFIX

#define WORD uint16_t
#define WORD_BITS 16
#define WORD_LOG 1
#define SORT ck_sort16
#define SUFFIX JOIN(SET, u16)
#include TEMPLATE
#undef WORD
#undef WORD_BITS
#undef SORT
#undef WORD_LOG
#undef SUFFIX

#define WORD uint32_t
#define WORD_BITS 32
#define WORD_LOG 2
#define SORT ck_sort32
#define SUFFIX JOIN(SET, u32)
#include TEMPLATE
#undef WORD
#undef WORD_BITS
#undef SORT
#undef WORD_LOG
#undef SUFFIX

#define WORD uint64_t
#define WORD_BITS 64
#define WORD_LOG 3
#define SORT ck_sort64
#define SUFFIX JOIN(SET, u64)
#include TEMPLATE
#undef WORD
#undef WORD_BITS
#undef SORT
#undef WORD_LOG
#undef SUFFIX

#undef SET
#undef BYTES
#undef TARGET
#undef BY_LANE
#undef GEMM_ROWS
#undef TILE_ROWS
#undef TILE_STEPS
