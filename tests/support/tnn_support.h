// Helpers for the tests of TNN: small models and options.
#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

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

}  // namespace weft::test
