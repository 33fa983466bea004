// Tests of mixing along the rows and columns of a picture's patches: FNet's transform and TNN's two operators.
#include <doctest/doctest.h>

#include <cmath>

#include "contains.h"
#include "op_table.h"
#include "random_parameters.h"
#include "train_support.h"
#include "weft/fnet.h"
#include "weft/input.h"
#include "weft/tnn.h"

namespace weft::test {
namespace {

const Init mixing_init{Random(7), DType::f64};
constexpr PatchGrid grid{2, 3};
constexpr std::int64_t patches = 6, targets = 3;
constexpr double pi = 3.14159265358979323846;

// Pictures of 4 x 6 pixels, in patches of 2 x 2 pixels.
InputSpec small_pictures() {
  InputSpec spec;
  spec.channels = 1;
  spec.height = 4;
  spec.width = 6;
  spec.patch = 2;
  return spec;
}

std::unique_ptr<Model> made(const std::string& arch, const InputSpec& input, const std::string& mixing = "picture") {
  const std::string config = R"({"d_model":4,"layers":2,)" +
                             std::string(arch == "tnn" ? R"("rpe_dim":4,"rpe_layers":1,)" : R"("seq_len":6,)") +
                             R"("mixing":")" + mixing + "\"}";
  auto model = make_model({arch, Task::regression, input.defined() ? 0 : 9, targets, config, input}, mixing_init);
  randomize(model->parameters(), 0.5);
  return model;
}

// Σ x[r][c][j] cos(2π (r·k/rows + c·l/columns + j·m/d)), by the definition.
double transformed(const std::vector<double>& x, std::int64_t d, std::int64_t k, std::int64_t l, std::int64_t m) {
  double sum = 0;
  for (std::int64_t r = 0; r < grid.rows; ++r)
    for (std::int64_t c = 0; c < grid.columns; ++c)
      for (std::int64_t j = 0; j < d; ++j)
        sum += x[static_cast<std::size_t>((r * grid.columns + c) * d + j)] *
               std::cos(2 * pi *
                        (static_cast<double>(r * k) / grid.rows + static_cast<double>(c * l) / grid.columns +
                         static_cast<double>(j * m) / static_cast<double>(d)));
  return sum;
}

// Applies the Tno to one row or column of patches: x[first], x[first + step], …
void add_line(const Tno& tno, const Tensor& x, std::int64_t first, std::int64_t step, std::int64_t n,
              std::vector<double>& sum) {
  const std::int64_t d = x.size(2);
  std::vector<Tensor> line;
  for (std::int64_t i = 0; i < n; ++i) line.push_back(slice(x, 1, first + i * step, first + i * step + 1));
  const auto y = reshape(tno(reshape(concat(line, 1), {1, 1, n, d})), {n * d}).to_vector<double>();
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < d; ++j)
      sum[static_cast<std::size_t>((first + i * step) * d + j)] += y[static_cast<std::size_t>(i * d + j)];
}

}  // namespace

TEST_CASE("picture mixing: FNet's transform runs along rows, columns and channels") {
  constexpr std::int64_t d = 4;
  FnetLayer layer(d, 8, NormPlace::pre, mixing_init, 1e-12, 0, Activation::gelu_tanh, grid);
  layer.proj2.weight.assign(Tensor::zeros({d, 8}, DType::f64));
  layer.proj2.bias.assign(Tensor::zeros({d}, DType::f64));  // now the layer computes x + mix(norm(x))
  const Tensor x = random_numbers({2, patches, d});
  const auto norm = layer.mixing_norm(x);
  const Tensor mixed = sub(layer(x), x);
  for (std::int64_t b = 0; b < 2; ++b) {
    const auto in = slice(norm, 0, b, b + 1).to_vector<double>(), out = slice(mixed, 0, b, b + 1).to_vector<double>();
    for (std::int64_t k = 0; k < grid.rows; ++k)
      for (std::int64_t l = 0; l < grid.columns; ++l)
        for (std::int64_t m = 0; m < d; ++m)
          CHECK(std::abs(out[static_cast<std::size_t>((k * grid.columns + l) * d + m)] - transformed(in, d, k, l, m)) <
                1e-12);
  }
}

