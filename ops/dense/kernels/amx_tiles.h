// The tiles of AMX: eight registers of up to 16 rows of 64 bytes, and instructions that multiply them. Kernels are
// templates of a class like AmxTiles (kernels/tile_product.h), so that tests can run them with tiles in plain C++
// (tests/emulated_tiles.h): no CPU that has AMX was at hand.
#pragma once
#include <cstdint>
#include <type_traits>

#include "dense/kernels/isa_names.h"
#include "weft/bfloat16.h"

#define WEFT_TILES_amx 1
#if WEFT_NAME_OF(WEFT_TILES_, WEFT_ISA)
#define WEFT_HAS_TILES 1
#else
#define WEFT_HAS_TILES 0
#endif

namespace weft::detail::WEFT_ISA {

// What LDTILECFG reads: a tile has `rows` rows of `row_bytes` bytes; one without is not used. Of 16 tiles there are 8.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

#if WEFT_HAS_TILES
// By inline assembly: g++ 12's intrinsics take the registers' numbers as literals alone, which a template hasn't got, and
// don't tell the compiler that a load reads memory. The compilers use no tile by themselves.
class AmxTiles {
 public:
  AmxTiles() noexcept = default;
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;
  // The thread leaves no tiles behind, which each switch to another one would save and restore.
  ~AmxTiles() { asm volatile("tilerelease" ::: "memory"); }

  // Sets the shapes, and all tiles to 0.
  void configure(const TileConfig& config) noexcept { asm volatile("ldtilecfg %0" ::"m"(config) : "memory"); }

  template <int T>
  void zero() noexcept {
    asm volatile("tilezero %%tmm%c0" ::"i"(T));
  }

  // Rows are `row` bytes apart.
  template <int T>
  void load(const void* p, std::int64_t row) noexcept {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(p), "r"(row), "i"(T) : "memory");
  }
  template <int T>
  void store(void* p, std::int64_t row) noexcept {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(p), "r"(row), "i"(T) : "memory");
  }

  // C(i, j) += Σ_p A(i, p) B(p, j), p over words: pairs of bf16, sums in f32; or four bytes with a sign, sums in i32.
  template <class In, int C, int A, int B>
  void multiply_add() noexcept {
    static_assert(std::is_same_v<In, bfloat16> || std::is_same_v<In, std::int8_t>);
    if constexpr (std::is_same_v<In, bfloat16>)
      asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
    else asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
  }
};
#endif

}  // namespace weft::detail::WEFT_ISA
