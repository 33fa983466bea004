// AMX's tiles in plain C++, by the formulas of Intel's manual (Software Developer's Manual, volume 2: LDTILECFG, TILELOADD,
// TILESTORED, TDPBF16PS, TDPBSSD), for the kernels that are templates of them. What the CPU would answer with a fault is
// noted in `fault`; so is an access outside `spans`, if there are any.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "dense/kernels/amx_tiles.h"

namespace weft::detail::WEFT_ISA {

struct Span {
  const void* begin;
  std::size_t bytes;
  bool writable;
};

class EmulatedTiles {
 public:
  // Of this thread.
  static inline thread_local std::string fault;
  static inline thread_local std::vector<Span> spans;
  static inline thread_local int in_use = 0;  // that are not released

  EmulatedTiles() noexcept { ++in_use; }
  EmulatedTiles(const EmulatedTiles&) = delete;
  EmulatedTiles& operator=(const EmulatedTiles&) = delete;
  ~EmulatedTiles() { --in_use; }

  void configure(const TileConfig& config) noexcept {
    unsigned char bytes[64];
    std::memcpy(bytes, &config, sizeof bytes);
    if (bytes[0] != 1) return note("palette");
    if (bytes[1] != 0) return note("start row");
    for (int i = 2; i < 16; ++i)
      if (bytes[i] != 0) return note("reserved bytes");
    for (int i = 0; i < 16; ++i) {
      const int row_bytes = bytes[16 + 2 * i] + 256 * bytes[17 + 2 * i], rows = bytes[48 + i];
      if (i >= 8 && (rows != 0 || row_bytes != 0)) return note("a tile beyond the eighth");
      if (rows > 16 || row_bytes > 64) return note("a tile too large");
      if ((rows == 0) != (row_bytes == 0)) return note("half a shape");
      if (i < 8) tiles_[i] = Tile{rows, row_bytes, {}};
    }
    is_configured_ = true;
  }

  template <int T>
  void zero() noexcept {
    if (is_there(T)) std::memset(tiles_[T].bytes, 0, sizeof tiles_[T].bytes);
  }

  // What lies beyond the shape becomes 0.
  template <int T>
  void load(const void* p, std::int64_t row) noexcept {
    if (!is_there(T)) return;
    Tile& t = tiles_[T];
    std::memset(t.bytes, 0, sizeof t.bytes);
    for (int i = 0; i < t.rows; ++i)
      if (const char* from = static_cast<const char*>(p) + i * row; may_touch(from, t.row_bytes, false))
        std::memcpy(t.bytes[i], from, static_cast<std::size_t>(t.row_bytes));
  }

  template <int T>
  void store(void* p, std::int64_t row) noexcept {
    if (!is_there(T)) return;
    const Tile& t = tiles_[T];
    for (int i = 0; i < t.rows; ++i)
      if (char* to = static_cast<char*>(p) + i * row; may_touch(to, t.row_bytes, true))
        std::memcpy(to, t.bytes[i], static_cast<std::size_t>(t.row_bytes));
  }

  template <class In, int C, int A, int B>
  void multiply_add() noexcept {
    static_assert(C != A && C != B && A != B, "the CPU takes three different tiles");
    if (!is_there(C) || !is_there(A) || !is_there(B)) return;
    Tile& c = tiles_[C];
    const Tile &a = tiles_[A], &b = tiles_[B];
    if (c.rows != a.rows || c.row_bytes != b.row_bytes || a.row_bytes != 4 * b.rows || b.row_bytes % 4 != 0)
      return note("shapes that don't fit");
    for (int i = 0; i < c.rows; ++i)
      for (int j = 0; j < c.row_bytes / 4; ++j) {
        if constexpr (std::is_same_v<In, bfloat16>) c.put(i, j, c.get<float>(i, j, 0), pairs(a, b, i, j));
        else c.put(i, j, c.get<std::int32_t>(i, j, 0), fours(a, b, i, j));
      }
  }

 private:
  struct Tile {
    int rows = 0, row_bytes = 0;
    unsigned char bytes[16][64] = {};

    // The n-th Word from the 32-bit word j of row i on.
    template <class Word>
    Word get(int i, int j, int n) const noexcept {
      Word x;
      std::memcpy(&x, &bytes[i][4 * j + n * static_cast<int>(sizeof x)], sizeof x);
      return x;
    }
    void put(int i, int j, float sum, float more) noexcept {
      const float x = flushed(flushed(sum) + flushed(more));
      std::memcpy(&bytes[i][4 * j], &x, sizeof x);
    }
    void put(int i, int j, std::int32_t sum, std::int32_t more) noexcept {
      const auto x = static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(more);  // wraps
      std::memcpy(&bytes[i][4 * j], &x, sizeof x);
    }
  };

  // Denormals count as 0, read and written.
  static float flushed(float x) noexcept { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
  static float of_bits(std::uint16_t bits) noexcept {
    const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
    float x;
    std::memcpy(&x, &wide, sizeof x);
    return flushed(x);
  }

  // The first elements of pairs and the second ones have sums of their own, by fused multiply-adds, which are added.
  static float pairs(const Tile& a, const Tile& b, int i, int j) noexcept {
    float sums[2] = {0, 0};
    for (int p = 0; p < b.rows; ++p)
      for (int half = 0; half < 2; ++half)
        sums[half] = flushed(
            std::fma(of_bits(a.get<std::uint16_t>(i, p, half)), of_bits(b.get<std::uint16_t>(p, j, half)), sums[half]));
    return flushed(sums[0] + sums[1]);
  }

  static std::int32_t fours(const Tile& a, const Tile& b, int i, int j) noexcept {
    std::int32_t sum = 0;
    for (int p = 0; p < b.rows; ++p)
      for (int q = 0; q < 4; ++q) sum += a.get<std::int8_t>(i, p, q) * b.get<std::int8_t>(p, j, q);
    return sum;
  }

  static void note(const char* what) noexcept {
    if (fault.empty()) fault = what;
  }
  bool is_there(int tile) const noexcept {
    if (is_configured_ && tiles_[tile].rows > 0) return true;
    note("a tile that has no shape");
    return false;
  }
  static bool may_touch(const char* p, int bytes, bool writes) noexcept {
    if (spans.empty()) return true;
    for (const Span& span : spans) {
      const char* begin = static_cast<const char*>(span.begin);
      if (p >= begin && p + bytes <= begin + span.bytes && (span.writable || !writes)) return true;
    }
    note(writes ? "a store outside" : "a load outside");
    return false;
  }

  bool is_configured_ = false;
  Tile tiles_[8];
};

}  // namespace weft::detail::WEFT_ISA
