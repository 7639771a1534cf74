/* sorts.h: sorts of unsigned words of 2, 4 and 8 bytes, from radix.h. */
#ifndef CK_SORTS_H
#define CK_SORTS_H

#include "order/order.h"

#define WORD uint16_t
#define WORD_BITS 16
#define WORD_LOG 1
#include "order/radix.h"
#undef WORD
#undef WORD_BITS
#undef WORD_LOG
#define WORD uint32_t
#define WORD_BITS 32
#define WORD_LOG 2
#include "order/radix.h"
#undef WORD
#undef WORD_BITS
#undef WORD_LOG
#define WORD uint64_t
#define WORD_BITS 64
#define WORD_LOG 3
#include "order/radix.h"
#undef WORD
#undef WORD_BITS
#undef WORD_LOG

/* How many low bits of a word are needed to hold x. */
static inline int ck_bits_of(uint64_t x) { return x ? 64 - __builtin_clzll(x) : 0; }

#endif
