/* winograd.c: convolution by windows of 3 x 3, with 16 products where 36 are defined, for each
   instruction set and both types. */
#include <string.h>

#include "image/native.h"
#include "simd/simd.h"

#define TEMPLATE "image/winograd.h"
#include "simd/each.h"

CK_DISPATCH(, ck_winograd, ck_winograd_of)
