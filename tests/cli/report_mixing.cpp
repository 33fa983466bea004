// Tests the figures of FNet's layers in a report against their formulas.
#include <doctest/doctest.h>

#include <cmath>

#include "drawn_cells.h"
#include "report/learned.h"
#include "weft/fnet.h"
#include "weft/ops.h"

namespace weft::test {
namespace {

double squares(const Tensor& x) {
  double sum = 0;
  for (const float v : x.to_vector<float>()) sum += static_cast<double>(v) * v;
  return sum;
}

double share(const Tensor& part, const Tensor& other) { return squares(part) / (squares(part) + squares(other)); }

double distance(const Tensor& a, const Tensor& b) { return std::sqrt(squares(sub(a, b))); }

// Returns the relative change of the layer's output y at position `place` when the mean replaces token j of x.
double influence_of(std::int64_t j, const FnetLayer& layer, const Tensor& x, const Tensor& y, std::int64_t place) {
  const Tensor now = layer(concat({slice(x, 1, 0, j), mean(x, {1}, true), slice(x, 1, j + 1, x.size(1))}, 1));
  const Tensor before = slice(y, 1, place, place + 1), after = slice(now, 1, place, place + 1);
  return distance(after, before) / std::sqrt(squares(before));
}

}  // namespace

TEST_CASE("report of FNet: shares, frequencies and influence are those of the layers") {
  for (const std::string norm : {"post", "pre"}) {
    CAPTURE(norm);
    const auto model =
        make_model({"fnet", Task::classifier, 20, 3, R"({"layers":2,"d_model":6,"seq_len":8,"norm":")" + norm + "\"}"},
                   {Random(3), DType::f32});
    const auto& fnet = dynamic_cast<const Fnet&>(*model);
    const Tensor tokens = Tensor::from<std::int64_t>({2, 5, 7, 11, 3, 19, 4, 9, 9, 1}, {2, 5});
    const report::Json mixing = report::learned_mixing(*model, {tokens, {}});
    CHECK(mixing["length"] == 5);
    CHECK(mixing["sequences"] == 2);
    REQUIRE(mixing["layers"].size() == 2);
    Tensor x = fnet.encoder().embeddings(tokens);
    for (std::size_t i = 0; i < 2; ++i) {
      const FnetLayer& layer = fnet.encoder().layers[i];
      const report::Json& shown = mixing["layers"][i];
      const bool post = norm == "post";
      const Tensor mixed = fourier_mix(post ? x : layer.mixing_norm(x), 1, 2);
      const Tensor middle = post ? layer.mixing_norm(add(x, mixed)) : add(x, mixed);
      const Tensor network = layer.proj2(layer.proj1(post ? middle : layer.output_norm(middle), layer.activation));
      const Tensor y = layer(x), sum = add(middle, network);
      CHECK(distance(post ? layer.output_norm(sum) : sum, y) < 1e-5 * std::sqrt(squares(y)));
      CHECK(shown["mixing_share"].get<double>() == doctest::Approx(share(mixed, x)).epsilon(1e-4));
      CHECK(shown["network_share"].get<double>() == doctest::Approx(share(network, middle)).epsilon(1e-4));
      REQUIRE(shown["by_frequency"].size() == 3);
      for (std::int64_t k = 0; k < 3; ++k)
        CHECK(shown["by_frequency"][static_cast<std::size_t>(k)].get<double>() ==
              doctest::Approx(squares(slice(mixed, 1, k, k + 1)) / squares(mixed)).epsilon(1e-4));
      const std::vector<double> influence = drawn_cells(shown["influence"]);
      REQUIRE(influence.size() == 25);
      for (std::int64_t place = 0; place < 5; ++place)
        CHECK(influence[static_cast<std::size_t>(place * 5 + 3)] ==
              doctest::Approx(influence_of(3, layer, x, y, place)).epsilon(1e-3));
      x = y;
    }
  }
}

TEST_CASE("report of FNet: for a long sequence, the influence of 64 evenly spaced tokens") {
  const auto model = make_model({"fnet", Task::classifier, 20, 3, R"({"layers":1,"d_model":4,"seq_len":96})"},
                                {Random(3), DType::f32});
  std::vector<std::int64_t> ids(96);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i * i * i % 19);
  const Tensor tokens = Tensor::from(ids, {1, 96});
  const report::Json shown = report::learned_mixing(*model, {tokens, {}})["layers"][0]["influence"];
  REQUIRE(shown["rows"] == 96);
  REQUIRE(shown["columns"] == 64);
  const std::vector<double> influence = drawn_cells(shown);
  const auto& encoder = dynamic_cast<const Fnet&>(*model).encoder();
  const Tensor x = encoder.embeddings(tokens), y = encoder.layers[0](x);
  for (const std::int64_t column : {0, 1, 2, 32, 63})
    for (const std::int64_t place : {0, 40, 95}) {
      const double want = influence_of(column * 96 / 64, encoder.layers[0], x, y, place);
      CHECK(influence[static_cast<std::size_t>(place * 64 + column)] == doctest::Approx(want).epsilon(1e-2));
    }
}

}  // namespace weft::test
