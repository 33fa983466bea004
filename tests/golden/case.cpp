#include "golden.h"

namespace weft::golden {
namespace {

std::map<std::string, Runner>& registry() {
  static std::map<std::string, Runner> all;
  return all;
}

}  // namespace

Kind::Kind(const std::string& name, Runner runner) { registry()[name] = std::move(runner); }
const std::map<std::string, Runner>& kinds() { return registry(); }

Case::Case(const std::string& path, DType dtype, Tape& tape) : file_(path), dtype_(dtype), tape_(tape) {
  const auto& metadata = file_.metadata();
  if (!metadata.count("kind") || !metadata.count("config")) throw Refused("no \"kind\" and \"config\" in the metadata");
  kind_ = metadata.at("kind");
  config_ = nlohmann::json::parse(metadata.at("config"), nullptr, false);
  if (!config_.is_object()) throw Refused("config is not a JSON object");
}

void Case::expect_keys(const std::set<std::string>& keys, const std::string& object) {
  const nlohmann::json& config = object.empty() ? config_ : config_.at(object);
  if (!config.is_object()) throw Refused("config \"" + object + "\" is not an object");
  for (const auto& [key, value] : config.items())
    if (!keys.count(key)) throw Refused("unknown config key \"" + key + "\"");
  for (const std::string& key : keys)
    if (!config.contains(key)) throw Refused("config has no key \"" + key + "\"");
}

Tensor Case::raw_tensor(const std::string& name) {
  if (!file_.contains(name)) throw Refused("no tensor \"" + name + "\"");
  used_.insert(name);
  return file_.load(name, Load::copy);
}

Tensor Case::rounded(const std::string& name) {
  const Tensor x = raw_tensor(name);
  if (!is_real(x.dtype())) throw Refused("\"" + name + "\" is not floating point");
  return raw::convert(x, dtype_);
}

Tensor Case::input(const std::string& name) {
  const Tensor leaf = tape_.watch(rounded("in." + name));
  leaves_.push_back({"grad.in." + name, leaf, {}});
  return leaf;
}

Tensor Case::complex_input(const std::string& name) {
  const Tensor pairs = input(name);
  if (pairs.rank() < 1 || pairs.size(-1) != 2) throw Refused("in." + name + " has no last axis of 2");
  const Shape shape(pairs.shape().begin(), pairs.shape().end() - 1);
  return complex(reshape(slice(pairs, -1, 0, 1), shape), reshape(slice(pairs, -1, 1, 2), shape));
}

Tensor Case::constant(const std::string& name) {
  const Tensor x = raw_tensor("in." + name);
  return raw::convert(x, dtype_);
}

Tensor Case::integers(const std::string& name) {
  const Tensor x = raw_tensor("in." + name);
  if (x.dtype() != DType::i64) throw Refused("in." + name + " is not an integer tensor");
  return x;
}

Tensor Case::parameter(const std::string& name) {
  const Tensor leaf = tape_.watch(rounded("param." + name));
  leaves_.push_back({"grad.param." + name, leaf, {}});
  return leaf;
}

void Case::load(const NamedParameters& parameters, const std::string& prefix) {
  for (const auto& [name, parameter] : parameters) {
    const Tensor value = rounded("param." + prefix + name);
    if (value.shape() != parameter.value().shape())
      throw Refused("param." + prefix + name + " has shape " + to_string(value.shape()) + ", the config gives " +
                    to_string(parameter.value().shape()));
    Parameter handle = parameter;
    handle.assign(value);
    leaves_.push_back({"grad.param." + prefix + name, {}, handle});
  }
}

void Case::check_all_used() const {
  for (const std::string& name : file_.names())
    if ((name.rfind("in.", 0) == 0 || name.rfind("param.", 0) == 0) && !used_.count(name))
      throw Refused("unknown tensor \"" + name + "\"");
}

}  // namespace weft::golden
