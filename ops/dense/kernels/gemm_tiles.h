// A tile of C of bf16 by AMX's tiles. B's panels, units of k of 32 columns, are as the tiles of B want them; A's rows are
// read where they are, or from panels that keep them apart.
#pragma once
#include "dense/kernels/gemm_pack.h"
#include "dense/kernels/tile_product.h"

namespace weft::detail::WEFT_ISA {

// By reckoning, as nothing could be measured: the 32 rows of A of a block of k (32 KiB) stay in L1 while panels of B
// come from L2, 2 KiB for the 64 cycles that four products of tiles take.
struct TileBlocks {
  std::int64_t kc, mc, nc;
};
inline constexpr TileBlocks tile_blocks = {.kc = 512, .mc = 128, .nc = 256};

// The sums of t, whose rows of A have their units side by side (PanelRows::apart).
template <class Tiles, class T>
void add_by_tiles(const GemmTile<T>& t) noexcept {
  using In = GemmIn<T>;
  static_assert(is_pairs<In>);
  constexpr std::int64_t size = sizeof(In);
  if (t.packs) pack<In, most_tile_columns>(most_tile_columns, unit<In> * t.k, t.b, 1, t.b_row, 1, t.packs);
  multiply_tiles<Tiles, In>({.k = t.k,
                             .a = t.a,
                             .a_row = size * t.a_row,
                             .b = t.packs ? t.packs : t.b,
                             .b_row = size * unit<In> * most_tile_columns,
                             .c = t.sums,
                             .c_row = std::int64_t{sizeof(GemmSum<T>)} * t.sums_row,
                             .rows = static_cast<int>(t.rows),
                             .columns = static_cast<int>(t.columns),
                             .accumulate = t.accumulate,
                             .next = t.prefetch.b,
                             .next_step = size * t.prefetch.b_step});
}

// The members of a table that are others where tiles multiply.
template <class T>
constexpr void use_tiles(GemmKernels<T>& table, void (*tile)(const GemmTile<T>&) noexcept) {
  static_assert(most_tile_rows * most_tile_columns <= largest_tile);
  static_assert(tile_blocks.mc % most_tile_rows == 0 && tile_blocks.nc % most_tile_columns == 0, "whole tiles");
  table.mr = most_tile_rows;
  table.nr = most_tile_columns;
  table.kc = tile_blocks.kc;
  table.mc = tile_blocks.mc;
  table.nc = tile_blocks.nc;
  table.a_rows = PanelRows::apart;
  table.pack_a = pack_rows_apart<GemmIn<T>>;
  table.pack_b = pack<GemmIn<T>, most_tile_columns>;
  table.tile = tile;
}

}  // namespace weft::detail::WEFT_ISA
