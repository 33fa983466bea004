// Configs as JSON: a config struct lists its fields once, in
//   template <class Self, class Visit> static void fields(Self& self, Visit visit) { visit("d_model", self.d_model); … }
// and is read, checked and written by that list.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "json.h"
#include "weft/error.h"

namespace weft {

template <class T>
void read_field(const std::string& where, const std::string& key, const nlohmann::json& value, T& field) {
  bool fits;
  if constexpr (std::is_same_v<T, bool>) fits = value.is_boolean();
  else if constexpr (std::is_integral_v<T>) fits = value.is_number_integer();
  else if constexpr (std::is_floating_point_v<T>) fits = value.is_number();
  else fits = value.is_string();
  if (!fits) throw Error("[" + where + "] the value of \"" + key + "\" has the wrong type: " + value.dump());
  field = value.get<T>();
}

// Error if `text` is not a JSON object, or has a key that Config doesn't list or a value of another type.
template <class Config>
Config config_from_json(const std::string& where, const std::string& text) {
  const nlohmann::json object = parse_json(text);
  if (!object.is_object()) throw Error("[" + where + "] the config is not a JSON object");
  Config config;
  std::string known;
  std::size_t found = 0;
  Config::fields(config, [&](const char* key, auto& field) {
    known += std::string(known.empty() ? "" : ", ") + key;
    if (!object.contains(key)) return;
    ++found;
    read_field(where, key, object.at(key), field);
  });
  if (found == object.size()) return config;
  for (const auto& entry : object.items()) {
    const std::string& key = entry.key();  // clang 14 captures no structured binding
    bool listed = false;
    Config::fields(config, [&](const char* name, auto&) { listed = listed || key == name; });
    if (!listed) throw Error("[" + where + "] unknown config key \"" + key + "\", expected one of " + known);
  }
  return config;
}

template <class Config>
std::string config_to_json(const Config& config) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  Config::fields(config, [&](const char* key, const auto& field) { object[key] = field; });
  return object.dump();
}

// Error unless lowest <= size < 2^31: small multiples of a size fit into 64 bits.
inline void check_size(const std::string& where, const char* key, std::int64_t size, std::int64_t lowest) {
  if (size < lowest || size >= std::int64_t{1} << 31)
    throw Error("[" + where + "] expected " + key + " of " + std::to_string(lowest) + " to 2147483647, got " +
                std::to_string(size));
}

}  // namespace weft
