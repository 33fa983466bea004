#include "weft/config.h"

#include "base/json.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

void check_all_listed(const ConfigFieldRefs& listed, std::size_t fields) {
  if (listed.size() >= fields) return;
  std::string names;
  for (const ConfigFieldRef& field : listed) names += std::string(names.empty() ? "" : ", ") + field.name;
  throw Error("[config] expected fields() to list all " + std::to_string(fields) + " fields of the struct, got only " +
              std::to_string(listed.size()) + ": " + names);
}

namespace {

void check_range(const std::string& where, const ConfigFieldRef& field) {
  const auto [lowest, end] = field.range;
  const std::string name = field.name;
  if (lowest >= end) return;
  if (const auto* const* size = std::get_if<std::int64_t*>(&field.value))
    check_size(where, field.name, **size, static_cast<std::int64_t>(lowest));
  const auto* const* number = std::get_if<double*>(&field.value);
  if (number && !(**number >= lowest && **number < end)) {
    const auto text = [](double x) { return nlohmann::json(static_cast<std::int64_t>(x)).dump(); };
    throw Error("[" + where + "] expected " + text(lowest) + " <= " + name + " < " + text(end) + ", got " +
                std::to_string(**number));
  }
}

}  // namespace

void read_config(const std::string& where, const std::string& text, const ConfigFieldRefs& fields) {
  guard_memory("config", [&] {
    const nlohmann::json object = parse_json(text);
    if (!object.is_object()) throw Error("[" + where + "] the config is not a JSON object");
    std::string known;
    for (const ConfigFieldRef& field : fields) {
      known += std::string(known.empty() ? "" : ", ") + field.name;
      if (!object.contains(field.name)) continue;
      std::visit([&](auto* value) { read_field(where, field.name, object.at(field.name), *value); }, field.value);
    }
    for (const auto& entry : object.items()) {
      bool listed = false;
      for (const ConfigFieldRef& field : fields) listed = listed || entry.key() == field.name;
      if (!listed) throw Error("[" + where + "] unknown config key \"" + entry.key() + "\", expected one of " + known);
    }
    for (const ConfigFieldRef& field : fields) check_range(where, field);
  });
}

std::string write_config(const ConfigFieldRefs& fields, const ConfigFieldRefs& usual) {
  return guard_memory("config", [&] {
    const auto as_json = [](const ConfigFieldRef& field) {
      return std::visit([](const auto* value) { return nlohmann::ordered_json(*value); }, field.value);
    };
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const ConfigFieldRef& field = fields[i];
      const nlohmann::ordered_json value = as_json(field);
      if (field.written == Written::always || value != as_json(usual.at(i))) object[field.name] = value;
    }
    return object.dump();
  });
}

std::vector<ConfigField> describe_config(const ConfigFieldRefs& fields) {
  return guard_memory("config", [&] {
    std::vector<ConfigField> all;
    for (const ConfigFieldRef& field : fields) {
      const auto as_json = [](const auto* value) { return nlohmann::json(*value).dump(); };
      all.push_back({field.name, std::visit(as_json, field.value), field.meaning});
    }
    return all;
  });
}

void check_size(const std::string& where, const char* key, std::int64_t size, std::int64_t lowest) {
  if (size < lowest || size >= std::int64_t{1} << 31)
    throw Error("[" + where + "] expected " + key + " of " + std::to_string(lowest) + " to 2147483647, got " +
                std::to_string(size));
}

}  // namespace weft
