// Tests of 8-bit weights: computed and given scales and values, their rows, the dtype i8, files.
#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "quantized_support.h"
#include "safetensors_bytes.h"
#include "temporary_folder.h"
#include "weft/ops.h"
#include "weft/safetensors.h"
#include "weft/tape.h"

namespace weft::test {

namespace {

using std::int64_t;
using Bytes8 = std::vector<std::int8_t>;

constexpr float infinity = std::numeric_limits<float>::infinity(), least = std::numeric_limits<float>::denorm_min();

// Checks that |weight - scale · value| <= (1/2 + 2^-15) scale, that values are in -127 … 127, and that each row has a
// ±127, unless its scale is denormal.
void check_rows(const std::vector<float>& weight, int64_t rows, int64_t columns) {
  const QuantizedWeight q(Tensor::from(weight, {rows, columns}));
  const auto values = q.values().to_vector<std::int8_t>();
  const auto scales = q.scales().to_vector<float>();
  int beyond = 0, wrong = 0, largest = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const auto scale = static_cast<double>(scales[static_cast<std::size_t>(i)]);
    int most = 0;
    for (int64_t j = i * columns; j < (i + 1) * columns; ++j) {
      const int value = values[static_cast<std::size_t>(j)];
      most = std::max(most, std::abs(value));
      wrong +=
          std::abs(static_cast<double>(weight[static_cast<std::size_t>(j)]) - scale * value) > (0.5 + 0x1p-15) * scale;
    }
    beyond += most > 127;
    largest += scale < 0x1p-126 || most == 127;
  }
  CHECK(beyond == 0);
  CHECK(wrong == 0);
  CHECK(largest == rows);
}

}  // namespace

TEST_CASE("quantized weight: scales and values of each row, on every instruction set") {
  const std::vector<float> w = {127, -63.5f, 0.5f, 1.5f, 2.5f, 0, 0, 0, -0.0f, 0, -2, 1, 0.5f, 0, 0};
  for_every_isa([&](Context& context) {
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      const QuantizedWeight q(raw::convert(Tensor::from(w, {3, 5}), dtype));
      CHECK(q.rows() == 3);
      CHECK(q.columns() == 5);
      CHECK(q.isa() == context.isa());
      CHECK(q.scales().to_vector<float>() == std::vector<float>{1, 0, 2.0f / 127});
      CHECK(q.values().to_vector<std::int8_t>() == Bytes8{127, -64, 0, 2, 2, 0, 0, 0, 0, 0, -127, 64, 32, 0, 0});
      CHECK(q.dequantized().to_vector<float>() == std::vector<float>{127, -64, 0, 2, 2, 0, 0, 0, 0, 0,
                                                                     -127 * (2.0f / 127), 64 * (2.0f / 127),
                                                                     32 * (2.0f / 127), 0, 0});
    }
  });
}

TEST_CASE("quantized weight: every size, with an error of at most half a scale, from any layout") {
  for_every_isa([](Context&) {
    for (const int64_t columns : {0, 1, 3, 4, 15, 64, 129})
      for (const int64_t rows : {0, 1, 31, 32, 33, 70}) {
        const Tensor w = normal({rows, columns}, static_cast<std::uint64_t>(100 * rows + columns));
        if (columns > 0) check_rows(w.to_vector<float>(), rows, columns);
        const QuantizedWeight q(w), again(q.values(), q.scales());
        CHECK(q.values().shape() == Shape{rows, columns});
        CHECK(bytes_of(again.values()) == bytes_of(q.values()));
        CHECK(bytes_of(again.dequantized()) == bytes_of(q.dequantized()));
        const Tensor other = raw::contiguous(transpose(w, 0, 1));
        CHECK(bytes_of(QuantizedWeight(transpose(other, 0, 1)).values()) == bytes_of(q.values()));
        CHECK(bytes_of(QuantizedWeight(transpose(raw::contiguous(transpose(q.values(), 0, 1)), 0, 1), q.scales())
                           .values()) == bytes_of(q.values()));
      }
  });
}

TEST_CASE("quantized weight: rows with the smallest and the largest values") {
  for_every_isa([](Context&) {
    for (const float most : {1e-40f, least, 63 * least, 64 * least, 127 * least, 128 * least, 190 * least, 191 * least,
                             255 * least, 0x1p-126f, 1e-37f, 0x1p-60f, 1e-19f, 1e30f, 3.4028234e38f}) {
      CAPTURE(most);
      std::vector<float> row;
      for (int i = 0; i < 37; ++i) row.push_back(most / 18 * static_cast<float>(i - 18));
      row.push_back(-most);
      check_rows(row, 1, 38);
    }
  });
}

TEST_CASE("quantized weight: it is the same on every instruction set") {
  const Tensor w = normal({45, 77}, 3);
  const QuantizedWeight here(w);
  const auto values = bytes_of(here.values()), dequantized = bytes_of(here.dequantized());
  for_every_isa([&](Context&) {
    CHECK(bytes_of(QuantizedWeight(w).values()) == values);
    CHECK(bytes_of(QuantizedWeight(w).scales()) == bytes_of(here.scales()));
    CHECK(bytes_of(here.values()) == values);
    CHECK(bytes_of(here.dequantized()) == dequantized);
  });
}

