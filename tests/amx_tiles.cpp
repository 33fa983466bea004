// The kernels for AMX's tiles, run with tiles in plain C++ (emulated_tiles.h): nothing here needs a CPU that has them.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "dense/kernels/quantized_tiles.h"
#include "emulated_tiles.h"
#include "weft/random.h"

namespace weft::test {
using namespace detail;
using namespace detail::emulated;

namespace {

using std::int64_t;

template <class In>
constexpr int64_t per_word = 4 / int64_t{sizeof(In)};
template <class In>
using SumOf = std::conditional_t<std::is_same_v<In, bfloat16>, float, std::int32_t>;

// No fault, and no tiles left in use, from one check to the next.
void check_no_fault() {
  CHECK(EmulatedTiles::fault == "");
  CHECK(EmulatedTiles::in_use == 0);
  EmulatedTiles::fault.clear();
}

// Whole numbers from -128 to 127, which bf16 has exactly, as f32 has their sums here.
template <class In>
std::vector<In> whole_numbers(int64_t count, std::uint64_t stream) {
  const Random random(11, stream);
  std::vector<In> all(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<In>(static_cast<float>(random.bits(i) % 256) - 128);
  return all;
}

// A product of `rows` × `columns` × k words, of which nothing beyond the matrices may be touched.
template <class In>
struct Matrices {
  int rows, columns;
  int64_t k, a_row, b_row, c_row;  // strides in elements
  std::vector<In> a, b;
  std::vector<SumOf<In>> c;

  Matrices(int m, int n, int64_t words, int64_t gap)
      : rows(m),
        columns(n),
        k(words),
        a_row(per_word<In> * (k + gap)),
        b_row(per_word<In> * (columns + gap)),
        c_row(columns + gap),
        a(whole_numbers<In>(m * a_row, 1)),
        b(whole_numbers<In>(words * b_row, 2)),
        c(static_cast<std::size_t>(m * c_row)) {
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<SumOf<In>>(i % 1000);
  }

  SumOf<In> want(int64_t i, int64_t j, bool accumulate) const {
    int64_t sum = accumulate ? static_cast<int64_t>(c[static_cast<std::size_t>(i * c_row + j)]) : 0;
    for (int64_t p = 0; p < k; ++p)
      for (int64_t q = 0; q < per_word<In>; ++q)
        sum += static_cast<int64_t>(static_cast<float>(a[static_cast<std::size_t>(i * a_row + p * per_word<In> + q)])) *
               static_cast<int64_t>(static_cast<float>(b[static_cast<std::size_t>(p * b_row + j * per_word<In> + q)]));
    return static_cast<SumOf<In>>(sum);
  }

  // How many elements are not as they must be.
  int wrong(bool accumulate) const {
    std::vector<SumOf<In>> got = c;
    EmulatedTiles::spans.clear();
    for (int64_t i = 0; i < rows; ++i) {  // rows, but not what lies between them
      EmulatedTiles::spans.push_back({a.data() + i * a_row, static_cast<std::size_t>(4 * k), false});
      EmulatedTiles::spans.push_back({got.data() + i * c_row, static_cast<std::size_t>(4 * columns), true});
    }
    for (int64_t p = 0; p < k; ++p)
      EmulatedTiles::spans.push_back({b.data() + p * b_row, static_cast<std::size_t>(4 * columns), false});
    const auto size = int64_t{sizeof(In)};
    multiply_tiles<EmulatedTiles, In>({k, a.data(), size * a_row, b.data(), size * b_row, got.data(), 4 * c_row, rows,
                                       columns, accumulate, nullptr, 0});
    EmulatedTiles::spans.clear();
    int count = 0;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < c_row; ++j) {
        const auto at = static_cast<std::size_t>(i * c_row + j);
        count += got[at] != (j < columns ? want(i, j, accumulate) : c[at]);
      }
    return count;
  }
};

template <class In>
void check_products() {
  for (const int m : {1, 2, 7, 15, 16, 17, 18, 31, 32})
    for (const int n : {1, 2, 9, 15, 16, 17, 25, 31, 32})
      for (const int64_t k : {0, 1, 2, 15, 16, 17, 31, 32, 33, 50})
        for (const bool accumulate : {false, true}) {
          const Matrices<In> matrices(m, n, k, (m + n + k) % 3 * 5);
          const int wrong = matrices.wrong(accumulate);
          if (wrong == 0 && EmulatedTiles::fault.empty()) continue;
          CAPTURE(m);
          CAPTURE(n);
          CAPTURE(k);
          CAPTURE(accumulate);
          CHECK(wrong == 0);
          check_no_fault();
        }
  check_no_fault();
}

TileConfig config_of(std::initializer_list<std::pair<int, int>> shapes) {
  TileConfig config;
  int i = 0;
  for (const auto& shape : shapes) {
    config.rows[i] = static_cast<std::uint8_t>(shape.first);
    config.row_bytes[i++] = static_cast<std::uint16_t>(4 * shape.second);
  }
  return config;
}

std::string fault_of(const TileConfig& config) {
  EmulatedTiles::fault.clear();
  EmulatedTiles tiles;
  tiles.configure(config);
  return std::exchange(EmulatedTiles::fault, "");
}

template <int C = 0, int A = 1, int B = 2>
std::string fault_of_product(std::initializer_list<std::pair<int, int>> shapes) {
  EmulatedTiles::fault.clear();
  EmulatedTiles tiles;
  tiles.configure(config_of(shapes));
  tiles.multiply_add<bfloat16, C, A, B>();
  return std::exchange(EmulatedTiles::fault, "");
}

}  // namespace

TEST_CASE("amx: the emulated tiles fault where the CPU does") {
  CHECK(fault_of(config_of({{16, 16}, {1, 1}})) == "");
  CHECK(fault_of(config_of({{17, 16}})) == "a tile too large");
  CHECK(fault_of(config_of({{16, 17}})) == "a tile too large");
  CHECK(fault_of(config_of({{1, 0}})) == "half a shape");
  CHECK(fault_of(config_of({{}, {}, {}, {}, {}, {}, {}, {}, {1, 1}})) == "a tile beyond the eighth");
  TileConfig config;
  config.palette = 0;
  CHECK(fault_of(config) == "palette");
  config = {};
  config.start_row = 1;
  CHECK(fault_of(config) == "start row");
  config = {};
  config.reserved[13] = 1;
  CHECK(fault_of(config) == "reserved bytes");

  CHECK(fault_of_product({{3, 5}, {3, 7}, {7, 5}}) == "");
  CHECK(fault_of_product({{3, 5}, {4, 7}, {7, 5}}) == "shapes that don't fit");
  CHECK(fault_of_product({{3, 5}, {3, 6}, {7, 5}}) == "shapes that don't fit");
  CHECK(fault_of_product({{3, 5}, {3, 7}, {7, 4}}) == "shapes that don't fit");
  CHECK(fault_of_product<0, 1, 7>({{3, 5}, {3, 7}, {7, 5}}) == "a tile that has no shape");
  EmulatedTiles tiles;
  tiles.zero<0>();
  CHECK(std::exchange(EmulatedTiles::fault, "") == "a tile that has no shape");
}

// 1 × 1 of C, two words of k, by hand.
TEST_CASE("amx: the emulated products are those of the manual") {
  const auto product = [](auto in, float c, std::initializer_list<float> a, std::initializer_list<float> b) {
    using In = decltype(in);
    const std::vector<float> from_a(a), from_b(b);
    In a_row[8], b_rows[8];
    std::transform(from_a.begin(), from_a.end(), a_row, [](float x) { return static_cast<In>(x); });
    std::transform(from_b.begin(), from_b.end(), b_rows, [](float x) { return static_cast<In>(x); });
    auto sum = static_cast<SumOf<In>>(c);
    EmulatedTiles tiles;
    tiles.configure(config_of({{1, 1}, {1, 2}, {2, 1}}));
    tiles.load<0>(&sum, 4);
    tiles.load<1>(a_row, 8);
    tiles.load<2>(b_rows, 4);
    tiles.multiply_add<In, 0, 1, 2>();
    tiles.store<0>(&sum, 4);
    return static_cast<float>(sum);
  };
  const bfloat16 pair(0.0f);
  CHECK(product(pair, 1, {2, 3, 5, 7}, {10, 100, 1000, -8192}) == 1 + 20 + 300 + 5000 - 57344);
  // The first and the second of the pairs are added up apart.
  CHECK(product(pair, 0, {1, 1, 1, 1}, {0x1p30f, 1, -0x1p30f, 1}) == 2);
  CHECK(product(pair, 0, {1, 1, 0, 0}, {0x1p30f, 1, 0, 0}) == 0x1p30f);
  // Denormals, in, out and in C.
  CHECK(product(pair, 0, {0x1p-127f, 0, 0, 0}, {0x1p100f, 0, 0, 0}) == 0);
  CHECK(product(pair, 0, {0x1p-64f, 0, 0, 0}, {0x1p-64f, 0, 0, 0}) == 0);
  CHECK(product(pair, 0x1p-130f, {0, 0, 0, 0}, {0, 0, 0, 0}) == 0);
  CHECK(product(std::int8_t(), 1, {-128, 127, 2, 3, -1, 0, 0, 5}, {-128, 127, -7, 11, 13, 1, 1, -17}) ==
        1 + 16384 + 16129 - 14 + 33 - 13 - 85);
  check_no_fault();
}

TEST_CASE("amx: products of bf16 by tiles, of every size, touch nothing else") { check_products<bfloat16>(); }

TEST_CASE("amx: products of bytes by tiles, of every size, touch nothing else") { check_products<std::int8_t>(); }

// Panels and rows of digits as quantized.h says, packed here by its words.
TEST_CASE("amx: sums of weights in 8 bits, against sums in i64") {
  for (const auto& shape : {std::pair(1, 1), {1, 2}, {3, 2}, {9, 1}, {16, 2}, {17, 1}, {32, 1}})
    for (const int64_t k : {1, 4, 63, 64, 65, 131})
      for (const int64_t columns : {1, 16, 17, 32}) {
        const int rows = shape.first, digits = shape.second;
        const int64_t units = (k + 3) / 4, m = rows * digits, nr = most_tile_columns;
        const int64_t a_row = (k + digit_step - 1) / digit_step * digit_step / 4 + 3;
        const auto x = whole_numbers<std::int8_t>(m * k, 3), w = whole_numbers<std::int8_t>(columns * k, 4);
        std::vector<std::int32_t> a(static_cast<std::size_t>(m * a_row));
        for (int64_t i = 0; i < m; ++i)
          std::memcpy(&a[static_cast<std::size_t>(i * a_row)], &x[static_cast<std::size_t>(i * k)],
                      static_cast<std::size_t>(k));
        std::vector<std::int8_t> panel(static_cast<std::size_t>(units * nr * 4));
        for (int64_t j = 0; j < columns; ++j)
          for (int64_t p = 0; p < k; ++p)
            panel[static_cast<std::size_t>((p / 4 * nr + j) * 4 + p % 4)] = w[static_cast<std::size_t>(j * k + p)];
        std::int32_t sums[most_tile_rows][most_tile_columns];
        EmulatedTiles::spans = {{a.data(), 4 * a.size(), false},
                                {panel.data(), panel.size(), false},
                                {sums, static_cast<std::size_t>(m) * sizeof *sums, true}};
        QuantizedTile t{};
        t.k = units;
        t.a = a.data();
        t.a_row = a_row;
        t.panel = t.next = panel.data();
        t.rows = rows;
        t.digits = digits;
        t.columns = columns;
        sums_by_tiles<EmulatedTiles>(t, sums);
        EmulatedTiles::spans.clear();
        int wrong = 0;
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < (columns > 16 ? 32 : 16); ++j) {
            int64_t sum = 0;
            for (int64_t p = 0; p < k && j < columns; ++p)
              sum += int64_t{x[static_cast<std::size_t>(i * k + p)]} * w[static_cast<std::size_t>(j * k + p)];
            wrong += sums[i][j] != sum;
          }
        CAPTURE(rows);
        CAPTURE(digits);
        CAPTURE(k);
        CAPTURE(columns);
        CHECK(wrong == 0);
        check_no_fault();
      }
}

