// The sums of a product with weights in 8 bits by AMX's tiles: rows of digits are as the tiles of A want them, panels, four
// bytes of k of 32 columns, as those of B.
#pragma once
#include "dense/kernels/quantized.h"
#include "dense/kernels/tile_product.h"

namespace weft::detail::WEFT_ISA {

// Of each row of digits and of all columns that a vector of 16 reads; other elements of `sums` are left as they were.
template <class Tiles>
void sums_by_tiles(const QuantizedTile& t, std::int32_t (*sums)[most_tile_columns]) noexcept {
  constexpr std::int64_t word = sizeof(std::int32_t);
  multiply_tiles<Tiles, std::int8_t>({.k = t.k,
                                      .a = t.a,
                                      .a_row = word * t.a_row,
                                      .b = t.panel,
                                      .b_row = word * most_tile_columns,
                                      .c = sums,
                                      .c_row = word * most_tile_columns,
                                      .rows = t.rows * t.digits,
                                      .columns = t.columns > tile_words ? most_tile_columns : tile_words,
                                      .accumulate = false,
                                      .next = t.next,
                                      .next_step = t.next_step});
}

}  // namespace weft::detail::WEFT_ISA