TEST_CASE("quantized weight: given values and scales, including -128, are copied") {
  Tensor values = Tensor::from(Bytes8{-128, 127, 0, 1, -1, 5}, {2, 3}), scales = Tensor::from<float>({0.5f, 2}, {2});
  for_every_isa([&](Context&) {
    const QuantizedWeight q(values, scales);
    CHECK(q.dequantized().to_vector<float>() == std::vector<float>{-64, 63.5f, 0, 2, -2, 10});
    CHECK(quantized_linear(Tensor::from<float>({1, 0, 0}, {1, 3}), q).to_vector<float>() == std::vector<float>{-64, 2});
  });
  const QuantizedWeight q(values, scales);
  raw::fill(values, 1);
  raw::fill(scales, 1);
  CHECK(q.dequantized().to_vector<float>() == std::vector<float>{-64, 63.5f, 0, 2, -2, 10});
}

TEST_CASE("quantized weight: invalid values and scales are errors") {
  const auto refused = [](const auto& make, const char* why) {
    CHECK_THROWS_WITH_AS((void)make(), doctest::Contains(why), Error);
  };
  for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()})
    for (const int at : {0, 20, 70}) {
      std::vector<float> w(142, 1);
      w[static_cast<std::size_t>(71 + at)] = bad;
      for (const DType dtype : {DType::f32, DType::f64, DType::bf16})
        for_every_isa([&](Context&) {
          refused([&] { return QuantizedWeight(raw::convert(Tensor::from(w, {2, 71}), dtype)); }, "row 1");
        });
    }
  refused([] { return QuantizedWeight(Tensor::full({1, 1}, 1e300, DType::f64)); }, "infinity");
  refused([] { return QuantizedWeight(Tensor::zeros({4})); }, "an f32 tensor of shape (4,)");
  refused([] { return QuantizedWeight(Tensor::zeros({4, 4}, DType::i64)); }, "i64");
  refused([] { return QuantizedWeight(Tensor()); }, "undefined");
  refused([] { return QuantizedWeight(Tensor::zeros({1, 65537})); }, "65536 columns");
  CHECK(QuantizedWeight(Tensor::zeros({1, 65536})).columns() == 65536);

  const Tensor values = Tensor::zeros({2, 3}, DType::i8);
  refused([&] { return QuantizedWeight(values, Tensor::zeros({3})); }, "scales to be an f32 tensor of shape (2,)");
  refused([&] { return QuantizedWeight(values, Tensor::zeros({2}, DType::f64)); }, "got an f64");
  refused([&] { return QuantizedWeight(values, Tensor()); }, "undefined");
  refused([&] { return QuantizedWeight(Tensor::zeros({2, 3}), Tensor::zeros({2})); }, "values of dtype i8");
  refused([&] { return QuantizedWeight(Tensor::zeros({6}, DType::i8), Tensor::zeros({2})); },
          "an i8 tensor of shape (6,)");
  refused([&] { return QuantizedWeight(Tensor::zeros({1, 65537}, DType::i8), Tensor::zeros({1})); }, "65536 columns");
  for (const float bad : {infinity, -1.0f, std::numeric_limits<float>::quiet_NaN()})
    refused([&] { return QuantizedWeight(values, Tensor::from<float>({1, bad}, {2})); }, "row 1");
}

TEST_CASE("quantized embedding: rows of the dequantized weight") {
  for_every_isa([](Context& context) {
    const Tensor w = normal({70, 33}, 1), indices = Tensor::from<int64_t>({69, 0, 31, 32, 33, 0}, {2, 3});
    const QuantizedWeight q(w);
    const Tensor y = quantized_embedding(indices, q);
    CHECK(y.shape() == Shape{2, 3, 33});
    CHECK(bytes_of(y) == bytes_of(embedding(indices, q.dequantized())));
    CHECK(bytes_of(quantized_embedding(transpose(indices, 0, 1), q)) ==
          bytes_of(embedding(transpose(indices, 0, 1), q.dequantized())));
    CHECK(quantized_embedding(Tensor::zeros({0}, DType::i64), q).shape() == Shape{0, 33});
    context.set_threads(2);
    const Tensor many = Tensor::full({3000}, 69, DType::i64);
    CHECK(bytes_of(quantized_embedding(many, q)) == bytes_of(embedding(many, q.dequantized())));
    for (const int64_t bad : {-1, 70})
      CHECK_THROWS_WITH_AS((void)quantized_embedding(Tensor::full({1}, static_cast<double>(bad), DType::i64), q),
                           doctest::Contains("from 0 to 69"), Error);
    CHECK_THROWS_WITH_AS((void)quantized_embedding(Tensor::zeros({1}), q), doctest::Contains("indices of dtype i64"),
                         Error);
  });
}

