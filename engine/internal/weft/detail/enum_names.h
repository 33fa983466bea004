// The names of an enum's values. Each enum has one table, which maps values to names and names to values. The elements
// of the table have type EnumName or a type with the same members. Example:
//   template <> struct EnumNames<Color> {
//     static constexpr const char* what = "color";
//     static constexpr EnumName<Color> all[] = {{Color::red, "red"}, {Color::blue, "blue"}};
//   };
#pragma once
#include <string>
#include <vector>

#include "weft/error.h"

namespace weft::detail {

template <class E>
struct EnumName {
  E value;
  const char* name;
};

template <class E>
struct EnumNames;

template <class E>
std::vector<std::string> enum_names() {
  std::vector<std::string> names;
  for (const auto& known : EnumNames<E>::all) names.emplace_back(known.name);
  return names;
}

// Returns all names, for example "red, blue".
template <class E>
std::string all_enum_names() {
  std::string text;
  for (const auto& known : EnumNames<E>::all) text += (text.empty() ? "" : ", ") + std::string(known.name);
  return text;
}

// Returns "unknown" for a number that is not in the enum.
template <class E>
const char* enum_name(E value) noexcept {
  for (const auto& known : EnumNames<E>::all)
    if (known.value == value) return known.name;
  return "unknown";
}

// Returns the value with this name. If there is none, throws an Error that lists all names.
template <class E>
E enum_from_name(const std::string& name) {
  for (const auto& known : EnumNames<E>::all)
    if (name == known.name) return known.value;
  throw Error(std::string("[") + EnumNames<E>::what + "] expected one of " + all_enum_names<E>() + ", got \"" + name +
              "\"");
}

}  // namespace weft::detail
