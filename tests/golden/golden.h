// One conformance case: a safetensors file with inputs, parameters, output, cotangent and gradients in f64.
#pragma once
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "weft/ops.h"
#include "weft/parameter.h"
#include "weft/safetensors.h"

namespace weft::golden {

// The file requests something unknown or unsupported. The exit code is 2.
class Refused : public Error {
 public:
  using Error::Error;
};

// Passes a case's tensors to a runner as leaves of the tape, and records which ones were used.
class Case {
 public:
  Case(const std::string& path, DType dtype, Tape& tape);

  DType dtype() const { return dtype_; }
  const std::string& kind() const { return kind_; }

  // Returns a config value. Throws Refused if it is missing or has a different type.
  template <class T>
  T config(const std::string& key) {
    return get<T>(config_, key);
  }
  // Returns a value from a nested object of the config, for example from "tno".
  template <class T>
  T config(const std::string& object, const std::string& key) {
    return get<T>(get<nlohmann::json>(config_, object), key);
  }
  const nlohmann::json& config_object() const { return config_; }
  // Throws Refused if the config has any other keys. If `object` is given, checks the nested object of that name.
  void expect_keys(const std::set<std::string>& keys, const std::string& object = "");

  bool has(const std::string& name) const { return file_.contains(name); }
  Tensor input(const std::string& name);          // in.NAME, a leaf whose gradient is compared
  Tensor complex_input(const std::string& name);  // like input(), but the last axis, of size 2, becomes complex numbers
  Tensor constant(const std::string& name);       // in.NAME, without gradient (masks, gradients for optimizers)
  Tensor integers(const std::string& name);       // in.NAME, i64
  Tensor parameter(const std::string& name);      // param.NAME, a leaf whose gradient is compared
  // Sets each parameter of a module to the value param.PREFIX+name. Throws Refused if one is missing or has another
  // shape.
  void load(const NamedParameters& parameters, const std::string& prefix = "");

  // Throws Refused if the file has inputs or parameters that were not used.
  void check_all_used() const;

  struct LeafGradient {
    std::string name;  // for example "grad.in.x"
    Tensor leaf;       // the watched tensor, unless the leaf is a parameter
    Parameter parameter;
  };
  const std::vector<LeafGradient>& leaves() const { return leaves_; }
  Tensor raw_tensor(const std::string& name);  // f64 or i64, as in the file

 private:
  template <class T>
  static T get(const nlohmann::json& object, const std::string& key) {
    if (!object.is_object() || !object.contains(key)) throw Refused("config has no key \"" + key + "\"");
    try {
      return object.at(key).get<T>();
    } catch (const nlohmann::json::exception&) {
      throw Refused("config key \"" + key + "\" has a value of the wrong type: " + object.at(key).dump());
    }
  }
  Tensor rounded(const std::string& name);

  SafetensorsFile file_;
  DType dtype_;
  Tape& tape_;
  std::string kind_;
  nlohmann::json config_;
  std::set<std::string> used_;
  std::vector<LeafGradient> leaves_;
};

// Computes a case's output from its inputs and parameters.
using Runner = std::function<Tensor(Case&)>;

// Defines a kind at static initialization: static const Kind linear{"linear", [](Case& c) { … }};
struct Kind {
  Kind(const std::string& name, Runner runner);
};
const std::map<std::string, Runner>& kinds();

}  // namespace weft::golden