TEST_CASE("i8: tensors are stored, copied and widened, but operations refuse them") {
  const Tensor x = Tensor::from(Bytes8{-128, -1, 0, 1, 127, 5}, {2, 3});
  CHECK(std::string(dtype_name(DType::i8)) == "i8");
  CHECK(dtype_size(DType::i8) == 1);
  CHECK(is_integer(DType::i8));
  CHECK_FALSE(is_floating(DType::i8));
  CHECK_FALSE(is_complex(DType::i8));
  const Tensor turned = transpose(x, 0, 1);
  CHECK(turned.to_vector<std::int8_t>() == Bytes8{-128, 1, -1, 127, 0, 5});
  CHECK(slice(x, 1, 1, 3).to_vector<std::int8_t>() == Bytes8{-1, 0, 127, 5});
  CHECK(raw::convert(turned, DType::f32).to_vector<float>() == std::vector<float>{-128, 1, -1, 127, 0, 5});
  CHECK(raw::convert(x, DType::f64).to_vector<double>() == std::vector<double>{-128, -1, 0, 1, 127, 5});
  CHECK(raw::convert(x, DType::i64).to_vector<int64_t>() == std::vector<int64_t>{-128, -1, 0, 1, 127, 5});
  CHECK(raw::convert(x, DType::i8).to_vector<std::int8_t>() == x.to_vector<std::int8_t>());
  CHECK(static_cast<float>(raw::convert(x, DType::bf16).to_vector<bfloat16>()[0]) == -128);
  CHECK(cast(turned, DType::f64).to_vector<double>() == std::vector<double>{-128, 1, -1, 127, 0, 5});
  CHECK(Tensor::scalar(-128, DType::i8).item() == -128);
  CHECK(Tensor::full({3}, 127, DType::i8).to_vector<std::int8_t>() == Bytes8(3, 127));

  const auto refused = [](const auto& f) { CHECK_THROWS_WITH_AS((void)f(), doctest::Contains("i8"), Error); };
  for (const double bad : {128.0, -129.0, static_cast<double>(infinity)})
    refused([=] { return Tensor::full({1}, bad, DType::i8); });
  refused([] { return Tensor::full({1}, static_cast<double>(std::numeric_limits<float>::quiet_NaN()), DType::i8); });
  for (const DType from : {DType::f32, DType::i64, DType::bf16, DType::c64})
    refused([=] { return raw::convert(Tensor::zeros({1}, from), DType::i8); });
  Tensor sum = Tensor::zeros({2, 3}, DType::i8);
  refused([&] {
    raw::accumulate(sum, x);
    return 0;
  });
  refused([&] { return add(x, x); });
  refused([&] { return scale(x, 2); });
  refused([&] { return weft::sum(x); });
  refused([&] { return cast(Tensor::zeros({2}), DType::i8); });
  refused([&] { return matmul(x, turned); });
  refused([&] { return linear(Tensor::zeros({1, 3}), x); });
  refused([&] { return softmax(x, 0); });
  refused([&] { return embedding(Tensor::zeros({1}, DType::i64), x); });
  refused([&] { return embedding(x, Tensor::zeros({3, 3})); });
  Tape tape;
  refused([&] { return tape.watch(x); });
}

TEST_CASE("i8: files preserve it, mapped or copied, at any offset") {
  const TemporaryFolder folder;
  const Tensor x = Tensor::from(Bytes8{-128, -1, 0, 1, 127}, {5}), y = Tensor::from<double>({0.5}, {1});
  save_safetensors(folder / "a",
                   {{"q", x}, {"y", y}, {"r", transpose(Tensor::from(Bytes8{1, 2, 3, 4}, {2, 2}), 0, 1)}});
  const SafetensorsFile file(folder / "a");
  CHECK(file.stored_dtype("q") == "I8");
  for (const Load how : {Load::map, Load::copy}) {
    CHECK(file.load("q", how).dtype() == DType::i8);
    CHECK(bytes_of(file.load("q", how)) == bytes_of(x));
    CHECK(file.load("r", how).to_vector<std::int8_t>() == Bytes8{1, 3, 2, 4});
    CHECK(file.load("y", how).item() == 0.5);
  }
  const QuantizedWeight q(normal({40, 19}, 5));
  save_safetensors(folder / "w", {{"values", q.values()}, {"scales", q.scales()}});
  const SafetensorsFile saved(folder / "w");
  CHECK(bytes_of(QuantizedWeight(saved.load("values"), saved.load("scales")).dequantized()) ==
        bytes_of(q.dequantized()));
  for (const char* range : {"[0,3]", "[0,5]"}) {  // four elements need 4 bytes
    folder.write("bad", file_of(std::string(R"({"x":{"dtype":"I8","shape":[2,2],"data_offsets":)") + range + "}}",
                                std::string(range[3] == '3' ? 3 : 5, 'a')));
    CHECK_THROWS_WITH_AS(SafetensorsFile(folder / "bad"), doctest::Contains("dtype I8 and shape (2, 2)"), Error);
  }
}

}  // namespace weft::test
