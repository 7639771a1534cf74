/* tile.c: the register tile of the convolutions, for each instruction set and both types. */
#include "image/native.h"

#define TEMPLATE "image/tile.h"
#include "simd/each.h"

CK_DISPATCH(, ck_tile, ck_tile_of)
