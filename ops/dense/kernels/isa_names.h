// Instruction sets by name in #if: a user's -march may let the compiler do more in the other units, too.
//   #define WEFT_PAIR_PRODUCTS_avx512bf16 1
//   #if WEFT_NAME_OF(WEFT_PAIR_PRODUCTS_, WEFT_ISA)
#pragma once

#define WEFT_PASTED(a, b) a##b
#define WEFT_NAME_OF(prefix, isa) WEFT_PASTED(prefix, isa)
