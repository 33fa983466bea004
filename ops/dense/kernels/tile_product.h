// C (rows, columns) = A (rows, k) B (k, columns) of at most 32 rows and columns by eight tiles (kernels/amx_tiles.h). k
// goes by words of 32 bits, units of two bf16 or four bytes, of which a tile has 16 × 16:
//
//                 tile 6  tile 7    B: a row for each word of k
//        tile 4   tile 0  tile 1    C: rows 0 … 15
//        tile 5   tile 2  tile 3       rows 16 … 31
//
// Fewer rows, columns or words are smaller tiles, so nothing beyond the matrices is read or written. What is left of k
// after steps of 16 words has tiles of its own shapes, which takes C out of the tiles and back.
#pragma once
#include <cstdint>

#include "dense/kernels/amx_tiles.h"
#include "simd/unroll.h"

namespace weft::detail::WEFT_ISA {

inline constexpr int tile_rows = 16, tile_words = 16, most_tile_rows = 2 * tile_rows,
                     most_tile_columns = 2 * tile_words;

// Strides are in bytes. A's words are side by side in a row, B's of a word of k in all columns.
struct TileProduct {
  std::int64_t k;  // words
  const void* a;
  std::int64_t a_row;
  const void* b;
  std::int64_t b_row;
  void* c;
  std::int64_t c_row;
  int rows, columns;  // 1 … 32
  bool accumulate;    // to C
  const void* next;   // prefetched, so many bytes further on with each word of k
  std::int64_t next_step;
};

// The part of `count` that the first or the second of two tiles has.
constexpr int part_of_tiles(int count, int second) {
  const int rest = count - second * tile_rows;
  return rest < 0 ? 0 : rest < tile_rows ? rest : tile_rows;
}

// Shapes for steps of `depth` words of k.
inline TileConfig tile_config(int rows, int columns, int depth) noexcept {
  TileConfig config;
  const auto set = [&](int tile, int height, int words) {
    const bool is_used = height > 0 && words > 0;
    config.rows[tile] = static_cast<std::uint8_t>(is_used ? height : 0);
    config.row_bytes[tile] = static_cast<std::uint16_t>(is_used ? 4 * words : 0);
  };
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) set(2 * i + j, part_of_tiles(rows, i), part_of_tiles(columns, j));
    set(4 + i, part_of_tiles(rows, i), depth);
    set(6 + i, depth, part_of_tiles(columns, i));
  }
  return config;
}

inline std::int64_t offset_in_bytes(std::int64_t row, std::int64_t row_bytes, std::int64_t word) noexcept {
  return row * row_bytes + 4 * word;
}

// R × V tiles of C, by `steps` steps of `depth` words from `first` on.
template <class Tiles, class In, int R, int V>
void add_steps(Tiles& tiles, const TileProduct& t, std::int64_t first, std::int64_t steps, int depth,
               bool accumulate) noexcept {
  const auto *a = static_cast<const char*>(t.a) + 4 * first, *b = static_cast<const char*>(t.b) + first * t.b_row,
             *next = static_cast<const char*>(t.next) + first * t.next_step;
  const auto each_of_c = [&](auto f) WEFT_INLINE {
    repeat<R * V>([&](auto s) WEFT_INLINE {
      constexpr int i = s.value / V, j = s.value % V;
      f(Index<2 * i + j>{}, static_cast<char*>(t.c) + offset_in_bytes(i * tile_rows, t.c_row, j * tile_words));
    });
  };
  tiles.configure(tile_config(t.rows, t.columns, depth));
  if (accumulate) each_of_c([&](auto c, char* p) WEFT_INLINE { tiles.template load<c.value>(p, t.c_row); });
  else each_of_c([&](auto c, char*) WEFT_INLINE { tiles.template zero<c.value>(); });
  for (std::int64_t step = 0; step < steps; ++step) {
    for (int p = 0; p < depth; ++p, next += t.next_step)
      for (std::int64_t i = 0; i < t.next_step; i += 64) __builtin_prefetch(next + i, 0, 2);
    repeat<V>([&](auto j) WEFT_INLINE {
      tiles.template load<6 + j.value>(b + offset_in_bytes(0, 0, j.value * tile_words), t.b_row);
    });
    repeat<R>([&](auto i) WEFT_INLINE {
      tiles.template load<4 + i.value>(a + offset_in_bytes(i.value * tile_rows, t.a_row, 0), t.a_row);
      repeat<V>([&](auto j) WEFT_INLINE {
        tiles.template multiply_add<In, 2 * i.value + j.value, 4 + i.value, 6 + j.value>();
      });
    });
    a += 4 * depth;
    b += depth * t.b_row;
  }
  each_of_c([&](auto c, char* p) WEFT_INLINE { tiles.template store<c.value>(p, t.c_row); });
}

template <class Tiles, class In, int R, int V>
void multiply_tiles(const TileProduct& t) noexcept {
  Tiles tiles;
  const std::int64_t steps = t.k / tile_words, whole = steps * tile_words;
  const int rest = static_cast<int>(t.k - whole);
  if (steps > 0 || rest == 0) add_steps<Tiles, In, R, V>(tiles, t, 0, steps, tile_words, t.accumulate);
  if (rest > 0) add_steps<Tiles, In, R, V>(tiles, t, whole, 1, rest, t.accumulate || steps > 0);
}

template <class Tiles, class In>
void multiply_tiles(const TileProduct& t) noexcept {
  const bool tall = t.rows > tile_rows, wide = t.columns > tile_words;
  if (tall && wide) multiply_tiles<Tiles, In, 2, 2>(t);
  else if (tall) multiply_tiles<Tiles, In, 2, 1>(t);
  else if (wide) multiply_tiles<Tiles, In, 1, 2>(t);
  else multiply_tiles<Tiles, In, 1, 1>(t);
}

}  // namespace weft::detail::WEFT_ISA