// As amx packs weights and writes digits: neither needs AMX.
TEST_CASE("amx: panels and rows of digits of this build are as its tiles want them") {
  if (!is_built(Isa::amx) || !cpu_has(Isa::avx512bf16)) return;
  const QuantizedKernels<float>* const amx = kernel_tables<QuantizedKernels<float>>[index_of(Isa::amx)];
  const int64_t k = 131, columns = 21, units = (k + 3) / 4, a_row = 64;
  const auto w = whole_numbers<std::int8_t>(columns * k, 5);
  std::vector<std::int8_t> panel(static_cast<std::size_t>(units * 4 * amx->nr)), back(w.size());
  amx->pack(columns, k, w.data(), k, panel.data());
  amx->unpack(columns, k, panel.data(), back.data(), k);
  CHECK(back == w);
  const auto x = whole_numbers<bfloat16>(k, 6);  // one row, of two digits
  std::vector<float> from(x.size());
  std::transform(x.begin(), x.end(), from.begin(), [](bfloat16 y) { return 100 * static_cast<float>(y) + 7; });
  std::vector<std::int32_t> a(2 * a_row);
  std::int32_t digit_sums[2], sums[2][most_tile_columns];
  amx->write_digits(k, from.data(), 1, 1, 2, a.data(), a_row, digit_sums);
  QuantizedTile t{};
  t.k = units;
  t.a = a.data();
  t.a_row = a_row;
  t.panel = t.next = panel.data();
  t.rows = 1;
  t.digits = 2;
  t.columns = columns;
  sums_by_tiles<EmulatedTiles>(t, sums);
  for (int64_t j = 0; j < columns; ++j) {
    int64_t sum = 0;
    for (int64_t p = 0; p < k; ++p)
      sum += static_cast<int64_t>(from[static_cast<std::size_t>(p)]) * w[static_cast<std::size_t>(j * k + p)];
    CHECK(256 * int64_t{sums[0][j]} + sums[1][j] == sum);
  }
  check_no_fault();
}

// The longest row that a weight may have, of the numbers whose sums are the largest.
TEST_CASE("amx: sums of bytes don't overflow") {
  const int64_t k = 65536 / 4;
  const std::vector<std::int8_t> most(static_cast<std::size_t>(4 * k), -128);
  std::int32_t sum = 0;
  multiply_tiles<EmulatedTiles, std::int8_t>({k, most.data(), 4 * k, most.data(), 4, &sum, 4, 1, 1, false, nullptr, 0});
  CHECK(sum == 65536 * 16384);
  check_no_fault();
}

}  // namespace weft::test
