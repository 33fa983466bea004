/// \file
/// Configs as JSON. A config struct lists its fields once, each with its meaning, in
/// \code
/// template <class Self, class Visit>
/// static void fields(Self& self, Visit visit) {
///   visit("d_model", self.d_model, "width of the model", at_least(1));
///   …
/// }
/// \endcode
/// and is read, checked, written and described by that list. Fields are bool, std::int64_t, double or std::string. A number may
/// have a range, and a field that came later may end in Written::unless_default.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#pragma GCC visibility push(default)
namespace weft {

/// A field as people read of it.
struct ConfigField {
  std::string name;     ///< its key
  std::string usual;    ///< its default, as JSON
  std::string meaning;  ///< a line of text
};

/// When config_to_json writes a field.
enum class Written {
  always,          ///< whatever it is
  unless_default,  ///< so that a config that was written before the field was there is the one that is written now
};

/// The values that a number may have: lowest <= value < end.
struct ConfigRange {
  double lowest = 0;  ///< the least
  double end = 0;     ///< above the highest; not above the least: any value
};
/// Of a size: small multiples of it fit into 64 bits.
constexpr ConfigRange at_least(std::int64_t lowest) { return {static_cast<double>(lowest), 0x1p31}; }
/// Of what is dropped, say: 0 to less than 1.
constexpr ConfigRange probability() { return {0, 1}; }

/// A field of a config in memory.
struct ConfigFieldRef {
  const char* name;                                                 ///< its key
  std::variant<bool*, std::int64_t*, double*, std::string*> value;  ///< where it is
  const char* meaning;                                              ///< a line of text
  ConfigRange range = {};                                           ///< if it is a number
  Written written = Written::always;                                ///< in JSON
};
using ConfigFieldRefs = std::vector<ConfigFieldRef>;  ///< of one config, which must outlive them

/// \cond internal
namespace detail {

// Becomes whatever a config's field may be.
struct AnyField {
  template <class T, class = std::enable_if_t<std::is_same_v<T, bool> || std::is_same_v<T, std::int64_t> ||
                                              std::is_same_v<T, double> || std::is_same_v<T, std::string>>>
  operator T() const;
};

template <class Config, class Enable, class... Fields>
struct TakesFields : std::false_type {};
template <class Config, class... Fields>
struct TakesFields<Config, std::void_t<decltype(Config{Fields()...})>, Fields...> : std::true_type {};

// How many fields a struct has at its beginning that a config may have; 0 for a class that isn't an aggregate.
template <class Config, class... Fields>
constexpr std::size_t count_fields() {
  if constexpr (std::is_aggregate_v<Config> && TakesFields<Config, void, Fields..., AnyField>::value)
    return count_fields<Config, Fields..., AnyField>();
  else return sizeof...(Fields);
}

// Takes what fields() says of each.
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

/// Error if a struct of so many fields lists fewer: the others would not be read, checked or saved.
void check_all_listed(const ConfigFieldRefs& listed, std::size_t fields);
/// What config_from_json does, for fields that have their defaults.
void read_config(const std::string& where, const std::string& json, const ConfigFieldRefs& fields);
/// What config_to_json does, of fields that are `usual` otherwise.
std::string write_config(const ConfigFieldRefs& fields, const ConfigFieldRefs& usual);
/// What config_fields does: the values now are the defaults.
std::vector<ConfigField> describe_config(const ConfigFieldRefs& fields);

/// References to the fields that Config::fields lists, in its order. Error if one of a plain struct's is not listed.
template <class Config>
ConfigFieldRefs config_field_refs(Config& config) {
  ConfigFieldRefs refs;
  Config::fields(config, detail::FieldLister{refs});
  check_all_listed(refs, detail::count_fields<Config>());
  return refs;
}

/// Fields that are left out have their defaults. Error, with `where` at its beginning, if `json` is not a JSON object,
/// has a key that Config doesn't list, or a value of another type or out of its range.
template <class Config>
Config config_from_json(const std::string& where, const std::string& json) {
  Config config;
  read_config(where, json, config_field_refs(config));
  return config;
}

/// Every field, as a JSON object, but for those that are Written::unless_default and have it.
template <class Config>
std::string config_to_json(Config config) {
  Config usual;
  return write_config(config_field_refs(config), config_field_refs(usual));
}

/// Every field with its default.
template <class Config>
std::vector<ConfigField> config_fields() {
  Config config;
  return describe_config(config_field_refs(config));
}

/// Error unless lowest <= size < 2^31: small multiples of a size fit into 64 bits.
void check_size(const std::string& where, const char* key, std::int64_t size, std::int64_t lowest);

}  // namespace weft
#pragma GCC visibility pop
