/// \file
/// Configs as JSON. A config struct lists its fields once, each with its description, in
/// \code
/// template <class Self, class Visit>
/// static void fields(Self& self, Visit visit) {
///   visit("d_model", self.d_model, "width of the model", at_least(1));
///   …
/// }
/// \endcode
/// weft reads, checks, writes and describes the config with this list. Fields have the type bool, std::int64_t, double
/// or std::string. The last arguments of `visit` are optional: a range for a number, and Written::unless_default for a
/// field that a later version added.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// The description of a config field.
struct ConfigField {
  std::string name;     ///< its key
  std::string usual;    ///< its default value, as JSON
  std::string meaning;  ///< a one-line description
};

/// When config_to_json writes a field.
enum class Written {
  always,          ///< always
  unless_default,  ///< only if it differs from the default, so that configs that are older than the field don't change
};

/// The range of a number: lowest <= value < end.
struct ConfigRange {
  double lowest = 0;  ///< the minimum
  double end = 0;     ///< the value lies below this; if end <= lowest, any value is allowed
};
/// The range of a size that is at least `lowest`. The upper limit ensures that small multiples of the size fit into 64
/// bits.
constexpr ConfigRange at_least(std::int64_t lowest) { return {static_cast<double>(lowest), 0x1p31}; }
/// The range of a probability below 1, such as a dropout probability.
constexpr ConfigRange probability() { return {0, 1}; }

/// A field of a config object.
struct ConfigFieldRef {
  const char* name;                                                 ///< its key
  std::variant<bool*, std::int64_t*, double*, std::string*> value;  ///< a pointer to its value
  const char* meaning;                                              ///< a one-line description
  ConfigRange range = {};                                           ///< the range of a number
  Written written = Written::always;                                ///< when config_to_json writes it
};
using ConfigFieldRefs = std::vector<ConfigFieldRef>;  ///< the fields of one config, which must outlive this list

/// \cond internal
namespace detail {

// Converts to each type that a config field may have.
struct AnyField {
  template <class T, class = std::enable_if_t<std::is_same_v<T, bool> || std::is_same_v<T, std::int64_t> ||
                                              std::is_same_v<T, double> || std::is_same_v<T, std::string>>>
  operator T() const;
};

template <class Config, class Enable, class... Fields>
struct TakesFields : std::false_type {};
template <class Config, class... Fields>
struct TakesFields<Config, std::void_t<decltype(Config{Fields()...})>, Fields...> : std::true_type {};

// How many of a struct's first fields have a type that configs allow; 0 for a class that isn't an aggregate.
template <class Config, class... Fields>
constexpr std::size_t count_fields() {
  if constexpr (std::is_aggregate_v<Config> && TakesFields<Config, void, Fields..., AnyField>::value)
    return count_fields<Config, Fields..., AnyField>();
  else return sizeof...(Fields);
}

// Collects each field that fields() lists.
struct FieldLister {
  template <class T>
  void operator()(const char* name, T& value, const char* meaning, Written written = Written::always) const {
    refs.push_back({name, &value, meaning, {}, written});
  }
  template <class T>
  void operator()(const char* name, T& value, const char* meaning, ConfigRange range,
                  Written written = Written::always) const {
    refs.push_back({name, &value, meaning, range, written});
  }
  ConfigFieldRefs& refs;
};

}  // namespace detail
/// \endcond

/// Throws an Error if `listed` has fewer entries than `fields`, the number of fields of the struct. The missing fields
/// would not be read, checked or saved.
void check_all_listed(const ConfigFieldRefs& listed, std::size_t fields);
/// Implements config_from_json for fields that hold their default values.
void read_config(const std::string& where, const std::string& json, const ConfigFieldRefs& fields);
/// Implements config_to_json. `usual` holds the default values.
std::string write_config(const ConfigFieldRefs& fields, const ConfigFieldRefs& usual);
/// Implements config_fields. The current values are the defaults.
std::vector<ConfigField> describe_config(const ConfigFieldRefs& fields);

/// Returns references to the fields that Config::fields lists, in that order. If the struct is an aggregate, throws an
/// Error if the list lacks one of its fields.
template <class Config>
ConfigFieldRefs config_field_refs(Config& config) {
  ConfigFieldRefs refs;
  Config::fields(config, detail::FieldLister{refs});
  check_all_listed(refs, detail::count_fields<Config>());
  return refs;
}

/// Reads a config from JSON. A missing field gets its default value. Throws an Error that begins with `where` if `json`
/// is not a JSON object, or contains an unknown key, a value of the wrong type, or a value out of its range.
template <class Config>
Config config_from_json(const std::string& where, const std::string& json) {
  Config config;
  read_config(where, json, config_field_refs(config));
  return config;
}

/// Returns a JSON object with every field, except fields with Written::unless_default that have their default value.
template <class Config>
std::string config_to_json(Config config) {
  Config usual;
  return write_config(config_field_refs(config), config_field_refs(usual));
}

/// Describes every field with its default value.
template <class Config>
std::vector<ConfigField> config_fields() {
  Config config;
  return describe_config(config_field_refs(config));
}

/// Throws an Error unless lowest <= size < 2^31. The upper limit ensures that small multiples of a size fit into 64
/// bits.
void check_size(const std::string& where, const char* key, std::int64_t size, std::int64_t lowest);

}  // namespace weft
WEFT_PUBLIC_END
