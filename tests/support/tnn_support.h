// Helpers for the tests of TNN: small models and options.
#pragma once
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <vector>

#include "op_table.h"
#include "random_parameters.h"
#include "weft/tnn.h"

namespace weft::test {

// A small config. `more` is the inside of a JSON object whose keys replace those of the config.
inline std::string small_config(const std::string& more = "") {
  nlohmann::json config = {{"d_model", 6}, {"layers", 2},     {"heads", 2},        {"expand_ratio", 1.34},
                           {"rpe_dim", 4}, {"rpe_layers", 1}, {"rpe_act", "silu"}, {"glu_dim", 5}};
  config.update(nlohmann::json::parse("{" + more + "}"));
  return config.dump();
}

inline std::unique_ptr<Model> small_model(Task task, const std::string& more = "") {
  return make_model({"tnn", task, 7, 3, small_config(more)}, init64);
}

// Returns the config of the encoder in all gradient tests. The encoder uses silu, because silu has no kink.
inline TnnConfig small_rpe(bool residual = false, const std::string& norm_type = "layernorm", bool bias = true) {
  TnnConfig options;
  options.rpe_dim = 4;
  options.rpe_layers = 2;
  options.rpe_residual = residual;
  options.rpe_act = "silu";
  options.norm_type = norm_type;
  options.bias = bias;
  return options;
}

// Returns what the relative position encoder reads for lag k in a sequence of n tokens.
inline Tensor tnn_position(std::int64_t par_type, double k, double n) {
  const auto number = [](double p) { return Tensor::full({1, 1}, p, DType::f64); };
  if (par_type == 1) return number(k);
  if (par_type == 2) return number(k / (n - 1));
  if (par_type == 3) return number(std::exp(k / (n - 1)));
  std::vector<double> waves;
  for (int i = 0; i < 16; ++i) {
    const double frequency = std::numbers::pi * std::exp2(-0.75 * i);  // 4096^(-i/16)
    waves.push_back(std::sin(k * frequency));
    waves.push_back(std::cos(k * frequency));
  }
  return Tensor::from(waves, {1, 32});
}

}  // namespace weft::test
