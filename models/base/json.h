// Parses JSON that comes from files.
#pragma once
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>

#include "weft/error.h"

namespace weft::detail {

// Returns a discarded value if `text` is not JSON. A text with a zero byte also gives a discarded value, because
// nlohmann would take the zero byte for the end of the text. Throws an Error in two cases. The first is a value that is
// nested deeper, or has more values, than anything that weft writes. nlohmann's dump() recurses, and its destructor
// allocates, so such a value could end the process. The second is an object that contains a key twice. nlohmann uses
// the last value of such a key, but other parsers use the first.
inline nlohmann::json parse_json(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return nlohmann::json(nlohmann::json::value_t::discarded);
  constexpr int deepest = 16;
  constexpr std::int64_t most = 1 << 20;
  std::int64_t values = 0;
  std::array<std::set<std::string>, deepest + 1> keys;  // keys of the open objects, by the depth of their members
  const auto small = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (depth > deepest) throw Error("[json] expected at most " + std::to_string(deepest) + " levels of nesting");
    if (++values > most) throw Error("[json] expected at most " + std::to_string(most) + " values");
    const auto level = static_cast<std::size_t>(depth);
    if (event == nlohmann::json::parse_event_t::object_start && depth < deepest) keys.at(level + 1).clear();
    if (event == nlohmann::json::parse_event_t::key && !keys.at(level).insert(value.get<std::string>()).second)
      throw Error("[json] an object has the key " + value.dump() + " twice");
    return true;
  };
  return nlohmann::json::parse(text, small, false);
}

// Assigns the value to the field. Throws an Error that names the key if the value does not have the field's type.
template <class T>
void read_field(const std::string& where, const std::string& key, const nlohmann::json& value, T& field) {
  bool fits;
  const char* expected;
  if constexpr (std::is_same_v<T, bool>) {
    fits = value.is_boolean();
    expected = "true or false";
  } else if constexpr (std::is_integral_v<T>) {
    // Larger numbers would become negative.
    fits = value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX);
    expected = "a whole number below 2^63";
  } else if constexpr (std::is_floating_point_v<T>) {
    fits = value.is_number();
    expected = "a number";
  } else {
    fits = value.is_string();
    expected = "a string";
  }
  if (!fits)
    throw Error("[" + where + "] the value of \"" + key + "\" has the wrong type: " + value.dump().substr(0, 200) +
                ", expected " + expected);
  field = value.get<T>();
}

}  // namespace weft::detail