TEST_CASE("picture mixing: TNN adds an operator along the rows to one along the columns") {
  TnnConfig options;
  options.expand_ratio = 1;
  const Gtu gtu(4, options, false, mixing_init, grid);
  REQUIRE(gtu.row_toep());
  const Tensor v = random_numbers({1, patches, 4}, 3);
  std::vector<double> sum(patches * 4, 0);
  for (std::int64_t c = 0; c < grid.columns; ++c) add_line(gtu.toep(), v, c, grid.columns, grid.rows, sum);
  for (std::int64_t r = 0; r < grid.rows; ++r) add_line(*gtu.row_toep(), v, r * grid.columns, 1, grid.columns, sum);
  CHECK(max_abs(sub(gtu.mix(v), Tensor::from(sum, {1, patches, 4}))) < 1e-12);
  // With heads and several rows in a batch, each row and head gives the result that it has alone.
  options.heads = 2;
  const Gtu heads(4, options, false, mixing_init, grid);
  const Tensor batch = random_numbers({3, patches, 4}, 4), all = heads.mix(batch);
  for (std::int64_t b = 0; b < 3; ++b)
    CHECK(max_abs(sub(heads.mix(slice(batch, 0, b, b + 1)), slice(all, 0, b, b + 1))) < 1e-13);
  CHECK(contains(error_of([&] { (void)gtu.mix(random_numbers({1, 5, 4})); }), "expected 6 patches, got 5"));
}

TEST_CASE("picture mixing: gradients of every parameter, and outputs that differ from mixing along the sequence") {
  for (const std::string arch : {"fnet", "tnn"}) {
    CAPTURE(arch);
    const auto model = made(arch, small_pictures());
    const Tensor x = random_numbers({2, 4, 6, 1});
    CHECK(gradient_error([&](const auto& in) { return model->forward({{}, in[0]}); }, {x}, model->parameters()) < 1e-6);
    const auto along_sequence = made(arch, small_pictures(), "sequence");
    for (auto [name, parameter] : along_sequence->parameters())
      for (const auto& [own, mixed] : model->parameters())
        if (own == name) parameter.assign(mixed.value());
    CHECK(max_abs(sub(model->forward({{}, x}), along_sequence->forward({{}, x}))) > 1e-3);
    const auto again = make_model({arch, Task::regression, 0, targets, model->config(), small_pictures()}, mixing_init);
    CHECK(std::size(again->parameters()) == std::size(model->parameters()));
  }
}

TEST_CASE("picture mixing: bf16 rounds the activations") {
  const std::string config = R"({"d_model":4,"layers":2,"seq_len":6,"mixing":"picture"})";
  for (const std::string arch : {"fnet", "tnn"}) {
    CAPTURE(arch);
    const auto model =
        make_model({arch, Task::regression, 0, targets, config, small_pictures()}, {Random(3), DType::f32});
    const Tensor x = Random(4).uniform({2, 4, 6, 1}, -1, 1, DType::f32), want = model->forward({{}, x});
    model->set_precision(Precision::bf16);
    const Tensor got = model->forward({{}, x});
    CHECK(got.dtype() == DType::bf16);
    const double error = max_abs(sub(raw::convert(got, DType::f32), want));
    CHECK(error < 0.05);
    CHECK(error > 0);
  }
}

TEST_CASE("picture mixing: the grid of an input") {
  const PatchGrid found = mixing_grid("x", "picture", small_pictures());
  CHECK(found.rows == grid.rows);
  CHECK(found.columns == grid.columns);
  CHECK_FALSE(mixing_grid("x", "sequence", small_pictures()).defined());
}

TEST_CASE("picture mixing: it is refused for other inputs and unknown names") {
  for (const std::string arch : {"fnet", "tnn"}) {
    CAPTURE(arch);
    InputSpec frames;
    frames.channels = 2;
    for (const InputSpec& input : {frames, InputSpec()})
      CHECK(error_of([&] { (void)made(arch, input); }) ==
            "[" + arch + "] mixing \"picture\" needs a model that reads pictures");
    CHECK(contains(error_of([&] { (void)made(arch, small_pictures(), "both"); }),
                   "expected mixing \"sequence\" or \"picture\", got \"both\""));
  }
}

}  // namespace weft::test
