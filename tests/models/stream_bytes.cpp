// Tests of Model::stream_bytes, the estimated memory of a text.
#include <doctest/doctest.h>

#include <string>

#include "op_table.h"
#include "random_parameters.h"
#include "sweep.h"
#include "weft/context.h"
#include "weft/model.h"

namespace weft::test {
namespace {

// Returns the memory of the tensors of a text that begins with `prompt` tokens and ends with `all` tokens.
std::int64_t memory_of(const Model& model, std::int64_t prompt, std::int64_t all) {
  const auto memory = [] { return static_cast<std::int64_t>(Context::current().memory().use().current); };
  const std::int64_t before = memory();
  const auto stream = model.stream();
  (void)stream->append(random_tensor(indices({1, prompt}, 7), 1));
  for (std::int64_t i = prompt; i < all; ++i) (void)stream->next(i % 7);
  return memory() - before;
}

}  // namespace

TEST_CASE("stream_bytes: a text takes at most the estimated memory, and not much less") {
  constexpr struct {
    const char *arch, *config;
    DType dtype;
  } models[] = {
      {"gmlp", R"({"d_model":16,"d_ffn":64,"layers":3,"seq_len":700})", DType::f32},
      {"gmlp", R"({"d_model":16,"d_ffn":64,"layers":2,"seq_len":100})", DType::f64},
      {"tnn", R"({"d_model":64,"layers":2,"rpe_dim":4,"expand_ratio":2,"gamma":1})", DType::f32},
      {"tnn", R"({"d_model":64,"layers":1,"rpe_dim":4,"gamma":1})", DType::f64},
      {"tnn", R"({"d_model":64,"layers":2,"rpe_dim":4,"gamma":0.9})", DType::f32},
      {"tnn", R"({"d_model":64,"layers":1,"rpe_dim":4,"gamma":0.99})", DType::f32},
      {"tnn", R"({"d_model":64,"layers":2,"exponentials":8})", DType::f32},
      {"tnn", R"({"d_model":64,"layers":1,"exponentials":2})", DType::f64},
  };
  for (const auto& [arch, config, dtype] : models) {
    const std::string options_of_model = config;
    CAPTURE(options_of_model);
    const auto model = make_model({arch, Task::causal_lm, 7, 0, config}, {Random(5), dtype});
    const std::pair<std::int64_t, std::int64_t> lengths[] = {{1, 2},     {1, 130},  {100, 101},
                                                             {300, 700}, {1, 1400}, {2000, 2100}};
    for (const auto& length : lengths) {
      const std::int64_t prompt = length.first, all = length.second;
      if (all > sweep(5000, 701)) continue;
      CAPTURE(prompt);
      CAPTURE(all);
      (void)memory_of(*model, prompt, all);  // what the model keeps belongs to no text
      const std::int64_t taken = memory_of(*model, prompt, all), estimated = model->stream_bytes(all);
      CHECK(taken <= estimated);
      if (all >= 700) CHECK(estimated <= 6 * taken);
    }
  }
}

TEST_CASE("stream_bytes: if a TNN's parameters change, so do its significant lags and the estimate") {
  const auto tnn = make_model({"tnn", Task::causal_lm, 7, 0, R"({"d_model":16,"layers":2,"rpe_dim":4,"gamma":0.99})"},
                              {Random(5), DType::f32});
  const std::int64_t before = tnn->stream_bytes(5000);
  NamedParameters parameters = tnn->parameters();
  for (auto& [name, parameter] : parameters)
    parameter.assign(Tensor::zeros(parameter.value().shape(), parameter.value().dtype()));
  CHECK(tnn->stream_bytes(5000) < before);
}

TEST_CASE("stream_bytes: the precision counts, and enormous lengths don't overflow") {
  const std::string config = R"({"d_model":16,"d_ffn":64,"layers":2,"seq_len":1000})";
  const auto gmlp = make_model({"gmlp", Task::causal_lm, 7, 0, config}, {Random(5), DType::f32});
  const std::int64_t f32 = gmlp->stream_bytes(INT64_MAX);
  CHECK(f32 == 1000 * 8 + 2 * (2 * 1000) * 32 * 4);
  gmlp->set_precision(Precision::bf16);
  CHECK(gmlp->stream_bytes(INT64_MAX) == 1000 * 8 + 2 * (2 * 1000) * 32 * 2);
  for (const char* options : {R"({"gamma":1})", R"({"par_type":2})"}) {
    const auto tnn = make_model({"tnn", Task::causal_lm, 7, 0, options}, {Random(5), DType::f32});
    CHECK(tnn->stream_bytes(INT64_MAX) >= std::int64_t{1} << 62);
    CHECK(tnn->stream_bytes(1000) < tnn->stream_bytes(2000));
  }
}

}  // namespace weft::test
